"""Own measurements on one GPU: what to run, what the formulas give for it before it runs, and how far off they were.

data/measure.py runs it. Every row names a law and its inputs, so that `Case.of(inputs)(law)` is its prediction.
"""
import csv
import json
from collections.abc import Iterable, Iterator
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple, TYPE_CHECKING

from gpucalc.core.evaluate import Case, close
from gpucalc.core.quantities import QUANTITIES
from gpucalc.rows import catalogue

if TYPE_CHECKING:
    from pandas import DataFrame

PREDICTION = ("id", "family", "law", "inputs", "predicted", "unit", "command", "date")
MEASUREMENT = ("id", "family", "law", "inputs", "value", "unit", "spread", "samples", "machine", "gpu", "driver", "torch", "cuda",
               "clock_mhz", "power_watts", "command", "date", "note")

# What PyTorch calls a GPU, where one SKU answers to it.
SKUS = {
    "Tesla P100-SXM2-16GB": "P100 SXM 16GB", "Tesla P100-PCIE-16GB": "P100 PCIe 16GB", "Tesla T4": "T4 16GB",
    "Tesla V100-SXM2-16GB": "V100 SXM 16GB", "Tesla V100-SXM2-32GB": "V100 SXM 32GB", "Tesla V100-PCIE-16GB": "V100 PCIe 16GB",
    "Tesla V100-PCIE-32GB": "V100 PCIe 32GB", "Quadro RTX 6000": "Quadro RTX 6000 24GB", "NVIDIA A10": "A10 24GB",
    "NVIDIA A10G": "A10G 24GB", "NVIDIA A40": "A40 48GB", "NVIDIA RTX A6000": "RTX A6000 48GB", "NVIDIA L4": "L4 24GB",
    "NVIDIA RTX 6000 Ada Generation": "RTX 6000 Ada 48GB", "NVIDIA L40": "L40 48GB", "NVIDIA L40S": "L40S 48GB",
    "NVIDIA A100-SXM4-40GB": "A100 SXM 40GB", "NVIDIA A100-SXM4-80GB": "A100 SXM 80GB", "NVIDIA A100-PCIE-40GB": "A100 PCIe 40GB",
    "NVIDIA A100 80GB PCIe": "A100 PCIe 80GB", "NVIDIA H100 80GB HBM3": "H100 SXM 80GB", "NVIDIA H100 PCIe": "H100 PCIe 80GB",
    "NVIDIA H100 NVL": "H100 NVL 94GB", "NVIDIA H200": "H200 SXM 141GB", "NVIDIA H200 NVL": "H200 NVL 141GB",
    "NVIDIA B200": "B200 SXM 180GB", "NVIDIA GB200": "GB200 NVL72 186GB", "NVIDIA GeForce GTX 1080": "GTX 1080 8GB",
    "NVIDIA GeForce RTX 2080 Ti": "RTX 2080 Ti 11GB", "NVIDIA GeForce RTX 3090": "RTX 3090 24GB",
    "NVIDIA GeForce RTX 4090": "RTX 4090 24GB", "NVIDIA GeForce RTX 5090": "RTX 5090 32GB"}

WIDTHS = {"BF16": 2, "FP16": 2, "FP32": 4, "TF32": 4, "FP8": 1}
# One GPU sends nothing; the formula of a step asks for links all the same.
ALONE = dict.fromkeys(("link_bandwidth", "network_bandwidth", "port_bandwidth", "beyond_bandwidth"), 1e9) | dict.fromkeys(
    ("group_ports", "peer_ports", "reach"), 1)
# The script's own kernels in a layer beside the products: 2 norms, 6 for rotary positions, 2 writes to the cache, attention,
# the activation function and its product with the gate, 2 residual sums.
KERNELS_PER_LAYER = 15
LAUNCHES = 1000
LORA_RANK = 16
ADAPTED = ("adapt_query", "adapt_key", "adapt_value", "adapt_output", "adapt_mlp")
# Bytes of optimizer state over those of a weight; 8 bits have one FP32 constant for 256 values (data/recipes.csv, adamw-8bit).
OPTIMIZERS = {"adamw": lambda width: 2 * width, "sgd": lambda width: 0, "adamw8bit": lambda width: 2 * (1 + 4 / 256)}
NF4_BYTES = (4 + 8 / 64 + 32 / (64 * 256)) / 8    # with double quantization (QLoRA, arXiv 2305.14314, section 3)

