"""Links between GPUs: collectives over a network, degrees that pay, charts and pictures."""
from math import cos, inf, pi, sin

from pandas import DataFrame

from gpucalc.core.arithmetic import floor, maximum, minimum
from gpucalc.core.evaluate import Case, Row
from gpucalc.core.figures import number, percent, seconds, three_figures, times
from gpucalc.decisions.capacity import ENGINE
from gpucalc.laws import interconnect as ic, kv_cache, serving
from gpucalc.rows import catalogue
from ..components.charts import lines, slider_chart
from ..components.picture import Sheet
from ..components.show import byte_rate, familiar, in_bytes, table


# What a network does to a model that is split: bytes by kind of parallelism, fabrics, and the degree that pays.

_KINDS = {"tensor": (ic.tensor_bytes, "tensor_parallel", {}),
          "tensor with sequence parallel": (ic.tensor_bytes, "tensor_parallel", {}),
          "context": (ic.context_bytes, "context_parallel", {}),
          "expert": (ic.expert_bytes, "expert_parallel", {}),
          "pipeline": (ic.pipeline_bytes, "pipeline_parallel", {}),
          "pipeline, two chunks a GPU": (ic.pipeline_bytes, "pipeline_parallel", {"virtual_stages": 2}),
          "data, all-reduce": (ic.data_bytes, "data_parallel", {"zero_stage": 0}),
          "data, ZeRO-1": (ic.data_bytes, "data_parallel", {"zero_stage": 1}),
          "data, ZeRO-2": (ic.data_bytes, "data_parallel", {"zero_stage": 2}),
          "data, ZeRO-3": (ic.data_bytes, "data_parallel", {"zero_stage": 3})}
_SPLIT_TOKENS = ("context_parallel", "expert_parallel")


def known(link):
    """The link's row without the latencies that are not known, so that the laws leave them out."""
    return Row({name: value for name, value in link.items() if value == value}, link.name, link.kind)


def joined(case):
    """Most GPUs that the link of the case joins (count); infinite where the case has a bandwidth alone."""
    return next((row["reach"] for row in case.rows.values() if "reach" in row), inf)


def paying_degree(case):
    """Largest tensor-parallel degree at which a layer computes longer than it communicates, of those that the link joins (count).

    It is 1 if no split pays.
    """
    return minimum(maximum(floor(case(ic.tensor_parallel_limit)), 1), joined(case))


def paying_band(case):
    """The band of `paying_degree` at what products and links reach; at its low end the layer is fast and the link slow.

    Latency is left out, as in `tensor_parallel_limit`; the link's share is not.
    """
    pair = case.but(efficiency="achieved", tensor_parallel=2, latency=0, base_latency=0)
    compute, sent = pair.band(ic.layer_compute_seconds), pair.band(ic.layer_communication_seconds)
    ratios = compute.low / sent.high, compute.plan / sent.plan, compute.high / sent.low, compute.value / sent.value
    degrees = dict(zip(compute._fields, (minimum(maximum(floor(ratio), 1), joined(case)) for ratio in ratios)))
    return compute._replace(**degrees, bound=None, family=f"{compute.family} and {sent.family}", unit="",
                            rows=min(compute.rows, sent.rows), sources=min(compute.sources, sent.sources))


def sent_by_kind(model, tokens, micro_batches, gpus=8):
    """Bytes that one of the GPUs sends with one kind of parallelism at a time: per layer, micro-batch and step.

    `tokens` are those of a micro-batch. Blank where a kind sends nothing in that rhythm: stages do not send by layer,
    replicas only by step.
    """
    from pandas import DataFrame
    alone = Case(model=model, gpu_params=model.params, gradient_element_bytes=2, micro_batches=micro_batches)
    rows = []
    for kind, (law, degree, more) in _KINDS.items():
        part = tokens / gpus if degree in _SPLIT_TOKENS else tokens
        sent = alone.but(**{degree: gpus}, gpu_tokens=part, **more)(law)
        by_step, by_layer = law is ic.data_bytes, law not in (ic.data_bytes, ic.pipeline_bytes)
        rows.append(dict(kind=kind, layer=sent / model.layers if by_layer else None, micro_batch=None if by_step else sent,
                         step=sent if by_step else sent * micro_batches))
    return DataFrame(rows)


