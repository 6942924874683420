"""The worked cases: a question as a file, what it comes to, its choices as tables, and the way to the reader's own case."""
import html
import math
from typing import Any, NamedTuple
from urllib.parse import quote

import pandas as pd

from gpucalc.core import figures
from gpucalc.core.arithmetic import HOURS_PER_DAY
from gpucalc.core.evaluate import Case
from gpucalc.core.quantities import DATA, QUANTITIES
from gpucalc.decisions import answer as plan
from gpucalc.decisions import answer_words, deciding
from gpucalc.decisions.answer_texts import WORDS
from gpucalc.decisions.token_volumes import API
from gpucalc.decisions.ways import ways
from gpucalc.rows.ages import firm
from gpucalc.rows.case_file import read_case
from gpucalc.rows.mapping import read_mapping
from gpucalc.rows.price_book import MissingPrice, select
from gpucalc.rows.selections import derivation, selection
from ..components.sentences import Markdown, in_words, markdown
from ..components.show import Html, sources, table


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


@derivation
def worked(name: str, book: pd.DataFrame, **changes: Any) -> Worked:
    """What the worked case of that name comes to, with changes. Raises MissingPrice where nothing keeps its limits."""
    found = nearest(name, book, **changes)
    if found.cost is None:
        raise MissingPrice(f"{book.attrs['file']}: no offer that keeps the limits of the case {name}")
    return found


@derivation
def on_spot(name: str, book: pd.DataFrame, **changes: Any) -> Worked | None:
    """What the case comes to on spot; None where no spot offer keeps its limits."""
    try:
        return worked(name, book, term="spot", **changes)
    except MissingPrice:
        return None


@derivation
def nearest(name: str, book: pd.DataFrame, **changes: Any) -> Worked:
    """As `worked`, also where nothing keeps the limits: the first choice is then the one that comes nearest, and has no cost."""
    found = plan.answer(read_case(case_file(name)).but(**changes), book)
    choices, told = deciding.table(found, book), answer_words.told(found, book)
    first = choices.iloc[0]
    if found.best is None and told.loosen:
        first = next(row for _, row in choices.iterrows() if f"{row['gpu']} comes nearest" in told.loosen[0])
    rows = [lost.row["row"] for lost in found.lost.values() if lost.row.get("row")]
    if found.best:
        rows = [found.kept["row"][place] for place in choices[choices["reason"] == ""].drop_duplicates("gpu").index]
    first.attrs = {}    # else it would carry all that was found
    return Worked(found.case, found, told, choices, first, found.figures.get("cost"), book.loc[rows[:5]])


@selection
def second_card(found: Worked) -> pd.Series:
    """The best choice of another card than the first. Raises MissingPrice where one card alone keeps the limits."""
    able = found.choices[found.choices["reason"] == ""].drop_duplicates("gpu")
    if len(able) < 2:
        raise MissingPrice("no offer of a second card that keeps the limits of the case")
    second = able.iloc[1]
    second.attrs = {}
    return second


@selection
def in_one_server(found: Worked, gpus: int, term: str = "on-demand") -> dict[str, Any]:
    """The columns of the best choice of so many GPUs that are rented as one server. Raises MissingPrice without one."""
    kept = found.answer.kept
    for place, row in enumerate(zip(kept["gpus"], kept["gpus_per_server"], kept["term"])):
        if row == (gpus, gpus, term):
            return {name: column[place] for name, column in kept.items()}
    raise MissingPrice(f"no {term} rent of {gpus} GPUs in a server for this case")


@selection
def lost_of(found: Worked, gpu: str) -> dict[str, Any]:
    """The columns of the nearest choice of a GPU that has none. Raises MissingPrice where nobody offers it."""
    if gpu not in found.answer.lost:
        raise MissingPrice(f"no price for item 'rent', gpu {gpu!r}")
    return found.answer.lost[gpu].row


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

def question(*names):
    """The files of worked cases, as they stand."""
    return Markdown("\n\n".join(f"```yaml\n{case_file(name).read_text(encoding='utf-8').strip()}\n```" for name in names))


def runs(found):
    """The command that runs the plan, as a block to copy, and what to mind."""
    return Markdown("\n\n".join(f"**{each.title}**\n\n```bash\n{each.text}\n```\n\n{markdown(each.note)}"
                                for each in found.told.commands))


@selection
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


@selection
def loads_table(name, book, users):
    """A worked case for other numbers of people a day: the best servers, their bill, and that of the cheapest firm API."""
    rows = []
    for count in users:
        one = worked(name, book, daily_users=count)
        apis = [way.usd for way in ways(one.answer.case, book, one.answer.best).rows if way.way == API and not way.doubt]
        rows.append(dict(people=figures.number(count), take=f"{taken(one.first)}, {seller(one.first)}",
                         rent=spread(one.cost), api=min(apis, default=math.nan)))
    return table(pd.DataFrame(rows), "The month's bill at three loads", formats={"api": figures.dollars},
                 labels={"people": "people a day", "take": "servers", "rent": "their bill", "api": "an API"})


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


@selection
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


@derivation
def own_cards(book, gpu, count, usd_per_hour, who):
    """The book with one more firm offer: a machine with so many GPUs that somebody has, at what an hour of one costs them.

    Raises MissingPrice where nobody rents such GPUs, to whose offers it is to be compared.
    """
    rents = book[(book["item"] == "rent") & (book["gpu"] == gpu)]
    if rents.empty or usd_per_hour is None:
        raise MissingPrice(f"{book.attrs['file']}: no price for item 'rent', gpu {gpu!r}")
    mine = rents.iloc[:1].assign(provider=who, sku=gpu, gpus_per_server=float(count), term="on-demand", confidence="seen",
                                 usd_per_hour=usd_per_hour, price=usd_per_hour * count, date="given", source=who)
    made = pd.concat([mine.set_axis([f"{who}: {count} × {gpu}"]).rename_axis("row"), book])
    made.attrs = book.attrs
    return made


@selection
def card_price(book, gpu):
    """The cheapest price of a new card, as a row of the book; one that is firm where there is one. Raises MissingPrice."""
    rows = select(book, item="card", gpu=gpu, term="purchase")
    return rows.assign(sure=firm(rows)).sort_values(["sure", "price"], ascending=[False, True]).iloc[0]


def address(name):
    """The address of a worked case on the page `Your case`."""
    held = {key: f"{value:.12g}" if isinstance(value, int | float) else value
            for key, value in read_mapping(case_file(name)).items()}
    return "index.html#" + "&".join(f"{quote(key)}={quote(str(value))}" for key, value in held.items())


def your_case(**words):
    """Links to the worked cases of these names on the page `Your case`, each with its words."""
    links = [f'<a href="{html.escape(address(name))}">{html.escape(text)}</a>' for name, text in words.items()]
    return Html(f"<p>{', '.join(links)}</p>", "; ".join(words.values()))
