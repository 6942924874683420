"""The command `gpucalc read-log`: what vLLM says of memory as it starts, beside the formulas, and what explains the gap.

The lines are those of vllm/worker/worker.py and model_runner.py (0.4 to 0.8), and of v1/worker/gpu_worker.py, gpu_model_runner.py
and v1/core/kv_cache_utils.py since. Each worker prints its own; the one with the least cache decides. What older versions call GB
are GiB too.
"""
import argparse
import csv
import io
import json
import os
import re
from pathlib import Path
from typing import Any

from .core.evaluate import Case, FINDERS
from .core.figures import number
from .core.quantities import DEFAULTS
from .rows import names
from .rows.ages import modified
from .rows.files import text
from .rows.texts import read_texts

GIB = 2**30
MOST_BYTES = 100_000_000
_G = r"\s*\(?([\d.]+) ?Gi?B"
# What a log says, by name: the patterns of its versions, newest first.
LINES: dict[str, list[str]] = {name: [pattern.replace("<G>", _G) for pattern in patterns]
                               for name, patterns in read_texts("engine_logs").items()}
TEXTS = ("version", "named", "cached_in", "stored_in")
# What an engine takes of what no line tells: tokens of a block, and the most sequences.
USUAL = {"max_sequences": 256, **{name: DEFAULTS[name].value for name in ("block_tokens", "framework_bytes")}}
# The parts of a GPU's memory, with the formula of each.
PARTS = {"weights": "gpu_weight_bytes", "peak": "profile_bytes", "room": "engine_room_bytes"}
HELD = ("weights", "peak", "beside")
SAID = {"weights": "weights", "peak": "activations of the trial run", "beside": "framework and all else",
        "room": "room for the cache"}


def heard(log: str) -> dict[str, Any]:
    """What the start lines of a log say, in SI units; what no line says is not there."""
    found: dict[str, Any] = {}
    for name, patterns in LINES.items():
        said = next((hits for pattern in patterns if (hits := re.findall(pattern, log))), [])
        if said and name in TEXTS:
            found[name] = said[0]
        elif said:
            found[name] = min(float(each.replace(",", "").rstrip(".")) for each in said[:1 if name != "room" else None])
    for name in {"memory", "weights", "consumed", "peak", "torch_peak", "beside", "room"} & {*found}:
        found[name] *= GIB
    if "torch_peak" in found and "weights" in found:
        found.setdefault("peak", max(found["torch_peak"] - found["weights"], 0))
    if "consumed" in found and "weights" in found:
        found.setdefault("beside", max(found["consumed"] - found["weights"], 0))
    if "blocks" in found:
        found.setdefault("tokens", found["blocks"] * found.get("block_tokens", USUAL["block_tokens"]))
    return found


def _case(found, given, path):
    """The case of the run: what the log says, under what is given. Raises ValueError for what is missing."""
    told = ("tensor_parallel", "pipeline_parallel", "memory_utilization", "batched_tokens", "max_sequences", "block_tokens")
    held: dict[str, Any] = {name: found[name] for name in told if name in found}
    held["context"] = found.get("max_context") or given.inputs.get("context")
    if held["context"] is None:
        raise ValueError(f"{path}: no line tells the longest request; allowed: with --context its tokens")
    if "model" not in given.rows:
        said = names.meant("model", Path(found.get("named", "")).name)
        if not said.sure:
            raise ValueError(f"{path}: its model is {found.get('named', 'not named')!r}; allowed: one of data/models.csv, or "
                             "with --model a name there, or the path of its config.json")
        held["model"] = said.names[0]
        held |= {"weight_format": said.stored} if said.stored else {}
    native = (given.rows.get("model") or FINDERS["model"](held["model"])).get("native_format") or "BF16"
    if native != "BF16":
        held.setdefault("weight_format", native)
    stored = found.get("stored_in", "None")
    if stored not in ("None", "auto") and "weight_format" not in given.rows | held.keys():
        raise ValueError(f"{path}: its weights are in {stored!r}; allowed: with --weight_format one of data/formats.csv")
    if found.get("cached_in", "auto").startswith("fp8"):
        held["cache_element_bytes"] = 1
    if "memory" in found:
        held["memory_bytes"] = found["memory"]
    elif "gpu" not in given.rows and "memory_bytes" not in given.inputs:
        raise ValueError(f"{path}: no line tells the memory of a GPU; allowed: with --gpu one of data/gpus.csv")
    # Without a limit on a pass, versions of before 0.8 read a whole prompt in it.
    return Case().but(**{"batched_tokens": held["context"], **USUAL} | held | given.rows | given.inputs)


