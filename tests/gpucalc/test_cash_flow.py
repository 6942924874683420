"""Owning and renting as a list of payments, each discounted by itself: a model of its own beside the formulas.

Nothing of gpucalc/laws is used to make a payment. Time runs in short steps from the order; at the middle of each the hours of
the work, the rent of that day, the power and what runs are paid.
"""
import numpy as np
import pytest

from gpucalc import break_even as be, owning, renting
from gpucalc.core.evaluate import Case

DEAL = dict(server_usd=400_000, usd_per_hour=4, gpus_per_server=8, tdp_watts=700, server_power_factor=1.4, pue=1.3, usd_per_kwh=0.1,
            hosting_usd_per_month=1900, staff_usd_per_year=2400, support_share=0.05, repair_share=0.03, spare_share=0.05,
            network_usd=20_000, years=5, lead_months=3, ramp_months=2, utilization=0.6, availability=0.97, discount_rate=0.1,
            rent_decline=0.1, residual=0.17, idle_power_share=0.25)
CASES = {
    "as it stands": {}, "hardly used": dict(utilization=1e-6), "one hour in twenty": dict(utilization=0.05),
    "always used": dict(utilization=1), "no interest": dict(discount_rate=0), "money doubles in a year": dict(discount_rate=1),
    "sold for nothing": dict(residual=0), "sold for all of it": dict(residual=1), "one month": dict(years=1 / 12, ramp_months=0),
    "one month of ramp": dict(years=1 / 12), "twenty years": dict(years=20), "twenty dear years": dict(years=20, discount_rate=1),
    "a ramp longer than the life": dict(years=1, ramp_months=24), "a ramp as long as the life": dict(years=1, ramp_months=12),
    "a long ramp, dear money": dict(years=1, ramp_months=24, discount_rate=1),
    "a ramp of years, no interest": dict(years=3, ramp_months=60, discount_rate=0),
    "a ramp of decades": dict(years=20, ramp_months=300, discount_rate=1), "a lead of two years": dict(lead_months=24),
    "a lead of two years, dear money": dict(lead_months=24, discount_rate=1), "no lead, no ramp": dict(lead_months=0, ramp_months=0),
    "rents rise by half": dict(rent_decline=-0.5), "rents rise, no interest": dict(rent_decline=-0.5, discount_rate=0),
    "rents vanish": dict(rent_decline=0.9), "rents vanish over a long ramp": dict(rent_decline=0.9, years=2, ramp_months=36),
    "rents rise as money does": dict(rent_decline=-0.1), "hardly ever in order": dict(availability=0.01),
    "a spare for each": dict(spare_share=1), "a dear network": dict(network_usd=1e6), "idle as dear as work": dict(idle_power_share=1),
    "all of it": dict(discount_rate=1, rent_decline=0.9, lead_months=24, years=20, ramp_months=48, spare_share=1)}


def flows(deal, steps=200_000):
    """Present values of a deal: what owning costs, what renting does, and the GPU-hours that are used."""
    at = (np.arange(steps) + 0.5) / steps * deal["years"]
    step, day = deal["years"] / steps, at + deal["lead_months"] / 12
    grown = np.minimum(12 * at / deal["ramp_months"], 1) if deal["ramp_months"] else np.ones(steps)
    offered = grown * step * 8760 * deal["gpus_per_server"] * deal["availability"]
    used, idle = offered * deal["utilization"], offered * (1 - deal["utilization"])
    kilowatts = deal["tdp_watts"] * deal["server_power_factor"] * deal["pue"] / 1000
    power = deal["usd_per_kwh"] * kilowatts * (used + idle * deal["idle_power_share"])
    boxes = 1 + deal["spare_share"]
    yearly = (boxes * (12 * deal["hosting_usd_per_month"] + deal["support_share"] * deal["server_usd"])
              + deal["repair_share"] * deal["server_usd"] + deal["staff_usd_per_year"])
    worth = (1 + deal["discount_rate"]) ** -day
    bought = boxes * (deal["server_usd"] + deal["network_usd"])
    sold = bought * deal["residual"] * (1 + deal["discount_rate"]) ** -(deal["years"] + deal["lead_months"] / 12)
    rent = deal["usd_per_hour"] * (1 - deal["rent_decline"]) ** day
    return bought - sold + ((yearly * step + power) * worth).sum(), (used * rent * worth).sum(), (used * worth).sum()


@pytest.mark.parametrize("name", CASES)
def test_the_formulas_are_the_sum_of_the_payments(name):
    deal = DEAL | CASES[name]
    owned, rented, hours = flows(deal)
    case = Case(**deal)
    found = case.terms(be.owning_npv, owning.owned_usd_per_hour, renting.level_usd_per_hour)
    assert found["owned_usd_per_hour"] == pytest.approx(owned / hours, rel=1e-5)
    assert found["level_usd_per_hour"] == pytest.approx(rented / hours, rel=1e-5)
    assert found["owning_npv"] == pytest.approx(rented - owned, abs=1e-5 * max(owned, rented))


@pytest.mark.parametrize("name", [name for name in CASES if "vanish" not in name and name not in ("hardly ever in order", "all of it")])
def test_at_a_break_even_the_payments_are_equal(name):
    """The rent and the price of a server at which both cost the same, put back into the payments."""
    deal = DEAL | CASES[name]
    meet = Case(**deal).terms(be.break_even_rent, be.break_even_server_usd)
    owned, rented, _ = flows(deal | {"usd_per_hour": meet["break_even_rent"]})
    assert rented == pytest.approx(owned, rel=1e-5)
    if 0 < meet["break_even_server_usd"] < float("inf"):
        owned, rented, _ = flows(deal | {"server_usd": meet["break_even_server_usd"]})
        assert rented == pytest.approx(owned, rel=1e-5)


def test_thirty_cases():
    assert len(CASES) == 30
