"""Serving a load: fleets as tables, charts of their queue, and pictures of a batch."""
import json
import math
from math import ceil, inf

from pandas import concat, DataFrame, notna

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number, percent, seconds, times
from gpucalc.core.quantities import QUANTITIES
from gpucalc.laws import images, queueing, serving
from gpucalc.laws.arithmetic_intensity import decode_seconds
from gpucalc.laws.kv_cache import weight_bytes
from gpucalc.laws.serving_cost import rented_gpus
from gpucalc.rows import bands, catalogue
from gpucalc.rows.tables import rows, table as rows_of
from ..components.charts import lines, slider_chart
from ..components.claims import measurements
from ..components.picture import Sheet
from ..components.sentences import Yours
from ..components.show import in_unit, table
from .sharing import slice_row


# Fleets as a table: what each GPU and degree takes for a load, or what rules it out.

LABELS = {"gpu": "GPU", "tensor_parallel": "GPUs in a replica", "batch": "batch", "replicas": "replicas", "gpus": "GPUs",
          "low_gpus": "fast end", "high_gpus": "slow end", "formula_gpus": "GPUs, formula",
          "bound": "GPUs, bound", "offered_load": "places filled", "limit": "what rules it out", "binds": "what costs most",
          "time_to_first_token": "first token within",
          "time_per_output_token": "time per output token",
          "request_seconds": "whole request", "alone": "one request, alone"}

# Why there is no plan, by what rules it out.
NO_PLAN = {"memory": "the model does not fit its memory", "the whole answer": "one request alone takes too long",
           "the first token": "a prompt alone takes too long", "the time per token": "a pass alone takes too long"}


# Images of a table: height and width in pixels.
_IMAGES = ((448, 448), (768, 1024), (1080, 1920), (2160, 3840))
# A slow end of so many times the plan is no number to plan with.
_SAFE = 3


def fleet_table(fleets, columns, caption, late_share, **formats):
    """The named columns of `capacity.fleets` as a table; a dash where no number is enough, or none that anybody would buy."""
    shown = fleets[columns].replace(math.inf, math.nan)
    if {"gpus", "high_gpus"} <= {*columns}:
        shown["high_gpus"] = shown["high_gpus"].where(shown["high_gpus"] <= _SAFE * shown["gpus"])
    return table(shown, caption, labels=LABELS | {"answer_seconds": f"{percent(1 - late_share)} within"},
                 formats={"offered_load": percent} | formats)


# Charts and tables of the lesson on serving: drafting, the queue, layouts by batch, and a card cut into slices.

_DRAFTER, _DRAFTED, _CHANCES = "Llama-3.2-1B", 4, (0.6, 0.8, 0.9)
_READ = {"own": "prompts by themselves", "chunked": "in chunks", "apart": "apart"}
_ERRORS = {"time_to_first_token": "Time to first token", "late_token_seconds": "Time per token", "answer_seconds": "Whole answer"}
_FILLED = (*(step / 20 for step in range(2, 19)), 0.93, 0.96, 0.98, 0.99)


def frontier_chart(points, case):
    """Each layout's batches by the time per output token and the output a GPU gives; dashed as the bound."""
    drawn = frontier(points[points.batch.isin([2**step for step in range(10)])], case)
    real, title, finding = drawn[drawn.kind == "achieved"], "No layout holds the model", ""
    if len(real):
        quick, rich = real.loc[real.time_per_output_token.idxmin()], real.loc[real.output_tokens_per_second.idxmax()]
        title = f"The shortest wait is on {quick.layout}, the most output a GPU on {rich.layout}"
        finding = (f"The shortest time is {seconds(quick.time_per_output_token)} on {quick.layout}; the most output is "
                   f"{number(rich.output_tokens_per_second, 'token/second')} a GPU, on {rich.layout} at batch {rich.batch}.")
    return lines(drawn, "time_per_output_token", "output_tokens_per_second", "layout", log_x=True, log_y=True, points=True,
                 dash="kind", x_title="time per output token", y_title="output tokens a second and GPU", title=title,
                 alt=f"Time per output token against output tokens a second and GPU, by layout and batch. {finding}")


