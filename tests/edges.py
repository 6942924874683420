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


# Parameters of lessons at the ends of what they take, with what the page then says: a sentence, or the one line of its refusal.
PAGES = [
    ("kv_cache", {"tensor_parallel": 1, "batch": 1, "prefix": 0},
     "A batch of 1 sequence of .* does not hold one of them: the weights.*Here the weights leave no room for a cache"),
    ("kv_cache", {"model": "Llama-3-8B", "tensor_parallel": 1, "batch": 1, "context": 1, "prefix": 0}, "1 sequence of 1 token on"),
    ("arithmetic_intensity", {"batch": 1, "context": 1}, "with a batch of 1 at 1 token of context"),
    ("quantization", {"batch": 1, "context": 1, "headroom": 0.0}, "a cache of 1 × 1 token "),
    ("training_memory", {"data_parallel": 1, "zero_stage": 0}, "On one H100 SXM 80GB without ZeRO, .* the peak is"),
    ("interconnect", {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 1, "micro_batches": 1}, "communicates for 0 µs\\."),
    ("serving", {"tensor_parallel": 1, "batch": 1, "requests_per_second": 0.01}, "No number of replicas keeps the limit: an answer alone takes"),
    ("serving", {"model": "Llama-3-8B", "gpu": "H100 SXM 80GB", "tensor_parallel": 1, "output": 1, "batch": 1},
     "plan for 2 × H100 SXM 80GB in replicas of 1"),
    ("training_time", {"tensor_parallel": 1, "pipeline_parallel": 1, "virtual_stages": 1, "data_parallel": 1, "micro_batches": 1},
     "own step has 1 micro-batch and waits 0 %"),
    ("layouts", {"gpus": 1}, "no layout runs; of 800: 640 break gpus"),
    ("break_even", {"server_usd": 400000.0}, "parameter gpus_per_server: missing; give the GPUs of the server"),
    ("break_even", {"usd_per_hour": 0.0}, "usd_per_hour .* is 0.0; allowed: a number above 0"),
    ("break_even", {"gpu": "DGX Spark 128GB"}, "no price for item 'server', gpu 'DGX Spark 128GB'.*give the parameter server_usd"),
    ("break_even", {"term": "spot", "machines": 1}, "Above 100 %, owning never pays"),
]
