"""No headline states a speed, time, count of GPUs, memory or cost without its band.

A figure of a headline is what a formatter makes, what a call gives, and what stands bare before a word of COUNTED. Each is

- banded: `{{ step | banded }}`;
- an end of a band: `{{ step.plan | seconds }}` where the headline prints that band or both its ends; or `step.bound`;
- given: made of the page's parameters alone;
- listed: an attribute that is a column of data/ or an input with a range in data/assumptions.csv, and is no law that is checked;
- or said to have none, in its own sentence, by a phrase of WITHOUT.
"""
import ast
import functools
import re
from pathlib import Path

import jupytext
import nbformat
import pytest
from jinja2 import nodes

from book.components.sentences import environment, FORMATS, NAMED
from gpucalc.rows import bands, catalogue
from gpucalc.rows.price_book import ITEMS
from gpucalc.rows.tables import DATA

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WITHOUT = ("not checked against published figures", "at list prices", "published figures")
# Only of what is counted, not predicted: parameters, and bytes of weights and cache by arithmetic.
EXACTLY, COUNTS = "counted exactly", {"bytes", "gib", "number", "form", "exact"}
FORMATTERS = {*NAMED, "quantity"}
# A share of draws is an error itself, a word needs none.
FIGURES = {*FORMATS, *NAMED, "quantity", "form", "int", "round"} - {"chance"}
COUNTED = re.compile(r"\s*(×|GPUs|sequences|replicas|servers|requests|tokens|machines|(h|s|days|USD|GB)\b)")
# Calls that name something, and those whose words hold the bands themselves.
NAMES = {"offer", "many", "layout_name", "recomputed", "range", "foreign", "taken", "seller", "spread"}
JUDGED = {"enough", "cheaper", "outcome", "assurance"}
VERDICT = re.compile(r"\b(enough|fits?|cheaper|cheapest|(with)?in time|holds? it)\b")
ENDS = {"low", "plan", "high", "value", "bound"}
CHECKED = {law for row in bands.rows("families").values() for law in (row["times"] + " " + row["rates"]).split()}
# Without those of jobs, which are what a case may give, and of machines, whose number of GPUs has the name of a plan's.
COLUMNS = {name for path in DATA.rglob("*.csv") if path.stem not in ("jobs", "nodes", "instances")
           for name in path.read_text().partition("\n")[0].split(",")}
LISTED = {*COLUMNS, *catalogue.assumptions().index, *(item.quantity for item in ITEMS.values())} - CHECKED - ENDS


@functools.cache
def written(path):
    return jupytext.read(path).cells


def headline_of(cells):
    return next((cell.source.partition("\n")[2] for cell in cells if cell.source.startswith("%%say headline")), None)


PAGES = {path.stem: path for path in sorted(NOTEBOOKS.glob("*.md")) if "\n%%say headline" in path.read_text(encoding="utf-8")}


def parameters_of(cells):
    source = next((cell.source for cell in cells if "parameters" in cell.metadata.get("tags", [])), "")
    return {each.target.id for each in ast.parse(source).body if isinstance(each, ast.AnnAssign)}


def inside(node, kind):
    return [*([node] if isinstance(node, kind) else []), *node.find_all(kind)]


def called(node):
    return {each.node.name for each in inside(node, nodes.Call) if isinstance(each.node, nodes.Name)}


def filters(node):
    return {each.name for each in inside(node, nodes.Filter)}


def names(node):
    return {each.name for each in inside(node, nodes.Name)} - called(node)


def printed(template):
    """The expressions that a headline prints, each with its sentence and the text behind it."""
    parts = [part for output in environment().parse(template).find_all(nodes.Output) for part in output.nodes]
    text = "".join(part.data if isinstance(part, nodes.TemplateData) else f"\0{place}\0" for place, part in enumerate(parts))
    sentences = re.split(r"(?<=\.)\s", text)
    return [(part, next(each for each in sentences if f"\0{place}\0" in each), text.partition(f"\0{place}\0")[2])
            for place, part in enumerate(parts) if not isinstance(part, nodes.TemplateData)]


def is_figure(node, behind):
    return bool(filters(node) & FIGURES or called(node) - NAMES - JUDGED or not filters(node) and COUNTED.match(behind))


def end_of(node):
    """The band of which the expression shows an end, as source, and the end; None for any other."""
    ends = [each for each in inside(node, nodes.Getattr) if each.attr in ENDS]
    return (ends[0].node, ends[0].attr) if ends else None


def unbanded(template, parameters):
    """The figures of a headline that have no band, in words."""
    found = printed(template)
    shown = [node.node for node, *_ in found if isinstance(node, nodes.Filter) and node.name == "banded"]
    ends = [end_of(node) for node, *_ in found if end_of(node)]
    shown += [held for held, end in ends if end == "low" and (held, "high") in ends]
    wrong = []
    for node, sentence, behind in found:
        end, attributes = end_of(node), {each.attr for each in inside(node, nodes.Getattr)}
        fine = (not is_figure(node, behind)
                or isinstance(node, nodes.Filter) and node.name == "banded"
                or end and (end[1] == "bound" or end[0] in shown)
                or names(node) <= parameters
                or attributes and attributes <= LISTED
                or any(phrase in sentence for phrase in WITHOUT)
                or EXACTLY in sentence and filters(node) & FIGURES <= COUNTS)
        if not fine:
            wrong.append(f"{' '.join(sorted(names(node)))} | {' '.join(sorted(filters(node)))}")
    return wrong


