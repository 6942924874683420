"""Makes the book: text notebooks are executed, then Jupyter Book turns them and the prose into a site.

Only what changed runs again, and the last good site stays in place until a new one is complete.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from . import answers, front, pages as site_pages
from .editions import Editions, declared_in, is_current, lacking, optional_in, to_record
from .given import Given, check_case, close, known_gpus, read_given, read_parameters, refused
from .inputs import ROOT, BuildError, Frozen, alone, digest, no_space, state, surroundings, write_whole


def build_book(root=ROOT, prices=None, output=None, recorded=True, given=None):
    """Makes the site in `output` (_build/html), from what the reader gave, or a price file only.

    recorded=False runs notebooks that stand recorded in notebooks/*.ipynb.
    """
    given = given or read_given(prices=str(prices or ""))
    output = (output or root / "_build/html").resolve()
    with alone(root / "_build"):
        site_pages.restore(output)
        known, inputs = site_pages.record_of(output), inputs_of(state(root, given), given)
        if known.get("inputs") == inputs:
            print("\n".join(["Nothing changed since the last build.", *known.get("notes", [])]))
            return output
        if output.exists() and any(output.iterdir()) and not (output / site_pages.MADE_FROM).exists():
            raise BuildError(f"{output} holds something that is not a site made here; move it away")
        check_case(given, declared(root))
        notes = check_prices(root, given)
        frozen = Frozen(root, root / "_build/frozen", given)
        make(frozen, output, known, recorded, notes)
    return output


def make(frozen, output, known, recorded, notes):
    new = site_pages.beside(output, "new")
    try:
        with site_pages.warm(frozen) as jupyter_book, front.scripts(frozen) as scripts:
            executed = Editions(frozen, recorded).current()
            lacks = lacking(executed)
            notes = [*notes, *(f"{topic}: lacks {what.partition(';')[0]}" for topic, what in lacks.items())]
            pages = site_pages.page_sources(frozen, executed, lacks)
            common = site_pages.common_hash(frozen, pages)
            record = {"inputs": inputs_of(frozen.digests, frozen.given), "pages": site_pages.pages_hash(common, pages)}
            # Sphinx needs no scripts: it starts before they are made, unless they are all that can have changed.
            same = record["pages"] == known.get("pages") and front.content(scripts()) == known.get("scripts")
            if same:
                print("Pages: none changed", flush=True)
            else:
                print("Pages: Jupyter Book is making them", flush=True)
                site_pages.start_pages(frozen, pages, common, new, jupyter_book)
            before, now = answers.recorded_headlines(frozen.root), answers.headlines(executed, lacks)
            record |= {"scripts": front.content(scripts()), "headlines": now, "notes": notes}
            if not same:
                site_pages.finish_pages(common, jupyter_book, scripts())
            site_pages.write_record(output if same else new, record)
            if not same:
                site_pages.swap(new, output)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    for line in filter(None, [answers.changed(before | known.get("headlines", {}), now), *notes]):
        print(line)


def inputs_of(digests, given):
    surrounding = {name: os.environ.get(name) for name in site_pages.SURROUNDINGS}
    return digest(sorted(digests.items()), sorted(given.parameters.items()), surrounding, sys.version)


def declared(root):
    """The parameters that each notebook declares, with their defaults, and those that may be None besides."""
    return {path.stem: (declared_in(path), optional_in(path)) for path in sorted((root / "notebooks").glob("[a-z]*.md"))}


def check_prices(root, given):
    """Has the catalogue read the price file, in a process of its own, which names all that is wrong; returns its warnings."""
    if not given.prices:
        return []
    check = checking(root, given, capture_output=True, text=True)
    if check.returncode:
        raise BuildError(check.stderr.strip() or check.stdout.strip())
    if check.stdout.strip():
        print(check.stdout.strip(), flush=True)
    return [line for line in check.stdout.splitlines() if line.startswith("check:")]


def checking(root, given, **options):
    command = [sys.executable, "-m", "gpucalc.rows.price_book", *given.options]
    return subprocess.run(command, cwd=root, env=surroundings(**given.around()), **options)


def run_notebook(topic, parameters, root=ROOT, given=None):
    """Executes one notebook with the given parameters into _build/notebooks/."""
    given = given or Given()
    with alone(root / "_build"):
        editions, topic_given, _ = prepared(topic, parameters, root, given)
        target = root / f"_build/notebooks/{topic}.ipynb"
        target.parent.mkdir(parents=True, exist_ok=True)
        editions.run({topic: topic_given}, pictures=True, target=target)
        made = target.read_text(encoding="utf-8")
        for name, path in editions.given.files.items():
            made = made.replace(str(editions.frozen.folder / name), str(path))
        write_whole(target, made)
    return target


def answer(topic, root=ROOT, given=None):
    """What the notebook answers, run as far as that takes, and with nothing run where it ran before."""
    given = given or Given()
    with alone(root / "_build"):
        editions, topic_given, notes = prepared(topic, {}, root, given)
        found = next((path for path in editions.candidates(topic)
                      if is_current(path, editions.frozen, topic, topic_given, pictures=False)), None)
        if not found:
            found = root / f"_build/answers/{topic}.ipynb"
            found.parent.mkdir(parents=True, exist_ok=True)
            editions.run({topic: topic_given}, pictures=False, target=found, answer=True)
        lacks = lacking({topic: found}).get(topic)
        said = answers.headline(found) if lacks else answers.answer(found) or f"{topic} has no headline."
        return "\n\n".join([said, *map(answers.wrapped, notes)])


def prepared(topic, parameters, root, given):
    """The editions of the frozen project, what the notebook is given, its parameters before those of the case, and warnings."""
    held = Given(given.prices, given.only, given.rates, given.gpus, given.case | parameters)
    pages = declared(root)
    if topic not in pages:
        raise BuildError(f"TOPIC={topic}: there is no such notebook{close(topic, pages)}; allowed: {', '.join(pages)}")
    with known_gpus(given):
        check_parameters(topic, parameters, *pages[topic])
    check_case(given, pages)
    notes = check_prices(root, given)
    editions = Editions(Frozen(root, root / "_build/frozen", held))
    return editions, editions.parameters(topic), notes


def check_parameters(topic, parameters, defaults, optional):
    """Stops at every parameter that the notebook has not, or whose value it refuses, all at once."""
    faults = [f"unknown parameter {name!r}; allowed: {', '.join(sorted(defaults)) or 'none'}" if name not in defaults
              else refused(name, value, defaults[name], optional) for name, value in parameters.items()]
    if any(faults):
        raise BuildError("\n".join(f"{topic}: {fault}" for fault in faults if fault))


def accept(root=ROOT):
    """Records the outputs of every notebook, with its default parameters, in notebooks/*.ipynb."""
    with alone(root / "_build"):
        frozen = Frozen(root, root / "_build/frozen")
        for topic, path in Editions(frozen).current(pictures=True).items():
            recording = root / f"notebooks/{topic}.ipynb"
            made = to_record(path, recording)
            if not recording.exists() or recording.read_bytes() != made.encode():
                write_whole(recording, made)
                print(f"Recorded notebooks/{topic}.ipynb")


def main():
    parser = argparse.ArgumentParser(prog="python -m book.build", description=__doc__.splitlines()[0])
    parser.add_argument("--prices", default="", metavar="FILE", help="prices of your own")
    parser.add_argument("--only", default="", metavar="1", help="those alone, without the newest book for what they lack")
    parser.add_argument("--rate", default="", metavar="EUR=1.10", help="USD for one unit of a currency, or of several")
    parser.add_argument("--gpus", default="", metavar="FILE", help="GPUs of your own")
    parser.add_argument("--case", default="", metavar="FILE", help="YAML with parameters for all pages")
    parser.add_argument("--output", type=Path, metavar="DIR", help="where the site goes (_build/html)")
    parser.add_argument("--check", action="store_true", help="only check the prices")
    parser.add_argument("--answer", metavar="TOPIC", help="only say what one notebook answers")
    parser.add_argument("--notebook", metavar="TOPIC", help="execute one notebook only")
    parser.add_argument("--params", default="", metavar="FILE", help="YAML with parameters for that notebook")
    parser.add_argument("--accept", action="store_true", help="record all outputs in notebooks/*.ipynb")
    options = parser.parse_args()
    for name in ("SIGTERM", "SIGHUP"):
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), stop)
    started = time.perf_counter()
    try:
        done(options)
    except (BuildError, OSError, KeyboardInterrupt) as error:
        sys.exit(f"{told(error)}\nStopped after {time.perf_counter() - started:.1f} s; nothing was replaced.")
    print(f"{time.perf_counter() - started:.1f} s")


def done(options):
    """Does what was asked for, and says what came of it."""
    if options.accept:
        return accept()
    given = read_given(options.prices, options.only, options.rate, options.gpus, options.case)
    if options.check:
        if not given.prices:
            raise BuildError("make check needs the file to check: make check PRICES=mine.csv")
        if checking(ROOT, given).returncode:
            sys.exit(1)
    elif options.answer is not None:
        print(answer(options.answer, given=given))
    elif options.notebook is not None:
        parameters = read_parameters(Path(options.params)) if options.params else {}
        made = run_notebook(options.notebook, parameters, given=given)
        print(f"{answers.headline(made)}\nThe executed notebook is {made}".lstrip())
    else:
        page = build_book(output=options.output, given=given) / "index.html"
        print(f"The book is {page}\n{page.as_uri()}")


def stop(number, _):
    raise KeyboardInterrupt


def told(error):
    if isinstance(error, KeyboardInterrupt):
        return "Stopped from outside."
    plain = f"{error.filename or 'A file'}: {error.strerror}" if isinstance(error, OSError) else str(error)
    return no_space(error) or plain
