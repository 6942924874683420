"""Claims of the guide to right sizes, of the five calculations and of the RTX 4090 article: fifteen and more by hand."""
import json

import pytest

from book.components import claims as held
from book.components.claims import ASSUMING, claim, claims, CONTRADICTED, CORRECT, OPEN, OUTDATED, WRONG
from gpucalc.rows.tables import table

CLAIMS = claims()


@pytest.mark.parametrize("name, right, verdict", [
    # rents and what they add up to
    ("co-year-off", 24 * 24 * 365 * 0.6, CORRECT), ("co-annual-ndv4", 2.16 * 8 * 8760, CORRECT), ("co-a2-45", 0.57 / 1.8, WRONG),
    ("trc-14-usd", 8 * 14 * 24 * 0.57, WRONG), ("trc-three-weeks", 2200 * 12 / 365 * 21, WRONG),
    ("trc-900", 8.25 * 730, ASSUMING),
    ("trc-rate-p4d", 4 * 0.6, CORRECT), ("trc-saving", 2200 - 2 * 350, WRONG), ("sv-6600", 3 * 2200, CORRECT),
    ("in-p5-98", 55.04, OUTDATED), ("in-west", 1, WRONG), ("co-a3-470", 88.49 / 8, WRONG), ("trc-rate-a2", 10.28567 / 8, WRONG),
    # a chart against the rates under it
    ("sc-million-a100-gcp", (0.45 / 800) / (0.57 / 3200), WRONG), ("sc-h100-a100", (5100 / 8) / (3200 / 1.8), WRONG),
    ("sc-a10g-better", (800 / 0.45) / (3200 / 1.8), WRONG), ("trc-40-faster", 4 * 5100 / (8 * 3200), WRONG),
    ("trc-four-weeks", 8 * 14 * 4 / 28, WRONG), ("trc-quarter", 0.57 * 8 / 3200 / 8 / (8 / 5100), WRONG),
    # memory
    ("tm-42-a10g", 2, WRONG), ("tm-12", 2 + 2 + 4 + 4 + 4, CORRECT), ("kv-not-size", 80 / 32, WRONG),
    ("kv-70b-mha", 2 * 80 * 8 * 128 * 2 * 4096 * 8, WRONG), ("tm-16-gpus", 16, CORRECT), ("no-80", 8 * 80e9, WRONG),
    # compute, links and loads
    ("ge-a100-312", 19.5e12, WRONG), ("ai-100-macs", 989 / 3.35, WRONG), ("trc-whole-peak", 1 / 0.4, WRONG),
    ("tt-a100-3200", 312e12 * 0.4 * 3600 / (6 * 7e9), CORRECT), ("tt-h100-5100", 989e12 * 0.4 * 3600 / (6 * 7e9), WRONG),
    ("ic-10g", 330 * 8192 * 2 / 1.25e9 + 3e-5, CORRECT), ("ic-tenth", 450 / 25, CORRECT),
    ("ic-h800", 3 * 8192 * 200e9 / 989e12, CORRECT),
    ("sv-four-a100", 1, WRONG), ("sv-10ms", 1 + 100 * 0.01, WRONG), ("sh-98", 1 - 3000 * 0.05 / 86400, CORRECT),
    ("be-300k", 300000 / 26280, CORRECT), ("tc-20x", (10000 - 100) / (500 - 100), WRONG),
    ("tc-855", 19 * 500 * 0.09, CORRECT)])
def test_claims_of_these_documents_by_hand(name, right, verdict):
    row = claim(name)
    assert row.predicted == pytest.approx(right, rel=2e-3)
    assert row.verdict == verdict


@pytest.mark.parametrize("name, right", [
    ("in-p3-a100", "V100 SXM 16GB"), ("in-p324", "p3dn.24xlarge"), ("ic-p3-link", "NVLink 2"), ("ic-a2-link", "NVLink 3"),
    ("ic-a3e", "NVLink 4")])
def test_words_are_held_against_the_cell_of_a_row(name, right):
    row = claim(name)
    assert row.right == right and row.verdict == WRONG


@pytest.mark.parametrize("name, usd", [
    ("trc-14-usd", 16320 - 8 * 14 * 24 * 0.57), ("trc-matrix-h100", 93600 - 4 * 720 * 8), ("trc-35-days", (56 - 35) * 192 * 0.45),
    ("tm-42-a10g", 1.006 * 730),
    ("trc-354", (2.5 - 1) * 353.9 * 2.8), ("in-west", 0.1 * 55.04 * 8760), ("kv-two-h100", 3.99 * 730)])
def test_harm_of_these_documents_by_hand(name, usd):
    assert claim(name).harm_usd == pytest.approx(usd, rel=3e-3)


def test_two_rates_of_one_text_contradict_each_other():
    assert [claim(name).verdict for name in ("tc-bare-rate", "tc-bare-250")] == [CONTRADICTED] * 2


def test_all_but_few_listed_claims_of_these_documents_are_decided():
    listed = CLAIMS[CLAIMS["reference"].str.startswith(("S002-", "S003-", "S004-"))]
    decided = listed[listed["verdict"] != OPEN]
    assert len(listed) == 209 and len(decided) >= 185
    assert (decided["harm_usd"] > 0).sum() >= 30
    assert (listed.loc[listed["verdict"] == WRONG, "note"] != "").all()


@pytest.mark.parametrize("name, assumed", [
    ("ai-training-intensity", 2 * 65536 / 2), ("be-60", 25000 / 26280 / 1.53625), ("be-20", 25000 / 26280 / 5.12),
    ("be-seven", (18396 * 5.12 - 12000) / 12000), ("kv-eight-4090", 8), ("trc-h100-month", 4.7 * 720),
    ("co-a3-470", 88.49 / 8 * 0.44), ("in-a3", 2.3625 * 8), ("tm-7b-89", 12 * 7e9), ("tc-bare-fresh", 991.2 + 28 + 900),
    ("sv-four-a100", 4), ("ai-h100-2x", 2000 / 1008)])
def test_what_an_assumption_gives_by_hand(name, assumed):
    """For what a claim is right: the figure under its assumption, whether its document states that or not."""
    row = table("claims").loc[name]
    found = held._assuming(row["law"], json.loads(row["inputs"]), json.loads(row["than"] or "{}"), json.loads(row["assumed"]))
    assert found == pytest.approx(assumed, rel=3e-3) and claim(name).verdict == (ASSUMING if row["stated"] else WRONG)
