"""The page of a notebook that lacks a price: its title, and one sentence that says which, where others show its headline."""

import re
from html import escape

KEYED = re.compile(r"%%say[ \t]+(\w+)")
HOW = "How to give one: [the front page](index.md)."
# A value that a price error asks for, or has: its column and it.
ASKED = re.compile(r"(\w+) (?:'([^']*)'|([\d.]+))")
THERE = re.compile(r"(\w+) is one of (.*)")
SIZES = {"gpus_per_server": "{} GPUs in a server", "at_least": "at least {} GPUs in a server"}
SEVERAL = {"gpu": "GPUs", "gpus_per_server": "GPUs in a server"}
FEW = 5


def page_without(notebook, whose, what):
    """The notebook with its title and what it lacks alone; its sentences on other pages say that, or whose prices these are."""
    from nbformat import from_dict

    title = next(re.search(r"^# .*$|\Z", cell.source, re.MULTILINE)[0] for cell in notebook.cells if cell.cell_type == "markdown")
    keys = dict.fromkeys(match[1] for cell in notebook.cells if (match := KEYED.match(cell.source)))
    words = f"This page needs a price that {whose} does not have: {what}."
    here = {"output_type": "display_data", "metadata": {},
            "data": {"text/markdown": f"{literal(words)} {HOW}", "text/plain": words}}
    elsewhere = [keyed(key, words if key == "headline" else f"Prices come from {whose}.") for key in keys]
    notebook.cells = [from_dict({"cell_type": "markdown", "id": "title", "metadata": {}, "source": title}),
                      from_dict(code("lacks", [here], "remove-input")), from_dict(code("elsewhere", elsewhere, "remove-cell"))]
    return notebook


def in_words(error):
    """What a price error misses, without the file, which the sentence around it names, and a few of what there is instead."""
    what = re.sub(r"^[^:]*\.\w+[^:]*: ", "", error).strip().rstrip(".")
    if not what.startswith("no price for "):
        return what.removeprefix("no ").replace(" and no ", " and ")
    asked, *rest = what.removeprefix("no price for ").split("; ")
    values = [SIZES.get(column, "{}").format(text or size) for column, text, size in ASKED.findall(asked)]
    parts = [instead(*found.groups()) if (found := THERE.fullmatch(each)) else each for each in rest]
    return "; ".join(filter(None, [", ".join(values), *parts]))


def instead(column, known):
    """The first few of what a book has in the column; nothing where the whole item is missing."""
    if column == "item":
        return ""
    names = [name.strip("'") for name in known.split(", ")]
    more = f" and {len(names) - FEW} more" if len(names) > FEW else ""
    return f"its {SEVERAL.get(column, f'{column}s')}: {', '.join(names[:FEW])}{more}"


def literal(words):
    """Words as Markdown without any mark in it."""
    return re.sub(r"([!-/:-@\[-`{-~])", r"\\\1", words)


def code(name, outputs, tag):
    return {"cell_type": "code", "id": name, "source": f"# {name}", "execution_count": None, "outputs": outputs,
            "metadata": {"tags": [tag]}}


def keyed(key, words):
    """A sentence that other pages find by its key, and read as a Python literal or as HTML."""
    return {"output_type": "display_data", "data": {"text/plain": repr(words), "text/html": escape(words)},
            "metadata": {"scrapbook": {"name": key, "mime_prefix": ""}}}
