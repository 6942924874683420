"""Electricity and carbon of served tokens: what the servers of a replica draw, busy and waiting, with the ranges of each."""
import numpy as np
import pandas as pd

from gpucalc.laws.energy import carbon_per_million_tokens, kwh_per_million_tokens
from gpucalc.laws.owning import watts_per_gpu
from gpucalc.rows import catalogue
from gpucalc.rows.ages import firm
from gpucalc.rows.selections import selection
from ..components.run_upkeep import ENDS, with_ends


def energy_of_tokens(seconds, gpu, replica_gpus, output, utilization):
    """The electricity of a million tokens out with their prompts (kWh), `plan`, `low` and `high`.

    seconds: the band of what a request takes of a full replica. The errors of time, power, site and idle power know nothing of
    each other. NaN where the power of the card is not known.
    """
    assumed, tdp = catalogue.assumptions().loc[:, list(ENDS)].astype(float), catalogue.gpu(gpu)["tdp_watts"]
    power, over, idle = (assumed.loc[name] for name in ("server_power_factor", "pue", "idle_power_share"))
    time = pd.Series([seconds.low, seconds.plan, seconds.high], ENDS, dtype=float)
    if np.isnan(tdp) or not np.isfinite(time["likely"]):
        return dict.fromkeys(("low", "plan", "high"), np.nan)
    plan = kwh_per_million_tokens(watts_per_gpu(tdp, power["likely"]), replica_gpus, output / time["likely"], over["likely"],
                                  utilization, idle["likely"])
    return with_ends(plan, time, power, over, 1 + idle * (1 - utilization) / utilization)


def carbon_of_tokens(kwh):
    """The carbon of a million tokens (kg) from their electricity (kWh) on the cleanest, the likely and the dirtiest grid."""
    grids = catalogue.assumptions().loc["carbon_intensity", list(ENDS)].astype(float)
    return grids.map(lambda grid: carbon_per_million_tokens(kwh, grid)).to_dict()


@selection
def power_prices(book):
    """The rows of a book that price electricity, firm ones if there are any."""
    found = book[book["item"] == "power"]
    return found[firm(found)] if firm(found).any() else found
