"""The rule as the page on a run's cost uses it."""
import itertools
import math

import pytest

from book.pages.training_cost import SERVER
from gpucalc.core.law import LAWS
from gpucalc.decisions import answer, jobs, rule
from gpucalc.decisions.market import NETWORKS
from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.laws.sharding import DEGREES, layout_rules
from gpucalc.rows import bands, catalogue
from tests.gpucalc.test_rule import asked, BATCH, EMBED, IMAGES, kept_of, limit, LORA, SERVE, TRAIN

CARDS = "H100 SXM 80GB, L40S 48GB, B200 SXM 180GB, T4 16GB, GH200 96GB"
DOUBTS = ("forbidden", "doubtful_price", "doubtful_term")


def moved(ends, far):
    low, plan, high = map(float, ends)
    return plan * (high / plan) ** far if far >= 0 else plan * (low / plan) ** -far


def offers_of(tables):
    table = tables["offers"]
    return [{name: column[row] for name, column in table.items()} for row in range(len(table["gpu"]))]


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
    times |= {name: timed(name) * reading for name in ("replica_prefill_seconds", "prompt_turn_seconds", "prompt_seconds", "prompt_host_seconds")}
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
            yield early or 6, None, None
            continue
        each = here.but(**layout)
        steps, room = (max(each.but(last_stage=last)(law) for last in (0, 1)) for law in ("step_seconds", "training_bytes"))
        seconds, held = ([value * factor for factor in bands.factors(each, LAWS[law])]
                         for value, law in ((steps, "step_seconds"), (room, "training_bytes")))
        yield 8 if held[2] <= catalogue.gpu(gpu)["memory_bytes"] else 7, seconds, held


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
        steps.append((layout, case.but(interruption_seconds=1 / rate)("interruption_slowdown"), published))
    (hours, slow, published), (likely, usual, _) = steps
    ratio = math.exp(math.copysign(math.hypot(math.log(hours / likely), math.log(slow / usual)), far))
    paid = max(likely * usual * ratio, max(hours, published) * (usual if offer["spot"] else 1)) + gpus * case.inputs["restart_seconds"] / 3600
    # One machine is set up for an hour, and each is paid for an hour at least, or for the term of a reservation.
    least = gpus * (offer["reserved_years"] * 8760 if offer["reserved"] else 1)
    return paid / gpus / 24, max(paid + offer["gpus_per_server"], least) * offer["usd_per_hour"]


RUNS = {"pretrain": TRAIN, "a week on many": TRAIN | dict(deadline_days=2, training_tokens=2 * 10**10, gpus=24),
        "poor": TRAIN | dict(budget_usd=600), "none": TRAIN | dict(budget_usd=1), "twice over": TRAIN | dict(epochs=2, sure=0.5),
        "lora": LORA, "full": LORA | dict(job="finetune", model="Llama-3-70B")}


@pytest.mark.parametrize("name", RUNS)
def test_runs_are_those_of_plain_loops(name):
    case, kind, tables, chain = asked(**RUNS[name], provider="AWS, Lambda, GCP",
                                      cards="H100 SXM 80GB, L40S 48GB, T4 16GB, TPU v5p 95GB, GH200 96GB")
    tables |= dict(pipeline_parallel=(1, 4), micro_batch=(1, 4))
    axes = chain[0].axes | {"tensor_parallel": (1, 2)}
    chain = chain[0]._replace(axes=axes), chain[1]
    values = {key: [int(each) for each in (tables[held] if isinstance(held, str) else held)] for key, held in axes.items()}
    ends, costs, reasons = {"plan": 0, "low": -1, "high": 1}, {end: {} for end in rule.ENDS}, {}
    kinds = zip(*(tables["clusters"][name] for name in ("gpu", "gpus_per_server", "gpus")))
    for gpu, size, gpus in ((gpu, int(size), int(gpus)) for gpu, size, gpus in kinds):
        rented = gpu in tables["offers"]["gpu"]
        tried = list(layouts(case, gpu, size, gpus, values)) if rented else [(0, None, None)]
        able = [(seconds[1], room[1], seconds) for against, seconds, room in tried if against == 8]
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
