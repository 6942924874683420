"""Turns executed notebooks and prose into the site: Jupyter Book on a folder that it keeps, so that only what changed is made.

`python -m book.build.pages` is that process: it imports Jupyter Book, waits on stdin for a line with what to build and one with
the scripts to put beside it, and ends when stdin does.
"""

import csv
import ctypes
import importlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

import yaml

from ..components.links import contents as contents_of
from .editions import declared_in, PICTURE
from .inputs import BuildError, digest, files_in, no_space, surroundings, write_whole

MADE_FROM = ".made-from"
MADE_OF = "made-from"
# What decides on all pages at once; the title of a page stands in the sidebar of every other.
COMMON = ("_config.yml", "requirements.txt", "book/_toc.yml", "book/glossary.md", "book/search_words.yml", "book/moved.csv",
          "book/static/", "book/build/", "book/components/", "gpucalc/", "data/quantities.csv", "data/defaults.csv",
          "data/units.csv")
IMPORTED = ["jupyter_book.sphinx", "myst_nb.sphinx_ext", "sphinx.builders.html", "sphinx_book_theme", "book.build.extension",
            "book.build.finish"]
# Stands on a page for the headlines of parts of the contents.
WORKSHEETS, CHANGES, CALLS = "<!-- the worksheets -->", "<!-- the changes -->", "<!-- the calls -->"
CORRECTIONS = "<!-- the corrections -->"
# What an assistant asks of `gpucalc mcp`, and the first lines of each answer that are shown.
QUESTIONS = [
    ("decide", {"case": "70b chat, 10 requests a second, 1k in, 300 out, first token under 1 s"}),
    ("explain", {"formula": "kv_bytes", "inputs": {"model": "llama 3 70b", "context": 8192, "batch": 32}}),
    ("look_up", {"kind": "gpu", "name": "h100 sxm"}),
    ("compare", {"first": "llama 3 70b, 10 requests a second on h100 sxm",
                 "second": "llama 3 70b, 10 requests a second on h200"})]
SHOWN = 14
HEADLINES = re.compile(r"^<!-- the headlines of: (.+) -->$", re.MULTILINE)
STEP = re.compile(r"(\w+) (?:sources|output): (\d+) of (\d+)")
SAID_EVERY = 10  # seconds, while Sphinx reads or writes pages
SURROUNDINGS = ("BOOK_URL", "GITHUB_REPOSITORY")


def page_sources(frozen, executed, lacking=()):
    """The text of each page by the name of its file, with links to pages as Jupyter Book knows them.

    A page that is `lacking` has no sections: what points at one of them points at its top.
    """
    links = re.compile(rf"\]\((?:\.\./notebooks/)?({'|'.join(executed)})\.md\b(#[\w-]+)?")
    pages = {path.name: path.read_text(encoding="utf-8") for path in (frozen.folder / "book").glob("*.md")}
    pages = {name: HEADLINES.sub(lambda found: listed(found[1].split(", "), frozen), page) for name, page in pages.items()}
    for mark, made in ((WORKSHEETS, worksheets), (CHANGES, changes), (CALLS, calls), (CORRECTIONS, corrections)):
        pages = {name: page.replace(mark, made(frozen)) if mark in page else page for name, page in pages.items()}
    pages |= {f"{topic}.ipynb": without_provenance(path, frozen) for topic, path in executed.items()}
    return {name: links.sub(lambda link: f"]({link[1]}.ipynb{'' if link[1] in lacking else link[2] or ''}", page)
            for name, page in pages.items()}


def listed(captions, frozen):
    """The headline of each page of these parts of the contents, numbered."""
    parts = contents_of(frozen.folder / "book/_toc.yml")
    chapters = [each for caption in captions for each in parts[caption].items()]
    line = "{}. **[{}](../notebooks/{}.md).** {{glue:text}}`{}.ipynb::headline:s`"
    return "\n".join(line.format(place, title, name, name) for place, (name, title) in enumerate(chapters, 1))


def worksheets(frozen):
    """Each notebook that is no page: what it asks, what it says of itself, its parameters and the command that runs it."""
    shown = []
    for path in sorted((frozen.folder / "notebooks").glob("*_worksheet.md")):
        title, about = re.search(r"\n# ([^\n]+)\n\n(.+?)(?=\s+For an answer|\n\n)", path.read_text(encoding="utf-8"),
                                 re.DOTALL).groups()
        values = yaml.safe_dump(declared_in(path), sort_keys=False, allow_unicode=True)
        command = f"make notebook TOPIC={path.stem} PARAMS=mine.yaml"
        shown.append(f"({path.stem.replace('_', '-')})=\n## {title}\n\n{about}\n\n```bash\n{command}\n```\n\n"
                     f"{{download}}`The notebook <{path.stem}.ipynb>`\n\n"
                     f"<details>\n<summary>Its parameters</summary>\n\n```yaml\n{values}```\n\n</details>")
    return "\n\n".join(shown)


def changes(frozen):
    """The list of changes without its title."""
    return (frozen.folder / "CHANGELOG.md").read_text(encoding="utf-8").partition("\n## ")[2].join(["## ", ""])


