"""Lengths of prompts and answers as a distribution: a lognormal by its mean and its 95th percentile."""
from ..core.arithmetic import exp, log, maximum, sqrt, where
from ..core.law import law

# Standard normal quantile of a p95.
_P95 = 1.6448536269514722


def _sigma(mean, p95):
    """Width of the logarithm: p95 / mean = exp(z sigma - sigma^2 / 2), solved for the narrower of the two; 0 without a p95."""
    return _P95 - sqrt(maximum(_P95 * _P95 - 2 * log(maximum(p95, mean) / mean), 0))


@law
def late_deviations(late_share=...):
    """Standard deviations above the mean that all but `late_share` of a normal distribution stay below (count).

    Abramowitz and Stegun 1964, equation 26.2.23: off by 0.00045 at most.
    """
    share = where(late_share > 0.5, 1 - late_share, late_share)
    root = sqrt(-2 * log(maximum(share, 1e-12)))
    above = 2.515517 + root * (0.802853 + root * 0.010328)
    far = root - above / (1 + root * (1.432788 + root * (0.189269 + root * 0.001308)))
    return where(late_share > 0.5, -far, far)


@law
def prompt_variation(prompt, prompt_p95=0):
    """Squared coefficient of variation of the prompts (ratio): 0 if all are alike. Of a lognormal: exp(sigma^2) - 1."""
    return exp(_sigma(prompt, prompt_p95) ** 2) - 1


@law
def prompt_time_variation(prompt_variation, growing_share):
    """Squared coefficient of variation of the time of a prompt (ratio): a part of it is the same for any length."""
    return prompt_variation * growing_share ** 2


@law
def output_variation(output, output_p95=0):
    """Squared coefficient of variation of the answers (ratio): 0 if all are alike. Of a lognormal: exp(sigma^2) - 1."""
    return exp(_sigma(output, output_p95) ** 2) - 1
