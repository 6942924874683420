"""The closed forms of the queue against a simulator of continuous batching: p50, p95 and p99 within what is stated here."""
import functools

import numpy as np
import pytest

from gpucalc.core.quantities import DATA
from gpucalc.rows.tables import table
from tests import simulator

DENSE, *EXPERTS = simulator.SERVERS
COUNT = 4000
# What the formula is of the simulated p95, by quantity, how prompts are read and load: models without experts.
WITHIN = {("late_token_seconds", "own"): {0.3: (0.94, 1.08), 0.7: (0.92, 1.08), 0.8: (0.92, 1.08)},
          ("late_token_seconds", "chunked"): {0.3: (0.95, 1.1), 0.7: (0.93, 1.1), 0.8: (0.93, 1.12)},
          ("late_token_seconds", "apart"): {0.3: (0.95, 1.07), 0.7: (0.95, 1.07), 0.8: (0.95, 1.08)},
          ("answer_seconds", "own"): {0.3: (0.98, 1.12), 0.7: (0.95, 1.1), 0.8: (0.93, 1.1)},
          ("answer_seconds", "chunked"): {0.3: (0.98, 1.15), 0.7: (0.95, 1.13), 0.8: (0.93, 1.13)},
          ("answer_seconds", "apart"): {0.3: (0.98, 1.12), 0.7: (0.95, 1.1), 0.8: (0.95, 1.1)},
          ("time_to_first_token", "own"): {0.3: (0.88, 1.06), 0.7: (0.88, 1.05), 0.8: (0.55, 1.05)},
          ("time_to_first_token", "chunked"): {0.3: (0.87, 1.06), 0.7: (0.86, 1.06), 0.8: (0.6, 1.06)},
          ("time_to_first_token", "apart"): {0.3: (0.87, 1.05), 0.7: (0.88, 1.35), 0.8: (0.88, 1.45)}}


@functools.cache
def errors(placed=DENSE[:3], loads=(0.3, 0.7, 0.8), spread="lognormal", replicas=1, modes=simulator.MODES):
    """What the formula is of what is simulated, by quantity, mode, load and late share."""
    server = next(each for each in simulator.SERVERS if each[:3] == placed)
    found = simulator.rows([server], loads, (spread,), modes, replicas=replicas, count=COUNT)
    return {(row["quantity"], row["prompts"], row["offered_load"], row["late_share"]):
            float(row["formula_seconds"]) / float(row["simulated_seconds"]) for row in found}


def outside(found, times=1.0):
    """The cells in which the formula, so many times as long, is not within its limits at p95."""
    return [key for (law, mode), loads in WITHIN.items() for load, (low, high) in loads.items()
            if (key := (law, mode, load, 0.05)) in found and not low <= found[key] * times <= high]


@pytest.mark.parametrize("spread", simulator.SPREAD)
def test_the_p95_is_within_its_limits_and_a_fifth_more_or_less_is_not(spread):
    found = errors(spread=spread)
    assert outside(found) == []
    for law in simulator.QUANTITIES:
        cells = {key: error for key, error in found.items() if key[0] == law}
        for times in (0.8, 1.2):
            assert len(outside(cells, times)) >= 5, (law, times)


@pytest.mark.parametrize("spread", simulator.SPREAD)
def test_the_median_and_the_p99_of_a_load_that_places_hold(spread):
    for (law, mode, load, late), error in errors(spread=spread).items():
        if load <= 0.7 and late != 0.05:
            assert 0.65 <= error <= 1.4, (law, mode, load, late)


# What the formula is of the simulated p95 where several replicas share the requests, by quantity and load.
SHARED = {"late_token_seconds": {0.5: (0.98, 1.15), 0.8: (0.95, 1.15), 0.9: (0.93, 1.15)},
          "answer_seconds": {0.5: (1.0, 1.13), 0.8: (0.97, 1.12), 0.9: (0.95, 1.13)},
          "time_to_first_token": {0.5: (1.0, 1.25), 0.8: (0.95, 1.4), 0.9: (0.6, 1.7)}}


@pytest.mark.parametrize("replicas", [2, 8])
def test_replicas_that_share_the_requests(replicas):
    """Prompts collide less where each goes to the least busy replica; those that find all places filled wait longer."""
    found = errors(replicas=replicas, loads=(0.5, 0.8, 0.9), modes=("own",))

    def outside_at(times):
        return [(law, load) for law, loads in SHARED.items() for load, (low, high) in loads.items()
                if not low <= found[law, "own", load, 0.05] * times <= high]
    assert outside_at(1) == [] and len(outside_at(0.8)) >= 7 and len(outside_at(1.2)) >= 5


