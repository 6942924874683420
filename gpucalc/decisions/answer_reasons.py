"""Why a choice is not taken, what binds, helps and flips it, and what to be careful of: texts as `answer_texts` has them."""

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
