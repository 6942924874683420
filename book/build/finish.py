"""Finishes the pages that Sphinx made: charts, what a search engine reads, and nothing that a page does not need.

`python -m book.build.finish CACHE NOTEBOOK...` makes beforehand what needs no page.
"""

import csv
import datetime
import hashlib
import json
import os
import re
import sys
import textwrap
import time
from base64 import b64encode
from html import escape, unescape
from pathlib import Path
from urllib.parse import quote, urlsplit

import yaml

from ..components.links import CONTENTS, contents, CORE, PAGES
from . import around, assets, charts
from .charts import prepare
from .inputs import ROOT, BuildError, as_before, digest, write_whole

CONFIG = ROOT / "_config.yml"
# What readers type into the search, by the page that they mean.
SEARCH_WORDS = ROOT / "book/search_words.yml"
# Where a page went that has no address of its own any more: its old name, and the new one with its section.
MOVED = ROOT / "book/moved.csv"
NOT_FOUND = "404.html"
# Pages that a reader finds from the others, not from a search engine.
UNLISTED = {NOT_FOUND, "search.html", "genindex.html", "embed.html"}
# An answer alone, for a page elsewhere.
EMBED = """<!DOCTYPE html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>An answer</title>
    <style>:root { color-scheme: light dark; background: Canvas; font: 1rem/1.45 system-ui } main { padding: 1rem }
    h1 { font-size: 1.1rem }</style>
    %s
  </head>
  <body><main></main></body>
</html>
"""

# What the theme writes and this book does not want, and what takes its place.
PAGE_FIXES = {
    r'<script defer src="[^"]*(fontawesome|bootstrap)\.js[^"]*"></script>': "",
    r'<link rel="preload"[^>]*/(fontawesome|bootstrap)\.js[^>]*>': "",
    # The search page has these itself; elsewhere they serve a search as you type, which is off.
    r'(name="docsearch:version"[^>]*>)\s*(<script src="[^"]*(searchtools|language_data|searchindex)\.js"></script>\s*){3}': r"\1",
    # It stands there three times; the first is the theme's.
    r'<meta name="viewport" content="width=device-width, initial-scale=1" ?/>': "",
    # Light or dark is known before the first paint; the theme's own script, which comes later, would move lines.
    r'localStorage\.getItem\("theme"\) \|\| "auto";': (
        '{light: "light", dark: "dark"}[document.documentElement.dataset.mode]'
        ' || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light");'),
    # Bootstrap's tooltips are gone; the browser shows titles.
    r' data-bs-(?:toggle="tooltip"|placement="\w+")': "",
    r' data-bs-title="': ' title="',
    # Styles in attributes would need a weaker content security policy.
    r'<table style="width: 100%" class="': '<table class="index-columns ',
    r'<td style="width: 33%; vertical-align: top;">': "<td>",
    # A cell of a table needs no paragraph, and no class by its row.
    r"<td><p>([^<]*(?:<(?!/?p\b|/?td\b)[^<]*)*)</p></td>": r"<td>\1</td>",
    r'<tr class="row-(?:even|odd)">': "<tr>",
    r'<td><code class="docutils literal notranslate"><span class="pre">([^<]*)</span></code></td>': r"<td><code>\1</code></td>",
    # Accessible names that differ from the visible ones, and a sidebar outside every landmark.
    r'<summary aria-label="Toggle hidden content">': "<summary>",
    r'(<button class="btn search-button-field [^"]*") title="Search" aria-label="Search"': r"\1",
    r'<div id="pst-primary-sidebar" class': '<div id="pst-primary-sidebar" role="region" aria-label="Book" class',
    # The way to the text skips the buttons above it too.
    r'(<div id="pst-skip-link"[^>]*><a href=")#main-content("(?=[\s\S]*<article class="bd-article"))': r"\1#text\2",
    r'<article class="bd-article"': '<article id="text" class="bd-article"',
    # What unfolds is no place for a link.
    r'(<summary><h3>(?:(?!</h3>).)*?)<a class="headerlink"[^>]*>[^<]*</a>(?=</h3>)': r"\1",
    r'<a class="reference external" href=': '<a href=',
    # Most cells of tables are short: the style knows them by having no class.
    r'<td class="short">': "<td>",
    # The front page has the title of the book.
    r"<title>([^<]*) &#8212; \1</title>": r"<title>\1</title>",
    # End tags that HTML lets go: of a cell before the next one, of a row before the next one.
    r"</t[dh]>\s*(?=<t[dh][ >])": "", r"</tr>\s*(?=<tr[ >])": "",
}
# The core lessons in the list of pages.
CORE_TITLES = "|".join(re.escape(PAGES[name]) for name in CORE if name in PAGES) or "(?!)"
IN_SIDEBAR = re.compile(rf'(<li class="toctree-l1[^"]*)("><a [^>]*>\s*(?:{CORE_TITLES})\s*</a>)')
HEADLINE = re.compile(r'<div class="cell[^"]*tag_headline.*?<p>(.*?)</p>', re.DOTALL)
FIRST_PARAGRAPH = re.compile(r"<h1.*?<p>(.*?)</p>", re.DOTALL)
LONGEST_DESCRIPTION = 300
PRICE_DATE = re.compile(r'<time class="price-date" datetime="[^"]*">[^<]*</time>')
# The button that copies code, and what it stands on.
COPY_BUTTON = re.compile(r'<(?:link|script)[^>]*_static/(?:copybutton|clipboard\.min)[^>]*>(?:</script>)?\s*')
CODE = 'class="highlight'
LESSON_PLACE = re.compile(r'(<span class="lesson-place">[^<]*)</span>')
# A word to search for: h100, 70b and 2405, not 00aw, which ends one price and begins a provider.
WORD = re.compile(r"[^\d]+|(?!0)[^\d]{0,12}\d{1,4}[^\d]{0,4}\d{0,2}")
# No site that a page links to learns from which page a reader came.
REFERRER = '<meta name="referrer" content="no-referrer" />'
POLICY = "default-src 'none'; img-src 'self' data:; font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'"


