"""Nodes and racks: sums over the GPU's row, held against hand calculations and what the makers' sheets print."""
import pytest

from gpucalc import Case, nodes
from gpucalc.core.figures import percent
from gpucalc.rows import catalogue

PEAK = {"FP16": "peak_flops", "BF16": "peak_flops", "FP8": "fp8_flops", "FP4": "fp4_flops"}
LAW = {"peak_flops": nodes.node_flops, "fp8_flops": nodes.node_fp8_flops, "fp4_flops": nodes.node_fp4_flops}
ALL = catalogue.nodes()


def of(name):
    row = catalogue.node(name)
    return Case(catalogue.gpu(row.gpu), gpus=row.gpus, power_watts=row.power_watts, network_bandwidth=row.network_bandwidth)


def test_a_dgx_h100_by_hand():
    case = of("DGX H100")
    assert case(nodes.node_marketed_bytes) == 8 * 80e9 == 640e9
    assert case(nodes.node_memory_bytes) == 8 * 81559 * 2**20
    assert case(nodes.node_flops) == 8 * 989e12 == 7.912e15
    assert case(nodes.node_fp8_flops) == 8 * 1979e12
    assert case(nodes.node_bandwidth) == 8 * 3.35e12
    assert case(nodes.node_link_bandwidth) == 8 * 450e9
    assert case(nodes.node_network_bandwidth) == 8 * 50e9
    assert case(nodes.node_gpu_power_share) == 8 * 700 / 10200
    assert percent(case(nodes.node_gpu_power_share)) == "54.9 %"
    assert case(nodes.node_flops_per_watt) == 8 * 989e12 / 10200


def test_half_of_a_sparse_peak_is_dense():
    assert nodes.printed_dense_flops(32e15, 1) == 16e15
    assert nodes.printed_dense_flops(1.08e18, 0) == 1.08e18


@pytest.mark.parametrize("name", ALL.index[ALL["printed_flops"].notna()])
def test_a_sum_over_the_card_is_what_the_sheet_prints(name):
    """Within what rounding a sheet to two figures does, and 4% where two of a maker's sheets differ (B300)."""
    row = ALL.loc[name]
    dense = nodes.printed_dense_flops(row["printed_flops"], row["printed_sparse"])
    assert of(name)(LAW[PEAK[row["printed_format"]]]) == pytest.approx(dense, rel=0.04)


@pytest.mark.parametrize("name, law, printed", [
    ("DGX A100 640GB", nodes.node_marketed_bytes, 640e9), ("DGX B200", nodes.node_marketed_bytes, 1440e9),
    ("DGX H200", nodes.node_marketed_bytes, 1128e9), ("GB200 NVL72", nodes.node_marketed_bytes, 13.4e12),
    ("DGX A100 640GB", nodes.node_link_bandwidth, 4.8e12 / 2), ("DGX H100", nodes.node_link_bandwidth, 7.2e12 / 2),
    ("DGX B200", nodes.node_link_bandwidth, 14.4e12 / 2), ("GB200 NVL72", nodes.node_link_bandwidth, 130e12 / 2),
    ("GB200 NVL72", nodes.node_network_bandwidth, 28.8e12 / 8), ("Trn1 server", nodes.node_flops, 3040e12),
    ("Trn1 server", nodes.node_network_bandwidth, 800e9 / 8)])
def test_printed_memory_links_and_network(name, law, printed):
    """A sheet's link bandwidth counts both directions. DGX B200 user guide; Azure ND GB200 v6; AWS Neuron, Trn1."""
    assert of(name)(law) == pytest.approx(printed, rel=0.01)


def test_rows_are_whole():
    assert not ALL[["gpus", "scale", "vendor", "year"]].isna().any().any()
    printed = ALL[["printed_flops", "printed_format", "printed_sparse"]]
    assert (printed.notna() & (printed != "")).sum(axis=1).isin([0, 3]).all()
    network = ALL["network_ports"].notna()
    assert (ALL.loc[network, "network_bandwidth"].notna() == network[network]).all()


def test_ports_carry_what_a_gpu_gets():
    """A port of 400 Gb/s is 50 GB/s: what the row says of each GPU, times its GPUs, is a rate that ports have."""
    found = ALL[ALL["network_ports"] > 0]
    ports = found["gpus"] * found["network_bandwidth"] / found["network_ports"] * 8
    assert set(ports) <= {100e9, 200e9, 400e9, 800e9}


def test_gpus_never_draw_more_than_their_node():
    powers = ALL[ALL["power_watts"].notna()]
    assert all(0.3 < of(name)(nodes.node_gpu_power_share) <= 1 for name in powers.index)
