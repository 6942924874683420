"""The decisions as data: which choices there are, what limits them, what is to be least. `rule` evaluates them.

A load is served by replicas on servers that are rented; a job runs in a layout on machines that are rented.
"""
from typing import Any, NamedTuple

from . import post_training
from .rule import SURE, Figure, Least, Limit, Step

# The term of a case that says none: other prices bind for years, or can be taken back.
USUAL_TERM = "on-demand"
BATCHES = (*range(1, 16), *range(16, 64, 4), *range(64, 256, 16), *range(256, 2049, 128))
# What keeps an offer from being taken, in the order in which it is said; columns of offers that are 0 or 1.
DOUBTS = (
    Limit("forbidden", 0, "the license of its driver keeps it out of data centers", early=True),
    Limit("doubtful_price", 0, "its price is not firm", early=True),
    Limit("doubtful_term", 0, "its term does not suit the job", early=True),
)
# How engines split experts, by the layout of a replica.
_SPLIT = {"expert_tensor_parallel": "engine_expert_split", "expert_parallel": "engine_expert_parallel"}
# What keeps a card from being looked at; columns of cards that are 0 or 1.
_UNKNOWN = (
    Limit("unrented", 0, "no provider of the book rents it on these terms", early=True),
    Limit("unlinked", 0, "the latency of its link is not known", early=True),
    Limit("lacks_format", 0, "cannot compute in the format", early=True),
)
FITS = (
    *_UNKNOWN,
    Limit("split_misfits", 0, "the model does not split that way", early=True),
    Limit("spread_misfits", 0, "the model does not spread that way", early=True),
    Limit("batch", "replica_places", "memory", early=True),
)
# The context that the model was released for, or a stretched one: a column of cards, without a limit where it is not known.
_READ = Limit("asked_context", "most_context", "the model's context", early=True)
_WHOLE, _MEAN = {"context": "final_context", **_SPLIT}, {"context": "mean_context", **_SPLIT}
# Whole requests have a band, and so has the reading of prompts, on which the first token rests.
_PACE, _READING = "request_seconds", "replica_prefill_seconds"
PROMPTS = ("replica_prefill_seconds", "prompt_turn_seconds", "prompt_seconds")
_QUEUE = (
    Limit("answer_seconds", "answer_limit", "the whole answer"),
    Limit("time_to_first_token", "first_token_limit", "the first token"),
    Limit("late_token_seconds", "token_limit", "the time per token"),
)
# What the queue's limits come to where there is none.
_BY_ITSELF = ("request_seconds", "first_token_alone")
REPLICAS = Step(
    name="replicas",
    joined=("cards",),
    axes={"tensor_parallel": "tensor_degrees", "attention_parallel": "attention_groups",
          "pipeline_parallel": "serving_stages", "batch": "batches"},
    per=("tensor_parallel", "attention_parallel"),
    sparing=("pipeline_parallel",),
    given=_MEAN,
    figures=(
        Figure("asked_context"),
        Figure("replica_places", _WHOLE),
        Figure("split_misfits"),
        Figure("spread_misfits"),
        Figure("fixed_share"),
        Figure("growing_share"),
        Figure("lone_share"),
        *(Figure(law, band=_READING) for law in PROMPTS),
        *(Figure(law, band=_PACE) for law in ("replica_pass_seconds", "speculative_seconds", "time_per_output_token",
                                              "request_seconds")),
    ),
    limits=(
        _READ,
        *FITS,
        Limit("speculative_seconds", "token_limit", "the time per token", early=True),
        *_QUEUE,
    ),
    least=Least(("replicas", "replicas_required"), "least_replicas", "most_replicas", _QUEUE),
    objective=("planned_gpus", "batch"),
    shown=("replica_gpus", "planned_replicas", "all_replicas", "answer_seconds", "time_to_first_token", "first_token_alone",
           "output_tokens_per_second"),
)
# Of points that are searched already, each a row, the best batch of each card and degree.
FLEET = REPLICAS._replace(name="fleet", joined=("points",), axes={}, per=(), sparing=(), of=("gpu", "tensor_parallel"), given={},
                          figures=(), limits=REPLICAS.limits[len(FITS):], shown=("planned_replicas",))