def finish(html: Path, cache: Path, before: Path | None = None) -> None:
    """Finishes the site in the folder `html`, in place; a second time changes nothing.

    before: a folder that keeps what takes longest in a page, for the next time that Sphinx made it the same.
    Raises BuildError naming a page that cannot be finished.

    Charts are compiled and drawn by a part of Vega, styles and fonts hold what pages use, each page has a strict content
    security policy, a description and, where the site's address is known, links that need it.
    """
    address, repository = settings()
    scripts = [*assets.ENGINE, "front_state.js", "embed.js"]
    if all((html / "_static" / name).exists() for name in scripts):
        tags = "".join(f'<script defer="defer" src="_static/{name}"></script>' for name in scripts)
        (html / "embed.html").write_text(EMBED % tags, encoding="utf-8")
    pages = pages_of(html)
    if any('class="chart"' in page.read_text(encoding="utf-8") for page in pages):
        (html / "_static/vega.js").write_text(charts.library(cache), encoding="utf-8")
    for page in pages:
        change(page, lambda text, page=page: as_before(
            before and before / page.name, text, lambda: charts.compile_charts(fixed(text), cache)))
    assets.lighten(html, cache)
    assets.join_scripts(html, pages)
    tidy_index(html / "searchindex.js")
    versions = {path.name: digest(path.read_bytes())[:12] for path in sorted((html / "_static").rglob("*.*"))}
    for page in pages:
        name = page.relative_to(html).as_posix()
        change(page, lambda text, name=name: secured(footed(described(
            versioned(text, versions), name, address), name, repository)))
    if address:
        publish(html, address)
    around.surround(html, address, before)
    redirect(html, address)
    charts.prune(cache)


