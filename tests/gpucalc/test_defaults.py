"""What a law takes where nothing is given: a sourced row of data/defaults.csv, or the value that drops the term."""
import ast
import csv
import inspect
import textwrap

import pytest

from gpucalc import LAWS, QUANTITIES, Case, interconnect, kv_cache, owning, total_cost, training_memory
from gpucalc.core.evaluate import LEFT_OUT
from gpucalc.core.quantities import DATA, DEFAULTS, check, neutral
from gpucalc.decisions.jobs import JOBS
from gpucalc.rows.catalogue import model

CARRIED = {(name, value) for law in LAWS.values() for name, value in law.defaults.items()}


def test_a_default_is_neutral_or_has_a_row():
    for name, value in CARRIED:
        assert value == (DEFAULTS[name].value if name in DEFAULTS else neutral(name)), name


def test_a_signature_types_no_figure():
    """A row of the file shows as `...`, so nothing but 0 and 1 is left to type."""
    for law in LAWS.values():
        function = ast.parse(textwrap.dedent(inspect.getsource(law.formula))).body[0]
        for name, node in zip(reversed(law.arguments), reversed(function.args.defaults)):
            assert node.value is ... if name in DEFAULTS else node.value in (0, 1), (law.__name__, name)


def test_every_row_is_used_allowed_and_no_neutral_value():
    of_jobs = {name for job in JOBS.values() for name in job.usual or ()}
    assert set(DEFAULTS) <= {name for name, _ in CARRIED} | of_jobs | {"example_tokens"}      # by which free words count examples
    for name, default in DEFAULTS.items():
        check(name, default.value)
        assert default.value != neutral(name), name
        assert default.source and default.date, name


def test_rows_have_the_unit_of_the_quantity_and_say_how_sure_they_are():
    with open(DATA / "defaults.csv", encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(DEFAULTS)
    for row in rows:
        assert row["unit"] == QUANTITIES[row["quantity"]].unit, row["quantity"]
        assert row["confidence"] in ("seen", "recalled", "assumed"), row["quantity"]
        assert row["confidence"] == "assumed" or row["source"] != "this book's assumption", row["quantity"]


@pytest.mark.parametrize("allowed, value", [
    ("0 or 1", 0), ("a number of at least 0", 0), ("a number from 0 to 1", 0), ("0, 1, 2 or 3", 0),
    ("a number from -0.5 to 0.9", 0), ("a whole number of at least 1", 1), ("a number of at least 1", 1),
    ("a number above 0 and at most 1", 1), ("a number above 0", 1)])
def test_neutral_is_nothing_added_or_a_factor_of_one(allowed, value):
    name = next(name for name, quantity in QUANTITIES.items() if quantity.allowed == allowed)
    assert neutral(name) == value
    check(name, value)


# One window head is on every GPU, a 95th percentile below the mean is none, and what expert there is has a column at least.
NOT_FROM_ONE = {*((law, "window_kv_heads") for law in ("split_misfits", "layout_misfits", "trainer_misfits", "rollout_misfits")), ("prompt_variation", "prompt_p95"),
                *((law, "output_p95") for law in ("output_variation", "output_spread", "asked_context")), ("asked_context", "prompt_p95"),
                *(("expert_product_seconds", name) for name in ("experts", "expert_intermediate"))}


def test_a_feature_counts_from_one_on():
    """What a law leaves out at 0 it counts from 1 on, wherever it makes a difference among the examples at all."""
    found, compared = set(), 0
    for law in LAWS.values():
        examples = {name: QUANTITIES[name].example for name in law.arguments}
        for name in (name for name, value in law.defaults.items() if value == 0 and QUANTITIES[name].allowed.endswith("number of at least 0")):
            try:
                none, one, several = (float(law(**examples | {name: value})) for value in (0, 1, max(QUANTITIES[name].example, 7)))
            except ZeroDivisionError:    # layers of experts without experts
                continue
            compared += 1
            if one == none != several:
                found.add((law.__name__, name))
    assert found == NOT_FROM_ONE and compared > 400


@pytest.mark.parametrize("law, name, value", [
    (training_memory.fragmentation_bytes, "fragmentation", 0.14), (training_memory.training_bytes, "framework_bytes", 4e8),
    (owning.watts_per_gpu, "server_power_factor", 1.82), (total_cost.text_bytes, "token_text_bytes", 3.94),
    (interconnect.critical_batch_tokens, "batch_scale", 2e8), (interconnect.critical_batch_tokens, "batch_exponent", 0.21),
    (kv_cache.engine_room_bytes, "memory_utilization", 0.9), (kv_cache.cache_room_bytes, "headroom", 0.1),
    (kv_cache.blocks_per_sequence, "block_tokens", 16), (kv_cache.kv_bytes_per_token, "cache_element_bytes", 2)])
def test_figures_that_laws_carry(law, name, value):
    assert law.defaults[name] == value
    assert inspect.signature(law.formula).parameters[name].default == value


def test_a_case_cites_the_row_and_says_what_is_left_out():
    explanation = Case(model("Llama-3-8B"), context=8192, batch=1).explain(kv_cache.kv_bytes)
    used = {used.name: used for used in explanation.inputs}
    assert used["cache_element_bytes"].source == DEFAULTS["cache_element_bytes"].source == "BF16: two bytes an element"
    assert used["cache_element_bytes"].date == "2026-11"
    assert (used["layers_per_cache"].source, used["layers_per_cache"].date) == (LEFT_OUT, "")
