"""Training memory: what fills a GPU term by term, on one card and on many, with pictures."""
import json
import math
import re

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import exact, percent, quantity
from gpucalc.laws import activation_memory, low_rank, sharding, training_memory as tm
from gpucalc.laws.sharding import gpu_tokens
from gpucalc.rows import catalogue, choices
from gpucalc.rows.bands import CLOSE
from ..components.charts import slider_chart
from ..components.measured import compare, signed_percent
from ..components.memory import (card_bytes, fewest_in_words, fewest_to_train, fullest, gpus_per_replica, in_bytes,
                                 largest, LEAN, memory_bars, MOMENTS, moments, MOST_REPLICAS, need, peak_terms, spare, TERMS,
                                 training_job, verdict)
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import Html, table


def example_tokens():
    """Tokens in a sequence of the front page's example of QLoRA."""
    return choices.job("qlora").sequence


def checked(case):
    """Raises ValueError unless the layout of the notebook's case divides the model."""
    training_job(case)


# What a layer is made of in training: the tensors it keeps for its backward pass, and the adapters beside its matrices.

ADAPTED = {"adapt_query": "query", "adapt_key": "key", "adapt_value": "value", "adapt_output": "attention output"}


def kept_tensors(case):
    """The tensors that one layer keeps of a micro-batch, on one GPU, without tensor parallel and with fused norms.

    A table: `tensor`, `needed_by` (whose gradient), `values` of a token in symbols, `width` (their number), `bytes`. Its last
    two rows, without a width, are alternatives: the statistic of FlashAttention, and the scores of plain attention.
    """
    from pandas import DataFrame
    row = case.rows["model"]
    norms, pairs = row.norms_per_layer, min(row.norms_per_layer, 2)
    inputs = [("inputs of the norms", "norms", f"{norms} h", norms * row.hidden),
              ("inputs of attention and MLP", "their first matrices", f"{pairs} h", pairs * row.hidden)]
    attention = _latent(row) if row.kv_lora_rank else _grouped(row)
    kept = DataFrame([*inputs, *attention, *_routed(row), *_mlp(row, case(activation_memory.mlp_width))],
                     columns=["tensor", "needed_by", "values", "width"])
    kept["bytes"] = kept["width"] * activation_memory.score_bytes.defaults["activation_element_bytes"] * case(gpu_tokens)
    for flash, tensor in ((1, ("softmax statistic (FlashAttention)", "scores", "a")),
                          (0, ("or softmax output (plain attention)", "mixing", "a s"))):
        kept.loc[len(kept)] = [*tensor, float("nan"), case.but(flash_attention=flash)(activation_memory.score_bytes)]
    return kept


def adapter_params(case):
    """Adapter parameters of the recipe by kind of matrix in one layer, and of the whole model."""
    row, recipe = case.rows["model"], case.rows["recipe"]
    none = dict.fromkeys(ADAPTED, 0)
    counts = {matrix: case.but(**none | {switch: recipe[switch]})(low_rank.lora_attention_params)
              for switch, matrix in ADAPTED.items()}
    counts["dense MLP"] = (row.moe_layers < row.layers) * case(low_rank.lora_mlp_params)
    counts["experts"] = (row.experts + row.shared_experts) * case(low_rank.lora_expert_params)
    return counts | {"all layers together": case(low_rank.lora_params)}


def adapter_table(model, rank, caption):
    """`adapter_params` of LoRA and of QLoRA on a model, of this rank, or of each recipe's own where it is 0."""
    from pandas import DataFrame
    ranks = {each: rank or catalogue.recipe(each).lora_rank for each in ("lora", "qlora")}
    counts = DataFrame({each: adapter_params(Case(model, recipe=each, lora_rank=ranks[each])) for each in ranks})
    return table(counts[counts.any(axis=1)].rename_axis("matrix").reset_index(), caption.format(model.name),
                 labels={each: f"{each}, rank {held}" for each, held in ranks.items()},
                 formats=dict.fromkeys(counts, lambda count: exact(count, "")))


