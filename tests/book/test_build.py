"""The pipeline on a project of two small notebooks: what runs again, what stops it, what stays in place."""

import datetime
import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from types import SimpleNamespace
from urllib.request import urlopen

import pytest

from book.build import editions, front, pages, runner, serve, site as build
from book.build.charts import MIME
from book.build.editions import as_file, Editions, is_current, made_from, outputs_hash
from book.build.given import Given, read_parameters
from book.build.inputs import alone, BuildError, dated, Frozen, place
from gpucalc.rows import price_book, tables

TOP = """---
jupytext:
  formats: ipynb,md:myst
  text_representation:
    extension: .md
    format_name: myst
kernelspec:
  display_name: Python 3
  language: python
  name: python3
---
"""
HEADER = TOP + """# {title}

```{{code-cell}} ipython3
:tags: [parameters]
{parameters}
```

```{{code-cell}} ipython3
{code}
```
"""
PRICED = "from pathlib import Path\nprint(Path(prices).read_text())"


def write_notebook(root, topic, parameters, code):
    (root / f"notebooks/{topic}.md").write_text(HEADER.format(title=topic, parameters=parameters, code=code))


@pytest.fixture(scope="session")
def cache(tmp_path_factory):
    """What every project would make anew: the drawing library, and styles without what no page uses."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture
def project(tmp_path, cache):
    return small_project(tmp_path, cache)


def small_project(tmp_path, cache):
    """A project of two notebooks, one of which reads prices, in this folder."""
    for folder in ("notebooks", "book", "gpucalc", "data/prices"):
        (tmp_path / folder).mkdir(parents=True)
    (tmp_path / "requirements.txt").write_text("")
    # The pages made from the code are the project's own.
    (tmp_path / "_config.yml").write_text((build.ROOT / "_config.yml").read_text().replace("      - book.build.api\n", ""))
    (tmp_path / "book/_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [{file: cost}, {file: size}]\n")
    (tmp_path / "book/index.md").write_text("# A small book\n")
    (tmp_path / "gpucalc/rows").mkdir()
    (tmp_path / "gpucalc/rows/price_book.py").write_text("import sys; sys.exit('bad row' in open(sys.argv[1]).read() and 'row 2')")
    # What puts a file in place.
    for name in ("rows/files.py", "rows/kept.py"):
        shutil.copy(build.ROOT / "gpucalc" / name, tmp_path / "gpucalc" / name)
    (tmp_path / "data/prices/2026.csv").write_text("ten dollars")
    (tmp_path / "data/gpus.csv").write_text("a fast one")
    (tmp_path / "_build").mkdir()
    (tmp_path / "_build/cache").symlink_to(cache)
    write_notebook(tmp_path, "size", "layers = 2\nshare = 0.5", "print(layers * 21)")
    write_notebook(tmp_path, "cost", 'prices = "../data/prices/2026.csv"', PRICED)
    return tmp_path


def ran(said):
    return sorted(re.findall(r"^  (\w+) done", said, re.MULTILINE))


def built(project, capsys, **options):
    """Builds the site; returns the names of the notebooks that ran, and what was printed."""
    build.build_book(project, **options)
    said = capsys.readouterr().out
    return ran(said), said


def executed(project, capsys, given=None, **options):
    """Runs what has to run, without pages; returns the names of the notebooks that ran, and the text of each."""
    with alone(project / "_build"):
        found = Editions(Frozen(project, project / "_build/frozen", given), **options).current()
    return ran(capsys.readouterr().out), {topic: path.read_text() for topic, path in found.items()}


def page(project, name):
    return (project / f"_build/html/{name}.html").read_text()


def test_only_what_changed_is_made_again(project, capsys):
    assert built(project, capsys)[0] == ["cost", "size"]
    last = "2026"
    assert f'last read on <time class="price-date" datetime="{last}">{last}</time>' in page(project, "size"), "in the foot of each page"
    (project / "notebooks/.ipynb_checkpoints").mkdir()
    (project / "notebooks/.ipynb_checkpoints/size-checkpoint.md").write_text("a draft")
    assert "Nothing changed" in built(project, capsys)[1]

    (project / "data/prices/2026.csv").write_text("eleven dollars")
    assert built(project, capsys)[0] == ["cost"]
    assert "eleven dollars" in page(project, "cost")

    (project / "book/index.md").write_text("# A book with another front page\n\n[the size](size.md#size)\n")
    assert built(project, capsys)[0] == []
    assert "another front page" in page(project, "index") and 'href="size.html#size"' in page(project, "index")


@pytest.mark.long
def test_own_prices_make_their_pages_and_a_site_from_nothing_is_the_same(project, capsys, tmp_path):
    built(project, capsys)
    own = tmp_path / "my $prices.csv"
    own.write_text("twelve dollars")
    assert built(project, capsys, prices=own)[0] == ["cost"]
    assert "twelve dollars" in page(project, "cost")
    for path in (project / "_build/html").rglob("*"):
        assert path.is_dir() or str(project).encode() not in path.read_bytes(), f"{path} names a folder of this machine"

    kept = {path: path.read_bytes() for path in (project / "_build/html").rglob("*.*") if path.is_file()}
    shutil.rmtree(project / "_build/pages")
    (project / "_build/html/cost.html").unlink()
    assert built(project, capsys, prices=own)[0] == []
    assert {path: path.read_bytes() for path in kept} == kept, "made from nothing, the site is the same"


@pytest.mark.long
def test_a_change_that_shows_nowhere_makes_no_page(project, capsys):
    (project / "data/gpus.csv").write_text("a fast one")
    write_notebook(project, "size", "layers = 2", "print(len(open('../data/gpus.csv').read()))")
    built(project, capsys)
    (project / "data/gpus.csv").write_text("a slow one")
    ran_again, said = built(project, capsys)
    assert ran_again == ["size"] and "Pages: none changed" in said
    assert "Nothing changed" in built(project, capsys)[1]


def test_a_notebook_runs_again_for_what_it_read_only(project, capsys):
    write_notebook(project, "size", "layers = 2", "import os\nprint(open('../data/gpus.csv').read(), os.listdir('../data/prices'))")
    assert executed(project, capsys)[0] == ["cost", "size"]
    (project / "data/links.csv").write_text("nobody reads this")
    assert executed(project, capsys)[0] == []
    (project / "data/gpus.csv").write_text("a faster one")
    assert executed(project, capsys)[0] == ["size"]
    (project / "data/prices/2027.csv").write_text("a later book")
    ran_again, shown = executed(project, capsys)
    assert ran_again == ["size"] and "2027.csv" in shown["size"]
    (project / "gpucalc/law.py").write_text("")
    assert executed(project, capsys)[0] == ["cost", "size"]


@pytest.mark.long
def test_a_run_says_what_still_runs_and_which_page_took_longest(project, capsys):
    waits = "import os, time\nwhile not os.path.exists({0!r}):\n    time.sleep(0.05)\ntime.sleep(2)"
    write_notebook(project, "size", "layers = 2", waits.format(str(project / "_build/executed/cost.part")))
    with alone(project / "_build"):
        Editions(Frozen(project, project / "_build/frozen")).current()
    said = re.sub(r"\d+\.\d s", "T", capsys.readouterr().out).splitlines()[1:]
    assert said == ["  cost done, 1 left, T; running: size", "  size done, 0 left, T", "  size took longest: T"]


@pytest.mark.long
def test_an_edition_that_is_not_whole_is_made_again(project, capsys):
    whole = executed(project, capsys)[1]["size"]
    stored, = (project / "_build/executed").glob("size-*")
    frozen = Frozen(project, project / "_build/frozen")
    assert is_current(stored, frozen, "size", {}, pictures=False)
    for spoil in (lambda text: text[:100], lambda text: "", lambda text: "{}", lambda text: text.replace("42", "43")):
        stored.write_text(spoil(whole))
        assert not is_current(stored, frozen, "size", {}, pictures=False)
    ran_again, shown = executed(project, capsys)
    assert ran_again == ["size"] and shown["size"] == whole


@pytest.mark.long
def test_no_clock_matters(project, capsys, monkeypatch):
    """Editions from the future, as after a clock was put back, neither stay for ever nor push out the one just made."""
    monkeypatch.setattr(editions, "KEPT", 2)
    for number in range(4):
        write_notebook(project, "size", "layers = 2", f"print({number})")
        assert executed(project, capsys)[0] == (["size"] if number else ["cost", "size"])
        for stored in (project / "_build/executed").iterdir():
            os.utime(stored, (4e9, 4e9))
    assert len(list((project / "_build/executed").glob("size-*"))) == 2


def test_recordings_stand_for_runs(project, capsys):
    build.accept(project)
    shutil.rmtree(project / "_build")
    capsys.readouterr()
    assert executed(project, capsys)[0] == []
    assert executed(project, capsys, recorded=False)[0] == ["cost", "size"]
    shutil.rmtree(project / "_build")
    recording = project / "notebooks/size.ipynb"
    recording.write_text(recording.read_text().replace("42", "43"))
    assert executed(project, capsys)[0] == ["size"]
    build.accept(project)
    assert not any("43" in json.dumps(cell.get("outputs", "")) for cell in json.loads(recording.read_text())["cells"])


@pytest.mark.long
def test_a_recording_of_another_processor_is_left_as_it_is_but_for_its_hash(project, capsys):
    write_notebook(project, "size", "layers = 2", "print(1 / 3)")
    build.accept(project)
    recording = project / "notebooks/size.ipynb"
    stood = json.loads(recording.read_text().replace("0.3333333333333333", "0.33333333333333337"))
    made_from(stood).update(outputs_hash=outputs_hash(stood), inputs_hash="of an older library")
    recording.write_text(as_file(stood))
    shutil.rmtree(project / "_build/executed")
    build.accept(project)
    differ = [line for line, before in zip(recording.read_text().splitlines(), as_file(stood).splitlines(), strict=True) if line != before]
    assert len(differ) == 1 and '"inputs_hash"' in differ[0]
    shutil.rmtree(project / "_build/executed")
    capsys.readouterr()
    assert executed(project, capsys)[0] == []
    recording.write_text("spoiled")
    build.accept(project)
    assert "0.3333333333333333" in recording.read_text()


@pytest.mark.long
def test_data_edited_during_a_run_and_put_back(project, capsys):
    """The build is made from the data as it was at the start, whole; the edit is for the next one."""
    waits = "import time\nfrom pathlib import Path\nPath('{0}/begun').write_text('')\nwhile not Path('{0}/edited').exists():\n"
    waits += "    time.sleep(0.05)\nprint(open('../data/gpus.csv').read())"
    write_notebook(project, "size", "layers = 2", waits.format(project))

    def edit():
        wait_for((project / "begun").exists)
        (project / "data/gpus.csv").write_text("an edit")
        (project / "edited").write_text("")

    editor = threading.Thread(target=edit)
    editor.start()
    shown = executed(project, capsys)[1]["size"]
    editor.join()
    assert "a fast one" in shown and "an edit" not in shown
    (project / "data/gpus.csv").write_text("a fast one")
    ran_again, again = executed(project, capsys)
    assert ran_again == [] and again["size"] == shown
    (project / "data/gpus.csv").write_text("a third one")
    assert "a third one" in executed(project, capsys)[1]["size"]


@pytest.fixture
def site(project):
    """A project whose site stands, with a mark in it that a rebuild would remove."""
    html = project / "_build/html"
    html.mkdir(parents=True)
    (html / "index.html").write_text("the last good site")
    pages.write_record(html, {"inputs": "an earlier state", "pages": "other pages"})
    return project


def refused(project, **options):
    with pytest.raises(build.BuildError) as caught:
        build.build_book(project, **options)
    assert page(project, "index") == "the last good site"
    assert left_over(project) == []
    return str(caught.value)


def left_over(project):
    """What a build has no use for once it is over."""
    kept = {"html", "executed", "pages", "frozen", "cache", "notebooks", "answers"}
    parts = [path for folder in ("html", "executed", "notebooks") for path in (project / "_build" / folder).glob("*.part")]
    return [path.name for path in (project / "_build").iterdir() if path.name not in kept | {".lock"}] + parts


def test_a_raising_notebook_names_the_cell_and_leaves_the_site(site):
    write_notebook(site, "size", "layers = 2", "depth = layers\nraise RuntimeError('too deep')")
    message = refused(site)
    assert message == "notebooks/size.md, code cell 2, line 2:\n    raise RuntimeError('too deep')\nRuntimeError: too deep"


@pytest.mark.parametrize("code, line", [
    ("depth = 1\n\n\nfor step in range(3):\n    depth += 1\n    depth /= step\nprint(depth)", "line 6:\n    depth /= step\n"),
    ("def deep(number):\n    return 1 / number\ndepth = deep(\n    0)", "line 3:\n    depth = deep(\n"),
    ("depth = 1\ndepth =", "line 2:\n    depth =\n"),
    ("%nomagic", "code cell 2:\n    %nomagic\n"),
])
def test_the_line_of_a_cell_that_failed_is_shown(project, code, line):
    write_notebook(project, "size", "layers = 2", code)
    with pytest.raises(build.BuildError) as caught:
        build.run_notebook("size", {}, project)
    assert line in str(caught.value)


@pytest.mark.long
def test_a_notebook_that_warns_and_one_whose_process_dies_twice_are_named(project, capsys):
    write_notebook(project, "cost", "layers = 2", "import warnings\nwarnings.warn('an old name')")
    write_notebook(project, "size", "layers = 2", "import os\nos._exit(3)")
    with pytest.raises(BuildError) as caught:
        executed(project, capsys)
    message = str(caught.value)
    assert "notebooks/cost.md, code cell 2" in message and "an old name" in message
    assert "notebooks/size.md: its process ended twice without a word (exit code 3)" in message


@pytest.mark.long
def test_a_process_that_the_machine_ends_once_is_forgiven(project, capsys):
    once = "import os, signal\nfrom pathlib import Path\nif not Path('{0}').exists():\n    Path('{0}').write_text('')\n"
    once += "    os.kill(os.getpid(), signal.SIGKILL)\nprint('done at last')"
    write_notebook(project, "size", "layers = 2", once.format(project / "died"))
    assert "done at last" in executed(project, capsys)[1]["size"]


@pytest.mark.long
def test_processes_have_the_libraries_and_share_nothing(project, capsys):
    for topic in ("size", "cost", "third"):
        code = "import sys\nprint('libraries', 'pandas' in sys.modules, 'shared', hasattr(sys, 'mark'))\nsys.mark = 1"
        write_notebook(project, topic, "layers = 2", code)
    (project / "gpucalc/rows/price_book.py").write_text("")
    assert all("libraries True shared False" in shown for shown in executed(project, capsys)[1].values())


def test_outputs_are_those_of_a_notebook(project, capsys):
    code = "import sys\nfrom IPython.display import Markdown, display\nprint('one')\ndisplay(Markdown('*two*'))\nprint('three')\n{'four': 4}"
    write_notebook(project, "size", "layers = 2", code)
    outputs = json.loads(executed(project, capsys)[1]["size"])["cells"][-1]["outputs"]
    assert [each["output_type"] for each in outputs] == ["stream", "display_data", "stream", "execute_result"]
    assert outputs[1]["data"]["text/markdown"] == ["*two*"] or outputs[1]["data"]["text/markdown"] == "*two*"
    assert outputs[3]["data"]["text/plain"] in ("{'four': 4}", ["{'four': 4}"]) and outputs[3]["execution_count"] == 2


def test_what_a_page_leaves_out_or_folds_is_folded_in_jupyter(tmp_path):
    tags = ("remove-input", "remove-cell", "hide-input", "hide-cell", "hide-input, hide-output", "headline")
    (tmp_path / "x.md").write_text(TOP + "".join(f"```{{code-cell}} ipython3\n:tags: [{each}]\n\n{number}\n```\n\n" for number, each in enumerate(tags)))
    cells = runner.text_notebook(tmp_path / "x.md").cells
    assert [cell.id for cell in cells] == [f"cell-{number}" for number in range(1, 7)]
    assert [cell.metadata.get("jupyter") for cell in cells] == [{"source_hidden": True}] * 2 + [None, {"source_hidden": True}, None, None]


def wait_for(condition):
    """Until it is so; what never is ends after so many looks that no machine is too slow."""
    for _ in range(6000):
        if condition():
            return
        time.sleep(0.1)
    raise AssertionError("it never was")


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


BUILD = "import signal, sys; from pathlib import Path; from book.build import site as build; build.ROOT = Path(sys.argv.pop(1)); "
BUILD += "build.build_book.__defaults__ = (build.ROOT, *build.build_book.__defaults__[1:]); "
BUILD += "signal.signal(signal.SIGINT, signal.default_int_handler); {0}build.main()"


def start_build(project, first="", **options):
    """`make book` of the project, in a process of its own."""
    return subprocess.Popen([sys.executable, "-c", BUILD.format(first), str(project)], cwd=build.ROOT, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **options)


@pytest.mark.long
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_nothing_outlives_a_build_that_is_stopped(site, number):
    code = "import os, time\nfrom pathlib import Path\nPath('running').write_text(str(os.getpid()))\ntime.sleep(60)"
    write_notebook(site, "size", "layers = 2", code)
    running = site / "_build/frozen/notebooks/running"
    stopped = start_build(site)
    wait_for(lambda: running.exists() and running.read_text())
    stopped.send_signal(number)
    said = stopped.communicate(timeout=600)[1]
    assert number == signal.SIGKILL or re.fullmatch(r"Stopped from outside\.\nStopped after [\d.]+ s; nothing was replaced\.\n", said)
    wait_for(lambda: not is_alive(int(running.read_text())))
    assert page(site, "index") == "the last good site"


@pytest.mark.long
@pytest.mark.parametrize("renames", [1, 2])
def test_a_build_killed_while_it_swaps_leaves_a_site(site, capsys, renames):
    """Where folders can't be exchanged in one step: before the new site has its name, and before the old one is gone."""
    killer = "from book.build import pages; pages.exchange = lambda *_: False; import os, itertools, pathlib; count = itertools.count(); "
    killer += f"rename = pathlib.Path.rename; pathlib.Path.rename = lambda *a: (os._exit(9) if next(count) == {renames} else rename(*a)); "
    killer += "import shutil; remove = shutil.rmtree; "
    killer += "shutil.rmtree = lambda path, *a, **k: os._exit(9) if str(path).endswith('.old') and path.exists() else remove(path, *a, **k); "
    killed = start_build(site, killer)
    killed.communicate(timeout=600)
    assert killed.returncode == 9
    built(site, capsys)
    assert "A small book" in page(site, "index") and left_over(site) == []


