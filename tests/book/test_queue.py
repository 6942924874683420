"""What the page on serving says of fleets and their queue."""
import math

import pytest

from book.components.sentences import enough
from book.pages import serving as page
from book.pages.serving import fleet_table
from gpucalc import serving
from gpucalc.decisions import capacity
from tests.gpucalc.test_queue import CASE, FLEETS, of, POINTS


def test_a_plan_as_a_band():
    time = CASE.but(gpu="A100 SXM 80GB", link="NVLink 3", tensor_parallel=8, batch=24).band(serving.request_seconds)
    found = capacity.banded(of("A100 SXM 80GB", 8), "gpus", time)
    assert (found.low, found.plan, found.high, found.value) == (24, 40, 64, 32) and found.rows == time.rows
    assert enough(found, at_most=40) == "too close to call" and enough(found, at_most=64) == "yes"
    assert enough(capacity.banded(of("T4 16GB", 8), "gpus", time), at_most=1e9) == "no"


def test_at_the_peaks_prompts_ride_along():
    # In 200 passes each of 24 places takes in one prompt of 500 tokens: 60 of them in a pass.
    case = CASE.but(gpu="A100 SXM 80GB", link="NVLink 3", tensor_parallel=8, batch=24)
    assert page.peak_output(case) == pytest.approx(24 / case.but(efficiency="bound", kernel_start_seconds=0, chunk=60)(serving.replica_pass_seconds))
    assert page.peak_output(case) > case(serving.output_tokens_per_second)


def test_the_frontier():
    case = CASE.but(gpu="A100 SXM 80GB", link="NVLink 3")
    mine = POINTS[(POINTS.gpu == "A100 SXM 80GB") & POINTS.batch.isin([1, 8])]
    found = page.frontier(mine, case).set_index(["kind", "tensor_parallel", "batch"])
    assert list(found.index) == [(kind, degree, batch) for kind in ("achieved", "bound") for degree in (2, 8)
                                 for batch in (1, 8)]
    for degree in (2, 8):
        held = case.but(tensor_parallel=degree, batch=8)
        real, ideal = found.loc["achieved", degree, 8], found.loc["bound", degree, 8]
        assert real.output_tokens_per_second == pytest.approx(held(serving.output_tokens_per_second) / degree)
        assert real.time_per_output_token == pytest.approx(held(serving.time_per_output_token))
        assert ideal.output_tokens_per_second == pytest.approx(page.peak_output(held) / degree)
        assert ideal.time_per_output_token == pytest.approx(8 / page.peak_output(held))
        assert real.layout == f"{degree} GPUs"
    assert page.frontier(POINTS[POINTS.gpu == "T4 16GB"], CASE.but(gpu="T4 16GB", link="PCIe 3 x16")).empty


def test_erlang_c_and_how_far_the_closed_form_is_from_it():
    # Erlang's sums written out for 5 places that 3.7 requests a second of 1 s each fill.
    tail = 3.7**5 / math.factorial(5) / (1 - 3.7 / 5)
    busy = sum(3.7**k / math.factorial(k) for k in range(5))
    assert page.erlang_c(5, 0.74) == pytest.approx(tail / (busy + tail), rel=1e-12)
    assert page.erlang_c(1, 0.3) == pytest.approx(0.3)
    over, under = page.waiting_share_errors()
    assert over == pytest.approx(0.051, abs=1e-3) and under == pytest.approx(0.015, abs=1e-3)


def test_published_figures_have_their_bound():
    found = page.published()
    full = found.family == "saturated serving"
    assert full.sum() >= 27 and (found.bound[full] > found.predicted[full]).all()
    assert found.bound.notna().all()


def test_the_table_of_fleets():
    shown = fleet_table(FLEETS, ["gpu", "gpus", "high_gpus", "offered_load", "answer_seconds", "limit"], "Fleets", 0.05).source
    assert "95 % within" in shown and "63.5 %" in shown and "4.51 s" in shown and ">–</td>" in shown
    assert "slow end" in shown and ">64</td>" in shown and "inf" not in shown
    assert "nan" not in shown.lower() and "none" not in shown.lower()