# Whether a request is in time at each of the points where no other is served.
ALONE = FLEET._replace(name="alone", of=(), least=None, objective=(), shown=(),
                       limits=(*FLEET.limits[:2], *(limit._replace(of=law) for limit, law in zip(_QUEUE, _BY_ITSELF))))
# Fleets that stand already: whether each is in time with its spare replicas out of service, and not too full with them.
HELD = FLEET._replace(name="held", of=(), least=None, objective=(), shown=(),
                      limits=(*FLEET.limits[1:], Limit("least_replicas", "replicas", "the load"),
                              Limit("planned_replicas", "held_replicas", "the load")))
# Of them the one that pays in the smallest month: with places for it even if every request had to wait.
TURN = HELD._replace(name="turn", of=FLEET.of, objective=("break_even_requests_per_month", "batch"),
                     limits=(Limit("break_even_requests_per_month", "carried_requests_per_month", "the load", early=True),
                             *HELD.limits))
# A replica is in one server, or in several that a network or the switch of a rack joins; the GPUs that split a matrix in one.
_SEATED = (
    Limit("tensor_parallel", "gpus_per_server", "a replica in one server", early=True),
    Limit("server_misfits", 0, "a replica in joined servers"),
)
SERVERS = Step(
    name="servers",
    joined=("offers", "gpu"),
    limits=(
        *DOUBTS,
        *_SEATED,
        Limit("serving_usd_per_month", "usd_per_month", "the budget"),
    ),
    objective=("serving_usd_per_month",),
    shown=("rented_gpus",),
)
SERVE = (REPLICAS, SERVERS)
# Fleets that are found already, on as many servers as a plan may have, whatever is doubtful of their price.
RENTED = SERVERS._replace(given={"all_replicas": "planned_replicas"}, limits=(
    Limit("lacks_fleet", 0, "no fleet is in time", early=True),
    _SEATED[0],
    Limit("rented_gpus", "most_gpus", "the most servers"),
))

LAYOUT = Step(
    name="layout",
    joined=("clusters",),
    axes={"tensor_parallel": (1, 2, 4, 8), "pipeline_parallel": "stages", "context_parallel": "context_degrees",
          "expert_parallel": "expert_degrees", "zero_stage": (1, 3), "recompute": (0, 3, 2),
          "micro_batch": "micro_batches_tried"},
    sparing=("zero_stage", "recompute"),
    given={"data_parallel": "left_data_parallel", "micro_batches": "left_micro_batches",
           "sequence_parallel": "usual_sequence_parallel"},
    figures=(
        Figure("layout_misfits"),
        Figure("training_bytes", worst="last_stage", band="training_bytes"),
        Figure("step_seconds", worst="last_stage", band="step_seconds"),
    ),
    limits=(
        *_UNKNOWN,
        Limit("gpus_per_server", "most_gpus", "a machine has more GPUs than are to be used", early=True),
        Limit("excess_machines", 0, "too many small machines", early=True),
        Limit("layout_misfits", 0, "no layout splits the job that way", early=True),
        Limit("training_bytes", "memory_bytes", "memory", at="high", early=True),
    ),
    objective=("step_seconds", "training_bytes"),
    steady=True,
)
RUN = Step(
    name="run",
    joined=("offers", "kind"),
    given={"data_parallel": "left_data_parallel", "micro_batches": "left_micro_batches", "gpu_hours": "stopped_gpu_hours",
           "interruption_seconds": "offer_interruption_seconds", "minimum_gpu_hours": "committed_gpu_hours"},
    spread={"step_seconds": ("low_step_seconds", "plan_step_seconds", "high_step_seconds"),
            "mfu": ("high_mfu", "plan_mfu", "low_mfu"),
            "gpu_failure_seconds": ("fast_gpu_failure_seconds", "likely_gpu_failure_seconds", "slow_gpu_failure_seconds"),
            "machine_interruption_seconds": ("fast_machine_interruption_seconds", "likely_machine_interruption_seconds",
                                             "slow_machine_interruption_seconds")},
    likely={"likely_gpu_hours": "run_gpu_hours", "likely_slowdown": "interruption_slowdown"},
    limits=(
        *DOUBTS,
        Limit("training_days", "deadline_days", "the deadline", at=SURE),
        Limit("compute_usd", "budget_usd", "the budget", at=SURE),
    ),
    objective=("compute_usd", "training_days"),
    shown=("run_gpu_hours", "interruption_slowdown"),
)
TRAIN = (LAYOUT, RUN)