def test_what_a_killed_build_left_is_put_right(site, capsys):
    (site / "_build/html").rename(site / "_build/.html.old")
    (site / "_build/work-1").mkdir()
    (site / "_build/executed").mkdir()
    (site / "_build/executed/size.part").write_text("half")
    write_notebook(site, "size", "layers = 2", "raise RuntimeError('not today')")
    assert "not today" in refused(site)


@pytest.mark.long
def test_two_builds_at_once(project):
    builds = [start_build(project) for _ in range(2)]
    said = [each.communicate(timeout=600) for each in builds]
    assert [each.returncode for each in builds] == [0, 0], said
    assert sum("Nothing changed" in out for out, _ in said) == 1 and "42" in page(project, "size")


def test_a_full_disk_is_one_message(site):
    """A limit on the size of files stands in for it."""
    limit = "import resource; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); resource.setrlimit(resource.RLIMIT_FSIZE, (3000, 3000)); "
    full = start_build(site, limit)
    said = full.communicate(timeout=600)[1]
    assert full.returncode == 1 and "Traceback" not in said and said.endswith("nothing was replaced.\n"), said
    assert page(site, "index") == "the last good site"


FULL = [(f"/book/page-{number}", "/site", f"[Errno 28] No space left on device: '/site/page-{number}'") for number in range(500)]


