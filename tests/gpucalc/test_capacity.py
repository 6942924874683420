"""Plans of one card by hand, and of a chat on three cards."""
import math

import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from gpucalc import Case
from gpucalc.decisions import capacity
from gpucalc.rows import catalogue
from gpucalc.rows.bands import Band

# One card in pairs: four sequences at once take 10 s, one alone 6 s, and eight, for which there is no memory, 1 s. Times may be
# half and twice as long; the plan is a quarter more. With late_share 1 nobody counts as
# late, nothing is to spare and places may be full, so replicas are the load's alone.
POINTS = pd.DataFrame(dict(gpu="A", tensor_parallel=2, batch=[1, 4, 8], places=4.0, low=0.5, plan=1.25, high=2.0,
                           prompt_low=0.5, prompt_plan=1.25, prompt_high=2.0)).assign(
    **dict.fromkeys(capacity.TIMES[:-2], 1.0) | {"prompt_turn_seconds": 1e-9, "prompt_host_seconds": 0.0} | {
        name: [5.0, 9.0, 1e-9] for name in ("time_per_output_token", "speculative_seconds")}, fixed_share=1.0, growing_share=0.0,
    lone_share=1.0, prompt=1, output=1, prompt_p95=0, output_p95=0, cached_share=0, prompt_chunk=0, prompts_apart=0, request_seconds=[6.0, 10.0, 1.0],
    output_tokens_per_second=[1.0, 2.0, 3.0])
FREE = dict(late_share=1, most_load=1, spare_replicas=0)
ENDS = ["formula_gpus", "low_gpus", "gpus", "high_gpus"]


def plan(answer_limit, rate=1, points=POINTS, **limits):
    [row] = capacity.plans(points, rate, answer_limit, **FREE | limits).to_dict("records")
    return row


def test_counts_at_the_ends_of_a_band():
    # 10 / 4, 5 / 4, 12.5 / 4 and 20 / 4 batches a second, one more than fit: 3, 2, 4 and 6 pairs.
    found = plan(answer_limit=100)
    assert [found[end] for end in ENDS] == [6, 4, 8, 12]
    assert (found["replicas"], found["batch"], found["request_seconds"], found["limit"]) == (4, 4, 12.5, "")
    assert (found["output_tokens_per_second"], found["replica_pass_seconds"]) == (1.6, 1.25)
    assert (found["low"], found["plan"], found["high"]) == (0.4, 1, 1.6)


def test_an_answer_limit_between_the_ends():
    # At 13 s four at once are too slow at the high end, and one alone takes 12 s: 13 pairs.
    assert [plan(13)[end] for end in ENDS] == [6, 4, 8, 26]
    # Just below 12 s the plan is 7.5 s alone: 8 pairs; and twice 6 s is too long. A limit is kept at its own value.
    assert [plan(11.99)[end] for end in ENDS] == [6, 4, 16, math.inf] and plan(12)["high_gpus"] == 26
    # At 7 s nothing is fast enough but the formula's 6 s, 7 pairs, and the low ends.
    found = plan(7)
    assert [found[end] for end in ENDS] == [14, 4, math.inf, math.inf] and found["limit"] == "the whole answer"
    assert plan(7, points=POINTS.assign(places=0.0))["limit"] == "memory"


def test_a_plan_as_a_band():
    time = Band(5.0, 12.5, 20.0, 10.0, 4.0, 60, 9, "serving", "second")
    assert capacity.banded(plan(100), "gpus", time) == (4, 8, 12, 6, None, 60, 9, "serving", "")
    blank = plan(100) | dict(gpus=math.nan)
    assert capacity.banded(blank, "gpus", time)[:4] == (4, math.inf, 12, 6)


def test_times_at_an_end_move_together():
    fast = capacity.paced(POINTS, "low")
    assert fast["request_seconds"].tolist() == [3, 5, 0.5] and fast["output_tokens_per_second"].tolist() == [2, 4, 6]
    assert fast[["low", "plan", "high"]].values.tolist() == [[1, 2.5, 4]] * 3
    slow = capacity.paced(POINTS.assign(prompt_high=3.0), "high")
    assert slow["prompt_seconds"].tolist() == [3.0] * 3 and slow["request_seconds"].tolist() == [12, 20, 2]
    assert slow[["prompt_low", "prompt_high"]].values.tolist() == [[0.5 / 3, 1]] * 3


# Limits

def test_spares_and_a_cap_on_the_load_by_hand():
    # 12.5 s in batches of 4 at one a second fill 3.125 replicas: 4. One to spare makes 5; full to 0.6 at most takes 5.2, so 6.
    assert plan(100, spare_replicas=1)["replicas"] == 5
    assert plan(100, most_load=0.6)["replicas"] == 6
    assert plan(100, most_load=0.6, spare_replicas=1)["replicas"] == 6
    assert plan(100, most_load=0.6, spare_replicas=3)["replicas"] == 7


def test_limits_on_the_first_token_and_on_each_token():
    # A prompt takes 1.25 s, and so does a pass, of which half is left: 1.875 s. Of all but one in twenty (a gamma distribution of
    # a variance of 1.25^2 / 12) 2.505 s, of half 1.852.
    for late, least in ((0.05, 2.505), (0.5, 1.852)):
        assert plan(100, first_token_limit=least + 0.01, late_share=late)["limit"] == ""
        assert plan(100, first_token_limit=least - 0.01, late_share=late)["limit"] == "the first token"
    # Nine tokens of 1.25 s after it, however many run together.
    steady = POINTS.assign(output=9, request_seconds=10.0, time_per_output_token=1.0, speculative_seconds=1.0)
    assert plan(100, points=steady, token_limit=1.26)["limit"] == ""
    assert plan(100, points=steady, token_limit=1.24)["limit"] == "the time per token"
    assert plan(100, points=steady, token_limit=1.24)["gpus"] == math.inf


