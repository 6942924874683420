"""Tables and accounts of the page on training memory: who divides what, jobs near the limit, the fewest cards that hold one."""
import math

from gpucalc.core.evaluate import Case
from gpucalc.laws import sharding, training_memory as tm
from gpucalc.rows import catalogue
from ..components.account import MOST_REPLICAS, fewest_to_train, fullest, gpus_per_replica, need, peak_terms
from ..components.memory_charts import in_bytes, spare, verdict
from ..components.show import Html, table

SPLITS: tuple[tuple[str, str, dict[str, int]], ...] = (
    ("one GPU", "–", {}), ("data parallel", "nothing", dict(data_parallel=8)),
    ("ZeRO-3", "state", dict(data_parallel=8, zero_stage=3)),
    ("tensor parallel", "matrices, heads, logits", dict(tensor_parallel=8)),
    ("tensor and sequence parallel", "and what was left whole", dict(tensor_parallel=8, sequence_parallel=1)),
    ("pipeline, first stage", "layers", dict(pipeline_parallel=8)),
    ("pipeline, last stage", "layers", dict(pipeline_parallel=8, last_stage=1)),
    ("two chunks, first stage", "layers", dict(pipeline_parallel=8, virtual_stages=2)),
    ("context parallel", "tokens", dict(context_parallel=8)),
    ("expert parallel", "experts", dict(data_parallel=8, expert_parallel=8)))
# QLoRA's abstract (arXiv 2305.14314) has the first; NVIDIA publishes the second, which is taken compiled.
_LLAMA_65B = dict(layers=80, hidden=8192, heads=64, kv_heads=64, head_dim=128, intermediate=22016, vocab=32000, gated_mlp=1,
                  expert_intermediate=0)
NEAR = {
    "QLoRA on a 65B, 512 tokens, paged states on the host": ("A40 48GB", dict(
        _LLAMA_65B, recipe="qlora", micro_batch=1, sequence=512, micro_batches=16, recompute=2, offload_optimizer=1)),
    "Llama 3.1 405B on 1,024 GPUs, BF16": ("H100 SXM 80GB", dict(
        model="Llama-3.1-405B", recipe="mixed-adamw", micro_batch=1, sequence=8192, micro_batches=192, flash_attention=1,
        fusion=2, tensor_parallel=8, sequence_parallel=1, pipeline_parallel=8, virtual_stages=8, context_parallel=2,
        data_parallel=8, zero_stage=1))}
SHOWN = ("RTX 4090 24GB", "A100 SXM 40GB", "L40S 48GB", "H100 SXM 80GB", "H200 SXM 141GB", "MI300X 192GB", "B300 SXM 288GB")


def split_table(case: Case, caption: str) -> Html:
    """What one GPU of eight holds under each of SPLITS that divides the model, with 16 micro-batches."""
    from pandas import DataFrame
    unsplit = case.but(**dict.fromkeys((*sharding.DEGREES, "zero_stage", "sequence_parallel")), micro_batches=16)
    sizes = case.rows["model"], case.inputs["sequence"]
    rows = [{"layout": layout, "divides": divides} | unsplit.but(**split).terms(tm.training_bytes)
            for layout, divides, split in SPLITS if _divides(*sizes, split)]
    found = DataFrame(rows).assign(loss=lambda frame: frame["logits_bytes"] + frame["loss_bytes"])
    return table(found[["layout", "divides", "resident_bytes", "activation_bytes", "loss", "training_bytes"]], caption,
                 labels={"resident_bytes": "state", "activation_bytes": "activations", "loss": "logits and loss",
                         "training_bytes": "all"}, formats={"loss": in_bytes})


def _divides(model, sequence, split):
    return all(rule[-1] for rule in sharding.layout_rules(model, sequence=sequence, **split))


def near_table(caption: str) -> Html:
    """The jobs of NEAR, which ran: what to plan for, its range, and the margin on their cards."""
    from pandas import DataFrame
    rows = []
    for job, (gpu, inputs) in NEAR.items():
        band, memory = need(Case.of(inputs)), catalogue.gpu(gpu).memory_bytes
        rows.append(dict(job=job, gpu=gpu, plan=band.plan, low=band.low, high=band.high, margin=spare(band.plan, memory),
                         verdict=verdict(band, memory)))
    return table(DataFrame(rows), caption, labels={"gpu": "GPU", "low": "8 in 10 from", "high": "to"},
                 formats=dict.fromkeys(("plan", "low", "high"), in_bytes))


def on_fewest(case: Case, gpu: str) -> tuple[dict, list[str]]:
    """Shares of each card's memory by term at the fewest that hold the plan value, or at the most tried; and those that do."""
    memories = catalogue.gpus()["memory_bytes"][list(dict.fromkeys((*SHOWN, gpu)))].sort_values(kind="stable")
    per_replica, accounts, holding = gpus_per_replica(case), {}, []
    for (name, memory), count in zip(memories.items(), fewest_to_train(case, memories)):
        replicas = min(count.plan / per_replica, most_replicas(case))
        label = f"{replicas * per_replica:,.0f} × {name}"
        terms = peak_terms(fullest(case.but(data_parallel=int(replicas))))
        accounts[label] = {term: value / memory for term, value in terms.items()}
        holding += [label] if count.plan < math.inf else []
    return accounts, holding


def most_replicas(case: Case) -> int:
    """The most replicas that are tried, which expert parallelism divides."""
    degree = case.inputs.get("expert_parallel", 1)
    return MOST_REPLICAS // degree * degree


def fewest_table(case: Case, caption: str, gpus: tuple = ("A100 SXM 80GB", "H200 SXM 141GB", "RTX 4090 24GB")) -> Html:
    """The fewest of each GPU that hold a job by the plan value, what to plan for on one of them, and the memory of all."""
    found = catalogue.gpus().loc[list(gpus), ["memory_bytes"]]
    found["count"] = [fewest.plan for fewest in fewest_to_train(case, found["memory_bytes"])]
    found["training_bytes"] = need(case.but(data_parallel=found["count"])).plan
    found["bought"] = found["memory_bytes"] * found["count"]
    return table(found.reset_index(), caption.format(case.inputs["sequence"]), formats={"bought": in_bytes},
                 labels={"memory_bytes": "memory", "count": "fewest", "training_bytes": "to plan for", "bought": "memory of all"})


def logit_table(case: Case, caption: str) -> Html:
    """The tensors as large as the logits that plain PyTorch holds as the loss runs backward, for a model and its tokens."""
    from pandas import DataFrame
    widths = {"logits": 2, "FP32 copy": 4, "log-softmax": 4, "gradient": 4,
              "together": 2 + tm.loss_bytes.defaults["loss_element_bytes"]}
    logits = case.inputs["micro_batch"] * case.inputs["sequence"] * case.rows["model"].vocab
    rows = [dict(tensor=name, logit_element_bytes=width, bytes=width * logits) for name, width in widths.items()]
    return table(DataFrame(rows), caption, labels={"logit_element_bytes": "bytes of one logit"}, formats={"bytes": in_bytes})
