"""Needs as a page shows them: the questions of a decision in words, and a map from needs to what serves them."""
import html
import math

from pandas import DataFrame

from gpucalc.core.figures import days, dollars, number, percent, quantity
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions.rule import value_of
from gpucalc.rows import catalogue
from gpucalc.rows.bands import CLOSE
from ..components.sentences import in_words
from ..components.show import Html, table
from . import needs_plan as needs
from .flowchart import Box, text

# The question of a limit; one that is not here is asked by the meaning of what it limits.
ASKED = {
    "unrented": "Is it on offer?", "unlinked": "Is the latency of its link known?",
    "gpus_per_server": "Is a machine small enough?", "lacks_format": "Does the GPU compute in that format?",
    "asked_context": "Does the model read so much?", "prompt": "Does the model read so much?",
    "split_misfits": "Can the model be split so?",
    "batch": "Do weights and cache fit its memory?", "training_bytes": "Does all of the state fit its memory?",
    "speculative_seconds": "Is a full batch quick enough?", "late_token_seconds": "Is a token quick enough?",
    "answer_seconds": "Is the whole answer in time?",
    "time_to_first_token": "Is the first token in time?", "forbidden": "May it stand in a data center?",
    "doubtful_price": "Is its price firm?", "doubtful_term": "Does the term suit the job?",
    "tensor_parallel": "Does a replica fit one server?", "layout_misfits": "Does a layout split the job?",
    "excess_machines": "Are there few enough machines?", "training_days": "Is it done by the deadline?",
    "serving_usd_per_month": "Is a month within the budget?", "window_usd": "Is a window within the budget?",
    "compute_usd": "Is it within the budget?", "spread_misfits": "Can its experts be spread so?",
    "server_misfits": "Do its servers hold a replica?", "policy_bytes": "Does all of the state fit its memory?",
    "trainer_misfits": "Does a layout split the job?", "rollout_misfits": "Can an engine be split so?",
    "missing_places": "Is there room for the answers?"}
# The lesson behind a limit where it is not that of its formula's topic.
_LESSONS = {"prompt": "serving",
            "unrented": "sources", "unlinked": "interconnect", "gpus_per_server": "interconnect", "lacks_format": "quantization",
            "batch": "kv_cache", "tensor_parallel": "interconnect", "split_misfits": "layouts", "layout_misfits": "layouts",
            "spread_misfits": "experts", "server_misfits": "interconnect", "rollout_misfits": "post_training",
            "missing_places": "post_training", "window_usd": "serving_cost", "forbidden": "total_cost",
            "doubtful_price": "sources", "doubtful_term": "commitments"}
_ROW, _HEAD, _WIDE, _COST = 78, 20, 360, ' class="fill-a" fill="#246be6"'


def lesson(name: str) -> str:
    """The page behind a limit: the lesson of its formula's topic, which has its name, unless another is said to be."""
    topic = LAWS[name].__module__.rpartition(".")[2] if name in LAWS else "sources"
    return _LESSONS.get(name) or {"queueing": "serving"}.get(topic, topic)


# A flowchart's boxes

def boxes(wanted: needs.Need, found: list[needs.Question], choice: needs.Choice, gpu: str | None = None, *more: Box) -> list[Box]:
    """The questions of a need, `more` of them, and what they lead to; `gpu` is one more whose memory is shown in numbers."""
    asked = [Box(ASKED.get(each.limit.of) or f"{_meaning(each.limit.of)}: is it within the limit?",
                 (*_facts(wanted, each, gpu), *_turns(wanted, each)), lesson(each.limit.of),
                 f"yes: {each.left} kind{'' if each.left == 1 else 's'}", _stopped(each.out)) for each in found]
    return [*asked, *more, answer_box(choice)]


def _meaning(name):
    said = QUANTITIES[name].meaning if name in QUANTITIES else name.replace("_", " ")
    return said[:1].upper() + said[1:]


def _kinds(count):
    return f"{count} kind{'' if count == 1 else 's'} of GPU"


def _stopped(gpus):
    if not gpus:
        return ""
    return f"no: {gpus[0]}" if len(gpus) == 1 else f"no: {len(gpus)}, such as {min(gpus, key=len)}"


def _shown(name, value):
    unit = QUANTITIES[name].unit
    return dollars(value) if "USD" in unit else days(value) if unit == "day" else quantity(name, value)


def _turns(wanted, each):
    """Where a limit that the case may set turns."""
    if each.asked is None:
        return ()
    asks = f"Your limit: at most {_shown(each.limit.of, each.asked)}." if each.asked < math.inf else "No limit here."
    if math.isnan(each.free) or math.isnan(each.nearest):
        return (asks,)
    free = f" A limit above {_shown(each.limit.of, each.free)} costs nothing." if each.free > each.nearest else ""
    share = value_of(wanted.case, "sure")
    kept = f"that {percent(share)} of cases keep" if share > 0.5 else "on offer"
    return (asks, f"The least {kept} is {_shown(each.limit.of, each.nearest)}.{free}")


