"""Ways to pay for a server and when to sell it: cash, loan, lease or a used one, each as the cost of an hour that is used."""
from gpucalc.core.arithmetic import MONTHS_PER_YEAR
from gpucalc.core.quantities import DEFAULTS
from gpucalc.laws.financing import (financed_usd, lease_usd_per_month, leased_usd_per_hour, loan_usd_per_month, market_usd,
                                    running_on_usd_per_year, unwarranted_repair_share)
from gpucalc.laws.owning import bought_usd, offered_gpu_hours, owned_usd_per_hour

WAYS = ("cash", "loan", "lease", "used, for cash")
# Ages at which selling is looked at: every quarter of a year up to so many years.
_QUARTERS, _OLDEST = 4, 12


def _value(case, name):
    """What a case has under the name: given, in a row, or by default."""
    if name in case.inputs:
        return case.inputs[name]
    return next((row[name] for row in case.rows.values() if name in row), DEFAULTS[name].value if name in DEFAULTS else None)


def ways_to_pay(case, kept_years):
    """A row for each way: what is paid `today` and `monthly` (USD), `years` of use, and the cost of a used `hour` (USD).

    A used server of that age sells for what the case's loss of value says, lasts the rest of the years, and has no support
    contract: what fails is bought. It is left out where no years are left.
    """
    import pandas
    years, months = _value(case, "years"), _value(case, "loan_months")
    price, hours = case(bought_usd), case(offered_gpu_hours) * _value(case, "utilization")
    owned, leased = case(owned_usd_per_hour), case.but(years=months / MONTHS_PER_YEAR)
    down, interest = price * (1 - _value(case, "loan_share")), case(financed_usd) - price
    rows = [("cash", price, 0.0, years, owned), ("loan", down, case(loan_usd_per_month), years, owned + interest / hours),
            ("lease", 0.0, leased(lease_usd_per_month), months / MONTHS_PER_YEAR, leased(leased_usd_per_hour))]
    if kept_years < years:
        used = case.but(server_usd=case.but(bought_usd=_value(case, "server_usd"), kept_years=kept_years)(market_usd),
                        years=years - kept_years, support_share=0, repair_share=case(unwarranted_repair_share))
        rows.append(("used, for cash", used(bought_usd), 0.0, years - kept_years, used(owned_usd_per_hour)))
    return pandas.DataFrame(rows, columns=["way", "today", "monthly", "years", "hour"])


def keeping(case, ages):
    """What a server sells for at each age (years), and what running it a year longer is worth, as a table."""
    import pandas
    at = case.but(kept_years=pandas.Series(ages, dtype=float))
    return pandas.DataFrame({"kept_years": ages, **{name: at.terms(running_on_usd_per_year)[name] for name in (
        "market_usd", "hold_usd_per_year", "saved_usd_per_year", "running_on_usd_per_year")}})


def selling_age(case):
    """The age (years, by the quarter) from which selling a server and renting beats running it on; None within twelve years.

    A young server may lose more than it saves and earn that back later, so it is the age after which no year pays any more.
    """
    found = keeping(case, [quarter / _QUARTERS for quarter in range(_OLDEST * _QUARTERS + 1)])
    pays = found["kept_years"][found["running_on_usd_per_year"] >= 0]
    last = pays.iloc[-1] if len(pays) else -1 / _QUARTERS
    return None if last == _OLDEST else float(last + 1 / _QUARTERS)


def even_lease_rate(case):
    """The rate of a lease (a year) at which its hour costs what a server bought for its years does; None from 0 to 50 %."""
    import numpy
    case = case.but(years=_value(case, "loan_months") / MONTHS_PER_YEAR)
    rates = numpy.linspace(0, 0.5, 2001)
    under = rates[case.but(loan_rate=rates)(leased_usd_per_hour) <= case(owned_usd_per_hour)]
    return float(under[-1]) if 0 < len(under) < len(rates) else None
