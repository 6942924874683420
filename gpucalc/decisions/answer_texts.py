"""Texts of answers: what to take, why others are not taken, what binds, helps and flips it, what to be careful of."""


# Why a choice is not taken, what binds, helps and flips it, and what to be careful of: texts as `answer_texts` has them.

PER = {"serve": " a month", "offline": " a window", "train": ""}
REASONS = {
    # Why a GPU is not taken, by what its nearest choice breaks
    "lost_unrented": "no provider in the book rents it out on these terms",
    "lost_asked_context": "the model reads at most {most:tokens}; asked: {value}",
    "lost_prompt": "the model reads at most {most:tokens}; asked: {value}",
    "lost_unlinked": "the latency of its link is unknown",
    "lost_gpus_per_server": "a machine has {value:GPUs}, more than the {most} that may be used",
    "lost_forbidden": "its driver's license keeps it out of data centers",
    "lost_doubtful_price": "none of its prices is firm enough to decide by",
    "lost_doubtful_term": [("term known", "offered only {term:in_term}, which does not suit the job"),
                           ("", "its term does not suit the job")],
    "lost_answer_seconds": [
        ("value unknown", "with its queue no answer keeps the limit of {most:seconds}"),
        ("", "the whole answer takes {value:seconds}, over the limit of {most:seconds}"),
    ],
    "lost_time_to_first_token": [
        ("value unknown", "with its queue no first token keeps the limit of {most:seconds}"),
        ("", "first token after {value:seconds}, over the limit of {most:seconds}"),
    ],
    "lost_speculative_seconds": "{value:seconds} a token, over the limit of {most:seconds}",
    "lost_late_token_seconds": [
        ("value unknown", "with its queue no answer keeps the limit of {most:seconds} a token"),
        ("", "{value:seconds} a token at the load, over the limit of {most:seconds}"),
    ],
    "lost_lacks_format": [
        ("weight_format known & cache_format known", "no engine path for {weight_format} weights, or a cache in {cache_format}"),
        ("weight_format known", "no engine path for {weight_format} weights"),
        ("cache_format known", "no engine path for a cache in {cache_format}"),
        ("", "cannot compute in the format of this job")],
    "lost_split_misfits": "the model does not split over {tensor_parallel:GPUs}",
    "lost_spread_misfits": "attention in groups needs experts that spread over {replica_gpus:GPUs}",
    "large": [("weights > @memory_bytes", "the weights take {weights:byte}, and a GPU has {memory_bytes:byte}: "), ("", "")],
    "lost_server_misfits": "{large:text}a replica needs {replica_gpus:GPUs}, and no network joins its servers",
    "lost_batch": [
        ("replica_gpus = 1", "the weights, {weights:byte}, and one sequence do not fit in its {memory_bytes:byte}"),
        ("", "the weights, {weights:byte}, and one sequence do not fit on {replica_gpus:GPUs} of {memory_bytes:byte} each")],
    "seated": [("value = @replica_gpus", "a replica needs {value:GPUs} in one server"),
               ("", "a replica needs {replica_gpus:GPUs}, {value} of them in one server")],
    "lost_tensor_parallel": [("most = 1", "{large:text}{seated:text}, but it is offered one at a time"),
                             ("", "{large:text}{seated:text}, but a server has {most}")],
    "lost_serving_usd_per_month": "{value:dollars} a month, over the limit of {most:dollars}",
    "lost_window_usd": "{value:dollars} a window, over the limit of {most:dollars}",
    "lost_compute_usd": [("value unknown", "stopped so often that it never finishes"),
                         ("sure > 0.5", "up to {value:dollars}, over the limit of {most:dollars}"),
                         ("", "{value:dollars}, over the limit of {most:dollars}")],
    "lost_training_days": [("value unknown", "stopped so often that it never finishes"),
                           ("sure > 0.5", "up to {value:days}, over the limit of {most:days}"),
                           ("", "{value:days}, over the limit of {most:days}")],
    "lost_excess_machines": "too many machines of {gpus_per_server:GPUs} to train across",
    "lost_layout_misfits": [("gpus = 1", "no layout fits the job on one GPU"), ("", "no layout splits the job over {gpus:GPUs}")],
    "lost_training_bytes": [("gpus = 1", "needs up to {value:byte}, more than its {most:byte}"),
                            ("", "needs up to {value:byte} on each of {gpus:GPUs}, more than their {most:byte}")],
    "lost_policy_bytes": [("gpus = 1", "needs up to {value:byte}, more than its {most:byte}"),
                          ("", "needs up to {value:byte} on each of {gpus:GPUs}, more than their {most:byte}")],
    "lost_trainer_misfits": [("gpus = 1", "no layout fits the job on one GPU"),
                             ("", "no layout splits the job over {gpus:GPUs}")],
    "lost_rollout_misfits": "the model does not split over the engine's {rollout_parallel:GPUs}",
    "lost_missing_places": "weights and the cache of one answer do not fit on the engine's {rollout_parallel:GPUs}",

    # Why a choice that keeps the limits is not the first
    "later": [
        ("high_objective unknown & best_high known", "costs {costs:text}, and in the slowest tenth of cases it misses a limit"),
        ("tie = 1", "costs {costs:text}, too close to call"),
        ("", "costs {costs:text}"),
    ],
    "costs": [("more = 0", "the same"), ("more < 0.005", "hardly more"), ("more < 1", "{more:chance} more"),
              ("", "{ratio:times} as much")],

    # What binds and what would help
    "limits": [
        ("limit = first_token_limit", "{most:seconds} to the first token"),
        ("limit = token_limit", "{most:seconds} a token"),
        ("limit = answer_limit", "{most:seconds} for the whole answer"),
        ("limit = usd_per_month", "{most:dollars} a month"),
        ("limit = budget_usd", "{most:dollars}"),
        ("limit = deadline_days", "{most:days}"),
    ],
    "binds": "without the limit of {limits:text} it would cost {share:chance} less",
    "binds_none": "no limit of yours makes it cost more",
    "per": [("kind = serve", PER["serve"]), ("kind = train", ""), ("kind = dpo", ""), ("kind = grpo", ""), ("", PER["offline"])],
    "helps": [
        ("before unknown", "with {words}{set:text} it can be done, for {after:dollars}{per:text}"),
        ("", "with {words}{set:text} it costs {after:dollars}{per:text} ({less:chance} less)"),
    ],
    "set": [("value_text known", " ({value_text})"), ("", "")],
    "loosen": "allow {allowed:text}{also:text}: {nearest} comes nearest",
    "also": [("limit = budget_usd", ""), ("limit = usd_per_month", ""),
             ("sure_objective > @budget", " and {sure_objective:dollars} instead of {budget:dollars}"),
             ("sure_objective unknown & objective > @budget", " and {objective:dollars} instead of {budget:dollars}"), ("", "")],
    "allowed": [
        ("limit = first_token_limit", "{value:seconds} to the first token instead of {most:seconds}"),
        ("limit = token_limit", "{value:seconds} a token instead of {most:seconds}"),
        ("limit = answer_limit", "{value:seconds} for the whole answer instead of {most:seconds}"),
        ("limit = usd_per_month", "{value:dollars} a month instead of {most:dollars}"),
        ("limit = budget_usd", "{value:dollars} instead of {most:dollars}"),
        ("limit = deadline_days", "{value:days} instead of {most:days}"),
    ],
    "flip_rent": [
        ("close = 1", "{gpu} from {provider} costs the same, to a cent an hour"),
        ("", "{gpu} would win below {turn:hourly} for a GPU; {provider} asks {usd_per_hour:hourly}"),
    ],
    "flip_turn": "with {words} ({value_text}) {gpu} would be the cheapest",
    "value_requests_per_second": "{value:requests} a second", "value_daily_users": "{value:people}",
    "value_window_requests": "{value}", "value_prompt": "{value:tokens}", "value_output": "{value:tokens}",

    # What to be careful of
    "caution_ecc": [
        ("no_ecc = 1", "The memory of {gpu} has no error correction, or has it switched off: a wrong bit goes unnoticed."),
        ("", "")],
    "ago": [("to_the_day = 1", "{age_days:days}"), ("", "up to {age_days:days}")],
    "caution_stale": [("age_days > @stale_days",
                       "The price at {provider} is from {date}, {ago:text} ago: ask for a new one."),
                      ("stale = 1", "The price at {provider} is from {date}, more than {stale_days:days} older than the price "
                                    "book: ask for a new one."),
                      ("", "")],
    "caution_not_yours": [("own_book = 1 & yours = 0", "The price at {provider} is not yours: your file has none for it."),
                          ("", "")],
    "caution_license": [
        ("consumer = 1", "Its driver's license keeps {gpu} out of data centers: run it on a machine of your own."),
        ("", "")],
    "caution_sole": [
        ("sole = 1", "The cost is not firm: it rests on the price of one provider, seen once, on {date}. No other provider in "
                     "the book has a price of {gpu} {term:in_term} that was read at its source. Ask {provider} for a quote."),
        ("", "")],
    "alone": [("sole = 1", ", of one provider alone: not firm"), ("", "")],
    "on_spot": "on spot, where machines may be taken back: {spot_usd:dollars} with the stops, if you get {spot_taken:text} from "
               "{spot_provider}{spot_alone:text}",
    "spot_taken": [("spot_gpus = 1", "one {spot_gpu}"), ("", "{spot_gpus} × {spot_gpu} at once")],
    "spot_alone": [("spot_sole = 1", "; no other provider has such a price, so it is not firm"), ("", "")],
    "caution_quota": [
        ("servers > 1 & ways != own", "More than one server: ask {provider} first whether it has {gpus:GPUs} for you."),
        ("", "")],
    "caution_spot": [("term = spot", "Spot machines are taken back at short notice; the figures include what the stops cost."),
                     ("", "")],
    "caution_api": [("way = api & api_usd < @cost_low",
                     "An API costs less: {api_usd:dollars}{per:text} from {api_who} for the same load."), ("", "")],
    "caution_end": [("cost_high unknown", "In the slowest tenth of cases this choice misses a limit."), ("", "")],
}
CAUTIONS = ("license", "ecc", "stale", "not_yours", "sole", "quota", "spot", "api", "end")


