"""The decisions as data, a record a job: which choices there are, what limits them, what is to be least. `rule` evaluates them.

A load is served by replicas on servers that are rented; a job runs in a layout on machines that are rented. A new kind of job is
a record in `JOBS`, its texts in data/texts/answers.yaml, and a row of data/jobs.csv that names it.
"""
from typing import Any, NamedTuple

from ..core.quantities import DEFAULTS
from .rule import SURE, Figure, Least, Limit, Step

# The term of a case that says none: other prices bind for years, or can be taken back.
USUAL_TERM = "on-demand"
BATCHES = (*range(1, 16), *range(16, 64, 4), *range(64, 256, 16), *range(256, 2049, 128))
# What keeps an offer from being taken, in the order in which it is said; columns of offers that are 0 or 1.
DOUBTS = (Limit("forbidden", 0, "the license of its driver keeps it out of data centers", early=True),
          Limit("doubtful_price", 0, "its price is not firm", early=True),
          Limit("doubtful_term", 0, "its term does not suit the job", early=True))
# How engines split experts, by the layout of a replica.
_ENGINE_SPLIT = {"expert_tensor_parallel": "engine_expert_split", "expert_parallel": "engine_expert_parallel"}
# What keeps a card from being looked at; columns of cards that are 0 or 1.
_CARD_LIMITS = (Limit("unrented", 0, "no provider of the book rents it on these terms", early=True),
                Limit("unlinked", 0, "the latency of its link is not known", early=True),
                Limit("lacks_format", 0, "cannot compute in the format", early=True))
MEMORY_LIMITS = (*(limit for limit in _CARD_LIMITS if limit.of != "unlinked"),
                 Limit("link_misfits", 0, "the latency of its link is not known", early=True),
                 Limit("split_misfits", 0, "the model does not split that way", early=True),
                 Limit("spread_misfits", 0, "the model does not spread that way", early=True),
                 Limit("batch", "replica_places", "memory", early=True))
# The context that the model was released for, or a stretched one: a column of cards, without a limit where it is not known.
_CONTEXT_LIMIT = Limit("asked_context", "most_context", "the model's context", early=True)
_FULL, _MEAN = {"context": "final_context", **_ENGINE_SPLIT}, {"context": "mean_context", **_ENGINE_SPLIT}
_FITTING = (Figure("asked_context"), Figure("replica_places", _FULL),
            *(Figure(law) for law in ("split_misfits", "spread_misfits", "link_misfits")))
# Whole requests have a band, and so has the reading of prompts, on which the first token rests.
_PACE, _READING = "request_seconds", "replica_prefill_seconds"
PROMPTS = ("replica_prefill_seconds", "prompt_turn_seconds", "prompt_seconds", "prompt_host_seconds")
_QUEUE = (Limit("answer_seconds", "answer_limit", "the whole answer"),
          Limit("time_to_first_token", "first_token_limit", "the first token"),
          Limit("late_token_seconds", "token_limit", "the time per token"))
# What the queue's limits come to where there is none.
_TIMES_OF_ONE = ("request_seconds", "first_token_alone")
REPLICAS = Step(
    name="replicas", joined=("cards",),
    axes={"tensor_parallel": "tensor_degrees", "attention_parallel": "attention_groups",
          "pipeline_parallel": "serving_stages", "batch": "batches"},
    per=("tensor_parallel", "attention_parallel"), sparing=("pipeline_parallel",), given=_MEAN,
    figures=(*_FITTING, Figure("fixed_share"), Figure("growing_share"), Figure("lone_share"),
             *(Figure(law, band=_READING) for law in PROMPTS),
             *(Figure(law, band=_PACE) for law in ("replica_pass_seconds", "speculative_seconds", "time_per_output_token",
                                                   "request_seconds"))),
    limits=(_CONTEXT_LIMIT, *MEMORY_LIMITS, Limit("speculative_seconds", "token_limit", "the time per token", early=True),
            *_QUEUE),
    least=Least(("replicas", "replicas_required"), "least_replicas", "most_replicas", _QUEUE),
    objective=("planned_gpus", "batch"),
    shown=("replica_gpus", "planned_replicas", "all_replicas", "answer_seconds", "time_to_first_token", "first_token_alone",
           "output_tokens_per_second", "late_gap_seconds", "held_passes"))
