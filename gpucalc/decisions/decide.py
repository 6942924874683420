"""A case in, a table of choices out: what `gpucalc.decide` and `gpucalc.compare` are."""
import math
from collections.abc import Mapping
from os import PathLike
from typing import Any

import pandas as pd

from ..core import figures
from ..core.evaluate import Case, FINDERS
from ..core.markdown import Markdown, markdown
from ..core.printer import in_words
from ..core.quantities import QUANTITIES
from ..rows import case_file, price_book
from ..rows.rents import discounted
from . import answer as plan, answer_words as words, owning_words
from .jobs import JOBS, trains
from .points import number_of
from .rent_or_buy import rent_or_buy
from .rent_own_or_api import ways

SIDES = ["what", "first", "second", "better"]
NOTHING = "nothing keeps the limits"
_PLAIN = ["gpu", "gpus", "layout", "provider", "region", "term", "usd_per_hour"]


def read(case: Any) -> Case:
    """A case of a job from a Case, a mapping of names to values, or the path of a YAML file.

    Raises ValueError with a line for each fault.
    """
    if isinstance(case, str | PathLike):
        return case_file.read_case(case)
    if isinstance(case, Mapping):
        return case_file.case_of(dict(case))
    if "job" not in case.rows:
        raise ValueError("job: missing; allowed: a case with one, such as Case(job='serve', ...)")
    return case


def book_of(prices: Any = None) -> pd.DataFrame:
    """A price book: the newest, one that is given, or the reader's own file over the newest."""
    return prices if isinstance(prices, pd.DataFrame) else price_book.prices(prices)


def priced(case: Case, book: pd.DataFrame) -> pd.DataFrame:
    """The book with the discounts of the case."""
    return discounted(book, str(case.rows["discount"].name)) if "discount" in case.rows else book


def decide(case: Any, prices: Any = None) -> pd.DataFrame:
    """Every choice for the case of a job: those that keep its limits, the best first, then of each other GPU the nearest.

    case: a Case with a job, a mapping of names to values, or the path of a YAML file. prices: a price book or the path of a
    file of prices (default: the newest book). Columns: what to take (`gpu`, `gpus`, `layout`), from whom, the rent (USD per
    GPU-hour), what is to be least with both ends of its band, times (s, h or days by name), `reason`, why it is out (blank where
    it keeps the limits), `beside`, what it costs beside the best one, and the `date` of its price; money is blank of cards
    without a rent. `attrs["answer"]` is the `Answer`. For the job rent_or_buy the table is that of `owning_words.table`.
    Raises ValueError with a line for each fault.
    """
    case = read(case)
    book = priced(case, book_of(prices))
    if owning_words.is_owning(case):
        return owning_words.table(case, book)
    answer = plan.answer(case, book)
    return table(answer, words.choices(answer))


def said(case: Any, prices: Any = None) -> Markdown:
    """The answer in words, for a notebook: the question, what to take, the cards, and what binds, helps and flips it.

    case, prices: as `decide` takes them. Raises ValueError with a line for each fault.
    """
    case = read(case)
    book = priced(case, book_of(prices))
    if owning_words.is_owning(case):
        told = owning_words.told(rent_or_buy(case, book), case, book)
    else:
        answer = plan.answer(case, book)
        told = words.told(answer, book, *more(answer, book))
    cards = [f"- {markdown(card.title)} **{markdown(card.big)}**. {markdown('; '.join(filter(None, (card.small, card.note))))}"
             for card in told.cards]
    lists = ["\n".join([f"**{title}**", "", *(f"- {markdown(text)}" for text in texts)]) for title, texts in told.lists if texts]
    parts = [markdown(told.question), f"**{markdown(told.headline)}**", "\n".join(cards), *lists, markdown(told.prices)]
    runs = [f"**{markdown(each.title)}**\n\n```bash\n{each.text}\n```\n\n{markdown(each.note)}" for each in told.commands]
    return Markdown("\n\n".join(filter(None, [*parts[:-1], *runs, parts[-1]])))