def fabrics(link, oversubscription=1):
    """Ways to join nodes of eight GPUs by the link, as a table of inputs; the last is `oversubscription` itself, if above 1."""
    from pandas import DataFrame
    port = link.link_bandwidth
    rows = [("eight GPUs a node, a port each", 8, port, 1), ("the same, oversubscribed seven to one", 8, port, 7),
            ("eight GPUs a node share one port", 8, port / 8, 1), ("one GPU of the group in a node", 1, port, 1)]
    rows += [("this fabric", 8, port, oversubscription)] if oversubscription > 1 else []
    frame = DataFrame(rows, columns=["fabric", "node_ranks", "network_bandwidth", "oversubscription"])
    return frame.assign(network_latency=link["latency"]) if "latency" in link else frame


# Charts and tables of the lesson on links: messages by size, every GPU and every link.

_SMALL, _LARGE = 2**14, 10**9


def message_chart(near, far):
    """The time of an all-reduce by ring, tree and switch over two links, against the size of the message."""
    sums, inside = near.get("switch_latency", 0) > 0, Case(near, ranks=8)
    kinds = {"ring": ic.all_reduce_seconds, "tree": ic.tree_all_reduce_seconds, "switch": ic.switch_all_reduce_seconds}
    small, large = (inside.but(message_bytes=size)(ic.all_reduce_seconds) for size in (2**10, 2**33))
    return slider_chart(
        Case(), {f"{kind}, {row.name}": (law, {"link": row}) for row in (near, far) for kind, law in kinds.items()
                 if kind != "switch" or sums and row is near},
        x="message_bytes", values=[2**power for power in range(10, 34)], y_title="time of an all-reduce",
        log_x=True, log_y=True, sliders={"ranks": (2, 64, 1, 8), "link_efficiency": (0.5, 1, 0.01, 1)},
        finding="Among {ranks} GPUs, small messages pay latency and large ones bandwidth",
        alt=f"A ring all-reduce among eight GPUs over {near.name} takes {seconds(small)} for a kilobyte and {seconds(large)} for "
            "eight gigabytes: flat while latency rules, then in proportion to the message. The tree is faster for small "
            f"messages, the ring for large ones{', and a switch that sums beats both there' if sums else ''}.")


def gpu_table(model):
    """Every GPU: its link, the degree that pays, and the time to sum the gradients of the model."""
    cards = catalogue.gpus()
    half = cards.dropna(subset=["fp16_accumulate_flops"])
    shown = cards[["link", "link_bandwidth"]].assign(
        at_8192=paying_degree(Case(cards, hidden=8192)), at_hidden=paying_degree(Case(cards, hidden=model.hidden)),
        fp16=paying_degree(Case(half, hidden=8192, peak_flops=half.fp16_accumulate_flops)),
        gradient_seconds=Case(cards, params=model.params, data_parallel=8)(ic.gradient_seconds))
    return table(shown.reset_index(),
                 f"Largest tensor-parallel degree that pays, and time to sum the gradients of {model.name} among eight",
                 labels={"link_bandwidth": "bandwidth", "at_8192": "degree, h = 8,192", "at_hidden": f"degree, {model.name}",
                         "fp16": "FP16 accumulation, h = 8,192", "gradient_seconds": "gradients"})


def link_table(model, gpu):
    """Every link: bandwidth, latencies, two messages, and the degree that would pay for the model on the GPU."""
    every = catalogue.links()
    timed = Case(every.dropna(subset=["latency"]), ranks=8)
    whole = every.dropna(subset=["latency"])["link_bandwidth"]
    shown = every[["link_bandwidth", "latency", "base_latency"]].assign(
        small=timed.but(message_bytes=_SMALL, group_bandwidth=whole)(ic.group_all_reduce_seconds),
        large=timed.but(message_bytes=_LARGE)(ic.all_reduce_seconds),
        degree=paying_degree(Case(every, hidden=model.hidden, peak_flops=gpu.peak_flops)))
    return table(shown.reset_index(),
                 f"All-reduce among eight GPUs, and the degree that would pay for {model.name} on {gpu.name}",
                 labels={"link_bandwidth": "bandwidth", "latency": "latency", "base_latency": "start",
                         "small": f"time of {number(_SMALL, 'byte')}", "large": f"time of {number(_LARGE, 'byte')}"},
                 formats={"small": seconds, "large": seconds})


