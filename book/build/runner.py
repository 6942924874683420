"""Runs notebooks by papermill, each in a process forked from one that has imported what all of them use.

The cells run in that process itself: no port to take, no key file to leave behind. `python -m book.build.runner` reads its jobs
as JSON from the first line of stdin and writes a line of JSON for each that ends; it stops when stdin does.
"""

import contextlib
import gc
import importlib
import json
import multiprocessing
import os
import re
import signal
import sys
import time
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread

from .cells import MISSING, run_cell, shell_here
from .lacking import in_words, page_without

LIMIT = 600  # seconds for one notebook
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
# What Jupyter's own kernel says of itself, without its version.
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "nbconvert_exporter": "python",
            "pygments_lexer": "ipython3", "codemirror_mode": {"name": "ipython", "version": 3}}
OLDEST = re.compile(r"the oldest of (\d{4}(?:-\d\d){0,2})\b")
# Audit events of those who look what a folder holds.
FOLDERS = ("os.listdir", "os.scandir", "glob.glob")
# What Jupyter folds. The code of a figure (hide-input) it shows: a reader can change it there; the site folds that too.
HIDDEN = {"remove-input", "remove-cell", "hide-cell"}
WARM = ["numpy", "pandas", "altair", "sympy", "IPython", "jupytext", "papermill", "nbformat"]


class Opened(set):
    """Files and folders of the frozen copy's data that this process has read, by their names there."""

    now = None

    def watch(self, root):
        self.root = os.path.realpath(root) + os.sep
        sys.addaudithook(self.note)

    def watch_library(self):
        """Asks the library of the frozen copy which files it opens without reading what they hold."""
        with contextlib.suppress(ImportError):  # a project may be without one
            from gpucalc.rows import kept
            self.now = kept.now

    def note(self, event, arguments):
        if event not in ("open", "gpucalc.read", *FOLDERS) or not isinstance(arguments[0], (str, os.PathLike)):
            return
        path = os.path.abspath(os.fspath(arguments[0]))
        unread = self.now.silent if self.now and event == "open" else ()
        if path.startswith((self.root + "data", self.root + "given")) and path not in unread:
            self.add(path[len(self.root):] + ("/" if event in FOLDERS else ""))


OPENED = Opened()


def register_engine():
    from papermill.engines import Engine, papermill_engines

    class Here(Engine):
        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, last=None, **_):
            shell = shell_here()
            for index, cell in enumerate(nb_man.nb.cells):
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                nb_man.cell_start(cell, index)
                if not run_cell(shell, cell):
                    nb_man.cell_exception(cell, index)
                    return
                nb_man.cell_complete(cell, index)
                if cell.id == last:
                    return

    papermill_engines.register("here", Here)


def text_notebook(path):
    """A text notebook as a notebook, with ids that are the same each time."""
    import jupytext

    content = jupytext.read(path)
    content.metadata.update({"kernelspec": KERNEL, "language_info": LANGUAGE})
    content.metadata.get("jupytext", {}).pop("text_representation", None)  # says how the text is written, not the notebook
    for number, cell in enumerate(content.cells, 1):
        cell.id = f"cell-{number}"
        tags = set(cell.metadata.get("tags", []))
        if cell.cell_type == "code" and HIDDEN & tags:
            cell.metadata["jupyter"] = {"source_hidden": True} | ({"outputs_hidden": True} if "hide-output" in tags else {})
    return content


def execute(job):
    """Runs one notebook; returns it with its outputs and what it was made from. Raises ValueError with what to tell its author.

    Where a price is missing and the prices are the reader's `own`, it is the page that says so.
    """
    import papermill
    from IPython import get_ipython
    from papermill.exceptions import PapermillExecutionError

    register_engine()
    path = Path(job["path"])
    notebook = text_notebook(path)
    made = {}
    try:
        done = papermill.execute_notebook(notebook, None, job["parameters"], engine_name="here", kernel_name="python3",
                                          progress_bar=False, last=answering(notebook) if job.get("answer") else None)
    except PapermillExecutionError as error:
        if error.ename != MISSING or not job.get("own"):
            raise ValueError(in_cell(path, notebook, error.source, f"{error.ename}: {error.evalue}", error.traceback)) from None
        made["lacks"] = in_words(error.evalue)
        done = page_without(notebook, job["own"], made["lacks"])
    for cell in done.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ValueError(in_cell(path, notebook, cell.source, output.text.strip()))
    clean(done)
    dates = [date for value in get_ipython().user_ns.values() if isinstance(value, str) for date in OLDEST.findall(value)]
    done.metadata["made_from"] = made | {"inputs": sorted(OPENED)} | ({"oldest": min(dates)} if dates else {})
    return done


def answering(notebook):
    """The cell after which a notebook has said its answer, with the prices behind it: the last before its first section."""
    answered = last = None
    for cell in notebook.cells:
        if answered and re.search(r"^## ", cell.source, re.MULTILINE) and cell.cell_type == "markdown":
            return last
        answered = answered or "headline" in cell.metadata.get("tags", [])
        last = cell.id if cell.cell_type == "code" else last
    return None