@pytest.mark.parametrize("error", [
    OSError(errno.ENOSPC, "No space left on device", "/site/page-0"), shutil.Error(FULL),
    BuildError("The data of the front page could not be made:\nOSError: [Errno 28] No space left on device: '/site/page-0'"),
    BuildError("Jupyter Book stopped:\n" + pages.explain_failure(f"WARNING: slow\nTraceback\nshutil.Error: {FULL}", "/book"))])
def test_a_full_disk_is_named_in_one_line(monkeypatch, error):
    def full(_):
        raise error

    monkeypatch.setattr(build, "done", full)
    monkeypatch.setattr(sys, "argv", ["build"])
    with pytest.raises(SystemExit, match=r"(?m)^No space left on the disk, at /site/page-0\nStopped after [\d.]+ s; nothing was replaced\.$") as said:
        build.main()
    assert len(str(said.value)) < 150


def test_a_full_disk_whose_file_is_not_named():
    assert build.told(OSError(errno.ENOSPC, "No space left on device")) == "No space left on the disk"
    assert build.told(OSError(errno.EACCES, "Permission denied", "here")) == "here: Permission denied"


def test_what_make_is_given_is_text():
    """No character of a value is in the lines that the shell reads, and make itself runs none of it."""
    hostile = "'$(shell echo ran >&2)`echo ran`\";echo ran;#"
    names = "PRICES TOPIC PARAMS ONLY RATE GPUS CASE COMPARE ROWS OUT PORT SEED".split()
    for target in ("book", "check", "answer", "decide", "report", "notebook", "serve", "test", "test-all"):
        done = subprocess.run(["make", "-n", target, *(f"{name}={hostile}" for name in names)], cwd=build.ROOT, capture_output=True, text=True)
        assert done.returncode == 0 and "echo ran" not in done.stdout and "ran" not in done.stderr.split(), (target, done)


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(BuildError, match=f"^PORT={port}: another program listens there; try another: make serve PORT={port + 1}$"):
            serve.server(str(port))
        done = subprocess.run([sys.executable, "-m", "book.build.serve", str(port)], cwd=build.ROOT, capture_output=True, text=True)
        assert done.returncode == 1 and done.stderr.startswith(f"PORT={port}: ") and done.stderr.count("\n") == 1
    (tmp_path / "index.html").write_text("the book")
    with serve.server(str(port), tmp_path) as served:
        threading.Thread(target=served.serve_forever).start()
        assert urlopen(f"http://127.0.0.1:{port}/").read() == b"the book"
        served.shutdown()


