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
from gpucalc.core.quantities import DATA, DEFAULTS
from gpucalc.decisions import answer, capacity
from gpucalc.decisions.points import value_of
from gpucalc.laws.serving import mean_context
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
    """Times of passes by the batch of a group, mean context and chunk, as tables of the formula; and those of whole prompts."""

    def __init__(self, case, longest, chunk=0, pace=1.0):
        self.groups = int(case.inputs.get("attention_parallel", 1))
        self.batch, self.chunk, self.case, self.pace = int(case.inputs["batch"]) // self.groups, chunk, case, pace
        self.step = math.ceil(longest / (_CONTEXTS - 1))
        sizes, contexts = np.arange(self.batch + 1.0), np.maximum(np.arange(_CONTEXTS) * self.step, 1.0)
        chunks = np.arange(_CHUNKS + 1) * chunk / _CHUNKS if chunk else np.zeros(1)
        part, size, context = (axis.ravel() for axis in np.meshgrid(chunks, np.maximum(sizes, 1), contexts, indexing="ij"))
        passes = case.but(batch=size * self.groups, context=context)
        times = pace * np.where(part > 0, passes.but(mixed_tokens=np.maximum(part, 1))("mixed_pass_seconds"), passes("replica_pass_seconds"))
        self.lone, self.interval = float(case("lone_share")), int(case("held_passes"))
        self.times = times.reshape(len(chunks), len(sizes), _CONTEXTS).tolist()

    def seconds(self, batch, tokens, chunk=0):
        """A pass of so many sequences of a group with so many tokens in all their contexts, and of a chunk."""
        part = math.ceil(chunk / self.chunk * _CHUNKS) if chunk else 0
        return self.times[part][batch][min(round(tokens / max(batch, 1) / self.step), _CONTEXTS - 1)]

    def together(self, groups):
        """A pass of all groups, each with its batch, tokens and chunk: as long as the slowest's, whose chunk brings its own share
        of what chunks in all groups would add, and each other chunk a part of the rest."""
        plain = max(self.seconds(batch, tokens) for batch, tokens, _ in groups)
        added = sorted((self.seconds(*each) - self.seconds(*each[:2]) for each in groups if each[2]), reverse=True)
        return plain + sum(added[:1]) * self.lone + sum(added[1:]) * (1 - self.lone) / max(self.groups - 1, 1)

    def prompts(self, lengths):
        """The time of each prompt in a pass of its own, if one group reads, and what each other group that does adds."""
        case = self.case.but(prompt=lengths.astype(float))
        whole, lone = (np.broadcast_to(case(law), len(lengths)) for law in ("replica_prefill_seconds", "lone_share"))
        return np.array([self.pace * whole * lone, self.pace * whole * (1 - lone) / max(self.groups - 1, 1)]).T.tolist()


class Request:
    """One request: its lengths, when it came, had its first token and ended."""

    __slots__ = ("came", "ended", "first", "left", "output", "prompt", "read")

    def __init__(self, came, prompt, output, read):
        self.came, self.prompt, self.output, self.read, self.left = came, prompt, output, read, prompt


