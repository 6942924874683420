"""The queue before the replicas that a load needs: slots and waits, replicas in time, and requests that can wait."""
from ..core.arithmetic import SECONDS_PER_HOUR, ceil, exp, floor, log, maximum, minimum, quotient, sqrt, where
from ..core.law import law
from .lengths import late_deviations, late_quantile
from .serving_layouts import riding_together, turn_length

# Share of the gaps between tokens that may be longer than what is told of them: a p99.
LATE_GAPS = 0.01


# A load

@law
def offered_load(requests_per_second, request_seconds, replicas, batch):
    """Share of all slots that the load fills (ratio); from 1 on the queue grows without end."""
    return requests_per_second * request_seconds / (replicas * batch)


@law
def crowding(request_seconds, time_per_output_token, speculative_seconds, prompt_turn_seconds, fixed_share, output,
             prompts_apart=0):
    """Share of a request's time in a full batch that the batch causes (ratio): the rest it would take in any company."""
    turn = (1 - prompts_apart) * prompt_turn_seconds
    caused = output * (time_per_output_token - speculative_seconds * fixed_share) + turn
    return minimum(maximum(caused / request_seconds, 0), 1)


@law
def waiting_share(offered_load, replicas, batch, crowding):
    """Share of requests that find every slot filled (ratio).

    Without crowding it is near Erlang's C: Sakasegawa 1977 (doi 10.1007/BF02532288). If all time is due to the others, as where
    they share one processor, it is the load to the power of the slots: Kleinrock 1976, Queueing Systems II, section 4.4.
    Between the two one over the squared exponent is the mean of both.
    """
    places = replicas * batch
    alone = sqrt(2 * (places + 1)) - 1
    return minimum(offered_load, 1) ** (places * alone / sqrt((1 - crowding) * places ** 2 + crowding * alone ** 2))


@law
def waiting_seconds(waiting_share, offered_load, request_seconds, replicas, batch, output_variation, late_share=...,
                    attention_parallel=1):
    """Wait for a slot that all but `late_share` of requests stay below (s); infinite if the queue grows without end.

    M/M/c: the chance to wait longer than t is C exp(-(1 - load) c t / T), since a geometric number of slots comes free before:
    Kleinrock 1975, Queueing Systems, section 3.5. A request stays with the replica that had the fewest inside when it came, where
    others wait as long (Foschini and Salz 1978, IEEE Transactions on Communications 26): it waits for the slots of that replica,
    for one of as many replicas as many, whose number is geometric by the load to the power of the replicas. A group of attention,
    which keeps its own sequences, is as a replica here. Answers less alike
    make waits (1 + variation) / 2 times as long: Allen 1990, Probability, Statistics and Queueing Theory. More alike ones are not
    trusted to make them shorter: how long they take depends on the others too.
    """
    longer = log(maximum(waiting_share / late_share, 1)) * maximum((1 + output_variation) / 2, 1)
    empty = 1 - minimum(offered_load, 1) ** (replicas * attention_parallel)
    return quotient(longer * request_seconds, batch / attention_parallel * empty)


# A replica at the load: its batch is not full

def _prompts(load, groups, lone_share):
    return minimum(groups, load * lone_share + exp(-load * lone_share))


@law
def loaded_turn_seconds(prompt_turn_seconds, prompts_together, requests_per_second, replicas, lone_share, prompt_time_variation,
                        batch, output, held_passes, offered_load, attention_parallel=1, prompt_chunk=..., prompts_apart=0):
    """Time of a replica that one prompt takes at the load (s): the fewer prompts come, the fewer groups read at once."""
    seconds = prompt_turn_seconds * prompts_together
    prompts = _prompts(requests_per_second * seconds / replicas, attention_parallel, lone_share)
    turned = prompts / turn_length(prompts, attention_parallel, lone_share, prompt_time_variation)
    came = minimum(offered_load, 1) * held_passes * batch / output
    riding = riding_together(came, attention_parallel, lone_share, prompt_time_variation)
    return seconds / where(attention_parallel > 1, where(prompt_chunk * (1 - prompts_apart) > 0, riding, turned), 1)


