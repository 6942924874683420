"""Claims of others: each is a row that its law recomputes, and belongs to a page."""
import html
import json
import math
import re
import statistics
from types import SimpleNamespace

import pandas
import pytest

from book.components import claims as held
from book.components.claims import claim, claims, DATED, dearest
from book.components.claims import ASSUMING, BOUNDS, CONTRADICTED, CORRECT, OPEN, OUTDATED, WRONG, agrees, factor, judged
from book.components.measured import compare, comparison_table, error_table, signed_percent
from book.components.links import PAGES
from book.pages import claims as shown_claims
from gpucalc import LAWS, QUANTITIES
from gpucalc.core.figures import dollars, number, percent
from gpucalc.rows import tables
from gpucalc.rows.tables import DATA

CLAIMS = claims()
# Claims by verdict: a changed law, row, price or claim shows here first.
COUNTS = {"correct": 245, "correct if": 21, "wrong": 185, "contradicted": 2, "outdated": 9, "no figure": 69}
# The documents that were read for claims: file name, how many claims are listed in them, and lines.
DOCUMENTS = {"S000": ("000_b9a26b66ce9b897d.txt", 171, 1012), "S001": ("001_d02abd69ba5c9305.txt", 119, 557),
             "S002": ("002_dbb7285f4b7266b5.txt", 117, 553), "S003": ("003_52fb0854893819c3.txt", 51, 102),
             "S004": ("004_1127883dbe3779c9.txt", 41, 68)}


def of_law(law):
    return QUANTITIES[law].unit if law in QUANTITIES else None


def test_claims_by_verdict_are_counted():
    assert shown_claims.counted(CLAIMS) == COUNTS


def test_each_listed_claim_stands_once_with_its_file_and_line():
    listed = CLAIMS[CLAIMS["reference"] != ""]
    assert listed["reference"].is_unique and len(listed) == sum(each[1] for each in DOCUMENTS.values())
    assert (listed["verdict"] != OPEN).sum() >= 400
    for row in listed.itertuples():
        file, most, lines = DOCUMENTS[row.reference[:4]]
        assert row.file == file and 1 <= int(row.reference[5:]) <= most and 1 <= int(row.line) <= lines, row.Index


def test_every_claim_has_a_page_and_is_said_once():
    pages = {path.stem for path in (DATA.parent / "notebooks").glob("*.md")}
    assert len(CLAIMS) >= 110 and CLAIMS.index.is_unique and CLAIMS["claim"].is_unique
    assert set(CLAIMS["page"]) <= pages & set(PAGES)


def test_pages_have_names_of_their_own():
    assert PAGES["kv_cache"] == "KV cache" and len(PAGES) > 40
    pages = set(CLAIMS["page"])
    assert len({PAGES[page] for page in pages}) == len(pages), "a filter takes a page by its name"


def test_every_claim_evaluates_in_the_unit_of_its_law():
    for row in CLAIMS.itertuples():
        other = json.loads(row.than or "{}")
        assert not (row.said and row.value == row.value) and row.bound in ("", *BOUNDS), row.Index
        if row.said:
            assert row.law and not row.unit and row.right == row.right, row.Index
        elif row.law:
            assert row.value > 0 and row.predicted > 0, row.Index
            ratio = set(other) - {"times"}
            units = {of_law(row.law)} if not ratio else {""} if of_law(row.law) == of_law(other.get("law", row.law)) else set()
            assert units in ({None}, {row.unit}) or row.law in ("price", "bought_usd") or other.get("law") in (
                "params", "bought_usd", "weight_bytes"), row.Index
        if row.value == row.value:
            assert number(row.value, row.unit), row.Index
        elif not row.said:
            assert row.note and not row.unit, row.Index


