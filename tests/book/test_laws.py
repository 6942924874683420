"""What notebooks declare are arguments of laws."""
from book.build.editions import declared_in
from book.build.inputs import ROOT
from gpucalc.core.law import LAWS
from gpucalc.rows.tables import TABLES

# What may be given instead of derived, and means the same either way.
EITHER = {"params", "requests_per_second", "offered_load", "window_requests", "interruption_slowdown", "spot_usd_per_hour"}


def test_a_law_does_not_bear_the_name_of_a_plain_input():
    """Else a value meant for something else answers in its place: a column or a parameter that is a law's result is named here."""
    given = {name for table in TABLES if table not in ("defaults", "quantities") for name in TABLES[table].columns}
    given |= {name for path in (ROOT / "notebooks").glob("*.md") for name in declared_in(path)}
    assert given & set(LAWS) == EITHER
