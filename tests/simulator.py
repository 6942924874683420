"""Continuous batching, event by event: what the closed forms of the queue are held against.

Requests come at random to replicas, each to the one that vLLM's balancer would take, and wait there for a place of the batch. A
prompt is read in a pass of its own before the next token (`own`), in chunks beside the batch (`chunked`), or on replicas for
prompts alone, from where its cache is sent over (`apart`). Passes take what the formulas of a pass say at the batch and context
that run, times a `pace`: so this checks the queue, not the kernels.

`python -m tests.simulator` writes data/simulated.csv.
"""
import csv
import datetime
import heapq
import itertools
import math
from collections import deque

import numpy as np
import simpy

from gpucalc.core.evaluate import Case
from gpucalc.core.quantities import DATA
from gpucalc.laws.serving import mean_context
from gpucalc.plan import answer, capacity
from gpucalc.plan.points import value_of
from gpucalc.rows import price_book
from gpucalc.rows.case_file import read_case

MODES = ("own", "chunked", "apart")
_CONTEXTS, _CHUNKS = 64, 8
_Z = 1.6448536269514722  # of a p95
# What a plan's pace makes longer: all times of a replica, as in `capacity.paced`.
PACED = ("replica_prefill_seconds", "replica_pass_seconds", "prompt_turn_seconds", "prompt_seconds", "speculative_seconds",
         "time_per_output_token", "request_seconds")


def drawn(mean, p95, size, generator, least=1):
    """Lengths: all alike where `p95` is 0, else of a lognormal with that mean and 95th percentile."""
    if not p95:
        return np.full(size, mean)
    sigma = _Z - math.sqrt(_Z**2 - 2 * math.log(p95 / mean))
    return np.maximum(np.rint(generator.lognormal(math.log(mean) - sigma**2 / 2, sigma, size)), least).astype(int)


class Passes:
    """Times of passes by their batch, mean context and chunk, as tables of the formula; and those of whole prompts."""

    def __init__(self, case, longest, chunk=0, pace=1.0):
        self.batch, self.chunk, self.case, self.pace = int(case.inputs["batch"]), chunk, case, pace
        self.step = math.ceil(longest / (_CONTEXTS - 1))
        sizes, contexts = np.arange(self.batch + 1.0), np.maximum(np.arange(_CONTEXTS) * self.step, 1.0)
        chunks = np.arange(_CHUNKS + 1) * chunk / _CHUNKS if chunk else np.zeros(1)
        part, size, context = (axis.ravel() for axis in np.meshgrid(chunks, np.maximum(sizes, 1), contexts, indexing="ij"))
        times = pace * case.but(batch=size, context=context, chunk=part)("replica_pass_seconds")
        self.times = times.reshape(len(chunks), len(sizes), _CONTEXTS).tolist()

    def seconds(self, batch, tokens, chunk=0):
        """A pass of so many sequences with so many tokens in all their contexts, and of a chunk."""
        part = math.ceil(chunk / self.chunk * _CHUNKS) if chunk else 0
        return self.times[part][batch][min(round(tokens / max(batch, 1) / self.step), _CONTEXTS - 1)]

    def prompts(self, lengths):
        """The time of each prompt in a pass of its own."""
        alone = self.pace * self.case.but(prompt=lengths.astype(float))("replica_prefill_seconds")
        return np.broadcast_to(alone, len(lengths)).tolist()


class Request:
    """One request: its lengths, when it came, had its first token and ended."""

    __slots__ = ("came", "ended", "first", "left", "output", "prompt", "read")

    def __init__(self, came, prompt, output, read):
        self.came, self.prompt, self.output, self.read, self.left = came, prompt, output, read, prompt


