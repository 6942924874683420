"""Where links lead: the book's own pages by name, and papers, repositories, models and sites that a source names."""
import html
import re
from pathlib import Path

import yaml

# What the pages are called, by name.
CONTENTS = Path(__file__).parents[1] / "_toc.yml"


def contents(path: Path = CONTENTS) -> dict[str, dict[str, str]]:
    """The pages of each part of the contents by name, with their titles; those below a page, not in the sidebar, after it."""
    parts = yaml.safe_load(path.read_text(encoding="utf-8")).get("parts", [])
    return {part.get("caption", ""): {each["file"]: each.get("title", "") for chapter in part["chapters"]
                                      for each in (chapter, *chapter.get("sections", ()))} for part in parts}


# The five lessons by which the book was ordered.
CORE = ("training_memory", "kv_cache", "arithmetic_intensity", "interconnect", "break_even")
PAGES = {name: title for pages in contents().values() for name, title in pages.items()}

_FILE = r"[\w./+-]+\.(?:md|mdx|py|csv|json|jsonl|ya?ml|toml|ts|h|cc|parquet|txt)\b"
_COMMIT = r"(?: \(commit (?P<commit>[0-9a-f]{7,40})\)| @(?P<at>[0-9a-f]{7,40}))?"
_PATTERN = re.compile(
    r"arXiv[ :](?P<paper>\d{4}\.\d{4,5})"
    r"|(?P<address>https?://[^\s<>\"'|\\^`{}]+[\w/=])"
    r"|Hugging Face (?P<model>[\w.-]+/[\w.-]+\w)"
    rf"|(?<![\w/.-])(?P<project>[\w.-]+/[\w.-]*\w),? (?P<file>{_FILE}){_COMMIT}"
    r"|(?<![\w@/.-])(?P<site>(?:[a-z0-9-]+\.)+(?:com|org|io|ai|net|dev|edu|co|sh)(?:/[\w./~%?=&-]*[\w/])?)(?![\w-])")


def links(text: str) -> list[tuple[str, str]]:
    """The text in pieces, each with the address that it names; an empty one where it names none."""
    pieces, end = [], 0
    for found in _PATTERN.finditer(text):
        pieces += [(text[end:found.start()], ""), (found[0], _address(found))]
        end = found.end()
    return [piece for piece in [*pieces, (text[end:], "")] if piece[0]]


def _address(found):
    if found["paper"]:
        return f"https://arxiv.org/abs/{found['paper']}"
    if found["model"]:
        return f"https://huggingface.co/{found['model']}"
    if found["project"]:
        return f"https://github.com/{found['project']}/blob/{found['commit'] or found['at'] or 'HEAD'}/{found['file']}"
    return found["address"] or f"https://{found['site']}"


def linked(text: str) -> str:
    """The text as HTML, escaped, with its links."""
    return "".join(f'<a href="{html.escape(to)}">{html.escape(piece)}</a>' if to else html.escape(piece)
                   for piece, to in links(text))
