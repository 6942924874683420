"""Mixtures of experts: which weights a pass reads, as tables and pictures."""
from pandas import DataFrame, Series

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, seconds, three_figures, times
from gpucalc.laws import apart, experts, kv_cache, model_size, serving
from gpucalc.rows import catalogue
from ..components.charts import lines, slider_chart
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import table


# Tables of mixtures of experts: what they hold, use and read, and how evenly tokens fall on GPUs.

_FAMILIAR = ("gpt-oss-20b", "gpt-oss-120b", "Qwen3-30B-A3B", "Qwen3-235B-A22B", "Mixtral-8x7B", "GLM-4.5-Air", "DeepSeek-V3",
             "Kimi-K2")


def mixtures(batch):
    """Every mixture of the catalogue: parameters held and used, experts, and the shares used by a token and read by a batch."""
    frame = catalogue.models().query("experts > 0")
    every = Case(frame, batch=batch)
    used, read = every(model_size.active_params), every(model_size.read_params)
    return frame[["params"]].assign(active_params=used, experts=frame["experts"], experts_per_token=frame["experts_per_token"],
                                    used=used / frame["params"], read=read / frame["params"]).sort_values("params", kind="stable")


def familiar_mixtures(batch, *also):
    """Those that readers meet, and the ones named."""
    frame = mixtures(batch)
    return frame.loc[[name for name in frame.index if name in (*_FAMILIAR, *also)]].reset_index()


def imbalance_table(case, users=(1, 4, 16, 64, 256), degrees=(8, 16, 32, 64)):
    """The fullest GPU over the mean, by users of a GPU and by the GPUs over which experts are spread."""
    frame = DataFrame([{"users": each} | {f"on_{degree}": case.but(batch=each * degree, expert_parallel=degree)(
        experts.random_imbalance) for degree in degrees} for each in users])
    return table(frame, f"Tokens of the fullest GPU over the mean, {case.rows['model'].name}",
                 labels={"users": "users of each GPU"} | {f"on_{degree}": f"{degree} GPUs" for degree in degrees},
                 formats={f"on_{degree}": "{:.2f}".format for degree in degrees})


# Diagrams of mixtures of experts: where the router sends tokens, and how the experts of a layer lie on GPUs.

# Three tokens of an example; the experts of each lie a stride apart, and another one for the next token.
_TOKENS, _STRIDE, _GPUS = "abd", 0.382, "abdc"
_ROWS, _MOST = 8, 256