def draft_chart(case):
    """How many times as fast decode becomes if a small model drafts, by the batch and by the share of drafts accepted."""
    small = catalogue.model(_DRAFTER)
    gains = DataFrame([(2**step, chance) for step in range(9) for chance in _CHANCES], columns=["batch", "acceptance"])
    plain = case.but(batch=gains.batch)
    draft = plain.but(model=small, tensor_parallel=1)(serving.replica_pass_seconds)
    checked = plain.but(chunk=_DRAFTED * gains.batch, draft_seconds=draft, drafted=_DRAFTED, acceptance=gains.acceptance)
    gains = gains.assign(times=plain(serving.replica_pass_seconds) / checked(serving.speculative_seconds),
                         accepted=[f"{percent(chance)} accepted" for chance in gains.acceptance])
    middle = gains[gains.acceptance == 0.8].times
    return lines(gains, "batch", "times", "accepted", log_x=True, points=True, limit=1,
                 y_title="times as fast as without drafting",
                 title=f"Drafting gains most at batch 1, {times(middle.iloc[0])} with four in five accepted",
                 alt=f"Speed-up by {_DRAFTED} drafted tokens of {small.name} on one GPU, against the batch. With four in five "
                     f"accepted it is {middle.iloc[0]:.2f} at batch 1 and {middle.iloc[-1]:.2f} at batch {gains.batch.max()}.")


def queue_chart(case, request_seconds):
    """The time in which all but the late are answered, against the load, by the number of replicas; a request takes that long."""
    batch, late_share, limit = (case.inputs[name] for name in ("batch", "late_share", "answer_limit"))
    queues = DataFrame([(count, load) for count in (1, 2, 3, 4, 6) for load in _FILLED], columns=["replicas", "offered_load"])
    rates = queues.replicas * batch / request_seconds * queues.offered_load
    loaded = case.but(request_seconds=request_seconds, crowding=case(queueing.crowding), requests_per_second=rates,
                      replicas=queues.replicas, offered_load=queues.offered_load)
    queues = queues.assign(
        requests_per_second=rates, answer_seconds=loaded(queueing.answer_seconds),
        fleet=[f"{count} replicas" if count > 1 else "1 replica" for count in queues.replicas])
    most = percent(1 - late_share)
    return lines(queues, "requests_per_second", "answer_seconds", "fleet", limit=limit, x_title="requests a second",
                 y_title=f"answered within, {most} of requests", title="The wait turns up where the places are nearly full",
                 alt=f"The time in which {most} of the requests have their answer, against the load, batch {batch} in each "
                     f"replica. It starts at {seconds(request_seconds)} and turns up where the places are nearly full; the "
                     f"dashed line is the limit of {seconds(limit)}.")


def image_table(gpu):
    """Tokens of images of some sizes by family of models, with what the encoder takes on the card."""
    found = []
    for name, row in rows("image_encoders").items():
        case = Case(**{each: value for each, value in row.items() if each in QUANTITIES}, gpu=gpu, efficiency="achieved")
        for height, width in _IMAGES:
            held = case.but(image_height=height, image_width=width)
            found.append({"models": name, "image": f"{width:,} × {height:,}"} | {law.__name__: held(law) for law in (
                images.image_tokens, images.encoder_seconds, images.encoder_bytes)})
    return table(DataFrame(found), f"What an image takes, and its encoder on one {gpu}", labels={
        "image": "pixels", "image_tokens": "tokens", "encoder_seconds": "encoder, at least", "encoder_bytes": "its weights"})


