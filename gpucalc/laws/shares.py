"""What a card reaches of its peaks: by format and card from benchmarks, by the shape of a product from its tiles."""
from ..core.arithmetic import ceil, maximum, minimum, where
from ..core.law import law


@law
def product_share(wide_share, narrow_share, narrow_products=0, quarter_share=1):
    """Share of its peak that large products reach, likely (ratio). Sources by card and format: data/shares.csv."""
    return where(narrow_products > 1, quarter_share, where(narrow_products > 0, narrow_share, wide_share))


@law
def product_share_low(wide_share_low, narrow_share_low, narrow_products=0, quarter_share_low=1):
    """The least share of its peak that benchmarks of large products saw (ratio). Sources: data/shares.csv."""
    return where(narrow_products > 1, quarter_share_low, where(narrow_products > 0, narrow_share_low, wide_share_low))


@law
def product_share_high(wide_share_high, narrow_share_high, narrow_products=0, quarter_share_high=1):
    """The most that benchmarks of large products saw: the best of many shapes, on a cool card (ratio). data/shares.csv."""
    return where(narrow_products > 1, quarter_share_high, where(narrow_products > 0, narrow_share_high, wide_share_high))


@law
def bandwidth_share(memory_share, inline_ecc=0):
    """Share of the memory bandwidth that large reads reach, likely (ratio). Sources by card: data/shares.csv.

    Error correction inside GDDR memory takes a sixteenth of its bandwidth, as of its capacity.
    """
    return memory_share * (1 - inline_ecc / 16)


@law
def bandwidth_share_low(memory_share_low, inline_ecc=0):
    """The least share of the memory bandwidth that benchmarks saw (ratio). Sources: data/shares.csv."""
    return memory_share_low * (1 - inline_ecc / 16)


@law
def bandwidth_share_high(memory_share_high, inline_ecc=0):
    """The most of the memory bandwidth that benchmarks saw (ratio). Sources: data/shares.csv."""
    return memory_share_high * (1 - inline_ecc / 16)


@law
def wide_block_share(wide_blocks, layers):
    """Share of the products of layers that a recipe leaves in 16 bits (ratio): those of whole blocks.

    NVIDIA 2025 (arXiv 2509.25149, section 5).
    """
    return minimum(wide_blocks / layers, 1)


@law
def product_peak(peak_flops, narrow_flops=1, quarter_flops=1, integer_flops=1, narrow_products=0, integer_products=0,
                 wide_products=0, clock_share=1):
    """Peak of the format in which products run (FLOP/s): 4 or 8 bits, or 16 where the card has none or the work does not use it.

    Integers have a peak of their own. Products that a recipe leaves in 16 bits run at that peak. A card below its boost clock has
    that share of it.
    """
    narrow = where(integer_products > 0, integer_flops, maximum(narrow_flops, peak_flops))
    quarter = maximum(quarter_flops, maximum(narrow_flops, peak_flops))
    found = where(narrow_products > 1, quarter, where(narrow_products > 0, narrow, peak_flops))
    mixed = 1 / ((1 - wide_products) / found + wide_products / peak_flops)
    return clock_share * where(wide_products > 0, mixed, found)


@law
def product_rate(product_peak, compute_efficiency=1):
    """FLOP/s of large products."""
    return product_peak * compute_efficiency


@law
def attention_rate(peak_flops, attention_efficiency=1, clock_share=1):
    """FLOP/s of attention, whose scores are in 16 bits whatever the products. FlashAttention-3 (arXiv 2407.08608)."""
    return clock_share * peak_flops * attention_efficiency


@law
def memory_rate(bandwidth, bandwidth_efficiency=1):
    """Bytes/s of large reads."""
    return bandwidth * bandwidth_efficiency


@law
def weight_rate(memory_rate, bandwidth_efficiency=1, narrow_products=0, experts=0, wide_read_share=..., narrow_read_share=...,
                quarter_read_share=...):
    """Bytes/s at which products of few tokens read their weights: by the format of products a share of large reads.

    No share for a bound. Tables of products: data/defaults.csv. Experts were timed whole (`expert_start_seconds`).
    """
    share = where(narrow_products > 1, quarter_read_share, where(narrow_products > 0, narrow_read_share, wide_read_share))
    return memory_rate * where(bandwidth_efficiency < 1, where(experts > 0, 1, share), 1)


@law
def product_fill(rows, columns, units=1, tile_rows=..., tile_columns=...):
    """Share of a card's units that a product's tiles keep busy (ratio): tiles at the edges and the last wave are not full.

    NVIDIA, Matrix multiplication background user's guide, tile and wave quantization. Fewer tiles than units are split along
    the inner dimension instead: stream-K, Osama et al. 2023 (arXiv 2301.03598). Few rows or columns get a tile of their size.
    """
    high, broad = minimum(tile_rows, rows), minimum(tile_columns, columns)
    tiles = ceil(rows / high) * ceil(columns / broad)
    edges = rows * columns / (tiles * high * broad)
    waves = tiles / (ceil(tiles / units) * units)
    return edges * where(tiles >= units, waves, 1)


@law
def capped_clock_share(tdp_watts, power_cap_watts):
    """Share of its clock that a card keeps under a power cap, at best (ratio): dynamic power falls with the clock's cube.

    Mudge 2001, Power: a first-class architectural design constraint (doi 10.1109/2.917539). Near the least voltage it falls
    with the clock alone.
    """
    return minimum(power_cap_watts / tdp_watts, 1) ** (1 / 3)
