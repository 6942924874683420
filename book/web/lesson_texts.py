"""What a lesson says of a reader's case, in the templates of answer_texts.py: of each text all parts whose condition holds.

Facts are those of the answer, and the laws that the lesson shows with their arguments.
"""

TITLES = {
    "model_size": "twelve numbers",
    "arithmetic_intensity": "compute or memory", "kv_cache": "the KV cache", "quantization": "quantization",
    "training_memory": "training memory", "interconnect": "links between GPUs", "serving": "how fast a server answers",
    "apart": "prompts and answers apart", "experts": "mixtures of experts", "training_time": "how long a step takes",
    "layouts": "layouts", "break_even": "rent or buy",
    "training_cost": "what a run costs", "serving_cost": "what a token costs",
}
_ALONE, _SPLIT = "tensor_parallel = 1", "tensor_parallel > 1"
_PLANNED = "Times are those to plan for: what the formulas give, moved by how far they were off."
_TWELVE = [
    ("", "{model} has {params} parameters. A token takes {token_flops:FLOP} of work, and each pass reads {read_bytes:byte} of "
         "weights. {gpu} reads {bandwidth:byte/second} and does {peak_flops:FLOP/second}."),
]
_TRAINED = [
    ("", "{model} has {params} parameters. A token takes {token_flops:FLOP} to read and three times that to train on. {gpu} does "
         "{peak_flops:FLOP/second}."),
]
_KV = [
    ("", "{model} keeps {kv_bytes_per_token:byte} for each token."),
    (f"batch = 1 & {_ALONE}", "Your one sequence of {context:tokens} takes {kv_bytes:byte} of the {memory_bytes:byte} of a GPU."),
    (f"batch > 1 & {_ALONE}", "Your {batch:sequences} of {context:tokens} take {kv_bytes:byte} of the {memory_bytes:byte} of a "
                              "GPU."),
    (_SPLIT, "Your {batch:sequences} of {context:tokens} take {kv_bytes:byte} on the {tensor_parallel:GPUs} of a replica, "
             "which have {memory_bytes:byte} each."),
    ("", "Beside the weights there is room for {places} at once."),
]
_WEIGHTS = [
    ("weight_format known", "In {weight_format} the weights of {model} take {gpu_weight_bytes:byte} of the {memory_bytes:byte} "
                            "of each GPU."),
    ("weight_format unknown", "The weights of {model} take {gpu_weight_bytes:byte} of the {memory_bytes:byte} of each GPU."),
    ("", "The table has what they would take in other formats."),
]
_PASS = [
    ("", "One pass of your {batch:sequences} reads {decode_bytes:byte} and does {decode_flops:FLOP}."),
    ("batch < @critical_batch", "That is fewer than the {critical_batch} at which one {gpu} computes for as long as it reads the "
                                "weights: the pass waits for memory."),
    ("batch > @critical_batch", "That is more than the {critical_batch} at which one {gpu} computes for as long as it reads the "
                                "weights: the pass waits for arithmetic."),
]
_EXCHANGE = [
    (_ALONE, "Each of your replicas is one GPU, which waits for no other: this lesson has nothing on your case."),
    (_SPLIT, "Of the {replica_pass_seconds:seconds} of a pass, the {tensor_parallel:GPUs} of a replica spend "
             "{exchange_seconds:seconds} exchanging results."),
]
_HANDED = ("", "Apart, each replica that writes needs {prompt_ratio} that read, and each prompt sends {prompt_kv_bytes:byte} of "
               "cache.")
_EXPERTS = [
    ("experts = 0", "{model} is dense: a pass reads all of its {params} parameters, whatever the batch."),
    ("experts > 0", "A token of {model} uses {active_params} of its {params} parameters. A pass for {batch:sequences} reads "
                    "{touched_experts} of the {experts} experts of a layer,"),
    ("experts > 0", "and {pass_token_bytes:byte} of weights for each token."),
    ("", "Computing catches up with reading at a batch of {experts_critical_batch}."),
]
_OWNED = [
    ("", "With every input at its likely value, an hour of use of {gpu} costs {owned_usd_per_hour:hourly} owned and "
         "{level_usd_per_hour:hourly} rented, if it is busy {utilization:percent} of the time."),
    ("break_even_utilization < 1", "Owning pays above {break_even_utilization:percent}."),
    ("break_even_utilization > 1", "Owning never pays, however busy the GPU is."),
]
_RENTED = [("", "Your plan rents {gpu} at {usd_per_hour:hourly} from {provider}."), *_OWNED]
_WINDOW = [
    ("", "{rented_gpus:GPUs} at {usd_per_hour:hourly} for {window_hours:hour} cost {window_usd:dollars}."),
    ("api_request_usd known", "The cheapest API asks {api_request_usd:dollars} for a request."),
]