@law
def loaded_crowding(crowding, loaded_turn_seconds, prompt_turn_seconds, request_seconds, batch, prompts_apart=0):
    """Crowding with prompts as they are read at the load (ratio): less often together than in a full batch."""
    return crowding + (1 - prompts_apart) * (loaded_turn_seconds - prompt_turn_seconds) * batch / request_seconds


@law
def loaded_request_seconds(request_seconds, crowding, loaded_crowding, offered_load, batch):
    """Mean time of a request at the load (s), that in a full batch at most.

    The more are inside, the slower is each: sequences are negative binomial, whatever the lengths. Kelly 1979, Reversibility and
    Stochastic Networks, section 3.3.
    """
    alone = 1 - crowding * (1 - 1 / batch)
    return request_seconds * minimum(quotient(alone, 1 - loaded_crowding * minimum(offered_load, 1)), 1)


@law
def running_batch(requests_per_second, loaded_request_seconds, replicas, batch):
    """Sequences that a replica runs together at the load (count, mean). Little 1961 (doi 10.1287/opre.9.3.383)."""
    return minimum(requests_per_second * loaded_request_seconds / replicas, batch)


@law
def running_pass_seconds(replica_pass_seconds, fixed_share, running_batch, batch):
    """One pass at the load (s): what it takes for any batch, and of the rest the part for the sequences that run."""
    return replica_pass_seconds * (fixed_share + (1 - fixed_share) * running_batch / batch)


@law
def loaded_token_seconds(time_per_output_token, request_seconds, loaded_request_seconds, output):
    """Mean time between tokens at the load (s)."""
    return time_per_output_token - (request_seconds - loaded_request_seconds) / output


@law
def token_spread(running_batch, batch, speculative_seconds, loaded_turn_seconds, fixed_share, output, loaded_crowding,
                 offered_load, loaded_token_seconds, prompt_time_variation, output_variation, prompts_apart=0):
    """Squared coefficient of variation of the mean time between the tokens of a request (ratio).

    Its batch is larger or smaller than the mean, by two thirds of the variance since it is the mean over a stay; whoever comes in
    a stay enlarges it, and each prompt among them interrupts it. A longer stay meets more of both, until all slots are filled.
    """
    turn = (1 - prompts_apart) * loaded_turn_seconds / output
    each = speculative_seconds * (1 - fixed_share) / batch
    longer = 1 / (1 - minimum(loaded_crowding * minimum(offered_load, 0.999), 0.999))
    room = minimum(((batch - running_batch) / late_deviations.formula(0.05)) ** 2 / (running_batch * longer), 1)
    batches = room * running_batch * longer * (2 / 3 * each ** 2 + each * turn * longer)
    interruptions = running_batch * turn ** 2 * (1 + prompt_time_variation) * (1 + output_variation)
    return (batches + interruptions * (1 + room * (longer ** 2 - 1))) / loaded_token_seconds ** 2


def _late_beside(mean, variance, lone_token_seconds, late_deviations, late_share):
    """Time per token that all but `late_share` stay below: what others add to the time alone is a gamma distribution."""
    more = maximum(mean - lone_token_seconds, 0)
    return lone_token_seconds + late_quantile(more, quotient(variance, more ** 2), late_deviations, late_share)


@law
def full_token_seconds(time_per_output_token, prompt_turn_seconds, batch, output, lone_token_seconds, prompt_time_variation,
                       output_variation, late_deviations, prompts_apart=0, late_share=...):
    """Mean time between the tokens of a request in a full batch that all but `late_share` of requests stay below (s): only the
    prompts that interrupt it differ."""
    turn = (1 - prompts_apart) * prompt_turn_seconds / output
    variance = batch * turn ** 2 * (1 + prompt_time_variation) * (1 + output_variation)
    return _late_beside(time_per_output_token, variance, lone_token_seconds, late_deviations, late_share)


@law
def late_token_seconds(loaded_token_seconds, token_spread, lone_token_seconds, full_token_seconds, time_per_output_token,
                       late_deviations, waiting_seconds, output, prompts_apart=0, late_share=...):
    """Mean time between the tokens of a request that all but `late_share` of requests stay below (s).

    TPOT as benchmarks count it: from the first token to the last, over the tokens between. It is that of a full batch at most,
    and that where the mean is. After a prompt that was read apart the wait for a slot is one of the times between.
    """
    late = _late_beside(loaded_token_seconds, token_spread * loaded_token_seconds ** 2, lone_token_seconds, late_deviations,
                        late_share)
    most = minimum(late, full_token_seconds)
    return where(loaded_token_seconds < time_per_output_token, most, full_token_seconds) + where(
        prompts_apart > 0, waiting_seconds, 0) / output


