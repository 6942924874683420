"""How a figure came about, as a page shows it: equations of the steps, numbers put in, inputs with unit, source and date."""
import ast
import html
import math
import re

import pytest

from gpucalc import Case, break_even, kv_cache, renting, serving
from gpucalc.core.evaluate import Row
from gpucalc.core.printer import tex

CASE = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=8192, batch=32, cache_element_bytes=2)


def lines(explanation):
    """What a derivation says, a line for each formula and each input."""
    shown = explanation._repr_markdown_()
    assert "\n\n" not in shown and "<table" not in shown
    return [html.unescape(re.sub("<[^>]*>", "", line)) for line in re.findall(r"<(?:p|summary|li)>(?!<details>)(.*?)</(?:p|summary|li)>", shown)]


def test_each_step_is_its_words_and_its_numbers_and_what_it_takes_stands_below():
    assert [line for line in lines(CASE.explain(kv_cache.kv_bytes)) if " = " in line and ("×" in line or "given" in line)] == [
        "KV bytes of the batch = KV bytes per sequence × batch = 2.68 GB × 32 = 85.9 GB",
        "KV bytes per sequence = KV bytes per token × context tokens = 328 kB × 8,192 = 2.68 GB",
        "KV bytes per token = 2 × layers with a cache × KV heads × head size × bytes per cached value = 2 × 80 × 8 × 128 × 2 B = 328 kB",
        "bytes per cached value = 2 B given", "context tokens = 8,192 given", "batch = 32 given"]


def test_an_input_has_its_unit_and_its_source_with_date_where_it_is_first_named():
    said = lines(CASE.explain(kv_cache.kv_bytes))
    first, second = (next(line for line in said if line.startswith(words)) for words in ("layers = 80 ", "KV heads = 8 "))
    assert re.fullmatch(r"layers = 80 Llama-3-70B; .*, \d{4}(-\d\d)*", first) and second == "KV heads = 8 Llama-3-70B"


def test_what_the_model_lacks_is_neither_shown_nor_in_the_equation():
    shown = CASE.explain(kv_cache.kv_bytes)._repr_markdown_()
    assert "latent" not in shown and "window" not in shown and "otherwise" not in shown
    assert shown.endswith("<p>Left out: bytes per rotary value, layers per cache.</p></details>")
    latent = Case(model="DeepSeek-V3", context=8192, batch=1).explain(kv_cache.kv_bytes)._repr_markdown_()
    assert "KV LoRA rank" in latent


def test_a_case_shows_the_branch_that_holds():
    assert lines(Case(usd_per_hour=2, utilization=0.5, committed=1).explain(renting.rented_usd_per_hour))[1].endswith(
        "price per GPU-hour / utilization = 2 USD/h / 0.500 = 4 USD/h")
    owned = dict(fixed_usd_per_hour=1.5, work_usd_per_hour=2, level_usd_per_hour=1)
    infinite = Case(**owned).explain(break_even.break_even_utilization)
    assert infinite.value == math.inf and lines(infinite)[1].endswith(" = no limit")


def test_a_law_that_stands_for_an_input_is_said():
    shown = Case(model="Llama-3-8B", prompt=2000, output=1000, batch=1, context=serving.mean_context).explain(kv_cache.kv_bytes)
    assert "context tokens = mean context = prompt tokens + output tokens / 2 = 2,000 + 1,000 / 2 = 2,500" in lines(shown)
    assert shown.bound == {"context": "mean_context"}


def test_a_derivation_is_folded_and_escapes_what_data_says():
    assert CASE.explain(kv_cache.kv_bytes)._repr_markdown_().startswith(
        '<details class="derivation"><summary>How this is computed</summary><p><b>KV bytes')
    hostile = Case(Row({"batch": 2, "source": "<script>a</script>", "date": "<b>"}, "<i>x"), model="Llama-3-8B", context=10)
    assert not re.search("<(?:script|i)>|<b>(?!KV|layers with|attention)", hostile.explain(kv_cache.kv_bytes)._repr_markdown_())


def test_a_figure_is_its_name_and_value_in_plain_text():
    assert repr(CASE.explain(kv_cache.kv_bytes)) == "kv_bytes = 85.9 GB"


@pytest.mark.parametrize("product, shown", [
    ("batch * hidden", "n h"), ("pue * batch", r"\mathrm{PUE} \, n"), ("batch * pue", r"n \, \mathrm{PUE}"),
    ("2 * pue", r"2 \, \mathrm{PUE}"), ("batch * 2", r"n \times 2")])
def test_words_stand_apart_in_a_product(product, shown):
    assert tex(ast.parse(product).body[0].value) == shown
