"""Accounts of training and of serving: terms sum to what the laws say, whatever the recipe and the layout."""
import math

import pytest

from book.components.memory import (fewest_to_serve, fewest_to_train, fullest, gpus_per_replica, moments, MOST_REPLICAS, need,
                                    one_change, origins, peak_terms, server, serving_terms, source, training_job)
from book.components.sentences import enough
from gpucalc import Case, kv_cache as kv, low_rank, training_memory as tm
from gpucalc.core.law import LAWS
from gpucalc.rows import catalogue
from tests.each import of_each

JOB = dict(micro_batch=1, sequence=2048, micro_batches=8)
SETTINGS = dict(recompute=2, flash_attention=1, loss_chunks=1, zero_stage=3, offload_optimizer=0, offload_gradients=0,
                sequence_parallel=0)
ENGINE = dict(context=8192, batch=16, batched_tokens=8192, max_sequences=256, framework_bytes=1e9, memory_utilization=0.9)


@pytest.mark.parametrize("layout", [
    {}, dict(zero_stage=3, data_parallel=8), dict(tensor_parallel=8, pipeline_parallel=4), dict(step_element_bytes=4),
    dict(persistent_gradients=0), dict(persistent_gradients=0, zero_stage=2, data_parallel=8, recompute=2, sequence_parallel=1)])
@of_each(catalogue.recipes().index.tolist())
def test_terms_sum_to_each_moment_and_to_the_total(recipe, layout):
    for model in ("Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3"):
        account = fullest(Case(model=model, recipe=recipe, **JOB, **layout))
        for moment, terms in moments(account).items():
            assert math.isclose(sum(terms.values()), account.terms[moment], rel_tol=1e-12)
        assert math.isclose(sum(peak_terms(account).values()), account.value, rel_tol=1e-12)


def test_the_fullest_stage_of_a_pipeline_is_taken():
    job = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB, pipeline_parallel=4)
    few, many = (fullest(job.but(micro_batches=count)) for count in (1, 8))
    assert (few.steps[0].arguments["last_stage"], many.steps[0].arguments["last_stage"]) == (1, 0)


def test_a_term_names_its_source():
    assert source("held_gradient_bytes") == "arXiv 1910.02054, section 5.2"
    assert source("framework_bytes") == ""
    account = fullest(Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB))
    named = [term for terms in moments(account).values() for term in terms if term in LAWS and source(term)]
    assert len(set(named)) >= 8


def test_each_term_of_an_account_has_an_origin():
    job = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB, persistent_gradients=0)
    account = fullest(job)
    assert origins(account).keys() == peak_terms(account).keys() and all(origins(account).values())
    assert origins(account)["framework_bytes"].startswith("github.com/pytorch/pytorch/issues/109888")
    assert origins(fullest(job.but(framework_bytes=2e9)))["framework_bytes"] == "given"


# A training job

def test_a_rank_becomes_the_recipe_s_and_none_is_taken_from_a_recipe_without_adapters():
    lora = Case(model="Llama-3-8B", recipe="lora", **JOB)
    assert training_job(lora.but(lora_rank=16))(low_rank.lora_params) == 2 * training_job(lora.but(lora_rank=0))(low_rank.lora_params)
    assert training_job(lora)(low_rank.lora_params) == lora(low_rank.lora_params)
    assert training_job(lora.but(lora_rank=16)).but(recipe="mixed-adamw")(low_rank.lora_params) == 0
    with pytest.raises(ValueError, match="^parameter lora_rank: 16; allowed: 0, because mixed-adamw has no adapters"):
        training_job(lora.but(recipe="mixed-adamw", lora_rank=16))


def test_a_job_must_divide_its_model():
    job = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB)
    with pytest.raises(ValueError, match=r"^tensor_parallel \(tensor-parallel degree\) is 3"):
        training_job(job.but(tensor_parallel=3))
    with pytest.raises(ValueError, match=r"^context_parallel .* a divisor of sequence"):
        training_job(job.but(context_parallel=3))