def _grouped(row):
    a, kv, d = row.heads, row.kv_heads, row.head_dim
    before = [("queries and keys before their norms", "norms", "(a + n_kv) d", (a + kv) * d)] if row.qk_norm else []
    return [*before, ("queries", "scores", "a d", a * d), ("keys", "scores", "n_kv d", kv * d),
            ("values", "mixing", "n_kv d", kv * d), ("attention output", "output projection", "a d", a * d)]


def _latent(row):
    a, d, rotary, out = row.heads, row.head_dim, row.rope_head_dim, row.value_head_dim
    ranks = row.q_lora_rank + row.kv_lora_rank
    return [("compressed vectors, before and after their norms", "norms, expansions", "2 r_q + 2 r_kv", 2 * ranks),
            ("rotary key", "scores", "d_r", rotary), ("queries", "scores", "a (d + d_r)", a * (d + rotary)),
            ("keys", "scores", "a (d + d_r)", a * (d + rotary)), ("values", "mixing", "a d_v", a * out),
            ("attention output", "output projection", "a d_v", a * out)]


def _routed(row):
    routed = row.experts_per_token * row.moe_layers / row.layers
    tensor = ("inputs of the token's experts", "experts", f"{routed:.3g} h", routed * row.hidden)
    return [tensor] if routed else []


def _mlp(row, width):
    if not row.gated_mlp:
        return [("first MLP output", "activation", "f_t", width), ("activation output", "second MLP matrix", "f_t", width)]
    return [("gate before its activation", "activation", "f_t", width),
            ("gate after its activation", "product", "f_t", width),
            ("up projection", "product", "f_t", width), ("product of the two", "down projection", "f_t", width)]


# Tables and accounts of the page on training memory: who divides what, jobs near the limit, the fewest cards that hold one.

SPLITS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("one GPU", "–", {}), ("data parallel", "nothing", dict(data_parallel=8)),
    ("ZeRO-3", "state", dict(data_parallel=8, zero_stage=3)),
    ("tensor parallel", "matrices, heads, logits", dict(tensor_parallel=8)),
    ("tensor and sequence parallel", "and what was left whole", dict(tensor_parallel=8, sequence_parallel=1)),
    ("pipeline, first stage", "layers", dict(pipeline_parallel=8)),
    ("pipeline, last stage", "layers", dict(pipeline_parallel=8, last_stage=1)),
    ("two chunks, first stage", "layers", dict(pipeline_parallel=8, virtual_stages=2)),
    ("context parallel", "tokens", dict(context_parallel=8)),
    ("expert parallel", "experts", dict(data_parallel=8, expert_parallel=8)))
# QLoRA's abstract (arXiv 2305.14314) has the first; NVIDIA publishes the second, which is taken compiled.
_LLAMA_65B = dict(layers=80, hidden=8192, heads=64, kv_heads=64, head_dim=128, intermediate=22016, vocab=32000, gated_mlp=1,
                  expert_intermediate=0)
NEAR = {
    "QLoRA on a 65B, 512 tokens, paged states on the host": ("A40 48GB", dict(
        _LLAMA_65B, recipe="qlora", micro_batch=1, sequence=512, micro_batches=16, recompute=2, offload_optimizer=1)),
    "Llama 3.1 405B on 1,024 GPUs, BF16": ("H100 SXM 80GB", dict(
        model="Llama-3.1-405B", recipe="mixed-adamw", micro_batch=1, sequence=8192, micro_batches=192, flash_attention=1,
        fusion=2, tensor_parallel=8, sequence_parallel=1, pipeline_parallel=8, virtual_stages=8, context_parallel=2,
        data_parallel=8, zero_stage=1))}
SHOWN = ("RTX 4090 24GB", "A100 SXM 40GB", "L40S 48GB", "H100 SXM 80GB", "H200 SXM 141GB", "MI300X 192GB", "B300 SXM 288GB")


