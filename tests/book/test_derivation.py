"""Equations and tables of derivations as pages show them."""
import html
import re

import pytest
from latex2mathml.converter import convert

from book.components.derivation import called, derivation, equation, folded, is_absent, symbol_table, vocabulary_table
from gpucalc import QUANTITIES, Case, kv_cache, renting, training_memory, training_time
from gpucalc.core.evaluate import LEFT_OUT, Input
from gpucalc.core.quantities import FLAG
from tests.gpucalc.test_derivation import CASE
from tests.gpucalc.test_laws import every_law

WHOLE = ("<p><b>rent today</b> = price per GPU-hour / utilization = 2 USD/h / 0.800 = 2.50 USD/h</p><ul>"
         "<li>price per GPU-hour = 2 USD/h <small>given</small></li><li>utilization = 0.800 <small>given</small></li>"
         "<li>rented hours are paid used or not (reserved): yes <small>given</small></li></ul>")


def displays(markdown):
    return re.findall(r"\$\$\n(.*?)\n\$\$", markdown, re.DOTALL)


def test_children_are_folded_and_the_tree_is_closed():
    shown = folded(CASE.explain(kv_cache.kv_bytes))
    assert shown.count("<details") == 5 and " open" not in shown
    tags = re.findall(r"<(/?\w+)", shown)
    held = []
    for tag in tags:
        if tag.startswith("/"):
            assert held.pop() == tag[1:]
        else:
            held.append(tag)
    assert held == []


TRAINING = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", recipe="mixed-adamw-fp32-grads", efficiency="achieved", network_bandwidth=50e9,
                network_latency=5e-6, sequence=8192, micro_batch=1, micro_batches=32, tensor_parallel=8, pipeline_parallel=4, data_parallel=16, zero_stage=1,
                recompute=0, flash_attention=1)


@pytest.mark.parametrize("law, case", [(kv_cache.kv_bytes, CASE), (training_memory.peak_bytes, TRAINING),
                                       (training_time.step_seconds, TRAINING), (training_memory.training_bytes, TRAINING)])
def test_every_formula_and_every_input_is_told_once(law, case):
    explanation = case.explain(law)
    shown = explanation._repr_markdown_()
    needless = [step.law for step in explanation.steps if step.value == 0]
    for step in explanation.steps:
        stands_for = "|".join(re.escape(f"{called(name)} = ") for name, law in explanation.bound.items() if law == step.law)
        found = re.findall(rf"<(?:p|summary)>(?:{stands_for})?<b>{re.escape(html.escape(called(step.law)))}</b> = ", shown)
        assert len(found) == 1 or not found and needless, step.law
    for used in explanation.inputs:
        words = QUANTITIES[used.name].meaning + ":" if QUANTITIES[used.name].allowed == FLAG else called(used.name) + " ="
        expected = 0 if used.source == LEFT_OUT or is_absent(used) else 1
        assert shown.count(f"<li>{html.escape(words)} ") == expected or needless and expected, used.name


def test_the_whole_text_of_a_derivation():
    """An hour that is paid whether used or not, of which 8 in 10 are used: 2 / 0.8."""
    shown = derivation(Case(usd_per_hour=2, utilization=0.8, committed=1).explain(renting.rented_usd_per_hour))
    assert shown == WHOLE


def test_an_equation_keeps_the_order_of_its_author():
    assert equation(kv_cache.kv_bytes_per_token, index_bytes_per_token=0, kv_lora_rank=0, layers_per_cache=1).source == (
        "$$\nK_t = 2 L_c n_{\\mathrm{kv}} d e_c\n$$")


def test_the_vocabulary_table_has_every_quantity_upright_and_with_its_default():
    source = vocabulary_table().source
    lines = [line for line in source.splitlines() if line.startswith("| `")]
    assert len(lines) == len(QUANTITIES) and source.count("<details>") == source.count("| name in code |") > 10
    found = next(line for line in lines if line.startswith("| `replica_gpus` |"))
    assert r"$N_{\mathrm{rep}}$" in found
    assert next(line for line in lines if line.startswith("| `gpus_per_node` |")).endswith("| 8 |")


def test_a_symbol_table_names_law_and_arguments_once():
    lines = symbol_table(kv_cache.kv_bytes, kv_cache.sequence_kv_bytes).source.splitlines()[2:]
    names = [re.search(r"`(\w+)`", line)[1] for line in lines]
    assert names == list(dict.fromkeys(["kv_bytes", *kv_cache.kv_bytes.arguments, "sequence_kv_bytes", *kv_cache.sequence_kv_bytes.arguments]))


@every_law
def test_every_equation_is_mathml(law):
    for display in displays(equation(law).source):
        assert "\\" not in re.sub(r"\\([_%#&$])", r"\1", convert(display, display="block"))


@pytest.mark.parametrize("name, value, source, absent", [
    ("window", 0, "model card", True), ("gated_mlp", 0, "model card", True), ("window", 4096, "model card", False),
    ("window", 0, "given", False), ("window", 0, LEFT_OUT, False), ("kernel_seconds", 0.0, "assumed", False)])
def test_a_row_s_zero_for_a_feature_is_absent(name, value, source, absent):
    """A count or a flag of 0 in a row is a feature that the model lacks; a time of 0, or a 0 that was given, is a value."""
    assert is_absent(Input(name, value, source, "2026")) == absent
