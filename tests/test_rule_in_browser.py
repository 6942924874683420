"""Decisions in the browser against Python's: the same tables of choices, and the same rows kept and lost, at all ends."""
import json
import math
import random
import shutil
from collections import Counter

import numpy as np
import pytest

from book.build import ROOT
from gpucalc import Case
from gpucalc.core.evaluate import is_law
from gpucalc.core.law import LAWS
from gpucalc.page import export
from gpucalc.plan import answer, decisions, rule
from gpucalc.plan.market import market
from gpucalc.rows import bands, catalogue, project_books
from gpucalc.rows.price_book import MissingPrice
from gpucalc.rows.tables import rows

STATIC = ROOT / "book/static"
CASES, BUDGET = 60, 225_000
SCRIPTS = ("grid", "case", "columns", "rule", "points", "market")
PAGE = """<!doctype html><title>rule</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'">
""" + "".join(f'<script src="{name}.js"></script>' for name in ("data", *SCRIPTS))
TABLES = {"model": "models", "recipe": "recipes", "weight_format": "formats", "efficiency": "efficiencies", "job": "jobs"}
CASE = """const TABLES = %s;
  const caseOf = ({ rows, inputs }) => new gpucalc.Case(Object.fromEntries(Object.entries(rows).map(([kind, name]) =>
    [kind, TABLES[kind] ? gpucalc.row(TABLES[kind], name) : { name }])), inputs);
  const cells = (column) => Array.from(column, (cell) => (Object.is(cell * 0, NaN) ? String(cell) : cell));
  const plain = (table, left = {}) => Object.fromEntries(Object.entries(table).filter(([name]) => !(name in left))
    .map(([name, column]) => [name, cells(column)]));
""" % json.dumps(TABLES)
SOLVE = "([held, kind, judged]) => {" + CASE + """
  try {
    const job = caseOf(held), solved = gpucalc.solve(gpucalc.data.chains[kind], job, gpucalc.market(job, kind), judged);
    return JSON.stringify(Object.fromEntries(Object.entries(solved).map(([end, { kept, lost }]) =>
      [end, [kept, ...lost].map((table) => plain(table, gpucalc.data.gpus))])));
  } catch (error) { return JSON.stringify(error.message); }
}"""
MARKET = "([held, kind]) => {" + CASE + """
  const tables = gpucalc.market(caseOf(held), kind);
  return JSON.stringify(Object.fromEntries(["offers", "cards", "clusters"].filter((name) => tables[name])
    .map((name) => [name, plain(tables[name])])));
}"""


@pytest.fixture(scope="module")
def book():
    return project_books.project_book(project_books.newest())


@pytest.fixture(scope="module")
def page(browser, book, tmp_path_factory):
    """An empty page from file:// with the scripts, under a strict policy."""
    folder = tmp_path_factory.mktemp("rule")
    for name in SCRIPTS:
        shutil.copy(STATIC / f"{name}.js", folder)
    (folder / "data.js").write_text(export.script(book), encoding="utf-8")
    (folder / "index.html").write_text(PAGE, encoding="utf-8")
    page = browser.new_page()
    page.goto((folder / "index.html").as_uri())
    yield page
    page.close()


def held(case):
    """A case as the page takes it."""
    plain = {name: f"law:{value.__name__}" if is_law(value) else f"row:{value.kind}" if isinstance(value, dict) else value
             for name, value in case.inputs.items()}
    return {"rows": {kind: row.name for kind, row in case.rows.items()}, "inputs": plain}


def assert_same(found, wanted, said):
    """The columns that both have are equal, and so are their rows."""
    for name in set(found) & set(wanted):
        column = np.asarray(wanted[name])
        if column.dtype.kind in "iufb":
            np.testing.assert_allclose(np.array(found[name], float), column, rtol=1e-9, atol=1e-12, err_msg=f"{said}: {name}")
        else:
            assert found[name] == column.tolist(), (said, name)


# Cases