def slice_table(gpu, model):
    """A card in equal slices and whole, with a pass of the model in 8-bit weights on each, batch 1."""
    names = catalogue.partitions().query("gpu == @gpu")["profile"]
    found = DataFrame([slice_row(gpu, profile) | {"profile": profile} for profile in names])
    found = concat([found, DataFrame([catalogue.gpu(gpu) | {"profile": "the whole card", "instances": 1}])], ignore_index=True)
    case = Case(found, model=model, efficiency="achieved", batch=1, context=1000, weight_element_bytes=1)
    each = case(decode_seconds).where(case(weight_bytes) < 0.9 * found.memory_bytes)
    found = found.assign(time_per_output_token=each, output_tokens_per_second=found["instances"] / each)
    columns = ["profile", "instances", "memory_bytes", "bandwidth", "time_per_output_token", "output_tokens_per_second"]
    return table(found[columns], f"An {gpu} in equal slices, batch 1 in each", labels={
        "instances": "slices", "memory_bytes": "memory of each", "time_per_output_token": "time per output token",
        "output_tokens_per_second": "tokens a second, all slices"})


def error_table():
    """What the formulas say of the simulated times, by quantity, how prompts are read, lengths, load and share that is later."""
    found = rows_of("simulated")
    return found.assign(error=found["formula_seconds"] / found["simulated_seconds"])


def error_chart(quantity, late_share=0.05):
    """The formula over what is simulated, of one quantile, against the load: a color for each way to read prompts, a dash for
    each model."""
    found = error_table().query("quantity == @quantity and late_share == @late_share and lengths == 'lognormal'")
    found = found[(found["plan"] == "") & (found["replicas"] == 1) & (found["attention_parallel"] == 1)]
    found = found.assign(read=found["prompts"].map(_READ))
    name, most = _ERRORS[quantity], percent(1 - late_share)
    low, high = found["error"].min(), found["error"].max()
    return lines(found, "offered_load", "error", "read", log_y=True, points=True, limit=1, dash="model",
                 x_title="load, of what fills all places", y_title="formula over simulated",
                 title=f"{name} of {most}: the formula is {low:.2f} to {high:.2f} times what is simulated",
                 alt=f"{name} that {most} of requests stay below, by the formula over a simulation, against the load: from "
                     f"{low:.2f} to {high:.2f}. The dashed line at 1 is where both agree.")


def plan_error_table():
    """Of each simulated plan p50, p95 and p99: what the formulas say, and what is simulated."""
    found, shown = error_table().query("plan != ''"), []
    keys = ["model", "replicas", "attention_parallel", "tensor_parallel", "gpu", "batch", "offered_load", "quantity"]
    for (model, replicas, groups, degree, gpu, batch, load, quantity), each in found.groupby(keys, sort=False):
        times = {f"p{100 * (1 - row.late_share):.0f}": f"{seconds(row.formula_seconds)}, {seconds(row.simulated_seconds)}"
                 for row in each.itertuples()}
        shown.append(dict(plan=f"{model}, {replicas * groups * degree:.0f} × {gpu}", groups=groups, places=batch, load=load,
                          time=_ERRORS[quantity]) | times)
    labels = {"groups": "groups of a replica", "places": "places of a replica", "load": "filled"}
    return table(DataFrame(shown), f"Plans of {found['date'].iloc[0]}: by the formulas, and simulated", labels=labels,
                 formats=dict(load=percent))


# Diagrams of a server: batches on a time line, and the queue in front of its replicas.

# An example: slots of a batch, and how long answers are, in the order in which they are asked for, as shares of the mean.
_SLOTS, _LENGTHS = 4, (1.1, 0.5, 1.6, 0.8, 0.9, 1.3, 0.6, 1.0, 1.4, 0.8, 1.2, 0.8)
_PROMPT, _TOKEN, _PAUSE = "prompt", "token", "pause"
_COLORS = {_PROMPT: "b", _TOKEN: "a", _PAUSE: "wash"}


def schedule(continuous, answers, prompt, token, slots=_SLOTS, ends=math.inf):
    """What each slot does, as (start, end, [doing]) in seconds, until all answers are written or a pass would not end by `ends`.

    prompt, token: seconds of a prompt, which stops the other slots, and of a pass. A free slot is filled at once, or when all
    are free.
    """
    waiting, left, done, now = list(answers), [0] * slots, [], 0
    filling = True
    while waiting or any(left):
        free = [slot for slot in range(slots) if not left[slot]]
        filling = bool(free) and (continuous or filling or len(free) == slots)
        if filling and waiting:
            left[free[0]] = waiting.pop(0)
            doing, takes = [_PROMPT if slot == free[0] else _PAUSE if left[slot] else None for slot in range(slots)], prompt
        else:
            doing, takes = [_TOKEN if rest else None for rest in left], token
            left = [max(rest - 1, 0) for rest in left]
        if now + takes > ends * (1 + 1e-9):
            break
        done.append((now, now + takes, doing))
        now += takes
    return done


