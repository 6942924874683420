"""Fleets and their queue against hand calculations."""
import math

import pytest
from pandas import DataFrame

from gpucalc import Case, serving
from gpucalc.decisions import capacity
from gpucalc.decisions.jobs import PROMPTS
from gpucalc.laws import queueing as qu
from gpucalc.laws.shares import product_peak
from gpucalc.rows import bands, catalogue

CASE = Case(model="Llama-3-70B", efficiency="achieved", prompt=500, output=200, requests_per_second=1000 / 60, answer_limit=5,
            late_share=0.05, context=serving.mean_context)
CARDS = capacity.linked_gpus("A100 SXM 80GB").loc[["T4 16GB", "A100 SXM 80GB"]]
POINTS = capacity.search(CASE.but(**capacity.ENGINE), CARDS, [2, 8])
FLEETS = capacity.fleets(POINTS, CASE)


def of(gpu, degree, frame=FLEETS):
    return frame[(frame.gpu == gpu) & (frame.tensor_parallel == degree)].iloc[0]


def test_a_card_a_batch_and_a_degree_of_the_case_do_not_count():
    other = CASE.but(gpu="H100 SXM 80GB", link="NVLink 4", batch=3, tensor_parallel=4, **capacity.ENGINE)
    assert capacity.search(other, CARDS, [2, 8]).equals(POINTS)


def test_fp8_weights_compute_at_the_fp8_peak_where_there_is_one():
    plain, narrow = (capacity.linked_gpus("A100 SXM 80GB", kind) for kind in (None, "FP8"))
    assert not plain.narrow_products.any()
    assert (narrow.narrow_products["H100 SXM 80GB"], narrow.narrow_products["A100 SXM 80GB"]) == (1, 0)
    peaks = Case(gpu=narrow)(product_peak)
    assert (peaks["H100 SXM 80GB"], peaks["A100 SXM 80GB"]) == (1979e12, 312e12)
    wide = capacity.linked_gpus("A100 SXM 80GB", "BF16")
    assert not wide.narrow_products.any() and set(wide.index) < set(plain.index)


def test_a_fleet_has_the_figures_of_its_queue():
    # 16.7 requests a second of 4.7 s fill 78 of 120 places, and 78 of 96 when the spare is out; few wait for a place.
    row = of("A100 SXM 80GB", 8)
    filled = 1000 / 60 * row.request_seconds / 120
    assert (row.replicas, row.batch, row.gpus, row.binds) == (5, 24, 40, "the whole answer")
    assert (row.low_gpus, row.formula_gpus, row.high_gpus) == (24, 32, 64)
    # Of 4.7 s 1.34 are due to the prompts of 24, and 0.12 to the batch, a thirtieth of 200 passes of 17 ms.
    crowded = (200 * (row.time_per_output_token - row.replica_pass_seconds * row.fixed_share) + row.prompt_turn_seconds) / row.request_seconds
    assert row.crowding == pytest.approx(crowded) == pytest.approx(0.299, abs=1e-3)
    alone = math.sqrt(2 * 121) - 1
    assert row.waiting_share == pytest.approx(filled ** (120 * alone / math.sqrt((1 - crowded) * 120**2 + crowded * alone**2)))
    assert row.offered_load == pytest.approx(filled) and row.waiting_share < 0.05 and row.waiting_seconds == 0
    # 0.13 s to the first of 200 tokens of 19.9 ms, which one in twenty has 10.2 % slower or more, as exp(1.645 x 0.0601 - 0.0018):
    # 4.6 s, a little less than in a full batch.
    assert row.answer_seconds == pytest.approx(0.1324 + 200 * 0.019860 * 1.1019, rel=1e-3)
    assert row.answer_seconds < row.request_seconds < 5 and math.sqrt(row.token_spread) == pytest.approx(0.0601, abs=1e-4)
    # Prompts keep each of five replicas busy for a share of the time, with 500 of the 8,192 tokens that ride in a pass. Half a pass of
    # those that run is on the way, and then comes the one in which the prompt rides, no shorter than a pass of its own.
    loaded = row.request_seconds * (1 - crowded * 23 / 24) / (1 - crowded * filled)
    running = 1000 / 60 * loaded / 5
    step = row.replica_pass_seconds * (row.fixed_share + (1 - row.fixed_share) * running / 24)
    turn = row.prompt_turn_seconds + 500 / 8192 * step
    busy = 1000 / 60 * turn / 5
    wait = busy * turn / (2 * (1 - busy))
    before = 80 * 0.57e-3 * bands.errors("time to first token").median    # what vLLM adds, moved as prompts are
    own = max(row.prompt_seconds + step, row.replica_prefill_seconds)
    # Prompts of others take x of the time, and the half pass and the own one so much longer: 1.5 x / (1 - x).
    others = 1000 / 60 * row.prompt_turn_seconds / 5
    mean, variance = wait + before + step / 2 + own + 1.5 * step * others / (1 - others), wait**2 + busy * turn**2 / (3 * (1 - busy)) + step**2 / 12
    spread = variance / (mean - 1.5 * step * others / (1 - others))**2
    assert row.time_to_first_token == pytest.approx(mean * (1 - spread / 9 + 1.6449 * math.sqrt(spread) / 3)**3, rel=1e-3)
    assert row.limit != row.limit or row.limit is None


