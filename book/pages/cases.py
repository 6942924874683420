"""Worked cases: an answer with its tables and pictures, and the same figures by hand."""
import html
import math
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from gpucalc.core import figures
from gpucalc.core.arithmetic import HOURS_PER_DAY, HOURS_PER_MONTH, SECONDS_PER_HOUR
from gpucalc.core.evaluate import Case
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DATA, DEFAULTS, QUANTITIES
from gpucalc.decisions import answer as plan, answer_words, decide as deciding
from gpucalc.decisions.answer_texts import WORDS
from gpucalc.decisions.rent_own_or_api import API, ways
from gpucalc.decisions.rule import value_of
from gpucalc.rows.case_file import read_case
from gpucalc.rows.mapping import read_mapping
from gpucalc.rows.price_book import MissingPrice, price_row, select
from ..components.derivation import folded
from ..components.picture import fill, stroke
from ..components.sentences import in_words, Markdown, markdown
from ..components.show import Html, sources, table


# The worked cases: a question as a file, what it comes to, its choices as tables, and the way to the reader's own case.


class Worked(NamedTuple):
    """A case and what it comes to: its `answer`, that as `told`, all `choices` as `decide` has them, the `first` of these, its
    `cost`, None where nothing keeps the limits, and the rows of the price book `behind` the first few.
    """

    case: Case
    answer: plan.Answer
    told: answer_words.Told
    choices: pd.DataFrame
    first: pd.Series
    cost: plan.Figure | None
    behind: pd.DataFrame

    @property
    def best(self) -> dict[str, Any] | None:
        """The columns of the best choice, without the number of its offer, which moves with prices that decide nothing."""
        best = self.answer.best
        return best and {name: value for name, value in best.items() if name != "offer"}


def case_file(name):
    """The path of a worked case."""
    return DATA / "cases" / f"{name}.yaml"


def worked(name: str, book: pd.DataFrame, **changes: Any) -> Worked:
    """What the worked case of that name comes to, with changes. Raises MissingPrice where nothing keeps its limits."""
    return able(nearest(name, book, **changes), name, book)


def able(found: Worked, name: str, book: pd.DataFrame) -> Worked:
    """The worked case of that name. Raises MissingPrice where nothing keeps its limits."""
    if found.cost is None:
        raise MissingPrice(f"{book.attrs['file']}: no offer that keeps the limits of the case {name}")
    return found


def on_spot(name: str, book: pd.DataFrame, **changes: Any) -> Worked | None:
    """What the case comes to on spot; None where no spot offer keeps its limits."""
    try:
        return worked(name, book, term="spot", **changes)
    except MissingPrice:
        return None


def nearest(name: str, book: pd.DataFrame, **changes: Any) -> Worked:
    """As `worked`, also where nothing keeps the limits: the first choice is then the one that comes nearest, and has no cost."""
    found = plan.answer(read_case(case_file(name)).but(**changes), book)
    told = answer_words.told(found, book)
    choices = deciding.table(found, told.rows)
    first = choices.iloc[0]
    if found.best is None and told.loosen:
        first = next(row for _, row in choices.iterrows() if f"{row['gpu']} comes nearest" in told.loosen[0])
    # What nobody rents out is no row of a book.
    rows = [lost.row["row"] for lost in found.lost.values() if lost.row.get("row") and lost.row.get("priced", 1)]
    if found.best:
        places = choices[choices["reason"] == ""].drop_duplicates("gpu").index
        rows = [found.kept["row"][place] for place in places if found.kept["priced"][place]]
    first.attrs = {}    # else it would carry all that was found
    return Worked(found.case, found, told, choices, first, found.figures.get("cost"), book.loc[rows[:5]])


def lasting(budget, once, monthly):
    """Months that a budget lasts after what is paid once, at the plan and at the ends of both bands (month)."""
    low, middle, high = ((budget - one) / other for one, other in zip(once[2::-1], monthly[2::-1]))
    return plan.Figure(low, middle, high, None, "month")


# In words


