"""Communication of a training step by hand, and what a layout does without costs nothing.

Links at half of 100 bytes/s and 0.25 s a hop, network at 8 of 10 bytes/s and 0.5 s.
"""
import pytest

from gpucalc import training_links as links
from gpucalc.core.evaluate import Case
from gpucalc.rows import catalogue
from tests.close import close

HOPS = dict(latency=0.25, network_latency=0.5)
PORTS = dict(network_bandwidth=10.0, port_bandwidth=25.0, group_ports=4, peer_ports=4, reach=8, beyond_bandwidth=3.0,
             link_efficiency=0.5, network_efficiency=0.8)


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


def ring(message_bytes, ranks, bandwidth, hops):
    return message_bytes * (ranks - 1) / ranks / bandwidth + hops


def test_bandwidth_of_a_group():
    assert links.tensor_bandwidth(**PORTS, gpus_per_node=4, tensor_parallel=4) == 50
    # Two nodes of 4: a ring leaves a node through four ports of 8 bytes/s, if the link carries as much.
    assert links.tensor_bandwidth(**PORTS, gpus_per_node=4, tensor_parallel=8) == 32
    assert links.tensor_bandwidth(**PORTS, gpus_per_node=8, tensor_parallel=16) == 50
    # Beside tensor parallel 2 a node holds two of the four: two ports; beside 4 it holds one.
    for tensor_parallel, ports in ((1, 50), (2, 16), (4, 8)):
        assert links.context_bandwidth(**PORTS, gpus_per_node=4, context_parallel=4, tensor_parallel=tensor_parallel) == ports
    assert links.shard_bandwidth(8, **PORTS, gpus_per_node=8, tensor_parallel=4) == 16
    assert links.expert_shard_bandwidth(4, **PORTS, gpus_per_node=8, expert_parallel=4) == 16
    # A mesh of one port to each peer; a bridge that joins two.
    assert links.tensor_bandwidth(**PORTS | dict(peer_ports=1), tensor_parallel=2) == 12.5
    assert links.tensor_bandwidth(**PORTS | dict(reach=2), tensor_parallel=4) == 1.5


def test_tensor_parallel():
    given = dict(pace_layers=3, stage_moe_layers=0, gpu_tokens=16, hidden=10, gpus_per_node=4, tensor_bandwidth=50.0, **HOPS)
    once = 2 * ring(16 * 10 * 2, 4, 50, 3 * 0.25)                     # an all-reduce passes the ring twice
    assert links.tensor_seconds(**given, tensor_parallel=1) == 0
    assert links.tensor_seconds(**given, tensor_parallel=4) == close(3 * (2 + 2) * once)
    assert links.tensor_seconds(**given, tensor_parallel=4, recompute=2) == close(3 * (2 + 2 + 2) * once)
    assert links.tensor_seconds(**given, tensor_parallel=4, recompute=3) == close(3 * (2 + 2) * once)
    assert links.tensor_seconds(**given, tensor_parallel=4, base_latency=1) == close(3 * 4 * (once + 2))
    # Two nodes of 4: of seven hops one is between nodes.
    assert links.tensor_seconds(**given, tensor_parallel=8) == close(3 * 4 * 2 * ring(320, 8, 50, 6 * 0.25 + 0.5))
    # Two of three layers have experts, whole on each GPU: nothing is summed there, but for a shared one.
    moe = given | dict(stage_moe_layers=2, experts_per_token=5, tensor_parallel=4)
    assert links.tensor_seconds(**moe, expert_parallel=2) == close(2 * (3 + 1) * once)
    assert links.tensor_seconds(**moe, expert_parallel=2, shared_experts=1) == close(2 * (3 + 1 + 2) * once)
    # Split by tensor parallel, and elsewhere: each token moves 5 times.
    assert links.tensor_seconds(**moe, expert_parallel=2, expert_tensor_parallel=4) == close(2 * (3 + 1 + 2 * 5) * once)
    assert links.tensor_seconds(**moe, expert_tensor_parallel=4) == close(3 * 4 * once)


def test_context_parallel():
    given = dict(pace_layers=3, gpu_tokens=8, gpu_context_values=20, context_bandwidth=50.0, gpus_per_node=4, **HOPS)
    whole = 4 * 8 * 20 * 2                                            # keys and values of four GPUs' tokens
    assert links.context_seconds(**given) == 0
    assert links.context_seconds(**given, context_parallel=4) == close(3 * 3 * ring(whole, 4, 50, 0.75))
    assert links.context_seconds(**given, context_parallel=4, recompute=2) == close(3 * 4 * ring(whole, 4, 50, 0.75))
    assert links.context_seconds(**given, context_parallel=4, tensor_parallel=2) == close(3 * 3 * ring(whole, 4, 50, 0.5 + 0.5))