@pytest.mark.parametrize("port", ["", "0", "65536", "8000;ls", "-1", "\u0668\u0660", "9" * 100])
def test_what_is_no_port_is_refused(port):
    with pytest.raises(BuildError, match="^PORT=.{0,60}: allowed: a number from 1 to 65535$"):
        serve.server(port)


def test_a_folder_that_is_a_file_is_one_message(project):
    shutil.rmtree(project / "_build")
    (project / "_build").write_text("")
    said = start_build(project).communicate(timeout=600)[1]
    assert "_build: File exists" in said and "Traceback" not in said


@pytest.mark.long
def test_a_site_that_is_not_as_it_was_made_is_made_again(project, capsys):
    built(project, capsys)
    html = project / "_build/html"
    for spoil in ((html / "_static/site.js").unlink, lambda: (html / "index.html").write_text("changed by hand")):
        spoil()
        assert pages.record_of(html) == {}
    assert built(project, capsys)[0] == [] and (html / "_static/site.js").exists() and "A small book" in page(project, "index")


def test_a_warning_of_sphinx_stops_the_build_and_all_are_named(site):
    (site / "book/index.md").write_text("# A book\n\n[](nowhere)\n\n{glue:text}`cost.ipynb::absent:s`\n\n$\\nosuchcommand$\n")
    said = refused(site)
    assert all(named in said for named in ("book/index.md:3", "absent", "nosuchcommand"))