def spread(figure, form="dollars", per=""):
    """A figure with the range in which eight in ten cases lie: `8,720 USD a month (8 in 10 between 6,980 and 17,400 USD)`.

    form: a function of core/figures.py, or a unit.
    """
    show = getattr(figures, form, lambda value: figures.number(value, form))
    low, middle, high = (show(end) if math.isfinite(end) else "" for end in figure[:3])
    if not high:
        return f"{middle}{per} (from {low}; in the slowest tenth of cases it misses a limit)"
    ends = f"{low.partition(' ')[0] if low.partition(' ')[2] == high.partition(' ')[2] else low} and {high}"
    return f"{middle}{per}" + ("" if low == high else f" (8 in 10 between {ends})")


def taken(row):
    """What a choice takes: `5 × MI300X 192GB`."""
    return ("one " if row["gpus"] == 1 else f"{row['gpus']:,.0f} × ") + row["gpu"]


def money(one):
    """What a worked case costs, derived: the rent of what is taken, by a row that says where it is from, while it is paid."""
    known = one.case.inputs | one.best | {"gpu_hours": one.cost.plan / one.first["usd_per_hour"]}
    given = {name: float(known[name]) for name in ("rented_gpus", "window_hours", "gpu_hours") if name in known}
    return Case(usd_per_hour=price_row(one.behind.iloc[0]), **given).explain(one.answer.objective)


def seller(row):
    """From whom: `RunPod, on demand`."""
    return f"{row['provider']}, {WORDS['in_term'].get(row['term'], row['term'])}"


def helps(found, most=3):
    """What would make the case cheaper, inside a sentence."""
    return in_words(list(map(inside, found.told.helps[:most])), "or") or "nothing of what is tried"


def binds(found):
    """What the limits of the case cost, inside a sentence."""
    return in_words(list(map(inside, found.told.binds)))


def inside(text):
    """A sentence as it stands inside another: `With half the tokens ...` without its capital."""
    return text[:1].lower() + text[1:] if text[1:2].islower() else text


def turns(found, place=0):
    """What would turn the choice to another card, in words; the one at that place, or the last."""
    return found.told.flips[min(place, len(found.told.flips) - 1)] if found.told.flips else "no other card comes near"


# As a page shows them


# Questions by what is asked for, each a file of data/cases.
GALLERY = ("chat_70b", "four_cards", "deepseek_nodes", "house_or_api", "gpt_oss_api", "three_on_one", "two_million_serve",
           "million_images", "qlora_s3", "researcher_2000", "lab_rtx6000", "grpo_32b", "deadline_7b", "tokens_100b",
           "two_million_train", "pretrain_405b")
# Those of them that are worked by hand too, each as its page goes on.
BY_HAND = ("two_million_train", "two_million_serve", "chat_70b", "house_or_api")


def gallery(found, book):
    """Worked cases as a table: what was asked, which leads to the reader's own case, what to take and what binds."""
    rows = "".join(f"<tr>{''.join(f'<td class=long>{cell}</td>' for cell in _asked(name, one, book))}</tr>"
                   for name, one in found.items())
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("asked", "taken", "what binds"))
    shown = f'<table class="data"><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table>'
    return Html(f'<div class="table-scroll">{shown}</div>', f"{len(found)} worked cases")


def _asked(name, one, book):
    take = f"{taken(one.first)}, {seller(one.first)}: {spread(one.cost)}" if one.cost else (
        f"No offer keeps the limits as surely as asked. {one.first['gpu']} comes nearest.")
    serves = one.case.rows["job"].name == "serve" and one.best
    sold = [way for way in ways(one.answer.case, book, one.best).rows if way.way == API and not way.doubt] if serves else []
    api = min(sold, key=lambda way: way.usd, default=None)
    if api and api.usd < one.cost.low:
        take = f"An API, {api.who}: {figures.dollars(api.usd)} a month. Rented: {take}"
    asked = case_file(name).read_text(encoding="utf-8").partition("\n")[0].lstrip("# ")
    bound = " ".join(one.told.binds) or "No limit makes it cost more."
    derived = folded(money(one)) if one.cost else ""
    return f'<a href="{html.escape(address(name))}">{html.escape(asked)}</a>', html.escape(take) + derived, html.escape(bound)


def question(*names):
    """The files of worked cases, as they stand."""
    return Markdown("\n\n".join(f"```yaml\n{case_file(name).read_text(encoding='utf-8').strip()}\n```" for name in names))


