"""The command that runs a served plan: the rows of data/engine_flags.csv as texts of an answer, and what they name of it.

The browser fills the same texts with the same facts: `known` and `roles` are printed as JavaScript (book/web/printed.py).
"""
import re
import shlex
from typing import Any

from ..core.arithmetic import ceil
from ..core.quantities import DEFAULTS, QUANTITIES
from ..rows import catalogue
from ..rows.tables import rows
from .answer import Answer
from .points import value_of

# A flag a line, as a shell takes it.
JOINT = " \\\n  "
# The two kinds of replica where prompts are read apart from the answers, and what each is to the cache that is sent.
ROLES = ("prefill", "decode")
_ROWS = rows("engine_flags").values()
_FLAGS = [(row["when"], f"{row['flag']} {row['given']}".strip()) for row in _ROWS]
# Weights that the engine converts by itself as it loads them.
_CONVERTED = [(row["when"], "") for row in _ROWS if row["flag"] == "--quantization"]
TEXTS: dict[str, Any] = {
    "engine": next(iter(_ROWS))["engine"],
    "command": _FLAGS,
    "run": [("planned_replicas = 1", "Run it with {engine:text}"), ("", "Run each replica with {engine:text}")],
    "run_prefill": "Run each prefill replica with {engine:text}",
    "run_decode": "Run each decode replica with {engine:text}",
    "run_note": [
        ("placed = 0", "Put the place of the weights, on Hugging Face or a folder, in place of {repository}. "),
        ("", "{run_weights:text}"),
        ("role known", " A proxy sends each request to a prefill replica first, then to a decode replica."),
        ("replica_servers > 1", " A replica takes {replica_servers} servers; HEAD is the address of the first. Start the others "
                                "with {others:text}."),
        ("planned_replicas > 1 & role unknown", " A load balancer shares requests out among the {planned_replicas} replicas."),
    ],
    "others": [
        ("attention_parallel > 1", "--headless and --data-parallel-start-rank {local_groups:digits}, and so on in steps of "
                                   "{local_groups:digits}"),
        ("", "--headless and --node-rank 1, and so on"),
    ],
    "run_weights": [
        ("weight_format unknown", ""), ("weight_format = @native_format", ""),
        ("weight_element_bytes = 2 & native_bytes = 2", ""), *_CONVERTED,
        ("", "Put a checkpoint in {weight_format} in place of {repository}: the engine takes the format from it, if it reads "
             "it."),
    ],
}
PARTS = {"command": JOINT, "run_note": ""}
# What the texts name that is neither in a choice nor worked out below.
NAMES = ("memory_utilization", "cache_element_bytes", "cached_share", "drafted", "prompt_chunk", "batched_tokens", "mtp_layers",
         "attention_parallel", "pipeline_parallel", "weight_element_bytes")
# As the source of a model's row spells its place on Hugging Face: owner/name, or owner--name in a file's name.
_PLACES = (r"Hugging Face ([\w.-]+/[\w.-]+)", r"/([A-Za-z][\w.-]*)--([\w.-]+?)[_/]config\.json")


def digits(value: float) -> str:
    """A whole number without commas, for a command."""
    return f"{value:.0f}"


def shell(text: str) -> str:
    """A text as one word of a shell, which no command takes for a flag."""
    return shlex.quote(f"./{text}" if text.startswith("-") else text)


def hundredths(value: float) -> str:
    """A share for a command."""
    return f"{value:.2f}"


FORMS = {"digits": digits, "hundredths": hundredths, "shell": shell}


def repository(name: str, row: dict[str, Any]) -> str:
    """The model on Hugging Face where the source of its row names it, in the format of the row; else nothing."""
    found = (re.search(place, str(row.get("source", ""))) for place in _PLACES)
    place = next(("/".join(each.groups()) for each in found if each), "")
    rest = _letters(place.partition("/")[2]).partition(_letters(name))
    own = _letters(row["native_format"]) if place else ""
    other = [stored for stored in map(_letters, rows("formats")) if stored in rest[2] and stored != own]
    return place if rest[1] and not rest[2][:1].isdigit() and not other else ""


def _letters(text):
    return re.sub(r"[\W_]", "", text).lower()


def known(answer: Answer, facts: dict[str, Any]) -> dict[str, Any]:
    """What the texts of a command name, from the facts of the best choice and its case."""
    case, model = answer.case, answer.case.rows["model"]
    held = {name: given(case, name) for name in NAMES if name not in facts}
    found: dict[str, Any] = {"mtp_layers": 0, "prompt_chunk": 0}
    found |= {name: value for name, value in held.items() if value is not None} | facts
    groups, degree = found.get("attention_parallel", 1), found.get("tensor_parallel", 1) * found.get("pipeline_parallel", 1)
    found |= {"repository": repository(facts["model"], model) or facts["model"]}
    found |= {"native_format": model.get("native_format") or "BF16"}
    found["placed"] = int("/" in found["repository"])
    found["native_bytes"] = catalogue.weight_format(found["native_format"])["weight_element_bytes"]
    if "batch" in found:
        found["rank_batch"] = ceil(found["batch"] / groups)
        found["step_tokens"] = found["prompt_chunk"] + found["rank_batch"] * (1 + found.get("drafted", 0))
    if "gpus_per_server" in found:
        found["local_groups"] = max(found["gpus_per_server"] // degree, 1)
        found["replica_servers"] = ceil(groups * degree / found["gpus_per_server"])
        found["attention_parallel"] = groups
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