TEXTS = {
    "model_size": dict.fromkeys(("serve", "offline", "embed"), _TWELVE) | {"train": _TRAINED},
    "training_memory": {"train": [
        ("gpus = 1", "On your {gpu} training holds {training_bytes:byte} of {memory_bytes:byte} by the formulas; plan for "
                     "{fits_plan:byte}."),
        ("gpus > 1", "On each of your {gpus:GPUs} training holds {training_bytes:byte} of {memory_bytes:byte} by the formulas; "
                     "plan for {fits_plan:byte}."),
    ]},
    "kv_cache": {"serve": _KV, "offline": _KV},
    "quantization": {"serve": _WEIGHTS, "offline": _WEIGHTS, "embed": _WEIGHTS},
    "arithmetic_intensity": {"serve": _PASS, "offline": _PASS, "embed": [
        ("", "A document of {prompt:tokens} is {prefill_flops:FLOP} of work, read in one pass of "
             "{replica_prefill_seconds:seconds} on {gpu}."),
    ]},
    "serving": {
        "serve": [
            ("", "Where nobody waits, the first token takes {first_token_alone:seconds}, and each further one "
                 "{time_per_output_token:seconds}."),
            ("", "Your load keeps {replicas:replicas} {offered_load:percent} busy"),
            ("waiting_seconds > 0", "and a late request waits {waiting_seconds:seconds}."),
            ("waiting_seconds = 0", "and requests find room at once."),
            ("", _PLANNED),
        ],
        "offline": [
            ("", "A request takes {replica_seconds:seconds} of a replica: {window_requests:requests} within {window_hours:hour} "
                 "need {window_replicas:replicas}."),
            ("", _PLANNED),
        ],
        "embed": [
            ("", "A document takes {replica_seconds:seconds} of a replica: {window_requests:documents} within "
                 "{window_hours:hour} need {window_replicas:replicas}."),
            ("", _PLANNED),
        ],
    },
    "interconnect": {
        "serve": _EXCHANGE, "offline": _EXCHANGE,
        "embed": [
            _EXCHANGE[0],
            (_SPLIT, "Of the {replica_prefill_seconds:seconds} of a document, the {tensor_parallel:GPUs} of a replica spend "
                     "{prompt_exchange_seconds:seconds} exchanging results."),
        ],
        "train": [
            ("gpus = 1", "One GPU waits for no other: this lesson has nothing on your case."),
            ("tensor_bytes known", "Split matrices make each GPU send {tensor_bytes:byte} in a micro-batch."),
            ("data_bytes known", "To sum gradients, each of your {gpus:GPUs} sends {data_bytes:byte} in a step of "
                                 "{step_seconds:seconds}."),
            ("exposed_data_seconds known", "Of that, {exposed_data_seconds:seconds} are not hidden behind the arithmetic."),
        ],
    },
    "apart": {"serve": [
        ("", "A prompt takes {prompt_turn_seconds:seconds} of a replica, and a token {time_per_output_token:seconds}."),
        ("batch > 1", "Of that, the prompts of others are {disturbed_seconds:seconds}: answers of fewer than "
                      "{even_output:tokens} wait longer for them than for themselves."),
        _HANDED, ("", _PLANNED),
    ], "offline": [
        ("", "A prompt takes {prompt_turn_seconds:seconds} of a replica. Nobody waits for a token of yours: chunks are enough."),
        _HANDED, ("", _PLANNED),
    ]},
    "experts": {"serve": _EXPERTS, "offline": _EXPERTS},
    "training_time": {"train": [
        ("", "By the formulas a step of {step_tokens:tokens} takes {step_seconds:seconds}, at an MFU of {layout_mfu:percent}; "
             "plan for {fast_plan:seconds}, and for {long_plan:days} of training with what stops it."),
    ]},
    "layouts": {"train": [
        ("gpus = 1", "Your job runs on one {gpu}, with {layout_train:text}."),
        ("gpus > 1", "Your {gpus} × {gpu} are split so: {layout_train:text}."),
    ]},
    "break_even": {"own": [*_OWNED, ("", "Your case on the front page has the middle of the draws instead.")],
                   "serve": _RENTED, "offline": _RENTED, "embed": _RENTED, "train": _RENTED},
    "training_cost": {"train": [
        ("", "Your run is {run_gpu_hours:hour} of one GPU, {stopped_gpu_hours:hour} with what stops it, and costs "
             "{compute_usd:dollars} at {usd_per_hour:hourly} from {provider}."),
    ]},
    "serving_cost": {
        "serve": [
            ("", "{rented_gpus:GPUs} at {usd_per_hour:hourly} cost {serving_usd_per_month:dollars} a month, which is "
                 "{paid_request_usd:dollars} for a request."),
            ("api_request_usd known", "The cheapest API asks {api_request_usd:dollars}."),
        ],
        "offline": _WINDOW, "embed": _WINDOW,
    },
}