def test_an_assumption_bears_its_claim_out_and_counts_where_its_document_states_it():
    for row in CLAIMS[CLAIMS["assumed"] != ""].itertuples():
        found = held._assuming(row.law, json.loads(row.inputs), json.loads(row.than or "{}"), json.loads(row.assumed))
        assert agrees(row.said or row.value, found, row.bound, row.law), row.Index
        assert row.verdict == (ASSUMING if row.stated else WRONG), row.Index
        if row.stated:
            line, words = re.fullmatch(r"(\d+): (\S.{4,79})", row.stated).groups()
            assert 1 <= int(line) <= DOCUMENTS[row.reference[:4]][2] and words == words.strip(), row.Index
    assert set(CLAIMS.loc[CLAIMS["stated"] != "", "verdict"]) == {ASSUMING}


def test_a_claim_says_in_words_what_it_assumes_and_what_its_harm_is():
    for row in CLAIMS.itertuples():
        assert bool(row.assumed) == bool(row.assumption) and bool(row.harm) == bool(row.situation), row.Index
        if row.harm:
            harm = json.loads(row.harm)
            assert of_law(harm["law"]) in ("USD", "USD/month") and harm["of"] in QUANTITIES, row.Index
            assert row.harm_usd > 0 and harm["of"] not in harm["inputs"], row.Index


def test_the_dearest_are_wrong_sorted_and_twenty():
    shown = dearest(20, CLAIMS)
    assert len(shown) == 20 and set(shown["verdict"]) == {WRONG}
    assert list(shown["harm_usd"]) == sorted(shown["harm_usd"], reverse=True) and shown["harm_usd"].min() > 0
    rest = CLAIMS[(CLAIMS["verdict"] == WRONG) & ~CLAIMS.index.isin(shown.index)]["harm_usd"]
    assert not (rest > shown["harm_usd"].min()).any()


@pytest.mark.parametrize("law", ["kv_bytes_per_token", "bytes_per_param", "compute_usd", "gpus_required"])
def test_a_law_off_by_a_factor_changes_verdicts(law, monkeypatch):
    right = LAWS[law].formula
    monkeypatch.setattr(LAWS[law], "formula", lambda **given: 2 * right(**given))
    changed = claims()
    assert (changed["verdict"] != CLAIMS["verdict"]).sum() >= 3 and shown_claims.counted(changed) != COUNTS


@pytest.mark.parametrize("name, right", [
    ("ge-h100-fp8", 2 * 989.5e12), ("me-67", 3.35 / 2.039), ("tm-18", 2 + 4 + 4 + 8), ("kv-query-heads", 2 * 8 * 128 * 2),
    ("kv-eight-d", 2 * 32 * 128 * 2), ("no-p5-bf16", 8 * 989e12), ("ms-70b-two", math.ceil(141.1 / (85.9 * 0.9))),
    ("be-hours", 3 * 8760 * 0.7), ("be-94187", 18396 * 5.12), ("ic-fourteen", 450 / 31.5),
    ("bu-100b", math.ceil(1800 / (85.52 * 0.9))), ("sc-code-3090", (700 / 26280 + 0.35 * 0.12) / (65 * 0.7 * 3600) * 1e6),
    ("tt-gpt3-months", 6 * 175e9 * 300e9 / (1024 * 312e12 * 0.4) / 86400), ("tm-fp8", 20 / 18)])
def test_claims_worked_by_hand(name, right):
    assert claim(name)["predicted"] == pytest.approx(right, rel=2e-3)


def test_harm_worked_by_hand():
    """Two runs at 40 % MFU, at the hourly rates of their documents, less the bills that these print."""
    hours = 6 * 8_030_261_248 * 100e9 / (312e12 * 0.4 * 3600)
    assert claim("trc-run-usd").harm_usd == pytest.approx(hours * 32.77 / 8 - 6291, rel=2e-3)
    assert claim("be-60").verdict == WRONG and math.isnan(claim("be-60").harm_usd)
    assert claim("tc-991").harm_usd == pytest.approx(6 * 70e9 * 3e9 / (989e12 * 0.4 * 3600) * 2.8 - 991, rel=1e-3)


