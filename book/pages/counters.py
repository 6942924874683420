"""Counters of GPUs as pages show them: what they count, what loads show in them, commands, and a report of a file."""
import html
from typing import Any

from pandas import DataFrame

from gpucalc.core.arithmetic import HOURS_PER_DAY, SECONDS_PER_HOUR
from gpucalc.core.figures import dollars, gib, hourly, number, percent, seconds, three_figures
from gpucalc.core.quantities import DATA
from gpucalc.decisions.columns import nine_digits
from gpucalc.laws.counters import is_idle
from gpucalc.laws.sharing import wasted_usd_per_month
from gpucalc.rows.mapping import read_mapping
from ..components.picture import WIDE, Sheet
from ..components.sentences import Markdown, markdown
from ..components.show import table
from .counter_loads import thresholds

# What a kind of time is called in a table, and the color of its line.
CALLED = {"idle": "idle", "memory": "bound by memory", "compute": "bound by compute", "neither": "busy, bound by neither",
          "unknown": "busy, limit not known"}
NEXT = {"idle": "Give it back, or move other work to it.",
        "memory": "Larger batches or fewer bits per weight help. More FLOP/s do not.",
        "compute": "It earns its price. Only fewer FLOP or a faster card make it quicker.",
        "neither": "The work waits for something else: launches, data or other GPUs.",
        "unknown": "Log DRAM and tensor activity to learn what limits it."}


# Room between a sample and the next command.
_GAP = "<div>&nbsp;</div>"


def held():
    """What data/counters/commands.yaml holds."""
    return read_mapping(DATA / "counters/commands.yaml", lines=True)


# The page that explains

def counters_table():
    """Each counter: its number in DCGM, what it says and what it hides."""
    rows = "\n".join(f"| {markdown(one['name'])} | {one['field']} | {markdown(one['says'])} | {markdown(one['hides'])} |"
                     for one in held()["counters"])
    return Markdown(f"| counter | DCGM field | says | hides |\n|---|---|---|---|\n{rows}")


def clouds():
    """Each cloud: how counters get to its monitoring, what to watch there and what it lacks."""
    return Markdown("\n".join(f"- **{one['where']}.** {one['how']}. Watch {one['watch']}. What is missing: {one['lacks']}."
                              for one in held()["clouds"]))


def commands():
    """Each command with what it gives, and below it a sample of its output that says where it is from."""
    return Markdown("\n".join(
        f"**{markdown(one['do'])}**\n\n```bash\n{one['command']}\n```\n\n{one['gives']}\n\n"
        f"<details><summary>Sample of its output</summary>\n\n<p>{html.escape(one['source'])}:</p>\n\n"
        f"<pre tabindex=\"0\">{html.escape(one['output'].rstrip())}</pre>\n\n</details>\n\n{_GAP}\n"
        for one in held()["commands"]))


def queries(limits, weeks=1):
    """Queries of Prometheus for idle GPUs, memory-bound ones and dollars: the threshold is the card's."""
    span, idle = f"{7 * weeks}d", is_idle.defaults["idle_below"]
    return Markdown(f"""```text
# GPUs that did next to nothing for a week
avg_over_time(DCGM_FI_PROF_SM_ACTIVE[{span}]) < {idle}
# the share of the week in which memory took most of the time
avg_over_time((DCGM_FI_PROF_DRAM_ACTIVE > bool {limits['dram']:.2f})[{span}:1m])
# the share in which tensor products did
avg_over_time((DCGM_FI_PROF_PIPE_TENSOR_ACTIVE > bool {limits['tensor']:.2f})[{span}:1m])
# GPU-hours of the week in which nothing ran
sum(1 - avg_over_time((DCGM_FI_PROF_SM_ACTIVE > bool {idle})[{span}:1m])) * {7 * HOURS_PER_DAY * weeks}
```""")


def loads_table(found, caption):
    """What loads show, to plan for and with their range, what binds them, and what twice of either limit gains."""
    rows = [dict(load=one.name, dram=_activity(one.dram), tensor=_activity(one.tensor), bound=one.bound,
                 flops=_gain(one.gain_flops), bandwidth=_gain(one.gain_bandwidth)) for one in found]
    return table(DataFrame(rows), caption, labels={
        "load": "load", "dram": "DRAM activity", "tensor": "tensor activity", "bound": "bound by",
        "flops": "twice the FLOP/s", "bandwidth": "twice the bandwidth"})


def _gain(times):
    return "–" if times != times else f"{three_figures(round(times, 2))} times"