def told(words: list[str], given: Case, options: argparse.Namespace) -> str:
    """The log beside the formulas. words: the path of the log. given: what the command line says of the run.

    Raises ValueError for a log without the lines that count, and naming what no line tells.
    """
    if len(words) != 1:
        raise ValueError("read-log takes the path of one log")
    path = words[0]
    found = heard(text(Path(path), MOST_BYTES))
    if not {"room", "tokens"} & {*found}:
        raise ValueError(f"{path}: no line tells the cache; allowed: a log of vLLM from its start on, with “GPU KV cache size”")
    case = _case(found, given, path)
    formula = {name: case(law) for name, law in PARTS.items()}
    formula["beside"] = case.inputs["framework_bytes"]
    counted = case if "room" not in found else case.but(engine_room_bytes=found["room"])
    tokens, times = counted("cache_tokens"), counted("concurrency")
    rows = [("", "log", "formula", "formula / log")]
    rows += [(SAID[name], *_beside(found.get(name), value, "byte")) for name, value in ((name, formula[name]) for name in SAID)]
    rows.append(("tokens of the cache, in the room of the log" if "room" in found else "tokens of the cache",
                 *_beside(found.get("tokens"), tokens, "token")))
    rows.append((f"sequences of {number(case.inputs['context'])} tokens", *_beside(found.get("times"), times, "")))
    measured = list(_rows(case, found, path))
    if options.json:
        predicted = formula | {"tokens": tokens, "times": times}
        return json.dumps({"log": found, "formula": predicted, "measurements": measured}, indent=2)
    from .cli import aligned
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(measured)
    version = found.get("version", "of a version that no line tells")
    return "\n".join([f"vLLM {version}, {case.rows['model'].name}", "", *aligned(rows), "", *_gap(found, formula), "",
                      "For data/measurements.csv:", out.getvalue().rstrip()])


def _beside(log, formula, unit):
    return ("" if log is None else number(log, unit), number(formula, unit), f"{formula / log:.3f}" if log else "")


def _gap(found, formula):
    """What explains the difference of the two rooms, the largest part first."""
    if "room" not in found:
        return ["The log does not tell the room for the cache in bytes."]
    missing = formula["room"] - found["room"]
    than = "more" if missing > 0 else "less"
    lines = [f"The formula leaves {number(abs(missing), 'byte')} {than} for the cache than the engine has."]
    parts = {name: found[name] - formula[name] for name in HELD if name in found}
    lines += [f"  {SAID[name]}: {number(abs(each), 'byte')} {'more' if each > 0 else 'less'} in the log"
              for name, each in sorted(parts.items(), key=lambda item: -abs(item[1])) if abs(each) > GIB / 200]
    rest = missing - sum(parts.values())
    if abs(rest) > GIB / 200:
        lacks = [SAID[name] for name in HELD if name not in found]
        lines.append(f"  {number(abs(rest), 'byte')} {'more' if rest > 0 else 'less'} is held by what the log does not tell apart"
                     + (f": {', '.join(lacks)}" if lacks else ", such as CUDA graphs, or rounding"))
    return lines


def _rows(case, found, path):
    """Rows of data/measurements.csv: the room, and the tokens in it."""
    model, version = case.rows["model"].name, found.get("version", "")
    name = re.sub(r"[^a-z0-9]+", "-", f"vllm {version} {model}".lower()).strip("-")
    held = {kind: row.name for kind, row in case.rows.items()} | case.inputs | {"engine_room_bytes": found.get("room")}
    if "beside" in found:
        held["framework_bytes"] = found["beside"]
    beside = ("memory_bytes", "memory_utilization", "framework_bytes", "max_sequences", "gpu", "weight_format")
    laws = {"room": ("engine_room_bytes", f"cache memory vLLM reserves for {model}", "byte", ("context", "engine_room_bytes")),
            "tokens": ("cache_tokens", f"tokens of {model} in vLLM's cache", "token", beside)}
    for part, (law, what, unit, without) in laws.items():
        if part in found and "room" in found:
            inputs = {each: value if isinstance(value, str) or value % 1 else int(value)
                      for each, value in held.items() if each not in without}
            yield [f"{name}-{part}", "kv_cache", "engine's count", "measured", what, law, json.dumps(inputs),
                   f"{found[part]:.12g}", unit, f"log {os.path.basename(path)}", modified(path), "seen",
                   f"vLLM {version}".strip()]
