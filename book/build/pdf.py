"""Prints the site as one PDF, its pages in the order of the contents: `python -m book.build.pdf`, after `make book`."""

import sys
import tempfile
from pathlib import Path

import yaml

from ..components.links import contents as parts
from .inputs import ROOT

# A link within the site leads nowhere from a file of its own.
DROP_LOCAL_LINKS = """() => document.querySelectorAll("article a[href]").forEach((link) => {
  if (link.protocol === "file:" && link.pathname !== location.pathname) link.removeAttribute("href");
})"""


def pages_in_order(contents):
    root = yaml.safe_load(contents.read_text(encoding="utf-8"))["root"]
    return [root, *(name for pages in parts(contents).values() for name in pages)]


def print_book(site: Path, names: list[str], target: Path) -> None:
    """Writes the pages of the site with these names to one PDF, with a bookmark for each."""
    from playwright.sync_api import sync_playwright
    from pypdf import PdfWriter

    from tests.browser import launch, visit

    book = PdfWriter()
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = launch(playwright)
        for name in names:
            page, paper = visit(browser, (site / f"{name}.html").as_uri(), color_scheme="light"), Path(folder, f"{name}.pdf")
            page.evaluate(DROP_LOCAL_LINKS)
            page.pdf(path=paper, prefer_css_page_size=True, print_background=True)
            book.append(paper, outline_item=page.locator("h1").first.evaluate("each => each.firstChild.textContent"))
            page.context.close()
            print(f"Printed {name}", flush=True)
        browser.close()
    book.write(target)


if __name__ == "__main__":
    site, target = ROOT / "_build/html", ROOT / "_build/book.build.pdf"
    if not (site / "index.html").exists():
        sys.exit("There is no site to print: make book makes it.")
    print_book(site, pages_in_order(ROOT / "book/_toc.yml"), target)
    print(f"The book is {target}")