def factors(name):
    """What times of a request, or of its prompt, are multiplied by at each end."""
    law = serving.replica_prefill_seconds if name in PROMPTS else serving.request_seconds
    return dict(zip(("low", "plan", "high"), bands.factors(CASE, law)))


def test_one_factor_moves_all_times_of_a_request_and_one_those_of_its_prompt():
    """Those of their families, also where they are applied again; bounds are not moved."""
    for end in ("low", "plan", "high"):
        moved, factor = capacity.paced(POINTS, end), factors("request_seconds")[end]
        assert (factor < 1) == (end == "low") and factors("prompt_seconds")["plan"] < factors("request_seconds")["plan"]
        for name in capacity.TIMES[:-1]:
            assert moved[name].to_numpy() == pytest.approx((POINTS[name] * factors(name)[end]).to_numpy())
        assert moved.output_tokens_per_second.to_numpy() == pytest.approx((POINTS.output_tokens_per_second / factor).to_numpy())
        again = capacity.paced(moved, end)[list(capacity.TIMES)]
        assert again.to_numpy() == pytest.approx(moved[list(capacity.TIMES)].to_numpy())
    ideal = capacity.search(CASE.but(efficiency="bound", **capacity.ENGINE), CARDS, [8])
    assert (ideal[list(capacity.ENDS)] == 1).all(axis=None)


def test_the_ends_of_a_plan_are_those_of_slower_and_faster_requests():
    """The fewest at the slow end are the plan of a case whose requests take that much longer by the formula."""
    for side in ("low", "high", "formula"):
        moved = {name: POINTS[name] * factors(name).get(side, 1) / factors(name)["plan"] for name in capacity.TIMES[:-1]}
        slower = capacity.plans(POINTS.assign(**moved), 1000 / 60, 5)
        assert of("A100 SXM 80GB", 8, slower).gpus == of("A100 SXM 80GB", 8)[f"{side}_gpus"]
    assert (FLEETS.low_gpus <= FLEETS.formula_gpus).all() and (FLEETS.gpus.fillna(math.inf) <= FLEETS.high_gpus).all()


@pytest.mark.parametrize(("gpu", "degree", "limit"), [("T4 16GB", 8, "memory"), ("A100 SXM 80GB", 2, "the whole answer")])
def test_what_will_not_do_has_a_reason_and_no_figures(gpu, degree, limit):
    row = of(gpu, degree)
    assert row.limit == limit and row[[*capacity.FIGURES, "offered_load", "answer_seconds"]].isna().all()
    assert row.places >= 0 and row.replica_prefill_seconds > 0


def test_no_fleet_at_all():
    none = capacity.fleets(POINTS, CASE.but(answer_limit=0.1))
    assert none.gpus.isna().all() and none.answer_seconds.isna().all() and set(none.limit) == {"memory", "the whole answer"} and not any(none.binds)


def test_the_best_of_each_gpu():
    best = capacity.best_by_gpu(FLEETS)
    assert list(best.index) == ["T4 16GB", "A100 SXM 80GB"]
    assert best.gpus["A100 SXM 80GB"] == 40 and best.tensor_parallel["A100 SXM 80GB"] == 8
    # Where none will do it is the largest degree; where two take as many GPUs that with fewer at the slow end, then the smaller.
    assert best.tensor_parallel["T4 16GB"] == 8
    equal = DataFrame(dict(gpu=["a", "a", "b", "b", "c", "c"], tensor_parallel=[4, 2, 2, 4, 2, 4],
                           gpus=[8.0, 8.0, math.nan, 16.0, 8.0, 8.0], high_gpus=[12, 12, math.inf, 20, 80, 16]))
    assert capacity.best_by_gpu(equal).tensor_parallel.to_dict() == {"a": 2, "b": 4, "c": 4}


