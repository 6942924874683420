"""The questions of an interview: what a file may hold, what an answer is made of, and that its figures are computed."""
import html.parser
import json
import re

import pytest

from book.build.site import ROOT
from book.components.links import PAGES
from book.pages import interview
from book.pages.interview import Held, said_html
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import number
from tests.book.test_notebooks import names_in_data, typed_figures

GOOD = dict(title="T", ask="Why?", roles=["training"], level=1, minutes=5, topic="kv_cache", looks_for=["a", "b", "c", "d"], answer="Because.",
            follow_ups=[dict(ask="A", answer="B")] * 2, wrong=[dict(say="A", why="B")] * 2, lessons=["kv_cache"])
EVERY = interview.questions()


@pytest.fixture(scope="module")
def texts(book):
    return {name: interview.said(each, book) for name, each in EVERY.items()}


def read(tmp_path, **changes):
    held = {key: value for key, value in (GOOD | changes).items() if value is not None}
    path = tmp_path / "estimate.yaml"
    path.write_text(json.dumps({"a_question": held}), encoding="utf-8")
    return interview.read_questions(path, "estimate")["a_question"]


def test_a_question_is_read(tmp_path):
    found = read(tmp_path, cases={"a": {"model": "Llama-3-8B", "gpu": "H100 SXM 80GB", "batch": 4, "rent": "on-demand"}},
                 evidence={"text": "line\n  line", "source": "a log"})
    assert found.name == "a_question" and found.kind == "estimate" and found.cases["a"].inputs == {"batch": 4} and found.rents == {"a": "on-demand"}
    assert found.follow_ups[0] == ("A", "B") and found.evidence == ("line\n  line", "a log", False)


@pytest.mark.parametrize("changes, message", [
    ({"answer": None}, "answer: missing"), ({"answr": "x"}, "answr: unknown; allowed: title, ask.*close: answer"),
    ({"title": "x" * 61}, "title: .*at most 60 characters"), ({"title": 7}, "title: 7; allowed: text"), ({"ask": " "}, "ask: ' '; allowed: text"),
    ({"roles": ["cook"]}, "roles: 'cook'; allowed: inference, training"), ({"roles": "training"}, "roles: 'training'; allowed: a list of texts"),
    ({"level": 4}, "level: 4; allowed: 1, 2, 3"), ({"level": True}, "level: True; allowed"), ({"minutes": 7}, "minutes: 7; allowed: 3, 5, 10"),
    ({"topic": "KV"}, "topic: 'KV'; allowed: stems of pages"), ({"lessons": ["../x"]}, "lessons: '../x'"), ({"lessons": []}, "lessons: .*a list"),
    ({"looks_for": ["a", "b", "c"]}, "looks_for: 3; allowed: 4 to 6 points"), ({"looks_for": ["a"] * 7}, "looks_for: 7"),
    ({"follow_ups": [{"ask": "A", "answer": "B"}]}, "follow_ups: 1; allowed: 2, each with ask and answer"),
    ({"follow_ups": [{"ask": "A"}] * 2}, "follow_ups: .*allowed: ask and answer"), ({"wrong": [{"say": "A", "why": "B"}]}, "wrong: 1; allowed: 2 to 4"),
    ({"wrong": "x"}, "wrong: 'x'; allowed: 2 to 4"), ({"evidence": "x"}, "evidence: 'x'; allowed: text, source, made"),
    ({"stages": [{"reveal": "A", "junior": "B", "senior": "C", "staff": "D"}]}, "stages: 1; allowed: 0, each with reveal"),
    ({"evidence": {"text": "x"}}, "evidence: .*allowed: text, source, made"),
    ({"evidence": {"text": "x", "source": "y", "made": "yes"}}, "evidence, made: 'yes'; allowed: true or false"),
    ({"rents": {"a": "spot"}}, "rents: unknown; allowed: title, ask"), ({"cases": [1]}, "cases: .*a letter for each case"),
    ({"cases": {"aa": {}}}, "cases: 'aa'; allowed: one small letter"), ({"cases": {"a": {"modl": "x"}}}, "cases, a: modl: unknown"),
    ({"cases": {"a": {"gpu": "H1000"}}}, "cases, a: .*H1000"), ({"cases": {"a": {"rent": "spot"}}}, "cases, a, rent: .spot.; allowed: only beside a gpu"),
    ({"cases": {"a": {"batch": "x"}}}, "cases, a: batch"),
])
def test_bad_ones_are_refused_by_file_question_and_what_is_allowed(tmp_path, changes, message):
    with pytest.raises(ValueError, match=f"estimate.yaml, a_question: {message}"):
        read(tmp_path, **changes)


@pytest.mark.parametrize("text", ["a: [", "a: 7", "- a", "", "a: &x 1", "a: !!python/object:os.system x", "A-b: {title: T}"])
def test_what_is_no_mapping_of_questions_is_refused(tmp_path, text):
    path = tmp_path / "money.yaml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"money\.yaml"):
        interview.read_questions(path, "money")


def test_an_unknown_name_suggests_one():
    with pytest.raises(ValueError, match="no question 'kv_cache'; close: kv_cache_128k"):
        interview.question("kv_cache")


# What the files hold

