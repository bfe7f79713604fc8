"""Fixed element-wise functions: the same bits for a number wherever it stands, in any batch and on any machine.

``numpy.exp`` may take another path for the end of an array than for its middle, and another one on another
processor. Here every step is one addition, product, quotient or rounding of IEEE 754, applied to each number alone.
Proof: ``docs/proofs/em.md``.
"""

from __future__ import annotations

import math

import numpy as np

from sordino.table.clipping import Floats

#: Below this exponent an exponential counts as that of this exponent: it is zero on every grid here.
LOWEST = -48.0

#: ln 2 in two parts; the first has so few digits that a whole number below 2^7 times it is exact.
_LN2_HIGH = math.floor(math.log(2) * 2**32) / 2**32
_LN2_LOW = 1.9082149292705877e-10

_COEFFICIENTS = tuple(1 / math.factorial(power) for power in range(12, -1, -1))
_POWERS = np.ldexp(1.0, np.arange(-80, 1))


def exponential(values: Floats) -> Floats:
    """exp of numbers up to 0, to 14 digits: a power of two times a Taylor polynomial on half an octave.

    >>> float(exponential(np.array([0.0]))[0])
    1.0
    """
    exponents = np.maximum(values, LOWEST)
    octaves = np.rint(exponents * (1 / math.log(2)))
    rest = (exponents - octaves * _LN2_HIGH) - octaves * _LN2_LOW
    found = np.full_like(rest, _COEFFICIENTS[0])
    for coefficient in _COEFFICIENTS[1:]:
        found *= rest
        found += coefficient
    found *= _POWERS[(octaves + 80).astype(np.int64)]
    return found


def hyperbolic_tangent(values: Floats) -> Floats:
    """tanh, by (1 - e) / (1 + e) for e = exp(-2 |v|), with the sign of v."""
    small = exponential(-2 * np.minimum(np.abs(values), -LOWEST))
    found: Floats = np.copysign((1 - small) / (1 + small), values)
    return found
