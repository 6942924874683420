"""The slider reading of every law: the Vega expression it gives, run by a browser, against the same law in Python."""
import math

import altair
import pytest
import vl_convert

from book.components.charts import expression
from gpucalc.core.law import LAWS
from tests.gpucalc.test_laws import cases, every_law

# A table for each law, all in one view: to make one takes longer than to fill it.
EVALUATE = """async (laws) => {
  const data = laws.map(([name, expr, values]) => ({ name, values, transform: [{ type: "formula", expr, as: name }] }));
  const { view } = await vegaEmbed(document.body, { data }, { mode: "vega", renderer: "svg", actions: false });
  return Object.fromEntries(laws.map(([name]) => [name, view.data(name).map((row) => row[name])]));
}"""


@pytest.fixture(scope="module")
def computed(browser):
    """What the browser makes of the cases of each law, by its name."""
    page = browser.new_page()
    page.set_content("<!doctype html><title>laws</title>")
    page.add_script_tag(content=vl_convert.javascript_bundle())
    found = page.evaluate(EVALUATE, [[name, expression(law(**{argument: altair.datum[argument] for argument in law.arguments})), cases(law)]
                                     for name, law in LAWS.items()])
    page.close()
    return found


@every_law
def test_a_browser_computes_what_python_computes(law, computed):
    for value, arguments in zip(computed[law.__name__], cases(law), strict=True):
        assert math.isclose(value, float(law(**arguments)), rel_tol=1e-9), arguments