def test_there_are_questions_of_every_kind_that_is_there():
    kinds = {path.stem for path in (ROOT / "data/interview").glob("*.yaml")}
    assert {each.kind for each in EVERY.values()} == kinds <= set(interview.KINDS)
    assert len(interview.questions("estimate")) >= 18 and len(interview.questions("document")) == 6


def test_topics_and_lessons_are_pages():
    used = {page for each in EVERY.values() for page in (each.topic, *each.lessons)}
    assert used <= set(PAGES), f"book/_toc.yml lacks {sorted(used - set(PAGES))}"


@pytest.mark.parametrize("name", EVERY)
def test_an_answer_is_one_to_two_minutes_of_speech(texts, name):
    words = len(re.sub("<[^>]+>", " ", texts[name]["answer"]).split())
    least, most = interview.WORDS
    assert least <= words <= most, f"{name}: {words} words"


@pytest.mark.parametrize("name", EVERY)
def test_no_figure_is_typed_in_points_answers_and_reasons(name):
    each = EVERY[name]
    text = "\n\n".join((each.title, *each.looks_for, each.answer, *(one.answer for one in each.follow_ups), *(one.why for one in each.wrong)))
    without = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "x", text, flags=re.DOTALL)
    found = [figure for _, figure in typed_figures(f"# T\n\n{without}\n", names_in_data())]
    assert found == [], f"{name}: {found}"


VOID = {"input", "br", "img"}


class Balance(html.parser.HTMLParser):
    """Whether every tag is closed in its order."""

    def __init__(self):
        super().__init__()
        self.open, self.fine = [], True

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        self.fine &= bool(self.open) and self.open.pop() == tag


def test_the_page_is_well_formed_and_within_its_weight(book):
    # A page with a bank may weigh 610 kB; what the site itself loads is 230 kB of it.
    made = "".join(interview.bank(book, kind)._repr_html_() for kind in interview.KINDS)
    checker = Balance()
    checker.feed(made)
    assert checker.fine and checker.open == [] and len(made.encode()) < 370_000
    assert "{{" not in made and "\ue000" not in made


# Sentences

def test_a_figure_is_that_of_the_law(book, texts):
    """Llama-3-70B keeps 2 × 80 × 8 × 128 × 2 bytes a token, times 131,072 tokens."""
    answer = texts["kv_cache_128k"]["answer"]
    assert "327,680 B" in answer and number(327680 * 131072, "byte") in answer


def test_a_change_is_one_of_the_case_and_a_name_stands_for_its_value():
    held = Held(Case(model="Llama-3-70B", gpu="H100 SXM 80GB", context=10, batch=1, cache_element_bytes=2, efficiency="achieved"))
    assert held.kv_bytes == 3_276_800 and held(batch=3).kv_bytes == 9_830_400 and held(kv_heads="heads").kv_bytes == 8 * 3_276_800
    assert held.model == "Llama-3-70B" and held.layers == 80 and held.bandwidth_efficiency == pytest.approx(0.92, abs=0.02)
    assert held.band.tokens_per_second.low < held.band.tokens_per_second.high
    with pytest.raises(AttributeError, match="bandwith: neither in"):
        held.bandwith
    with pytest.raises(AttributeError, match="band.layers: not a law"):
        held.band.layers


@pytest.mark.parametrize("text, made", [
    ("a **b** *c* `d_e`", "<p>a <strong>b</strong> <em>c</em> <code>d_e</code></p>"), ("one\n\ntwo\nthree", "<p>one</p>\n<p>two three</p>"),
    ("- a\n- b {{ x }}", "<ul><li>a</li><li>b 7</li></ul>"), ("1. a\n2. b", "<ol><li>a</li><li>b</li></ol>"),
    ("[the cache](kv_cache.md#x-y)", '<p><a href="kv_cache.html#x-y">the cache</a></p>'), ("2 * 3 * 4", "<p>2 * 3 * 4</p>"),
    ("<script>alert(1)</script> & a", "<p>&lt;script&gt;alert(1)&lt;/script&gt; &amp; a</p>"), ("{{ '<b>' }}", "<p>&lt;b&gt;</p>"),
    ("[x](javascript:alert)", "<p>[x](javascript:alert)</p>"), ("{{ (x / 2) | bytes }} < {{ x }}", "<p>3.50 B &lt; 7</p>"),
    ("{% if x > 3 %}more{% else %}less{% endif %}", "<p>more</p>")])
def test_markdown_becomes_html_and_nothing_else_does(text, made):
    assert said_html(text, {"x": 7}) == made


@pytest.mark.parametrize("text", ["{{ y }}", "{{ x.y }}", "{{ x | nothing }}", "{% if %}", "{{ x + 'a' }}"])
def test_what_is_not_there_is_an_error(text):
    with pytest.raises(ValueError, match="sentence"):
        said_html(text, {"x": 7})


def test_evidence_is_shown_as_it_is_with_its_source(tmp_path, book):
    found = read(tmp_path, evidence={"text": "a <b>\n  c", "source": "arXiv 2407.21783", "made": True})
    page = interview._shown(found, book)
    assert "a &lt;b&gt;\n  c</pre>" in page and "Made up for this question." in page and "https://arxiv.org/abs/2407.21783" in page


def test_a_measured_row_is_found_or_refused():
    assert interview.measured("failures-llama-3")["value"] == pytest.approx(54 * 86400 / 419, rel=0.02)
    with pytest.raises(ValueError, match="no row 'x'"):
        interview.measured("x")
