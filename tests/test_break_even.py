"""Costs against hand calculations: the arithmetic stands in each test, written out without the laws."""
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpucalc import break_even as be
from gpucalc import catalogue
from gpucalc.explanation import evaluate
from gpucalc.measured import compare

A100_PEAK, H100_PEAK = 312e12, 989e12
AWS_TIERS = [(0, 100e9, 0), (100e9, 10e12, 0.09), (10e12, 50e12, 0.085)]
money = st.floats(0.01, 1e6)
share = st.floats(0.01, 1)


def close(value):
    return pytest.approx(value, rel=1e-12)


def egress(sent_bytes, tiers=AWS_TIERS):
    return sum(be.egress_tier_usd(sent_bytes, *tier) for tier in tiers)


def test_capital_is_the_whole_server_over_all_hours():
    # 40,000 USD for a server of eight RTX 4090 over 3 years: 40000 / (3 * 8760) = 1.522 USD an hour, 0.190 a GPU.
    assert be.capital_usd_per_hour(40_000, 1, 3) == close(40_000 / 26_280)
    assert be.capital_usd_per_hour(40_000, 1, 3) == pytest.approx(1.52, abs=0.005)
    assert be.capital_usd_per_hour(40_000, 8, 3) == close(40_000 / 26_280 / 8)
    # 300,000 USD with a tenth got back: 270000 / (8 * 3 * 8760) = 1.284 USD.
    assert be.capital_usd_per_hour(300_000, 8, 3, 0.1) == pytest.approx(1.284247, rel=1e-6)


def test_power_and_hosting():
    # DGX H100: 10.2 kW at most for eight GPUs of 700 W is 1.82 times their TDP, 1,274 W each.
    assert be.watts_per_gpu(700) == close(1274)
    assert be.watts_per_gpu(700, 1.5) == close(1050)
    # 10.2 kW for 8 GPUs is 1.275 kW each; x 1.3 x 0.10 USD/kWh = 0.16575 USD an hour.
    assert be.power_usd_per_hour(1275, 1.3, 0.10) == close(0.16575)
    # 2,000 USD a month over 730 hours and 8 GPUs = 0.3425 USD an hour.
    assert be.hosting_usd_per_hour(2000, 8) == close(2000 / 5840)


def test_idle_hours_load_capital_and_hosting_but_not_power():
    # (1.43 + 0.34) / 0.5 + 0.17 = 3.71
    assert be.owned_usd_per_hour(1.43, 0.34, 0.17, 0.5) == close(3.71)
    assert be.owned_usd_per_hour(1.43, 0.34, 0.17, 1) == close(1.94)


def test_only_a_commitment_is_paid_while_idle():
    assert be.rented_usd_per_hour(2.45, 0.5) == 2.45
    assert be.rented_usd_per_hour(2.45, 0.5, committed=1) == close(4.90)


@pytest.mark.parametrize("usd_per_gpu, usd_per_hour, expected", [
    (12_000, 40.96 / 8, 0.0892), (12_000, 12.29 / 8, 0.297), (25_000, 40.96 / 8, 0.186), (25_000, 12.29 / 8, 0.619)])
def test_break_even_of_cards_alone_and_of_the_whole_server(usd_per_gpu, usd_per_hour, expected):
    # A100 80GB over 3 years: 12000 / 26280 = 0.4566 and 25000 / 26280 = 0.9513 USD an hour, over the rent.
    capital = be.capital_usd_per_hour(8 * usd_per_gpu, 8, 3)
    assert be.break_even_utilization(capital, 0, 0, usd_per_hour) == close(usd_per_gpu / 26_280 / usd_per_hour)
    assert be.break_even_utilization(capital, 0, 0, usd_per_hour) == pytest.approx(expected, rel=0.005)


def test_break_even_with_hosting_and_power():
    # (1.43 + 0.34) / (6.88 - 0.17) = 0.2638
    assert be.break_even_utilization(1.43, 0.34, 0.17, 6.88) == close(1.77 / 6.71)
    assert be.break_even_utilization(1.43, 0, 0.17, 6.88) == close(1.43 / 6.71)


def test_owning_that_never_pays_is_a_value():
    assert be.break_even_utilization(1, 0, 0.2, 0.2) == float("inf")
    assert be.break_even_utilization(1, 0, 0.2, 0.1) == float("inf")
    assert be.break_even_months(300e3, 8, 0.5, 0.4, 0.1, 0.5) == float("inf")


