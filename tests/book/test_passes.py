"""The account of a pass: its sums against the formulas of a whole pass, its times and turning points against hand calculations."""
import math
import re

import pytest

from book.pages.arithmetic_intensity import (decode_operators, limited_by, operator_roofline, operator_table, prefill_operators,
                                             roofline, timed, turning_points)
from gpucalc import Case, arithmetic_intensity as ai
from gpucalc.rows import catalogue
from tests.close import close

CASE = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", efficiency="achieved", batch=16, context=4096, prompt=2048, causal=1,
            weight_element_bytes=2, cache_element_bytes=2, activation_element_bytes=2)
H100 = CASE.rows["gpu"]
NAMED = ["Llama-3-8B", "Mixtral-8x7B", "DeepSeek-V3", "Gemma-2-9B", "Falcon-7B"]


def of(frame, operator):
    return frame.set_index("operator").loc[operator]


def test_what_limits_is_the_longer_clock_at_the_shares_that_are_reached():
    # 989e12 * 0.78 / (3.35e12 * 0.92) = 250.3 FLOP/B, where the peaks meet at 295.2.
    assert limited_by(260, 1, 0.78 * 989e12, 0.92 * 3.35e12) == "compute"
    assert limited_by(240, 1, 0.78 * 989e12, 0.92 * 3.35e12) == "memory"
    assert limited_by(260, 1, 989e12, 3.35e12) == "memory"


@pytest.mark.parametrize("name", NAMED)
def test_operators_sum_to_the_formulas(name):
    case = CASE.but(model=name)
    steps, prefill = timed(decode_operators(case), case), timed(prefill_operators(case.but(batch=1)), case)
    assert steps["operator_flops"].sum() == close(case(ai.decode_flops))
    assert (steps["operator_bytes"] - steps["activation_bytes"]).sum() == close(case(ai.decode_bytes))
    assert prefill["operator_flops"].sum() == close(case.but(batch=1)(ai.prefill_flops))


def test_each_operator_takes_its_longest_part():
    # The MLP: 16 tokens through 32 * 3 * 4096 * 14336 parameters of 2 B, and 32 * (2 * 4096 + 3 * 14336) values of 2 B for each.
    steps = timed(decode_operators(CASE), CASE)
    mlp = 2 * 32 * 3 * 4096 * 14_336 + 16 * 2 * 32 * (2 * 4096 + 3 * 14_336)
    assert of(steps, "MLP").bound == close(mlp / 3.35e12)
    assert of(steps, "MLP").reached == close(mlp / (0.92 * 3.35e12) + 64 * 2e-6)
    # Norms: 32 * (2 + 2) kernels of 2 us take longer than their traffic, 16 * 32 * 10 * 4096 values and two vectors a layer.
    moved = 2 * (16 * 32 * 10 * 4096 + 32 * 2 * 4096)
    assert of(steps, "norms and residual sums").reached == close(moved / (0.92 * 3.35e12) + 128 * 2e-6)
    assert steps.set_index("operator").limit[["MLP", "norms and residual sums"]].tolist() == ["memory", "kernels"]
    assert of(timed(prefill_operators(CASE.but(batch=1)), CASE), "MLP").limit == "compute"


def test_at_the_peaks_no_kernel_limits():
    bound = CASE.but(efficiency="bound")
    frame = timed(decode_operators(bound), bound)
    assert set(frame["limit"]) <= {"memory", "compute"}
    assert (frame["bound"] == frame["reached"]).all()


def test_turning_points_by_hand():
    found = turning_points(CASE, catalogue.gpus()[["peak_flops", "bandwidth"]]).loc["H100 SXM 80GB"]
    params, values = 32 * 3 * 4096 * 14_336, 32 * (2 * 4096 + 3 * 14_336)
    assert found["MLP"] == close(params * 2 * 989e12 / (2 * params * 3.35e12 - values * 2 * 989e12))
    # Grouped heads: 32 * 4 * 32 * 128 FLOP for 131,072 B are 4 FLOP a byte.
    assert found["attention"] == "memory"
    assert found["critical_prompt"] == close(989 / 3.35 * (131_072 + 2 * 32 * 128 * 64) / (32 * 8192))


