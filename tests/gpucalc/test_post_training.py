"""Post-training by hand: lengths of answers, engines and their passes, the copies in memory, steps, runs, and published steps."""
import math

import pytest

from gpucalc import Case, LAWS, decide, post_training as pt, rollouts as ro
from gpucalc.decisions import answer
from gpucalc.decisions.jobs import JOBS, trains
from gpucalc.rows import catalogue
from gpucalc.rows.case_file import case_of

QWEN = catalogue.model("Qwen3-32B")
JOB = dict(job="grpo", model="Qwen3-32B", rollout_steps=100, output=3000, output_p95=6000, cards="H100 SXM 80GB", term="on-demand", gpus=64)


def test_a_lognormal_has_its_mean_and_its_p95():
    spread = ro.output_spread(1000, 2500)
    assert 1000 * math.exp(1.6449 * spread - spread**2 / 2) == pytest.approx(2500, rel=1e-4)
    assert ro.output_spread(1000) == 0 and ro.output_spread(1000, 900) == 0
    assert ro.output_spread(1000, 99000) == pytest.approx(1.6449, rel=1e-4)    # no lognormal has a p95 of 99 means


def test_the_longest_answer_is_at_least_the_mean_and_at_most_the_limit():
    spread = ro.output_spread(1000, 2500)
    assert ro.longest_answer(1000, 0, 2048) == 1000 and ro.longest_answer(1000, spread, 1) == 1000
    assert ro.longest_answer(1000, spread, 2048, 4096) == 4096 and ro.longest_answer(1000, spread, 4, 4096) < 4096


def test_gpus_write_in_turn_or_apart():
    assert ro.rollout_gpus(32) == 32 and ro.rollout_gpus(32, 0.25) == 24
    assert ro.rollout_engines(24, 4) == 6 and pt.trainer_data_parallel(32, 0.25, 2, 2) == 2
    assert ro.rollout_misfits(64, 8, 25600, 24, 8, 4) == 0
    assert ro.rollout_misfits(64, 8, 25600, 24, 4, 8) == 1 and ro.rollout_misfits(64, 8, 25600, 24, 8, 16) == 2


def test_memory_of_an_engine_by_hand():
    # Qwen3-32B: 32,762,123,264 parameters of 2 bytes over 4 GPUs; a token takes 2 x 64 x 8 x 128 x 2 = 262,144 bytes.
    case = Case(QWEN, gpu="H100 SXM 80GB", rollout_parallel=4, context=2000, held_state_bytes=20e9, reference_bytes=0, held_weight_bytes=1)
    weights, sequence = 32_762_123_264 * 2 / 4, 262_144 * 2000 / 4
    assert case(ro.rollout_weight_bytes) == weights and case(ro.rollout_sequence_bytes) == sequence
    memory = catalogue.gpu("H100 SXM 80GB").memory_bytes
    whole, beside = case.but(offloaded_states=1), case.but(offloaded_states=0)
    assert whole(ro.rollout_room_bytes) == pytest.approx(0.9 * memory - weights)
    assert beside(ro.rollout_room_bytes) == pytest.approx(0.9 * memory - weights - 20e9)
    assert beside.but(trainer_share=0.5)(ro.rollout_room_bytes) == whole(ro.rollout_room_bytes)
    assert whole.but(prompts_per_step=64, group_size=32, gpus=32)(ro.rollout_places) == 256    # 2,048 answers on 8 engines
    assert ro.rollout_places(2048, 8, 10 * sequence + 1, sequence, 0) == 10 and ro.missing_places(0) == 1 and ro.missing_places(10) == 0
    assert ro.rollout_cache_share(8, 16) == 1 / 8 and ro.rollout_cache_share(8, 16, 512) == 1


