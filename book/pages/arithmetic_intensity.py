"""Compute or memory: the operators of a pass, a roofline of them, and what each pass takes."""
from typing import NamedTuple

import altair

from gpucalc.core.arithmetic import where
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, quantity, seconds, three_figures, times
from gpucalc.laws import arithmetic_intensity as ai, kernels
from gpucalc.laws.kv_cache import kv_bytes, max_batch, read_kv_bytes, weight_bytes
from gpucalc.laws.linear_layers import linear_params, recurrent_bytes, recurrent_flops
from gpucalc.laws.model_size import (attention_layers, expert_params, mixing_params, mlp_layers, mlp_params, norm_params,
                                     read_params)
from gpucalc.laws.quantization import output_params
from gpucalc.laws.shares import attention_rate, memory_rate, product_rate
from gpucalc.rows import catalogue
from ..components.charts import axis, expression, finish, slider, slider_chart, titled
from ..components.picture import Sheet
from ..components.show import familiar, table


# The operators of one pass over a model: FLOP, bytes and kernels of each, in all layers together.
#
# What lies beside products and attention is counted by the laws in `kernels`; here the products' own inputs and outputs, and
# those of attention, are added.


def decode_operators(case):
    """Operators of one decode step of a case with model, batch and context, as dicts."""
    model, batch = case.rows["model"], case.inputs["batch"]
    states = 2 * batch * case(recurrent_bytes)
    cached = (case(ai.token_attention_flops) - case(recurrent_flops), case(read_kv_bytes) - states, states)
    return _Pass(case, batch, batch, _values(model, 2 * model.heads * model.kv_lora_rank), *cached).operators()


def prefill_operators(case):
    """Operators of a prefill of a case with model, batch and prompt; the head works on the last token of each sequence alone."""
    case, model, batch = case.but(context=case.inputs["prompt"]), case.rows["model"], case.inputs["batch"]
    states = batch * case(recurrent_bytes)
    cached = (case(ai.prefill_pairs) * case(ai.prefill_pair_flops) + case(ai.prompt_index_flops), case(kv_bytes) - states, states)
    expanded = model.heads * (model.head_dim + model.value_head_dim)
    return _Pass(case, batch * case.inputs["prompt"], batch, _values(model, expanded), *cached).operators()


class _Values(NamedTuple):
    """Values of a token in one layer around attention."""

    queries: int
    keys: int
    outputs: int
    made: int      # on the way to queries and keys
    expanded: int  # of the latents, for scores and values to read


def _values(model, expanded):
    queries = model.heads * (model.head_dim + model.rope_head_dim)
    if not model.kv_lora_rank:
        keys = model.kv_heads * model.head_dim
        return _Values(queries, 2 * keys, queries, 0, 0)
    return _Values(queries, model.kv_lora_rank + model.rope_head_dim, model.heads * model.value_head_dim,
                   2 * model.q_lora_rank + model.kv_lora_rank + expanded, expanded)


