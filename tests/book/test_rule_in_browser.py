"""Decisions in the browser against Python's: the same tables of choices, and the same rows kept and lost, at all ends."""
import json
import math
import shutil
from collections import Counter

import numpy as np
import pytest

from book.build.site import ROOT
from book.web import export
from gpucalc import Case
from gpucalc.core.evaluate import is_law
from gpucalc.core.law import LAWS
from gpucalc.decisions import answer, jobs, points, rule
from gpucalc.decisions.market import LONG_SEQUENCE, market
from gpucalc.rows import bands, case_file, project_books
from tests.cases import solved

STATIC = ROOT / "book/static"
BUDGET = 255_000
SCRIPTS = ("grid", "case", "columns", "rule", "points", "market")
PAGE = """<!doctype html><title>rule</title>
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self'">
""" + "".join(f'<script src="{name}.js"></script>' for name in ("data", *SCRIPTS))
TABLES = {"model": "models", "recipe": "recipes", "weight_format": "formats", "efficiency": "efficiencies", "engine": "engines", "job": "jobs"}
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
  const lists = Object.keys(gpucalc.data.tried).filter((name) => tables[name]);
  return JSON.stringify([Object.fromEntries(["offers", "cards", "clusters"].filter((name) => tables[name])
    .map((name) => [name, plain(tables[name])])), Object.fromEntries(lists.map((name) => [name, tables[name]]))]);
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


def test_the_browser_decides_as_python_does(page, cases):
    seen = Counter()
    for each in cases:
        case, said = answer.completed(case_file.case_of(each.held)), str(each.held)
        kind = answer.kind_of(case)
        found = json.loads(page.evaluate(SOLVE, [held(case), kind, answer.judged(case)]))
        if each.solved is None:
            assert "no price" in found, said
            continue
        assert not isinstance(found, str), (said, found)
        for end, tables in each.solved.items():
            for place, (one, other) in enumerate(zip(found[end], tables, strict=True)):
                assert_same(one, other, f"{said}, {end} {place}")
                seen[kind, end] += rule.count(other)
                seen["lost" if place else "kept", end] += rule.count(other)
                assert len(one.get("gpu", ())) == rule.count(other), said
                step = jobs.JOBS[kind].chain[max(place - 1, 0)]
                assert not rule.count(other) or {"broken", "excess", *step.objective} <= {*one}
    assert min(seen[each, end] for each in (*jobs.JOBS, "kept", "lost") for end in rule.ENDS) > 50, seen


def test_a_limit_is_kept_up_to_itself(page):
    """How far above a limit a value is, and how far along its band a figure stands, are Python's."""
    pairs = [(value, most) for most in (0.0, 2.0, math.inf) for value in (-1.0, 0.0, 1e-9, 1.999, 2.0, 2.0000001, 3.0, 1e300, math.inf, math.nan)]
    found = page.evaluate("(pairs) => pairs.map(([value, most]) => gpucalc.columns.exceeds(value, most))", pairs)
    np.testing.assert_allclose(found, [float(points.exceeds(*pair)) for pair in pairs], rtol=1e-12)
    ends = [(*band, far) for band in ((1.0, 2.0, 8.0), (3.0, 3.0, 3.0)) for far in (-1.0, -0.4, -1e-9, 0.0, 0.3, 0.5, 1.0, 1.7)]
    found = page.evaluate("(ends) => ends.map((each) => gpucalc.columns.moved(...each))", ends)
    np.testing.assert_allclose(found, [points.moved(each[:3], each[3]) for each in ends], rtol=1e-12)


@pytest.mark.parametrize("keys, best", [
    ([[2, 1, 1, 3, 2, 2], [0, 0, 0, 0, 0, 0]], [1, 4]), ([[2, 1, 1, 3, 2, 2], [0, 2, 1, 0, 2, 1]], [2, 5]),
    ([[None, 2, 3, None, None, 1], [0] * 6], [1, 5]), ([[None, None, None, 1, 1, 1], [3, 2, 2, None, 5, 4]], [1, 5]),
    ([[None, math.inf, None, math.inf, None, 1], [0] * 6], [0, 5])])
def test_of_each_group_the_first_by_its_keys_is_best(page, keys, best):
    """Two rows of three places each; the next key decides between equals, and a blank comes last, as what is infinite does."""
    found = page.evaluate("""(keys) => {
      const places = new gpucalc.columns.Places({ x: Float64Array.of(7, 8) }, { batch: [1, 2, 3] }, []);
      return [...places.bestOf({ place: Float64Array.from([0, 1, 2, 3, 4, 5]) }, keys.map((key) => key.map((each) => each ?? NaN)))];
    }""", keys)
    assert found == best


@pytest.mark.parametrize("load", [1e9, 1e17])
def test_a_halving_ends_in_as_many_rounds(page, book, load):
    """A load that no case may give: a float holds none of the whole numbers between its replicas."""
    case = answer.completed(Case(job="serve", model="Llama-3-8B", cards="H100 SXM 80GB", requests_per_second=load, first_token_limit=1))
    found, wanted = json.loads(page.evaluate(SOLVE, [held(case), "serve", 0.0])), solved(case, "serve", book, 0.0)
    for end, tables in wanted.items():
        for one, other in zip(found[end], tables, strict=True):
            assert_same(one, other, end)
    assert rule.count(wanted["plan"][0])


@pytest.mark.parametrize("kind, inputs", [
    ("serve", {"job": "serve", "weight_format": "FP8", "requests_per_second": 1}),
    ("offline", {"job": "batch", "window_requests": 10}),
    ("train", {"job": "pretrain", "training_tokens": 10**10, "gpus": 300}),
    ("train", {"job": "pretrain", "training_tokens": 10**10, "gpus": 300, "published_only": 1}),
    ("train", {"job": "pretrain", "training_tokens": 10**10, "gpus": 8, "sequence": LONG_SEQUENCE}),
    ("train", {"job": "lora", "training_tokens": 10**10, "gpus": 8, "sequence": LONG_SEQUENCE + 1, "recipe": "lora"})])
def test_the_market_is_the_same(page, book, kind, inputs):
    case = answer.completed(Case(model="Llama-3-8B", cache_element_bytes=2, **inputs))
    (found, tried), wanted = json.loads(page.evaluate(MARKET, [held(case), kind])), market(case, book, kind)
    assert tried == {name: list(map(float, wanted[name])) for name in tried} and len(tried) == (5 if kind == "train" else 0)
    for name, table in found.items():
        assert_same(table, wanted[name], name)
        assert set(table) - set(wanted[name]) <= {"forbidden", "no_ecc", "unmeasured", "low_mfu", "plan_mfu", "high_mfu"}
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


@pytest.mark.long
def test_the_script_stays_small(book):
    script = export.script(book)
    assert len(script.encode()) < BUDGET
    assert not any(word in script for word in ("NaN", "</", "eval("))
    assert math.isfinite(sum(value for value in json.loads(json.dumps(export.data(book)))["offers"]["usd_per_hour"]))
