"""Which GPU do I need? The questions of a decision, what each leaves on offer, a flowchart and maps of loads."""
import html
import itertools
import math
import textwrap
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import days, dollars, number, percent, quantity
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions import answer, rule
from gpucalc.decisions.columns import row
from gpucalc.decisions.jobs import JOBS, trains
from gpucalc.decisions.market import market
from gpucalc.decisions.rule import value_of
from gpucalc.decisions.token_offers import priced_offers
from gpucalc.laws.choosing import largest_params, largest_trained_params
from gpucalc.laws.demand import mean_requests_per_month
from gpucalc.laws.sharing import api_usd_per_month
from gpucalc.rows import catalogue
from gpucalc.rows.bands import CLOSE
from ..components.sentences import in_words
from ..components.show import Html, table


# From a need to what serves it: the questions that a decision asks in its order, where each of them turns, and the best choice.
#
# Nothing here knows which limits there are: they are read from the declarations of `decisions`, and a new one is a new
# question.

# A limit that nothing keeps: each choice then comes as near to it as it can.
_NONE = 1e-9
# A turn is found to this share of where it is, and sought down to this part of what came nearest.
_NEAR, _FAR = 0.02, 10


class Need(NamedTuple):
    """A case, completed, with the steps that decide it and the tables that they choose from."""

    case: Case
    kind: str
    steps: tuple
    tables: dict[str, Any]

    @property
    def objective(self) -> str:
        """What is to be least: the name of a quantity."""
        return JOBS[self.kind].objective

    def solved(self, ends: tuple = ("plan",), **changed: Any) -> dict[str, rule.Solved]:
        """The chain at these ends, with other values of inputs."""
        case = self.case.but(**changed)
        return rule.solve(self.steps, case, self.tables, answer.judged(case), ends)


class Question(NamedTuple):
    """One limit as a question.

    `asked` is what the case allows, infinite where it asks for nothing and None where the limit is no input. `nearest` is the
    least value that a choice reaches, `free` that from which on the limit changes nothing. `after` are the best choice now and
    the best one below its value, where the step is the last. `out` are the GPUs that stop here, `left` is how many go on.
    """

    limit: rule.Limit
    asked: float | None
    nearest: float
    free: float
    after: tuple[dict, dict] | None
    out: list[str]
    left: int


class Choice(NamedTuple):
    """The best choice of a need: its columns, its objective with its band, and the best one on `other` GPUs.

    It is `close` where the bands of the two meet. Without a choice `row` is None and `reason` says where the last GPU stopped.
    """

    need: Need
    row: dict | None
    low: float
    plan: float
    high: float
    other: dict | None
    close: bool
    reason: str


def need(case: Case, book: pd.DataFrame) -> Need:
    """The need of a case of a job by the prices of a book. Raises MissingPrice where the book has no offer that is wanted."""
    whole, kind = answer.completed(case), answer.kind_of(case)
    return Need(whole, kind, JOBS[kind].chain, market(whole, book, kind))


def best(wanted: Need) -> Choice:
    """The best choice of a need, which is none where no GPU keeps all limits."""
    solved = wanted.solved(tuple(rule.ENDS))
    kept = answer.ranked(solved, wanted.kind)
    if not rule.count(kept):
        gone = answer.nearest(solved["plan"], wanted.steps, wanted.case).values()
        last = max(gone, key=lambda lost: (lost.step, wanted.steps[lost.step].limits.index(lost.limit)), default=None)
        return Choice(wanted, None, math.inf, math.inf, math.inf, None, False, last.limit.reason if last else "")
    others = np.flatnonzero(kept["gpu"] != kept["gpu"][0])
    first, other = row(kept, 0), row(kept, others[0]) if len(others) else None
    low, plan, high = (float(first[f"{end}{wanted.objective}"]) for end in ("low_", "", "high_"))
    return Choice(wanted, first, low, plan, high, other, bool(other and other[f"low_{wanted.objective}"] <= high), "")


# The questions of a decision

def questions(wanted: Need) -> list[Question]:
    """The limits of the decision in their order, each with what it leaves of the GPUs on offer and where it turns."""
    plan = wanted.solved()["plan"]
    gone = answer.nearest(plan, wanted.steps, wanted.case)
    left, found = len({*gone, *plan.kept.get("gpu", ())}), []
    for place, step in enumerate(wanted.steps):
        for at, limit in enumerate(step.limits):
            out = [gpu for gpu, lost in gone.items() if (lost.step, lost.limit) == (place, limit)]
            left -= len(out)
            free = limit.most in JOBS[wanted.kind].free
            asked, least, costless, after = _turns(wanted, plan.kept, place, at) if free else (None, math.nan, math.nan, None)
            found.append(Question(limit, asked, least, costless, after, out, left))
    return found


