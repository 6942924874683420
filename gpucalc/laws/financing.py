"""Other ways to a server than cash: a lease, a loan, a used one; and when to sell it instead of running on.

A lease and a loan are paid at the end of each month, at a nominal rate a year of which a twelfth is charged a month, as lenders
quote it. What one's own money costs is the yearly `discount_rate`, as in `owning`.
"""
from ..core.arithmetic import HOURS_PER_YEAR, MONTHS_PER_YEAR, YEAR, quotient, where
from ..core.law import law
from .owning import declining_residual

# A rate below the second is none, which keeps a division from 0 by 0.
_PAYMENTS, _FREE = 12, 1e-9


def months_worth(discount_rate, months):
    """Months of payments at the end of each, at the cost of one's own capital (month, present value)."""
    years = months / MONTHS_PER_YEAR / YEAR
    monthly = (1 + discount_rate) ** (1 / _PAYMENTS) - 1
    count = where(discount_rate > _FREE, quotient(1 - (1 + discount_rate) ** -years, monthly), years * _PAYMENTS)
    return count / _PAYMENTS * MONTHS_PER_YEAR * YEAR


@law
def owed_share(loan_rate=..., loan_months=...):
    """What a dollar that is due with the last payment is worth to the lender on the day of the contract (ratio)."""
    return (1 + loan_rate / _PAYMENTS) ** (-_PAYMENTS * loan_months / MONTHS_PER_YEAR / YEAR)


@law
def payment_months(owed_share, loan_rate=..., loan_months=...):
    """Months of payments that a lender counts as one today (month): the annuity factor, n payments where nothing is charged."""
    years = loan_months / MONTHS_PER_YEAR / YEAR
    return where(loan_rate > _FREE, quotient(1 - owed_share, loan_rate), years) * MONTHS_PER_YEAR * YEAR


@law
def lease_usd_per_month(bought_usd, owed_share, payment_months, end_share=...):
    """Payment of a lease (USD/month): an annuity on the price less what the lessor counts on at the end, `end_share` of it.

    The lessee gives the server back; who wants to keep it pays that share then.
    """
    return bought_usd * (1 - end_share * owed_share) / payment_months


@law
def leased_usd(lease_usd_per_month, discount_rate, lead_months=0, loan_months=...):
    """All payments of a lease as they are worth on the day of the order (USD); they begin with the delivery."""
    wait = lead_months / MONTHS_PER_YEAR / YEAR
    return lease_usd_per_month * months_worth(discount_rate, loan_months) * (1 + discount_rate) ** -wait


@law
def leased_usd_per_hour(leased_usd, offered_gpu_hours, running_usd_per_hour, power_usd_per_hour, work_usd_per_hour, utilization,
                        idle_power_share=0):
    """Cost of one used GPU-hour of a leased server (USD): payments and running costs over the hours offered, and power at work.

    The years of use are those of the lease.
    """
    offered = quotient(leased_usd, offered_gpu_hours) + running_usd_per_hour + power_usd_per_hour * idle_power_share
    return offered / utilization + work_usd_per_hour


@law
def loan_usd_per_month(bought_usd, payment_months, loan_share=...):
    """Payment of a loan on a share of the price (USD/month): an annuity, after which nothing is owed."""
    return bought_usd * loan_share / payment_months


@law
def financed_usd(bought_usd, loan_usd_per_month, discount_rate, loan_share=..., loan_months=...):
    """What a server bought partly on a loan costs, as it is worth on the day of the order (USD).

    Below its price where the lender asks for less than one's own capital costs.
    """
    return bought_usd * (1 - loan_share) + loan_usd_per_month * months_worth(discount_rate, loan_months)


@law
def unwarranted_repair_share(failure_rate=..., card_share=...):
    """Repairs a year over the price of a server out of warranty (1/year): every GPU that fails is bought again.

    failure_rate: failures of a GPU a year; card_share: price of the cards over that of the server.
    """
    return failure_rate * card_share


@law
def market_usd(bought_usd, depreciation_rate, kept_years):
    """What a server sells for at an age (USD), if each year takes the same share of its value."""
    return bought_usd * declining_residual.formula(kept_years, depreciation_rate)


@law
def hold_usd_per_year(market_usd, depreciation_rate, discount_rate):
    """What it costs to sell a server a year later (USD/year): the value it loses, and the interest on what it would bring."""
    return market_usd * (depreciation_rate + discount_rate) / YEAR


@law
def saved_usd_per_year(usd_per_hour, kept_years, gpus_per_server, utilization, work_usd_per_hour, power_usd_per_hour,
                       running_usd_per_year, rent_decline=0, availability=1, idle_power_share=0):
    """What a server at an age saves in its next year (USD/year): the rent of its hours less all that it takes to run.

    Rents are those of the middle of that year.
    """
    rent = usd_per_hour * (1 - rent_decline) ** (kept_years / YEAR + 1 / 2)
    used = (rent - work_usd_per_hour) * utilization - power_usd_per_hour * idle_power_share
    return used * gpus_per_server * availability * HOURS_PER_YEAR - running_usd_per_year


@law
def running_on_usd_per_year(saved_usd_per_year, hold_usd_per_year):
    """What running a server for one year more is worth against selling it now and renting (USD/year); below 0, sell."""
    return saved_usd_per_year - hold_usd_per_year