# The answer to a case in words, as data: the browser fills the same texts with the same numbers.
#
# A text is a template, or a list of (condition, template) of which the first that holds is said; of a text in PARTS all that
# hold are, joined by what stands there. A condition is `name = value`, with `=`, `!=`, `<` or `>` and a number, a word or `@`
# and the name of another fact, or `name known` or `name unknown`; several are joined by ` & `, and an empty one holds. In a
# template `{name}` is a fact, `{name:form}` a fact in that form, `{low-high:form}` two of them with one unit, and `{name:text}`
# the text of that name. A form is a unit of data/units.csv, a function of core/figures.py, a noun of NOUNS (`1 GPU`, `2 GPUs`)
# or one of WORDS.

__all__ = ["BARS", "CAUTIONS", "NOUNS", "PARTS", "TEXTS", "TITLES", "WHY", "WORDS"]

NOUNS = {"GPUs": "GPU", "replicas": "replica", "machines": "machine", "tokens": "token", "sequences": "sequence", "times": "time",
         "stages": "stage", "requests": "request", "images": "image", "documents": "document", "people": "person"}
WORDS = {
    "in_term": {
        "on-demand": "on demand", "spot": "on spot", "reserved-1y": "reserved for a year", "serverless": "serverless",
        "reserved-3y": "reserved for three years", "reserved": "as a reservation", "marketplace": "from unnamed hosts",
        "capacity-block": "as a block of fixed dates", "managed": "as a managed service"},
    "in_cases": {"0.5": "in half of all cases", "0.8": "in eight of ten cases", "0.9": "in nine of ten cases",
                 "0.95": "in 19 of 20 cases"},
    "verb": {"pretrain": "train", "continue": "continue training", "finetune": "tune all weights of", "lora": "tune adapters on",
             "qlora": "tune adapters on a four-bit", "serve": "serve", "batch": "answer with", "embed": "embed with",
             "images": "check images with", "dpo": "tune with DPO", "grpo": "train with GRPO"},
    "recomputed": {"0": "nothing", "1": "attention scores", "2": "whole layers", "3": "all but products"},
    "way": {"own": "Buying is cheaper", "rent": "Renting is cheapest", "api": "An API is cheaper"},
}
PARTS = {"split": "", "question_serve": ", ", "question_offline": ", ", "question_train": ", ", "question_dpo": ", ",
         "question_grpo": ", ", "layout_train": ", ", "layout_grpo": ", "}


