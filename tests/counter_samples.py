"""Composes the sample files of data/counters: loads whose activities the formulas give, with noise, in the format of three tools.

`python -m tests.counter_samples` writes them. What no formula gives (SM activity, watts, memory) is set to a plain value.
"""
import random
from datetime import UTC, datetime, timedelta
from typing import NamedTuple

from gpucalc import Case
from gpucalc.core.quantities import DATA
from gpucalc.laws import arithmetic_intensity as ai, counters

H100, A100 = "H100 SXM 80GB", "A100 SXM 80GB"
START = datetime(2026, 11, 16, tzinfo=UTC)


class Load(NamedTuple):
    """What a GPU shows while it does something."""

    util: float
    sm: float
    occupancy: float
    tensor: float
    dram: float
    watts: float
    mib: int
    mhz: int = 1830


def decode(batch, gpu=H100):
    """A server of Llama-3-8B in BF16 at 2,048 tokens of context, without a pause between steps."""
    case = Case(model="Llama-3-8B", gpu=gpu, batch=batch, context=2048, efficiency="achieved", counted_flops=ai.decode_flops,
                counted_bytes=ai.decode_bytes, counted_seconds=ai.decode_seconds)
    return case(counters.tensor_activity), case(counters.dram_activity)


SERVES = Load(1, 0.93, 0.24, *decode(8), 470, 30_000)
# A run that reaches half of the dense peak; the same with pauses for data; many small kernels; memory held and nothing running.
TRAINS = Load(1, 0.88, 0.31, 0.55, 0.35, 660, 74_000)
LAUNCHES = Load(1, 0.21, 0.05, 0.03, 0.11, 190, 21_000)
RESTS = Load(0, 0, 0, 0, 0, 112, 30_000, 1980)


def drawn(load, dice):
    """A sample of a load: each activity moved by some percent."""
    return load._replace(**{name: min(max(getattr(load, name) * dice.gauss(1, 0.03), 0), 1) for name in (
        "sm", "occupancy", "tensor", "dram")}, watts=load.watts * dice.gauss(1, 0.02))


def exporter(dice):
    """A day of four H100 every ten minutes, as Prometheus exports dcgm-exporter: serving, training till 16:00, launches, nothing."""
    lines = ["timestamp,Hostname,gpu,modelName,DCGM_FI_DEV_GPU_UTIL,DCGM_FI_PROF_SM_ACTIVE,DCGM_FI_PROF_SM_OCCUPANCY,"
             "DCGM_FI_PROF_PIPE_TENSOR_ACTIVE,DCGM_FI_PROF_DRAM_ACTIVE,DCGM_FI_DEV_POWER_USAGE,DCGM_FI_DEV_FB_USED,"
             "DCGM_FI_DEV_SM_CLOCK"]
    for step in range(144):
        for gpu, load in enumerate((SERVES, TRAINS if step < 96 else RESTS, LAUNCHES, RESTS)):
            one = drawn(load, dice)
            lines.append(f"{START + timedelta(minutes=10 * step):%Y-%m-%dT%H:%M:%SZ},node-1,{gpu},NVIDIA H100 80GB HBM3,"
                         f"{100 * one.util:.0f},{one.sm:.3f},{one.occupancy:.3f},{one.tensor:.3f},{one.dram:.3f},{one.watts:.1f},"
                         f"{one.mib},{one.mhz}")
    return lines


def smi(dice):
    """A night of two A100 every three minutes from nvidia-smi: one serves until 02:24, one holds memory only."""
    lines = ["timestamp, index, name, utilization.gpu [%], utilization.memory [%], memory.used [MiB], power.draw [W], power.limit [W], "
             "clocks.current.sm [MHz], clocks_event_reasons.active"]
    for step in range(160):
        for gpu, load in enumerate((SERVES if step < 96 else RESTS, RESTS)):
            one = drawn(load, dice)
            watts = f"{0.6 * one.watts:.2f} W" if step != 7 else "[N/A]"
            lines.append(f"{START + timedelta(hours=21, minutes=36, seconds=180 * step):%Y/%m/%d %H:%M:%S}.305, {gpu}, "
                         f"NVIDIA A100-SXM4-80GB, {100 * one.util:.0f} %, {80 * one.util:.0f} %, {one.mib} MiB, {watts}, 400.00 W, "
                         f"1410 MHz, 0x000000000000000{'0' if one.util else '1'}")
    return lines


def dmon(dice):
    """100 samples of four H100 from dcgmi dmon: batch 1, batch 64, training, training that waits half of the time."""
    names = ("GRACT", "SMACT", "SMOCC", "TENSO", "DRAMA", "POWER", "GPUTL", "FBUSD", "SMCLK")
    head = "#Entity   " + "".join(f"{name:<13}" for name in names)
    unit = "ID        " + "".join(f"{name:<13}" for name in ("", "", "", "", "", "W", "", "", "MHz"))
    small, large = (SERVES._replace(tensor=pair[0], dram=pair[1]) for pair in (decode(1), decode(64)))
    lines = []
    for step in range(100):
        for gpu, load in enumerate((small, large, TRAINS, TRAINS if step % 2 else RESTS)):
            if len(lines) % 16 == 0:
                lines += [head, unit]
            one = drawn(load, dice)
            cells = (f"{one.util:.3f}", f"{one.sm:.3f}", f"{one.occupancy:.3f}", f"{one.tensor:.3f}", f"{one.dram:.3f}",
                     f"{one.watts:.3f}", f"{100 * one.util:.0f}", one.mib, one.mhz)
            lines.append(f"GPU {gpu}     " + "".join(f"{cell:<13}" for cell in cells))
    return lines


FILES = {"exporter_csv.txt": exporter, "nvidia_smi_csv.txt": smi, "dcgmi_dmon.txt": dmon}


if __name__ == "__main__":
    (DATA / "counters").mkdir(exist_ok=True)
    for file, compose in FILES.items():
        (DATA / "counters" / file).write_text("\n".join(compose(random.Random(file))) + "\n", encoding="utf-8")
