"""Charts and tables of prompts beside answers: chunks by their size, what a GPU gives by pace, and what guessed tokens yield."""
from pandas import DataFrame, Series

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, seconds, times
from gpucalc.laws import apart, kv_cache, serving
from gpucalc.rows import catalogue
from ..components.charts import lines
from ..components.show import table

_CHUNKS, _DRAFTED = (256, 512, 1024, 2048), (1, 2, 3, 5)
_PACE = 40  # tokens a second for each user that the front is read at: several times as fast as people read
_PREDICTS, _SERVER = "DeepSeek-V3", "H200 SXM 141GB"


def chunk_table(case):
    """What a chunk of each size makes of a pass and of a prompt; the first row is a prompt read whole."""
    sizes = Series([size for size in _CHUNKS if size < case.inputs["prompt"]])
    passes = case.but(chunk=sizes)(serving.replica_pass_seconds)
    reading = case.but(replica_pass_seconds=passes, prompt_chunk=sizes)(serving.chunked_prefill_seconds)
    whole, step = case(serving.replica_prefill_seconds), case(serving.replica_pass_seconds)
    shown = DataFrame(dict(chunk=["the whole prompt", *(f"{size:,} tokens" for size in sizes)],
                           longest=[whole + step, *passes], prompt=[whole, *reading]))
    return table(shown, f"{case.rows['model'].name}, batch {case.inputs['batch']}, by the formulas", labels={
        "chunk": "read at once", "longest": "longest wait for a token", "prompt": "time to read the prompt"},
        formats=dict.fromkeys(("longest", "prompt"), seconds))


def draft_table(*chances):
    """Tokens that a pass yields, by the tokens guessed and by the chance of each guess; the chances given and three others."""
    every = sorted({*chances, 0.6, 0.8, 0.9})
    shown = DataFrame({"drafted": _DRAFTED} | {f"at_{chance}": Case(drafted=Series(_DRAFTED), acceptance=chance)(
        serving.accepted_tokens) for chance in every})
    return table(shown, "Tokens that a pass yields, by the chance that a guess is right", labels={"drafted": "tokens guessed"} | {
        f"at_{chance}": percent(chance) for chance in every}, formats={f"at_{chance}": "{:.2f}".format for chance in every})


def predicted_gains(acceptance, batches):
    """How many times as fast a model with a prediction layer writes if it guesses one token: for each batch, on eight GPUs."""
    card = catalogue.gpu(_SERVER)
    case = Case(catalogue.model(_PREDICTS), card, catalogue.link(card.link), weight_format="FP8", efficiency="achieved",
                tensor_parallel=8, prompt=1, output=1, context=4096, batch=Series(batches))
    guessed = case.but(drafted=1, acceptance=acceptance)(serving.speculative_seconds)
    return [times(gain) for gain in case(serving.replica_pass_seconds) / guessed]


def front_chart(case):
    """What a GPU gives against the pace of each user, by batch: prompts beside answers, and apart with all servers busy."""
    most = int(case.but(context=case.inputs["prompt"] + case.inputs["output"],
                        replica_gpus=case.inputs["tensor_parallel"])(kv_cache.max_batch))
    sizes = Series(sorted({min(2**step, max(most, 1)) for step in range(11)}))
    each, split = case.but(batch=sizes), case.but(batch=sizes, prompts_apart=1)
    gpus = case.inputs["tensor_parallel"]
    beside = each(serving.output_tokens_per_second) / gpus
    token = split(serving.time_per_output_token)
    own = sizes / token / (gpus * (1 + each(apart.prompt_ratio)))
    frame = DataFrame(dict(pace=[*1 / each(serving.time_per_output_token), *1 / token], gives=[*beside, *own],
                           kind=["together"] * len(sizes) + ["apart"] * len(sizes)))
    best = {kind: frame[(frame["kind"] == kind) & (frame["pace"] >= _PACE)]["gives"].max() for kind in ("together", "apart")}
    said = " and ".join(f"{number(value, 'token/second')} {kind}" if value == value else f"nothing {kind}"
                        for kind, value in best.items())
    return lines(frame, "pace", "gives", "kind", log_x=True, log_y=True, points=True, x_title="tokens a second for each user",
                 y_title="output tokens per second per GPU", title=f"At {_PACE} tokens a second a user, a GPU gives {said}",
                 alt=f"Output tokens a second and GPU against tokens a second for each user, by batch. At a pace of {_PACE} or "
                     f"more a GPU gives {said}.")
