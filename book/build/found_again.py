"""Says which runs of notebooks stand though prices have changed: those that would find the same in the price books again.

`python -m book.build.found_again` takes the files of the runs of each topic as JSON on stdin, and prints the
first of each that stands.
"""

import contextlib
import gc
import json
import multiprocessing
import os
import sys
from functools import cache
from pathlib import Path

WORKERS = max(2, min(os.cpu_count() or 2, 8))


@cache
def again(call):
    """The hash of what a call finds now; none where it finds nothing at all."""
    from . import asked

    try:
        return asked.again(call)
    except Exception:  # what is gone is not the same
        return None


def stands(path):
    from . import asked

    answers = json.loads(Path(path).read_text(encoding="utf-8"))["metadata"]["made_from"]["answers"]
    asked.define({name: answer for name, answer in answers.items() if name[0] == asked.NAME})
    calls = sorted((call for call in answers if call[0] != asked.NAME), key=len)  # short ones take less time
    return all(answers[call] and again(call) == answers[call] for call in calls)


def first(paths):
    """The first file of a run that stands; none where none does."""
    return next(filter(stands, paths), None)


def main():
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # a process with threads is not safe to fork
    gc.disable()  # it is over before it would be of use
    runs = json.load(sys.stdin)
    sys.path.insert(0, os.getcwd())
    with contextlib.suppress(Exception):  # who asks for it sees the error
        from .beforehand import work_out_for
        work_out_for([])
    if hasattr(os, "fork"):
        with multiprocessing.get_context("fork").Pool(min(WORKERS, len(runs))) as pool:
            found = pool.map(first, runs.values(), chunksize=1)
    else:
        found = map(first, runs.values())
    print(json.dumps({topic: path for topic, path in zip(runs, found) if path}))


if __name__ == "__main__":
    main()