def calls(frozen):
    """The questions to the tools with the answers of the newest book, which are worked out once."""
    from gpucalc import cli_mcp
    from gpucalc.rows import project_books, store

    def answered():
        return [(*asked, *getattr(cli_mcp, asked[0])(**asked[1])) for asked in QUESTIONS]
    shown = []
    name = store.key("calls", json.dumps(QUESTIONS), project_books.newest().read_bytes())
    for tool, given, text, data in store.recalled(name, answered):
        lines = text.splitlines()
        more = [f"... ({len(lines) - SHOWN} more lines)"] if len(lines) > SHOWN else []
        told = "\n".join([f"{tool} {json.dumps(given)}", "", *lines[:SHOWN], *more, "", f"Shown on {data['page']}"])
        shown.append(f"```text\n{told}\n```")
    return "\n\n".join(shown)


def corrections(frozen):
    """What the book said before and says since when, of data/corrections.csv, each with a link to its page."""
    titles = {page: title for part in contents_of(frozen.folder / "book/_toc.yml").values() for page, title in part.items()}
    with open(frozen.folder / "data/corrections.csv", encoding="utf-8", newline="") as file:
        rows = [[row["date"], row["of"], row["said"], row["right"], f"[{titles[row['page']]}](../notebooks/{row['page']}.md)"]
                for row in csv.DictReader(file)]
    head = [["since", "of what", "said before", "right", "page"], ["---"] * 5]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in head + rows)


def without_provenance(path, frozen):
    """An executed notebook without the hash of its inputs, which no page shows: the same outputs are the same page.

    It can be downloaded, so a file that was given goes by its name alone.
    """
    notebook = json.loads(path.read_text(encoding="utf-8"))
    notebook["metadata"].pop("made_from", None)
    for cell in notebook["cells"]:
        for output in cell.get("outputs", []):
            output.get("data", {}).pop(PICTURE, None)
    text = json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True)
    for name, given in (frozen.given.files if frozen.given else {}).items():
        text = text.replace(str(frozen.folder / name), given.name)
    return text


def common_hash(frozen, pages):
    titles = {name: (re.search(r"(?m)^\s*\"?# .*$", page) or [""])[0] for name, page in sorted(pages.items())}
    around = {name: os.environ.get(name) for name in SURROUNDINGS}
    return digest(frozen.under(*COMMON), titles, around, sys.version)


def pages_hash(common, pages):
    return digest(common, *(part.encode() for name, page in sorted(pages.items()) for part in (name, page)))


class Warm:
    """Jupyter Book in a process that is ready before there is something to build."""

    def __init__(self, frozen):
        self.frozen = frozen
        environment = surroundings(NO_COLOR="1", GPU_BOOK_PIPELINE="1")
        self.process = subprocess.Popen([sys.executable, "-m", "book.build.pages"], cwd=frozen.folder, env=environment, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)

    def start(self, kept, new, changed):
        """Begins to make the pages of the kept folder's `book`, of which some changed; a finished copy of all goes to `new`."""
        self.kept, self.new, self.log = kept, new, []
        self.ask([kept, new, self.frozen.root / "_build/cache", *changed])
        self.reader = Thread(target=self.read, daemon=True)
        self.reader.start()

    def finish(self, scripts=None):
        """Waits for the pages, which have these scripts beside them: a folder of what else they load."""
        self.ask(list(filter(None, [scripts])))
        self.reader.join()
        self.process.wait()
        if self.process.returncode or not (self.new / "index.html").exists():
            raise BuildError("Jupyter Book stopped:\n" + explain_failure("".join(self.log), self.kept / "book"))

    def ask(self, paths):
        with suppress(BrokenPipeError):  # what ended this process stands in its log
            self.process.stdin.write(json.dumps(list(map(str, paths))) + "\n")
            self.process.stdin.flush()

    def read(self):
        """Keeps the log, and says now and then how far Sphinx is."""
        started, doing, told = time.perf_counter(), "", 0
        for line in self.process.stdout:
            self.log.append(line)
            if step := STEP.match(line):
                took = time.perf_counter() - started
                if step[1] != doing or took - told > SAID_EVERY:
                    doing, told = step[1], took
                    print(f"  {doing} page {step[2]} of {step[3]}, {took:.1f} s", flush=True)

    def end(self):
        self.process.stdin.close()
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()


@contextmanager
def warm(frozen):
    ready = Warm(frozen)
    try:
        yield ready
    finally:
        ready.end()


def start_pages(frozen, pages, common, new, jupyter_book):
    """Brings the kept folder up to date, and has Jupyter Book make what changed and finish a copy of the whole in `new`.

    common: the hash of what decides on all pages.
    """
    kept = frozen.root / "_build/pages"
    record = kept / MADE_OF
    if not record.exists() or record.read_text() != common:
        shutil.rmtree(kept, ignore_errors=True)
    source = kept / "book"
    source.mkdir(parents=True, exist_ok=True)
    shutil.copy(frozen.folder / "book/_toc.yml", source)
    changed = [name for name, page in pages.items()
               if not (source / name).is_file() or (source / name).read_text(encoding="utf-8") != page]
    for name in changed:
        write_whole(source / name, pages[name])
    record.unlink(missing_ok=True)
    jupyter_book.start(kept, new, changed)


