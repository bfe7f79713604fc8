"""Bounds on the excess risk of a perturbed minimiser: the paper's two theorems as they should read, and as printed.

Risks are per record: J/n with J as in ``privacy/perturbed_minimiser.py``. The bounds are those of the random linear
term in its sum form, one row per class, so they fall with n; the printed ones do not, and hold for one matrix that is
shared by all classes.
"""

from __future__ import annotations

import math

from sordino.privacy.perturbed_minimiser import Perturbation


def empirical_excess(law: Perturbation, ridge: float, records: int, chance: float = 0.05) -> float:
    """With probability 1 - chance the regularised empirical risk is at most this far above its minimum.

    Theorem 5.2: at the perturbed minimiser the gradient of J is -B, and J is ``ridge``-strongly convex, so J is at most
    |B|²/(2 ridge) above its minimum.
    """
    return longest_term(law, chance) ** 2 / (2 * ridge * records)


def true_excess(law: Perturbation, ridge: float, records: int, squared_gradient: float, chance: float = 0.05) -> float:
    """The same for the expected regularised risk, by the theorem of Sridharan et al. (2008) that the paper uses.

    Theorem 5.3: twice the empirical excess (the paper forgets the two), and 16 G² (32 + log 1/chance) / ridge for
    gradients of squared length G² at most (the paper takes G = 1). Half of the chance goes to each part.
    """
    rest = 16 * squared_gradient * (32 + math.log(2 / chance)) / ridge
    return 2 * empirical_excess(law, ridge, records, chance / 2) + rest


def printed_excess(epsilon: float, classes: int, columns: int, ridge: float, chance: float = 0.05) -> float:
    """Theorem 5.2 as printed, for the paper's λ |Φ|²: 8 (d+1)^4 C log²(d/chance) / (ε² λ). It does not fall with n."""
    return 8 * (columns + 1) ** 4 * classes * math.log(columns / chance) ** 2 / (epsilon**2 * ridge)


def longest_term(law: Perturbation, chance: float) -> float:
    """A length that the part of the linear term that sums to zero over the classes exceeds with this chance at most."""
    from scipy import stats

    if law.kind == "none":
        return 0.0
    if law.kind == "normal":
        return law.scale * math.sqrt(stats.chi2.isf(chance, law.dimension))
    if law.kind == "sphere":
        return law.scale * float(stats.gamma.isf(chance, law.dimension))
    each = law.scale * float(stats.gamma.isf(chance / law.outputs, law.features))
    return each * math.sqrt(law.outputs)
