"""Wrong parameters stop a notebook with a message that names the parameter and what is allowed."""
import subprocess
import sys

import nbformat
import pytest

from book.build import ROOT
from gpucalc.parameters import check_parameters

GIVEN = {"model": "Llama-3-8B", "gpu": "H100 SXM 80GB", "prices": None, "provider": "AWS", "term": "spot", "utilization": 0.6,
         "usd_per_hour": None, "gpus": 8, "committed": 0}
NAMES, OPTIONAL = tuple(GIVEN), ("prices", "usd_per_hour")
PRICE_MESSAGE = r"parameter: usd_per_hour \(price of one rented GPU-hour\) is {}; allowed: a number above 0 USD/hour"


def checked(**changed):
    check_parameters({**GIVEN, **changed}, *NAMES, optional=OPTIONAL)


@pytest.mark.parametrize("changed", [
    {}, {"utilization": 1}, {"usd_per_hour": 2.10}, {"gpus": 16.0}, {"committed": True}, {"prices": "my-prices.csv"},
    {"model": "DeepSeek-V3"}, {"term": "reserved-3y"}])
def test_what_is_allowed_passes(changed):
    checked(**changed)


def test_what_a_notebook_imports_and_defines_is_no_parameter():
    checked(check_parameters=check_parameters, sys=sys, _hidden=3, In=[""], Out={})


@pytest.mark.parametrize("changed, message", [
    ({"usd_per_hr": 2.10}, "^parameter usd_per_hr: unknown; this notebook takes model, gpu, prices, .*usd_per_hour"),
    ({"utilization": 1.5}, r"parameter: utilization \(.*\) is 1.5; allowed: a number above 0 and at most 1$"),
    ({"utilization": 0}, "utilization .* is 0; allowed: a number above 0 and at most 1"),
    ({"utilization": float("nan")}, "utilization .* is nan; allowed"),
    ({"utilization": "0.6"}, "utilization .* is '0.6'; allowed"),
    ({"utilization": True}, "utilization .* is True; allowed"),
    ({"utilization": None}, "utilization .* is None; allowed"),
    ({"utilization": [0.6]}, r"utilization .* is \[0.6\]; allowed"),
    ({"usd_per_hour": -1}, PRICE_MESSAGE.format("-1")),
    ({"usd_per_hour": "cheap"}, PRICE_MESSAGE.format("'cheap'")),
    ({"gpus": 2.5}, "gpus .* is 2.5; allowed: a whole number of at least 1"),
    ({"committed": 2}, "committed .* is 2; allowed: 0 or 1"),
    ({"gpu": "H100"}, "^parameter gpu: .*no gpu 'H100'; close: H100 SXM 80GB"),
    ({"model": "Llama-9"}, "^parameter model: .*no model 'Llama-9'"),
    ({"model": 8}, "^parameter model: 8 is not text"),
    ({"prices": 3}, "^parameter prices: 3 is not text"),
    ({"provider": None}, "^parameter provider: None is not text"),
    ({"term": "weekly"}, "^parameter term: 'weekly'; allowed: on-demand, spot, reserved-1y, reserved-3y, marketplace"),
])
def test_the_message_names_the_parameter_and_what_is_allowed(changed, message):
    with pytest.raises(ValueError, match=message):
        checked(**changed)


def test_a_missing_parameter_is_named():
    with pytest.raises(ValueError, match="^parameter gpus: missing"):
        check_parameters({name: value for name, value in GIVEN.items() if name != "gpus"}, *NAMES, optional=OPTIONAL)


def papermill(target, *parameters):
    command = [sys.executable, "-m", "papermill", "notebooks/break_even.ipynb", str(target), "--no-progress-bar",
               "--log-level", "ERROR", *parameters]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True)


def glued(path):
    metadata = [(output.metadata.get("scrapbook"), output.data) for cell in nbformat.read(path, as_version=4).cells
                for output in cell.get("outputs", []) if output.output_type == "display_data"]
    return {scrap["name"]: data["application/papermill.record/text/plain"] for scrap, data in metadata if scrap}


def test_papermill_takes_a_price_and_a_utilization(tmp_path):
    run = papermill(tmp_path / "out.ipynb", "-p", "usd_per_hour", "2.10", "-p", "utilization", "0.6")
    assert run.returncode == 0, run.stderr
    headline = glued(tmp_path / "out.ipynb")["headline"]
    assert "2.10 USD rented" in headline and "at 60 %" in headline


@pytest.mark.parametrize("parameters, message", [
    (("usd_per_hr", "2.10"), "parameter usd_per_hr: unknown; this notebook takes prices, gpu, provider"),
    (("machines", "many"), "parameter: machines (machines that work together) is 'many'; allowed: a whole number of at least 1"),
    (("utilization", "1.5"), "(share of the hours offered that are used) is 1.5; allowed: a number above 0 and at most 1"),
    (("provider", "Nobody"), "provider 'Nobody', term 'on-demand'; provider is one of 'AWS', "),
], ids=["unknown name", "wrong type", "impossible value", "not in the price book"])
def test_papermill_stops_at_wrong_parameters(tmp_path, parameters, message):
    run = papermill(tmp_path / "out.ipynb", "-p", *parameters)
    assert run.returncode == 1
    assert message in run.stderr.rpartition("ValueError: ")[2]
