"""What stands around the pages: their text for assistants, a feed of what rents did, a badge, and where a robot may go.

`python -m book.build.around BEFORE AFTER` compares the text of the pages of two folders.
"""
import functools
import re
import sys
from html import escape, unescape
from html.parser import HTMLParser
from pathlib import Path

from ..components.links import contents
from .inputs import as_before, write_whole

ABOUT = ("Which GPUs a large model of text needs, how fast it runs and what it costs. Every figure is computed from a formula "
         "and from data with a source and a date; a range beside it should hold eight in ten real cases.")
# What a page's text leaves out, and what begins a line of its own.
SKIPPED = {"script", "style", "template", "svg", "button", "nav", "form", "select", "dialog"}
BEGINNING = {"h1": "\n\n# ", "h2": "\n\n## ", "h3": "\n\n### ", "h4": "\n\n#### ", "li": "\n- ", "td": " | ", "th": " | ",
             "p": "\n\n", **dict.fromkeys(("tr", "pre", "summary", "dt", "dd", "figcaption", "br"), "\n")}
ARTICLE = re.compile(r'<article[^>]* class="bd-article"[^>]*>(.*?)</article>', re.DOTALL)
PRICED = re.compile(r'class="price-date" datetime="([\d-]+)"')
DESCRIBED = re.compile(r'<meta name="description" content="([^"]*)"')
# The parts of the contents whose pages are given whole.
WHOLE = ("Answer", "Learn", "Operate")
BADGE_GPU = "H100 SXM 80GB"
# Rents that moved by less are as they were.
MOVED = 0.01
BADGE = """<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" aria-label="{text}">
<title>{text}</title>
<rect width="{width}" height="20" rx="3" fill="#0b2545"/>
<text x="8" y="14" fill="#fff" font-family="Verdana,sans-serif" font-size="11" textLength="{inner}">{text}</text></svg>
"""


class Text(HTMLParser):
    """The text of a page, its headings, lists and tables as Markdown; formulas in MathML by their letters."""

    def __init__(self):
        super().__init__()
        self.parts, self.skipped, self.code = [], 0, 0

    def handle_starttag(self, tag, attrs):
        self.skipped += tag in SKIPPED
        self.code += tag == "pre"
        self.parts.append("" if self.skipped else BEGINNING.get(tag, ""))

    def handle_endtag(self, tag):
        self.skipped -= tag in SKIPPED
        self.code -= tag == "pre"

    def handle_data(self, data):
        if not self.skipped:
            self.parts.append(data if self.code else re.sub(r"\s+", " ", data))


def article(page: str) -> str:
    """What a page has between its head, its sidebars and its foot."""
    found = ARTICLE.search(page)
    return found[1] if found else ""


def text_of(part: str) -> str:
    """The text of an article."""
    reader = Text()
    reader.feed(re.sub(r'<a class="headerlink".*?</a>', "", part))
    lines = [line.strip() for line in "".join(reader.parts).splitlines()]
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip()


def for_assistants(html: Path, address: str, before: Path | None = None) -> None:
    """Writes llms.txt, each page with its headline and the date of its prices, and llms-full.txt, the text of the lessons.

    before: a folder that keeps the text of a page beside it, for the next time that its article is the same.
    """
    short, full = [f"# GPU arithmetic\n\n> {ABOUT}"], [f"# GPU arithmetic\n\n> {ABOUT}"]
    for caption, pages in contents().items():
        listed = []
        for name, title in pages.items():
            if not (path := html / f"{name}.html").exists():
                continue
            page = path.read_text(encoding="utf-8")
            said, dated = DESCRIBED.search(page), PRICED.search(page)
            of = f" (prices of {dated[1]})" if dated else ""
            listed.append(f"- [{title or name}]({address}{name}.html): {unescape(said[1]) if said else ''}{of}")
            if caption in WHOLE:
                part = article(page)
                text = as_before(before and before / f"{name}.txt", part, functools.partial(text_of, part))
                full.append(f"<{address}{name}.html>{of}\n\n{text}")
        short += [f"## {caption}\n\n" + "\n".join(listed)] if listed else []
    write_whole(html / "llms.txt", "\n\n".join(short) + "\n")
    write_whole(html / "llms-full.txt", "\n\n---\n\n".join(full) + "\n")


