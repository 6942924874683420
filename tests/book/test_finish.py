"""What becomes of the pages that Sphinx made: charts compiled, weight shed, a policy that holds, and twice is once."""

import hashlib
import json
import re
import subprocess
import sys
from base64 import b64encode
from pathlib import Path

import pytest

from book.build import assets, charts, finish
from book.build.inputs import BuildError, ROOT

ALT = "Two bars, of which the second is twice as high as the first."
SPEC = {
    "data": {"values": [{"name": "a", "size": 1}, {"name": "b", "size": 2}]}, "width": "container", "height": 340,
    "autosize": {"type": "fit-x", "contains": "padding"}, "mark": "bar",
    "params": [{"name": "scale", "value": 1, "bind": {"input": "range", "min": 1, "max": 2, "step": 1, "name": "size <of it>"}}],
    "encoding": {"x": {"field": "name", "type": "nominal"}, "y": {"field": "size", "type": "quantitative"}},
    "usermeta": {"alt": ALT, "gpucalc": {"x": "size"}},
}
PAGE = """<!DOCTYPE html>
<html lang="en" data-content_root="./">
  <head>
    <meta charset="utf-8" />
    <title>{title} &#8212; GPU arithmetic</title>
    <script>let own = 1 < 2;</script>
    <link rel="stylesheet" href="_static/styles/pydata-sphinx-theme.css?digest=0" />
    <script src="_static/site.js?v=0"></script>
  </head>
  <body><div class="article-header-buttons"></div><h1 class="used">{title}</h1>
<p>The <em>first</em> sentence. {filler}</p><a href="other.html#x">other</a><a href="https://example.org/">away</a>
<div class="cell tag_x"></div>{chart}</body>
</html>
"""


