"""A published comparison of a bare-metal provider with a managed service, with both sides counted alike."""
from types import SimpleNamespace

from pandas import DataFrame

from gpucalc.core.evaluate import Case
from gpucalc.core.figures import usd
from gpucalc.laws.total_cost import break_even_corpus_bytes, egress_usd, pulled_bytes
from gpucalc.laws.training_cost import planned_gpu_hours
from gpucalc.rows import price_book
from gpucalc.rows.claims import claim
from gpucalc.rows.rents import cheapest_rent
from ..components.bill_charts import many
from ..components.show import table
from .bills import against_managed
from .stores import egress_tiers, tiered_usd


def counted_alike():
    """The comparison with every count of runs and pulls, and where the winner changes.

    At one price for egress (`flat`), with the tiers of the price book of its day (`tiered`), and with the hours that its own
    share of the peak takes (`real`).
    """
    book = price_book.prices(price_book.price_books()[0])
    bare, premium, corpus = (claim(f"tc-{each}").value for each in ("bare-rate", "mark-up", "tokens"))
    per_gb, stored = claim("tc-pull").inputs["usd_per_gb"], claim("tc-bare-cached").inputs["storage_usd"]
    own = cheapest_rent(book, gpu="H100 SXM 80GB", provider="AWS", term="on-demand").usd_per_hour
    tuning = Case.of(claim("trc-354").inputs)
    peak_hours, real_hours = tuning.but(mfu=1)(planned_gpu_hours), tuning(planned_gpu_hours)
    counted = DataFrame([dict(on=on, runs=runs, pulls=pulls, gpu_hours=peak_hours, managed_usd_per_hour=rate,
                              egress_usd=egress_usd(pulled_bytes(corpus, pulls), per_gb))
                         for on, rate in {"bare metal": bare, "AWS itself": own}.items()
                         for runs in (1, 20) for pulls in (1, 20)])
    tiers = egress_tiers(book, "AWS")
    by_tier = counted.assign(egress_usd=[tiered_usd(tiers, corpus * pulls) for pulls in counted["pulls"]])
    flat, tiered, real = (against_managed(each, bare, premium, stored) for each in (
        counted, by_tier, counted.assign(gpu_hours=real_hours)))
    turn, real_turn = (break_even_corpus_bytes(each, bare * (1 + premium), bare, per_gb) for each in (peak_hours, real_hours))
    return SimpleNamespace(
        flat=flat, tiered=tiered, real=real, file=book.attrs["file"], bare_rate=bare, corpus_bytes=corpus,
        mfu=tuning.inputs["mfu"], peak_hours=peak_hours, real_hours=real_hours, turn_bytes=turn, real_turn_bytes=real_turn,
        per_run=peak_hours * bare * premium,
        per_pull=egress_usd(corpus, per_gb), bare_claim=claim("tc-bare-wins").value, service_claim=claim("tc-service-wins").value)


def outcome(frame, runs, pulls, on="bare metal"):
    """The winner and its margin, with so many runs of compute and pulls of the data, the mark-up on the rate of `on`."""
    row = frame[(frame["runs"] == runs) & (frame["pulls"] == pulls) & (frame["on"] == on)].iloc[0]
    return f"{'bare metal' if row.bare_wins else 'SageMaker'} by {usd(row.margin)}"


def two_providers_table(alike, caption):
    """Every combination of the comparison, and which of them was printed."""
    found = alike.flat
    printed = (found["runs"] == 1) & (found["on"] == "bare metal")
    sides = found.assign(
        compute=[many(each, "run") for each in found["runs"]], egress=[many(each, "pull") for each in found["pulls"]],
        winner=found["bare_wins"].map({True: "bare metal", False: "SageMaker"}), printed=printed.map({True: "yes", False: "no"}))
    return table(sides[["compute", "egress", "on", "bare", "service", "winner", "margin", "printed"]], caption,
                 labels={"compute": "compute", "egress": "egress", "on": "mark-up on rate of", "bare": "bare metal",
                         "service": "SageMaker", "margin": "by, USD"},
                 formats=dict.fromkeys(("bare", "service", "margin"), "{:,.0f}".format))
