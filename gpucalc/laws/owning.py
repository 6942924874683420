"""What an owned GPU-hour costs: the whole server, its network and spares, what runs on every day, and the time value of money.

Amounts are present values on the day of the order, when all is paid that is bought. What is paid or used over years counts by
the years it is worth that day, so that the cost of an hour is all that is paid over all that is offered.
"""
from ..core.arithmetic import (
    HOURS_PER_YEAR, MONTHS_PER_YEAR, WATTS_PER_KILOWATT, YEAR, flow, log, maximum, minimum, quotient, where)
from ..core.law import law


# A ramp of this many years is none; a rate whose square is below this is none: both only keep a division from 0 by 0.
_MOMENT, _FLAT = 1e-30, 1e-16


def worth(discount_rate, years, wait_months, decline=0):
    """Years of a flow that starts after the wait, shrinks by a share each year and is discounted by the day (present value)."""
    ratio = (1 + discount_rate) / (1 - decline)
    return YEAR * ratio ** (-wait_months / MONTHS_PER_YEAR / YEAR) * flow(ratio, years / YEAR)


def worked(discount_rate, years, lead_months, ramp_months, decline=0):
    """Years of full work (present value) that grows evenly over the ramp; a ramp longer than the years is cut off by their end.

    Each piece of the work starts somewhere in the ramp and then lasts until the end, so this is the mean of such flows.
    """
    ratio, ramp = (1 + discount_rate) / (1 - decline), ramp_months / MONTHS_PER_YEAR
    grown, rate = minimum(maximum(ramp / YEAR, _MOMENT), years / YEAR), log(ratio)
    left = flow(ratio, grown) / grown - ratio ** (-years / YEAR)
    lasting = where(rate ** 2 > _FLAT, quotient(rate * left, rate ** 2), years / YEAR - grown / 2)
    return YEAR * minimum(quotient(years, ramp), 1) * ratio ** (-lead_months / MONTHS_PER_YEAR / YEAR) * lasting


@law
def paid_years(discount_rate, years, lead_months=0):
    """Years of use as far as they are paid for (year, present value): a yearly cost times this is its worth today."""
    return worth(discount_rate, years, lead_months)


@law
def used_years(discount_rate, years, lead_months=0, ramp_months=0):
    """Years of full work (year, present value). Work grows evenly over the ramp, which may be longer than the years."""
    return worked(discount_rate, years, lead_months, ramp_months)


@law
def offered_gpu_hours(gpus_per_server, used_years, availability=1):
    """GPU-hours that a server can be used for in its life (h, present value)."""
    return gpus_per_server * HOURS_PER_YEAR * availability * used_years


@law
def network_usd(network_ports, network_tiers, usd_per_port, cable_usd):
    """A server's part of a full non-blocking fat tree (USD): each of its ports takes 2 t - 1 switch ports and t cables.

    Al-Fares et al. 2008 (doi 10.1145/1402958.1402967), section 2.2: 5 k^2/4 switches of k ports join k^3/4 in three tiers.
    """
    return network_ports * ((2 * network_tiers - 1) * usd_per_port + network_tiers * cable_usd)


@law
def bought_usd(server_usd, network_usd, spare_share=0):
    """What is bought for a server in service (USD): itself, its network and its part of the spares."""
    return (server_usd + network_usd) * (1 + spare_share)


@law
def linear_residual(years, useful_years):
    """Share of the price left if value falls evenly to nothing over the useful years (fraction)."""
    return maximum(1 - years / useful_years, 0)


@law
def declining_residual(years, depreciation_rate):
    """Share of the price left if each year takes the same share of what was left (fraction)."""
    return (1 - depreciation_rate) ** (years / YEAR)


@law
def residual_usd(bought_usd, discount_rate, years, residual=0, lead_months=0):
    """What selling all at the end is worth today (USD)."""
    return bought_usd * residual / (1 + discount_rate) ** ((years + lead_months / MONTHS_PER_YEAR) / YEAR)


@law
def rack_usd_per_month(hosting_usd_per_kw_month, gpus_per_server, tdp_watts, server_power_factor=...):
    """Rack space of a server a month where it is sold by the kilowatt (USD/month), without the power that is used.

    What is paid for is the power that the rack must be able to give: by default that of the data sheet, 10.2 kW for eight H100.
    """
    return hosting_usd_per_kw_month * gpus_per_server * tdp_watts * server_power_factor / WATTS_PER_KILOWATT


@law
def running_usd_per_year(server_usd, hosting_usd_per_month, spare_share=0, support_share=0, repair_share=0,
                         staff_usd_per_year=0):
    """What a server costs a year whether it works or not, without power (USD/year).

    Spares stand in the rack and under contract too: support is sold by the box. They are not worked, so nothing breaks in them.
    """
    boxes = (hosting_usd_per_month * MONTHS_PER_YEAR + server_usd * support_share) * (1 + spare_share)
    return boxes + server_usd * repair_share + staff_usd_per_year


@law
def capital_usd_per_hour(bought_usd, residual_usd, offered_gpu_hours):
    """All that is bought less what it sells for, over the hours offered (USD per GPU-hour)."""
    return quotient(bought_usd - residual_usd, offered_gpu_hours)


@law
def running_usd_per_hour(running_usd_per_year, paid_years, offered_gpu_hours):
    """Hosting, staff, support and repairs, over the hours offered (USD per GPU-hour)."""
    return quotient(running_usd_per_year * paid_years, offered_gpu_hours)


@law
def watts_per_gpu(tdp_watts, server_power_factor=...):
    """One GPU's share of the server's power (W): its TDP and nearly as much again for processors, switches and fans.

    The default is NVIDIA's DGX H100: 10.2 kW at most for eight GPUs of 700 W.
    """
    return tdp_watts * server_power_factor


@law
def power_usd_per_hour(watts_per_gpu, pue, usd_per_kwh):
    """Electricity of one GPU's share of the server at work, with the site's overhead (USD per GPU-hour)."""
    return watts_per_gpu / WATTS_PER_KILOWATT * pue * usd_per_kwh


@law
def fixed_usd_per_hour(capital_usd_per_hour, running_usd_per_hour, power_usd_per_hour, idle_power_share=0):
    """What an hour offered costs used or not (USD per GPU-hour): capital, running costs, and the power of an idle server."""
    return capital_usd_per_hour + running_usd_per_hour + power_usd_per_hour * idle_power_share


@law
def work_usd_per_hour(power_usd_per_hour, idle_power_share=0):
    """What an hour of work costs beyond an idle one (USD per GPU-hour): the power above that of an idle server."""
    return power_usd_per_hour * (1 - idle_power_share)


@law
def owned_usd_per_hour(fixed_usd_per_hour, work_usd_per_hour, utilization):
    """Owned cost of one GPU-hour that is used (USD): each carries its part of the idle ones."""
    return fixed_usd_per_hour / utilization + work_usd_per_hour
