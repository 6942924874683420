"""What a GPU is worth."""
import pytest

from gpucalc.laws import worth
from gpucalc.laws.serving_cost import usd_per_million_tokens
from gpucalc.laws.worth import unit_peak
from gpucalc.rows import catalogue
from tests.each import of_each

CARDS = catalogue.gpus()
COUNTED = CARDS[CARDS["clock"].notna() & CARDS["unit_flops"].notna()]


def test_a_peak_by_hand():
    """A100: 108 multiprocessors at 1.41 GHz, each with 4 tensor cores of 256 multiply-adds."""
    assert unit_peak(units=108, clock=1.41e9, unit_flops=4 * 256 * 2) == pytest.approx(311.87e12, rel=1e-4)


@pytest.mark.parametrize("gpu, units, clock, unit_flops, printed", [
    ("H100 SXM 80GB", 132, 1.83e9, 4096, 989.4e12), ("H100 PCIe 80GB", 114, 1.62e9, 4096, 756e12), ("V100 SXM 32GB", 80, 1.53e9, 1024, 125e12),
    ("MI300X 192GB", 304, 2.1e9, 2048, 1307.4e12), ("Gaudi3 128GB", 1, 1.6e9, 8 * 256 * 256 * 2, 1677e12)])
def test_published_units_and_clocks_give_the_published_peak(gpu, units, clock, unit_flops, printed):
    """NVIDIA's forum on its white papers (topic 244727), AMD's data sheet, ml-engineering's table of clocks."""
    row = catalogue.gpu(gpu)
    assert (row.units, row.clock, row.unit_flops) == (units, clock, unit_flops)
    assert unit_peak(units, clock, unit_flops) == pytest.approx(printed, rel=3e-3)


@of_each(COUNTED.index.tolist())
def test_units_and_clock_give_the_peak_of_every_card(gpu):
    """To 0.5 %, but three whose data sheets round: the V100's 113 and 131 down, the L40S's 366 to the 362 of a lower clock."""
    row = catalogue.gpu(gpu)
    loose = gpu.startswith(("V100 PCIe", "V100S", "L40S"))
    assert unit_peak(row.units, row.clock, row.unit_flops) == pytest.approx(row.peak_flops, rel=0.013 if loose else 0.005)


def test_most_cards_have_units_and_clock():
    assert len(COUNTED) >= 70


# What a dollar or a watt buys

def test_by_hand():
    # 3.35 TB/s and 989 TFLOP/s for 30,000 USD, for 2 USD an hour, and for 700 W.
    assert worth.bandwidth_per_usd(3.35e12, 30_000) == pytest.approx(111_666_666.7, rel=1e-9)
    assert worth.flops_per_usd(989e12, 30_000) == pytest.approx(32_966_666_666.7, rel=1e-9)
    assert worth.bandwidth_per_rent(3.35e12, 2) == 1.675e12 and worth.flops_per_rent(989e12, 2) == 494.5e12
    assert worth.flops_month_usd(989e12, 2) == pytest.approx(1460 / 989e12, rel=1e-12)
    assert worth.bandwidth_per_watt(3.35e12, 700) == pytest.approx(4.7857142857e9, rel=1e-9)
    assert worth.flops_per_watt(989e12, 700) == pytest.approx(1.412857142857e12, rel=1e-9)


@pytest.mark.parametrize("bandwidth, usd, printed", [
    (1.0e12, 1600, 625e9), (936e9, 700, 1337e9), (1.6e12, 10_000, 160e9), (3.35e12, 30_000, 112e9), (864e9, 9000, 96e9)])
def test_published_bandwidth_for_1000_dollars(bandwidth, usd, printed):
    """Selecting GPUs for Training vs Inference (EngineersOfAI course lesson), inference table."""
    assert 1000 * worth.bandwidth_per_usd(bandwidth, usd) == pytest.approx(printed, rel=5e-3)


@pytest.mark.parametrize("peak_flops, usd_per_month, printed", [(989e12, 3100, 3.13)])
def test_published_rent_of_a_teraflops_month(peak_flops, usd_per_month, printed):
    """A course lesson on cloud GPUs: an H100 at about 3,100 USD a month."""
    assert 1e12 * worth.flops_month_usd(peak_flops, usd_per_month / 730) == pytest.approx(printed, rel=2e-3)


def test_what_a_dollar_buys_falls_with_the_price_and_rises_with_the_card():
    assert worth.bandwidth_per_usd(2e12, 1000) == 2 * worth.bandwidth_per_usd(1e12, 1000) == 4 * worth.bandwidth_per_usd(1e12, 2000)
    assert worth.flops_month_usd(1e15, 2) * worth.flops_per_rent(1e15, 2) == pytest.approx(730, rel=1e-12)


def test_a_rent_that_matches_by_hand():
    """2,000 tokens a second are 7.2 million an hour: at 0.38 USD a million, 2.736 USD. It is the law of a token's cost read backwards."""
    assert worth.matching_usd_per_hour(usd_per_million_tokens=0.38, tokens_per_second=2000) == pytest.approx(2.736)
    cost = usd_per_million_tokens(usd_per_hour=2.39, replica_gpus=1, tokens_per_second=1750)
    assert worth.matching_usd_per_hour(cost, 1750) == pytest.approx(2.39)
