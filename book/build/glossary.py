"""The words of the glossary where a lesson uses them: a link with the meaning, shown on hover and focus."""

import re
from functools import cache
from html import escape
from pathlib import Path

from docutils import nodes
from sphinx import addnodes

SOURCE = Path(__file__).parents[1] / "glossary.md"
ENTRIES = re.compile(r"^```\{glossary\}\n(.*?)^```", re.MULTILINE | re.DOTALL)
# Words that every line of such a book has: a mark under each would be noise.
PLAIN = {"parameter", "weight", "token", "batch", "context", "node", "tile", "wave", "ring", "mesh", "switch", "bridge", "draw",
         "bound", "band", "overlap", "publisher", "topology", "accumulation", "epoch", "gradient", "activation", "offload",
         "reserved", "managed", "utilization", "layer", "prompt", "layout", "request", "attention", "scale", "dense", "latency",
         "bandwidth", "throughput", "optimizer", "embedding", "GB", "GiB", "FLOP", "FLOP/s", "GPU memory", "driver", "slice",
         "adapter", "checkpoint", "forward pass", "backward pass", "GPU-hour", "list price", "depreciation", "data sheet"}
ABBREVIATION = re.compile(r"[A-Z0-9].*[A-Z0-9]|.*[A-Z].*[A-Z]")
NO_LINK_IN = (nodes.reference, addnodes.pending_xref, addnodes.download_reference, nodes.literal, nodes.literal_block,
              nodes.title, nodes.math, nodes.math_block, nodes.raw)


@cache
def glossary():
    """Each word with its meaning, as plain text."""
    found = {}
    for block in ENTRIES.findall(SOURCE.read_text(encoding="utf-8")):
        for entry in re.split(r"\n\s*\n", block.strip("\n")):
            lines = entry.splitlines()
            meaning = " ".join(line.strip() for line in lines if line.startswith(" "))
            meaning = re.sub(r"\[([^\]]*)\]\([^)]*\)|[`*]", r"\1", meaning)
            found |= dict.fromkeys((line for line in lines if not line.startswith(" ")), meaning)
    return found


@cache
def pattern():
    """Any word of the glossary, longest first, with the s of a plural."""
    words = sorted(set(glossary()) - PLAIN, key=len, reverse=True)
    return re.compile(rf"(?<![\w-])({'|'.join(map(either_case, words))})(s?)(?![\w-])")


def either_case(word):
    """A pattern of the word; one that is no abbreviation may begin a sentence."""
    if ABBREVIATION.fullmatch(word) or not word[0].isalpha():
        return re.escape(word)
    return f"[{word[0].lower()}{word[0].upper()}]{re.escape(word[1:])}"


def entry(found):
    return next(word for word in (found, found[0].lower() + found[1:], found[0].upper() + found[1:]) if word in glossary())


def explain_terms(page):
    """Links the first use of each word in each section of a page."""
    for section in (page, *page.findall(nodes.section)):
        explained = set()
        for text in list(own_texts(section)):
            explain(text, explained)


def own_texts(section):
    """The running text of a section without that of sections in it."""
    for child in section.children:
        if isinstance(child, nodes.Text):
            yield child
        elif not isinstance(child, (nodes.section, nodes.table, *NO_LINK_IN)) and "lesson-meta" not in child["classes"]:
            yield from own_texts(child)


def explain(text, explained):
    pieces, end, whole = [], 0, text.astext()
    for found in pattern().finditer(whole):
        word = entry(found[1])
        if glossary()[word] not in explained:
            explained.add(glossary()[word])
            pieces += [nodes.Text(whole[end:found.start()]), nodes.raw("", linked(found[0], word), format="html")]
            end = found.end()
    if pieces:
        text.parent.replace(text, [*pieces, nodes.Text(whole[end:])])


def linked(said, word):
    anchor = "term-" + re.sub(r"[^\w.]+", "-", word).strip("-")
    meaning = f'aria-description="{escape(glossary()[word])}"'
    return f'<a class="term" href="glossary.html#{escape(anchor)}" {meaning}>{escape(said)}</a>'
