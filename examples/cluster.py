"""Cluster: a private mixture of Gaussians on made-up points, beside its receipt."""

import numpy as np

import sordino as so

dice = np.random.default_rng(0)
centres = np.array([[-5.0, 0.0], [5.0, 0.0], [0.0, 6.0]])
points = centres[dice.integers(3, size=6000)] + dice.normal(size=(6000, 2))

mixture = so.GaussianMixture(3, epsilon=1.0, delta=1e-5, bounds=(-20, 20)).fit(points)
print(mixture.means_.round(1))
print(mixture.predict(centres))
print(mixture.receipt_)