def _activity(one):
    """An activity to plan for with its range, or as it was given; a dash where no formula counts it."""
    if one is None:
        return "–"
    if not hasattr(one, "plan"):
        return percent(one)
    return f"{percent(one.plan)} ({percent(one.low)} to {percent(min(one.high, 1))})"


def loads_picture(found, limits, gpu):
    """Two bars for each load, memory and tensor units, with a mark from which the limit takes most of the time."""
    sheet = Sheet(20 + 66 * len(found))
    for place, one in enumerate(found):
        top = 66 * place
        sheet.text(0, top + 16, one.name, bold=True)
        _bar(sheet, top + 24, "memory", one.dram, limits["dram"], "a")
        _bar(sheet, top + 42, "tensor", one.tensor, limits["tensor"], "b")
    sheet.text(0, 66 * len(found) + 14, "Mark: from here on, this limit takes most of the time.", color="soft", size=12)
    said = "; ".join(f"{one.name}: memory {_plain(one.dram)}, tensor {_plain(one.tensor)}" for one in found)
    return sheet.picture(f"What each load shows on {gpu}, where GPU-Util says {percent(1)} for all of them", said)


def _plain(one):
    return "not computed" if one is None else percent(getattr(one, "plan", one))


def _bar(sheet, top, name, one, limit, color):
    left, wide = 58, WIDE - 58 - 62
    sheet.text(0, top + 11, name, color="soft", size=12).box(left, top, wide, 13, "wash", round=2)
    if one is not None:
        sheet.box(left, top, max(wide * getattr(one, "plan", one), 1), 13, color, round=2)
    sheet.box(left + wide * limit - 1.5, top - 2, 3, 17, "ink", round=0)
    sheet.text(WIDE, top + 11, _plain(one) if one is not None else "–", "end", size=12)


# The report of a file

def span(value: float) -> str:
    """A length of time as somebody says it: seconds, minutes, hours or days."""
    for size, name in ((HOURS_PER_DAY * SECONDS_PER_HOUR, "day"), (SECONDS_PER_HOUR, "hour"), (60, "minute")):
        if value >= size:
            return f"{three_figures(value / size)} {name}{'' if value == size else 's'}"
    return seconds(value)


def shares_table(report, caption):
    """Each GPU: samples, how its time was spent, and what the useful part is."""
    rows = [dict(gpu=_short(gpu), card=one["name"], samples=int(one["samples"]), useful=one["useful"])
            | {kind: one[f"{kind}_share"] for kind in CALLED} for gpu, one in report.gpus.iterrows()]
    frame = DataFrame(rows)
    gone = [kind for kind in CALLED if not frame[kind].any()]
    return table(frame.drop(columns=gone), caption, labels={"gpu": "GPU", "useful": "useful", **CALLED},
                 formats=dict.fromkeys([*CALLED, "useful"], percent))


# Counters of a report: what they are called and how they are printed.
_SHOWN = {"gpu_util": ("GPU-Util", percent), "sm_activity": ("SM activity", percent), "sm_occupancy": ("SM occupancy", percent),
          "tensor_activity": ("tensor activity", percent), "dram_activity": ("DRAM activity", percent),
          "board_watts": ("power", lambda value: number(value, "watt")),
          "sm_clock": ("clock", lambda value: number(value, "hertz")),
          "used_bytes": ("memory used", gib)}


def quantiles_table(report, caption):
    """Each counter of each GPU: mean, and what 10, 50 and 95 of 100 samples stay below."""
    rows = []
    for gpu, one in report.gpus.iterrows():
        for name, (called, show) in _SHOWN.items():
            if name in one and one[name] == one[name]:
                ends = {"mean": "", "low": "_p10", "middle": "_p50", "high": "_p95"}
                rows.append(dict(gpu=_short(gpu), counter=called) | {
                    column: show(one[f"{name}{end}"]) for column, end in ends.items()})
    return table(DataFrame(rows), caption, labels={"gpu": "GPU", "low": "10 of 100 below", "middle": "half below",
                                                   "high": "95 of 100 below"})


def limits_table(report, caption):
    """For each card of the file, the DRAM and tensor activity from which a limit takes most of the time."""
    rows = [dict(card=name) | thresholds(name) for name in sorted({card.name for card in report.cards.values()})]
    labels = {"dram": "DRAM activity", "tensor": "tensor activity", "most_dram": "DRAM activity that benchmarks reach",
              "most_tensor": "tensor activity that they reach"}
    return table(DataFrame(rows)[["card", *labels]], caption, labels=labels, formats=dict.fromkeys(labels, percent))