def runs(found):
    """The command that runs the plan, as a block to copy, and what to mind."""
    return Markdown("\n\n".join(f"**{each.title}**\n\n```bash\n{each.text}\n```\n\n{markdown(each.note)}"
                                for each in found.told.commands))


def shortlist(choices, by=("gpu",), most=5):
    """The best choices, one for each value of the columns `by`, and folded what each of the others lacks."""
    objective = choices.attrs["answer"].objective
    firsts = choices.drop_duplicates(list(by))
    able = firsts["reason"] == ""
    best, rest = firsts[able].head(most), pd.concat([firsts[able].iloc[most:], firsts[~able]])
    shown = [_table_of_best(best, objective)] if len(best) else []
    if len(rest):
        names, words = list(map(_name, rest.to_dict("records"))), rest["reason"].where(~able, rest["beside"])
        why = table(pd.DataFrame(dict(choice=names, why=words)), "Each at its best", labels={"why": "why not"})
        shown.append(_folded(why, len(rest)) if shown else why)
    return Html("".join(each.source for each in shown), "; ".join(each.plain for each in shown))


def _folded(held, number):
    words = f"Why none of the other {number}" if number > 1 else "Why not the other"
    return Html(f'<details class="answer"><summary>{words}</summary>{held.source}</details>', held.plain)


def _table_of_best(rows, objective):
    labels = {"rent": "a GPU-hour", "cost": QUANTITIES[objective].meaning, "range": "8 in 10", "why": "beside the first"}
    caption = f"The best choices, best first (prices, the oldest of {rows['date'].min()})"
    return table(_best(rows, objective), caption, labels, {"rent": figures.dollars, "cost": figures.dollars})


def _best(rows, objective):
    low, high = (list(map(_number, rows[f"{end}_{objective}"])) for end in ("low", "high"))
    ends = ["the same" if one == other else f"{figures.dollars(one).removesuffix(' USD')} to "
            f"{figures.dollars(other) if math.isfinite(other) else 'a missed limit'}" for one, other in zip(low, high)]
    return pd.DataFrame(dict(take=[f"{taken(row)}, {seller(row)}" for _, row in rows.iterrows()], rent=rows["usd_per_hour"],
                             cost=rows[objective], range=ends, why=rows["beside"].where(rows["beside"] != "")))


def _name(row):
    return row["gpu"] if row["gpus"] != row["gpus"] else taken(row)


def ends(choices, by=("gpu",), most=5, days=False):
    """The best choices, one for each value of the columns `by`, as (what is taken, low, plan, high) of what is to be least.

    days: of the days of a run instead, for which its money pays the GPUs.
    """
    objective, able = choices.attrs["answer"].objective, choices[choices["reason"] == ""]
    rows = able.drop_duplicates(list(by)).head(most).to_dict("records")
    each = [row["gpus"] * row["usd_per_hour"] * HOURS_PER_DAY if days else 1 for row in rows]
    return [(f"{taken(row)}, {row['provider']}", *(_number(row[f"{end}{objective}"]) / unit for end in ("low_", "", "high_")))
            for row, unit in zip(rows, each)]


def _number(value):
    return math.inf if value is None or value != value else float(value)


def rests_on(*found):
    """The rows of data under worked cases: offers of the price book, and models; None is left out."""
    found = tuple(filter(None, found))
    return sources(*(row for each in found for _, row in each.behind.iterrows()), *(each.case.rows["model"] for each in found))


def address(name):
    """The address of a worked case on the page `Your case`."""
    held = {key: f"{value:.12g}" if isinstance(value, int | float) else value
            for key, value in read_mapping(case_file(name)).items()}
    return "index.html#" + "&".join(f"{quote(key)}={quote(str(value))}" for key, value in held.items())


def your_case(**words):
    """Links to the worked cases of these names on the page `Your case`, each with its words."""
    links = [f'<a href="{html.escape(address(name))}">{html.escape(text)}</a>' for name, text in words.items()]
    return Html(f"<p>{', '.join(links)}</p>", "; ".join(words.values()))


# The pictures of the worked cases: ranges beside each other, what fills a memory, and money that is spent month by month.

