"""The files that run a plan elsewhere, each against the schema of its own program; tests/gpucalc/schemas says from where."""
import json
import textwrap
from pathlib import Path

import jsonschema
import pytest
import yaml

from gpucalc import cli_decide
from gpucalc.decisions import answer_words, engine_flags, decide as deciding
from gpucalc.rows import case_file
from gpucalc.rows.tables import rows

SCHEMAS = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in (Path(__file__).parent / "schemas").glob("*.json")}
SERVE = {"job": "serve", "requests_per_second": 2, "first_token_limit": 60, "token_limit": 0.5}
WIDE = SERVE | {"model": "Llama-3.3-70B", "tensor_parallel": 4, "cards": "H100 SXM 80GB", "provider": "Lambda"}
CASES = {"wide": WIDE, "spot": SERVE | {"model": "Llama-3-8B", "cards": "A100 SXM 40GB", "provider": "GCP", "term": "spot"},
         "stretched": SERVE | {"model": "Qwen3-32B", "prompt": 90_000, "max_context": 131_072, "cards": "B200 SXM 180GB"},
         "unnamed": SERVE | {"model": "Llama-3-8B", "cards": "RTX A6000 48GB", "provider": "Hyperstack"},
         "vector": {"job": "embed", "model": "Qwen3-8B", "window_requests": 1e6, "cards": "L4 24GB"}}


DONE: dict = {}


def command_of(held, book):
    key = json.dumps(held)
    DONE[key] = DONE.get(key) or commands(held, book)
    return DONE[key]


def commands(held, book):
    return answer_words.commands(found := deciding.answered(case_file.case_of(held), book), answer_words.facts(found, book))


def valid(name, held):
    schema = SCHEMAS["skypilot"] if name == "sky" else SCHEMAS[name]
    parts = [(held, schema["task"]), (held["resources"], schema["resources"]), (held["service"], schema["service"])] if name == "sky" else [(held, schema)]
    for part, wanted in parts:
        jsonschema.validators.validator_for(wanted, jsonschema.Draft202012Validator)(wanted).validate(part)
    return held


def read(held, book):
    [command] = command_of(held, book)
    return command, {each.title.removesuffix(".yaml"): valid(each.title.removesuffix(".yaml"), yaml.safe_load(each.text)) for each in command.files}


@pytest.mark.parametrize("name", CASES)
def test_each_file_is_as_its_program_wants_it_and_runs_the_command(name, book):
    command, found = read(CASES[name], book)
    assert list(found) == [*answer_words.FILES]
    pod = found["kubernetes"]["spec"]["template"]["spec"]["containers"][0]
    service = found["compose"]["services"]["vllm"]
    ran = [service["command"][0], pod["args"][0], found["sky"]["run"]]
    assert [textwrap.dedent(each).strip() for each in ran] == [command.text] * 3
    gpus = service["deploy"]["resources"]["reservations"]["devices"][0]["count"]
    kind, many = found["sky"]["resources"]["accelerators"].split(":")
    assert gpus == pod["resources"]["limits"]["nvidia.com/gpu"] == int(many) and kind in engine_flags.ACCELERATORS.values()
    assert found["kubernetes"]["spec"]["replicas"] == found["sky"]["service"]["replicas"] >= 1
    assert {service["image"], pod["image"], found["sky"]["resources"]["image_id"].removeprefix("docker:")} == {"vllm/vllm-openai:v0.33.0"}


def test_they_name_the_offer_that_was_chosen(book):
    _, wide = read(WIDE, book)
    assert wide["sky"]["resources"]["accelerators"] == "H100:4" and wide["sky"]["resources"]["infra"] == "lambda"
    _, spot = read(CASES["spot"], book)
    assert spot["sky"]["resources"] | {"use_spot": True, "infra": "gcp"} == spot["sky"]["resources"]
    [command] = command_of(CASES["unnamed"], book)
    assert "SkyPilot has no name for Hyperstack" in command.files[2].text and "infra" not in yaml.safe_load(command.files[2].text)["resources"]


@pytest.mark.parametrize(("name", "change"), [
    ("compose", lambda held: held["services"]["vllm"].update(gpu=1)), ("compose", lambda held: held["services"]["vllm"].update(ports="8000")),
    ("kubernetes", lambda held: held["spec"].update(replica=1)), ("kubernetes", lambda held: held["spec"].update(replicas="7")),
    ("kubernetes", lambda held: held["spec"]["template"]["spec"]["containers"][0].pop("name")),
    ("sky", lambda held: held["resources"].update(infra="hyperstack")), ("sky", lambda held: held["resources"].update(gpus=1)),
    ("sky", lambda held: held["service"].update(replicas="7")), ("sky", lambda held: held.update(command="x"))])
def test_a_schema_refuses_what_its_program_does_not_take(name, change, book):
    held = read(WIDE, book)[1][name]
    change(held)
    with pytest.raises(jsonschema.ValidationError):
        valid(name, held)


@pytest.mark.parametrize("more", [{"engine": "SGLang"}, {"cards": "MI300X 192GB", "provider": "any"}, {"model": "Llama-3.1-405B", "tensor_parallel": 8, "pipeline_parallel": 2},
                                  {"model": "DeepSeek-V3", "prompts_apart": 1, "attention_parallel": 8, "tensor_parallel": 1, "cards": "H200 SXM 141GB"}])
def test_what_one_server_of_nvidia_does_not_run_has_none(more, book):
    found = command_of(WIDE | {"provider": "any"} | more, book)
    assert found and [command.files for command in found] == [[]] * len(found)


def test_cards_of_ones_own_have_no_cloud(book):
    [command] = command_of(SERVE | {"model": "Llama-3-8B", "cards": "H100 SXM 80GB", "own_cards": 2}, book)
    assert [each.title for each in command.files] == ["compose.yaml", "kubernetes.yaml"]


def test_every_gpu_that_is_named_is_one_of_the_data():
    gpus = rows("gpus")
    assert all(gpus[name]["vendor"] == "NVIDIA" for name in engine_flags.ACCELERATORS)
    allowed = SCHEMAS["skypilot"]["resources"]["properties"]["cloud"]["case_insensitive_enum"]
    assert set(engine_flags.CLOUDS.values()) <= set(allowed)


def test_the_command_writes_them(tmp_path, capsys):
    case = tmp_path / "case.yaml"
    case.write_text("".join(f"{name}: {value}\n" for name, value in WIDE.items()))
    assert cli_decide.main([str(case), "--files", str(tmp_path / "run")]) == 0
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["compose.yaml", "kubernetes.yaml", "sky.yaml"]
    assert capsys.readouterr().out.rstrip().endswith("run: compose.yaml, kubernetes.yaml, sky.yaml")
    case.write_text("".join(f"{name}: {value}\n" for name, value in (WIDE | {"engine": "SGLang"}).items()))
    assert cli_decide.main([str(case), "--files", str(tmp_path / "none")]) == 2
    assert capsys.readouterr().err.startswith("--files: no file runs this answer") and not (tmp_path / "none").exists()
