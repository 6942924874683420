"""The picture of the page on quantization, a block of weights with its scales to scale, and what it makes faster."""
from gpucalc.core.evaluate import Case
from gpucalc.core.figures import exact, number, seconds
from gpucalc.laws.arithmetic_intensity import decode_seconds, prefill_seconds
from gpucalc.laws.quantization import stored_bits
from ..components.picture import Sheet
from ..components.show import table

# Bits in a row, so that one takes 3 units; rows that are drawn of a long block.
_ROW, _ROWS = 128, 6


def block_of_weights(stored):
    """The weights of one block and what they share, each as wide as its bits; a 16-bit weight above for comparison.

    stored: a row of data/formats.csv.
    """
    scale, bits, shared = 390 / _ROW, stored.value_bits, stored.block_bits or stored.superblock_bits
    size = stored.block if stored.block_bits else stored.superblock if shared else 1
    across = _ROW // bits
    drawn = min(size, across * _ROWS)
    rows = -(-drawn // across)
    twice = stored.block_bits and stored.superblock_bits
    sheet = Sheet(112 + 21 * rows + (18 if twice else 0))
    sheet.text(4, 14, "one weight in BF16: 16 bits").box(4, 20, 16 * scale, 18, "e")
    left = f", {exact(drawn, '')} of them drawn" if drawn < size else ""
    weights = f"{exact(size, '')} weights of {bits} bits" if size > 1 else f"one weight of {bits} bits"
    sheet.text(4, 57, weights + left)
    for place in range(drawn):
        x, y = 4 + place % across * bits * scale, 63 + 21 * (place // across)
        sheet.box(x, y, bits * scale - 1.5, 18, "a", round=2)
    y = 63 + 21 * rows
    if shared:
        sheet.box(4, y + 4, shared * scale, 18, "b").text(12 + shared * scale, y + 18, f"and {shared} bits that they share")
    total = f"{Case(stored)(stored_bits):.6g}"
    sheet.text(4, y + 45, f"together {total} bits a weight", bold=True)
    if twice:
        sheet.text(4, y + 63, f"with {stored.superblock_bits} bits more for each {exact(stored.superblock, '')}", color="soft")
    finding = f"{number(size)} weights share a scale, so one takes {total} bits" if shared else f"Each weight takes {total} bits"
    return sheet.picture(finding, f"A block of {stored.name}: {weights} and {shared} bits that they share, drawn to scale under "
                                  f"one BF16 weight of 16 bits. Together {total} bits a weight.")


# How the layers of a model are stored and computed: name -> format of the weights, and whether products run in FP8.
_STORED = {"BF16": ("BF16", 0), "FP8 weights": ("FP8", 0), "FP8 weights and products": ("FP8", 1),
           "INT4 weights": ("INT4-g128", 0)}
_PROMPT = 2048


def pass_table(model, gpu, caption):
    """Time of one decode step of one user, and of a prompt, by how weights are stored and products run; each with its range."""
    from pandas import DataFrame
    rows = []
    for name, (stored, narrow) in _STORED.items():
        one = Case(model=model, gpu=gpu, weight_format=stored, narrow_products=narrow, efficiency="achieved", batch=1,
                   context=_PROMPT, prompt=_PROMPT)
        rows.append({"stored": name} | {law.__name__: _ranged(one.band(law)) for law in (decode_seconds, prefill_seconds)})
    return table(DataFrame(rows), caption.format(gpu, _PROMPT),
                 labels={"stored": "layers in", "decode_seconds": "a token", "prefill_seconds": "the prompt"})


def _ranged(band):
    plan, low, high = map(seconds, (band.plan, band.low, band.high))
    unit = f" {plan.partition(' ')[2]}"
    return f"{plan} ({low.removesuffix(unit)} to {high.removesuffix(unit)})"