def test_without_limits_only_memory_and_the_load_count():
    [row] = capacity.plans(POINTS, 1, **FREE).to_dict("records")
    assert row["gpus"] == 8 == plan(1e9)["gpus"]


def test_the_limit_that_binds_is_the_one_that_costs_most():
    def binds(points=POINTS, **limits):
        limits = FREE | limits
        return capacity.binding(capacity.plans(points, 1, **limits), points, 1, **limits).tolist()
    # Without the limit of memory eight at once would take 1.25 s, one pair.
    assert binds(answer_limit=100) == ["memory"]
    small = POINTS[POINTS["batch"] <= 4]
    assert binds(small, answer_limit=100) == ["load"] and binds(small, answer_limit=12) == ["the whole answer"]
    slow = small.assign(output=1000, prompt_seconds=0.1, speculative_seconds=[0.005, 0.009],
                        time_per_output_token=[0.0059, 0.0099])
    assert binds(slow, token_limit=0.009) == ["the time per token"] and binds(small, answer_limit=7) == [""]


@pytest.mark.long
@settings(max_examples=40)
@given(st.floats(0.1, 50), st.floats(1.1, 10), st.sampled_from(["answer_limit", "first_token_limit", "token_limit", "most_load",
                                                               "late_share", "spare_replicas"]))
def test_a_tighter_limit_never_takes_fewer_gpus(rate, factor, name):
    base = dict(answer_limit=20, first_token_limit=2, token_limit=0.05, most_load=0.8, late_share=0.05, spare_replicas=1)
    tight = base | {name: base[name] + 1 if name == "spare_replicas" else base[name] / factor}
    loose, found = (capacity.plans(SEARCHED, rate, **limits) for limits in (base, tight))
    for side in ENDS:
        assert (found[side].to_numpy() >= loose[side].to_numpy()).all()


@settings(max_examples=20)
@given(st.permutations(range(6)))
def test_the_order_of_cards_and_degrees_changes_no_plan(order):
    rows = SEARCHED.groupby(["gpu", "tensor_parallel"], sort=False)
    parts = [part for _, part in rows][:6]
    shuffled = pd.concat([parts[place] for place in order], ignore_index=True)
    key, base = ["gpu", "tensor_parallel"], capacity.plans(pd.concat(parts, ignore_index=True), 10, 20)
    pd.testing.assert_frame_equal(capacity.plans(shuffled, 10, 20).sort_values(key, ignore_index=True),
                                  base.sort_values(key, ignore_index=True))


# A chat of a 70B model: 10 requests a second of 1,000 tokens in and 300 out, the first token within a second

CHAT = Case(model="Llama-3-70B", efficiency="achieved", weight_format="FP8", cache_element_bytes=1, prompt=1000, output=300,
            prompt_chunk=0, **capacity.ENGINE)
KINDS = ["H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB"]
SEARCHED = capacity.search(CHAT, capacity.linked_gpus(KINDS[0], "FP8", 1).loc[KINDS], [1, 2, 4])


def test_a_chat_has_something_to_spare():
    """Not one B200 that is nine tenths full: two or more of any replica, and the rest still in time when one fails."""
    edge = capacity.plans(SEARCHED, 10, 20, spare_replicas=0, most_load=1)
    found = capacity.plans(SEARCHED, 10, 20, first_token_limit=1)
    assert (edge["replicas"] == 1).any() and (found["replicas"] >= 2).all()
    load = 10 * found["request_seconds"] / (found["replicas"] * found["batch"])
    assert (load <= 0.8).all() and (found["gpus"].to_numpy() >= edge["gpus"].to_numpy()).all()
    fewest = found.groupby("gpu")["gpus"].min()
    assert fewest.to_dict() == {"B200 SXM 180GB": 3, "H200 SXM 141GB": 4, "H100 SXM 80GB": 6}


# Formats and cards

def test_a_format_needs_a_card_that_serves_it():
    able = set(capacity.linked_gpus("H100 SXM 80GB", "FP8").index)
    assert {"A100 SXM 80GB", "L4 24GB", "MI300X 192GB", "T4 16GB"} <= able
    assert not able & {"V100 SXM 16GB", "V100 SXM 32GB", "V100 PCIe 16GB", "P100 SXM 16GB", "P100 PCIe 16GB", "GTX 1080 8GB",
                       "MI250X 128GB"}
    assert able == set(capacity.linked_gpus("H100 SXM 80GB", "FP16", 1).index)
    wide = set(capacity.linked_gpus("H100 SXM 80GB", "BF16").index)
    assert "MI250X 128GB" in wide and not wide & {"V100 SXM 16GB", "T4 16GB", "P100 SXM 16GB"}
    assert "V100 SXM 16GB" in capacity.linked_gpus("H100 SXM 80GB", "FP16").index
    with pytest.raises(ValueError, match="^gpu 'V100 SXM 16GB': no FP8 path: needs compute capability 7.5, .* has 7; allowed: .*H100"):
        capacity.linked_gpus("V100 SXM 16GB", "FP8")


def test_every_card_that_is_left_out_has_a_reason():
    cards = catalogue.gpus().join(catalogue.links()[capacity.LINK], on="link")
    reasons = capacity.left_out(cards, "FP8")
    assert {reason.split(":")[0] for reason in reasons} == {"", "no FP8 path", "the latency of its link is not known"}
    assert set(reasons.index[reasons == ""]) == set(capacity.linked_gpus("H100 SXM 80GB", "FP8").index)