def _band(name, form):
    """What is said of a figure's band and bound; a figure without a band has nothing between its ends."""
    low, bound = (f"{{{name}_{end}:{form}}}" for end in ("low", "bound"))
    ends = f"8 in 10 between {{{name}_low-{name}_high:{form}}}"
    return [
        (f"{name}_high unknown", f"from {low}; in the slowest tenth of cases a limit is missed"),
        (f"{name}_low = @{name}_high", "the same in 8 of 10 cases"),
        (f"{name}_bound known", f"{ends}; nothing beats {bound}"),
        ("", ends),
    ]


def _cost(kind):
    plan = "{cost_plan:dollars}" + PER[kind]
    return [
        ("cost_high unknown", f"{plan} (from {{cost_low:dollars}}; in the slowest tenth of cases a limit is missed)"),
        ("cost_low = @cost_high", f"{plan} (the same in 8 of 10 cases)"),
        ("", f"{plan} (8 in 10 between {{cost_low-cost_high:dollars}})"),
    ]


_RUN_LIMITS = [
    ("recipe known", "with the recipe {recipe}"),
    ("most_gpus known", "on at most {most_gpus:GPUs}"),
    ("deadline_days known", "in {deadline_days:days} or less"),
    ("budget_usd known", "for at most {budget_usd:dollars}"),
]
_RENTED = "rented from {provider} {term:in_term}"
_HIRED = "Renting the same from {provider} {term:in_term} would cost"
_SURE = "With this plan the limits hold {sure:in_cases}."