class Group:
    """An attention group: `waiting` are requests without a place, `ends` the passes in which those inside end."""

    def __init__(self, replica):
        self.replica, self.waiting, self.reading, self.ends, self.tokens = replica, deque(), deque(), [], 0

    @property
    def score(self):
        """How busy it is: vLLM counts who waits as four (vllm/v1/engine/core_client.py, DPLBAsyncMPClient)."""
        return 4 * len(self.waiting) + len(self.reading) + len(self.ends)

    @property
    def room(self):
        """Whether a place is free."""
        return len(self.ends) + len(self.reading) < self.replica.passes.batch

    def take(self, request):
        """A request comes."""
        self.waiting.append(request)
        if self.replica.rest and not self.replica.rest.triggered:
            self.replica.rest.succeed()

    def admit(self, request):
        """Its answer begins: the prompt's pass gave the first token."""
        heapq.heappush(self.ends, (self.replica.made + max(request.output - 1, 1), id(request), request))
        self.tokens += request.prompt

    def chunk(self):
        """What the next pass takes of the prompts that have a place, and those that it ends."""
        budget, done = self.replica.passes.chunk, []
        while self.waiting and self.room and sum(request.left for request in self.reading) < budget:
            self.reading.append(self.waiting.popleft())
        for request in self.reading:
            part = min(request.left, budget)
            budget, request.left = budget - part, request.left - part
            if not request.left:
                done.append(request)
        return self.replica.passes.chunk - budget, done

    def advance(self, running, now):
        """A pass is over: every sequence that ran has one token more, and some have their last."""
        self.tokens += running
        while self.ends and self.ends[0][0] == self.replica.made:
            request = heapq.heappop(self.ends)[2]
            request.ended = now
            self.tokens -= request.prompt + max(request.output - 1, 1)


class Replica:
    """A replica at work. Its attention groups do each step together, since experts are spread over all: while some read prompts
    the others wait, and a pass lasts as long as that of the slowest. vLLM documentation, data parallel deployment.
    """

    def __init__(self, env, passes, after=None, prompts=True):
        self.env, self.passes, self.after, self.prompts, self.made, self.rest = env, passes, after, prompts, 0, None
        self.late = False    # whether the last pass that took prompts left some behind: then none are held back
        self.gaps, self.last = [], None    # of each pass the time since the one before and the sequences that ran in both
        self.groups = [Group(self) for _ in range(passes.groups)]
        env.process(self.run())

    def run(self):
        """Prompts first, one in each group that has some, then passes, and a rest where nothing is to be done."""
        while True:
            ready = [group for group in self.groups if group.waiting and group.room]
            if self.passes.chunk and self.prompts and (ready or any(group.reading for group in self.groups)) and (
                    self.late or self.made % self.passes.interval == 0 or not any(group.ends for group in self.groups)):
                chunks = [group.chunk() for group in self.groups]
                self.late = any(group.waiting and group.room or any(each.left for each in group.reading) for group in self.groups)
                yield from self.one_pass(chunks)
            elif ready and not self.passes.chunk:
                yield from self.read([(group, group.waiting.popleft()) for group in ready])
            elif any(group.ends for group in self.groups):
                yield from self.one_pass([(0, ())] * len(self.groups))
            else:
                self.rest, self.last = self.env.event(), None
                yield self.rest

    def read(self, prompts):
        """Prompts of several groups, which take as long as the longest; none where they were read elsewhere."""
        if self.prompts:
            for group, request in prompts:
                group.reading.append(request)
            yield self.env.timeout(max(lone + (len(prompts) - 1) * more for lone, more in (each.read for _, each in prompts)))
        for group, request in prompts:
            if self.prompts:
                group.reading.popleft()
                request.first = self.env.now
            (self.after or group.admit)(request)

    def one_pass(self, chunks):
        """One pass of all groups, with what each takes of prompts beside its sequences."""
        running, fresh = [len(group.ends) for group in self.groups], sum(
            each.first is not None and each.first > (self.last or 0) for group in self.groups for *_, each in group.ends)
        yield self.env.timeout(self.passes.together([
            (size, group.tokens, part) for size, group, (part, _) in zip(running, self.groups, chunks)]))
        self.made += 1
        if self.last is not None:
            self.gaps.append((self.env.now - self.last, sum(running) - fresh))
        self.last = self.env.now
        for size, group, (_, done) in zip(running, self.groups, chunks):
            group.advance(size, self.env.now)
            for request in done:
                group.reading.remove(request)
                request.first = self.env.now
                group.admit(request)


def groups(replicas):
    """The attention groups of replicas, each of which takes requests."""
    return [group for replica in replicas for group in replica.groups]


