"""The law of the noise, watched: at a ladder of scales, between coordinates, releases and sessions, and in use.

Every draw is put through the distribution function of the law it should follow, computed here and not taken from
the gate; a randomised value in each jump makes the result uniform on [0, 1] if and only if the law is right. A
chi-square test over cells that are finer in the tails then sees a wrong scale, a wrong family, a shared draw and
a cut tail alike; where nearly all noise is zero, signs are counted too. Noisy choices are compared with their exact
probabilities. Alarm level per test: ``ALARM``; the whole ladder has fewer than a hundred tests.
"""

from __future__ import annotations

import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from sordino.audit.losses import log_choice
from sordino.audit.verdict import AuditReport
from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.privacy.noise import Noise, SecureNoise
from sordino.privacy.rehearsal import ObservedSession
from sordino.queries.private_table import PrivateTable
from sordino.release import DiscreteGaussian, DiscreteLaplace, Law, NoNoise
from sordino.statistics.statistic import Record

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Small, fractional, large: where floor(scale), "overflow, so no noise" and "big epsilon, so no noise" hide.
LADDER = (0.2, 0.5, 0.7, 1.5, 2.7, 33.3, 1e4, 1e7, 1e9, 1e13)

#: p-value below which one test complains; a hundred of them complain falsely in 1 of 10,000 audits.
ALARM = 1e-6

#: Scales of noisy choices that are tried.
CHOICES = (0.2, 5.0, 1e9)

#: Below this scale a share of the draws that can be counted is zero.
_SMALL = 3.0

#: Cells in which fewer draws are expected are not counted: the chi-square law would not hold.
_FEWEST = 25.0

#: Ends of the cells in which uniform values are counted; finer where a cut tail would show.
_INNER = np.linspace(0.05, 0.95, 19)
_CELLS = np.concatenate([[0, 0.002, 0.01], _INNER, [0.99, 0.998, 1]])


def audit_noise(noise: Noise | None = None, *, draws: int = 4000, random_state: int = 0) -> AuditReport:
    """Is this source of noise what it says, at every scale, and does every draw stand alone?

    >>> audit_noise(draws=500).verdict
    'not violated at this power'
    """
    source, public = noise or SecureNoise(), np.random.default_rng(random_state)
    complaints, tests = [], 0
    for law_type in (DiscreteLaplace, DiscreteGaussian):
        for scale in LADDER:
            law: Law = law_type(scale)
            tests += 1
            p_value = law_p_value(source.draw([law] * draws), [law] * draws, public)
            if p_value < ALARM:
                complaints.append(f"{law.name} of scale {scale:g}: its draws do not follow the law (p = {p_value:.1e})")
    complaints.extend(_mixed_up(source, draws, public))
    complaints.extend(_wrong_choices(source, draws))
    complaints.extend(_wrong_numbers(source, draws))
    complaints.extend(_not_independent(source))
    tests += 3 + 2 * len(LADDER) + 4 * len(CHOICES)
    evidence = {"draws": draws, "scales": list(LADDER), "tests": tests, "alarm_level": ALARM,
                "smallest_visible_factor": smallest_visible_factor(draws)}  # fmt: skip
    return _report("noise", type(source).__name__, complaints, evidence)


def audit_residuals(
    subject: Any,
    records: Sequence[Record],
    domain: Domain,
    *,
    runs: int = 200,
    random_state: int = 0,
    name: str = "subject",
) -> AuditReport:
    """Does the noise in every release of ``subject`` follow the law that its price declares?

    ``subject`` takes a private table made of ``records``. What is released less the exact total is compared, over
    all releases and coordinates, with the declared law; and no two coordinates may share a draw.
    """
    public = np.random.default_rng(random_state)
    complaints: list[str] = []
    residuals: list[int] = []
    laws: list[Law] = []
    releases = 0
    for _ in range(runs):
        session = ObservedSession(records, domain)
        subject(PrivateTable(session))
        for release in session.releases:
            if not hasattr(release.price, "laws"):
                continue  # a choice has no residual; its law is checked by its losses
            releases += 1
            drawn = [value - exact for value, exact in zip(release.handed_out, release.exact_values, strict=True)]
            complaints.extend(_shared_draws(drawn, release.price.laws))
            residuals.extend(drawn)
            laws.extend(release.price.laws)
    if not residuals or all(isinstance(law, NoNoise) for law in laws):
        return AuditReport("residuals", name, "not tested", "The subject released no noisy total.")
    p_value = law_p_value(residuals, laws, public)
    if p_value < ALARM:
        complaints.append(f"residuals do not follow the declared law (p = {p_value:.1e})")
    evidence = {"runs": runs, "releases": releases, "residuals": len(residuals), "p_value": p_value,
                "smallest_visible_factor": smallest_visible_factor(len(residuals))}  # fmt: skip
    return _report("residuals", name, list(dict.fromkeys(complaints)), evidence)


