"""The repository as a team finds it: workflows, forms for issues, hooks, what Binder installs; and what stands around the pages."""
import re
import tomllib
import xml.etree.ElementTree as ET

import pytest
import yaml

from book.build import around, finish
from book.build.inputs import ROOT
from gpucalc.rows import project_books

GITHUB = ROOT / ".github"
FORMS = sorted(GITHUB.glob("ISSUE_TEMPLATE/*.yml"))
ATOM = "{http://www.w3.org/2005/Atom}"
ADDRESS = "https://a.org/b/"


def read(path):
    return yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_asks_for_what_a_row_needs(path):
    """As docs.github.com has the syntax of issue forms: name, description and a body of fields, each with a label, ids apart."""
    form = read(path)
    assert {"name", "description", "body"} <= set(form) <= {"name", "description", "title", "labels", "body"}
    fields = form["body"]
    assert all(each["type"] in ("input", "textarea", "dropdown", "checkboxes") and each["attributes"]["label"] for each in fields)
    assert len({each["id"] for each in fields}) == len(fields) and any(each.get("validations", {}).get("required") for each in fields)
    assert [each.stem for each in FORMS] == ["measured-figure", "wrong-formula", "wrong-price"]


def test_hooks_and_binder_use_what_is_installed():
    hooks = {hook["id"]: hook["entry"] for repo in read(ROOT / ".pre-commit-config.yaml")["repos"] for hook in repo["hooks"]}
    assert list(hooks) == ["ruff", "layout", "jupytext"] and "--sync" in hooks["jupytext"]
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    wanted = (ROOT / ".binder/requirements.txt").read_text().split("\n", 1)[1].split()
    assert wanted == ["-e", ".[pages]", "jupytext>=1.16"] and "pages" in extras and "jupytext>=1.16" in extras["book"]