def split_table(case: Case, caption: str) -> Html:
    """What one GPU of eight holds under each of SPLITS that divides the model, with 16 micro-batches."""
    from pandas import DataFrame
    unsplit = case.but(**dict.fromkeys((*sharding.DEGREES, "zero_stage", "sequence_parallel")), micro_batches=16)
    sizes = case.rows["model"], case.inputs["sequence"]
    rows = [{"layout": layout, "divides": divides} | unsplit.but(**split).terms(tm.training_bytes)
            for layout, divides, split in SPLITS if _divides(*sizes, split)]
    found = DataFrame(rows).assign(
        loss=lambda frame: frame["logits_bytes"] + frame["loss_bytes"],
        rest=lambda frame: frame["training_bytes"] - frame["resident_bytes"] - frame["activation_bytes"] - frame["loss"])
    return table(found[["layout", "divides", "resident_bytes", "activation_bytes", "loss", "rest", "training_bytes"]], caption,
                 labels={"resident_bytes": "state", "activation_bytes": "activations", "loss": "logits and loss",
                         "rest": "the rest", "training_bytes": "all"}, formats={"loss": in_bytes, "rest": in_bytes})


def _divides(model, sequence, split):
    return all(rule[-1] for rule in sharding.layout_rules(model, sequence=sequence, **split))


def near_table(caption: str) -> Html:
    """The jobs of NEAR, which ran: what to plan for, its range, and the margin on their cards."""
    from pandas import DataFrame
    rows = []
    for job, (gpu, inputs) in NEAR.items():
        band, memory = need(Case.of(inputs)), catalogue.gpu(gpu).memory_bytes
        rows.append(dict(job=job, gpu=gpu, plan=band.plan, low=band.low, high=band.high, margin=spare(band.plan, memory),
                         verdict=verdict(band, memory)))
    return table(DataFrame(rows), caption, labels={"gpu": "GPU", "low": "8 in 10 from", "high": "to"},
                 formats=dict.fromkeys(("plan", "low", "high"), in_bytes))


def on_fewest(case: Case, gpu: str) -> tuple[dict, list[str]]:
    """Shares of each card's memory by term at the fewest that hold the plan value, or at the most tried; and those that do."""
    memories = catalogue.gpus()["memory_bytes"][list(dict.fromkeys((*SHOWN, gpu)))].sort_values(kind="stable")
    per_replica, accounts, holding = gpus_per_replica(case), {}, []
    for (name, memory), count in zip(memories.items(), fewest_to_train(case, memories)):
        replicas = min(count.plan / per_replica, most_replicas(case))
        label = f"{replicas * per_replica:,.0f} × {name}"
        terms = peak_terms(fullest(case.but(data_parallel=int(replicas))))
        accounts[label] = {term: value / memory for term, value in terms.items()}
        holding += [label] if count.plan < math.inf else []
    return accounts, holding


def undivided(by_gpu):
    """What replicas do not divide of each card's memory, in words: all but the state."""
    state = ("held_weight_bytes", "held_gradient_bytes", "held_master_bytes", "held_optimizer_bytes")
    return [percent(sum(share for term, share in terms.items() if term not in state)) for terms in by_gpu.values()]


def fewest_bars(model, by_gpu, holding):
    """What fills each card at the fewest that hold a model, as `on_fewest` gives them."""
    shares, cards = undivided(by_gpu), list(by_gpu)
    return memory_bars(by_gpu, 1, f"What fills each GPU at the fewest that hold {model}: {', '.join(holding) or 'none of these'}"
                       f". What replicas do not divide takes {shares[0]} of {cards[0]} and {shares[-1]} of {cards[-1]}.",
                       x_title="share of the GPU's memory", unit="memory_utilization", title="What replicas do not divide takes "
                       f"{shares[0]} of the smallest card and {shares[-1]} of the largest")


def by_recipe(case):
    """Bytes on one GPU under each recipe, and whether that fits its memory."""
    from pandas import Series
    jobs = {each: case.but(recipe=each) for each in catalogue.recipes().index}
    return (Series({each: fullest(job).value for each, job in jobs.items()}),
            [verdict(need(job), case.rows["gpu"].memory_bytes) for job in jobs.values()])


