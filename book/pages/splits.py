"""What sharing a model among more cards of one kind gives a single user: does it fit, how fast, how much of it is sending."""
from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import percent, seconds
from gpucalc.decisions.queue import ENGINE
from gpucalc.laws import kv_cache, serving
from gpucalc.rows import catalogue
from ..components.show import table

FORMATS = {"BF16": "BF16", "INT4-g128": "4 bits"}
PROMPT = 2000
_FITS = {True: "yes", False: "no"}


def one_user(model, gpu, gpus, weight_format, prompt=PROMPT, output=300):
    """The case of one user alone on so many cards that share every layer, at the shares that they reach."""
    return Case(model=model, gpu=gpu, link=catalogue.gpu(gpu).link, weight_format=weight_format, efficiency="achieved",
                tensor_parallel=gpus, batch=1, prompt=prompt, output=output, context=prompt + output, **ENGINE)


def splits(model, gpu, counts=(1, 2, 4, 8)):
    """By count: which formats fit, and a prompt and a token in 4 bits at the times to plan for, with the share spent sending."""
    found = []
    for count in counts:
        cases = {name: one_user(model, gpu, count, kind) for kind, name in FORMATS.items()}
        case = cases["4 bits"]
        fits = {name: _FITS[each(kv_cache.concurrency) >= 1] for name, each in cases.items()}
        timed = case.terms(serving.replica_prefill_seconds, serving.replica_pass_seconds)
        figures = dict(prompt=case.band(serving.replica_prefill_seconds).plan,
                       prompt_sending=timed["prompt_exchange_seconds"] / timed["replica_prefill_seconds"],
                       token=case.band(serving.replica_pass_seconds).plan,
                       token_sending=timed["exchange_seconds"] / timed["replica_pass_seconds"])
        found.append(dict(gpus=count, **fits, **figures if fits["4 bits"] == "yes" else {}))
    return DataFrame(found)


def split_table(found, caption):
    """`splits` to read."""
    return table(found, caption, labels={"gpus": "cards", "prompt_sending": "of it sending", "token": "one token",
                                         "token_sending": "of it sending", "prompt": f"{PROMPT:,} tokens of prompt",
                                         "BF16": "BF16 fits", "4 bits": "4 bits fit"},
                 formats={"prompt": seconds, "prompt_sending": percent, "token": seconds, "token_sending": percent})


def useful(found, least=0.25):
    """The most cards of `splits` of which the last doubling took at least so much off the time of a token."""
    times = found["token"].tolist()
    enough = [count for count, before, after in zip(found["gpus"][1:], times, times[1:]) if after <= (1 - least) * before]
    return max(enough, default=int(found["gpus"].iloc[0]))
