"""How rents changed: pairs of one provider, their windows and spread, and the range of assumptions.csv that they give."""
import math

import pandas
import pytest

from book.pages import what_changed as history
from gpucalc.rows import catalogue

H100 = "H100 SXM 80GB"
FALL, RISE, ALL = history.windows().values()


def test_a_pair_is_the_first_and_last_price_of_one_provider_in_the_window():
    """RunPod, H100: 4.743 in 2023-09 and 2.729 in 2025-10, 761 days: (2.729 / 4.743) ** (365.25 / 761) - 1."""
    row = history.changes(*FALL).set_index(["gpu", "provider"]).loc[(H100, "RunPod")]
    assert (row.before, row.after, row.from_date, row.to_date) == (4.743, 2.729, "2023-09", "2025-10")
    assert row.change == pytest.approx((2.729 / 4.743) ** (365.25 / 761) - 1) == pytest.approx(-0.233, abs=0.0005)


@pytest.mark.parametrize("window, gpu, median, pairs", [
    (FALL, H100, -0.23, 5), (RISE, H100, 0.16, 9), (RISE, "H200 SXM 141GB", 0.12, 6), (RISE, "B200 SXM 180GB", 0.27, 4),
    (RISE, "A100 SXM 80GB", 0, 5)])
def test_what_the_survey_of_prices_says(window, gpu, median, pairs):
    row = history.by_gpu(*window).set_index("gpu").loc[gpu]
    assert row["median"] == pytest.approx(median, abs=0.005) and row["pairs"] == pairs
    assert row["low"] <= row["median"] <= row["high"]


def test_no_pair_crosses_series_or_says_little_of_its_window():
    for first, last in history.windows().values():
        found = history.changes(first, last)
        assert not found.duplicated(["gpu", "provider"]).any()
        assert (found["years"] >= history.SPAN * (history.years(last) - history.years(first))).all()
        for row in found.itertuples():
            assert first <= row.from_date < row.to_date <= last
            assert row.change == pytest.approx(math.exp(math.log(row.after / row.before) / row.years) - 1)


def test_levels_of_two_sources_are_never_compared(monkeypatch):
    """A provider whose price one source has in one year, and another source in the next, is no pair."""
    held = history.rents_at_will()
    first, second = held[(held["gpu"] == H100) & (held["provider"] == "RunPod")].iloc[[0, -1]].to_dict("records")
    frame = pandas.DataFrame([first, second | {"repository": "elsewhere"}])
    monkeypatch.setattr(history, "rents_at_will", lambda: frame)
    assert history.changes(*ALL).empty


def test_a_date_counts_from_its_first_day():
    assert history.years("2025") == history.years("2025-01") == history.years("2025-01-01")
    assert history.years("2026-01-01") - history.years("2025-01-01") == pytest.approx(365 / 365.25)


def test_what_is_left_out():
    found = history.rows_of_table("price_history")
    assert len(found) > 900 and found["gpu"].isin(catalogue.gpus().index).all()
    assert not found["provider"].str.contains("median|index").any()
    assert set(found.loc[found["term"] == "restated", "confidence"]) == {"secondary"}


def test_the_fall_of_rents_that_is_assumed_is_the_measured_one():
    row, measured = catalogue.assumptions().loc["rent_decline"], history.decline()
    assert {end: round(value, 2) for end, value in measured.items()} == {end: row[end] for end in ("low", "likely", "high")}
    assert row["low"] < 0 < row["high"] and row["source"].startswith("price_history.csv")
    medians = [history.by_gpu(*window).set_index("gpu").loc[H100, "median"] for window in (FALL, RISE)]
    assert [f"{abs(value) * 100:.0f} %" in row["note"] for value in medians] == [True, True]
