"""A second opinion on the noise of a perturbed minimiser: made-up records against the declared law.

One record's gradient and curvature are computed from random scores, up to very long ones, and the privacy loss that
they cause at the worst place of the noise must be paid for. Nothing is taken from the proof of the mechanism.
"""

from __future__ import annotations

import math

import numpy as np

from sordino.privacy.margin_losses import Loss
from sordino.privacy.perturbed_minimiser import MinimumPrice, certificate
from sordino.table.clipping import Floats

#: How many made-up records, and how long their scores may be.
_RECORDS = 400
_LENGTHS = np.geomspace(0.01, 60, 12)


def too_little_noise_for_a_minimum(price: MinimumPrice, random_state: int = 0) -> bool:
    """Whether a made-up record, added or put in place of another, loses more than was paid."""
    if price.cost.infinite:
        return False
    asked, linear = price.minimisation, price.linear
    slopes, bends = made_up_records(asked.loss, asked.ridge, np.random.default_rng(random_state))
    if price.cost.is_pure:
        lengths = np.abs(slopes).sum(axis=1) if linear.kind == "blocks" else np.linalg.norm(slopes, axis=1)
        losses = lengths / linear.scale + bends + (price.moves - 1) * lengths.max() / linear.scale
        return bool(losses.max() + _finish(price) > float(price.cost.epsilon) * (1 + 1e-9))
    longest = price.moves * float(np.linalg.norm(slopes, axis=1).max())
    paid = longest**2 / (2 * linear.scale**2) + _finish(price)
    return paid > float(price.cost.rho) * (1 + 1e-9)


def made_up_records(loss: Loss, ridge: float, public: np.random.Generator) -> tuple[Floats, Floats]:
    """Slopes of made-up records with a feature vector of length one, and log det(I + S/ridge) of each."""
    scores = np.vstack([public.normal(size=(_RECORDS, loss.outputs)) * length for length in _LENGTHS])
    one = np.zeros((loss.outputs, loss.outputs))
    np.fill_diagonal(one, 40.0)
    scores = np.vstack([scores, one, -one, one - np.roll(one, 1, axis=1)])
    own = np.arange(len(scores)) % loss.outputs
    slopes, bend = loss.slopes(scores, own)
    columns = [loss.bent(bend, np.tile(unit, (len(scores), 1))) for unit in np.eye(loss.outputs)]
    matrices = np.eye(loss.outputs) + np.stack(columns, axis=2) / ridge
    return slopes, np.linalg.slogdet(matrices)[1]


def _finish(price: MinimumPrice) -> float:
    """What the noise on the solution costs."""
    moved = 2 * certificate(price.minimisation.ridge) / price.minimisation.ridge
    if price.cost.is_pure:
        rows = price.linear.outputs if price.linear.kind == "blocks" else 1
        return moved * math.sqrt(rows) / price.finish.scale
    return moved**2 / (2 * price.finish.scale**2)
