"""Random cases of the front page and what Python makes of each: worked out once, for all tests and workers that compare with it."""

import math
import pickle
import random
import sys
from typing import Any, NamedTuple

from book.build.inputs import alone, digest, files_in, ROOT
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions import answer as plan, answer_words, jobs, rule
from gpucalc.decisions.market import market
from gpucalc.rows import case_file
from gpucalc.rows.project_books import MissingPrice
from gpucalc.rows.tables import rows

CASES = 45
SERVED = dict(job="serve", model="Llama-3-70B", weight_format="FP8", requests_per_second=10, prompt=1000, output=300,
              first_token_limit=1, token_limit=0.05, cards="any", provider="any", region="any", term="on-demand")
# Cases that are answered whatever the seed, one of each kind of decision that most others are of.
ANSWERED = [SERVED, {"job": "batch", "model": "Llama-3-8B", "window_requests": 1_000_000, "cards": "H100 SXM 80GB, L40S 48GB"},
            {"job": "pretrain", "model": "Llama-3-8B", "training_tokens": 1_000_000_000, "gpus": 16, "cards": "A100 SXM 80GB"}]
# Jobs are dealt from this, so that each kind of decision comes as often whatever the seed.
DEALT = ["serve", "serve", "batch", "embed", "images", "pretrain", "pretrain", "continue", "finetune", "lora", "qlora", "dpo", "dpo",
         "grpo", "grpo"]
AROUND = {"setup_hours": (0.1, 4), "requests_per_second": (0.1, 100), "daily_users": (100, 1e6), "messages_per_day": (1, 50),
          "busiest_hour_share": (0.05, 0.5), "max_context": (2048, 1e6),
          "prompt": (50, 30000), "output": (10, 2000), "cached_share": (0, 0.9), "first_token_limit": (0.1, 10),
          "token_limit": (0.01, 0.3), "answer_limit": (2, 120), "late_share": (0.001, 0.2), "most_load": (0.3, 0.95),
          "spare_replicas": (0, 4), "usd_per_month": (1000, 1e6), "window_requests": (1e3, 1e8), "images_per_day": (1e3, 1e8),
          "window_hours": (1, 168), "training_tokens": (1e6, 1e12), "epochs": (1, 5), "sequence": (512, 32768),
          "preference_pairs": (1e3, 1e6), "rollout_steps": (10, 2000), "prompts_per_step": (8, 512), "group_size": (4, 64),
          "output_p95": (100, 8000), "output_limit": (2000, 32000),
          "prompt_chunk": (128, 2048), "acceptance": (0.3, 0.95), "global_batch": (8, 2048), "gpus": (1, 512), "deadline_days": (1, 365), "budget_usd": (100, 1e7), "lora_rank": (4, 128), "max_loras": (1, 64)}
FEW = {"published_only": [0, 1], "cards": ["any"], "sure": list(case_file.SURE), "cache_element_bytes": [0.5625, 1, 2],
       "tensor_parallel": [1, 2, 4, 8], "attention_parallel": [1, 8], "pipeline_parallel": [1, 2], "prompts_apart": [0, 1],
       "drafted": [0, 1, 3],
       "references": [0, 1], "critic": [0, 1], "offloaded_states": [0, 1], "staleness": [0, 1, 4]}
WORDS = {"model": "models", "weight_format": "formats", "recipe": "recipes", "engine": "engines"}
# What a session of turns is given by.
SESSION = {"turns": (1, 40), "first_prompt": (100, 20000), "turn_tokens": (10, 3000), "think_seconds": (0.5, 300)}
# How many cards a case may be decided among; none is all of them.
CARDS = [1, 1, 1, 2, 2, 8]


class Worked(NamedTuple):
    """A case as a reader gives it, and what Python makes of it: its `answer`, None where the book has no such offer; the tables that
    the rule `solved`, the kept and then the lost of each step, by end of the band; what `turns` the choice; and what is `told`."""

    held: dict
    answer: plan.Answer | None = None
    solved: dict[str, list] | None = None
    turns: Any = None
    told: answer_words.Told | None = None


def random_cases(seed, book):
    draw = random.Random(seed)
    found = [random_case(draw, DEALT[number % len(DEALT)], book) for number in range(CASES - len(ANSWERED))]
    # Every tenth is the second of a job that is dealt twice: to serve, to train, or on pairs.
    return ANSWERED + [on_own_cards(held, draw) if number % 10 == 1 else held for number, held in enumerate(found)]