def serving(draw):
    load = {"requests_per_second": 10 ** draw.uniform(-1, 3)} if draw.random() < 0.7 else {
        "daily_users": 10 ** draw.randint(3, 6), "messages_per_day": 5}
    limits = {"first_token_limit": 10 ** draw.uniform(-1, 1), "token_limit": 10 ** draw.uniform(-2, 0),
              "answer_limit": 10 ** draw.uniform(0, 2), "usd_per_month": 10 ** draw.uniform(3, 7), "late_share": 0.01,
              "most_load": 0.8, "spare_replicas": draw.randint(0, 2)}
    return load | some(limits, draw), {}


def offline(draw):
    limits = {"window_hours": draw.randint(1, 48), "budget_usd": 10 ** draw.uniform(1, 5)}
    return {"window_requests": 10 ** draw.randint(3, 8)} | some(limits, draw), {}


def training(draw):
    limits = {"deadline_days": 10 ** draw.uniform(0, 2.5), "budget_usd": 10 ** draw.uniform(3, 8)}
    shape = {"sequence": draw.choice([2048, 4096, 8192, 32768]), "global_batch": draw.choice([64, 256, 1024])}
    most = {"gpus": draw.choice([1, 8, 64, 200, 512])}
    return {"training_tokens": 10 ** draw.randint(8, 12)} | most | shape | some(limits, draw), some(
        {"recipe": draw.choice(list(rows("recipes")))}, draw)


def post_training(job, draw):
    """Inputs of a run of dpo or grpo, from those of a run."""
    inputs, named = training(draw)
    del inputs["training_tokens"]
    if job == "dpo":
        return inputs | {"preference_pairs": 10 ** draw.randint(3, 6)} | some({"references": 0}, draw), named
    wanted = {"rollout_steps": draw.randint(10, 2000), "output": 10 ** draw.randint(2, 4), "output_p95": 2.5 * 10 ** draw.randint(2, 4)}
    more = {"group_size": draw.choice([8, 64]), "output_limit": 16000, "references": 0, "staleness": 0, "offloaded_states": 0, "critic": 1}
    return {name: value for name, value in inputs.items() if name not in ("sequence", "global_batch")} | wanted | some(more, draw), named


def some(names, draw):
    return {name: value for name, value in names.items() if draw.random() < 0.5}


def random_case(draw, book):
    """A case of a job, completed."""
    job = draw.choice(["serve", "serve", "batch", "embed", "images", "pretrain", "pretrain", "finetune", "lora", "qlora", "dpo", "dpo",
                       "grpo", "grpo"])
    kinds = {"serve": serving, "offline": offline, "train": training}
    inputs, named = post_training(job, draw) if job in ("dpo", "grpo") else kinds[catalogue.FINDERS["job"](job)["kind"]](draw)
    if job in ("serve", "batch", "embed", "images"):
        named = some({"weight_format": draw.choice(list(rows("formats")))}, draw) | {"weight_format": "BF16"} | named
        inputs |= some({"prompt": 10 ** draw.randint(2, 4), "cached_share": 0.5}, draw)
        inputs |= {"cache_element_bytes": draw.choice([1, 2])}
        inputs |= {} if job == "embed" else some({"output": draw.randint(10, 2000)}, draw)
    offered = book[book["item"] == "rent"]
    cards = list(dict.fromkeys(draw.choice(offered["gpu"].tolist()) for _ in range(draw.randint(1, 12))))
    chosen = some({"cards": ", ".join(cards), "term": draw.choice(["any", "spot", "on-demand"])}, draw)
    chosen |= {name: draw.choice(offered[name].tolist()) for name in ("provider", "region") if draw.random() < 0.15}
    return answer.completed(Case(job=job, model=draw.choice(list(rows("models"))), **named, **chosen, **inputs))


def solved(case, book, kind, judged):
    """Tables by end; None where the book has no such offer."""
    try:
        tables = market(case, book, kind)
    except MissingPrice:
        return None
    found = rule.solve(decisions.CHAINS[kind], case, tables, judged)
    return {end: [each.kept, *each.lost] for end, each in found.items()}