def _report(audit: str, name: str, complaints: list[str], evidence: dict[str, Any]) -> AuditReport:
    if complaints:
        return AuditReport(audit, name, "violated", f"{complaints[0]}.", tuple(complaints[:20]), evidence)
    factor = evidence["smallest_visible_factor"]
    sentence = (
        f"Every draw is what its law says, as far as this many draws show: a scale wrong by a factor of {factor:.2f} "
        "would have been seen."
    )
    return AuditReport(audit, name, "not violated at this power", sentence, (), evidence)


def _mixed_up(source: Noise, draws: int, public: np.random.Generator) -> list[str]:
    """Coordinates of one release have several laws: each must get its own."""
    each = max(50, draws // 10)
    rungs: list[list[Law]] = [[DiscreteLaplace(scale), DiscreteGaussian(scale)] for scale in LADDER]
    laws = [law for rung in rungs for law in rung] * each
    drawn, complaints = source.draw(laws), []
    for law in dict.fromkeys(laws):
        own = [value for value, other in zip(drawn, laws, strict=True) if other == law]
        if (p_value := law_p_value(own, [law] * each, public)) < ALARM:
            complaints.append(f"{law.name} of scale {law.scale:g} among others: not its law (p = {p_value:.1e})")
    return complaints


def _wrong_choices(source: Noise, draws: int) -> list[str]:
    """Noisy maxima against their exact probabilities: one best candidate or two, and others two scales below.

    One alone tells exponential noise from Gumbel noise: 1300 choices do with probability .9999. Two tell of ties.
    """
    from scipy.stats import chi2

    complaints, number = [], max(500, draws // 2)
    for scale, pure, best in itertools.product(CHOICES, (True, False), ((4,), (1, 4))):
        low = -max(1, round(2 * scale))
        scores = tuple(0 if place in best else low for place in range(6))
        expected = number * np.exp([log_choice(scores, index, scale, pure) for index in range(len(scores))])
        counts = np.bincount([source.choose(scores, scale, pure) for _ in range(number)], minlength=len(scores))
        p_value = float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(scores) - 1))
        if p_value < ALARM:
            kind = "pure" if pure else "concentrated"
            complaints.append(f"{kind} choices of scale {scale:g} do not have their probabilities (p = {p_value:.1e})")
    return complaints


def _wrong_numbers(source: Noise, draws: int) -> list[str]:
    """Normal and exponential numbers, for minimisers: their laws, and that they come once."""
    from scipy.special import ndtr
    from scipy.stats import chi2

    normals, exponentials, complaints = source.normals(draws), source.exponentials(draws), []
    for name, uniform in (("normal", ndtr(normals)), ("exponential", -np.expm1(-exponentials))):
        counts, expected = np.histogram(uniform, _CELLS)[0], draws * np.diff(_CELLS)
        p_value = float(chi2.sf(((counts - expected) ** 2 / expected).sum(), len(counts) - 1))
        if p_value < ALARM:
            complaints.append(f"{name} numbers do not follow their law (p = {p_value:.1e})")
    again = np.concatenate([normals, source.normals(draws), exponentials, source.exponentials(draws)])
    if len(np.unique(again)) < len(again):
        complaints.append("a normal or exponential number was drawn twice")
    return complaints


def law_p_value(drawn: Sequence[int], laws: Sequence[Law], generator: np.random.Generator) -> float:
    """Chi-square p-value of draws against their laws: of their spread, and of the signs of small ones."""
    return min(1.0, 2 * min(_spread_p_value(drawn, laws, generator), _sign_p_value(drawn, laws)))