def written(done):
    """Tokens that a schedule writes."""
    return sum(doing.count(_TOKEN) for _, _, doing in done)


def batching_picture(case):
    """The same requests in batches that start and end together, and in a batch that is kept full, both for the same time."""
    sheet, yours = Sheet(252), Yours(case)
    mean, prompt, token = case.inputs["output"], case(serving.replica_prefill_seconds), case(serving.replica_pass_seconds)
    answers = [max(round(mean * length), 1) for length in _LENGTHS]
    static = schedule(False, answers[:2 * _SLOTS], prompt, token)
    ends = static[-1][1]
    full = schedule(True, answers * 3, prompt, token, ends=ends)
    for top, title, done in ((0, "Static: a batch starts and ends together", static),
                             (96, "Continuous: a free slot is filled at once", full)):
        _lines(sheet, top, title, done, ends)
    sheet.arrow((70, 196), (392, 196)).text(8, 200, f"{seconds(ends)}", color="soft")
    sheet.box(8, 215, 12, 12, color="b").words(26, 226, "a prompt, ", yours.replica_prefill_seconds)
    sheet.box(176, 215, 12, 12).words(194, 226, "tokens, one each ", yours.replica_pass_seconds)
    sheet.box(8, 235, 12, 12, color="wash", outline="line").text(26, 246, "a slot that waits while another's prompt is read")
    more, fewer = written(full), written(static)
    return sheet.picture(
        f"Kept full, the same server writes {more:,} tokens instead of {fewer:,} in {seconds(ends)}",
        f"{_SLOTS} slots over {seconds(ends)}, answers of {min(answers):,} to {max(answers):,} tokens. Static batches leave "
        f"slots empty until the longest answer ends and write {fewer:,} tokens; continuous batching fills each and writes "
        f"{more:,}{f', {percent(more / fewer - 1)} more' if more > fewer else ''}. While a prompt is read, other slots pause.")


def _lines(sheet, top, title, done, ends):
    """The slots of one server as lines of what they do, as wide as it takes; what goes on is one box."""
    sheet.text(8, top + 16, title, bold=True)
    for slot in range(_SLOTS):
        y = top + 26 + 15 * slot
        sheet.text(8, y + 11, f"slot {slot + 1}", color="soft")
        runs = []
        for start, end, doing in done:
            if runs and runs[-1][2] == doing[slot]:
                runs[-1][1] = end
            else:
                runs.append([start, end, doing[slot]])
        for start, end, doing in runs:
            if doing:
                wide = max(324 * (end - start) / ends - 0.4, 0.4)
                sheet.box(68 + 324 * start / ends, y, wide, 12, color=_COLORS[doing], round=0)


def queue_picture(case):
    """Requests that wait for one of the places: how many are inside at once, and how many places there are."""
    replicas, rate, batch = (case.inputs[name] for name in ("replicas", "requests_per_second", "batch"))
    stay, shown = case(serving.request_seconds), min(replicas, 4)
    sheet = Sheet(176)
    sheet.text(8, 22, f"{number(rate)} a second", bold=True).arrow((8, 78), (66, 78))
    for place in range(3):
        sheet.box(74 + 17 * place, 70, 13, 16, color="b")
    sheet.text(98, 108, "queue", at="middle", color="soft")
    filled = min(ceil(case(queueing.offered_load) * batch), batch)
    for place in range(shown):
        top = 6 + 132 / shown * place
        sheet.line((128, 78), (166, top + 60 / shown), color="line")
        _replica(sheet, 170, top, 132 / shown - 8, batch, filled)
    sheet.arrow((322, 78), (392, 78)).text(392, 66, "answers", at="end", color="soft")
    more = f"{shown} of {replicas:,} replicas" if replicas > shown else f"{replicas:,} replicas"
    sheet.text(243, 158, f"{more}, {batch} places each", at="middle", color="soft")
    sheet.text(392, 96, f"after {seconds(stay)}", at="end", color="soft")
    inside = f"{round(rate * stay):,} inside at once" if rate * stay >= 1 else "fewer than one inside at once"
    return sheet.picture(f"{number(rate)} requests a second that stay {seconds(stay)} each are {inside}",
                         f"A queue in front of {replicas:,} replicas with {batch} places each, of which about {filled} "
                         f"{'is' if filled == 1 else 'are'} filled.")


