"""What data/measure.py runs on PyTorch: a small decoder with random weights, and one way to run each kind of experiment."""
import gc
import platform
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from gpucalc.rows import catalogue
from book.components import experiments as own

DTYPES = dict(BF16=torch.bfloat16, FP16=torch.float16, FP32=torch.float32, TF32=torch.float32, FP8=torch.float8_e4m3fn)
ROTARY_BASE = 10_000
# Short steps that one CUDA graph holds, so that starting it takes no part in their time.
IN_A_GRAPH = 20
# Width of a product and bytes of a copy that are taken for a processor's peaks.
PEAK_WIDTH, PEAK_BYTES = 1024, 2**28


# The model

def matrix(weight, rank: int = 0, packed: bool = False):
    """A product with a weight, and the tensors that are trained: the weight, or beside it, frozen, adapters of a rank.

    `packed` keeps the frozen weight in NF4 with double quantization (bitsandbytes).
    """
    product, trained = partial(F.linear, weight=weight), [weight] if weight.requires_grad else []
    if packed:
        import bitsandbytes as bnb
        held, state = bnb.functional.quantize_4bit(weight, quant_type="nf4", compress_statistics=True)
        product = partial(lambda held, state, x: bnb.matmul_4bit(x, held.t(), quant_state=state), held, state)
    if not rank:
        return product, trained
    down = torch.randn(rank, weight.shape[1], device=weight.device, dtype=weight.dtype).requires_grad_()
    up = torch.zeros(weight.shape[0], rank, device=weight.device, dtype=weight.dtype).requires_grad_()
    return lambda x: product(x) + F.linear(F.linear(x, down), up), [down, up]


