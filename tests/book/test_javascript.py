"""The laws, cases and figures of the browser against Python's: the same values, the same errors, the same text."""
import json
import math
import random

import numpy as np
import pytest

from book.build.site import ROOT
from book.web.export import narrow
from book.web.javascript import figures_data, reached, script
from book.web.printed import figures_script
from gpucalc import Case
from gpucalc.core import figures
from gpucalc.core.evaluate import is_law
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS, DOMAINS, QUANTITIES, check
from gpucalc.rows import catalogue
from gpucalc.rows.tables import rows
from tests.gpucalc.test_laws import cases

STATIC = ROOT / "book/static"
TARGETS = ("training_bytes", "step_seconds", "request_seconds", "time_to_first_token", "serving_usd_per_month", "owning_npv")
# Bytes, uncompressed, of the laws that decisions need.
LAWS_BUDGET = 95_000
RANDOM_INPUTS, RANDOM_CASES, RANDOM_FIGURES = 20, 50, 3000


@pytest.fixture(scope="module")
def page(browser):
    page = browser.new_page()
    page.set_content("<!doctype html><title>laws</title>")
    page.add_script_tag(content=script(LAWS, QUANTITIES))
    page.evaluate("(held) => { Object.assign(gpucalc.data, held); }", {"narrow": narrow(), "gpus": {"name": list(catalogue.gpus().index)}})
    for name in ("grid", "case", "market"):
        page.add_script_tag(path=STATIC / f"{name}.js")
    page.add_script_tag(content=figures_script())
    yield page
    page.close()


def plain(value):
    """The value as Playwright sends it: NaN and infinities stay, a blank is null."""
    return value.item() if isinstance(value, np.generic) else value


def row(found):
    """A row as JSON holds it."""
    cells = {name: None if isinstance(value, float) and math.isnan(value) else plain(value) for name, value in found.items()}
    return json.loads(json.dumps(cells | {"name": found.name}, default=str))


def same(value, wanted):
    return math.isnan(value) if math.isnan(wanted) else math.isclose(value, wanted, rel_tol=1e-9)


# Laws

def random_value(name, draw):
    """An allowed value of a quantity: its ends, or some orders of magnitude around its example; a law's may be infinite."""
    low, low_included, high, whole = DOMAINS[QUANTITIES[name].allowed]
    if name in LAWS and high == math.inf and draw.random() < 0.05:
        return math.inf
    value = (QUANTITIES[name].example or 1) * 10 ** draw.uniform(-2, 2)
    if math.isfinite(high):
        value = draw.choice([high, draw.uniform(low, high)])
    if low_included and draw.random() < 0.15:
        value = max(low, -1)
    value = max(round(value) if whole else value, low)
    check(name, value)
    return value


def answer(law, arguments):
    """The law's value; None where plain numbers have none, and NumPy's columns say infinite or NaN."""
    try:
        value = law.formula(**arguments)
    except (ZeroDivisionError, OverflowError, ValueError):
        return None
    return None if isinstance(value, complex) else float(value)


def column_answer(law, arguments):
    with np.errstate(all="ignore"):
        columns = {name: np.array([float(value)] * 2) for name, value in arguments.items()}
        return float(np.broadcast_to(law.formula(**columns), 2)[0])


OF_LAWS = "(sets) => sets.map(([name, values]) => values.map((each) => gpucalc.laws[name].of(...each)))"


def test_every_law_gives_what_python_gives(page):
    draw = random.Random(1)
    sets = {name: [*cases(law), *({argument: random_value(argument, draw) for argument in law.arguments}
                                  for _ in range(RANDOM_INPUTS))] for name, law in LAWS.items()}
    computed = page.evaluate(OF_LAWS, [[name, [list(each.values()) for each in held]] for name, held in sets.items()])
    wrong, numbers = [], 0
    for (name, held), values in zip(sets.items(), computed):
        for arguments, value in zip(held, values):
            wanted = None if math.inf in arguments.values() else answer(LAWS[name], arguments)
            numbers += wanted is not None
            wanted = column_answer(LAWS[name], arguments) if wanted is None else wanted
            # An equation leaves out what is multiplied by 0, be it infinite.
            if not (same(value, wanted) or math.isnan(wanted) and math.inf in arguments.values()):
                wrong.append((name, arguments, value, wanted))
    assert wrong == []
    assert numbers > len(LAWS) * RANDOM_INPUTS * 0.8


