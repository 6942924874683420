"""Nodes and racks: sums over the GPU's row, held against hand calculations and what the makers' sheets print."""
import pytest

from book.pages import nodes as page
from gpucalc import Case, nodes
from gpucalc.core.figures import percent
from gpucalc.laws.topology import group_bandwidth
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


# Pictures and tables of the page

@pytest.mark.parametrize("name, how", [("DGX H100", "switch"), ("GB200 NVL72", "switch"), ("MI300X node", "mesh"), ("DGX-1 V100 16GB", "neighbors"),
                                       ("RTX PRO server", "host"), ("Gaudi 3 node", "mesh"), ("A100 PCIe pair", "mesh")])
def test_how_gpus_are_joined_follows_from_the_rows(name, how):
    row, _, link, _ = page.linked(name)
    assert page.joined_by(row, link) == how


def test_a_node_with_switches_shows_what_any_two_gpus_have():
    picture = page.node_picture("DGX H100").source
    assert "any two of 8 H100 SXM have 450 GB/s through switches" in picture and "4 switches" in picture
    assert "50 GB/s" in picture and picture.count("Intel Xeon Platinum 8480C") == 2
    # Each of eight GPUs to each of four switches, and down to port and processor.
    assert picture.count("<path") == 8 * 4 + 8 + 8


def test_a_mesh_has_a_line_for_each_pair():
    picture = page.node_picture("MI300X node").source
    assert picture.count(" Q") == 28 and "64 GB/s" in picture and "448 GB/s" in picture


def test_a_rack_shows_every_gpu_and_processor():
    picture = page.rack_picture("GB200 NVL72").source
    assert [picture.count(f'class="fill-{color}"') for color in "abc"] == [72, 36, 18 + 2]
    assert "900 GB/s" in picture and "64.8 TB/s" in picture


def test_a_rack_is_no_node():
    with pytest.raises(ValueError, match="^node 'GB200 NVL72': has 72 GPUs; allowed: at most 16"):
        page.node_picture("GB200 NVL72")


def test_every_derived_column_is_the_formula():
    frame = page.all_nodes()
    for name in frame.index:
        case = of(name)
        for law in (nodes.node_marketed_bytes, nodes.node_flops, nodes.node_bandwidth, nodes.node_memory_bytes):
            assert frame.at[name, law.__name__] == case(law)
        beyond = catalogue.gpu(frame.at[name, "gpu"]).beyond_bandwidth
        pair = Case(catalogue.link(frame.at[name, "link"]), ranks=2, beyond_bandwidth=beyond)
        assert frame.at[name, "pair_bandwidth"] == pair(group_bandwidth)


def test_two_side_by_side():
    shown = page.beside(["DGX A100 640GB", "DGX H100"]).set_index("what")
    assert list(shown.loc["dense peak"]) == ["2.50 PFLOP/s", "7.91 PFLOP/s", "3.17 ×"]
    assert shown.at["memory", "ratio"] == "the same" and shown.at["processor", "ratio"] == ""


def test_facts_are_whole_or_none():
    facts = page.facts("HGX H100 8-GPU")
    assert facts.gpus == 8 and facts.processors is None and facts.printed_sparse == 1 and facts.network is None
    with pytest.raises(ValueError, match="DGX H10'"):
        page.facts("DGX H10")


def test_a_rack_without_its_processors_is_refused():
    with pytest.raises(ValueError, match="^node 'Trn3 UltraServer': blank in column processors of data/nodes.csv; allowed"):
        page.rack_picture("Trn3 UltraServer")
