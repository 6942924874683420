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


# The ranks that vLLM takes (vllm/config/lora.py of 0.33.0, MaxLoRARanks): an adapter is padded to the next.
LORA_RANKS = (1, 8, 16, 32, 64, 128, 256, 320, 512)
# Bytes of a value of llama.cpp's cache in 8 bits: 32 share a scale of two bytes.
Q8_0 = 34 / 32


# What SkyPilot calls GPUs, in its catalogs of vms.csv, and clouds, in sky/skylet/constants.py of its wheel 0.14.1.
ACCELERATORS = {
    "A10 24GB": "A10", "A10G 24GB": "A10G", "A100 SXM 40GB": "A100", "A100 SXM 80GB": "A100-80GB", "RTX A6000 48GB": "A6000",
    "B200 SXM 180GB": "B200", "B300 SXM 288GB": "B300", "GH200 96GB": "GH200", "H100 SXM 80GB": "H100", "H200 SXM 141GB": "H200",
    "L4 24GB": "L4", "L40 48GB": "L40", "L40S 48GB": "L40S", "RTX 6000 Ada 48GB": "RTX6000-Ada", "T4 16GB": "T4",
    "V100 SXM 16GB": "V100", "V100 SXM 32GB": "V100-32GB"}
CLOUDS = {"AWS": "aws", "Azure": "azure", "DigitalOcean": "do", "GCP": "gcp", "Lambda": "lambda", "Nebius": "nebius",
          "Oracle": "oci", "Prime Intellect": "primeintellect", "RunPod": "runpod", "Vast.ai": "vast", "Verda": "verda"}
# What runs the engine in a container.
IMAGE = f"vllm/vllm-openai:v{ENGINES['vLLM'].partition(' ')[2]}"


def _flags(engine):
    return [(row["when"], f"{row['flag']} {row['given']}".strip()) for row in _ROWS if row["engine"] == engine]