class _Pass:
    """`tokens` go through all layers, `sequences` of them through the head; `scored` is the FLOP of attention of one sequence,
    `cached` and `states` are the bytes that are moved of the caches and states of all."""

    def __init__(self, case, tokens, sequences, values, scored, cached, states):
        self.case, self.model, self.tokens, self.sequences = case, case.rows["model"], tokens, sequences
        self.values, self.scored, self.cached, self.states = values, scored, cached, states
        given = {name: case.inputs[name] for name in ai.operator_bytes.defaults if name in case.inputs}
        self.widths = ai.operator_bytes.defaults | given

    def operators(self):
        rows = [self.weights("embedding", 1, 1, 0, 2 * self.model.hidden), self.norms(), *self.attention(), *self.linear(),
                *self.mlps(),
                self.beside("casts to 8 bits", 2 * self.model.layers * self.case(kernels.blocks_per_layer),
                            1.5 * self.case(kernels.cast_values)),
                self.weights("final norm", 1, 1, self.model.norm_vectors * self.model.hidden, 2 * self.model.hidden),
                self.weights("output head", 1, 1, self.case(ai.head_params), self.model.hidden + self.model.vocab,
                             through=self.sequences)]
        return [row for row in rows if row["kernels"] and row["moved_values"]]

    def beside(self, operator, count, values):
        """An operator of `count` kernels without weights, that moves values and computes next to nothing."""
        row = self.moved(operator, count, self.tokens, values)
        return row | dict(operator_flops=0, operator_bytes=row["activation_bytes"])

    def moved(self, operator, kernels, through, values):
        return dict(operator=operator, kernels=kernels, tokens=through, moved_values=values,
                    activation_bytes=through * values * self.widths["activation_element_bytes"])

    def weights(self, operator, count, kernels, params, values, through=None, read=None):
        """An operator that is there `count` times, with as many parameters and moved values each; `read` in all, else all."""
        through, read = through or self.tokens, count * params if read is None else read
        return self.moved(operator, count * kernels, through, count * values) | dict(
            used_params=count * params, touched_params=read, operator_flops=ai.operator_flops(through, count * params),
            operator_bytes=ai.operator_bytes(through, read, count * values, **self.widths))

    def norms(self):
        model, blocks = self.model, self.model.layers * self.case(kernels.blocks_per_layer)
        count = model.layers * model.norms_per_layer + self.case(attention_layers) * model.qk_norm + blocks
        return self.weights("norms and residual sums", 1, count, model.layers * self.case(norm_params),
                            self.case(kernels.norm_values))

    def attention(self):
        model, values, layers = self.model, self.values, self.case(attention_layers)
        output = self.case(output_params) / layers + model.hidden * model.output_bias
        attended = layers * (values.queries + values.expanded + values.outputs)
        mixing = self.case(mixing_params) - model.linear_layers * self.case(linear_params)
        return [
            self.weights("queries, keys, values", layers, self.case(kernels.attention_products) - 1, mixing / layers - output,
                         model.hidden + values.queries + values.keys + values.made),
            self.beside("rotary positions, cache write", 2 * layers, self.case(kernels.turned_values)),
            self.moved("scores and values", layers, self.tokens, attended) | dict(
                operator_flops=ai.attention_flops(self.sequences, 1, self.scored), operator_bytes=ai.attention_bytes(
                    self.cached, self.tokens, attended, self.widths["activation_element_bytes"])),
            self.weights("output projection", layers, 1, output, values.outputs + model.hidden)]

    def linear(self):
        """Layers with a state: their products, and the states."""
        model = self.model
        keys, values = model.linear_key_heads * model.linear_key_dim, model.linear_value_heads * model.linear_value_dim
        mixed = model.linear_layers * (2 * keys + 2 * values)
        return [
            self.weights("linear layers", model.linear_layers, 2, self.case(linear_params),
                         2 * model.hidden + 2 * keys + 3 * values),
            self.moved("states", 2 * model.linear_layers, self.tokens, mixed) | dict(
                operator_flops=self.tokens * self.case(recurrent_flops), operator_bytes=ai.attention_bytes(
                    self.states, self.tokens, mixed, self.widths["activation_element_bytes"]))]

    def mlps(self):
        model, sparse = self.model, self.model.moe_layers
        expert, dense = self.case(expert_params), self.case(mlp_layers)
        narrow = 2 * model.hidden * model.expert_latent
        router = model.experts * (model.hidden + model.router_bias) + model.shared_gate * model.hidden + narrow
        every = (2 + model.gated_mlp) * model.hidden * model.expert_intermediate
        touched = self.case.but(batch=self.tokens)(read_params) - model.params + sparse * model.experts * expert
        shared, routed = model.shared_experts, model.experts_per_token
        inner = self.product_values(model.expert_intermediate)
        return [
            self.weights("MLP", dense, 2, self.case(mlp_params), self.product_values(model.intermediate)),
            self.weights("router", sparse, 2, router, model.hidden + model.experts),
            self.beside("to experts and back", 2 * sparse, self.case(kernels.routed_values)),
            self.weights("shared experts", sparse, 3, shared * every, shared * inner),
            self.weights("routed experts", sparse, 2, routed * expert, routed * inner, read=touched),
            self.beside("activation functions", dense + sparse * (1 + (shared > 0)), self.case(kernels.activated_values))]

    def product_values(self, width):
        """Inputs and outputs of an MLP's products."""
        return 2 * self.model.hidden + (2 + self.model.gated_mlp) * width