def test_an_engine_has_the_settings_that_the_pages_name():
    """8,192 tokens in a pass and 256 sequences at most, and 1 GB for the framework."""
    assert capacity.ENGINE == {"framework_bytes": 1e9, "batched_tokens": 8192, "max_sequences": 256}


def test_the_batches_that_a_search_tries():
    """Every size below 16, each fourth below 64, each sixteenth below 256, then each 128th up to 2,048."""
    sizes = capacity.BATCHES
    assert (sizes[0], sizes[-1], len(sizes)) == (1, 2048, 15 + 12 + 12 + 15)
    for low, high, step in ((1, 16, 1), (16, 64, 4), (64, 256, 16), (256, 2048, 128)):
        assert [size for size in sizes if low <= size <= high] == list(range(low, high + 1, step))


def test_degrees_that_divide_a_model():
    """Llama-3-8B has 32 heads and 8 for keys and values, an MLP of 14,336 and a vocabulary of 128,256."""
    assert capacity.allowed_degrees(catalogue.model("Llama-3-8B")) == [1, 2, 4, 8]
    assert capacity.allowed_degrees(catalogue.model("Llama-3-8B"), (3, 8, 2)) == [8, 2]
    assert capacity.allowed_degrees(catalogue.model("Falcon-7B")) == [1]


def test_a_card_whose_link_has_no_known_latency_is_named():
    unknown = next(name for name in catalogue.gpus().index if name not in capacity.linked_gpus("H100 SXM 80GB").index)
    with pytest.raises(ValueError, match=f"^gpu '{unknown}': the latency of its link is not known; allowed: .*H100 SXM 80GB"):
        capacity.linked_gpus(unknown)


def test_the_late_gap_by_hand():
    """Prompts of 0.1 s at 4 a second, passes of 25 ms. A pass meets 0.1 prompts, and each 0.4 more: of a mean of 0.1 / 0.6 = 0.167
    and of a variance of 0.1 / 0.6^3 = 0.463. exp(-0.1) = 0.905 of gaps have none; by Consul's chances 1 comes in 0.061, 2 in 0.018 and 3
    in 0.008: 0.992, so three, and the gap is 325 ms. In chunks of 512 of 1,000 tokens it is a pass with one chunk: 76.2 ms."""
    held = dict(requests_per_second=4, replicas=1, running_pass_seconds=0.025, replica_pass_seconds=0.025, prefilled_tokens=1000,
                prompt_turn_seconds=0.1, prompts_together=1, held_passes=1)
    own, chunked = Case(prompt_chunk=0, **held), Case(prompt_chunk=512, **held)
    assert own(qu.gap_prompts) == pytest.approx(0.1) and own(qu.gap_again) == pytest.approx(0.4)
    assert own(qu.late_gap_prompts) == 3 and own(qu.late_gap_seconds) == pytest.approx(0.325)
    assert chunked(qu.gap_prompts) == pytest.approx(0.1 * 1000 / 512)
    assert chunked(qu.late_gap_seconds) == pytest.approx(0.025 + 0.1 * 0.512)
    assert chunked.but(held_passes=5)(qu.gap_prompts) == pytest.approx(0.5 * 1000 / 512)
    assert own.but(prompts_apart=1)(qu.late_gap_seconds) == 0.025
    assert own.but(requests_per_second=0.3)(qu.late_gap_seconds) == 0.025    # 0.75 of 100 gaps have a prompt


def exact(first, again):
    """The quantile of a generalized Poisson distribution from its chances, n (n + k r)^(k - 1) exp(-n - k r) / k!."""
    below, count = 0.0, -1
    while below < 0.99:
        count += 1
        below += math.exp(math.log(first) + (count - 1) * math.log(first + count * again) - first - count * again - math.lgamma(count + 1))
    return count


@pytest.mark.parametrize("again", [0, 0.1, 0.344, 0.5, 0.65])
def test_the_prompts_of_a_late_gap_are_those_of_the_exact_distribution_or_one_more(again):
    for first in (0.005, 0.03, 0.1, 0.2, 0.3, 0.5, 0.8, 1, 2, 5):
        assert 0 <= qu.late_gap_prompts(first, again) - exact(first, again) <= 1 or again == 0.65 and first == 5, first