TEXTS = {
    # The question
    "title": [("kind = own", "Rent or buy {gpu}"), ("job = dpo", "tune {model} with DPO"),
              ("job = grpo", "train {model} with GRPO"), ("", "{job:verb} {model}")],
    "format": [("weight_format known", " in {weight_format}"), ("", "")],
    "question_serve": [
        ("daily_users known", "What does it take to serve {model}{format:text} to {daily_users:people} a day"),
        ("daily_users unknown", "What does it take to serve {model}{format:text} at {requests_per_second:requests} a second"),
        ("daily_users known", "{requests_per_second:requests} a second in the busiest hour"),
        ("prompt known", "with prompts of {prompt:tokens}{prompt_far:text} and answers of {output}{output_far:text}"),
        ("first_token_limit known", "{in_time} of 100 first tokens within {first_token_limit:seconds}"),
        ("token_limit known", "{in_time} of 100 answers at {token_limit:seconds} a token"),
        ("answer_limit known", "{in_time} of 100 answers within {answer_limit:seconds}"),
        ("usd_per_month known", "for at most {usd_per_month:dollars} a month"),
    ],
    "prompt_far": [("prompt_p95 > 0", " on average (95 of 100 below {prompt_p95})"), ("", "")],
    "output_far": [("output_p95 > 0", " on average (95 of 100 below {output_p95})"), ("", "")],
    "question_offline": [
        ("job = embed", "What does it take to embed {window_requests:documents} with {model}{format:text}"),
        ("job = images", "What does it take to check {window_requests:images} with {model}{format:text}"),
        ("job = batch", "What does it take to answer {window_requests:requests} with {model}{format:text}"),
        ("job = embed", "each {prompt:tokens} long"),
        ("job != embed", "each {prompt:tokens} long and answered with {output}"),
        ("", "within {window_hours:hour}"),
        ("budget_usd known", "for at most {budget_usd:dollars}"),
        ("usd_per_month known", "for at most {usd_per_month:dollars} a month"),
    ],
    "question_train": [
        ("", "What does it take to {job:verb} {model} on {training_tokens:tokens}"),
        ("epochs > 1", "{epochs:times} over"), *_RUN_LIMITS,
    ],
    "question_dpo": [
        ("", "What does it take to tune {model} with DPO on {preference_pairs} pairs of answers"),
        ("epochs > 1", "{epochs:times} over"), *_RUN_LIMITS,
    ],
    "question_grpo": [
        ("", "What does it take to train {model} with GRPO for {rollout_steps} steps"),
        ("", "{prompts_per_step} prompts each with {group_size} answers"),
        ("output_p95 > 0", "answers of {output:tokens}, one in twenty of {output_p95} or more"),
        ("output_p95 = 0", "answers of {output:tokens}"), *_RUN_LIMITS,
    ],

    # What to take
    "yours": [("gpus = 1", "One {gpu} of your own does it"), ("", "{gpus} × {gpu} of your own do it")],
    "taken": [("gpus = 1", "one {gpu}"), ("", "{gpus} × {gpu}")],
    "layout_serve": [
        ("prefill_replicas known", "{prefill_replicas} prefill and {planned_replicas} decode replicas of {replica_gpus:GPUs}"
                                   "{split:text}"),
        ("replica_gpus = 1 & planned_replicas = 1", "one replica"),
        ("replica_gpus = 1", "{planned_replicas:replicas} of one GPU each"),
        ("planned_replicas = 1", "one replica over {replica_gpus:GPUs}{split:text}"),
        ("", "{planned_replicas:replicas} of {replica_gpus:GPUs}{split:text}"),
    ],
    "split": [
        ("tensor_parallel > 1", ", tensor parallel {tensor_parallel}"),
        ("pipeline_parallel > 1", ", {pipeline_parallel:stages} in a pipeline"),
        ("attention_parallel > 1", ", attention on {attention_parallel} data-parallel groups, experts spread over "
                                   "{expert_gpus:GPUs}"),
    ],
    "layout_train": [
        ("gpus = 1", "the whole model on it"),
        ("data_parallel > 1", "data parallel {data_parallel}"),
        ("tensor_parallel > 1", "tensor parallel {tensor_parallel}"),
        ("pipeline_parallel > 1", "{pipeline_parallel:stages} in a pipeline"),
        ("context_parallel > 1", "context parallel {context_parallel}"),
        ("expert_parallel > 1", "expert parallel {expert_parallel}"),
        ("data_parallel > 1", "ZeRO stage {zero_stage}"),
        ("recompute > 0", "{recompute:recomputed} recomputed"),
        ("", "micro-batch {micro_batch}"),
    ],
    "layout_grpo": [
        ("trainer_share = 1", "all of them write and train in turn"),
        ("trainer_share < 1", "{rollout_gpus:GPUs} write while the others train"),
        ("rollout_parallel > 1", "engines of {rollout_parallel:GPUs}"),
        ("", "training {layout_train:text}"),
    ],
    "headline_serve": [
        ("ways = own", f"{{yours:text}}, as {{layout_serve:text}}. {_HIRED} {{cost_serve:text}}. {_SURE}"),
        ("gpus = 1", f"Take one {{gpu}}, {_RENTED}: {{cost_serve:text}}. {_SURE}"),
        ("", f"Take {{gpus}} × {{gpu}} as {{layout_serve:text}}, {_RENTED}: {{cost_serve:text}}. {_SURE}"),
    ],
    "headline_offline": f"Take {{taken:text}}, {_RENTED}: {{cost_offline:text}}, busy for {{long_plan:hour}} of "
                        f"{{window_hours:hour}}. {_SURE}",
    "headline_train": [
        ("ways = own", f"{{yours:text}} in {{long_plan:days}}: {{layout_train:text}}. {_HIRED} {{cost_train:text}}. {_SURE}"),
        ("gpus = 1", f"Take one {{gpu}}, {_RENTED}: {{cost_train:text}} and {{long_plan:days}}. {_SURE}"),
        ("", f"Take {{gpus}} × {{gpu}} ({{layout_train:text}}), {_RENTED}: {{cost_train:text}} and {{long_plan:days}}. {_SURE}"),
    ],
    "headline_grpo": f"Take {{taken:text}}, {_RENTED}: {{cost_train:text}} and {{long_plan:days}}; {{layout_grpo:text}}. {_SURE}",
    "surely": [("sure > 0.5", " {sure:in_cases}"), ("", "")],
    "cost_serve": _cost("serve"), "cost_offline": _cost("offline"), "cost_train": _cost("train"),
    "headline_none": [
        ("nearest_limit = most_context",
         "The model reads at most {nearest_most:tokens}; asked: {nearest_value}. Take a model with a longer context, or give "
         "max_context if this one is stretched, as by YaRN."),
        ("offered = 0", "None of the GPUs that may be used is on offer: no provider in the book rents them out on these terms."),
        ("nearest known", "Nothing on offer keeps the limits {sure:in_cases}. {nearest} comes nearest: {nearest_reason}."),
        ("", "Nothing on offer keeps the limits {sure:in_cases}."),
    ],

    # The cards
    "big_fits": "{fits_plan:byte} of {memory_bytes:byte} on a GPU",
    "small_fits": _band("fits", "byte"),
    "note_fits_serve": "{batch:sequences} at once on a replica; memory has room for {places}",
    "note_fits_offline": "{note_fits_serve:text}",
    "note_fits_embed": "one document at a time on each replica",
    "note_fits_train": [("gpus = 1", "micro-batch {micro_batch}, {recompute:recomputed} recomputed"),
                        ("", "{layout_train:text}")],
    "big_fast_serve": "{first_plan:seconds} to the first token, then {token_plan:seconds} a token",
    "small_fast_serve": "8 in 10 between {first_low-first_high:seconds}, then {token_low-token_high:seconds} a token; nothing "
                        "beats {first_bound:seconds}, then {token_bound:seconds}",
    "note_fast_serve": "for a request that need not wait, in a full batch; at the load, with the queue, {in_time} of 100 first "
                       "tokens come within {time_to_first_token:seconds}, and {in_time} of 100 answers take "
                       "{late_token_seconds:seconds} a token or less{surely:text}",
    "big_fast_offline": "{fast_plan:token/second} a replica",
    "small_fast_offline": _band("fast", "token/second"),
    "note_fast_offline": "all {batch:sequences} of a replica together",
    "big_fast_embed": "{fast_plan:seconds} a document",
    "small_fast_embed": _band("fast", "seconds"),
    "note_fast_embed": "read one by one; short ones packed into one pass are faster",
    "big_fast_train": "{fast_plan:seconds} a step",
    "small_fast_train": _band("fast", "seconds"),
    "note_fast_train": "{step_tokens:tokens} a step",
    "note_fast_grpo": "{rollout_share:chance} of it is spent on writing answers, {step_tokens:tokens} a step",
    "note_fits_grpo": "while it trains; {rollout_bytes:byte} while answers are written",
    "big_many": [("many_plan = 1", "one {gpu}"), ("", "{many_plan} × {gpu}")],
    "small_many": [
        ("many_low = @many_high", "the same in 8 of 10 cases"),
        ("many_high unknown", "from {many_low}; in the slowest tenth of cases no number is enough"),
        ("", "8 in 10 between {many_low-many_high}"),
    ],
    "note_many_serve": [
        ("spare > 0 & replicas_required = 1", "{layout_serve:text}; one carries the load, {spare} to spare"),
        ("spare > 0", "{layout_serve:text}; {replicas_required} carry the load, {spare} to spare"),
        ("", "{layout_serve:text}"),
    ],
    "note_many_offline": "{layout_serve:text}",
    "note_many_train": [
        ("gpus = 1", "a machine of one GPU"),
        ("machines = 1", "one machine of {gpus_per_server:GPUs}"),
        ("gpus_per_server = 1", "{machines:machines} of one GPU"),
        ("", "{machines:machines} of {gpus_per_server:GPUs}"),
    ],
    "big_long_serve": "{long_plan:seconds} for an answer of {output:tokens}",
    "small_long_serve": _band("long", "seconds"),
    "note_long_serve": "without the queue; with it, {in_time} of 100 answers end within {answer_seconds:seconds}{surely:text}",
    "big_long_offline": "{long_plan:hour} of {window_hours:hour}",
    "small_long_offline": "or less {sure:in_cases}",
    "note_long_offline": "GPUs come whole, so the last one has time to spare",
    "big_long_train": "{long_plan:days}",
    "small_long_train": _band("long", "days"),
    "note_long_train": "stops and restarts counted: {lost_share:chance} of the time",
    "big_cost_serve": "{cost_plan:dollars} a month",
    "big_cost_offline": "{cost_plan:dollars} a window",
    "big_cost_train": "{cost_plan:dollars}",
    "small_cost": _band("cost", "dollars"),
    "note_cost": "{usd_per_hour:hourly} for a GPU, {price:text}{alone:text}",
    "price": [("yours = 1 & age_days known", "your price of {date}{age:text}"), ("yours = 1", "your price"),
              ("own_book = 1", "a price from {date}{age:text}, not yours"), ("", "a price from {date}{age:text}")],
    "age": [("age_days > 0", ", {ago:text} old"), ("", "")],
    "big_ways": [("way = api & api_usd > @cost_low", "Too close to call: rent or an API"), ("way = api", "{way:way}"),
                 ("verdict = close", "Too close to call: rent or buy"), ("way known", "{way:way}"), ("", "Rent")],
    "small_ways": [
        ("own_usd known & api_usd known", "{level:text}, own servers {own_usd:dollars}, an API {api_usd:dollars}"),
        ("own_usd known", "{level:text}, own servers {own_usd:dollars}"),
        ("api_usd known", "rent {cost_plan:dollars}, an API {api_usd:dollars}"),
        ("", "{provider}, {term:in_term}, {usd_per_hour:hourly} for a GPU"),
    ],
    "level": [("rent_fall known", "rent {cost_plan:dollars} today and {rent_level:dollars} on average over about "
                                  "{own_years:year}, as rents fall by about {rent_fall:percent} a year"),
              ("", "rent {cost_plan:dollars}")],
    "note_ways": [("api_below known", "the API of {api_who} costs less below {api_below:requests} a second in the busiest hour"),
                  ("own_usd unknown & api_usd unknown", "this compares rents only"), ("", "")],
    "note_ways_train": [("spot_usd known & ways != own", "{on_spot:text}"), ("", "{note_ways:text}")],

    # Rent or buy
    "question_own": "Rent or buy {gpus_per_server} × {gpu}",
    "headline_own": [
        ("verdict = own", "Buy: {hour:text}."), ("verdict = rent", "Rent: {hour:text}."), ("", "Too close to call: {hour:text}."),
    ],
    "hour": "an hour of use of a GPU costs {rented_plan:usd} rented and {owned_plan:usd} owned (8 in 10 between "
            "{owned_low-owned_high:usd})",
    "prices": [("own_book = 1", "Prices: {book}, laid over the book of {book_date}{book_age:text}."),
               ("", "Prices of {book_date}{book_age:text}.")],
    "book_age": [("book_days > 0", ", {book_days:days} old"), ("", "")],
} | REASONS

