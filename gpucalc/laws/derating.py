"""What hardware takes back of its data sheet, and what it gives only in one form: power, error correction, sparsity, formats."""
from ..core.law import law


# Power

@law
def watts_for_clock(tdp_watts, clock_share):
    """Power at which a card keeps a share of its clock, at best (W): dynamic power falls with the clock's cube.

    Mudge 2001 (doi 10.1109/2.917539); the formula of a capped clock, turned around.
    """
    return tdp_watts * clock_share ** 3


# Error correction

@law
def corrected_bytes(chip_bytes, inline_ecc):
    """Memory that is left where error correction keeps its bits among the data (bytes): a sixteenth goes.

    CUDA C++ best practices guide, error correction of GDDR memory: 6.25 %.
    """
    return chip_bytes * (1 - inline_ecc / 16)


# Two of four

@law
def sparse_value_bits(value_bits):
    """Bits for each weight of a matrix of which two in four are zero (bits): two values and their places, two bits each.

    Mishra et al. 2021 (arXiv 2104.08378), section 3.
    """
    return (2 * value_bits + 2 * 2) / 4


# One fragment on a tensor core

@law
def fragment_clocks(matmul_flops, unit_flops):
    """Clocks of a multiprocessor's tensor cores for one product of small fragments (count), if all of them work."""
    return matmul_flops / unit_flops


@law
def fragment_load_clocks(rows, inner, columns, element_bytes, unit_clock_bytes):
    """Clocks in which a multiprocessor reads both inputs of such a product from shared memory (count)."""
    return (rows + columns) * inner * element_bytes / unit_clock_bytes


# Few bits

@law
def rounding_share(mantissa_bits):
    """Most that rounding changes a value in a floating-point format, as a share of it (ratio). IEEE 754-2019, section 4.3."""
    return 0.5 ** (mantissa_bits + 1)
