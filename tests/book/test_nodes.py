"""What the page on nodes shows."""
import pytest

from book.pages import nodes as page
from gpucalc import Case, nodes
from gpucalc.laws.topology import group_bandwidth
from gpucalc.rows import catalogue
from tests.gpucalc.test_nodes import of


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
        beyond = catalogue.gpu(frame.at[name, "gpu"]).outer_bandwidth
        pair = Case(catalogue.link(frame.at[name, "link"]), ranks=2, outer_bandwidth=beyond)
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
