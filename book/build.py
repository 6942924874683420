"""Makes the book: text notebooks are executed, then Jupyter Book turns them and the prose into a site.

Only what changed runs again, and the last good site stays in place until a new one is complete.
"""

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from ast import literal_eval
from pathlib import Path

from . import pages as site_pages
from .editions import Editions
from .inputs import ROOT, BuildError, Frozen, alone, digest, state, write_whole

KINDS = {bool: "True or False", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}


def build_book(root=ROOT, prices=None, output=None, recorded=True):
    """Makes the site in `output` (_build/html); recorded=False runs notebooks that stand recorded in notebooks/*.ipynb."""
    output = (output or root / "_build/html").resolve()
    prices = prices and existing(prices)
    with alone(root / "_build"):
        site_pages.restore(output)
        known, inputs = site_pages.record_of(output), inputs_of(state(root, prices))
        if known.get("inputs") == inputs:
            print("Nothing changed since the last build.")
            return output
        if output.exists() and any(output.iterdir()) and not (output / site_pages.MADE_FROM).exists():
            raise BuildError(f"{output} holds something that is not a site made here; move it away")
        check_prices(root, prices)
        frozen = Frozen(root, root / "_build/frozen", prices)
        make(frozen, output, known, recorded)
    return output


def make(frozen, output, known, recorded):
    new = site_pages.beside(output, "new")
    try:
        with site_pages.warm(frozen) as jupyter_book:
            executed = Editions(frozen, recorded).current()
            pages = site_pages.page_sources(frozen, executed)
            inputs, made = inputs_of(frozen.digests), site_pages.site_hash(frozen, pages)
            if known.get("pages") == made:
                print("Pages: none changed", flush=True)
                site_pages.write_record(output, inputs, made)
                return
            print("Pages: Jupyter Book is making them", flush=True)
            site_pages.make_pages(frozen, pages, new, jupyter_book)
        site_pages.write_record(new, inputs, made)
        site_pages.swap(new, output)
    finally:
        shutil.rmtree(new, ignore_errors=True)


def inputs_of(digests):
    return digest(sorted(digests.items()), {name: os.environ.get(name) for name in site_pages.SURROUNDINGS}, sys.version)


def existing(path, name="PRICES"):
    try:
        found = path.is_file()
    except OSError as error:
        raise BuildError(f"{name}={str(path)[:80]}: {error.strerror}") from None
    if not found:
        raise BuildError(f"{name}={path}: {'not a regular file' if path.exists() else 'there is no such file'}")
    return path.resolve()


def check_prices(root, prices):
    """Has the catalogue read the file, in a process of its own; it names the row and column that are wrong."""
    if not prices:
        return
    command = [sys.executable, "-m", "gpucalc.rows.price_book", str(prices)]
    check = subprocess.run(command, cwd=root, capture_output=True, text=True)
    if check.returncode:
        raise BuildError(check.stderr.strip())


def run_notebook(topic, parameters, root=ROOT, prices=None):
    """Executes one notebook with the given parameters into _build/notebooks/."""
    prices = prices and existing(prices)
    with alone(root / "_build"):
        frozen = Frozen(root, root / "_build/frozen", prices)
        if topic not in frozen.topics:
            raise BuildError(f"TOPIC={topic}: there is no such notebook; allowed: {', '.join(frozen.topics)}")
        check_prices(root, prices)
        editions = Editions(frozen)
        given = parameters | editions.parameters(topic)
        check_parameters(topic, given, editions.declared(topic))
        target = root / f"_build/notebooks/{topic}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        editions.run({topic: given}, pictures=True, target=target)
        if prices:
            made = target.read_text(encoding="utf-8")
            write_whole(target, made.replace(str(frozen.folder / frozen.given["prices"]), str(prices)))
    return target


def check_parameters(topic, given, defaults):
    for name, value in given.items():
        if name not in defaults:
            raise BuildError(f"{topic}: unknown parameter {name!r}; allowed: {', '.join(sorted(defaults)) or 'none'}")
        if not same_kind(value, defaults[name]):
            raise BuildError(f"{topic}: parameter {name!r} is {value!r}; allowed: "
                             f"{KINDS.get(type(defaults[name]), 'a value')} such as {defaults[name]!r}")


def same_kind(value, default):
    """Whether a value may stand for the default; the notebook itself says whether None may, and which numbers."""
    if value is None or default is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    return isinstance(value, int | float if isinstance(default, int | float) else type(default))


def read_parameters(path):
    """Names and values in a YAML file; a relative path among the values is meant from the file's own folder."""
    from gpucalc.rows.mapping import read_mapping

    try:
        parameters = read_mapping(existing(path, "PARAMS"))
    except ValueError as error:
        raise BuildError(f"PARAMS={error}") from None
    return {name: in_folder(value, path.parent) for name, value in parameters.items()}


def in_folder(value, folder):
    try:
        return str((folder / value).resolve()) if isinstance(value, str) and value and (folder / value).is_file() else value
    except (OSError, ValueError):
        return value


def headline(path):
    """The sentence that an executed notebook keeps as its answer; empty if it keeps none."""
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        for output in cell.get("outputs", []):
            if output.get("metadata", {}).get("scrapbook", {}).get("name") == "headline":
                return literal_eval("".join(output["data"]["text/plain"]))
    return ""


def accept(root=ROOT):
    """Records the outputs of every notebook, with its default parameters, in notebooks/*.ipynb."""
    with alone(root / "_build"):
        frozen = Frozen(root, root / "_build/frozen")
        for topic, path in Editions(frozen).current(pictures=True).items():
            recording = root / f"notebooks/{topic}.ipynb"
            made = path.read_text(encoding="utf-8")
            if not recording.exists() or recording.read_text(encoding="utf-8") != made:
                write_whole(recording, made)
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
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
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
    except (BuildError, OSError, KeyboardInterrupt) as error:
        sys.exit(f"{told(error)}\nStopped after {time.perf_counter() - started:.1f} s; nothing was replaced.")
    print(f"{time.perf_counter() - started:.1f} s")


def stop(number, _):
    raise KeyboardInterrupt


def told(error):
    if isinstance(error, KeyboardInterrupt):
        return "Stopped from outside."
    return f"{error.filename or 'A file'}: {error.strerror}" if isinstance(error, OSError) else str(error)


if __name__ == "__main__":
    main()
