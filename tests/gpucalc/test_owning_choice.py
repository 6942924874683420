"""Rent or buy as a decision, and the ways to serve a load: the few even draws, what is missing as a value, and where bills meet."""
import math
import random

import numpy as np
import pytest

from gpucalc import Case, break_even, demand, owning
from gpucalc.core.arithmetic import HOURS_PER_MONTH, HOURS_PER_YEAR
from gpucalc.decisions import answer_words, decide as deciding, owning_words, rent_or_buy as deals
from gpucalc.decisions.rent_or_buy import DRAWS, rent_or_buy, shares
from gpucalc.decisions.rent_own_or_api import API, BATCH, FOR_HOURS, OWNED, owned_gpus, RENTED, ways
from gpucalc.decisions.token_offers import SERVERS
from gpucalc.rows import case_file, catalogue
from gpucalc.rows.tables import DATA

H100 = "H100 SXM 80GB"
LOAD = {"prompt": 1000, "output": 300, "first_token_limit": 3, "token_limit": 0.1}
TIMES = {"batch": 32, "replica_prefill_seconds": 0.05, "replica_pass_seconds": 0.02}


def plan_of(draw=None, window=False, **changed):
    """The columns of a plan: a random one, or one of the cheapest H100 that carries little."""
    plan = {"gpu": H100, "gpus_per_server": 8, "tensor_parallel": 2, "usd_per_hour": 2.5, "planned_replicas": 6} | TIMES
    if draw:
        plan |= {"gpu": draw.choice([H100, "H200 SXM 141GB", "A100 SXM 80GB"]), "tensor_parallel": draw.choice([1, 2, 4, 8]),
                 "usd_per_hour": draw.uniform(1, 5), "planned_replicas": draw.randint(1, 50),
                 "replica_prefill_seconds": draw.uniform(0.001, 0.1), "replica_pass_seconds": draw.uniform(0.002, 0.05)}
    plan |= changed
    size, degree = plan["gpus_per_server"], plan["tensor_parallel"]
    plan["rented_gpus"] = size * math.ceil(plan["planned_replicas"] / (size // degree))
    token = plan["replica_pass_seconds"] + (plan["batch"] - 1) * plan["replica_prefill_seconds"] / LOAD["output"]
    prompt = plan["replica_prefill_seconds"]
    plan |= {"prompt_turn_seconds": prompt, "prompt_seconds": prompt, "prompt_host_seconds": 0.0, "speculative_seconds": plan["replica_pass_seconds"],
             "time_per_output_token": token, "request_seconds": prompt + LOAD["output"] * token, "fixed_share": 1, "growing_share": 0, "lone_share": 1}
    bill = plan["usd_per_hour"] * plan["rented_gpus"] * HOURS_PER_MONTH
    name, high = "window_usd" if window else "serving_usd_per_month", draw.choice([1.5, math.inf]) if draw else 2
    return plan | {name: bill, f"low_{name}": bill / 2, f"high_{name}": bill * high, "provider": "somebody", "row": "a rent",
                   "term": "on-demand"}


def served(**load):
    return Case(**{"model": "Llama-3-8B"} | LOAD | load)


# The draws

def test_even_draws_have_every_share_once_and_move_together():
    found = shares()
    even = (np.arange(DRAWS) + 0.5) / DRAWS
    assert all((np.sort(share) == even).all() for share in found.values())
    for name, row in catalogue.correlations().iterrows():
        assert np.corrcoef(found[name], found[row["other"]])[0, 1] == pytest.approx(row["correlation"], abs=0.07)
    assert abs(np.corrcoef(found["pue"], found["years"])[0, 1]) < 0.08


@pytest.mark.parametrize("gpu, given", [(H100, {}), (H100, {"usd_per_hour": 5.5}), ("H200 SXM 141GB", {"utilization": 0.8})])
def test_few_draws_say_what_many_do(book, gpu, given):
    found = rent_or_buy(Case(gpu=gpu, **given), book)
    many, case = deals.draws(found.deal.ranges, 50_000), found.deal.case(catalogue.gpu(gpu))
    wanted = deals.verdict(deals.outcomes(break_even.owning_npv, case, many))
    assert found.verdict.chance == pytest.approx(wanted.chance, abs=0.02)
    spread = wanted.high - wanted.low
    assert [found.verdict.mean, found.verdict.low, found.verdict.high] == pytest.approx(wanted[3:], abs=0.05 * spread)
    assert found.needed[:4] == pytest.approx(deals.drawn_band(break_even.break_even_utilization, case, many)[:4], rel=0.03)


# The verdict

def test_by_hand(book):
    """A server that costs nothing to run, is worth nothing at the end and has no network: its price over its hours is its cost."""
    nothing = dict.fromkeys(("usd_per_kwh", "hosting_usd_per_month", "staff_usd_per_year", "support_share", "repair_share", "spare_share",
                             "discount_rate", "rent_decline", "lead_months", "ramp_months"), 0.0)
    given = nothing | {"server_usd": 350_400.0, "gpus_per_server": 8, "years": 5.0, "availability": 1.0, "depreciation_rate": 1.0,
                       "usd_per_hour": 2.0}
    likely = rent_or_buy(Case(gpu=H100, **given), book[~book["item"].isin(["switch"])]).deal.case(catalogue.gpu(H100))
    assert likely(owning.fixed_usd_per_hour) == pytest.approx(350_400 / (8 * 5 * HOURS_PER_YEAR)) == 1.0
    assert likely(break_even.break_even_utilization) == pytest.approx(0.5)


def test_a_dearer_rent_favours_owning_and_it_turns_at_the_even_rent(book):
    found = [rent_or_buy(Case(gpu=H100, usd_per_hour=rate), book) for rate in (2.0, 4.0, 8.0)]
    means = [each.verdict.mean for each in found]
    assert means == sorted(means) and means[0] < 0 < means[-1]
    assert [each.even_rent for each in found] == pytest.approx([found[0].even_rent] * 3)
    even = rent_or_buy(Case(gpu=H100, usd_per_hour=found[0].even_rent), book)
    assert even.verdict.mean == pytest.approx(0, abs=1e-6 * even.verdict.high) and not even.verdict.sure
    assert [each.needed.plan for each in found] == sorted((each.needed.plan for each in found), reverse=True)


def test_what_turns_it_does_turn_it(book):
    found = rent_or_buy(Case(gpu=H100, usd_per_hour=5.0), book)
    card, likely = catalogue.gpu(H100), found.deal.ranges["likely"].to_dict()
    value = found.turns["utilization"]
    gains = [deals.owned(break_even.owning_npv, card, **likely | {"utilization": each}, **found.deal.fixed) for each in (value, likely["utilization"])]
    assert gains[0] > 0 > gains[1]


def test_how_sure_it_must_be_is_the_cases_own(book):
    chance = rent_or_buy(Case(gpu=H100, usd_per_hour=5.0), book).verdict.chance
    assert 0.05 < chance < 0.5
    for sure in (0.5, 0.95):
        assert rent_or_buy(Case(gpu=H100, usd_per_hour=5.0, sure=sure), book).verdict.sure == (chance < 1 - sure)


def test_a_provider_a_region_and_a_term_choose_the_rent(book):
    found = rent_or_buy(Case(gpu=H100, provider="Nebius", term="any"), book)
    assert found.deal.rows["rent"].provider == "Nebius" and found.deal.rows["rent"].term == "on-demand"
    spot = rent_or_buy(Case(gpu=H100, term="spot"), book)
    assert spot.deal.rows["rent"].term == "spot" and set(deals.STOPS) <= set(spot.turns)


def test_a_commitment_has_no_break_even_utilization(book):
    found = rent_or_buy(Case(gpu=H100, term="reserved-3y", usd_per_hour=2.0, years=3), book)
    assert found.needed is None and found.deal.fixed["rent_decline"] == 0


@pytest.mark.parametrize("case, lacks", [
    (dict(gpu="L4 24GB"), "server_usd"), (dict(gpu=H100, gpus_per_server=3), "server_usd"), (dict(gpu=H100, server_usd=1e5), "gpus_per_server"),
    (dict(gpu=H100, provider="Nobody"), "usd_per_hour"), (dict(gpu=H100, term="reserved-3y"), "usd_per_hour"),
    (dict(gpu="VR200 NVL72 288GB", server_usd=4e6, gpus_per_server=72, usd_per_hour=6), "tdp_watts")])
def test_a_missing_price_is_a_value(book, case, lacks):
    assert rent_or_buy(Case(**case), book)[:3] == (lacks, None, None)


def test_servers_without_a_firm_price_are_in_doubt(book):
    found = rent_or_buy(Case(gpu="B200 SXM 180GB"), book)
    assert found.deal.doubt and 1 <= len(found.stand_ins) <= 2
    assert rent_or_buy(Case(gpu=H100), book).stand_ins == []


def test_a_value_that_is_not_allowed_is_refused(book):
    with pytest.raises(ValueError, match="utilization .* is 1.4; allowed"):
        rent_or_buy(Case(gpu=H100, utilization=1.4), book)


# The ways

def test_ways_come_cheapest_first_and_doubt_last(book):
    found = ways(served(requests_per_second=10), book, plan_of())
    assert {each.way for each in found.rows} == {API, RENTED, OWNED} and found.lacks == ()
    sure = [each.usd for each in found.rows if not each.doubt and each.way != OWNED]
    assert sure == sorted(sure) and found.rows[-1].way == OWNED and [each.doubt == "" for each in found.rows] == sorted((each.doubt == "" for each in found.rows), reverse=True)
    assert all(each.low <= each.usd <= each.high for each in found.rows)


def test_bills_by_hand(book):
    found = ways(served(requests_per_second=10), book, plan_of())
    assert found.requests == 10 * 3600 * 8 * HOURS_PER_MONTH / 24
    together = next(each for each in found.rows if each.who == "Together")
    price = book[(book["sku"] == "Llama-3-8B") & (book["provider"] == "Together")].set_index("item")["price"]
    assert together.usd == pytest.approx(found.requests * (1000 * price["api-input"] + 300 * price["api-output"]) / 1e6)
    rented = next(each for each in found.rows if each.way == RENTED)
    assert (rented.usd, rented.low, rented.high) == (29_200, 14_600, 58_400)
    assert found.busy == pytest.approx(found.requests * (0.05 + 300 * 0.02 / 32) * 2 / (16 * HOURS_PER_MONTH * 3600))
    owned, hour = next(each for each in found.rows if each.way == OWNED), found.owning
    assert owned.usd == pytest.approx(16 * HOURS_PER_MONTH * 0.97 * (hour.fixed.plan + hour.work * found.busy))


def test_rent_beside_own_is_that_of_years_in_which_rents_fall(book):
    """24 H100 at 3.14 USD/h: cheaper to own than today's rent, and still the dearer way over the years."""
    usd = 24 * 3.14 * HOURS_PER_MONTH
    plan = plan_of(usd_per_hour=3.14, planned_replicas=12) | {"serving_usd_per_month": usd}
    found = ways(served(model="Llama-2-70B", requests_per_second=40), book, plan)
    known = answer_words._of_ways(found, usd) | {"cost_plan": usd, "cost_low": usd}
    assert found.level < known["own_usd"] < usd and known["way"] == known["verdict"] == "rent"
    said = answer_words.fill("small_ways", known)
    assert said.startswith("rent 55,000 USD today and 43,200 USD on average over about 5 years, as rents fall by about 10 % a year, own ")


def test_a_commitment_is_paid_for_the_hours_that_are_not_used_too(book):
    found = rent_or_buy(Case(gpu=H100, term="reserved-3y", usd_per_hour=2.0, years=3), book)
    assert found.paid.value == pytest.approx(2.0) and found.rented.value == pytest.approx(2.0 / 0.65)
    assert rent_or_buy(Case(gpu=H100), book).paid == rent_or_buy(Case(gpu=H100), book).rented


def test_below_the_load_where_bills_are_equal_the_api_is_cheaper(book):
    found = ways(served(requests_per_second=10), book, plan_of())
    at = ways(served(requests_per_second=found.below), book, plan_of())
    assert min(each.usd for each in at.rows if each.way == API) == pytest.approx(29_200)
    assert at.below == pytest.approx(found.below)


def test_the_load_from_which_servers_pay_is_that_of_whole_servers(book):
    fast = plan_of(replica_prefill_seconds=0.001, replica_pass_seconds=0.004, batch=128, usd_per_hour=1.0, tensor_parallel=1)
    found = ways(served(requests_per_second=10), book, fast)
    one = ways(served(requests_per_second=10), book, plan_of(planned_replicas=1, usd_per_hour=1.0)).below
    assert math.isfinite(found.turn) and found.turn / one in [pytest.approx(count) for count in SERVERS]
    assert ways(served(requests_per_second=10), book, fast | {"speculative_seconds": 1}).turn == math.inf


def test_a_model_without_an_api_says_so(book):
    found = ways(served(model="Llama-2-70B", requests_per_second=1), book, plan_of())
    assert found.lacks == (API,) and (found.below, found.turn) == (None, None)
    assert ways(served(requests_per_second=1), book, plan_of(gpu="L4 24GB")).lacks == (OWNED,)


def test_a_window_can_be_bought_in_batches(book):
    found = ways(served(window_requests=1e6), book, plan_of(window=True))
    batch = next(each for each in found.rows if each.way == BATCH)
    at_once = next(each for each in found.rows if each.way == API and each.who == batch.who)
    assert FOR_HOURS in {each.way for each in found.rows}
    assert batch.usd <= at_once.usd and found.owning is None and found.requests == 1e6


def test_inputs_that_stand_for_others_are_taken(book):
    """As a case of a job has them: users for a rate, and the row of the job for a limit."""
    case = served(requests_per_second=Case(daily_users=28_800, messages_per_day=10)(demand.user_requests_per_second))
    users = served(daily_users=28_800).but(requests_per_second=demand.user_requests_per_second)
    assert ways(users, book, plan_of())[:-1] == ways(case, book, plan_of())[:-1]
    job = users.but(job="serve")
    job = job.but(token_limit=job.rows["job"], output=job.rows["job"])
    assert ways(job, book, plan_of()).below == pytest.approx(ways(users, book, plan_of()).below)


# The same machine on two pages

VERB_OF_HEADLINE = {"Rent": "Renting is cheapest", "Buy": "Buying is cheaper", "Too close to call": "Too close to call: rent or buy"}


def verbs(found, plan, book):
    """What the ways to serve say of renting and owning, and what rent or buy says of the plan's servers alone; None where no server
    of theirs has a price. An API is left out: it is no part of the other question."""
    bill = "serving_usd_per_month"
    without = found._replace(rows=[row for row in found.rows if row.way != API])
    known = answer_words._of_ways(without, plan[bill])
    gpus = owned_gpus(found.owning, plan)
    if not gpus or found.owning.deal.doubt:
        return None
    case = Case(job="rent_or_buy", gpu=plan["gpu"], usd_per_hour=plan["usd_per_hour"], term=plan["term"],
                utilization=float(min(plan["rented_gpus"] / gpus, 1)))
    alone = rent_or_buy(case, book)
    level = plan[bill] * alone.rented.plan / plan["usd_per_hour"]
    assert known["rent_level"] == found.level == pytest.approx(level)
    headline = owning_words.told(alone, case, book).headline
    return answer_words.fill("big_ways", known | {"priced": 1}), VERB_OF_HEADLINE[headline.partition(":")[0]]


@pytest.mark.parametrize("seed", [pytest.param(seed, marks=[] if seed < 1 else pytest.mark.long) for seed in range(20)])
def test_the_ways_to_serve_and_rent_or_buy_have_one_verb(book, seed):
    """On ten random books a seed, 200 in all: rents, servers and power moved as prices differ between sellers. In every second one
    12 GPUs are rented one by one, in place of which two servers are owned."""
    draw, seen = random.Random(seed), set()
    for number in range(10):
        moved = {"rent": draw.lognormvariate(0, 0.45), "server": draw.lognormvariate(0, 0.35), "power": draw.choice([0.5, 1, 2.5])}
        other = book.copy()
        other["price"] *= other["item"].map(moved).fillna(1)
        other.attrs = book.attrs
        plan = plan_of(draw, gpu=H100, usd_per_hour=(1.5, 4.5, 9)[number % 3] * draw.uniform(0.8, 1.2))
        if number % 2:
            plan |= {"rented_gpus": 12, "serving_usd_per_month": plan["usd_per_hour"] * 12 * HOURS_PER_MONTH}
        both = verbs(ways(served(requests_per_second=5.0), other, plan), plan, other)
        assert both[0] == both[1], (moved, plan)
        seen.add(both[0])
    assert len(seen) > 1


@pytest.mark.long
@pytest.mark.parametrize("path", sorted((DATA / "cases").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_ways_of_a_worked_case_and_rent_or_buy_have_one_verb(book, path):
    case = case_file.read_case(path)
    answer = None if owning_words.is_owning(case) else deciding.answered(case, book)
    found = answer and deciding.more(answer, book)[1]
    if found and found.owning and (both := verbs(found, answer.best, book)):
        assert both[0] == both[1]