@pytest.mark.parametrize("claimed, right, bound, law, holds", [
    (100, 109, "", "", True), (100, 111, "", "", False), (100, 91, "", "", True), (100, 90, "", "", False), (7, 7.49, "", "", True),
    (2, 1.6, "", "", True), (2, 1.59, "", "", False), (1, 0.79, "", "", False), (3, 3.49, "", "", True), (2.5, 1.9, "", "", False), (20, 16, "", "", False),
    (80, 81, "at most", "", False), (80, 80.5, "at most", "", True), (80, 3, "at most", "", True), (1, 0.6, "at least", "", False),
    (90, 99, "at least", "", True), (2020, 2021, "", "year", False), (2020, 2020, "", "year", True), ("none", math.nan, "", "", True),
    ("HBM3", "hbm3", "", "", True), ("HBM3", "HBM2e", "", "", False), ("0", 0.0, "", "", True), ("none", 3e14, "", "", False),
    (5, math.nan, "", "", False)])
def test_what_agrees(claimed, right, bound, law, holds):
    assert agrees(claimed, right, bound, law) == holds


def test_verdicts_of_made_up_claims():
    now, then = ("2026-06", 50.0), ("2026-01", 98.0)
    assert judged(50.0, [then, now]).verdict == CORRECT
    assert judged(98.0, [then, now]) == (OUTDATED, 1.96, "2026-06")
    assert judged(75.0, [then, now]) == (WRONG, 1.5, "")
    assert judged(98.0, [then, ("2026-03", 97.0), now, ("2026-09", 40.0)]).since == "2026-06"
    assert judged(75.0, [now], assumed=76.0) == (ASSUMING, 1.5, "")
    assert judged(75.0, [now], assumed=76.0, stated="") == (WRONG, 1.5, "")
    assert judged(75.0, [now], assumed=10.0).verdict == WRONG
    assert judged(75.0, [], others=(50.0,)).verdict == CONTRADICTED
    assert judged(75.0, [], others=(75.0,)).verdict == judged(math.nan, [now]).verdict == judged(75.0, []).verdict == OPEN
    assert judged(75.0, [now], others=(50.0,)).verdict == WRONG, "what a formula decides, no other claim does"
    assert judged("HBM3", [("", "HBM2e")]).verdict == WRONG
    assert factor(2, 1) == factor(1, 2) == 2 and factor(0, 0) == 1 and math.isinf(factor(0, 1))


def test_a_ratio_is_of_two_cases_at_the_same_dates():
    p5, lambdas = ({"offer": {"provider": provider, "sku": sku, "term": "on-demand", **place}} for provider, sku, place in (
        ("AWS", "p5.48xlarge", {"region": ["us-east-1", "not stated"]}), ("Lambda", ["gpu_8x_h100_sxm_80gb", "8x H100 SXM5"], {})))
    each, other = dict(held.figures("price", lambdas)), dict(held.figures("price", p5))
    found = held.figures("price", lambdas, p5)
    assert found[0] == ("2026-01-12", each["2026-01-12"] / other["2026-01-12"]) and found[-1][1] == pytest.approx(31.92 / 55.04)
    assert held.figures("peak_flops", {"gpu": "H100 SXM 80GB"}, {"times": 2}) == [("", 1978e12)]
    assert held.figures("fp8_flops", {"gpu": "H100 SXM 80GB"}, {"gpu": "H100 SXM 80GB", "law": "peak_flops"})[0][1] == pytest.approx(2, rel=2e-3)


@pytest.mark.parametrize("inputs, text", [
    ({"node": "DGX Z"}, "node: 'DGX Z'; allowed: a node of data/nodes.csv"),
    ({"offer": {"sku": "p9"}}, "offer {'sku': 'p9'}: in no price book"), ({"rents": {"gpu": "X"}}, "not in data/price_history.csv"),
    ({"rents": {"card": "X"}}, "rents: card: allowed: the columns of data/price_history.csv"),
    ({"rents": {}, "offer": {}}, "offer and rents: allowed: one of them")])
def test_inputs_that_name_no_row_are_refused(inputs, text):
    with pytest.raises(ValueError) as error:
        held.figures("power_watts", inputs)
    assert text in str(error.value)


