"""What fills a GPU: every term has a name and a part, and bars sum to the account."""
import html
import math
import re

import pytest

from book.components.memory import (account_table, fewest_in_words, fewest_to_train, fullest, in_bytes, largest, memory_bars,
                                    moment_bars, moment_table, moments, MOMENTS, need, origins, parts, peak_terms, server, spare,
                                    TERMS, verdict)
from gpucalc import Case

JOB = Case(model="Mixtral-8x7B", recipe="mixed-adamw", micro_batch=1, sequence=2048, micro_batches=8)
SERVER = server(Case(model="Llama-3-8B", gpu="H100 SXM 80GB", weight_format="BF16", context=8192, batch=16, batched_tokens=8192,
                     max_sequences=256, framework_bytes=1e9), 1)
ALL = dict(zero_stage=3, data_parallel=8, recompute=2, persistent_gradients=0, step_element_bytes=4)


def test_every_term_has_a_name_and_a_part():
    account = fullest(JOB.but(**ALL))
    bars = moment_bars(account, SERVER)
    assert list(bars) == [*MOMENTS.values(), "serving"] and MOMENTS.keys() == moments(account).keys()
    assert {term for terms in bars.values() for term in terms} <= TERMS.keys()
    for terms in bars.values():
        assert math.isclose(sum(parts(terms).values()), sum(terms.values()))


def test_parts_are_in_the_order_of_their_colours_and_the_largest_is_named():
    terms = {"framework_bytes": 1, "loss_bytes": 2, "logits_bytes": 3, "held_weight_bytes": 4, "held_master_bytes": 0.0}
    assert parts(terms) == {"weights": 4, "logits and loss": 5, "fragmentation, CUDA": 1}
    assert list(parts(terms)) == ["weights", "logits and loss", "fragmentation, CUDA"] and largest(terms) == "logits and loss"


def test_a_part_has_the_same_colour_in_every_chart():
    assert len({part for _, part in TERMS.values()}) <= 8
    account = fullest(JOB)
    charts = [memory_bars(accounts, 8e10, "alt").to_dict() for accounts in ({"peak": peak_terms(account)}, moment_bars(account, SERVER))]
    domains = [chart["layer"][0]["encoding"]["color"]["scale"]["domain"] for chart in charts]
    assert domains[1] == [*domains[0], "cache"]


def test_tables_name_their_terms():
    account = fullest(JOB.but(**ALL))
    shown = account_table(account, "Account", show=in_bytes).source
    assert "optimizer state" in shown and f">{in_bytes(account.value)}</td>" in shown and "gathered by ZeRO" in shown
    moment = moment_table(account, "Moments").source
    assert "backward starts" in moment and "the step&#x27;s own buffers" in moment and "total" in moment


def test_each_term_has_its_share_and_its_source():
    """Weights of 13 of 91 GB are a seventh: what a row shows is its bytes over the account's."""
    account = fullest(JOB.but(**ALL))
    rows = re.findall(r"<tr>(.*?)</tr>", account_table(account, "Account").source)[1:]
    cells = [re.findall(r'<td[^>]*?(?:data-value="([^"]*)")?>(.*?)</td>', row) for row in rows]
    held = {name: value for name, value in peak_terms(account).items() if value}
    assert [row[0][1] for row in cells] == [html.escape(TERMS[name][0]) for name in held] + ["total"]
    for row, (name, value) in zip(cells, held.items()):
        assert float(row[2][0]) == pytest.approx(value / account.value) and row[2][1].endswith(" %")
        assert float(row[1][0]) == pytest.approx(value) and re.sub("<[^>]*>", "", row[3][1]) == html.escape(origins(account)[name]) != ""
    assert cells[-1][2][1] == "100 %" and cells[-1][3][1] == "–"


def test_moments_have_their_terms_and_their_sum():
    account = fullest(JOB.but(**ALL))
    rows = [re.findall(r"<td[^>]*>(.*?)</td>", row) for row in moment_table(account, "Moments").source.split("<tr>")[2:]]
    held = moments(account)
    terms = [term for term in dict.fromkeys(term for each in held.values() for term in each)
             if any(each.get(term, 0) > 0 for each in held.values())]
    assert sorted(html.unescape(row[0]) for row in rows) == sorted([TERMS[term][0] for term in terms] + ["total"])
    assert rows[-1][0] == "total"
    values = [re.findall(r'data-value="([^"]*)"', row) for row in moment_table(account, "Moments").source.split("<tr>")[2:]]
    assert [float(value) for value in values[-1]] == pytest.approx([account.terms[name] for name in held])


def test_what_is_spare_in_words():
    assert (spare(3e9, 5e9), spare(5e9, 3e9), spare(3e9, 3e9)) == ("2 GB to spare", "2 GB too much", "0 B to spare")


def test_a_verdict_has_three_words():
    held = need(JOB)
    assert [verdict(held, memory) for memory in (held.low * 0.999, held.low, held.plan, held.high * 0.999, held.high)] == [
        "does not fit", "too close to call", "too close to call", "too close to call", "fits"]


def test_the_fewest_in_words():
    [few] = fewest_to_train(JOB.but(zero_stage=3, recompute=2), [8e10])
    assert fewest_in_words(few) == f"{few.plan} to {few.high}" and few.plan < few.high
    ends = (3, 3), (1200, math.inf), (math.inf, math.inf)
    assert [fewest_in_words(few._replace(plan=plan, high=high)) for plan, high in ends] == ["3", "1,200 or more", "–"]