def test_break_even_months():
    # Eight cards of 12,000 USD against 41 USD an hour, always busy: 96000 / (41 * 730) = 3.21 months.
    assert be.break_even_months(96_000, 8, 41 / 8, 0, 0, 1) == close(96_000 / 29_930)
    # 400,000 USD, used 60 %, rent 6.88, power 0.17, hosting 0.12:
    # 50000 / ((6.71 * 0.6 - 0.12) * 730) = 50000 / 2851.38 = 17.54 months.
    assert be.break_even_months(400_000, 8, 6.88, 0.17, 0.12, 0.6) == pytest.approx(17.5354, rel=1e-5)


def test_training_flops():
    assert be.training_flops(8_030_261_248, 100 * 10**9) == 6 * 8_030_261_248 * 100 * 10**9
    assert be.training_flops(70 * 10**9, 10**9, 3) == close(1.26e21)


def test_354_gpu_hours_take_the_whole_peak():
    # 1.26e21 / 989e12 = 1.274e6 s = 353.9 h; at 40 % MFU 884.7 h.
    flops = be.training_flops(70e9, 1e9, 3)
    assert be.gpu_hours(flops, H100_PEAK, 1) == pytest.approx(353.9, rel=1e-4)
    assert be.gpu_hours(flops, H100_PEAK, 0.4) == pytest.approx(884.7, rel=1e-4)


def test_8b_on_100b_tokens_takes_eight_weeks_on_eight_a100():
    # 6 * 8e9 * 1e11 / (8 * 0.4 * 312e12) = 4.808e6 s = 55.6 days.
    hours = be.gpu_hours(be.training_flops(8e9, 1e11), A100_PEAK, 0.4)
    assert be.training_days(hours, 8) == pytest.approx(55.64, rel=1e-3)
    assert 2.2 < be.training_days(be.gpu_hours(be.training_flops(8e9, 1e11), A100_PEAK, 1), 8) / 10 < 2.3


def test_llama_2_70b_reached_43_percent():
    # Llama 2 (arXiv 2307.09288, table 2): 1,720,320 A100-hours for 2e12 tokens.
    # 6 * 68.98e9 * 2e12 / (1720320 * 3600 * 312e12) = 0.4284.
    at_peak = evaluate(be.gpu_hours, catalogue.model("Llama-2-70B"), catalogue.gpu("A100 SXM 80GB"),
                       training_tokens=2 * 10**12, mfu=1)
    assert at_peak / 1_720_320 == pytest.approx(6 * 68_976_648_192 * 2e12 / (1_720_320 * 3600 * A100_PEAK), rel=1e-12)
    assert at_peak / 1_720_320 == pytest.approx(0.428, abs=0.001)


def test_a_mixture_trains_its_active_parameters():
    # Mixtral-8x7B: 2 of 8 experts, so 46.70e9 - 32 * 6 * 3 * 4096 * 14336 = 12.88e9 parameters a token.
    active = 46_702_792_704 - 32 * 6 * 3 * 4096 * 14336
    assert evaluate(be.training_flops, catalogue.model("Mixtral-8x7B"), training_tokens=10**9) == 6 * active * 10**9


def test_cost_of_a_million_tokens():
    # 8 GPUs at 2 USD an hour and 1,000 tokens/s: 16 / 3.6e6 tokens = 4.444 USD a million; half idle, 8.889.
    assert be.usd_per_million_tokens(2, 8, 1000) == close(16 / 3.6)
    assert be.usd_per_million_tokens(2, 8, 1000, 0.5) == close(32 / 3.6)


def test_h100_and_4090_servers_cost_about_the_same_per_token():
    # Article after Bojie Li 2023: 2.5 USD/h and 330 / 0.027 tokens/s against 13.4 USD/h and 295 / 0.0052 tokens/s.
    rtx = be.usd_per_million_tokens(2.5 / 8, 8, 330 / 0.027)
    h100 = be.usd_per_million_tokens(13.4 / 8, 8, 295 / 0.0052)
    assert 1 / rtx == pytest.approx(17.6, rel=1e-3)
    assert h100 / rtx == pytest.approx(1.154, rel=1e-3)


def test_cost_per_token_follows_the_decode_law():
    # Llama-3-8B at batch 1 and a context of one token on one H100. A step reads 8.03e9 parameters less the 128256 x 4096
    # of the input embedding, in 2 bytes, and 131,072 bytes of cache, at 3.35e12 B/s; an hour costs 2 USD.
    card, model = catalogue.gpu("H100 SXM 80GB"), catalogue.model("Llama-3-8B")
    seconds = (2 * (8_030_261_248 - 128_256 * 4096) + 131_072) / 3.35e12
    cost = evaluate(be.usd_per_million_tokens, model, card, usd_per_hour=2, batch=1, context=1, gpus=1)
    assert cost == close(1e6 * seconds * 2 / 3600)