def _sign_p_value(drawn: Sequence[int], laws: Sequence[Law]) -> float:
    """Negative, zero, positive: where nearly all noise is zero, whether the rest of it is there at all."""
    from scipy.stats import chi2

    small = [law.scale < _SMALL and not isinstance(law, NoNoise) for law in laws]
    signs = np.sign([value for value, chosen in zip(drawn, small, strict=True) if chosen])
    counts, expected = np.array([(signs == sign).sum() for sign in (-1, 0, 1)]), np.zeros(3)
    for law, times in Counter(law for law, chosen in zip(laws, small, strict=True) if chosen).items():
        below = float(distribution(np.array([-1.0]), law)[0])
        expected += times * np.array([below, 1 - 2 * below, below])
    if expected.min() < _FEWEST:
        return 1.0
    return float(chi2.sf(((counts - expected) ** 2 / expected).sum(), 2))


def _spread_p_value(drawn: Sequence[int], laws: Sequence[Law], generator: np.random.Generator) -> float:
    """By the randomised distribution function, which is uniform whatever the law."""
    from scipy.stats import chi2

    values = np.array(drawn, dtype=float)
    alike = {
        law: np.array([each == law for each in laws]) for law in dict.fromkeys(laws) if not isinstance(law, NoNoise)
    }
    uniform = np.concatenate([_uniform(values[places], law, generator) for law, places in alike.items()])
    cells = _CELLS if len(uniform) >= 2500 else np.concatenate([[0], _INNER[1::2], [1]])
    counts, expected = np.histogram(uniform, cells)[0], len(uniform) * np.diff(cells)
    statistic = float(((counts - expected) ** 2 / expected).sum())
    return float(chi2.sf(statistic, len(counts) - 1))


def smallest_visible_factor(draws: int) -> float:
    """Roughly the smallest factor on the scale that the test sees with probability .999, for the Laplace shape.

    The chi-square statistic grows by about ``draws * log(factor)^2``; alarm plus power need it to grow by 110.
    """
    return math.exp(math.sqrt(110 / max(draws, 1)))


def _uniform(values: Floats, law: Law, generator: np.random.Generator) -> Floats:
    """F(z - 1) + U (F(z) - F(z - 1)): uniform when z follows the law."""
    low, high = distribution(values - 1, law), distribution(values, law)
    return np.clip(low + generator.random(len(values)) * (high - low), 0, 1)


def distribution(values: Floats, law: Law) -> Floats:
    """Pr(noise <= value) at whole numbers, written down again here as a second opinion."""
    if isinstance(law, DiscreteLaplace):
        ratio = math.exp(-1 / law.scale)
        below = np.exp(np.minimum(values, 0) / law.scale) / (1 + ratio)
        above = 1 - np.exp(-(np.maximum(values, -1) + 1) / law.scale) / (1 + ratio)
        return np.where(values < 0, below, above)
    if not isinstance(law, DiscreteGaussian):
        raise ParameterError(f"audit: no distribution function for {law.name} noise.")
    if law.scale > 200:
        from scipy.special import ndtr

        gaussian: Floats = ndtr((values + 0.5) / law.scale)
        return gaussian
    reach = math.ceil(14 * law.scale) + 2
    masses = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * law.scale**2))
    sums = np.cumsum(masses) / masses.sum()
    summed: Floats = sums[np.clip(values, -reach, reach).astype(int) + reach]
    return summed


def _shared_draws(drawn: Sequence[int], laws: Sequence[Law]) -> list[str]:
    """At a large scale two equal draws are one draw used twice."""
    wide = [value for value, law in zip(drawn, laws, strict=True) if law.scale > 1e9]
    return ["two coordinates of one release share a draw"] if len(set(wide)) < len(wide) else []


def _not_independent(source: Noise) -> list[str]:
    """Equal draws between coordinates, releases and sessions, and after the global generators were seeded."""
    law: Law = DiscreteLaplace(1e13)
    complaints, seen = [], []
    state, numpy_state = random.getstate(), np.random.get_state()  # noqa: NPY002  # must be deaf to these
    try:
        for _ in range(128):
            random.seed(0)
            np.random.seed(0)  # noqa: NPY002
            seen.append(source.draw([law] * 3))
    finally:
        random.setstate(state)
        np.random.set_state(numpy_state)  # noqa: NPY002
    flat = np.array(seen, dtype=float)
    if len(np.unique(np.abs(flat))) < flat.size:
        complaints.append("a draw was used twice, between coordinates or releases or under a seeded global generator")
    signs = np.sign(flat)
    for label, first, second in (
        ("coordinates", signs[:, 0], signs[:, 1]),
        ("releases", signs[:-1, 0], signs[1:, 0]),
    ):
        if abs(float((first * second).sum())) > 6 * math.sqrt(len(first)):
            complaints.append(f"draws of different {label} are correlated")
    return complaints
