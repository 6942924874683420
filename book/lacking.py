"""The page of a notebook that lacks a price: its title, and one sentence that says which, where others show its headline."""

import re
from html import escape

KEYED = re.compile(r"%%say[ \t]+(\w+)")
HOW = "How to give one: [the front page](index.md)."


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
