"""The command `gpucalc mcp`: what the command line answers, as tools that an assistant calls by the Model Context Protocol.

Each answer is the text of the terminal, and as data its band, its sources with dates, and the address of the page that shows it:
behind `BOOK_URL`, where that is set, else from the site's root on. Bad input gets the words of the command line.
"""
import functools
import inspect
import os
import sys
from collections.abc import Callable
from typing import Any
from urllib.parse import quote_plus

from . import cli, cli_decide
from .core.evaluate import FINDERS, Row
from .core.law import LAWS
from .decisions import answer_words, decide as deciding, owning_words
from .decisions.rent_or_buy import rent_or_buy
from .rows import case_file
from .rows.names import key
from .rows.price_book import price_row
from .rows.rents import rents
from .rows.texts import read_texts

ABOUT = """GPU arithmetic: which GPUs a large model of text needs, how fast it runs and what it costs, from formulas, published
figures and dated prices. Give figures with their band and date, as they are answered, and the address of the page."""
# What a tool takes as a case, and gives: the text of the terminal, and data.
Given = str | dict[str, str | int | float]
Answer = tuple[str, dict[str, Any]]
# The pages that list the rows of a kind.
ROWS = {"gpu": "cards.html", "model": "models.html", "link": "interconnect.html", "weight_format": "quantization.html",
        "recipe": "training_memory.html", "efficiency": "hardware_facts.html", "engine": "measurements.html", "job": "index.html"}
# The longest case, in letters.
LONGEST = 20_000
_LEGIBLE = "/:,"


def decide(case: Given) -> Answer:
    """What to take for a case: which GPUs, how many, from whom, for how much, what binds, what would flip it, and the command
    that serves. case: free words ("70b chat, 10 requests a second on h100, first token under 1 s"), or names and values, such as
    {"job": "serve", "model": "llama 3 70b", "requests_per_second": 10}; look_up of kind job says which a job takes."""
    asked, said, book = _case(case)
    if owning_words.is_owning(asked):
        found: Any = rent_or_buy(asked, book)
        told, kind = owning_words.told(found, asked, book), "own"
        prices = _sources(*found.deal.rows.values()) if found.deal else []
    else:
        found = deciding.answered(asked, book)
        told, kind, prices = answer_words.told(found, book, *deciding.more(found, book)), found.kind, _chosen(found, book)
    return "\n".join([*said, *cli_decide.answer_lines(told, kind, book)]), {
        "decision": told.headline, "how_sure": told.sure, "case": case_file.held_of(asked),
        "bands": [{"name": card.name, **card.bar._asdict()} for card in told.cards if card.bar],
        "sources": [*_sources(*asked.rows.values()), *prices], "page": _page("index.html", _address(asked))}


def explain(formula: str, inputs: dict[str, str | int | float]) -> Answer:
    """A formula with its numbers: value, every step, what to plan for with its range, each input with unit, source and date.
    formula: such as kv_bytes; look_up of kind formula finds them. inputs: rows by plain name and quantities in SI units, such as
    {"model": "llama 3 70b", "gpu": "h100 sxm", "context": 8192, "batch": 32}."""
    text, data = cli.told([formula, *(f"--{name}={value}" for name, value in inputs.items())])
    topic = LAWS[formula].__module__.rpartition(".")[2]
    page = next(f"{page}.html" for page, parts in read_texts("formulas").items() if topic in " ".join(parts.values()).split())
    sources = [{"what": each["name"], "source": each["source"], "date": each["date"]} for each in data["inputs"] if each["date"]]
    return text, data | {"sources": sources, "page": _page(page, formula.replace("_", "-"))}


def look_up(kind: str, name: str) -> Answer:
    """A row of the data by plain name, with source and date; of a GPU also its cheapest rents. kind: gpu, model, link, recipe,
    weight_format, efficiency, engine or job; or formula, with words of its name, topic or meaning as the name."""
    if kind == "formula":
        return cli.told(["list", *name.split()])[0], {"sources": [], "page": _page("api.html")}
    name = key(kind, name) if kind in ("gpu", "model") else name
    text, data = cli.told(["show", kind, name])
    sources = [{"what": name, "source": data.get("source"), "date": data.get("date")}]
    if kind == "gpu":
        for _, row in rents(deciding.book_of(), gpu=name, per="gpu", required=False).iterrows():
            what = f"rent {row['term']}: {row['usd_per_hour']:.2f} USD/h for a GPU at {row['provider']}"
            text += f"\n{what}, {row['date']}, {row['source']}"
            sources.append({"what": what, "source": row["source"], "date": row["date"]})
    return text, data | {"sources": sources, "page": _page(ROWS[kind])}