def test_passes_by_hand():
    # 256 answers of 1,000 tokens at once: as many passes as the longest has tokens. On 64 places: 4 rounds, and the end.
    assert ro.rollout_passes(2048, 8, 256, 1000, 4000, 0) == 4000
    assert ro.rollout_passes(2048, 8, 64, 1000, 4000, 0) == 4 * 1000 + 3000
    assert ro.rollout_batch(2048, 8, 1000, 4000) == 64
    # Answers that may be a step older: 512 in hand keep the places filled, but no answer is faster than its tokens.
    assert ro.rollout_passes(2048, 8, 512, 1000, 4000, 1) == 2000 and ro.rollout_passes(2048, 8, 128, 1000, 1100, 1) == 2000
    assert ro.rollout_passes(2048, 8, 0, 1000, 4000, 0) == math.inf


def test_a_pass_is_that_of_a_server():
    held = dict(gpu="H100 SXM 80GB", link="NVLink 4", efficiency="achieved", context=2000, batch=64, prompt=500,
                network_bandwidth=50e9, network_latency=5e-6)
    server = Case(QWEN, tensor_parallel=4, **held).terms("replica_pass_seconds")
    engine = Case(QWEN, rollout_parallel=4, **held)(ro.rollout_pass_seconds)
    assert engine == pytest.approx(server["replica_pass_seconds"], rel=0.08)


def test_the_reference_takes_what_the_policys_weights_take():
    assert pt.reference_bytes(8e9, 0, 1) == 8e9 and pt.reference_bytes(8e9, 0) == 0
    assert pt.reference_bytes(8e9, 1, 1) == 0                                     # under adapters the base is the reference
    assert pt.policy_bytes(50e9, 8e9, 40e9) == 58e9 and pt.policy_bytes(50e9, 8e9, 40e9, 1) == 98e9
    assert pt.staying_bytes(40e9, 8e9) == 48e9 and pt.staying_bytes(40e9, 8e9, 1, 1) == 0 == pt.staying_bytes(40e9, 8e9, 0.5)
    assert pt.policy_bytes(50e9, 8e9, 40e9, 0, 1) == 50e9                         # it rests on the host


def test_a_step_waits_for_its_parts_in_turn_or_apart():
    assert pt.grpo_step_seconds(100, 60, 5, 2, 0) == 167 and pt.grpo_step_seconds(100, 60, 5, 0, 1) == 105
    assert pt.grpo_step_seconds(40, 60, 5, 0, 1) == 65 and pt.rollout_share(100, 160) == 0.625
    assert ro.stale_steps(1, 4) == 0 and ro.stale_steps(0.5, 4) == 4
    assert pt.swap_seconds(50e9, 10e9, 1, 1, 25e9) == 4.8 and pt.swap_seconds(50e9, 10e9, 0.5, 1, 25e9) == 0.8
    assert pt.swap_seconds(50e9, 10e9) == 0 and pt.sync_seconds(62e9, 20, 3.1e8) == 10


def test_scores_are_forward_passes_at_the_speed_of_training():
    # Three forwards' worth of work train, a fourth is done again: each score is a quarter of that.
    assert pt.scoring_seconds(80, 100, 400, 1, 1) == 40 and pt.scoring_seconds(80, 100, 300) == 0
    assert pt.scoring_seconds(80, 100, 400, 1, 1, 1) == 60                         # and one of a critic
    assert pt.learning_seconds(80, 40) == 120 and pt.learning_seconds(80, 40, 1) == 200
    case = Case(QWEN, sequence=4000, micro_batch=1, micro_batches=8, adapters=0)
    assert 3 * case(pt.forward_flops) == pytest.approx(case(LAWS["step_flops"]))


def test_flop_and_hours_of_steps():
    assert pt.grpo_step_flops(10, 100, 7, 3000, 1000, 1, 1) == 10 * 100 * 7 + 2000 + 3000
    # With a critic three forward passes, and it is trained too.
    assert pt.grpo_step_flops(10, 100, 7, 3000, 1000, 1, 1, 1) == 10 * 100 * 7 + 3000 + 6000
    assert pt.grpo_gpu_hours(500, 720, 32) == 3200
    assert pt.preference_tokens(1000, 2048) == 4_096_000 and pt.preference_flops(10, 10, 1) == 800
    assert pt.preference_flops(10, 10) == 600 and pt.preference_flops(10, 10, 1, 3) == 2400
    # 100 packed sequences, two at once on 8 replicas: six full rounds and a part.
    assert pt.packed_micro_batches(100, 2, 8) == 7