def _turns(wanted, kept, place, number):
    """The figures of a question: `asked`, `nearest`, `free` and `after`; `kept` is what keeps all limits."""
    limit, last = wanted.steps[place].limits[number], place == len(wanted.steps) - 1
    asked = float(rule.value_of(wanted.case, limit.most))
    lifted = wanted.solved(**{limit.most: math.inf})["plan"].kept if asked < math.inf else kept
    if not rule.count(lifted):
        return asked, math.nan, math.nan, None
    free = float(_least(wanted, lifted)[limit.column])
    if not last:
        return asked, _nearest(wanted, place, number), free, None
    now = _least(wanted, rule.taken(lifted, lifted[limit.column] <= asked))
    after = _least(wanted, rule.taken(lifted, lifted[limit.column] < now[limit.column])) if now else None
    return asked, float(lifted[limit.column].min()), free, (now, after) if after else None


def _nearest(wanted, place, number):
    """The least that a choice reaches of what is limited; where more replicas help, with any number of them. NaN where no choice
    comes to the question. An input may limit two things: the other one stays as it is asked for."""
    step = wanted.steps[place]
    limit, sought = step.limits[number], step.least and step.limits[number] in step.least.limits
    stopped = _moved(wanted, place, number, _NONE)["plan"].lost[place]
    reached = float(stopped[limit.column][stopped["broken"] == number].min(initial=math.inf))
    if not sought:
        return reached
    kept = _moved(wanted, place, number, math.inf)["plan"].kept
    low, high = reached / _FAR, float(kept[limit.column].min()) if rule.count(kept) else math.nan
    while high > low * (1 + _NEAR):
        middle = math.sqrt(low * high)
        able = rule.count(_moved(wanted, place, number, middle)["plan"].kept)
        low, high = (low, middle) if able else (middle, high)
    return high


def _moved(wanted, place, number, most):
    """The chain with this one limit at another value. Laws know the limit by its name where they say how many replicas it may
    take, so the input is moved there, and any other limit by it is held at what the case asks for."""
    step = wanted.steps[place]
    limit, asked = step.limits[number], rule.value_of(wanted.case, step.limits[number].most)
    sought = step.least and limit in step.least.limits

    def at(limits):
        return tuple(each._replace(most=most if each == limit else asked) if each.most == limit.most else each for each in limits)
    least = step.least and step.least._replace(limits=at(step.least.limits))
    steps = (*wanted.steps[:place], step._replace(limits=at(step.limits), least=least), *wanted.steps[place + 1:])
    return wanted._replace(steps=steps).solved(**({limit.most: most} if sought else {}))


def _least(wanted, table):
    """The choice with the least objective; None without one."""
    return row(table, np.argmin(table[wanted.objective])) if rule.count(table) else None


# How large a model one GPU takes

def sizes(wanted: Need, gpus: list[str]) -> dict[str, float]:
    """Parameters of the largest model like that of the case that one of each of these GPUs takes, by the job of the case.

    It serves with one request at a time; it trains one sequence at a time, all layers recomputed.
    """
    case = wanted.case
    if trains(wanted.kind):
        one = dict(gpus=1, gpus_per_node=1, data_parallel=1, micro_batch=1, micro_batches=1, recompute=2)
        return {gpu: float(case.but(gpu=gpu, **one)(largest_trained_params)) for gpu in gpus}
    alone: dict[str, Any] = dict(tensor_parallel=1, batch=1, context="prompt" if wanted.kind == "embed" else "final_context")
    return {gpu: float(case.but(gpu=gpu, **alone)(largest_params)) for gpu in gpus}


def ladder(wanted: Need, gpu: str | None = None) -> list[str]:
    """Of the GPUs on offer that have the format one with the least memory, a given one, and one with the most."""
    held = wanted.tables[wanted.steps[0].joined[0]]
    able = list(dict.fromkeys(held["gpu"][held["lacks_format"] + held["unlinked"] == 0]))
    memory = catalogue.gpus().loc[able]["memory_bytes"].sort_values(kind="stable")
    return list(dict.fromkeys([*memory.index[:1], *([gpu] if gpu in memory else []), *memory.index[-1:]]))