# A pass over a model, operator by operator: how long each takes, what it waits for, and where it turns to compute.

ATTENTION = "scores and values"
# Operators that have weights and whose time is traffic at any number of tokens.
NEVER_TURN = ("norms and residual sums", "final norm")


def limited_by(flops, moved_bytes, product_rate, memory_rate):
    """What work waits for at the rates that are reached: "compute" or "memory"."""
    return "compute" if flops / product_rate > moved_bytes / memory_rate else "memory"


def timed(operators, case):
    """Operators as a table: with intensity, least (`bound`) and expected time (`reached`, s), and what limits that."""
    from pandas import DataFrame
    frame = DataFrame(operators)
    frame["intensity"] = frame["operator_flops"] / frame["operator_bytes"]
    for column, held in (("bound", case.but(efficiency="bound")), ("reached", case)):
        rates = where(frame["operator"] == ATTENTION, held(attention_rate), held(product_rate))
        found = Case(frame, held.rows["efficiency"], product_rate=rates, memory_rate=held(memory_rate))
        frame[column] = found(ai.operator_seconds)
    busy = frame["reached"] - frame["kernels"] * case.rows["efficiency"].kernel_seconds
    frame["limit"] = [
        "kernels" if row.reached > 2 * part else limited_by(row.operator_flops, row.operator_bytes, rate, case(memory_rate))
        for row, part, rate in zip(frame.itertuples(), busy, rates)]
    return frame


def turning_points(case, gpus):
    """Tokens in a pass at which each operator with weights turns to compute, by GPU; infinite where it never does.

    `attention` is what limits that in decode, `critical_prompt` where it turns in a prefill. Contexts are taken as long,
    all experts as read, windows as wide as the prompt.
    """
    model, every = case.rows["model"], case.but(gpu=gpus)
    points = {row["operator"]: every.but(
        used_params=row["used_params"], touched_params=row["used_params"] * _read_per_use(row, model),
        moved_values=row["moved_values"])(ai.critical_tokens) for row in decode_operators(case) if _turns(row)}
    attended = next(row["moved_values"] for row in prefill_operators(case.but(batch=1)) if row["operator"] == ATTENTION)
    intensity = case.inputs["batch"] * case(ai.token_attention_flops) / case(read_kv_bytes)
    attention = ["compute" if intensity > ridge else "memory" for ridge in every(ai.ridge_point)]
    prompts = every.but(moved_values=attended)(ai.critical_prompt)
    return gpus[[]].assign(**points, attention=attention, critical_prompt=prompts)


def _turns(row):
    return row.get("used_params", 0) > 0 and row["operator"] not in NEVER_TURN


def _read_per_use(row, model):
    return model.experts / model.experts_per_token if row["operator"] == "routed experts" else 1


# Rooflines: what a GPU allows at each intensity, where work stands below it, and the table of a pass's operators.

# Ends of the axes of a chart with sliders: FLOP per byte, FLOP/s.
EDGES, HEIGHTS = [0.05, 10_000], [1e10, 1e16]


def roofline(names, work, gpu, alt):
    """Rooflines of the GPUs; `work` (label, intensity, attainable_flops) are dots on the one of `gpu`."""
    import pandas
    cards = catalogue.gpus().loc[list(names), ["peak_flops", "bandwidth"]]
    ends = pandas.concat([cards.assign(intensity=value) for value in (0.5, Case(cards)(ai.ridge_point), 4096)])
    roofs = ends.assign(attainable_flops=Case(ends)(ai.attainable_flops)).reset_index()
    x, y = _axes()
    lines = altair.Chart(roofs).mark_line(strokeWidth=2.5).encode(
        x=x, y=y, color=altair.Color("gpu:N", title=None, sort=list(names)))
    points = altair.Chart(work).mark_point(filled=True, size=70, opacity=1).encode(x=x, y=y, color=altair.datum(gpu))
    labels = altair.Chart(work).mark_text(align="right", dx=-7, dy=-7).encode(x=x, y=y, text="label:Q")
    return finish(lines + points + labels, alt)