# What sharing a model among more cards of one kind gives a single user: does it fit, how fast, how much of it is sending.

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


# Diagrams of links: the ring by which GPUs sum, and who neighbors whom in a node and between nodes.

_PIECES = "abcd"
# A panel is so wide and starts there; the corners of its ring, clockwise from the upper left.
_PANEL, _STARTS, _CORNERS = 120, (4, 140, 276), ((0, 0), (74, 0), (74, 78), (0, 78))
_AROUND = (((48, 26), (72, 26)), ((97, 54), (97, 76)), ((72, 104), (48, 104)), ((23, 76), (23, 54)))


def ring_picture():
    """Four GPUs in a ring before an all-reduce, after its first half and at its end: which sums each of them holds."""
    count = len(_PIECES)
    sent = Case(ranks=count, message_bytes=1, link_bandwidth=1)(ic.all_reduce_seconds)
    held = [[], [[(place + 1) % count] for place in range(count)], [range(count)] * count]
    titles = ("at the start", f"{count - 1} steps later", f"{count - 1} steps more")
    sheet = Sheet(196)
    for left, title, finished in zip(_STARTS, titles, held):
        sheet.text(left + _PANEL / 2, 16, title, at="middle", bold=True)
        for place, (across, down) in enumerate(_CORNERS):
            _holds(sheet, left + across, 28 + down, finished[place] if finished else ())
        for before, end in _AROUND:
            sheet.arrow(*((left + x, 28 + y) for x, y in (before, end)))
    sheet.box(20, 179, 14, 9, color=None, outline="line").text(40, 188, "own numbers", color="soft")
    for place, color in enumerate(_PIECES):
        sheet.box(150 + 17 * place, 179, 14, 9, color=color)
    sheet.text(222, 188, f"pieces summed over all {count}", color="soft")
    return sheet.picture(f"To sum what {count} GPUs hold, each sends {sent:g} times its own data",
                         f"{count} GPUs in a ring cut their data into {count} pieces. In each step every GPU sends one piece to "
                         f"its neighbor. After {count - 1} steps each holds one piece summed over all, after {count - 1} more "
                         "all pieces.")


def _holds(sheet, left, top, finished):
    """One GPU with its four pieces, filled where they are sums over all GPUs."""
    sheet.box(left, top, 46, 52, color="wash", outline="line")
    for place, color in enumerate(_PIECES):
        done = place in finished
        sheet.box(left + 6, top + 5 + 11 * place, 34, 8, color=color if done else None, outline=None if done else "line", round=1)


def neighbor_picture(between):
    """Who neighbors whom behind a switch, in a mesh, over the host, between nodes and in a rack, with what two of them have."""
    drawn = (("Behind a switch", "H100 SXM 80GB", _switch), ("In a mesh", "MI300X 192GB", _mesh),
             ("Over the host", "RTX 4090 24GB", _host))
    sheet, rates, rack = Sheet(482), {}, catalogue.gpu("GB200 NVL72 186GB")
    for (title, gpu, draw), (left, top) in zip(drawn, ((0, 0), (204, 0), (0, 168))):
        rates[gpu] = Case(gpu=gpu, ranks=2)(ic.group_bandwidth)
        _panel(sheet, left, top, title, f"{gpu.rpartition(' ')[0]}: {byte_rate(rates[gpu])}", draw)
    _panel(sheet, 204, 168, "Between nodes", f"{between.name}: {byte_rate(between.link_bandwidth)}", _nodes)
    switch, _, host = rates.values()
    rates[rack.name] = Case(gpu=rack.name, ranks=2)(ic.group_bandwidth)
    _rack(sheet, 336, int(catalogue.link(rack.link).reach), f"{rack.name.rpartition(' ')[0]}: {byte_rate(rates[rack.name])}")
    slot = catalogue.gpu("RTX 4090 24GB").link.partition(" x")[0]
    listed = ", ".join(f"{gpu} {byte_rate(rate)}" for gpu, rate in rates.items())
    return sheet.picture(f"Two GPUs behind a switch have {times(switch / host)} the bandwidth of two on {slot}",
                         f"From one GPU to another, per direction: {listed}; between nodes one port of "
                         f"{byte_rate(between.link_bandwidth)} for each GPU.")


