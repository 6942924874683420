"""How a figure came about, as a page shows it: equations of the steps, numbers put in, inputs with unit, source and date."""
import ast
import math
import re

import pytest
from latex2mathml.converter import convert

from gpucalc import LAWS, QUANTITIES, Case, break_even, kv_cache, renting, serving
from gpucalc.core.evaluate import LEFT_OUT, Input
from gpucalc.page.derivation import derivation, equation, is_absent, symbol_table, vocabulary_table, wording
from gpucalc.page.printer import tex

CASE = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=8192, batch=32, cache_element_bytes=2)


WHOLE = r"""$$
c_{\mathrm{rent}} = \frac{c_{\mathrm{hr}}}{u}
$$

$$
c_{\mathrm{rent}} = \frac{\text{2 USD/h}}{0.800} = \text{2.50 USD/h}
$$



| symbol | input | value | source | date |
|---|---|---:|---|---|
| $c_{\mathrm{hr}}$ | price of one rented GPU-hour | 2 USD/h | given |  |
| $u$ | share of the hours offered that are used | 0.800 | given |  |
| $\chi$ | rented hours are paid used or not \(reserved\) | 1 | given |  |"""


def displays(markdown):
    return re.findall(r"\$\$\n(.*?)\n\$\$", markdown, re.DOTALL)


def test_each_step_is_an_equation_and_its_numbers():
    shown = displays(CASE.explain(kv_cache.kv_bytes)._repr_markdown_())
    assert shown == [
        r"K = K_s n", r"K = \text{2.68 GB} \times 32 = \text{85.9 GB}",
        r"K_s = K_t c", r"K_s = \text{328 kB} \times 8{,}192 = \text{2.68 GB}",
        r"K_t = 2 L n_{\mathrm{kv}} d e_c", r"K_t = 2 \times 80 \times 8 \times 128 \times \text{2 B} = \text{328 kB}"]


def test_an_input_has_its_unit_source_and_date():
    shown = CASE.explain(kv_cache.kv_bytes)._repr_markdown_()
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in shown.splitlines() if line.startswith("| $")]
    inputs = {row[1]: row for row in rows}
    assert inputs["tokens in the context"][2:] == ["8,192", "given", ""]
    value, source, date = inputs["key and value heads"][2:]
    assert value == "8" and source.startswith("Llama-3-70B; ") and re.fullmatch(r"\d{4}(-\d\d)*", date)
    assert inputs["bytes of one cached element"][2:4] == ["2 B", "given"]


def test_what_the_model_lacks_is_neither_shown_nor_in_the_equation():
    shown = CASE.explain(kv_cache.kv_bytes)._repr_markdown_()
    assert "compressed" not in shown and "window" not in shown and r"\begin" not in shown
    assert shown.endswith("Left out: layers per cache, RoPE element bytes.\n\n</details>")
    latent = Case(model="DeepSeek-V3", context=8192, batch=1).explain(kv_cache.kv_bytes)._repr_markdown_()
    assert "rank of the compressed key and value" in latent


def test_a_case_shows_the_branch_that_holds():
    assert displays(Case(usd_per_hour=2, utilization=0.5, committed=1).explain(renting.rented_usd_per_hour)._repr_markdown_())[1] == (
        r"c_{\mathrm{rent}} = \frac{\text{2 USD/h}}{0.500} = \text{4 USD/h}")
    owned = dict(fixed_usd_per_hour=1.5, work_usd_per_hour=2, level_usd_per_hour=1)
    infinite = Case(**owned).explain(break_even.break_even_utilization)
    assert infinite.value == math.inf and displays(infinite._repr_markdown_())[1].endswith(r"\text{no limit}")


def test_a_law_that_stands_for_an_input_is_said():
    shown = Case(model="Llama-3-8B", prompt=2000, output=1000, batch=1, context=serving.mean_context).explain(kv_cache.kv_bytes)
    assert r"c = \bar{c}" in displays(shown._repr_markdown_()) and shown.bound == {"context": "mean_context"}


def test_the_whole_text_of_a_derivation():
    """An hour that is paid whether used or not, of which 8 in 10 are used: 2 / 0.8."""
    shown = derivation(Case(usd_per_hour=2, utilization=0.8, committed=1).explain(renting.rented_usd_per_hour))
    assert shown == WHOLE


def test_a_derivation_is_folded():
    shown = CASE.explain(kv_cache.kv_bytes)._repr_markdown_()
    assert shown.startswith('<details class="derivation">\n<summary>How this is computed</summary>\n\n$$')


def test_a_figure_is_its_name_and_value_in_plain_text():
    assert repr(CASE.explain(kv_cache.kv_bytes)) == "kv_bytes = 85.9 GB"


@pytest.mark.parametrize("product, shown", [
    ("batch * hidden", "n h"), ("pue * batch", r"\mathrm{PUE} \, n"), ("batch * pue", r"n \, \mathrm{PUE}"),
    ("2 * pue", r"2 \, \mathrm{PUE}"), ("batch * 2", r"n \times 2")])
def test_words_stand_apart_in_a_product(product, shown):
    assert tex(ast.parse(product).body[0].value) == shown


def test_an_equation_keeps_the_order_of_its_author():
    assert equation(kv_cache.kv_bytes_per_token, kv_lora_rank=0, rope_head_dim=0, layers_per_cache=1).source == (
        "$$\nK_t = 2 L n_{\\mathrm{kv}} d e_c\n$$")
    assert wording(kv_cache.kv_bytes_per_token, kv_lora_rank=0, rope_head_dim=0, layers_per_cache=1).source == (
        "> KV bytes per token = 2 × layers × KV heads × head size × cache element bytes")


def test_the_vocabulary_table_has_every_quantity_upright_and_with_its_default():
    lines = vocabulary_table().source.splitlines()[2:]
    assert len(lines) == len(QUANTITIES)
    found = next(line for line in lines if line.startswith("| `replica_gpus` |"))
    assert r"$N_{\mathrm{rep}}$" in found
    assert next(line for line in lines if line.startswith("| `gpus_per_node` |")).endswith("| 8 |")


def test_a_symbol_table_names_law_and_arguments_once():
    lines = symbol_table(kv_cache.kv_bytes, kv_cache.sequence_kv_bytes).source.splitlines()[2:]
    names = [re.search(r"`(\w+)`", line)[1] for line in lines]
    assert names == list(dict.fromkeys(["kv_bytes", *kv_cache.kv_bytes.arguments, "sequence_kv_bytes", *kv_cache.sequence_kv_bytes.arguments]))


@pytest.mark.parametrize("law", LAWS.values(), ids=LAWS.keys())
def test_every_equation_is_mathml(law):
    for display in displays(equation(law).source):
        assert "\\" not in re.sub(r"\\([_%#&$])", r"\1", convert(display, display="block"))


@pytest.mark.parametrize("name, value, source, absent", [
    ("window", 0, "model card", True), ("gated_mlp", 0, "model card", True), ("window", 4096, "model card", False),
    ("window", 0, "given", False), ("window", 0, LEFT_OUT, False), ("kernel_seconds", 0.0, "assumed", False)])
def test_a_row_s_zero_for_a_feature_is_absent(name, value, source, absent):
    """A count or a flag of 0 in a row is a feature that the model lacks; a time of 0, or a 0 that was given, is a value."""
    assert is_absent(Input(name, value, source, "2026")) == absent
