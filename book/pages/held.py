"""Figures of a case by name, for sentences: `a.kv_bytes`, `a(batch=1).kv_bytes`, `a.band.decode_seconds`."""
from typing import Any

from gpucalc.core.evaluate import FINDERS, Case, Row, is_law
from gpucalc.core.law import LAWS
from gpucalc.core.quantities import DEFAULTS, QUANTITIES


class Held:
    """What a sentence takes the figures of a case from: `held.NAME` is a law's value, what the case has under a quantity, or the
    name of a row; of `more`, a price, any column. `held(NAME=VALUE)` is the case but for that: a value, or the name of a quantity
    or law that stands for it. `held.band.LAW` is what to plan for."""

    def __init__(self, case: Case, more: Row | None = None):
        self._case, self._more = case, more

    def __call__(self, **changes: Any) -> "Held":
        """The same but for these changes."""
        meant = {name: getattr(self, value) if isinstance(value, str) and name in QUANTITIES and value in QUANTITIES else value
                 for name, value in changes.items()}
        return Held(self._case.but(**meant), self._more)

    def __getattr__(self, name: str) -> Any:
        if name in self._case.rows:
            return self._case.rows[name].name
        found = next((each[name] for each in (self._case.inputs, *self._case.rows.values()) if name in each), None)
        if is_law(found) or found is None and name in LAWS:
            return self._case(LAWS[name] if found is None else found)
        if isinstance(found, str) and found in QUANTITIES:
            return getattr(self, found)
        if found is not None and (name in QUANTITIES or name in FINDERS):
            return found
        if self._more is not None and name in self._more:
            return self._more[name]
        if name in DEFAULTS:
            return DEFAULTS[name].value
        raise AttributeError(f"{name}: neither in {self._case!r} nor a law")

    @property
    def band(self) -> "Bands":
        """What to plan for, by law."""
        return Bands(self._case)


class Bands:
    """The bands of a case by law: `value`, `low`, `plan`, `high`."""

    def __init__(self, case: Case):
        self._case = case

    def __getattr__(self, name: str) -> Any:
        if name not in LAWS:
            raise AttributeError(f"band.{name}: not a law")
        return self._case.band(LAWS[name])