# The longest of the gaps between two tokens

@law
def gap_prompts(requests_per_second, replicas, running_pass_seconds, prefilled_tokens, held_passes, prompt_chunk=...,
                prompts_apart=0):
    """Prompts, or chunks of them, that come to a replica during a pass, or those that hold prompts back (count, mean): requests
    come at random, each in so many chunks. None come where prompts are read apart.
    """
    chunks = where(prompt_chunk > 0, maximum(prefilled_tokens / maximum(prompt_chunk, 1), 1), 1)
    return (1 - prompts_apart) * chunks * held_passes * requests_per_second * running_pass_seconds / replicas


@law
def gap_again(requests_per_second, replicas, prompt_turn_seconds, held_passes):
    """Prompts that come to a replica while one is read and are read with the next one (count, mean), of the time that a prompt
    takes of it. Where prompts are held back, others that come wait as long as those of any other pass.
    """
    return minimum(requests_per_second * prompt_turn_seconds / (replicas * held_passes), 0.99)


@law
def late_gap_prompts(gap_prompts, gap_again):
    """Prompts, or chunks, in the gap between two tokens that 99 of 100 gaps stay below (count).

    Those that come in a pass are read before the next one, with those that come meanwhile, and so on: a generalized Poisson
    distribution, of the mean n / (1 - r) and the variance n / (1 - r)^3. Consul and Jain 1973 (Technometrics 15, 791).
    0 where fewer than one gap in a hundred has any, exp(-n) of n; else as of a gamma distribution of that mean and variance.
    """
    mean = gap_prompts / (1 - gap_again)
    many = late_quantile(mean, quotient(1, gap_prompts * (1 - gap_again)), late_deviations.formula(LATE_GAPS), LATE_GAPS)
    return where(1 - exp(-gap_prompts) > LATE_GAPS, maximum(floor(many + 1 / 2), 1), 0)


@law
def late_gap_seconds(running_pass_seconds, replica_pass_seconds, late_gap_prompts, prompt_turn_seconds, prompts_together,
                     prefilled_tokens, prompt_chunk=...):
    """Time between two tokens of a sequence that 99 of 100 such gaps stay below (s): a pass, and the prompts read in it.

    The p99 of inter-token latency as vLLM's benchmarks/serve.py counts it. Sarathi-Serve (arXiv 2403.02310, section 3.2): a
    prompt hides in a mean over the tokens of an answer and stands in one of its gaps as a whole. Where prompts ride in passes,
    it is a full pass with as many of their tokens as a chunk holds at most: the largest that the engine makes.
    """
    each = prompt_turn_seconds * prompts_together
    most = where(prompt_chunk > 0, prompt_chunk / prefilled_tokens, late_gap_prompts)
    read = minimum(maximum(late_gap_prompts / prompts_together, 1) * minimum(most, 1), most)
    passed = where(prompt_chunk * late_gap_prompts > 0, replica_pass_seconds, running_pass_seconds)
    return passed + where(late_gap_prompts > 0, each * read, 0)


# The first token

@law
def reading_seconds(prompt_turn_seconds, prompts_together, running_pass_seconds, prefilled_tokens, held_passes, prompt_chunk=...,
                    prompts_apart=0):
    """Time that a prompt keeps others of its group from being read (s): its own, and of the passes in which its chunks ride."""
    passes = held_passes * where(prompt_chunk > 0, prefilled_tokens / maximum(prompt_chunk, 1), 0)
    return prompt_turn_seconds * prompts_together + (1 - prompts_apart) * passes * running_pass_seconds


@law
def reading_load(requests_per_second, replicas, reading_seconds, prefill_replicas, prompts_apart=0):
    """Prompts that come to a replica while one is read (ratio): with one group the share of the time in which it does so."""
    return requests_per_second * reading_seconds / where(prompts_apart > 0, maximum(prefill_replicas, 1), replicas)