class Model:
    """A decoder like Llama with random weights: RMSNorm, rotary positions, grouped heads, gated MLP. Sizes as in models.csv."""

    def __init__(self, size: dict[str, Any], place: dict[str, Any], full: bool = False, rank: int = 0, packed: bool = False):
        self.size, self.place, self.trained = size, place, []
        hidden, wide = size["hidden"], size["intermediate"]
        queries, keys = (size[heads] * size["head_dim"] for heads in ("heads", "kv_heads"))

        def weight(*shape):
            return torch.randn(*shape, **place).mul_(shape[-1] ** -0.5).requires_grad_(full)

        def product(columns, inner):
            made, trained = matrix(weight(columns, inner), rank, packed)
            self.trained += trained
            return made
        self.layers = [dict(
            q=product(queries, hidden), k=product(keys, hidden), v=product(keys, hidden), o=product(hidden, queries),
            gate=product(wide, hidden), up=product(wide, hidden), down=product(hidden, wide),
            norms=(weight(hidden), weight(hidden))) for _ in range(size["layers"])]
        self.norm, self.table = weight(hidden), weight(size["vocab"], hidden)
        self.head = self.table if size["tied_embeddings"] else weight(size["vocab"], hidden)
        if full:
            norms = [norm for layer in self.layers for norm in layer["norms"]]
            self.trained += [*norms, self.norm, self.table, *([] if size["tied_embeddings"] else [self.head])]

    def positions(self, tokens: int):
        """Cosine and signed sine by position, for heads whose halves turn into each other."""
        half = self.size["head_dim"] // 2
        turns = torch.arange(tokens)[:, None] * ROTARY_BASE ** (-torch.arange(half) / half)
        return (torch.cat([turns, turns], 1).cos().to(**self.place),
                torch.cat([-turns.sin(), turns.sin()], 1).to(**self.place))

    def cache(self, batch: int, tokens: int):
        """Keys and values of each layer."""
        shape = batch, self.size["kv_heads"], tokens, self.size["head_dim"]
        return [(torch.zeros(shape, **self.place), torch.zeros(shape, **self.place)) for _ in self.layers]

    def layer(self, x, layer, turns, cache=None, at: int = 0):
        """One layer; with a cache, the tokens of x stand in it from `at` on, and see all before them."""
        batch, tokens, hidden = x.shape
        cosine, sine = turns

        def heads(made):
            return made.view(batch, tokens, -1, self.size["head_dim"]).transpose(1, 2)

        def turn(made):
            return torch.addcmul(made * cosine, made.roll(self.size["head_dim"] // 2, -1), sine)
        normed = F.rms_norm(x, (hidden,), layer["norms"][0])
        q, k, v = turn(heads(layer["q"](normed))), turn(heads(layer["k"](normed))), heads(layer["v"](normed))
        if cache:
            for held, new in zip(cache, (k, v)):
                held[:, :, at:at + tokens] = new
            k, v = (held[:, :, :at + tokens] for held in cache)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=tokens > 1, enable_gqa=True)
        x = x + layer["o"](mixed.transpose(1, 2).reshape(batch, tokens, -1))
        normed = F.rms_norm(x, (hidden,), layer["norms"][1])
        return x + layer["down"](F.silu(layer["gate"](normed)) * layer["up"](normed))

    def loss(self, tokens, turns, recompute: bool):
        """Mean loss of the next token; `recompute` keeps each layer's input alone."""
        x = F.embedding(tokens, self.table)
        for layer in self.layers:
            x = checkpoint(self.layer, x, layer, turns, use_reentrant=False) if recompute else self.layer(x, layer, turns)
        logits = F.linear(F.rms_norm(x, x.shape[-1:], self.norm), self.head)
        return F.cross_entropy(logits.flatten(0, 1).float(), tokens.roll(-1, 1).flatten())

    def serve(self, tokens, turns, cache, at: int):
        """Logits of the last token of each sequence."""
        x = F.embedding(tokens, self.table)
        for layer, held in zip(self.layers, cache):
            x = self.layer(x, layer, turns, held, at)
        return F.linear(F.rms_norm(x[:, -1:], x.shape[-1:], self.norm), self.head)


# What runs

class Bench:
    """Runs experiments on a device and gives samples by law.

    Each kind has a method of its name, which gives a step to time and how many of them a CUDA graph holds, 0 for none.
    """

    def __init__(self, device: str, number: str, timer: Callable[..., list[float]]):
        self.device, self.is_gpu, self.timer = device, device == "cuda", timer
        self.place = dict(device=device, dtype=DTYPES[number])
        self.sync = torch.cuda.synchronize if self.is_gpu else lambda: None

    def __call__(self, experiment: own.Experiment) -> dict[str, list[float]]:
        self.empty()
        sizes = experiment.inputs
        if "model" in sizes:
            sizes = dict(catalogue.model(sizes["model"])) | sizes
        step, held = getattr(self, experiment.kind)(sizes, **experiment.how)
        taken = {next(iter(experiment.laws)): self.timed(step, held)}
        if experiment.kind == "training" and self.is_gpu:
            taken |= dict(peak_bytes=[torch.cuda.max_memory_allocated()], training_bytes=[torch.cuda.max_memory_reserved()])
        return taken

    def empty(self) -> None:
        """Gives back what earlier experiments left, and forgets their peaks."""
        gc.collect()
        if self.is_gpu:
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()

    def timed(self, step: Callable[[], Any], held: int = 0) -> list[float]:
        """Samples of a step; on a GPU out of a CUDA graph that holds some of them."""
        if not held or not self.is_gpu:
            return self.timer(step, self.sync)
        side = torch.cuda.Stream()
        with torch.cuda.stream(side):
            for _ in range(3):
                step()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            for _ in range(held):
                step()
        return [sample / held for sample in self.timer(graph.replay, self.sync)]

    def product(self, sizes, number):
        rows, inner, columns = sizes["rows"], sizes["inner"], sizes["columns"]
        a, b = (torch.randn(shape, device=self.device).to(DTYPES[number]) for shape in ((rows, inner), (columns, inner)))
        torch.set_float32_matmul_precision("high" if number == "TF32" else "highest")
        if number == "FP8":
            one = torch.ones((), device=self.device)
            return partial(torch._scaled_mm, a, b.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16,
                           use_fast_accum=True), IN_A_GRAPH
        return partial(torch.matmul, a, b.t(), out=a.new_empty(rows, columns)), IN_A_GRAPH

    def memory(self, sizes, size, name):
        source = torch.ones(size // 4, device=self.device)
        return source.sum if name == "read" else partial(torch.empty_like(source).copy_, source), IN_A_GRAPH

    def attention(self, sizes):
        q, k, v = (torch.randn(sizes["batch"], sizes[heads], sizes["prompt"], sizes["head_dim"], **self.place)
                   for heads in ("heads", "kv_heads", "kv_heads"))
        return partial(F.scaled_dot_product_attention, q, k, v, is_causal=True, enable_gqa=True), IN_A_GRAPH

    def launch(self, sizes, graph):
        one = torch.zeros(1, device=self.device)

        def step():
            for _ in range(sizes["kernels"]):
                one.add_(1)
        return step, int(graph)

    def decode(self, sizes):
        return self.served(sizes, 1, sizes["context"] - 1)

    def prefill(self, sizes):
        return self.served(sizes, sizes["prompt"], 0)

    def served(self, sizes, new, at):
        """A pass over `new` tokens of each sequence behind those `at` which the cache holds."""
        model = Model(sizes, self.place)
        tokens = torch.randint(sizes["vocab"], (sizes["batch"], new), device=self.device)
        turns, cache = [each[at:] for each in model.positions(at + new)], model.cache(sizes["batch"], at + new)
        return torch.no_grad()(lambda: model.serve(tokens, turns, cache, at)), 1

    def training(self, sizes, optimizer, packed):
        model = Model(sizes, self.place, not sizes["lora_rank"], sizes["lora_rank"], packed)
        tokens = torch.randint(sizes["vocab"], (sizes["micro_batch"], sizes["sequence"]), device=self.device)
        turns, updater = model.positions(sizes["sequence"]), self.optimizer(optimizer, model.trained)

        def step():
            model.loss(tokens, turns, sizes["recompute"] > 0).backward()
            updater.step()
            updater.zero_grad(set_to_none=True)
        step()    # makes the states of the optimizer
        self.empty()
        return step, 0

    @staticmethod
    def optimizer(name, tensors):
        if name == "adamw8bit":
            import bitsandbytes as bnb
            return bnb.optim.AdamW8bit(tensors)
        return dict(adamw=torch.optim.AdamW, sgd=torch.optim.SGD)[name](tensors, lr=1e-3, fused=True)

    def peaks(self) -> dict[str, float]:
        """FLOP/s of a large product, bandwidth of a large copy and time of the least operation, as they are reached here."""
        width = PEAK_WIDTH
        product, copy, launches = (min(self.timed(*made)) for made in (
            self.product(dict(rows=width, inner=width, columns=width), "FP32"), self.memory({}, PEAK_BYTES, "copy"),
            self.launch(dict(kernels=own.LAUNCHES), False)))
        return dict(peak_flops=2 * width**3 / product, bandwidth=2 * PEAK_BYTES / copy, kernel_seconds=launches / own.LAUNCHES)


def gpu_name() -> str | None:
    """What PyTorch calls the GPU, if there is one."""
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


def gpu_id() -> str:
    """The GPU's name for nvidia-smi, which may number them otherwise."""
    return f"GPU-{torch.cuda.get_device_properties(0).uuid}"


def surroundings() -> dict[str, str]:
    """What is the same in all rows: the machine, the GPU and the versions."""
    return dict(machine=f"{platform.system()} {platform.machine()}", gpu=gpu_name() or "none", torch=torch.__version__,
                cuda=torch.version.cuda or "")