def recipe_bars(case, sums, verdicts):
    """What fills a GPU by recipe, from what `by_recipe` gives."""
    terms, memory = {each: peak_terms(fullest(case.but(recipe=each))) for each in sums.index}, case.rows["gpu"].memory_bytes
    least, most, fitting = sums.idxmin(), sums.idxmax(), f"{verdicts.count('fits')} of {len(sums)}"
    return memory_bars(
        terms, memory, f"What fills a GPU by recipe. {most} takes most, {in_bytes(sums[most])}, its largest part "
        f"{largest(terms[most])}; {least} takes least, {in_bytes(sums[least])}, its largest part {largest(terms[least])}. "
        f"{fitting} recipes fit in {in_bytes(memory)}.", title=f"{fitting} recipes fit; {least} takes least, {most} most")


def every_card_table(case, lean, caption):
    """The fewest of each card of the catalogue that hold a job under the stages of ZeRO, and a lean one."""
    cards = catalogue.gpus()[["memory_bytes"]]
    plans = {f"ZeRO-{stage}": case.but(zero_stage=stage) for stage in (1, 2, 3)} | {"lean": lean}
    found = cards.assign(**{plan: list(map(fewest_in_words, fewest_to_train(job, cards.memory_bytes)))
                            for plan, job in plans.items()})
    return table(found.reset_index(), caption, labels={"memory_bytes": "memory"} | {plan: plan for plan in plans},
                 formats={"memory_bytes": in_bytes})


def most_replicas(case: Case) -> int:
    """The most replicas that are tried, which expert parallelism divides."""
    degree = case.inputs.get("expert_parallel", 1)
    return MOST_REPLICAS // degree * degree


def fewest_table(case: Case, caption: str, gpus: tuple = ("A100 SXM 80GB", "H200 SXM 141GB", "RTX 4090 24GB")) -> Html:
    """The fewest of each GPU that hold a job by the plan value, what to plan for on one of them, and the memory of all."""
    found = catalogue.gpus().loc[list(gpus), ["memory_bytes"]]
    found["count"] = [fewest.plan for fewest in fewest_to_train(case, found["memory_bytes"])]
    found["training_bytes"] = need(case.but(data_parallel=found["count"])).plan
    found["bought"] = found["memory_bytes"] * found["count"]
    return table(found.reset_index(), caption.format(case.inputs["sequence"]), formats={"bought": in_bytes},
                 labels={"memory_bytes": "memory", "count": "fewest", "training_bytes": "to plan for", "bought": "memory of all"})


def logit_table(case: Case, caption: str) -> Html:
    """The tensors as large as the logits that plain PyTorch holds as the loss runs backward, for a model and its tokens."""
    from pandas import DataFrame
    widths = {"logits": 2, "FP32 copy": 4, "log-softmax": 4, "gradient": 4,
              "together": 2 + tm.loss_bytes.defaults["loss_element_bytes"]}
    logits = case.inputs["micro_batch"] * case.inputs["sequence"] * case.rows["model"].vocab
    rows = [dict(tensor=name, logit_element_bytes=width, bytes=width * logits) for name, width in widths.items()]
    return table(DataFrame(rows), caption, labels={"logit_element_bytes": "bytes of one logit"}, formats={"bytes": in_bytes})


# Which fine-tune fits one card: what each way to tune needs at a number of tokens, and which sizes of card hold it.

# Ways to tune a model, by recipe: those of the front page's jobs, and one between.
WAYS = {"full": "mixed-adamw", "8-bit": "adamw-8bit", "LoRA": "lora", "QLoRA": "qlora"}
SIZES, TOKENS = (12, 16, 24, 48, 80), (2048, 8192)
# Color of a verdict's cell, of its mark, and the mark.
MARKS = {"fits": ("c", "paper", "yes"), CLOSE: ("wash", "ink", "?"), "does not fit": (None, "soft", "no")}


