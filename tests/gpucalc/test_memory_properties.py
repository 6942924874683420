"""What must hold for every architecture and every layout: sums, shares, and numbers that agree however they are asked for."""
import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st

from gpucalc import low_rank, model_size
from gpucalc import sharding as sh
from gpucalc import training_memory as tm
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

RECIPES = {name: dict(row) for name, row in catalogue.recipes().select_dtypes("number").iterrows()}
STATE = ("held_weight_bytes", "held_gradient_bytes", "held_master_bytes", "held_optimizer_bytes")
MICRO_BATCHES = 16
some = settings(max_examples=200)


def doubling(lowest, highest):
    return st.sampled_from([2**power for power in range(lowest, highest + 1)])


@st.composite
def architectures(draw):
    """Dense, grouped, sparse and latent models whose sizes are divisible by 16; small ones, odd ones and huge ones."""
    flag = st.integers(0, 1)
    heads = draw(doubling(4, 6))
    model = dict(layers=draw(st.integers(16, 80)), hidden=64 * draw(st.integers(4, 128)), heads=heads,
                 kv_heads=min(heads, draw(doubling(0, 6))), head_dim=draw(st.sampled_from([64, 96, 128])),
                 intermediate=256 * draw(st.integers(4, 64)), vocab=64 * draw(st.integers(100, 2000)), gated_mlp=draw(flag),
                 norms_per_layer=draw(st.sampled_from([1, 2, 4])), norm_vectors=draw(st.integers(1, 2)),
                 positions=draw(st.sampled_from([0, 2048])), tied_embeddings=draw(flag), head_bias=draw(flag),
                 qkv_bias=draw(flag), output_bias=draw(flag), mlp_bias=draw(flag), qk_norm=draw(flag))
    sparse = dict(moe_layers=model["layers"] - draw(st.integers(0, 3)), experts=draw(doubling(3, 6)),
                  experts_per_token=draw(st.integers(1, 8)), shared_experts=draw(st.integers(0, 2)), router_bias=draw(flag),
                  shared_gate=draw(flag), expert_intermediate=model["intermediate"] // draw(st.sampled_from([1, 4, 8])))
    latent = dict(kv_lora_rank=64 * draw(st.integers(1, 8)), q_lora_rank=draw(st.sampled_from([0, 768])), rope_head_dim=64,
                  value_head_dim=128)
    is_sparse, is_latent = draw(flag), draw(flag)
    model |= {name: is_sparse * value for name, value in sparse.items()}
    model |= {name: is_latent * value for name, value in latent.items()}
    return model | dict(kv_heads=heads) if is_latent else model


@st.composite
def jobs(draw):
    """A recipe's row and a job on one GPU or many, without its layout."""
    flag = st.integers(0, 1)
    return RECIPES[draw(st.sampled_from(list(RECIPES)))], dict(
        micro_batch=draw(st.integers(1, 4)), sequence=1024 * draw(doubling(0, 5)), micro_batches=MICRO_BATCHES,
        recompute=draw(st.integers(0, 3)), recomputed_share=draw(st.sampled_from([0.5, 1])), flash_attention=draw(flag), dropout=draw(flag), sequence_parallel=draw(flag),
        persistent_gradients=draw(flag), offload_optimizer=draw(flag),
        offload_gradients=draw(flag), loss_chunks=draw(doubling(0, 3)),
        fusion=draw(st.integers(0, 2)), expanded_kv=draw(flag), step_element_bytes=draw(st.sampled_from([0, 4])),
        fragmentation=draw(st.sampled_from([0, 0.25])), framework_bytes=10**9)


@st.composite
def layouts(draw):
    """Degrees that divide any of the architectures; data parallel is at least 2."""
    data, context, experts = draw(doubling(1, 6)), draw(doubling(0, 2)), draw(doubling(0, 3))
    return dict(tensor_parallel=draw(doubling(0, 3)), data_parallel=data, context_parallel=context,
                expert_parallel=min(experts, data * context), pipeline_parallel=draw(doubling(0, 3)),
                zero_stage=draw(st.integers(0, 3)), last_stage=draw(st.integers(0, 1)))


def account(architecture, job, **layout):
    recipe, size = job
    return Case(architecture, recipe, **size, **layout).terms(tm.training_bytes)


def state(architecture, recipe, **layout):
    return Case(architecture, recipe, **layout)(tm.held_state_bytes)


def doubled(layout, name):
    return layout | {name: 2 * layout[name]}


# Sums

@some
@given(architectures(), jobs(), layouts())
def test_terms_sum_to_the_total(architecture, job, layout):
    t = account(architecture, job, **layout)
    kept = job[1]["persistent_gradients"]
    gradients = t["held_gradient_bytes"]
    resident = sum(t[name] for name in STATE if name != "held_gradient_bytes") + kept * gradients + t["gathered_bytes"]
    first_layer = t["activation_bytes"] + t["recomputed_bytes"] + t["activation_gradient_bytes"]
    moments = (
        resident + t["activation_bytes"] + t["logits_bytes"] + t["loss_bytes"],
        resident + t["activation_bytes"] + t["logits_bytes"] + t["head_gradient_bytes"],
        resident + first_layer,
        resident + first_layer - t["activation_bytes"] + t["layer_activation_bytes"] + (1 - kept) * gradients,
        resident + (1 - kept) * gradients + t["step_bytes"])
    assert t["resident_bytes"] == close(resident)
    assert [t[name] for name in tm.peak_bytes.arguments] == close(list(moments))
    assert t["peak_bytes"] == close(max(moments))
    assert t["training_bytes"] == close(max(moments) * (1 + job[1]["fragmentation"]) + t["communication_bytes"] + 1e9)
    assert min(t.values()) >= 0


@some
@given(architectures(), st.sampled_from(["mixed-adamw", "fp32-adamw", "lion", "adamw-8bit", "bf16-adamw"]))
def test_nothing_is_counted_twice(architecture, name):
    # Without a layout each parameter has its bytes once.
    recipe, params = RECIPES[name], Case(architecture)(model_size.params)
    assert state(architecture, recipe) == close(params * Case(recipe)(tm.bytes_per_param))


@some
@given(architectures(), st.integers(1, 64))
def test_counts_are_whole_numbers(architecture, lora_rank):
    params = Case(architecture)(model_size.params)
    adapters = Case(architecture, lora_rank=lora_rank, adapt_query=1, adapt_key=1, adapt_value=1, adapt_output=1,
                    adapt_mlp=1)(low_rank.lora_params)
    assert type(params) is int and type(adapters) is int and adapters > 0
    assert Case(architecture)(sh.gpu_params) == params


# Shares

@some
@given(architectures(), jobs(), layouts(), st.sampled_from(["tensor", "data", "context", "expert"]))
def test_more_shards_never_need_more_memory(architecture, job, layout, kind):
    """Degrees count from 2 on: ZeRO and sequence parallel gather what a single GPU has at hand, and a group has buffers."""
    layout = layout | {f"{kind}_parallel": max(2, layout[f"{kind}_parallel"])}
    more = doubled(layout, f"{kind}_parallel")
    if more["expert_parallel"] > more["data_parallel"] * more["context_parallel"]:
        more = doubled(more, "data_parallel")
    before, after = account(architecture, job, **layout), account(architecture, job, **more)
    for term in (*STATE, "activation_bytes", "logits_bytes", "loss_bytes", "gathered_bytes", "peak_bytes", "training_bytes"):
        assert after[term] <= before[term] * (1 + 1e-12), term


@some
@given(architectures(), jobs(), layouts(), st.integers(1, 2))
def test_more_stages_never_need_more_state(architecture, job, layout, virtual_stages):
    """Activations are another matter.

    The last stage keeps one micro-batch of its layers, so fewer with each stage. The first keeps one micro-batch for each
    stage: as many layers as before where the stages divide them, more where they don't, and more still when interleaved.
    """
    layout = layout | dict(pipeline_parallel=max(layout["pipeline_parallel"], 2) // virtual_stages)
    layout = layout | (dict(virtual_stages=virtual_stages) if layout["pipeline_parallel"] > 1 else {})
    before, after = account(architecture, job, **layout), account(architecture, job, **doubled(layout, "pipeline_parallel"))
    for term in STATE:
        assert after[term] <= before[term] * (1 + 1e-12), term
    if layout["last_stage"] and "virtual_stages" not in layout:
        assert after["activation_bytes"] <= before["activation_bytes"]


@some
@given(architectures(), doubling(0, 3))
def test_the_first_stage_keeps_all_layers(architecture, pipeline_parallel):
    kept, single = (Case(architecture, micro_batches=count, pipeline_parallel=pipeline_parallel)(sh.in_flight_layers)
                    for count in (MICRO_BATCHES, 1))
    if architecture["layers"] % pipeline_parallel == 0:
        assert kept == architecture["layers"]
    assert architecture["layers"] <= kept < architecture["layers"] + pipeline_parallel
    assert single == kept / pipeline_parallel


@some
@given(architectures(), st.sampled_from(list(RECIPES)), layouts())
def test_all_gpus_together_hold_at_least_the_model(architecture, name, layout):
    """Of weights, gradients, master weights and optimizer state each; the stages in between have no embeddings."""
    # Copies in fewer bits are made anew where ZeRO gathers the weights.
    recipe, stages = RECIPES[name] | dict(cast_element_bytes=0), layout["pipeline_parallel"]
    whole = Case(architecture, recipe).terms(tm.held_state_bytes)
    case = Case(architecture, recipe, **layout)
    first, last = (case.but(last_stage=end).terms(tm.held_state_bytes) for end in (0, 1))
    between = case.but(gpu_embedding_params=0).terms(tm.held_state_bytes)
    for term in STATE:
        held = first[term] + (last[term] + (stages - 2) * between[term] if stages > 1 else 0)
        ranks = layout["tensor_parallel"] * layout["data_parallel"] * layout["context_parallel"]
        assert held * ranks >= whole[term] * (1 - 1e-12), term


@some
@given(architectures(), st.sampled_from(list(RECIPES)), layouts(), st.integers(0, 2))
def test_a_higher_zero_stage_never_needs_more_state(architecture, name, layout, stage):
    """Peaks may: a stage that gathers layers holds them beside its share."""
    lower, higher = (state(architecture, RECIPES[name], **layout | dict(zero_stage=each)) for each in (stage, stage + 1))
    assert higher <= lower * (1 + 1e-12)


@some
@given(architectures(), jobs(), layouts())
def test_recompute_keeps_less_and_batches_add_up(architecture, job, layout):
    recipe, size = job
    kept = [account(architecture, (recipe, size | dict(recompute=level)), **layout) for level in (0, 1, 2)]
    assert kept[0]["activation_bytes"] > kept[1]["activation_bytes"] > kept[2]["activation_bytes"] > 0
    whole = [terms["layer_activation_bytes"] + terms["recomputed_bytes"] for terms in kept]
    assert whole == close([whole[0]] * 3)    # what is dropped is made again
    twice = account(architecture, (recipe, size | dict(micro_batch=2 * size["micro_batch"])), **layout)
    once = account(architecture, job, **layout)
    for term in ("activation_bytes", "recomputed_bytes", "activation_gradient_bytes", "logits_bytes", "loss_bytes"):
        assert twice[term] == 2 * once[term]
    assert [twice[term] for term in STATE] == [once[term] for term in STATE]


# Numbers and columns

@settings(max_examples=30)
@given(st.lists(st.tuples(architectures(), jobs(), layouts()), min_size=2, max_size=6))
def test_columns_agree_with_numbers_exactly(cases):
    rows = [model | recipe | size | layout for model, (recipe, size), layout in cases]
    columns = pd.DataFrame(rows)
    expected = [Case(row).terms(tm.training_bytes) for row in columns.to_dict("records")]
    for given_as in (columns, {name: column.to_numpy() for name, column in columns.items()}):
        terms = Case(given_as).terms(tm.training_bytes)
        assert set(terms) == set(expected[0])
        for name, values in terms.items():
            assert list(np.broadcast_to(values, len(rows))) == [row[name] for row in expected], name