_TINY = dict(layers=2, hidden=64, heads=4, kv_heads=2, head_dim=16, intermediate=192, vocab=512, tied_embeddings=0, gated_mlp=1,
             moe_params=0)
# Of each list the first two are the quick run. Products: rows, inner, columns. Attention: lengths, of `tokens` in all. Training:
# model, optimizer and adapters, micro-batch, sequence, recompute. Decode: model, batch, context. Prefill: model, prompt.
_SMALL, _LARGE = "Llama-3.2-1B", "Llama-3-8B"
_GPU = dict(
    products=[(4096,) * 3, (16, 4096, 14336), (8192,) * 3, (2048,) * 3, (1024,) * 3, (1, 4096, 14336), (128, 4096, 14336),
              (1024, 4096, 14336), (4096, 14336, 4096), (16384, 4096, 14336)],
    moved=[2**30, 2**32, 2**28], heads=dict(heads=32, kv_heads=8, head_dim=128), tokens=16384,
    lengths=[2048, 8192, 512, 1024, 4096, 16384],
    training=[(_SMALL, "adamw", 1, 2048, 0), (_SMALL, "adamw lora", 1, 2048, 2), (_SMALL, "adamw", 4, 2048, 0),
              (_SMALL, "adamw", 1, 8192, 0), (_SMALL, "adamw", 4, 2048, 2), (_SMALL, "adamw", 1, 8192, 2),
              (_SMALL, "sgd", 1, 2048, 0), (_SMALL, "adamw8bit", 1, 2048, 0), (_LARGE, "adamw lora", 1, 2048, 0),
              (_LARGE, "adamw lora", 1, 8192, 2), (_LARGE, "adamw qlora", 1, 2048, 0), (_LARGE, "adamw qlora", 4, 2048, 2),
              (_LARGE, "adamw", 1, 2048, 2)],
    decode=[(_SMALL, 1, 1024), (_LARGE, 16, 1024), (_LARGE, 1, 1024), (_LARGE, 64, 1024), (_LARGE, 16, 8192), (_LARGE, 1, 32768),
            (_SMALL, 128, 1024), (_SMALL, 16, 8192)],
    prefill=[(_SMALL, 1024), (_LARGE, 4096), (_LARGE, 512), (_LARGE, 16384), (_SMALL, 8192)])
_CPU = dict(
    products=[(256,) * 3, (1, 512, 512), (512,) * 3, (1024,) * 3], moved=[2**28, 2**27],
    heads=dict(heads=4, kv_heads=2, head_dim=16), tokens=512, lengths=[128, 512],
    training=[("tiny", "adamw", 2, 64, 0), ("tiny", "adamw lora", 2, 64, 2), ("tiny", "sgd", 2, 64, 0),
              ("tiny", "adamw", 2, 64, 2), ("tiny", "adamw8bit", 2, 64, 0), ("tiny", "adamw qlora", 2, 64, 0)],
    decode=[("tiny", 1, 64), ("tiny", 8, 128)], prefill=[("tiny", 64), ("tiny", 256)])


class Card(NamedTuple):
    """What is measured: its inputs in a case, the format that models run in, FLOP/s by format of products, and if it is a GPU."""

    inputs: dict[str, Any]
    number: str
    peaks: dict[str, float]
    is_gpu: bool = True


class Experiment(NamedTuple):
    """One thing to run: `kind` says what, `inputs` how large, in the book's names, `how` what these do not say.

    Each of `laws` is a figure to measure, with inputs that it has for itself.
    """

    id: str
    family: str
    kind: str
    inputs: dict[str, Any]
    how: dict[str, Any]
    laws: dict[str, dict[str, Any]]

    def rows(self) -> Iterator[dict[str, str]]:
        """The rows that it fills, one a law."""
        for law, own in self.laws.items():
            yield dict(id=f"{self.id}-{law}", family=f"{self.family}: {law}" if len(self.laws) > 1 else self.family, law=law,
                       inputs=json.dumps(self.inputs | own), unit=QUANTITIES[law].unit)


def sku(name: str) -> str:
    """The SKU of what PyTorch calls a GPU. Raises ValueError for one that is not known: nothing is guessed."""
    if name not in SKUS:
        raise ValueError(f"{name}: no GPU known by that name; give --gpu with its SKU in data/gpus.csv, or --peak-flops and "
                         f"--bandwidth{close(name, SKUS)}")
    return SKUS[name]