@law
def users_reading_load(batch, reading_seconds, request_seconds):
    """Prompts of others that come while one is read (ratio), where a fixed number of users ask again once answered.

    A request finds the others as if its user were not there: Reiser and Lavenberg 1980 (doi 10.1145/322186.322195).
    """
    return (batch - 1) * reading_seconds / request_seconds


@law
def turn_prompts(reading_load, lone_share, attention_parallel=1):
    """Prompts in one turn of groups that wait for each other (count, mean).

    A turn reads all that came in the one before, or one if none did, and no more than there are groups: n + exp(-n) of n.
    """
    return _prompts(reading_load, attention_parallel, lone_share)


@law
def turn_seconds(reading_seconds, turn_prompts, lone_share, prompt_time_variation, attention_parallel=1):
    """Time of a turn in which groups read prompts (s): that of its longest."""
    return reading_seconds * turn_length(turn_prompts, attention_parallel, lone_share, prompt_time_variation)


@law
def reading_share(reading_load, turn_seconds, reading_seconds, turn_prompts):
    """Share of the time in which some group reads prompts (ratio)."""
    return reading_load * turn_seconds / (reading_seconds * turn_prompts)


@law
def beside_seconds(reading_share, reading_load, reading_seconds, lone_share, prompt_time_variation, prompt_turn_seconds,
                   running_pass_seconds, attention_parallel=1, prompt_chunk=..., prompts_apart=0):
    """What prompts in the same turn or pass add to one's own (s): those of other groups, and where prompts ride all of them.

    A pass of P with the prompts that came in the one before, which take a share x of the time, takes P / (1 - x): one waits for
    half of one, and rides in the next.
    """
    prompts = minimum(attention_parallel, 1 + reading_share * reading_load)
    turn = reading_seconds * (turn_length(prompts, attention_parallel, lone_share, prompt_time_variation) - lone_share)
    share = minimum(reading_load * prompt_turn_seconds / reading_seconds, 0.999)
    longer = 1.5 * running_pass_seconds * share / (1 - share)
    return turn + where(prompt_chunk * (1 - prompts_apart) > 0, longer, 0)


@law
def prompt_wait_seconds(reading_share, turn_seconds, turn_prompts, beside_seconds, prompt_time_variation, attention_parallel=1):
    """Mean wait for the prompts of others (s): M/G/1; infinite if prompts alone fill a replica.

    Pollaczek and Khinchine: Kleinrock 1975, Queueing Systems, section 5.6. Of several groups one without a prompt takes the next.
    """
    free = 1 - (reading_share * turn_prompts / attention_parallel) ** attention_parallel
    return quotient(reading_share * turn_seconds * (1 + prompt_time_variation), 2 * free) + beside_seconds


@law
def unhindered_first_token(running_pass_seconds, replica_pass_seconds, prompt_seconds, prompt_host_seconds, prefilled_tokens,
                           replica_prefill_seconds, lone_share, held_passes, prompt_chunk=..., prompts_apart=0):
    """Mean time to the first token of a request that finds a slot and no prompt before its own (s): what the engine adds, half
    a pass or half of those that hold prompts back, and its own.

    Passes go on while no prompt waits: Fuhrmann and Cooper 1985 (doi 10.1287/opre.33.5.1117). Chunks ride in passes at the load,
    which take no less than one of its own would: beside few sequences a prompt reads the experts that those leave out.
    """
    passes = where(prompt_chunk > 0, ceil(prefilled_tokens / maximum(prompt_chunk, 1)), 0) * (1 - prompts_apart)
    shorter = maximum(passes - 1, 0) * (replica_pass_seconds - held_passes * running_pass_seconds)
    own = prompt_seconds - shorter + where(passes > 0, running_pass_seconds, 0)
    least = where(passes > 0, replica_prefill_seconds * lone_share, 0)
    return prompt_host_seconds + (1 - prompts_apart) * held_passes * running_pass_seconds / 2 + maximum(own, least)


@law
def mean_first_token(prompt_wait_seconds, unhindered_first_token):
    """Mean time to the first token of a request that finds a slot (s): the prompts of others, and its own."""
    return prompt_wait_seconds + unhindered_first_token


