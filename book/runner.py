"""Runs notebooks by papermill, each in a process forked from one that has imported what all of them use.

The cells run in that process itself: no port to take, no key file to leave behind. `python -m book.runner` reads its jobs
as JSON from the first line of stdin and writes a line of JSON for each that ends; it stops when stdin does.
"""

import contextlib
import importlib
import io
import json
import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.connection import wait
from pathlib import Path
from threading import Thread

LIMIT = 600  # seconds for one notebook
KERNEL = {"name": "python3", "display_name": "Python 3", "language": "python"}
# What Jupyter's own kernel says of itself, without its version.
LANGUAGE = {"name": "python", "file_extension": ".py", "mimetype": "text/x-python", "nbconvert_exporter": "python",
            "pygments_lexer": "ipython3", "codemirror_mode": {"name": "ipython", "version": 3}}
HIDDEN = {"remove-input", "remove-cell", "hide-input", "hide-cell"}
WARM = ["numpy", "pandas", "altair", "sympy", "IPython", "jupytext", "papermill", "nbformat"]


class Opened(set):
    """Files and folders of the frozen copy's data that this process has read, by their names there."""

    def watch(self, root):
        self.root = os.path.realpath(root) + os.sep
        sys.addaudithook(self.note)

    def note(self, event, arguments):
        if event not in ("open", "os.listdir", "os.scandir", "glob.glob") or not isinstance(arguments[0], (str, os.PathLike)):
            return
        name = os.path.abspath(os.fspath(arguments[0]))
        if name.startswith((self.root + "data", self.root + "given")):
            self.add(name[len(self.root):] + ("" if event == "open" else "/"))


OPENED = Opened()


def shell_here():
    """An IPython shell whose outputs are the cell's, as a notebook keeps them."""
    from IPython.core.displayhook import DisplayHook
    from IPython.core.displaypub import DisplayPublisher
    from IPython.core.interactiveshell import InteractiveShell
    from traitlets.config import Config

    class Publisher(DisplayPublisher):
        def publish(self, data, metadata=None, *, transient=None, update=False, **_):
            if update:
                raise NotImplementedError("a display that is updated later; show it once")
            self.shell.outputs.append({"output_type": "display_data", "data": dict(data), "metadata": metadata or {}})

    class Hook(DisplayHook):
        def write_output_prompt(self):
            pass

        def write_format_data(self, format_dict, md_dict=None):
            self.shell.outputs.append({"output_type": "execute_result", "data": format_dict, "metadata": md_dict or {},
                                       "execution_count": self.prompt_count})

        def finish_displayhook(self):
            self._is_active = False

    class NotebookShell(InteractiveShell):
        """IPython's own shell, which says nothing of errors by itself: the notebook does."""

        def _showtraceback(self, *_):
            pass

    quiet = Config(HistoryManager={"enabled": False})
    shell = NotebookShell.instance(config=quiet, display_pub_class=Publisher, displayhook_class=Hook)
    shell.outputs = []
    return shell


class Stream(io.TextIOBase):
    """What a cell prints, among its other outputs."""

    def __init__(self, name, shell):
        self.called, self.shell = name, shell

    def write(self, text):
        last = self.shell.outputs[-1] if self.shell.outputs else {}
        if last.get("name") == self.called:
            last["text"] += text
        elif text:
            self.shell.outputs.append({"output_type": "stream", "name": self.called, "text": text})
        return len(text)


def run_cell(shell, cell):
    """Runs one cell and gives it its outputs; whether it went well."""
    from nbformat import from_dict

    shell.outputs = []
    count = shell.execution_count
    with contextlib.redirect_stdout(Stream("stdout", shell)), contextlib.redirect_stderr(Stream("stderr", shell)):
        result = shell.run_cell(cell.source, store_history=True)
    error = result.error_before_exec or result.error_in_exec
    if error is not None:
        shell.outputs.append({"output_type": "error", "ename": type(error).__name__, "evalue": str(error), "traceback": []})
    cell.execution_count = count
    cell.outputs = [from_dict(each) for each in json.loads(json.dumps(shell.outputs))]
    return error is None


def register_engine():
    from papermill.engines import Engine, papermill_engines

    class Here(Engine):
        @classmethod
        def execute_managed_notebook(cls, nb_man, kernel_name, **_):
            shell = shell_here()
            for index, cell in enumerate(nb_man.nb.cells):
                if cell.cell_type != "code" or not cell.source.strip():
                    continue
                nb_man.cell_start(cell, index)
                if not run_cell(shell, cell):
                    nb_man.cell_exception(cell, index)
                    return
                nb_man.cell_complete(cell, index)

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
        if cell.cell_type == "code" and HIDDEN & tags:  # what the site leaves out or folds stands folded in Jupyter
            cell.metadata["jupyter"] = {"source_hidden": True} | ({"outputs_hidden": True} if "hide-output" in tags else {})
    return content


def execute(job):
    """Runs one notebook; returns it with its outputs, and the data it read. Raises ValueError with what to tell its author."""
    import papermill
    from papermill.exceptions import PapermillExecutionError

    register_engine()
    path = Path(job["path"])
    notebook = text_notebook(path)
    try:
        done = papermill.execute_notebook(notebook, None, job["parameters"], engine_name="here", kernel_name="python3",
                                          progress_bar=False)
    except PapermillExecutionError as error:
        raise ValueError(in_cell(path, notebook, error.source, f"{error.ename}: {error.evalue}")) from None
    for cell in done.cells:
        for output in cell.get("outputs", []):
            if output.get("name") == "stderr":
                raise ValueError(in_cell(path, notebook, cell.source, output.text.strip()))
    clean(done)
    return done, sorted(OPENED)


def in_cell(path, notebook, source, error):
    sources = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    where = f"code cell {sources.index(source) + 1}" if source in sources else "the parameters given"
    head = "\n".join(f"    {line}" for line in source.splitlines()[:6])
    return f"notebooks/{path.name}, {where}:\n{head}\n{error}"


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
        done, opened = execute(job)
        done.metadata["made_from"] = {"inputs": opened}
        target.write_text(nbformat.writes(done) + "\n", encoding="utf-8")
    except Exception as error:
        said = str(error) if type(error) is ValueError else f"notebooks/{Path(job['path']).name}: {type(error).__name__}: {error}"
        target.with_suffix(".failed").write_text(said, encoding="utf-8")


def end_with_parent():
    multiprocessing.parent_process().join()
    os._exit(1)


def warm_up(root, several):
    """Imports what the notebooks use, once for all of them: from the frozen copy, whose data is watched from here on."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads is not safe to fork
    sys.path.insert(0, str(root))
    OPENED.watch(root)
    if several:
        # What shows pages teaches the shell of a notebook when it is imported there.
        modules = [path.relative_to(root).with_suffix("").parts for path in sorted(Path(root, "gpucalc").rglob("*.py"))]
        for name in WARM + [".".join(parts) for parts in modules if parts[-1][0] != "_" and "page" not in parts]:
            with contextlib.suppress(Exception):  # who imports it for a notebook sees the error there
                importlib.import_module(name)


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
    asked = json.loads(sys.stdin.readline())
    warm_up(asked["root"], len(asked["jobs"]) > 2)
    run_all(asked["jobs"], asked["root"], asked["workers"], [sys.stdin.fileno()] if os.name == "posix" else [])
    os._exit(0)


if __name__ == "__main__":
    main()
