"""An answer in words: the facts that sentences name, and the sentences, cards and lists filled with them."""
import math
import re
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..core import figures
from ..laws.total_cost import egress_usd
from ..rows import bands, catalogue
from ..rows.ages import age, day, day_number, STALE_DAYS
from ..rows.price_report import notes
from ..rows.rents import egress_prices
from . import engine_flags
from .answer import Answer, Figure, Help, WIDE
from .answer_texts import BARS, CAUTIONS, NOUNS, PAGE, PARTS as _PARTS, TEXTS, TITLES, WHY, WORDS
from .jobs import Change, JOBS, trains
from .points import number_of, value_of
from .rent_or_buy import Verdict
from .rent_own_or_api import API, OWNED, Ways

# What the sentences about an answer name: numbers and names of its case, its choices and other ways, as plain facts.

# What of a case its sentences name.
NAMED = ("requests_per_second", "daily_users", "window_requests", "prompt", "output", "window_hours", "first_token_limit",
         "token_limit", "answer_limit", "usd_per_month", "budget_usd", "deadline_days", "training_tokens", "epochs", "sequence",
         "global_batch", "rollout_steps", "prompts_per_step", "group_size", "preference_pairs", "sure", "prompt_p95",
         "output_p95", "own_cards", "turns", "published_only")
# Formats in which engines keep a cache, the usual one first.
CACHES = ("BF16", "FP8", "NVFP4")
# The files that run a plan elsewhere.
FILES = ("compose", "kubernetes", "sky")
# The time of a choice, by kind.
TIME = {"serve": "answer_seconds", "offline": "busy_hours", "embed": "busy_hours",
        **dict.fromkeys(("train", "dpo", "grpo"), "training_days")}


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Numbers and texts by name as facts: without infinite and blank ones."""
    return {name: value for name, value in _items(values).items()
            if isinstance(value, str) and value or isinstance(value, int | float) and math.isfinite(value)}


def _items(values):
    """The same without numbers of NumPy."""
    return {name: value.item() if isinstance(value, (np.generic, np.ndarray)) else value for name, value in values.items()}


def facts(answer: Answer, book: Any, ways: Ways | None = None) -> dict[str, Any]:
    """What the sentences about an answer name: of its case, its best choice and their figures, and of the other `ways`."""
    return case_facts(answer, book_facts(book), ways)


def case_facts(answer: Answer, held: dict[str, Any], ways: Ways | None = None) -> dict[str, Any]:
    """The same with what is held of the book."""
    case, best = answer.case, answer.best
    known = held | {"kind": answer.kind} | named(case) | {name: number_of(case, name) for name in NAMED}
    if answer.kind == "serve":
        known["in_time"] = 100 * (1 - engine_flags.given(case, "late_share"))
    if trains(answer.kind):
        known["step_tokens"] = number_of(case, "sequence") * number_of(case, "global_batch")
        known["most_gpus"] = number_of(case, "gpus")
        known["setup_hours"] = number_of(case, "setup_hours")
        known["least_rented_hours"] = number_of(case, "least_rented_hours")
    else:
        known["yarn_context"] = engine_flags.given(case, "yarn_context")
        known["weights"] = float(value_of(case, "weight_bytes"))
    known = plain(known | answer.own)
    if best is None:
        return known
    known |= _of_best(answer, best) | _of_ways(ways, best[answer.objective]) | _on_spot(answer) | _of_prices(answer)
    known |= row_age(best, held)
    if answer.kind == "serve" and best["priced"] and "provider" in known:
        known |= _of_egress(case, best["provider"], held["egress"])
    return known | {"kind": answer.kind}


def book_facts(book: Any) -> dict[str, Any]:
    """What sentences name of a price book; where it has the day of the run, `today`, that too."""
    date = book.attrs.get("book", book.attrs["date"]).removesuffix(".csv")
    known = {"own_book": int(book.attrs["own"]), "book": book.attrs["file"], "stale_days": STALE_DAYS, "book_date": date}
    known["egress"] = egress_prices(book)
    today = book.attrs.get("today")
    return known | ({"today": today, "book_days": age(date, day(today))} if today and date[:2] == "20" else {})


def row_age(row: Any, known: dict[str, Any]) -> dict[str, Any]:
    """The seller and the date of a price, and its age in days where the day of the run is known."""
    date = row.get("date", "")
    if not isinstance(date, str) or date[:2] != "20":
        return {}
    held = {"provider": row["provider"], "date": date, "to_the_day": int(len(date) == 10)}
    return held | ({"age_days": max(day_number(known["today"]) - day_number(date), 0)} if "today" in known else {})


def caches() -> dict[str, str]:
    """Formats in which engines keep a cache, by bytes of an element."""
    cells = (catalogue.weight_format(name) for name in CACHES)
    return {f"{(cell['value_bits'] + cell['block_bits'] / cell['block']) / 8:g}": str(cell.name) for cell in cells}


def narrow_cache(case: Any) -> dict[str, str]:
    """The format of a case's cache, where it is given and narrower than the usual one."""
    given = case.inputs.get("cache_element_bytes")
    found = [name for width, name in caches().items() if name != CACHES[0] and given == float(width)]
    return {"cache_format": found[0]} if found else {}