def operator_roofline(case, alt):
    """The roofline of a GPU to choose, with the operators of a decode step (circles) and of a prefill (triangles)."""
    ranges = {"batch": (1, 512, 1), "context": (128, 32768, 128), "prompt": (1, 8192, 1)}
    load = {name: slider(name, min(low, case.inputs[name]), max(high, case.inputs[name]), step, case.inputs[name])
            for name, (low, high, step) in ranges.items()}
    cards = catalogue.gpus()[["peak_flops", "bandwidth"]]
    picked = altair.param(name="card", value=case.rows["gpu"].name,
                          bind=altair.binding_select(options=list(cards.index), name="GPU "))
    chosen = altair.Chart().transform_filter(altair.datum.gpu == picked)
    steps = decode_operators(case.but(batch=load["batch"], context=load["context"]))
    marks = [_roof(chosen), *_dots(chosen, steps, "circle"),
             *_dots(chosen, prefill_operators(case.but(batch=1, prompt=load["prompt"])), "triangle-up")]
    chart = altair.layer(*marks, data=cards.reset_index()).add_params(picked, *load.values())
    return finish(chart, alt).configure_legend(orient="bottom", columns=1)


def operator_table(operators, caption):
    """The operators of a pass, timed, and their sum."""
    shown = operators[["operator", "operator_flops", "operator_bytes", "intensity", "bound", "reached", "limit"]].copy()
    total = shown[["operator_flops", "operator_bytes", "bound", "reached"]].sum()
    intensity = total["operator_flops"] / total["operator_bytes"]
    shown.loc[len(shown)] = {"operator": "sum", **total, "intensity": intensity, "limit": ""}
    return table(shown, caption, formats=dict(intensity=three_figures, bound=seconds, reached=seconds),
                 labels=dict(operator_flops="FLOP", operator_bytes="bytes", intensity="FLOP/B", bound="at least",
                             reached="expected", limit="limited by"))


def _axes():
    return (axis(altair.X, "intensity", "intensity", "FLOP per byte", log=True),
            axis(altair.Y, "attainable_flops", "attainable_flops", "FLOP/s, at most", log=True))


def _still_axes():
    """Axes that stay while sliders move what is drawn."""
    x, y = _axes()
    return x.scale(type="log", domain=EDGES), y.scale(type="log", domain=HEIGHTS)


def _height():
    """The roof over the point's intensity, as the browser computes it."""
    return expression(ai.attainable_flops(altair.datum.intensity, altair.datum.peak_flops, altair.datum.bandwidth))


def _roof(chosen):
    x, y = _still_axes()
    ridge = expression(ai.ridge_point(altair.datum.peak_flops, altair.datum.bandwidth))
    line = chosen.transform_calculate(low=str(EDGES[0]), ridge=ridge, high=str(EDGES[1])).transform_fold(
        ["low", "ridge", "high"], as_=["edge", "intensity"])
    return line.transform_calculate(attainable_flops=_height()).mark_line(
        strokeWidth=2.5, color="gray").encode(x=x, y=y)


def _dots(chosen, operators, shape):
    """A point for each operator that does work, the later ones smaller so that none hides another."""
    x, y = _still_axes()
    drawn = [row for row in operators if row["operator"] not in ("embedding", "final norm") and row["operator_flops"] != 0]
    for size, row in zip(range(40 * len(drawn), 0, -40), drawn):
        where = expression(ai.intensity.formula(row["operator_flops"], row["operator_bytes"]))
        yield chosen.transform_calculate(intensity=where).transform_calculate(attainable_flops=_height()).mark_point(
            filled=True, size=size, opacity=1, shape=shape).encode(
            x=x, y=y, color=altair.datum(row["operator"], title=None))


# The tables of compute or memory: every GPU, the batch at which it turns, and how far decode was from the formula, by engine.


def every_gpu(case, cards, caption):
    """What the case's model reaches on one GPU of each kind; a dash where it does not fit."""
    from pandas import DataFrame
    every, batch = case.but(gpu=cards), case.inputs["batch"]
    held, ones = every(max_batch), every.but(batch=1)
    shown = DataFrame(dict(
        ridge_point=every(ai.ridge_point), fits=[number(min(count, batch)) if count >= 1 else "none" for count in held],
        most=ones.but(efficiency="bound")(ai.tokens_per_second).where(held >= 1),
        alone=ones(ai.tokens_per_second).where(held >= 1), decode_seconds=every(ai.decode_seconds).where(held >= batch),
        prefill_seconds=ones(ai.prefill_seconds).where(held >= 1)))
    return table(shown.reset_index(), caption, formats=dict.fromkeys(["ridge_point", "most", "alone"], three_figures),
                 labels={"gpu": "GPU", "ridge_point": "ridge", "fits": "fit", "most": "at most", "alone": "tokens/s",
                         "decode_seconds": "TPOT", "prefill_seconds": "prefill"})