def finish_pages(common, jupyter_book, scripts):
    """Waits for the pages, beside which these scripts go: a folder, if there is one."""
    jupyter_book.finish(scripts)
    (jupyter_book.kept / MADE_OF).write_text(common)


def explain_failure(log, source):
    """The warnings and errors of a Sphinx log, with the names of the files as the reader knows them."""
    if full := no_space(log):
        return full
    log = re.sub(r"\x1b\[[0-9;]*m", "", log).replace(f"{source}/", "book/")
    lines = [line for line in log.splitlines() if re.search(r"WARNING|ERROR|CRITICAL", line)]
    found = "\n".join(dict.fromkeys(lines)) or f"\n{log}"[-3000:].partition("\n")[2]
    return re.sub(r"book/(\w+)\.ipynb:(\d+)",
                  lambda match: f"notebooks/{match[1]}.md, cell {max(int(match[2]) // 10000, 1)}, line {int(match[2]) % 10000}",
                  found)


def contents(site):
    """The hash of every file of a site, by its path."""
    return {path.relative_to(site).as_posix(): digest(path.read_bytes()) for path in files_in(site)}


def record_of(site):
    """What the site says it was made from; nothing where it says nothing, or is not whole."""
    try:
        record = json.loads((site / MADE_FROM).read_text(encoding="utf-8"))
        return record if record["files"] == contents(site) else {}
    except (OSError, ValueError, KeyError, TypeError):
        return {}


def write_record(site, record):
    """Keeps with the site what it was made from (`inputs`, `pages`), what it says, and of which files it is made."""
    write_whole(site / MADE_FROM, json.dumps(record | {"files": contents(site)}))


def beside(site, name):
    return site.with_name(f".{site.name}.{name}")


def restore(site):
    """Puts the last site back where a build was killed between taking it away and putting the new one there."""
    if beside(site, "old").exists() and not site.exists():
        beside(site, "old").rename(site)
    for left in (beside(site, "old"), beside(site, "new")):
        shutil.rmtree(left, ignore_errors=True)


def swap(new, site):
    """Puts the new site in the place of the old one: in one step where the system can, else by way of a name beside it."""
    if not site.exists():
        new.rename(site)
    elif not exchange(new, site):
        old = beside(site, "old")
        site.rename(old)
        new.rename(site)
        shutil.rmtree(old)


def exchange(one, other):
    """Exchanges two folders in one step; False where the system has no such step."""
    try:
        libc = ctypes.CDLL(None, use_errno=True)
        if sys.platform == "darwin":
            return libc.renamex_np(os.fsencode(one), os.fsencode(other), 2) == 0
        return libc.renameat2(-100, os.fsencode(one), -100, os.fsencode(other), 2) == 0
    except (OSError, AttributeError, TypeError):
        return False


def main():
    import gc

    gc.disable()  # a short run needs no garbage collector, which would take a seventh of it
    sys.stdout.reconfigure(line_buffering=True)
    asked = SimpleQueue()
    Thread(target=listen, args=(asked,), daemon=True).start()
    lean = importlib.import_module("book.build.lean")
    lean.without_kernels()
    from jupyter_book.cli.main import main as jupyter_book

    for name in IMPORTED:
        importlib.import_module(name)
    lean.lean()
    with suppress(ImportError):  # a page that needs it will say so
        importlib.import_module("book.build.api").prepare(asked.empty)
    kept, new, cache, *changed = map(Path, json.loads(asked.get()))
    cache.mkdir(exist_ok=True)
    lean.keep_templates(cache)
    notebooks = sorted(str(kept / "book" / name) for name in changed if name.suffix == ".ipynb")
    with subprocess.Popen([sys.executable, "-m", "book.build.finish", str(cache), *notebooks]) if notebooks else nullcontext():
        sys.argv = ["jupyter-book", "build", str(kept / "book"), "--config", "_config.yml", "--path-output", str(kept)]
        sys.argv += ["-W", "--keep-going", "-n"]
        try:
            jupyter_book()
        except SystemExit as end:
            if end.code:
                raise
        shutil.copytree(kept / "_build/html", new, ignore=shutil.ignore_patterns(".buildinfo", "_sources"))
        for folder in json.loads(asked.get()):
            shutil.copytree(folder, new / "_static", dirs_exist_ok=True)
    try:
        importlib.import_module("book.build.finish").finish(new, cache, kept / "finished")
    except BuildError as error:
        print(f"ERROR: {error}", flush=True)
        os._exit(1)
    sys.stdout.flush()
    os._exit(0)  # without the listener's leave


def listen(asked):
    """Passes on what is asked, and ends this process when nobody is there any more to read what it makes."""
    for line in sys.stdin:
        asked.put(line)
    os._exit(1)


if __name__ == "__main__":
    main()
