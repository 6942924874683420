"""The front page in a browser, with a small engine behind it: the case, its address, its answers, and what it refuses."""

import ast
import re
import subprocess
from pathlib import Path
from urllib.parse import quote, unquote

import pytest
import yaml
from IPython.core.inputtransformer2 import TransformerManager

from book.build.assets import FRONT
from book.build.finish import secured
from book.web.front import examples, limits_of
from book.web.javascript import literal
from book.web.printed import answers_script, case_script, figures_script, reading_script, texts_script
from gpucalc.core.quantities import QUANTITIES
from gpucalc.rows.case_file import read_case
from gpucalc.rows.choices import LONGEST
from gpucalc.rows.files import hidden
from gpucalc.rows.free_words import PRESETS
from gpucalc.rows.mapping import read_mapping
from gpucalc.rows.names import held
from gpucalc.rows.tables import rows
from gpucalc.rows.texts import read_texts
from tests import hostile
from tests.browser import FORM, ended, lay_out, leave, visit

ENGINE = Path(__file__).parents[1] / "fake_engine.js"
PAGE = """<!doctype html><html lang="en" data-theme="light"><head><meta charset="utf-8" />
<meta name="viewport" content="width=device-width"><title>Front</title><link rel="stylesheet" href="front.css">{scripts}</head>
<body><main class="bd-article"><h1>What will it take?</h1>
{form}<h2 id="a-heading">Reasons</h2></main></body></html>"""
WAIT = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"


@pytest.fixture(scope="module")
def front(tmp_path_factory):
    """The address of a page of its own with the strict policy that every page has."""
    folder = tmp_path_factory.mktemp("front")
    lay_out(folder, [*FRONT, "front.css"], {})
    given = f"gpucalc.catalogue.examples = {literal(examples())};\ngpucalc.limits = {literal(limits_of())};\n"
    given += f"gpucalc.catalogue.said = {literal(read_texts('front'))};\n"
    given += f"gpucalc.reading = {literal({'rents': held()})};\ngpucalc.own = {{ rows: (table) => gpucalc.reading.rents[table] }};\n"
    printed = figures_script() + texts_script() + case_script() + answers_script() + reading_script()
    (folder / ENGINE.name).write_text(printed + ENGINE.read_text() + given)
    scripts = "".join(f'<script defer src="{name}"></script>' for name in [ENGINE.name, *FRONT])
    (folder / "index.html").write_text(secured(PAGE.format(scripts=scripts, form=FORM)))
    return (folder / "index.html").as_uri()


@pytest.fixture
def opened(browser, front):
    """Opens the page at an address; at the end nothing may have failed or run."""
    pages = []

    def open_(case="", **options):
        page = visit(browser, front + (f"#{case}" if case else ""), **options)
        page.evaluate(WAIT)
        pages.append(page)
        return page

    yield open_
    ended(pages)


def test_the_small_engine_speaks_of_what_the_book_has(opened):
    catalogue = opened().evaluate("gpucalc.catalogue")
    tables = {"model": "models", "weight_format": "formats", "recipe": "recipes", "gpu": "gpus", "job": "jobs"}
    assert all(set(catalogue["choices"][kind]["names"]) <= set(rows(table)) for kind, table in tables.items())
    for name, about in catalogue["quantities"].items():
        if name in QUANTITIES:
            assert (about["unit"], about["allowed"]) == (QUANTITIES[name].unit, QUANTITIES[name].allowed), name


def case_of(page):
    return page.evaluate("gpucalc.cases.fromAddress(location.hash.slice(1)).state")


def give(page, key, text):
    page.locator(f"#case-{key}").fill(text)
    page.locator(f"#case-{key}").blur()
    page.evaluate(WAIT)


def choose(page, key, word):
    page.locator(f"#case-{key}").select_option(word)
    page.evaluate(WAIT)


def card(page, title):
    return page.locator(".case-card", has=page.get_by_role("heading", name=title))


def notes(page):
    return page.locator("#case > .case-faults li").all_inner_texts()


def test_six_cards_answer_before_anything_is_asked(opened):
    page = opened()
    assert page.locator(".case-card").count() == 6
    assert page.locator(".case-ask").get_by_role("combobox", name="what to do").input_value() == "serve"
    assert page.locator(".case-chip[aria-pressed=true]").inner_text() == "70B chat"
    for name in ("band", "plan", "bound"):
        assert page.locator(f".case-card .case-{name}:not([hidden])").count() >= 1