def test_arguments_and_defaults_are_those_of_the_laws(page):
    found = page.evaluate("Object.entries(gpucalc.laws).map(([name, { args, defaults }]) => [name, args, defaults])")
    assert {name: (tuple(args), defaults) for name, args, defaults in found} == {
        name: (law.arguments, law.defaults) for name, law in LAWS.items()}


@pytest.mark.long
def test_a_script_holds_what_its_laws_reach_and_stays_small():
    names = reached(TARGETS)
    assert all(argument in names for name in names for argument in LAWS[name].arguments if argument in LAWS)
    assert len(script(TARGETS).partition("gpucalc.data =")[0]) < LAWS_BUDGET
    with pytest.raises(ValueError, match="law 'kv_byte': unknown"):
        script(["kv_byte"])


def test_a_script_holds_the_laws_that_rows_name():
    assert {"product_share", "product_share_low", "bandwidth_share"} <= set(reached(["request_seconds"]))


# Defaults that jobs of training give and no law has.
OF_JOBS = {"setup_hours", "least_rented_hours", "example_tokens"}


def test_data_covers_every_default_and_unit():
    data = json.loads(json.dumps(figures_data()))
    assert data["defaults"].items() >= {name: default.value for name, default in DEFAULTS.items() if name not in OF_JOBS}.items()
    assert set(data["units"]) == set(figures.UNITS) and set(data["quantities"]) == set(QUANTITIES)


# Cases

OF_CASE = """(sets) => sets.map(([rows, inputs, laws]) => {
  const found = new gpucalc.Case(rows, inputs);
  return laws.map((law) => { try { return found.law(law).number; } catch (error) { return error.message; } });
})"""
SERVED = ("kv_bytes", "request_seconds", "time_to_first_token", "tokens_per_second")
TRAINED = ("training_bytes", "step_seconds", "layout_mfu", "state_bytes")
OWNED = {"server_usd": 300_000, "network_ports": 8, "network_tiers": 3, "usd_per_port": 700, "cable_usd": 600, "years": 4,
         "discount_rate": 0.1, "utilization": 0.7, "pue": 1.3, "usd_per_kwh": 0.1, "hosting_usd_per_month": 1500,
         "usd_per_hour": 3, "gpus_per_server": 8, "residual": 0.1}


def random_case(draw):
    """Rows by kind, inputs, and the laws to ask for."""
    kind = draw.choice([SERVED, TRAINED, ("owning_npv", "owned_usd_per_hour")])
    named = {"gpu": draw.choice(list(rows("gpus")))}
    if kind[0] == "owning_npv":
        return named, {name: value * draw.choice([0.9, 1]) if name not in ("network_ports", "network_tiers", "gpus_per_server", "pue")
                       else value for name, value in OWNED.items()}, kind
    named |= {"model": draw.choice(list(rows("models"))), "efficiency": draw.choice(list(rows("efficiencies")))}
    degrees = {"tensor_parallel": draw.choice([1, 2, 8])}
    if kind is TRAINED:
        named["recipe"] = draw.choice(list(rows("recipes")))
        return named, degrees | {"pipeline_parallel": draw.choice([1, 2, 4]), "micro_batch": draw.choice([1, 2]), "lora_rank": 16,
                                 "micro_batches": 8, "sequence": draw.choice([2048, 8192]), "gpus_per_node": 8,
                                 "data_parallel": draw.choice([1, 8]), "zero_stage": draw.choice([0, 1, 3]),
                                 "network_bandwidth": 5e10}, kind
    named["weight_format"] = draw.choice(list(rows("formats")))
    return named, degrees | {"batch": draw.choice([1, 16, 64]), "prompt": 1000, "output": 300, "requests_per_second": 0.5,
                             "replicas": 2, "context": LAWS["mean_context"]}, kind


def python_answer(case, law):
    try:
        return float(case(law))
    except ValueError as error:
        return str(error)