# The six cards: the page that explains each, by kind, with what the link says; its title; the figure of its bar where it is not
# the card's own.
_SERVED = {"fits": ("kv_cache", "what weights and cache take"), "fast": ("serving", "how fast a server answers"),
           "many": ("serving", "how a load becomes GPUs"), "long": ("serving", "how long an answer takes"),
           "cost": ("serving_cost", "what serving costs"), "ways": ("serving_cost", "in house or an API")}
_WORKED = _SERVED | {"ways": ("break_even", "rent or buy")}
WHY = {"serve": _SERVED, "offline": _WORKED,
       "embed": _WORKED | {"fits": ("quantization", "weights"), "fast": ("arithmetic_intensity", "what a prompt takes")},
       "train": {"fits": ("training_memory", "what training holds in memory"), "fast": ("training_time", "how long a step takes"),
                 "many": ("layouts", "how a job is split"), "long": ("training_time", "how long a run takes"),
                 "cost": ("training_cost", "what a run costs"), "ways": ("break_even", "rent or buy")}}
WHY |= {kind: WHY["train"] | {"fits": ("post_training", "what stands beside the policy"),
                              "fast": ("post_training", "what a step waits for")} for kind in ("dpo", "grpo")}
TITLES = {"fits": "Does it fit?", "fast": "How fast?", "many": "How many GPUs?", "long": "How long?",
          "cost": "What does it cost?", "ways": "Rent, buy or API?"}