_LEFT, _RIGHT, _FILL = 12, 408, 'fill="currentColor"'
_COLORS = "abcde"


def ranges(rows, said, form="dollars", limit=None):
    """Ranges on one scale: the line spans eight in ten cases, the dot is the plan.

    rows: (name, low, plan, high), an infinite high end being open; limit: (name, value), dashed across the lines.
    """
    show, top = getattr(figures, form), 22 * bool(limit)
    ends = [end for _, low, middle, high in rows for end in (low, middle, high) if math.isfinite(end)]
    most = 1.05 * max([*ends, *(limit or [])[1:]])
    drawn = "".join(_range(row, top + 22 + 44 * place, most, show) for place, row in enumerate(rows))
    drawn += _limit(limit, most, [top + 36 + 44 * place for place in range(len(rows))], show) if limit else ""
    return _picture(drawn, top + 44 * len(rows) + 8, said)


def _range(row, y, most, show):
    name, low, middle, high = row
    closed = math.isfinite(high)
    start, at, end = _across(low, most), _across(middle, most), _across(high, most) if closed else _RIGHT
    line = f'<path d="M{start:.1f},{y + 14} H{end:.1f}"{stroke(_COLORS[0], 8)}{"" if closed else _OPEN}/>'
    return (_text(_LEFT, y, name) + _text(_RIGHT, y, show(middle), "end") + line
            + f'<circle cx="{at:.1f}" cy="{y + 14}" r="7"{fill(_COLORS[1])}/>')


def _limit(limit, most, places, show):
    """A dash at a limit across each of the lines at these heights, and its name above."""
    at = _across(limit[1], most)
    x, anchor = (at + 2, "end") if at > (_LEFT + _RIGHT) / 2 else (at - 2, "start")
    dashes = "".join(f'<path d="M{at:.1f},{y - 11} V{y + 11}" stroke="currentColor" stroke-width="3"/>' for y in places)
    words = f"{limit[0]}: {show(limit[1])}"
    return dashes + _text(x, 14, f"| {words}" if anchor == "start" else f"{words} |", anchor)


_OPEN = ' stroke-dasharray="4 3"'


def falling(lines, start, months, said):
    """Money that is spent: `lines` are (name, USD at once, USD a month), each falling from `start` over the months."""
    wide, foot, drawn = (_RIGHT - _LEFT) / months, 172, ""
    for place, (name, once, monthly) in enumerate(lines):
        gone = min((start - once) / monthly, months)
        left = foot - 130 * (start - once) / start
        end = foot - 130 * (start - once - monthly * gone) / start
        drawn += (f'<path d="M{_LEFT},{foot - 130} V{left:.1f} L{_LEFT + wide * gone:.1f},{end:.1f}" fill="none"'
                  f'{stroke(_COLORS[place], 3)}/>'
                  f'<rect x="{_LEFT}" y="{foot + 32 + 20 * place}" width="12" height="12"{fill(_COLORS[place])}/>'
                  + _text(_LEFT + 18, foot + 43 + 20 * place, name))
    axes = f'<path d="M{_LEFT},{foot - 140} V{foot} H{_RIGHT}" fill="none" stroke="currentColor"/>'
    words = (_text(_LEFT + 8, foot - 142, f"{figures.dollars(start)} at the start")
             + _text(_RIGHT, foot + 18, f"after {figures.number(months / 12, 'year')}", "end"))
    return _picture(axes + drawn + words, foot + 44 + 20 * len(lines), said)


def _across(value, most):
    return _LEFT + (_RIGHT - _LEFT) * value / most