def turning_batches(case, cards, caption):
    """The batch at which decode turns to compute on each GPU, by bytes of a weight and by the format computed in."""
    every = case.but(gpu=cards)
    turning = {f"bytes_{width}": every.but(weight_element_bytes=width)(ai.critical_batch) for width in (2, 1, 0.5)}
    fp8 = cards[cards.fp8_flops > 0]
    turning["fp8"] = case.but(gpu=fp8, peak_flops=fp8.fp8_flops, weight_element_bytes=1)(ai.critical_batch)
    labels = {"gpu": "GPU", "bytes_2": "2 B, BF16", "bytes_1": "1 B, BF16", "bytes_0.5": "0.5 B, BF16", "fp8": "1 B, FP8"}
    return table(cards[[]].assign(**turning).reset_index(), caption, labels, dict.fromkeys(turning, three_figures))


def two_speeds(case, cards):
    """Both speeds of each card, their ratio, and the batch at which reading the weights takes as long as computing."""
    return cards[["bandwidth", "peak_flops"]].assign(ridge_point=case.but(gpu=cards)(ai.ridge_point),
                                                     critical_batch=case.but(gpu=cards)(ai.critical_batch))


def engines(decoded, share, caption):
    """Errors of published decode rates by engine and width of the weights, and the `share` of the bound that was reached."""
    wide = decoded["subject"].str.contains("BF16|FP16").map({True: ", 16 bits", False: ", fewer bits"})
    kinds = (decoded["subject"].str.rsplit(", ", n=1).str[-1] + wide).rename("engine")
    grouped = decoded.assign(size=decoded["error"].abs(), share=share).groupby(kinds)
    parts = grouped.agg(figures=("size", "size"), median=("size", "median"), largest=("size", "max"), share=("share", "median"))
    return table(parts.reset_index(), caption, labels={"share": "share of the bound"},
                 formats=dict.fromkeys(["median", "largest", "share"], percent))


# The picture of compute or memory: how long a pass reads the weights, and how long it computes, on one scale.

_LONGEST = 396


def clocks(case):
    """Reading and computing of three passes at the peaks, caches left out: one user, the case's batch, and a prompt."""
    card, batch, prompt, one = case.rows["gpu"], case.inputs["batch"], case.inputs["prompt"], case.but(batch=1)
    passes = [("One user writes a token", one(ai.read_bytes), one(ai.token_flops)),
              (f"{batch:,} users write a token each", case(ai.read_bytes), batch * case(ai.token_flops)),
              (f"A prompt of {prompt:,} tokens", case(weight_bytes), one(ai.prefill_flops))]
    passes = passes[:1] + passes[1 + (batch == 1):]                        # a batch of one is the one user
    passes = [(name, moved / card.bandwidth, flops / card.peak_flops) for name, moved, flops in passes]
    scale, sheet = _LONGEST / max(max(seconds) for _, *seconds in passes), Sheet(66 * len(passes) + 22)
    for place, (name, reading, computing) in enumerate(passes):
        y = 66 * place
        sheet.text(0, y + 14, name, bold=True).text(400, y + 14, _beside(computing / reading), "end", "b")
        sheet.box(0, y + 22, reading * scale, 14, "a", round=2)
        sheet.box(0, y + 40, max(computing * scale, 1), 14, "b", round=2)
    foot = 66 * len(passes) + 6
    sheet.box(0, foot, 12, 12, "a").text(18, foot + 11, "reading the weights")
    sheet.box(170, foot, 12, 12, "b").text(188, foot + 11, "arithmetic, beside reading")
    model, (_, reading, computing) = case.rows["model"].name, passes[0]
    return sheet.picture(
        f"One user: {card.name} reads {model} {times(reading / computing)} as long as it computes",
        "Time to read the weights beside time to compute, at the peaks. "
        + " ".join(f"{name}: computing takes {_beside(computing / reading)} of it." for name, reading, computing in passes))


