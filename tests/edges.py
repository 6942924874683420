"""Cases at the ends of what data/ranges.csv lets a reader give, just outside them, and far from any number that means something.

Python, the page's scripts and `make bench` take the same ones.
"""
import math
import re
import sys

from gpucalc.core.quantities import DOMAINS, QUANTITIES
from gpucalc.rows.case_file import SURE, span
from gpucalc.rows.tables import rows

# What a job needs, on a card alone, whose layouts are soon looked through.
NEEDED = {"model": "Llama-3.2-1B", "gpu": "H100 SXM 80GB", "training_tokens": 10**8, "requests_per_second": 5, "window_requests": 10**5,
          "images_per_day": 10**5, "preference_pairs": 60000, "rollout_steps": 200, "output": 500, "output_p95": 0}
SESSION = {"turns": 10, "first_prompt": 500, "turn_tokens": 100, "think_seconds": 10}
# Names beside which another one has to be left out or put in.
APART = {"daily_users": "requests_per_second", "messages_per_day": "requests_per_second", "busiest_hour_share": "requests_per_second",
         "window_requests": "images_per_day"}


def given():
    """Each quantity that a case may give, `sure` apart, with the first job that takes it."""
    found = {}
    for job, row in rows("jobs").items():
        for name in [*re.split("[ |]", row["needs"]), *row["takes"].split()]:
            if name in QUANTITIES and name != "sure":
                found.setdefault(name, job)
    return found


def values(name):
    """Values of a quantity, each with whether a case may have it."""
    (low, low_included, _, whole), (least, most) = DOMAINS[QUANTITIES[name].allowed], span(name)
    inside = [least, most, *([0] if low_included and not low else [])]
    outside = [int(most * 1.01) + 1 if whole else most * 1.01, least - 1 if whole and low else least * 0.99, -least, 1e15 * most, -most,
               sys.float_info.max, -sys.float_info.max, sys.float_info.min, math.inf, -math.inf, math.nan]
    return [(int(value) if whole else float(value), True) for value in inside] + [(value, False) for value in outside]


def cases():
    """(name, case, whether it may be asked) of every quantity."""
    for name, job in given().items():
        needs = [need.split("|")[0] for need in rows("jobs")[job]["needs"].split()]
        base = {"job": job} | {need: NEEDED[need] for need in needs if need != APART.get(name)}
        base |= {} if job == "rent_or_buy" else {"cards": NEEDED["gpu"]}
        base |= {"daily_users": 1000} if name in ("messages_per_day", "busiest_hour_share") else {}
        base |= {"drafted": 2, "acceptance": 0.5} if name in ("drafted", "acceptance") else {}
        base |= {"lora_rank": 8} if name == "max_loras" else {}
        base |= SESSION if name in (*SESSION, "host_cache_bytes") else {}
        base |= {"own_cards": 8} if name in ("gpus_per_server", "usd_per_kwh") and job != "rent_or_buy" else {}
        for value, fits in values(name):
            beside = {}
            if fits and name in ("prompt_p95", "output_p95"):
                beside = {name.removesuffix("_p95"): max(int(value // 3), 1)}
            elif fits and name == "output_limit":
                beside = {"output": min(value or 500, 500)}
            yield name, base | beside | {name: value}, fits
    for value in (0, 1, 0.7, sys.float_info.max, math.nan):
        yield "sure", {"job": "serve", "model": NEEDED["model"], "requests_per_second": 5, "sure": value}, value in SURE