def tuning(model, way: str, tokens: int, **more) -> Case:
    """Tuning a model on one card in one of the WAYS, with one sequence in memory, as the front page falls back to on one card."""
    return Case(model=model, recipe=WAYS[way], sequence=tokens, **LEAN | more)


def one_card_slider_chart(model, gpu):
    one = tuning(model, "LoRA", TOKENS[0], gpu=gpu)
    return slider_chart(
        one, {way: (tm.training_bytes, {"recipe": WAYS[way]}) for way in ("LoRA", "QLoRA")}
        | {"memory of the card": (tm.usable_bytes, {"headroom": 0})},
        x="sequence", values=list(range(1024, 33793, 1024)), y_title="bytes on one GPU", choose=("model", "gpu"),
        sliders={"micro_batch": (1, 8, 1, 1), "loss_chunks": (1, 16, 1, 1)}, crossing=tm.longest_sequence,
        finding=[("longest_sequence < 1", "LoRA of {model} does not fit on one {gpu}, however short the sequences"),
                 "On one {gpu} LoRA of {model} reaches sequences of {longest_sequence} tokens"],
        alt=f"Memory against tokens in a sequence. LoRA of {model.name} fits on one {gpu.name} up to "
            f"{exact(one(tm.longest_sequence), '')} tokens; QLoRA lies below it by the same amount everywhere.")


def on_one_card(model):
    """For each way and number of tokens what to plan for, the range of eight in ten, and for each size whether it fits."""
    from pandas import DataFrame
    rows = []
    for way in reversed(WAYS):
        for tokens in TOKENS:
            band = need(tuning(model, way, tokens))
            sizes = {size: verdict(band, card_bytes(size)) for size in SIZES}
            rows.append(dict(way=way, tokens=tokens, value=band.value, plan=band.plan, low=band.low, high=band.high) | sizes)
    return DataFrame(rows)


def one_card_picture(model: str) -> Html:
    """`on_one_card` as a drawn table, all of which a phone shows: what to plan for, its range, and a verdict for each size."""
    found = on_one_card(model)
    sheet = Sheet(30 + 27 * len(found))
    for x, said, at in ((2, "way, tokens", "start"), (144, "plan for", "end"), (150, "8 in 10", "start"), *(
            (_center(place), str(size), "middle") for place, size in enumerate(SIZES))):
        sheet.text(x, 14, said, at, "soft", size=12)
    for row, line in enumerate(found.to_dict("records")):
        y = 40 + 27 * row
        sheet.text(2, y, f"{line['way']}, {line['tokens'] // 1024}k").text(144, y, in_bytes(line["plan"]), "end", bold=True)
        sheet.text(150, y, _range(line), color="soft", size=12)
        for place, size in enumerate(SIZES):
            color, ink, mark = MARKS[line[size]]
            sheet.box(_center(place) - 14, y - 16, 28, 22, color).text(_center(place), y, mark, "middle", ink, size=12)
    return sheet.picture(_finding(model, found), "; ".join(map(_said, found.to_dict("records"))))


def _center(place):
    return 252 + 33 * place


def _range(row):
    """`12.7 to 16.6`, with units only where they are not that of the plan value."""
    ends, unit = [in_bytes(row[end]) for end in ("low", "high")], in_bytes(row["plan"]).partition(" ")[2]
    return " to ".join(ends).replace(f" {unit}", "")


def _said(row):
    words = ", ".join(f"{size} GB {row[size]}" for size in SIZES)
    return f"{row['way']} with {row['tokens']:,} tokens: plan for {in_bytes(row['plan'])}, 8 in 10 {_range(row)}: {words}"


def _finding(model, found):
    """The smallest card that holds the model in some way, and which way that is."""
    size, row = next(((size, row) for size in SIZES for row in found.to_dict("records") if row[size] == "fits"), (0, None))
    if row is None:
        return f"No card of up to {SIZES[-1]} GB tunes {model}"
    return f"The smallest card that tunes {model} has {size} GB, by {row['way']} with {row['tokens']:,} tokens"


