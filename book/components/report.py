"""The answer to a case as one HTML page: no script, nothing from elsewhere, every text from data escaped; it prints on A4."""
import math
from collections.abc import Callable, Iterable
from functools import partial
from html import escape
from pathlib import Path
from typing import Any

from gpucalc.core import figures
from gpucalc.core.expression import tree
from gpucalc.core.law import LAWS
from gpucalc.core.printer import in_words, words as equation
from gpucalc.core.quantities import QUANTITIES
from gpucalc.decisions import answer_words as words, owning_words
from gpucalc.decisions.answer import Answer, of_choice
from gpucalc.decisions.decide import more
from gpucalc.decisions.jobs import JOBS, trains
from gpucalc.decisions.points import number_of
from gpucalc.decisions.rent_or_buy import RentOrBuy
from gpucalc.rows import catalogue
from . import memory as account
from .memory import parts


STYLE = (Path(__file__).parent / "report.css").read_text(encoding="utf-8")


# Pictures of a report: bars drawn from the numbers of an answer as SVG, whose colours are those of the page around it.

_WIDTH = 600


def band_bar(low: float, plan: float, high: float, bound: float | None, show: Callable[[float], str]) -> str:
    """A figure as a bar: its band, a mark at the plan and a thin one at the bound."""
    if not (math.isfinite(plan) and plan > 0):
        return ""
    ends = [value for value in (low, plan, high, bound) if value is not None and math.isfinite(value)]
    top = 1.04 * max(ends)
    low, high = min(low, plan), max(high, plan) if math.isfinite(high) else top
    words = f"plan {show(plan)}, from {show(low)} to {show(high)}" + (f", bound {show(bound)}" if bound else "")
    parts = [_rect("track", 0, 6, _WIDTH, 12), _rect("band", _at(low, top), 6, max(_at(high - low, top), 2), 12),
             _rect("plan", _at(plan, top) - 2, 1, 4, 22)]
    if bound:
        parts.append(_rect("bound", _at(bound, top), 3, 2, 18))
    return _svg(24, words, parts)


def choice_bars(rows: Iterable[tuple[str, float, float, float]], show: Callable[[float], str]) -> str:
    """The cost of choices as (label, low, plan, high): a bar each, the band across its end."""
    rows = list(rows)
    top = 1.02 * max((value for _, *ends in rows for value in ends if math.isfinite(value)), default=1)
    lines = []
    for place, (name, low, plan, high) in enumerate(rows):
        far = min(high, top)
        shapes = [_rect("bar" if place else "best", 0, 4, _at(plan, top), 16),
                  _rect("ends", _at(low, top), 11, max(_at(far - low, top), 1), 2),
                  *(_rect("ends", _at(end, top) - 1, 7, 2, 10) for end in (low, far))]
        words = f"{name}: {show(plan)}, from {show(low)} to {show(high)}"
        lines.append(f"<li><span>{escape(name)}</span>{_svg(24, words, shapes)}<b>{escape(show(plan))}</b></li>")
    return f'<ul class="bars">{"".join(lines)}</ul>'


def stacked_bar(parts: dict[str, float], limit: float, show: Callable[[float], str]) -> str:
    """Bytes by part as one bar, with a legend below it and the memory of the GPU as a dashed line."""
    top, x, shapes = 1.01 * max(limit, sum(parts.values())), 0.0, []
    for place, value in enumerate(parts.values(), 1):
        shapes.append(_rect(f"part-{place}", x, 4, _at(value, top), 28))
        x += _at(value, top)
    shapes.append(f'<line class="most" x1="{_at(limit, top):.1f}" y1="0" x2="{_at(limit, top):.1f}" y2="36"/>')
    words = ", ".join(f"{name} {show(value)}" for name, value in parts.items()) + f"; the GPU has {show(limit)}"
    legend = "".join(f'<li>{_svg(12, "", [_rect(f"part-{place}", 0, 0, _WIDTH, 12)])}{escape(name)} {escape(show(value))}</li>'
                     for place, (name, value) in enumerate(parts.items(), 1))
    return f'{_svg(36, words, [_rect("track", 0, 4, _at(limit, top), 28), *shapes])}<ul class="legend">{legend}</ul>'


def _at(value, top):
    return _WIDTH * value / top


def _rect(name, x, y, width, height):
    return f'<rect class="{name}" x="{x:.1f}" y="{y}" width="{max(width, 0):.1f}" height="{height}"/>'


