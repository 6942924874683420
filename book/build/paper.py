"""The site as one file, its pages in the order of the contents: `python -m book.build.paper pdf` or `epub`, after `make book`."""

import datetime
import os
import re
import sys
import tempfile
import time
import zipfile
from html import escape
from pathlib import Path
from urllib.parse import unquote, urlsplit

import yaml

from ..components.links import contents as parts
from .inputs import ROOT

# The text of an A4 sheet with the margins of site.css, in pixels of 1/96 inch: (210 - 2 x 16) mm by (297 - 2 x 18) mm.
SHEET = {"width": 673, "height": 986}
# A formula does not break into lines: one that is wider than the sheet is set smaller.
FIT = """() => document.querySelectorAll("article math").forEach((each) => {
  const { left, right } = each.getBoundingClientRect(), room = document.documentElement.clientWidth - left;
  if (right - left > room) each.style.fontSize = `${Math.floor(95 * room / (right - left)) / 100}em`;
})"""
# A link within the site leads nowhere from a file of its own.
DROP_LOCAL_LINKS = """() => document.querySelectorAll("article a[href]").forEach((link) => {
  if (link.protocol === "file:" && link.pathname !== location.pathname) link.removeAttribute("href");
})"""
# The article as XHTML: what only a browser can do is gone, folds are open but those of code and derivations, drawings have the
# colours that they are shown with, links lead to the pages of these names. Also its heading, and the pictures that it shows.
AS_XHTML = """(names) => {
  const article = document.querySelector("article"), pictures = [];
  const all = (what) => [...article.querySelectorAll(what)];
  const gone = "script, style, template, noscript, button, form, input, select, textarea, dialog, nav, [hidden], "
    + ".headerlink, .expanded, .guess label, .chart-controls";
  all("th button").forEach((each) => each.replaceWith(...each.childNodes));
  all(gone).forEach((each) => each.remove());
  all("details").forEach((each) => { each.open = !each.matches(".hide, .derivation, .derivation *"); });
  for (const each of all("svg, svg *")) {
    const shown = getComputedStyle(each);
    for (const name of ["fill", "stroke", "stroke-width", "font-size", "font-family", "opacity"])
      each.setAttribute(name, shown.getPropertyValue(name));
  }
  for (const link of all("a[href]")) {
    const { protocol, pathname, hash } = new URL(link.getAttribute("href"), location);
    const name = pathname.split("/").at(-1).replace(/\\.html$/, "");
    if (protocol !== "file:") continue;
    if (names.includes(name)) link.setAttribute("href", `${name}.xhtml${hash}`);
    else link.removeAttribute("href");
  }
  for (const each of all("img")) {
    if (!each.src.startsWith("file:")) continue;
    pictures.push(each.src);
    each.setAttribute("src", `pictures/${each.src.split("/").at(-1)}`);
  }
  const ids = all("[id]").map((each) => each.id), title = article.querySelector("h1").firstChild.textContent;
  return { text: new XMLSerializer().serializeToString(article), title, pictures, ids };
}"""
STYLE = """body { line-height: 1.4 } table { border-collapse: collapse; font-size: 0.8em }
td, th { border: 1px solid #999; padding: 0.2em }
svg, img { max-width: 100%; height: auto } pre { white-space: pre-wrap; font-size: 0.8em } figure { margin: 1em 0 }
.formula-number { float: right } summary p { display: inline }
"""
PAGE = """<?xml version="1.0" encoding="utf-8"?>
<!DOCTYPE html>
<html xmlns="http://www.w3.org/1999/xhtml" xmlns:epub="http://www.idpf.org/2007/ops" xml:lang="en" lang="en">
<head><title>{title}</title><link rel="stylesheet" type="text/css" href="style.css"/></head>
<body>{text}</body></html>
"""
CONTAINER = """<?xml version="1.0"?>
<container version="1.0" xmlns="urn:oasis:names:tc:opendocument:xmlns:container"><rootfiles>
<rootfile full-path="book/content.opf" media-type="application/oebps-package+xml"/></rootfiles></container>
"""
PACKAGE = """<?xml version="1.0" encoding="utf-8"?>
<package xmlns="http://www.idpf.org/2007/opf" version="3.0" unique-identifier="id" xml:lang="en">
<metadata xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:identifier id="id">gpu-arithmetic-{made}</dc:identifier>
<dc:title>GPU arithmetic</dc:title><dc:language>en</dc:language><dc:creator>The GPU arithmetic contributors</dc:creator>
<meta property="dcterms:modified">{made}</meta></metadata>
<manifest>{items}</manifest>
<spine>{spine}</spine></package>
"""
# A link to a place of a page: one that was left out is no place to lead to.
PLACE = re.compile(r'href="([\w-]+)\.xhtml#([^"]*)"')
MEDIA = {".xhtml": "application/xhtml+xml", ".css": "text/css", ".png": "image/png", ".svg": "image/svg+xml"}