def degrees(wanted: Need) -> dict[int, int]:
    """On how many kinds of GPU a replica takes so many of them, by their number, whatever is offered."""
    first = rule.solve(wanted.steps[:1], wanted.case, wanted.tables, answer.judged(wanted.case), ("plan",))["plan"].kept
    least = pd.DataFrame(first).groupby("gpu")["tensor_parallel"].min() if rule.count(first) else pd.Series(dtype=float)
    return {int(degree): int(count) for degree, count in least.value_counts().sort_index().items()}


# Loads

def loads(case: Case, book: pd.DataFrame, values: list[float]) -> pd.DataFrame:
    """The cheapest servers at each load (requests a second in the busiest hour), and that month through the cheapest API.

    Where the GPU changes, or servers become cheaper than the API, loads between are tried until the turn is known.
    """
    sold = priced_offers(book, case.rows["model"].name, answer.completed(case))
    request = float(sold["api_request_usd"].iloc[0]) if len(sold) and sold["firm"].iloc[0] else math.inf
    found = {value: _at_load(case, book, value, request) for value in values}
    for low, high in itertools.pairwise(values):
        while high > low * (1 + _NEAR) and _turned(found[low], found[high]):
            middle = math.sqrt(low * high)
            found[middle] = _at_load(case, book, middle, request)
            low, high = (low, middle) if _turned(found[low], found[middle]) else (middle, high)
    return pd.DataFrame([found[value] for value in sorted(found)])


def _at_load(case, book, value, request):
    """A row of `loads`."""
    wanted = need(case.but(requests_per_second=value), book)
    first = answer.first_of(wanted.solved()["plan"].kept, wanted.kind)
    api = float(api_usd_per_month(wanted.case(mean_requests_per_month), request)) if request < math.inf else math.inf
    if first is None:
        return dict(load=value, gpu="", gpus=math.nan, usd=math.inf, api=api)
    return dict(load=value, gpu=first["gpu"], gpus=first["rented_gpus"], usd=first[wanted.objective], api=api)


def _turned(one, other):
    return one["gpu"] != other["gpu"] or (one["usd"] < one["api"]) != (other["usd"] < other["api"])


def api_turn(found: pd.DataFrame) -> float:
    """The load from which on servers, chosen anew at each, stay cheaper than the API; `ways` asks it of the servers of one plan.

    Infinite if at the last one they are not cheaper, 0 if they always are.
    """
    dear = found.loc[~(found["usd"] < found["api"]), "load"]
    later = found.loc[found["load"] > dear.max(), "load"] if len(dear) else found["load"].head(0)
    return 0.0 if dear.empty else float(later.min()) if len(later) else math.inf


def steps(found: pd.DataFrame) -> pd.DataFrame:
    """Those rows of `loads` at which another GPU than before is the cheapest."""
    return found[found["gpu"] != found["gpu"].shift()].reset_index(drop=True)


# A flowchart as a picture: a box for each question, with where it turns, what goes on below it and what stops beside it.

_WIDE, _EDGE, _LEFT, _LINE, _PAD, _GAP, _SMALL, _LETTERS = 360, 3, 14, 18, 9, 40, 12.5, 46
_OUTLINE, _STOP = 'fill="none" stroke="currentColor"', 'fill="none" stroke="#a26614" data-edge="b" stroke-width="2"'


class Box(NamedTuple):
    """A box of a flowchart: its title, lines below it, the page behind it, and what stands at its arrows down and aside."""

    title: str
    lines: tuple[str, ...] = ()
    page: str = ""
    below: str = ""
    aside: str = ""


def jobs_picture(jobs: dict[str, str]) -> Html:
    """The first question, with a way to the flowchart of each job: its key -> what it is called."""
    top = 2 * _PAD + _LINE
    places = {key: top + 24 + 26 * place for place, key in enumerate(jobs)}
    ways = "".join(f'<path d="M24,{y} H48 l-6,-4 m6,4 l-6,4" {_OUTLINE}/>{text(jobs[key], 56, y + 5, page=f"#flow-{key}")}'
                   for key, y in places.items())
    end = max(places.values())
    said = f"What is the job: {in_words(list(jobs.values()), 'or')}? Each has questions of its own."
    line = f'<path d="M24,{top + 2} V{end}" {_OUTLINE}/>'
    return _picture("flow-jobs", end + 16, _frame(0, top) + text("What is the job?", _LEFT, 25, bold=True) + line + ways, said)