def in_cell(path, notebook, source, error, line=()):
    """Where in the text notebook an error is: the cell, and the line of it that failed where that is known, else its first."""
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    where = f"code cell {sources.index(source) + 1}" if source in sources else "the parameters given"
    number, text = line or ("", next(iter(source.splitlines()), ""))
    return f"notebooks/{path.name}, {where}{f', line {number}' if number else ''}:\n    {text}\n{error}"


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


def child(job, root):
    """The life of one process: the notebook, and a file with it or with what went wrong."""
    import nbformat

    Thread(target=end_with_parent, daemon=True).start()
    os.chdir(Path(root, "notebooks"))
    os.environ["STILL_PICTURES"] = "yes" if job["pictures"] else "no"
    target = Path(job["target"])
    try:
        done = execute(job)
        target.write_text(nbformat.writes(done) + "\n", encoding="utf-8")
    except Exception as error:
        said = str(error) if type(error) is ValueError else f"notebooks/{Path(job['path']).name}: {type(error).__name__}: {error}"
        target.with_suffix(".failed").write_text(said, encoding="utf-8")


def end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


def warm_up(root, jobs):
    """Imports what the notebooks use, once for all of them: from the frozen copy, whose data is watched from here on."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads is not safe to fork
    sys.path.insert(0, str(root))
    OPENED.watch(root)
    OPENED.watch_library()
    # Not book, which teaches the shell of a notebook when it is imported there. What these modules read as they load counts as
    # read by every notebook, however many run: a recording is the same from a run of one.
    modules = [path.relative_to(root).with_suffix("").parts for path in sorted(Path(root, "gpucalc").rglob("*.py"))]
    for name in WARM + [".".join(parts) for parts in modules if parts[-1][0] != "_"]:
        with contextlib.suppress(Exception):  # who imports it for a notebook sees the error there
            importlib.import_module(name)
    if len(jobs) > 2:
        use_once()
        work_out(jobs)


def use_once():
    """Has the libraries read their own schemas, which each does at its first use."""
    import altair
    import nbformat

    nbformat.v4.new_raw_cell("")
    altair.Chart(altair.Data(values=[])).mark_line().encode(x=altair.X("x:Q")).to_dict()


def work_out(jobs):
    """Has gpucalc work out what several notebooks ask for; each that does says itself then what it was read from."""
    before = set(OPENED)
    with contextlib.suppress(Exception):  # who asks for it sees the error
        from .beforehand import work_out_for
        work_out_for([job["parameters"] for job in jobs])
    OPENED.intersection_update(before)


def run_all(jobs, root, workers, stdin):
    """Runs the jobs, a few at a time, and says of each how it ended."""
    context = multiprocessing.get_context("fork" if hasattr(os, "fork") else "spawn")
    waiting, running = list(reversed(jobs)), {}
    while waiting or running:
        while waiting and len(running) < workers:
            job = waiting.pop()
            process = context.Process(target=child, args=(job, root), daemon=True)
            process.start()
            running[process.sentinel] = process, job, time.monotonic() + LIMIT
        soonest = min(end for _, _, end in running.values())
        ended = wait([*running, *stdin], max(0, soonest - time.monotonic()))
        if set(stdin) & set(ended):  # who asked for this is gone
            break
        for sentinel in ended or [next(each for each in running if running[each][2] == soonest)]:
            process, job, _ = running.pop(sentinel)
            if not ended:
                process.kill()
            process.join()
            if not said(job, process.exitcode, bool(ended)) and not job.get("again"):
                waiting.append(job | {"again": True})
    for process, _, _ in running.values():
        process.kill()


def said(job, exitcode, in_time):
    """Tells how a notebook ended; False where it ended without a word, for a first time."""
    target = Path(job["target"])
    failed = target.with_suffix(".failed")
    error = None
    if failed.exists():
        error = failed.read_text(encoding="utf-8")
    elif not in_time:
        error = f"notebooks/{Path(job['path']).name}: it ran for {LIMIT} s; allowed: less"
    elif not target.exists():
        if not job.get("again"):
            return False
        error = f"notebooks/{Path(job['path']).name}: its process ended twice without a word (exit code {exitcode})"
    print(json.dumps({"topic": job["topic"], "error": error}), flush=True)
    return True


def main():
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for whoever started this, and its end is seen on stdin
    gc.disable()  # a notebook is over before it would be of use, and looking for garbage takes a fifth of its time
    asked = json.loads(sys.stdin.readline())
    warm_up(asked["root"], asked["jobs"])
    run_all(asked["jobs"], asked["root"], asked["workers"], [sys.stdin.fileno()] if os.name == "posix" else [])
    os._exit(0)


if __name__ == "__main__":
    main()