def test_egress_is_paid_tier_by_tier():
    # 500 GB with the first 100 GB free: 400 * 0.09 = 36 USD, not 45.
    assert egress(500e9) == close(36)
    assert egress(100e9) == 0
    # 20 pulls of 500 GB are 10 TB: 9900 * 0.09 = 891 USD, not 900; 12 TB: 891 + 2000 * 0.085 = 1061.
    assert egress(20 * 500e9) == close(891)
    assert egress(12e12) == close(1061)


def test_storage():
    # 1.2 TB at 0.023 USD/GB-month for two months: 1200 * 0.023 * 2 = 55.20.
    assert be.storage_usd(1.2e12, 0.023, 2) == close(55.2)


def test_the_verdict_holds_when_runs_count_for_compute_and_egress():
    # 20 runs of 353.9 h at 2.80 USD: 19,818; storage 28; egress 891 without a cache, 36 with one.
    compute = be.compute_usd(20 * be.gpu_hours(be.training_flops(70e9, 1e9, 3), H100_PEAK, 1), 2.80)
    assert compute == pytest.approx(20 * 353.893 * 2.80, rel=1e-5)
    managed = be.total_usd(compute, 28, 0, be.managed_usd(compute, 0.3))
    uncached = be.total_usd(compute, 28, egress(10e12), 0)
    cached = be.total_usd(compute, 28, egress(500e9), 0)
    assert be.managed_usd(compute, 0.3) == close(0.3 * compute)
    assert (round(cached), round(uncached), round(managed)) == (19_882, 20_737, 25_791)


@given(money, money, st.floats(0.01, 1), share)
def test_at_the_break_even_both_cost_the_same(capital, hosting, power, used):
    rent = be.owned_usd_per_hour(capital, hosting, power, used)
    assert be.break_even_utilization(capital, hosting, power, rent) == pytest.approx(used, rel=1e-6)


@given(st.floats(1e4, 1e6), st.integers(1, 16), st.floats(1, 8), st.floats(0.1, 1))
def test_at_the_break_even_the_server_is_paid_when_its_years_end(server, gpus, years, used):
    capital = be.capital_usd_per_hour(server, gpus, years)
    rent = be.owned_usd_per_hour(capital, 0.3, 0.2, used)
    assert be.break_even_months(server, gpus, rent, 0.2, 0.3, used) == pytest.approx(12 * years, rel=1e-6)


@given(st.floats(0, 50e12), st.floats(0, 50e12))
def test_more_egress_never_costs_less(a, b):
    low, high = sorted((a, b))
    assert egress(low) <= egress(high) + 1e-9
    assert egress(high) <= high / 1e9 * 0.09 + 1e-9


@given(st.floats(0, 50e12))
def test_tiers_of_one_price_add_up_to_it(sent):
    tiers = [(0, 1e12, 0.05), (1e12, 7e12, 0.05), (7e12, 50e12, 0.05)]
    assert egress(sent, tiers) == pytest.approx(sent / 1e9 * 0.05, rel=1e-9, abs=1e-9)


def test_a_busier_server_is_never_dearer_per_hour():
    cost = be.owned_usd_per_hour(1.5, 0.1, 0.2, np.linspace(0.05, 1, 50))
    assert (np.diff(cost) < 0).all()


@pytest.mark.parametrize("law, arguments, argument", [
    (be.owned_usd_per_hour, (1, 1, 1, 1.5), "utilization"), (be.owned_usd_per_hour, (1, 1, 1, 0), "utilization"),
    (be.rented_usd_per_hour, (-1,), "usd_per_hour"), (be.rented_usd_per_hour, (1, 1, 2), "committed"),
    (be.capital_usd_per_hour, (0, 8, 3), "server_usd"), (be.capital_usd_per_hour, (1, 0, 3), "gpus_per_server"),
    (be.capital_usd_per_hour, (1, 8, 3, 1.2), "residual"), (be.power_usd_per_hour, (700, 0.9, 0.1), "pue"),
    (be.gpu_hours, (1e21, 1e15, 1.2), "mfu"), (be.training_flops, (8e9, 0), "training_tokens"),
    (be.egress_tier_usd, (-1, 0, 1, 0), "egress_bytes"), (be.managed_usd, (100, float("nan")), "premium")])
def test_impossible_input_is_refused_by_name(law, arguments, argument):
    with pytest.raises(ValueError, match=rf"^{law.__name__}: {argument} .*allowed: "):
        law(*arguments)


def test_published_gpu_hours_imply_a_plausible_utilization():
    # Predicted at 40 % MFU: an error of e means that the run reached 40 % x (1 + e).
    implied = 0.4 * (1 + compare("break_even")["error"])
    assert len(implied) >= 8
    assert implied.between(0.25, 0.55).all()
    assert implied["run-llama-2-70b"] == pytest.approx(0.428, abs=0.001)
