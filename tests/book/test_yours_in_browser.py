"""Figures of a lesson that follow the reader: what the page writes for a case is what Python writes for it."""
import html
import re
from types import SimpleNamespace

import pytest

from book.build.extension import LESSON, lesson_scripts
from book.build.finish import secured
from book.build.front import followed, FOLLOWING
from book.build.inputs import ROOT
from book.components import drills
from book.components.sentences import Figure, Yours
from book.web import drills as drill_data, front, lessons
from book.web.drills import drill
from gpucalc.core.evaluate import FINDERS, Case
from gpucalc.core.figures import in_unit
from tests.book.test_lesson_in_browser import PAGE, READY, address, answered, go
from tests.browser import ended, lay_out, visit

CASES = 8
CHANGES = {"batch": 1, "weight_format": "FP8", "context": "mean_context"}
SHOWN = """() => [...document.querySelectorAll(".cell_output")].map((cell) => {
  const figure = cell.querySelector("[data-yours]");
  return [figure.dataset.yours, figure.dataset.form ?? "", figure.dataset.but ?? "",
          cell.classList.contains("follows-you") ? figure.textContent : null];
})"""


@pytest.fixture(scope="module")
def names():
    """Every name that a lesson of the book shows of a case."""
    texts = [path.relative_to(ROOT).as_posix() for folder in ("notebooks", "book/pages") for path in (ROOT / folder).glob("*")]
    found = followed(SimpleNamespace(folder=ROOT, digests=[text for text in texts if re.fullmatch(FOLLOWING, text)]))
    assert {"kv_bytes_per_token", "batch", "model"} <= set(found)
    return drill_data.followed(found)


def cells(names):
    """Each name in a cell of its own, plain, in other forms and of a case that differs."""
    figures = [Figure(name, name if name in FINDERS else 0, {}) for name in names]
    figures += [Figure("sequence_kv_bytes", 0, {}, form) for form in ("gib", "byte", "exact")]
    figures += [Figure("kv_bytes", 0, {name: value}) for name, value in CHANGES.items()]
    return "".join(f'<section><div class="cell_output"><p>{figure.marked()}</p></div></section>' for figure in figures)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, names, book):
    folder, made = tmp_path_factory.mktemp("yours"), front.scripts(book, names)
    lay_out(folder, [*LESSON, "lesson.js", "lesson.css"], made)
    for name in lessons.VIEWS:
        body = PAGE.format(template=lesson_scripts("")).replace("<p>Text.</p>", cells(names))
        (folder / f"{name}.html").write_text(secured(body), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def answers(cases):
    return answered(cases, CASES)


def of_python(here, answer, name, form, but):
    """What Python writes; None where the case cannot tell."""
    if name in FINDERS:
        return answer.best["gpu"] if name == "gpu" else getattr(here.rows.get(name), "name", None)
    try:
        figure = getattr(Yours(here)(**but), name)
        return str(figure.said(form) if form else figure)
    except (ValueError, KeyError):
        return None


@pytest.mark.parametrize("lesson", [name for name in lessons.VIEWS if name != "break_even"])
def test_figures_follow_the_case_as_python_says(browser, folder, answers, book, lesson):
    compared, page = 0, None
    for held, answer in answers:
        view = lessons.VIEWS[lesson].get(answer.kind)
        if not view:
            continue
        if page is None:
            page = visit(browser, f"{(folder / lesson).as_uri()}.html#{address(held)}")
            page.wait_for_function(READY)
        else:
            go(page, address(held))
        here = lessons.held(view, lessons.chosen(answer, book), answer.best)
        for name, form, but, shown in page.evaluate(SHOWN):
            changes = {key: value for key, value in CHANGES.items() if key in html.unescape(but)}
            expected = of_python(here, answer, name, form, changes)
            if shown is not None:
                assert shown == expected, (lesson, held, name, form, but)
                compared += 1
    assert compared > 20
    ended([page])


DRILLS = ("kv-token", "kv-batch", "kv-longest")
DRILLED = """() => [...document.querySelectorAll(".cell_output:has(.drill)")].map((cell) => {
  const figures = [...cell.querySelectorAll("[data-yours]")];
  return cell.classList.contains("follows-you") ? figures.map((figure) => figure.textContent) : null;
})"""


def figures(text):
    return [html.unescape(each) for each in re.findall(r'<span class="yours"[^>]*>([^<]*)</span>', text)]


def test_a_drill_on_a_lesson_follows_the_case(browser, folder, book):
    """Its question draws from the reader's case; what it gives stays, whatever the reader's case says of it."""
    cells = "".join(f'<section><div class="cell_output">{drills.drill(name, Case(model="Llama-3-70B", gpu="H100 SXM 80GB")).source}'
                    f"</div></section>" for name in DRILLS)
    (folder / "kv_cache.html").write_text(secured(PAGE.format(template=lesson_scripts("")).replace("<p>Text.</p>", cells)))
    held = dict(job="serve", model="Qwen2.5-7B", weight_format="FP8", requests_per_second=10, prompt=1000, output=300, cache_element_bytes=1,
                first_token_limit=1, token_limit=0.05, cards="any", provider="any", region="any", term="on-demand")
    page = visit(browser, f"{(folder / 'kv_cache').as_uri()}.html#{address(held)}")
    page.wait_for_function(READY)
    token, _, longest = page.evaluate(DRILLED)
    one = Case(model="Qwen2.5-7B", cache_element_bytes=1)
    assert token[0] == "Qwen2.5-7B" and "1 B" in token and str(Yours(one).kv_bytes_per_token) in token
    answer = drill("kv-token").answer(one)
    assert in_unit(answer, "kB") in token and in_unit(7 * answer, "kB") in token, "28 query heads over 4 KV heads"
    assert "Qwen2.5-7B" in longest and str(Yours(one.but(cache_element_bytes=2)).kv_bytes_per_token) in longest, "BF16 is given"
    # A picture that keeps the page's example is marked while figures follow, and no longer.
    page.evaluate("""document.querySelector(".bd-article").insertAdjacentHTML("beforeend", '<figure class="drawing"></figure>')""")
    go(page, address(held | {"requests_per_second": 11}))
    kept = "document.querySelector('figure.drawing').classList.contains('keeps-example')"
    assert page.evaluate(kept) and not page.evaluate(f"gpucalc.follow(null), {kept}")
    page.evaluate("location.hash = ''")
    ended([page])


def test_without_a_case_a_page_keeps_its_own(browser, folder):
    page = visit(browser, f"{(folder / 'kv_cache').as_uri()}.html")
    assert all(text is None for *_, text in page.evaluate(SHOWN))
    ended([page])