# Of points that are searched already, each a row, the best batch of each card and degree.
BEST_FLEET = REPLICAS._replace(name="fleet", joined=("points",), axes={}, per=(), sparing=(), of=("gpu", "tensor_parallel"),
                               given={}, figures=(), limits=REPLICAS.limits[len(MEMORY_LIMITS):], shown=("planned_replicas",))
# Whether a request is in time at each of the points where no other is served.
ONE_REQUEST = BEST_FLEET._replace(
    name="alone", of=(), least=None, objective=(), shown=(),
    limits=(*BEST_FLEET.limits[:2], *(limit._replace(of=law) for limit, law in zip(_QUEUE, _TIMES_OF_ONE))))
# Fleets that stand already: whether each is in time with its spare replicas out of service, and not too full with them.
STANDING_FLEET = BEST_FLEET._replace(name="held", of=(), least=None, objective=(), shown=(),
                                     limits=(*BEST_FLEET.limits[1:], Limit("least_replicas", "replicas", "the load"),
                                             Limit("planned_replicas", "held_replicas", "the load")))
# Of them the one that pays in the smallest month: with places for it even if every request had to wait.
BREAK_EVEN_FLEET = STANDING_FLEET._replace(
    name="turn", of=BEST_FLEET.of, objective=("break_even_requests_per_month", "batch"),
    limits=(Limit("break_even_requests_per_month", "carried_requests_per_month", "the load", early=True),
            *STANDING_FLEET.limits))
# A replica is in one server, or in several that a network or the switch of a rack joins; the GPUs that split a matrix in one.
_SERVER_LIMITS = (Limit("tensor_parallel", "gpus_per_server", "a replica in one server", early=True),
                  Limit("server_misfits", 0, "a replica in joined servers"),
                  Limit("rented_gpus", "most_rented", "the cards that you have"))
SERVERS = Step(name="servers", joined=("offers", "gpu"),
               limits=(*DOUBTS, *_SERVER_LIMITS, Limit("serving_usd_per_month", "usd_per_month", "the budget")),
               objective=("serving_usd_per_month",), shown=("rented_gpus",))
# Beside the queue the caches of sessions wait for their next turn: how many of them are kept is chosen, the fewest replicas keep.
_SESSIONS = Limit("unheld_cache_bytes", 0, "the cache between turns")
SERVE = (REPLICAS._replace(axes={**REPLICAS.axes, "kept_turns": "kept_shares"}, limits=(*REPLICAS.limits, _SESSIONS),
                           least=REPLICAS.least._replace(limits=(*_QUEUE, _SESSIONS))), SERVERS)
# Fleets that are found already, on as many servers as a plan may have, whatever is doubtful of their price.
RENTED_FLEET = SERVERS._replace(given={"all_replicas": "planned_replicas"}, limits=(
    Limit("lacks_fleet", 0, "no fleet is in time", early=True), _SERVER_LIMITS[0],
    Limit("rented_gpus", "most_gpus", "the most servers")))

# The degrees of a layout that are told apart in published runs; rows that have them as columns are not spread over them.
DEGREES_USED = ("tensor_parallel", "pipeline_parallel", "context_parallel", "expert_parallel", "virtual_stages")
# What is tried on each axis of a layout. A decision takes these values in this order in a run of the kind that they help, else 1;
# those of a pipeline have a factor of 3, where the machines do. The search over all layouts takes more besides, or, where that is
# None, what the model and the GPUs allow.
TRIED = {"tensor_parallel": ("", (1, 2, 4, 8), None), "pipeline_parallel": ("whole", (1, 2, 3, 4, 6, 8, 16), None),
         "virtual_stages": ("whole", (1, 2, 4, 8), None), "context_parallel": ("long", (1, 4), (2, 8, 16)),
         "expert_parallel": ("experts", (1, 8, 32), None), "zero_stage": ("", (1, 2, 3), (0,)),
         "recompute": ("", (0, 1, 3, 2), ()), "micro_batch": ("adapted", (1, 4, 16), (2, 8))}