def test_layouts_of_a_trainer_by_hand():
    # A quarter of 64 GPUs: 16 = 4 replicas of 2 x 2. Three replicas leave four out. Context takes its part of 16 too.
    model = dict(heads=64, kv_heads=8, intermediate=25600, layers=64, gpus_per_node=8, trainer_share=0.25)
    assert pt.trainer_misfits(64, **model, data_parallel=4, tensor_parallel=2, pipeline_parallel=2) == 0
    assert pt.trainer_misfits(64, **model, data_parallel=3, tensor_parallel=2, pipeline_parallel=2) == 1
    assert pt.trainer_misfits(64, **model, data_parallel=2, tensor_parallel=2, pipeline_parallel=2, context_parallel=2) == 0


def test_a_run_of_grpo_is_decided():
    found = decide(JOB)
    best, told = found.iloc[0], found.attrs["answer"]
    assert best.gpu == "H100 SXM 80GB" and told.kind == "grpo" and trains("grpo") and not trains("serve")
    hours = 100 * best.grpo_step_seconds * best.gpus / 3600
    assert told.best["grpo_gpu_hours"] == pytest.approx(hours, rel=1e-6)
    assert told.figures["cost"].low < told.figures["cost"].plan < told.figures["cost"].high
    ways = {"in turn" in layout for layout in found[found.reason == ""].layout}
    assert ways == {True, False}                                                  # both are among the choices


def test_what_makes_a_run_of_grpo_shorter():
    def least(**changes):
        return decide(JOB | changes).iloc[0].compute_usd
    usual = least()
    assert least(references=0) < usual and least(output=1500, output_p95=3000) < usual < least(output_p95=11000)
    assert least(staleness=0) >= usual and least(critic=1) > usual


def test_a_card_without_room_says_so():
    found = decide(JOB | {"cards": "L4 24GB", "gpus": 8})
    assert (found.reason != "").all() and "GB on each of 8 GPUs" in found.iloc[0].reason


def test_pairs_take_longer_than_the_same_tokens():
    pairs = decide(dict(job="dpo", model="Llama-3-8B", preference_pairs=20_000, cards="H100 SXM 80GB", term="on-demand", gpus=8))
    tokens = decide(dict(job="finetune", model="Llama-3-8B", training_tokens=20_000 * 2 * 2048, sequence=2048, global_batch=128,
                         cards="H100 SXM 80GB", term="on-demand", gpus=8))
    assert 1.15 < pairs.iloc[0].compute_usd / tokens.iloc[0].compute_usd < 1.5       # a forward pass more
    alone = decide(dict(job="dpo", model="Llama-3-8B", preference_pairs=20_000, references=0, cards="H100 SXM 80GB",
                        term="on-demand", gpus=8))
    assert alone.iloc[0].compute_usd == pytest.approx(tokens.iloc[0].compute_usd, rel=0.1)


def test_bad_inputs_of_a_run_are_named():
    with pytest.raises(ValueError, match="output_p95"):
        case_of(dict(job="grpo", model="Qwen3-32B", rollout_steps=10, output=100))
    with pytest.raises(ValueError, match="group_size"):
        case_of(JOB | {"group_size": 0})


def test_every_step_of_the_chains_knows_its_laws():
    for kind in ("dpo", "grpo"):
        for step in JOBS[kind].chain:
            assert {figure.law for figure in step.figures} <= set(LAWS)
            assert set(step.shown) | set(step.objective) <= set(LAWS)
    assert answer.kind_of(case_of(JOB)) == "grpo"
