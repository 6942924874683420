"""Wrong parameters stop a notebook with a message that names the parameter and what is allowed."""
import ast
import functools
import os
import subprocess
import sys

import jupytext
import nbformat
import pytest
from papermill import inspect_notebook

from book.build import answers
from book.build.inputs import ROOT
from book.components.parameters import declared, page_case
from gpucalc.core.evaluate import Case
from gpucalc.core.quantities import DOMAINS, QUANTITIES
from gpucalc.laws.kv_cache import kv_bytes_per_token

GIVEN = {"model": "Llama-3-8B", "gpu": "H100 SXM 80GB", "prices": None, "provider": "AWS", "term": "spot", "utilization": 0.6,
         "usd_per_hour": None, "gpus": 8, "committed": 0}
WITHOUT = ("claims", "conventions", "drills", "interview", "start")
PAGES = [path for path in sorted((ROOT / "notebooks").glob("[a-z]*.md")) if path.stem not in WITHOUT]
KINDS = {"int": int, "float": (int, float), "str": str, "bool": bool, "list": list, "dict": dict}
PRICE_MESSAGE = r"parameter: usd_per_hour \(price of one rented GPU-hour\) is {}; allowed: a number above 0 USD/hour"


CELL = "\n".join(f"{name}: str = {value!r}   # a comment" for name, value in GIVEN.items())


def checked(**changed):
    """The case of a notebook with these parameters, some of them given from outside as papermill does."""
    injected = "# Parameters\n" + "\n".join(f"{name} = {value!r}" for name, value in changed.items())
    injected = injected.replace("nan", "float('nan')").replace("inf", "float('inf')")
    later = ["from gpucalc import Case", "case = 1", "layers = 2"]
    return page_case({**GIVEN, **changed, "In": ["", CELL, *([injected] if changed else []), *later], "layers": 2})


@pytest.mark.parametrize("changed", [
    {}, {"utilization": 1}, {"usd_per_hour": 2.10}, {"gpus": 16.0}, {"committed": True}, {"prices": "my-prices.csv"},
    {"model": "DeepSeek-V3"}, {"term": "reserved-3y"}])
def test_what_is_allowed_passes(changed):
    checked(**changed)


def test_the_parameters_are_a_case():
    case = checked()
    assert isinstance(case, Case) and case.rows["model"].name == "Llama-3-8B" and case.inputs["gpus"] == 8
    assert case(kv_bytes_per_token) == 131_072
    assert "usd_per_hour" not in case.inputs and checked(usd_per_hour=2.1).inputs["usd_per_hour"] == 2.1


def test_what_is_optional_may_be_none():
    held = {"mfu": None, "gpus": 8, "In": ["", "mfu = 0.4\ngpus = 8"]}
    assert page_case(held, optional=("mfu",)).inputs == {"gpus": 8}
    with pytest.raises(ValueError, match="^parameter: mfu .* is None; allowed: "):
        page_case(held)


def test_a_quantity_may_have_a_word_before_it():
    cell = "serving_tensor_parallel = 1"
    assert page_case({"serving_tensor_parallel": 4, "In": ["", cell]}).inputs == {}
    with pytest.raises(ValueError, match=r"^parameter serving_tensor_parallel: tensor_parallel .* is 2.5; allowed: a whole number"):
        page_case({"serving_tensor_parallel": 2.5, "In": ["", cell]})


def test_the_check_can_run_again_after_the_whole_page():
    """Then there are more names, and cells that set nothing but literals: the first such cell holds the parameters."""
    assert checked().inputs == checked().inputs


def test_without_a_history_the_names_that_are_there_count():
    case = page_case({**GIVEN, "In": [""], "Out": {}, "_hidden": 3, "page_case": page_case, "pytest": pytest})
    assert case(kv_bytes_per_token) == 131_072 and case.inputs == checked().inputs


def test_switches_lists_and_text_keep_their_kind():
    cell = "options = [1, 2]\nstrict = True\nwhom = 'me'\nwhere = None"
    good = {"options": [3], "strict": False, "whom": "you", "where": None}
    assert page_case({**good, "In": ["", cell]}).inputs == {}
    for name, value, message in (("options", "3", "parameter options: '3' is not a list"), ("strict", 1, "parameter strict: 1 is not a bool"),
                                 ("whom", 3, "parameter whom: 3 is not text"), ("where", 3, "parameter where: 3 is not text")):
        with pytest.raises(ValueError, match=message):
            page_case({**good, name: value, "In": ["", cell]})


def test_rates_of_currencies():
    held = {"only": True, "rates": {"EUR": 1.1, "GBP": 2}, "In": ["", "only: bool = False\nrates: dict = None"]}
    assert page_case(held).inputs == {} and page_case(held | {"rates": None}).inputs == {}
    for name, value, message in (
            ("only", 1, "parameter only: 1 is not a bool"), ("only", None, "parameter only: None is not a bool"),
            ("rates", 1.1, "parameter rates: 1.1 is not a dict"), ("rates", {"euro": 1.1}, "rates: 'euro'; allowed: a currency in three"),
            ("rates", {1: 1.1}, "rates: 1; allowed"), ("rates", {"EUR": 0}, "rates: EUR is 0; allowed: a number above 0"),
            ("rates", {"EUR": True}, "EUR is True"), ("rates", {"EUR": float("inf")}, "EUR is inf"), ("rates", {"EUR": "1"}, "EUR is '1'")):
        with pytest.raises(ValueError, match=message):
            page_case(held | {name: value})


