"""What the sentences about an answer name: numbers and names of its case, its choices and other ways, as plain facts."""
import math
from typing import Any

from ..core.quantities import DEFAULTS
from ..rows import catalogue
from ..rows.ages import STALE_DAYS, age, day
from .answer import Answer
from .decide import Verdict
from .decisions import trains
from .points import number_of
from .token_volumes import API, OWNED
from .ways import Ways

# What of a case its sentences name.
NAMED = ("requests_per_second", "daily_users", "window_requests", "prompt", "output", "window_hours", "first_token_limit",
         "token_limit", "answer_limit", "usd_per_month", "budget_usd", "deadline_days", "training_tokens", "epochs", "sequence",
         "global_batch", "rollout_steps", "prompts_per_step", "group_size", "preference_pairs", "sure", "prompt_p95",
         "output_p95")
# Formats in which engines keep a cache, the usual one first.
CACHES = ("BF16", "FP8", "NVFP4")
# The time of a choice, by kind.
TIME = {"serve": "answer_seconds", "offline": "busy_hours", "embed": "busy_hours",
        **dict.fromkeys(("train", "dpo", "grpo"), "training_days")}


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Numbers and texts by name as facts: without infinite and blank ones."""
    held = {name: value.item() if hasattr(value, "item") else value for name, value in values.items()}
    return {name: value for name, value in held.items()
            if isinstance(value, str) and value or isinstance(value, int | float) and math.isfinite(value)}


def facts(answer: Answer, book: Any, ways: Ways | None = None) -> dict[str, Any]:
    """What the sentences about an answer name: of its case, its best choice and their figures, and of the other `ways`."""
    case, best = answer.case, answer.best
    known = book_facts(book) | {"kind": answer.kind} | named(case) | {name: number_of(case, name) for name in NAMED}
    if answer.kind == "serve":
        known["in_time"] = 100 * (1 - case.inputs.get("late_share", DEFAULTS["late_share"].value))
    if trains(answer.kind):
        known["step_tokens"] = number_of(case, "sequence") * number_of(case, "global_batch")
        known["most_gpus"] = number_of(case, "gpus")
    known = plain(known)
    if best is None:
        return known
    known |= _of_best(answer, best, book) | row_age(best, known)
    return known | _of_ways(ways, best[answer.objective]) | _on_spot(answer) | {"kind": answer.kind}


def book_facts(book: Any) -> dict[str, Any]:
    """What sentences name of a price book; where it has the day of the run, `today`, that too."""
    date = book.attrs.get("book", book.attrs["date"]).removesuffix(".csv")
    known = {"own_book": int(book.attrs["own"]), "book": book.attrs["file"], "stale_days": STALE_DAYS, "book_date": date}
    today = book.attrs.get("today")
    return known | ({"today": today, "book_days": age(date, day(today))} if today and date[:2] == "20" else {})


def row_age(row: Any, known: dict[str, Any]) -> dict[str, Any]:
    """The seller and the date of a price, and its age in days where the day of the run is known."""
    dated = str(row.get("date", ""))[:2] == "20"
    if not dated:
        return {}
    held = {"provider": row["provider"], "date": row["date"], "to_the_day": int(len(row["date"]) == 10)}
    return held | ({"age_days": age(row["date"], day(known["today"]))} if "today" in known else {})


def caches() -> dict[str, str]:
    """Formats in which engines keep a cache, by bytes of an element."""
    cells = (catalogue.weight_format(name) for name in CACHES)
    return {f"{(cell['value_bits'] + cell['block_bits'] / cell['block']) / 8:g}": str(cell.name) for cell in cells}


def narrow_cache(case: Any) -> dict[str, str]:
    """The format of a case's cache, where it is given and narrower than the usual one."""
    found = [name for width, name in list(caches().items())[1:] if case.inputs.get("cache_element_bytes") == float(width)]
    return {"cache_format": found[0]} if found else {}


def named(case: Any) -> dict[str, str]:
    """The names of a case's rows, by kind."""
    return {kind: row.name for kind, row in case.rows.items() if isinstance(getattr(row, "name", None), str)}


def _of_best(answer, best, book):
    known = choice(answer, best, book)
    for name, figure in answer.figures.items():
        low, plan, high = figure[:3]
        known |= {f"{name}_low": min(low, high), f"{name}_plan": plan, f"{name}_high": max(low, high)}
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
        likely, verdict = ways.owning.deal.ranges["likely"], ways.owning.verdict
        known |= {"rent_level": ways.level, "own_years": likely["years"], "rent_fall": likely.get("rent_decline", math.inf),
                  "verdict": said_verdict(verdict)}
        if verdict.cheaper == "owning":
            house, least = "own", min(rent, known["own_usd"] * rent / ways.level)
    known |= {"way": "api" if known.get("api_usd", math.inf) < least else house} if known else {}
    return plain(known | {"api_below": (ways.below or math.inf) if ways else math.inf})


def _on_spot(answer):
    """What the same would cost on machines that can be taken back, where that is less."""
    found = next((each for each in answer.helps if each.change.name == "term"), None)
    if found is None:
        return {}
    return plain({"spot_usd": found.after} | {f"spot_{name}": found.choice[name] for name in ("gpu", "gpus", "provider", "sole")})


def choice(answer: Answer, row: dict[str, Any], book: Any) -> dict[str, Any]:
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
    return known | {"stale": int(row.get("stale", False)), "yours": int("row" in row and bool(book.at[row["row"], "yours"]))}