def simulated(case, mode="own", count=8000, seed=1, pace=1.0):
    """Times to first token, per token after it, and of whole answers, of the requests of a case but for the first tenth; and all
    gaps between two tokens."""
    generator, held = np.random.default_rng(seed), case.inputs
    prompts = drawn(held["prompt"], held.get("prompt_p95", 0), count, generator)
    outputs = drawn(held["output"], held.get("output_p95", 0), count, generator, 2)
    came = np.cumsum(generator.exponential(1 / held["requests_per_second"], count))
    chunk = 0 if mode == "apart" else held.get("prompt_chunk", DEFAULTS["prompt_chunk"].value)
    passes = Passes(case, int(prompts.max() + outputs.max()), chunk, pace)
    requests = [Request(*each) for each in zip(came.tolist(), prompts.tolist(), outputs.tolist(), passes.prompts(prompts))]
    env = simpy.Environment()
    served = [Replica(env, passes, prompts=mode != "apart") for _ in range(held["replicas"])]
    answering = groups(served)

    def least(several):
        return min(several, key=lambda group: group.score)

    def begin(request):
        request.first = env.now
        least(answering).take(request)

    def send(request):
        env.timeout(sent).callbacks.append(lambda _: begin(request))
    entry = answering
    if mode == "apart":
        sent = float(case("cache_sent_seconds"))
        entry = groups(Replica(env, passes, send) for _ in range(int(case("prefill_replicas"))))

    def arrivals():
        for request in requests:
            yield env.timeout(request.came - env.now)
            least(entry).take(request)
    env.process(arrivals())
    env.run()
    counted = requests[count // 10:]
    return (np.array([request.first - request.came for request in counted]),
            np.array([(request.ended - request.first) / max(request.output - 1, 1) for request in counted]),
            np.array([request.ended - request.came for request in counted]),
            np.repeat(*map(np.array, zip(*(gap for replica in served for gap in replica.gaps)))))


# The grid of data/simulated.csv: models on their cards with the places of a replica, loads as shares of what fills all places.

FP8 = dict(weight_format="FP8", cache_element_bytes=1)
SERVERS = (("Llama-3-70B", "H100 SXM 80GB", 4, FP8), ("gpt-oss-120b", "H100 SXM 80GB", 1, dict(weight_format="MXFP4")),
           ("DeepSeek-V3", "H200 SXM 141GB", 8, FP8))
QUANTITIES = ("time_to_first_token", "late_token_seconds", "answer_seconds")
LOADS, QUANTILES = (0.3, 0.5, 0.7, 0.8, 0.9), (0.5, 0.05, 0.01)
SPREAD = {"alike": {}, "lognormal": dict(prompt_p95=2500, output_p95=800)}
SEVERAL = dict(servers=SERVERS[:2], loads=LOADS[1:], spreads=("lognormal",), modes=("own", "apart"))
CHUNK, SEED, COUNT = 512, 1, 16000
# Groups of attention on a server of eight, with prompts of mean length and answers as in most loads.
GROUPS, GROUPED = (2, 4, 8), dict(servers=SERVERS[2:], spreads=("lognormal",), modes=("own",), batch=256)
# Plans that are simulated at the peak, while their spare replicas are out of service: cases, and the first with another model.
# Replicas are without stages.
PLANS = (("chat_70b", {}), ("gpt_oss_api", {}), ("chat_70b", dict(model="DeepSeek-V3")), ("deepseek_nodes", {}))
SIMPLE = dict(pipeline_parallel=1)


def server(model, gpu, degree, formats, batch=64, prompt=1000, output=300):
    """A case of replicas with so many places, as plans see them, but for what the engine and grouped products add: it is the queue that is checked."""
    card = capacity.linked_gpus(gpu, formats.get("weight_format"), formats.get("cache_element_bytes")).loc[gpu]
    return Case(model=model, gpu=gpu, link=card.link, efficiency="achieved", tensor_parallel=degree, batch=batch, prompt=prompt,
                output=output, narrow_products=card.narrow_products, context=mean_context, network_bandwidth=50e9,
                kernel_start_seconds=0, prompt_host_seconds=0, grouped_efficiency=1, **formats)


def at_load(case, mode, load, replicas=1):
    """The case at a share of the load that fills all its places."""
    held = case.but(replicas=replicas, **{"own": dict(prompt_chunk=0), "chunked": dict(prompt_chunk=CHUNK), "apart": dict(prompts_apart=1)}[mode])
    return held.but(requests_per_second=float(load * replicas * held.inputs["batch"] / held("request_seconds")))


def compared(case, mode, count=COUNT, pace=1.0):
    """By quantile what the formulas say and what is simulated, as columns of a row."""
    paced = case.but(**{law: pace * float(case(law)) for law in PACED} if pace != 1 else {})
    for law, times in zip(QUANTITIES, simulated(case, mode, count, SEED, pace)):
        for late in QUANTILES:
            yield dict(quantity=law, late_share=late, formula_seconds=f"{float(paced.but(late_share=late)(law)):.4g}",
                       simulated_seconds=f"{np.quantile(times, 1 - late):.4g}")


def rows(servers=SERVERS, loads=LOADS, spreads=tuple(SPREAD), modes=MODES, batch=64, replicas=1, count=COUNT, groups=1):
    """The rows of a part of the grid."""
    for model, gpu, gpus, formats in servers:
        for lengths in spreads:
            case = server(model, gpu, gpus // groups, formats, batch).but(attention_parallel=groups, **SPREAD[lengths])
            for mode in modes:
                for load in loads:
                    cell = dict(plan="", model=model, gpu=gpu, tensor_parallel=gpus // groups, attention_parallel=groups, batch=batch,
                                replicas=replicas, prompts=mode, lengths=lengths, offered_load=load, pace=1)
                    yield from (cell | found for found in compared(at_load(case, mode, load, replicas), mode, count))


def plan_rows(count=COUNT):
    """The rows of the plans: what is decided now, at its times."""
    for name, changed in PLANS:
        found = answer.answer(read_case(DATA / "cases" / f"{name}.yaml").but(**changed, **SIMPLE), price_book.prices())
        asked, best = found.case, found.best
        formats = {"weight_format": asked.rows["weight_format"].name}
        formats |= {name: asked.inputs[name] for name in ("cache_element_bytes",) if name in asked.inputs}
        lengths = (value_of(asked, name) for name in ("prompt", "output"))
        case = server(asked.rows["model"].name, best["gpu"], int(best["tensor_parallel"]), formats, int(best["batch"]), *lengths)
        case = case.but(requests_per_second=float(value_of(asked, "requests_per_second")), replicas=int(best["replicas"]),
                        attention_parallel=int(best["attention_parallel"]))
        pace = float(best["replica_pass_seconds"] / case("replica_pass_seconds"))
        cell = dict(plan=name, model=case.rows["model"].name, gpu=best["gpu"], tensor_parallel=int(best["tensor_parallel"]),
                    attention_parallel=int(best["attention_parallel"]), batch=int(best["batch"]), replicas=int(best["replicas"]), prompts="chunked", lengths="alike",
                    offered_load=f"{pace * float(case('offered_load')):.3f}", pace=f"{pace:.3f}")
        yield from (cell | found for found in compared(case, "chunked", count, pace))


def write(path=DATA / "simulated.csv"):
    """Simulate the whole grid and the plans, and record them."""
    about = dict(unit="second", source="tests/simulator.py", date=datetime.date.today().isoformat(), confidence="seen",
                 note=f"{COUNT:,} requests, seed {SEED}")
    several = itertools.chain((rows(**SEVERAL, replicas=replicas) for replicas in (2, 4, 8)),
                              (rows(**GROUPED, groups=groups) for groups in GROUPS))
    with open(path, "w", encoding="utf-8", newline="") as file:
        for number, row in enumerate(itertools.chain(rows(), *several, plan_rows())):
            writer = csv.DictWriter(file, [*row, *about], lineterminator="\n")
            if not number:
                writer.writeheader()
            writer.writerow({**row, **about})


if __name__ == "__main__":
    write()