# What the formula is of the recorded p95 of groups that wait for each other's prompts, by quantity.
GROUPED = {"time_to_first_token": (0.75, 1.15), "late_token_seconds": (0.98, 1.4), "answer_seconds": (0.98, 1.55)}


@pytest.mark.parametrize("groups", simulator.GROUPS)
def test_groups_that_wait_for_each_others_prompts(groups):
    """At loads of 0.3 to 0.9 of the places; a formula of a quarter less or half as much again is outside."""
    late = table("simulated").query("plan == '' and attention_parallel == @groups and late_share == 0.05")
    assert len(late) == 3 * len(simulator.LOADS)
    for quantity, (low, high) in GROUPED.items():
        errors = (late["formula_seconds"] / late["simulated_seconds"])[late["quantity"] == quantity]
        assert errors.between(low, high).all(), (groups, quantity, errors.tolist())
        assert not (errors * 0.75).between(low, high).all() and not (errors * 1.5).between(low, high).all()


def test_the_record_of_groups_is_what_the_formulas_and_the_simulator_say_now():
    found = table("simulated").query("plan == '' and attention_parallel == 4 and late_share == 0.05 and offered_load == 0.7")
    now = {row["quantity"]: row for row in simulator.rows(**simulator.GROUPED, loads=(0.7,), groups=4, count=4000) if row["late_share"] == 0.05}
    for row in found.itertuples():
        assert row.formula_seconds == pytest.approx(float(now[row.quantity]["formula_seconds"]), rel=0.02)
        assert row.simulated_seconds == pytest.approx(float(now[row.quantity]["simulated_seconds"]), rel=0.15)


@pytest.mark.parametrize("batch, output, held", [(256, 500, 15), (64, 100, 12), (1024, 300, 2)])
def test_groups_that_hold_prompts_back_until_others_have_some(batch, output, held):
    """vLLM's --prefill-schedule-interval: eight groups whose prompts ride in the same passes. Taken as they come, they would make
    the tokens of a full replica take at least a quarter longer."""
    case = simulator.server("DeepSeek-V3", "B200 SXM 180GB", 1, simulator.FP8, batch, 2000, output).but(
        attention_parallel=8, replicas=1, prompt_chunk=8192)
    assert case("held_passes") == held
    assert case.but(prompt_interval=1)("time_per_output_token") > 1.25 * case("time_per_output_token")
    for load in (0.3, 0.6):
        loaded = case.but(requests_per_second=float(load * batch / case("request_seconds")))
        first, token, _, gaps = simulator.simulated(loaded, "chunked", 2500)
        assert 0.8 <= float(loaded("late_gap_seconds")) / np.quantile(gaps, 0.99) <= 1.4, load
        assert 0.75 <= float(loaded("late_token_seconds")) / np.quantile(token, 0.95) <= 1.15, load
        assert 0.9 <= float(loaded("time_to_first_token")) / np.quantile(first, 0.95) <= 1.8, load


def test_one_prompt_for_each_of_two_groups_is_one_turn():
    """Two at once are read in the time of two, a third after them; groups make their passes together."""
    case = simulator.server("DeepSeek-V3", "H200 SXM 141GB", 4, simulator.FP8, batch=4).but(attention_parallel=2)
    env, passes = simulator.simpy.Environment(), simulator.Passes(case, 2000)
    replica = simulator.Replica(env, passes)
    requests = [simulator.Request(0, 1000, 50, read) for read in ((0.2, 0.1), (0.3, 0.1), (0.2, 0.1))]
    for group, request in zip((*replica.groups, replica.groups[0]), requests):
        group.take(request)
    env.run()
    assert [request.first for request in requests] == pytest.approx([0.4, 0.4, 0.6])
    assert len({request.ended for request in requests}) == 1


@pytest.mark.parametrize("placed", EXPERTS, ids=[each[0] for each in EXPERTS])
def test_experts_at_a_low_load_are_read_less_often_than_the_formula_says(placed):
    found = errors(placed=placed[:3], loads=(0.3, 0.7), modes=("own",))
    assert 1.2 <= found["late_token_seconds", "own", 0.3, 0.05] <= 1.9
    assert 0.93 <= found["late_token_seconds", "own", 0.7, 0.05] <= 1.1
    assert 0.93 <= found["answer_seconds", "own", 0.7, 0.05] <= 1.15
    assert 0.7 <= found["time_to_first_token", "own", 0.7, 0.05] <= 1.1