def test_a_change_is_answered_and_is_the_address(opened):
    page = opened()
    before = card(page, "cost").locator(".case-big").inner_text()
    give(page, "requests_per_second", "20")
    assert card(page, "cost").locator(".case-big").inner_text() != before
    assert case_of(page)["requests_per_second"] == 20
    assert re.fullmatch(r"kv_cache\.html#job=serve&model=.*requests_per_second=20.*", card(page, "fit").get_by_role("link").get_attribute("href"))
    give(page, "first_token_limit", "800 ms")
    assert case_of(page)["first_token_limit"] == 0.8
    page.reload()
    page.evaluate(WAIT)
    assert page.locator("#case-first_token_limit").input_value() == "800 ms"
    page.go_back()
    page.go_back()
    page.evaluate(WAIT)
    assert page.locator("#case-requests_per_second").input_value() == "10"
    assert card(page, "cost").locator(".case-big").inner_text() == before


def took(page):
    return " ".join(page.locator(".case-took").all_inner_texts())


def test_a_line_of_free_words_fills_the_blanks_and_says_what_it_took(opened):
    page = opened()
    give(page, "words", "llama 3 with green tea, 7 requests a second, 600 out, first token under 900 ms")
    state = case_of(page)
    assert [state[name] for name in ("job", "model", "requests_per_second", "output", "first_token_limit")] == [
        "serve", "Llama-3-70B", 7, 600, 0.9]
    assert "Understood: " in took(page) and "Not understood: green tea." in took(page)
    assert "Which “llama 3”? Now Llama-3-70B; or Llama-3-8B" in took(page)
    page.locator(".case-took").get_by_role("button", name="Llama-3-8B").click()
    page.evaluate(WAIT)
    assert case_of(page)["model"] == "Llama-3-8B" and not took(page).strip()
    give(page, "words", "why is my H100 at 40 % MFU")
    assert case_of(page)["model"] == "Llama-3-8B" and "No case is in these words." in took(page)
    assert page.locator(".case-took a").get_attribute("href") == "search.html?q=why%20is%20my%20H100%20at%2040%20%25%20MFU"
    for names, said in ((["H100 SXM 80GB", "H200 SXM 141GB"], "H100 SXM 80GB, H200 SXM 141GB"),
                        (["H100 SXM 80GB", "H200 SXM 141GB", "RTX 4090 24GB"], "3 of them")):
        give(page, "words", f"phi-4 at 1 request a second on {' or '.join(names)}")
        assert page.locator("#case-cards option:checked").inner_text() == said


def test_a_name_that_is_not_understood_has_no_answers(opened):
    page = opened()
    give(page, "model", "foobar 12b")
    assert page.locator("#case-model").input_value() == "foobar 12b" and page.locator(".case-card").count() == 0
    assert "no model 'foobar 12b'" in page.locator("#fault-model").inner_text()
    assert "Nothing is called “foobar 12b”. Nearest: Gemma-3-12B" in took(page)
    give(page, "model", "meta-llama/Meta-Llama-3-8B-Instruct-FP8")
    assert page.locator(".case-card").count() == 6 and page.locator("#fault-model").inner_text() == ""
    state = case_of(page)
    assert (state["model"], state["weight_format"]) == ("Llama-3-8B", "FP8")
    give(page, "words", "run foobar 12b, 3 rps")
    assert page.locator(".case-card").count() == 0 and "model" not in case_of(page)
    asked = opened("job=serve&model=llama+2+7b&requests_per_second=1")
    assert case_of(asked)["model"] == "Llama-2-7B" == asked.locator("#case-model").input_value()


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_survives_its_address_and_its_yaml(opened, preset):
    page = opened()
    page.get_by_role("button", name="Rent or buy 8 H100" if preset == "70B chat" else "70B chat").click()
    page.get_by_role("button", name=preset).click()
    page.evaluate(WAIT)
    state = case_of(page)
    assert page.locator(".case-chip[aria-pressed=true]").inner_text() == preset
    assert notes(page) == []
    again = opened(page.evaluate("location.hash.slice(1)"))
    assert case_of(again) == state
    assert again.locator(".case-chip[aria-pressed=true]").inner_text() == preset
    text = page.evaluate("(state) => gpucalc.cases.yaml(state)", state)
    assert yaml.safe_load(text) == state
    assert page.evaluate("(text) => gpucalc.cases.fromYaml(text)", text) == {"state": state, "faults": []}


