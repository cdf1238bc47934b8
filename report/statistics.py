"""Intervals of medians and of ratios, between processes: one definition for all that is printed.

What repeats of one process tell is how its clock jitters. What another process of the same binary would give is
another thing: memory lies elsewhere, the card is warmer, the machine does something else. So the unit is the process:
of its samples the median is taken, and the interval is that of Student's t on the logarithms of these medians.

Kalibera & Jones (2013) draw processes, and samples within them, anew (a hierarchical bootstrap). With few processes that
is too narrow, since three values can't be drawn to be wider than they are: with 3 processes whose times spread by 2 %,
0.3 % within each, its 95 % interval of the median covers the truth in fewer than 80 of 100 cases, Student's t in about 95
(report/reliability.py measures both). Logarithms, since a cause makes a time longer
by a share of it; so ratios need no other rule.
"""

from __future__ import annotations

import dataclasses
import functools
import math
import statistics
from collections.abc import Sequence

import numpy
from scipy import special

from report.rows import LEAST_PROCESSES

CONFIDENCE = 0.95


@dataclasses.dataclass(frozen=True)
class Estimate:
    """A value with its interval. Of one process there is none: low and high are NaN."""

    value: float
    low: float
    high: float
    processes: int

    @property
    def supports_claims(self) -> bool:
        return self.processes >= LEAST_PROCESSES

    def inverse(self) -> Estimate:
        return Estimate(1 / self.value, 1 / self.high, 1 / self.low, self.processes)


@dataclasses.dataclass(frozen=True)
class Difference:
    """Of two groups of logarithms: mean difference, its standard error and degrees of freedom."""

    mean: float
    error: float
    freedom: float

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        half = quantile(confidence, self.freedom) * self.error
        return self.mean - half, self.mean + half

    def beside(self, spread: float) -> Difference:
        """Where the groups also differ by a number that all of a group share, with a standard deviation that is known."""
        if spread == 0:
            return self
        error = math.hypot(self.error, spread)
        return Difference(self.mean, error, self.freedom * (error / self.error) ** 4 if self.error else math.inf)

    def p_value(self) -> float:
        """Of the hypothesis that there is no difference (two-sided)."""
        if self.error == 0:
            return 1.0 if self.mean == 0 else 0.0
        t = -abs(self.mean) / self.error
        return float(2 * (special.ndtr(t) if math.isinf(self.freedom) else special.stdtr(self.freedom, t)))


@functools.lru_cache(maxsize=10_000)
def quantile(confidence: float, freedom: float) -> float:
    """Half width, in standard errors, of a two-sided interval."""
    p = 0.5 + confidence / 2
    return float(special.ndtri(p) if math.isinf(freedom) else special.stdtrit(freedom, p))


def median_of(samples: Sequence[float]) -> float:
    """Of one process; ValueError where there is none, or one is not positive."""
    if not samples or min(samples) <= 0:
        raise ValueError("times must be positive, and at least one")
    return statistics.median(samples)


def logarithms(medians: Sequence[float]) -> numpy.ndarray:
    return numpy.log(numpy.asarray(medians, dtype=float))


def estimate(medians: Sequence[float], confidence: float = CONFIDENCE) -> Estimate:
    """Of the times of processes: their geometric mean, which is the median where causes are many, with its interval."""
    x = logarithms(medians)
    n = len(x)
    if n < 2:
        return Estimate(float(math.exp(x[0])), math.nan, math.nan, n)
    half = quantile(confidence, n - 1) * float(x.std(ddof=1)) / math.sqrt(n)
    middle = float(x.mean())
    return Estimate(math.exp(middle), math.exp(middle - half), math.exp(middle + half), n)


def difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """log a - log b of independent processes (Welch: their spreads may differ). At least two of each."""
    x, y = logarithms(a), logarithms(b)
    u, v = float(x.var(ddof=1)) / len(x), float(y.var(ddof=1)) / len(y)
    freedom = (u + v) ** 2 / (u**2 / (len(x) - 1) + v**2 / (len(y) - 1)) if u + v > 0 else len(x) + len(y) - 2.0
    return Difference(float(x.mean() - y.mean()), math.sqrt(u + v), freedom)


