"""What hardware takes back: hand calculations, published figures and the cards of the table."""
import re

import pytest

from book.build.inputs import ROOT
from book.pages import hardware_facts as hf
from gpucalc import derating as dr, shares
from gpucalc.core.evaluate import Row
from gpucalc.laws.arithmetic_intensity import matmul_flops
from gpucalc.laws.waiting import sped_up
from gpucalc.rows import catalogue
from tests.close import close


def test_power_and_clock_are_two_sides_of_one_formula():
    # 0.9 cubed is 0.729; of 700 W it is 510.3 W, at which a card keeps nine tenths of its clock.
    assert dr.watts_for_clock(700, 0.9) == close(510.3)
    assert shares.capped_clock_share(700, dr.watts_for_clock(700, 0.9)) == close(0.9)


def test_the_measured_power_limit():
    # Puget Systems: 280 of 350 W leave over 95 % of the speed; the cube root of 0.8 is 0.928.
    found = shares.capped_clock_share(catalogue.gpu("RTX 3090 24GB").tdp_watts, catalogue.reported("cap-3090-watts").value)
    assert found == pytest.approx(0.9283, abs=1e-4)
    assert abs(found / catalogue.reported("cap-3090").value - 1) < 0.03


def test_a_sixteenth_goes_to_error_correction():
    # A T4 has 16 GiB of chips; 15 GiB are what its driver reports.
    assert dr.corrected_bytes(2**34, 1) == 15 * 2**30 == catalogue.gpu("T4 16GB").memory_bytes
    assert dr.corrected_bytes(2**34, 0) == 2**34


@pytest.mark.parametrize("gpu, gib", [("A10 24GB", 24), ("A40 48GB", 48), ("L4 24GB", 24), ("L40S 48GB", 48)])
def test_drivers_report_what_the_formula_leaves(gpu, gib):
    assert dr.corrected_bytes(gib * 2**30, 1) == pytest.approx(catalogue.gpu(gpu).memory_bytes, rel=0.003)


def test_two_of_four():
    # Sixteen bits: two values and two places of two bits, for four weights: 36 / 4; INT8 20 / 4; INT4 12 / 4.
    assert [dr.sparse_value_bits(bits) for bits in (16, 8, 4)] == [9, 5, 3]


def test_a_fragment():
    # 2 x 16^3 = 8,192 FLOP; a multiprocessor of an H100 does 4,096 in a clock and reads 128 bytes of shared memory.
    assert matmul_flops(16, 16, 16) == 8192 and dr.fragment_clocks(8192, 4096) == 2
    assert dr.fragment_load_clocks(16, 16, 16, 2, 128) == 8, "four times the clocks of the product"


def test_rounding():
    # BF16 has 7 bits behind the point, FP16 ten, E4M3 three.
    assert [dr.rounding_share(bits) for bits in (7, 10, 3)] == [2**-8, 2**-11, 2**-4]


# The page's tables

def test_power_caps():
    # Half of 700 W: the cube root of a half, 79.4 %, at best; half at worst. Eight at 3 USD for 730 hours are 17,520 USD.
    row = hf.capped("H100 SXM 80GB", (0.5,), Row({"usd_per_hour": 3.0}, "rent", "price")).iloc[0]
    assert row.cap == 350 and row.best == pytest.approx(0.7937, abs=1e-4) and row.worst == 0.5
    assert row.worst_usd == close(8760) and row.best_usd == pytest.approx(17_520 * 0.2063, rel=1e-3)


def test_every_driver_with_correction_is_within_a_hundredth():
    found = hf.corrected()
    assert len(found) >= 6 and found["error"].abs().max() < 0.003
    assert not set(found["gpu"]) & {"RTX A6000 48GB", "H100 SXM 80GB"}, "correction is off there, or HBM"


def test_which_cards_run_a_kernel():
    found = hf.kernels().set_index("kernel")
    assert found.loc["BF16 and TF32", "since"] == "Ampere" and found.loc["FP8 products", "since"] == "Ada"
    assert found.loc["FlashAttention-3", "since"] == "Hopper"
    assert found.loc["FlashAttention-3", "cards"] < found.loc["FP8 products", "cards"]
    assert found.loc["BF16 and TF32", "cards"] < found.loc["tensor cores, WMMA", "cards"], "V100 and T4 have no BF16"


def test_sparsity_gave_less_than_it_promises():
    found = hf.sparse()
    assert (found["kept"] < 1).all() and (found["speed"] > 1).all()
    # 1 - 1/1.06 = 0.0566 of 1 - 1/1.24 = 0.1935.
    implied = hf.implied_share(1.06, 1.24)
    assert implied == pytest.approx(0.2925, abs=1e-4) and sped_up(implied, 1.24) == close(1.06)


def test_the_shown_pruning_leaves_two_of_four():
    torch = pytest.importorskip("torch")
    text = (ROOT / "notebooks/hardware_facts.md").read_text(encoding="utf-8")
    code, = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    names = {}
    exec(code.split("if torch.cuda")[0], names)
    groups = names["pruned"].reshape(-1, 4)
    assert bool(((groups != 0).sum(dim=1) == 2).all()) and names["pruned"].shape == (128, 128)
    kept, whole = groups.abs().amax(dim=1), names["layer"].weight.detach().reshape(-1, 4).abs().amax(dim=1)
    assert bool(torch.equal(kept, whole)), "the largest of each four stays"
