"""A few marks of Markdown as HTML, around figures that Jinja puts in later: paragraphs, lists, code, bold, links to pages."""
import functools
import html
import re

from ..components.sentences import environment

_HOLE = re.compile(r"\{\{.*?\}\}|\{%.*?%\}", re.DOTALL)
# Where a figure stood: private characters, which no text has.
_KEPT = re.compile("\ue000(\\d+)\ue001")
_MARKS = ((r"`([^`]+)`", r"<code>\1</code>"), (r"\*\*([^*]+)\*\*", r"<strong>\1</strong>"),
          (r"(?<![\w*])\*([^*\s][^*]*)\*", r"<em>\1</em>"),
          (r"\[([^\]]+)\]\(([a-z0-9_]+)\.md(#[\w-]+)?\)", r'<a href="\2.html\3">\1</a>'))
_LISTS = {"ul": re.compile(r"[-*] "), "ol": re.compile(r"\d+\. ")}


def said_html(text, names, inline=False):
    """The Markdown text with its figures as HTML; `inline`: without a paragraph around it.

    Raises ValueError naming what is not there.
    """
    import jinja2
    try:
        return _template(text, inline).render(names)
    except (jinja2.TemplateError, TypeError, AttributeError) as error:
        raise ValueError(f"sentence {' '.join(text.split())[:60]!r}: {error}") from None


@functools.cache
def _template(text, inline):
    holes = []

    def hidden(hole):
        holes.append(hole[0])
        return f"\ue000{len(holes) - 1}\ue001"

    plain = html.escape(_HOLE.sub(hidden, text.strip()), quote=False)
    shown = _marked(" ".join(plain.split())) if inline else "\n".join(map(_block, re.split(r"\n\s*\n", plain)))
    return environment(html.escape).from_string(_KEPT.sub(lambda place: holes[int(place[1])], shown))


def _block(text):
    """A paragraph or a list."""
    for tag, mark in _LISTS.items():
        if mark.match(text):
            items = re.split(rf"(?m)^(?:{mark.pattern})", text)[1:]
            return f"<{tag}>{''.join(f'<li>{_marked(item)}</li>' for item in items)}</{tag}>"
    return f"<p>{_marked(text)}</p>"


def _marked(text):
    text = " ".join(text.split())
    for mark, shown in _MARKS:
        text = re.sub(mark, shown, text)
    return text
