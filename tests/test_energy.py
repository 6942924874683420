"""Electricity and carbon of runs and tokens by hand, and against published runs."""
import pytest

from gpucalc import Case, energy
from gpucalc.page.measured import compare


def test_bloom_by_hand():
    # arXiv 2211.02001: 1,082,990 A100-hours at 0.4 kW are 433,196 kWh; at 57 g a kWh 24.7 t.
    assert energy.run_kwh(1_082_990, 400) == pytest.approx(433_196)
    assert energy.run_carbon(433_196, 0.057) == pytest.approx(24_692, rel=1e-4)


def test_llama_65b_by_hand():
    # arXiv 2302.13971, section 6: TDP, a PUE of 1.1, 0.385 kg a kWh: 449 MWh and 173 t.
    drawn = energy.run_kwh(1_022_362, 400, pue=1.1)
    assert drawn == pytest.approx(449_839, rel=1e-5)
    assert energy.run_carbon(drawn, 0.385) == pytest.approx(173_188, rel=1e-5)


def test_a_million_tokens_by_hand():
    # Eight GPUs of 1,000 W at a PUE of 1.25 are 10 kW; at 2,000 tokens/s a million takes 500 s: 1.389 kWh, 0.486 kg at 0.35.
    drawn = energy.kwh_per_million_tokens(1000, 8, 2000, pue=1.25)
    assert drawn == pytest.approx(10 * 500 / 3600)
    assert energy.carbon_per_million_tokens(drawn, 0.35) == pytest.approx(0.4861, rel=1e-4)
    case = Case(gpu="H100 SXM 80GB", server_power_factor=1.38, replica_gpus=8, tokens_per_second=2000, pue=1.35)
    assert case(energy.kwh_per_million_tokens) == pytest.approx(0.7 * 1.38 * 8 * 1.35 * 500 / 3600)


def test_published_energy_and_carbon():
    """At the authors' own factors the formulas are theirs; against what BLOOM's servers drew the likely server is 13 % low."""
    off = compare("training_cost").query("family in ('energy of a run', 'carbon of a run')")
    assert len(off) == 7
    assert (off.query("kind == 'computed'")["error"].abs() < 0.005).all()
    assert off["error"]["energy-bloom-idle"] == pytest.approx(-0.133, abs=0.001)
