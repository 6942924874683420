"""The pages of the book, as its table of contents lists them, and those of them that `make test` looks at."""

import pytest

from book.build.editions import declared_in
from book.build.extension import topics
from book.build.inputs import ROOT
from book.components.links import contents

PARTS = {caption: list(pages) for caption, pages in contents().items()}
TOPICS = topics()
PAGES = ["index", *(page for pages in PARTS.values() for page in pages)]
# Pages whose figures follow from a price book.
PRICED = [name for name in TOPICS if "prices" in declared_in(ROOT / f"notebooks/{name}.md")]
assert PRICED
# Pages of each make, and of lessons some of each part. The others are made by the same code; `make test-all` looks at them too.
SAMPLE = {"index", "kv_cache", "interconnect", "serving", "break_even", "total_cost", "sharing", "utilization", "drills", "interview",
          "which_gpu", "cases", "cards", "worksheets", "headlines", "conventions",
          "glossary", "api", "api_formulas_money", "search", "genindex", "404"}
assert not SAMPLE - {*PAGES, "search", "genindex", "404"}


def each_of(names, sample=SAMPLE):
    """A test for each page, a long one where it is not of the sample."""
    return pytest.mark.parametrize("name", [each if each in sample else pytest.param(each, marks=pytest.mark.long) for each in names])