def one_card_table(model: str, caption: str) -> Html:
    """`on_one_card` whole, what to plan for beside the formula's figure."""
    found = on_one_card(model)
    found.columns = [f"{name} GB" if name in SIZES else name for name in found.columns]
    return table(found, caption, labels={"value": "formula", "plan": "plan for", "low": "8 in 10 from", "high": "to"},
                 formats=dict.fromkeys(("value", "plan", "low", "high"), in_bytes))


def measured_on_one_card(models, tokens=TOKENS):
    """Published peaks of tuning one of these models on one GPU with sequences of so many tokens, beside the formulas' figures."""
    found = compare("training_memory", "measured")
    given = found["inputs"].map(json.loads)
    alike = [given_.get("model") in models and given_.get("sequence") in tokens and given_.get("data_parallel", 1) == 1
             and given_.get("zero_stage", 0) == 0 for given_ in given]
    return found[alike]


def measured_table(models, caption: str) -> Html:
    """`measured_on_one_card` to read, each run in a few words."""
    found = measured_on_one_card(models)
    runs = found.assign(run=[_run(subject, json.loads(given)) for subject, given in zip(found["subject"], found["inputs"])])
    return table(runs[["run", "value", "predicted", "error"]], caption,
                 labels={"value": "measured", "predicted": "formula", "error": "off"},
                 formats={"value": in_bytes, "predicted": in_bytes, "error": lambda error: signed_percent(round(error, 2))})


def _run(subject, given):
    """`Llama-3-8B QLoRA, 2 × 2,048`, with the name of code that was not the usual one."""
    way = {"lora": "LoRA", "qlora": "QLoRA"}.get(given["recipe"], "full")
    code = "".join(f", {name}" for name in ("Unsloth",) if name in subject)
    return f"{given['model']} {way}{code}, {given['micro_batch']} × {given['sequence']:,}"


# The pictures of the page on training memory: bytes of a weight, memory over one step, and who holds what under ZeRO.

KINDS = {"weight_element_bytes": ("weight", "a"), "cast_element_bytes": ("copies", "e"),
         "gradient_element_bytes": ("gradient", "b"),
         "master_element_bytes": ("master copy", "c"), "optimizer_element_bytes": ("moments", "d")}
STAGES = ("no ZeRO", "ZeRO-1", "ZeRO-2", "ZeRO-3")


def bytes_of_a_weight(recipe):
    """Bars to scale: what one weight takes trained with the recipe, with an 8-bit optimizer, and frozen under adapters."""
    eight, lora, qlora = map(catalogue.recipe, ("adamw-8bit", "lora", "qlora"))
    trained = {f"Trained with {re.split('[,:]', row.title)[0]}": row for row in (recipe, eight)}
    bars = {title: [(value, *KINDS[kind]) for kind in KINDS if (value := row[kind])] for title, row in trained.items()}
    bars |= {f"Frozen under {each.name.replace('lora', 'LoRA').replace('q', 'Q')}": [(each.frozen_element_bytes, "weight", "a")]
             for each in (lora, qlora)}
    sheet, y = Sheet(218), 14
    scale = 392 / max(sum(value for value, _, _ in parts) for parts in bars.values())
    for row, (title, parts) in enumerate(bars.items()):
        total = quantity("weight_element_bytes", sum(value for value, _, _ in parts))
        sheet.text(4, y, title, bold=True).text(396, y, total, "end", bold=True)
        y = _bar(sheet, parts, y + 6, scale, named=row == 0)
    costs = [quantity("weight_element_bytes", value) for value in
             (Case(recipe)(tm.bytes_per_param), lora.frozen_element_bytes, qlora.frozen_element_bytes)]
    return sheet.picture(f"Training a weight takes {costs[0]}, a frozen one {costs[1]} or {costs[2]}",
                         "; ".join(f"{title}: {', '.join(f'{name} {value:.3g}' for value, name, _ in parts)}"
                                   for title, parts in bars.items()) + " bytes")