def test_the_browser_decides_as_python_does(page, book):
    draw, seen = random.Random(7), Counter()
    for number in range(CASES):
        case = random_case(draw, book)
        kind, judged = answer.kind_of(case), draw.choice([0.0, 0.6567, 1.0, 1.28])
        found, wanted = json.loads(page.evaluate(SOLVE, [held(case), kind, judged])), solved(case, book, kind, judged)
        said = f"{number}: {case}"
        if wanted is None:
            assert "no price" in found, said
            seen["refused"] += 1
            continue
        assert not isinstance(found, str), (said, found)
        for end, tables in wanted.items():
            for place, (one, other) in enumerate(zip(found[end], tables, strict=True)):
                assert_same(one, other, f"{said}, {end} {place}")
                seen[kind, end, bool(place)] += rule.count(other)
                assert len(one.get("gpu", ())) == rule.count(other), said
                step = decisions.CHAINS[kind][max(place - 1, 0)]
                assert not rule.count(other) or {"broken", "excess", *step.objective} <= {*one}
    assert all(seen[kind, end, lost] > 100 for kind in decisions.CHAINS for end in rule.ENDS for lost in (True, False)), seen


@pytest.mark.parametrize("load", [1e9, 1e17])
def test_a_halving_ends_in_as_many_rounds(page, book, load):
    """A load that no case may give: a float holds none of the whole numbers between its replicas."""
    case = answer.completed(Case(job="serve", model="Llama-3-8B", cards="H100 SXM 80GB", requests_per_second=load, first_token_limit=1))
    found, wanted = json.loads(page.evaluate(SOLVE, [held(case), "serve", 0.0])), solved(case, book, "serve", 0.0)
    for end, tables in wanted.items():
        for one, other in zip(found[end], tables, strict=True):
            assert_same(one, other, end)
    assert rule.count(wanted["plan"][0])


@pytest.mark.parametrize("kind, inputs", [
    ("serve", {"job": "serve", "weight_format": "FP8", "requests_per_second": 1}),
    ("offline", {"job": "batch", "window_requests": 10}),
    ("train", {"job": "pretrain", "training_tokens": 10**10, "gpus": 300})])
def test_the_market_is_the_same(page, book, kind, inputs):
    case = answer.completed(Case(model="Llama-3-8B", cache_element_bytes=2, **inputs))
    found, wanted = json.loads(page.evaluate(MARKET, [held(case), kind])), market(case, book, kind)
    for name, table in found.items():
        assert_same(table, wanted[name], name)
        assert set(table) - set(wanted[name]) <= {"forbidden", "no_ecc", "low_mfu", "plan_mfu", "high_mfu"}
    assert set(found["offers"]) == set(wanted["offers"])


def test_the_bands_are_the_same(page):
    cases = [dict(model=model, sequence=4096, tensor_parallel=degree, **more) for model in ("Llama-3-8B", "Mixtral-8x7B")
             for degree in (1, 8) for more in ({}, {"narrow_products": 1})]
    script = "([sets, laws]) => {" + CASE + "return sets.map((each) => laws.map((law) => gpucalc.factors(caseOf(each), law)));}"
    laws = list(export.data(project_books.project_book(project_books.newest()))["bands"])
    found = page.evaluate(script, [[held(Case(**each)) for each in cases], laws])
    for each, factors in zip(cases, found):
        for law, ends in zip(laws, factors):
            assert ends == pytest.approx([float(end) for end in bands.factors(Case(**each), LAWS[law])], rel=1e-12), law


def test_the_script_stays_small(book):
    script = export.script(book)
    assert len(script.encode()) < BUDGET
    assert not any(word in script for word in ("NaN", "</", "eval("))
    assert math.isfinite(sum(value for value in json.loads(json.dumps(export.data(book)))["offers"]["usd_per_hour"]))
