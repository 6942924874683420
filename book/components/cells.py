"""What the folded cells of notebooks call, in one line: `from book.components.cells import *`."""
# ruff: noqa: F401
from gpucalc.core.figures import (chance, days, dollars, exact, gib, hourly, number, percent, quantity, seconds, signed,
                                  three_figures, times, usd)
from .charts import lines, slider_chart, tiles, titled
from .claims import claim
from .dates import dated, dated_books, foreign, under
from .derivation import equation, symbol_table
from .drills import drill
from .formula import formula
from .measured import about_plan, compare, comparison_table, how_wrong, signed_percent
from .memory import account_table, fullest, in_bytes, need, spare, verdict
from .origins import ages_table, source_table
from .parameters import page_case
from .sentences import enough, Markdown, Yours
from .show import difference, familiar, guess, Html, reach, sources, table, volume
