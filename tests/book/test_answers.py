"""What a reader gives to a build, checked at once; the page of a notebook that lacks a price; answers in the terminal."""

import json
from pathlib import Path

import pytest

from book.build import answers, site as build
from book.build.given import check_case, Given, read_given, refused
from book.build.inputs import state
from book.build.lacking import in_words, literal
from book.build.site import BuildError
from tests.book.test_build import TOP, executed, page, small_project

NOTEBOOK = TOP + """# What does it cost?

```{code-cell} ipython3
:tags: [parameters]
prices: str = None
only: bool = False
rates: dict = None
layers: int = 2
```

```{code-cell} ipython3
:tags: [remove-input]
import os
from pathlib import Path
from IPython.core.magic import register_cell_magic
from IPython.display import display
@register_cell_magic
def say(line, cell):
    words = eval(f"f{cell.strip()!r}")
    kept = {"scrapbook": {"name": line, "mime_prefix": ""}} if line else {}
    display({"text/markdown": words, "text/plain": repr(words)}, metadata=kept, raw=True)
class MissingPrice(ValueError):
    pass
text = Path(prices or "../data/prices/2026.csv").read_text()
dated = f"prices: {Path(prices or '2026.csv').name}, the oldest of 2025-03"
if "nothing" in text:
    try:
        raise MissingPrice("mine.csv: no price for gpu '<b>H100</b>'; gpu is one of 'A100'")
    except MissingPrice as error:
        raise ValueError(f"{error}; or give the parameter usd") from None
```

```{code-cell} ipython3
:tags: [remove-input, headline]
%%say headline
It costs {text} for {layers} layers.
```

```{code-cell} ipython3
:tags: [remove-input]
%%say
That is **most** of [the bill](size.md).
```

```{code-cell} ipython3
:tags: [remove-input]
guess = lambda question, text: display({"text/plain": f"{question}: {text}"}, raw=True)
```

```{code-cell} ipython3
:tags: [remove-input]
guess("How much?", "ten, for all layers")
```

```{code-cell} ipython3
:tags: [remove-input]
print(only, rates, os.environ.get("GPUCALC_GPUS", "no GPUs").rpartition("/")[2], "given")
```

## Far below

> **Remember.** A layer costs
> a dollar.

```{code-cell} ipython3
Path(SLOW).write_text("ran")
```
"""
HOW = 'Read [more](cost.md#far-below).\n\n{glue:text}`cost.ipynb::headline:s`\n'


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path, cache):
    """The small project, whose page of costs has a headline, a section far below, and another page that shows both."""
    root = small_project(tmp_path, cache)
    (root / "notebooks/cost.md").write_text(NOTEBOOK.replace("SLOW", repr(str(root / "slow"))))
    (root / "book/index.md").write_text(f"# A small book\n\n{HOW}")
    return root


def written(path, text):
    path.write_text(text)
    return path


# What is given

def test_all_that_is_wrong_with_what_is_given_is_said_at_once(tmp_path):
    case = written(tmp_path / "case.yaml", "layers: [1")
    with pytest.raises(BuildError) as caught:
        read_given(prices=str(tmp_path / "absent.csv"), only="perhaps", rate="EUR=1.1 euro=1 GBP=0", gpus=str(tmp_path), case=str(case))
    lines = str(caught.value).splitlines()
    assert [line.partition("=")[0] for line in lines] == ["PRICES", "ONLY", "RATE", "RATE", "GPUS", "CASE"]
    assert "euro=1" in lines[2] and "GBP=0" in lines[3] and "case.yaml, line 1" in lines[5]


@pytest.mark.parametrize("given, word", [({"only": "1"}, "ONLY=1"), ({"rate": "EUR=1.1"}, "RATE=")])
def test_what_is_about_a_price_file_needs_one(given, word):
    with pytest.raises(BuildError, match=f"^{word} is about the file in PRICES=, and none is given$"):
        read_given(**given)


@pytest.mark.parametrize("text, rates", [("EUR=1.10", {"EUR": 1.1}), ("eur=1.1, GBP=1.27", {"EUR": 1.1, "GBP": 1.27}), ("JPY=6.5e-3", {"JPY": 0.0065})])
def test_rates_of_currencies(tmp_path, text, rates):
    mine = written(tmp_path / "mine.csv", "")
    given = read_given(prices=str(mine), rate=text, only="yes")
    assert given == Given(mine, True, rates) and given.parameters == {"prices": "given/prices/mine.csv", "only": True, "rates": rates}
    assert given.options[:2] == [str(mine), "--only"] and given.options.count("--rate") == len(rates)