@pytest.mark.long
def test_a_chart_that_cannot_be_drawn_stops_the_build_without_a_traceback(site):
    spec = {"data": {"values": []}, "mark": "nonsense", "usermeta": {"alt": "None moved."}}
    write_notebook(site, "size", "layers = 2", f"display({{{MIME!r}: {spec}}}, raw=True)")
    message = refused(site)
    assert message.startswith("Jupyter Book stopped:\nERROR: size.html, cell 3, chart 'None moved.': ") and message.count("\n") == 1


def test_a_price_file_is_checked_first(site, tmp_path):
    assert "absent.csv: there is no such file" in refused(site, prices=tmp_path / "absent.csv")
    (tmp_path / "bad.csv").write_text("bad row")
    assert refused(site, prices=tmp_path / "bad.csv") == "row 2"
    assert "lairs: no page has this parameter; close: layers" in refused(site, given=Given(case={"lairs": 2}))
    assert not (site / "_build/executed").exists()


def test_a_folder_that_is_no_site_is_never_replaced(project):
    mine = project / "mine"
    mine.mkdir()
    (mine / "thesis.txt").write_text("years of work")
    with pytest.raises(build.BuildError, match="not a site"):
        build.build_book(project, output=mine)
    assert (mine / "thesis.txt").exists()