WINDOW = Step(
    name="replicas",
    joined=("cards",),
    axes=REPLICAS.axes,
    per=REPLICAS.per,
    sparing=REPLICAS.sparing,
    given={**_MEAN, "all_replicas": "window_replicas"},
    figures=(
        Figure("asked_context"),
        Figure("replica_places", _WHOLE),
        Figure("split_misfits"),
        Figure("spread_misfits"),
        *(Figure(law, band=_PACE) for law in ("replica_prefill_seconds", "replica_pass_seconds", "request_seconds")),
    ),
    limits=(_READ, *FITS),
    objective=("planned_gpus", "batch"),
    shown=("replica_gpus", "window_replicas", "busy_hours", "output_tokens_per_second"),
)
WINDOW_SERVERS = Step(
    name="servers",
    joined=("offers", "gpu"),
    given={"all_replicas": "window_replicas"},
    limits=(
        *DOUBTS,
        *_SEATED,
        Limit("window_usd", "budget_usd", "the budget"),
        Limit("serving_usd_per_month", "usd_per_month", "the budget of a month"),
    ),
    objective=("window_usd",),
    shown=("rented_gpus",),
)
# Documents are read one by one, and nothing is answered.
READING = WINDOW._replace(
    axes={**REPLICAS.axes, "attention_parallel": (1,), "batch": (1,)},
    given={"context": "prompt", **_SPLIT, "replica_seconds": "prompt_turn_seconds", "all_replicas": "window_replicas"},
    figures=(*(Figure(law) for law in ("replica_places", "split_misfits", "spread_misfits")),
             Figure("replica_prefill_seconds", band="replica_prefill_seconds")),
    limits=(_READ._replace(of="prompt"), *FITS),
    shown=("replica_gpus", "window_replicas", "busy_hours"),
)
# The chain of each kind of job, and of a job that has one of its own.
CHAINS = {"serve": SERVE, "offline": (WINDOW, WINDOW_SERVERS), "embed": (READING, WINDOW_SERVERS), "train": TRAIN,
          "dpo": post_training.preferences(*TRAIN), "grpo": post_training.rollouts(*TRAIN)}
# Kinds that are told and answered like another one where they have nothing of their own.
LIKE = {"embed": "offline", "dpo": "train", "grpo": "train"}


def trains(kind: str) -> bool:
    """Whether a job of the kind is a run on machines that are rented for it, rather than a load that is served."""
    return LIKE.get(kind, kind) == "train"


class Card(NamedTuple):
    """A figure of the answer: `of` is a column of the choice, or a `law` of it, which has a band of its own. A column that is not
    `banded` is shown as planned: another number of replicas would be busy for other hours.

    `given` are inputs or names of laws that hold for it, `worst` is an axis, 0 and 1, over which the larger counts.
    """

    name: str
    of: str
    law: bool = False
    given: dict = {}
    worst: str = ""
    banded: bool = True


class Change(NamedTuple):
    """What may help: an input at another value, or at `times` its own, in words."""

    name: str
    words: str
    value: Any = None
    times: float = 1


# Cards of the answer, by kind.
_SERVED = Card("fits", "held_serving_bytes", True, _WHOLE)
CARDS = {
    "serve": (_SERVED, Card("first", "first_token_alone", True, _MEAN), Card("token", "time_per_output_token", True, _MEAN),
              Card("many", "rented_gpus"), Card("long", "request_seconds", True, _MEAN), Card("cost", "serving_usd_per_month")),
    "offline": (_SERVED, Card("fast", "output_tokens_per_second", True, _MEAN), Card("many", "rented_gpus"),
                Card("long", "busy_hours", banded=False), Card("cost", "window_usd")),
    "embed": (_SERVED._replace(given={"context": "prompt", **_SPLIT}),
              Card("fast", "replica_prefill_seconds", True, {"context": "prompt", **_SPLIT}), Card("many", "rented_gpus"),
              Card("long", "busy_hours", banded=False), Card("cost", "window_usd")),
    "train": (Card("fits", "training_bytes", True, LAYOUT.given, "last_stage"),
              Card("fast", "step_seconds", True, LAYOUT.given, "last_stage"), Card("many", "gpus"),
              Card("long", "training_days"), Card("cost", "compute_usd")),
}
CARDS |= {"dpo": (Card("fits", "policy_bytes", True, LAYOUT.given, "last_stage"),
                  Card("fast", "learning_seconds", True, LAYOUT.given, "last_stage"), *CARDS["train"][2:]),
          "grpo": (Card("fits", "policy_bytes", True, post_training.WRITING | post_training.LONGEST, "last_stage"),
                   Card("fast", "grpo_step_seconds", True, post_training.WRITING, "last_stage"), *CARDS["train"][2:])}
