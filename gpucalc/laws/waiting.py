"""What a GPU waits for: data, the processor that starts its kernels, a slower neighbor; and what one faster part gains."""
from ..core.arithmetic import ceil, log, maximum, minimum, sqrt
from ..core.law import law


# Data

@law
def needed_samples_per_second(step_samples, step_seconds):
    """Samples that a job takes when it never waits for data (1/s)."""
    return step_samples / step_seconds


@law
def loader_samples_per_second(loader_workers, worker_samples_per_second):
    """Samples that the processes of a data loader prepare together (1/s): each has a core of its own."""
    return loader_workers * worker_samples_per_second


@law
def fed_share(loader_samples_per_second, needed_samples_per_second):
    """Share of its full speed at which a job runs on what its loader gives (ratio). Mohan et al. 2021 (arXiv 2007.06775)."""
    return minimum(loader_samples_per_second / needed_samples_per_second, 1)


@law
def needed_workers(needed_samples_per_second, worker_samples_per_second):
    """Processes of a data loader from which on a job never waits for data (count)."""
    return ceil(needed_samples_per_second / worker_samples_per_second)


@law
def loaded_bytes_per_second(needed_samples_per_second, sample_bytes):
    """What storage must give a job that never waits for data (bytes/s)."""
    return needed_samples_per_second * sample_bytes


# Kernels

@law
def starting_seconds(pass_kernels, host_kernel_seconds):
    """Time in which a processor starts the kernels of one pass, one after the other (s)."""
    return pass_kernels * host_kernel_seconds


@law
def launched_share(pass_seconds, starting_seconds):
    """Share of its full speed that a GPU keeps while a processor starts its kernels (ratio).

    Both work at the same time, so the slower one sets the pace. CUDA C++ programming guide, asynchronous execution.
    """
    return pass_seconds / maximum(pass_seconds, starting_seconds)


# Memory that nobody uses

@law
def unused_reserved_share(reserved_bytes, allocated_bytes):
    """Share of the memory that PyTorch's allocator holds and no tensor uses (ratio). PyTorch, CUDA semantics."""
    return 1 - allocated_bytes / reserved_bytes


# The slowest of many

@law
def straggler_factor(gpus, speed_spread):
    """Time of a step over that of the mean GPU, at most (ratio): all wait for the slowest of them.

    The largest of n normal times is on average no more than sqrt(2 ln n) standard deviations above their mean: Boucheron,
    Lugosi and Massart 2013, Concentration inequalities, section 2.5.
    """
    return 1 + speed_spread * sqrt(2 * log(gpus))


@law
def slowed_share(slow_factor):
    """Share of its full speed that a job keeps if one of its GPUs takes so many times as long (ratio)."""
    return 1 / slow_factor


# One part that gets faster

@law
def sped_up(part_share, part_speedup):
    """How many times as fast the whole is if one part gets faster (ratio). Amdahl 1967 (doi 10.1145/1465482.1465560)."""
    return 1 / (1 - part_share + part_share / part_speedup)