def test_the_copied_cell_is_python_with_the_same_case(opened):
    page = opened()
    page.get_by_role("button", name="Pre-train a 7B").click()
    state = case_of(page)
    cell = page.evaluate("(state) => gpucalc.cases.cell(state)", state)
    assert cell.startswith("from gpucalc import Case, decide\n")
    assert eval(cell.partition("\n\n")[2], {"Case": lambda **names: names, "decide": lambda case: case}) == state


@pytest.mark.long
def test_a_copy_is_confirmed(opened):
    page = opened(permissions=["clipboard-read", "clipboard-write"])
    copies = {"YAML": "job: serve\n", "a notebook cell": "from gpucalc", "a command": "cat > mine.yaml <<'END'\njob"}
    for name, start in copies.items():
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(".case-said", has_text=f"Copied as {name}.").wait_for()
        assert page.evaluate("navigator.clipboard.readText()").startswith(start)


ROUND_TRIP = """() => {
  const { read, show } = gpucalc.cases, wrong = [];
  for (const [key, { high, whole }] of Object.entries(gpucalc.catalogue.quantities)) {
    for (let power = -9; power <= 16; power += 1) for (const digits of [1, 1.5, 3.14159, 9.999999, 123.456789012345]) {
      const given = Number(`${digits}e${power}`), value = whole ? Math.ceil(given) : given;
      if (value <= (high ?? Infinity) && read(key, show(key, value)).value !== value) wrong.push([key, value, show(key, value)]);
    }
  }
  return wrong;
}"""


def test_what_is_shown_is_read_back_as_it_was(opened):
    assert opened().evaluate(ROUND_TRIP) == []


def test_nonsense_is_refused_beside_its_input(opened):
    """What is read as what is data of tests/book/test_typed.py."""
    page = opened()
    field = page.locator("#case-requests_per_second")
    for text in ("soon", "-1", ""):
        give(page, "requests_per_second", text)
        message = page.locator(f"#{field.get_attribute('aria-describedby')}").inner_text()
        assert message and field.get_attribute("aria-invalid") == "true"
        assert page.evaluate("location.hash") in ("", "#") or "requests_per_second" not in case_of(page)


def test_another_job_starts_with_its_own_defaults_and_examples(opened):
    page = opened()
    choose(page, "cards", "H200 SXM 141GB")
    choose(page, "job", "pretrain")
    state = case_of(page)
    assert (state["recipe"], state["model"], state["cards"]) == ("mixed-adamw", "Llama-2-7B", "H200 SXM 141GB")
    assert state["training_tokens"] == 1e12 and "prompt" not in state and notes(page) == []
    choose(page, "job", "qlora")
    assert (case_of(page)["recipe"], case_of(page)["training_tokens"]) == ("qlora", 1e7)
    choose(page, "job", "rent_or_buy")
    assert (case_of(page)["gpu"], case_of(page)["years"]) == ("H100 SXM 80GB", 4)
    choose(page, "job", "images")
    assert case_of(page)["images_per_day"] == 1e6 and page.locator(".case-card").count() == 6
    assert case_of(page)["model"] == "Qwen2.5-VL-7B"
    give(page, "model", "Llama-3-8B")
    choose(page, "job", "serve")
    assert case_of(page)["model"] == "Llama-3-8B"  # the reader's own choice stays


def test_a_job_of_the_same_kind_keeps_what_was_given(opened):
    page = opened("job=qlora&model=Llama-3-8B&training_tokens=1e7&global_batch=32&gpus=3")
    choose(page, "job", "pretrain")
    state = case_of(page)
    assert (state["global_batch"], state["gpus"], state["recipe"]) == (32, 3, "mixed-adamw")


ASKED = """window.there = []; window.gpucalc = { set answer(real) { this.real = real; }, get answer() {
  return (state) => { window.there.push(document.querySelectorAll(".case-sentence").length); return this.real(state); }; } };"""


@pytest.mark.long
def test_the_form_is_there_before_the_first_answer(browser, front):
    page = browser.new_context().new_page()
    page.add_init_script(ASKED)
    page.goto(front)
    page.locator(".case-card").first.wait_for()
    assert page.evaluate("window.there[0]") == 1 and page.locator("[aria-busy]").count() == 0
    page.context.close()


def test_what_to_be_careful_of_is_said(opened):
    page = opened()
    assert page.locator(".case-care li").all_inner_texts() == ["Ask first whether they have them."]
    give(page, "requests_per_second", "")
    assert not page.locator(".case-care").is_visible()