def named(case: Any) -> dict[str, str]:
    """The names of a case's rows, by kind."""
    return {kind: row.name for kind, row in case.rows.items() if isinstance(getattr(row, "name", None), str)}


def _of_best(answer, best):
    known = choice(answer, best)
    for name, figure in answer.figures.items():
        low, high = figure.low, figure.high
        known |= {f"{name}_low": min(low, high), f"{name}_plan": figure.plan, f"{name}_high": max(low, high)}
        known |= {f"{name}_bound": math.inf if figure.bound is None else figure.bound}
    return plain(known)


def said_verdict(verdict: Verdict) -> str:
    """Which of renting and owning the draws say: `rent`, `own` or `close`."""
    return {"owning": "own", "renting": "rent"}[verdict.cheaper] if verdict.sure else "close"


def _of_ways(ways, rent):
    """What the cheapest of the other ways cost, where their prices are firm, and which is the cheapest: of renting and owning the
    draws say it, and an API has to be below both at today's prices."""
    known, house, least = {}, "rent", rent
    for name, way in (("own", OWNED), ("api", API)):
        row = next((row for row in ways.rows if row.way == way and not row.doubt), None) if ways else None
        if row:
            known |= {f"{name}_usd": row.usd, f"{name}_who": row.who}
    if "own_usd" in known:
        likely, verdict = ways.owning.deal.likely, ways.owning.verdict
        known |= {"rent_level": ways.level, "own_years": likely["years"], "rent_fall": likely.get("rent_decline", math.inf),
                  "verdict": said_verdict(verdict)}
        if verdict.cheaper == "owning":
            house, least = "own", min(rent, known["own_usd"] * rent / ways.level)
    known |= {"way": "api" if known.get("api_usd", math.inf) < least else house} if known else {}
    return plain(known | {"api_below": (ways.below or math.inf) if ways else math.inf,
                          "api_turn": (ways.turn or math.inf) if ways else math.inf})


def _of_egress(case, provider, prices):
    """What a month of answers costs to send out, by the provider's price, else by the highest of the book."""
    sent = number_of(case, "answer_bytes")
    costs = {seller: egress_usd(sent, price["usd_per_gb"], price["free_bytes"], 1) for seller, price in prices.items()}
    known = {"sent_bytes": sent, "egress_most": max(costs.values())} if costs else {}
    if provider in costs:
        known |= {"egress_usd": costs[provider], "egress_date": prices[provider]["date"],
                  "egress_recalled": int(prices[provider]["confidence"] == "recalled")}
    return plain(known)


def _on_spot(answer):
    """What the same would cost on machines that can be taken back, where that is less."""
    found = next((each for each in answer.helps if each.change.name == "term"), None)
    if found is None:
        return {}
    return plain({"spot_usd": found.after} | {f"spot_{name}": found.choice[name] for name in ("gpu", "gpus", "provider", "sole")})