LAYOUT = Step(
    name="layout", joined=("clusters",), axes={axis: axis if kind else each for axis, (kind, each, _) in TRIED.items()},
    sparing=("zero_stage", "recompute"),
    given={"data_parallel": "left_data_parallel", "micro_batches": "left_micro_batches",
           "sequence_parallel": "usual_sequence_parallel"},
    figures=(Figure("layout_misfits"), Figure("training_bytes", worst="last_stage", band="training_bytes"),
             Figure("step_seconds", worst="last_stage", band="step_seconds")),
    limits=(*_CARD_LIMITS, Limit("gpus_per_server", "most_gpus", "a machine has more GPUs than are to be used", early=True),
            Limit("excess_machines", 0, "too many small machines", early=True),
            Limit("unpublished", 0, "no published run of such a model", early=True),
            Limit("layout_misfits", 0, "no layout splits the job that way", early=True),
            Limit("training_bytes", "memory_bytes", "memory", at="high", early=True)),
    objective=("step_seconds", "training_bytes"), steady=True)
RUN = Step(name="run", joined=("offers", "kind"),
           given={"data_parallel": "left_data_parallel", "micro_batches": "left_micro_batches", "gpu_hours": "stopped_gpu_hours",
                  "interruption_seconds": "offer_interruption_seconds", "minimum_gpu_hours": "committed_gpu_hours",
                  "setup_gpu_hours": "machine_setup_gpu_hours"},
           spread={"step_seconds": ("low_step_seconds", "plan_step_seconds", "high_step_seconds"),
                   "mfu": ("high_mfu", "plan_mfu", "low_mfu"),
                   "gpu_failure_seconds": ("fast_gpu_failure_seconds", "likely_gpu_failure_seconds", "slow_gpu_failure_seconds"),
                   "machine_interruption_seconds": ("fast_machine_interruption_seconds", "likely_machine_interruption_seconds",
                                                    "slow_machine_interruption_seconds")},
           likely={"likely_gpu_hours": "layout_gpu_hours", "likely_slowdown": "interruption_slowdown"},
           limits=(*DOUBTS, Limit("training_days", "deadline_days", "the deadline", at=SURE),
                   Limit("compute_usd", "budget_usd", "the budget", at=SURE)),
           objective=("compute_usd", "training_days"),
           shown=("run_gpu_hours", "interruption_slowdown", "server_host_bytes"))
TRAIN = (LAYOUT, RUN)

WINDOW = Step(
    name="replicas", joined=("cards",), axes=REPLICAS.axes, per=REPLICAS.per, sparing=REPLICAS.sparing,
    given={**_MEAN, "all_replicas": "window_replicas"},
    figures=(*_FITTING,
             *(Figure(law, band=_PACE) for law in ("replica_prefill_seconds", "replica_pass_seconds", "request_seconds"))),
    limits=(_CONTEXT_LIMIT, *MEMORY_LIMITS), objective=("planned_gpus", "batch"),
    shown=("replica_gpus", "window_replicas", "busy_hours", "output_tokens_per_second"))
WINDOW_SERVERS = Step(name="servers", joined=("offers", "gpu"), given={"all_replicas": "window_replicas"},
                      limits=(*DOUBTS, *_SERVER_LIMITS, Limit("window_usd", "budget_usd", "the budget"),
                              Limit("serving_usd_per_month", "usd_per_month", "the budget of a month")),
                      objective=("window_usd",), shown=("rented_gpus",))
# Documents are read one by one, and nothing is answered.
READING = WINDOW._replace(
    axes={**REPLICAS.axes, "attention_parallel": (1,), "batch": (1,)},
    given={"context": "prompt", **_ENGINE_SPLIT, "replica_seconds": "prompt_turn_seconds", "all_replicas": "window_replicas"},
    figures=(*(Figure(law) for law in ("replica_places", "split_misfits", "spread_misfits", "link_misfits")),
             Figure("replica_prefill_seconds", band="replica_prefill_seconds")),
    limits=(_CONTEXT_LIMIT._replace(of="prompt"), *MEMORY_LIMITS),
    shown=("replica_gpus", "window_replicas", "busy_hours"),
)


# Post-training is made of the steps of training. On pairs of answers a step takes longer by what a reference scores. A policy
# that writes its answers shares the GPUs of a job with the engines that write them, in turn or split between both; of each split
# the layout with the shortest step is kept, then the engine.

# Shares of a job's GPUs that train; 1: all GPUs train and write in turn.
SHARES = (1, 0.5, 0.25)
ENGINES = (1, 2, 4, 8)
WRITING = {"data_parallel": "trainer_data_parallel", "micro_batches": "packed_micro_batches",
           "sequence_parallel": "usual_sequence_parallel"}