def test_a_copied_cell_has_the_model_and_the_rents_as_python_takes_them(opened):
    state = dict(job="serve", model="mine", model_row="family:dense,layers:4", requests_per_second=1, rents='gpu,usd_per_hour\nH100,"2"')
    text = opened().evaluate("(state) => gpucalc.cases.cell(state)", state)
    found = []
    names = dict(Case=dict, decide=lambda *given: found.extend(given), Path=lambda name: type("File", (), {"write_text": found.append}))
    exec("\n".join(line for line in text.splitlines() if "import" not in line), names)
    assert found == [state["rents"], dict(job="serve", requests_per_second=1, model={"family": "dense", "layers": 4}), "mine.csv"]


def test_the_load_is_requests_or_users(opened):
    page = opened()
    page.get_by_label("How the load is given").select_option("daily_users")
    give(page, "daily_users", "50,000")
    state = case_of(page)
    assert state["daily_users"] == 50000 and state["messages_per_day"] == 10 and "requests_per_second" not in state
    page.get_by_label("How the load is given").select_option("requests_per_second")
    page.evaluate(WAIT)
    assert not {"daily_users", "messages_per_day"} & set(case_of(page))
    assert "Give requests_per_second" in page.locator("#fault-requests_per_second").inner_text()


@pytest.mark.parametrize("job", ["pretrain", "qlora", "serve", "images", "rent_or_buy"])
def test_every_input_of_a_job_is_on_the_page(opened, job):
    page = opened()
    choose(page, "job", job)
    needs, takes = page.evaluate("(job) => [gpucalc.catalogue.jobs[job].needs, gpucalc.catalogue.jobs[job].takes]", job)
    there = set(page.evaluate("[...document.querySelectorAll('.case-ask [id^=case-]')].map((each) => each.id.slice(5))"))
    ways = {name for need in needs if "|" in need for name in need.split("|")} | {"messages_per_day"}
    assert {*takes, *(name for name in needs if "|" not in name)} - ways <= there
    assert page.evaluate(UNNAMED) == []


UNNAMED = """() => [...document.querySelectorAll("#case :is(input, select, button, textarea)")]
  .filter((each) => !each.closest("[hidden]") && !(each.ariaLabel || each.labels?.[0]?.textContent || each.textContent).trim())
  .map((each) => each.outerHTML)"""


@pytest.mark.long
def test_an_address_names_what_it_leaves_out(opened):
    page = opened("job=serve&model=No-Such&prompt=many&prompt=5&recipe=qlora&output=300&nothing&term=spot&term=on-demand")
    assert case_of(page) == {"job": "serve", "output": 300, "term": "spot", "prompt": 5}
    left = "\n".join(notes(page))
    for word in ("No-Such", "many", "recipe", "nothing", "given twice"):
        assert word in left
    assert "bake" in "\n".join(notes(opened("job=bake")))


@pytest.mark.long
def test_of_many_faults_ten_are_named_and_the_rest_counted(opened):
    page, many = opened("job=serve&" + "&".join(f"name{number}=1" for number in range(10_000))), range(10_000)
    left = notes(page)
    assert [text.partition(":")[0] for text in left[:10]] == [f"name{number}" for number in range(10)] and left[10] == "and 9,990 more faults"
    pasted = page.evaluate("(text) => gpucalc.cases.fromYaml(text).faults", "job: serve\n" + "".join(f"name{number}: 1\n" for number in many))
    assert len(pasted) == 11 and pasted[10] == "and 9,990 more faults"


def test_a_fault_is_said_from_its_limit_on(opened):
    """Ten faults are named, 60 letters shown and 8,000 taken; what is as small or as large as anybody gives is read."""
    cases = """(texts) => texts.map((text) => gpucalc.cases.fromAddress(`job=serve&${text}`).faults)"""
    many = [[f"name{number}: no input of this job; it is left out." for number in range(count)] for count in (10, 11)]
    found = opened().evaluate(cases, ["&".join(f"name{number}=1" for number in range(count)) for count in (10, 11)])
    assert found == [many[0], [*many[1][:10], "and 1 more faults"]]
    page = opened()
    for long in (60, 61):
        (said,) = page.evaluate(cases, ["prompt=" + "x" * long])[0]
        assert ("…" in said) == (long > 60) and ("x" * long in said) == (long <= 60)
    found = page.evaluate(cases, ["rents=" + "x" * long for long in (8000, 8001)])
    assert found == [[], ["rents: longer than 8000 letters; it is left out."]]
    found = page.evaluate("""() => {
      Object.assign(gpucalc.catalogue.quantities.answer_limit, { least: 0.5, most: 8, sizes: "0, or 0.5 to 8 s" });
      return ["0.499", "0.5", "8", "8.01", "0", "-1"].map((text) => gpucalc.cases.read("answer_limit", text));
    }""")
    assert [each.get("value", each.get("fault")) for each in found] == [
        "give 0, or 0.5 to 8 s.", 0.5, 8, "give 0, or 0.5 to 8 s.", *["time of the whole answer: give a number above 0."] * 2]


