"""Verdicts on the papers, each from its printed formula: an exact argument where there is one, and a certified bound.

Every verdict takes the published mechanism as an argument, so that a corrected one goes through the same code and
must not come out violated. The arguments are written out in ``docs/proofs/audit-verdicts.md``.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from sordino.audit.lower_bound import audit_epsilon
from sordino.audit.verdict import AuditReport
from sordino.errors import ParameterError
from sordino.studies.published import pathak, rongauss, wu, xi

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: From a table of numbers, a claimed ε and public randomness to what is released.
Mechanism = Callable[[Floats, float, np.random.Generator], Any]

#: Where a sensitivity is exceeded by more than rounding.
_ROUNDING = 1e-9

#: Releases on which an argument about supports is checked.
_REPEATS = 20


def pathak_verdict(
    epsilon: float = 0.1,
    runs: int = 400,
    random_state: int = 0,
    matrices: Callable[..., Floats] = pathak.perturbed_matrices,
    ridge: float = pathak.RIDGE,
) -> AuditReport:
    """The shared perturbation cancels: differences of the released matrices are the ones without privacy."""
    generator = np.random.default_rng(random_state)  # public: made-up records
    features = generator.normal(size=(40, 2)) * 0.3
    labels = (features[:, 0] + 0.1 * generator.normal(size=40) > 0).astype(float)
    tables = (features[:-1], labels[:-1]), (features, labels)

    def released(table: int, public: np.random.Generator) -> Floats:
        return _difference(matrices(*tables[table], epsilon, public, ridge))

    quiet = [_difference(pathak.minimiser(*table, np.zeros((3, 3)), ridge)) for table in tables]
    moved = float(np.abs(quiet[1] - quiet[0]).max())
    error = max(float(np.abs(released(table, generator) - quiet[table]).max()) for table in (0, 1) for _ in range(5))
    bound = audit_epsilon(
        released, 1, 0, epsilon=epsilon, runs=runs, random_state=random_state, stop_early=False,
        score=lambda found: float(found @ (quiet[1] - quiet[0])), name="pathak",
    )  # fmt: skip
    sentence = (
        f"Pathak and Raj, claimed ε = {epsilon:g}: the released matrices differ between classes as without privacy, to "
        f"{error:.0e}, and one record moves that difference by {moved:.0e}. The true ε is "
        f"infinite; {_certified(bound)}."
    )
    evidence = {"argument": "the shared matrix cancels in every difference of classes, which is all that the decision "
                "uses", "true_epsilon": "infinite", "solver_error": error, "one_record_moves": moved}  # fmt: skip
    return _verdict("pathak", error < moved / 10, bound, sentence, evidence)


def _difference(matrices: Floats) -> Floats:
    found: Floats = (matrices[0] - matrices[1])[np.triu_indices(matrices.shape[1])]
    return found


def wu_verdict(
    epsilon: float = 1.0,
    delta: float = 1e-5,
    runs: int = 400,
    random_state: int = 0,
    release: Mechanism = wu.printed_release,
) -> AuditReport:
    """Integer noise leaves the fractional part of the mean in the open."""
    tables = np.zeros(10), np.array([0.0] * 9 + [0.3])
    generator = np.random.default_rng(random_state)  # public: made-up records
    parts = [{_fraction(release(table, epsilon, generator)) for _ in range(_REPEATS)} for table in tables]
    bound = audit_epsilon(
        lambda table, public: release(tables[table], epsilon, public), 1, 0,
        epsilon=epsilon, delta=delta, runs=runs, random_state=random_state, stop_early=False, name="wu",
    )  # fmt: skip
    sentence = (
        f"Wu, claimed ε = {epsilon:g}, δ = {delta:g}: integer noise leaves the fractional part of the mean, "
        f"{min(parts[1]):.4f} on one table and {min(parts[0]):.4f} on its neighbour. No output is possible on both, so "
        f"no ε holds with a δ below 1; {_certified(bound)}."
    )
    evidence = {"argument": "the supports of neighbours are disjoint", "true_epsilon": "infinite",
                "fractional_parts": [sorted(each) for each in parts]}  # fmt: skip
    return _verdict("wu", not parts[0] & parts[1], bound, sentence, evidence)


def _fraction(value: float) -> float:
    return round(value % 1, 9) % 1


def rongauss_verdict(
    dimension: int = 10,
    epsilon: float = 1.0,
    runs: int = 20_000,
    random_state: int = 0,
    sensitivity: Callable[[int], float] = rongauss.printed_sensitivity,
    mean: Mechanism = rongauss.coded_mean,
) -> AuditReport:
    """The covariance's sensitivity is sqrt(p/2) times the printed one; the code's mean has half the noise it needs."""
    first, second = rongauss.worst_pair(dimension)
    moved = float(np.abs(np.outer(first, first) - np.outer(second, second)).sum())
    printed = sensitivity(dimension)
    tables = np.ones((10, 1)), np.vstack([np.ones((9, 1)), [[-1.0]]])
    bound = audit_epsilon(
        lambda table, public: mean(tables[table], epsilon, public), 1, 0,
        epsilon=epsilon, runs=runs, random_state=random_state, stop_early=False, name="rongauss, its mean",
    )  # fmt: skip
    sentence = (
        f"RON-Gauss, claimed ε = {epsilon:g}: at p = {dimension} two unit vectors move the released matrix by "
        f"{moved:.3f} in L1 where Lemma 4 allows {printed:.3f}, so its true pure ε is {moved / printed:.2f} times as "
        f"large. The mean of the published code has half the noise that Lemma 2 asks; for it {_certified(bound)}."
    )
    evidence = {
        "argument": "the two outermost eigenvectors of a two-block sign matrix",
        "true_epsilon": f"{moved / printed:.3f} times the claim for the covariance, twice for the code's mean",
        "declared_sensitivity": printed, "exact_sensitivity": rongauss.true_sensitivity(dimension), "found": moved,
        "factor": moved / printed,
    }  # fmt: skip
    return _verdict("rongauss", moved > printed * (1 + _ROUNDING), bound, sentence, evidence)


def xi_verdict(
    epsilon: float = 1.0,
    rows: int = 3,
    runs: int = 400,
    random_state: int = 0,
    sizes: Mechanism = xi.released_class_sizes,
) -> AuditReport:
    """Class sizes, the box and the composition are unaccounted; the covariance has three times the noise it needs."""
    printed, found = xi.printed_entry_sensitivity(rows), _largest_covariance_change(rows)
    tables = np.array([0.0] * 5 + [1.0] * 5), np.array([0.0] * 4 + [1.0] * 6)
    generator = np.random.default_rng(random_state)  # public: made-up records
    seen = [{tuple(sizes(table, epsilon, generator).tolist()) for _ in range(_REPEATS)} for table in tables]
    bound = audit_epsilon(
        lambda table, public: sizes(tables[table], epsilon, public), 1, 0,
        epsilon=epsilon, runs=runs, random_state=random_state, stop_early=False, name="xi, its class sizes",
    )  # fmt: skip
    sentence = (
        f"Xi, Kantarcioglu and Inan, claimed ε = {epsilon:g}: class sizes go out without noise, so a record that "
        f"changes its class gives itself away and the true ε is infinite; {_certified(bound)}. Where labels are "
        f"public, the covariance is private with {printed / found:.2f} times the noise that it needs."
    )
    complaints = (
        "class sizes are taken to have sensitivity 0, yet a replaced record may change its class",
        "the box mu ± 6 sigma is computed from the private table",
        "mean and covariance are each answered at the full ε, and one pair of neighbours attains both",
    )
    evidence = {
        "argument": "the supports of neighbours are disjoint", "true_epsilon": "infinite",
        "printed_sensitivity": printed, "exact_sensitivity": xi.exact_entry_sensitivity(rows), "found": found,
        "factor": printed / found,
    }  # fmt: skip
    exact = all(len(each) == 1 for each in seen) and seen[0] != seen[1]
    return _verdict("xi", exact, bound, sentence, evidence, complaints)


def _largest_covariance_change(rows: int) -> float:
    """Over all tables of so many rows at the corners of the square."""
    corners = list(itertools.product((0.0, 1.0), repeat=2))
    largest = 0.0
    for others in itertools.product(corners, repeat=rows - 1):
        entries = [float(np.cov(np.array([*others, corner]).T, bias=True)[0, 1]) for corner in corners]
        largest = max(largest, max(entries) - min(entries))
    return largest


def _certified(bound: AuditReport) -> str:
    level, lower = bound.evidence["level"], bound.evidence["lower"]
    return f"at least {lower:.2f} was certified from {bound.evidence['runs']} runs ({100 * (1 - level):g} %)"


def _verdict(
    paper: str, exact: bool, bound: AuditReport, sentence: str, evidence: dict[str, Any], complaints: Sequence[str] = ()
) -> AuditReport:
    """Violated by the exact argument or by the bound; else what the bound says."""
    if not (exact or bound.violated):
        return AuditReport("paper", paper, bound.verdict, bound.sentence, (), bound.evidence)
    return AuditReport("paper", paper, "violated", sentence, tuple(complaints), {**bound.evidence, **evidence})


VERDICTS: dict[str, Callable[[], AuditReport]] = {
    "pathak": pathak_verdict,
    "wu": wu_verdict,
    "rongauss": rongauss_verdict,
    "xi": xi_verdict,
}


def paper_verdict(paper: str) -> AuditReport:
    """The verdict on one of the papers, by its key."""
    if paper not in VERDICTS:
        raise ParameterError(f"audit: paper must be one of {', '.join(VERDICTS)}, all. Got {paper!r}.")
    return VERDICTS[paper]()