@pytest.mark.parametrize("name", ["cards.html", "api.html", "search.html"])
def test_each_page_ends_with_its_licences_its_day_and_where_to_correct_it(name, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1767225600")
    page = '<p class="component-author">\nBy\n</p>'
    known, unknown = (finish.footed(page, name, repository) for repository in ("https://github.com/a/b", ""))
    assert finish.footed(known, name, "https://github.com/a/b") == known
    for text in ('made on <time datetime="2026-01-01">', "CC BY 4.0", "MIT"):
        assert text in known and text in unknown
    form = re.search(r"issues/new\?template=([\w.-]+)&amp;title=", known)[1]
    assert form in [path.name for path in FORMS] and "/edit/HEAD/" not in unknown and "github" not in unknown
    edit = re.search(r"/edit/HEAD/([\w/.]+)", known)
    assert (edit is None) == (name == "search.html") and (not edit or (ROOT / edit[1]).exists())


def test_the_text_for_assistants_has_headlines_with_dates_and_the_lessons(tmp_path, monkeypatch):
    page = ('<meta name="description" content="85.9 GB &amp; more" /><time class="price-date" datetime="2026-11-09">9</time>'
            '<article id="text" class="bd-article"><h1>KV cache<a class="headerlink" href="#">#</a></h1><script>no()</script><p>Each <b>token</b>\n keeps'
            '</p><ul><li>one</li></ul><table><tr><td>8<td>GB</tr></table><math><mi>k</mi></math></article>')
    for name in ("kv_cache", "cards"):
        (tmp_path / f"{name}.html").write_text(page)
    around.for_assistants(tmp_path, ADDRESS, tmp_path / "before")
    short, full = ((tmp_path / name).read_text() for name in ("llms.txt", "llms-full.txt"))
    assert short.startswith("# GPU arithmetic\n\n> ") and "- [KV cache](https://a.org/b/kv_cache.html): 85.9 GB & more (prices of 2026-11-09)\n" in short
    assert "## Learn\n" in short and "## Look up\n" in short and "no()" not in full
    assert "<https://a.org/b/kv_cache.html> (prices of 2026-11-09)\n\n# KV cache\n\nEach token keeps\n- one\n| 8 | GBk\n" in full
    assert "cards.html" not in full
    monkeypatch.setattr(around, "Text", None)  # an article that is the same is not read again
    around.for_assistants(tmp_path, ADDRESS, tmp_path / "before")
    assert (tmp_path / "llms-full.txt").read_text() == full


def test_the_feed_is_atom_and_the_badge_has_its_date(book):
    found = around.moves()
    feed = ET.fromstring(around.feed(ADDRESS, found).encode())
    entries = feed.findall(f"{ATOM}entry")
    assert feed.tag == f"{ATOM}feed" and len(entries) == len(project_books.price_books()) - 1 > 1
    for entry in (feed, *entries):
        assert all(entry.find(f"{ATOM}{name}").text for name in ("id", "title", "updated"))
    assert len({entry.find(f"{ATOM}id").text for entry in entries}) == len(entries)
    dates = [entry.find(f"{ATOM}updated").text for entry in entries]
    assert dates == sorted(dates, reverse=True) and dates[0].startswith(project_books.newest().stem)
    for row in (row for each in found for row in each["rows"]):
        assert abs(row["usd_per_hour"] / row["before"] - 1) >= around.MOVED and row["source"] and row["date"] <= project_books.newest().stem
    rents = book[(book["item"] == "rent") & (book["gpu"] == around.BADGE_GPU) & (book["term"] == "on-demand")]
    shown = around.badge(found)
    assert f"from {found[0]['badge']['usd_per_hour']:.2f} USD/h, {found[0]['badge']['date']}" in shown and ET.fromstring(shown).tag.endswith("svg")
    assert rents["usd_per_hour"].min() <= found[0]["badge"]["usd_per_hour"] <= rents["usd_per_hour"].median()


def test_what_needs_the_address_is_there_with_it(tmp_path):
    around.surround(tmp_path, "")
    assert {path.name for path in tmp_path.iterdir()} == {"llms.txt", "llms-full.txt"}, "no rents where no page has them"
    (tmp_path / "what_changed.html").touch()
    around.surround(tmp_path, "")
    assert {path.name for path in tmp_path.glob("*.*")} == {"llms.txt", "llms-full.txt", "h100.svg", "what_changed.html"}
    around.surround(tmp_path, ADDRESS)
    assert (tmp_path / "robots.txt").read_text().endswith("Sitemap: https://a.org/b/sitemap.xml\n") and (tmp_path / "prices.atom").exists()


def test_pages_of_two_builds_are_compared_by_their_text(tmp_path, capsys):
    for place, text in (("old", "<p>One</p>"), ("new", "<p class='x'>One</p>")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "a.html").write_text(f'<article class="bd-article">{text}</article>')
    old, new = str(tmp_path / "old"), str(tmp_path / "new")
    assert around.main(old, new) == 0 and capsys.readouterr().out == "1 pages, 0 that differ\n"
    (tmp_path / "new/b.html").write_text("")
    assert around.main(old, new) == 1 and "b.html" in capsys.readouterr().out
    (tmp_path / "new/a.html").write_text('<article class="bd-article"><p>Two</p></article>')
    assert around.main(old, new) == 1 and "a.html" in capsys.readouterr().out


WORKFLOWS = sorted((GITHUB / "workflows").glob("*.yml"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.name)
def test_what_workflows_run_is_there(path):
    """Each `run` of a job is a command of this repository, and a job needs one that exists."""
    jobs = read(path)["jobs"]
    runs = [step["run"] for job in jobs.values() for step in job["steps"] if "run" in step]
    rules = re.findall(r"^([\w-]+(?: [\w-]+)*):(?!=)", (ROOT / "Makefile").read_text(), re.M)
    made = [name for run in runs for name in re.findall(r"(?:^|&& )make ([\w-]+)", run)]
    assert made and {*made} <= {name for names in rules for name in names.split()}
    assert all((ROOT / script).stat().st_mode & 0o100 for run in runs for script in re.findall(r"\.ci/\w+", run))
    assert all(job.get("needs", next(iter(jobs))) in jobs for job in jobs.values())
    assert all(step.keys() & {"run", "uses"} and not {"run", "uses"} <= step.keys() for job in jobs.values() for step in job["steps"])


def test_a_release_has_what_its_steps_made():
    released = read(GITHUB / "workflows/release.yml")
    runs = [step["run"] for step in released["jobs"]["release"]["steps"] if "run" in step]
    # PyYAML reads the word `on` as true.
    assert released[True]["push"]["tags"] == ["v*"] and runs[:-1] == ["make wheel", "make pdf", "make epub"]
    assert {*re.findall(r"_build/[\w./*]+", runs[-1])} == {"_build/changes.md", "_build/dist/*.whl", "_build/book.pdf", "_build/book.epub"}
    recipes = (ROOT / "Makefile").read_text()
    assert "--wheel-dir _build/dist" in recipes and "book.build.paper $@" in recipes
