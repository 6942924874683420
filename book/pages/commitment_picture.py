"""A load through its hours, sorted: pictures of when a GPU is needed and what is reserved; what a mix costs; each GPU's mix."""
from gpucalc.core.figures import percent, usd
from gpucalc.laws.commitments import portfolio_usd_per_hour, reserved_gpus, share_above
from ..components.charts import slider_chart
from ..components.picture import Sheet
from ..components.show import reach, table

_LEFT, _RIGHT, _TOP, _FOOT = 34, 392, 16, 190


def sorted_load(trough_gpus, peak_gpus):
    """The load-duration curve that falls evenly from peak to trough, and the hours in which one GPU near the peak is needed."""
    asked = round(trough_gpus + 0.75 * (peak_gpus - trough_gpus))
    share = share_above.formula(asked, trough_gpus, peak_gpus)
    sheet, down = _axes(trough_gpus, peak_gpus)
    turn = _LEFT + (_RIGHT - _LEFT) * share
    _area(sheet, "wash", (_LEFT, _FOOT), (_LEFT, _TOP), (_RIGHT, down(trough_gpus)), (_RIGHT, _FOOT))
    sheet.line((_LEFT, down(asked)), (turn, down(asked)), color="a", thick=5)
    sheet.line((turn, down(asked)), (_RIGHT, down(asked)), dashed=True)
    sheet.line((_LEFT, _TOP), (_RIGHT, down(trough_gpus)), color="ink", thick=2)
    sheet.text(_RIGHT, down(asked) - 6, f"GPU {asked:g}: needed in {percent(share)} of the hours", at="end", color="a", bold=True)
    sheet.text(_LEFT + 10, down(trough_gpus) + 20, f"the first {trough_gpus:g}: needed in all hours")
    return sheet.picture(f"Of {peak_gpus:g} GPUs, the first {trough_gpus:g} work all day and the last only in the busiest hour",
                         f"Hours sorted by load, from {peak_gpus:g} GPUs down to {trough_gpus:g}. GPU {asked:g} is needed in "
                         f"{percent(share)} of them.")


def load_curve(trough_gpus, peak_gpus, level, share):
    """The load-duration curve that falls evenly from peak to trough, reserved up to a level that a share of the hours needs."""
    sheet, down = _axes(trough_gpus, peak_gpus)
    turn = _LEFT + (_RIGHT - _LEFT) * min(max(share if level else 1, 0), 1)
    y, end = down(level), down(trough_gpus)
    _area(sheet, "a", (_LEFT, _FOOT), (_LEFT, y), (_RIGHT, y), (_RIGHT, _FOOT))
    if level > trough_gpus:
        _area(sheet, "b", (_LEFT, y), (_LEFT, _TOP), (turn, y))
        _area(sheet, "e", (turn, y), (_RIGHT, y), (_RIGHT, end))
        sheet.text(_RIGHT - 4, y - 6, "reserved, idle", at="end", color="e", bold=True)
    else:
        _area(sheet, "b", (_LEFT, y), (_LEFT, _TOP), (_RIGHT, end), (_RIGHT, y))
    sheet.line((_LEFT, _TOP), (_RIGHT, end), color="ink", thick=2)
    sheet.text(_LEFT + 104, _TOP + 12, "by the hour, on demand or spot", color="b", bold=True)
    if level:
        sheet.text(_LEFT + 12, _FOOT - 12, "reserved: paid in every hour", color="paper", bold=True)
        sheet.text(_LEFT - 5, y + 4, f"{level:,.0f}", at="end", bold=True)
    said = (f"Hours sorted by load, from {peak_gpus:,g} GPUs down to {trough_gpus:,g}. {level:,.0f} are reserved and needed in "
            f"{percent(share)} of the hours; the corner above them is paid by the hour, the corner below idles.")
    found = f"{level:,.0f} GPUs are reserved: the load needs all of them in {percent(min(share, 1))} of the hours"
    return sheet.picture(found if level else "Nothing is reserved: by the hour costs less", said)


def _axes(trough_gpus, peak_gpus):
    """A sheet with its axes named, and the height at which a number of GPUs stands."""
    def down(gpus):
        return _FOOT - (_FOOT - _TOP) * gpus / peak_gpus
    sheet = Sheet(214)
    for gpus in (peak_gpus, 0):
        sheet.text(_LEFT - 5, down(gpus) + 4, f"{gpus:,.0f}", at="end", color="soft")
    sheet.text(_LEFT, _FOOT + 18, "busiest hour", color="soft").text(_RIGHT, _FOOT + 18, "quietest hour", at="end", color="soft")
    return sheet, down


def _area(sheet, color, *corners):
    sheet.path("M" + " L".join(f"{x:.4g},{y:.4g}" for x, y in corners) + " Z", color)


def mix_slider_chart(bare, cost, level, finding):
    """What an average hour costs over the GPUs reserved; `bare` holds the three rates, `cost` is of `commitments.costs`."""
    reserved, demand, peak = (bare.inputs[name] for name in ("committed_usd_per_hour", "usd_per_hour", "peak_gpus"))
    mixes = {"the rest by the hour": portfolio_usd_per_hour,
             "the best level": (portfolio_usd_per_hour, dict(reserved_gpus=None)),
             "all on demand": (portfolio_usd_per_hour, dict(reserved_gpus=0, interruptible_share=0))}
    return slider_chart(
        bare, mixes, x="reserved_gpus", values=[peak * step / 60 for step in range(61)], y_title="USD in an average hour",
        crossing=(reserved_gpus, dict(reserved_gpus=None)), finding=finding,
        sliders={"committed_usd_per_hour": (0.1, round(1.5 * demand, 2), 0.005, round(reserved, 3)),
                 "trough_gpus": (0, peak, 1, bare.inputs["trough_gpus"]),
                 "interruptible_share": (0, 1, 0.05, bare.inputs["interruptible_share"])},
        alt=f"Cost against the GPUs reserved: lowest at {level:.0f}, {usd(cost['best'])} an hour; {usd(cost['flexible'])} with "
            f"none and {usd(cost['all reserved'])} with the whole peak reserved.")


def mixes_table(every, caption):
    """The mix of each GPU with a reserved rent, of `commitments.by_gpu`."""
    return table(every.drop(columns="rows"), caption, labels={
        "committed_usd_per_hour": "reserved", "seller": "by", "usd_per_hour": "on demand", "reserve_ratio": "pays above",
        "spot": "spot, as listed", "reserved_gpus": "reserve", "saved": "saved", "sure": "reserved price"},
        formats=dict.fromkeys(("committed_usd_per_hour", "usd_per_hour", "spot"), "{:.2f}".format) | {
            "reserve_ratio": reach, "reserved_gpus": "{:.0f}".format, "saved": percent})