def test_experts_turn_last_and_latent_attention_is_compute():
    found = turning_points(CASE.but(model="DeepSeek-V3"), catalogue.gpus()[["peak_flops", "bandwidth"]]).loc["L4 24GB"]
    assert found["routed experts"] > 8 * found["shared experts"]
    # 2 * 128 * (512 + 64 + 512) FLOP for 2 * 576 B: 242 FLOP a byte, above an A100's ridge point and below an L4's.
    every = turning_points(CASE.but(model="DeepSeek-V3"), catalogue.gpus()[["peak_flops", "bandwidth"]]).attention
    assert every["A100 SXM 80GB"] == "compute" and every["L4 24GB"] == "memory"


# How a page shows them


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
    card = moving["params"][0]
    assert card["value"] == "H100 SXM 80GB" and card["bind"] == {
        "input": "select", "name": "GPU ", "options": list(catalogue.gpus().index)}
    assert [(each["bind"]["min"], each["bind"]["max"]) for each in moving["params"][1:]] == [(1, 512), (128, 32768), (1, 8192)]
    assert [each["bind"]["step"] for each in moving["params"][1:]] == [1, 128, 1]
    for layer in moving["layer"]:
        assert [layer["encoding"][name]["scale"]["domain"] for name in "xy"] == [[0.05, 10_000], [1e10, 1e16]]


def test_the_last_row_of_the_operators_is_their_sum():
    operators = timed(decode_operators(CASE), CASE)
    shown = operator_table(operators, "Operators").source
    last = re.findall(r'data-value="([^"]*)"', shown.split("<tr>")[-1])
    flops, moved = operators["operator_flops"].sum(), operators["operator_bytes"].sum()
    assert ">sum<" in shown.split("<tr>")[-1]
    assert list(map(float, last)) == pytest.approx([flops, moved, flops / moved, operators["bound"].sum(),
                                                    operators["reached"].sum()])


def test_a_slider_reaches_the_load_of_the_case():
    far = operator_roofline(CASE.but(batch=4096, context=64), "").to_dict()["params"]
    assert far[1]["bind"]["max"] == far[1]["value"] == 4096 and far[2]["bind"]["min"] == far[2]["value"] == 64
    assert math.isfinite(far[3]["bind"]["max"])


def test_what_latent_attention_moves_by_hand():
    # DeepSeek-V3, 61 layers of 128 heads: queries of 128 + 64, latents of 512 for scores and for outputs (2 * 128 * 512), outputs
    # of 128. Beside them 129 parts of 64 are turned, read and written.
    case = CASE.but(model="DeepSeek-V3")
    moved = {row["operator"]: row["moved_values"] for row in decode_operators(case)}
    turned, queries, expanded, outputs = 129 * 64, 128 * 192, 2 * 128 * 512, 128 * 128
    assert moved["scores and values"] == 61 * (queries + expanded + outputs)
    assert moved["rotary positions, cache write"] == 61 * 2 * turned
    # Around its four products: hidden, queries, 576 of the latents, 1,536 of the queries' latent twice, 512, what is expanded.
    assert moved["queries, keys, values"] == 61 * (7168 + queries + 576 + 2 * 1536 + 512 + expanded)
    # A prefill expands keys and values of 128 each for every head instead.
    prefill = {row["operator"]: row["moved_values"] for row in prefill_operators(case)}
    assert prefill["scores and values"] == 61 * (queries + 128 * 256 + outputs)