def _facts(wanted, each, gpu):
    """What else turns at a limit: the size of the model at memory, the GPUs of a replica, the next number of GPUs."""
    if each.limit.of in ("batch", "training_bytes"):
        memory, found = catalogue.gpus()["memory_bytes"], needs.sizes(wanted, needs.ladder(wanted, gpu))
        fits = [f"{number(size)} in {number(memory[name], 'byte')}" for name, size in found.items()]
        return (f"Parameters that one GPU takes: {in_words(fits)}.",) if fits else ()
    if each.limit.of == "tensor_parallel":
        spread = [f"{degree} on {_kinds(count)}" for degree, count in needs.degrees(wanted).items()]
        return (f"GPUs of a replica: {in_words(spread)}.",) if spread else ()
    if each.after and "gpus" in each.after[0]:
        now, after = (f"{row['gpus']:.0f} × {row['gpu']}" for row in each.after)
        return (f"{now} take {_shown(each.limit.of, each.after[0][each.limit.of])}. For less, take {after}.",)
    return ()


def taken(choice: needs.Choice) -> str:
    """What to take, where there is a choice: `4 × MI300X 192GB`."""
    row = choice.row or {}
    return f"{row['rented_gpus' if 'rented_gpus' in row else 'gpus']:.0f} × {row['gpu']}"


def cost(choice: needs.Choice) -> str:
    """What it costs, with the range in which eight in ten cases lie where its ends differ."""
    unit = " a month" if QUANTITIES[choice.need.objective].unit == "USD/month" else ""
    ends = f" (8 in 10: {dollars(choice.low).removesuffix(' USD')} to {dollars(choice.high)})" if choice.low < choice.high else ""
    if choice.high == math.inf:
        ends = f" (from {dollars(choice.low)}; in the slowest tenth of cases it misses a limit)"
    return f"{dollars(choice.plan)}{unit}{ends}"


def closeness(choices: list[needs.Choice]) -> str:
    """In how many jobs another GPU may be as cheap."""
    able = [choice for choice in choices if choice.row is not None]
    close = sum(choice.close for choice in able)
    where = {0: "none of these jobs", len(able): "each of these jobs"}.get(close, f"{close} of these {len(able)} jobs")
    return f"In {where} another GPU is {CLOSE}." if able else ""


def answer_box(choice: needs.Choice) -> Box:
    """The box at the end: what to take, from whom, what it costs, and who is next."""
    if choice.row is None:
        return Box("No GPU on offer keeps all limits", (f"The last one failed at: {choice.reason}.",))
    said = "Too close to call against" if choice.close else "Next is"
    rival = () if choice.other is None else (f"{said} {choice.other['gpu']}.",)
    return Box(taken(choice), (f"{choice.row['provider']}, {choice.row['term']}: {cost(choice)}.", *rival))


def api_box(found: DataFrame) -> Box:
    """The question whether an API is cheaper, from `needs.loads`."""
    turn, last = needs.api_turn(found), found.iloc[-1]
    if last["api"] == math.inf:
        says = "No API of the price book sells this model."
    elif last["usd"] == math.inf:
        says = f"No servers on offer carry {number(last['load'])} requests a second in time."
    elif turn == math.inf:
        says = (f"Not up to {number(last['load'])} requests a second: servers for them cost {dollars(last['usd'])} a month, "
                f"the API {dollars(last['api'])}.")
    else:
        says = f"From {number(turn)} requests a second on servers stay cheaper." if turn else "Servers are cheaper at every load."
    return Box("Is the load large enough for servers?", (says,), "serving_cost", "yes: servers", "no: an API")


def own_box(gpu: str, utilization) -> Box:
    """The question whether buying pays, by the band of the utilization from which it does."""
    ends = f"{percent(utilization.plan)} (8 in 10 between {percent(utilization.low)} and {percent(utilization.high)})"
    never = f" Above {percent(1)} means never." if utilization.high > 1 else ""
    says = f"{gpu}: buying pays above {ends}.{never}"
    return Box("Are the GPUs busy enough to buy?", (says,), "break_even", "yes: buy", "no: rent")


def finding(title: str, found: list[needs.Question], choice: needs.Choice) -> str:
    """What a flowchart comes to, in a sentence."""
    worst = max(found, key=lambda each: len(each.out))
    stops = f" Most GPUs fail at: {worst.limit.reason} ({len(worst.out)})." if worst.out else ""
    if choice.row is None:
        return f"{title}: no GPU on offer keeps all limits.{stops}"
    sure = f", {CLOSE} against {choice.other['gpu']}" if choice.other and choice.close else ""
    return (f"{title}: {len(found)} questions lead to {taken(choice)} from {choice.row['provider']} for "
            f"{cost(choice)}{sure}.{stops}")


