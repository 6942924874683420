"""The account of a pass: its sums against the formulas of a whole pass, its times and turning points against hand calculations."""
import math

import pytest

from gpucalc import Case, arithmetic_intensity as ai
from gpucalc.page.roofline import operator_roofline, operator_table, roofline
from gpucalc.plan.operators import decode_operators, prefill_operators
from gpucalc.plan.passes import limited_by, timed, turning_points
from gpucalc.rows import catalogue

CASE = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", efficiency="achieved", batch=16, context=4096, prompt=2048, causal=1,
            weight_element_bytes=2, cache_element_bytes=2, activation_element_bytes=2)
H100, ACHIEVED = CASE.rows["gpu"], CASE.rows["efficiency"]
NAMED = ["Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3", "Gemma-2-9B", "Falcon-7B"]


def close(value):
    return pytest.approx(value, rel=1e-12)


def of(frame, operator):
    return frame.set_index("operator").loc[operator]


def test_what_limits_is_the_longer_clock_at_the_shares_that_are_reached():
    # 989e12 * 0.78 / (3.35e12 * 0.92) = 250.3 FLOP/B, where the peaks meet at 295.2.
    assert limited_by(260, 1, H100, ACHIEVED) == "compute"
    assert limited_by(240, 1, H100, ACHIEVED) == "memory"
    assert limited_by(260, 1, H100, catalogue.efficiency("bound")) == "memory"


@pytest.mark.parametrize("name", NAMED)
def test_operators_sum_to_the_formulas(name):
    case = CASE.but(model=name)
    steps, prefill = timed(decode_operators(case), case), timed(prefill_operators(case.but(batch=1)), case)
    assert steps["operator_flops"].sum() == close(case(ai.decode_flops))
    assert (steps["operator_bytes"] - steps["activation_bytes"]).sum() == close(case(ai.decode_bytes))
    assert prefill["operator_flops"].sum() == close(case.but(batch=1)(ai.prefill_flops))


def test_each_operator_takes_its_longest_part():
    # The MLP: 16 tokens through 32 * 3 * 4096 * 14336 parameters of 2 B, and 32 * (2 * 4096 + 6 * 14336) values of 2 B for each.
    steps = timed(decode_operators(CASE), CASE)
    mlp = 2 * 32 * 3 * 4096 * 14_336 + 16 * 2 * 32 * (2 * 4096 + 6 * 14_336)
    assert of(steps, "MLP").bound == close(mlp / 3.35e12)
    assert of(steps, "MLP").reached == close(mlp / (0.92 * 3.35e12))
    # Norms: 32 * (2 + 2) kernels of 2 us are longer than their traffic.
    assert of(steps, "norms and residual sums").reached == close(128 * 2e-6)
    assert steps.set_index("operator").limit[["MLP", "norms and residual sums"]].tolist() == ["memory", "kernels"]
    assert of(timed(prefill_operators(CASE.but(batch=1)), CASE), "MLP").limit == "compute"


def test_at_the_peaks_no_kernel_limits():
    bound = CASE.but(efficiency="bound")
    frame = timed(decode_operators(bound), bound)
    assert set(frame["limit"]) <= {"memory", "compute"}
    assert (frame["bound"] == frame["reached"]).all()


def test_turning_points_by_hand():
    found = turning_points(CASE, catalogue.gpus()[["peak_flops", "bandwidth"]]).loc["H100 SXM 80GB"]
    params, values = 32 * 3 * 4096 * 14_336, 32 * (2 * 4096 + 6 * 14_336)
    assert found["MLP"] == close(params * 2 * 989e12 / (2 * params * 3.35e12 - values * 2 * 989e12))
    # Grouped heads: 32 * 4 * 32 * 128 FLOP for 131,072 B are 4 FLOP a byte.
    assert found["attention"] == "memory"
    assert found["critical_prompt"] == close(989 / 3.35 * (131_072 + 2 * 32 * 128 * 144) / (32 * 8192))


def test_experts_turn_last_and_latent_attention_is_compute():
    found = turning_points(CASE.but(model="DeepSeek-V3"), catalogue.gpus()[["peak_flops", "bandwidth"]]).loc["L4 24GB"]
    assert found["routed experts"] > 8 * found["shared experts"]
    # 2 * 128 * (512 + 64 + 512) FLOP for 2 * 576 B: 242 FLOP a byte, above an A100's ridge point and below an L4's.
    every = turning_points(CASE.but(model="DeepSeek-V3"), catalogue.gpus()[["peak_flops", "bandwidth"]]).attention
    assert every["A100 SXM 80GB"] == "compute" and every["L4 24GB"] == "memory"


# How a page shows them

def test_the_table_ends_with_the_sum():
    source = operator_table(timed(decode_operators(CASE), CASE), "A step").source
    assert source.count("<tr>") == 1 + 8 + 1
    assert "sum</td>" in source and "275 GFLOP" in source.rpartition("sum</td>")[2]


def test_the_charts_draw_what_is_computed():
    import pandas
    work = pandas.DataFrame(dict(label=[1], intensity=[10.0], attainable_flops=[33.5e12]))
    drawn = roofline(["H100 SXM 80GB", "L4 24GB"], work, "H100 SXM 80GB", "what it shows").to_dict()
    assert drawn["usermeta"]["alt"] == "what it shows"
    roofs = next(rows for rows in drawn["datasets"].values() if "gpu" in rows[0])
    assert {(row["gpu"], row["attainable_flops"]) for row in roofs} >= {("H100 SXM 80GB", 989e12), ("H100 SXM 80GB", 0.5 * 3.35e12)}
    moving = operator_roofline(CASE, "what it shows").to_dict()
    assert [each["name"] for each in moving["params"]] == ["card", "batch", "context", "prompt"]
    assert len(moving["layer"]) == 1 + 2 * 6


def test_a_slider_reaches_the_load_of_the_case():
    far = operator_roofline(CASE.but(batch=4096, context=64), "").to_dict()["params"]
    assert far[1]["bind"]["max"] == far[1]["value"] == 4096 and far[2]["bind"]["min"] == far[2]["value"] == 64
    assert math.isfinite(far[3]["bind"]["max"])