class Replica:
    """A replica at work: `waiting` are requests without a place, `ends` the passes in which those inside end."""

    def __init__(self, env, passes, after=None, prompts=True):
        self.env, self.passes, self.after, self.prompts = env, passes, after, prompts
        self.waiting, self.reading, self.ends, self.tokens, self.made, self.rest = deque(), deque(), [], 0, 0, None
        env.process(self.run())

    @property
    def score(self):
        """How busy it is: vLLM counts who waits as four (vllm/v1/engine/core_client.py, DPLBAsyncMPClient)."""
        return 4 * len(self.waiting) + len(self.reading) + len(self.ends)

    @property
    def room(self):
        """Whether a place is free."""
        return len(self.ends) + len(self.reading) < self.passes.batch

    def take(self, request):
        """A request comes."""
        self.waiting.append(request)
        if self.rest and not self.rest.triggered:
            self.rest.succeed()

    def run(self):
        """Prompts first, then passes, and a rest where nothing is to be done."""
        while True:
            if self.passes.chunk and self.prompts and (self.waiting or self.reading):
                yield from self.mixed()
            elif self.waiting and self.room:
                request = self.waiting.popleft()
                if self.prompts:
                    self.reading.append(request)
                    yield self.env.timeout(request.read)
                    self.reading.popleft()
                    request.first = self.env.now
                (self.after or self.admit)(request)
            elif self.ends:
                yield self.env.timeout(self.passes.seconds(len(self.ends), self.tokens))
                self.advance(len(self.ends))
            else:
                self.rest = self.env.event()
                yield self.rest

    def mixed(self):
        """One pass with a chunk: as much of the prompts that have a place as fits."""
        while self.waiting and self.room and sum(request.left for request in self.reading) < self.passes.chunk:
            self.reading.append(self.waiting.popleft())
        budget, done, running = self.passes.chunk, [], len(self.ends)
        for request in self.reading:
            part = min(request.left, budget)
            budget, request.left = budget - part, request.left - part
            if not request.left:
                done.append(request)
        yield self.env.timeout(self.passes.seconds(running, self.tokens, self.passes.chunk - budget))
        self.advance(running)
        for request in done:
            self.reading.remove(request)
            request.first = self.env.now
            self.admit(request)

    def admit(self, request):
        """Its answer begins: the prompt's pass gave the first token."""
        heapq.heappush(self.ends, (self.made + max(request.output - 1, 1), id(request), request))
        self.tokens += request.prompt

    def advance(self, running):
        """A pass is over: every sequence has one token more, and some have their last."""
        self.made += 1
        self.tokens += running
        while self.ends and self.ends[0][0] == self.made:
            request = heapq.heappop(self.ends)[2]
            request.ended = self.env.now
            self.tokens -= request.prompt + max(request.output - 1, 1)


