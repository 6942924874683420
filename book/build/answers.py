"""What an executed notebook answers, as plain text for a terminal, and which answers differ from those of before."""

import html
import json
import re
import shutil
from ast import literal_eval
from textwrap import fill

from .editions import alike, made_from, text

MARKS = re.compile(r"!?\[([^\]]*)\]\([^)]*\)|<[^>]*>|\*\*|[*`$]|(?<!\w)__?|__?(?!\w)")
ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
ASIDE = 0xE000  # where an escaped mark stands while the others go
DATE = re.compile(r'datetime="([\d-]+)"')
SECTION = re.compile(r"^## ", re.MULTILINE)
GUESS = re.compile(r"^guess\(", re.MULTILINE)
REMEMBER = re.compile(r"^> (\*\*Remember\.\*\*.*(?:\n> .*)*)", re.MULTILINE)


def cells_of(path):
    return json.loads(path.read_text(encoding="utf-8"))["cells"]


def said(cell, kind):
    """The first output of a cell as this kind of text; empty if there is none."""
    return next((text(output["data"][kind]) for output in cell.get("outputs", []) if kind in output.get("data", {})), "")


def headline(path):
    """The sentence that an executed notebook keeps as its answer; empty if it keeps none."""
    return headline_in(cells_of(path))


def headline_in(cells):
    for cell in cells:
        for output in cell.get("outputs", []):
            if output.get("metadata", {}).get("scrapbook", {}).get("name") == "headline":
                return literal_eval(text(output["data"]["text/plain"]))
    return ""


def headlines(executed, without):
    """The answer of each page that has one, by its topic, but for those `without` a price."""
    found = {topic: headline(path) for topic, path in executed.items() if topic not in without}
    return {topic: sentence for topic, sentence in found.items() if sentence}


def recorded_headlines(root):
    """The answers that stand recorded beside the text notebooks; none where a recording is spoiled."""
    found = {}
    for path in sorted((root / "notebooks").glob("*.ipynb")):
        try:
            found[path.stem] = headline(path)
        except (ValueError, KeyError, TypeError, AttributeError, OSError, SyntaxError):
            continue
    return found


def changed(before, now):
    """What the terminal says of answers that differ from those of before; empty if none does."""
    differ = [topic for topic in now if not alike(before.get(topic, now[topic]), now[topic])]
    blocks = [f"  {topic}\n{wrapped(before[topic], '    was  ')}\n{wrapped(now[topic], '    now  ')}" for topic in differ]
    return "\n".join([f"Headlines that changed: {len(differ)} of {len(now)}", *blocks]) if differ else ""


def answer(path):
    """The headline of an executed notebook, its reasons, and the oldest date of a price behind them.

    Reasons are the sentences right below the headline, what the guess of a lesson explains, and the rule to remember.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    above = before_sections(notebook["cells"])
    place = next((number for number, cell in enumerate(above) if "headline" in cell["metadata"].get("tags", [])), len(above))
    below = []
    for cell in above[place + 1:]:
        if not re.match(r"%%say[ \t]*\n", text(cell["source"])):
            break
        below.append(said(cell, "text/markdown"))
    below += [said(cell, "text/plain") for cell in above if GUESS.search(text(cell["source"]))]
    prose = "\n".join(text(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "markdown")
    below += [rule.replace("\n> ", " ") for rule in REMEMBER.findall(prose)]
    dates = DATE.findall("".join(said(cell, "text/markdown") for cell in above))
    oldest = made_from(notebook).get("oldest") or min(dates, default="")
    parts = [headline_in(above), *map(plain, below), f"The oldest price behind this is of {oldest}." if oldest else ""]
    return "\n\n".join("\n".join(map(wrapped, part.split("\n"))) for part in parts if part)


def before_sections(cells):
    """The cells above the first section that follows the headline."""
    answered = False
    for number, cell in enumerate(cells):
        if answered and cell["cell_type"] == "markdown" and SECTION.search(text(cell["source"])):
            return cells[:number]
        answered = answered or "headline" in cell["metadata"].get("tags", [])
    return cells


def plain(markdown):
    """Markdown as plain text: no marks, a line for each paragraph or item."""
    kept = ESCAPED.sub(lambda mark: chr(ASIDE + ord(mark[1])), markdown)
    bare = html.unescape(MARKS.sub(lambda mark: mark[1] or "", kept))
    bare = re.sub(f"[{chr(ASIDE)}-{chr(ASIDE + 127)}]", lambda mark: chr(ord(mark[0]) - ASIDE), bare)
    parts = re.split(r"\n\s*\n|\n(?=\s*(?:[-+]|\d+\.)\s)", bare.strip())
    return "\n".join(" ".join(part.split()) for part in parts)


def wrapped(sentence, first=""):
    width = max(40, shutil.get_terminal_size().columns)
    return fill(sentence, width, initial_indent=first, subsequent_indent=" " * len(first), break_long_words=False,
                break_on_hyphens=False)
