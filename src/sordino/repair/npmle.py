"""Posterior mean of counts under the prior that makes the noisy counts most likely, whatever its shape.

The prior is a distribution on finitely many counts (Kiefer and Wolfowitz 1956). Its weights solve a convex problem.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.optimize import nnls

from sordino.release import DiscreteGaussian, Law
from sordino.repair.clamping import clamp
from sordino.repair.noisy_counts import Floats, checked_counts

#: How far the log-likelihood per count may be from the largest one.
TOLERANCE = 1e-6

_ROUNDS = 200

#: Atoms for Gaussian noise lie on a grid of this many steps per standard deviation, as far around each noisy count.
_STEPS, _REACH = 4, 2

#: Keeps the sum of the weights at one in the least-squares step.
_SUM_WEIGHT = 1e3


def npmle(counts: Any, law: Law) -> Floats:
    """The mean of each count given its noisy value, under the nonparametric maximum-likelihood prior.

    For Laplace noise the atoms are zero and the positive noisy counts: between two of them the likelihood is convex in
    the place of an atom, so that no other place is better. For Gaussian noise they lie on a grid of a quarter of a
    standard deviation. Each vector along the last axis has a prior of its own.

    Best for readers of counts: of all estimators here it has the smallest squared error on histograms, empty cells or
    not. For classifiers, smoothing is better, and quicker.
    """
    values = checked_counts("npmle", counts)
    if law.variance == 0:
        return clamp(values)
    gaussian = isinstance(law, DiscreteGaussian)
    rows = values.reshape(-1, values.shape[-1]) / law.scale
    posterior = np.stack([_posterior_mean(row, gaussian) for row in rows])
    return np.asarray(posterior.reshape(values.shape) * law.scale)


def _posterior_mean(x: Floats, gaussian: bool) -> Floats:
    atoms = _grid_around(x) if gaussian else np.unique(np.append(np.maximum(x, 0.0), 0.0))
    likelihood = _likelihood(x, atoms, gaussian)
    joint = likelihood * most_likely_weights(likelihood)
    return np.asarray(joint @ atoms / joint.sum(axis=1))


def _grid_around(x: Floats) -> Floats:
    nearest = np.rint(x * _STEPS)[:, np.newaxis] + np.arange(-_REACH * _STEPS, _REACH * _STEPS + 1)
    return np.unique(np.append(np.maximum(nearest, 0.0), 0.0)) / _STEPS


def _likelihood(x: Floats, atoms: Floats, gaussian: bool) -> Floats:
    """Density of each noisy count given each atom, up to a factor per noisy count, which changes nothing."""
    apart = np.abs(x[:, np.newaxis] - atoms)
    exponent = -apart * apart / 2 if gaussian else -apart
    return np.asarray(np.exp(exponent - exponent.max(axis=1, keepdims=True)))


def most_likely_weights(likelihood: Floats) -> Floats:
    """Weights w on the columns that maximise the mean of log(likelihood @ w).

    Constrained Newton steps (Wang 2007): the log is replaced by its second-order expansion, which makes a non-negative
    least-squares problem; the step is halved until it helps. Where that problem's solver gives up, as it may when rows
    are alike, a step of EM is taken. The mean of the rows' relative likelihoods of a column less one bounds the gap to
    the maximum, and ends the search.
    """
    weights = np.full(likelihood.shape[1], 1 / likelihood.shape[1])
    for _ in range(_ROUNDS):
        relative = likelihood / (likelihood @ weights)[:, np.newaxis]
        if relative.mean(axis=0).max() - 1 <= TOLERANCE:
            break
        try:
            target = _newton_target(relative, weights)
        except RuntimeError:  # its limit of steps
            target = weights * relative.mean(axis=0)
        weights = _improved(likelihood, weights, target)
    return weights


def _newton_target(relative: Floats, weights: Floats) -> Floats:
    """Where the second-order expansion around the weights is largest."""
    chosen = np.flatnonzero((weights > 0) | (relative.mean(axis=0) >= 1))
    goal = np.vstack([relative[:, chosen], np.full(len(chosen), _SUM_WEIGHT)])
    found, _ = nnls(goal, np.append(np.full(len(relative), 2.0), _SUM_WEIGHT))
    target = np.zeros_like(weights)
    target[chosen] = found / found.sum()
    return target


def _improved(likelihood: Floats, weights: Floats, target: Floats) -> Floats:
    """The furthest of the points halved down from the target that is better than where we are."""
    start, step = np.log(likelihood @ weights).mean(), 1.0
    with np.errstate(divide="ignore"):  # the target may leave a count without likelihood: no better than we are
        while step > 2**-30:
            tried = (1 - step) * weights + step * target
            if np.log(likelihood @ tried).mean() > start:
                return tried
            step /= 2
    return weights
