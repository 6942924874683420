"""Mixtures of experts in a pass: which experts a batch uses, what that makes a token cost, and how GPUs share them."""
from ..core.arithmetic import log, maximum, quotient, sqrt, where
from ..core.law import law
from .quantization import BIT_BYTES


@law
def routed_share(experts_per_token=0, experts=0):
    """Share of a layer's routed experts that one token uses (ratio). Shazeer et al. 2017 (arXiv 1701.06538, section 2.1)."""
    return experts_per_token / maximum(experts, 1)


@law
def touched_experts(routed_share, batch, experts=0):
    """Routed experts of a layer that some token of the batch uses (count, mean), if each token chooses at random.

    A token leaves an expert out with probability 1 - k/E, and a batch with its power.
    """
    return experts * (1 - (1 - routed_share) ** batch)


@law
def pass_expert_tokens(batch, routed_share):
    """Tokens of a pass that a routed expert gets (count, mean)."""
    return batch * routed_share


@law
def pass_token_bytes(read_bytes, batch):
    """Weights that a pass reads for each token it writes (bytes)."""
    return read_bytes / batch


@law
def level_token_bytes(token_flops, peak_flops, bandwidth):
    """Bytes that memory delivers while a token is computed (bytes): a pass that reads more of them for a token waits for memory.

    The ridge point, for one token. Williams et al. 2009 (doi 10.1145/1498765.1498785).
    """
    return token_flops * bandwidth / peak_flops


@law
def all_read_bytes(weight_bytes, lookup_params, weight_element_bytes=..., keep_embeddings=0, kept_element_bytes=...,
                   embedding_bits=0):
    """Weights that a pass reads if its batch uses every expert (bytes): all but embeddings, of which a token looks up a row."""
    kept = weight_element_bytes + keep_embeddings * (kept_element_bytes - weight_element_bytes)
    return weight_bytes - lookup_params * where(embedding_bits > 0, embedding_bits * BIT_BYTES, kept)


@law
def experts_critical_batch(all_read_bytes, level_token_bytes):
    """Batch at which a pass that reads every expert computes for as long as it reads (count), caches left out.

    It is `critical_batch` of a dense model, times what the model holds over what a token uses.
    """
    return all_read_bytes / level_token_bytes


# Experts spread over GPUs, each with an equal part of the batch and of the experts

@law
def gpu_experts(experts, expert_parallel=1):
    """Routed experts of a layer that a GPU holds (count). GShard (arXiv 2006.16668, section 3.2)."""
    return experts / expert_parallel


@law
def gpu_expert_tokens(batch, experts_per_token=0, expert_parallel=1):
    """Tokens that the experts of one GPU get in a layer of a pass (count, mean); as many as its own tokens ask for."""
    return batch * experts_per_token / expert_parallel


@law
def routed_bytes(gpu_expert_tokens, hidden, moe_layers=0, expert_parallel=1, dispatch_element_bytes=...,
                 activation_element_bytes=...):
    """Bytes a GPU sends in a pass that tokens reach their experts and the results come back (bytes): two all-to-all a layer.

    GShard (arXiv 2006.16668, section 3.2).
    """
    away = gpu_expert_tokens * (expert_parallel - 1) / expert_parallel
    return moe_layers * away * hidden * (dispatch_element_bytes + activation_element_bytes)


@law
def random_imbalance(gpu_expert_tokens, expert_parallel=1):
    """Tokens of the fullest GPU over the mean (ratio), if tokens choose at random: what even perfect training leaves.

    The largest of so many nearly normal counts lies sqrt(2 ln n) deviations above the mean. Gumbel 1958, Statistics of Extremes.
    """
    return 1 + sqrt(quotient(2 * log(expert_parallel), gpu_expert_tokens))
