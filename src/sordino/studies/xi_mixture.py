"""The mixtures of Xi, Kantarcioglu and Inan: their parameters, rows drawn from them, and their boxes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from sordino.errors import ParameterError
from sordino.models.bayes_error import Mixture

Floats = np.ndarray[Any, np.dtype[np.float64]]

#: How many standard deviations the paper's boxes reach.
REACH = 6.0

#: The five-dimensional mixture of figure 1; the variance printed as "5, 76" is 5.76.
FIVE = Mixture.of(
    [0.7, 0.3],
    [[1.8, 3.2, 3.8, 6.0, 5.5], [0.5, 1.0, 1.5, 2.5, 3.5]],
    [np.diag([0.36, 1.21, 3.24, 5.76, 0.64]), np.diag([2.56, 0.64, 4.00, 1.44, 0.16])],
)


def correlated(dimension: int, sigma: float) -> Mixture:
    """Figures 2 to 5 and table 1: the identity about 0, and variances sigma, covariances sigma / 2, about 1.

    The mixing probability is not printed; halves come nearest to table 1.
    """
    second = sigma * (np.eye(dimension) + np.ones((dimension, dimension))) / 2
    means = np.vstack([np.zeros(dimension), np.ones(dimension)])
    return Mixture.of([0.5, 0.5], means, np.array([np.eye(dimension), second]))


def parkinsons(folder: Path | None) -> Mixture:
    """Class sizes, means and covariances of the Parkinsons table, as parameters of a made-up mixture.

    Little, McSharry, Roberts, Costello and Moroz (2007), UCI Machine Learning Repository. The table is read from
    ``folder``; it is not downloaded.
    """
    path = Path(folder or ".") / "parkinsons" / "parkinsons.data"
    text = path.read_text(encoding="utf-8") if path.is_file() else ""
    if not text:
        raise ParameterError(f"study xi: the Parkinsons table is not at {str(path)!r}. Name its folder with --data.")
    header, *lines = text.split("\n")
    status = header.strip().split(",").index("status")
    cells = np.array([[float(cell) for cell in line.split(",")[1:]] for line in lines if line.strip()])
    labels = cells[:, status - 1].astype(int)
    rows = np.delete(cells, status - 1, axis=1)
    groups = [rows[labels == each] for each in (1, 0)]  # the larger class first
    return Mixture.of(
        [len(each) for each in groups],
        np.array([each.mean(axis=0) for each in groups]),
        np.array([np.cov(each.T) for each in groups]),
    )


def drawn(mixture: Mixture, rows: int, generator: np.random.Generator) -> tuple[Floats, Any]:
    """Rows and labels, each label drawn by its share."""
    labels = generator.choice(len(mixture.priors), size=rows, p=mixture.priors)
    roots = np.linalg.cholesky(mixture.covariances)
    noise = generator.normal(size=(rows, mixture.means.shape[1]))
    points = np.empty_like(noise)
    for label, root in enumerate(roots):
        points[labels == label] = mixture.means[label] + noise[labels == label] @ root.T
    return points, labels


def class_boxes(mixture: Mixture) -> Floats:
    """The two ends of each class's box: its mean ± 6 standard deviations, taken as public by the paper."""
    spread = REACH * np.sqrt(np.einsum("cii->ci", mixture.covariances))
    return np.stack([mixture.means - spread, mixture.means + spread], axis=1)


def six_sigma_box(mixture: Mixture) -> tuple[Floats, Floats]:
    """One box that holds those of all classes."""
    boxes = class_boxes(mixture)
    return boxes[:, 0].min(axis=0), boxes[:, 1].max(axis=0)
