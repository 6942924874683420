"""The command of a served plan: flags that the engine has, one word for each value, and the settings that the plan is about."""
import argparse
import itertools
import json
import re
import shlex
from pathlib import Path
from types import SimpleNamespace

import pytest

from gpucalc.decisions import answer as plan, answer_words, engine_flags
from gpucalc.decisions.answer_words import fill
from gpucalc.rows import case_file
from gpucalc.rows.tables import rows

# What each engine's own parser takes for the options that commands have, read in its source: vllm/engine/arg_utils.py and
# vllm/config of the wheel 0.33.0; sglang/srt/arg_groups/fields of the wheel 0.5.23; tensorrt_llm/commands/serve.py at 00209af; the
# table that llama.cpp's parser prints into tools/server/README.md at 00dc805. Words are the choices of an option.
COUNT, SHARE, TEXT, NONE = int, float, str, None
PARSERS = {
    "vLLM": ({"--runner": "auto generate pooling draft", "--tensor-parallel-size": COUNT, "--pipeline-parallel-size": COUNT,
              "--data-parallel-size": COUNT, "--data-parallel-size-local": COUNT, "--data-parallel-address": TEXT, "--nnodes": COUNT,
              "--node-rank": COUNT, "--master-addr": TEXT, "--enable-expert-parallel": NONE, "--prefill-schedule-interval": COUNT, "--max-model-len": TEXT,
              "--hf-overrides": json.loads, "--gpu-memory-utilization": SHARE, "--max-num-seqs": COUNT,
              "--max-num-batched-tokens": COUNT, "--enable-prefix-caching": NONE, "--kv-offloading-size": COUNT, "--kv-cache-dtype": "auto fp8 nvfp4",
              "--quantization": "fp8_per_tensor fp8_per_block mxfp8 mxfp4", "--speculative-config": json.loads,
              "--kv-transfer-config": json.loads,
              "--enable-lora": NONE, "--max-loras": COUNT, "--max-lora-rank": "1 8 16 32 64 128 256 320 512"}, ["vllm", "serve", "{}"]),
    "SGLang": ({"--model-path": TEXT, "--is-embedding": NONE, "--tp-size": COUNT, "--pp-size": COUNT, "--attn-dp-size": COUNT,
                "--ep-size": COUNT, "--nnodes": COUNT, "--node-rank": COUNT, "--dist-init-addr": TEXT, "--context-length": COUNT,
                "--json-model-override-args": json.loads, "--mem-fraction-static": SHARE, "--max-running-requests": COUNT,
                "--chunked-prefill-size": COUNT, "--enable-mixed-chunk": NONE,
                "--enable-hierarchical-cache": NONE, "--hicache-size": COUNT,
                "--kv-cache-dtype": "auto bf16 bfloat16 fp8_e5m2 fp8_e4m3 mxfp8 nvfp4 fp4_mx_block16", "--quantization": "fp8 mxfp8",
                "--speculative-algorithm": "EAGLE EAGLE3 NEXTN STANDALONE NGRAM", "--speculative-draft-model-path": TEXT,
                "--speculative-num-steps": COUNT, "--speculative-eagle-topk": COUNT, "--speculative-num-draft-tokens": COUNT,
                "--disaggregation-mode": "null prefill decode",
                "--enable-lora": NONE, "--max-loras-per-batch": COUNT, "--max-lora-rank": COUNT}, ["python3", "-m", "sglang.launch_server"]),
    "TensorRT-LLM": ({"--tp_size": COUNT, "--pp_size": COUNT, "--ep_size": COUNT, "--gpus_per_node": COUNT, "--max_seq_len": COUNT,
                      "--max_batch_size": COUNT, "--max_num_tokens": COUNT, "--enable_chunked_prefill": NONE,
                      "--kv_cache_free_gpu_memory_fraction": SHARE, "--config": TEXT}, ["trtllm-serve", "{}"]),
    "llama.cpp": ({"--model": TEXT, "--embedding": NONE, "--n-gpu-layers": TEXT, "--split-mode": "none layer row tensor",
                   "--rpc": TEXT, "--ctx-size": COUNT, "--kv-unified": NONE, "--parallel": COUNT, "--batch-size": COUNT,
                   "--ubatch-size": COUNT, "--flash-attn": "on off auto",
                   "--cache-type-k": "f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1",
                   "--cache-type-v": "f32 f16 bf16 q8_0 q4_0 q4_1 iq4_nl q5_0 q5_1", "--rope-scaling": "none linear yarn",
                   "--rope-scale": SHARE, "--yarn-orig-ctx": COUNT, "--spec-type": "none draft-simple draft-eagle3 draft-mtp",
                   "--model-draft": TEXT, "--spec-draft-n-max": COUNT}, ["llama-server"]),
}
NAMES = ["openai/gpt-oss-120b", "my model", "a'b", "--config=evil", "$(touch x)", "`id`; rm -rf ~", "a\\b", "émile", "a&&b|c>d"]
ONE = {"engine": "vLLM", "stretched": 0, "repository": "openai/gpt-oss-120b", "native_format": "MXFP4", "weight_format": "MXFP4", "tensor_parallel": 1, "batch": 256,
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
    engine = facts.get("engine", "vLLM")
    shown = {"kind": "serve", "memory_utilization": 0.9, "stretched": 0, "engine": engine} | facts
    return shlex.split(fill(f"command_{engine}", shown).replace("\\\n", " "))


def parsed(engine, words):
    """The options of a command as the engine's parser takes them; what it can't take raises ValueError."""
    options, opening = PARSERS[engine]
    parser = argparse.ArgumentParser(allow_abbrev=False, exit_on_error=False)
    for name, takes in options.items():
        how = {"action": "store_true"} if takes is NONE else {"choices": takes.split()} if isinstance(takes, str) else {"type": takes}
        parser.add_argument(name, **how)
    try:
        first = words.index(opening[0])
        begun = words[first:first + len(opening)]
        found, left = parser.parse_known_args(words[first + len(opening):])
    except argparse.ArgumentError as fault:
        raise ValueError(str(fault)) from fault
    if left or any(own not in ("{}", word) for word, own in zip(begun, opening)):
        raise ValueError(f"{left or begun}: unknown")
    return begun, found


def test_every_flag_is_one_of_its_engine():
    held = [row | {"name": row["engine"].partition(" ")[0]} for row in rows("engine_flags").values()]
    kinds = {"count": COUNT, "share": SHARE, "text": TEXT, "length": TEXT, "json": json.loads, "none": NONE}
    for row in (each for each in held if each["takes"] != "command"):
        takes = PARSERS[row["name"]][0][row["flag"]]
        if row["takes"] in kinds:
            assert takes == kinds[row["takes"]] or isinstance(takes, str) and row["given"] in takes.split(), row
        else:
            assert row["takes"] == takes and (row["given"] in takes.split() or row["given"] in ("{role}", "{padded_rank:text}")), row
        assert (row["given"] == "") == (row["takes"] == "none"), row
    for name, (options, _) in PARSERS.items():
        assert {row["flag"] for row in held if row["name"] == name and row["takes"] != "command"} == set(options)
    assert list(engine_flags.ENGINES) == list(PARSERS) and set(rows("engines")) == set(PARSERS)


@pytest.mark.parametrize("words", [["vllm", "serve", "a/b", "--max-num-seq", "4"], ["vllm", "serve", "a/b", "--max-num-seqs", "x"],
                                   ["vllm", "serve", "a/b", "--kv-cache-dtype", "fp7"], ["vllm", "run", "a/b"],
                                   ["vllm", "serve", "a/b", "--hf-overrides", "{a}"]])
def test_a_parser_refuses_what_its_engine_does_not_take(words):
    with pytest.raises(ValueError, match=r"seq|invalid|unknown"):
        parsed("vLLM", words)


@pytest.mark.parametrize("facts", PLANS)
def test_a_shell_and_a_parser_take_the_command(facts):
    name = facts["repository"]
    assert parsed("vLLM", words_of(facts))[0] == ["vllm", "serve", f"./{name}" if name.startswith("-") else name]


@pytest.mark.parametrize("engine", PARSERS)
def test_the_printed_commands_of_served_cases_parse(engine, book):
    """Of one server and of several, with groups, stages, drafts, formats, chunks and a stretched context; as each engine's log."""
    told, asked = [], {"job": "serve", "requests_per_second": 2, "first_token_limit": 60, "token_limit": 0.5, "cards": "H100 SXM 80GB"}
    for more in ({"model": "Llama-3.3-70B", "weight_format": "FP8", "cache_element_bytes": 1, "prompt_chunk": 2048,
                  **({} if engine == "llama.cpp" else {"max_loras": 16, "lora_rank": 24})},
                 {"model": "Llama-3.1-405B", "tensor_parallel": 8, "pipeline_parallel": 2},
                 {"model": "DeepSeek-V3", "attention_parallel": 16, "tensor_parallel": 1, "drafted": 1, "acceptance": 0.8},
                 {"model": "Qwen3-32B", "prompt": 90_000, "max_context": 131_072, "cache_element_bytes": 0.5625, "cards": "B200 SXM 180GB"},
                 {"model": "Llama-3.3-70B", "turns": 20, "first_prompt": 2000, "turn_tokens": 500, "think_seconds": 60, "host_cache_bytes": 125e9},
                 {"model": "DeepSeek-V3", "prompts_apart": 1, "attention_parallel": 8, "tensor_parallel": 1, "cards": "H200 SXM 141GB"}):
        case = case_file.case_of(asked | more | {"engine": engine})
        told.append(answer_words.told(plan.answer(case, book), book))
        refused = engine == "llama.cpp" and "attention_parallel" in more
        assert bool(told[-1].commands) != refused, told[-1].headline
        for command in told[-1].commands:
            parsed(engine, shlex.split(command.text.replace("\\\n", " ")))
            assert "log s" in command.note and (engine == "llama.cpp" or more["model"].split("-")[0] in command.text)
        assert not refused or any("There is no command" in text for text in told[-1].cautions)
    flags = " ".join(command.text for each in told for command in each.commands)
    missing = [name for name in PARSERS[engine][0] if f"{name} " not in flags + " "]
    assert set(missing) <= {"--runner", "--is-embedding", "--embedding", "--enable-prefix-caching", "--quantization", "--spec-type",
                            "--speculative-draft-model-path", "--model-draft", "--spec-draft-n-max", "--speculative-config",
                            "--kv-transfer-config"}, missing


def test_vllm_takes_a_stretched_context_and_pads_adapters(book):
    """It refuses a length above the model's own, which YaRN leaves as it is (vllm/config/model.py), and ranks between its own."""
    asked = {"job": "serve", "requests_per_second": 2, "first_token_limit": 60, "token_limit": 0.5, "model": "Qwen3-32B", "prompt": 90_000,
             "max_context": 131_072, "cards": "B200 SXM 180GB", "max_loras": 4}
    for rank, padded in ((24, "32"), (64, "64"), (300, "320")):
        case = case_file.case_of(asked | {"lora_rank": rank})
        pairs = dict(itertools.pairwise(shlex.split(answer_words.told(plan.answer(case, book), book).commands[0].text.replace("\\\n", " "))))
        assert pairs["--max-lora-rank"] == padded and pairs["--max-model-len"] == "131072"
        held = json.loads(pairs["--hf-overrides"])
        assert held["max_position_embeddings"] == 131_072 and held["rope_parameters"]["rope_type"] == "yarn"


def test_host_memory_for_caches_is_given_as_each_engine_counts_it():
    """125e9 bytes a GPU: vLLM asks for all four of an engine, 500e9 / 2^30 = 465 GiB; SGLang for one, 125 GB; TensorRT-LLM for one in
    bytes, among the options of its file."""
    case = case_file.case_of({"job": "serve", "requests_per_second": 2, "model": "Llama-3.3-70B", "cards": "H100 SXM 80GB", "tensor_parallel": 4})
    for engine, flag, size in (("vLLM", "--kv-offloading-size", "465"), ("SGLang", "--hicache-size", "125")):
        found = engine_flags.known(SimpleNamespace(case=case), {"engine": engine, "host_cache_bytes": 125e9, "tensor_parallel": 4, "batch": 8, "model": "x"})
        assert dict(itertools.pairwise(words_of(found)))[flag] == size
    facts = {"engine": "TensorRT-LLM", "host_cache_bytes": 125e9, "tensor_parallel": 4, "batch": 8, "model": "x", "free_share_plan": 0.9}
    for width, more in ((2, {}), (1, {"dtype": "fp8"})):
        found = engine_flags.known(SimpleNamespace(case=case), facts | {"cache_element_bytes": width})
        options = json.loads(dict(itertools.pairwise(words_of(found)))["echo"])
        assert options["kv_cache_config"] == more | {"free_gpu_memory_fraction": 0.9, "host_cache_size": 125_000_000_000}


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


def test_where_a_model_is():
    """The version that answers, at its maker; a model that is not released has none."""
    held = {name: row["repository"] for name, row in rows("models").items()}
    assert held["Llama-3.3-70B"] == "meta-llama/Llama-3.3-70B-Instruct" and held["Qwen3-32B"] == "Qwen/Qwen3-32B"
    assert [name for name, place in held.items() if not re.fullmatch(r"[A-Za-z][\w-]*/[\w.-]+", place)] == ["GPT-3-175B"]