def test_one_notebook_takes_parameters(project):
    made = build.run_notebook("size", {"layers": 4}, project)
    assert "84" in made.read_text()


@pytest.mark.parametrize(("topic", "parameters", "message"),
                         [("size", {"lairs": 4}, "unknown parameter 'lairs'; allowed: layers, share"),
                          ("size", {"layers": "four"}, "parameter 'layers' is 'four'; allowed: a number such as 2"),
                          ("size", {"share": True}, "parameter 'share' is True; allowed: a number such as 0.5"),
                          ("cost", {"prices": 3}, "parameter 'prices' is 3; allowed: text such as"),
                          ("speed", {}, "TOPIC=speed: there is no such notebook; allowed: cost, size")])
def test_parameters_are_checked(project, topic, parameters, message):
    with pytest.raises(build.BuildError) as caught:
        build.run_notebook(topic, parameters, project)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["- a\n- list", "{", "just text", "layers: !!binary aGk=", "layers: !!set {a}", "a: &b 1\nc: *b"])
def test_a_parameter_file_maps_names_to_plain_values(tmp_path, text):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(build.BuildError, match="p.yaml"):
        read_parameters(tmp_path / "p.yaml")


@pytest.mark.parametrize("name", ["x" * 300, "absent.yaml", "."])
def test_a_parameter_file_is_a_file(tmp_path, name):
    with pytest.raises(build.BuildError, match="^PARAMS="):
        read_parameters(tmp_path / name)


