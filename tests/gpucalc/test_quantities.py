"""What the vocabulary lets in: every kind of value is held against what is allowed, and a wrong one is named."""
import numpy as np
import pandas as pd
import pytest

from gpucalc import kv_cache
from gpucalc.core.quantities import (
    AMOUNT, check, COUNT, COUNT0, DEFAULTS, DOMAINS, FACTOR, FLAG, FRACTION, LEVEL2, LEVEL3, neutral, POSITIVE, QUANTITIES, RATE, SHARE)

# A quantity of each domain, values that it has and values that it has not.
EDGES = {"batch": ([1, 2.0, 10**30], [0, -1, 1.5, float("nan")]), "lora_rank": ([0, 1], [-1, 0.5]),
         "bandwidth": ([1e-300, 1e300, float("inf")], [0, -1e-300]), "headroom": ([0, 0.5, 1], [-0.001, 1.001]),
         "utilization": ([0.001, 1], [0, 1.001]), "zero_stage": ([0, 1, 2, 3], [-1, 4, 1.5]),
         "causal": ([0, 1, True, False], [2, -1, 0.5]), "recompute": ([0, 1, 2, 3], [-1, 4, 0.5]),
         "fusion": ([0, 1, 2], [-1, 3, 0.5]), "oversubscription": ([1, 1.5, float("inf")], [0.999, -1]),
         "gradient_element_bytes": ([0, 0.5, float("inf")], [-1e-9]), "rent_decline": ([-0.5, 0, 0.9], [-0.501, 0.901]),
         "owning_npv": ([float("-inf"), -1e300, 0, 0.5, float("inf")], [float("nan")])}

# What some quantities may be, said a second time.
ALLOWED = {
    COUNT: "batch block block_tokens context data_parallel expert_parallel gpus_per_node gpus_per_server hidden kv_heads layers loss_chunks "
           "machines max_sequences micro_batch micro_batches network_tiers pipeline_parallel ranks runs sequence superblock "
           "tensor_parallel value_bits virtual_stages",
    COUNT0: "block_bits lora_rank prefix superblock_bits window_layers",
    POSITIVE: "activation_element_bytes bandwidth cache_element_bytes checkpoint_seconds committed_usd_per_hour home_usd_per_hour "
              "kept_element_bytes link_bandwidth peak_flops server_usd usd_per_hour weight_element_bytes years",
    AMOUNT: "egress_bytes framework_bytes gradient_element_bytes latency loss_element_bytes optimizer_element_bytes premium prompt_chunk "
            "trough_gpus usd_per_gb_month",
    FACTOR: "interruption_slowdown layers_per_cache pue", FRACTION: "availability bandwidth_efficiency compute_efficiency utilization",
    SHARE: "end_share fragmentation headroom interruptible_share offload_optimizer peak_share residual", RATE: "rent_decline",
    FLAG: "adapt_query cached committed expanded_kv flash_attention keep_embeddings last_stage offload_gradients persistent_gradients "
          "sequence_parallel tied_embeddings", LEVEL2: "fusion", LEVEL3: "recompute zero_stage"}


@pytest.mark.parametrize("allowed", ALLOWED)
def test_what_a_quantity_may_be(allowed):
    assert {name: QUANTITIES[name].allowed for name in ALLOWED[allowed].split()} == dict.fromkeys(ALLOWED[allowed].split(), allowed)


def test_each_domain_has_its_edges():
    assert {QUANTITIES[name].allowed for name in EDGES} == set(DOMAINS)


@pytest.mark.parametrize("name", EDGES)
def test_a_number_is_held_against_its_domain(name):
    good, bad = EDGES[name]
    for value in good:
        check(name, value)
    for value in bad:
        with pytest.raises(ValueError, match=rf"^{name} \(.*\) is {value!r}; allowed: {QUANTITIES[name].allowed}"):
            check(name, value)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, np.int8])
def test_numbers_of_numpy_are_checked_as_plain_ones(kind):
    check("batch", kind(1))
    for value in (kind(-1), kind(0)):
        with pytest.raises(ValueError, match=r"^here: batch \(.*\) is (-1|0)(\.0)?; allowed: a whole number of at least 1"):
            check("batch", value, "here")


def test_a_law_refuses_a_number_of_numpy():
    given = dict(cached_layers=80, kv_heads=8, head_dim=128, latent_bytes_per_token=0, index_bytes_per_token=0, cache_element_bytes=2)
    assert kv_cache.kv_bytes_per_token(**given | {"kv_heads": np.float64(8)}) == 327_680
    with pytest.raises(ValueError, match=r"^kv_bytes_per_token: kv_heads \(key and value heads\) is -1.0; allowed"):
        kv_cache.kv_bytes_per_token(**given | {"kv_heads": np.float64(-1)})


@pytest.mark.parametrize("kind", [np.array, pd.Series, lambda values: pd.Series(values, index=[7, 8, 9])])
def test_the_first_wrong_value_of_a_column_is_named(kind):
    check("batch", kind([1, 2, 3]))
    for values, wrong in (([1, 0, -1], 0), ([1.0, 2.5, 0.0], 2.5), ([1, 2, -3], -3), ([1.0, float("nan"), 1.0], float("nan"))):
        with pytest.raises(ValueError, match=rf"is {wrong!r}; allowed: a whole number of at least 1$"):
            check("batch", kind(values))
    with pytest.raises(ValueError, match=r"'a'\)?; allowed"):
        check("batch", kind(["a", "b", "c"]))


def test_the_ends_of_a_domain_hold_for_columns_too():
    check("utilization", np.array([0.001, 1.0]))
    check("headroom", np.array([0.0, 1.0]))
    for values in ([0.0, 0.5], [0.5, 1.001]):
        with pytest.raises(ValueError, match="allowed: a number above 0 and at most 1$"):
            check("utilization", np.array(values))


@pytest.mark.parametrize("value", ["1", None, [1], True, 1 + 0j, np.bool_(True)])
def test_what_is_no_number_is_refused(value):
    with pytest.raises(ValueError, match="^batch .* allowed: a whole number of at least 1"):
        check("batch", value)


def test_a_message_has_the_unit():
    with pytest.raises(ValueError, match=r"^x: bandwidth \(.*\) is 0; allowed: a number above 0 byte/second$"):
        check("bandwidth", 0, "x")


@pytest.mark.parametrize("name, value", [("batch", 1), ("lora_rank", 0), ("bandwidth", 1), ("headroom", 0), ("utilization", 1),
                                         ("rent_decline", 0), ("causal", 0), ("owning_npv", 0)])
def test_what_leaves_a_term_out(name, value):
    assert neutral(name) == value


def test_each_domain_has_a_row_that_needs_it():
    assert {each.allowed for each in QUANTITIES.values()} == set(DOMAINS)
    assert len(DOMAINS) == len(set(DOMAINS.values()))


def test_examples_and_defaults_are_allowed_numbers():
    for name, each in QUANTITIES.items():
        check(name, each.example)
    assert {type(each.value) for each in DEFAULTS.values()} == {int, float}
    for name, each in DEFAULTS.items():
        check(name, each.value)
