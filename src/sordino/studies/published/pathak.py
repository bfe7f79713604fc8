"""Pathak and Raj (2012), the large-margin classifier with one shared perturbation matrix. NOT PRIVATE at any ε.

Every class has a symmetric matrix; the loss looks at differences of their scores only. One random matrix b is
added to the objective for all classes alike, so it moves the mean of the matrices and leaves their differences,
and with them the decision rule, where they are without privacy.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: Width of the smoothed hinge, with the sign as it must be (the printed one rewards violated margins).
HUBER = 0.1


def perturbed_matrices(
    features: Floats, labels: Floats, epsilon: float, generator: np.random.Generator, ridge: float = 0.3
) -> Floats:
    """The released matrices: the minimiser of the objective with one b of density exp(-ε |b|) for all classes."""
    dimension = features.shape[1] + 1
    direction = generator.normal(size=(dimension, dimension))
    direction /= np.linalg.norm(direction)
    shared = direction * generator.gamma(dimension**2, 1 / epsilon)
    return minimiser(features, labels, (shared + shared.T) / 2, ridge)


def minimiser(features: Floats, labels: Floats, shared: Floats, ridge: float) -> Floats:
    """Matrices that minimise smoothed hinges + ridge + <b, sum of the matrices>, by a quasi-Newton method."""
    from scipy.optimize import minimize

    augmented = np.hstack([features, np.ones((len(features), 1))])
    classes, dimension = int(labels.max()) + 1, augmented.shape[1]
    shape = (classes, dimension, dimension)

    def objective(flat: Floats) -> tuple[float, Floats]:
        matrices = flat.reshape(shape)
        scores = np.einsum("ni,cij,nj->nc", augmented, matrices, augmented)
        own = scores[np.arange(len(labels)), labels.astype(int)]
        violations = 1 + own[:, None] - scores
        violations[np.arange(len(labels)), labels.astype(int)] = -np.inf
        loss, slope = _huber(violations)
        slope[np.arange(len(labels)), labels.astype(int)] = -slope.sum(axis=1)
        gradient = -np.einsum("nc,ni,nj->cij", slope, augmented, augmented) + 2 * ridge * matrices + shared
        value = loss.sum() + ridge * (matrices**2).sum() + float((shared * matrices.sum(axis=0)).sum())
        return float(value), gradient.ravel()

    start = np.zeros(classes * dimension**2)
    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    found: Floats = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return found.reshape(shape)


def _huber(violations: Floats) -> tuple[Floats, Floats]:
    """The hinge, smoothed between -h and h, and its slope."""
    inner = np.clip(violations, -HUBER, HUBER)
    loss = np.where(violations > HUBER, violations, (inner + HUBER) ** 2 / (4 * HUBER))
    return loss, (inner + HUBER) / (2 * HUBER)
