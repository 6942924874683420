"""The main figure of a worked case by hand: a few lines of plain arithmetic over the rows of the catalogue and the price book."""
import math
from types import SimpleNamespace
from typing import NamedTuple

from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_HOUR
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS
from gpucalc.decisions import post_training
from gpucalc.decisions.answer import of_choice
from gpucalc.decisions.rule import value_of
from gpucalc.rows.price_book import select
from gpucalc.rows.selections import selection
from . import stores


class Held(NamedTuple):
    """Bytes on one GPU: weights, the cache of all sequences, both, and its memory."""

    weights: float
    cache: float
    need: float
    memory: float


class Load(NamedTuple):
    """Requests a second times the seconds of each are in flight; that over the batch is the least of replicas; and the bill."""

    rate: float
    seconds: float
    flight: float
    batch: float
    least: int
    replicas: float
    usd: float


class Run(NamedTuple):
    """A run: its FLOP, the share of the peak, GPU-hours by that share and by the steps of the layout; by how much stops make them
    more, those that pass until it starts, those paid; days and USD."""

    flops: float
    mfu: float
    hours: float
    layout_hours: float
    stops: float
    start: float
    paid: float
    days: float
    runs: float
    usd: float


@selection
def held(answer):
    """Weights and cache of the best choice of a served load."""
    best, case = answer.best, answer.case
    split, tokens = best["tensor_parallel"], value_of(case, "prompt") + value_of(case, "output")
    weights = case.but(tensor_parallel=1)(LAWS["gpu_weight_bytes"]) / split
    cache = best["batch"] * tokens * case(LAWS["kv_bytes_per_token"]) / split
    return Held(weights, cache, weights + cache, best["memory_bytes"])


@selection
def load(answer):
    """Little's law: what is in flight fills the places of so many replicas; a month of them is GPUs x hours x rent."""
    best, rate = answer.best, value_of(answer.case, "requests_per_second")
    seconds, batch = best["request_seconds"], best["batch"]
    usd = best["rented_gpus"] * HOURS_PER_MONTH * best["usd_per_hour"]
    return Load(rate, seconds, rate * seconds, batch, math.ceil(rate * seconds / batch), best["planned_replicas"], usd)


@selection
def run(answer, choice=None):
    """6 FLOP a parameter and token, 4 where weights are frozen, over the peak times the share that runs of this size reach.

    choice: columns of another choice than the best.
    """
    case, best = answer.case, answer.best if choice is None else choice
    frozen = case(LAWS["adapters"])
    tokens = steps(answer) * value_of(case, "sequence") * value_of(case, "global_batch")
    flops = (4 if frozen else 6) * case(LAWS["active_params"]) * tokens
    hours = flops / (best["peak_flops"] * best["mfu"]) / SECONDS_PER_HOUR
    layout = steps(answer) * best["step_seconds"] * best["gpus"] / SECONDS_PER_HOUR
    start = best["gpus"] * value_of(case, "restart_seconds") / SECONDS_PER_HOUR
    paid = max(hours, layout) * best["interruption_slowdown"] + start
    runs = value_of(case, "runs") if "runs" in case.inputs else 1
    return Run(flops, best["mfu"], hours, layout, best["interruption_slowdown"], start, paid,
               paid / best["gpus"] / HOURS_PER_DAY, runs, paid * best["usd_per_hour"] * runs)


class Bought(NamedTuple):
    """A month from an API: requests of so many messages a person and day, their tokens, prices a million tokens, and USD."""

    messages: float
    requests: float
    prompt: float
    output: float
    input_price: float
    output_price: float
    usd: float


class Images(NamedTuple):
    """A window of images: FLOP and seconds to read one at the peak, seconds to write its label at the bandwidth, hours of all."""

    images: float
    prompt: float
    output: float
    flops: float
    reading: float
    weights: float
    batch: float
    writing: float
    floor_hours: float


@selection
def bought(case, book, provider):
    """Tokens in and out of a month at a provider's list prices."""
    model, people = case.rows["model"].name, value_of(case, "daily_users")
    messages = case.inputs.get("messages_per_day", DEFAULTS["messages_per_day"].value)
    prompt, output = value_of(case, "prompt"), value_of(case, "output")
    prices = [select(book, item=item, provider=provider, sku=model)["price"].min() for item in ("api-input", "api-output")]
    requests = people * messages * HOURS_PER_MONTH / HOURS_PER_DAY
    return Bought(messages, requests, prompt, output, *prices, requests * (prompt * prices[0] + output * prices[1]) / 1e6)


