"""The account of a training job: its terms sum to what the laws say, whatever the recipe and the layout."""
import math

import pytest

from gpucalc import catalogue
from gpucalc.account import fullest, moments, peak_terms, source
from gpucalc.law import LAWS

JOB = dict(micro_batch=1, sequence=2048, micro_batches=8)


@pytest.mark.parametrize("recipe", catalogue.recipes().index)
@pytest.mark.parametrize("layout", [
    {}, dict(zero_stage=3, data_parallel=8), dict(tensor_parallel=8, pipeline_parallel=4), dict(step_element_bytes=4),
    dict(persistent_gradients=0), dict(persistent_gradients=0, zero_stage=2, data_parallel=8, recompute=2, sequence_parallel=1),
])
def test_terms_sum_to_each_moment_and_to_the_total(recipe, layout):
    for model in ("Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3"):
        account = fullest(catalogue.model(model), catalogue.recipe(recipe), **JOB, **layout)
        for moment, terms in moments(account).items():
            assert math.isclose(sum(terms.values()), account.terms[moment], rel_tol=1e-12)
        assert math.isclose(sum(peak_terms(account).values()), account.value, rel_tol=1e-12)


def test_the_fullest_stage_of_a_pipeline_is_taken():
    rows = catalogue.model("Llama-3-8B"), catalogue.recipe("mixed-adamw")
    few, many = (fullest(*rows, **JOB | dict(micro_batches=count), pipeline_parallel=4) for count in (1, 8))
    assert (few.steps[0].arguments["last_stage"], many.steps[0].arguments["last_stage"]) == (1, 0)


def test_a_term_names_its_source():
    assert source("held_gradient_bytes") == "arXiv 1910.02054, section 5.2"
    assert source("framework_bytes") == ""
    account = fullest(catalogue.model("Llama-3-8B"), catalogue.recipe("mixed-adamw"), **JOB)
    named = [term for terms in moments(account).values() for term in terms if term in LAWS and source(term)]
    assert len(set(named)) >= 8