def simulated(case, mode="own", count=8000, seed=1, pace=1.0):
    """Times to first token, per token after it, and of whole answers, of the requests of a case but for the first tenth."""
    generator, held = np.random.default_rng(seed), case.inputs
    prompts = drawn(held["prompt"], held.get("prompt_p95", 0), count, generator)
    outputs = drawn(held["output"], held.get("output_p95", 0), count, generator, 2)
    came = np.cumsum(generator.exponential(1 / held["requests_per_second"], count))
    passes = Passes(case, int(prompts.max() + outputs.max()), held.get("prompt_chunk", 0), pace)
    requests = [Request(*each) for each in zip(came.tolist(), prompts.tolist(), outputs.tolist(), passes.prompts(prompts))]
    env = simpy.Environment()
    answering = [Replica(env, passes, prompts=mode != "apart") for _ in range(held["replicas"])]

    def least(group):
        return min(group, key=lambda replica: replica.score)

    def begin(request):
        request.first = env.now
        least(answering).take(request)

    def send(request):
        env.timeout(sent).callbacks.append(lambda _: begin(request))
    entry = answering
    if mode == "apart":
        sent = float(case("cache_sent_seconds"))
        entry = [Replica(env, passes, send) for _ in range(int(case("prefill_replicas")))]

    def arrivals():
        for request in requests:
            yield env.timeout(request.came - env.now)
            least(entry).take(request)
    env.process(arrivals())
    env.run()
    counted = requests[count // 10:]
    return (np.array([request.first - request.came for request in counted]),
            np.array([(request.ended - request.first) / max(request.output - 1, 1) for request in counted]),
            np.array([request.ended - request.came for request in counted]))


# The grid of data/simulated.csv: models on their cards with the places of a replica, loads as shares of what fills all places.

FP8 = dict(weight_format="FP8", cache_element_bytes=1)
SERVERS = (("Llama-3-70B", "H100 SXM 80GB", 4, FP8), ("gpt-oss-120b", "H100 SXM 80GB", 1, dict(weight_format="MXFP4")),
           ("DeepSeek-V3", "H200 SXM 141GB", 8, FP8))
QUANTITIES = ("time_to_first_token", "late_token_seconds", "answer_seconds")
LOADS, QUANTILES = (0.3, 0.5, 0.7, 0.8, 0.9), (0.5, 0.05, 0.01)
SPREAD = {"alike": {}, "lognormal": dict(prompt_p95=2500, output_p95=800)}
SEVERAL = dict(servers=SERVERS[:2], loads=LOADS[1:], spreads=("lognormal",), modes=("own", "apart"))
CHUNK, SEED, COUNT = 512, 1, 16000
# Plans that are simulated at the peak, while their spare replicas are out of service: cases, and the first with another model.
# Replicas are without stages or groups of attention, whose GPUs wait for each other's prompts: those are not simulated.
PLANS = (("chat_70b", {}), ("gpt_oss_api", {}), ("chat_70b", dict(model="DeepSeek-V3")))
SIMPLE = dict(attention_parallel=1, pipeline_parallel=1)


def server(model, gpu, degree, formats, batch=64, prompt=1000, output=300):
    """A case of replicas with so many places, as plans see them."""
    card = capacity.linked_gpus(gpu, formats.get("weight_format"), formats.get("cache_element_bytes")).loc[gpu]
    return Case(model=model, gpu=gpu, link=card.link, efficiency="achieved", tensor_parallel=degree, batch=batch, prompt=prompt,
                output=output, narrow_products=card.narrow_products, context=mean_context, network_bandwidth=50e9, **formats)


def at_load(case, mode, load, replicas=1):
    """The case at a share of the load that fills all its places."""
    held = case.but(replicas=replicas, **{"own": {}, "chunked": dict(prompt_chunk=CHUNK), "apart": dict(prompts_apart=1)}[mode])
    return held.but(requests_per_second=float(load * replicas * held.inputs["batch"] / held("request_seconds")))


def compared(case, mode, count=COUNT, pace=1.0):
    """By quantile what the formulas say and what is simulated, as columns of a row."""
    paced = case.but(**{law: pace * float(case(law)) for law in PACED} if pace != 1 else {})
    for law, times in zip(QUANTITIES, simulated(case, mode, count, SEED, pace)):
        for late in QUANTILES:
            yield dict(quantity=law, late_share=late, formula_seconds=f"{float(paced.but(late_share=late)(law)):.4g}",
                       simulated_seconds=f"{np.quantile(times, 1 - late):.4g}")


def rows(servers=SERVERS, loads=LOADS, spreads=tuple(SPREAD), modes=MODES, batch=64, replicas=1, count=COUNT):
    """The rows of a part of the grid."""
    for model, *placed in servers:
        for lengths in spreads:
            case = server(model, *placed, batch=batch).but(**SPREAD[lengths])
            for mode in modes:
                for load in loads:
                    cell = dict(plan="", model=model, gpu=placed[0], tensor_parallel=placed[1], batch=batch, replicas=replicas,
                                prompts=mode, lengths=lengths, offered_load=load, pace=1)
                    yield from (cell | found for found in compared(at_load(case, mode, load, replicas), mode, count))


def plan_rows(count=COUNT):
    """The rows of the plans: what is decided now, at its times."""
    for name, changed in PLANS:
        found = answer.answer(read_case(DATA / "cases" / f"{name}.yaml").but(**changed, **SIMPLE), price_book.prices())
        asked, best = found.case, found.best
        formats = {"weight_format": asked.rows["weight_format"].name}
        formats |= {name: asked.inputs[name] for name in ("cache_element_bytes",) if name in asked.inputs}
        case = server(asked.rows["model"].name, best["gpu"], int(best["tensor_parallel"]), formats, int(best["batch"]))
        case = case.but(requests_per_second=float(value_of(asked, "requests_per_second")), replicas=int(best["replicas"]))
        pace = float(best["replica_pass_seconds"] / case("replica_pass_seconds"))
        cell = dict(plan=name, model=case.rows["model"].name, gpu=best["gpu"], tensor_parallel=int(best["tensor_parallel"]),
                    batch=int(best["batch"]), replicas=int(best["replicas"]), prompts="own", lengths="alike",
                    offered_load=f"{pace * float(case('offered_load')):.3f}", pace=f"{pace:.3f}")
        yield from (cell | found for found in compared(case, "own", count, pace))


def write(path=DATA / "simulated.csv"):
    """Simulate the whole grid and the plans, and record them."""
    about = dict(unit="second", source="tests/simulator.py", date=datetime.date.today().isoformat(), confidence="seen",
                 note=f"{COUNT:,} requests, seed {SEED}")
    several = (rows(**SEVERAL, replicas=replicas) for replicas in (2, 4, 8))
    with open(path, "w", encoding="utf-8", newline="") as file:
        for number, row in enumerate(itertools.chain(rows(), *several, plan_rows())):
            writer = csv.DictWriter(file, [*row, *about], lineterminator="\n")
            if not number:
                writer.writeheader()
            writer.writerow({**row, **about})


if __name__ == "__main__":
    write()
