"""Executed notebooks: those recorded beside the text and those of earlier builds, each with a hash of what it is made from.

One whose inputs are as they were, and whose content is what it was, stands for a run; any other is left aside.
"""

import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from ast import literal_eval
from pathlib import Path

from .given import Given
from .inputs import BuildError, digest, surroundings, write_whole

KEPT = 4
WORKERS = max(2, min(os.cpu_count() or 2, 8))
PICTURE = "image/svg+xml"
CELL = re.compile(r"^```\{code-cell\}[^\n]*\n((?::[^\n]*\n)*)(.*?)^```", re.MULTILINE | re.DOTALL)
TAGGED = re.compile(r"^:tags:.*\bparameters\b", re.MULTILINE)
# What decides on every notebook's outputs besides its own text and the data that it reads.
ALWAYS = ("gpucalc/", "book/_toc.yml", "book/components/", "book/pages/", "book/web/", "requirements.txt",
          *(f"book/build/{name}.py" for name in ("runner", "cells", "lacking")))
OPTIONAL = re.compile(r"page_case\(globals\(\), (?:optional=)?(\([^)]*\))")
GPU_TABLE = "data/gpus.csv"
NUMBER = re.compile(r"\d+(?:\.\d+)?(?:e[-+]\d+)?")
# Altair names a chart at random and its data by their digits, the last of which differ too.
CHART_NAME = re.compile(r"\b(altair-viz|data)-[0-9a-f]{32}\b")


def inputs_hash(frozen, topic, parameters, inputs):
    """Of all that a notebook is made from."""
    held = {name: frozen.content(name) for name in inputs}
    if GPU_TABLE in inputs and frozen.given and frozen.given.gpus:
        held["given/gpus/"] = frozen.under("given/gpus/")
    return digest(frozen.content(f"notebooks/{topic}.md"), frozen.under(*ALWAYS), held, parameters)


def outputs_hash(notebook):
    """Of all that a page shows; still pictures are for those who read the notebook file."""
    return digest([[cell["cell_type"], text(cell["source"]), cell["metadata"], [shown(each) for each in cell.get("outputs", [])]]
                   for cell in notebook["cells"]])


def shown(output):
    data = {kind: text(value) for kind, value in output.get("data", {}).items() if kind != PICTURE}
    if "text/html" in data:
        data["text/html"] = CHART_NAME.sub(r"\1", data["text/html"])
    return output | {"data": data, "text": text(output.get("text", ""))}


def alike(now, then):
    """Whether two values are the same but for the last digits of floats, which differ from one processor to another."""
    one, other = (json.dumps(value, sort_keys=True, ensure_ascii=False) for value in (now, then))
    return one == other or NUMBER.sub("0", one) == NUMBER.sub("0", other) and all(
        map(close_to, NUMBER.findall(one), NUMBER.findall(other)))


def close_to(one, other):
    """Whether two numbers as text are; short ones only where they are the same, 1.0 and 1 are not."""
    return one == other or max(len(one), len(other)) > 9 and math.isclose(float(one), float(other), rel_tol=1e-9)


def text(lines):
    return "".join(lines) if isinstance(lines, list) else lines


def made_from(notebook):
    return notebook["metadata"].get("made_from", {})


def made_of(path):
    """What the file of a run says that it is made from."""
    return made_from(json.loads(Path(path).read_text(encoding="utf-8")))


def is_current(path, frozen, topic, parameters, pictures):
    """Whether the file is a run of the notebook as it is now, as it came from that run, and with pictures if they are wanted."""
    try:
        notebook = json.loads(path.read_text(encoding="utf-8"))
        made = made_from(notebook)
        return (made["inputs_hash"] == inputs_hash(frozen, topic, parameters, made["inputs"])
                and made["outputs_hash"] == outputs_hash(notebook) and (made["pictures"] or not pictures))
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        return False


