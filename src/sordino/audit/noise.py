"""The law of the noise, watched: at a ladder of scales, between coordinates, releases and sessions, and in use.

Every draw is put through the distribution function of the law it should follow, computed here and not taken from
the gate; a randomised value in each jump makes the result uniform on [0, 1] if and only if the law is right. A
chi-square test over cells that are finer in the tails then sees a wrong scale, a wrong family, a shared draw and
a cut tail alike. Alarm level per test: ``ALARM``; the whole ladder has fewer than a hundred tests.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from typing import Any

import numpy as np

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
    complaints.extend(_not_independent(source))
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


def law_p_value(drawn: Sequence[int], laws: Sequence[Law], generator: np.random.Generator) -> float:
    """Chi-square p-value of draws against their laws, by the randomised distribution function."""
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
