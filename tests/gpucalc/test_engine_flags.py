"""The command of a served plan: flags that the engine has, one word for each value, and the settings that the plan is about."""
import argparse
import itertools
import json
import re
import shlex
from pathlib import Path

import pytest

from gpucalc.decisions import answer_words, engine_flags
from gpucalc.decisions import answer as plan
from gpucalc.decisions.answer_words import fill
from gpucalc.rows import case_file
from gpucalc.rows.tables import rows

# Names of the options of `vllm serve` 0.33.0, read in vllm/engine/arg_utils.py of its wheel, the last in its pull request 44558, merged in
# 2026-06; those that take no value.
OPTIONS = {"--runner", "--tensor-parallel-size", "--pipeline-parallel-size", "--data-parallel-size", "--data-parallel-size-local",
           "--max-model-len", "--gpu-memory-utilization", "--max-num-seqs", "--max-num-batched-tokens", "--kv-cache-dtype",
           "--quantization", "--speculative-config", "--kv-transfer-config", "--data-parallel-address", "--nnodes", "--node-rank",
           "--master-addr", "--prefill-schedule-interval"}
SWITCHES = {"--enable-expert-parallel", "--enable-prefix-caching"}
# Values that its source lists: CacheDType and QuantizationMethods.
CACHES, METHODS = {"auto", "fp8", "nvfp4"}, {"fp8_per_tensor", "fp8_per_block", "mxfp8", "mxfp4"}
NAMES = ["openai/gpt-oss-120b", "my model", "a'b", "--config=evil", "$(touch x)", "`id`; rm -rf ~", "a\\b", "émile", "a&&b|c>d"]
ONE = {"repository": "openai/gpt-oss-120b", "native_format": "MXFP4", "weight_format": "MXFP4", "tensor_parallel": 1, "batch": 256,
       "rank_batch": 256, "batched_tokens": 8192, "cache_element_bytes": 2, "mtp_layers": 0, "prompt_chunk": 0}
WIDE = ONE | {"repository": "deepseek-ai/DeepSeek-V3", "native_format": "FP8-block", "weight_format": "FP8-block",
              "attention_parallel": 16, "local_groups": 8, "pipeline_parallel": 2, "tensor_parallel": 2,
              "replica_servers": 2, "cache_element_bytes": 1, "drafted": 1, "mtp_layers": 1, "cached_share": 0.5, "prompt_chunk": 2048,
              "step_tokens": 2304}
PLANS = [ONE, WIDE, ONE | {"kind": "embed"}, WIDE | {"role": "prefill"}, WIDE | {"role": "decode"},
         ONE | {"weight_format": "NVFP4", "cache_element_bytes": 0.5625, "drafted": 4},
         *(ONE | {"native_format": "BF16", "native_bytes": 2, "weight_format": name} for name in ("FP8", "FP8-block", "MXFP8", "MXFP4", "Q4_K")),
         *(ONE | {"repository": name} for name in NAMES)]


def words_of(facts):
    """The words of a command as a shell splits it."""
    return shlex.split(fill("command", {"kind": "serve", "memory_utilization": 0.9} | facts).replace("\\\n", " "))


def test_every_flag_is_one_of_the_engine():
    named = {row["flag"] for row in rows("engine_flags").values()} - {"vllm serve"}
    assert named == OPTIONS | SWITCHES
    assert {row["engine"] for row in rows("engine_flags").values()} == {"vLLM 0.33.0"}
    given = {flag: {row["given"] for row in rows("engine_flags").values() if row["flag"] == flag} for flag in named}
    assert given["--kv-cache-dtype"] <= CACHES and given["--quantization"] <= METHODS


@pytest.mark.parametrize("facts", PLANS)
def test_a_shell_and_a_parser_take_the_command(facts):
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("command", nargs=3)
    for name in OPTIONS:
        parser.add_argument(name)
    for name in SWITCHES:
        parser.add_argument(name, action="store_true")
    found = parser.parse_args(words_of(facts))
    name = facts["repository"]
    assert found.command == ["vllm", "serve", f"./{name}" if name.startswith("-") else name]
    for config in (found.speculative_config, found.kv_transfer_config):
        assert config is None or json.loads(config)