@pytest.mark.parametrize("changed, message", [
    ({"usd_per_hr": 2.10}, "^parameter usd_per_hr: unknown; this notebook takes model, gpu, prices, .*usd_per_hour"),
    ({"utilization": 1.5}, r"parameter: utilization \(.*\) is 1.5; allowed: a number above 0 and at most 1$"),
    ({"utilization": 0}, "utilization .* is 0; allowed: a number above 0 and at most 1"),
    ({"utilization": float("nan")}, "utilization .* is nan; allowed"),
    ({"utilization": "0.6"}, "utilization .* is '0.6'; allowed"),
    ({"utilization": True}, "utilization .* is True; allowed"),
    ({"utilization": None}, "utilization .* is None; allowed"),
    ({"utilization": [0.6]}, r"utilization .* is \[0.6\]; allowed"),
    ({"gpus": 10**18 + 1}, r"^parameter gpus: a whole number of about 19 digits; allowed: from 1 to 10,000,000 \(GPUs of a job\)$"),
    ({"gpus": 10**400}, "^parameter gpus: a whole number of about 401 digits; allowed"),
    ({"gpus": -10**19}, "^parameter gpus: a whole number of about 20 digits; allowed"),
    ({"usd_per_hour": 1e308}, "^parameter usd_per_hour: 1e[+]308; allowed: from 0.001 to 100,000 USD/hour "),
    ({"usd_per_hour": 1e-300}, "^parameter usd_per_hour: 1e-300; allowed: from 0.001 to 100,000 USD/hour "),
    ({"usd_per_hour": float("inf")}, "^parameter usd_per_hour: inf; allowed: from 0.001 to 100,000 USD/hour "),
    ({"usd_per_hour": -1}, PRICE_MESSAGE.format("-1")),
    ({"usd_per_hour": "cheap"}, PRICE_MESSAGE.format("'cheap'")),
    ({"gpus": 2.5}, "gpus .* is 2.5; allowed: a whole number of at least 1"),
    ({"committed": 2}, "committed .* is 2; allowed: 0 or 1"),
    ({"gpu": "H100"}, "^parameter gpu: .*gpu 'H100' may be H100 SXM 80GB"),
    ({"model": "Llama-9"}, "^parameter model: .*no model 'Llama-9'"),
    ({"model": 8}, "^parameter model: 8 is not text"),
    ({"prices": 3}, "^parameter prices: 3 is not text"),
    ({"provider": None}, "^parameter provider: None is not text"),
    ({"term": "weekly"}, "^parameter term: 'weekly'; allowed: on-demand, spot, reserved-1y, .*, marketplace, managed$"),
])
def test_the_message_names_the_parameter_and_what_is_allowed(changed, message):
    with pytest.raises(ValueError, match=message):
        checked(**changed)


def test_a_missing_parameter_is_named():
    with pytest.raises(ValueError, match="^parameter gpus: missing"):
        page_case({**{name: value for name, value in GIVEN.items() if name != "gpus"}, "In": ["", CELL]})


def test_integers_of_any_length_are_named():
    with pytest.raises(ValueError, match="^parameter gpus: a whole number of about 5001 digits; allowed"):
        page_case({"gpus": 10**5000, "In": ["", "gpus = 8"]})


def test_numbers_from_the_least_to_the_most_pass():
    given = {"gpus": 10**7, "batch": 10**18, "usd_per_hour": 0.001, "bandwidth": 1e-18, "years": 100, "lead_months": 1200, "restart_seconds": 0}
    assert page_case({**given, "In": ["", "\n".join(f"{name} = 1" for name in given)]}).inputs == given


@pytest.mark.parametrize("name, value, sizes", [("years", 101, "from 0.01 to 100 year"),
                                                ("lead_months", 1201.0, "0, or from 1e-18 to 1,200 month")])
def test_time_ends_after_a_century(name, value, sizes):
    with pytest.raises(ValueError, match=f"^parameter {name}: .*; allowed: {sizes} "):
        page_case({name: value, "In": ["", f"{name} = 1"]})


@pytest.mark.parametrize("cell, found", [
    ("a = 1\nb: float = None  # a comment\nc: str = 'x'\n", {"a": 1, "b": None, "c": "x"}),
    ("a: float = 1000 / 60\nb: float = 24 * 3600\nc = -0.5", {"a": 1000 / 60, "b": 86400, "c": -0.5}),
    ("a: list = [1, 'x']", {"a": [1, "x"]}), ("a = f()\nb = 'x' * 3\nc = 1 / 0\nd = {[]: 1}\ne = 2 ** 9", dict.fromkeys("abcde")),
    ("", {}), ("# nothing", {}), ("a = 1\nprint(a)", {}), ("a, b = 1, 2", {}), ("a.b: int = 1", {}), ("a += 1", {}),
    ("import ast", {})])