def _svg(height, words, parts):
    """A drawing as wide as its place, and of this height; one without words is for the eye alone."""
    told = f'role="img" aria-label="{escape(words)}"' if words else 'aria-hidden="true"'
    return f'<svg viewBox="0 0 {_WIDTH} {height}" height="{height}" preserveAspectRatio="none" {told}>{"".join(parts)}</svg>'


# The answer to a case as one HTML page: no script, nothing from elsewhere, every text from data escaped; it prints on A4.

_NEXT = 8
# Columns of a GPU that an answer rests on.
PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style>
</head>
<body>
<main>
{body}
</main>
</body>
</html>
"""
_OF_GPU = ("memory_bytes", "bandwidth", "peak_flops", "link_bandwidth")


def report(answer: Answer, book: Any, beside: Iterable[Any] = ()) -> str:
    """The answer as an HTML page; `beside` are tables of `deciding` that stand side by side in it."""
    told, known = words.told(answer, book, *more(answer, book)), words.facts(answer, book)
    body = [
        *_head(told), _cards(told), _memory(answer), _choices(answer, told, book),
        *(_listed(*each) for each in told.lists),
        *(_section(each.title, f"<pre>{_text(each.text)}</pre>", _note(each.note)) for each in told.commands),
        *(_section("Side by side", _table(["", *each.columns[1:]], each.itertuples(index=False, name=None))) for each in beside),
        _inputs(answer, book), _formulas(answer)]
    return _page(words.fill("title", known), body)


def owning_report(found: RentOrBuy, case: Any, told: words.Told) -> str:
    """Rent or buy as an HTML page."""
    rows = [(in_words(name), *cells) for name, *cells in owning_words.inputs(found, case)]
    body = [*_head(told), _cards(told), *(_listed(*each) for each in told.lists),
            _section("What was put in", _table(["", "value", "what it is", "source", "date"], rows)) if rows else ""]
    return _page(told.question, body)


def _page(title, body):
    return PAGE.format(title=_text(title), style=STYLE, body="\n".join(filter(None, body)))


def _head(told):
    return [_note(f"GPU arithmetic · {told.prices}"), f"<h1>{_text(told.question)}</h1>",
            f'<p class="answer">{_text(told.headline)}</p>']


def _text(value):
    return escape(str(value))


def _section(title, *parts):
    return f"<section>\n<h2>{_text(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def _listed(title, texts):
    return _section(title, "<ul>" + "".join(f"<li>{_text(each)}</li>" for each in texts) + "</ul>") if texts else ""


def _table(heads, rows, numbers=()):
    """A table; columns in `numbers`, by their place, are set to the right."""
    def cells(tag, row):
        return "".join(f'<{tag}{" class=number" * (place in numbers)}>{_text(cell)}</{tag}>' for place, cell in enumerate(row))
    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return f'<div class="wide"><table><thead><tr>{cells("th", heads)}</tr></thead><tbody>{body}</tbody></table></div>'


# What to take

def _cards(told):
    return '<div class="cards">' + "".join(map(_card, told.cards)) + "</div>" if told.cards else ""


def _card(card):
    bar = ""
    if card.bar is not None:
        low, plan, high, bound, unit = card.bar
        bar = band_bar(low, plan, high, bound, partial(figures.number, unit=unit))
    page = f"Page “{card.page.replace('_', ' ')}”: {card.link}"
    lines = "".join(f'<p class="soft">{_text(text)}</p>' for text in (card.small, card.note, page) if text)
    return f'<article class="card"><h3>{_text(card.title)}</h3><p class="big">{_text(card.big)}</p>{bar}{lines}</article>'


def _memory(answer):
    if answer.best is None:
        return ""
    show, memory = partial(figures.number, unit="byte"), float(answer.best["memory_bytes"])
    return _section("What fills one GPU", stacked_bar(parts(_terms(answer)), memory, show),
                    _note(f"The dashed line is its memory, {show(memory)}. These are the formulas alone, without their error."))


def _note(text):
    return f'<p class="soft">{_text(text)}</p>'


def _terms(answer):
    """Bytes by term on the fullest GPU of the best choice."""
    held = of_choice(answer.case, answer.best)
    if trains(answer.kind):
        card = next(card for card in JOBS[answer.kind].cards if card.name == "fits")
        return account.peak_terms(account.fullest(held.but(**card.given)))
    held = held.but(context="prompt" if answer.kind == "embed" else "final_context")
    weights, cache = held("gpu_weight_bytes"), held("gpu_kv_bytes")
    return {"gpu_weight_bytes": weights, "kv_bytes": cache, "framework_bytes": held.inputs["framework_bytes"]}


def _choices(answer, told, book):
    rows = [row for row in told.rows if row["holds"]]
    shown = sorted({row["gpu"]: row for row in reversed(rows)}.values(), key=lambda row: row.get("objective", 0))[:_NEXT]
    show = partial(figures.number, unit="USD")
    ends = [(row["gpu"], row.get("low_objective", row["objective"]), row["objective"], row.get("high_objective", math.inf))
            for row in shown if "objective" in row]
    bars = choice_bars(ends, show) if ends else ""
    unit = words.fill("per", {"kind": answer.kind})
    heads = ["GPU", "GPUs", "layout", "from", "USD/h", f"USD{unit}", "8 in 10 between", "why it is not the first"]
    out = [row for row in told.rows if not row["holds"]]
    table = _table(heads, [_row(row, book) for row in [*shown, *out]], (1, 4, 5, 6))
    note = _note("The best of each GPU, then what the others lack. In a tie the low end costs less than the best’s high end.")
    return _section("What else would do, and why the rest would not", bars, table, note)


def _row(row, book):
    priced = "usd_per_hour" in row
    own = {True: " (yours)", False: " (not yours)"}[bool(row["yours"])] if book.attrs["own"] and priced else ""
    ends = [figures.three_figures(row[name]) for name in ("low_objective", "high_objective") if name in row]
    term = words.WORDS["in_term"].get(row.get("term"), row.get("term"))
    said = ", ".join(filter(None, [f"{row.get('provider', '')}{own}", term, row.get("date")]))
    sold = (said, f"{row['usd_per_hour']:.2f}") if priced else ("", "")
    cost = figures.three_figures(row["objective"]) if "objective" in row else ""
    return (row["gpu"], f"{row['gpus']:,.0f}", row["layout"], *sold, cost, " and ".join(ends) if len(ends) == 2 else "",
            row["reason"] or "the best")


# What it rests on

def _inputs(answer, book):
    """Every input of the case, what its job takes where nothing is given, and the rows of the best choice, with their sources."""
    case, rows = answer.case, []
    job = case.rows["job"]
    for kind, name in words.named(case).items():
        if kind != "efficiency":
            row = case.rows[kind]
            rows.append((in_words(kind), name, "", row.get("source", "the case"), row.get("date", "")))
    for name, held in case.inputs.items():
        value = number_of(case, name) if name in QUANTITIES else math.nan
        if math.isfinite(value):
            said = name in job["needs"].replace("|", " ").split() + job["takes"].split()
            source = (job["source"], job["date"]) if held is job else ("the case" if said else "what the book takes", "")
            rows.append((in_words(name), figures.quantity(name, value), QUANTITIES[name].meaning, *source))
    if answer.best is not None:
        gpu = catalogue.gpu(answer.best["gpu"])
        rows += [(in_words(name), figures.quantity(name, gpu[name]), f"{gpu.name}: {QUANTITIES[name].meaning}", gpu["source"],
                  gpu["date"]) for name in _OF_GPU if name in gpu and gpu[name] == gpu[name]]
        # The reader's own cards are in no book.
        priced = [book.loc[name] for name in [answer.best["row"]] if name in book.index]
        rows += [("rent", figures.hourly(price["usd_per_hour"]), f"{price['provider']}, {price['region']}, {price['term']}",
                  price["source"], price["date"]) for price in priced]
    return _section("What was put in", _table(["", "value", "what it is", "source", "date"], rows))


def _formulas(answer):
    """The formulas that the decision names, in words, and the page of each."""
    named = []
    for step in JOBS[answer.kind].chain:
        named += [figure.law for figure in step.figures] + [limit.of for limit in step.limits] + [*step.objective, *step.shown]
    laws = [LAWS[name] for name in dict.fromkeys([*named, *(card.of for card in JOBS[answer.kind].cards)]) if name in LAWS]
    rows = [(in_words(law.__name__), equation(tree(law)), law.__module__.rpartition(".")[2].replace("_", " ")) for law in laws]
    return _section("The formulas", _table(["", "in words", "module"], rows))
