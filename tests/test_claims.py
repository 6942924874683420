"""Claims of others: each is a row that its law recomputes, and belongs to a page."""
import html
import json
import math
import re
import statistics

import pytest

from gpucalc import LAWS, QUANTITIES, Case
from gpucalc.core.figures import number, percent
from gpucalc.page.measured import claims_table, compare, comparison_table, error_table, signed_percent
from gpucalc.rows import claims as held
from gpucalc.rows import tables
from gpucalc.rows.claims import claim, claims
from gpucalc.rows.tables import DATA

CLAIMS = claims()


def test_every_claim_has_a_page_and_is_said_once():
    pages = {path.stem for path in (DATA.parent / "notebooks").glob("*.md")}
    assert len(CLAIMS) >= 110 and CLAIMS.index.is_unique and CLAIMS["claim"].is_unique
    assert set(CLAIMS["page"]) <= pages


def test_every_claim_evaluates_in_the_unit_of_its_law():
    for row in CLAIMS.itertuples():
        assert (row.law == "") == math.isnan(row.predicted), row.Index
        if row.law:
            assert row.value > 0 and row.unit == QUANTITIES[row.law].unit, row.Index
        if row.value == row.value:
            assert number(row.value, row.unit), row.Index
        else:
            assert row.note and not row.unit, row.Index


def test_inputs_are_needed_by_the_law_or_name_a_row():
    """Nothing is in a claim that its law does not use."""
    for row in CLAIMS.itertuples():
        inputs = json.loads(row.inputs)
        if row.law in LAWS:
            explanation = Case.of(inputs).explain(LAWS[row.law])
            used = {used.name for used in explanation.inputs} | {name for step in explanation.steps for name in step.arguments}
            idle = {name for name in inputs if name in QUANTITIES} - used
            assert not idle, (row.Index, idle)


def test_a_claim_without_a_law_says_what_to_make_of_it():
    bare = CLAIMS[CLAIMS["law"] == ""]
    assert set(bare.index[bare["note"] == ""]) <= {name for name in bare.index if name.startswith("trc-rate-")}


@pytest.mark.parametrize("name, published, right", [
    ("ai-training-intensity", 69000, 3121),
    ("ai-read", 7e-3, 2 * (6_738_415_616 - 32000 * 4096) / 2.039e12),
    ("ai-h100-bf16", 312e12, 989e12),
    ("kv-70b-mha", 80e9, 2 * 80 * 8 * 128 * 2 * 4096 * 8), ("kv-weights-four", 4, 2), ("ic-a100-link", 450e9, 300e9),
    ("ic-limit-h100", 11, 3 * 8192 * 450e9 / 989e12), ("sv-window", 20, 6), ("sv-load", 0.15, 0.25),
    ("be-20", 0.2, 12000 / 26280 / 5.12), ("be-payback", 4, 96000 / (8 * 5.12 * 730)), ("be-4090-server", 1.52, 40000 / 26280),
    ("tc-pull", 45, 36), ("tc-pulls", 900, 891), ("tc-service", 1316, 354 * 2.8 * 1.3 + 28), ("tc-tokens", 500e9, 3.94e9),
    ("trc-days-least", 7, 6 * 8_030_261_248 * 100e9 / (8 * 312e12 * 0.4 * 86400)), ("trc-matrix-a10g", 26784, 8 * 0.45 * 720),
    ("trc-35-days", 35, 56), ("trc-10-days", 10, 14 * 25600 / 20400), ("trc-h100-month", 3100, 12.25 * 730),
    ("trc-354", 354, 6 * 70e9 * 3e9 / (989e12 * 0.4 * 3600)), ("tm-13b-192", 192e9, 13e9 * 18), ("tm-7b-56", 56e9, 7e9 * 18)])
def test_known_claims(name, published, right):
    row = claim(name)
    assert row.value == published and row.predicted == pytest.approx(right, rel=0.01)
    assert row.error == pytest.approx(row.predicted / row.value - 1)
    assert row.kind == "claim" and row.name == name and isinstance(row.inputs, dict)


def test_a_page_has_its_own_claims():
    assert set(claims("break_even").index) == {"be-60", "be-30", "be-20", "be-payback", "be-4090-server"}


def test_an_unknown_claim_is_refused():
    with pytest.raises(ValueError, match="^data/claims.csv has no id 'be-21'; close: be-20"):
        claim("be-21")