def _text(x, y, text, anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {_FILL}>{html.escape(text)}</text>'


def _picture(drawn, tall, said):
    label = html.escape(said)
    return Html(f'<svg viewBox="0 0 420 {tall:.0f}" width="460" class="picture" font-size="14" role="img" aria-label="{label}">'
                f"{drawn}</svg>", said)


# The main figure of a worked case by hand: a few lines of plain arithmetic over the rows of the catalogue and the price book.


class Held(NamedTuple):
    """Bytes on one GPU: weights, the cache of all sequences, both, and its memory."""

    weights: float
    cache: float
    need: float
    memory: float


class Load(NamedTuple):
    """Requests a second times the seconds of each are in flight; that over the batch is the least of replicas; and the bill."""

    rate: float
    seconds: float
    flight: float
    batch: float
    least: int
    replicas: float
    usd: float


class Run(NamedTuple):
    """A run: its FLOP, the share of the peak, GPU-hours by that share and by the steps of the layout; by how much stops make them
    more, those that pass until it starts, those of both, those in which one machine is set up; days, runs and USD."""

    flops: float
    mfu: float
    hours: float
    layout_hours: float
    stops: float
    start: float
    paid: float
    setup: float
    days: float
    runs: float
    usd: float


def held(answer):
    """Weights and cache of the best choice of a served load."""
    best, case = answer.best, answer.case
    split, tokens = best["tensor_parallel"], value_of(case, "prompt") + value_of(case, "output")
    weights = case.but(tensor_parallel=1)(LAWS["gpu_weight_bytes"]) / split
    cache = best["batch"] * tokens * case(LAWS["kv_bytes_per_token"]) / split
    return Held(weights, cache, weights + cache, best["memory_bytes"])


def load(answer):
    """Little's law: what is in flight fills the places of so many replicas; a month of them is GPUs x hours x rent."""
    best, rate = answer.best, value_of(answer.case, "requests_per_second")
    seconds, batch = best["request_seconds"], best["batch"]
    usd = best["rented_gpus"] * HOURS_PER_MONTH * best["usd_per_hour"]
    return Load(rate, seconds, rate * seconds, batch, math.ceil(rate * seconds / batch), best["planned_replicas"], usd)


def run(answer, choice=None):
    """6 FLOP a parameter and token, 4 where weights are frozen, over the peak times the share that runs of this size reach.

    choice: columns of another choice than the best.
    """
    case, best = answer.case, answer.best if choice is None else choice
    frozen = case(LAWS["adapters"])
    tokens = steps(answer) * value_of(case, "sequence") * value_of(case, "global_batch")
    flops = (4 if frozen else 6) * case(LAWS["active_params"]) * tokens
    hours = flops / (best["peak_flops"] * best["mfu"]) / SECONDS_PER_HOUR
    layout = steps(answer) * best["step_seconds"] * best["gpus"] / SECONDS_PER_HOUR
    start = best["gpus"] * value_of(case, "restart_seconds") / SECONDS_PER_HOUR
    paid = max(hours * (best["interruption_slowdown"] if best["spot"] else 1), layout * best["interruption_slowdown"]) + start
    setup = best["gpus_per_server"] * value_of(case, "setup_hours")
    runs = value_of(case, "runs") if "runs" in case.inputs else 1
    usd = max(paid * runs + setup, best["gpus"] * value_of(case, "least_rented_hours")) * best["usd_per_hour"]
    return Run(flops, best["mfu"], hours, layout, best["interruption_slowdown"], start, paid, setup,
               paid / best["gpus"] / HOURS_PER_DAY, runs, usd)


class Bought(NamedTuple):
    """A month from an API: requests of so many messages a person and day, their tokens, prices a million tokens, and USD."""

    messages: float
    requests: float
    prompt: float
    output: float
    input_price: float
    output_price: float
    usd: float


def bought(case, book, provider):
    """Tokens in and out of a month at a provider's list prices."""
    model, people = case.rows["model"].name, value_of(case, "daily_users")
    messages = case.inputs.get("messages_per_day", DEFAULTS["messages_per_day"].value)
    prompt, output = value_of(case, "prompt"), value_of(case, "output")
    prices = [select(book, item=item, provider=provider, sku=model)["price"].min() for item in ("api-input", "api-output")]
    requests = people * messages * HOURS_PER_MONTH / HOURS_PER_DAY
    return Bought(messages, requests, prompt, output, *prices, requests * (prompt * prices[0] + output * prices[1]) / 1e6)


def steps(answer):
    """Steps of a run: its tokens over those of a step."""
    case = answer.case
    tokens = value_of(case, "training_tokens") * (value_of(case, "epochs") if "epochs" in case.inputs else 1)
    return tokens / (value_of(case, "sequence") * value_of(case, "global_batch"))