def _bar(sheet, parts, y, scale, named):
    """One bar in parts, their names above the first; returns where the next title stands."""
    x, top = 4, y + (13 if named else 0)
    for value, name, color in parts:
        wide = value * scale
        sheet.box(x, top, wide - 1.5, 24, color)
        if named:
            sheet.text(x + wide / 2, y + 8, name, "middle", "soft", size=12)
        if wide > 24:
            sheet.text(x + wide / 2, top + 17, f"{value:.3g}", "middle", "paper", bold=True)
        x += wide
    return top + 43


def one_step(account, memory):
    """Memory of one GPU over a training step: state below, activations that grow and shrink, the loss on top of both.

    account: what `fullest` gives; memory: that of the GPU (bytes).
    """
    held = {moment: _stack(terms) for moment, terms in moments(account).items()}
    state = held["loss_moment_bytes"][0]
    forward = [state, account.terms["activation_bytes"], 0]
    places = [(44, [state, 0, 0]), (170, forward), (188, held["loss_moment_bytes"]), (206, held["head_moment_bytes"]),
              (218, held["first_layer_moment_bytes"]), (344, held["last_layer_moment_bytes"]), (352, held["step_moment_bytes"]),
              (380, held["step_moment_bytes"]), (392, [state, 0, 0])]
    peak, parts = account.terms["peak_bytes"], account.steps[-1].arguments
    room = (memory - parts["framework_bytes"] - parts["communication_bytes"]) / (1 + parts["fragmentation_bytes"] / peak)
    shown = room < 1.5 * peak
    top = max(peak, room) if shown else peak
    sheet = Sheet(304)
    largest = max(MOMENTS, key=account.terms.get)
    _areas(sheet, places, held[largest], lambda value: 250 - 215 * value / top)
    if shown:
        y = 250 - 215 * room / top
        sheet.line((44, y), (396, y), color="ink", dashed=True).text(396, y - 5, f"room for tensors {in_bytes(room)}", "end")
    for x, said in ((107, "forward"), (197, "loss"), (285, "backward"), (370, "step")):
        sheet.text(x, 268, said, "middle", "soft")
    sheet.line((44, 250), (396, 250)).arrow((44, 284), (396, 284)).text(220, 298, "time of one step", "middle", "soft", size=12)
    share = percent(held[largest][0] / peak)
    return sheet.picture(f"Memory peaks at {in_bytes(peak)}, {WHEN[largest]}",
                         f"Model state of {in_bytes(state)} stays for the whole step. Activations grow to "
                         f"{in_bytes(forward[1])} in the forward pass and shrink in the backward pass; in between the loss adds "
                         f"{in_bytes(held['loss_moment_bytes'][2])}. State is {share} of the peak.")


def at_peak(account):
    """The three parts of the peak and their sum, and of the state what ZeRO shares and what it gathers (bytes)."""
    state, activations, loss = _stack(moments(account)[max(MOMENTS, key=account.terms.get)])
    gathered = account.terms.get("gathered_bytes", 0)
    return {"state": state, "activations": activations, "loss": loss, "all": account.terms["peak_bytes"], "gathered": gathered,
            "shared": state - gathered}


def peak_moment(account):
    """When memory is fullest, in words."""
    return WHEN[max(MOMENTS, key=account.terms.get)]


WHEN = {"loss_moment_bytes": "at the loss", "head_moment_bytes": "in the backward pass of the output head",
         "first_layer_moment_bytes": "as the backward pass starts", "last_layer_moment_bytes": "as the backward pass ends",
         "step_moment_bytes": "at the optimizer step"}


def _stack(terms):
    """Bytes by what they are for: model state, activations, logits and loss."""
    sums = {"state": 0, "activations": 0, "logits and loss": 0}
    for term, value in terms.items():
        part = TERMS[term][1]
        sums[part if part in sums else "state"] += value
    return list(sums.values())


