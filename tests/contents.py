"""The pages of the book, as its table of contents lists them."""

import yaml

from book.editions import declared_in
from book.inputs import ROOT

TOC = yaml.safe_load((ROOT / "book/_toc.yml").read_text())
TOPICS, WORKSHEETS = ([chapter["file"] for chapter in part["chapters"]] for part in TOC["parts"][:2])
PAGES = [TOC["root"], *(chapter["file"] for part in TOC["parts"] for chapter in part["chapters"])]
# Pages whose figures follow from a price book.
PRICED = [name for name in TOPICS + WORKSHEETS if "prices" in declared_in(ROOT / f"notebooks/{name}.md")]
assert PRICED
