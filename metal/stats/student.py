"""Student's t distribution: scipy.special has it too, but takes longer to import than an audit takes to compute."""

from __future__ import annotations

import math

_CONVERGED = 1e-15  # how far the last factor of a continued fraction may be from 1
_TINY = 1e-300


def t_tail(t: float, df: float) -> float:
    """The probability of a value below -|t| with df > 0 degrees of freedom, to 12 digits up to 10,000 of them.

    NaN where t is.

    Source: DLMF 8.17.22, the incomplete beta function as a continued fraction, taken on the side where it converges.
    >>> round(t_tail(2.228, 10), 4), t_tail(0, 3)
    (0.025, 0.5)
    """
    if not math.isfinite(t):
        return math.nan if math.isnan(t) else 0.0
    a, square = df / 2, t * t / df
    x = 1 / (1 + square)
    # x^a (1 - x)^(1/2) / B(a, 1/2), where Gamma(a + 1/2) / Gamma(a) is B's part that grows with a
    front = math.exp(-a * math.log1p(square)) * math.sqrt(square * x / math.pi) * _gamma_ratio(a)
    if x < (a + 1) / (a + 2.5):
        return 0.5 * front * _continued_fraction(x, a, 0.5) / a
    return 0.5 - front * _continued_fraction(1 - x, 0.5, a)


def t_cdf(t: float, df: float) -> float:
    """The probability of a value below t."""
    return t_tail(t, df) if t < 0 else 1 - t_tail(t, df)


def _gamma_ratio(a: float) -> float:
    """Gamma(a + 1/2) / Gamma(a): as a difference of logarithms it would lose digits where a is large (DLMF 5.11.13)."""
    if a < 150:
        return math.gamma(a + 0.5) / math.gamma(a)
    return math.sqrt(a) * (1 - 1 / (8 * a) + 1 / (128 * a**2) + 5 / (1024 * a**3) - 21 / (32768 * a**4))


def _continued_fraction(x: float, a: float, b: float) -> float:
    """The fraction of DLMF 8.17.22 by Lentz's method."""
    d = 1 - (a + b) * x / (a + 1)
    value = d = 1 / (d or _TINY)
    c, m = 1.0, 0
    while True:
        m += 1
        for numerator in (
            m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m)),
            -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)),
        ):
            d = 1 / ((1 + numerator * d) or _TINY)
            c = (1 + numerator / c) or _TINY
            value *= c * d
        if abs(c * d - 1) < _CONVERGED:
            return value