def money_table(report, caption):
    """Each GPU: rent, what was paid while it was measured, and what of it bought nothing."""
    rows = [dict(gpu=_short(gpu), card=one["name"], rate=hourly(one["usd_per_hour"]), paid=one["paid"], idle=one["idle_usd"],
                 unused=one["unused_usd"], power=one["power_share"], slowed=one["slowed_share"])
            for gpu, one in report.gpus.iterrows()]
    frame = DataFrame(rows)
    frame = frame.drop(columns=[name for name in ("power", "slowed", "unused") if frame[name].isna().all()])
    return table(frame, caption, labels={
        "gpu": "GPU", "rate": "rent", "paid": "paid", "idle": "of it idle", "unused": "of it not used",
        "power": "power over its limit", "slowed": "clock held back"},
        formats=dict.fromkeys(("paid", "idle", "unused"), dollars) | dict.fromkeys(("power", "slowed"), percent))


def verdicts(report):
    """One sentence for each GPU: what most of its time was, how sure that is, and what follows."""
    return Markdown("\n".join(f"- **GPU {markdown(_short(gpu))}**: {verdict(one)}" for gpu, one in report.gpus.iterrows()))


def verdict(one: Any) -> str:
    """The sentence of one GPU."""
    share = f"{CALLED[one['verdict']]} in {percent(one['verdict_share'])} of {number(one['samples'])} samples"
    if not one["sure"]:
        return f"too few samples to say. It was {share}, which chance alone could turn. Measure for longer."
    error = one["verdict_error"]
    give = "" if error < 0.005 else f", give or take {number(round(200 * error))} points"
    return f"{share}{give}. {NEXT[one['verdict']]}"


def sizing_table(report, found, caption):
    """The cheapest card that would do for each GPU, where the file says enough."""
    rows = []
    for gpu, cards in found.items():
        one = report.gpus.loc[gpu]
        if one["verdict"] == "idle" and one["sure"]:
            month = wasted_usd_per_month(1, one["usd_per_hour"], 1 - one["idle_share"])
            said = dict(to="none: give it back", saved=dollars(month))
        elif cards is None:
            said = dict(to="the file does not say enough", saved="–")
        elif cards.empty:
            said = dict(to="no cheaper one of the book", saved="–")
        else:
            best = cards.iloc[0]
            said = dict(to=f"{best['gpu']} at {hourly(best['usd_per_hour'])}", saved=dollars(best["saved"]))
        used = gib(one["most_bytes"]) if one["most_bytes"] == one["most_bytes"] else "–"
        rows.append(dict(gpu=_short(gpu), card=one["name"], used=used) | said)
    return table(DataFrame(rows), caption, labels={
        "gpu": "GPU", "used": "most memory used", "to": "would do", "saved": "saved a month"})


def time_chart(report, points=60):
    """How the useful share of each GPU went over time, in means of equal spans."""
    from ..components import charts
    held = report.samples.copy()
    held["hours"] = (held["seconds"] - held["seconds"].min()) / SECONDS_PER_HOUR
    width = max(held["hours"].max() / points, 1e-9)
    held["span"] = (held["hours"] // width).clip(upper=points - 1)
    most = list(report.gpus.sort_values("useful", key=nine_digits, kind="stable").index[:8])
    means = held[held["gpu"].isin(most)].groupby(["gpu", "span"], as_index=False)["useful_share"].mean().dropna()
    frame = DataFrame(dict(hours=(means["span"] + 0.5) * width, useful=100 * means["useful_share"],
                           gpu=[f"GPU {_short(each)}" for each in means["gpu"]]))
    worst, best = report.gpus["useful"].idxmin(), report.gpus["useful"].idxmax()
    title = (f"GPU {_short(worst)} was useful {percent(report.gpus.at[worst, 'useful'])} of the time, "
             f"GPU {_short(best)} {percent(report.gpus.at[best, 'useful'])}")
    return charts.lines(frame, "hours", "useful", "gpu", f"{title}.", x_title="hours since the first sample",
                        y_title="useful, percent", title=title)


def _short(gpu):
    """The name of a GPU, short enough for a table: of a long host its first part, else without its middle."""
    host, slash, own = gpu.rpartition("/")
    name = gpu if len(gpu) <= 24 or not slash else f"{host.partition('.')[0]}/{own}"
    return name if len(name) <= 24 else f"{name[:12]}...{name[-9:]}"
