"""What no answer may be, over swept and random cases: a p95 below a single pass, a context that the model lacks, a plan that gets
worse with a looser limit, less load or more machines."""
import itertools
import math
import random

import pytest

from gpucalc.decisions import answer as plan
from gpucalc.decisions.jobs import JOBS, REPLICAS
from gpucalc.decisions.market import market
from gpucalc.decisions.rule import value_of
from gpucalc.rows import case_file
from gpucalc.rows.project_books import MissingPrice
from gpucalc.rows.tables import rows

LIMITS = dict(job="serve", first_token_limit=2, token_limit=0.05, late_share=0.05, cards="H100 SXM 80GB, H200 SXM 141GB, L40S 48GB")
SWEPT = [LIMITS | dict(model=model, prompt=prompt, output=output, requests_per_second=rate)
         for model, (prompt, output), rate in itertools.product(
             ("Llama-3-8B", "Qwen3-32B", "DeepSeek-V3"), ((500, 50), (4000, 500), (100_000, 1000)), (0.1, 1, 10, 50))]
# What more is looser, with a factor that is.
LOOSER = {"serve": {"first_token_limit": 1.5, "token_limit": 1.5, "requests_per_second": 0.7, "late_share": 2},
          "train": {"deadline_days": 1.5, "gpus": 2}}
CARDS = ("H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "L40S 48GB", "A100 SXM 80GB", "RTX 4090 24GB", "MI300X 192GB")
FEW, MANY = 12, 500


def random_case(draw):
    def span(low, high):
        return math.exp(draw.uniform(math.log(low), math.log(high)))

    cards = ", ".join(draw.sample(CARDS, draw.choice((1, 2, 4))))
    if draw.random() < 0.2:
        return dict(job=draw.choice(("pretrain", "finetune", "lora")), cards=cards, training_tokens=round(span(1e7, 1e11)), gpus=round(span(1, 128)),
                    model=draw.choice(("Llama-3-8B", "Llama-3-70B", "Qwen3-30B-A3B", "Llama-3.2-1B")), deadline_days=round(span(1, 200), 1))
    held = dict(job="serve", model=draw.choice(list(rows("models"))), cards=cards, requests_per_second=round(span(0.1, 50), 2),
                prompt=round(span(50, 100_000)), output=round(span(10, 4000)), first_token_limit=round(span(0.3, 20), 2),
                token_limit=round(span(0.02, 0.3), 3), late_share=round(span(0.01, 0.2), 3))
    more = {"engine": list(rows("engines")), "prompt_chunk": (0, 512, 2048, 8192), "cached_share": (0.5, 0.9), "prompts_apart": (1,),
            "tensor_parallel": (1, 4, 8), "weight_format": ("FP8", "INT4-g128"), "spare_replicas": (0, 1)}
    return held | {name: draw.choice(values) for name, values in more.items() if draw.random() < 0.25}


def faults(held, book):
    """What is wrong with the answer to a case, in words, and whether it has one."""
    case = case_file.case_of(held)
    kind, whole = plan.kind_of(case), plan.completed(case)
    try:
        tables = market(whole, book, kind)
    except MissingPrice:
        return [], False
    objective, best = JOBS[kind].objective, plan.first_of(plan.kept_at_plan(whole, tables, kind), kind)
    if best is None:
        return [], False
    found = []
    if kind == "serve":
        chosen = plan.of_choice(whole.but(**REPLICAS.given), best)
        lone = chosen("lone_token_seconds")
        if held["prompt"] + held["output"] > case.rows["model"].get("max_context", math.inf):
            found.append("a longer context than the model's")
        # A pass without the band, since the plan may stand anywhere on it.
        found += [f"{name} {best[name]:.4g} s below a pass of {lone:.4g} s" for name in ("late_token_seconds", "late_gap_seconds")
                  if not best[name] >= lone * 0.7]
        fewer, more = (chosen.but(replicas=best["replicas"] + each) for each in (0, 1))
        found += [f"{law} grows with a replica more" for law in ("time_to_first_token", "late_token_seconds")
                  if more(law) > fewer(law) * (1 + 1e-9)]
    for name, times in LOOSER[kind].items():
        value = value_of(whole, name) * times
        looser = whole.but(**{name: round(value) if name == "gpus" else value})
        there = market(looser, book, kind, offers=tables["offers"]) if name == "gpus" else tables
        other = plan.first_of(plan.kept_at_plan(looser, there, kind), kind)
        if other is None or other[objective] > best[objective] * (1 + 1e-9):
            found.append(f"{name} {value:g}: {other and other[objective]} USD instead of {best[objective]}")
    return found, True


def all_faults(cases, book):
    worked = [(held, *faults(held, book)) for held in cases]
    assert sum(there for *_, there in worked) > len(worked) / 4
    return [(found, held) for held, found, _ in worked if found]


def test_few_random_cases_are_sound(book):
    draw = random.Random(7)
    assert all_faults([*SWEPT[::6], *(random_case(draw) for _ in range(FEW))], book) == []


@pytest.mark.long
def test_swept_and_many_random_cases_are_sound(book):
    draw = random.Random(38)
    assert all_faults([*SWEPT, *(random_case(draw) for _ in range(MANY))], book) == []