def _of_prices(answer):
    """The best choice at a price of the reader's own, the best at another's and what lies between the two (`gap`); and where the
    price of the answer stands alone, the best choice whose price does not."""
    yours, alone = answer.kept["yours"], answer.kept["sole"]
    own, other, firm = (_first_facts(answer, places) for places in (
        [place for place in range(len(yours)) if yours[place]], [place for place in range(len(yours)) if not yours[place]],
        [place for place in range(len(alone)) if alone[0] and not alone[place]]))
    known = {f"mine_{name}": value for name, value in own.items()} | {f"other_{name}": value for name, value in other.items()}
    gap = {"gap": abs(own["objective"] - other["objective"])} if own and other else {}
    return plain(known | {f"firm_{name}": value for name, value in firm.items()} | gap)


def _first_facts(answer, places):
    """What is named of the first choice in these places; nothing without one, or where it has no price."""
    if not places or not answer.kept["priced"][places[0]]:
        return {}
    row = choice(answer, {name: column[places[0]] for name, column in answer.kept.items()})
    return {name: row[name] for name in ("gpu", "gpus", "provider", "usd_per_hour", "objective") if name in row}


def choice(answer: Answer, row: dict[str, Any]) -> dict[str, Any]:
    """The facts of one choice of the answer: of its row, and what follows from it."""
    known = plain(row)
    if trains(answer.kind):
        degrees = math.prod(known[f"{each}_parallel"] for each in ("tensor", "pipeline", "context"))
        trainer = known["gpus"] * known.get("trainer_share", 1)
        known |= {"data_parallel": max(trainer // degrees, 1)} if "tensor_parallel" in known else {}
    else:
        parallel = [known.get(f"{each}_parallel", 1) for each in ("tensor", "attention", "pipeline")]
        known |= {"replica_gpus": math.prod(parallel), "expert_gpus": parallel[0] * parallel[1]}
        known["gpus"] = known.get("rented_gpus", known["replica_gpus"])
        known |= {"planned_replicas": known["window_replicas"]} if "window_replicas" in known else {}
        apart = known.get("all_replicas", 0) - known.get("planned_replicas", 0)
        known |= {"prefill_replicas": apart} if apart > 0 else {}
        known |= {"places": known["replica_places"] // 1} if "replica_places" in known else {}
        known |= {"spare": known["planned_replicas"] - known["replicas_required"]} if "replicas_required" in known else {}
    if "interruption_slowdown" in known:
        known |= {"lost_share": 1 - 1 / known["interruption_slowdown"]}
    if "gpus_per_server" in known:
        known["servers"] = known["gpus"] / known["gpus_per_server"]
    ends = {f"{end}objective": f"{end}{answer.objective}" for end in ("", "low_", "high_", "sure_")}
    known |= {end: known[name] for end, name in ends.items() if name in known}
    known |= {"time": known[TIME[answer.kind]]} if TIME[answer.kind] in known else {}
    return known | {"stale": int(row.get("stale", 0)), "yours": int(row.get("yours", 0))}


# The answer to a case in words: its facts put into the texts of `answer_texts`, for pages, the terminal and the report.

__all__ = ["FLIPS", "FORMS", "NAMED", "TABLES", "TIME", "WORTH", "Card", "Command", "Told", "begun", "cards", "choices",
           "commands", "facts", "fill", "named", "told"]

FORMS = ("three_figures", "seconds", "percent", "dollars", "usd", "hourly", "days", "hours", "chance", "times", "gib")
WORTH = 0.005    # less than this rounds to no per cent
FLIPS = 3
_ALL = TEXTS | PAGE | engine_flags.TEXTS
# The engine of a case that names none.
ENGINE = engine_flags.ENGINE
_FREE = {kind: job.free for kind, job in JOBS.items()}
PARTS = _PARTS | engine_flags.PARTS
_FIELD = re.compile(r"{([\w-]+)(?::([^}]+))?}")
TABLES = {kind: job.like for kind, job in JOBS.items() if job.like}
# What of two plans makes their errors unlike, by row of data/ratio_errors.csv; and what no pairs of measured runs differ in.
DIFFERS = {"card": ["gpu"], "format": ["weight_format", "cache_element_bytes"],
           "layout": ["tensor_parallel", "attention_parallel", "pipeline_parallel"], "batch": ["batch"], "engine": ["engine"],
           "lengths": ["prompt", "output"]}
UNPAIRED = ("kind", "model", "unmeasured", "cached_share", "prompt_chunk", "prompts_apart", "drafted", "acceptance",
            "max_loras", "lora_rank")
# Cards whose figure one of two answers may have the better of.
COMPARED = ("fast", "many", "long", "cost")


class Card(NamedTuple):
    """A card of the answer: `big`, `small` (band and bound) and `note` in words, the `page` that explains it and the words of the
    link, and the figure for its bar (`answer.Figure`), None where it has none."""

    name: str
    title: str
    big: str
    small: str
    note: str
    page: str
    link: str
    bar: Any


class Command(NamedTuple):
    """What runs the replicas: a title, the text for a shell, what to mind, and the files that run the same elsewhere."""

    title: str
    text: str
    note: str
    files: list["Command"] = []


class Told(NamedTuple):
    """An answer in words. `rows` are the choices, the best first, then what each other GPU lacks, as `choices` gives them."""

    question: str
    headline: str
    cards: list[Card]
    rows: list[dict]
    binds: list[str]
    helps: list[str]
    loosen: list[str]
    flips: list[str]
    cautions: list[str]
    prices: str
    commands: list[Command] = []
    noted: list[tuple[str, list[str]]] = []
    sure: str = ""

    @property
    def lists(self) -> tuple[tuple[str, list[str]], ...]:
        """What is said in lists, each with its title; the last ones are of the reader's own prices."""
        return (("How sure?", [self.sure] if self.sure else []), ("What binds", self.binds), ("What to loosen", self.loosen),
                ("What helps", self.helps), ("What flips it", self.flips), ("Be careful", self.cautions), *self.noted)


# Texts with facts put in

def fill(name: str, facts: dict[str, Any]) -> str:
    """The text of that name. Raises KeyError naming a fact that is not there."""
    text = _ALL[name]
    held = [text] if isinstance(text, str) else [template for condition, template in text if _holds(condition, facts)]
    wanted = held if name in PARTS else held[:1]
    return PARTS.get(name, "").join(_FIELD.sub(lambda field: _field(field[1], field[2], facts), each) for each in wanted)


def _holds(condition, facts):
    return all(_true(facts, *each.split(" ")) for each in condition.split(" & ")) if condition else True


def _true(facts, name, comparison, other=""):
    value = facts.get(name)
    if comparison in ("known", "unknown"):
        return (value is not None) == (comparison == "known")
    other = facts.get(other[1:]) if other.startswith("@") else float(other) if re.fullmatch(r"[\d.]+", other) else other
    if None in (value, other) or isinstance(value, str) != isinstance(other, str):
        return comparison == "!="
    return {"=": value == other, "!=": value != other, "<": value < other, ">": value > other}[comparison]


def _field(name, form, facts):
    if form == "text":
        return fill(name, facts)
    if "-" in name:
        low, high = (_field(each, form, facts) for each in name.split("-"))
        same = low.partition(" ")[2] == high.partition(" ")[2]
        return f"{low.partition(' ')[0] if same else low} and {high}"
    value = facts[name]
    if form in WORDS:
        return WORDS[form].get(_key(value), _key(value))
    if form in engine_flags.FORMS:
        return engine_flags.FORMS[form](value)
    if isinstance(value, str):
        return value
    if form in NOUNS:
        return f"{figures.number(value)} {NOUNS[form] if value == 1 else form}"
    return getattr(figures, form)(value) if form in FORMS else figures.number(value, form or "")


def _key(value):
    return value if isinstance(value, str) else f"{value:g}"


def _of_kind(name, kind):
    """The text of that name for the kind, for the kind that it is one of, or for all."""
    return next(each for each in (f"{name}_{kind}", f"{name}_{TABLES.get(kind)}", name) if each in TEXTS)


# The answer

def told(answer: Answer, book: Any, turns: list | None = None, ways: Ways | None = None) -> Told:
    """The answer in words; `turns` are what `sensitivity.turns` found, `ways` what `rent_own_or_api.ways` did."""
    known, kind = facts(answer, book, ways), answer.kind
    rows = choices(answer)
    out = [row for row in rows if row["reason"] and not row["holds"]]
    loosen, there = loosened(answer, out, known), answer.best is not None
    headline = fill("headline", known) if there else fill("headline_none", known | nearest(answer, out, loosen))
    return Told(
        question=fill(_of_kind("question", kind), known) + "?", headline=headline, cards=cards(answer, known) if there else [],
        rows=rows, binds=begun(binds(answer, known)) if there else [],
        helps=begun(helping(answer, each) for each in helps(answer)), loosen=begun(text for text, _ in loosen),
        flips=begun([*(text for *_, text in flips(rows)), *(turned(*each) for each in turns or [])]) if there else [],
        cautions=cautions(known) if there else [], prices=fill("prices", known), commands=commands(answer, known),
        noted=notes(book), sure=levels(answer))


def levels(answer: Answer) -> str:
    """What is taken, and what it costs, by the share of cases in which the limits hold."""
    found = [(figures.chance(share), fill("level", {**(choice(answer, row) if row else {}), "kind": answer.kind}))
             for share, row in answer.levels]
    texts = {text: ", ".join([share for share, other in found if other == text]) for _, text in found}
    return "; ".join([f"{shares}: {text}" for text, shares in texts.items()])


def nearest(answer: Answer, lost: list[dict[str, Any]], loosen: list[tuple[str, dict]]) -> dict[str, Any]:
    """Where nothing keeps the limits: the facts of what comes nearest."""
    row = loosen[0][1] if loosen else lost[0] if lost else {}
    known = {f"nearest_{name}": row.get(name) for name in ("reason", "limit", "value", "most")} if row else {}
    return known | ({"nearest": row["gpu"]} if row else {})


def cautions(known: dict[str, Any]) -> list[str]:
    """What to be careful of with the best choice."""
    found = [fill(f"caution_{name}", known) for name in CAUTIONS]
    return [text for text in found if text]


def commands(answer: Answer, known: dict[str, Any]) -> list[Command]:
    """What runs the best choice; nothing for a job that trains, without a choice, or where the engine cannot run it so."""
    if answer.best is None or trains(answer.kind) or fill("caution_engine", known):
        return []
    found = engine_flags.roles(engine_flags.known(answer, known))
    return [Command(fill(f"run_{each['role']}" if "role" in each else "run", each), fill(f"command_{each['engine']}", each),
                    fill("run_note", each).strip(), files(each)) for each in found]


def files(known: dict[str, Any]) -> list[Command]:
    """The command as a file of Docker Compose, of Kubernetes and of SkyPilot, where it can be one."""
    held = known | {"command": fill(f"command_{known['engine']}", known)}
    texts = [(f"{name}.yaml", fill(name, held)) for name in FILES]
    return [Command(name, text, "", []) for name, text in texts if text]


def begun(texts: Iterable[str]) -> list[str]:
    """Each text with a capital at its start."""
    return [text[:1].upper() + text[1:] for text in texts]


def cards(answer: Answer, known: dict[str, Any]) -> list[Card]:
    """The six cards of an answer."""
    kind = answer.kind
    found: list[Card] = []
    for name, title in TITLES.items():
        bar = BARS.get(kind, {}).get(name, name)
        big, small, note = (fill(_of_kind(f"{part}_{name}", kind), known) for part in ("big", "small", "note"))
        page, link = WHY[kind][name]
        found.append(Card(name, title, big, small, note, page, link, answer.figures.get(bar)))
    return found


def choices(answer: Answer) -> list[dict[str, Any]]:
    """The facts of every choice with `layout`, `holds` and `reason`: those that keep the limits, the best first, then others. No
    money stands in one that is not priced."""
    kept = zip(*(np.asarray(column).tolist() for column in answer.kept.values()))
    return [row if row.get("priced", 1) else _without_money(row)
            for row in compared(answer, [dict(zip(answer.kept, row)) for row in kept])]


def _without_money(row):
    return {name: value for name, value in row.items() if name != "usd_per_hour" and not name.endswith("objective")}


def compared(answer: Answer, kept: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same of some of the choices that keep the limits, the best first."""
    found = [choice(answer, row) | {"holds": True} for row in kept]
    for row in found:
        row["layout"] = _layout(row, answer.kind)
        row["reason"] = "" if row is found[0] else fill("later", row | against(row, found[0], answer.kind))
    case = named(answer.case) | narrow_cache(answer.case) | {"sure": float(value_of(answer.case, "sure"))}
    case |= {} if trains(answer.kind) else {"weights": float(value_of(answer.case, "weight_bytes"))}
    own = engine_flags.given(answer.case, "own_cards")
    for gpu, lost in sorted(answer.lost.items(), key=_distance):
        row = case | choice(answer, lost.row) | plain({"value": lost.value, "most": lost.most})
        row |= {f"{name}_bytes": row[count] * row["memory_bytes"]
                for name, count in (("replica", "replica_gpus"), ("server", "gpus_per_server")) if count in row}
        row |= {"own_cards": own, "own_bytes": own * row["memory_bytes"]} if own else {}
        row |= {"gpus": own} if own and not trains(answer.kind) else {}
        row |= {"gpu": gpu, "limit": lost.limit.most if isinstance(lost.limit.most, str) else "", "holds": False}
        layout = _layout(row, answer.kind) if lost.step else ""
        found.append(row | {"layout": layout, "reason": fill(f"lost_{lost.limit.of}", row)})
    return found


def _distance(item):
    """How far a GPU that lost is from a choice: by its step, then by how much of the limit it breaks."""
    lost = item[1]
    return -lost.step, lost.value / lost.most if lost.most else math.inf


def _layout(row, kind):
    if trains(kind):
        return fill(_of_kind("layout", kind), row) if "micro_batch" in row else ""
    return fill("layout_serve", row) if "planned_replicas" in row else ""


def against(row, best, kind):
    """What a choice costs beside the best one. The same GPUs are off by the same error, so that only their rents count; of others
    in an engine the ratio is known better than either, but not of cards on which no engine was measured."""
    ratio = row["objective"] / best["objective"]
    same = all(row[name] == best[name] for name in ("gpu", "gpus"))
    if trains(kind) or row.get("unmeasured", 0) != best.get("unmeasured", 0):
        near = row.get("low_objective", math.inf) < best.get("high_objective", math.inf)
    else:
        near = ratio < bands.apart("layout" if row["gpu"] == best["gpu"] else "card")
    spread = row.get("high_objective", 0) / row["objective"]
    return {"best_high": best.get("high_objective"), "ratio": ratio, "more": ratio - 1, "tie": int(near and not same),
            "wide": int(spread > WIDE), "spread": spread}


# Two answers side by side

def likeness(answer: Answer) -> dict[str, Any]:
    """What tells the plans of two cases apart, by name; nothing without a plan."""
    if answer.best is None:
        return {}
    case, names = answer.case, [name for each in [*DIFFERS.values(), UNPAIRED] for name in each]
    known = plain({name: number_of(case, name) for name in names}) | named(case) | answer.best | {"kind": answer.kind}
    return plain({name: known[name] for name in names if name in known}) | {"engine": known.get("engine", ENGINE)}


def apart(one: dict[str, Any], other: dict[str, Any]) -> float | None:
    """From which ratio on a difference between two plans is real, by their `likeness`; 1 where they are the same in all that
    errors follow from, None where nothing is known of the ratio: each then has its own range.

    Errors by card, layout and batch know nothing of each other, so that their squares add up.
    """
    if not one or not other or trains(one["kind"]) or any(one.get(name) != other.get(name) for name in UNPAIRED):
        return None
    found = [bands.apart(differs) for differs, names in DIFFERS.items()
             if any(one.get(name) != other.get(name) for name in names)]
    return 10 ** sum(math.log10(ratio) ** 2 for ratio in found) ** 0.5


def better(one: Figure | None, other: Figure | None, name: str, real: float | None) -> str:
    """Which of two figures of a card wins: `first`, `second`, `tie` where they are too close to call, `same`; empty for what is
    not compared. A difference is real where their ranges lie apart, and from the ratio `real` on where that is known."""
    if one is None or other is None or name not in COMPARED:
        return ""
    if one.low == other.low and one.plan == other.plan and one.high == other.high:
        return "same"
    less, more = _is_less(one, other, real), _is_less(other, one, real)
    if one.unit == "token/second":
        less, more = more, less
    return "first" if less else "second" if more else "tie"


def _is_less(one, other, real):
    if max(one.low, one.high) < min(other.low, other.high):
        return True
    return real is not None and one.plan < other.plan and other.plan >= real * one.plan


def binds(answer: Answer, known: dict[str, Any]) -> list[str]:
    """What each limit costs the best choice."""
    priced = known["priced"]
    found = [fill("binds", {"limit": name, "most": float(value_of(answer.case, name)), "share": float(share), "priced": priced})
             for name, share in answer.binds]
    return found or [fill("binds_none", known)]


def helps(answer: Answer) -> list[Help]:
    """The changes that are worth a word; spot stands with the ways to pay if there is a plan."""
    best = answer.best
    return [each for each in answer.helps if _less(answer, each) >= WORTH and not (best and each.change.name == "term")]


def helping(answer: Answer, found: Help) -> str:
    """What a change does to the objective."""
    change, less = found.change, _less(answer, found)
    memory = ("training_bytes", "policy_bytes", "memory_bytes", "server_host_bytes")
    times = ("step_seconds", "learning_seconds", "grpo_step_seconds")
    held = (*memory, *times) if change.name == "recipe" else ("late_token_seconds",)
    return fill("helps", plain({name: found.choice[name] for name in held if name in found.choice} | {
        "kind": answer.kind, "priced": found.choice["priced"], "before": _before(answer), "after": found.after, "less": less,
        "words": change.words, "value_text": _value(change)}))


def _before(answer):
    best = answer.best
    return float(best[answer.objective]) if best else math.inf


def _less(answer, found):
    return 1 - found.after / _before(answer)


def _value(change):
    """The value of a change in words; empty where its words have it already."""
    if isinstance(change.value, str) or change.times == 1:
        return ""
    name, value = f"value_{change.name}", float(change.value)
    return fill(name, {"value": value}) if name in TEXTS else figures.quantity(change.name, value)


def loosened(answer: Answer, lost: list[dict[str, Any]], known: dict[str, Any]) -> list[tuple[str, dict]]:
    """Of each limit of the case that stops a GPU, what would be enough for the nearest, as (words, row)."""
    if answer.best is not None:
        return []
    found: dict[str, dict] = {}
    for row in lost:
        limit = row["limit"]
        if limit in _FREE[answer.kind] and "value" in row and (limit not in found or row["value"] < found[limit]["value"]):
            found[limit] = row
    budget = [known[name] for name in ("budget_usd", "usd_per_month") if name in known]
    more = {"budget": budget[0]} if budget else {}
    return [(fill("loosen", row | more | {"nearest": row["gpu"], "value": figures.rounded_up(row["value"])}), row)
            for row in found.values()]


def flips(rows: list[dict[str, Any]]) -> list[tuple[dict, float, str]]:
    """The rents at which the nearest other GPUs win, as (row, rent, words)."""
    best, seen = rows[0], [rows[0]["gpu"]]
    found: list[tuple[dict, float, str]] = []
    for row in rows[1:]:
        if row["holds"] and row["priced"] and row["gpu"] not in seen and len(found) < FLIPS:
            seen.append(row["gpu"])
            turn = turning_rent(row, best)
            close = figures.hourly(turn) == figures.hourly(row["usd_per_hour"])
            found.append((row, turn, fill("flip_rent", row | {"turn": turn, "close": int(close)})))
    return found


def turned(change: Change, gpu: str) -> str:
    """A load or a length at which another GPU is the best."""
    return fill("flip_turn", {"value_text": _value(change), "words": change.words, "gpu": gpu})


def turning_rent(row: dict[str, Any], best: dict[str, Any]) -> float:
    """The rent of a choice (USD per GPU-hour) at which it costs as much as the best one: cost is in proportion to rent."""
    return row["usd_per_hour"] * best["objective"] / row["objective"]
