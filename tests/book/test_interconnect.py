"""Links against the published figures of the page."""
import json

import pytest

from book.components.claims import measurements
from book.components.measured import compare
from gpucalc.core.evaluate import Case

ERRORS = {
    "a100x8-ring": (0.020, 0.275), "b200x8-ring": (0.055, 0.315), "mi300x8": (0.071, 0.427), "mi300x2": (0.007, 0.342),
    "5090x8": (-0.215, 1.249), "5090x4": (0.372, 0.800), "h100x8-ring": (0.001, 0.214), "3090x8-small": (-0.103, -0.103),
    "b200x8-nvls": (-0.010, 0.234), "h200x8-nvls": (0.030, 0.250), "h100x8-nvls": (0.021, 0.238),
    "h800x8-nvls": (0.013, 0.229), "h100x2-small": (0.300, 0.300), "h200x32": (-0.004, -0.076), "b200x32": (-0.018, -0.058),
    "deepep-node": (0.077, 0.307), "deepep-rdma": (-0.070, -0.107), "setup-right": (-0.016, 0.025),
    "h200-host": (-0.037, -0.037), "pcie4-host": (-0.097, -0.097), "4090x8-decode": (-0.014, -0.014),
    "setup-gpudirect": (1.08, 1.08), "setup-gpudirect-4": (1.5, 1.5), "setup-ipoib": (2.13, 2.13), "setup-tcp": (1.08, 1.08),
    "setup-one-port": (9.16, 9.16),
    "h200x8-32KiB": (-0.614, -0.614), "h200x8-1MiB": (-0.390, -0.390), "h200x8-2MiB": (-0.429, -0.452),
    "h200x8-64MiB": (-0.219, -0.344), "h200x8-1GiB": (-0.048, -0.215), "h200x8-16GiB": (-0.016, -0.189),
    "2026-h100x8-allreduce-512MiB": (-0.080, -0.240), "2026-h200x8-allgather-512MiB": (-0.069, -0.229),
    "2026-gb200x2-allreduce-512MiB": (-0.251, -0.396), "2026-h200x8-allreduce-128KiB-engine": (-0.072, -0.387)}


def published(**instead):
    found = compare("interconnect", **instead)
    return found.set_index(found.index.str.removeprefix("interconnect-"))


def test_published_figures():
    reached, bound = published()["error"], published(efficiency="bound")["error"]
    for name, errors in ERRORS.items():
        assert (reached[name], bound[name]) == pytest.approx(errors, abs=0.006), name
    named = [name for name in reached.index if not name.startswith(("h200x8-", "2026-")) and name != "a100x8-decode"]
    assert set(named) <= set(ERRORS)


# A true bound: all of every peak, and no wait.
NO_WAIT = dict.fromkeys(("latency", "base_latency", "quick_latency", "quick_base_latency", "switch_latency", "network_latency"), 0)


def test_nothing_beats_the_bound():
    found = measurements("interconnect")
    found = found[found["family"] != "network set up wrongly"]
    for name, row in found.iterrows():
        inputs = json.loads(row["inputs"])
        case = Case.of(inputs).but(efficiency="bound", link_efficiency=1, network_efficiency=1, **NO_WAIT)
        held = case.rows.get("link") or case.rows.get("gpu")
        bound = case.but(switch_share=1.0 if held["switch_share"] > 0 else 0.0)(row["law"])
        assert row["value"] >= bound if row["unit"] == "second" else row["value"] <= bound, name


def test_large_collectives_come_near_their_plan():
    found = measurements("interconnect")
    sizes = found["inputs"].map(lambda text: json.loads(text).get("message_bytes", 2**30))
    large = found[(found["family"] == "collective") & (sizes >= 2**20)]
    older = ~large.index.str.startswith("interconnect-2026-")
    assert large[older]["error"].abs().median() < 0.025
    assert large[~older]["error"].abs().median() < 0.14