def flowchart(key: str, title: str, boxes: list[Box], said: str) -> Html:
    """The boxes from top to bottom under the name of their job; `said` is what they come to."""
    y, parts = 2, []
    for box in (Box(title[:1].upper() + title[1:], below=" "), *boxes):
        lines = [line for each in box.lines for line in textwrap.wrap(each, _LETTERS)]
        tall, foot = 2 * _PAD + _LINE * (1 + len(lines)), y + _PAD + 14
        parts.append(_frame(y, tall, "1" if box.page else "2.5"))
        parts.append(text(box.title, _LEFT, foot, page=f"{box.page}.html" if box.page else "", bold=True))
        parts += [text(line, _LEFT, foot + _LINE * (1 + place), small=True) for place, line in enumerate(lines)]
        y += tall
        if box.below:
            parts.append(_arrows(y, box.below, box.aside))
            y += _GAP
    return _picture(f"flow-{key}", y + 4, "".join(parts), said)


def _frame(y, tall, wide="1"):
    return (f'<rect x="{_EDGE}" y="{y + 2}" width="{_WIDE - 2 * _EDGE}" height="{tall}" rx="6" fill="currentColor" '
            f'fill-opacity="0.05" stroke="currentColor" stroke-width="{wide}"/>')


def _arrows(y, below, aside):
    """An arrow down with its words, and an end with those of what stops."""
    way = f'<path d="M24,{y + 3} V{y + _GAP - 1} l-4,-7 m4,7 l4,-7" {_OUTLINE}/>{text(below, 36, y + 26, small=True)}'
    stop = f'<path d="M{_WIDE - 20},{y + 3} v8 m-5,0 h10" {_STOP}/>{text(aside, _WIDE - 6, y + 26, small=True, end=True)}'
    return way + (stop if aside else "")


def text(said: str, x: float, y: float, page: str = "", bold: bool = False, small: bool = False, end: bool = False,
         middle: bool = False) -> str:
    """A line of text in a picture, which leads to a page where one is given; it begins, ends or has its middle at x."""
    marks = {"font-weight": "600" * bold, "font-size": f"{_SMALL}" * small, "text-anchor": "end" * end + "middle" * middle}
    marked = "".join(f' {name}="{value}"' for name, value in marks.items() if value)
    color = "var(--pst-color-link, currentColor)" if page else "currentColor"
    held = f'<text x="{x:g}" y="{y:g}" fill="{color}"{marked}>{html.escape(said)}</text>'
    return f'<a href="{html.escape(page)}">{held}</a>' if page else held


def _picture(key, tall, shapes, said):
    """A picture whose words can be read one by one and followed, so it is a group, not an image."""
    return Html(f'<svg id="{html.escape(key)}" viewBox="0 0 {_WIDE} {tall:g}" width="{_WIDE}" class="picture" font-size="14" '
                f'role="group" aria-label="{html.escape(said)}">{shapes}</svg>', said)


def beside(*pictures: Html) -> Html:
    """Pictures beside each other where there is room, else below each other."""
    return Html(f'<div class="pictures">{"".join(each.source for each in pictures)}</div>',
                " ".join(each.plain for each in pictures))


# Needs as a page shows them: the questions of a decision in words, and a map from needs to what serves them.

# The question of a limit; one that is not here is asked by the meaning of what it limits.
ASKED = {
    "unrented": "Is it on offer?", "unlinked": "Is the latency of its link known?",
    "gpus_per_server": "Is a machine small enough?", "lacks_format": "Does the GPU compute in that format?",
    "asked_context": "Does the model read so much?", "prompt": "Does the model read so much?",
    "split_misfits": "Can the model be split so?",
    "batch": "Do weights and cache fit its memory?", "training_bytes": "Does all of the state fit its memory?",
    "speculative_seconds": "Is a full batch quick enough?", "late_token_seconds": "Is a token quick enough?",
    "answer_seconds": "Is the whole answer in time?",
    "time_to_first_token": "Is the first token in time?", "forbidden": "May it stand in a data center?",
    "doubtful_price": "Is its price firm?", "doubtful_term": "Does the term suit the job?",
    "tensor_parallel": "Does a replica fit one server?", "layout_misfits": "Does a layout split the job?",
    "excess_machines": "Are there few enough machines?", "unpublished": "Did a published run train such a model?",
    "training_days": "Is it done by the deadline?",
    "serving_usd_per_month": "Is a month within the budget?", "window_usd": "Is a window within the budget?",
    "compute_usd": "Is it within the budget?", "spread_misfits": "Can its experts be spread so?",
    "server_misfits": "Do its servers hold a replica?", "policy_bytes": "Does all of the state fit its memory?",
    "trainer_misfits": "Does a layout split the job?", "rollout_misfits": "Can an engine be split so?",
    "missing_places": "Is there room for the answers?", "unheld_cache_bytes": "Do caches fit between turns?",
    "link_misfits": "Is the latency of its link known?",
    "rented_gpus": "Are there so many of the cards?"}