def said(inputs):
    return {name: f"law:{value.__name__}" if is_law(value) else value for name, value in inputs.items()}


def test_cases_answer_what_python_answers(page):
    draw = random.Random(2)
    sets = [random_case(draw) for _ in range(RANDOM_CASES)]
    found = [{kind: getattr(catalogue, kind)(name) for kind, name in named.items()} for named, _, _ in sets]
    computed = page.evaluate(OF_CASE, [[{kind: row(each) for kind, each in held.items()}, said(inputs), laws]
                                       for held, (_, inputs, laws) in zip(found, sets)])
    numbers = 0
    for values, (named, inputs, laws) in zip(computed, sets):
        case = Case(**named, **inputs)
        for law, value in zip(laws, values):
            wanted = python_answer(case, law)
            numbers += not isinstance(wanted, str)
            assert value == wanted if isinstance(wanted, str) or isinstance(value, str) else same(value, wanted), (named, law)
    assert numbers > RANDOM_CASES


# Grids

LENGTHS = {"last_stage": 2, "gpu": 3, "tensor_parallel": 3, "pipeline_parallel": 2, "zero_stage": 4, "micro_batch": 2, "recompute": 4}
VALUES = {"last_stage": [0, 1], "tensor_parallel": [1, 2, 8], "pipeline_parallel": [1, 4], "zero_stage": [0, 1, 2, 3],
          "micro_batch": [1, 4], "recompute": [0, 1, 2, 3]}
CARDS = ("A100 SXM 80GB", "H100 SXM 80GB", "B200 SXM 180GB")
OTHERS = {"sequence": 4096, "micro_batches": 8, "data_parallel": 16, "gpus_per_node": 8, "network_bandwidth": 5e10, "lora_rank": 16}
GRID = """([lengths, rows, cards, values, others, laws]) => {
  const axes = new gpucalc.Axes(lengths), along = Object.entries(values).map(([name, each]) => [name, axes.along(name, each)]);
  window.job = new gpucalc.Case({ ...rows, gpu: axes.table("gpu", cards) }, { ...others, ...Object.fromEntries(along) }, axes);
  return Object.entries(job.terms(...laws)).map(([name, grid]) => [name, grid.names, [...grid.values]]);
}"""


def along(name, values):
    return np.array(values, float).reshape([-1 if name == other else 1 for other in LENGTHS])


@pytest.fixture(scope="module")
def grid(page):
    """Values by law on a grid, in the browser and in Python; the case stays in the page as `job`."""
    laws = ["training_bytes", "layout_mfu"]
    held = {"model": catalogue.model("Mixtral-8x7B"), "recipe": catalogue.recipe("mixed-adamw"),
            "efficiency": catalogue.efficiency("achieved")}
    cards = [row(catalogue.gpu(name)) for name in CARDS]
    found = page.evaluate(GRID, [LENGTHS, {kind: row(each) for kind, each in held.items()}, cards, VALUES, OTHERS, laws])
    table = {name: along("gpu", [card[name] for card in cards]) for name in cards[0]
             if all(isinstance(card.get(name), (int, float)) for card in cards)}
    wanted = Case(gpu=table, **held, **OTHERS, **{name: along(name, each) for name, each in VALUES.items()}).terms(*laws)
    return found, wanted


def shaped(names, values):
    return np.array(values, float).reshape([LENGTHS[name] if name in names else 1 for name in LENGTHS])


def test_grids_are_what_numpy_broadcasts(grid):
    found, wanted = grid
    assert {name for name, _, _ in found} == set(wanted)
    for name, names, values in found:
        np.testing.assert_allclose(*np.broadcast_arrays(shaped(names, values), wanted[name]), rtol=1e-9, err_msg=name)
    assert max(len(values) for _, _, values in found) == math.prod(LENGTHS.values())
    assert min(len(values) for _, _, values in found) == 1