def moves() -> list[dict]:
    """What the cheapest firm rent on demand of each GPU did between two of the project's price books, the newest first."""
    from gpucalc.rows import project_books, store
    books = project_books.price_books()

    def made():
        from gpucalc.rows.rents import firm_rents
        rents = [firm_rents(project_books.project_book(path)).set_index("gpu") for path in books]
        found = []
        for path, before, after in list(zip(books[1:], rents, rents[1:]))[::-1]:
            rows = {gpu: {"gpu": gpu, "usd_per_hour": float(row["usd_per_hour"]), **{
                name: str(row[name]) for name in ("provider", "date", "source")}} for gpu, row in after.iterrows()}
            both = [row | {"before": float(before.loc[gpu, "usd_per_hour"])} for gpu, row in rows.items() if gpu in before.index]
            found.append({"book": path.stem, "badge": rows.get(BADGE_GPU),
                          "rows": [row for row in both if abs(row["usd_per_hour"] / row["before"] - 1) >= MOVED]})
        return found
    return store.recalled(store.key("moves", *(path.name.encode() + path.read_bytes() for path in books)), made)


def badge(found: list[dict]) -> str:
    """An SVG with the cheapest firm rent of an H100 and its date."""
    held = found[0]["badge"]
    text = f"{BADGE_GPU.split()[0]} from {held['usd_per_hour']:.2f} USD/h, {held['date']}" if held else f"no rent of {BADGE_GPU}"
    return BADGE.format(text=escape(text), width=round(6.6 * len(text)) + 16, inner=round(6.6 * len(text)))


def feed(address: str, found: list[dict]) -> str:
    """An Atom feed with an entry for each book: the rents that moved."""
    where, entries = escape(address + "what_changed.html"), []
    for each in found:
        lower = sum(row["usd_per_hour"] < row["before"] for row in each["rows"])
        title = f"Rents of {each['book']}: {lower} lower, {len(each['rows']) - lower} higher"
        lines = [f"{row['gpu']}: {row['before']:.2f} to {row['usd_per_hour']:.2f} USD/h at {row['provider']}, {row['date']}, "
                 f"{row['source']}" for row in each["rows"]]
        content = escape("<ul>" + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>")
        entries.append(f'<entry><id>{where}#{each["book"]}</id><title>{title}</title><updated>{each["book"]}T00:00:00Z</updated>'
                       f'<link href="{where}"/><content type="html">{content}</content></entry>\n')
    return (f'<?xml version="1.0" encoding="utf-8"?>\n<feed xmlns="http://www.w3.org/2005/Atom">\n<id>{escape(address)}prices.atom</id>'
            f'<title>GPU arithmetic: what rents did</title><updated>{found[0]["book"]}T00:00:00Z</updated>\n'
            f'<author><name>The GPU arithmetic contributors</name></author>\n'
            f'<link rel="self" href="{escape(address)}prices.atom"/>\n'
            f'{"".join(entries)}</feed>\n')


def surround(html: Path, address: str, before: Path | None = None) -> None:
    """Writes what stands around the pages: what needs the site's address only where that is known."""
    for_assistants(html, address, before)
    found = moves() if (html / "what_changed.html").exists() else []
    if found:
        write_whole(html / "h100.svg", badge(found))
    if found and address:
        write_whole(html / "prices.atom", feed(address, found))
    if address:
        write_whole(html / "robots.txt", f"User-agent: *\nAllow: /\nSitemap: {address}sitemap.xml\n")


def main(before: str, after: str) -> int:
    """Compare the text of the pages of two folders: says which differ; returns 1 where one does, or is missing."""
    old, new = ({path.name: text_of(article(path.read_text(encoding="utf-8"))) for path in Path(place).glob("*.html")}
                for place in (before, after))
    differ = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    print(f"{len(new)} pages, {len(differ)} that differ", *differ, sep="\n  ")
    return int(bool(differ) or not new)


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