# The lesson behind a limit where it is not that of its formula's topic.
_LESSONS = {"prompt": "serving",
            "unrented": "sources", "unlinked": "interconnect", "gpus_per_server": "interconnect", "lacks_format": "quantization",
            "batch": "kv_cache", "tensor_parallel": "interconnect", "split_misfits": "layouts", "layout_misfits": "layouts",
            "spread_misfits": "experts", "server_misfits": "interconnect", "rollout_misfits": "post_training",
            "link_misfits": "interconnect",
            "missing_places": "post_training", "window_usd": "serving_cost", "forbidden": "total_cost",
            "doubtful_price": "sources", "doubtful_term": "commitments"}
_ROW, _HEAD, _MAP_WIDE, _COST = 78, 20, 360, ' class="fill-a" fill="#246be6"'


def lesson(name: str) -> str:
    """The page behind a limit: the lesson of its formula's topic, which has its name, unless another is said to be."""
    topic = LAWS[name].__module__.rpartition(".")[2] if name in LAWS else "sources"
    return _LESSONS.get(name) or {"queueing": "serving"}.get(topic, topic)


# A flowchart's boxes

def boxes(wanted: Need, found: list[Question], choice: Choice, gpu: str | None = None, *more: Box) -> list[Box]:
    """The questions of a need, `more` of them, and what they lead to; `gpu` is one more whose memory is shown in numbers."""
    asked = [Box(ASKED.get(each.limit.of) or f"{_meaning(each.limit.of)}: is it within the limit?",
                 (*_facts(wanted, each, gpu), *_turns_in_words(wanted, each)), lesson(each.limit.of),
                 f"yes: {each.left} kind{'' if each.left == 1 else 's'}", _stopped(each.out)) for each in found]
    return [*asked, *more, answer_box(choice)]


def _meaning(name):
    said = QUANTITIES[name].meaning if name in QUANTITIES else name.replace("_", " ")
    return said[:1].upper() + said[1:]


def _kinds(count):
    return f"{count} kind{'' if count == 1 else 's'} of GPU"


def _stopped(gpus):
    if not gpus:
        return ""
    return f"no: {gpus[0]}" if len(gpus) == 1 else f"no: {len(gpus)}, such as {min(gpus, key=len)}"


def _shown(name, value):
    unit = QUANTITIES[name].unit
    return dollars(value) if "USD" in unit else days(value) if unit == "day" else quantity(name, value)


def _turns_in_words(wanted, each):
    """Where a limit that the case may set turns."""
    if each.asked is None:
        return ()
    asks = f"Your limit: at most {_shown(each.limit.of, each.asked)}." if each.asked < math.inf else "No limit here."
    if math.isnan(each.free) or math.isnan(each.nearest):
        return (asks,)
    free = f" A limit above {_shown(each.limit.of, each.free)} costs nothing." if each.free > each.nearest else ""
    share = value_of(wanted.case, "sure")
    kept = f"that {percent(share)} of cases keep" if share > 0.5 else "on offer"
    return (asks, f"The least {kept} is {_shown(each.limit.of, each.nearest)}.{free}")


def _facts(wanted, each, gpu):
    """What else turns at a limit: the size of the model at memory, the GPUs of a replica, the next number of GPUs."""
    if each.limit.of in ("batch", "training_bytes"):
        memory, found = catalogue.gpus()["memory_bytes"], sizes(wanted, ladder(wanted, gpu))
        fits = [f"{number(size)} in {number(memory[name], 'byte')}" for name, size in found.items()]
        return (f"Parameters that one GPU takes: {in_words(fits)}.",) if fits else ()
    if each.limit.of == "tensor_parallel":
        spread = [f"{degree} on {_kinds(count)}" for degree, count in degrees(wanted).items()]
        return (f"GPUs of a replica: {in_words(spread)}.",) if spread else ()
    if each.after and "gpus" in each.after[0]:
        now, after = (f"{row['gpus']:.0f} × {row['gpu']}" for row in each.after)
        return (f"{now} take {_shown(each.limit.of, each.after[0][each.limit.of])}. For less, take {after}.",)
    return ()