def router_picture(case):
    """Three tokens, the router, and all routed experts of a layer: each token's in its color."""
    model, yours = case.rows["model"], Yours(case)
    shown = min(int(model.experts), _MOST)
    chosen = _chosen(shown, int(model.experts_per_token))
    sheet, columns = Sheet(210), -(-shown // _ROWS)
    side = min(264 / columns, 16)
    for place, color in enumerate(_TOKENS):
        sheet.circle(20, 62 + 42 * place, 9, color=color).arrow((32, 62 + 42 * place), (62, 104), color=color)
    sheet.text(8, 26, "tokens", color="soft").box(66, 74, 36, 60, color="wash", outline="line")
    sheet.text(84, 26, "router", at="middle", color="soft").text(84, 109, "?", at="middle", bold=True, size=16)
    for expert in range(shown):
        x, y = 130 + side * (expert // _ROWS), 40 + 16 * (expert % _ROWS)
        sheet.box(x, y, side - 1.5, 13, color=chosen.get(expert, "wash"), round=1)
    sheet.arrow((104, 104), (126, 104)).words(130, 26, yours.experts, " experts in a layer" if shown == model.experts else
                                              f" experts in a layer, {shown} drawn")
    sheet.words(8, 188, "Each token passes ", yours.experts_per_token, " of them", _shared(model), ".")
    sheet.text(8, 205, "The rest of the layer is read for all tokens alike.", color="soft", size=12)
    return sheet.picture("The next token goes to other experts",
                         f"A router sends each token of {model.name} to {model.experts_per_token} of {model.experts} experts of "
                         f"a layer. Three tokens go to {len(chosen)} different ones.")


def _chosen(experts, each):
    """The color of each expert that one of the example's tokens goes to."""
    found = {}
    for token, color in enumerate(_TOKENS):
        for place in range(each):
            found.setdefault(int((token + 0.5 + place * len(_TOKENS)) * _STRIDE % 1 * experts), color)
    return found


def _shared(model):
    return f" and {model.shared_experts} that all tokens share" if model.shared_experts else ""


def spread_picture(case):
    """Four GPUs of a group: each has its own users, their caches and attention, and a part of the experts."""
    model, yours = case.rows["model"], Yours(case)
    degree = int(case.inputs["expert_parallel"])
    sheet, shown = Sheet(246), min(degree, 4)
    wide = 384 / shown
    for place in range(shown):
        _gpu(sheet, 8 + wide * place, wide - 8, _GPUS[place], f"GPU {place + 1 if place < shown - 1 else degree}")
    for place in range(shown):
        for other in range(shown):
            sheet.line((4 + wide * (place + 0.5), 88), (4 + wide * (other + 0.5), 121), color=_GPUS[place], thick=1)
    sheet.words(8, 196, ("attention and caches", "a"), ": each GPU its own users")
    sheet.words(8, 215, ("experts", "e"), ": ", yours.gpu_experts, " of ", yours.experts, " in each layer on each GPU")
    sheet.text(8, 234, "In each layer, tokens travel to their experts and back.", color="soft")
    return sheet.picture("Users stay on their GPU, tokens travel to the experts",
                         f"{degree} GPUs share the experts of {model.name}, {number(case(experts.gpu_experts))} of a layer "
                         f"on each. "
                         "Each GPU computes attention for its own users and keeps their caches; their tokens go to the GPUs of "
                         "their experts and come back.")


def _gpu(sheet, left, wide, color, name):
    """One GPU of the group: its users, its attention, and its part of the experts."""
    sheet.text(left + wide / 2, 18, name, at="middle", bold=True).box(left, 26, wide, 150, color="wash", outline="line")
    for user in range(6):
        sheet.circle(left + wide / 2 + 13 * (user - 2.5), 44, 4.5, color=color)
    sheet.box(left + 8, 58, wide - 16, 28, color=color)
    sheet.text(left + wide / 2, 77, "attention", at="middle", color="paper", size=12)
    side = (wide - 16) / 6
    for cell in range(12):
        sheet.box(left + 9 + side * (cell % 6), 124 + 22 * (cell // 6), side - 3, 18, color="e", round=1)


# Prompts and answers apart: how long a handover takes, drawn and as charts over its load


# Diagrams of prompts and answers: on one server, whole or in chunks, and on two; and what lies between the two.

_LEFT, _RIGHT, _ROUNDS, _LONGEST = 8, 392, 2, 90


def times_picture(case):
    """Two rounds of a full batch on a time line to scale: prompts whole, prompts in chunks, prompts on another server."""
    lanes, total = _lanes(case)
    sheet, scale = Sheet(228), (_RIGHT - _LEFT) / total
    for place, (name, blocks) in enumerate(lanes):
        top = 8 + 44 * place
        sheet.text(_LEFT, top + 12, name, bold=place != 3, color="soft" if place == 3 else "ink")
        for start, wide, kind in blocks:
            sheet.box(_LEFT + start * scale, top + 18, max(wide * scale - 1, 0.7), 16, color=kind, round=1)
    sheet.box(_LEFT, 192, 12, 12, color="b").text(26, 203, "a prompt, or a chunk of one")
    sheet.box(218, 192, 12, 12).text(236, 203, "a token for everybody")
    sheet.arrow((_LEFT + 36, 220), (_RIGHT, 220)).text(_LEFT, 224, "time", color="soft", size=12)
    mixed, apart = (sum(kind == "a" for *_, kind in lanes[place][1]) for place in (0, 2))
    return sheet.picture(f"Undisturbed, the batch writes {apart} tokens in the time of {mixed}",
                         f"A server that reads each prompt whole stops writing meanwhile, {mixed} passes in this time. In "
                         f"chunks, every pass is longer. With prompts on a server of their own the batch makes {apart} passes.")


def _lanes(case):
    """Name and blocks (start, seconds, color) of each lane, and the seconds that are shown."""
    prompt, step = case("prompt_turn_seconds"), case(serving.replica_pass_seconds)
    mixed = case.but(chunk=serving.steady_chunk)(serving.replica_pass_seconds)
    each = max(round(case.inputs["output"] / case.inputs["batch"]), 1)
    whole = [(step, "a")] * each + [(prompt, "b")]
    total = _ROUNDS * sum(seconds for seconds, _ in whole)
    chunked = [(step, "a"), (max(mixed - step, 0), "b")] * max(round(total / mixed), 1)
    beside = [(prompt, "b"), (max(total / _ROUNDS - prompt, 0), None)] * _ROUNDS
    writing = [(step, "a")] * max(round(total / step), 1)
    named = (("One server: a prompt stops everybody", whole * _ROUNDS), ("One server, in chunks: every pass is longer", chunked),
             ("Two servers: one writes ...", writing), ("... and one reads", beside))
    return [(name, _started(blocks[:_LONGEST * 2], total)) for name, blocks in named], total


def _started(blocks, total):
    """Blocks with their starts, as far as they begin within the time that is shown."""
    found, now = [], 0.0
    for length, kind in blocks:
        if kind and now < total * 0.999:
            found.append((now, min(length, total - now), kind))
        now += length
    return found


def handover_picture(case):
    """Servers that read prompts, the cache that they send, and servers that write answers."""
    yours, ratio = Yours(case), case("prompt_ratio")
    reads, writes = (min(max(round(share), 1), 4) for share in (ratio, 1 / ratio))
    foot = 62 + 26 * max(reads, writes, 2)
    sheet = Sheet(foot + 12)
    for count, x, color, name in ((reads, 8, "b", "reading"), (writes, 282, "a", "writing")):
        for place in range(count):
            sheet.box(x, 28 + 26 * place, 110, 22, color=color)
            sheet.text(x + 55, 44 + 26 * place, name, at="middle", color="paper")
    sheet.text(63, 18, "prompts", at="middle", bold=True).text(337, 18, "answers", at="middle", bold=True)
    sheet.arrow((124, 66), (276, 66)).words(200, 56, (yours.prompt_kv_bytes, "c"), " a prompt", at="middle")
    sheet.words(200, 84, "in ", (yours.cache_sent_seconds, "c"), at="middle")
    sheet.words(8, foot, (yours.prompt_ratio, "b"), " times as many servers read as write")
    return sheet.picture("Each prompt's cache travels once",
                         f"Servers that read prompts send {number(case('prompt_kv_bytes'), 'byte')} of cache for each to servers "
                         f"that write. {number(ratio)} times as many read as write.")


# Charts and tables of prompts beside answers: chunks by their size, what a GPU gives by pace, and what guessed tokens yield.

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


def read_slider_chart(case, name, one, read, batch, dense):
    """Weights read for a token against the batch: a mixture, and a dense model of its active size."""
    element = round(case.rows["weight_format"].weight_element_bytes, 3)
    return slider_chart(
        case,
        {"the mixture": experts.pass_token_bytes,
         "dense, of the active size": (experts.pass_token_bytes, dict(read_params=model_size.active_params)),
         "read while a token is computed": experts.level_token_bytes},
        x="batch", values=sorted({round(2 ** (step / 4)) for step in range(49)}), log_x=True, log_y=True, choose=("model", "gpu"),
        sliders={"weight_element_bytes": (0.5, 2, 0.03125, element)}, crossing=experts.experts_critical_batch,
        y_title="weights read for a token",
        finding=[("experts == 0", "{model} is dense: reading and computing agree at {experts_critical_batch} users"),
                 "{model} waits for memory up to a batch of {experts_critical_batch}"],
        alt=f"Weights that a pass of {name} reads for each token against the batch, both in powers: "
        f"{number(one, 'byte')} for one user, "
        f"{number(read / batch, 'byte')} at {batch}, where a dense model of the active size reads "
        f"{number(dense(experts.pass_token_bytes), 'byte')}. "
        f"Computing takes over at {three_figures(case(experts.experts_critical_batch))}.")


def apart_slider_chart(case_apart, prompt, served_batch, tensor_parallel, name_apart, output, split):
    return slider_chart(
        case_apart,
        {"one server": serving.time_per_output_token, "answers apart": (serving.time_per_output_token, dict(prompts_apart=1))},
        x="output",
        values=[20 * part for part in range(1, 101)],
        y_title="time per output token",
        choose=("model", "gpu"),
        log_y=True,
        sliders={"prompt": (100, max(16000, prompt), 100, prompt), "batch": (1, max(128, served_batch), 1, served_batch),
                 "tensor_parallel": (1, 8, 1, tensor_parallel)},
        crossing=apart.even_output,
        finding=[("batch == 1", "A single user is never disturbed"),
                 "Answers of fewer than {even_output:token} wait longer for the prompts of others than for themselves"],
        alt=f"Time per output token of {name_apart} against the length of the answers, prompts of {prompt:,} tokens, "
        f"batch {served_batch}: "
        "on one server "
        f"{seconds(case_apart(serving.time_per_output_token))} at {output:,} tokens, "
        f"with answers apart {seconds(split(serving.time_per_output_token))}. "
        f"The prompts of others cost as much as the token at {three_figures(case_apart(apart.even_output))} tokens.",
    )