def test_a_case_is_plain_values_and_files_from_its_own_folder(tmp_path):
    config = written(tmp_path / "config.json", "{}")
    case = written(tmp_path / "mine.yaml", "model: config.json\nutilization: null\ntokens: 1e12\nname: '1e12'\nstrict: true\n")
    given = read_given(case=str(case))
    assert given.case == {"model": config, "utilization": None, "tokens": 1e12, "name": "1e12", "strict": True}
    assert given.files == {"given/model/config.json": config} and given.parameters["model"] == "given/model/config.json"


def test_all_that_pages_refuse_is_said_at_once():
    declared = {"one": ({"gpu": "H100 SXM 80GB", "batch": 8, "utilization": None}, ()), "two": ({"batch": 16, "mfu": 0.4}, ("mfu",))}
    check_case(Given(case={"gpu": "H200 SXM 141GB", "batch": 4, "utilization": None, "mfu": None}), declared)
    with pytest.raises(BuildError) as caught:
        check_case(Given(case={"gpu": "H100", "batch": "many", "utilisation": 1, "utilization": 1.5, "prices": "a.csv"}), declared)
    lines = str(caught.value).splitlines()[1:]
    assert "gpu 'H100' may be H100 SXM 80GB | " in lines[0] and lines[0].endswith("(one)")
    assert lines[1] == "  parameter 'batch' is 'many'; allowed: a number (one, two)"
    assert lines[2] == "  utilisation: no page has this parameter; close: utilization"
    assert "is 1.5; allowed: a number above 0 and at most 1" in lines[3] and lines[4] == "  prices: give it as PRICES=" and len(lines) == 5


@pytest.mark.parametrize("value, default, fine", [
    (1e12, 1, True), ("1e12", 1, False), (None, None, True), (None, 8, False), ("x", None, True), (True, False, True), (1, False, False),
    ([1], [2], True), ("x", "y", True), (Path("x.json"), "y", True), (Path("x.json"), 8, False)])
def test_a_value_is_of_the_kind_of_its_default(value, default, fine):
    assert (refused("anything", value, default) == "") == fine


def test_whatever_is_given_decides_on_what_a_site_is_made_from(project):
    mine, others = written(project / "mine.csv", "ten"), written(project / "gpus.csv", "fast")
    config = written(project / "config.json", "{}")
    options = [Given(), Given(mine), Given(mine, True), Given(mine, rates={"EUR": 1.1}), Given(mine, rates={"EUR": 1.2}), Given(gpus=others),
               Given(case={"layers": 3}), Given(case={"layers": 4}), Given(case={"layers": None}), Given(case={"layers": config})]
    made = [build.inputs_of(state(project, given), given) for given in options]
    config.write_text("{ }")
    made.append(build.inputs_of(state(project, options[-1]), options[-1]))
    assert len(set(made)) == len(made)


# A page that lacks a price

@pytest.mark.long
def test_a_build_says_which_headlines_changed_and_a_page_what_it_lacks(project, capsys):
    poor, rich = written(project / "poor.csv", "nothing"), written(project / "rich.csv", "ten dollars")
    (project / "gpucalc/rows/price_book.py").write_text("print('all read'); print('check: one price is odd')")
    build.build_book(project, given=Given(rich))
    said = capsys.readouterr().out
    assert said.startswith("all read\ncheck: one price is odd\n") and said.endswith("check: one price is odd\n")
    assert "Headlines that changed" not in said, "there were none before"
    assert "It costs ten dollars for 2 layers" in page(project, "index") and 'href="cost.html#far-below"' in page(project, "index")

    build.build_book(project, given=Given(rich, case={"layers": 3}))
    said = capsys.readouterr().out
    assert "Headlines that changed: 1 of 1\n  cost\n    was  It costs ten dollars for 2 layers.\n" in said
    assert "    now  It costs ten dollars for 3 layers.\n" in said

    build.build_book(project, given=Given(poor))
    said = capsys.readouterr().out
    assert "\ncost: lacks <b>H100</b>\n" in said
    shown = page(project, "cost")
    assert "<h1>What does it cost?" in shown and "Far below" not in shown and "&lt;b&gt;H100" in shown and "<b>H100" not in shown
    assert "This page needs a price that your file poor.csv does not have: &lt;b&gt;H100" in shown and 'href="index.html"' in shown
    assert "This page needs a price" in page(project, "index") and "#far-below" not in page(project, "index")
    build.build_book(project, given=Given(poor))
    assert capsys.readouterr().out == "Nothing changed since the last build.\ncheck: one price is odd\ncost: lacks <b>H100</b>\n"


