"""The command that runs a served plan: the rows of data/engine_flags.csv as texts of an answer, and what they name of it.

The browser fills the same texts with the same facts: `known` and `roles` are printed as JavaScript (book/web/printed.py).
"""
import math
import shlex
from typing import Any

from ..core.arithmetic import ceil
from ..core.quantities import DEFAULTS, QUANTITIES
from ..rows import catalogue
from ..rows.tables import rows
from ..rows.texts import conditional, read_texts
from .answer import Answer
from .points import value_of

# A flag a line, as a shell takes it.
JOINT = " \\\n  "
# The two kinds of replica where prompts are read apart from the answers, and what each is to the cache that is sent.
ROLES = ("prefill", "decode")
_ROWS = list(rows("engine_flags").values())
# The engines, each with its version; the first is that of a case which names none.
ENGINES = {row["engine"].partition(" ")[0]: row["engine"] for row in _ROWS}
ENGINE = next(iter(ENGINES))
_HELD = read_texts("commands")
# What SkyPilot calls GPUs and clouds.
ACCELERATORS, CLOUDS = _HELD["accelerators"], _HELD["clouds"]
# The ranks that vLLM takes (vllm/config/lora.py of 0.33.0, MaxLoRARanks): an adapter is padded to the next.
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
# Bytes of a value of llama.cpp's cache in 8 bits: 32 share a scale of two bytes.
Q8_0 = 34 / 32


def _flags(engine):
    return [(row["when"], f"{row['flag']} {row['given']}".strip()) for row in _ROWS if row["engine"] == engine]


TEXTS: dict[str, Any] = conditional("commands", _HELD["texts"]) | {
    "engine": [(f"engine = {name}", title) for name, title in ENGINES.items()],
    **{f"command_{name}": _flags(title) for name, title in ENGINES.items()},
    "padded_rank": [*((f"lora_rank < {rank + 1}", f"{rank}") for rank in LORA_RANKS), ("", f"{LORA_RANKS[-1]}")],
    "image": f"vllm/vllm-openai:v{ENGINES['vLLM'].partition(' ')[2]}"}
# Weights that the engine converts by itself as it loads them need no other checkpoint.
TEXTS["run_weights"][-1:-1] = [(f"engine = {row['engine'].partition(' ')[0]} & {row['when']}", "") for row in _ROWS
                               if row["flag"] == "--quantization"]
PARTS = {**{f"command_{name}": JOINT for name in ENGINES}, "run_note": "", "trtllm_options": ","}
# What the texts name that is neither in a choice nor worked out below.
NAMES = ("memory_utilization", "cache_element_bytes", "cached_share", "drafted", "prompt_chunk", "batched_tokens", "mtp_layers",
         "attention_parallel", "pipeline_parallel", "weight_element_bytes", "max_context", "yarn_original", "yarn_context",
         "rope_theta", "max_loras", "lora_rank", "host_cache_bytes")


def digits(value: float) -> str:
    """A whole number without commas, for a command."""
    return f"{value:.0f}"


def shell(text: str) -> str:
    """A text as one word of a shell, which no command takes for a flag."""
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def hundredths(value: float) -> str:
    """A share for a command."""
    return f"{value:.2f}"


def grouped(value: float) -> str:
    """A whole number with a comma before each three digits, as a log has it."""
    return f"{value:,.0f}"


def indented(text: str) -> str:
    """Lines of a command where a block of YAML has them."""
    return text.replace("\n", "\n                ")


FORMS = {"indented": indented, "digits": digits, "grouped": grouped, "hundredths": hundredths, "shell": shell}


def known(answer: Answer, facts: dict[str, Any]) -> dict[str, Any]:
    """What the texts of a command name, from the facts of the best choice and its case."""
    case, model = answer.case, answer.case.rows["model"]
    held = {name: given(case, name) for name in NAMES if name not in facts}
    found: dict[str, Any] = {"mtp_layers": 0, "prompt_chunk": 0}
    found |= {name: value for name, value in held.items() if value is not None} | facts
    groups, degree = found.get("attention_parallel", 1), found.get("tensor_parallel", 1) * found.get("pipeline_parallel", 1)
    found |= {"engine": found.get("engine", ENGINE), "repository": model.get("repository") or facts["model"]}
    found |= {"native_format": model.get("native_format") or "BF16"}
    found |= {"stored_format": found.get("weight_format", found["native_format"])}
    found["stretched"] = int(found.get("max_context", 0) > model.get("max_context", math.inf))
    if found.get("yarn_original", 0) > 0:
        found["rope_factor"] = found["max_context"] / found["yarn_original"]
    found["vendor"] = catalogue.gpu(found["gpu"])["vendor"] if "gpu" in found else "none"
    found["accelerator"] = ACCELERATORS.get(found.get("gpu", ""), "none")
    found["cloud"] = CLOUDS.get(found.get("provider", ""), "none")
    found["placed"] = int("/" in found["repository"])
    found["native_bytes"] = catalogue.weight_format(found["native_format"])["weight_element_bytes"]
    if "host_cache_bytes" in found:
        found["host_cache_gb"] = max(math.floor(found["host_cache_bytes"] / 1e9), 1)
        found["host_cache_gib"] = max(math.floor(found["host_cache_bytes"] * degree / 2**30), 1)
    if "batch" in found:
        found["rank_batch"] = ceil(found["batch"] / groups)
        found["step_tokens"] = found["prompt_chunk"] + found["rank_batch"] * (1 + found.get("drafted", 0))
        found["groups_chunk"] = found["prompt_chunk"] * groups
        found["checked_tokens"] = 1 + found.get("drafted", 0)
    if "gpus_per_server" in found:
        found["local_groups"] = max(found["gpus_per_server"] // degree, 1)
        found["replica_servers"] = ceil(groups * degree / found["gpus_per_server"])
        found["attention_parallel"] = groups
    if "log_plan" in found:
        found["log_tokens"], found["log_length"] = math.floor(found["log_plan"]), math.floor(found["length_plan"])
        found["log_times"] = found["log_plan"] / found["length_plan"]
        found["pool_tokens"] = math.floor(found["log_plan"] / (Q8_0 if found.get("cache_element_bytes", 2) == 1 else 1))
    special = found.get("cache_element_bytes", 2) < 2 or any(
        found.get(name, 0) > 0 for name in ("drafted", "max_loras", "host_cache_bytes"))
    found["trtllm_config"] = int(groups > 1 or special or found.get("prefill_replicas", 0) > 0)
    return found


def held() -> list[str]:
    """The quantities that a command names of a case."""
    return [name for name in NAMES if name in QUANTITIES]


def given(case: Any, name: str) -> Any:
    """What the case has under a name, of itself or in a row, else what formulas take; None for nothing."""
    if name in case.inputs:
        return float(value_of(case, name))
    there = [row[name] for row in case.rows.values() if name in row]
    return float(there[0] if there else DEFAULTS[name].value) if there or name in DEFAULTS else None


def roles(found: dict[str, Any]) -> list[dict[str, Any]]:
    """The facts of each command: of one for all replicas, or of one for each of the two kinds."""
    if not found.get("prefill_replicas"):
        return [found]
    return [found | {"role": role} | ({"planned_replicas": found["prefill_replicas"]} if role == "prefill" else {})
            for role in ROLES]
