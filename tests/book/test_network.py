"""What a network does to a model that is split, against hand calculations."""
import math

import pytest

from book.pages.interconnect import fabrics, known, paying_band, paying_degree, sent_by_kind
from gpucalc.core.evaluate import Case
from gpucalc.laws import interconnect as ic
from gpucalc.rows import catalogue


def test_a_latency_that_is_not_known_is_left_out():
    link = catalogue.link("NeuronLink 3")
    assert math.isnan(link.latency) and "latency" not in known(link) and known(link).kind == "link"
    # Eight GPUs, 640 GB at 640 GB/s: 7/8 of a second twice.
    assert Case(known(link), ranks=8, message_bytes=640e9)(ic.all_reduce_seconds) == pytest.approx(1.75)


def test_the_degree_that_pays_is_a_whole_number_of_at_least_one():
    # 3 * 8,192 * 45e9 / 100e12 is 11.06; a tenth of the bandwidth gives 1.1, a hundredth 0.11.
    case = Case(hidden=8192, peak_flops=100e12)
    assert [paying_degree(case.but(link_bandwidth=rate)) for rate in (45e9, 4.5e9, 0.45e9)] == [11, 1, 1]


def test_no_degree_is_larger_than_what_the_link_joins():
    # 3 * 8,192 * 450e9 / 989e12 is 11.2, and behind the switch of a node are eight; a bridge joins two.
    cards = catalogue.gpus()
    assert paying_degree(Case(model="Llama-3-70B", gpu="H100 SXM 80GB")) == 8
    assert paying_degree(Case(hidden=8192, gpu="H100 NVL 94GB")) == 2
    assert (paying_degree(Case(cards, hidden=8192)) <= cards["reach"]).all()
    assert paying_band(Case(model="Llama-3-70B", gpu="H100 SXM 80GB", tokens=8192)).high == 8


def test_bytes_by_kind_of_parallelism_by_hand():
    model = catalogue.model("Llama-3-70B")
    sent = sent_by_kind(model, tokens=8192, micro_batches=32).set_index("kind")
    # 80 layers, four all-reduces of 8,192 tokens of 8,192 values of two bytes, each sent 2 * 7/8 times.
    tensor = 80 * 4 * 8192 * 8192 * 2 * 1.75
    assert sent.loc["tensor"].tolist() == [tensor / 80, tensor, 32 * tensor]
    assert sent.loc["tensor with sequence parallel"].equals(sent.loc["tensor"])
    # Each GPU has an eighth of the tokens; keys and values of 8 heads of 128 go to seven peers three times.
    context = 80 * 3 * 7 * 2 * 1024 * 8 * 128 * 2
    assert sent.loc["context"].tolist() == [context / 80, context, 32 * context]
    assert sent.loc["expert", "step"] == 0
    # One send forward and one backward; two chunks send twice as often. Stages do not send by layer.
    assert sent.loc["pipeline", "micro_batch"] == 2 * 8192 * 8192 * 2
    assert sent.loc["pipeline, two chunks a GPU", "step"] == 32 * 2 * 2 * 8192 * 8192 * 2
    assert math.isnan(sent.loc["pipeline", "layer"]) and math.isnan(sent.loc["data, ZeRO-3", "micro_batch"])
    # Two bytes a parameter: gradients summed and spread, or weights gathered; ZeRO-3 scatters once and gathers twice, 32 times.
    whole = 2 * model.params * 7 / 8
    steps = sent["step"].filter(like="data").tolist()
    assert steps == pytest.approx([2 * whole, 2 * whole, 33 * whole, 96 * whole])


def test_experts_get_each_token_and_send_it_back():
    model = catalogue.model("Mixtral-8x7B")
    sent = sent_by_kind(model, tokens=8000, micro_batches=1).set_index("kind")
    # 32 layers, four passes of 1,000 tokens to two experts, 4,096 values of two bytes, seven in eight leave the GPU.
    assert sent.loc["expert", "step"] == 32 * 4 * 1000 * 2 * 4096 * 2 * 7 / 8


def test_a_fabric_of_ones_own_is_listed_if_it_is_oversubscribed():
    link = catalogue.link("InfiniBand NDR")
    assert fabrics(link).values.tolist() == [
        ["eight GPUs a node, a port each", 8, 50e9, 1, link.latency], ["the same, oversubscribed seven to one", 8, 50e9, 7, link.latency],
        ["eight GPUs a node share one port", 8, 6.25e9, 1, link.latency], ["one GPU of the group in a node", 1, 50e9, 1, link.latency]]
    assert fabrics(link, 3).iloc[-1].tolist() == ["this fabric", 8, 50e9, 3, link.latency]
    assert "network_latency" not in fabrics(known(catalogue.link("NeuronLink 3")))
    # Eight ports of 50 GB/s, a seventh of them, one of them, and one for each GPU: never more than the link carries.
    cluster = Case(fabrics(link), ranks=64, link_bandwidth=450e9)
    assert cluster(ic.fabric_bandwidth).tolist() == pytest.approx([400e9, 400e9 / 7, 50e9, 50e9])


def test_the_band_of_the_degree_takes_the_shares_and_the_errors_of_both():
    case = Case(model="Llama-3-70B", gpu="H100 SXM 80GB", tokens=8192, peak_flops=2 * 989e12)
    found, card = paying_band(case), case.rows["gpu"]
    # 3 h B / F with the share of the link over that of products, NCCL's 20.6 of 25 GB/s a link.
    share = card.ring_share / case.but(efficiency="achieved")("product_share")
    assert found.value == math.floor(case(ic.tensor_parallel_limit) * share)
    assert 1 <= found.low < found.plan < found.high and found.checked and found.family.count(" and ") == 1
    # A link a hundred times slower pays in no case.
    slow = paying_band(case.but(link_bandwidth=card.link_bandwidth / 100))
    assert slow.low == slow.plan == slow.high == 1
