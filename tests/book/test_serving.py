"""What the page on serving shows, against published figures."""
import json
import math

import numpy as np
import pytest

from book.components.measured import compare
from book.pages.serving import erlang_c, published
from gpucalc import kv_cache as kv
from gpucalc.core.evaluate import Case
from gpucalc.decisions.capacity import ENGINE
from gpucalc.laws import queueing as qu
from gpucalc.rows import bands, catalogue


def test_one_place_waits_as_often_as_it_is_filled():
    assert qu.waiting_share(0.7, 1, 1, 0) == pytest.approx(0.7) == pytest.approx(erlang_c(1, 0.7))
    # M/M/1 at 0.7, 1 s each: ln(0.7/0.05) / 0.3 = 8.80 s; twice that where answers vary three times as much, no less where less.
    assert qu.waiting_seconds(0.7, 0.7, 1, 1, 1, 1) == pytest.approx(math.log(14) / 0.3)
    assert qu.waiting_seconds(0.7, 0.7, 1, 1, 1, 0) == qu.waiting_seconds(0.7, 0.7, 1, 1, 1, 1)
    assert qu.waiting_seconds(0.7, 0.7, 1, 1, 1, 3) == pytest.approx(math.log(14) / 0.15)


@pytest.mark.parametrize("places", [1, 2, 3, 5, 8, 16, 50, 128, 1024])
def test_sakasegawa_against_erlang(places):
    shares = np.array([step / 100 for step in range(1, 100)])
    over = np.array([qu.waiting_share(load, places, 1, 0) - erlang_c(places, load) for load in shares.tolist()])
    assert over.max() <= 0.052 and over.min() >= -0.015
    # What counts is the wait of 95 %: at most a quarter of a request too long, a hundredth too short.
    wait = [qu.waiting_seconds(share, load, 1, 1, places, 1) for load in shares.tolist()
            for share in (qu.waiting_share(load, places, 1, 0), erlang_c(places, load))]
    error = np.array(wait[::2]) - np.array(wait[1::2])
    assert error.max() <= 0.26 and error.min() >= -0.01


def test_erlang_c_of_a_table():
    # 3.7 requests a second on 5 places of 1 s: C = 0.3886 by Erlang's sums written out.
    offered = 3.7
    tail = offered**5 / math.factorial(5) / (1 - offered / 5)
    assert erlang_c(5, 0.74) == pytest.approx(tail / (sum(offered**k / math.factorial(k) for k in range(5)) + tail), rel=1e-12)


def test_batches_of_saturated_rows_are_what_memory_holds():
    for name, row in published().to_dict("index").items():
        inputs = json.loads(row["inputs"])
        if name.startswith("sv-") and row["family"] == "saturated serving":
            card = catalogue.gpu(inputs["gpu"])
            assert inputs["narrow_products"] == 1 and card.fp8_flops > 0 and inputs["link"] == card.link
            full = Case(catalogue.model(inputs["model"]), card, tensor_parallel=inputs["tensor_parallel"],
                        context=inputs["prompt"] + inputs["output"], weight_element_bytes=1, cache_element_bytes=1,
                        **ENGINE)(kv.concurrency)
            assert inputs["batch"] == min(int(full), 2048), name


def test_no_measurement_is_above_the_bound():
    found = published()
    rates = found[found.law == "output_tokens_per_second"]
    assert len(rates) >= 27 and (rates.bound > rates.value).all()


PUBLISHED = {  # family: (rows, median, 90th percentile of the error without its sign)
    "saturated serving": (27, 0.046, 0.174),
    # NIM runs TensorRT-LLM, whose kernels begin as tables of kernels say: 0.1 to 1.0 ms of 19 to 60.
    "time per output token": (5, 0.020, 0.046),
    # TensorRT-LLM adds 80 x 0.38 ms, of NIM's 47.8 ms for a prompt of 500 tokens most.
    "time to first token": (2, 0.237, 0.412),
    "decode under tensor parallel": (18, 0.220, 0.422),
}


def test_errors_by_family():
    found = compare("serving")
    found = found[found.index.str.match("sv-")]
    sizes = found["error"].abs().groupby(found["family"])
    assert {family: (len(errors), pytest.approx(errors.median(), abs=2e-3), pytest.approx(errors.quantile(0.9), abs=2e-3))
            for family, errors in sizes} == PUBLISHED


@pytest.mark.parametrize("topic", ["serving", "arithmetic_intensity"])
def test_nothing_published_beats_the_peaks(topic):
    # Without latencies, starts of kernels and of experts, and time of the host, everything at the data sheet's speed.
    least = dict.fromkeys(["latency", "base_latency", "quick_latency", "quick_base_latency", "switch_latency"], 0) | dict.fromkeys(bands.ADDED, 0)
    for name, row in compare(topic, "measured").to_dict("index").items():
        inputs = json.loads(row["inputs"])
        full = {share: 1 for share in ("bandwidth_efficiency", "compute_efficiency") if share in inputs}
        most = Case.of(inputs | {"efficiency": "bound"}).but(**least | full)(row["law"])
        assert most <= row["value"] if row["unit"] == "second" else most >= row["value"], name