def known_card(gpu: str) -> Card:
    """A GPU of data/gpus.csv, with the shares of its peaks that benchmarks reach."""
    row = catalogue.gpu(gpu)
    columns = {row.peak_format: "peak_flops", "FP32": "fp32_flops", "TF32": "tf32_flops", "FP8": "fp8_flops"}
    peaks = {number: row[column] for number, column in columns.items() if row[column] == row[column]}
    return Card({"gpu": gpu, "efficiency": "achieved"}, row.peak_format, peaks)


def given_card(peak_flops: float, bandwidth: float, kernel_seconds: float = 0, units: int = 1, number: str = "FP32",
               is_gpu: bool = False) -> Card:
    """A processor by its peaks, which are taken to be reached."""
    reached = dict(peak_flops=peak_flops, narrow_flops=peak_flops, bandwidth=bandwidth, kernel_seconds=kernel_seconds,
                   units=units)
    return Card(reached, number, {number: peak_flops}, is_gpu)


def experiments(card: Card, quick: bool = False) -> list[Experiment]:
    """What to run on a card, one of each kind in turn, so that a run cut short has some of each."""
    sizes = _GPU if card.is_gpu else _CPU
    if quick:
        sizes = {name: held[:2] if isinstance(held, list) else held for name, held in sizes.items()}
    kinds = (_products, _memory, _attention, _launches, _training, _decode, _prefill)
    return [each for each in chain.from_iterable(zip_longest(*(kind(card, sizes) for kind in kinds))) if each]


def rows(experiments: Iterable[Experiment]) -> Iterator[dict[str, str]]:
    """All rows that they fill."""
    return chain.from_iterable(each.rows() for each in experiments)


def _products(card, sizes):
    for shape in sizes["products"]:
        for number, peak in card.peaks.items():
            rows, inner, columns = shape
            inputs = card.inputs | dict(rows=rows, inner=inner, columns=columns, element_bytes=WIDTHS[number], peak_flops=peak)
            if number == "FP8":    # comes out in 16 bits
                inputs |= dict(narrow_products=1, matmul_bytes=rows * inner + inner * columns + 2 * rows * columns)
            yield Experiment(f"product-{number}-{rows}x{inner}x{columns}", f"matrix product, {number}", "product", inputs,
                             dict(number=number), {"matmul_seconds": {}})


def _memory(card, sizes):
    for size in sizes["moved"]:
        for name, passes in (("copy", 2), ("read", 1)):
            inputs = card.inputs | dict(operator_flops=0, operator_bytes=passes * size, kernels=1)
            yield Experiment(f"memory-{name}-{size}", f"memory, {name}", "memory", inputs, dict(size=size, name=name),
                             {"operator_seconds": {}})


def _attention(card, sizes):
    heads, width = sizes["heads"], WIDTHS[card.number]
    share = {"compute_efficiency": catalogue.gpu(card.inputs["gpu"]).attention_share} if "gpu" in card.inputs else {}
    for length in sizes["lengths"]:
        batch = sizes["tokens"] // length
        inputs = card.inputs | share | heads | dict(
            layers=1, batch=batch, prompt=length, context=length, tokens=batch * length, causal=1, kernels=1,
            moved_values=2 * heads["heads"] * heads["head_dim"], activation_element_bytes=width, cache_element_bytes=width,
            pairs={"law": "prefill_pairs"}, pair_flops={"law": "prefill_pair_flops"},
            operator_flops={"law": "attention_flops"}, operator_bytes={"law": "attention_bytes"})
        yield Experiment(f"attention-{batch}x{length}", "attention, causal, grouped heads", "attention", inputs, {},
                         {"operator_seconds": {}})


def _launches(card, sizes):
    for name in ("eager", "graph")[:1 + card.is_gpu]:
        inputs = card.inputs | dict(operator_flops=0, operator_bytes=8 * LAUNCHES, kernels=LAUNCHES)
        yield Experiment(f"launch-{name}", f"least time of {LAUNCHES} kernels, {name}", "launch", inputs,
                         dict(graph=name == "graph"), {"operator_seconds": {}})


def _architecture(model):
    return _TINY if model == "tiny" else {"model": model}