def random_case(draw, name, book):
    """A case of the job: what it needs, and some of what it takes."""
    rents = book[book["item"] == "rent"]
    job = rows("jobs")[name]
    needs = [draw.choice(each.split("|")) for each in job["needs"].split()]
    left = ("ways", "corpus_bytes", "data_at", "runs", "prompt_p95", "output_p95", "own_cards", "gpus_per_server", "usd_per_kwh",
            *SESSION, "host_cache_bytes")
    others = [each for each in job["takes"].split() if each not in left]
    if "requests_per_second" in needs:
        others = [each for each in others if each not in ("messages_per_day", "busiest_hour_share")]
    held = {"job": name}
    for each in [*needs, *(other for other in others if draw.random() < 0.4)]:
        held[each] = random_value(each, draw, rents)
    for each in ("prompt", "output"):
        if each in held and (f"{each}_p95" in held or f"{each}_p95" in job["takes"].split() and draw.random() < 0.5):
            held[f"{each}_p95"] = round(held[each] * draw.uniform(1, 3.8))
    if name == "serve" and draw.random() < 0.15:
        held = {each: value for each, value in held.items() if each not in ("prompt", "prompt_p95", "cached_share")}
        held |= {each: random_value(each, draw, rents) for each in SESSION}
        held |= {"host_cache_bytes": 1e11} if draw.random() < 0.5 else {}
    if "max_loras" in held:
        held["lora_rank"] = random_value("lora_rank", draw, rents)
    if {"drafted", "acceptance"} & {*held}:
        held |= {each: random_value(each, draw, rents) for each in ("drafted", "acceptance")}
    if draw.random() < 0.97:
        pool = rents if draw.random() < 0.2 else rents[rents["term"] == "on-demand"]  # what decides where no term is named
        held["cards"] = ", ".join(draw.sample(sorted(set(pool["gpu"])), draw.choice(CARDS)))
    return held


def on_own_cards(held, draw):
    """The case on a card of the reader's own, or one that hardly anybody rents out."""
    own = {"own_cards": draw.choice([1, 2, 4, 16]), "usd_per_kwh": 0.3, "gpus_per_server": draw.choice([1, 2, 8])}
    return held | {"cards": draw.choice(list(rows("gpus")))} | dict(list(own.items())[:draw.randrange(4)])


def random_value(name, draw, rents):
    if name in WORDS:
        return draw.choice(list(rows(WORDS[name])))
    if name in ("provider", "region", "term"):
        return "any" if draw.random() < 0.7 else draw.choice(sorted(set(rents[name])))
    if name in FEW:
        return draw.choice(FEW[name])
    low, high = (AROUND | SESSION)[name]
    value = draw.uniform(low, high) if low == 0 else math.exp(draw.uniform(math.log(low), math.log(high)))
    return round(value) if QUANTITIES[name].allowed.startswith("a whole") else float(f"{value:.4g}")


def solved(case, kind, book, judged):
    """The tables that the rule leaves of a case that is completed, by end; None where the book has no such offer."""
    try:
        found = rule.solve(jobs.JOBS[kind].chain, case, market(case, book, kind), judged)
    except MissingPrice:
        return None
    return {end: [each.kept, *each.lost] for end, each in found.items()}


def work_out(held, book):
    try:
        answer = plan.answer(case_file.case_of(held), book)
    except MissingPrice:
        return Worked(held)
    tables = solved(answer.case, answer.kind, book, plan.judged(answer.case))
    return Worked(held, answer, tables, plan.turns(answer, book), answer_words.told(answer, book))


def worked(seed, book):
    """All cases of the seed, from a file of this very code and data, or else worked out for it."""
    folder = ROOT / "_build/cases"
    with alone(folder):
        path = folder / f"{seed}-{made_from()}.pickle"
        if not path.exists():
            found = [work_out(held, book) for held in random_cases(seed, book)]
            for other in folder.glob("*.pickle"):
                other.unlink()
            path.with_suffix(".part").write_bytes(pickle.dumps(found))
            path.with_suffix(".part").replace(path)
        return pickle.loads(path.read_bytes())


def made_from():
    held = [path for name in ("gpucalc", "data") for path in files_in(ROOT / name)]
    held += [ROOT / "tests/cases.py", ROOT / "requirements.txt"]
    return digest([[path.relative_to(ROOT).as_posix(), digest(path.read_bytes())] for path in held], sys.version)