BARS = {"serve": {"fast": "token"}}

# What only the page says: options that can be taken, and the cards of rent or buy.
PAGE = {
    "option": [("layout known", "{gpu}, {layout}, from {provider} {term:in_term}"),
               ("provider known", "{gpu} from {provider} {term:in_term}"), ("", "{gpu}")],
    "option_best": "the cheapest that keeps the limits",
    "big_none": "No",
    "big_sure": "{sure:chance}",
    "small_sure": [("kind = own", "where fewer of the draws agree, it is too close to call"),
                   ("", "the limits hold {sure:in_cases}")],
    "big_own_ways": [("verdict = own", "Buy"), ("verdict = rent", "Rent"), ("", "Too close to call")],
    "small_own_ways": "owning costs less in {chance:chance} of the draws",
    "note_own_ways": [("doubt = 1", "the price of the server is not firm, or too old to buy at"), ("", "")],
    "big_own_cost": "{owned_plan:hourly} owned, {rented_plan:hourly} rented",
    "small_own_cost": "owned: 8 in 10 between {owned_low-owned_high:hourly}",
    "note_own_cost": "for each hour in which a GPU is used, averaged over the years; today {provider} asks {rent_usd:hourly}, "
                     "and a server costs {server_usd:dollars}",
    "big_own_long": [("needed_plan > 1", "More than all the time"), ("needed_plan known", "{needed_plan:percent} of the time"),
                     ("", "at any use")],
    "small_own_long": [("needed_plan known", "8 in 10 between {needed_low:percent} and {needed_high:percent}"), ("", "")],
    "note_own_long": [("needed_plan known", "above this use owning costs less; yours is {use:percent}"),
                      ("", "a commitment is paid idle or not")],
    "lacks": [("lacks = book", "the prices on this page lack a part of owning: power, hosting or servers"),
              ("lacks = server_usd", "the book has no price of a server of {gpu}"),
              ("lacks = usd_per_hour", "the book has no rent of {gpu} on these terms"), ("", "{lacks} is not given")],
    "flip_own": "at {turn_text} ({meaning}) the answer turns",
}
SURE = "How sure?"
OWN = {"ways": ("Rent or buy?", "how this is decided"), "cost": ("What does an hour cost?", "what an hour is made of"),
       "long": ("How busy must it be?", "where owning pays")}
# The card that a limit is about.
LIMITED = {"first_token_limit": "fast", "token_limit": "fast", "answer_limit": "long", "deadline_days": "long",
           "usd_per_month": "cost", "budget_usd": "cost"}