@selection
def images(answer):
    """Reading is 2 FLOP a parameter and token, writing reads the weights once a pass for all that are in hand."""
    case, best = answer.case, answer.best
    count, prompt, output = (value_of(case, name) for name in ("window_requests", "prompt", "output"))
    flops, weights = 2 * case(LAWS["params"]) * prompt, held(answer).weights
    reading, writing = flops / best["peak_flops"], output * weights / best["bandwidth"] / best["batch"]
    hours = count * (reading + writing) / best["window_replicas"] / SECONDS_PER_HOUR
    return Images(count, prompt, output, flops, reading, weights, best["batch"], writing, hours)


class Data(NamedTuple):
    """The data of some runs: bytes of it, months of the runs, USD to keep it and to pull it on every run or once; bytes of the
    text that a run reads, and USD to pull that alone on every run."""

    corpus: float
    months: int
    kept: float
    every: float
    once: float
    text: float
    sample: float


@selection
def data(answer, book):
    """By the tiers of where the data is; the runs follow each other."""
    case, place = answer.case, answer.case.rows["data_at"].name
    corpus, runs = value_of(case, "corpus_bytes"), value_of(case, "runs")
    months = math.ceil(runs * answer.best["training_days"] * HOURS_PER_DAY / HOURS_PER_MONTH)
    tiers, text = stores.egress_tiers(book, place), case(LAWS["text_bytes"])
    kept = stores.stored_usd(stores.storage_tiers(book, place), corpus, months)
    leaving = (runs * corpus, months), (corpus, 1), (runs * text, months)
    every, once, sample = (float(stores.tiered_usd(tiers, size, over)) for size, over in leaving)
    return Data(corpus, months, float(kept), every, once, text, sample)


@selection
def steps(answer):
    """Steps of a run: its tokens over those of a step."""
    case = answer.case
    tokens = value_of(case, "training_tokens") * (value_of(case, "epochs") if "epochs" in case.inputs else 1)
    return tokens / (value_of(case, "sequence") * value_of(case, "global_batch"))


@selection
def quantized(answer):
    """Bytes of the whole model's weights as the recipe keeps them."""
    return answer.case.but(tensor_parallel=1, pipeline_parallel=1)(LAWS["held_weight_bytes"])


class Rollouts(NamedTuple):
    """A step of GRPO: its answers, their mean and longest tokens; engines, their GPUs, places and passes, seconds of a pass and
    of all; FLOP of learning, seconds of them at the peak and by the formulas; the step, the planned step, the share of writing;
    steps of the run, GPU-hours of the planned steps, those paid, and USD."""

    answers: float
    output: float
    longest: float
    engines: float
    parallel: float
    places: float
    passes: float
    pass_seconds: float
    writing: float
    flops: float
    at_peak: float
    learning: float
    step: float
    planned: float
    share: float
    steps: float
    hours: float
    paid: float
    usd: float


@selection
def rollouts(answer):
    """Passes of the engines are as many as the longest answer has tokens, or more in rounds; learning is 6 FLOP a parameter and
    token, and 2 for each score."""
    case, best = answer.case, answer.best
    held = of_choice(case, best).but(**post_training.WRITING).terms("rollout_share")
    output, count = value_of(case, "output"), value_of(case, "rollout_steps")
    scores = value_of(case, "references") + value_of(case, "old_scores")
    tokens = held["step_answers"] * (value_of(case, "prompt") + output)
    flops = (6 + 2 * scores) * case(LAWS["active_params"]) * tokens
    trainer = best["gpus"] * best["trainer_share"]
    hours = count * best["grpo_step_seconds"] * best["gpus"] / SECONDS_PER_HOUR
    start = best["gpus"] * value_of(case, "restart_seconds") / SECONDS_PER_HOUR
    paid = hours * best["interruption_slowdown"] + start
    return Rollouts(
        held["step_answers"], output, held["longest_answer"], held["rollout_engines"], best["rollout_parallel"],
        held["rollout_places"], held["rollout_passes"], held["rollout_pass_seconds"], held["rollout_seconds"], flops,
        flops / (best["peak_flops"] * trainer), held["learning_seconds"], held["grpo_step_seconds"], best["grpo_step_seconds"],
        held["rollout_share"], count, hours, paid, paid * best["usd_per_hour"])


@selection
def split(answer, shared):
    """The best choice in which all GPUs write and train in turn, or in which some only write; None without one."""
    places = [place for place, share in enumerate(answer.kept["trainer_share"]) if (share == 1) == shared]
    return SimpleNamespace(**{name: column[places[0]] for name, column in answer.kept.items()}) if places else None
