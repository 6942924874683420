"""What notebooks declare are arguments of laws."""
from book.build.editions import declared_in
from book.build.inputs import ROOT
from gpucalc.core.law import LAWS
from gpucalc.rows import bands
from gpucalc.rows.tables import TABLES

# What may be given instead of derived, and means the same either way.
EITHER = {"params", "image_tokens", "requests_per_second", "offered_load", "window_requests", "interruption_slowdown", "spot_usd_per_hour"}
# What was measured, which stands under the name of its law and is given to no case.
MEASURED = {("engine_speeds", name) for name in bands.SPEED_LAWS}


def test_a_law_does_not_bear_the_name_of_a_plain_input():
    """Else a value meant for something else answers in its place: a column or a parameter that is a law's result is named here."""
    given = {name for table in TABLES if table not in ("defaults", "quantities") for name in TABLES[table].columns
             if (table, name) not in MEASURED}
    given |= {name for path in (ROOT / "notebooks").glob("[a-z]*.md") for name in declared_in(path)}
    assert given & set(LAWS) == EITHER
