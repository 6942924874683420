"""Prompts and answers on one server or on two: how much they disturb each other, and how many of each kind a load keeps busy."""
from ..core.law import law


@law
def disturbed_seconds(batch, output, prompt_turn_seconds):
    """What the prompts of others add to each token of a full batch (s): each place is filled once an answer. Orca (OSDI 2022)."""
    return (batch - 1) * prompt_turn_seconds / output


@law
def even_output(batch, prompt_turn_seconds, speculative_seconds):
    """Length of an answer below which its tokens wait longer for the prompts of others than for themselves (tokens).

    From `disturbed_seconds` = the time of a token that nobody disturbs.
    """
    return (batch - 1) * prompt_turn_seconds / speculative_seconds


@law
def prompt_ratio(batch, output, prompt_turn_seconds, speculative_seconds):
    """Replicas that read prompts for each that writes answers, all of them busy (ratio). DistServe (arXiv 2401.09670)."""
    return batch * prompt_turn_seconds / (output * speculative_seconds)
