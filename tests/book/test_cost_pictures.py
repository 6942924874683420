"""Pictures and tables of the lessons on costs: what they draw is what the formulas give."""
import re

import pandas as pd
import pytest

from book.components.picture import WIDE
from book.pages.serving_cost import hour_picture
from book.pages.total_cost import bills_picture, COLORS, counted_alike, outcome, PARTS, places_picture
from book.pages.training_cost import chain_picture, cheapest_flops, clock_picture, ends, run_table
from gpucalc import Case, goodput, serving_cost as sc, training_cost as tc
from gpucalc.core.figures import number
from gpucalc.rows import price_book
from gpucalc.rows.bands import Band

JOB = Case(gpus=1000, checkpoint_seconds=60, restart_seconds=600, gpu_failure_seconds=1e8,
           interruption_seconds=goodput.job_failure_seconds)
RUN = Case(model="Llama-2-7B", gpu="H100 SXM 80GB", training_tokens=1e12, mfu=0.4, gpus=64,
           gpu_hours=tc.planned_gpu_hours, usd_per_hour=2.0)


def boxes(shown, color):
    """Widths of the boxes in a color, without those of the key."""
    found = re.findall(r'<rect [^>]*width="([\d.e+-]+)" height="([\d.]+)"[^>]* class="fill-(\w+)"', shown._repr_html_())
    return [float(wide) for wide, tall, name in found if name == color and tall != "12"]


def test_the_clock_of_a_run_is_to_scale():
    """A failure each 100,000 s, a checkpoint of 60 s: Young's interval is the root of 2 x 60 x 100,000, 3,464 s."""
    shown = clock_picture(JOB)
    work, restart, kept = boxes(shown, "a"), boxes(shown, "b"), JOB(goodput.goodput)
    assert work[0] / restart[0] == pytest.approx(3464 / 600, rel=0.05)
    assert work[-1] == pytest.approx(WIDE * kept, abs=1.1)
    assert "every 27.8 h" in repr(shown)


def test_the_chain_ends_in_the_bill():
    """6 x 6.74e9 x 1e12 FLOP at 40 % of 989e12 are 28,400 GPU-hours, 56,800 USD at 2 USD."""
    said = repr(chain_picture(RUN, "Llama-2-7B"))
    assert "28,400 GPU-hours" in said and "56,800 USD" in said


@pytest.mark.parametrize("busy", [0.01, 0.5, 1])
def test_the_parts_of_an_hour_are_the_hour(busy):
    replica = Case(model="Llama-3-8B", gpu="H100 SXM 80GB", tensor_parallel=1, batch=32, prompt=1000, output=200,
                   efficiency="achieved", context=1100, replica_utilization=busy)
    shown = hour_picture(replica, "H100 SXM 80GB")
    assert sum(sum(boxes(shown, color)) for color in ("a", "b", "wash")) == pytest.approx(WIDE, abs=8)
    tokens = float(f"{3600 * busy / replica.band(sc.replica_seconds).plan * 1000:.2g}")
    assert f": {number(tokens)} tokens in;" in repr(shown)


def test_bars_of_bills_are_their_parts():
    rows = {name: pd.Series(dict(zip(PARTS, parts), total_usd=sum(parts))) for name, parts in (
        ("one", (60, 20, 0, 20, 0)), ("two", (200, 0, 0, 0, 0)))}
    spread = {name: Band(*[row.total_usd] * 4, None, 0, 0, "", "USD") for name, row in rows.items()}
    shown = bills_picture(rows, spread)
    assert boxes(shown, COLORS["compute_usd"]) == pytest.approx([119, 399])
    assert boxes(shown, COLORS["egress_usd"]) == pytest.approx([39])
    assert "Compute is 60 %" in repr(shown)


def test_a_name_in_a_picture_is_text():
    away = pd.Series({"provider": "<b>x", "usd_per_hour": 2.0})
    shown = places_picture("<i>", away, "H100", {"corpus_bytes": 1e9, "stored_bytes": 1e9, "runs": 2}, 0.09, None)
    assert "<b>x" not in shown._repr_html_() and "no price" in shown._repr_html_() and "0.09 USD/GB" in shown._repr_html_()


def test_a_run_on_familiar_cards_costs_its_hours():
    servers = cheapest_flops(price_book.prices())
    shown = run_table(RUN, servers, "B300 SXM 288GB", "Runs", mfu=0.4)._repr_html_()
    rate = servers.set_index("gpu")["usd_per_hour"]["H100 SXM 80GB"]
    assert shown.index("B300") < shown.index("H100 SXM") and ends(28389 * rate, 28389 * rate, 28389 * rate) in shown
    assert f"{28389:,}" in shown and "L40S 48GB" in shown


def test_a_cost_that_has_no_upper_end_is_too_slow():
    assert ends(2, 1, 3) == "2 USD (1 to 3)" and ends(2, 2, 2) == "2 USD" and ends(2, 1, float("inf")) == "2 USD (1 to too slow)"


def test_counted_alike_the_winner_changes():
    """Only one run of compute against twenty pulls, as printed, lets the service win."""
    alike = counted_alike()
    assert (~alike.flat["bare_wins"]).sum() == 1
    assert outcome(alike.flat, 1, 20).startswith("SageMaker") and outcome(alike.flat, 20, 20).startswith("bare metal")
