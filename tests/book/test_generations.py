"""What the page on generations shows."""
import re

import pytest

from book.components.picture import Sheet
from book.pages import cards as generations
from gpucalc import Case, arithmetic_intensity
from gpucalc.rows import catalogue, price_book
from tests.gpucalc.test_generations import CARDS

# FP32 outside the tensor cores is counted at a higher clock on these data sheets.
OTHER_CLOCK = {("Hopper", "FP32"), ("Blackwell", "FP32")}


def test_peaks_follow_from_units_and_clock():
    found = generations.peaks()
    assert len(found) >= 45
    for row in found.itertuples():
        assert row.unit_peak == row.units * row.clock * row.unit_flops
        if (row.generation, row.format) not in OTHER_CLOCK:
            assert row.unit_peak == pytest.approx(row.sheet, rel=0.015), (row.gpu, row.format)


def test_ridge_points_are_the_formula():
    for name, row in generations.generations().query("described").iterrows():
        assert row["ridge"] == Case(gpu=row["gpu"])(arithmetic_intensity.ridge_point), name


def test_both_directions_are_twice_one():
    shown = generations.link_table().source
    for text in ("NVLink 1", "160 GB/s", "80 GB/s", "NVLink 4", "900 GB/s", "450 GB/s", "25 GB/s"):
        assert text in shown
    links = catalogue.links()
    links = links[links.index.str.match("NVLink")]
    assert (links["ports"] * links["port_bandwidth"]).to_list() == pytest.approx(links["link_bandwidth"].to_list())


def test_eight_cards_of_a_decade_come_from_their_rows():
    shown = generations.card_table().source
    for name in generations.CARDS:
        assert f'data-value="{CARDS.loc[name, "bandwidth"]:.12g}"' in shown and name in shown


def test_the_first_generation_with_a_format():
    frame = generations.generations().query("vendor == 'NVIDIA'")
    first = {column: generations._first(frame, column) for column in ("peak_flops", "tf32_flops", "fp8_flops", "fp4_flops", "int8_flops")}
    assert first == {"peak_flops": "Volta", "tf32_flops": "Ampere", "fp8_flops": "Ada", "fp4_flops": "Blackwell",
                     "int8_flops": "Turing"}


def test_what_a_rented_pflops_costs():
    frame = generations.rents_by_quarter()
    row = frame.iloc[0]
    assert row["per_pflops"] == pytest.approx(row["usd_per_hour"] / (row["peak_flops"] / 1e15))
    assert row["per_tbs"] == pytest.approx(row["usd_per_hour"] / (row["bandwidth"] / 1e12))
    assert set(frame["date"].str.fullmatch(r"\d{4}-(01|04|07|10)")) == {True}


def test_a_bought_pflops_shares_a_server_by_its_gpus():
    book = price_book.prices()
    found = generations.purchases(book)
    server = found[found["item"] == "server"].iloc[0]
    assert server["card_usd"] == server["price"] / server["gpus_per_server"]
    assert server["per_pflops"] == pytest.approx(server["card_usd"] / (server["peak_flops"] / 1e15))
    assert list(found["date"]) == sorted(found["date"])


def test_a_book_without_a_card_has_no_bought_pflops():
    empty = price_book.prices().head(0)
    assert len(generations.purchases(empty)) == len(generations.launched(empty)) == 0
    assert generations.purchase_table(empty) is None and generations.bought_picture(empty) is None


def test_a_card_is_new_for_two_years():
    found = generations.launched(price_book.prices())
    assert {"RTX 4090 24GB", "RTX 5090 32GB", "V100 SXM 16GB"} <= set(found["gpu"])
    assert not {"GTX 1080 8GB"} & set(found["gpu"]) and "used" not in set(found["term"])
    assert (found["at"] - found["year"]).between(0, 2).all()


@pytest.mark.parametrize("drawn", [
    generations.timeline_picture, generations.ridge_picture, generations.rent_picture,
    lambda: generations.bought_picture(price_book.prices())])
def test_pictures_say_what_they_show(drawn):
    source = drawn().source
    alt = re.search('aria-label="(.*?)"', source)[1]
    assert len(alt) > 60 and "log ax" in source and "nan" not in source
    heights = [float(each) for each in re.findall(r'<text x="[\d.e+-]+" y="([\d.e+-]+)"', source)]
    assert min(heights) > 0 and max(heights) < float(re.search(r'viewBox="0 0 400 (\d+)"', source)[1])


def test_a_log_axis_is_logarithmic():
    plot = generations.LogPlot(Sheet(200), 10, 100, (2016, 2026), str, (1, 10), {"a": ("a", [(2016, 1), (2026, 100)])})
    assert (plot.down(100), plot.down(10), plot.down(1)) == pytest.approx((10, 60, 110))
    drawn = "".join(plot.sheet.parts)
    assert [drawn.count(f">{power}</text>") for power in (1, 10, 100)] == [1, 1, 1] and drawn.count("<path") == 3, "a line for each power of ten"
    assert plot.across(2021) == pytest.approx((plot.across(2016) + plot.across(2026)) / 2)


def test_names_at_the_ends_of_lines_do_not_touch():
    sheet = Sheet(200)
    series = {str(number): ("a", [(2016, 1), (2026, 50 + number)]) for number in range(4)}
    generations.LogPlot(sheet, 10, 100, (2016, 2026), str, (1, 10), series).lines(series)
    downs = sorted(float(each) for each in re.findall(r'<text x="302" y="([\d.]+)"', "".join(sheet.parts)))
    assert len(downs) == 4 and all(after - before >= 14.9 for before, after in zip(downs, downs[1:]))  # noqa: RUF007
