"""Accelerators other than NVIDIA's: their comparison is the formulas', and what is measured is counted."""
import json

import pytest

from book.pages import accelerators as page
from gpucalc import Case, arithmetic_intensity, quantization, worth
from gpucalc.rows import catalogue

CARDS = catalogue.gpus()


def test_every_accelerator_that_is_not_of_nvidia_is_there():
    found = set(page.compared()["gpu"])
    assert set(CARDS[CARDS["vendor"] != "NVIDIA"].index) <= found and set(page.BESIDE) <= found
    assert {"AMD", "Google", "AWS", "Intel"} <= set(page.compared()["vendor"])


def test_derived_columns_are_the_formulas():
    base = CARDS.loc[page.BASE]
    for row in page.compared().itertuples():
        case = Case(gpu=row.gpu)
        assert row.ridge == case(arithmetic_intensity.ridge_point)
        assert row.more_bandwidth == CARDS.loc[row.gpu, "bandwidth"] / base["bandwidth"]
        assert row.more_memory == CARDS.loc[row.gpu, "memory_bytes"] / base["memory_bytes"]
        if row.tdp_watts == row.tdp_watts:
            assert row.flops_per_watt == case(worth.flops_per_watt) and row.bandwidth_per_watt == case(worth.bandwidth_per_watt)
        else:
            assert row.flops_per_watt != row.flops_per_watt


def test_the_mi300x_beside_the_h100():
    """AMD's own claims at launch: 2.4 times the memory, 1.6 times the bandwidth, 1.3 times the FLOP/s."""
    row = page.compared().set_index("gpu").loc["MI300X 192GB"]
    assert (row["more_memory"], row["more_bandwidth"], row["more_flops"]) == pytest.approx((2.4, 1.6, 1.3), rel=0.02)


def test_what_is_reached_is_a_share_of_the_peak():
    for row in page.reached().itertuples():
        assert row.product_rate == row.peak_flops * row.wide_share and row.memory_rate == row.bandwidth * row.memory_share
        assert row.benchmark != "none"


def test_the_widget_has_every_column_and_can_compare():
    source = page.compare_table().source
    assert "data-compare" in source and 'data-filter="vendor"' in source
    assert source.count("<tr>") == len(page.compared()) + 1


def test_measurements_are_counted_by_vendor():
    counted, rows = page.measured(), catalogue.measurements()
    named = [json.loads(inputs).get("gpu") for inputs in rows["inputs"]]
    assert counted.to_numpy().sum() == sum(gpu in CARDS.index for gpu in named)
    amd = sum(gpu in CARDS.index and CARDS.loc[gpu, "vendor"] == "AMD" for gpu in named)
    assert counted["AMD"].sum() == amd > 0
    assert page.serving_rows(counted)["NVIDIA"] > page.serving_rows(counted)["AMD"]


def test_each_part_of_cuda_has_its_place_in_rocm():
    parts = catalogue.software()
    assert parts.loc["collectives", "rocm"] == "RCCL" and "MIOpen" in parts.loc["layers", "rocm"]
    assert {"rocBLAS", "hipBLASLt"} <= set(parts.loc["matrix products", "rocm"].replace(",", "").split())
    assert "HIP" in parts.loc["kernels", "rocm"]
    assert page.software_table().source.count("<tr>") == len(parts) + 1


def test_a_chip_too_small_has_no_speed():
    small = page.unified_table("Llama-3.1-405B", "BF16").source
    assert small.count("–</td>") >= len(CARDS[CARDS["kind"] == "unified"])
    size = Case(model="Llama-3-70B", weight_format="Q4_K_M")(quantization.quantized_weight_bytes)
    assert f'data-value="{CARDS.loc["DGX Spark 128GB", "bandwidth"] / size:.12g}"' in page.unified_table("Llama-3-70B", "Q4_K_M").source