def _training(card, sizes):
    width = WIDTHS[card.number]
    for model, recipe, micro_batch, sequence, recompute in sizes["training"]:
        optimizer, _, adapters = recipe.partition(" ")
        state = OPTIMIZERS[optimizer](width)
        trained = dict(
            weight_element_bytes=width, gradient_element_bytes=width, master_element_bytes=0, optimizer_element_bytes=state,
            embedding_optimizer_element_bytes=state, kept_element_bytes=width, frozen_element_bytes=0, lora_rank=0)
        trained |= dict.fromkeys(ADAPTED, 1 if adapters else 0)
        if adapters:
            trained |= dict(lora_rank=LORA_RANK, frozen_element_bytes=NF4_BYTES if adapters == "qlora" else width)
        # The loss takes an FP32 copy of narrower logits, their log-softmax and their gradient.
        inputs = card.inputs | ALONE | _architecture(model) | trained | dict(
            activation_element_bytes=width, logit_element_bytes=width, loss_element_bytes=12 if width < 4 else 8,
            micro_batch=micro_batch, sequence=sequence, micro_batches=1, recompute=recompute, flash_attention=1, fusion=1,
            persistent_gradients=0)
        yield Experiment(f"training-{model}-{recipe.replace(' ', '-')}-{micro_batch}x{sequence}-recompute{recompute}",
                         f"training, {recipe}", "training", inputs, dict(optimizer=optimizer, packed=adapters == "qlora"),
                         {"step_seconds": {}, "peak_bytes": {}, "training_bytes": {"framework_bytes": 0}})


def _served(card, model, **sizes):
    widths = dict.fromkeys(("weight_element_bytes", "cache_element_bytes", "activation_element_bytes"), WIDTHS[card.number])
    return card.inputs | _architecture(model) | sizes | widths | dict(kernels_per_layer=KERNELS_PER_LAYER, host_seconds=0)


def _decode(card, sizes):
    for model, batch, context in sizes["decode"]:
        yield Experiment(f"decode-{model}-{batch}x{context}", "decode", "decode",
                         _served(card, model, batch=batch, context=context), {}, {"decode_seconds": {}})


def _prefill(card, sizes):
    for model, prompt in sizes["prefill"]:
        yield Experiment(f"prefill-{model}-{prompt}", "prefill", "prefill", _served(card, model, batch=1, prompt=prompt), {},
                         {"prefill_seconds": {}})


def predicted(row: dict[str, Any]) -> float:
    """What the formulas of today give for a row."""
    return float(Case.of(json.loads(row["inputs"]))(row["law"]))


def read(path: str | Path, columns: Iterable[str]) -> "DataFrame":
    """A file of predictions or measurements by id. Raises ValueError for other columns and for an id that is there twice."""
    from pandas import DataFrame
    try:
        with open(path, newline="", encoding="utf-8") as file:
            table = csv.DictReader(file)
            rows = list(table)
    except OSError as error:
        raise ValueError(f"{path}: {error.strerror}") from None
    if tuple(table.fieldnames or ()) != tuple(columns):
        raise ValueError(f"{path}: has the columns {', '.join(table.fieldnames or ())}; allowed: {', '.join(columns)}")
    frame = DataFrame(rows, columns=list(columns)).set_index("id")
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        raise ValueError(f"{path}: id {twice[0]!r} is there twice")
    return frame


def compared(measurements: str | Path, predictions: str | Path | None = None) -> "DataFrame":
    """Measured rows with what was `predicted` and its `error`, predicted over measured less 1.

    Predictions are those of a file that was written before, or of today's formulas. Raises ValueError where that file lacks
    a row or was made for other inputs.
    """
    frame = read(measurements, MEASUREMENT)
    frame = frame[frame["value"] != ""].astype({"value": float})
    if predictions is None:
        frame["predicted"] = [predicted(row) for row in frame.to_dict("records")]
    else:
        before = read(predictions, PREDICTION)
        for row in frame.reset_index().to_dict("records"):
            if row["id"] not in before.index:
                raise ValueError(f"{predictions}: has no prediction of {row['id']!r}")
            if json.loads(before["inputs"][row["id"]]) != json.loads(row["inputs"]):
                raise ValueError(f"{predictions}: {row['id']!r} was predicted for other inputs")
        frame["predicted"] = before["predicted"].reindex(frame.index).astype(float)
    return frame.assign(error=frame["predicted"] / frame["value"] - 1)


def by_family(frame: "DataFrame") -> "DataFrame":
    """How far off the predictions are, by family: figures, median of the error without and with its sign, and its extremes."""
    errors = frame["error"].groupby(frame["family"], sort=False)
    return errors.agg(figures="size", median_size=lambda each: each.abs().median(), median="median", least="min", most="max")