def tidy_index(path):
    """The search index without words that no page has any more, and without the cells of tables that Sphinx reads as one word.

    `rules` is what book/static/search.js ranks by: scores, words that readers have for a page, and what each page's part counts.
    """
    before, index, after = re.fullmatch(r"(.*?\()(.*)(\))", path.read_text(encoding="utf-8").strip(), re.DOTALL).groups()
    index = json.loads(index)
    for part in ("terms", "titleterms"):
        index[part] = {word: pages for word, pages in index[part].items() if pages != [] and WORD.fullmatch(word)}
    pages = index.get("docnames", [])
    if pages and SEARCH_WORDS.exists():
        rules = yaml.safe_load(SEARCH_WORDS.read_text(encoding="utf-8"))
        part = {name: rules["parts"][caption] for caption, names in contents(CONTENTS).items() for name in names}
        words = [[word, pages.index(page)] for page, words in rules["words"].items() if page in pages for word in words]
        index["rules"] = {"scores": rules["scores"], "skip": rules["skip"], "words": words,
                          "parts": [part.get(page, 0) for page in pages]}
    tidy = json.dumps(index, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    path.write_text(before + tidy + after, encoding="utf-8")


def pages_of(html):
    return sorted(page for page in html.rglob("*.html") if html / "_static" not in page.parents)


def change(path, edit):
    try:
        edited = edit(path.read_text(encoding="utf-8"))
    except Exception as error:
        raise BuildError(f"{path.name}, {error}") from error
    path.write_text(edited, encoding="utf-8")


def settings(config: Path = CONFIG) -> tuple[str, str]:
    """The site's address and the address of its repository, from the configuration or the environment; empty if unknown.

    Raises: ValueError if one is not an address.
    """
    given = yaml.safe_load(config.read_text(encoding="utf-8"))
    address = os.environ.get("BOOK_URL") or given.get("html", {}).get("baseurl") or ""
    repository = given.get("repository", {}).get("url") or ""
    if not repository and (name := os.environ.get("GITHUB_REPOSITORY")):
        repository = f"https://github.com/{name}"
    if address and not re.fullmatch(r"https?://[^\s\"'<>?#]+", address):
        raise ValueError(f"BOOK_URL, or html: baseurl in {config.name}, is {address!r}; allowed: https://HOST/PATH")
    if repository and not re.fullmatch(r"https://github\.com/[\w.-]+/[\w.-]+", repository):
        raise ValueError(
            f"GITHUB_REPOSITORY, or repository: url in {config.name}, gives {repository!r}; allowed: https://github.com/OWNER/NAME"
        )
    return address and address.rstrip("/") + "/", repository


def fixed(page):
    page = IN_SIDEBAR.sub(r"\1 core\2", page)
    for unwanted, wanted in PAGE_FIXES.items():
        page = re.sub(unwanted, wanted, page)
    return dated(page if CODE in page else COPY_BUTTON.sub("", page))


def dated(page):
    """A lesson with the date of its prices in its first line, where no fold hides how old they are."""
    price = PRICE_DATE.search(page)
    return LESSON_PLACE.sub(lambda place: f"{place[1]} · prices of {price[0]}</span>", page, count=1) if price else page


def versioned(page, versions):
    """The page with the checksum of each style and script in its address, so that no browser keeps an old one."""
    def link(match):
        version = versions.get(match[1].rpartition("/")[2])
        return f'"{match[1]}?v={version}"' if version else match[0]
    return re.sub(r'"((?:\.\./)*_static/[^"?]*\.(?:css|js))(?:\?[^"]*)?"', link, page)


def described(page, name, address):
    """The page with what search engines and messengers show of it."""
    about = "" if name in UNLISTED else description(page)
    head, end, body = page.partition("</head>")
    said = r'link rel="(?:canonical|alternate)"|meta (?:name="(?:description|twitter)|property="og:)'
    head = re.sub(rf"\n *<(?:{said})[^>]*>", "", head)
    title = unescape(re.search(r"<title>(.*?)</title>", head)[1]).partition(" — ")[0]
    tags = [meta("name", "description", about)] if about else []
    tags += [meta("property", "og:type", "website" if name == "index.html" else "article"), meta("property", "og:title", title)]
    tags += [meta("property", "og:description", about)] if about else []
    if address and name != NOT_FOUND:
        here = address + ("" if name == "index.html" else name)
        tags += [meta("property", "og:url", here), meta("property", "og:image", address + "_static/card.png"),
                 meta("property", "og:image:width", "1200"), meta("property", "og:image:height", "630"),
                 meta("name", "twitter:card", "summary_large_image")]
        tags.append(f'<link rel="canonical" href="{escape(here)}" />')
        tags.append(f'<link rel="alternate" type="application/atom+xml" title="Rents" href="{escape(address)}prices.atom" />')
    return head.replace("</title>", "</title>" + "".join(f"\n    {tag}" for tag in tags)) + end + body


AUTHOR = re.compile(r'<p class="component-author">.*?</p>', re.DOTALL)
LICENCES = (("text CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", "LICENSE-TEXT"),
            ("code MIT", "https://opensource.org/license/mit", "LICENSE"))


def footed(page, name, repository):
    """The page with its licences, the day on which it was made and, where the repository is known, where to correct it."""
    stem = name.removesuffix(".html")
    source = next((place for place in (f"notebooks/{stem}.md", f"book/{stem}.md") if (ROOT / place).exists()), None)
    links = [(said, f"{repository}/blob/HEAD/{file}" if repository else to) for said, to, file in LICENCES]
    if repository:
        title = quote(f"{stem}: an error")
        links += [("repository", repository), *([("edit this page", f"{repository}/edit/HEAD/{source}")] if source else []),
                  ("report an error", f"{repository}/issues/new?template=wrong-formula.yml&title={title}")]
    made = datetime.datetime.fromtimestamp(int(os.environ.get("SOURCE_DATE_EPOCH") or time.time()), datetime.UTC).date()
    said = " · ".join(["By The GPU arithmetic contributors", f'made on <time datetime="{made}">{made}</time>',
                       *(f'<a href="{escape(to)}">{text}</a>' for text, to in links)])
    return AUTHOR.sub(lambda _: f'<p class="component-author">{said}</p>', page)


def meta(kind, name, content):
    return f'<meta {kind}="{name}" content="{escape(content)}" />'


def description(page):
    """What the page says in short: its headline, else its first paragraph, up to the end of a sentence."""
    found = HEADLINE.search(page) or FIRST_PARAGRAPH.search(page)
    text = " ".join(unescape(re.sub(r"<[^>]*>", "", found[1])).split()) if found else ""
    if len(text) <= LONGEST_DESCRIPTION:
        return text
    whole = text[:LONGEST_DESCRIPTION].rpartition(". ")[0]
    return whole + "." if whole else text[: LONGEST_DESCRIPTION - 1].rpartition(" ")[0] + "…"


def secured(page):
    """The page with a content security policy that allows its own files and the scripts and styles that it holds now."""
    page = re.sub(rf'\n *<meta http-equiv="Content-Security-Policy"[^>]*>\n *{REFERRER}', "", page, count=1)
    scripts = re.findall(r"<script(?![^>]*(?:\ssrc=|application/json))[^>]*>(.*?)</script>", page, re.DOTALL)
    styles = re.findall(r"<style[^>]*>(.*?)</style>", page, re.DOTALL)
    policy = f"{POLICY}; script-src {allowed(scripts)}; style-src {allowed(styles)}"
    tag = f'\n    <meta http-equiv="Content-Security-Policy" content="{policy}" />\n    {REFERRER}'
    return re.sub(r'<meta charset="utf-8" />', lambda charset: charset[0] + tag, page, count=1)


def allowed(texts):
    hashes = {b64encode(hashlib.sha256(text.encode()).digest()).decode() for text in texts}
    return " ".join(["'self'", *(f"'sha256-{each}'" for each in sorted(hashes))])


def redirect(html, address, moved=MOVED):
    """Writes a page at each old address that leads to where its content went, with the section that was asked for, if any was."""
    if not moved.exists():
        return
    with open(moved, encoding="utf-8", newline="") as file:
        for old, new in csv.reader(file):
            name, _, section = new.partition("#")
            if old == "old" or not (html / name).exists():
                continue
            to, there = escape(new), section and f"#{section}"
            script = f'location.replace("{name}" + (location.hash || "{there}"))'
            write_whole(html / old, secured(
                f'<!DOCTYPE html>\n<html lang="en"><head>\n<meta charset="utf-8" />\n<title>{escape(name)}</title>\n'
                f'<link rel="canonical" href="{escape(address + name)}" />\n<meta http-equiv="refresh" content="0; url={to}" />\n'
                f'<script>{script}</script>\n</head>'
                f'<body><p>This page is now part of <a href="{to}">{to}</a>.</p></body></html>\n'))


CARD = """<svg xmlns="http://www.w3.org/2000/svg" width="1200" height="630" font-family="sans-serif" fill="#dce6f2">
<rect width="1200" height="630" fill="#0b2545"/>
<path d="M90 540 L480 440 L1110 440" fill="none" stroke="#6cb6ff" stroke-width="8" stroke-linejoin="round"/>
<circle cx="480" cy="440" r="14" fill="#ffb454"/>
<text x="90" y="110" font-size="34">GPU arithmetic</text>
<text x="90" y="205" font-size="76" font-weight="bold" fill="#ffffff">{asked}</text>
<text font-size="38">{lines}</text>
<text x="90" y="595" font-size="28">{dated}</text></svg>"""
FIRST_HEADING = re.compile(r"<h1[^>]*>(.*?)(?:<a|</h1>)", re.DOTALL)


def card(front):
    """A picture for links to the site: the front page's heading, what it says in short, and the date of its prices."""
    asked, price = FIRST_HEADING.search(front), PRICE_DATE.search(front)
    lines = textwrap.wrap(description(front), 56)[:3]
    return CARD.format(
        asked=escape(unescape(re.sub("<[^>]*>", "", asked[1]).strip())) if asked else "",
        lines="".join(f'<tspan x="90" y="{275 + 50 * place}">{escape(line)}</tspan>' for place, line in enumerate(lines)),
        dated=f"Prices of {re.sub('<[^>]*>', '', price[0])}; every figure with its range and its source" if price else "")


def publish(html, address):
    """Writes what only a site with an address needs: a map of its pages, a picture for links, and links of the page not found."""
    import vl_convert

    listed = sorted({page.relative_to(html).as_posix() for page in pages_of(html)} - UNLISTED)
    urls = "".join(f"<url><loc>{escape(address + ('' if name == 'index.html' else name))}</loc></url>\n" for name in listed)
    (html / "sitemap.xml").write_text(
        f'<?xml version="1.0" encoding="utf-8"?>\n<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">\n{urls}</urlset>\n'
    )
    (html / "_static/card.png").write_bytes(vl_convert.svg_to_png(card((html / "index.html").read_text(encoding="utf-8"))))
    # A page that is not found is shown at any depth, so its links start at the top of the site.
    root, relative = urlsplit(address).path, r'((?:href|src|action|data-content_root)=")(?![\w+.-]+:|[/#])(?:\./)?'
    change(html / NOT_FOUND, lambda page: re.sub(relative, rf"\g<1>{root}", page))


if __name__ == "__main__":
    prepare([Path(notebook) for notebook in sys.argv[2:]], Path(sys.argv[1]))
