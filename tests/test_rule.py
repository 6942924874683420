"""The rule that chooses, held against plain loops over every combination, and what must hold of any choice."""
import functools
import itertools
import math
from statistics import NormalDist
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings, strategies as st

from book.pages.training_cost import SERVER
from gpucalc import Case
from gpucalc.core.law import LAWS
from gpucalc.decisions import answer, capacity, columns, points, rule, token_offers
from gpucalc.decisions import jobs
from gpucalc.decisions.market import forbidden
from gpucalc.decisions.market import NETWORKS, cards, market, replica_degrees
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.laws.sharding import DEGREES, layout_rules
from gpucalc.rows import bands, case_file, catalogue, price_book
from gpucalc.rows.project_books import MissingPrice
from gpucalc.rows.tables import rows

BOOK = price_book.prices(price_book.DATA / "prices" / "2026-06-24.csv")
SERVE = dict(job="serve", model="Llama-3-70B", weight_format="FP8", requests_per_second=10, prompt=1000, output=300,
             first_token_limit=1, token_limit=0.06)
BATCH = dict(job="batch", model="Llama-3-8B", weight_format="BF16", window_requests=10**6)
IMAGES = dict(job="images", model="Llama-3-8B", weight_format="FP16", images_per_day=10**7)
EMBED = dict(job="embed", model="Llama-3-8B", weight_format="BF16", window_requests=10**7)
TRAIN = dict(job="pretrain", model="Llama-3-8B", training_tokens=10**10, gpus=16, deadline_days=30)
LORA = dict(job="lora", model="Llama-3-8B", training_tokens=10**8, gpus=8)
CARDS = "H100 SXM 80GB, L40S 48GB, B200 SXM 180GB, T4 16GB, GH200 96GB"
FAR = NormalDist().inv_cdf(0.9)
DOUBTS = ("forbidden", "doubtful_price", "doubtful_term")


def asked(**given):
    """The whole case, its kind, its market and its chain."""
    case = answer.completed(Case(**given))
    kind = answer.kind_of(case)
    return case, kind, market(case, BOOK, kind), jobs.JOBS[kind].chain


def kept_of(solved, kind, end="plan"):
    """Objective of each choice that keeps all limits, by what tells it apart."""
    table = solved[end].kept
    keys = ("gpus" if kind == "train" else "tensor_parallel", "offer")
    return {tuple(map(int, key)): float(usd) for *key, usd in zip(*(table[name] for name in keys), table[jobs.JOBS[kind].objective])}


@pytest.mark.parametrize("load", [1e15, 1e17])
def test_a_halving_ends_where_a_float_holds_no_whole_numbers(load, monkeypatch):
    """Beyond 2^53 one more than the middle is the middle. The first count of rounds that is too large ends the test."""
    monkeypatch.setenv("GPUCALC_STORE", "")
    case, _, tables, steps = asked(**SERVE | dict(requests_per_second=load, cards="H100 SXM 80GB"))
    rounds, least, floor = [], points._least, points.floor

    def halved(value):
        rounds[-1] += 1
        assert rounds[-1] <= points.ROUNDS
        return floor(value)
    with (patch.object(points, "floor", halved), patch.object(points, "_least", lambda *given: (rounds.append(0), least(*given))[1])):
        kept = rule.solve(steps, case, tables)["plan"].kept
    assert max(rounds) == points.ROUNDS and (kept["replicas"] * kept["batch"] > load * kept["request_seconds"] * (1 - 1e-9)).all()


# Brute force: every combination as plain numbers, chosen by plain code

def moved(ends, far):
    low, plan, high = map(float, ends)
    return plan * (high / plan) ** far if far >= 0 else plan * (low / plan) ** -far


def offers_of(tables):
    table = tables["offers"]
    return [{name: column[row] for name, column in table.items()} for row in range(len(table["gpu"]))]


def limit(case, name):
    """A limit of the case, its own or that of its job."""
    given = case.inputs[name]
    return given[name] if isinstance(given, dict) else given


def first_broken(checks):
    """The reason of the first of (reason, holds) that does not hold; blank if all do."""
    return next((reason for reason, holds in checks if not holds), "")


def unable(case, gpu, tables, reading):
    """Why a card is not looked at: the model reads less than is asked, nobody rents it out, or it lacks the format of the weights."""
    card, least = catalogue.gpu(gpu), case.rows["weight_format"].get("least_capability", 0)
    asked, read = limit(case, "prompt") + (0 if reading else limit(case, "output")), case.inputs.get("max_context")
    if asked > (read or case.rows["model"]["max_context"]):
        return "too long"
    return "no rent" if gpu not in tables["offers"]["gpu"] else "no path" if card["compute_capability"] < least else ""


def place(case, gpu, degree, batch):
    """The case on a card as the catalogue has it, by name."""
    card = catalogue.gpu(gpu)
    narrow = case.rows["weight_format"].name == "FP8" and card["fp8_flops"] == card["fp8_flops"]
    return case.but(gpu=gpu, link=card.link, tensor_parallel=degree, batch=batch, narrow_products=float(narrow))


def in_time(case, times, replicas):
    """Whether so many replicas answer and begin in time."""
    held = case.but(**times, replicas=replicas)
    if held("offered_load") >= 1:
        return None
    return (held("answer_seconds") <= limit(case, "answer_limit"), held("time_to_first_token") <= limit(case, "first_token_limit"),
            held("late_token_seconds") <= limit(case, "token_limit"))


