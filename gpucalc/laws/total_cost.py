"""The bill of a workload: compute, storage, a copy of the data, egress by tier and the premium of a managed service."""
from ..core.arithmetic import BYTES_PER_GB, MONTHS_PER_YEAR, maximum, minimum, quotient, where
from ..core.law import law


@law
def text_bytes(training_tokens, token_text_bytes=...):
    """Text that so many tokens stand for (B).

    The default is that of Llama 3 on English, in characters of one byte (arXiv 2407.21783, 3.2).
    """
    return training_tokens * token_text_bytes


@law
def pulled_bytes(corpus_bytes, runs=1, cached=0):
    """What leaves the cloud that holds the data (B): the corpus once if a copy is kept beside the GPUs, else on every run."""
    return corpus_bytes * where(cached > 0, 1, runs)


@law
def storage_usd(stored_bytes, usd_per_gb_month, months):
    """What is kept where the data lives (USD)."""
    return stored_bytes / BYTES_PER_GB * usd_per_gb_month * months


@law
def storage_tier_usd(stored_bytes, from_bytes, to_bytes, usd_per_gb_month, months):
    """What one tier of a store charges (USD) for bytes that are kept there for months."""
    return maximum(minimum(stored_bytes, to_bytes) - from_bytes, 0) / BYTES_PER_GB * usd_per_gb_month * months


@law
def copy_usd(corpus_bytes, copy_usd_per_gb_month, months, cached=0):
    """The copy of the data beside the GPUs, if there is one (USD)."""
    return cached * corpus_bytes / BYTES_PER_GB * copy_usd_per_gb_month * months


@law
def owned_usd_per_gb_month(storage_gear_usd_per_gb, years, copies=...):
    """What keeping data on bought storage costs at least (USD per GB and month): no rack, power, people or spare room in it."""
    return storage_gear_usd_per_gb * copies / (years * MONTHS_PER_YEAR)


@law
def egress_tier_usd(egress_bytes, from_bytes, to_bytes, usd_per_gb, egress_months=1):
    """What one tier charges (USD) for bytes that leave in equal parts over months: tiers start again every month."""
    return egress_months * maximum(minimum(egress_bytes / egress_months, to_bytes) - from_bytes, 0) / BYTES_PER_GB * usd_per_gb


@law
def egress_usd(pulled_bytes, usd_per_gb, free_bytes=0, egress_months=1):
    """Egress at one price after what is free every month (USD): the first two tiers of a price list, and all of a flat one."""
    return maximum(pulled_bytes - egress_months * free_bytes, 0) / BYTES_PER_GB * usd_per_gb


@law
def answer_bytes(mean_requests_per_month, output, token_text_bytes=...):
    """Text of the answers that leave the servers in a month (B); chunks of a stream, each in its own JSON, are longer."""
    return text_bytes.formula(mean_requests_per_month * output, token_text_bytes)


@law
def managed_usd(compute_usd, premium):
    """Managed-service premium (USD): a mark-up on the compute bought from the same cloud."""
    return compute_usd * premium


@law
def total_usd(compute_usd, storage_usd, copy_usd, egress_usd, managed_usd):
    """The rows of the bill together (USD)."""
    return compute_usd + storage_usd + copy_usd + egress_usd + managed_usd


@law
def break_even_corpus_bytes(gpu_hours, home_usd_per_hour, usd_per_hour, usd_per_gb):
    """Data a run may pull afresh before its egress costs what the cheaper hours save (B), beyond what is free."""
    return quotient(gpu_hours * maximum(home_usd_per_hour - usd_per_hour, 0), usd_per_gb) * BYTES_PER_GB


@law
def break_even_runs(egress_usd, copy_usd, gpu_hours, home_usd_per_hour, usd_per_hour):
    """Runs from which moving the data once and keeping the copy costs less than computing where it lives; infinite if never."""
    return quotient(egress_usd + copy_usd, gpu_hours * (home_usd_per_hour - usd_per_hour))
