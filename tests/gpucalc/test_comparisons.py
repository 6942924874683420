"""Comparisons: how far off the ratio of two predictions is, by what differs, from pairs of measured times."""
import itertools
import math
from collections import defaultdict
from functools import cache

import numpy
import pytest

from gpucalc.rows import bands, price_book
from gpucalc.rows.case_file import read_case
from gpucalc.core.quantities import DATA
from gpucalc.decisions import answer, answer_words
from gpucalc.rows.tables import rows

# What a pair is alike in but for one of these.
ALIKE = ("model", "gpu", "engine", "weight_format", "layout", "batch", "lengths", "prompts_apart")
DIFFERS = {"card": "gpu", "format": "weight_format", "layout": "layout", "batch": "batch", "engine": "engine",
           "lengths": "lengths"}


def from_measurements():
    """Times per token of measurements.csv, as rows of data/engine_speeds.csv have them."""
    for row in bands.measured("serving"):
        case = row["case"]
        if row["law"] == "time_per_output_token" and "engine" in case.rows:
            named = {kind: case.rows[kind].name for kind in ("model", "gpu", "engine", "weight_format") if kind in case.rows}
            yield row | {"weight_format": "", "attention_parallel": 1, "prompts_apart": 0} | case.inputs | named


@cache
def cells():
    """Median ratio and value by what a row is alike in; repeated runs stand as one."""
    found = defaultdict(list)
    for row in [*bands.speeds("serving"), *from_measurements()]:
        row |= {"layout": f"{row['tensor_parallel']:g} x {row['attention_parallel']:g}",
                "lengths": f"{row['prompt']:g} and {row['output']:g}"}
        found[tuple(row[name] for name in ALIKE)].append((row["ratio"], row["value"], row["predicted"]))
    return {key: tuple(map(float, numpy.median(held, axis=0))) for key, held in found.items()}


@cache
def pairs(differs):
    """Of each pair its model, the error of its ratio, and the measured and the predicted difference, as logarithms."""
    at, groups = ALIKE.index(DIFFERS[differs]), defaultdict(list)
    for key, held in cells().items():
        groups[key[:at] + key[at + 1:]].append((key[0], numpy.log(held)))
    return [(model, *(one - other)) for held in groups.values()
            for (model, one), (_, other) in itertools.combinations(held, 2)]


def within(found):
    """From which ratio on a difference is real in eight of ten."""
    return math.exp(numpy.quantile([abs(error) for _, error, *_ in found], bands.INSIDE))


@pytest.mark.parametrize("differs, count", [
    ("card", 704), ("format", 314), ("layout", 1499), ("batch", 3520), ("engine", 381), ("lengths", 1828)])
def test_the_table_is_what_pairs_say(differs, count):
    assert len(pairs(differs)) == count
    assert rows("ratio_errors")[differs]["ratio"] == pytest.approx(within(pairs(differs)), abs=0.005) == bands.apart(differs)


def test_a_comparison_is_decided_and_right_for_a_model_that_had_no_part_in_it():
    """Of pairs that differ by more than a tenth at least three in five are decided, and those rightly."""
    decided = right = wanted = 0
    for differs in DIFFERS:
        for model in {each for each, *_ in pairs(differs)}:
            near = math.log(within([pair for pair in pairs(differs) if pair[0] != model]))
            for _, _, measured, predicted in (pair for pair in pairs(differs) if pair[0] == model and abs(pair[2]) > math.log(1.1)):
                wanted += 1
                decided += abs(predicted) > near
                right += abs(predicted) > near and predicted * measured > 0
    assert decided / wanted > 0.6 and right / decided > 0.97
    # Two bands that know nothing of each other would decide fewer.
    apart = math.log(bands.errors("serving").high / bands.errors("serving").low)
    assert sum(abs(pair[3]) > apart for each in DIFFERS for pair in pairs(each) if abs(pair[2]) > math.log(1.1)) < 0.6 * decided


@pytest.mark.parametrize("differ", [("card", "layout"), ("card", "batch"), ("layout", "batch"), ("format", "layout"), ("card", "layout", "batch")])
def test_errors_of_things_that_differ_together_add_up_as_squares(differ):
    """Of pairs that differ in two or three things the ratio is as near as the roots of squares say, and not as the largest alone."""
    groups, at = defaultdict(list), [ALIKE.index(DIFFERS[each]) for each in differ]
    for key, held in cells().items():
        groups[tuple(each for place, each in enumerate(key) if place not in at)].append((key, math.log(held[0])))
    off = [abs(one - other) for held in groups.values() for (first, one), (second, other) in itertools.combinations(held, 2)
           if all(first[place] != second[place] for place in at)]
    known = [math.log(bands.apart(each)) for each in differ]
    assert len(off) > 500 and 0.78 < numpy.mean(numpy.array(off) < math.hypot(*known)) < 0.91
    assert numpy.mean(numpy.array(off) < max(known)) < 0.83


def row_of(gpu="H100 SXM 80GB", gpus=8, objective=100, low=80, high=130, unmeasured=0):
    return dict(gpu=gpu, gpus=gpus, objective=objective, low_objective=low, high_objective=high, unmeasured=unmeasured)


@pytest.mark.parametrize("other, kind, tie", [
    (row_of("H200 SXM 141GB", 4, 123), "serve", 1), (row_of("H200 SXM 141GB", 4, 126), "serve", 0),
    (row_of(gpus=4, objective=114), "serve", 1), (row_of(gpus=4, objective=116), "serve", 0),
    (row_of(objective=101), "serve", 0),                                          # the same GPUs at another rent
    (row_of("MI300X 192GB", 4, 140, 110, 180, unmeasured=1), "serve", 1),         # no run was measured on its maker's cards
    (row_of("H200 SXM 141GB", 4, 140, 110, 180), "train", 1)])                    # runs of training are no pairs
def test_what_is_too_close_to_call(other, kind, tie):
    assert answer_words.against(other, row_of(), kind)["tie"] == tie


def test_a_range_that_nobody_can_plan_with_stands_last_and_says_so():
    found = answer_words.against(row_of(objective=50, high=160), row_of(), "serve")
    assert found["wide"] == 1 and found["spread"] == pytest.approx(3.2)
    said = answer_words.fill("later", row_of(objective=50, high=160) | found)
    assert said == "may cost 3.20 times its plan, too wide a range to rank; measure a run of your own on it"
    case = read_case(DATA / "cases" / "chat_70b.yaml")
    table = answer.answer(case, price_book.prices()).kept
    cost, high = table["serving_usd_per_month"], table["high_serving_usd_per_month"]
    wide = numpy.isfinite(high) & (high > answer.WIDE * cost)
    assert not wide[0] and (numpy.diff(wide.astype(int)) >= 0).all() and (numpy.diff(cost[~wide]) >= 0).all()


def test_a_card_without_a_measured_run_has_a_wider_band():
    measured, other = (bands.errors(family) for family in ("serving", "serving on a card not measured"))
    assert other.median == measured.median and other.rows == measured.rows
    assert (other.high / measured.high, measured.low / other.low) == pytest.approx((bands.apart("card"), bands.apart("card")))
