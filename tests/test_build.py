"""The pipeline on a project of two small notebooks: what runs again, what stops it, what stays in place."""

import json
import os
import signal
import subprocess
import sys
import time

import pytest

from book import build

HEADER = """---
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
# {title}

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


@pytest.fixture
def project(tmp_path):
    for folder in ("notebooks", "book", "gpucalc", "data/prices"):
        (tmp_path / folder).mkdir(parents=True)
    for name in ("_config.yml", "requirements.txt"):
        (tmp_path / name).write_bytes((build.ROOT / name).read_bytes())
    (tmp_path / "book/_toc.yml").write_text("format: jb-book\nroot: index\nchapters: [{file: cost}, {file: size}]\n")
    (tmp_path / "book/index.md").write_text("# A small book\n")
    (tmp_path / "gpucalc/rows").mkdir()
    (tmp_path / "gpucalc/rows/price_book.py").write_text("import sys; sys.exit('bad row' in open(sys.argv[1]).read() and 'row 2')")
    (tmp_path / "data/prices/2026.csv").write_text("ten dollars")
    (tmp_path / "data/gpus.csv").write_text("a fast one")
    write_notebook(tmp_path, "size", "layers = 2\nshare = 0.5", "print(layers * 21)")
    write_notebook(tmp_path, "cost", 'prices = "../data/prices/2026.csv"', PRICED)
    return tmp_path


def built(project, capsys, **options):
    """Builds the site; returns the names of the notebooks that ran, and what was printed."""
    before = set((project / "_build/executed").glob("*.ipynb"))
    build.build_book(project, **options)
    new = set((project / "_build/executed").glob("*.ipynb")) - before
    return sorted(path.name.split("-")[0] for path in new), capsys.readouterr().out


def page(project, name):
    return (project / f"_build/html/{name}.html").read_text()


def test_only_what_changed_runs_again(project, capsys, tmp_path):
    assert built(project, capsys)[0] == ["cost", "size"]
    (project / "notebooks/.ipynb_checkpoints").mkdir()
    (project / "notebooks/.ipynb_checkpoints/size-checkpoint.md").write_text("a draft")
    ran, said = built(project, capsys)
    assert ran == [] and "Nothing changed" in said

    (project / "data/prices/2026.csv").write_text("eleven dollars")
    assert built(project, capsys)[0] == ["cost"]
    assert "eleven dollars" in page(project, "cost")

    (project / "book/index.md").write_text("# A book with another front page\n\n[the size](size.md#size)\n")
    assert built(project, capsys)[0] == []
    assert "another front page" in page(project, "index") and 'href="size.html#size"' in page(project, "index")

    own = tmp_path / "my $prices.csv"
    own.write_text("twelve dollars")
    assert built(project, capsys, prices=own)[0] == ["cost"]
    assert "twelve dollars" in page(project, "cost")
    for path in (project / "_build/html").rglob("*"):
        assert path.is_dir() or str(project).encode() not in path.read_bytes(), f"{path} names a folder of this machine"

    (project / "data/gpus.csv").write_text("a faster one")
    assert built(project, capsys)[0] == ["cost", "size"]


@pytest.fixture
def site(project):
    """A project whose site stands, with a mark in it that a rebuild would remove."""
    (project / "_build/html").mkdir(parents=True)
    (project / "_build/html/.made-from").write_text("an earlier state")
    (project / "_build/html/index.html").write_text("the last good site")
    return project


def refused(project, **options):
    with pytest.raises(build.BuildError) as caught:
        build.build_book(project, **options)
    assert page(project, "index") == "the last good site"
    assert not list((project / "_build").glob("work-*"))
    return str(caught.value)


def test_a_raising_notebook_names_the_cell_and_leaves_the_site(site):
    write_notebook(site, "size", "layers = 2", "depth = layers\nraise RuntimeError('too deep')")
    message = refused(site)
    assert "notebooks/size.md, code cell 2" in message
    assert "depth = layers" in message and "RuntimeError: too deep" in message


def test_a_notebook_that_warns_stops_the_build(site):
    write_notebook(site, "size", "layers = 2", "import warnings\nwarnings.warn('an old name')")
    message = refused(site)
    assert "notebooks/size.md, code cell 2" in message and "an old name" in message


def test_a_kernel_that_dies_stops_the_build(site):
    write_notebook(site, "size", "layers = 2", "import os\nos._exit(1)")
    assert "notebooks/size.md" in refused(site)


def test_kernels_have_the_libraries_and_share_nothing(project, capsys):
    for topic in ("size", "cost"):
        code = "import sys\nprint('libraries', 'pandas' in sys.modules, 'shared', hasattr(sys, 'mark'))\nsys.mark = 1"
        write_notebook(project, topic, "layers = 2", code)
    built(project, capsys)
    assert all("libraries True shared False" in page(project, topic) for topic in ("size", "cost"))


def wait_for(condition, seconds=30):
    started = time.monotonic()
    while not condition():
        assert time.monotonic() - started < seconds
        time.sleep(0.1)


def is_alive(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_no_kernel_outlives_a_build_that_is_stopped(project, number):
    code = "import os, time\nfrom pathlib import Path\nPath('running').write_text(str(os.getpid()))\ntime.sleep(60)"
    write_notebook(project, "size", "layers = 2", code)
    running = project / "notebooks/running"
    code = "import signal, sys; from pathlib import Path; from book import build; "
    code += "signal.signal(signal.SIGINT, signal.default_int_handler); build.build_book(Path(sys.argv[1]))"
    stopped = subprocess.Popen([sys.executable, "-c", code, str(project)], cwd=build.ROOT, stderr=subprocess.DEVNULL)
    wait_for(lambda: running.exists() and running.read_text())
    stopped.send_signal(number)
    stopped.wait(timeout=20)
    wait_for(lambda: not is_alive(int(running.read_text())))


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("# A book\n\n[](nowhere)\n", "book/index.md:3"),
        ("# A book\n\n{glue:text}`cost.ipynb::absent:s`\n", "absent"),
        ("# A book\n\n$\\nosuchcommand$\n", "nosuchcommand"),
    ],
)
def test_a_warning_of_sphinx_stops_the_build(site, text, named):
    (site / "book/index.md").write_text(text)
    assert named in refused(site)


def test_a_price_file_is_checked_first(site, tmp_path):
    assert "absent.csv: there is no such file" in refused(site, prices=tmp_path / "absent.csv")
    (tmp_path / "bad.csv").write_text("bad row")
    assert refused(site, prices=tmp_path / "bad.csv") == "row 2"
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


@pytest.mark.parametrize(
    ("topic", "parameters", "message"),
    [
        ("size", {"lairs": 4}, "unknown parameter 'lairs'; allowed: layers, share"),
        ("size", {"layers": "four"}, "parameter 'layers' is 'four'; allowed: a number such as 2"),
        ("size", {"share": True}, "parameter 'share' is True; allowed: a number such as 0.5"),
        ("cost", {"prices": 3}, "parameter 'prices' is 3; allowed: text such as"),
        ("speed", {}, "TOPIC=speed: there is no such notebook; allowed: cost, size"),
    ],
)
def test_parameters_are_checked(project, topic, parameters, message):
    with pytest.raises(build.BuildError) as caught:
        build.run_notebook(topic, parameters, project)
    assert message in str(caught.value)


@pytest.mark.parametrize("text", ["- a\n- list", "{", "just text"])
def test_a_parameter_file_maps_names_to_values(tmp_path, text):
    (tmp_path / "p.yaml").write_text(text)
    with pytest.raises(build.BuildError, match="p.yaml"):
        build.read_parameters(tmp_path / "p.yaml")


def test_recorded_outputs_are_the_same_each_time(project):
    build.accept(project)
    first = (project / "notebooks/size.ipynb").read_bytes()
    for stored in (project / "_build/executed").iterdir():
        stored.unlink()
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