def test_the_recorded_plans_keep_the_times_that_the_formulas_say():
    """p95 of a plan with its spare replicas out of service, whose prompts ride: the formula is not below what is simulated by more than an
    eighth, nor of the first token by more than a seventh, where the prompts of others and of one's own share a pass."""
    late = table("simulated").query("plan != '' and late_share == 0.05")
    assert len(late) == 3 * len(simulator.PLANS)
    errors, first = late["formula_seconds"] / late["simulated_seconds"], late["quantity"] == "time_to_first_token"
    assert errors[~first].between(0.875, 1.6).all() and errors[first].between(0.85, 1.6).all()


# The simulator itself

def test_one_place_and_prompts_of_no_time_are_a_queue_of_one_server():
    """M/D/1 at 0.6: a request of T waits 0.6 T / (2 x 0.4) = 0.75 T on average."""
    case = simulator.server(*simulator.SERVERS[0], batch=1, prompt=1, output=100)
    loaded = simulator.at_load(case, "own", 0.6)
    first, token, *_ = simulator.simulated(loaded, count=6000)
    whole = loaded("request_seconds")
    assert first.mean() == pytest.approx(0.75 * whole + loaded("replica_prefill_seconds"), rel=0.12)
    assert np.ptp(token) / token.mean() < 0.01


def test_a_replica_that_is_never_empty_gives_what_the_formula_says():
    """Twice the load that fills all places: tokens come at the pace of a full batch, or a little faster: all start together."""
    case = simulator.at_load(simulator.server(*DENSE), "own", 2.0)
    token = simulator.simulated(case, count=2000)[1]
    assert np.median(token) == pytest.approx(case("time_per_output_token"), rel=0.1)


def test_the_same_seed_draws_the_same():
    case = simulator.at_load(simulator.server(*DENSE), "own", 0.5)
    one, same, other = (simulator.simulated(case, count=300, seed=seed)[0] for seed in (1, 1, 2))
    assert (one == same).all() and (one != other).any()


def test_the_record_has_the_whole_grid():
    found = table("simulated").query("plan == '' and attention_parallel == 1")
    every = dict(servers=simulator.SERVERS, spreads=simulator.SPREAD, modes=simulator.MODES, loads=simulator.LOADS)
    grid = [(replicas, model, mode, spread, load, law, late)
            for replicas, part in ((1, every), *((several, simulator.SEVERAL) for several in (2, 4, 8)))
            for model, *_ in part["servers"] for spread in part["spreads"] for mode in part["modes"] for load in part["loads"]
            for law in simulator.QUANTITIES for late in simulator.QUANTILES]
    columns = ["replicas", "model", "prompts", "lengths", "offered_load", "quantity", "late_share"]
    assert (DATA / "simulated.csv").stat().st_size < 240_000
    assert list(found[columns].itertuples(index=False, name=None)) == grid


def test_the_record_has_what_the_formulas_say_now():
    """Where a formula has changed since, `python -m tests.simulator` records it anew."""
    found = table("simulated").query("plan == '' and attention_parallel == 1 and lengths == 'lognormal' and late_share == 0.05 and offered_load == 0.7")
    for model, *placed in simulator.SERVERS:
        case = simulator.server(model, *placed).but(**simulator.SPREAD["lognormal"])
        for row in found[found["model"] == model].itertuples():
            now = simulator.at_load(case, row.prompts, row.offered_load, row.replicas)(row.quantity)
            assert row.formula_seconds == pytest.approx(float(now), rel=0.02), (model, row.prompts, row.quantity)


@pytest.mark.parametrize(("mode", "within"), [("own", (0.95, 1.05)), ("chunked", (0.97, 1.08)), ("apart", (0.95, 1.05))])
def test_the_p99_of_the_gaps_between_tokens(mode, within):
    """Prompts and answers alike. Of prompts that differ, each in a pass of its own, the simulated gap is up to 1.45 times as long."""
    case = simulator.server(*DENSE)
    for load in (0.3, 0.7, 0.8):
        held = simulator.at_load(case, mode, load)
        gaps = simulator.simulated(held, mode, 2500)[3]
        late = np.quantile(gaps, 0.99)
        assert within[0] <= float(held("late_gap_seconds")) / late <= within[1], load
        assert mode == "apart" or late > 1.8 * gaps.mean()