def _replica(sheet, left, top, tall, batch, filled):
    """One server with its places, those that are filled in color; up to two rows of twelve stand for them all."""
    sheet.box(left, top, 146, tall, color="wash", outline="line")
    columns = min(batch, 12)
    for place in range(min(batch, 24)):
        x, y = left + 6 + 11.4 * (place % columns), top + tall / 2 - 10 + 11 * (place // columns)
        sheet.box(x, y, 9, 8, color="a" if place < filled * min(batch, 24) / batch else None, outline="line", round=2)


# Published figures beside the formulas, the peaks, and Erlang's C beside the waiting share of the formulas.


def peak_output(case):
    """Output tokens a second of a replica that the peaks allow: prompts ride along with the passes."""
    full = case.but(**bands.PEAKS, chunk=serving.steady_chunk)
    return case.inputs["batch"] / full(serving.replica_pass_seconds)


def published():
    """The published figures of serving with what the law gives, `predicted`, and the `bound`."""
    found = measurements("serving").assign(bound=measurements("serving", **bands.PEAKS)["predicted"])
    full = found["law"] == "output_tokens_per_second"
    found.loc[full, "bound"] = [peak_output(Case.of(json.loads(inputs))) for inputs in found.loc[full, "inputs"]]
    return found


def frontier(points, case):
    """Time per output token and output tokens a second and GPU of what memory holds of the points, achieved and as the bound."""
    points = points[points["batch"] <= points["places"]]
    degrees, rate = points["tensor_parallel"], points["output_tokens_per_second"]
    most = peak_output(case.but(tensor_parallel=degrees, batch=points["batch"]))
    shown = points[["batch", "tensor_parallel", "time_per_output_token"]].assign(
        layout=[f"{degree} GPUs" if degree > 1 else "1 GPU" for degree in degrees])
    achieved = shown.assign(kind="achieved", output_tokens_per_second=rate / degrees)
    bound = shown.assign(kind="bound", output_tokens_per_second=most / degrees, time_per_output_token=points["batch"] / most)
    return concat([achieved, bound], ignore_index=True)


def erlang_c(places, load):
    """Share of requests that wait in M/M/c, exactly, by the recursion of Erlang's B formula."""
    blocked, offered = 1.0, places * load
    for count in range(1, places + 1):
        blocked = offered * blocked / (count + offered * blocked)
    return blocked / (1 - load * (1 - blocked))


def waiting_share_errors():
    """How far `waiting_share` is above and below Erlang's C at most, for 1 to 1,024 places and loads from 0.1 on."""
    off = [queueing.waiting_share(load, 2**step, 1, 0) - erlang_c(2**step, load) for step in range(11)
           for load in (0.1, 0.2, 0.3, 0.4, 0.5, 0.55, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)]
    return max(off), -min(off)


def changes_of_limits(most_load, most, first_token_limit, answer_limit, asked, name, weight_format, gpu, tensor_parallel):
    """A plan's figures, one a row, as asked and with each other limit."""
    questions = {
        "gpus": ("GPUs", number), "low_gpus": ("GPUs at the fast end", number), "high_gpus": ("GPUs at the slow end", number),
        "replicas": ("replicas", number), "batch": ("sequences in each", number),
        "places": ("sequences its cache holds", "{:,.0f}".format),
        "replica_prefill_seconds": ("time to first token, nothing waits", seconds),
        "time_per_output_token": ("time per output token", seconds), "request_seconds": ("whole request, nothing waits", seconds),
        "output_tokens_per_second": ("output of a full replica", in_unit("token/second")),
        "offered_load": (f"share of slots filled, limit {percent(most_load)}", percent),
        "waiting_share": ("requests that wait", percent),
        "waiting_seconds": (f"wait of {most} at most", lambda value: seconds(value) if value else "none"),
        "time_to_first_token": (
            f"first token of {most} within" + (f", limit {seconds(first_token_limit)}" if first_token_limit else ""), seconds),
        "answer_seconds": (f"answer of {most} within, limit {seconds(answer_limit)}", seconds),
        "binds": ("the limit that costs most", str), "limit": ("what rules it out", str)}
    return table(
        DataFrame(
            [
                dict(question=text,
                     **{side: show(row[key]) if notna(row[key]) and row[key] != inf else None for side, row in asked.items()})
                for key, (text, show) in questions.items()
            ]),
        f"{name} in {weight_format} on {gpu}, {tensor_parallel} in a replica")


def counts_in_words(fleets):
    """Each fleet with its plan and range, as `12 × H100 SXM 80GB (10 to 20)`."""
    return [f"{row.gpus:,.0f} × {key} ({row.low_gpus:,.0f} to {f'{row.high_gpus:,.0f}' if row.high_gpus < inf else 'no number'})"
            for key, row in fleets.iterrows()]


def output_slider_chart(case, prompt, output, tensor_parallel, alone):
    return slider_chart(
        case,
        {"bound": (serving.output_tokens_per_second, {"efficiency": "bound"}), "achieved": serving.output_tokens_per_second},
        x="batch",
        values=[1, 2, 4, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256],
        sliders={"prompt": (100, 8000, 100, prompt), "output": (50, 2000, 50, output),
                 "tensor_parallel": (1, 8, 1, tensor_parallel)},
        y_title="output tokens a second of a replica",
        finding="A larger batch gives more, and ever less more",
        alt="Output of a replica rises with the batch and bends: "
        f"{number(alone(serving.output_tokens_per_second), 'token/second')} at batch 1, "
        f"{number(case.but(batch=256)(serving.output_tokens_per_second), 'token/second')} at 256. "
        "Longer prompts bend it earlier.",
    )


def limit_slider_chart(case, tensor_parallel, answer_limit, requests_per_second, late_share, batch, rate, most, request):
    asked_for = case.but(gpus_per_server=max(8, tensor_parallel))
    return slider_chart(
        asked_for, {"GPUs to pay for": rented_gpus}, x="answer_limit", values=[answer_limit * part / 40 for part in range(8, 81)],
        y_title="GPUs", log_y=True, crossing=serving.request_seconds, choose=("model",),
        finding=[
            ("weight_bytes >= memory_bytes * tensor_parallel",
             "The weights do not fit on {tensor_parallel} × {gpu}: raise tensor parallel"),
            ("request_seconds >= answer_limit", "No number of GPUs keeps {answer_limit}: one answer takes {request_seconds}"),
            "A limit of {answer_limit} takes {rented_gpus} GPUs; below {request_seconds} no number is enough",
        ],
        sliders={
            "requests_per_second": (0.1, max(100, ceil(requests_per_second)), 0.1, max(round(requests_per_second, 1), 0.1)),
            "late_share": (0.01, 0.2, 0.01, late_share),
            "batch": (1, max(64, batch), 1, batch),
            "tensor_parallel": (1, 8, 1, min(tensor_parallel, 8)),
        },
        alt=f"GPUs for {rate} against the limit of {most} of the answers: the count climbs without end as the limit comes down "
        "to "
        f"{seconds(request.value)}, the time of one answer at batch {batch}, and hardly falls beyond twice that.")


def cached_table(reused, long, batch):
    return table(reused[["cached_share", "replica_prefill_seconds", "time_per_output_token", "output_tokens_per_second"]],
                 f"Prompts of {long.inputs['prompt']:,} tokens of which a share is in the cache, batch {batch}",
                 labels={"replica_prefill_seconds": "time to first token", "time_per_output_token": "time per output token",
                         "output_tokens_per_second": "output of a replica"}, formats=dict(cached_share=percent))
