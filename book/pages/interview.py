"""The page of interview questions: each as HTML that is folded until asked for, with what its figures come to today."""
import functools
import html
import json
from typing import TYPE_CHECKING, Any

from gpucalc.decisions.run_speeds import planned_mfu
from gpucalc.rows.price_book import price
from gpucalc.rows.rents import cheapest_rent
from gpucalc.rows.selections import selection
from gpucalc.rows.tables import rows
from ..components.links import linked
from ..components.show import Html
from ..components.titles import PAGES
from .held import Held
from .interview_rows import KINDS, LEVELS, MINUTES, ROLES, Question, questions
from .said_html import said_html

if TYPE_CHECKING:
    from pandas import DataFrame


def names(question: Question, book: "DataFrame") -> dict[str, Any]:
    """What the sentences of a question take figures from: its cases by letter; `measured(ID)`, a row of data/measurements.csv;
    `price(ITEM, ...)`, the cheapest in the book; `rent(GPU)`, the cheapest firm hour; `mfu(GPU)`, of published runs."""
    held = {}
    for letter, case in question.cases.items():
        term = question.rents.get(letter)
        offer = cheapest_rent(book, gpu=case.rows["gpu"].name, term=term) if term else None
        held[letter] = Held(case if offer is None else case.but(usd_per_hour=offer.usd_per_hour), offer)
    return held | dict(measured=measured, mfu=lambda gpu: planned_mfu().loc[gpu],
                       price=functools.partial(price, book, cheapest=True),
                       rent=lambda gpu, term="on-demand": cheapest_rent(book, gpu=gpu, term=term))


def measured(name: str) -> Any:
    """A row of data/measurements.csv by its id. Raises ValueError if there is none."""
    if name not in rows("measurements"):
        raise ValueError(f"data/measurements.csv has no row {name!r}")
    return rows("measurements")[name]


def said(question: Question, book: "DataFrame") -> dict[str, Any]:
    """The texts of a question as HTML, its figures computed. Raises ValueError naming the question and what is not there."""
    held = names(question, book)

    def shown(text, inline=True):
        return said_html(text, held, inline)

    try:
        return dict(
            title=shown(question.title), ask=shown(question.ask, False), looks_for=[shown(each) for each in question.looks_for],
            answer=shown(question.answer, False),
            follow_ups=[(shown(each.ask), shown(each.answer, False)) for each in question.follow_ups],
            wrong=[(shown(each.say), shown(each.why)) for each in question.wrong])
    except ValueError as error:
        raise ValueError(f"interview/{question.kind}.yaml, {question.name}: {error}") from None


@selection
def bank(book: "DataFrame", kind: str) -> Html:
    """The questions of a kind, each folded under its title, and under it folded again what is not asked."""
    found = questions(kind).values()
    return Html(f'<div class="bank" data-kind="{kind}">{"".join(_shown(each, book) for each in found)}</div>',
                f"{len(found)} questions: {', '.join(each.title for each in found)}")


def find(more: str = "") -> Html:
    """Where the script puts the filters. more: the page with the other questions, which the script asks for them."""
    topics = {each.topic: PAGES[each.topic] for each in questions().values()}
    held = dict(kind=KINDS, role=ROLES, topic=dict(sorted(topics.items(), key=lambda topic: topic[1])), minutes=MINUTES)
    labels = html.escape(json.dumps(held, ensure_ascii=False))
    return Html(f'<div class="interview-find" data-more="{html.escape(more)}" data-labels="{labels}"></div>', "")


def mock() -> Html:
    """Where the script puts a mock interview."""
    return Html('<div class="mock"><p>The mock runs in the browser, with JavaScript. Without it, choose from the lists: each '
                "question says how many minutes it takes.</p></div>", "The mock interview runs in the browser.")


def counts() -> "DataFrame":
    """How many questions each kind has, and the minutes that they take."""
    import pandas
    found = questions().values()
    return pandas.DataFrame([dict(kind=title, questions=len(own), minutes=sum(each.minutes for each in own))
                             for kind, title in KINDS.items() if (own := [each for each in found if each.kind == kind])])


def _shown(question, book):
    texts = said(question, book)
    data = dict(roles=" ".join(question.roles), topic=question.topic, minutes=question.minutes)
    held = "".join(f' data-{name}="{html.escape(str(value))}"' for name, value in data.items())
    facts = f"{question.minutes} min · {LEVELS[question.level]} · {', '.join(ROLES[role].lower() for role in question.roles)}"
    points = "".join(f"<li>{each}</li>" for each in texts["looks_for"])
    follow = "".join(f"<details><summary>{ask}</summary>{answer}</details>" for ask, answer in texts["follow_ups"])
    wrong = "".join(f"<dt>{say}</dt><dd>{why}</dd>" for say, why in texts["wrong"])
    lessons = ", ".join(f'<a href="{page}.html">{PAGES[page]}</a>' for page in question.lessons)
    return (f'<details class="question" id="q-{question.name}"{held}>'
            f'<summary><strong>{texts["title"]}</strong> <small>{facts}</small></summary>'
            f'<div class="ask">{texts["ask"]}{_evidence(question.evidence)}</div>'
            f"<details><summary>What the interviewer listens for</summary><ul class=\"points\">{points}</ul></details>"
            f"<details><summary>A model answer</summary>{texts['answer']}</details>"
            f"<details><summary>What is asked next</summary>{follow}</details>"
            f"<details><summary>Wrong answers that are often given</summary><dl>{wrong}</dl></details>"
            f"<p class=\"read\">Read: {lessons}</p></details>")


def _evidence(evidence):
    if evidence is None:
        return ""
    source = f"Made up for this question. {linked(evidence.source)}" if evidence.made else f"Source: {linked(evidence.source)}"
    return f'<pre tabindex="0" aria-label="Evidence">{html.escape(evidence.text)}</pre><p class="evidence">{source}</p>'