# A micro-batch has to hold the longest sequence.
LONGEST = {"sequence": "longest_sequence_trained"}


def _changed(limits, **others):
    """The limits with others in place of those of these laws."""
    return tuple(others.get(limit.of, limit) for limit in limits)


def preferences(layout: Any, run: Any) -> tuple:
    """The steps that decide a run on pairs, from those of training."""
    memory = Limit("policy_bytes", "memory_bytes", "memory", at="high", early=True)
    split = layout._replace(
        figures=(Figure("layout_misfits"), Figure("policy_bytes", worst="last_stage", band="training_bytes"),
                 Figure("learning_seconds", worst="last_stage", band="step_seconds")),
        limits=_changed(layout.limits, training_bytes=memory), objective=("learning_seconds", "policy_bytes"))
    ends = tuple(f"{end}_learning_seconds" for end in ("low", "plan", "high"))
    return split, run._replace(given=run.given | {"training_flops": "preference_flops"},
                               spread=run.spread | {"step_seconds": ends})


def rollouts(layout: Any, run: Any) -> tuple:
    """The steps that decide a run of GRPO, from those of training."""
    memory = Limit("policy_bytes", "memory_bytes", "memory", at="high", early=True)
    # Packed sequences make no whole turns of a pipeline whose stages hold several chunks of layers.
    axes = {name: tried for name, tried in layout.axes.items() if name != "virtual_stages"}
    split = layout._replace(
        axes=axes | {"trainer_share": SHARES}, per=("trainer_share",), given=WRITING,
        figures=(Figure("trainer_misfits"), Figure("policy_bytes", WRITING | LONGEST, "training_bytes", "last_stage"),
                 Figure("held_state_bytes", worst="last_stage"), Figure("reference_bytes", worst="last_stage"),
                 Figure("learning_seconds", worst="last_stage")),
        limits=_changed(layout.limits, training_bytes=memory,
                        layout_misfits=Limit("trainer_misfits", 0, "no layout splits the job that way", early=True)),
        objective=("learning_seconds", "policy_bytes"))
    engine = split._replace(
        name="engine", joined=(), axes={"rollout_parallel": ENGINES}, per=(), sparing=(),
        figures=(Figure("rollout_misfits"), Figure("missing_places"), Figure("rollout_share"),
                 Figure("grpo_step_seconds", band="grpo_step_seconds")),
        limits=(Limit("rollout_misfits", 0, "the model does not split that way", early=True),
                Limit("missing_places", 0, "memory for an answer", early=True)),
        objective=("grpo_step_seconds",),
        shown=("rollout_seconds", "rollout_gpus", "rollout_places", "rollout_bytes"))
    ends = tuple(f"{end}_grpo_step_seconds" for end in ("low", "plan", "high"))
    spread = {name: each for name, each in run.spread.items() if name not in ("step_seconds", "mfu")}
    return split, engine, run._replace(
        given=run.given | WRITING | dict.fromkeys(("layout_gpu_hours", "run_gpu_hours"), "grpo_gpu_hours"),
        spread=spread | {"grpo_step_seconds": ends},
        likely=run.likely | {"likely_gpu_hours": "grpo_gpu_hours"},
        shown=("grpo_gpu_hours", "interruption_slowdown", "server_host_bytes"))


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
    """What may help: an input at another value, or at `times` its own, in words; with it inputs `along` as data/assumptions.csv
    has them. `of` is a column of the model, an input or the job without which it means nothing, `own` whether it is for cards
    that the reader has, `new` whether it is for a case that says nothing of it."""

    name: str
    words: str
    value: Any = None
    times: float = 1
    along: tuple[str, ...] = ()
    of: str = ""
    own: bool = False
    new: bool = False


class Job(NamedTuple):
    """A kind of job: the `chain` of steps that decides it, its `objective`, and what tells two choices apart (`keys`).

    `cards` are the figures of its answer, `times` the columns of times in the table of choices. `free` are limits that are none
    where the case says nothing, `usual` what else a case takes. `changes` may help; `turns` are loads and lengths at which the
    choice may be another, the nearest first: of a direction the first that turns it is told. A kind is told and answered `like`
    another one where it has nothing of its own.
    """

    chain: tuple[Step, ...]
    objective: str
    keys: tuple[str, ...]
    cards: tuple[Card, ...]
    times: tuple[str, ...]
    free: tuple[str, ...]
    usual: dict[str, Any]
    changes: tuple[Change, ...]
    turns: tuple[Change, ...] = ()
    like: str = ""