@pytest.mark.parametrize("error, words", [
    ("mine.csv: no price for item 'server', gpu 'H100 SXM 80GB'; item is one of 'card', 'rent'; or give the parameter server_usd",
     "server, H100 SXM 80GB; or give the parameter server_usd"),
    ("mine.csv: no price for item 'rent', gpu 'GB200', term 'spot'; gpu is one of 'A', 'B', 'C', 'D', 'E', 'F', 'G'",
     "rent, GB200, spot; its GPUs: A, B, C, D, E and 2 more"),
    ("mine.csv: no price for item 'rent', at_least 8; gpus_per_server is one of 1, 4", "rent, at least 8 GPUs in a server; "
     "its GPUs in a server: 1, 4"),
    ("mine.csv: no on-demand rent of L4 24GB; give the parameter usd_per_hour", "on-demand rent of L4 24GB; give the parameter usd_per_hour")])
def test_what_a_price_error_misses_in_words(error, words):
    assert in_words(error) == words


def test_what_a_page_lacks_is_no_markdown():
    assert literal("a*b_c [d](e) <f>, 1.5") == r"a\*b\_c \[d\]\(e\) \<f\>\, 1\.5"


def test_a_price_that_the_projects_own_book_lacks_is_an_error(project, capsys):
    (project / "data/prices/2026.csv").write_text("nothing")
    with pytest.raises(BuildError, match="notebooks/cost.md, code cell 2, line 18:\n.*raise ValueError"):
        executed(project, capsys)


@pytest.mark.long
def test_gpus_reach_the_notebooks_that_read_gpus(project, capsys):
    mine = written(project / "mine.csv", "a new one")
    (project / "notebooks/size.md").write_text((project / "notebooks/size.md").read_text().replace(
        "print(layers * 21)", "import os\nprint(open('../data/gpus.csv').read(), open(os.environ.get('GPUCALC_GPUS', os.devnull)).read())"))
    assert executed(project, capsys)[0] == ["cost", "size"]
    ran, shown = executed(project, capsys, given=Given(gpus=mine))
    assert ran == ["size"] and "a new one" in shown["size"]
    mine.write_text("a newer one")
    assert "a newer one" in executed(project, capsys, given=Given(gpus=mine))[1]["size"]


# Answers

def test_an_answer_is_the_headline_its_reasons_and_the_oldest_date(project, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    mine = written(project / "mine.csv", "<i>ten</i> dollars")
    (project / "gpucalc/rows/price_book.py").write_text("")
    given = Given(mine, True, {"EUR": 1.1}, case={"layers": 3, "share": 0.4})
    said = build.answer("cost", project, given)
    assert said == ("It costs <i>ten</i> dollars for 3 layers.\n\nThat is most of the bill.\n\nHow much?: ten, for all layers\n\n"
                    "Remember. A layer costs a dollar.\n\n"
                    "The oldest price behind this is of 2025-03.")
    assert not (project / "slow").exists(), "what comes after the answer need not run"
    held = json.loads((project / "_build/answers/cost.ipynb").read_text())
    assert "True {'EUR': 1.1} no GPUs given" in json.dumps(held)
    mine.write_text("nothing")
    assert build.answer("cost", project, given).startswith("This page needs a price that your file mine.csv does not have")


def test_an_answer_of_no_page(project):
    with pytest.raises(BuildError, match="^TOPIC=costs: there is no such notebook; close: cost; allowed: cost, size$"):
        build.answer("costs", project)
    with pytest.raises(BuildError, match="lairs: no page has this parameter; close: layers"):
        build.answer("cost", project, Given(case={"lairs": 3}))


@pytest.mark.parametrize("markdown, words", [("On **H100** it is `4` of [these](x.md#y).", "On H100 it is 4 of these."),
                                             (r"a\_b\*c \<b\> \$5 &amp; _so_ snake_case", "a_b*c <b> $5 & so snake_case"),
                                             ('of <time class="d" datetime="2025">2025</time>', "of 2025"),
                                             ("One\nline.\n\n- a\n- b\n  c", "One line.\n- a\n- b c")])
def test_markdown_as_plain_text(markdown, words):
    assert answers.plain(markdown) == words


def test_only_headlines_that_differ_are_listed(monkeypatch):
    monkeypatch.setenv("COLUMNS", "50")
    assert answers.changed({"one": "a", "gone": "b"}, {"one": "a", "new": "c"}) == ""
    said = answers.changed({"one": "word " * 20, "two": "a"}, {"one": "other " * 20, "two": "a"})
    assert said.startswith("Headlines that changed: 1 of 2\n  one\n    was  word word") and max(map(len, said.splitlines())) <= 50
