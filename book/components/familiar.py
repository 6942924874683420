"""The eight cards and eight models that readers meet: what a lesson's table shows, where the catalogue has all."""

FAMILIAR = {
    "gpu": ("H100 SXM 80GB", "H200 SXM 141GB", "B200 SXM 180GB", "MI300X 192GB", "A100 SXM 80GB", "L40S 48GB", "RTX 4090 24GB",
            "L4 24GB"),
    "model": ("Llama-3-8B", "Llama-3-70B", "Llama-3.1-405B", "Mistral-7B", "Qwen2.5-7B", "Gemma-2-9B", "Mixtral-8x7B",
              "DeepSeek-V3"),
}


def familiar(frame, kind, *also):
    """The rows of a table of all GPUs or models (`kind`) that readers meet; those of the names in `also` come first."""
    names = [name for name in dict.fromkeys((*also, *FAMILIAR[kind])) if name in frame.index]
    return frame.loc[names]