def _times(name, *others):
    """Changes of an input to so many times its own, each with its words."""
    return tuple(Change(name, words, times=times) for words, times in others)


_PROMPTS = _times("prompt", ("prompts half as long", 0.5), ("prompts twice as long", 2), ("prompts four times as long", 4))
_LOADS = ("half the load", 0.5), ("a tenth of the load", 0.1), ("twice the load", 2), ("ten times the load", 10)
_WORK = _times("window_requests", ("half the work", 0.5), ("a tenth of the work", 0.1), ("twice the work", 2),
               ("ten times the work", 10))
_REPLICA = ("gpu", "tensor_parallel", "attention_parallel", "offer")
# What a served case with this input has beside others. With adapters: laws, and that all products of a layer have adapters, as
# engines allow for. With turns: the lengths of a turn, and what of it is cached.
ALONG: dict[str, dict[str, Any]] = {
    "max_loras": {"held_adapter_bytes": "served_adapter_bytes", "added_pass_seconds": "adapter_pass_seconds",
                  **dict.fromkeys(("adapt_query", "adapt_key", "adapt_value", "adapt_output", "adapt_mlp"), 1)},
    "turns": {"prompt": "session_prompt", "prompt_p95": "last_prompt", "prompt_variation": "read_variation",
              "cached_share": "session_cached_share", "fetched_seconds": "cache_fetch_seconds",
              "wanted_cache_bytes": "held_kv_bytes", "idle_cache_bytes": "free_cache_bytes"}}
_OWN = (Change("own_cards", "twice the cards", times=2, own=True), Change("prompt", "prompts half as long", times=0.5, own=True))
# Half is an example: the hit rate of a load is its own, and what the answer says of it is how much hangs on it.
_SHARED = Change("cached_share", "half of each prompt in the prefix cache (prompts that begin alike, turns of a session)", 0.5,
                 new=True)
_NARROW = (Change("weight_format", "weights in 8 bits", "FP8"), Change("weight_format", "weights in 4 bits", "INT4-g128"),
           Change("cache_element_bytes", "an 8-bit KV cache", 1))
# What an engine says of its memory as it starts, and shares of memory that it is told.
_LOG = {"context": "served_context", **_ENGINE_SPLIT}
_LOGGED = tuple(Card(name, of, True, _LOG) for name, of in (
    ("log", "cache_tokens"), ("length", "served_context"), ("room", "engine_room_bytes"), ("static_share", "static_share"),
    ("free_share", "free_share")))
_HOLDS = Card("fits", "held_serving_bytes", True, _FULL)
_BILL = (Card("many", "rented_gpus"), Card("long", "busy_hours", banded=False), Card("cost", "window_usd"))
_SPENT = (Card("many", "gpus"), Card("long", "training_days"), Card("cost", "compute_usd"))
_READS = {"context": "prompt", **_ENGINE_SPLIT}

SERVING = Job(
    chain=SERVE, objective="serving_usd_per_month", keys=_REPLICA,
    cards=(_HOLDS, Card("first", "first_token_alone", True, _MEAN), Card("token", "time_per_output_token", True, _MEAN),
           Card("many", "rented_gpus"), Card("long", "request_seconds", True, _MEAN), Card("cost", "serving_usd_per_month"),
           Card("read", "prefilled_tokens", True), *_LOGGED),
    times=("time_to_first_token", "late_token_seconds", "answer_seconds"),
    free=("first_token_limit", "token_limit", "answer_limit", "usd_per_month"), usual={},
    changes=(*_NARROW, *_times("first_token_limit", ("twice the time to the first token", 2)),
             *_times("token_limit", ("twice the time per token", 2)), *_times("output", ("answers half as long", 0.5)),
             Change("spare_replicas", "no replica to spare", 0),
             Change("drafted", "its own draft layer (85 % of its tokens accepted)", 1, along=("acceptance",), of="mtp_layers",
                    new=True),
             Change("host_cache_bytes", "caches of sessions in host memory, 100 GB for each GPU", 1e11, of="turns", new=True),
             _SHARED, Change("prompts_apart", "prompts read on replicas of their own", 1, new=True), *_OWN),
    turns=(*_times("requests_per_second", *_LOADS), *_times("daily_users", *_LOADS), *_PROMPTS))