@law
def users_first_token(mean_first_token, replica_prefill_seconds, prompt_host_seconds, batch, user_requests, attention_parallel=1,
                      pipeline_parallel=1):
    """Mean time to the first token where users begin together and each asks so many times, again once answered (s).

    At first a prompt waits for half of the others of its group, and there is no answer to ride beside. vLLM
    vllm/benchmarks/serve.py, a rate without limit for so many at once.
    """
    first = prompt_host_seconds + (batch / attention_parallel + 1) / 2 * replica_prefill_seconds / pipeline_parallel
    return mean_first_token + (first - mean_first_token) / user_requests


@law
def first_token_spread(prompt_wait_seconds, beside_seconds, reading_seconds, running_pass_seconds, unhindered_first_token,
                       prompt_time_variation, held_passes, prompts_apart=0):
    """Squared coefficient of variation of the time to the first token of a request that finds a slot (ratio).

    Variances of the wait in M/G/1, with the third moment of a lognormal, of a part of a pass, or of those that hold prompts
    back, and of the prompt itself.
    """
    wait = minimum(prompt_wait_seconds - beside_seconds, 1e6 * reading_seconds)
    begin = (1 - prompts_apart) * held_passes * running_pass_seconds
    variance = (wait ** 2 + 2 / 3 * wait * reading_seconds * (1 + prompt_time_variation) ** 2
                + begin ** 2 / 12 + prompt_time_variation * reading_seconds ** 2)
    return variance / (unhindered_first_token + wait) ** 2


@law
def time_to_first_token(waiting_seconds, mean_first_token, first_token_spread, late_deviations, prompts_apart=0, late_share=...):
    """Time to the first token that all but `late_share` of requests stay below (s).

    The wait for a slot at its worst, and the rest as a gamma distribution. Prompts that are read apart wait for no slot.
    """
    late = late_quantile(mean_first_token, first_token_spread, late_deviations, late_share)
    return where(prompts_apart > 0, 0, waiting_seconds) + late


@law
def answer_seconds(waiting_seconds, mean_first_token, loaded_token_seconds, token_spread, time_per_output_token, prompt_seconds,
                   prompt_host_seconds, output, output_variation, late_deviations):
    """Time to the whole answer that all but `late_share` of requests stay below (s): the wait at its worst, and a long answer.

    The answer as a lognormal distribution: a product of its length and its time per token, whose spread shrinks with the length.
    A spread beyond which the late ones of the same mean would come earlier counts as that. It is no longer than in a full batch,
    which all requests share alike.
    """
    length, spread = log(1 + output_variation), token_spread / (1 + output_variation)
    both = minimum(length + spread, maximum(late_deviations ** 2, 1))
    here = output * loaded_token_seconds * exp(late_deviations * sqrt(both) - both / 2)
    full = output * time_per_output_token * exp(late_deviations * sqrt(length) - length / 2)
    return waiting_seconds + minimum(mean_first_token + here, prompt_host_seconds + prompt_seconds + full)


@law
def spare_places(request_seconds, answer_limit, late_share=...):
    """Places beyond the load that make the wait short enough even if every request had to wait (count): M/M/c with C = 1.

    Infinite if a request that waits for nothing takes too long.
    """
    return quotient(request_seconds * log(1 / late_share), answer_limit - request_seconds)


@law
def replicas_required(requests_per_second, request_seconds, spare_places, batch):
    """Replicas with slots for the load, and enough to spare for answers in time (count)."""
    return ceil((requests_per_second * request_seconds + spare_places) / batch)


@law
def planned_replicas(replicas_required, requests_per_second, request_seconds, batch, most_load=..., spare_replicas=...):
    """Replicas to pay for (count): those required, with the spare ones out of service; and with all in service a capped load."""
    return maximum(replicas_required + spare_replicas, ceil(requests_per_second * request_seconds / (batch * most_load)))


# Requests that can wait

@law
def window_batch(requests_per_second, batching_window):
    """Requests in a batch that waits a fixed time after its first (count, mean)."""
    return 1 + requests_per_second * batching_window


@law
def offline_replicas(window_tokens, output_tokens_per_second, window_hours):
    """Replicas that generate the tokens within the hours (count)."""
    return ceil(window_tokens / (output_tokens_per_second * window_hours * SECONDS_PER_HOUR))
