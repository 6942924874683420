"""Makes the book: text notebooks are executed, then Jupyter Book turns them and the prose into a site.

Only what changed runs again, and the last good site stays in place until a new one is complete.
"""

import argparse
import ast
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import closing, contextmanager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
WORKERS = 4
KEEP_EXECUTED = 4
KINDS = {bool: "True or False", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
MADE_FROM = ".made-from"


class BuildError(Exception):
    """Stops the build; its text is what the reader sees."""


@dataclass
class Notebook:
    """A text notebook, the values given to its parameters, and the price file it is to read.

    `pictures` are for readers of the notebook file; the site draws its charts itself, and they take a second a notebook.
    """

    path: Path
    parameters: dict = field(default_factory=dict)
    prices: Path | None = None
    pictures: bool = True

    @property
    def topic(self):
        return self.path.stem

    @property
    def reads_prices(self):
        return "prices" in self.defaults

    @property
    def given(self):
        if self.prices and self.reads_prices:
            return {**self.parameters, "prices": str(self.prices)}
        return self.parameters

    @cached_property
    def content(self):
        import jupytext

        content = jupytext.read(self.path)
        content.metadata.setdefault("kernelspec", {"name": "python3", "display_name": "Python 3", "language": "python"})
        for number, cell in enumerate(content.cells, 1):
            cell.id = f"cell-{number}"
        return content

    @cached_property
    def defaults(self):
        """The names in the cell tagged `parameters`, with their values where these are literals."""
        cells = [cell.source for cell in self.content.cells if "parameters" in cell.metadata.get("tags", [])]
        try:
            lines = ast.parse("\n".join(cells)).body
        except SyntaxError as error:
            raise BuildError(f"notebooks/{self.path.name}, its parameters cell: {error}") from None
        named = [line for line in lines if isinstance(line, ast.Assign) and isinstance(line.targets[0], ast.Name)]
        return {line.targets[0].id: literal(line.value) for line in named}

    def check_parameters(self):
        defaults = self.defaults
        for name, value in self.parameters.items():
            if name not in defaults:
                raise BuildError(
                    f"{self.topic}: unknown parameter {name!r}; allowed: {', '.join(sorted(defaults)) or 'none'}"
                )
            if not same_kind(value, defaults[name]):
                raise BuildError(
                    f"{self.topic}: parameter {name!r} is {value!r}; allowed: "
                    f"{KINDS.get(type(defaults[name]), 'a value')} such as {defaults[name]!r}"
                )

    def hash(self, root):
        data = [path for path in files_in(root / "data") if root / "data/prices" not in path.parents]
        inputs = [self.path, root / "requirements.txt", HERE / "build.py", HERE / "kernels.py"]
        inputs += [*files_in(root / "gpucalc", "*.py"), *data]
        if self.reads_prices:
            inputs += [self.prices] if self.prices else []
            inputs += files_in(root / "data/prices")
        return hash_of(root, inputs, self.parameters, self.pictures)


def literal(node):
    try:
        return ast.literal_eval(node)
    except ValueError:
        return None


def same_kind(value, default):
    if default is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    return isinstance(value, int | float if isinstance(default, int | float) else type(default))


def files_in(folder, pattern="*"):
    """The files in a folder and its subfolders, without hidden ones and Python's caches."""
    found = [path for path in folder.rglob(pattern) if path.is_file()] if folder.is_dir() else []
    return sorted(path for path in found if not re.search(r"(^|/)(\.|__pycache__)", path.relative_to(folder).as_posix()))


def hash_of(root, paths, *values):
    digest = hashlib.sha256(json.dumps(values, default=str).encode())
    for path in paths:
        name = path.relative_to(root) if path.is_relative_to(root) else path.name
        digest.update(f"\0{name}\0".encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def notebooks_in(root, prices=None, pictures=True):
    return [Notebook(path, prices=prices, pictures=pictures) for path in files_in(root / "notebooks", "*.md")]


def existing(prices):
    if not prices.is_file():
        raise BuildError(f"PRICES={prices}: there is no such file")
    return prices


def check_prices(root, prices):
    """Has the catalogue read the file, in a process of its own; it names the row and column that are wrong."""
    if not prices:
        return
    command = [sys.executable, "-m", "gpucalc.rows.price_book", str(prices)]
    check = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if check.returncode:
        raise BuildError(check.stderr.strip())


def execute(notebook, root, target, **options):
    """Runs one notebook in its own kernel and writes it, with its outputs, to `target`; the options are papermill's."""
    import nbformat
    import papermill
    from jupyter_core.utils import ensure_event_loop
    from nbclient.exceptions import DeadKernelError
    from papermill.exceptions import PapermillExecutionError

    options |= {"kernel_name": "python3", "progress_bar": False, "extra_arguments": ["--log-level=CRITICAL"]}
    options["resources"] = {"metadata": {"path": str(root / "notebooks")}}
    try:
        with closing(ensure_event_loop()):
            done = papermill.execute_notebook(notebook.content, None, notebook.given, **options)
    except PapermillExecutionError as error:
        raise BuildError(in_cell(notebook, error.source, f"{error.ename}: {error.evalue}")) from None
    except DeadKernelError as error:
        raise BuildError(f"notebooks/{notebook.path.name}: {error}") from None
    for cell in done.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise BuildError(in_cell(notebook, cell.source, output.text.strip()))
    clean(done)
    scratch = target.with_suffix(f".{os.getpid()}.tmp")
    scratch.write_text(nbformat.writes(done) + "\n", encoding="utf-8")
    scratch.replace(target)


def in_cell(notebook, source, error):
    sources = [cell.source for cell in notebook.content.cells if cell.cell_type == "code"]
    where = f"code cell {sources.index(source) + 1}" if source in sources else "the parameters given"
    head = "\n".join(f"    {line}" for line in source.splitlines()[:6])
    return f"notebooks/{notebook.path.name}, {where}:\n{head}\n{error}"


def clean(content):
    """Leaves nothing in a notebook that differs from run to run."""
    content.metadata.pop("papermill", None)
    for cell in content.cells:
        for key in ("papermill", "execution"):
            cell.metadata.pop(key, None)
        if "injected-parameters" in cell.metadata.get("tags", []):
            cell.id = "injected-parameters"
            cell.metadata.tags.append("remove-cell")
        elif not cell.metadata.get("tags", True):
            del cell.metadata["tags"]


def execute_all(notebooks, root):
    """Executes what is not yet stored under its input hash; returns the stored notebook of each."""
    store = root / "_build/executed"
    store.mkdir(parents=True, exist_ok=True)
    stored = {each.topic: store / f"{each.topic}-{each.hash(root)}.ipynb" for each in notebooks}
    todo = [each for each in notebooks if not stored[each.topic].exists()]
    todo.sort(key=lambda each: each.path.stat().st_size, reverse=True)
    print(f"Notebooks: {len(todo)} to run, {len(notebooks) - len(todo)} unchanged", flush=True)
    failures = []
    started = time.perf_counter()
    pictures = "yes" if all(each.pictures for each in todo) else "no"
    with environment(STILL_PICTURES=pictures), ThreadPoolExecutor(WORKERS) as pool, warm_kernels(todo) as options:
        running = {pool.submit(execute, each, root, stored[each.topic], **options): each.topic for each in todo}
        try:
            for number, job in enumerate(as_completed(running), 1):
                error = job.exception()
                if error and not isinstance(error, BuildError):
                    raise error
                failures += [str(error)] if error else []
                state = "failed" if error else "done"
                took = time.perf_counter() - started
                print(f"  {running[job]} {state}, {len(todo) - number} left, {took:.1f} s", flush=True)
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    if failures:
        raise BuildError("\n\n".join(failures))
    for each in notebooks:
        prune(stored[each.topic], each.topic)
    return stored


@contextmanager
def environment(**variables):
    """Sets variables for the processes that start in the block, and puts back what was there."""
    before = dict(os.environ)
    os.environ.update(variables)
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def warm_kernels(todo):
    """Papermill's options for kernels that start at once, where processes can fork."""
    if not todo or not hasattr(os, "fork"):
        return nullcontext({})
    from book import kernels

    return kernels.warm_kernels()


def prune(newest, topic):
    """Keeps the few most recent editions of a notebook."""
    os.utime(newest)
    editions = sorted(newest.parent.glob(f"{topic}-*.ipynb"), key=lambda path: path.stat().st_mtime, reverse=True)
    for old in editions[KEEP_EXECUTED:]:
        old.unlink(missing_ok=True)


def make_pages(root, stored, work):
    """Runs Jupyter Book, cold, on the prose and the executed notebooks; returns the folder with the site."""
    source = work / "book"
    shutil.copytree(root / "book", source, ignore=shutil.ignore_patterns("*.py", "__pycache__", "static"))
    for topic, path in stored.items():
        shutil.copy(path, source / f"{topic}.ipynb")
    links = re.compile(rf"\]\((?:\.\./notebooks/)?({'|'.join(stored)})\.md\b")
    for page in [*source.glob("*.ipynb"), *source.glob("*.md")]:
        page.write_text(links.sub(r"](\1.ipynb", page.read_text(encoding="utf-8")), encoding="utf-8")
    print("Pages: Jupyter Book is making them", flush=True)
    # A short run needs no garbage collector, which would take a seventh of it.
    code = "import gc; gc.disable(); from jupyter_book.cli.main import main; main()"
    command = [sys.executable, "-c", code, "build", str(source)]
    command += ["--config", str(root / "_config.yml"), "--path-output", str(work), "-W", "--keep-going", "-n"]
    made = subprocess.run(command, cwd=root, capture_output=True, text=True, env={**os.environ, "NO_COLOR": "1"})
    if made.returncode or not (work / "_build/html/index.html").exists():
        raise BuildError("Jupyter Book stopped:\n" + explain_failure(made.stdout + made.stderr, source))
    return work / "_build/html"


def explain_failure(log, source):
    """The warnings and errors of a Sphinx log, with the names of the files as the reader knows them."""
    log = re.sub(r"\x1b\[[0-9;]*m", "", log).replace(f"{source}/", "book/")
    lines = [line for line in log.splitlines() if re.search(r"WARNING|ERROR|CRITICAL", line)]
    found = "\n".join(dict.fromkeys(lines)) or log[-3000:]
    return re.sub(
        r"book/(\w+)\.ipynb:(\d+)",
        lambda match: f"notebooks/{match[1]}.md, cell {max(int(match[2]) // 10000, 1)}, line {int(match[2]) % 10000}",
        found,
    )


def swap(new, output):
    """Puts the new site in the place of the old one, which goes only when the new one is complete."""
    old = new.with_name("old")
    if output.exists():
        output.rename(old)
    try:
        new.rename(output)
    except OSError:
        old.rename(output)
        raise


def inputs_hash(root, prices):
    inputs = {root / "_config.yml", root / "requirements.txt", *files_in(root / "notebooks", "*.md")}
    inputs |= {*files_in(root / "book"), *files_in(HERE), *files_in(root / "gpucalc", "*.py"), *files_in(root / "data")}
    return hash_of(root, [*sorted(inputs), *([prices] if prices else [])], sys.version, bool(prices))


def build_book(root=ROOT, prices=None, output=None):
    output = (output or root / "_build/html").resolve()
    prices = prices and existing(prices).resolve()
    made_from, record = inputs_hash(root, prices), output / MADE_FROM
    if record.exists() and record.read_text() == made_from:
        print("Nothing changed since the last build.")
        return output
    if output.exists() and not record.exists() and any(output.iterdir()):
        raise BuildError(f"{output} holds something that is not a site made here; move it away")
    check_prices(root, prices)
    stored = execute_all(notebooks_in(root, prices, pictures=False), root)
    output.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=output.parent, prefix="work-") as work:
        html = make_pages(root, stored, Path(work))
        (html / MADE_FROM).write_text(made_from)
        swap(html, output)
    return output


def run_notebook(topic, parameters, root=ROOT, prices=None):
    """Executes one notebook with the given parameters into _build/notebooks/."""
    topics = [each.topic for each in notebooks_in(root)]
    if topic not in topics:
        raise BuildError(f"TOPIC={topic}: there is no such notebook; allowed: {', '.join(topics)}")
    prices = prices and existing(prices).resolve()
    check_prices(root, prices)
    notebook = Notebook(root / f"notebooks/{topic}.md", parameters, prices)
    notebook.check_parameters()
    target = root / f"_build/notebooks/{topic}.ipynb"
    target.parent.mkdir(parents=True, exist_ok=True)
    with ThreadPoolExecutor(1) as pool:  # papermill wants a thread without an event loop
        pool.submit(execute, notebook, root, target).result()
    return target


def headline(path):
    """The sentence that an executed notebook keeps as its answer; empty if it keeps none."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if output.get("metadata", {}).get("scrapbook", {}).get("name") == "headline":
                return ast.literal_eval("".join(output["data"]["text/plain"]))
    return ""


def read_parameters(path):
    import yaml

    if not path.is_file():
        raise BuildError(f"PARAMS={path}: there is no such file")
    try:
        parameters = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise BuildError(f"PARAMS={path}: not YAML: {error}") from None
    if not isinstance(parameters, dict):
        raise BuildError(f"PARAMS={path}: it must map parameter names to values, such as usd_per_hour: 2.10")
    return {str(name): value for name, value in parameters.items()}


def accept(root=ROOT):
    """Records the outputs of every notebook, with its default parameters, in notebooks/*.ipynb."""
    for topic, path in execute_all(notebooks_in(root), root).items():
        shutil.copy(path, root / f"notebooks/{topic}.ipynb")
        print(f"Recorded notebooks/{topic}.ipynb")


def main():
    parser = argparse.ArgumentParser(prog="python -m book.build", description=__doc__.splitlines()[0])
    parser.add_argument("--prices", default="", metavar="FILE", help="a price file instead of the project's")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where the site goes (_build/html)")
    parser.add_argument("--notebook", metavar="TOPIC", help="execute one notebook only")
    parser.add_argument("--params", default="", metavar="FILE", help="YAML with parameters for that notebook")
    parser.add_argument("--accept", action="store_true", help="record all outputs in notebooks/*.ipynb")
    given = parser.parse_args()
    prices = Path(given.prices) if given.prices else None
    started = time.perf_counter()
    try:
        if given.accept:
            accept()
        elif given.notebook is not None:
            parameters = read_parameters(Path(given.params)) if given.params else {}
            made = run_notebook(given.notebook, parameters, prices=prices)
            print(f"{headline(made)}\nThe executed notebook is {made}".lstrip())
        else:
            page = build_book(prices=prices, output=given.output) / "index.html"
            print(f"The book is {page}\n{page.as_uri()}")
    except BuildError as error:
        sys.exit(f"{error}\nStopped after {time.perf_counter() - started:.1f} s; nothing was replaced.")
    print(f"{time.perf_counter() - started:.1f} s")


if __name__ == "__main__":
    main()