def more(answer: plan.Answer, book: pd.DataFrame) -> tuple[list, Any]:
    """What is told beside an answer: the loads that turn it, and the other ways to serve the load."""
    unlike = trains(answer.kind) or answer.kind == "embed"
    other = None if answer.best is None or unlike else ways(answer.case, book, answer.best)
    return plan.turns(answer, book), other


def table(answer: plan.Answer, choices: list[dict[str, Any]]) -> pd.DataFrame:
    """The table of `decide` for an answer, of whose choices these are the facts."""
    objective = answer.objective
    named = {name: name for name in [*_PLAIN, *JOBS[answer.kind].times]}
    named |= {objective: "objective", f"low_{objective}": "low_objective", f"high_{objective}": "high_objective"}
    rows = []
    for row in choices:
        told = {"reason": "", "beside": row["reason"]} if row["holds"] else {"reason": row["reason"], "beside": ""}
        rows.append({name: row.get(fact) for name, fact in named.items()} | told | {"date": row.get("date")})
    frame = pd.DataFrame(rows, columns=[*named, "reason", "beside", "date"])
    frame.attrs["answer"] = answer
    return frame


def as_data(case: Any, prices: Any = None) -> dict[str, Any]:
    """The answer as plain data, as data/answer.schema.json has it: figures in SI units and USD, None where there is none.

    case, prices: as `decide` takes them. Raises ValueError with a line for each fault.
    """
    case = read(case)
    book = priced(case, book_of(prices))
    levels: list[dict[str, Any]] = []
    if owning_words.is_owning(case):
        told, objective = owning_words.told(rent_or_buy(case, book), case, book), "usd_per_hour"
        choices = owning_words.table(case, book)
    else:
        answer = plan.answer(case, book)
        told, objective = words.told(answer, book, *more(answer, book)), answer.objective
        choices = table(answer, told.rows)
        for share, row in answer.levels:
            held = words.choice(answer, row) if row else {}
            levels.append({"sure": share} | {name: held.get(name) for name in ("gpu", "gpus", "provider", "objective")})
        choices = choices.assign(holds=choices["reason"] == "")
    bands = {objective: "plan", f"low_{objective}": "low", f"high_{objective}": "high"}
    cards = [{name: getattr(card, name) for name in ("name", "title", "big", "small", "note")}
             | (card.bar or plan.Figure(math.nan, math.nan, math.nan, None, ""))._asdict() for card in told.cards]
    made = {"case": case_file.held_of(case), "question": told.question, "decision": told.headline, "how_sure": told.sure,
            "levels": levels, "objective": {"name": objective, "unit": QUANTITIES[objective].unit}, "cards": cards,
            "choices": choices.rename(columns=bands).to_dict("records"), "commands": list(map(_as_dict, told.commands)),
            "prices": told.prices}
    return finite(made | {name: getattr(told, name) for name in ("binds", "helps", "loosen", "flips", "cautions")})


def _as_dict(command):
    return command._asdict() | {"files": [_as_dict(each) for each in command.files]}