def _panel(sheet, left, top, title, said, draw):
    sheet.text(left + 98, top + 16, title, at="middle", bold=True)
    draw(sheet, left, top + 26)
    sheet.text(left + 98, top + 146, said, at="middle", color="soft")


def _switch(sheet, left, top):
    sheet.box(left + 14, top + 42, 168, 18, color="c")
    sheet.text(left + 98, top + 55, "NVLink switch", at="middle", color="paper", size=12)
    for place in range(4):
        x = left + 32 + 44 * place
        sheet.line((x, top + 14), (x, top + 42), color="c", thick=3).line((x, top + 60), (x, top + 88), color="c", thick=3)
        sheet.circle(x, top + 14, 9).circle(x, top + 88, 9)


def _rack(sheet, top, gpus, said):
    """Trays of four GPUs, half of them above and half below the switches of their rack."""
    sheet.text(200, top + 16, f"In a rack: {gpus} behind switches", at="middle", bold=True)
    sheet.box(2, top + 68, 396, 18, color="c").text(200, top + 81, "NVLink switches", at="middle", color="paper", size=12)
    for tray in range(gpus // 4):
        row, place = divmod(tray, gpus // 8)
        x, y = 4 + 44 * place, top + (30 if row == 0 else 96)
        sheet.box(x, y, 38, 28, color="wash", outline="line")
        sheet.line((x + 19, y + 28 - 28 * row), (x + 19, top + 68 + 18 * row), color="c", thick=3)
        for gpu in range(4):
            sheet.circle(x + 11 + 16 * (gpu % 2), y + 7 + 14 * (gpu // 2), 5)
    sheet.text(200, top + 142, said, at="middle", color="soft")


def _mesh(sheet, left, top):
    places = [(left + 98 + 44 * cos(pi * (step + 0.5) / 4), top + 51 + 44 * sin(pi * (step + 0.5) / 4)) for step in range(8)]
    for index, place in enumerate(places):
        for other in places[index + 1:]:
            sheet.line(place, other, color="c", thick=1)
    for x, y in places:
        sheet.circle(x, y, 9)


def _host(sheet, left, top):
    for side in range(2):
        start = left + 8 + 98 * side
        sheet.box(start, top + 12, 82, 24, color="b").text(start + 41, top + 28, "CPU, RAM", at="middle", color="paper", size=12)
        for place in range(4):
            x = start + 11 + 20 * place
            sheet.line((x, top + 36), (x, top + 78), color="b", thick=1).circle(x, top + 82, 8)
    sheet.line((left + 90, top + 24), (left + 106, top + 24), color="b")


def _nodes(sheet, left, top):
    sheet.box(left + 8, top + 6, 180, 18, color="e").text(left + 98, top + 19, "network", at="middle", color="paper", size=12)
    for side in range(2):
        start = left + 8 + 98 * side
        sheet.box(start, top + 60, 82, 32, color="wash", outline="line")
        for place in range(8):
            x = start + 6 + 10 * place
            sheet.line((x, top + 24), (x, top + 72), color="e", thick=1).circle(x, top + 76, 4)


def layer_slider_chart(case, card, tokens, tensor_parallel, gpu, name, compute, communicate, meeting):
    """Computing and sending one layer against the GPUs that share it."""
    host = catalogue.link("PCIe 5 x16")
    return slider_chart(
        case, {"computing": ic.layer_compute_seconds, "sending over its own link": ic.layer_communication_seconds,
               f"sending over {host.name}": (ic.layer_communication_seconds, {"gpu": None, "link": host})},
        x="tensor_parallel", values=range(1, card.reach + 1), y_title="time of one layer, forward", choose=("model", "gpu"),
        sliders={"tokens": (256, max(65536, tokens), 256, tokens), "compute_efficiency": (0.1, 1, 0.05, 1)},
        crossing=ic.meeting_degree, finding=[
            ("meeting_degree > reach", "All {reach} GPUs that the link joins compute for longer than they send"),
            ("meeting_degree < 2", "Even two GPUs send for longer than they compute"),
            "With more than {meeting_degree} GPUs, sending takes longer than computing"],
        alt=f"With {tokens:,} tokens, {tensor_parallel} × {gpu} compute a layer of {name} for {seconds(compute)} and send for "
                 f"{seconds(communicate)}; both are equal at {three_figures(meeting)} GPUs, and {card.link} joins {card.reach}.")


def group_table():
    """Bandwidth of a GPU in groups of two, four and eight."""
    few = ["H100 SXM 80GB", "H100 NVL 94GB", "MI300X 192GB", "TPU v5p 95GB", "RTX 4090 24GB"]
    groups = {f"{size} GPUs": {each: Case(gpu=each, ranks=size)(ic.group_bandwidth) for each in few} for size in (2, 4, 8)}
    return table(DataFrame({"link": {each: catalogue.gpu(each).link for each in few}} | groups).rename_axis("gpu").reset_index(),
                 "Link bandwidth of each GPU in a group, per direction",
                 formats=dict.fromkeys(groups, byte_rate))


def degrees_table(cards, architecture, gpu, name):
    degrees = cards[["link", "link_bandwidth", "reach"]].assign(degree=paying_degree(Case(cards, hidden=architecture.hidden)))
    return table(
        familiar(degrees, "gpu", gpu).reset_index(),
        f"How many cards may share a layer of {name}, at the data sheets' rates",
        labels={"gpu": "GPU", "link_bandwidth": "per direction", "reach": "cards it joins", "degree": "may share a layer"},
    )


def bubble_slider_chart(pipeline_parallel, case, bubble, micro_batches):
    return slider_chart(
        Case(), {"share of the step that GPUs wait": ic.pipeline_bubble},
        x="micro_batches", values=range(1, 129), y_title="share of a step", sliders={
            "pipeline_parallel": (1, max(64, pipeline_parallel), 1, pipeline_parallel), "virtual_stages": (1, 8, 1, 1)},
        finding="In {pipeline_parallel} stages, more micro-batches shrink the wait",
        alt=f"With {pipeline_parallel} stages GPUs wait {percent(case.but(micro_batches=1)(ic.pipeline_bubble))} of a step "
                 f"of one micro-batch and {percent(bubble)} with {micro_batches}.")


def sent_table(architecture, tokens, micro_batches, card, between, name, link):
    sent = sent_by_kind(architecture, tokens, micro_batches).assign(
        inside=lambda kinds: kinds.step / card.link_bandwidth, outside=lambda kinds: kinds.step / between.link_bandwidth)
    as_bytes = dict.fromkeys(("layer", "micro_batch", "step"), in_bytes)
    as_time = dict.fromkeys(("inside", "outside"), lambda value: seconds(value) if value else "0")
    return table(sent, f"Bytes one of eight GPUs sends for {name}", formats=as_bytes | as_time,
                 labels={"layer": "per layer and micro-batch", "micro_batch": "per micro-batch", "step": "per step",
                         "inside": f"step over {card.link}", "outside": f"step over {link}"})


def wrong_table(wrong, share):
    return table(DataFrame({"subject": wrong["subject"], "link_bandwidth": wrong["predicted"], "bus_bandwidth": wrong["value"],
                            "share": share, "bound": 1 / share, "half": 0.5 + 0.5 / share}),
                 "Bandwidth of networks that were set up wrongly, and what it does to a step",
                 labels={"subject": "what was measured", "link_bandwidth": "rate of the ports", "bus_bandwidth": "published",
                         "share": "share of it", "bound": "step the network bounds", "half": "step that waits half its time"},
                 formats={"share": percent, "bound": times, "half": times})


def sweep_chart(sweep):
    titles = {"value": "measured", "predicted": "formula", "bound": "bound"}
    return lines(sweep.rename(columns=titles).melt("message_bytes", titles.values(), "which", "all_reduce_seconds"),
                 "message_bytes", "all_reduce_seconds", "which", x_title="message", y_title="time of an all-reduce", log_x=True,
                 log_y=True, points=True, title="Small messages wait for their launch, large ones for the links",
                 alt="Measured times of an all-reduce among eight H200 lie above both formulas: flat "
                 "until about a megabyte, where the launch counts, then closer, "
                 f"{percent(sweep['error'].abs().iloc[-1])} off at the largest message.")