def test_nodes_that_a_token_reaches():
    # Of 8 nodes 8 draws meet 8 (1 - (7/8)^8); DeepSeek-V3 lets a token go to 4. On 32 nodes its 8 groups of experts have 4 each.
    assert links.token_nodes(experts_per_token=8, expert_parallel=64) == close(8 * (1 - (7 / 8) ** 8))
    four = dict(experts_per_token=8, reached_nodes=4, router_groups=8)
    assert links.token_nodes(**four, expert_parallel=64) == close(4 * (1 - (3 / 4) ** 8))
    assert links.token_nodes(**four, expert_parallel=16) == close(2 * (1 - (1 / 2) ** 8))
    assert links.token_nodes(**four, expert_parallel=256) == close(16 * (1 - (15 / 16) ** 8))
    assert links.token_nodes(**four | dict(router_groups=0), expert_parallel=256) == close(4 * (1 - (3 / 4) ** 8))
    assert links.token_nodes(**four, expert_copies=1, expert_parallel=64) == 8
    assert links.token_nodes(experts_per_token=8, expert_parallel=8) == 1


def test_expert_parallel():
    given = dict(stage_moe_layers=3, gpu_tokens=16, hidden=10, experts_per_token=2, gpus_per_node=4, **PORTS)
    value = 16 * 10 * (2 + 2)                                         # there and back
    assert links.expert_seconds(**given, token_nodes=1) == 0
    # Two draws of four GPUs meet 4 (1 - (3/4)^2) = 1.75, a quarter of them the token's own. Forward and backward.
    inside = value * 1.75 * 3 / 4 / 50
    assert links.expert_seconds(**given, token_nodes=1, expert_parallel=4) == close(3 * 2 * inside)
    assert links.expert_seconds(**given, token_nodes=1, expert_parallel=4, recompute=2, latency=0.25) == close(
        3 * 3 * (inside + 1.5))
    # Of four nodes a token reaches 1.75, and three quarters of them are not its own.
    outside = value * 1.75 * 3 / 4 / 8
    assert links.expert_seconds(**given, token_nodes=1.75, expert_parallel=16) == close(3 * 2 * outside)
    assert links.expert_seconds(**given, token_nodes=1.75, expert_parallel=16, dispatch_element_bytes=1) == close(
        6 * outside * 3 / 4)
    assert links.expert_seconds(**given, token_nodes=1.75, expert_parallel=16, exchange_efficiency=0.5) == close(6 * 2 * outside)
    # A plain all-to-all: two copies, three quarters of them to other nodes, at what the network reaches.
    assert links.expert_seconds(**given, token_nodes=2, expert_parallel=16, expert_copies=1, exchange_efficiency=0.5) == close(
        6 * value * 2 * 3 / 4 / 8)
    # Tensor parallel 2 leaves each GPU half of the tokens to send.
    assert links.expert_seconds(**given, token_nodes=1.75, expert_parallel=16, tensor_parallel=2) == close(3 * 2 * outside / 2)


def test_deepseek_v3_sends_a_token_to_four_nodes():
    # Section 3.2.2: at most 4 nodes of 8, one of 8 its own, 7,168 values of 1 byte out and 2 back, 50 GB/s a GPU.
    inputs = dict(micro_batch=1, sequence=4096, expert_parallel=64, data_parallel=128, pipeline_parallel=16)
    case = Case(catalogue.model("DeepSeek-V3"), catalogue.gpu("H800 SXM 80GB"), network_bandwidth=50e9, reached_nodes=4,
                dispatch_element_bytes=1, **inputs)
    assert case(links.expert_seconds) == close(
        2 * 4 * 4096 * 7168 * 3 * 4 * (1 - (3 / 4) ** 8) * 7 / 8 / 50e9)


def test_sends_between_stages():
    given = dict(gpu_tokens=16, hidden=10, gpus_per_node=4, **PORTS, **HOPS)
    assert links.pipeline_seconds(**given, layout_gpus=8) == 0
    assert links.pipeline_seconds(**given, layout_gpus=4, pipeline_parallel=4) == close(2 * (320 / 50 + 0.25))
    assert links.pipeline_seconds(**given, layout_gpus=8, pipeline_parallel=4, virtual_stages=3, tensor_parallel=2) == close(
        2 * 3 * (160 / 8 + 0.5))


STATE = dict(gpu_trained_params=40, gpu_trained_expert_params=0, gradient_element_bytes=4, stage_layers=5, shard_ranks=4,
             expert_shard_ranks=4, shard_bandwidth=50.0, expert_shard_bandwidth=20.0, gpus_per_node=4, **HOPS)