def test_a_text_stays_as_it_is_typed_until_it_is_left(opened):
    page = opened()
    field = page.locator("#case-requests_per_second")
    field.fill("")
    field.press_sequentially("1500.0")
    page.evaluate(WAIT)
    assert field.input_value() == "1500.0"
    field.blur()
    assert field.input_value() == "1,500" and case_of(page)["requests_per_second"] == 1500


def test_the_better_of_two_is_said_where_their_ranges_lie_apart(opened):
    found = opened().evaluate("""() => {
      const card = ([low, plan, high]) => ({ id: "cost", title: "cost", big: "", small: "", bar: { low, plan, high, unit: "USD" } }), none = { id: "sure", title: "cost", big: "", bar: null };
      const better = (one, other) => gpucalc.views.compare({ job: "serve" }, { job: "serve", prompt: 1 }, { a: { cards: [one] }, b: { cards: [other] } }, [])
        .flatMap((each) => [...(each.querySelectorAll?.("tr") ?? [])]).at(-1).lastChild.textContent;
      return [...[[[1, 2, 3], [3.1, 4, 5]], [[1, 2, 3], [3, 4, 5]], [[3.1, 4, 5], [1, 2, 3]], [[3, 4, 5], [1, 2, 3]], [[1, 2, 3], [1, 2, 4]],
        [[1, 2, 3], [1, 2, 3]]].map((pair) => better(...pair.map(card))), better(none, none)];
    }""")
    assert found == ["A", "too close to call", "this case", "too close to call", "too close to call", "the same", ""]


def test_eight_options_are_shown_at_first(opened):
    page = opened()
    for count, later in ((8, 0), (9, 1), (12, 4)):
        page.evaluate("""(count) => document.querySelector("main").append(...gpucalc.views.options(
          Array.from({ length: count }, (_, number) => ({ words: `option ${number}`, gpus: 1234, usd: 1234.5, low_usd: 1, high_usd: number ? null : 2 })), () => null))""", count)
        table, button = page.locator("main > .case-options").last, page.locator(f"main > button:text('show all {count}')")
        rows = table.locator("tbody tr")
        assert rows.count() == count and table.locator(".case-later").count() == later and button.count() == (later > 0)
        assert rows.first.locator("td").all_inner_texts()[:2] == ["1,230", "1,230\n1 to 2"] and rows.last.locator("td").nth(1).inner_text() == "1,230"
        if later:
            button.click()
            assert table.locator(".case-later").count() == button.count() == 0


HASHES = """async (hashes) => {
  const wrong = [], count = (path) => document.querySelectorAll(path).length;
  for (const hash of hashes) {
    location.hash = hash;
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    const whole = count(".case-ask select") > 3 && count(".case-sentence") === 1;
    if (!whole || count("#case :is(script, img, iframe, object), #case svg[onload]")) wrong.push(hash);
  }
  return wrong;
}"""


def test_a_hostile_address_is_shown_and_never_run(opened):
    assert opened().evaluate(HASHES, [case for text in map(quote, hostile.IN_FIELDS) for case in (
        f"job=serve&model={text}&prompt={text}&{text}={text}&vs={quote('model=')}{text}", f"job={text}", text, unquote(text),
        f"job=serve&model={text}&model_row=layers:80&rents={text}&vs=job%3Dserve")]) == []


