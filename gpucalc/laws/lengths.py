"""Distributions: lengths of prompts and answers as a lognormal by mean and 95th percentile, and what few times are above."""
from ..core.arithmetic import exp, log, maximum, minimum, sqrt, where
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


def late_quantile(mean, spread, deviations, late_share):
    """What all but `late_share` of a gamma distribution stay below, by its mean and squared coefficient of variation.

    Wilson and Hilferty 1931 (doi 10.1073/pnas.17.12.684) up to a spread of 1. Above it the quantile is between the bounds of
    Alzer 1997 (DLMF 8.10.11), of the rates 1 and Gamma(1 + 1/spread)^-spread; the rate between them is fitted. Off by less than
    2 % for late shares from 0.005 to 0.5. A gamma of a wider spread lies near 0 but for a few, so its quantile falls again: more
    spread is not trusted to make anybody less late, and the quantile stays at its largest.
    """
    near, share = minimum(spread, 1), minimum(late_share, 0.5)
    wide = minimum(maximum(spread, 1), maximum(0.55 / share - 1.1, 1))
    above = -log(1 - (1 - share) ** wide)
    rate = exp((0.5772 - 0.8225 / wide + 0.2453 / wide ** 2) / (1 + 0.12 * above))
    longer = where(spread > 1, wide * above / rate / -log(share), 1)
    return mean * longer * maximum(1 - near / 9 + deviations * sqrt(near) / 3, 0.01) ** 3


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
