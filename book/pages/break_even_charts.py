"""Charts and tables of rent or buy: where the bills cross, the terms of rents, what is counted, every rent, three workloads."""
import numpy

from gpucalc.core.figures import hourly, percent, quantity, usd
from gpucalc.laws.break_even import break_even_utilization
from gpucalc.laws.owning import declining_residual, linear_residual, owned_usd_per_hour
from gpucalc.laws.renting import checkpoint_interval, interruption_slowdown, level_usd_per_hour
from ..components.charts import slider_chart
from ..components.decision_charts import duration_text, slowdown_text, threshold_text
from ..components.show import reach, table
from .renting_options import WAYS

CENTS = "{:,.2f}".format


def crossing_slider_chart(case, likely, start, committed, finding):
    """Owned and rented hour over utilization, the rent at `start` (USD per GPU-hour) at first; `likely` are a deal's values."""
    sliders = {"usd_per_hour": (min(0.05, start), max(12.0, 2 * start), 0.01, start),
               "server_usd": (1000, max(600e3, 2 * likely["server_usd"]), 1000, likely["server_usd"]),
               "years": (1, max(8, likely["years"]), 0.5, likely["years"])}
    falls = likely.get("rent_decline")
    if falls is not None:
        sliders["rent_decline"] = (min(-0.2, falls), max(0.4, falls), 0.01, falls)
    begin = case.but(usd_per_hour=start)
    needed = "a commitment has no break-even" if committed else f"break-even: {threshold_text(begin(break_even_utilization))}"
    return slider_chart(
        case, {"owned": owned_usd_per_hour,
               "rented, paid used or not" if committed else "rented, average over the years": level_usd_per_hour},
        x="utilization", values=[step / 50 for step in range(10, 51)], y_title="USD per GPU-hour used", sliders=sliders,
        finding=finding, crossing=None if committed else break_even_utilization,
        alt=f"An owned hour costs {usd(begin.but(utilization=1)(owned_usd_per_hour))} if the GPU never idles and "
            f"{usd(begin(owned_usd_per_hour))} at {percent(likely['utilization'])} utilization, where one rented at "
            f"{hourly(start)} costs {usd(begin(level_usd_per_hour))} on average; {needed}.")


def interruption_chart(alone, several):
    """Time over work on one spot machine and on `several` together, over the time between checkpoints, for the case of one."""
    given = alone.inputs
    saving, restarting = given["checkpoint_seconds"], given["restart_seconds"]
    return slider_chart(
        alone, {f"{count} machine{'s' if count > 1 else ''}": (interruption_slowdown, {
            "interruption_seconds": given["machine_interruption_seconds"] / count}) for count in (1, several)},
        x="checkpoint_interval", values=numpy.geomspace(60, 6 * 3600, 60).round(1).tolist(),
        y_title="time taken over time of the work", log_x=True, log_y=True,
        sliders={"checkpoint_seconds": (min(10, saving), max(900, saving), 10, saving),
                 "restart_seconds": (0, max(1800, restarting), 30, restarting)},
        finding="Checkpoints of {checkpoint_seconds} are best saved every {checkpoint_interval} on one machine",
        alt=f"The time that interrupted work takes has a flat minimum over the checkpoint interval: at "
            f"{duration_text(alone(checkpoint_interval))} for one machine, {slowdown_text(alone(interruption_slowdown))} times "
            f"the time of the work; for {several} machines it lies further left and higher.")


def resale_chart(case, useful_years, loss, years):
    """Share of the price that is left over the years, by the rule of the books and by that of the market."""
    straight, resale = linear_residual(years, useful_years), case(declining_residual)
    return slider_chart(
        case, {"straight line": linear_residual, "same share each year": declining_residual},
        x="years", values=[step / 4 for step in range(1, 33)], y_title="share of the price left",
        sliders={"useful_years": (2, 8, 0.5, useful_years), "depreciation_rate": (0.05, max(0.7, loss), 0.01, loss)},
        finding="After {years} a straight line leaves {linear_residual:percent}, the market {declining_residual:percent}",
        alt=f"A straight line over {useful_years} years loses the same each year and ends at nothing; a loss of "
            f"{percent(loss)} a year is steeper at first and never ends. After {quantity('years', years)} the first leaves "
            f"{percent(straight)}, the second {percent(resale)}.")


def reserved_table(reserved, caption):
    """Reserved rents of `renting_options.first_with_reservations`."""
    return table(reserved[["gpu", "provider", "term", "usd_per_hour", "on_demand", "needed", "date"]], caption,
                 labels={"usd_per_hour": "USD/h", "on_demand": "on demand, USD/h", "needed": "pays above"},
                 formats={"usd_per_hour": CENTS, "on_demand": CENTS, "needed": percent})


def slowdown_table(slowed, counts):
    """Time over work of `renting_options.slowdowns` for so many machines together."""
    names = {f"on_{count}": f"{count} machine{'s' if count > 1 else ''}" for count in counts}
    return table(slowed, "Time taken over time of the work, by how long one machine lasts and how many work together",
                 labels={"whose": "one machine"} | names, formats={"lasts": duration_text} | dict.fromkeys(names, slowdown_text))


def spot_table(spots, machines, caption):
    """Spot offers of `renting_options.spot_offers`."""
    shown = spots.assign(machine=spots["sku"] + ", " + spots["region"])
    return table(shown[["provider", "machine", "usd_per_hour", "discount", "one", "many"]], caption,
                 labels={"usd_per_hour": "spot, USD/h", "discount": "below on demand", "one": "1 machine",
                         "many": f"{machines} machines"},
                 formats=dict.fromkeys(("usd_per_hour", "one", "many"), CENTS) | {"discount": percent})


def managed_table(serviced, caption):
    """Managed services of `renting_options.managed_rents`."""
    return table(serviced[["provider", "service", "sku", "premium", "usd_per_hour", "managed", "date"]], caption,
                 labels={"premium": "premium", "usd_per_hour": "own rate, USD/h", "managed": "managed, USD/h"},
                 formats={"premium": percent, "usd_per_hour": CENTS, "managed": CENTS})


def ladder_table(ladder, caption):
    """The owned hour and its break-even as one thing after the other is counted, of `decide.ladder`."""
    plus = [name if position == 0 else f"+ {name}" for position, name in enumerate(ladder["counted"])]
    return table(ladder.assign(counted=plus), caption,
                 labels={"counted": "what is counted", "owned": "owned, USD per hour used", "needed": "break-even"},
                 formats={"owned": "{:.3f}".format,
                          "needed": lambda value: percent(value) if value <= 1 else f"none ({percent(value)})"})


def rents_table(offered, caption):
    """Every rent and the break-even `needed` against it."""
    return table(offered[["provider", "term", "usd_per_hour", "needed", "region", "date", "sku"]], caption,
                 labels={"usd_per_hour": "USD/h", "needed": "break-even"}, formats={"usd_per_hour": CENTS, "needed": reach})


def workloads_table(by_case, caption):
    """What a GPU-hour costs each workload each way, of `renting_options.compared`."""
    return table(by_case[["work", "hours", *WAYS, "answer"]], caption, labels={"hours": "GPU-hours a year", "answer": "cheapest"},
                 formats=dict.fromkeys(WAYS, CENTS) | {"hours": "{:,.0f}".format})