@pytest.mark.long
def test_hostile_texts_in_every_input(opened):
    page = opened()
    for job in ("serve", "pretrain", "images", "rent_or_buy"):
        choose(page, "job", job)
        page.locator(".case-more").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
        for key in page.evaluate("[...document.querySelectorAll('.case-ask input')].map((each) => each.id.slice(5))"):
            before = None if key == "model" else case_of(page).get(key)  # a name that nobody knows is no model
            for text in hostile.IN_FIELDS:
                page.evaluate("""([key, text]) => {
                  const input = document.getElementById(`case-${key}`);
                  input.value = text;
                  input.dispatchEvent(new Event("input", { bubbles: true }));
                  input.dispatchEvent(new Event("change", { bubbles: true }));
                }""", [key, text])
                assert case_of(page).get(key) == before, (key, text)
    choose(page, "job", "serve")
    for opener in ("Paste a case", "Paste a config.json", "Your own rents"):
        page.get_by_role("button", name=opener).click()
        for text in hostile.IN_FIELDS:
            page.locator("dialog textarea").fill(text)
            page.locator("dialog .case-go").click()
            page.evaluate(WAIT)
            if page.locator("dialog").count() == 0:
                page.get_by_role("button", name=opener).click()
        page.keyboard.press("Escape")
        page.locator("dialog").wait_for(state="detached")


def test_a_pasted_case_is_taken_or_its_faults_named(opened):
    page = opened()
    page.get_by_role("button", name="Paste a case").click()
    page.locator("dialog textarea").fill("job: qlora\nmodel: [Llama]\nwhatever\nprompt: 3\n")
    page.locator("dialog .case-go").click()
    wrong = page.locator("dialog [role=alert]").inner_text()
    assert "Line 2" in wrong and "Line 3" in wrong and "prompt" in wrong
    text = "# mine\njob: qlora\nmodel: 'Llama-3-8B'  # small\ntraining_tokens: 1.0e+7\ncards: \"RTX 4090 24GB\"\n"
    page.locator("dialog textarea").fill(text)
    page.locator("dialog .case-go").click()
    assert page.locator("dialog").count() == 0
    assert case_of(page) == yaml.safe_load(text)


def test_a_pasted_model_and_rents_stay_in_the_address(opened):
    page = opened()
    page.get_by_role("button", name="Paste a config.json").click()
    page.locator("dialog textarea").fill("{")
    page.locator("dialog .case-go").click()
    assert "no JSON" in page.locator("dialog [role=alert]").inner_text()
    page.locator("dialog textarea").fill('{"name": "<b>Mine & yours</b>", "layers": 40}')
    page.locator("dialog .case-go").click()
    page.get_by_role("button", name="Your own rents").click()
    for text, wrong in (("gpu,usd_per_hour\nH100,\n", "Line 2: H100: no price"), ("gpu,usd_per_hour\nH100,99\n", "is 99 right?")):
        page.locator("dialog textarea").fill(text)
        page.locator("dialog .case-go").click()
        assert wrong in page.locator("dialog [role=alert]").inner_text()
    page.locator("dialog .case-go").click()
    again = opened(page.evaluate("location.hash.slice(1)"))
    state = case_of(again)
    assert state["model"] == "<b>Mine & yours</b>" and state["rents"] == "gpu,usd_per_hour\nH100,99"
    row = {"layers": 40, "hidden": 2560, "attention": "GQA"}  # and no window, which the model lacks
    assert again.evaluate("(text) => gpucalc.cases.row(text)", state["model_row"]) == row
    assert "PRICES=mine.csv" in again.evaluate("(state) => gpucalc.cases.command(state)", state)
    assert again.locator("#case-model").input_value() == "<b>Mine & yours</b>" and notes(again) == []
    give(again, "model", "Llama-3-8B")
    assert "model_row" not in case_of(again)


@pytest.mark.long
def test_several_gpus_are_chosen_by_box(opened):
    page = opened()
    page.locator("#case-cards").select_option("several")
    for name in ("H100 SXM 80GB", "H200 SXM 141GB"):
        page.get_by_label(name).check()
    page.locator("dialog .case-go").click()
    page.evaluate(WAIT)
    assert case_of(page)["cards"] == "H100 SXM 80GB, H200 SXM 141GB"
    assert page.locator("#case-cards").input_value() == "H100 SXM 80GB, H200 SXM 141GB"
    assert opened(page.evaluate("location.hash.slice(1)")).locator("#case-cards").input_value() == "H100 SXM 80GB, H200 SXM 141GB"


def test_what_helps_an_option_and_a_flip_are_applied(opened):
    page = opened()
    page.get_by_role("button", name="FP8 weights").click()
    page.evaluate(WAIT)
    assert page.evaluate("document.activeElement.className") == "case-apply"
    page.get_by_role("button", name="Use this: H200").click()
    assert case_of(page)["provider"] == "Nebius"
    page.evaluate(WAIT)
    assert page.evaluate("document.activeElement.textContent") == "use this"
    page.get_by_role("button", name="Try it").click()
    assert case_of(page) | {"term": "spot", "weight_format": "FP8"} == case_of(page)