class Editions:
    """The executed notebooks of a project as it is frozen; `recorded`: whether recordings may stand for a run."""

    def __init__(self, frozen, recorded=True):
        self.frozen, self.recorded, self.given = frozen, recorded, frozen.given or Given()
        self.store = frozen.root / "_build/executed"
        self.store.mkdir(parents=True, exist_ok=True)

    def declared(self, topic):
        return declared_in(self.frozen.folder / f"notebooks/{topic}.md")

    def parameters(self, topic):
        """What the notebook is given: of all that was given, what it declares."""
        declared = self.declared(topic)
        return {name: value for name, value in self.given.parameters.items() if name in declared}

    def candidates(self, topic):
        recording = self.frozen.folder / f"notebooks/{topic}.ipynb"
        stored = sorted(self.store.glob(f"{topic}-*.ipynb"))
        return [recording, *stored] if self.recorded else stored

    def current(self, pictures=False):
        """The file of each notebook, after a run of those that have none. Raises BuildError with all that went wrong."""
        given = {topic: self.parameters(topic) for topic in self.frozen.topics}
        found = {topic: next((path for path in self.candidates(topic)
                              if is_current(path, self.frozen, topic, given[topic], pictures)), None) for topic in given}
        todo = [topic for topic, path in found.items() if path is None]
        print(f"Notebooks: {len(todo)} to run, {len(found) - len(todo)} unchanged", flush=True)
        todo.sort(key=lambda topic: (self.frozen.folder / f"notebooks/{topic}.md").stat().st_size, reverse=True)
        ran = self.run({topic: given[topic] for topic in todo}, pictures)
        return {topic: ran.get(topic, path) for topic, path in found.items()}

    def run(self, given, pictures, target=None, answer=False):
        """Executes the topics with what each is given, as far as the `answer` if that is all; returns the file of each."""
        if not given:
            return {}
        folder = self.frozen.folder
        work = target.parent if target else self.store
        files = self.given.files
        jobs = [{"topic": topic, "path": str(folder / f"notebooks/{topic}.md"), "parameters": here(parameters, files, folder),
                 "pictures": pictures, "target": str(work / f"{topic}.part"), "answer": answer,
                 "own": self.given.whose() if parameters else ""} for topic, parameters in given.items()]
        try:
            failures = follow(jobs, folder, surroundings(**self.given.around(folder)), quiet=answer)
            if failures:
                raise BuildError("\n\n".join(failures))
            return {topic: self.keep(topic, parameters, pictures, work / f"{topic}.part", target)
                    for topic, parameters in given.items()}
        finally:
            for job in jobs:
                for left in (Path(job["target"]), Path(job["target"]).with_suffix(".failed")):
                    left.unlink(missing_ok=True)

    def keep(self, topic, parameters, pictures, made, target=None):
        """Gives a run the hashes by which it is known again, and its place."""
        notebook = json.loads(made.read_text(encoding="utf-8"))
        known = inputs_hash(self.frozen, topic, parameters, made_from(notebook)["inputs"])
        made_from(notebook).update(inputs_hash=known, outputs_hash=outputs_hash(notebook), pictures=pictures)
        path = target or self.store / f"{topic}-{known}{'-p' if pictures else ''}.ipynb"
        write_whole(path, as_file(notebook))
        if not target:
            self.prune(topic, path)
        return path

    def prune(self, topic, newest):
        """Keeps the newest and a few others, whatever the clock says of them."""
        others = [path for path in self.store.glob(f"{topic}-*.ipynb") if path != newest]
        for old in sorted(others, key=lambda path: path.stat().st_mtime, reverse=True)[KEPT - 1:]:
            old.unlink(missing_ok=True)


def to_record(path, recording):
    """The text of a run as it is to be recorded: with the outputs that stand there where they are alike, so that no processor
    changes a file."""
    made = json.loads(path.read_text(encoding="utf-8"))
    try:
        held = json.loads(recording.read_text(encoding="utf-8"))["cells"]
        stands = {text(cell["source"]): cell.get("outputs", []) for cell in held}
    except (ValueError, KeyError, TypeError, AttributeError, OSError):  # none, or one that is spoiled
        stands = {}
    for cell in made["cells"]:
        outputs = stands.get(text(cell["source"]))
        if outputs and alike(cell.get("outputs", []), outputs):
            cell["outputs"] = outputs
    made_from(made)["outputs_hash"] = outputs_hash(made)
    return as_file(made)


def as_file(notebook):
    return json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def lacking(executed):
    """What each page lacks that lacks a price, by its topic."""
    found = {topic: made_of(path).get("lacks") for topic, path in executed.items()}
    return {topic: lacks for topic, lacks in found.items() if lacks}


def optional_in(path):
    """Names of the parameters of a text notebook that may be None, whatever their defaults."""
    named = OPTIONAL.search(path.read_text(encoding="utf-8"))
    return literal_eval(named[1]) if named else ()


def declared_in(path):
    """Names and defaults of the parameters of a text notebook."""
    from ..components.parameters import declared

    cells = [code for options, code in CELL.findall(path.read_text(encoding="utf-8")) if TAGGED.search(options)]
    try:
        return declared("\n".join(cells))
    except ValueError as error:
        raise BuildError(f"notebooks/{path.name}, its parameters cell: {error}") from None


def here(parameters, files, folder):
    """Parameters with the places of the files that were given."""
    return {name: str(folder / value) if isinstance(value, str) and value in files else value
            for name, value in parameters.items()}


def follow(jobs, folder, environment, quiet=False):
    """Has the runner execute the jobs, and says how it goes and which took longest; returns what went wrong."""
    began, left, failures, waiting = time.perf_counter(), len(jobs), [], [job["topic"] for job in jobs]
    # The runner takes the next job, in their order, when one ends.
    running, took = {waiting.pop(0): began for _ in jobs[:WORKERS]}, {}
    command = [sys.executable, "-m", "book.build.runner"]
    options = {"cwd": folder, "env": environment, "text": True, "stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with tempfile.TemporaryFile("w+") as log, subprocess.Popen(command, stderr=log, **options) as runner:
        runner.stdin.write(json.dumps({"jobs": jobs, "root": str(folder), "workers": WORKERS}) + "\n")
        runner.stdin.flush()
        for line in runner.stdout:
            ended, now = json.loads(line), time.perf_counter()
            took[ended["topic"]] = now - running.pop(ended["topic"], began)
            running |= dict.fromkeys(waiting[:1], now)
            del waiting[:1]
            left -= 1
            failures += [ended["error"]] if ended["error"] else []
            state = "failed" if ended["error"] else "done"
            if not quiet:
                runs = f"; running: {', '.join(running)}" if running else ""
                print(f"  {ended['topic']} {state}, {left} left, {now - began:.1f} s{runs}", flush=True)
        runner.wait()
        log.seek(0)
        said = log.read().strip().splitlines() or ["it said nothing"]
    if left:
        raise BuildError(f"The process that runs the notebooks stopped: {said[-1]}")
    if len(took) > 1 and not quiet:
        longest = max(took, key=took.get)
        print(f"  {longest} took longest: {took[longest]:.1f} s", flush=True)
    return failures