@pytest.mark.parametrize("end", ["low", "plan", "high", "value"])
@pytest.mark.parametrize("layout", [{}, dict(tensor_parallel=2), dict(pipeline_parallel=4, context_parallel=2)])
def test_the_fewest_gpus_hold_a_job_and_one_replica_less_does_not(layout, end):
    job = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB, zero_stage=3, recompute=2, **layout)
    for memory in (1.6e10, 2.4e10):
        [gpus] = fewest_to_train(job, [memory])
        replicas = getattr(gpus, end) // gpus_per_replica(job)
        assert getattr(need(job.but(data_parallel=replicas)), end) <= memory
        assert replicas == 1 or getattr(need(job.but(data_parallel=replicas - 1)), end) > memory


@pytest.mark.parametrize("count", [1, 8])
def test_the_need_is_the_band_of_the_fullest_stage(count):
    job = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB).but(pipeline_parallel=4, micro_batches=count)
    held, first = need(job), job.band(tm.training_bytes)
    assert math.isclose(held.value, fullest(job).value)
    # The error is a share: all ends grow with the stage.
    for end in ("low", "plan", "high"):
        assert math.isclose(getattr(held, end) / held.value, getattr(first, end) / first.value)
    assert held.low < held.value < held.high and held.plan <= held.high and held.unit == "byte" and held.checked


def test_jobs_that_ran_near_the_limit_fit_by_the_plan_value():
    # QLoRA (arXiv 2305.14314, abstract): a 65B in 48 GB. NVIDIA's 405B: 1,024 H100, tensor 8, pipeline 8 x 8, context 2.
    llama = dict(layers=80, hidden=8192, heads=64, kv_heads=64, head_dim=128, intermediate=22016, vocab=32000, gated_mlp=1,
                 expert_intermediate=0)
    qlora = need(Case(llama, recipe="qlora", micro_batch=1, sequence=512, micro_batches=16, recompute=2, offload_optimizer=1))
    large = need(Case(model="Llama-3.1-405B", recipe="mixed-adamw", micro_batch=1, sequence=8192, micro_batches=192, fusion=2,
                      flash_attention=1, tensor_parallel=8, sequence_parallel=1, pipeline_parallel=8, virtual_stages=8,
                      context_parallel=2, data_parallel=8, zero_stage=1))
    for held, memory in ((qlora, 48e9), (large, catalogue.gpu("H100 SXM 80GB").memory_bytes)):
        assert held.low < held.plan < memory < held.high and enough(held, at_most=memory) == "too close to call"


def test_replicas_share_experts_evenly_or_nothing_holds_the_job():
    job = Case(model="Mixtral-8x7B", recipe="mixed-adamw", **JOB, zero_stage=3, recompute=2, expert_parallel=8)
    [some, never] = fewest_to_train(job, [8e10, 1e9])
    assert some.plan % 8 == some.high % 8 == 0 and never.low == never.plan == math.inf
    assert fullest(job.but(data_parallel=MOST_REPLICAS)).value > 1e9


def test_more_than_4096_replicas_are_not_tried():
    job = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB, zero_stage=3, recompute=2)
    last, beyond = (need(job.but(data_parallel=count)).plan for count in (4096, 4097))
    assert last > beyond and [found.plan for found in fewest_to_train(job, [last, beyond])] == [4096, math.inf]


def test_one_change_leaves_the_rest_of_the_job():
    job = training_job(Case(model="Llama-3-8B", recipe="lora", lora_rank=16, **JOB, **SETTINGS))
    changed = one_change(job)
    assert "recompute = 0 (none)" in changed and "recipe = lora" not in changed and "zero_stage = 3" not in changed
    assert not any("sequence_parallel" in text for text in changed)
    assert "sequence_parallel = 1" in one_change(job.but(tensor_parallel=2))
    assert changed["micro_batch = 2"].inputs == job.inputs | {"micro_batch": 2}
    assert changed["recipe = qlora"].rows["recipe"] == catalogue.recipe("qlora")
    assert fullest(changed["recipe = mixed-adamw"]).value > fullest(job).value