def moderated_differences(pairs: Sequence[tuple[Sequence[float], Sequence[float]]]) -> list[Difference]:
    """log a - log b of many points that were measured alike, at least two processes of each.

    Three processes tell little of how far a fourth would be off. But the points of a run resemble each other, and what
    they tell together of spreads is a prior for each of them (Smyth 2004, the moderated t of "limma"): variances of
    points follow a scaled inverse chi-squared law, whose two numbers are fitted to the logarithms of all variances. With 3
    and 3 processes of 40 points on an H100 a kernel that is slower by 1 % was seen in 97 instead of 36 of 100 cases.
    Both groups are taken to spread alike.
    """
    counts = numpy.array([(len(a), len(b)) for a, b in pairs], dtype=int).reshape(-1, 2)
    mean, squares = numpy.zeros(len(pairs)), numpy.zeros(len(pairs))
    for n in sorted(set(map(tuple, counts.tolist()))):  # all points of as many processes at once
        at = numpy.flatnonzero((counts == n).all(axis=1))
        u, v = (logarithms([pairs[i][side] for i in at]) for side in (0, 1))
        mean[at] = u.mean(axis=1) - v.mean(axis=1)
        squares[at] = sum(((x - x.mean(axis=1, keepdims=True)) ** 2).sum(axis=1) for x in (u, v))
    freedom, shares = counts.sum(axis=1) - 2.0, (1 / counts).sum(axis=1)
    variance = numpy.maximum(squares / freedom, 1e-16)
    more, prior = _prior(variance, freedom) if len(pairs) > 2 else (0.0, 1.0)
    whole = math.isinf(more)
    posterior = numpy.full_like(variance, prior) if whole else (more * prior + freedom * variance) / (more + freedom)
    return [Difference(float(m), math.sqrt(p * share), 1e6 if whole else float(more + d))
            for m, p, share, d in zip(mean, posterior, shares, freedom)]


def _prior(variance: numpy.ndarray, freedom: numpy.ndarray) -> tuple[float, float]:
    """Degrees of freedom (infinite: all points spread alike) and variance of the prior."""
    logs = numpy.log(variance) - special.digamma(freedom / 2) + numpy.log(freedom / 2)
    n = len(logs)
    excess = float((((logs - logs.mean()) ** 2) * n / (n - 1) - special.polygamma(1, freedom / 2)).mean())
    if excess <= 0:
        return math.inf, math.exp(logs.mean())
    half = _inverse_trigamma(excess)
    return 2 * half, math.exp(logs.mean() + special.digamma(half) - math.log(half))


def _inverse_trigamma(y: float) -> float:
    """x with trigamma(x) = y > 0, by Newton's method on 1 / trigamma, which is nearly linear."""
    x = 0.5 + 1 / y
    for _ in range(50):
        t = float(special.polygamma(1, x))
        step = t * (1 - t / y) / float(special.polygamma(2, x))
        x += step
        if -step < 1e-10 * x:
            break
    return x


def paired_difference(a: Sequence[float], b: Sequence[float]) -> Difference:
    """log a - log b where a[i] and b[i] are of one process, which measured both in turns. At least two."""
    d = logarithms(a) - logarithms(b)
    return Difference(float(d.mean()), float(d.std(ddof=1)) / math.sqrt(len(d)), len(d) - 1.0)


def ratio(a: Sequence[float], b: Sequence[float], paired: bool, confidence: float = CONFIDENCE) -> Estimate:
    """a / b with its interval; as many processes as the group with fewer has."""
    n = min(len(a), len(b))
    if n < 2:
        middle = float(logarithms(a).mean() - logarithms(b).mean())
        return Estimate(math.exp(middle), math.nan, math.nan, n)
    d = paired_difference(a, b) if paired else difference(a, b)
    low, high = d.interval(confidence)
    return Estimate(math.exp(d.mean), math.exp(low), math.exp(high), n)


def holm(p_values: Sequence[float], alpha: float) -> list[bool]:
    """Which hypotheses are rejected so that, with a probability of 1 - alpha, none of them is true (Holm 1979)."""
    rejected = [False] * len(p_values)
    for rank, i in enumerate(sorted(range(len(p_values)), key=p_values.__getitem__)):
        if p_values[i] > alpha / (len(p_values) - rank):
            break
        rejected[i] = True
    return rejected


def bootstrap(processes: Sequence[Sequence[float]], random: numpy.random.Generator, draws: int = 1000,
              confidence: float = CONFIDENCE) -> tuple[float, float]:
    """Percentiles of a hierarchical bootstrap of the median of medians; kept to measure what it covers."""
    x = numpy.asarray(processes, dtype=float)
    n, m = x.shape
    chosen = random.integers(n, size=(draws, n, 1))
    within = random.integers(m, size=(draws, n, m))
    medians = numpy.median(numpy.median(x[chosen, within], axis=2), axis=1)
    low, high = numpy.percentile(medians, [50 * (1 - confidence), 50 * (1 + confidence)])
    return float(low), float(high)