def test_a_cell_declares(cell, found):
    assert declared(cell) == found


@pytest.mark.parametrize("cell", ["a: int = ", "%%say\ntext", "a = 1\0", "a = " + "9" * 5000])
def test_a_cell_that_is_not_python_says_so(cell):
    with pytest.raises(ValueError, match="^not Python: "):
        declared(cell)


def test_a_cell_that_is_not_python_is_passed_over_in_the_history():
    assert page_case({"gpus": 8, "In": ["", "gpus 8", "gpus: int = 8"]}).inputs == {"gpus": 8}


@functools.cache
def parameters_of(path):
    """The source of a page's parameter cell, and the names that it lets be None beside those that are."""
    cells = [cell for cell in jupytext.read(path).cells if cell.cell_type == "code"]
    source = next(cell.source for cell in cells if "parameters" in cell.metadata.get("tags", []))
    check = next(cell.source for cell in cells if "page_case(globals()" in cell.source)
    options = [option.value for call in ast.walk(ast.parse(check)) if isinstance(call, ast.Call) for option in call.keywords
               if option.arg == "optional"]
    return source, ast.literal_eval(options[0]) if options else ()


def shown_by_papermill(path, tmp_path):
    """What `papermill --help-notebook` shows of each parameter."""
    cell = nbformat.v4.new_code_cell(parameters_of(path)[0], metadata={"tags": ["parameters"]})
    kernel = {"name": "python3", "language": "python", "display_name": "Python 3"}
    nbformat.write(nbformat.v4.new_notebook(cells=[cell], metadata={"kernelspec": kernel}), tmp_path / "page.ipynb")
    return inspect_notebook(tmp_path / "page.ipynb")


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_papermill_shows_kind_default_and_comment(path, tmp_path):
    shown, defaults = shown_by_papermill(path, tmp_path), declared(parameters_of(path)[0])
    assert list(shown) == list(defaults)
    for name, default in defaults.items():
        kind = shown[name]["inferred_type_name"]
        assert shown[name]["help"] and kind in KINDS, f"{name}: {kind}"
        assert default is None or isinstance(default, KINDS[kind]), f"{name}: {kind} = {default!r}"
        quantity = name if name in QUANTITIES else name.partition("_")[2]
        if quantity in QUANTITIES and kind != "str":  # the name of a file or a row
            assert kind == "float" or kind == "int" and DOMAINS[QUANTITIES[quantity].allowed][3], f"{name}: {kind}"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_may_be_none_is_what_the_comments_say(path, tmp_path):
    source, optional = parameters_of(path)
    shown, defaults = shown_by_papermill(path, tmp_path), declared(source)
    for name, default in defaults.items():
        held = {**defaults, name: None, "In": ["", source, f"# Parameters\n{name} = None"]}
        if default is None or "None:" in shown[name]["help"]:
            page_case(held, optional)
        else:
            with pytest.raises(ValueError, match=rf"^parameter:? {name}\b.* None"):
                page_case(held, optional)


def papermill(target, *parameters):
    command = [sys.executable, "-m", "papermill", "notebooks/break_even.ipynb", str(target), "--no-progress-bar",
               "--no-request-save-on-cell-execute", "--log-level", "ERROR", *parameters]
    environment = os.environ | {"STILL_PICTURES": "no"}
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.long
def test_papermill_takes_a_price_and_a_utilization(tmp_path):
    run = papermill(tmp_path / "out.ipynb", "-p", "usd_per_hour", "2.10", "-p", "utilization", "0.6")
    assert run.returncode == 0, run.stderr
    usual = answers.headline(ROOT / "notebooks/break_even.ipynb")
    assert answers.headline(tmp_path / "out.ipynb") != usual and "60 %" in (tmp_path / "out.ipynb").read_text(encoding="utf-8")
    assert "2.10 USD" in (tmp_path / "out.ipynb").read_text(encoding="utf-8")


@pytest.mark.parametrize("parameters, message", [
    pytest.param(("usd_per_hr", "2.10"), "parameter usd_per_hr: unknown; this notebook takes prices, only, rates, gpu, provider",
                 marks=pytest.mark.long),
    pytest.param(("utilization", "1.5"), "(share of the hours offered that are used) is 1.5; allowed: a number above 0 and at most 1",
                 marks=pytest.mark.long),
    (("provider", "Nobody"), "term 'on-demand', provider 'Nobody'; provider is one of 'AWS', "),
], ids=["unknown name", "impossible value", "not in the price book"])
def test_papermill_stops_at_wrong_parameters(tmp_path, parameters, message):
    run = papermill(tmp_path / "out.ipynb", "-p", *parameters)
    assert run.returncode == 1
    assert message in run.stderr.rpartition("ValueError: ")[2]