def taken(choice: Choice) -> str:
    """What to take, where there is a choice: `4 × MI300X 192GB`."""
    row = choice.row or {}
    return f"{row['rented_gpus' if 'rented_gpus' in row else 'gpus']:.0f} × {row['gpu']}"


def cost(choice: Choice) -> str:
    """What it costs, with the range in which eight in ten cases lie where its ends differ."""
    unit = " a month" if QUANTITIES[choice.need.objective].unit == "USD/month" else ""
    ends = f" (8 in 10: {dollars(choice.low).removesuffix(' USD')} to {dollars(choice.high)})" if choice.low < choice.high else ""
    if choice.high == math.inf:
        ends = f" (from {dollars(choice.low)}; in the slowest tenth of cases it misses a limit)"
    return f"{dollars(choice.plan)}{unit}{ends}"


def closeness(choices: list[Choice]) -> str:
    """In how many jobs another GPU may be as cheap."""
    able = [choice for choice in choices if choice.row is not None]
    close = sum(choice.close for choice in able)
    where = {0: "none of these jobs", len(able): "each of these jobs"}.get(close, f"{close} of these {len(able)} jobs")
    return f"In {where} another GPU is {CLOSE}." if able else ""


def answer_box(choice: Choice) -> Box:
    """The box at the end: what to take, from whom, what it costs, and who is next."""
    if choice.row is None:
        return Box("No GPU on offer keeps all limits", (f"The last one failed at: {choice.reason}.",))
    said = "Too close to call against" if choice.close else "Next is"
    rival = () if choice.other is None else (f"{said} {choice.other['gpu']}.",)
    return Box(taken(choice), (f"{choice.row['provider']}, {choice.row['term']}: {cost(choice)}.", *rival))


def api_box(found: DataFrame) -> Box:
    """The question whether an API is cheaper, from `loads`."""
    turn, last = api_turn(found), found.iloc[-1]
    if last["api"] == math.inf:
        says = "No API of the price book sells this model."
    elif last["usd"] == math.inf:
        says = f"No servers on offer carry {number(last['load'])} requests a second in time."
    elif turn == math.inf:
        says = (f"Not up to {number(last['load'])} requests a second: servers for them cost {dollars(last['usd'])} a month, "
                f"the API {dollars(last['api'])}.")
    else:
        says = f"From {number(turn)} requests a second on servers stay cheaper." if turn else "Servers are cheaper at every load."
    return Box("Is the load large enough for servers?", (says,), "serving_cost", "yes: servers", "no: an API")


def own_box(gpu: str, utilization) -> Box:
    """The question whether buying pays, by the band of the utilization from which it does."""
    ends = f"{percent(utilization.plan)} (8 in 10 between {percent(utilization.low)} and {percent(utilization.high)})"
    never = f" Above {percent(1)} means never." if utilization.high > 1 else ""
    says = f"{gpu}: buying pays above {ends}.{never}"
    return Box("Are the GPUs busy enough to buy?", (says,), "break_even", "yes: buy", "no: rent")


def finding(title: str, found: list[Question], choice: Choice) -> str:
    """What a flowchart comes to, in a sentence."""
    worst = max(found, key=lambda each: len(each.out))
    stops = f" Most GPUs fail at: {worst.limit.reason} ({len(worst.out)})." if worst.out else ""
    if choice.row is None:
        return f"{title}: no GPU on offer keeps all limits.{stops}"
    sure = f", {CLOSE} against {choice.other['gpu']}" if choice.other and choice.close else ""
    return (f"{title}: {len(found)} questions lead to {taken(choice)} from {choice.row['provider']} for "
            f"{cost(choice)}{sure}.{stops}")


# The map

# Models of the map where a reader names none, from small to large.
MODELS = ("Llama-3.2-1B", "Llama-3-8B", "Llama-2-13B", "Mixtral-8x7B", "Llama-3-70B", "Mixtral-8x22B", "Llama-3.1-405B",
          "DeepSeek-V3")