def compare(first: Given, second: Given) -> Answer:
    """Two cases side by side: the inputs that differ, the figures of both, and which is better or too close to call.
    first, second: as decide takes a case."""
    (one, _, book), (other, *_) = _case(first), _case(second)
    found = [deciding.answered(each, book) for each in (one, other)]
    table = deciding.beside(found[0], found[1], book)
    prices = [each for answer in found for each in _chosen(answer, book)]
    bands = [{card.name: card.bar._asdict() for card in answer_words.cards(each, answer_words.facts(each, book)) if card.bar}
             if each.best else {} for each in found]
    against = f"{_address(other)}&vs={quote_plus(_address(one), _LEGIBLE)}"
    return "\n".join(cli_decide.side_by_side("first", "second", table)), {
        "rows": table.to_dict("records"), "bands": dict(zip(("first", "second"), bands)), "page": _page("index.html", against),
        "sources": [*_sources(*one.rows.values(), *other.rows.values()), *prices]}


TOOLS: tuple[Callable, ...] = (decide, explain, look_up, compare)


def _case(case):
    """A case from words or names, what was understood of words, and the newest prices."""
    if len(str(case)) > LONGEST:
        raise ValueError(f"case: {len(str(case)):,} letters; allowed: {LONGEST:,}")
    book = cli_decide.book_of_today()
    return cli_decide.worded(case, book) if isinstance(case, str) else (deciding.read(case), [], book)


def _sources(*rows: Any) -> list[dict[str, Any]]:
    """Where rows are from, each once."""
    held = {row.name: row for row in rows if isinstance(row, Row) and row.get("source")}
    return [{"what": name, "source": row["source"], "date": row.get("date", "")} for name, row in held.items()]


def _chosen(answer, book):
    """Where the card and the price of the best choice are from."""
    if answer.best is None:
        return []
    price = [price_row(book.loc[answer.best["row"]])] if answer.best.get("row") in book.index else []
    return _sources(FINDERS["gpu"](answer.best["gpu"]), *price)


def _address(case):
    """The case as the front page has it behind its #."""
    texts = {name: value if isinstance(value, str) else f"{value:.12g}" for name, value in case_file.held_of(case).items()}
    return "&".join(f"{name}={quote_plus(text, _LEGIBLE)}" for name, text in texts.items())


def _page(name, section=""):
    site = os.environ.get("BOOK_URL", "").rstrip("/")
    return (f"{site}/" if site else "") + name + (f"#{section}" if section else "")


def server() -> Any:
    """The tools as a server of the protocol. Raises ModuleNotFoundError where its SDK is missing."""
    from mcp.server.mcpserver import MCPServer
    from mcp.types import CallToolResult, TextContent

    def answering(tool):
        @functools.wraps(tool)
        def answered(*given, **named):
            try:
                text, data = tool(*given, **named)
            except (ValueError, OSError) as error:
                return CallToolResult(content=[TextContent(text=str(error))], is_error=True)
            shown = f"{text}\n\nShown on {data['page']}"
            return CallToolResult(content=[TextContent(text=shown)], structured_content=deciding.finite(data))
        answered.__signature__ = inspect.signature(tool).replace(return_annotation=CallToolResult)
        return answered
    made = MCPServer("gpucalc", instructions=ABOUT, log_level="ERROR")
    for tool in TOOLS:
        made.add_tool(answering(tool))
    return made


def main() -> int:
    """Serve the tools on stdin and stdout until the client closes them; returns the exit status, 2 where the SDK is missing."""
    try:
        server().run()
    except ModuleNotFoundError as error:
        print(f"gpucalc: mcp needs {error.name}; allowed: after pip install 'gpucalc[mcp]'", file=sys.stderr)
        return 2
    return 0