def test_two_cases_stand_side_by_side(opened):
    page = opened()
    page.get_by_role("button", name="Keep as A").click()
    give(page, "requests_per_second", "20")
    again = opened(page.evaluate("location.hash.slice(1)"))
    table = again.get_by_role("region", name="A and this case side by side")
    told = {row.locator("th").inner_text(): row.locator("td").all_inner_texts() for row in table.locator("tbody tr").all()}
    assert told["requests a second"][:2] == ["10", "20"]
    assert told["What does it cost?"][2] == "A" and told["How many GPUs?"][2] == "the same" and told["Does it fit?"][2] == ""
    again.get_by_role("button", name="Swap the two").click()
    again.evaluate(WAIT)
    assert case_of(again)["requests_per_second"] == 10
    again.get_by_role("button", name="Forget A").click()
    again.evaluate(WAIT)
    assert "vs=" not in again.evaluate("location.hash") and table.count() == 0


@pytest.mark.long
def test_two_cases_of_different_kinds_are_not_compared(opened):
    page = opened("job=pretrain&model=Llama-3-8B&training_tokens=1e9&vs=job%3Dserve%26requests_per_second%3D1")
    told = page.locator("section", has=page.get_by_role("heading", name="A and this case side by side"))
    assert "A is to serve a model to users, this case to train a model from scratch: the two differ in kind" in told.inner_text()
    assert told.locator("table").count() == 0 and told.get_by_role("button", name="Forget A").is_visible()


# What leaves the page is data

def rents_of(text):
    quoted = text.replace('"', '""')
    return f'gpu,usd_per_hour,provider\nH100,2,"{quoted}"'


def state_of(text, rented=None):
    return {"job": "serve", "model": text, "model_row": "family:dense,layers:4", "requests_per_second": 1, "provider": text,
            "rents": rents_of(text if rented is None else rented)}


NAMES = [text for text in hostile.TEXTS if len(text) <= LONGEST and not hidden(text)]


def test_an_address_gives_back_each_text_or_refuses_it(opened):
    page, told = opened(), [*hostile.TEXTS, *hostile.HIDDEN]
    found = page.evaluate("(states) => states.map((state) => gpucalc.cases.fromAddress(gpucalc.cases.address(state)))", [state_of(text) for text in told])
    for text, given in zip(told, found):
        good = {name: value for name, value in state_of(text).items() if text in NAMES or name not in ("model", "provider")}
        if hidden(re.sub("[\\t\\r\\n]", "", text)):
            del good["rents"]
        assert given["state"] == good and len(given["faults"]) == 6 - len(good), text


def test_a_copied_command_runs_nothing_but_itself(opened, tmp_path):
    told = [("any" if text not in NAMES else text, text) for text in hostile.TEXTS]
    commands = opened().evaluate("(states) => states.map(gpucalc.cases.command)", [state_of(*each) for each in told])
    make = tmp_path / "make"
    make.write_text('#!/bin/sh\nprintf "%s\\0" "$@" > given\n')
    make.chmod(0o755)
    for number, (command, (name, text)) in enumerate(zip(commands, told)):
        (here := tmp_path / str(number)).mkdir()
        done = subprocess.run(["bash"], input=command.encode(), cwd=here, env={"PATH": f"{tmp_path}:/usr/bin:/bin"}, capture_output=True)
        assert (done.returncode, done.stdout, done.stderr) == (0, b"", b""), text
        assert {path.name for path in here.iterdir()} == {"mine.yaml", "mine.csv", "given"}, text
        assert (here / "given").read_text() == "decide\0CASE=mine.yaml\0PRICES=mine.csv\0"
        assert (here / "mine.csv").read_bytes().decode() == rents_of(text) + "\n"
        assert read_mapping(here / "mine.yaml") == {key: value for key, value in state_of(name).items() if key != "rents"}


def test_a_copied_case_is_read_back_as_it_was(opened, tmp_path):
    states = [{name: value for name, value in state_of(text).items() if name != "rents"} for text in NAMES]
    for state, text in zip(states, opened().evaluate("(states) => states.map(gpucalc.cases.yaml)", states)):
        (tmp_path / "mine.yaml").write_text(text, encoding="utf-8")
        case = read_case(tmp_path / "mine.yaml")
        assert (case.rows["model"].name, case.rows["provider"].name) == (state["model"], state["provider"])