@pytest.fixture(scope="module")
def cache(tmp_path_factory):
    """What is slow to make is made once for all tests here."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def empty(tmp_path):
    return tmp_path / "cache"


@pytest.fixture
def html(tmp_path):
    folder = tmp_path / "html"
    (folder / "_static/styles").mkdir(parents=True)
    (folder / "_static/site.js").write_text("document.body.classList.add('scripted')")
    (folder / "_static/site.js.map").write_text("{}")
    (folder / "_static/styles/pydata-sphinx-theme.css").write_text(".used, .unused { color: red } .scripted { color: blue }")
    filler = "More follows here, and it is long. " * 20
    (folder / "searchindex.js").write_text('Search.setIndex({"terms": {"kept": [1, 0], "gone": [], "a": 0, "h100": 1, "00aw": 1, "405b": 0}, "titleterms": {}})')
    (folder / "index.html").write_text(PAGE.format(title="GPU arithmetic", filler="", chart=""))
    (folder / "lesson.html").write_text(PAGE.format(title="A lesson", filler=filler, chart=charts.chart_html(SPEC)))
    (folder / "404.html").write_text(PAGE.format(title="Nothing here", filler="", chart=""))
    return folder


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    monkeypatch.delenv("BOOK_URL", raising=False)
    monkeypatch.delenv("GITHUB_REPOSITORY", raising=False)


def contents(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def policy_of(page):
    return re.search(r'Content-Security-Policy" content="([^"]*)"', page)[1]


@pytest.mark.parametrize("address", ["", "https://example.org/gpu"])
def test_finishing_twice_is_finishing_once(html, cache, monkeypatch, address):
    monkeypatch.setenv("BOOK_URL", address)
    monkeypatch.setenv("GITHUB_REPOSITORY", "owner/name" if address else "")
    finish.finish(html, cache)
    once = contents(html)
    finish.finish(html, cache)
    assert contents(html) == once


def test_a_page_is_finished_anew_where_its_text_changed_or_what_is_kept_is_spoiled(html, cache, tmp_path, monkeypatch):
    made, compiled, raw = [], charts.compile_charts, contents(html)
    monkeypatch.setattr(charts, "compile_charts", lambda page, cache: made.append(page) or compiled(page, cache))

    def finished(**texts):
        made.clear()
        for name, text in (raw | texts).items():
            (html / name).parent.mkdir(exist_ok=True)
            (html / name).write_bytes(text)
        finish.finish(html, cache, tmp_path / "before")
        return len(made), contents(html)

    count, once = finished()
    assert count == 3 and finished() == (0, once)
    edited = {"lesson.html": raw["lesson.html"].replace(b"A lesson", b"Another lesson")}
    count, other = finished(**edited)
    assert count == 1 and [name for name in once if other[name] != once[name]] == ["lesson.html"]
    for spoil in (lambda text: text[:-9], lambda text: text.replace(b"away", b"here"), lambda text: b""):
        kept = tmp_path / "before/index.html"
        kept.write_bytes(spoil(kept.read_bytes()))
        assert finished(**edited) == (1, other)


def test_a_chart_is_compiled_in_the_theme_s_stand_ins(html, cache):
    finish.finish(html, cache)
    page = (html / "lesson.html").read_text()
    vega = json.loads(re.search(r'data-kind="vega">(.*?)</script>', page)[1])
    assert "encoding" not in vega and vega["marks"]
    assert vega["usermeta"] == SPEC["usermeta"]
    assert {charts.TEXT, charts.FONT, charts.CATEGORIES[0]} <= set(re.findall(r'"(@\w+)"', page))
    assert 'data-kind="vega-lite' not in page
    assert "size &lt;of it&gt;" in page, "a slider has no room, or its name is markup"
    assert 340 < int(re.search(r'<svg class="pst-js-only" width="100%" height="(\d+)"', page)[1]) < 500
    library = (html / "_static/vega.js").read_text()
    assert 300_000 < len(library) < 550_000


def test_a_chart_without_words_is_refused():
    with pytest.raises(ValueError, match=r"usermeta\.alt"):
        charts.chart_html({key: value for key, value in SPEC.items() if key != "usermeta"})


def bars(*rows):
    """Bars with a legend, to which Vega gives no height where there is no row."""
    return SPEC | {"data": {"values": rows}, "encoding": SPEC["encoding"] | {"color": {"field": "name", "type": "nominal"}}}


@pytest.mark.parametrize("broken, reason", [(bars(), "it has no height; has its data no rows?"),
                                            (SPEC | {"mark": "nonsense"}, "Vega-Lite to Vega conversion failed: TypeError: ")])
def test_a_chart_that_cannot_be_drawn_names_its_page_its_cell_and_the_reason(html, cache, broken, reason):
    (html / "lesson.html").write_text(PAGE.format(title="A lesson", filler="", chart=charts.chart_html(broken, 12)))
    with pytest.raises(BuildError, match=re.escape(f"lesson.html, cell 12, chart {ALT!r}: {reason}")):
        finish.finish(html, cache)
    assert charts.compile_chart(bars({"name": "a", "size": 1}))


def test_markup_in_a_chart_ends_no_script():
    spec = SPEC | {"data": {"values": [{"name": "</script><script>alert(1)</script>", "size": 1}]}}
    assert charts.chart_html(spec).count("</script>") == 1


@pytest.mark.parametrize("spoiled", ["tex", "text 3", "", "\0"])
def test_a_cache_entry_that_is_not_whole_is_made_again(empty, spoiled):
    made = []

    def make():
        made.append("made")
        return "text 2"
    assert charts.kept(empty, "kind", "key", make) == charts.kept(empty, "kind", "key", make) == "text 2"
    assert len(made) == 1
    entry, = empty.iterdir()
    entry.write_text(entry.read_text().replace("text 2", spoiled))
    assert charts.kept(empty, "kind", "key", make) == "text 2"
    assert len(made) == 2
    assert len(list(empty.iterdir())) == 1, "something was left behind"


def test_another_input_is_another_entry(empty):
    assert charts.kept(empty, "kind", "one", lambda: "1") == "1"
    assert charts.kept(empty, "kind", "two", lambda: "2") == "2"


def test_the_cache_does_not_grow_for_ever(empty, monkeypatch):
    monkeypatch.setattr(charts, "KEPT", 3)
    for number in range(5):
        charts.kept(empty, "kind", str(number), lambda: "text")
    charts.prune(empty)
    assert len(list(empty.iterdir())) == 3


def test_what_is_prepared_is_not_made_again(tmp_path, html, empty, monkeypatch):
    cells = [{"outputs": [{"data": {charts.MIME: SPEC}}, {"name": "stdout"}]}, {}]
    notebook = tmp_path / "lesson.ipynb"
    notebook.write_text(json.dumps({"cells": cells}))
    finish.prepare([notebook], empty)
    monkeypatch.setattr(charts, "compile_chart", None)
    monkeypatch.setattr(charts, "bundle", None)
    finish.finish(html, empty)


def test_styles_keep_what_a_page_or_script_could_match():
    style = """
      .a, .b > .c:hover { x: 1 } .d { x: 2 } p { x: 3 } .a:not(.d), :is(.d, .a) { x: 4 } #e.a { x: 5 } [class*="d"] { x: 6 }
      @media print { .d { x: 7 } .a { x: 8 } } @media screen { .d { x: 9 } } @font-face { font-family: F }
      .a:is(.b, .d) .d { x: 10 }
    """
    kept = assets.purged(style, {"a", "c", "e"})
    assert re.findall(r"x:(\d+)", kept) == ["1", "3", "4", "5", "6", "8"]
    assert ".c:hover" not in kept and "@font-face" in kept


def test_a_site_holds_the_styles_and_scripts_that_it_uses(html, cache):
    finish.finish(html, cache)
    style = (html / "_static/styles/pydata-sphinx-theme.css").read_text()
    assert ".used{" in style and ".unused" not in style and ".scripted" in style
    assert not (html / "_static/site.js.map").exists()


def test_scripts_that_a_page_loads_in_a_row_are_one(html, cache):
    """In their order, for each page that loads them all; what another page loads by itself stays."""
    names = [*assets.DRILLS, "other.js"]
    for name in names:
        (html / "_static" / name).write_text(f"ran('{name}');\n")
    tags = {page: "\n".join(f'<script defer="defer" src="_static/{name}?v=0"></script>' for name in loaded)
            for page, loaded in (("index", names), ("lone", names[:1]))}
    for page, text in tags.items():
        (html / f"{page}.html").write_text(PAGE.format(title=page, filler="", chart=text))
    for _ in range(2):
        finish.finish(html, cache)
        said = (html / "index.html").read_text()
        assert re.findall(r'defer" src="_static/([\w.]+)\?v=\w{12}"', said) == ["training.js", "other.js"]
        assert re.findall(r"ran\('(.*?)'\)", (html / "_static/training.js").read_text()) == assets.DRILLS
        assert {path.name for path in (html / "_static").glob("*.js")} == {"vega.js", "site.js", "training.js", "other.js", names[0]}


def test_a_file_s_address_changes_with_what_is_in_it(html, cache):
    finish.finish(html, cache)
    before = (html / "index.html").read_text()
    assert "?digest=0" not in before and "?v=0" not in before
    (html / "_static/site.js").write_text("another()")
    finish.finish(html, cache)
    address = r"site\.js\?v=\w+"
    assert re.search(address, before)[0] != re.search(address, (html / "index.html").read_text())[0]


def test_the_search_index_has_no_word_that_no_page_has(html, cache):
    finish.finish(html, cache)
    assert (html / "searchindex.js").read_text() == 'Search.setIndex({"terms":{"405b":0,"a":0,"h100":1,"kept":[1,0]},"titleterms":{}})'


def test_the_search_index_has_the_rules_of_its_order(html, cache):
    index = {"terms": {}, "titleterms": {}, "docnames": ["glossary", "interconnect"]}
    (html / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    finish.finish(html, cache)
    found = json.loads((html / "searchindex.js").read_text().partition("(")[2].rstrip(")"))["rules"]
    assert ["NVLink", 1] in found["words"] and found["parts"][1] > found["parts"][0] and found["scores"]["title"] > found["scores"]["text"]


def test_the_policy_names_the_scripts_of_the_page_by_their_hash(html, cache):
    finish.finish(html, cache)
    policy = policy_of((html / "lesson.html").read_text())
    own = b64encode(hashlib.sha256(b"let own = 1 < 2;").digest()).decode()
    assert f"script-src 'self' 'sha256-{own}';" in policy, "data that a page holds is no script"
    assert "unsafe" not in policy and "default-src 'none'" in policy


def test_a_page_s_head_says_what_it_is(html, cache):
    finish.finish(html, cache)
    front, lesson = (html / "index.html").read_text(), (html / "lesson.html").read_text()
    assert "<title>GPU arithmetic</title>" in front and "<title>A lesson &#8212; GPU arithmetic</title>" in lesson
    said = re.search(r'name="description" content="([^"]*)"', lesson)[1]
    assert said.startswith("The first sentence. More follows") and said.endswith("it is long.")
    assert 200 < len(said) <= finish.LONGEST_DESCRIPTION
    assert "canonical" not in lesson and "og:image" not in lesson and not (html / "sitemap.xml").exists()


def test_a_site_with_an_address_has_a_map_a_card_and_links_from_any_depth(html, cache, monkeypatch):
    monkeypatch.setenv("BOOK_URL", "https://example.org/gpu")
    finish.finish(html, cache)
    assert re.findall(r"<loc>(.*?)</loc>", (html / "sitemap.xml").read_text()) == [
        "https://example.org/gpu/", "https://example.org/gpu/lesson.html"]
    lesson, missing = (html / "lesson.html").read_text(), (html / "404.html").read_text()
    assert '<link rel="canonical" href="https://example.org/gpu/lesson.html" />' in lesson
    named = 'property="og:image" content="https://example.org/gpu/_static/card.png"'
    assert all(page.read_text().count(named) == (page.name != "404.html") for page in html.glob("*.html") if page.name != "old.html")
    assert 'name="twitter:card" content="summary_large_image"' in lesson
    picture = (html / "_static/card.png").read_bytes()
    assert picture.startswith(b"\x89PNG") and (int.from_bytes(picture[16:20]), int.from_bytes(picture[20:24])) == (1200, 630)
    assert 'href="/gpu/other.html#x"' in missing and 'src="/gpu/_static/site.js' in missing
    assert 'href="https://example.org/"' in missing and 'data-content_root="/gpu/"' in missing
    assert 'href="other.html#x"' in lesson, "only a page that is not found is shown at any depth"


def test_the_card_has_the_heading_of_the_front_page_and_the_date_of_its_prices():
    front = ('<h1>What <em>&amp;</em> where?<a class="headerlink" href="#a">#</a></h1><p>' + "Say what you want to run. " * 20 + "</p>"
             '<p>Prices of <time class="price-date" datetime="2026-11-09">2026-11-09</time></p>')
    said = finish.card(front)
    assert "What &amp; where?</text>" in said and "Prices of 2026-11-09" in said and said.count("<tspan") == 3
    assert "Prices of" not in finish.card("<p>no heading</p>")


def test_settings_come_from_the_file_or_the_environment(tmp_path, monkeypatch):
    config = tmp_path / "_config.yml"
    config.write_text("html: {baseurl: 'https://a.org'}\nrepository: {url: 'https://github.com/a/b'}\n")
    assert finish.settings(config) == ("https://a.org/", "https://github.com/a/b")
    monkeypatch.setenv("BOOK_URL", "https://b.org/c/")
    monkeypatch.setenv("GITHUB_REPOSITORY", "c/d")
    assert finish.settings(config) == ("https://b.org/c/", "https://github.com/a/b")
    config.write_text("html: {}\n")
    assert finish.settings(config) == ("https://b.org/c/", "https://github.com/c/d")


@pytest.mark.parametrize(("name", "value"), [
    ("BOOK_URL", "javascript:alert(1)"), ("BOOK_URL", 'https://a.org/" onload="x'), ("GITHUB_REPOSITORY", "a"),
    ("GITHUB_REPOSITORY", 'a/b"><script>')])
def test_a_setting_that_is_no_address_is_refused_by_name(monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    with pytest.raises(ValueError, match=f"{name}.*{re.escape(repr(value)[1:-1])}.*allowed"):
        finish.settings()


@pytest.mark.long
def test_jupyter_book_by_hand_is_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.delenv("GPU_BOOK_PIPELINE", raising=False)
    command = [str(Path(sys.executable).with_name("jupyter-book")), "build", str(ROOT / "book")]
    command += ["--config", str(ROOT / "_config.yml"), "--path-output", str(tmp_path)]
    by_hand = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert by_hand.returncode == 1
    assert by_hand.stderr == "make book makes this book: it runs the notebooks and then Jupyter Book. Nothing was written.\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(("latex", "expected"), [
    (r"\alpha_f", "<msub><mi>α</mi><mi>f</mi></msub>"), (r"c_{\mathrm{home}}", "<msub><mi>c</mi><mi>home</mi></msub>"),
    (r"a < 3", "<mi>a</mi><mo>&lt;</mo><mn>3</mn>"),
    (r"\frac{a}{b + c}", "<mfrac><mi>a</mi><mrow><mi>b</mi><mo>+</mo><mi>c</mi></mrow></mfrac>")])
def test_formulas_are_short_mathml(latex, expected):
    from book.build.extension import mathml

    assert mathml(latex, "inline") == (f"<math>{expected}</math>", [])


def test_a_command_that_the_converter_does_not_know_is_named():
    from book.build.extension import mathml

    assert r"\nosuch" in mathml(r"a + \nosuch", "inline")[1][0]


def test_a_style_keeps_the_properties_that_something_reads(tmp_path):
    style, script = tmp_path / "a.css", tmp_path / "b.js"
    style.write_text("p{--read:1px;--named:2px;--idle:3px;color:var(--read)}")
    script.write_text('style.getPropertyValue("--named")')
    assets.drop_unread(tmp_path)
    assert style.read_text() == "p{--read:1px;--named:2px;color:var(--read)}"


def test_a_lesson_says_first_how_old_its_prices_are():
    place, price = '<span class="lesson-place">Money · 1 of 5</span>', '<time class="price-date" datetime="2026-11-09">2026-11-09</time>'
    shown = finish.dated(f"{place}<details>{price}</details>")
    assert shown.startswith(f'<span class="lesson-place">Money · 1 of 5 · prices of {price}</span>')
    assert finish.dated(shown) == shown and finish.dated(place) == place


def test_only_a_page_with_code_loads_the_button_that_copies_it():
    head = ('<link rel="stylesheet" type="text/css" href="_static/copybutton.css?v=5f9c" />\n'
            '<script src="_static/clipboard.min.js?v=0b6b"></script>\n<script src="_static/copybutton.js?v=a780"></script>\n')
    others, code = '<script src="_static/site.js"></script>', '<div class="highlight"><pre>1</pre></div>'
    assert finish.fixed(head + others) == others
    assert finish.fixed(head + others + code) == head + others + code