def composed(cells, name, parameters):
    """Formatters that a hidden cell calls on something computed, where it puts together the text of that name."""
    sources = [cell.source for cell in cells if cell.cell_type == "code" and not cell.source.startswith("%%")]
    made = [each.value for source in sources for each in ast.walk(ast.parse(source)) if isinstance(each, ast.Assign)
            and name in {held.id for target in each.targets for held in ast.walk(target) if isinstance(held, ast.Name)}]
    calls = [each for value in made for each in ast.walk(value) if isinstance(each, ast.Call) and isinstance(each.func, ast.Name)]
    return [ast.unparse(call) for call in calls if call.func.id in FORMATTERS and not parameters.issuperset(
        held.id for value in call.args for held in ast.walk(value) if isinstance(held, ast.Name))]


def test_headlines_unfold_to_their_derivation():
    """The first line of their own cell names it; the others' figures are of makers, of counts or of a search."""
    traced = {page for page, path in PAGES.items() if re.search(r"^%%say headline \S", path.read_text(encoding="utf-8"), re.MULTILINE)}
    assert len(traced) >= 22 and {"cases", "kv_cache", "layouts", "post_training", "training_memory", "break_even"} <= traced


@pytest.mark.parametrize("page", PAGES)
def test_every_figure_of_a_headline_has_its_band(page):
    cells = written(PAGES[page])
    template, parameters = headline_of(cells), parameters_of(cells)
    wrong = unbanded(template, parameters)
    assert not wrong, f"no band of {'; '.join(wrong)}"
    bare = {node.name for node, *_ in printed(template) if isinstance(node, nodes.Name)} - parameters
    assert {name: found for name in bare if (found := composed(cells, name, parameters))} == {}


@pytest.mark.parametrize("page", PAGES)
def test_a_verdict_in_a_headline_is_refused_inside_the_error(page):
    template = headline_of(written(PAGES[page]))
    words = re.sub(r"\{[{%].*?[%}]\}", " ", template, flags=re.DOTALL)
    judged = any(f"{word}(" in template for word in JUDGED) or "CLOSE" in template or bands.CLOSE in template
    assert judged or VERDICT.findall(words) == [] or any(phrase in words for phrase in (*WITHOUT, EXACTLY))


@pytest.mark.parametrize("page", PAGES)
def test_a_recorded_band_is_in_order(page):
    path = PAGES[page].with_suffix(".ipynb")
    cells = nbformat.read(path, 4).cells if path.exists() else []
    if headline_of(cells) != headline_of(written(PAGES[page])):
        pytest.skip("recorded before its last change")
    text = next(cell for cell in cells if cell.source.startswith("%%say headline")).outputs[0]["data"]["text/markdown"]
    for plan, low, high in re.findall(r"plan ([\d.,−]+), 8 in 10 between ([\d.,−]+) and ([\d.,−]+)", text):
        values = [float(each.rstrip(".,").replace(",", "").replace("−", "-")) for each in (low, plan, high)]
        assert values == sorted(values)


# The rule itself

@pytest.mark.parametrize("template", [
    "A step takes {{ step | banded }}.", "It costs {{ cost | banded('usd') }}, at least {{ cost.bound | usd }}.",
    "{{ n.plan | number }} × {{ gpu }} ({{ n.low | number }} to {{ n.high | number }}).", "{{ step | banded }}: {{ step.plan | seconds }}.",
    "within {{ limit | days }} on {{ (2 * limit) | int }} GPUs", "{{ limit }} GPUs", "of {{ card.memory_bytes | bytes }}",
    "on {{ offer(best) }}: {{ outcome(best) }}", "at list prices {{ bill.total | usd }}", "wins in {{ wins | chance }}", "{{ verdict }}",
    "needs {{ cache | bytes }} ({{ cache | gib }}), counted exactly", "{{ step | seconds }} (not checked against published figures)"])
def test_what_a_headline_may_say(template):
    assert unbanded(template, {"limit"}) == []


@pytest.mark.parametrize("template", [
    "A step takes {{ step | seconds }}.", "{{ step.plan | seconds }}", "{{ n.plan | number }} × ({{ n.low | number }} or more)",
    "{{ fewest }} × {{ gpu }}", "{{ plan.gpus | number }} × {{ gpu }}", "{{ days(run) }}", "{{ (2 * cost) | usd }}",
    "of {{ account.peak_bytes | bytes }}", "{{ speed | token_rate }}, counted exactly", "{{ other.high | usd }} and {{ cost | banded }}",
    "At list prices. It costs {{ cost | usd }}. Sold at list prices.", "{{ (limit * rate) | number }}", "{{ best.layout_mfu | percent }}"])
def test_what_a_headline_may_not_say(template):
    assert len(unbanded(template, {"limit"})) == 1 + template.count("or more")


def test_a_text_that_a_cell_puts_together_holds_what_is_given_only():
    cells = [nbformat.v4.new_code_cell("limit = f'within {days(deadline)}'\nname, said = other, f'{usd(cost)} at {name}'")]
    assert composed(cells, "limit", {"deadline"}) == [] and composed(cells, "limit", set()) == ["days(deadline)"]
    assert composed(cells, "said", {"deadline"}) == ["usd(cost)"]
