"""Defaults of the laws of communication: what a layout does without costs nothing."""
import pytest

from gpucalc import training_links as links


def close(value):
    return pytest.approx(value, rel=1e-12)


def test_sparse_layers_without_experts_of_a_token():
    # Three layers, two of them sparse; whole experts on each of 4 GPUs: only the dense layer's two all-reduces and one of each other.
    given = dict(pace_layers=3, stage_moe_layers=2, gpu_tokens=16, hidden=10, tensor_bandwidth=50.0, tensor_parallel=4, gpus_per_node=4)
    once = 2 * 16 * 10 * 2 * 3 / 4 / 50
    assert links.tensor_seconds(**given) == close(2 * (3 + 1) * once)
    # Split by tensor parallel and spread, with no expert for a token there is nothing to move.
    assert links.tensor_seconds(**given, expert_parallel=2, expert_tensor_parallel=4) == close(2 * (3 + 1) * once)
    assert links.tensor_seconds(**given, expert_parallel=2, expert_tensor_parallel=2, experts_per_token=3) == close(
        2 * (3 + 1 + 2 * 3 * 2 / 4) * once)


def test_ranks_in_and_out_of_a_node():
    ports = dict(network_bandwidth=10.0, port_bandwidth=25.0, group_ports=4, peer_ports=4, reach=8, beyond_bandwidth=3.0)
    # 6 GPUs 2 apart in nodes of 8: four in one node, so the ring leaves by 4 ports of 10 bytes/s, less than the link's 100.
    assert links.shard_bandwidth(6, **ports, tensor_parallel=2, gpus_per_node=8) == 40
    # 16 apart no two share a node: a port each.
    assert links.shard_bandwidth(6, **ports, tensor_parallel=16, gpus_per_node=8) == 10
    # 4 of 4 in one node of 8: the link.
    assert links.shard_bandwidth(4, **ports, tensor_parallel=2, gpus_per_node=8) == 100
    assert links.expert_shard_bandwidth(4, **ports, expert_parallel=2, expert_tensor_parallel=4, gpus_per_node=8) == 10


def test_what_a_hybrid_sums_of_experts():
    # 16 replicas in groups of 4: 160 bytes of dense gradients in quarters over 4 groups. Experts of 80 parameters, 8 replicas of
    # them for 2 expert-parallel, split over 2: halves of 320 bytes over 4 groups.
    given = dict(gpu_trained_params=40, gpu_trained_expert_params=80, gradient_element_bytes=4, network_bandwidth=10.0,
                 data_parallel=8, context_parallel=2, expert_parallel=2)
    seconds = links.replica_sum_seconds(**given, shard_ranks=4, expert_shard_ranks=2)
    assert seconds == close(2 * (40 * 3 / 4 + 160 * 3 / 4) / 10)
    assert links.replica_sum_seconds(**given, shard_ranks=16, expert_shard_ranks=8, network_latency=1, base_latency=1) == 0
    assert links.replica_sum_seconds(**given | dict(gpu_trained_expert_params=0), shard_ranks=4, expert_shard_ranks=2,
                                     network_latency=0.5, base_latency=2) == close(2 * (3 + 1.5 + 2))


def test_experts_split_by_tensor_parallel_take_more_nodes():
    # 4 x 4 GPUs are two nodes of 8; two draws of two meet 2 (1 - 1/4).
    assert links.token_nodes(experts_per_token=2, expert_parallel=4, expert_tensor_parallel=4, gpus_per_node=8) == 1.5
    assert links.token_nodes(experts_per_token=2, expert_parallel=4, gpus_per_node=8) == 1


def test_two_gpus_pay_the_start_and_one_does_not():
    given = dict(pace_layers=1, stage_moe_layers=0, gpu_tokens=16, hidden=10, tensor_bandwidth=50.0, latency=0.25, base_latency=1)
    assert links.tensor_seconds(**given, tensor_parallel=2) == close(2 * 2 * 2 * (320 / 2 / 50 + 0.25 + 1))
    assert links.tensor_seconds(**given, tensor_parallel=1) == 0