def finite(value):
    """The same in plain numbers, lists and texts, None for what is infinite or blank."""
    if isinstance(value, dict):
        return {name: finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [finite(each) for each in value]
    value = value.item() if hasattr(value, "item") else value
    return None if isinstance(value, float) and not math.isfinite(value) else value


# Two cases side by side

def compare(first: Any, second: Any, prices: Any = None) -> pd.DataFrame:
    """Two cases side by side: the inputs that differ and the figures of both, in words, and in `better` which wins, `tie` where
    the two are too close to call: their ranges meet, and their ratio is not above its own error.

    first, second: as `decide` takes them. Raises ValueError with a line for each fault.
    """
    book = book_of(prices)
    return beside(answered(read(first), book), answered(read(second), book), book)


def answered(case: Case, book: pd.DataFrame) -> plan.Answer:
    """The answer to a case that chooses among offers. Raises ValueError for one that asks to rent or to buy."""
    if owning_words.is_owning(case):
        raise ValueError(f"job: {case.rows['job'].name} has no list of choices; allowed here: any other job")
    return plan.answer(case, priced(case, book))


def beside(first: plan.Answer, second: plan.Answer, book: pd.DataFrame) -> pd.DataFrame:
    """The table of `compare` for two answers. Raises ValueError for jobs that differ in kind."""
    both = (first, second)
    job, other = (each.case.rows["job"] for each in both)
    if job["kind"] != other["kind"]:
        raise ValueError(f"{job.name} is to {job['title']}, {other.name} to {other['title']}: the two differ in kind, so no "
                         "figure of one is better than the other's; allowed: jobs of one kind")
    known = [words.facts(each, book, more(each, book)[1]) for each in both]
    rows = _inputs(first.case, second.case)
    rows.append(("take", *(words.fill("taken", held) if each.best else NOTHING for each, held in zip(both, known)), ""))
    if first.best and second.best:
        real = words.apart(words.likeness(first), words.likeness(second))
        for one, other in zip(*(words.cards(each, held) for each, held in zip(both, known))):
            wins = words.better(one.bar, other.bar, one.name, real) if first.kind == second.kind else ""
            rows.append((one.title, *(f"{card.big} ({card.small})" for card in (one, other)), wins))
    sure = [held["sure"] for held in known]
    if sure[0] != sure[1]:
        rows.append(("How sure?", *map(figures.chance, sure), "first" if sure[0] > sure[1] else "second"))
    return pd.DataFrame(rows, columns=SIDES)


def offers(answer: plan.Answer, book: pd.DataFrame, first: int, second: int) -> pd.DataFrame:
    """Two choices of one case side by side, by their number in the list: 1 is the first row of the table of `decide`.

    Raises ValueError for a number that the table has not.
    """
    frame = table(answer, words.choices(answer))
    for number in (first, second):
        if not 1 <= number <= len(frame):
            raise ValueError(f"row {number}: not there; allowed: 1 to {len(frame)}")
    one, other = (frame.iloc[number - 1] for number in (first, second))
    rows: list[tuple[str, ...]] = []
    for name in frame.columns.drop(["reason", "beside"]):
        if name not in (f"low_{answer.objective}", f"high_{answer.objective}"):
            won = ""
            if name == answer.objective and one["reason"] == other["reason"] == "":
                won = _cheaper(one, other, answer)
            rows.append((in_words(name), _shown(name, one[name]), _shown(name, other[name]), won))
    rows.append(("why", *(row["reason"] or row["beside"] or "the best" for row in (one, other)), ""))
    return pd.DataFrame(rows, columns=SIDES)


def _cheaper(one, other, answer):
    """Which of two choices costs less, by what is known of their ratio."""
    cost = answer.objective
    facts = [dict(row) | {"objective": row[cost], **{f"{end}_objective": row[f"{end}_{cost}"] for end in ("low", "high")}}
             for row in sorted((one, other), key=lambda row: row[cost])]
    if facts[0]["objective"] == facts[1]["objective"]:
        return "same"
    return "tie" if words.against(facts[1], facts[0], answer.kind)["tie"] else "first" if one[cost] < other[cost] else "second"


def _inputs(first, second):
    """The rows and inputs of two cases that differ, in words."""
    names = [name for name in dict.fromkeys([*first.rows, *first.inputs, *second.rows, *second.inputs])
             if name in QUANTITIES or name in FINDERS]
    rows = [(in_words(name), *(_shown(name, _held(case, name)) for case in (first, second)), "") for name in names]
    return [row for row in rows if row[1] != row[2]]


def _held(case, name):
    """The name of a row, or the number that an input comes to; NaN where the case says nothing."""
    return words.named(case).get(name) if name in case.rows else number_of(case, name)


def _shown(name, value):
    """A value of that name in words; a dash for none."""
    if value is None or value != value:
        return "–"
    if value == math.inf:
        return "no limit"
    if isinstance(value, str) or name not in QUANTITIES:
        return str(value)
    return figures.days(value) if QUANTITIES[name].unit == "day" else figures.quantity(name, value)