def test_every_other_setting_is_tried_once():
    job = training_job(Case(model="Llama-3-8B", recipe="lora", **JOB, **SETTINGS)).but(tensor_parallel=2)
    assert [text for text in one_change(job) if not text.startswith("recipe")] == [
        "recompute = 0 (none)", "recompute = 1 (selective)", "recompute = 3 (torch's policy)", "flash_attention = 0", "loss_chunks = 8", "zero_stage = 0",
        "zero_stage = 1", "zero_stage = 2", "offload_optimizer = 1", "offload_gradients = 1", "sequence_parallel = 1", "micro_batch = 2"]
    assert "zero_stage = 3" in one_change(job.but(zero_stage=0))
    assert "recompute = 2 (whole layers)" in one_change(job.but(recompute=0))
    assert not any("sequence_parallel" in text for text in one_change(job.but(tensor_parallel=1)))


def test_the_gpus_of_a_replica():
    plain = Case(model="Llama-3-8B", recipe="mixed-adamw", **JOB)
    assert gpus_per_replica(plain) == 1
    assert gpus_per_replica(plain.but(tensor_parallel=2, pipeline_parallel=4, context_parallel=3, data_parallel=7)) == 24


# A server

def test_a_server_forgets_the_training_job():
    trained = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", weight_format="FP8", recipe="fp32-adamw", pipeline_parallel=4, **ENGINE)
    alone = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", weight_format="FP8", **ENGINE)
    assert serving_terms(server(trained, 2)) == serving_terms(server(alone, 2))


@pytest.mark.parametrize("model, degree", [("Llama-3-8B", 1), ("Llama-3-8B", 8), ("Mistral-7B", 4), ("DeepSeek-V3", 16)])
def test_what_serving_takes_leaves_what_the_engine_finds(model, degree):
    served = server(Case(model=model, gpu="H200 SXM 141GB", weight_format="FP8", **ENGINE), degree)
    terms = serving_terms(served)
    plain = Case(model=model, tensor_parallel=degree, weight_element_bytes=1)
    kept = served.rows["weight_format"].keep_embeddings
    assert kept or math.isclose(terms["gpu_weight_bytes"], plain(kv.gpu_weight_bytes))
    room = served.rows["gpu"].memory_bytes * 0.9 - sum(terms.values()) + terms["kv_bytes"]
    assert math.isclose(served(kv.engine_room_bytes), max(room, 0))


def test_embeddings_that_a_format_keeps_are_counted_at_their_own_width():
    case = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", **ENGINE)
    kept = next(name for name, row in catalogue.formats().iterrows() if row.keep_embeddings)
    row = catalogue.weight_format(kept)
    parts = case.but(tensor_parallel=2).terms(LAWS["gpu_params"])
    narrow = (parts["gpu_params"] - parts["gpu_embedding_params"]) * row.weight_element_bytes
    held = serving_terms(server(case.but(weight_format=kept), 2))["gpu_weight_bytes"]
    assert math.isclose(held, narrow + 2 * parts["gpu_embedding_params"])


def test_the_fewest_gpus_serve():
    served = server(Case(model="Llama-3-8B", gpu="H100 SXM 80GB", weight_format="BF16", **ENGINE), 1)
    needs = {degree: sum(serving_terms(served.but(tensor_parallel=degree)).values()) for degree in (1, 2, 4)}
    memories = [needs[1] / 0.9, needs[1] / 0.9 - 1, needs[4] / 0.9, 1e9]
    assert fewest_to_serve(served, memories) == [1, 2, 4, math.inf]


def test_a_group_that_does_not_divide_the_model_is_named():
    with pytest.raises(ValueError, match=r"^serving_tensor_parallel: tensor_parallel .* is 3; allowed: a divisor of heads"):
        server(Case(model="Llama-3-8B", weight_format="BF16"), 3)
