"""Text from data as literal Markdown, and Markdown that a notebook displays."""
import re


class Markdown:
    """Markdown that a notebook displays."""

    def __init__(self, source):
        self.source = source

    def _repr_markdown_(self):
        return self.source

    def __repr__(self):
        return self.source


def markdown(text):
    """`text` as literal Markdown: no mark in it is markup, no address a link."""
    text = " ".join(str(text).split())
    escaped = re.sub(r"([\\`*_{}\[\]<>()#+!|$~&:@^=\"])", r"\\\1", text)
    escaped = re.sub(r"(?<!\d)\.|\.(?!\d)", r"\\.", escaped) if "www" in text.lower() else escaped
    return re.sub(r"^([-.]|\d+(?=[.)]\s))", lambda start: f"\\{start[0]}" if start[0] in "-." else start[0] + "\\", escaped)