def test_a_file_among_the_parameters_is_meant_from_their_folder(tmp_path):
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / "p.yaml").write_text("model: config.json\ngpu: absent.json\nmfu: null\ntokens: 1e12\n")
    assert read_parameters(tmp_path / "p.yaml") == {"model": tmp_path / "config.json", "gpu": "absent.json",
                                                    "mfu": None, "tokens": 1e12}


@pytest.mark.long
def test_recorded_outputs_are_the_same_each_time(project):
    build.accept(project)
    first = (project / "notebooks/size.ipynb").read_bytes()
    shutil.rmtree(project / "_build/executed")
    (project / "notebooks/size.ipynb").unlink()
    build.accept(project)
    assert (project / "notebooks/size.ipynb").read_bytes() == first
    recorded = json.loads(first)
    assert recorded["metadata"]["kernelspec"]["name"] == "python3"
    assert recorded["metadata"]["jupytext"]["formats"] == "ipynb,md:myst"
    assert [cell["metadata"].get("tags") for cell in recorded["cells"]] == [None, ["parameters"], None]
    assert recorded["cells"][2]["execution_count"] == 2


def test_the_command_reports_an_error_in_one_line_without_a_traceback(tmp_path):
    command = [sys.executable, "-m", "book.build", f"--prices={tmp_path / 'absent.csv'}"]
    result = subprocess.run(command, cwd=build.ROOT, capture_output=True, text=True, env=os.environ)
    assert result.returncode == 1
    assert "there is no such file" in result.stderr and "Traceback" not in result.stderr


FRONT = """import sys
from pathlib import Path
folder, *given = sys.argv[1:]
Path(folder, "engine.js").write_text("of " + Path(given[0] if given else "data/prices/2026.csv").read_text())
sys.exit("bad row" if "bad row" in Path(folder, "engine.js").read_text() else 0)
"""


