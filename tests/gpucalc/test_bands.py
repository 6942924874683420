"""Bands: made by hand for a few figures, never from the source that is asked for, and holding what they promise."""
import math

import numpy
import pytest

from gpucalc import arithmetic_intensity as ai, Case, LAWS, QUANTITIES
from gpucalc.rows import bands, tables
from gpucalc.rows.bands import Band

FAMILIES = tables.rows("families")
CASE = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", batch=8, context=4096, efficiency="achieved")
STEP = Band(4.9, 5.6, 7.1, 4.8, 3.0, 60, 9, "training step", "second")


def test_families_name_laws_once_and_quantities():
    named = [law for row in FAMILIES.values() for column in ("times", "rates") for law in row[column].split()]
    assert set(named) <= set(LAWS) and len(named) == len(set(named))
    for name, row in FAMILIES.items():
        assert row["part_of"] in ("", *FAMILIES) and (not row["part_of"] or not FAMILIES[row["part_of"]]["part_of"]), name
        assert bool(row["when"]) == (row["above"] == row["above"]) and (not row["when"] or row["when"] in QUANTITIES), name
        assert not (row["when"] and (row["times"] or row["rates"])) and (row["part_of"] or row["times"] or row["rates"]), name


def test_rates_are_per_second_or_shares_and_counts():
    for row in FAMILIES.values():
        assert not [law for law in row["times"].split() if "/second" in QUANTITIES[law].unit]
        assert not [law for law in row["rates"].split() if QUANTITIES[law].unit in ("second", "byte", "USD", "hour", "day")]


@pytest.mark.parametrize("law, inputs, family", [
    ("step_seconds", {}, "training step in 16 bits"), ("step_seconds", dict(narrow_products=1), "training step in 8 bits"),
    ("gpu_token_rate", dict(model="Mixtral-8x7B"), "training step of experts"),
    ("gpu_token_rate", dict(experts=8, narrow_products=1), "training step of experts"),
    ("tp_decode_seconds", dict(tensor_parallel=8), "decode on several GPUs"), ("tokens_per_second", {}, "decode"),
    ("all_reduce_seconds", dict(message_bytes=2**20), "collective of 1 MiB or more"),
    ("all_reduce_seconds", dict(message_bytes=2**20 - 1), "collective")])
def test_a_case_is_of_the_first_part_that_fits(law, inputs, family):
    assert bands._families(Case(**inputs), law)[0][1] == family


def test_a_publisher_is_a_repository_a_thread_or_a_paper():
    assert bands.publisher("pytorch-labs/gpt-fast README.md @32971d3 (80.44 tokens/s)") == "pytorch-labs/gpt-fast"
    assert bands.publisher("github.com/NVIDIA/nccl/issues/1259, a comment") == "github.com/NVIDIA/nccl/issues/1259"
    assert bands.publisher("arXiv 2104.04473, table 1") == "arXiv 2104.04473"
    assert [bands.era_name(era) for era in (None, 0, 1, 2)] == ["", "to 2022", "2023 to 2024", "since 2025"]


def test_a_band_is_in_order_and_turns_rates():
    rate, time = CASE.band(ai.tokens_per_second), CASE.band(ai.decode_seconds)
    for band in (rate, time):
        assert band.low <= band.plan <= band.high and band.value == pytest.approx(CASE(ai.tokens_per_second if band is rate else ai.decode_seconds))
    assert [rate.value / each for each in rate[:3]] == pytest.approx([each / time.value for each in reversed(time[:3])])
    assert rate.bound > rate.value and time.bound < time.value and (rate.unit, time.unit) == ("token/second", "second")


def test_columns_give_columns():
    batches = numpy.array([1, 8, 64])
    column = CASE.but(batch=batches).band("tokens_per_second")
    for place, batch in enumerate(batches):
        one = CASE.but(batch=int(batch)).band("tokens_per_second")
        assert [each[place] for each in column[:5]] == pytest.approx(one[:5])


def test_a_search_multiplies_by_itself():
    band = CASE.band("tokens_per_second")
    assert [band.value * factor for factor in bands.factors(CASE, ai.tokens_per_second)] == pytest.approx(band[:3])
    assert bands.factors(CASE, LAWS["matmul_flops"]) == (1, 1, 1)


def test_what_follows_from_a_band():
    hours = STEP.through(lambda seconds: seconds * 1000 / 3600, "hour")
    assert hours.plan == pytest.approx(5.6 / 3.6) and hours.unit == "hour" and hours.rows == 60
    rate = STEP.through(lambda seconds: 1 / seconds)
    assert rate.low == 1 / 7.1 and rate.high == 1 / 4.9 and rate.bound == 1 / 3


def test_a_bound_has_peaks_no_latency_and_all_hidden():
    held = bands.bound(CASE.but(bandwidth_efficiency=0.5, latency=1e-5, mfu=0.4, overlap=0))
    assert (held.inputs["latency"], held.inputs["mfu"], held.inputs["overlap"]) == (0, 1, 1)
    assert held(ai.decode_seconds) == pytest.approx(CASE.but(efficiency="bound")(ai.decode_seconds))


def test_a_falling_function_turns_a_band():
    band = Band(3, 4, 8, 5, 10, 60, 9, "decode", "token/second")
    gpus = band.through(lambda rate: math.ceil(24 / rate))
    assert gpus == (3, 6, 8, 5, 3, 60, 9, "decode", "")
    assert band._replace(bound=None).through(lambda rate: 24 / rate, "hour") == (3, 6, 8, 4.8, None, 60, 9, "decode", "hour")
    column = band._replace(low=numpy.array([3, 4]), plan=numpy.array([4, 6]), high=numpy.array([8, 6]))
    turned = column.through(lambda rate: 24 / rate)
    assert (turned.low.tolist(), turned.plan.tolist(), turned.high.tolist()) == ([3, 4], [6, 4], [8, 6])
    assert gpus.through(lambda count: 2 * count)[:4] == (6, 12, 16, 10)
    assert band.through(lambda rate: 7)[:4] == (7, 7, 7, 7)


def test_speeds_of_engines_by_family_and_bound():
    """Times per token and to the first token, a row for each, all of which keep the bound: a pass at the data sheet's peaks without
    prompts of others, that reads half of the experts at most."""
    rows_of = {root: bands.speeds(root) for root in ("serving", "prefill")}
    assert [len(held) for held in rows_of.values()] == [1866, 1148]
    apart = [row["ratio"] for row in rows_of["serving"] if row["family"] == "time per output token, prompts apart"]
    # Passes that no prompt interrupts, with nothing fitted to them; of two publishers, so that the band is that of all serving.
    assert len(apart) == 207 and 0.95 < numpy.median(apart) < 1 and numpy.median(abs(1 / numpy.array(apart) - 1)) < 0.12
    assert bands.errors("time per output token, prompts apart").family == "serving" == bands.errors("time per output token").family
    assert {row["publisher"] for row in rows_of["serving"]} == {"InferenceX", "ai-dynamo/aiconfigurator"}
    ratios = []
    for law in bands.SPEED_LAWS:
        for case, held in bands.speed_cases(law):
            bound = numpy.broadcast_to(bands.bound_value(case, law), len(held))
            ratios += [row[law] / least for row, least in zip(held, bound)]
    assert len(ratios) == 3014 and min(ratios) > 1
    # As many published elsewhere.
    rows = [row for root in ("serving", "prefill", "decode") for row in bands.measured(root)]
    assert all((row["value"] / bands.bound_value(row["case"], row["law"]))**row["power"] > 1 for row in rows)