@pytest.mark.parametrize("stage, width, pieces", [(0, 4, 1), (1, 2, 1), (2, 2, 1), (3, 2, 5)])
def test_gradients_and_weights(stage, width, pieces):
    # 40 trained parameters with gradients of 4 bytes on 4 GPUs of a node; weights of 2 bytes; stage 3 layer by layer.
    held = dict(gpu_params=40, gpu_expert_params=0)
    assert links.scatter_seconds(**STATE, zero_stage=stage) == close(ring(160, 4, 50, pieces * 0.75))
    assert links.gather_seconds(**STATE, **held, zero_stage=stage) == close(ring(40 * width, 4, 50, pieces * 0.75))
    alone = STATE | dict(shard_ranks=1, expert_shard_ranks=1)
    assert links.scatter_seconds(**alone, zero_stage=stage) == links.gather_seconds(**alone, **held, zero_stage=stage) == 0


def test_passes_of_data_parallel():
    given = dict(scatter_seconds=5, gather_seconds=3, replica_sum_seconds=1, shard_rounds=6)
    assert [links.data_seconds(**given, zero_stage=stage) for stage in range(4)] == [9, 9, 6 * 5 + 3 + 1, 6 * 5 + 12 * 3 + 1]
    # In chunks the gradients of a turn of four micro-batches leave together; weights are gathered for each.
    assert [links.shard_rounds(8, 4, chunks, stage) for chunks, stage in ((1, 2), (2, 2), (2, 3))] == [8, 2, 8]
    assert links.shard_rounds(2, 4, 2, 2) == 1


def test_experts_are_shared_by_fewer():
    # 16 replicas in nodes of 8, 4 of them with other experts: dense weights over 16, experts over 4 that stand 4 apart.
    given = STATE | dict(gpu_trained_params=40, gpu_trained_expert_params=80, shard_ranks=16, expert_parallel=4, gpus_per_node=8)
    assert links.scatter_seconds(**given) == close(ring(160, 16, 50, 14 * 0.25 + 0.5) + ring(320, 4, 20, 2 * 0.25 + 0.5))
    # Adapters: their gradients, and all weights if ZeRO-3 splits them.
    lora = given | dict(gpu_trained_params=4, gpu_trained_expert_params=0)
    held = dict(gpu_params=120, gpu_expert_params=80)
    assert links.scatter_seconds(**lora) == close(ring(16, 16, 50, 4))
    assert links.gather_seconds(**lora, **held, zero_stage=3) == close(ring(80, 16, 50, 5 * 4) + ring(160, 4, 20, 5 * 1))
    # Below stage 3 only what was trained comes back: 4 weights of 2 bytes, or gradients of 4, and no expert's.
    assert links.gather_seconds(**lora, **held, zero_stage=2) == close(ring(8, 16, 50, 4))
    assert links.gather_seconds(**lora, **held) == close(ring(16, 16, 50, 4))
    assert links.gather_seconds(**lora | dict(gpu_trained_expert_params=20), **held, zero_stage=1) == close(ring(8, 16, 50, 4) + ring(40, 4, 20, 1))


def test_hybrid_sharding_sums_over_the_other_groups():
    # 32 replicas, states split over 8: each GPU's eighth of 160 bytes is summed over 4 groups by its own port.
    given = dict(gpu_trained_params=40, gpu_trained_expert_params=0, gradient_element_bytes=4, expert_shard_ranks=8,
                 network_bandwidth=10.0, data_parallel=32, network_efficiency=0.8)
    assert links.replica_sum_seconds(**given, shard_ranks=8, network_latency=0.5) == close(2 * ring(20, 4, 8, 1.5))
    assert links.replica_sum_seconds(**given | dict(expert_shard_ranks=32), shard_ranks=32) == 0


def test_what_data_parallel_shows():
    # A micro-batch of 30: forward 10, backward 20. A third of each transfer, one layer of three, is always seen.
    given = dict(data_seconds=0, scatter_seconds=12, gather_seconds=9, replica_sum_seconds=0, micro_batch_seconds=30,
                 micro_batches=4, shard_rounds=4, stage_layers=3, lent_share=0)
    assert [links.exposed_data_seconds(**given, zero_stage=stage) for stage in range(4)] == [4, 3 + 4, 3 + 4 * 4, 4 * 3 + 4 * 4]
    assert links.exposed_data_seconds(**given | dict(scatter_seconds=28), zero_stage=1) == 3 + 28 / 3
    assert links.exposed_data_seconds(**given | dict(scatter_seconds=48), zero_stage=1) == 3 + 28
    assert links.exposed_data_seconds(**given, zero_stage=1, data_overlap=0) == 9 + 12
    assert links.exposed_data_seconds(**given, zero_stage=3, data_overlap=0) == 4 * (9 + 9 + 12)
    # Two rounds of two micro-batches have twice as long each.
    assert links.exposed_data_seconds(**given | dict(shard_rounds=2, scatter_seconds=48), zero_stage=2) == 3 + 2 * 16
    # A tenth of the multiprocessors is lent as long as something is hidden: 21 seconds, 7 of them seen.
    assert links.exposed_data_seconds(**given | dict(data_seconds=21, lent_share=0.1), zero_stage=1) == close(7 + 1.4)
    assert links.lent_share(units=132) == 16 / 132 and links.lent_share(units=1) == 0
