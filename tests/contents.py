"""The pages of the book, as its table of contents lists them."""

import yaml

from book.editions import declared_in
from book.extension import topics
from book.inputs import ROOT

TOC = yaml.safe_load((ROOT / "book/_toc.yml").read_text())
PARTS = {part["caption"]: [chapter["file"] for chapter in part["chapters"]] for part in TOC["parts"]}
TOPICS, WORKSHEETS = topics(), PARTS["Worksheets"]
PAGES = [TOC["root"], *(page for pages in PARTS.values() for page in pages)]
# Pages whose figures follow from a price book.
PRICED = [name for name in TOPICS + WORKSHEETS if "prices" in declared_in(ROOT / f"notebooks/{name}.md")]
assert PRICED
