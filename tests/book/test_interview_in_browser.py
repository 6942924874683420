"""The interview in a browser, from files: filters, ticks, a mock and its clocks, by keyboard, on a phone, without a script."""
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import expect

from book.build.finish import secured
from book.build.site import ROOT
from book.pages import interview
from gpucalc.rows import price_book
from tests.browser import leave, visit

STATIC = ROOT / "book/static"
HEAD = ('<!doctype html><html lang="en" data-theme="light"><meta charset="utf-8" /><title>Interview</title>'
        '<link rel="stylesheet" href="{static}/site.css"><link rel="stylesheet" href="{static}/interview.css">'
        '<style>a {{ color: var(--pst-color-link); }} :root {{ --pst-color-text-base: #1d2430; --pst-color-background: #fff; }} body {{ color: var(--pst-color-text-base); background: var(--pst-color-background); }}</style>'
        '<script src="{static}/site.js"></script><script defer src="{static}/parts.js"></script>'
        '<script defer src="{static}/interview.js"></script>'
        '<script defer src="{static}/mock.js"></script>'
        '<main class="bd-content"><article class="bd-article"><h1>Interview</h1>')


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The page of questions and nothing else, as a file."""
    book, folder = price_book.prices(), tmp_path_factory.mktemp("interview")
    banks = "".join(f"<section><h2>{title}</h2>{interview.bank(book, kind)._repr_html_()}</section>"
                    for kind, title in interview.KINDS.items() if interview.questions(kind))
    top = "<section><h2>A mock interview</h2>" + interview.mock()._repr_html_() + "</section>"
    body = f"{top}<section><h2>Find a question</h2>{interview.find()._repr_html_()}</section>{banks}"
    (folder / "interview.html").write_text(secured(HEAD.format(static=STATIC.as_uri()) + body + "</article></main></html>"), encoding="utf-8")
    return {path.stem: path.as_uri() for path in folder.glob("*.html")}


@pytest.fixture
def page(browser, files):
    page = visit(browser, files["interview"], drawn=False)
    yield page
    assert page.problems == [] and page.evaluate("window.ran") is None
    leave(page)


def seen(page):
    return page.eval_on_selector_all("details.question", "all => all.filter((each) => each.checkVisibility()).map((each) => each.id.slice(2))")


def fitting(**wanted):
    return {name for name, each in interview.questions().items()
            if all(wanted[key] in getattr(each, key) if key == "roles" else getattr(each, key) == wanted[key] for key in wanted)}


def test_a_question_stands_alone_until_it_is_opened(page):
    first = page.locator("details.question").first
    first.locator("> summary").click()
    assert first.locator(".ask").is_visible()
    assert [each.is_visible() for each in first.locator("> details > :not(summary)").all()] == [False] * first.locator("> details > :not(summary)").count()


def test_filters_choose_among_all_questions(page):
    assert set(seen(page)) == set(interview.questions())
    page.locator(".interview-find").get_by_label("Role").select_option("training")
    expect(page.locator(".interview-count")).to_contain_text(" of ")
    assert set(seen(page)) == fitting(roles="training") and "role=training" in page.url
    page.locator(".interview-find").get_by_label("Minutes").select_option("5")
    assert set(seen(page)) == fitting(roles="training", minutes=5)
    page.get_by_role("button", name="Reset").click()
    expect(page.locator(".interview-count")).not_to_contain_text(" of ")
    assert set(seen(page)) == set(interview.questions())


def test_search_reads_the_whole_question_and_an_address_brings_it_back(browser, page, files):
    page.get_by_role("searchbox").fill("grouped-query")
    expect(page.locator(".interview-count")).to_contain_text(" of ")
    assert "kv_cache_128k" in seen(page) and len(seen(page)) < len(interview.questions())
    again = visit(browser, page.url, drawn=False)
    expect(again.locator(".interview-count")).to_contain_text(" of ")
    assert seen(again) == seen(page)
    leave(again)


def test_ticks_stay_in_the_browser_and_can_be_forgotten(page):
    first = page.locator("#q-kv_cache_128k")
    first.locator("> summary").click()
    first.locator("> details > summary").first.click()
    for box in first.locator(".points input").all()[:2]:
        box.check()
    assert first.locator(".said").inner_text() == f"2 of {len(interview.question('kv_cache_128k').looks_for)} said"
    page.reload()
    assert page.locator("#q-kv_cache_128k .said").inner_text().startswith("2 of")
    page.get_by_role("button", name="Clear my checks").click()
    assert page.locator("#q-kv_cache_128k .said").inner_text() == ""


BLOCKED = "Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('blocked', 'SecurityError'); } })"


@pytest.mark.long
def test_it_works_where_storage_is_blocked(browser, files):
    page = visit(browser.new_context(), "about:blank", drawn=False)
    page.add_init_script(BLOCKED)
    page.goto(files["interview"])
    page.evaluate("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    page.locator("#q-kv_cache_128k .points input").first.check()
    assert page.locator("#q-kv_cache_128k .said").inner_text().startswith("1 of") and page.problems == []
    start(page, 15)
    page.get_by_role("button", name="Finish now").or_(page.get_by_role("button", name="Finish", exact=True)).first.click()
    assert page.locator(".mock h3").inner_text() == "How it went"
    page.context.close()


# The mock

def start(page, length, role="", seed="4821"):
    mock = page.locator(".mock")
    mock.get_by_label("Length").select_option(str(length))
    mock.get_by_label("Role").select_option(role)
    mock.get_by_label("Set").fill(seed)
    mock.get_by_role("button", name="Start").click()
    page.wait_for_selector(".mock-times")


DRAWN = """([seeds, roles, lengths]) => roles.flatMap((role) => lengths.flatMap((length) => seeds.map((seed) =>
  [role, length, seed, interview.draw(interview.questions(), role, length, seed).map((each) => each.name)])))"""


def most(role, length):
    """The length, or what the questions of the role but for designs come nearest to below it."""
    sums = {0 if length < 45 else 45}
    for each in interview.questions().values():
        if (not role or role in each.roles) and each.kind != "design":
            sums |= {sum_ + each.minutes for sum_ in sums if sum_ + each.minutes <= length}
    return max(sums)


def test_every_set_adds_up_fits_its_role_and_asks_nothing_twice(page):
    every = interview.questions()
    roles, lengths, seeds = ["", *interview.ROLES], [15, 30, 45, 60], [str(seed) for seed in range(50)]
    drawn = page.evaluate(DRAWN, [seeds, roles, lengths])
    assert len(drawn) == len(roles) * len(lengths) * len(seeds)
    for role, length, _, names in drawn:
        assert len(set(names)) == len(names) and all(not role or role in every[name].roles for name in names)
        assert sum(every[name].minutes for name in names) == most(role, length), (role, length, names)
        parts = [(every[name].kind, every[name].minutes) for name in names]
        assert length < 45 and "design" not in dict(parts) or parts[:3] == [("estimate", 5), ("design", 30), ("debug", 10)]
    for role in roles:
        sets = {tuple(names) for each, length, _, names in drawn if (each, length) == (role, 30)}
        assert len(sets) >= 15, f"{role}: of 50 sets only {len(sets)} differ"


def test_two_people_with_one_address_get_the_same_set(browser, page):
    start(page, 45, "inference", "77")
    assert page.evaluate("location.hash") == "#mock=45&role=inference&seed=77"
    title = page.locator(".mock h3").inner_text()
    other = visit(browser, page.url, drawn=False)
    other.locator(".mock").get_by_role("button", name="Start").click()
    other.wait_for_selector(".mock-times")
    assert other.locator(".mock h3").inner_text() == title
    leave(other)


@pytest.mark.long
def test_clocks_run_stand_and_speak_politely(browser, files):
    page = visit(browser, "about:blank", drawn=False)
    page.clock.install()
    page.goto(files["interview"])
    start(page, 15)
    name = page.locator(".mock h3").inner_text().split(": ", 1)[1]
    minutes = next(each.minutes for each in interview.questions().values() if each.title == name)
    own, status = page.locator(".mock-own"), page.locator(".mock-status")
    page.clock.run_for(30_000)
    assert own.inner_text() == f"This question 0:30 of {minutes}:00" and page.locator(".mock-all").inner_text() == "In all 0:30 of 15:00"
    page.get_by_role("button", name="Pause").click()
    page.clock.run_for(60_000)
    assert "0:30" in own.inner_text() and status.inner_text() == "Paused."
    page.get_by_role("button", name="Go on").click()
    page.get_by_role("button", name="Show points and answer").click()
    page.clock.run_for(60_000)
    assert "0:30" in own.inner_text() and page.locator(".mock-answers .points input").first.is_visible()
    assert page.locator(".mock-answers > details").nth(1).locator("p").first.is_visible(), "the answer too"
    page.get_by_role("button", name="Hide them").click()
    page.clock.run_for((minutes - 1) * 60_000 - 29_000)
    assert status.inner_text() == "One minute is left for this question."
    page.clock.run_for(60_000)
    assert status.inner_text() == "The time for this question is over. Finish your sentence and go on."
    assert own.evaluate("(each) => getComputedStyle(each).animationName") == "none"
    assert page.locator(".mock-times").get_attribute("role") == "timer" and status.get_attribute("role") == "status"
    page.clock.run_for(15 * 60_000)
    assert status.inner_text() == "The whole time is over. Finish when you are ready."
    leave(page)


def test_a_mock_by_keyboard_ends_with_what_was_said_and_missed(page):
    start(page, 30, "", "5")
    count = int(page.locator(".mock h3").inner_text().split(" of ")[1].split(":")[0])
    assert page.evaluate("document.activeElement.tagName") == "H3"
    assert not page.locator(".mock-answers details").first.is_visible()

    def press(name, key="Enter"):
        page.locator(".mock").get_by_role("button", name=name, exact=True).focus()
        page.keyboard.press(key)

    press("Show points and answer")
    page.locator(".mock-answers input").first.focus()
    page.keyboard.press("Space")
    for _ in range(count - 1):
        press("Next question")
    press("Finish")
    assert page.evaluate("document.activeElement.textContent") == "How it went"
    rows = page.locator(".mock-summary tbody tr")
    assert rows.last.locator("td").first.inner_text() == str(count)
    said, of = rows.last.locator("td").nth(1).inner_text().split(" of ")
    titles = page.locator(".mock legend").all_inner_texts()
    asked = [each for each in interview.questions().values() if each.title in titles]
    assert said == "1" and int(of) == sum(len(each.looks_for) for each in asked)
    missed = page.locator(".mock-summary li")
    assert missed.count() == count and missed.first.locator("a").first.get_attribute("href").endswith(".html")
    page.locator(".mock fieldset").nth(1).locator("input").first.check()
    assert page.locator(".mock-summary tbody tr").last.locator("td").nth(1).inner_text().startswith("2 of")


def test_a_design_reveals_one_stage_after_the_other(page):
    start(page, 45, "inference", "77")
    page.get_by_role("button", name="Next question").click()
    stages = page.locator(".mock-pane .ask details.stage > summary")
    assert stages.count() == 4 and stages.nth(0).is_visible()
    for place in range(3):
        assert not stages.nth(place + 1).is_visible()
        stages.nth(place).click()
        assert stages.nth(place + 1).is_visible()
    stages.nth(3).click()
    guide = page.locator(".mock-pane .ask details.stage").nth(3).locator("> details")
    assert guide.locator("ul").is_hidden()
    guide.locator("summary").click()
    assert guide.locator("li strong").all_inner_texts() == ["Junior:", "Senior:", "Staff:"]


def test_a_reload_in_the_middle_goes_on_where_it_stopped(page):
    start(page, 30, "", "5")
    page.get_by_role("button", name="Next question").click()
    title = page.locator(".mock h3").inner_text()
    page.reload()
    page.get_by_role("button", name="Go on where you stopped").click()
    page.wait_for_selector(".mock-times")
    assert page.locator(".mock h3").inner_text() == title


@pytest.mark.parametrize("hash", ["#mock=<b>&role=x&seed=%", "#mock=1e9&seed=<img src=x onerror='window.ran=1'>", "#role=%E0%A4%A&kind=none&find=",
                                  "#q-<img>", "#q-absent"])
def test_an_odd_address_does_no_harm(browser, files, hash):
    page = visit(browser, files["interview"] + hash, drawn=False)
    page.wait_for_selector(".mock-form")
    assert page.evaluate("window.ran") is None and page.problems == []
    leave(page)


@pytest.mark.parametrize("saved", ["[]", "7", '{"ticks": 3, "mock": [1]}', '{"ticks": {"kv_cache_128k": "x"}}', "{"])
def test_odd_things_in_the_storage_do_no_harm(page, saved):
    page.evaluate("(saved) => localStorage.setItem('interview', saved)", saved)
    page.reload()
    page.wait_for_selector(".mock-form")
    assert page.locator("#q-kv_cache_128k .said").inner_text() == ""


@pytest.mark.long
@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_accessible_and_as_wide_as_the_page(browser, files, theme, width):
    page = visit(browser, files["interview"], drawn=False, viewport={"width": width, "height": 844})
    page.evaluate(f"document.documentElement.dataset.theme = '{theme}'")
    start(page, 30)
    page.get_by_role("button", name="Show points and answer").click()
    check(page, width)
    page.get_by_role("button", name="Finish now").or_(page.get_by_role("button", name="Finish", exact=True)).first.click()
    # One question of each kind stands for all: axe is slow, and the whole page is long.
    page.evaluate("document.querySelectorAll('.question:first-child, .question:first-child details').forEach((each) => { each.open = true; })")
    check(page, width)
    leave(page)


def check(page, width):
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]})
    assert found.violations_count == 0, found.generate_report()


@pytest.mark.long
def test_paper_after_a_mock_has_its_result_and_no_lists(page):
    start(page, 15)
    page.get_by_role("button", name="Finish now").or_(page.get_by_role("button", name="Finish", exact=True)).first.click()
    page.emulate_media(media="print")
    assert page.locator(".mock-summary table").is_visible() and not page.locator(".mock-form").is_visible()
    assert not page.locator(".bank").first.is_visible() and not page.get_by_role("button", name="Print").is_visible()


def test_without_a_script_all_can_be_read(browser, files):
    page = visit(browser, files["interview"], drawn=False, java_script_enabled=False)
    assert "JavaScript" in page.locator(".mock").inner_text() and page.locator(".interview-find").inner_text() == ""
    assert page.locator("details.question").count() == len(interview.questions())
    leave(page)
