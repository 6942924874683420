"""Memories: what a bus carries, what all multiprocessors hold and read together, and how long a model takes to pass."""
from ..core.law import law
from .quantization import BIT_BYTES


@law
def pin_bandwidth(bus_bits, pin_rate):
    """Bandwidth of a memory (bytes/s): pins of its bus times the bits that one carries a second.

    JEDEC JESD238 (HBM3), JESD239 (GDDR7): a stack of HBM3 has 1024 pins, a chip of GDDR7 32.
    """
    return bus_bits * pin_rate * BIT_BYTES


@law
def all_units_bytes(units, unit_bytes):
    """Bytes that all multiprocessors of a GPU hold together in a memory of their own. NVIDIA H100 white paper, table 3."""
    return units * unit_bytes


@law
def all_units_bandwidth(units, clock, unit_clock_bytes):
    """Bytes/s that all multiprocessors read together from a memory of their own. CUDA C++ programming guide, shared memory."""
    return units * clock * unit_clock_bytes


@law
def level_read_seconds(weight_bytes, level_bandwidth):
    """Time in which the weights pass once from one level of memory (s): the least that a decode step takes from there."""
    return weight_bytes / level_bandwidth