def test_the_settings_of_a_plan_over_many_gpus():
    found = words_of(WIDE | {"role": "decode"})
    pairs = dict(itertools.pairwise(found))
    assert pairs["--tensor-parallel-size"] == "2" and pairs["--data-parallel-size"] == "16"
    assert pairs["--data-parallel-size-local"] == "8" and pairs["--max-num-batched-tokens"] == "2304"
    assert "--enable-expert-parallel" in found and pairs["--kv-cache-dtype"] == "fp8"
    assert json.loads(pairs["--speculative-config"]) == {"method": "mtp", "num_speculative_tokens": 1}
    assert json.loads(pairs["--kv-transfer-config"]) == {"kv_connector": "NixlConnector", "kv_role": "kv_consumer"}
    assert "--quantization" not in found


def test_a_replica_over_several_servers_names_the_first():
    """Groups join by their rank, an engine over servers by that of the server; one server has neither."""
    stages = ONE | {"planned_replicas": 1, "placed": 1, "tensor_parallel": 8, "pipeline_parallel": 2, "attention_parallel": 1, "replica_servers": 2}
    pairs = dict(itertools.pairwise(words_of(stages)))
    assert [pairs[f"--{name}"] for name in ("nnodes", "node-rank", "master-addr")] == ["2", "0", "HEAD"]
    assert "--data-parallel-address" not in pairs and "--headless and --node-rank 1, and so on." in fill("run_note", stages)
    groups = WIDE | {"planned_replicas": 1, "placed": 1}
    assert dict(itertools.pairwise(words_of(groups)))["--data-parallel-address"] == "HEAD" and "--nnodes" not in words_of(groups)
    assert "--data-parallel-start-rank 8, and so on in steps of 8." in fill("run_note", groups)
    assert "HEAD" not in words_of(stages | {"replica_servers": 1}) and "servers" not in fill("run_note", stages | {"replica_servers": 1})


def test_a_format_is_the_checkpoints_own_or_converted_or_asked_for():
    def noted(**facts):
        return fill("run_note", ONE | {"planned_replicas": 1} | facts)
    assert noted() == "" and "--quantization" not in words_of(ONE)
    assert noted(native_format="BF16", native_bytes=2, weight_format="FP8") == ""
    assert "--quantization fp8_per_tensor" in " ".join(words_of(ONE | {"native_format": "BF16", "native_bytes": 2, "weight_format": "FP8"}))
    assert noted(weight_format="NVFP4").startswith("Put a checkpoint in NVFP4 in place of openai/gpt-oss-120b")


def test_the_case_of_the_page_runs(book):
    case = case_file.read_case(Path(case_file.__file__).parents[2] / "data/cases/chat_70b.yaml")
    told = answer_words.told(found := plan.answer(case, book), book)
    [command] = told.commands
    assert command.text.startswith("vllm serve meta-llama/") and f"--max-num-seqs {found.best['batch']:.0f}" in command.text
    degree = re.search(r"--tensor-parallel-size (\d+)", command.text)
    assert int(degree[1] if degree else 1) == found.best["tensor_parallel"]


@pytest.mark.parametrize("name", ["grpo_32b", "deadline_7b"])
def test_a_job_that_trains_has_no_command(name, book):
    case = case_file.read_case(Path(case_file.__file__).parents[2] / f"data/cases/{name}.yaml")
    assert answer_words.told(plan.answer(case, book), book).commands == []


def test_replicas_of_two_kinds_have_a_command_each():
    both = engine_flags.roles({"planned_replicas": 4, "prefill_replicas": 6})
    assert [(each["role"], each["planned_replicas"]) for each in both] == [("prefill", 6), ("decode", 4)]


@pytest.mark.parametrize(("source", "place"), [
    ("Hugging Face Qwen/Qwen3-32B config.json", "Qwen/Qwen3-32B"),
    ("ai-dynamo/aiconfigurator aic-core/src/model_configs/Qwen--Qwen3-32B_config.json @095f58a", "Qwen/Qwen3-32B"),
    ("Hugging Face nvidia/Qwen3-32B-NVFP4 config.json", ""), ("Hugging Face Qwen/Qwen3-32B.5 config.json", ""), ("a talk", ""),
])
def test_where_a_model_is(source, place):
    """Another model's place, or another format's, is none of its own."""
    assert engine_flags.repository("Qwen3-32B", {"source": source, "native_format": "BF16"}) == place


def test_groups_take_prompts_in_the_same_passes():
    """As the formula has it where prompts ride; not where they take passes of their own or GPUs of their own, nor without groups."""
    def turned(facts):
        return "--prefill-schedule-interval" in words_of(facts)
    assert turned(WIDE) and words_of(WIDE)[words_of(WIDE).index("--prefill-schedule-interval") + 1] == "2"
    assert not turned(WIDE | {"prompt_chunk": 0}) and not turned(WIDE | {"role": "prefill"}) and not turned(WIDE | {"attention_parallel": 1})