def test_grids_are_reduced_as_numpy_does(page, grid):
    seconds, held = (np.broadcast_to(grid[1][name], list(LENGTHS.values())) for name in ("step_seconds", "training_bytes"))
    least, most, mean, here, best, index = page.evaluate("""() => {
      const seconds = job.value("step_seconds"), bytes = job.value("training_bytes"), place = { gpu: 1, recompute: 2 };
      const all = gpucalc.map((a, b) => a + 0 * b, seconds, bytes), places = all.argmin("recompute", "zero_stage", "last_stage");
      return [all.min("gpu", "zero_stage").values, bytes.max().values, gpucalc.map((a, b, c, d) => (a < b ? c : d), seconds, 1, 1, 0).sum().values,
        bytes.slice(place).values, places.take(bytes).values,
        places.index({ gpu: 2, tensor_parallel: 1, pipeline_parallel: 0, micro_batch: 1 })].map((each) => each.length ? [...each] : each);
    }""")
    assert least == pytest.approx(seconds.min(axis=(1, 4)).ravel())
    assert most == pytest.approx([held.max()])
    assert mean[0] == (np.asarray(grid[1]["step_seconds"]) < 1).sum()
    assert here == pytest.approx(held[:, 1, :, :, :, :, 2].ravel())
    order = (1, 2, 3, 5, 0, 4, 6)
    first = seconds.transpose(order).reshape(-1, 2 * 4 * 4)
    chosen = held.transpose(order).reshape(first.shape)[np.arange(len(first)), first.argmin(axis=1)]
    assert best == pytest.approx(chosen)
    at = tuple(index[name] for name in LENGTHS)
    assert (at[1], at[2], at[3], at[5]) == (2, 1, 0, 1)
    assert seconds[at] == pytest.approx(seconds[:, 2, 1, 0, :, 1, :].min())


def test_a_blank_in_a_column_stays_blank(page):
    assert page.evaluate("""() => {
      const axes = new gpucalc.Axes({ gpu: 3 }), gpu = axes.table("gpu", [{ tdp_watts: 700 }, { tdp_watts: null }, {}]);
      const watts = new gpucalc.Case({ gpu }, {}, axes).value("watts_per_gpu");
      return [...watts.values, watts.max().number, watts.argmin().index().gpu];
    }""") == [pytest.approx(1274), pytest.approx(float("nan"), nan_ok=True), pytest.approx(float("nan"), nan_ok=True),
              pytest.approx(1274), 0]


def test_equals_and_blanks_in_a_reduction(page):
    """The first of equals is the least; a blank is left out, and where all are blank there is no least."""
    found = page.evaluate("""() => {
      const along = (...values) => new gpucalc.Axes({ a: values.length }).along("a", values), of = (name, ...values) => along(...values)[name]().number;
      return [along(2, 1, 1, null).argmin().index(), along(null, 3, 2).argmin().index(), along(null, null).argmin().index(),
        of("all", 1, 1, null, 2), of("all", 1, 0, null, 1), of("any", 0, null, 0), of("any", 0, null, 3), of("sum", 1, null, 2),
        of("min", null, 3, 1), of("max", null, 3, 1)];
    }""")
    assert found == [{"a": 1}, {"a": 2}, None, 1, 0, 0, 1, 3, 1, 3]


@pytest.mark.parametrize("asked, said", [
    ("new gpucalc.Axes(Object.fromEntries(Array.from({ length: 26 }, (_, k) => [`a${k}`, 1]))).whole", 2**26 - 1),
    ("new gpucalc.Axes(Object.fromEntries(Array.from({ length: 27 }, (_, k) => [`a${k}`, 1])))", "27 axes; allowed: at most 26"),
    ("three.along('a', [1, 2])", "a: 2 values; allowed: 3"), ("three.set(['b'])", "axis b: unknown; allowed: a"),
    ("three.along('a', [1, 2, 3]).at({ a: 2 })", 3), ("three.along('a', [1, 2, 3]).at({ a: 3 })", "a: 3; allowed: 0 to 2"),
    ("three.along('a', [1, 2, 3]).at({ a: -1 })", "a: -1; allowed: 0 to 2"), ("three.along('a', [1, 2, 3]).number", "a column along a; allowed: a single value")])
def test_what_axes_may_be(page, asked, said):
    assert page.evaluate(f"() => {{ const three = new gpucalc.Axes({{ a: 3 }}); try {{ return {asked}; }} catch (error) {{ return error.message; }} }}") == said


