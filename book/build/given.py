"""What a reader gives to a build: prices, GPUs, rates of currencies, and parameters, each checked before anything runs."""

import difflib
import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .inputs import BuildError

KINDS = {bool: "True or False", int: "a number", float: "a number", str: "text", list: "a list", dict: "a mapping"}
# Parameters that have a word of their own beside `make`, which has the file checked.
OWN_WORDS = {"prices": "PRICES=", "only": "ONLY=1", "rates": "RATE="}
SWITCH = {"": False, "0": False, "no": False, "false": False, "1": True, "yes": True, "true": True}
GPUS = "GPUCALC_GPUS"


@dataclass(frozen=True)
class Given:
    """A price file (`only` that, or over the newest book), rates of its currencies, a file of GPUs, and a case for all pages."""

    prices: Path | None = None
    only: bool = False
    rates: dict = field(default_factory=dict)
    gpus: Path | None = None
    case: dict = field(default_factory=dict)

    @property
    def files(self):
        """Every file that was given, by its path in the frozen copy."""
        found = {"prices": self.prices, "gpus": self.gpus} | self.case
        return {f"given/{name}/{path.name}": path for name, path in found.items() if isinstance(path, Path)}

    @property
    def parameters(self):
        """What notebooks are given, a file by its path in the frozen copy."""
        held = {"prices": self.prices, "only": self.only, "rates": self.rates} | self.case
        return {name: f"given/{name}/{value.name}" if isinstance(value, Path) else value
                for name, value in held.items() if name not in OWN_WORDS or value}

    @property
    def options(self):
        """The arguments of the check of prices that say the same."""
        rates = [word for code, value in self.rates.items() for word in ("--rate", f"{code}={value!r}")]
        return [str(self.prices), *(["--only"] if self.only else []), *rates]

    def around(self, folder=None):
        """What the environment says of GPUs that were given, as they are or as they lie in the frozen copy."""
        place = self.gpus and (folder / f"given/gpus/{self.gpus.name}" if folder else self.gpus)
        return {GPUS: str(place)} if place else {}

    def whose(self):
        """What to call the prices in a sentence; nothing where the project's own book and case were taken."""
        prices = self.parameters.get("prices")
        return f"your file {Path(prices).name}" if prices else "the newest price book" if self.case else ""


def read_given(prices="", only="", rate="", gpus="", case=""):
    """What was given as text, with all that is wrong with it at once."""
    faults, held = [], {}
    texts = {"prices": (prices, lambda text: existing(Path(text))), "only": (only, switch), "rates": (rate, rates_of),
             "gpus": (gpus, lambda text: existing(Path(text), "GPUS")),
             "case": (case, lambda text: read_parameters(Path(text), "CASE"))}
    for name, (text, read) in texts.items():
        try:
            held |= {name: read(text)} if text else {}
        except BuildError as error:
            faults.append(str(error))
    lonely = {"ONLY=1": held.get("only"), "RATE=": rate} if not prices else {}
    stop_at(faults + [f"{word} is about the file in PRICES=, and none is given" for word, there in lonely.items() if there])
    return Given(**held)


def stop_at(faults):
    if faults:
        raise BuildError("\n".join(faults))


def existing(path, name="PRICES"):
    try:
        found = path.is_file()
    except OSError as error:
        raise BuildError(f"{name}={str(path)[:80]}: {error.strerror}") from None
    if not found:
        raise BuildError(f"{name}={path}: {'not a regular file' if path.exists() else 'there is no such file'}")
    return path.resolve()


def switch(text):
    if text.strip().lower() not in SWITCH:
        raise BuildError(f"ONLY={text}: allowed: 1, or nothing")
    return SWITCH[text.strip().lower()]


def rates_of(text):
    """USD for one unit of currencies: `EUR=1.10 GBP=1.27`."""
    found, faults = {}, []
    for part in re.split(r"[\s,;]+", text.strip()):
        pair = re.fullmatch(r"([A-Za-z]{3})=(\d*\.?\d+(?:[eE][+-]?\d+)?)", part)
        if pair and 0 < float(pair[2]) < float("inf"):
            found[pair[1].upper()] = float(pair[2])
        else:
            faults.append(f"RATE={part}: allowed: a currency and USD for one unit of it, such as EUR=1.10")
    stop_at(faults)
    return found


def read_parameters(path, name="PARAMS"):
    """Names and values in a YAML file; the name of a file among the values, from the folder of this one, becomes its path."""
    from gpucalc.rows.mapping import read_mapping

    try:
        parameters = read_mapping(existing(path, name))
    except ValueError as error:
        raise BuildError(f"{name}={error}") from None
    return {key: in_folder(value, path.parent) for key, value in parameters.items()}


def in_folder(value, folder):
    try:
        return (folder / value).resolve() if isinstance(value, str) and value and (folder / value).is_file() else value
    except (OSError, ValueError):
        return value


@contextmanager
def known_gpus(given):
    """The reader's GPUs are rows of the catalogue here."""
    before = os.environ.pop(GPUS, None)
    os.environ |= given.around()
    try:
        yield
    finally:
        os.environ.pop(GPUS, None)
        os.environ |= {GPUS: before} if before else {}


def check_case(given, declared):
    """Stops at every name that no page has and every value that a page of `declared` refuses, all at once.

    declared: for each topic its parameters' defaults, and the names that may be None besides.
    """
    everywhere = sorted({name for defaults, _ in declared.values() for name in defaults})
    faults = []
    with known_gpus(given):
        for name, value in given.case.items():
            if name in OWN_WORDS:
                faults.append(f"{name}: give it as {OWN_WORDS[name]}")
            elif name not in everywhere:
                faults.append(f"{name}: no page has this parameter{close(name, everywhere)}")
            else:
                refusals = {topic: refused(name, value, defaults[name], optional)
                            for topic, (defaults, optional) in declared.items() if name in defaults}
                told = dict.fromkeys(refusal.partition(" such as ")[0] for refusal in refusals.values() if refusal)
                faults += [f"{refusal} ({on_pages([topic for topic in refusals if refusals[topic].startswith(refusal)])})"
                           for refusal in told]
    if faults:
        from gpucalc.rows.files import few

        raise BuildError("CASE has what can't be used:\n" + "\n".join(f"  {fault}" for fault in few(faults)))


def on_pages(topics):
    return ", ".join(topics) if len(topics) <= 4 else f"{len(topics)} pages"


def close(name, names):
    near = difflib.get_close_matches(name, names, n=3)
    return f"; close: {', '.join(near)}" if near else ""


def refused(name, value, default, optional=()):
    """Why a page refuses a value for its parameter; nothing where it takes it."""
    from ..components.parameters import check_value

    if value is None and (default is None or name in optional):
        return ""
    if value is None or not same_kind(value, default):
        return f"parameter {name!r} is {value!r}; allowed: {KINDS.get(type(default), 'a value')} such as {default!r}"
    try:
        check_value(name, str(value) if isinstance(value, Path) else value, default)
    except ValueError as error:
        return str(error)
    return ""


def same_kind(value, default):
    """Whether a value may stand for the default; the notebook itself says which numbers."""
    if value is None or default is None:
        return True
    if isinstance(default, bool) or isinstance(value, bool):
        return isinstance(default, bool) and isinstance(value, bool)
    if isinstance(value, Path):
        return isinstance(default, str)
    return isinstance(value, int | float if isinstance(default, int | float) else type(default))