def test_measurements_and_claims_are_compared_alike():
    frame = compare("kv_cache", "computed")
    assert set(frame["kind"]) == {"computed"} and (frame["error"] == frame["predicted"] / frame["value"] - 1).all()


def test_inputs_replaced_by_name_give_the_bound():
    """Peaks instead of reached shares make transfers faster that name their shares, and none slower."""
    usual, bound = (held.measurements("interconnect", **instead) for instead in ({}, {"efficiency": "bound"}))
    told = usual["inputs"].str.contains('"efficiency": "achieved"')
    assert told.any() and not told.all() and list(usual.index) == list(bound.index)
    gain = (bound["predicted"] / usual["predicted"]).where(usual["unit"] != "second", usual["predicted"] / bound["predicted"])
    assert (gain[told] >= 1).all() and (gain[told] > 1).any()
    assert (bound["predicted"] == usual["predicted"])[~told].all(), "what a row does not name is not put in"


def test_a_kind_or_all():
    every = held.measurements("kv_cache")
    assert set(every["kind"]) == {"measured", "computed"} and set(every["topic"]) == {"kv_cache"}
    parts = [held.measurements("kv_cache", kind) for kind in ("measured", "computed")]
    assert sum(map(len, parts)) == len(every)


def test_a_law_that_is_none_is_refused(monkeypatch):
    frame = tables.table("claims").copy()
    frame.loc["be-20", "law"] = "no_such_law"
    monkeypatch.setattr(held, "table", lambda name: frame)
    with pytest.raises(ValueError, match="^no_such_law: neither a law nor a column of .* among the inputs$"):
        claim("be-20")


def test_a_comparison_shows_what_was_published_predicted_and_the_error():
    shown = comparison_table("kv_cache", "Compared", "computed", families=["cache"])._repr_html_()
    rows = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall("<tr>(.*?)</tr>", shown)]
    frame = compare("kv_cache", "computed").query("family == 'cache'")
    assert rows[0] == ["subject", "published", "predicted", "error", "why it differs", "source"]
    assert [row[1:4] for row in rows[1:]] == [
        [number(row.value, row.unit), number(row.predicted, row.unit), signed_percent(row.error)] for row in frame.itertuples()]
    every = comparison_table("kv_cache", "Compared")._repr_html_()
    assert every.count("<tr>") == 1 + len(compare("kv_cache")) > len(rows)


@pytest.mark.parametrize("error, text", [(0.05, "+5 %"), (-0.05, "−5 %"), (0, "0 %"), (1e-4, "+0.0100 %")])
def test_an_error_has_its_sign(error, text):
    assert signed_percent(error) == text


def test_errors_of_a_family_are_counted_by_kind():
    shown = error_table("training_cost", "Errors")._repr_html_()
    rows = [re.findall("<t[dh][^>]*>(.*?)</t[dh]>", row) for row in re.findall("<tr>(.*?)</tr>", shown)]
    frame = compare("training_cost")
    assert rows[0] == ["family", "published figure", "figures", "median", "90th percentile"]
    assert len(rows) == 1 + len(frame[["family", "kind"]].drop_duplicates())
    for family, kind, figures, median, tenth in rows[1:]:
        errors = sorted(frame["error"].abs()[(frame["family"] == family) & (frame["kind"] == kind)])
        assert figures == str(len(errors)) and median == percent(statistics.median(errors))
        place, rest = divmod(0.9 * (len(errors) - 1), 1)
        low, high = errors[int(place)], errors[min(int(place) + 1, len(errors) - 1)]
        assert tenth == percent(low + rest * (high - low))


def test_the_table_shows_figures_with_units_and_a_dash_without():
    shown = claims_table("training_cost", "Claims", ids=["trc-h100-month", "trc-exact"])._repr_html_()
    cells = [html.unescape(re.sub("<.*?>", "", cell)) for cell in re.findall("<td.*?</td>", shown)]
    assert cells[1:3] == ["3,100 USD", "8,940 USD"] and cells[6:8] == ["–", "–"]
    assert shown.count("<tr>") == 3 and "what to make of it" in shown


def test_the_table_escapes_what_a_row_says(monkeypatch):
    frame = tables.table("claims").copy()
    frame.loc["be-20", ["claim", "note", "document"]] = "<script>alert(1)</script>"
    monkeypatch.setattr(held, "table", lambda name: frame)
    shown = claims_table("break_even", "<b>")._repr_html_()
    assert "<script>" not in shown and "<b>" not in shown and "&lt;script&gt;" in shown
