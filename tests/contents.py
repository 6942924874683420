"""The pages of the book, as its table of contents lists them, and those of them that `make test` looks at."""

import pytest
import yaml

from book.build.editions import declared_in
from book.build.extension import topics
from book.build.inputs import ROOT

TOC = yaml.safe_load((ROOT / "book/_toc.yml").read_text())
PARTS = {part["caption"]: [chapter["file"] for chapter in part["chapters"]] for part in TOC["parts"]}
TOPICS, WORKSHEETS = topics(), PARTS["Worksheets"]
PAGES = [TOC["root"], *(page for pages in PARTS.values() for page in pages)]
# Pages whose figures follow from a price book.
PRICED = [name for name in TOPICS + WORKSHEETS if "prices" in declared_in(ROOT / f"notebooks/{name}.md")]
assert PRICED
# Pages of each make, and of lessons some of each part. The others are made by the same code; `make test-all` looks at them too.
SAMPLE = {"index", "kv_cache", "interconnect", "serving", "break_even", "total_cost", "sharing", "own_counters", "drills", "interview",
          "memory_worksheet", "break_even_worksheet", "which_gpu", "case_chat_70b", "cards", "new_card", "headlines", "conventions",
          "glossary", "api", "api_formulas_money", "search", "genindex", "404"}
assert not SAMPLE - {*PAGES, "search", "genindex", "404"}


def each_of(names):
    """A test for each page, a long one where it is not of the sample."""
    return pytest.mark.parametrize("name", [each if each in SAMPLE else pytest.param(each, marks=pytest.mark.long) for each in names])