TEXTS: dict[str, Any] = {
    "engine": [(f"engine = {name}", title) for name, title in ENGINES.items()],
    **{f"command_{name}": _flags(title) for name, title in ENGINES.items()},
    "trtllm_options": [
        ("attention_parallel > 1", '"enable_attention_dp":true'),
        ("cache_element_bytes = 1", '"kv_cache_config":{"dtype":"fp8","free_gpu_memory_fraction":{free_share_plan:hundredths}}'),
        ("cache_element_bytes = 0.5625",
         '"kv_cache_config":{"dtype":"nvfp4","free_gpu_memory_fraction":{free_share_plan:hundredths}}'),
        ("drafted > 0 & mtp_layers > 0",
         '"speculative_config":{"decoding_type":"MTP","num_nextn_predict_layers":{drafted:digits}}'),
        ("drafted > 0 & mtp_layers = 0",
         '"speculative_config":{"decoding_type":"DraftTarget","max_draft_len":{drafted:digits},"speculative_model":"DRAFT"}'),
        ("max_loras > 0", '"lora_config":{"max_loras":{max_loras:digits},"max_lora_rank":{lora_rank:digits}}'),
        ("role known", '"cache_transceiver_config":{"backend":"DEFAULT"}'),
        ("role = prefill", '"disable_overlap_scheduler":true'),
    ],
    "padded_rank": [*((f"lora_rank < {rank + 1}", f"{rank}") for rank in LORA_RANKS), ("", f"{LORA_RANKS[-1]}")],
    "run": [("planned_replicas = 1", "Run it with {engine:text}"), ("", "Run each replica with {engine:text}")],
    "run_prefill": "Run each prefill replica with {engine:text}",
    "run_decode": "Run each decode replica with {engine:text}",
    "run_note": [
        ("placed = 0", "Put the place of the weights, on Hugging Face or a folder, in place of {repository}. "),
        ("", "{run_weights:text}"),
        ("stretched = 1", " {run_stretched:text}"),
        ("role known", " {run_roles:text}"),
        ("replica_servers > 1", " A replica takes {replica_servers} servers; {others:text}."),
        ("planned_replicas > 1 & role unknown", " A load balancer shares requests out among the {planned_replicas} replicas."),
        ("log_plan known", " {run_log:text}"),
    ],
    "others": [("engine = TensorRT-LLM", "HOSTS names them with their GPUs, as in one:{gpus_per_server:digits},"
                                         "two:{gpus_per_server:digits}"),
               ("engine = llama.cpp", "HOSTS are the others, as in two:50052, where rpc-server runs"),
               ("engine = SGLang", "HEAD is the address of the first. Start the others with --node-rank 1, and so on"),
               ("attention_parallel > 1", "HEAD is the address of the first. Start the others with --headless and "
                                          "--data-parallel-start-rank {local_groups:digits}, and so on in steps of "
                                          "{local_groups:digits}"),
               ("", "HEAD is the address of the first. Start the others with --headless and --node-rank 1, and so on")],
    "run_roles": [
        ("engine = TensorRT-LLM", "trtllm-serve disaggregated, with the addresses of both kinds, sends each request to a prefill "
                                  "replica first."),
        ("", "A proxy sends each request to a prefill replica first, then to a decode replica.")],
    "run_stretched": [
        ("yarn_original = 0", "No RoPE scaling of {model} is documented here: the model itself must take {max_context:tokens}."),
        ("max_context > @yarn_context", "{model} is documented with YaRN for {yarn_context:tokens}, not {max_context:tokens}."),
        ("engine = TensorRT-LLM", "Put YaRN with a factor of {rope_factor} over {yarn_original:tokens} into the config.json of "
                                  "the weights. It holds for short prompts too, which it may make worse."),
        ("", "YaRN holds for short prompts too, which it may make worse: its maker advises it for long ones alone."),
    ],
    "run_weights": [
        ("engine = llama.cpp", "MODEL.gguf is {repository} in {gguf:text}: convert_hf_to_gguf.py and llama-quantize make it."),
        ("weight_format unknown", ""), ("weight_format = @native_format", ""),
        ("weight_element_bytes = 2 & native_bytes = 2", ""),
        # Weights that the engine converts by itself as it loads them.
        *((f"engine = {row['engine'].partition(' ')[0]} & {row['when']}", "") for row in _ROWS
          if row["flag"] == "--quantization"),
        ("", "Put a checkpoint in {weight_format} in place of {repository}: the engine takes the format from it, if it reads "
             "it."),
    ],
    "gguf": [*((f"stored_format = {name}", "Q8_0") for name in ("FP8", "FP8-block", "MXFP8")),
             *((f"stored_format = {name}", "Q4_K_M") for name in ("INT4-g128", "INT4-g32", "NVFP4")), ("", "{stored_format}")],
    "run_log": [("engine = llama.cpp", 'Its log says "{pool_tokens:digits} cells".'),
                ("", "Its log should say {log_words:text}, {log_each:text}: in 8 of 10 cases from {log_low:tokens} to "
                     "{log_high:tokens}.")],
    "log_words": [
        ("engine = SGLang", '"max_total_num_tokens={log_tokens:digits}"'),
        ("engine = TensorRT-LLM", '"Allocated {room_plan:gib} for max tokens in paged KV cache ({log_tokens:digits})"'),
        ("", '"GPU KV cache size: {log_tokens:grouped} tokens" and "Maximum concurrency for {log_length:grouped} tokens per '
             'request: {log_times:hundredths}x"'),
    ],
    # One server holds a replica, all of one kind, on NVIDIA's GPUs: what else there is wants more than a file.
    "compose": [("engine = vLLM & replica_servers = 1 & role unknown & vendor = NVIDIA", f"""\
# One replica; the plan has {{planned_replicas:digits}}
services:
  vllm:
    image: {IMAGE}
    entrypoint: [bash, -c]
    command:
      - |
                {{command:indented}}
    environment: [HF_TOKEN]
    ports: ["8000:8000"]
    volumes: ["~/.cache/huggingface:/root/.cache/huggingface"]
    ipc: host
    restart: unless-stopped
    deploy:
      resources:
        reservations:
          devices:
            - driver: nvidia
              count: {{replica_gpus:digits}}
              capabilities: [gpu]
"""), ("", "")],
    "kubernetes": [("engine = vLLM & replica_servers = 1 & role unknown & vendor = NVIDIA", f"""\
apiVersion: apps/v1
kind: Deployment
metadata:
  name: vllm
spec:
  replicas: {{planned_replicas:digits}}
  selector:
    matchLabels:
      app: vllm
  template:
    metadata:
      labels:
        app: vllm
    spec:
      containers:
        - name: vllm
          image: {IMAGE}
          command: [bash, -c]
          args:
            - |
                {{command:indented}}
          env:
            - name: HF_TOKEN
              valueFrom:
                secretKeyRef:
                  name: hugging-face
                  key: token
                  optional: true
          ports:
            - containerPort: 8000
          readinessProbe:  # half an hour to load the weights
            httpGet:
              path: /health
              port: 8000
            periodSeconds: 10
            failureThreshold: 180
          resources:
            limits:
              nvidia.com/gpu: {{replica_gpus:digits}}
          volumeMounts:
            - name: shm
              mountPath: /dev/shm
      volumes:
        - name: shm
          emptyDir:
            medium: Memory
"""), ("", "")],
    # Cards of the reader's own, and those that nobody is known to rent out, have no provider.
    "sky": [("engine = vLLM & replica_servers = 1 & role unknown & accelerator != none & provider known", f"""\
# sky serve up sky.yaml
name: vllm
resources:
  accelerators: {{accelerator}}:{{replica_gpus:digits}}
{{sky_cloud:text}}{{sky_spot:text}}  ports: 8000
  image_id: docker:{IMAGE}
envs:
  HF_TOKEN: ""
service:
  readiness_probe: /health
  replicas: {{planned_replicas:digits}}
run: |
                {{command:indented}}
"""), ("", "")],
    "sky_cloud": [("cloud = none", "  # SkyPilot has no name for {provider}: it takes its cheapest cloud\n"),
                  ("", "  infra: {cloud}\n")],
    "sky_spot": [("term = spot", "  use_spot: true\n"), ("", "")],
    "log_each": [("attention_parallel > 1", "or near it, for each attention group"), ("", "or near it")],
}
PARTS = {**{f"command_{name}": JOINT for name in ENGINES}, "run_note": "", "trtllm_options": ","}
# What the texts name that is neither in a choice nor worked out below.
NAMES = ("memory_utilization", "cache_element_bytes", "cached_share", "drafted", "prompt_chunk", "batched_tokens", "mtp_layers",
         "attention_parallel", "pipeline_parallel", "weight_element_bytes", "max_context", "yarn_original", "yarn_context",
         "rope_theta", "max_loras", "lora_rank")


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
    special = found.get("cache_element_bytes", 2) < 2 or found.get("drafted", 0) + found.get("max_loras", 0) > 0
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