# The map

# Models of the map where a reader names none, from small to large.
MODELS = ("Llama-3.2-1B", "Llama-3-8B", "Llama-2-13B", "Mixtral-8x7B", "Llama-3-70B", "Mixtral-8x22B", "Llama-3.1-405B",
          "DeepSeek-V3")


def few(models: list[str] | None) -> tuple[str, ...]:
    """The models of the map: those that are named, else some of each size."""
    return tuple(models or MODELS)


def need_map(cells: dict[tuple[str, str], needs.Choice], caption: str) -> Html:
    """What to take for each need, (model, what for) -> choice, as rows of cells: the darker, the more it costs."""
    models, wants = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    able = [choice for choice in cells.values() if choice.row is not None]
    paid = [math.log(choice.plan) for choice in able]
    wide, tall = _WIDE / len(wants), _HEAD + _ROW * len(models)
    heads = "".join(text(want, wide * (place + 0.5), 15, bold=True, middle=True) for place, want in enumerate(wants))
    rows = "".join(text(model, 2, _HEAD + _ROW * row + 15) for row, model in enumerate(models))
    drawn = "".join(_cell(cells[model, want], wide * column, _HEAD + _ROW * row + 20, wide, paid)
                    for row, model in enumerate(models) for column, want in enumerate(wants))
    kinds = len({choice.row["gpu"] for choice in able if choice.row})
    said = (f"{caption}: {kinds} kinds of GPU serve {len(able)} of {len(cells)} needs; "
            f"{sum(choice.close for choice in able)} are {CLOSE}.")
    return Html(f'<svg viewBox="0 0 {_WIDE} {tall}" width="{_WIDE}" class="picture" font-size="13" role="img" '
                f'aria-label="{html.escape(said)}">{heads}{rows}{drawn}</svg>', said)


def _cell(choice, x, y, wide, paid):
    """A cell of the map: how many of which GPU, and the cost; `≈` where it is too close to call."""
    share = (math.log(choice.plan) - min(paid)) / (max(paid) - min(paid) or 1) if choice.row is not None else 0
    lines = ["none", choice.reason] if choice.row is None else [
        f"{'≈ ' if choice.close else ''}{taken(choice).partition(' ')[0]} ×", short(choice.row["gpu"]), dollars(choice.plan)]
    words = "".join(text(line, x + wide / 2, y + 15 + 16 * place, small=True, middle=True) for place, line in enumerate(lines))
    return (f'<rect x="{x + 1:.1f}" y="{y}" width="{wide - 2:.1f}" height="{_ROW - 23}" rx="3"{_COST} '
            f'fill-opacity="{0.1 + 0.4 * share:.2f}"/>{words}')


def short(gpu: str) -> str:
    """A GPU without its memory and its socket: `MI300X`."""
    return " ".join(word for word in gpu.split() if not word.endswith("GB") and word not in ("SXM", "Server"))


def need_table(cells: dict[tuple[str, str], needs.Choice], book: DataFrame, caption: str) -> Html:
    """The cells of a map with provider and instance, the band of the cost, and who is next."""
    rows = [dict(model=model, need=want) | _told(choice, book) for (model, want), choice in cells.items()]
    keys = [None if choice.row is None else choice.row["row"] for choice in cells.values()]
    return table(DataFrame(rows, keys), caption, labels={
        "need": "for", "gpus": "take", "sku": "instance", "usd": "USD", "band": "8 in 10", "sure": "cheaper than the next"},
        formats={"usd": _cents})


def _cents(usd):
    return f"{usd:,.0f}" if usd >= 100 else f"{usd:.2f}"


def _told(choice, book):
    if choice.row is None:
        return dict(gpus=f"none: {choice.reason}")
    price = book.loc[choice.row["row"]]
    ends = cost(choice).partition("(")[2].removesuffix(")").removeprefix("8 in 10: ") or dollars(choice.plan)
    return dict(gpus=taken(choice), provider=price["provider"], sku=price["sku"], term=price["term"], usd=choice.plan, band=ends,
                next=None if choice.other is None else choice.other["gpu"], sure=CLOSE if choice.close else "yes")


def turns_table(found: DataFrame, caption: str) -> Html:
    """Where another GPU becomes the cheapest as the load grows: `needs.steps`."""
    rows = [dict(load=row.load, gpus=f"{row.gpus:.0f} × {row.gpu}" if row.gpu else "none", usd=row.usd if row.gpu else None)
            for row in found.itertuples()]
    return table(DataFrame(rows), caption, {"load": "from so many requests a second", "gpus": "take", "usd": "USD a month"},
                 {"load": number, "usd": _cents})