OBJECTIVES = {"serve": "serving_usd_per_month", "offline": "window_usd", "embed": "window_usd", "train": "compute_usd",
              "dpo": "compute_usd", "grpo": "compute_usd"}
# What tells two choices apart.
_REPLICA = ("gpu", "tensor_parallel", "attention_parallel", "offer")
KEYS = {"serve": _REPLICA, "offline": _REPLICA, "embed": _REPLICA, "train": ("kind", "gpus", "offer")} | post_training.KEYS
# Limits that are none where the case says nothing, and what else a case takes.
FREE = {"serve": ("first_token_limit", "token_limit", "answer_limit", "usd_per_month"),
        "offline": ("budget_usd", "usd_per_month"), "embed": ("budget_usd", "usd_per_month"),
        **dict.fromkeys(("train", "dpo", "grpo"), ("deadline_days", "budget_usd"))}
USUAL = {"serve": {}, "offline": {}, "embed": {}, "train": {"flash_attention": 1, "other_work": 0}}
USUAL |= {kind: USUAL["train"] | more for kind, more in post_training.USUAL.items()}
CHANGES = {
    "serve": (Change("weight_format", "weights in 8 bits", "FP8"), Change("weight_format", "weights in 4 bits", "INT4-g128"),
              Change("cache_element_bytes", "a cache in 8 bits", 1),
              Change("first_token_limit", "twice the time to the first token", times=2),
              Change("token_limit", "twice the time per token", times=2), Change("output", "answers half as long", times=0.5),
              Change("spare_replicas", "no replica to spare", 0)),
    "offline": (Change("weight_format", "weights in 8 bits", "FP8"), Change("weight_format", "weights in 4 bits", "INT4-g128"),
                Change("cache_element_bytes", "a cache in 8 bits", 1), Change("window_hours", "twice the hours", times=2),
                Change("output", "answers half as long", times=0.5)),
    "train": (Change("deadline_days", "twice the days", times=2), Change("training_tokens", "half the tokens", times=0.5),
              Change("recipe", "a smaller optimizer state", "adamw-8bit"), Change("term", "spot machines", "spot")),
}
CHANGES |= {"dpo": (Change("preference_pairs", "half the pairs", times=0.5), *CHANGES["train"][2:]),
            "grpo": (Change("group_size", "half as many answers", times=0.5), Change("references", "no reference", 0),
                     *CHANGES["train"][2:])}
CHANGES["embed"] = CHANGES["offline"][:1] + CHANGES["offline"][3:4]
# Loads and lengths at which the choice may be another, the nearest first; of a direction the first that turns it is told.
_PROMPTS = (Change("prompt", "prompts half as long", times=0.5), Change("prompt", "prompts twice as long", times=2),
            Change("prompt", "prompts four times as long", times=4))
_WORK = tuple(Change("window_requests", words, times=times) for words, times in (
    ("half the work", 0.5), ("a tenth of the work", 0.1), ("twice the work", 2), ("ten times the work", 10)))
TURNS = {
    "serve": (*(Change(name, words, times=times) for name in ("requests_per_second", "daily_users") for words, times in (
        ("half the load", 0.5), ("a tenth of the load", 0.1), ("twice the load", 2), ("ten times the load", 10))), *_PROMPTS),
    "offline": (*_WORK, *_PROMPTS), "embed": (*_WORK, *_PROMPTS), "train": (), "dpo": (), "grpo": (),
}