def test_a_changed_case_is_a_new_one(page, grid):
    """What is kept of the case that it came from is what the changes do not reach."""
    assert page.evaluate("""() => {
      const fresh = (rows, inputs) => new gpucalc.Case({ ...job.rows, ...rows }, { ...job.inputs, ...inputs }, job.axes);
      const equal = (one, other, law) => one.law(law).values.every((value, k) => value === other.law(law).values[k]);
      const longer = job.but({ sequence: 8192, params: 5e10 }), card = { ...job.rows.gpu, tdp_watts: 1, peak_flops: 1e15 };
      const swapped = job.but({ gpu: card }), back = swapped.but({ gpu: job.rows.gpu });
      return [longer.memo.size > 10, longer.memo.size < job.memo.size, equal(longer, fresh({}, { sequence: 8192, params: 5e10 }), "layout_mfu"),
        equal(swapped, fresh({ gpu: card }, {}), "layout_mfu"), equal(back, job, "layout_mfu"), equal(swapped, job, "layout_mfu"),
        equal(swapped, job, "training_bytes")];
    }""") == [True, True, True, True, True, False, True]


def test_choices_of_a_grid_become_a_list_of_their_own(page, grid):
    """The places that were chosen, as columns along one axis, have the values that they had in the grid."""
    assert page.evaluate("""() => {
      const places = [0, 5, 100, job.axes.size(job.axes.whole) - 1], axes = new gpucalc.Axes({ choice: places.length });
      const columns = { ...job.rows.gpu, ...job.inputs }, inputs = {};
      for (const [name, value] of Object.entries(columns)) if (value.taken) inputs[name] = axes.along("choice", value.taken(places));
      const wanted = job.law("layout_mfu").taken(places), known = new Set(Object.keys(gpucalc.data.quantities));
      const scalars = Object.fromEntries(Object.entries(job.inputs).filter(([, value]) => !value.taken));
      const list = new gpucalc.Case({ ...job.rows, gpu: {} }, scalars, {}).on(axes);
      const given = Object.fromEntries(Object.entries(inputs).filter(([name]) => known.has(name)));
      const found = list.but(given).law("layout_mfu").values;
      return [...found.map((value, k) => Math.abs(value / wanted[k] - 1) < 1e-12), job.law("layout_mfu").over()[5] === wanted[1]];
    }""") == [1, 1, 1, 1, True]


def is_allowed(name, value):
    try:
        check(name, value)
    except ValueError:
        return False
    return True


def test_the_same_values_are_allowed(page):
    """Of each kind of quantity its ends, a little and much beyond, and parts of whole numbers; nothing that is no number."""
    asked = {}
    for name in {about.allowed: name for name, about in QUANTITIES.items()}.values():
        ends = [end for end in (DOMAINS[QUANTITIES[name].allowed][0], DOMAINS[QUANTITIES[name].allowed][2]) if math.isfinite(end)]
        asked[name] = [end + step for end in ends for step in (-1.0, -1e-9, 0.0, 1e-9, 0.5, 1.0)] + [1e300, -1e300]
    found = page.evaluate("(asked) => Object.entries(asked).map(([name, values]) => values.map(gpucalc.allowed(name)))", asked)
    assert found == [[is_allowed(name, value) for value in values] for name, values in asked.items()]