def with_front_page(project, program):
    """Gives the project a library that decides, and the program that makes the scripts of its front page."""
    for name, text in {"gpucalc/decisions/rule.py": "", "book/web/front.py": program}.items():
        (project / name).parent.mkdir(parents=True)
        (project / name).write_text(text)


def scripts_of(project, given=None):
    with front.scripts(Frozen(project, project / "_build/frozen", given)) as made:
        return made()


def test_the_scripts_of_the_front_page_follow_the_prices(project, tmp_path, monkeypatch):
    assert scripts_of(project) is None and front.content(None) == ""
    with_front_page(project, FRONT)
    monkeypatch.setattr(front, "FOLLOWING", "none of the book's own pages")
    folder = scripts_of(project)
    assert (folder / "engine.js").read_text() == "of ten dollars"
    (folder / "engine.js").write_text("of the last build")
    assert scripts_of(project) == folder and (folder / "engine.js").read_text() == "of the last build"
    own = tmp_path / "own prices.csv"
    own.write_text("one dollar")
    assert (scripts_of(project, Given(own)) / "engine.js").read_text() == "of one dollar"
    own.write_text("bad row")
    with pytest.raises(BuildError, match="bad row"):
        scripts_of(project, Given(own))
    assert not [*project.glob("_build/work-*"), *project.glob("_build/front/*.part")]


WAITING = """import os, sys, time
from pathlib import Path
if not any(os.path.exists({0!r}) or time.sleep(0.1) for _ in range(6000)):
    sys.exit("no page")
said = Path("data/gpus.csv").read_text()
Path(sys.argv[1], "engine.js").write_text(said)
sys.exit(said.startswith("bad") and said)
"""


@pytest.mark.long
def test_sphinx_starts_before_the_scripts_are_made(project, capsys, monkeypatch):
    """They wait here for a page that Sphinx writes. Where only they change, or nothing that shows, no more is made than that."""
    made = project / "_build/html/_static/engine.js"
    monkeypatch.setattr(front, "FOLLOWING", "none of the book's own pages")
    with_front_page(project, WAITING.format(str(project / "_build/pages/_build/html/index.html")))
    assert "reading page 1 of 3" in built(project, capsys)[1] and made.read_text() == "a fast one"
    (project / "data/gpus.csv").write_text("a slow one")
    ran_again, said = built(project, capsys)
    assert ran_again == [] and "making them" in said and "reading" not in said and made.read_text() == "a slow one"
    (project / "data/links.csv").write_text("nobody reads this")
    assert "Pages: none changed" in built(project, capsys)[1]
    (project / "data/gpus.csv").write_text("bad figures")
    with pytest.raises(BuildError, match="bad figures"):
        build.build_book(project)
    assert made.read_text() == "a slow one" and left_over(project) == ["front"]


def test_prices_that_were_given_keep_the_day_of_their_file(tmp_path):
    own, frozen = tmp_path / "mine.csv", tmp_path / "frozen/mine.csv"
    own.write_text("gpu,usd_per_hour\nH100,2.95\n")
    changed = datetime.datetime(2026, 3, 14, 12).timestamp()
    os.utime(own, (changed, changed))
    frozen.parent.mkdir()
    place(frozen, own.read_bytes(), *dated("given/prices/mine.csv", own))
    assert price_book.prices(frozen)["date"].loc[lambda dates: dates == "2026-03-14"].size


def test_corrections_lead_to_pages_that_are_there():
    rows = list(tables.table("corrections").itertuples())
    made = pages.corrections(SimpleNamespace(folder=build.ROOT)).splitlines()[2:]
    assert len(made) == len(rows) >= 45 and [row.date for row in rows] == sorted((row.date for row in rows), reverse=True)
    for row, line in zip(rows, made):
        assert row.said != row.right and f"](../notebooks/{row.page}.md)" in line, row
        assert (build.ROOT / f"notebooks/{row.page}.md").exists(), row
    front = (build.ROOT / "book/index.md").read_text(encoding="utf-8")
    assert "](corrections.md)" in front and "#if-you-find-an-error)" in front