def test_the_table_of_all_has_a_link_to_each_lesson():
    shown = shown_claims.all_table(CLAIMS, "All")._repr_html_()
    assert shown.count("<tr>") == len(CLAIMS) + 1
    for page in set(CLAIMS["page"]):
        assert f'<td><a href="{page}.html">{html.escape(PAGES[page])}</a></td>' in shown, page
    assert {"verdict", "lesson", "document"} == set(re.findall('data-filter="(.*?)"', shown))


@pytest.mark.parametrize("value, unit, claim, law, text", [
    (2.5e-12, "USD*second/(FLOP*month)", "cheap", "x", "2.50 USD a month for a TFLOP/s"), (0.5, "", "half or 50 %", "x", "50 %"), (0.5, "", "a half", "x", "0.500"),
    (3, "", "3 %", "x", "3"), (2024.4, "", "since", "year", "2024"), ("many", "byte", "", "x", "many"), (math.nan, "byte", "", "x", ""), (8e10, "byte", "", "x", "80 GB")])
def test_a_figure_of_a_claim_is_as_documents_print_it(value, unit, claim, law, text):
    assert shown_claims._figure(value, unit, SimpleNamespace(law=law, claim=claim, value=value)) == text


@pytest.mark.parametrize("verdict, assumption, note, why", [
    (ASSUMING, "it is idle", "It is not.", "if it is idle (line 7: “at: rest”). It is not."), (ASSUMING, "it is idle", "", "if it is idle (line 7: “at: rest”)"),
    (WRONG, "it is idle", "It is not.", "right if it is idle, which it does not say. It is not."),
    (WRONG, "", "", "")])
def test_a_claim_says_under_which_assumption_it_is_right(verdict, assumption, note, why):
    assert shown_claims._why(pandas.DataFrame([dict(verdict=verdict, assumption=assumption, note=note, stated="7: at: rest")])) == [why]


def test_the_dearest_are_shown_with_factor_harm_and_situation():
    shown = html.unescape(shown_claims.dearest_table(CLAIMS, "Dearest", 2)._repr_html_())
    assert all(each in shown for row in dearest(2).itertuples()
               for each in (row.claim, dollars(row.harm_usd), row.situation, row.note))


def test_inputs_are_needed_by_the_law_or_name_a_row():
    """Nothing is in a claim that its law does not use."""
    for row in CLAIMS.itertuples():
        inputs = json.loads(row.inputs)
        if row.law in LAWS and not set(DATED) & set(inputs):
            explanation = held._case(inputs).explain(LAWS[row.law])
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
    ("tc-pull", 45, 36), ("tc-pulls", 900, 891), ("tc-service", 1316, 354 * 2.5 * 2.8 * 1.3 + 28), ("tc-tokens", 500e9, 3.94e9),
    ("trc-days-least", 7, 6 * 8_030_261_248 * 100e9 / (8 * 312e12 * 0.4 * 86400)), ("trc-matrix-a10g", 26784, 8 * 0.45 * 720),
    ("trc-35-days", 35, 56), ("trc-10-days", 10, 14 * 25600 / 20400), ("trc-h100-month", 3100, 12.25 * 730),
    ("trc-354", 354, 6 * 70e9 * 3e9 / (989e12 * 0.4 * 3600)), ("tm-13b-192", 192e9, 13e9 * 18), ("tm-7b-56", 56e9, 7e9 * 18)])
def test_known_claims(name, published, right):
    row = claim(name)
    assert row.value == published and row.predicted == pytest.approx(right, rel=0.01)
    assert row.error == pytest.approx(row.predicted / row.value - 1)
    assert row.kind == "claim" and row.name == name and isinstance(row.inputs, dict)


def test_a_page_has_its_own_claims():
    found = claims("break_even")
    assert set(found["page"]) == {"break_even"} and {"be-60", "be-30", "be-20", "be-payback", "be-4090-server"} <= set(found.index)
    assert list(found.index) == list(CLAIMS[CLAIMS["page"] == "break_even"].index)


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
    with pytest.raises(ValueError, match="no_such_law: neither a law nor a column of .* among the inputs$"):
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