def few(models: list[str] | None) -> tuple[str, ...]:
    """The models of the map: those that are named, else some of each size."""
    return tuple(models or MODELS)


def need_map(cells: dict[tuple[str, str], Choice], caption: str) -> Html:
    """What to take for each need, (model, what for) -> choice, as rows of cells: the darker, the more it costs."""
    models, wants = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    able = [choice for choice in cells.values() if choice.row is not None]
    paid = [math.log(choice.plan) for choice in able]
    wide, tall = _MAP_WIDE / len(wants), _HEAD + _ROW * len(models)
    heads = "".join(text(want, wide * (place + 0.5), 15, bold=True, middle=True) for place, want in enumerate(wants))
    rows = "".join(text(model, 2, _HEAD + _ROW * row + 15) for row, model in enumerate(models))
    drawn = "".join(_cell(cells[model, want], wide * column, _HEAD + _ROW * row + 20, wide, paid)
                    for row, model in enumerate(models) for column, want in enumerate(wants))
    kinds = len({choice.row["gpu"] for choice in able if choice.row})
    said = (f"{caption}: {kinds} kinds of GPU serve {len(able)} of {len(cells)} needs; "
            f"{sum(choice.close for choice in able)} are {CLOSE}.")
    return Html(f'<svg viewBox="0 0 {_MAP_WIDE} {tall}" width="{_MAP_WIDE}" class="picture" font-size="13" role="img" '
                f'aria-label="{html.escape(said)}">{heads}{rows}{drawn}</svg>', said)


def _cell(choice, x, y, wide, paid):
    """A cell of the map: how many of which GPU, and the cost; `≈` where it is too close to call."""
    share = (math.log(choice.plan) - min(paid)) / (max(paid) - min(paid) or 1) if choice.row is not None else 0
    lines = ["none", choice.reason] if choice.row is None else [
        f"{'≈ ' if choice.close else ''}{taken(choice).partition(' ')[0]} ×", short(choice.row["gpu"]), dollars(choice.plan)]
    words = "".join(text(line, x + wide / 2, y + 15 + 16 * place, small=True, middle=True) for place, line in enumerate(lines))
    return (f'<rect x="{x + 1:.1f}" y="{y}" width="{wide - 2:.1f}" height="{_ROW - 23}" rx="3"{_COST} '
            f'fill-opacity="{0.1 + 0.4 * share:.2f}"/>{words}')


def short(gpu: str) -> str:
    """A GPU without its memory and its socket: `MI300X`."""
    return " ".join(word for word in gpu.split() if not word.endswith("GB") and word not in ("SXM", "Server"))


def need_table(cells: dict[tuple[str, str], Choice], book: DataFrame, caption: str) -> Html:
    """The cells of a map with provider and instance, the band of the cost, and who is next."""
    rows = [dict(model=model, need=want) | _told(choice, book) for (model, want), choice in cells.items()]
    keys = [None if choice.row is None else choice.row["row"] for choice in cells.values()]
    return table(DataFrame(rows, keys), caption, labels={
        "need": "for", "gpus": "take", "sku": "instance", "usd": "USD", "band": "8 in 10", "sure": "cheaper than the next"},
        formats={"usd": _cents})


def _cents(usd):
    return f"{usd:,.0f}" if usd >= 100 else f"{usd:.2f}"


def _told(choice, book):
    if choice.row is None:
        return dict(gpus=f"none: {choice.reason}")
    price = book.loc[choice.row["row"]]
    ends = cost(choice).partition("(")[2].removesuffix(")").removeprefix("8 in 10: ") or dollars(choice.plan)
    return dict(gpus=taken(choice), provider=price["provider"], sku=price["sku"], term=price["term"], usd=choice.plan, band=ends,
                next=None if choice.other is None else choice.other["gpu"], sure=CLOSE if choice.close else "yes")


def turns_table(found: DataFrame, caption: str) -> Html:
    """Where another GPU becomes the cheapest as the load grows: `steps`."""
    rows = [dict(load=row.load, gpus=f"{row.gpus:.0f} × {row.gpu}" if row.gpu else "none", usd=row.usd if row.gpu else None)
            for row in found.itertuples()]
    return table(DataFrame(rows), caption, {"load": "from so many requests a second", "gpus": "take", "usd": "USD a month"},
                 {"load": number, "usd": _cents})