@pytest.mark.long
def test_a_copied_cell_is_two_calls_of_plain_values(opened):
    states = [state_of(text) for text in [*hostile.TEXTS, *hostile.HIDDEN]]
    for state, cell in zip(states, opened().evaluate("(states) => states.map(gpucalc.cases.cell)", states)):
        assert TransformerManager().transform_cell(cell) == cell, "Jupyter finds a command in it"
        path, gpucalc, write, decided = ast.parse(cell).body
        assert isinstance(path, ast.ImportFrom) and isinstance(gpucalc, ast.ImportFrom)
        assert ast.unparse(write.value.func) == "Path('mine.csv').write_text" and ast.unparse(decided.value.func) == "decide"
        case, prices = decided.value.args
        values = {each.arg: ast.literal_eval(each.value) for each in case.keywords}
        assert ast.unparse(case.func) == "Case" and not case.args and ast.literal_eval(prices) == "mine.csv"
        assert [ast.literal_eval(each) for each in write.value.args] == [state["rents"]]
        assert values == {"job": "serve", "model": {"family": "dense", "layers": 4}, "requests_per_second": 1, "provider": state["provider"]}


@pytest.mark.long
def test_nothing_is_copied_while_the_page_names_a_fault(opened):
    page = opened("job=serve&model=Llama-3-8B&requests_per_second=1&prompt=many", permissions=["clipboard-read", "clipboard-write"])
    page.evaluate("navigator.clipboard.writeText('before')")
    for name in ("YAML", "a notebook cell", "a command"):
        page.get_by_role("button", name=name, exact=True).click()
        page.locator(".case-said", has_text="Not copied").wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == "before"
    give(page, "prompt", "500")
    page.get_by_role("button", name="a command", exact=True).click()
    page.locator(".case-said", has_text="Copied as a command.").wait_for()
    assert "prompt: 500" in page.evaluate("navigator.clipboard.readText()")


@pytest.mark.long
def test_a_link_to_a_heading_is_no_case(opened):
    page = opened()
    give(page, "prompt", "2,000")
    page.evaluate("location.hash = 'a-heading'")
    page.evaluate(WAIT)
    assert page.locator("#case-prompt").input_value() == "2,000" and notes(page) == []


def test_the_keyboard_reaches_and_changes_everything(opened):
    page = opened()
    page.locator("#case-job").focus()
    seen = []
    for _ in range(80):
        seen.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        if "try it" in seen:
            break
        page.keyboard.press("Tab")
    assert {"case-model", "case-requests_per_second", "case-cards", "More inputs (8)", "YAML", "use this", "try it"} <= set(seen)
    page.locator("#case-requests_per_second").focus()
    page.keyboard.press("Control+A")
    page.keyboard.type("30")
    page.keyboard.press("Enter")
    assert case_of(page)["requests_per_second"] == 30


def test_a_screen_reader_hears_the_answers_once_they_rest(opened):
    page = opened()
    heard = page.locator("#case > [role=status]")
    for text in ("2", "25", "250"):
        page.locator("#case-requests_per_second").fill(text)
        page.wait_for_timeout(50)
    assert "250" not in heard.inner_text()
    page.wait_for_timeout(1500)
    assert "What does it cost? $" in heard.inner_text()


@pytest.mark.parametrize("job", ["serve", "pretrain", "rent_or_buy"])
def test_a_phone_needs_no_sideways_scrolling_and_no_small_target(opened, job):
    page = opened(f"job={job}&vs=job%3Dserve", viewport={"width": 390, "height": 844})
    page.locator(".case-more").evaluate_all("(all) => all.forEach((each) => { each.open = true; })")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    sizes = page.locator("#case :is(button, select, input):visible").evaluate_all("(all) => all.map((each) => each.offsetHeight)")
    assert min(sizes) >= 24


def test_without_scripts_the_page_says_so(browser, front):
    page = visit(browser, front, drawn=False, java_script_enabled=False)
    assert "did not load" in page.locator("#case").inner_text()
    leave(page)


@pytest.mark.long
def test_paper_has_the_case_and_the_answers_but_no_buttons(opened):
    page = opened()
    page.emulate_media(media="print")
    assert not page.get_by_role("button", name="YAML").is_visible() and not page.locator(".case-chips").is_visible()
    assert page.locator("#case-model").is_visible() and page.locator(".case-card").first.is_visible()
    text = page.locator(".case-paper").inner_text()
    assert page.evaluate("(text) => gpucalc.cases.yaml(gpucalc.cases.fromYaml(text).state)", text) == text