OFFLINE = Job(
    chain=(WINDOW, WINDOW_SERVERS), objective="window_usd", keys=_REPLICA,
    cards=(_HOLDS, Card("fast", "output_tokens_per_second", True, _MEAN), *_BILL, *_LOGGED),
    times=("busy_hours",), free=("budget_usd", "usd_per_month"), usual={},
    changes=(*_NARROW, *_times("window_hours", ("twice the hours", 2)), *_times("output", ("answers half as long", 0.5)), _SHARED,
             *_OWN),
    turns=(*_WORK, *_PROMPTS))
EMBEDDING = OFFLINE._replace(
    chain=(READING, WINDOW_SERVERS), like="offline",
    cards=(_HOLDS._replace(given=_READS), Card("fast", "replica_prefill_seconds", True, _READS), *_BILL),
    usual={"prompt_chunk": 0},
    changes=(_NARROW[0], *_times("window_hours", ("twice the hours", 2))))
TRAINING = Job(
    chain=TRAIN, objective="compute_usd", keys=("kind", "gpus", "offer", *DEGREES_USED),
    cards=(Card("fits", "training_bytes", True, LAYOUT.given, "last_stage"),
           Card("fast", "step_seconds", True, LAYOUT.given, "last_stage"), *_SPENT),
    times=("training_days", "step_seconds"), free=("deadline_days", "budget_usd"),
    usual={"flash_attention": 1, "other_work": 0,
           **{name: DEFAULTS[name].value for name in ("setup_hours", "least_rented_hours")}},
    changes=(*_times("deadline_days", ("twice the days", 2)), *_times("training_tokens", ("half the tokens", 0.5)),
             Change("recipe", "a smaller optimizer state", "adamw-8bit"), Change("recipe", "LoRA", "lora", of="finetune"),
             *(Change("recipe", "QLoRA", "qlora", of=job) for job in ("finetune", "lora")),
             *(Change("recipe", "Adam's state in host memory", "mixed-adamw-host", of=job) for job in ("finetune", "dpo")),
             _OWN[0], Change("term", "spot machines", "spot")))
PREFERENCES = TRAINING._replace(
    chain=preferences(*TRAIN), like="train",
    cards=(Card("fits", "policy_bytes", True, LAYOUT.given, "last_stage"),
           Card("fast", "learning_seconds", True, LAYOUT.given, "last_stage"), *_SPENT),
    times=("training_days", "learning_seconds"),
    usual=TRAINING.usual | {"training_tokens": "preference_tokens", "references": 1},
    changes=(*_times("preference_pairs", ("half the pairs", 0.5)), *TRAINING.changes[2:]))
# The policy scores its answers again, as engines give other probabilities.
ROLLOUTS = TRAINING._replace(
    chain=rollouts(*TRAIN), like="train", keys=("kind", "gpus", "trainer_share", "offer"),
    cards=(Card("fits", "policy_bytes", True, WRITING | LONGEST, "last_stage"),
           Card("fast", "grpo_step_seconds", True, WRITING, "last_stage"), *_SPENT),
    times=("training_days", "grpo_step_seconds", "rollout_share"),
    usual=TRAINING.usual | {
        "sequence": "trained_sequence", "global_batch": "step_answers", "batch": "rollout_batch", "context": "rollout_context",
        "references": 1, "old_scores": 1, "offloaded_states": 1, "staleness": 1,
        **{name: DEFAULTS[name].value for name in ("prompts_per_step", "group_size")}},
    changes=(*_times("group_size", ("half as many answers", 0.5)), Change("references", "no reference", 0),
             *TRAINING.changes[2:]))
# By kind of job, as data/jobs.csv names it; a job that has a record of its own is of that.
JOBS = {"serve": SERVING, "offline": OFFLINE, "embed": EMBEDDING, "train": TRAINING, "dpo": PREFERENCES, "grpo": ROLLOUTS}


def trains(kind: str) -> bool:
    """Whether a job of the kind is a run on machines that are rented for it, rather than a load that is served."""
    return (JOBS[kind].like or kind) == "train"
