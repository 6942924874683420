"""Where owning and renting meet: the utilization, the months, the rent and the price of a server, and what owning is worth."""
from ..core.arithmetic import HOURS_PER_MONTH, MONTHS_PER_YEAR, quotient
from ..core.law import law


@law
def break_even_utilization(fixed_usd_per_hour, work_usd_per_hour, level_usd_per_hour):
    """Utilization at which owning costs what renting by the hour does (fraction); infinite if power alone costs the rent.

    Above 1 means that owning never pays at that rent.
    """
    return quotient(fixed_usd_per_hour, level_usd_per_hour - work_usd_per_hour)


@law
def break_even_rent(owned_usd_per_hour, rented_years, used_years):
    """Today's rent of a used hour above which owning is cheaper (USD per GPU-hour); it counts that rents fall."""
    return owned_usd_per_hour * quotient(used_years, rented_years)


@law
def break_even_months(bought_usd, gpus_per_server, rented_usd_per_hour, work_usd_per_hour, power_usd_per_hour,
                      running_usd_per_year, utilization, availability=1, idle_power_share=0):
    """Months of work until the rent saved has paid for all that was bought (months). Infinite if nothing is saved.

    A payback at today's rent: nothing is discounted, rents stay and nothing is sold; `owning_npv` counts all three.
    """
    idle = power_usd_per_hour * idle_power_share * availability * HOURS_PER_MONTH * gpus_per_server
    rent_saved = (rented_usd_per_hour - work_usd_per_hour) * utilization * availability * HOURS_PER_MONTH * gpus_per_server
    return quotient(bought_usd, rent_saved - idle - running_usd_per_year / MONTHS_PER_YEAR)


@law
def owning_npv(level_usd_per_hour, owned_usd_per_hour, utilization, offered_gpu_hours):
    """Net present value of owning a server instead of renting the hours of it that are used (USD). Both start on delivery."""
    return (level_usd_per_hour - owned_usd_per_hour) * utilization * offered_gpu_hours


@law
def break_even_server_usd(server_usd, owning_npv, bought_usd, residual_usd, paid_years, spare_share=0, support_share=0,
                          repair_share=0):
    """Price of a server at which owning and renting cost the same (USD): every dollar of it costs as much as the last.

    Below 0: its running costs alone are above the rent. Infinite if a server costs nothing but what it sells for again.
    """
    kept = (1 + spare_share) * (1 - residual_usd / bought_usd)
    upkeep = support_share * (1 + spare_share) + repair_share
    return quotient(owning_npv, kept + upkeep * paid_years) + server_usd