@pytest.mark.parametrize("rows, inputs, name, said", [
    ("{}", "{ tdp_watts: NaN }", "watts_per_gpu", "watts_per_gpu: tdp_watts (thermal design power) is NaN; allowed: a number above 0 watt"),
    ("{}", "{ conext: 3 }", "kv_bytes", f"conext: unknown; allowed: rows, and the {len(QUANTITIES)} quantities of this page"),
    ("{}", "{}", "constructor", "constructor: unknown; allowed: rows"),
    ("{}", "{ tdp_watts: 'law:nothing' }", "watts_per_gpu", "law 'nothing': unknown"),
    ("{}", "{}", "hidden", "the case needs hidden (hidden size), which is neither given nor in the rows"),
    ("{}", "{ tdp_watts: -1 }", "watts_per_gpu",
     "watts_per_gpu: tdp_watts (thermal design power) is -1; allowed: a number above 0 watt"),
    ("{}", "{ tdp_watts: 'much' }", "watts_per_gpu",
     "watts_per_gpu: tdp_watts (thermal design power) is 'much'; allowed: a number above 0 watt"),
    ("{ gpu: { name: 'X', tdp_watts: null } }", "{}", "watts_per_gpu", "X: tdp_watts (thermal design power) is blank; give tdp_watts"),
    ("{ gpu: { name: 'X', tdp_watts: 1 }, link: { name: 'Y', tdp_watts: 2 } }", "{}", "watts_per_gpu",
     "tdp_watts (thermal design power) is in two rows: 1 of X and 2 of Y; give tdp_watts, or the row to take it from"),
    ("{ gpu: { name: 'X' } }", "{ tdp_watts: 'row:gpu' }", "watts_per_gpu", "tdp_watts: X has no such column"),
    ("{}", "{ tdp_watts: 'law:watts_per_gpu' }", "watts_per_gpu", "tdp_watts=watts_per_gpu: the law needs what it stands for"),
])
def test_what_is_wrong_is_said(page, rows, inputs, name, said):
    error = page.evaluate(f"""() => {{ try {{ new gpucalc.Case({rows}, {inputs}).value("{name}"); }}
      catch (error) {{ return error.message; }} }}""")
    assert error.startswith(said)


def test_a_row_or_a_default_is_what_it_says(page):
    assert page.evaluate("""() => {
      const rows = { gpu: { tdp_watts: 700 }, link: { tdp_watts: 300 } };
      const found = new gpucalc.Case(rows, { tdp_watts: "row:link" });
      return [found.value("tdp_watts").number, found.value("experts").number, found.value("server_power_factor").number];
    }""") == [300, 0, DEFAULTS["server_power_factor"].value]


# Figures

FIGURES = ("three_figures", "seconds", "percent", "usd", "hourly", "dollars", "days", "gib", "exact", "signed", "chance", "times")
INFINITE = ("seconds", "percent", "usd", "hourly", "dollars", "days", "times")
OF_FIGURES = """([names, units, values]) => [names.map((name) => values.map((value) => gpucalc.figures[name](value))),
  units.map((unit) => values.map((value) => gpucalc.figures.number(value, unit)))]"""


def figures_to_write():
    """Numbers of all sizes; whole ones, halves of the last place, and the edges at which a prefix changes."""
    draw = random.Random(3)
    found = [0, 1, -1, 999.5, 9995, 0.9995, 999.4999, 1e6, 999999.5, 999_949, 1e21, 1e22, -0.004, 0.125, 2.5, 1125, 12350, 0.285]
    for _ in range(RANDOM_FIGURES):
        value = draw.choice([-1, 1, 1, 1]) * 10 ** draw.uniform(-13, 22)
        found.append(draw.choice([value, round(value), round(value * 8) / 8, float(f"{value:.3e}"), float(f"{value:.1e}")]))
    return found


def test_figures_are_the_same_text(page):
    values = figures_to_write()
    by_name, by_unit = page.evaluate(OF_FIGURES, [FIGURES, list(figures.UNITS), values])
    for name, texts in zip(FIGURES, by_name):
        assert texts == [getattr(figures, name)(value) for value in values], name
    for unit, texts in zip(figures.UNITS, by_unit):
        assert texts == [figures.number(value, unit) for value in values], unit
    assert page.evaluate("gpucalc.figures.quantity('kv_bytes', 85899345920)") == figures.quantity("kv_bytes", 85899345920)


def test_figures_without_end_are_said_in_words(page):
    by_name, by_unit = page.evaluate(OF_FIGURES, [INFINITE, list(figures.UNITS), [math.inf, -math.inf]])
    assert by_name == [[getattr(figures, name)(value) for value in (math.inf, -math.inf)] for name in INFINITE]
    assert by_unit == [[figures.number(value, unit) for value in (math.inf, -math.inf)] for unit in figures.UNITS]
    for call in ("number(NaN)", "three_figures(NaN)", "number(1, 'parsec')"):
        assert "has no" in page.evaluate(f"() => {{ try {{ gpucalc.figures.{call}; }} catch (error) {{ return error.message; }} }}")