def served(case, gpu, degree, batch, far):
    """The reason against a replica of so many GPUs and sequences, and the replicas to pay for, counted up from one."""
    here = place(case, gpu, degree, batch)
    timed = here.but(context=LAWS["mean_context"])
    pace, reading = (moved(bands.factors(timed, LAWS[law]), far) for law in ("request_seconds", "replica_prefill_seconds"))
    times = {name: timed(name) * pace for name in (
        "replica_pass_seconds", "speculative_seconds", "time_per_output_token", "request_seconds")}
    times |= {name: timed(name) * reading for name in ("replica_prefill_seconds", "prompt_turn_seconds", "prompt_seconds")}
    times |= {name: timed(name) for name in ("fixed_share", "growing_share", "lone_share")}
    against = first_broken([
        ("the model does not split that way", here("split_misfits") == 0),
        ("memory", batch <= here.but(context=LAWS["final_context"])("concurrency")),
        ("the time per token", times["speculative_seconds"] <= limit(here, "token_limit"))])
    if against:
        return against, None
    replicas = next(count for count in itertools.count(1) if in_time(here, times, count))
    if times["request_seconds"] >= limit(here, "answer_limit"):  # only the fewest are tried, whose batches may not be full
        early = all(in_time(here, times, replicas))
        return ("", here.but(**times, replicas_required=replicas)("planned_replicas")) if early else ("the whole answer", None)
    if times["replica_prefill_seconds"] + times["replica_pass_seconds"] >= limit(here, "first_token_limit"):
        return ("the first token" if in_time(here, times, replicas)[0] else "the whole answer"), None
    if times["speculative_seconds"] >= limit(here, "token_limit"):
        return next(reason for reason, good in zip(("the whole answer", "the first token", "the time per token"), in_time(
            here, times, replicas)) if not good), None
    while not all(in_time(here, times, replicas)):
        replicas += 1
    return "", here.but(**times, replicas_required=replicas)("planned_replicas")


def windowed(case, gpu, degree, batch, far, reading=False):
    """The reason against a replica that works off a window, and the replicas that are done in time."""
    context, band = ("prompt", "replica_prefill_seconds") if reading else (LAWS["mean_context"], "request_seconds")
    here = place(case, gpu, degree, batch)
    held = here.but(context=limit(here, "prompt") if reading else context)
    full = limit(here, "prompt") if reading else limit(here, "prompt") + limit(here, "output")
    against = first_broken([
        ("the model does not split that way", here("split_misfits") == 0),
        ("memory", batch <= here.but(context=full)("concurrency"))])
    pace = moved(bands.factors(held, LAWS[band]), far)
    alone = held("replica_prefill_seconds") * pace
    each = alone if reading else alone + limit(here, "output") * held("replica_pass_seconds") * pace / batch
    work = rule.value_of(held, "window_requests") * each / (limit(here, "window_hours") * 3600)
    return against, None if against else math.ceil(work)