def _beside(ratio):
    """A time beside that of reading."""
    return percent(ratio) if ratio < 1 else times(ratio)


def speed_slider_chart(case, moved, name, gpu, context, alone_rate, rate, batch):
    return slider_chart(
        case, {"at the peaks": (ai.tokens_per_second, dict(efficiency="bound")), "expected": ai.tokens_per_second}, x="batch",
        values=range(1, 513, 4), sliders=moved, choose=("model", "gpu"), crossing=ai.critical_batch,
        y_title="tokens/s of all users",
        finding=[
            ("experts > 0", "{model} uses few of the weights that it reads: its clocks agree beyond a batch of {critical_batch}"),
            "Arithmetic on the weights catches up with reading them at a batch of {critical_batch}",
        ],
        alt=f"Tokens a second of {name} on {gpu} against the batch at {context:,} tokens of context: "
        f"{quantity('tokens_per_second', alone_rate)} "
        f"for one user, {quantity('tokens_per_second', rate.value)} for {batch:,}. The clocks of the weights agree at a batch of "
        f"{three_figures(case(ai.critical_batch))}.")


def token_slider_chart(case, compared, grid, moved, name, context, gpu, alone, step, batch, many):
    return slider_chart(case, {label: (ai.decode_seconds, changes) for label, changes in compared.items()}, x="batch",
                        values=grid, sliders=moved, log_x=True, log_y=True, y_title="time per token (TPOT)",
                        finding="A step of {batch} users takes {decode_seconds}",
                        alt=f"Time per token of {name} against the batch at {context:,} tokens of context: on {gpu} "
                        f"{seconds(alone(ai.decode_seconds))} for one sequence, {seconds(step)} for {batch:,} and "
                        f"{seconds(many['decode_seconds'])} for {grid[-1]:,}.")


def operators_chart(steps, prefill, case, gpu, ridge, name, batch, prompt):
    of_step, of_prefill = (frame.set_index("operator").intensity.map(three_figures) for frame in (steps, prefill))
    return titled(operator_roofline(
        case, f"Roofline of {gpu}, whose ridge point is {three_figures(ridge)} FLOP per byte, with the operators of {name}. "
        f"In a decode step of {batch:,} sequences the output head does {of_step['output head']} FLOP per byte and attention "
        f"{of_step[ATTENTION]}; in a prefill of {prompt:,} tokens the projections do {of_prefill['queries, keys, values']}."),
        f"In a step of {batch:,} users attention does {of_step[ATTENTION]} FLOP for each byte, whatever the batch")


def roofline_chart(names, dots, gpu, card, ridge, sloped):
    return titled(
        roofline(names, dots, gpu,
                 f"Roofline of {', '.join(names)}. On {gpu} the product's intensity is "
                 f"{quantity('intensity', dots.intensity[0])} at one row, where memory allows "
                 f"{number(dots.attainable_flops[0], 'FLOP/second')} of {number(card.peak_flops, 'FLOP/second')}; it stays below "
                 f"the ridge point of {quantity('ridge_point', ridge)} up to {sloped.max():,} of the batches shown."),
        f"One product reaches the roof of {gpu} above {sloped.max():,} rows")


def speeds_table(case, cards, gpu, weight_element_bytes):
    return table(familiar(two_speeds(case, cards), "gpu", gpu).reset_index(),
                 f"Two speeds and the ridge point, with weights of {weight_element_bytes:g} B",
                 labels={"gpu": "GPU", "bandwidth": "reads", "peak_flops": "computes", "ridge_point": "ridge point, FLOP/B",
                         "critical_batch": "clocks agree at batch"},
                 formats=dict.fromkeys(["ridge_point", "critical_batch"], three_figures))


def turning_table(sides, name, short):
    return table(sides.reset_index(),
                 f"Tokens in a pass at which operators of {name} turn to compute, what limits attention in decode, and "
                 "the prompt at which attention turns",
                 labels={"gpu": "GPU", "attention": "decode attention", "critical_prompt": "prompt"} | short,
                 formats=dict.fromkeys(sides, lambda value: three_figures(value) if value < float("inf") else "never"))
