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

#: Weight of the squared norm in the objective.
RIDGE = 0.3


def perturbed_matrices(
    features: Floats, labels: Floats, epsilon: float, generator: np.random.Generator, ridge: float = RIDGE
) -> Floats:
    """The released matrices: the minimiser of the objective with one b of density exp(-ε |b|) for all classes."""
    dimension = features.shape[1] + 1
    return minimiser(features, labels, random_matrix((dimension, dimension), 1 / epsilon, generator), ridge)


def random_matrix(shape: tuple[int, ...], scale: float, generator: np.random.Generator) -> Floats:
    """A matrix of density exp(-|b| / scale), for the Frobenius norm."""
    direction = generator.normal(size=shape)
    drawn: Floats = direction / np.linalg.norm(direction) * generator.gamma(direction.size, scale)
    return drawn


def minimiser(features: Floats, labels: Floats, perturbation: Floats, ridge: float = RIDGE) -> Floats:
    """Matrices that minimise smoothed hinges + ridge |matrices|² + <perturbation, matrices>, by quasi-Newton steps.

    The perturbation is one matrix for all classes, or one for each.
    """
    from scipy.optimize import minimize

    augmented = np.hstack([features, np.ones((len(features), 1))])
    classes, dimension = int(labels.max()) + 1, augmented.shape[1]
    products = (augmented[:, :, None] * augmented[:, None, :]).reshape(len(features), -1)
    own = np.arange(len(labels)), labels.astype(int)
    linear = np.broadcast_to(perturbation, (classes, dimension, dimension)).reshape(classes, -1)

    def objective(flat: Floats) -> tuple[float, Floats]:
        matrices = flat.reshape(classes, -1)
        scores = products @ matrices.T
        violations = 1 + scores[own][:, None] - scores
        violations[own] = -np.inf
        loss, slope = _huber(violations)
        slope[own] = -slope.sum(axis=1)
        gradient = -slope.T @ products + 2 * ridge * matrices + linear
        value = loss.sum() + ridge * (matrices**2).sum() + (linear * matrices).sum()
        return float(value), gradient.ravel()

    start = (-linear / (2 * ridge)).ravel()
    options = {"maxiter": 2000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 30}
    found: Floats = minimize(objective, start, jac=True, method="L-BFGS-B", options=options).x
    return found.reshape(classes, dimension, dimension)


def _huber(violations: Floats) -> tuple[Floats, Floats]:
    """The hinge, smoothed between -h and h, and its slope."""
    inner = np.clip(violations, -HUBER, HUBER)
    loss = np.where(violations > HUBER, violations, (inner + HUBER) ** 2 / (4 * HUBER))
    return loss, (inner + HUBER) / (2 * HUBER)
