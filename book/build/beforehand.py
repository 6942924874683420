"""Works out what many pages ask for and no page decides, once for all processes that are forked afterwards."""
import contextlib
from typing import Any

from gpucalc.decisions import layouts, run_speeds
from gpucalc.rows import price_book
from gpucalc.rows.kept import forget_told
from ..components import published


def work_out_for(parameters: list[dict[str, Any]]) -> None:
    """The published figures and their bands; and the books of notebooks with these parameters, the newest where none is given.

    Every page says by itself that it reads what it takes from here.
    """
    books = {repr(given): given for each in parameters if (given := {
        name: each[name] for name in ("prices", "only", "rates") if name in each})}
    for given in [*books.values()] or [{}]:
        with contextlib.suppress(ValueError):  # what is wrong with it is for the page that asks
            price_book.prices(given.get("prices"), given.get("only", False), given.get("rates"))
    published.published()
    published.families()
    layouts.comparison_error()
    run_speeds.planned_mfu()
    forget_told()
