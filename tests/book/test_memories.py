"""Memories: bandwidth from pins, what multiprocessors hold and read, and a model that passes once from each level."""
import math
import re

import pytest

from book.pages import cards as page
from gpucalc import Case, kv_cache, memories, quantization
from gpucalc.rows import catalogue

H100 = catalogue.gpu("H100 SXM 80GB")


@pytest.mark.parametrize("bus_bits, pin_rate, printed", [
    (5120, 2 * 1593e6, 2039e9),   # A100 80 GB: NVIDIA A100 data sheet
    (4096, 2 * 715e6, 732e9),     # P100: NVIDIA P100 data sheet
    (384, 21e9, 1008e9),          # RTX 4090: NVIDIA's page
    (1024, 6.4e9, 819.2e9),       # one stack of HBM3: JEDEC JESD238
    (2048, 8e9, 2048e9),          # one stack of HBM4: JEDEC JESD270-4
])
def test_bandwidth_is_pins_times_rate(bus_bits, pin_rate, printed):
    assert memories.pin_bandwidth(bus_bits, pin_rate) == pytest.approx(printed, rel=0.001)


def test_every_kind_gives_its_card_the_bandwidth_of_the_data_sheet():
    """Within what data sheets are rounded by: at most 2.5 %, and half of them to a thousandth."""
    found = page.kinds()
    assert len(found) >= 17 and found["off"].abs().max() < 0.025
    assert found["off"].abs().median() < 0.001
    assert {"GDDR6", "GDDR6X", "GDDR7", "HBM2", "HBM2e", "HBM3", "HBM3e"} <= set(found["memory_type"])
    for row in found.itertuples():
        assert row.memory_type == catalogue.gpu(row.gpu).memory_type
        assert row.devices == int(row.devices), row.gpu
        assert row.memory_kind == f"{row.memory_type} on {row.gpu}"


def test_registers_of_all_multiprocessors():
    """NVIDIA prints 33,792 KB of registers for the H100 SXM, 27,648 for the A100."""
    assert memories.all_units_bytes(132, 256 * 1024) == 33_792 * 1024
    assert memories.all_units_bytes(108, 256 * 1024) == 27_648 * 1024


@pytest.mark.parametrize("units, clock, printed", [(84, 1.53e9, 16_451e9), (128, 1.41e9, 23_101e9), (144, 1.755e9, 32_348e9)])
def test_shared_memory_of_full_chips(units, clock, printed):
    """V100, A100 and H100 with all units: doi 10.1016/j.ultsonch.2023.106546, table 3."""
    assert memories.all_units_bandwidth(units, clock, 128) == pytest.approx(printed, rel=1e-4)


def test_a_model_passes_once():
    """Kipply, Transformer inference arithmetic: 52 billion parameters on four A100 of 40 GB in about 17 ms."""
    assert memories.level_read_seconds(16e9, 3.2e12) == 0.005
    assert memories.level_read_seconds(2 * 52e9 / 4, 1.555e12) == pytest.approx(0.017, rel=0.02)


def test_levels_get_larger_and_slower_outward():
    found = page.levels()
    assert list(found["level"]) == ["registers", "L1", "L2", "device", "peers", "host", "disk", "network"]
    assert found["level_bandwidth"].is_monotonic_decreasing
    assert found["level_bytes"].dropna().is_monotonic_increasing
    assert found["latency"].is_monotonic_increasing


def test_levels_take_from_the_card_what_its_row_has():
    found = page.levels().set_index("level")
    assert found.loc["device", "level_bytes"] == H100.memory_bytes and found.loc["device", "level_bandwidth"] == H100.bandwidth
    assert found.loc["peers", "level_bytes"] == 7 * H100.memory_bytes and found.loc["peers", "level_bandwidth"] == H100.link_bandwidth
    assert found.loc["host", "level_bandwidth"] == H100.host_bandwidth
    assert found.loc["L2", "level_bytes"] == H100.l2_bytes
    assert found.loc["network", "level_bandwidth"] == catalogue.link("InfiniBand NDR").link_bandwidth
    assert found.loc["L1", "level_bandwidth"] == memories.all_units_bandwidth(H100.units, H100.clock, 128)


def test_registers_read_three_operands_of_each_multiply_add():
    rate = catalogue.generations().loc["Hopper", "unit_fp32"] / 2 * 3 * 4
    assert catalogue.memories().loc["registers", "unit_clock_bytes"] == rate


@pytest.mark.parametrize("weight_format", ["BF16", "FP8", "Q4_K_M"])
def test_passes_are_the_formula(weight_format):
    case = Case(model="Llama-3-70B", weight_format=weight_format)
    for row in page.passes("Llama-3-70B", weight_format=weight_format).itertuples():
        assert row.level_read_seconds == case(quantization.quantized_weight_bytes) / row.level_bandwidth
        assert row.per_second == pytest.approx(1 / row.level_read_seconds)
    if weight_format == "BF16":
        assert case(quantization.quantized_weight_bytes) == pytest.approx(Case(model="Llama-3-70B")(kv_cache.weight_bytes))


@pytest.mark.parametrize("seconds, said", [(0.57e-9, "0.57 ns"), (16.5e-9, "16.5 ns"), (2e-6, "2 µs"), (1e-3, "1 ms")])
def test_latencies_below_a_microsecond_have_a_unit(seconds, said):
    assert page.short(seconds) == said


def test_the_tables_have_their_rows():
    assert page.kind_table().source.count("<tr>") == len(catalogue.memory_kinds()) + 1
    assert page.level_table("Llama-3-8B", H100.name, "BF16").source.count("<tr>") == 9
    shown = page.unit_table().source
    assert "33 MiB" in shown and "256 MiB" in shown


def test_bars_are_on_a_log_scale():
    values = page.levels()["level_bandwidth"]
    ends = page._log(values.min(), values), page._log(values.max(), values)
    assert ends == pytest.approx((0.1 * page._WIDE, page._WIDE))
    assert page._log(math.sqrt(values.min() * values.max()), values) == pytest.approx(0.55 * page._WIDE)


def test_areas_are_to_scale():
    source = page.area_picture().source
    edges = [float(wide) for wide in re.findall(r'<rect [^>]*? width="([\d.]+)"', source)]
    sizes = page.levels().set_index("level")["level_bytes"]
    for edge, level in zip(edges, ("device", "L2", "L1", "registers"), strict=True):
        assert edge**2 / edges[0]**2 == pytest.approx(sizes[level] / sizes["device"], rel=0.01)


def test_the_ladder_says_each_level():
    source = page.ladder_picture("Llama-3-8B", H100.name, "BF16").source
    assert all(name in source for name in catalogue.memories().index) and "log scale" in source
