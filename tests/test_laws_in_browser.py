"""The slider reading of every law: the Vega expression it gives, run by a browser, against the same law in Python."""
import math

import altair
import pytest
import vl_convert

from gpucalc.page.charts import expression
from gpucalc.core.law import LAWS
from tests.test_laws import cases

EVALUATE = """async ([name, rule, rows]) => {
  const data = { name: "table", values: rows, transform: [{ type: "formula", expr: rule, as: name }] };
  const { view } = await vegaEmbed(document.body, { data: [data] }, { mode: "vega", renderer: "svg", actions: false });
  return view.data("table").map((row) => row[name]);
}"""


@pytest.fixture(scope="module")
def vega_page(browser):
    page = browser.new_page()
    page.set_content("<!doctype html><title>laws</title>")
    page.add_script_tag(content=vl_convert.javascript_bundle())
    yield page
    page.close()


@pytest.mark.parametrize("name", LAWS)
def test_a_browser_computes_what_python_computes(vega_page, name):
    law = LAWS[name]
    rule = expression(law(**{argument: altair.datum[argument] for argument in law.arguments}))
    computed = vega_page.evaluate(EVALUATE, [name, rule, cases(law)])
    expected = [float(law(**arguments)) for arguments in cases(law)]
    assert len(computed) == len(expected)
    for value, wanted in zip(computed, expected):
        assert math.isclose(value, wanted, rel_tol=1e-9)
