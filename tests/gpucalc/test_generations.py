"""Generations: rows that agree with the cards, peaks from units and clock, and the pictures of the generations."""
import pytest

from gpucalc import worth
from gpucalc.rows import catalogue

GENERATIONS, CARDS = catalogue.generations(), catalogue.gpus()


def test_every_data_center_generation_of_three_vendors_has_a_row():
    sold = CARDS[CARDS["vendor"].isin(["NVIDIA", "AMD", "Google"]) & CARDS["kind"].isin(["datacenter", "tpu"])]
    assert set(sold["generation"]) <= set(GENERATIONS.index)


@pytest.mark.parametrize("name", GENERATIONS.index)
def test_a_generation_agrees_with_the_card_that_stands_for_it(name):
    row = GENERATIONS.loc[name]
    if not row["gpu"]:
        return
    card = CARDS.loc[row["gpu"]]
    assert (card["generation"], card["vendor"]) == (name, row["vendor"])
    assert abs(card["year"] - row["year"]) <= 1
    assert row["link"] in (card["link"], "") or row["link"].endswith("bridge")


@pytest.mark.parametrize("name", GENERATIONS.index)
def test_formats_are_those_with_a_rate(name):
    """What tensor cores multiply, and what one unit does in a clock, name the same formats; INT4, FP6 and FP64 have no column."""
    row = GENERATIONS.loc[name]
    formats = set(row["formats"].split()) - {"INT4", "FP6", "FP64"}
    rated = {form for form, column in (("TF32", "unit_tf32"), ("FP8", "unit_fp8"), ("FP4", "unit_fp4"), ("INT8", "unit_int8"))
             if row[column] == row[column]}
    if row["unit_half"] == row["unit_half"]:
        assert rated == formats - {"BF16", "FP16"}
    else:
        assert rated == set()


@pytest.mark.parametrize("units, clock, unit_flops, printed", [
    (132, 1.83e9, 4096, 989e12),    # H100 SXM, BF16: 4 tensor cores, 512 multiply-adds each
    (108, 1.41e9, 2048, 312e12),    # A100: NVIDIA A100 white paper
    (304, 2.1e9, 2048, 1307e12),    # MI300X: AMD's product page
    (80, 1.53e9, 1024, 125e12),     # V100 SXM: NVIDIA V100 data sheet
])
def test_peaks_that_were_printed(units, clock, unit_flops, printed):
    assert worth.unit_peak(units, clock, unit_flops) == pytest.approx(printed, rel=0.005)


def test_a_narrower_format_does_twice_as_much():
    for wide, narrow in (("unit_tf32", "unit_half"), ("unit_half", "unit_fp8"), ("unit_fp8", "unit_fp4")):
        both = GENERATIONS[[wide, narrow]].dropna()
        assert len(both) and (both[narrow] == 2 * both[wide]).all(), narrow
