"""What a build is made from: a frozen copy of the project, so that an edit while it runs changes nothing in it."""

import datetime
import errno
import hashlib
import json
import os
import re
import shutil
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parents[1]
ROOT = HERE.parent
CONFIG = ("_config.yml", "requirements.txt", "CHANGELOG.md")


class BuildError(Exception):
    """Stops the build; its text is what the reader sees."""


def no_space(said):
    """One line for a full disk, with the first file that did not fit, however many an error or a log names; else nothing."""
    found = re.search(rf"{os.strerror(errno.ENOSPC)}(?:: (['\"])(.+?)\1)?", str(said))
    return found and "No space left on the disk" + (f", at {found[2]}" if found[2] else "")


def files_in(folder, pattern="*"):
    """The files in a folder and its subfolders, without hidden ones and Python's caches."""
    found = [path for path in folder.rglob(pattern) if path.is_file()] if folder.is_dir() else []
    return sorted(path for path in found if not re.search(r"(^|/)(\.|__pycache__)", path.relative_to(folder).as_posix()))


def sources(root, given=None):
    """Every file a book is made from, by its path in the frozen copy: the project's, this program's, and those given."""
    found = [path for name in CONFIG if (path := root / name).is_file()]
    found += [*files_in(root / "book"), *files_in(root / "notebooks", "*.md"), *files_in(root / "notebooks", "*.ipynb")]
    found += [*files_in(root / "gpucalc", "*.py"), *files_in(root / "data")]
    named = {path.relative_to(ROOT).as_posix(): path for path in [*files_in(HERE, "*.py"), *files_in(HERE / "static")]}
    named |= {path.relative_to(root).as_posix(): path for path in found}
    return named | (given.files if given else {})


def as_before(path, given, make):
    """What `make` makes of the text that is given: from the file, where it holds that of the same text, whole."""
    said, _, made = path.read_text(encoding="utf-8").partition("\n") if path and path.is_file() else ("", "", "")
    if not said or said != digest(given.encode(), made.encode()):
        made = make()
        if path:
            path.parent.mkdir(exist_ok=True)
            write_whole(path, f"{digest(given.encode(), made.encode())}\n{made}")
    return made


def digest(*parts):
    """A short hash of bytes, or of values as JSON."""
    made = hashlib.sha256()
    for part in parts:
        made.update(part if isinstance(part, bytes) else json.dumps(part, sort_keys=True).encode())
        made.update(b"\0")
    return made.hexdigest()[:20]


def state(root, given=None):
    """The hash of each source as it is now, by its path in the frozen copy; recordings apart, which are no source."""
    return {name: digest(path.read_bytes(), *dated(name, path)) for name, path in sources(root, given).items()
            if not is_recording(name)}


def dated(name, path):
    """Of prices that were given the noon of the day of their last change, which rows without a date are of."""
    if not name.startswith("given/prices/"):
        return []
    changed = datetime.datetime.fromtimestamp(path.stat().st_mtime)
    return [changed.replace(hour=12, minute=0, second=0, microsecond=0).timestamp()]


def is_recording(name):
    return name.startswith("notebooks/") and name.endswith(".ipynb")


class Frozen:
    """The project as it was at one moment, copied to `folder`: `digests` are of the very bytes that lie there."""

    def __init__(self, root, folder, given=None):
        self.root, self.folder, self.digests, self.given = root, folder, {}, given
        found = sources(root, given)
        for name, path in found.items():
            content = path.read_bytes()
            if not is_recording(name):
                self.digests[name] = digest(content, *dated(name, path))
            place(folder / name, content, *dated(name, path))
        for left in files_in(folder):
            if left.relative_to(folder).as_posix() not in found:
                left.unlink()

    def content(self, name):
        """The hash of a file, or of the names of the files in a folder, which ends with a slash; none if it is not there."""
        if name.endswith("/"):
            return digest(sorted(each for each in self.digests if each.startswith(name)))
        return self.digests.get(name)

    def under(self, *prefixes):
        """Name and hash of every source whose path begins with one of these."""
        return {name: value for name, value in sorted(self.digests.items()) if name.startswith(prefixes)}

    @property
    def topics(self):
        return [Path(name).stem for name in self.digests if re.fullmatch(r"notebooks/(?!README)[^/]+\.md", name)]


def place(target, content, time=None):
    """A copy whose time, if it is not given, is made from its content: what Python compiled from it holds as long as that."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if not target.is_file() or target.read_bytes() != content:
        target.write_bytes(content)
    os.utime(target, (int(digest(content)[:7], 16) if time is None else time,) * 2)


@contextmanager
def alone(folder):
    """Lets one build at a time work in the folder, and the next wait. What a killed one left there is removed."""
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / ".lock", "w") as lock:
        wait_for(lock)
        for left in [*folder.glob("work-*"), *folder.glob("*/*.part")]:
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield


def wait_for(lock):
    try:
        import fcntl
    except ImportError:  # Windows has no such locks
        return
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print("Another build is at work here; this one waits for it.", flush=True)
        fcntl.flock(lock, fcntl.LOCK_EX)


def surroundings(**more):
    """The environment of a process of the build, which may keep what Python compiles beside the frozen copy, and what the library
    works out where the project's own does."""
    without = ("PYTHONDONTWRITEBYTECODE", "GPUCALC_GPUS")
    held = {name: value for name, value in os.environ.items() if name not in without}
    return {"GPUCALC_STORE": str(ROOT / "_build/store")} | held | more


def write_whole(path, content):
    """Puts a file in place in one step, by the library's own way, which is loaded as late as all of it here."""
    from gpucalc.rows import files

    files.write_whole(path, content)