def _areas(sheet, places, peak, height):
    """The stacked areas through (x, [state, activations, loss]), the last on top, each with its name and its bytes at the peak:
    these add up to it."""
    before = [0] * len(places)
    for layer, (said, color) in enumerate((("model state", "a"), ("activations", "b"), ("logits and loss", "c"))):
        values = [stack[layer] for _, stack in places]
        after = [low + value for low, value in zip(before, values)]
        edge = [(x, height(value)) for (x, _), value in zip(places, after)]
        base = [(x, height(value)) for (x, _), value in zip(places, before)]
        sheet.path("M" + " L".join(f"{x:.4g},{y:.4g}" for x, y in [*edge, *base[::-1]]) + " Z", color)
        if layer:
            x, y, at = (396, edge[5][1] - 18, "end") if layer == 1 else (204, edge[2][1] + 8, "start")
            sheet.text(x, y, f"{said} {in_bytes(peak[layer])}", at, color, bold=True)
        else:
            sheet.text(52, (edge[0][1] + base[0][1]) / 2 + 5, f"{said} {in_bytes(peak[0])}", color="paper", bold=True)
        before = after


def zero_shards(case, gpus=4):
    """Who holds what of the model state at each stage of ZeRO, to scale, and how many bytes that leaves on a GPU."""
    whole = dict.fromkeys(("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel"), 1)
    only = whole | dict(data_parallel=gpus, shard_parallel=0, offload_optimizer=0, offload_gradients=0)
    alone, yours = case.but(**only), Yours(case)(**only)
    parts = {"weights": ("held_weight_bytes",), "gradients": ("held_gradient_bytes",),
             "master copy, moments": ("held_master_bytes", "held_optimizer_bytes")}
    held = [[sum(terms[term] for term in of) for of in parts.values()] for terms in
            (alone.but(zero_stage=stage).terms(tm.held_state_bytes) for stage in range(len(STAGES)))]
    sheet, tall = Sheet(22 + 72 * len(STAGES) + 20), 56 / sum(held[0])
    for gpu in range(gpus):
        sheet.text(68 + (gpu + 0.5) * 264 / gpus, 14, f"GPU {gpu + 1}", "middle", "soft")
    for stage, name in enumerate(STAGES):
        y, figure = 22 + 72 * stage, yours(zero_stage=stage).held_state_bytes
        sheet.text(2, y + 32, name, bold=True).text(398, y + 32, figure, "end", bold=True)
        for gpu in range(gpus):
            _shard(sheet, 68 + gpu * 264 / gpus, y, 264 / gpus - 8, gpu, gpus, tall, list(zip(held[0], held[stage])))
    for x, (part, color) in zip((4, 92, 190), zip(parts, "abd")):
        sheet.box(x, 22 + 72 * len(STAGES) + 4, 12, 12, color).text(x + 17, 22 + 72 * len(STAGES) + 15, part)
    said = "; ".join(f"{name} {in_bytes(sum(row))}" for name, row in zip(STAGES, held))
    return sheet.picture("Each stage of ZeRO divides one more part of the model state",
                         f"On each of {gpus} GPUs: {said}. Stage 1 divides master weights and moments, stage 2 also gradients, "
                         "stage 3 also weights.")


def _shard(sheet, x, y, wide, gpu, gpus, tall, parts):
    """The state on one GPU: a strip for each part, filled where this GPU holds it."""
    for (whole, share), color in zip(parts, "abd"):
        height = whole * tall
        divided = share < whole
        if divided:
            sheet.box(x, y, wide, height, "wash", round=0)
        sheet.box(x + divided * gpu * wide / gpus, y, wide * share / whole if whole else 0, max(height - 1, 0), color, round=0)
        y += height


def misses_table(misses):
    return table(misses.drop_duplicates("note")[["subject", "value", "predicted", "error", "figures", "note"]],
                 "The largest misses, and how many figures share a reason",
                 labels={"value": "published", "predicted": "by the formulas", "note": "why"},
                 formats={"value": in_bytes, "predicted": in_bytes, "error": signed_percent})
