"""What the front page answers with, made by `book.web.front` from the prices that were given, while the notebooks run."""

import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from .editions import here
from .given import Given
from .inputs import BuildError, digest, files_in, surroundings

# A project whose library decides has a front page.
DECIDES = "gpucalc/decisions/"
MADE_FROM = ("gpucalc/", "book/components/", "book/web/", "data/", "given/prices/", "given/gpus/")
KEPT = 4
# Where figures stand that follow the reader, and how: `yours.batch`, `yours(batch=1).kv_bytes`, `formula(kv.kv_bytes, case)`;
# of `drill("kv-token", case)` its own.
FOLLOWING = r"notebooks/\w+\.md|book/pages/\w+\.py"
DRILL = re.compile(r'\bdrill\(\s*"([\w-]+)"')
FIGURE = re.compile(r"(?<![.\w])yours(?:\((?:[^()]|\([^()]*\))*\))?\.(\w+)|(?<![.\w])formula\(\s*(?:\w+\.)*(\w+)")


@contextmanager
def scripts(frozen):
    """Starts to make the scripts; yields what waits for them and gives their folder, None where the project has no such page.

    It may be asked again.
    """
    if not frozen.under(DECIDES):
        yield lambda: None
        return
    given = frozen.given or Given()
    held = {name: value for name, value in given.parameters.items() if name in ("prices", "only", "rates")}
    follow = followed(frozen)
    folder = frozen.root / f"_build/front/{digest(frozen.under(*MADE_FROM), sorted(held.items()), follow, sys.version)}"
    if folder.exists():
        yield lambda: folder
        return
    with tempfile.TemporaryDirectory(dir=frozen.root / "_build", prefix="work-") as work:
        process = start(frozen, given, Path(work), follow)
        try:
            yield cache(lambda: finished(process, Path(work), folder))
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def followed(frozen):
    """Names that lessons show of a reader's case, in their sentences, formulas and pictures."""
    texts = [frozen.folder / name for name in frozen.digests if re.fullmatch(FOLLOWING, name)]
    found = [path.read_text(encoding="utf-8") for path in sorted(texts)]
    named = {name for text in found for pair in FIGURE.findall(text) for name in pair if name}
    return sorted(named | {f"drill:{name}" for text in found for name in DRILL.findall(text)})


def start(frozen, given, work, follow):
    place = here({"prices": given.parameters.get("prices") or ""}, given.files, frozen.folder)["prices"]
    options = Given(Path(place), given.only, given.rates).options if place else []
    options += [f"--follow={','.join(follow)}"] if follow else []
    return subprocess.Popen([sys.executable, "-m", "book.web.front", str(work), *options], cwd=frozen.folder, text=True,
                            env=surroundings(**given.around(frozen.folder)), stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def finished(process, work, folder):
    """The folder in which the scripts are kept; the oldest of many go."""
    said = process.stdout.read()
    if process.wait():
        raise BuildError(f"The data of the front page could not be made:\n{said.strip()[-3000:]}")
    part = folder.with_suffix(".part")
    shutil.copytree(work, part)
    part.rename(folder)
    others = sorted(set(folder.parent.iterdir()) - {folder}, key=lambda path: path.stat().st_mtime, reverse=True)
    for old in others[KEPT - 1:]:
        shutil.rmtree(old)
    return folder


def content(folder):
    """What the scripts say, as a hash; nothing where there are none."""
    return digest(*(path.read_bytes() for path in files_in(folder))) if folder else ""