def pages_in_order(contents):
    root = yaml.safe_load(contents.read_text(encoding="utf-8"))["root"]
    return [root, *(name for pages in parts(contents).values() for name in pages)]


def opened(browser, site, names):
    """Each page of the site, in light colours; it says so once it was used."""
    from tests.browser import leave, visit

    for name in names:
        page = visit(browser, (site / f"{name}.html").as_uri(), color_scheme="light")
        yield name, page
        leave(page)
        print(f"Printed {name}", flush=True)


def on_sheet(page):
    """Lays the page out as it is printed."""
    page.set_viewport_size(SHEET)
    page.emulate_media(media="print")
    page.evaluate("() => window.dispatchEvent(new Event('beforeprint'))")
    page.evaluate(FIT)


def write_pdf(browser, site: Path, names: list[str], target: Path) -> None:
    """Writes the pages of the site with these names to one PDF, with a bookmark for each."""
    from pypdf import PdfWriter

    book = PdfWriter()
    with tempfile.TemporaryDirectory() as folder:
        for name, page in opened(browser, site, names):
            paper = Path(folder, f"{name}.pdf")
            on_sheet(page)
            page.evaluate(DROP_LOCAL_LINKS)
            page.pdf(path=paper, prefer_css_page_size=True, print_background=True)
            book.append(paper, outline_item=page.locator("h1").first.evaluate("each => each.firstChild.textContent"))
    book.write(target)


def write_epub(browser, site: Path, names: list[str], target: Path) -> None:
    """Writes the pages of the site with these names to one EPUB 3, with its contents and pictures."""
    made = {name: page.evaluate(AS_XHTML, names) for name, page in opened(browser, site, names)}
    files = {"style.css": STYLE.encode()}
    for name, page in made.items():
        text = PLACE.sub(lambda link: link[0] if unquote(link[2]) in made[link[1]]["ids"] else f'href="{link[1]}.xhtml"',
                         page["text"])
        files[f"{name}.xhtml"] = PAGE.format(title=escape(page["title"]), text=text).encode()
        shown = [Path(unquote(urlsplit(each).path)) for each in page["pictures"]]
        files |= {f"pictures/{path.name}": path.read_bytes() for path in shown}
    listed = "".join(f'<li><a href="{name}.xhtml">{escape(page["title"])}</a></li>' for name, page in made.items())
    contents = f'<nav epub:type="toc"><h1>Contents</h1><ol>{listed}</ol></nav>'
    files["nav.xhtml"] = PAGE.format(title="Contents", text=contents).encode()
    items = "".join(f'<item id="f{place}" href="{name}" media-type="{MEDIA[Path(name).suffix]}"{_properties(name, content)}/>\n'
                    for place, (name, content) in enumerate(files.items()))
    spine = "".join(f'<itemref idref="f{place}"/>' for place, name in enumerate(files) if name.removesuffix(".xhtml") in made)
    day = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), datetime.UTC)
    package = PACKAGE.format(made=f"{day:%Y-%m-%dT%H:%M:%SZ}", items=items, spine=spine)
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as book:
        book.writestr("mimetype", "application/epub+zip", zipfile.ZIP_STORED)
        book.writestr("META-INF/container.xml", CONTAINER)
        book.writestr("book/content.opf", package)
        for name, content in files.items():
            book.writestr(f"book/{name}", content)


def _properties(name, content):
    """What a reader of books has to know of a file."""
    held = [word for word, there in (("nav", name == "nav.xhtml"), ("svg", b"<svg" in content), ("mathml", b"<math" in content))
            if there and name.endswith(".xhtml")]
    return f' properties="{" ".join(held)}"' if held else ""


def main(kind):
    from playwright.sync_api import sync_playwright

    from tests.browser import launch

    site, target = ROOT / "_build/html", ROOT / f"_build/book.{kind}"
    if not (site / "index.html").exists():
        sys.exit("There is no site to print: make book makes it.")
    with sync_playwright() as playwright:
        write = write_pdf if kind == "pdf" else write_epub
        write(launch(playwright), site, pages_in_order(ROOT / "book/_toc.yml"), target)
    print(f"The book is {target}")


if __name__ == "__main__":
    main(sys.argv[1])