def fleets(case, kind, tables, axes, far):
    """What each choice costs by degree and offer, and the furthest reason by GPU, by plain loops."""
    work = {"serve": served, "offline": windowed, "embed": lambda *given: windowed(*given, reading=True)}[kind]
    hours = 730 if kind == "serve" else limit(case, "window_hours")
    order = ["too long", "no rent", "no link", "no path", "the model does not split that way",
             "it does not spread that way", "memory", "the time per token", "the whole answer", "the first token"]
    costs, reasons = {}, {}
    for gpu, degree in itertools.product(tables["cards"]["gpu"], axes["tensor_parallel"]):
        out = unable(case, gpu, tables, kind == "embed")
        tried = [(batch, *((out, None) if out else work(case, gpu, degree, batch, far))) for batch in axes["batch"]]
        able = [(replicas * degree, batch, replicas) for batch, against, replicas in tried if not against]
        if not able:
            furthest = max(order.index(against) for _, against, _ in tried)
            reasons[gpu] = max(reasons.get(gpu, (0, 0)), (0, furthest))
            continue
        replicas = min(able)[2]
        for offer in offers_of(tables):
            if offer["gpu"] == gpu:
                size = offer["gpus_per_server"]
                servers = math.ceil(replicas / (size // degree)) if size >= degree else math.inf
                cost = offer["usd_per_hour"] * size * servers * hours
                checks = [*((name, offer[name] == 0) for name in DOUBTS), ("server", size >= degree), ("joined", True),
                          ("the budget", kind == "serve" or cost <= limit(case, "budget_usd")),
                          ("a month", cost * 730 / hours <= limit(case, "usd_per_month"))]
                checks = [check for check in checks if kind != "serve" or check[0] != "the budget"]
                against = first_broken(checks)
                if against:
                    number = [name for name, _ in checks].index(against)
                    reasons[gpu] = max(reasons.get(gpu, (0, 0)), (1, number))
                else:
                    costs[degree, offer["offer"]] = cost
    able = {offer["gpu"] for offer in offers_of(tables) if any(offer["offer"] == key[1] for key in costs)}
    return costs, {gpu: reason for gpu, reason in reasons.items() if gpu not in able}


FLEETS = {"serve": SERVE, "tight": SERVE | dict(first_token_limit=0.3, token_limit=0.03, answer_limit=12),
          "late": SERVE | dict(first_token_limit=0.12, requests_per_second=0.5, usd_per_month=20000),
          "short answers": SERVE | dict(answer_limit=9, token_limit=1), "dear": SERVE | dict(usd_per_month=11000),
          "batch": BATCH, "images": IMAGES, "a month of images": IMAGES | dict(usd_per_month=2000, window_hours=6),
          "two days": BATCH | dict(window_hours=48, budget_usd=100), "embed": EMBED,
          "long documents": EMBED | dict(prompt=8192, window_requests=10**5),
          "read to the end": BATCH | dict(max_context=1300), "too long": BATCH | dict(max_context=1299)}
AXES = {"tensor_parallel": (1, 2, 4), "attention_parallel": (1,), "pipeline_parallel": (1,), "batch": (1, 4, 12, 48)}


@pytest.mark.parametrize("name", FLEETS)
def test_fleets_are_those_of_plain_loops(name):
    """At the share of cases that the job is planned for and at both ends: the same choices, prices and reasons."""
    case, kind, tables, (first, servers) = asked(**FLEETS[name], cards=CARDS)
    axes = AXES if first.axes["batch"] != (1,) else AXES | {"batch": (1,)}
    chain = first._replace(axes=axes), servers
    solved = rule.solve(chain, case, tables, answer.judged(case))
    for end, far in {"plan": answer.judged(case), "low": -1, "high": 1}.items():
        costs, reasons = fleets(case, kind, tables, axes, far)
        assert kept_of(solved, kind, end) == pytest.approx(costs, rel=1e-12)
        if end == "plan":
            lost = answer.nearest(solved[end], chain, case)
            assert {gpu: (each.step, chain[each.step].limits.index(each.limit)) for gpu, each in lost.items()} == reasons
    table = answer.ranked(solved, kind)
    assert rule.count(table) == len(kept_of(solved, kind))
    if rule.count(table):
        assert table[jobs.JOBS[kind].objective][0] == min(kept_of(solved, kind).values())


def cluster(case, gpu, size, count):
    """The case on so many GPUs in servers of that size, with the links and the network as the catalogue has them."""
    card, network = catalogue.gpu(gpu), catalogue.link(NETWORKS[size >= SERVER])
    return case.but(gpu=gpu, latency=catalogue.link(card.link), network_bandwidth=network.link_bandwidth, gpus=count,
                    network_latency=network.latency, gpus_per_node=size)


def broken_rules(case, gpus, size, layout):
    """Whether a layout is none, by the rules of the pages."""
    degrees = {name: layout[name] for name in DEGREES if name in layout}
    rules = layout_rules(case.rows["model"], sequence=limit(case, "sequence"), **degrees)
    tensor, whole = layout["tensor_parallel"], math.prod(degrees[name] for name in degrees if name != "expert_parallel")
    return not (all(rule[-1] for rule in rules) and whole == gpus
                and (gpus <= size or size % tensor == 0 or tensor % size == 0)
                and layout["data_parallel"] * layout["micro_batch"] * layout["micro_batches"] == limit(case, "global_batch"))


def layouts(case, gpu, size, count, axes):
    """Each layout of a run: the limit against it, its step in seconds and its bytes, each as low, plan and high."""
    here = cluster(case, gpu, size, count)
    excess = max(count / size - 16, 0) if size < SERVER else 0
    early = first_broken([(2, catalogue.gpu(gpu)["peak_format"] == "BF16"), (3, size <= limit(case, "gpus")), (4, excess == 0)])
    for values in itertools.product(*axes.values()):
        layout = dict(zip(axes, values))
        split = layout["tensor_parallel"] * layout["pipeline_parallel"] * layout["context_parallel"]
        data = max(count // split, 1)
        layout |= dict(data_parallel=data, sequence_parallel=int(layout["tensor_parallel"] > 1),
                       micro_batches=max(limit(case, "global_batch") // (data * layout["micro_batch"]), 1))
        if early or broken_rules(case, count, size, layout):
            yield early or 5, None, None
            continue
        each = here.but(**layout)
        steps, room = (max(each.but(last_stage=last)(law) for last in (0, 1)) for law in ("step_seconds", "training_bytes"))
        seconds, held = ([value * factor for factor in bands.factors(each, LAWS[law])]
                         for value, law in ((steps, "step_seconds"), (room, "training_bytes")))
        yield 7 if held[2] <= catalogue.gpu(gpu)["memory_bytes"] else 6, seconds, held


def assumption(name, far):
    row = catalogue.assumptions().loc[name]
    return moved((row["high"], row["likely"], row["low"]), far)


def run(case, offer, gpus, seconds, far):
    """Days and USD of a run in steps of so many seconds, (low, plan, high), on an offer."""
    shares = planned_mfu().loc[offer["gpu"]]
    tokens, epochs, steps = case.inputs["training_tokens"], case.inputs.get("epochs", 1), []
    adapters = int(case.rows["recipe"]["lora_rank"] > 0)
    peak, machines = catalogue.gpu(offer["gpu"])["peak_flops"], gpus / offer["gpus_per_server"]
    for end in (far, 0):
        layout = tokens * epochs / (limit(case, "global_batch") * limit(case, "sequence")) * moved(seconds, end) * gpus / 3600
        mfu = moved((shares["high"], shares["plan"], shares["low"]), end)
        published = 6 * case("active_params") * tokens * epochs * (1 - adapters / 3) / (peak * mfu) / 3600
        rate = gpus / assumption("gpu_failure_seconds", end)
        rate += offer["spot"] * machines / assumption("machine_interruption_seconds", end)
        steps.append((max(layout, published), case.but(interruption_seconds=1 / rate)("interruption_slowdown")))
    (hours, slow), (likely, usual) = steps
    ratio = math.exp(math.copysign(math.hypot(math.log(hours / likely), math.log(slow / usual)), far))
    paid = likely * usual * ratio + gpus * case.inputs["restart_seconds"] / 3600
    term = offer["reserved"] * gpus * offer["reserved_years"] * 8760
    return paid / gpus / 24, max(paid, term) * offer["usd_per_hour"]


RUNS = {"pretrain": TRAIN, "a week on many": TRAIN | dict(deadline_days=2, training_tokens=2 * 10**10, gpus=24),
        "poor": TRAIN | dict(budget_usd=600), "none": TRAIN | dict(budget_usd=1), "twice over": TRAIN | dict(epochs=2, sure=0.5),
        "lora": LORA, "full": LORA | dict(job="finetune", model="Llama-3-70B")}


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_those_of_plain_loops(name):
    case, kind, tables, chain = asked(**RUNS[name], provider="AWS, Lambda, GCP",
                                      cards="H100 SXM 80GB, L40S 48GB, T4 16GB, TPU v5p 95GB, GH200 96GB")
    tables |= dict(stages=(1, 4), micro_batches_tried=(1, 4))
    axes = chain[0].axes | {"tensor_parallel": (1, 2)}
    chain = chain[0]._replace(axes=axes), chain[1]
    values = {key: [int(each) for each in (tables[held] if isinstance(held, str) else held)] for key, held in axes.items()}
    ends, costs, reasons = {"plan": 0, "low": -1, "high": 1}, {end: {} for end in rule.ENDS}, {}
    kinds = zip(*(tables["clusters"][name] for name in ("gpu", "gpus_per_server", "gpus")))
    for gpu, size, gpus in ((gpu, int(size), int(gpus)) for gpu, size, gpus in kinds):
        rented = gpu in tables["offers"]["gpu"]
        tried = list(layouts(case, gpu, size, gpus, values)) if rented else [(0, None, None)]
        able = [(seconds[1], room[1], seconds) for against, seconds, room in tried if against == 7]
        if not able:
            reasons[gpu] = max(reasons.get(gpu, (0, 0)), (0, max(against for against, *_ in tried)))
            continue
        seconds = min(able)[2]
        for offer in offers_of(tables):
            if offer["gpu"] == gpu and offer["gpus_per_server"] == size:
                late, usd = run(case, offer, gpus, seconds, answer.judged(case))
                checks = [*(offer[name] == 0 for name in DOUBTS), late <= limit(case, "deadline_days"),
                          usd <= limit(case, "budget_usd")]
                if all(checks):
                    for end, far in ends.items():
                        costs[end][gpus, offer["offer"]] = run(case, offer, gpus, seconds, far)[1]
                else:
                    reasons[gpu] = max(reasons.get(gpu, (0, 0)), (1, checks.index(False)))
    solved = rule.solve(chain, case, tables, answer.judged(case))
    for end in ends:
        assert kept_of(solved, kind, end) == pytest.approx(costs[end], rel=1e-9)
    able = {tables["offers"]["gpu"][key[1]] for key in costs["plan"]}
    lost = answer.nearest(solved["plan"], chain, case)
    assert {gpu: (each.step, chain[each.step].limits.index(each.limit)) for gpu, each in lost.items()} == {
        gpu: reason for gpu, reason in reasons.items() if gpu not in able}


# Against the pages, which search the same

PAGES = {"the page on serving": dict(model="Llama-3-70B", prompt=500, output=200, requests_per_second=1000 / 60, answer_limit=5),
         "a chat": dict(model="Llama-3-70B", weight_format="FP8", cache_element_bytes=1, prompt=1000, output=300, answer_limit=20,
                        requests_per_second=10, first_token_limit=1, token_limit=0.05),
         "a small model": dict(model="Llama-3-8B", prompt=1000, output=300, requests_per_second=300, first_token_limit=0.5)}
FREE = dict.fromkeys(("first_token_limit", "token_limit", "answer_limit"), math.inf)


@pytest.mark.parametrize("name", PAGES)
def test_fleets_are_those_of_the_page(name):
    """GPUs of each card and degree at the plan and both ends, batch and replicas, on all cards that have the format."""
    given = FREE | PAGES[name]
    case = answer.completed(Case(job="serve", sure=0.5, **given))
    own = {key: value for key, value in given.items() if key not in FREE}
    points = capacity.search(
        Case(efficiency="achieved", context=LAWS["mean_context"], **own, **capacity.ENGINE),
        capacity.linked_gpus("H100 SXM 80GB", given.get("weight_format"), given.get("cache_element_bytes")),
        capacity.allowed_degrees(case.rows["model"]))
    gpus = points["gpu"].unique()
    assert {"V100 SXM 16GB", "T4 16GB"} <= {*gpus} or "weight_format" in PAGES[name]
    plans = capacity.plans(points, given["requests_per_second"], **{key: given[key] for key in FREE})
    held = cards(case, {"gpu": np.array(gpus, object)})
    solved = rule.solve(jobs.JOBS["serve"].chain[:1], case, {"cards": held, "assumed": {}} | replica_degrees(case, held))
    found = {end: {(gpu, degree): rest for gpu, degree, *rest in zip(*(table.kept[column] for column in (
        "gpu", "tensor_parallel", "planned_gpus", "batch", "planned_replicas")))} for end, table in solved.items()}
    for row in plans.itertuples():
        key = row.gpu, row.tensor_parallel
        assert [found[end].get(key, [math.inf])[0] for end in ("low", "plan", "high")] == [row.low_gpus, row.gpus, row.high_gpus]
        if row.gpus < math.inf:
            assert found["plan"][key][1:] == [row.batch, row.replicas]


def test_bills_are_those_of_the_page():
    """The cheapest firm servers of each card and degree, up to the page's most servers, and the bill at both ends."""
    given = PAGES["a chat"]
    month = Case(efficiency="achieved", context=LAWS["mean_context"], requests_per_month=10**7, peak_factor=2.5, **capacity.ENGINE,
                 **{key: value for key, value in given.items() if key != "requests_per_second"})
    points = capacity.search(month, capacity.linked_gpus("H100 SXM 80GB", "FP8", 1), (1, 2, 4, 8))
    plans = token_offers.month_plans(points, BOOK, "on-demand", month)
    case, kind, tables, chain = asked(job="serve", sure=0.5, **given | dict(requests_per_second=month("requests_per_second")))
    table = pd.DataFrame(answer.ranked(rule.solve(chain, case, tables), kind))
    table = table[table["rented_gpus"] <= token_offers.SERVERS[-1] * table["gpus_per_server"]]
    found = table.drop_duplicates(["gpu", "tensor_parallel"]).set_index(["gpu", "tensor_parallel"])
    allowed = ~plans["gpu"].map(forbidden(catalogue.gpus()))
    plans = plans[plans["firm"] & allowed].set_index(["gpu", "tensor_parallel"])
    assert {*found.index} == {*plans.index} and found.index[0] == plans.index[0]
    bill = "serving_usd_per_month"
    for column in (bill, f"low_{bill}", "rented_gpus"):
        assert found[column].to_dict() == pytest.approx(plans[column].to_dict(), rel=1e-12)


@pytest.mark.parametrize("job", ["pretrain", "lora"])
def test_the_surer_a_run_the_fewer_choices_and_no_other_figures(job):
    """A choice that keeps its limits more surely is the same choice: its plan is the median and its band goes around it."""
    given = {"pretrain": TRAIN | dict(deadline_days=2), "lora": LORA | dict(deadline_days=0.5)}[job]
    found = {}
    for sure in (0.5, 0.8, 0.9, 0.95):
        case, kind, tables, chain = asked(**given, sure=sure, cards=SOME)
        table = answer.ranked(rule.solve(chain, case, tables, answer.judged(case)), kind)
        assert (table["sure_training_days"] <= limit(case, "deadline_days")).all()
        assert (table["low_compute_usd"] <= table["compute_usd"]).all()
        assert (table["compute_usd"] <= table["high_compute_usd"]).all()
        assert np.isfinite(table["high_compute_usd"]).all()
        assert (table["training_days"] <= table["sure_training_days"] * (1 + 1e-12)).all()
        found[sure] = dict(zip(zip(table["gpus"], table["row"]), table["compute_usd"]))
    for sure, less in itertools.pairwise(found):
        assert found[less].items() <= found[sure].items()
    assert 0 < len(found[0.95]) < len(found[0.5])


def test_a_window_is_busy_as_planned():
    """Its replicas differ at the ends of the band, so their hours there would be no band."""
    found = answer.answer(Case(**BATCH, sure=0.9, cards=SOME), BOOK)
    low, plan, high = found.figures["long"][:3]
    assert low == plan == high == found.best["busy_hours"] <= 24


# What becomes of the cards

NAMED = "H100 SXM 80GB, GH200 96GB, T4 16GB, TPU v5p 95GB"


@pytest.mark.parametrize("given", [SERVE, BATCH, EMBED, IMAGES, TRAIN, LORA], ids=lambda given: given["job"])
def test_every_card_that_is_named_has_a_choice_or_a_reason(given):
    found = answer.answer(Case(**given, cards=NAMED), BOOK)
    assert {*found.kept["gpu"], *found.lost} == set(NAMED.split(", "))
    assert found.lost["GH200 96GB"].limit.of == "unrented"
    if found.kind == "train":
        assert found.lost["TPU v5p 95GB"][2:4] == (384, limit(found.case, "gpus"))


GRPO = dict(job="grpo", model="Llama-3-8B", rollout_steps=100, output=500, output_p95=0)


@pytest.mark.parametrize("given, every", [(SERVE, 1), (TRAIN, 1), (BATCH, 9), (EMBED, 9), (IMAGES, 9), (LORA, 9), (GRPO, 9)], ids=str)
def test_every_card_alone_has_a_choice_or_a_reason(given, every):
    """Also one that nobody rents out on these terms: it is a row, as it is beside others."""
    for card in [*rows("gpus")][::every]:
        case, _, tables, steps = asked(**given, cards=card)
        found = rule.solve(steps, case, tables, answer.judged(case), ("plan",))["plan"]
        lost = answer.nearest(found, steps, case)
        assert {*found.kept.get("gpu", ()), *lost} == {card}
        assert (card in tables["offers"]["gpu"]) != (card in lost and lost[card].limit.of == "unrented"), card


READ = [(SERVE, dict(prompt=7892), 8192), (SERVE, dict(prompt=7893), 8193), (SERVE, dict(prompt=7893, max_context=8193), 8193),
        (SERVE, dict(prompt=4000, prompt_p95=8000), 8300), (SERVE, dict(output_p95=1000), 2000), (BATCH, dict(prompt=8000, output=193), 8193),
        (BATCH, dict(prompt=8000, output=192), 8192), (EMBED, dict(prompt=8192), 8192), (EMBED, dict(prompt=8193), 8193),
        (IMAGES, dict(prompt=9000), 9010)]


@pytest.mark.parametrize("given, more, asked_for", READ, ids=str)
def test_a_model_reads_what_its_context_holds(given, more, asked_for):
    """8,192 tokens of Llama-3: prompt and answer together, the long ones where a case knows them; of a document it reads all."""
    case, _, tables, steps = asked(**given | dict(model="Llama-3-8B", cards="H100 SXM 80GB, GH200 96GB") | more)
    most, found = more.get("max_context", 8192), rule.solve(steps, case, tables, 0.0, ("plan",))["plan"]
    lost = {gpu: each[1:] for gpu, each in answer.nearest(found, steps, case).items() if each.limit.most == "most_context"}
    assert {gpu: (value, limit) for gpu, (_, value, limit, _) in lost.items()} == (
        dict.fromkeys(("H100 SXM 80GB", "GH200 96GB"), (asked_for, most)) if asked_for > most else {})
    assert rule.count(found.kept) == 0 or asked_for <= most


def test_a_model_whose_context_is_not_known_has_no_limit():
    for blank in ({"max_context": math.nan}, {}):
        row = {name: value for name, value in catalogue.model("Llama-3-8B").items() if name != "max_context"} | blank
        case, _, tables, steps = asked(**EMBED | dict(model=type(catalogue.model("Llama-3-8B"))(row, "mine", "model"), prompt=10**6))
        assert set(tables["cards"]["most_context"]) == {math.inf}
        assert not any(lost.limit.of == "prompt" for lost in answer.nearest(rule.solve(steps, case, tables)["plan"], steps, case).values())


def test_a_case_on_whose_terms_nobody_rents_out_any_card_says_so():
    with pytest.raises(MissingPrice, match="provider 'Nobody'"):
        answer.answer(Case(**SERVE, cards="H100 SXM 80GB", provider="Nobody"), BOOK)


@pytest.mark.parametrize("given", [SERVE | dict(weight_format="FP16"), TRAIN], ids=lambda given: given["job"])
def test_a_card_with_an_unknown_link_says_so_and_changes_nothing(given):
    """Beside the same card with a link, whose choices stay as they are."""
    one = answer.answer(Case(**given, cards="H100 SXM 80GB"), BOOK)
    row = BOOK[(BOOK["item"] == "rent") & (BOOK["gpu"] == "H100 SXM 80GB") & (BOOK["term"] == "on-demand")].head(1)
    more = pd.concat([BOOK, row.assign(gpu="Gaudi3 128GB", provider="Elsewhere").rename(index=lambda name: f"{name}, again")])
    more.attrs = BOOK.attrs
    both = answer.answer(Case(**given, cards="H100 SXM 80GB, Gaudi3 128GB"), more)
    assert {gpu: lost.limit.of for gpu, lost in both.lost.items()} == {"Gaudi3 128GB": "unlinked"}
    assert both.figures == one.figures and both.kept["row"].tolist() == one.kept["row"].tolist()


# What an input does

# What a case may say that decides nothing here: other ways are those of `plan.ways`, stored data those of `plan.bills`.
ELSEWHERE = {"ways", "corpus_bytes", "data_at"}
# A case in which everything that a job takes counts, and what makes another of it.
FULL = {"serve": dict(daily_users=2e5, messages_per_day=5, busiest_hour_share=0.2, weight_format="BF16", first_token_limit=0.5,
                      token_limit=0.06, answer_limit=16, late_share=0.05, most_load=0.7, spare_replicas=1, usd_per_month=1e6,
                      drafted=2, acceptance=0.6),
        "offline": dict(weight_format="BF16", window_hours=24), "train": dict(training_tokens=10**10, gpus=16, deadline_days=12)}
OTHER = dict(model="Llama-3-70B", cards="L40S 48GB", provider="AWS", term="spot", sure=0.95, weight_format="FP8",
             cache_element_bytes=1, max_context=500, requests_per_second=1, daily_users=1e6, messages_per_day=20, busiest_hour_share=0.5,
             prompt=333, output=33, cached_share=0.5, first_token_limit=1e-6, token_limit=1e-6, answer_limit=1e-6,
             late_share=1e-6, most_load=0.1, spare_replicas=9, usd_per_month=1, budget_usd=0.01, deadline_days=1e-3, window_hours=1, window_requests=10**9,
             images_per_day=10**9, training_tokens=10**12, epochs=3, sequence=1024, global_batch=256, gpus=8, lora_rank=128,
             recipe="fp32-adamw", runs=3, prompt_p95=2500, output_p95=800, prompt_chunk=256, tensor_parallel=2, attention_parallel=2,
             pipeline_parallel=2, prompts_apart=1, drafted=4, acceptance=0.9, preference_pairs=10**6, references=0, rollout_steps=500,
             prompts_per_step=16, group_size=4, output_limit=4000, critic=1, staleness=0, offloaded_states=0)
TAKEN = {job: [name for name in f"{row['needs']} {row['takes']}".replace("|", " ").split() if name not in ELSEWHERE]
         for job, row in rows("jobs").items() if row["kind"] != "own"}


@functools.cache
def told(job, **changes):
    """What an answer says: its choices, what they cost, and where the others stopped."""
    row = rows("jobs")[job]
    held = FULL[row["kind"]] | {"window_requests": 10**7} if job in ("batch", "embed") else FULL[row["kind"]]
    held |= {"images_per_day": 10**8} if job == "images" else {}
    held |= dict(preference_pairs=10**5, recipe="lora", deadline_days=0.5) if job == "dpo" else {}
    held |= dict(rollout_steps=50, output=1000, output_p95=3000, output_limit=8000, recipe="lora", deadline_days=0.5) if job == "grpo" else {}
    for one, other in (("requests_per_second", "daily_users"), ("window_requests", "images_per_day")):
        left = {other, "messages_per_day"} if one in changes else ()
        held = {name: value for name, value in held.items() if name not in left}
    held = {"job": job, "model": "Llama-3-8B", "cards": "H100 SXM 80GB, L40S 48GB"} | held | changes
    with patch.object(answer, "helping"):  # takes most of the time, and is not compared
        found = answer.answer(case_file.case_of({name: value for name, value in held.items() if name in ["job", *TAKEN[job]]}), BOOK)
    costs = [found.kept[f"{end}{found.objective}"].tolist() if found.best else [] for end in ("", "low_", "high_")]
    return costs, found.figures, sorted((gpu, lost.limit.of, lost.value, lost.most) for gpu, lost in found.lost.items())


@pytest.mark.parametrize("job, name", [(job, name) for job, names in TAKEN.items() for name in names])
def test_no_input_that_a_job_takes_is_ignored(job, name):
    value = "us-east-1" if name == "region" else dict(output=1500, output_p95=2500).get(name, OTHER[name]) if job == "grpo" else OTHER[name]
    tight = {"first_token_limit": 0.08} if name == "prompt_p95" else {}
    assert told(job, **tight, **{name: value}) != told(job, **tight)


# What holds of any choice

JOBS = {"serve": SERVE, "offline": BATCH, "embed": EMBED, "train": TRAIN, "lora": LORA}
SOME = "H100 SXM 80GB, L40S 48GB, B200 SXM 180GB, H200 SXM 141GB, A100 SXM 80GB, T4 16GB"
every_job = pytest.mark.parametrize("job", JOBS)


@functools.cache
def situation(job):
    """A job on some cards: the whole case, its kind, its market and its chain."""
    return asked(**JOBS[job], cards=SOME)


def best(case, kind, tables, chain):
    """The best choice of a market by the price and what tells it apart; None where there is none."""
    table = answer.ranked(rule.solve(chain, case, tables, answer.judged(case)), kind)
    return {name: column[0] for name, column in table.items()} if rule.count(table) else None


def objective(case, kind, tables, chain):
    found = rule.solve(chain, case, tables, answer.judged(case), ("plan",))["plan"].kept
    return found[jobs.JOBS[kind].objective].min() if rule.count(found) else math.inf


def named(choice, kind):
    return tuple(choice[name] for name in ("gpu", "gpus" if kind == "train" else "tensor_parallel", "provider", jobs.JOBS[kind].objective))


LIMITS = {"serve": dict(first_token_limit=(0.1, 2), token_limit=(0.01, 0.2), answer_limit=(3, 60), usd_per_month=(3e3, 1e5),
                        late_share=(0.01, 0.2), most_load=(0.4, 1)),
          "offline": dict(window_hours=(1, 48), budget_usd=(10, 1e4)), "embed": dict(window_hours=(1, 48), budget_usd=(10, 1e4)),
          "train": dict(deadline_days=(0.5, 40), budget_usd=(100, 3000)),
          "lora": dict(deadline_days=(0.05, 2), budget_usd=(5, 99))}
# Days of a window are paid to its end: more hours on fewer replicas are not always cheaper.
PAID = ("window_hours",)


@every_job
@settings(max_examples=8)
@given(data=st.data())
def test_a_looser_limit_costs_no_more(job, data):
    case, kind, tables, chain = situation(job)
    held = case.but(**{name: data.draw(st.floats(*ends), name) for name, ends in LIMITS[job].items()})
    name = data.draw(st.sampled_from([name for name in LIMITS[job] if name not in PAID]))
    value = held.inputs[name] * data.draw(st.floats(1, 3), "times")
    loose = held.but(**{name: min(value, 1) if name == "most_load" else value})
    assert objective(loose, kind, tables, chain) <= objective(held, kind, tables, chain) * (1 + 1e-9)


def with_rival(tables, gpu, better, price):
    """The market with one more card: a copy of this one, better in these columns so many times, at that share of its rents."""
    name, grown = "clusters" if "clusters" in tables else "cards", {}
    for table, changes in ((name, better), ("offers", {"usd_per_hour": price})):
        held, grown[table] = tables[table], {}
        copied = held["gpu"] == gpu
        for column, values in held.items():
            new = values[copied]
            if column in ("gpu", "kind"):
                new = np.array([f"better {each}" for each in new], object)
            new = new + len(values) if column == "offer" else new * changes[column] if column in changes else new
            grown[table][column] = np.concatenate([values, new])
    return tables | grown


@every_job
@settings(max_examples=6)
@given(data=st.data())
def test_a_better_and_cheaper_card_is_taken(job, data):
    """In memory, bandwidth, peaks and link; in servers of the same sizes. Then it costs no more in any choice of the other."""
    case, kind, tables, chain = situation(job)
    first = best(case, kind, tables, chain)
    gains = st.sampled_from([1, 1.01, 1.5, 4])
    columns = {name: data.draw(gains, name) for name in ("memory_bytes", "bandwidth", "peak_flops", "port_bandwidth")}
    columns |= {"narrow_flops": columns["peak_flops"], "beyond_bandwidth": columns["port_bandwidth"]}
    grown = with_rival(tables, first["gpu"], columns, data.draw(st.floats(0.5, 0.999), "price"))
    assert best(case, kind, grown, chain)["gpu"] == f"better {first['gpu']}"
    solved = rule.solve(chain, case, grown, answer.judged(case))["plan"].kept
    keys = zip(solved["gpu"], solved["gpus" if kind == "train" else "tensor_parallel"], solved["offer"])
    costs = dict(zip(keys, solved[jobs.JOBS[kind].objective]))
    for (gpu, degree, _), cost in costs.items():
        if gpu == first["gpu"]:
            rivals = [usd for (name, each, _), usd in costs.items() if name == f"better {gpu}" and each == degree]
            assert min(rivals) < cost


@every_job
def test_the_order_of_a_market_changes_nothing(job):
    case, kind, tables, chain = situation(job)
    first, generator = best(case, kind, tables, chain), np.random.default_rng(1)
    for _ in range(3):
        mixed = {name: rule.taken(table, generator.permutation(len(table["gpu"]))) if "gpu" in table else table
                 for name, table in tables.items()}
        assert named(best(case, kind, mixed, chain), kind) == named(first, kind)


@every_job
def test_what_is_lost_changes_nothing(job):
    """Without the cards that are out, by the market or by the case, all that is left stands as before."""
    case, kind, tables, chain = situation(job)
    most = "usd_per_month" if kind == "serve" else "budget_usd"
    table = rule.solve(chain, case, tables, answer.judged(case))["plan"].kept
    tight = case.but(**{most: np.sort(table.get(f"sure_{jobs.JOBS[kind].objective}", table[jobs.JOBS[kind].objective]))[3]})
    solved = rule.solve(chain, tight, tables, answer.judged(tight))
    out = set(answer.nearest(solved["plan"], chain, tight))
    assert len(out) > 1 and len(kept_of(solved, kind)) >= 4
    left = {name: rule.taken(table, ~np.isin(table["gpu"], [*out])) if "gpu" in table else table
            for name, table in tables.items()}
    assert kept_of(rule.solve(chain, tight, left, answer.judged(tight)), kind) == kept_of(solved, kind)
    whole, _, tables_left, _ = asked(**JOBS[job], cards=", ".join(each for each in SOME.split(", ") if each not in out))
    assert named(best(tight.but(cards=whole.rows["cards"]), kind, tables_left, chain), kind) == named(
        best(tight, kind, tables, chain), kind)


@every_job
def test_the_best_offer_stays_so_for_less(job):
    case, kind, tables, chain = situation(job)
    first = best(case, kind, tables, chain)
    for share in (0.99, 0.5, 0.01):
        rates = np.where(tables["offers"]["offer"] == first["offer"], share, 1) * tables["offers"]["usd_per_hour"]
        cheaper = best(case, kind, tables | {"offers": tables["offers"] | {"usd_per_hour": rates}}, chain)
        assert cheaper["offer"] == first["offer"]
        assert cheaper[jobs.JOBS[kind].objective] == pytest.approx(first[jobs.JOBS[kind].objective] * share)


@every_job
@pytest.mark.parametrize("sure", [0.5, 0.8, 0.9])
def test_the_ends_lie_on_both_sides(job, sure):
    """Of every choice, where a number is sought as long as no more than nine in ten are asked for, which is the high end."""
    case, kind, tables, chain = situation(job)
    free = ("deadline_days",) if kind == "train" else ("first_token_limit", "token_limit") if kind == "serve" else ()
    held = case.but(sure=sure, **dict.fromkeys(free, math.inf))
    table = answer.ranked(rule.solve(chain, held, tables, answer.judged(held)), kind)
    low, plan, high = (table[f"{end}{jobs.JOBS[kind].objective}"] for end in ("low_", "", "high_"))
    assert len(plan) > 5 and (low <= plan * (1 + 1e-12)).all() and (plan <= high * (1 + 1e-12)).all()


@pytest.mark.parametrize("job", ["serve", "offline"])
def test_a_slow_request_is_a_low_rate(job):
    """At either end of the band a replica gives out what its requests take: batch x output / seconds (Little)."""
    case, _, tables, chain = situation(job)
    for solved in rule.solve(chain, case, tables, answer.judged(case)).values():
        table = solved.kept
        assert table["output_tokens_per_second"] == pytest.approx(
            table["batch"] * limit(case, "output") / table["request_seconds"], rel=1e-12)


EXTREMES = [
    *(SERVE | dict(requests_per_second=rate) for rate in (1e-3, 1e6)), SERVE | dict(prompt=1, output=1),
    SERVE | dict(usd_per_month=1),
    *(SERVE | {name: 1e-6} for name in ("first_token_limit", "token_limit", "answer_limit")), SERVE | dict(late_share=1),
    SERVE | dict(model="DeepSeek-V3", weight_format="BF16"), SERVE | dict(sure=0.95),
    *(BATCH | dict(window_requests=count) for count in (1, 10**12)), BATCH | dict(prompt=1, output=1), BATCH | dict(budget_usd=1),
    BATCH | dict(window_hours=1e-3), EMBED | dict(prompt=1), *(TRAIN | dict(training_tokens=count) for count in (1, 10**15)),
    TRAIN | dict(budget_usd=1), TRAIN | dict(deadline_days=1e-3), TRAIN | dict(gpus=1), TRAIN | dict(global_batch=1, sequence=1),
    LORA | dict(sequence=10**6), TRAIN | dict(model="DeepSeek-V3", gpus=8)]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("given", EXTREMES, ids=range(len(EXTREMES)))
def test_an_extreme_case_has_an_answer(given):
    """Every card has a choice or a reason, and every figure is a number."""
    case, kind, tables, chain = asked(**given, cards=SOME)
    solved = rule.solve(chain, case, tables, answer.judged(case))
    table, lost = answer.ranked(solved, kind), answer.nearest(solved["plan"], chain, case)
    assert {*table.get("gpu", ()), *lost} == set(SOME.split(", "))
    assert not any(np.isnan(column).any() for column in table.values() if column.dtype.kind == "f")
    assert all(each.value > each.most >= 0 for each in lost.values())
    shown = answer.figures(case, table, solved, kind) if rule.count(table) else {}
    assert not any(math.isnan(value) for each in shown.values() for value in each[:3])


def test_documents_are_read_one_by_one():
    """A replica reads one document at a time, on all of its GPUs."""
    case, _, tables, chain = asked(**EMBED, cards="H100 SXM 80GB, L40S 48GB")
    kept = rule.solve(chain, case, tables, answer.judged(case), ("plan",))["plan"].kept
    assert len(kept["gpu"]) and set(kept["batch"]) == {1} and set(kept["attention_parallel"]) == {1}


# Tables as columns

def lists(table):
    return {name: column.tolist() for name, column in table.items()}


def test_rows_that_agree_are_joined_in_the_order_of_the_left():
    left = dict(gpu=np.array(["b", "a", "c", "b"], object), size=np.array([1, 2, 3, 4]))
    right = dict(gpu=np.array(["a", "b", "a"], object), usd=np.array([10.0, 20.0, 30.0]))
    assert lists(columns.joined(left, right, "gpu")) == dict(gpu=["b", "a", "a", "b"], size=[1, 2, 2, 4], usd=[20, 10, 30, 20])
    assert lists(columns.joined({}, right)) == lists(right)
    none = columns.joined(left, columns.taken(right, []), "gpu")
    assert columns.count(none) == 0 and list(none) == ["gpu", "size", "usd"]


def test_rows_are_of_one_kind_where_all_columns_agree():
    one, other = np.array(["x", "y", "x", "x", "y"], object), np.array([1, 1, 2, 1, 1])
    assert list(columns.kinds([one, other])) == [0, 1, 2, 0, 1] and list(columns.kinds([other])) == [0, 0, 1, 0, 0]
    # As many values as there are: 3 x 2 combinations that a sum of codes would mix up.
    assert list(columns.kinds([np.array([0, 1, 2, 0, 1, 2]), np.array([0, 0, 0, 1, 1, 1])])) == [0, 1, 2, 3, 4, 5]


def test_tables_are_stacked_with_blanks_and_counted():
    table = dict(a=np.array([1.0, 2.0]), b=np.array([3.0, 4.0]))
    found = columns.stacked([table, {}, dict(a=np.array([5.0]))])
    assert found["a"].tolist() == [1, 2, 5] and found["b"].tolist()[:2] == [3, 4] and math.isnan(found["b"][2])
    assert (columns.count(found), columns.count({}), columns.row(table, 1)) == (3, 0, dict(a=2, b=4))
    assert lists(columns.taken(table, [1, 0, 1])) == dict(a=[2, 1, 2], b=[4, 3, 4])


def test_laws_take_the_numbers_that_they_know():
    table = dict(batch=np.array([1]), flag=np.array([True]), gpus=np.array([2.0]), colour=np.array([3.0]), name=np.array(["x"], object))
    assert list(columns.numbers(table)) == ["batch", "gpus", "colour"] and list(columns.known(table)) == ["batch", "gpus"]
    frame = pd.DataFrame(dict(gpus=[1, 2], reach=[8.0, math.nan], able=[True, False], name=["x", "y"]), pd.Index(["A", "B"], name="gpu"))
    assert lists(columns.of_frame(frame)) == dict(gpus=[1, 2], able=[1, 0], gpu=["A", "B"])