def test_what_grouped_attention_moves_by_hand():
    # Llama-3-8B, 32 layers: 4,096 values of queries, 1,024 of keys and 1,024 of values; queries and keys are turned.
    moved = {row["operator"]: row["moved_values"] for row in decode_operators(CASE)}
    assert moved["scores and values"] == 32 * (4096 + 4096)
    assert moved["rotary positions, cache write"] == 32 * 2 * (4096 + 1024)
    assert moved["queries, keys, values"] == 32 * (4096 + 4096 + 2048)
    assert moved["norms and residual sums"] == 32 * (2 * 2 + 6) * 4096
    # In and out: a row of the embedding, and the final norm; the head reads 4,096 values and writes 128,256.
    assert (moved["embedding"], moved["final norm"], moved["output head"]) == (2 * 4096, 2 * 4096, 4096 + 128_256)


def test_kernels_by_hand():
    kernels = {row["operator"]: row["kernels"] for row in decode_operators(CASE.but(model="DeepSeek-V3"))}
    # 61 layers, 58 of them with experts; the queries and the keys of latent attention take two products each. A router chooses
    # in a second kernel, and what shared experts give is added in a third.
    assert kernels == {"embedding": 1, "norms and residual sums": 61 * 4, "queries, keys, values": 61 * 4,
                       "rotary positions, cache write": 61 * 2, "scores and values": 61, "output projection": 61, "MLP": 3 * 2,
                       "router": 58 * 2, "to experts and back": 58 * 2, "shared experts": 58 * 3, "routed experts": 58 * 2,
                       "activation functions": 61 + 58, "final norm": 1, "output head": 1}


def test_what_mlps_and_experts_move_by_hand():
    """The products of width f without a gate read and write 2 h + 2 f values of a token, with a gate 2 h + 3 f; between them an
    activation moves 2 f and 3 f."""
    def moved(model, operators=decode_operators):
        return {row["operator"]: row["moved_values"] for row in operators(CASE.but(model=model))}
    assert moved("Falcon-7B")["MLP"] == 32 * (2 * 4544 + 2 * 18_176)
    assert moved("Falcon-7B")["activation functions"] == 32 * 2 * 18_176
    for operators in (decode_operators, prefill_operators):
        # Mixtral-8x7B: two experts of 14,336 a token in 32 layers of 4,096, and a router for eight.
        found = moved("Mixtral-8x7B", operators)
        assert found["routed experts"] == 32 * 2 * (2 * 4096 + 3 * 14_336) and found["router"] == 32 * (4096 + 8)
        assert "MLP" not in found and "shared experts" not in found
        # DeepSeek-V3: 3 dense layers of 18,432, then 58 with 8 of 256 experts of 2,048 and a shared one.
        found = moved("DeepSeek-V3", operators)
        assert found["MLP"] == 3 * (2 * 7168 + 3 * 18_432) and found["router"] == 58 * (7168 + 256)
        assert found["routed experts"] == 8 * found["shared experts"] == 58 * 8 * (2 * 7168 + 3 * 2048)


def test_what_experts_compute_and_read_by_hand():
    """DeepSeek-V3: an expert has 3 * 7168 * 2048 parameters; 16 tokens use 8 of 256 each, and read what any of them uses."""
    expert = 3 * 7168 * 2048
    rows = {row["operator"]: row for row in decode_operators(CASE.but(model="DeepSeek-V3"))}
    assert rows["routed experts"]["used_params"] == 58 * 8 * expert and rows["shared experts"]["used_params"] == 58 * expert
    assert rows["routed experts"]["operator_flops"] == 2 * 16 * 58 * 8 * expert
    assert rows["routed experts"]["touched_params"] == close(58 * 256 * expert * (1 - (1 - 8 / 256) ** 16))
    assert rows["router"]["used_params"] == 58 * 256 * (7168 + 1)
    assert rows["shared experts"]["touched_params"] == 58 * expert and rows["MLP"]["used_params"] == 3 * 3 * 7168 * 18_432
