"""What a fault costs a fleet: its GPUs are paid at full price and work at a share of their speed."""
from gpucalc.core.evaluate import Case
from gpucalc.laws.sharing import wasted_usd_per_month
from gpucalc.rows.rents import cheapest_rent, rents
from gpucalc.rows.selections import selection


@selection
def fleet(book, gpu="H100 SXM 80GB", gpus=8, term="on-demand"):
    """The cheapest firm rent of servers of so many GPUs, as a `Row`."""
    return cheapest_rent(book, gpu=gpu, term=term, whole=gpus)


@selection
def fleet_if_priced(book, gpu, gpus=8, term="on-demand"):
    """The same, or None where the book has no such rent."""
    return fleet(book, gpu, gpus, term) if len(rents(book, gpu=gpu, term=term, required=False)) else None


def wasted(share, rent, gpus=8):
    """What GPUs at that rent cost in a month beyond the work that they do at that share of their speed (USD)."""
    return Case(gpus=gpus, usd_per_hour=float(rent.usd_per_hour), measured_utilization=min(share, 1))(wasted_usd_per_month)
