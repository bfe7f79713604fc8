"""Audit a library: is the ε of somebody's function what it claims? A certified lower bound from what it says."""

import numpy as np

import sordino as so


def foreign_mean(table, generator):
    """Stands for any function of any library: a mean of values in [0, 1] with Laplace noise for ε = 1, n public."""
    return np.mean(table) + generator.laplace(scale=1 / len(table))


def hasty_mean(table, generator):
    """The same with a slip: less than half of the noise that its promise asks for."""
    return np.mean(table) + generator.laplace(scale=0.4 / len(table))


d1, d0 = [1.0] + [0.0] * 9, [0.0] * 10  # one record is exchanged

for run in (foreign_mean, hasty_mean):
    report = so.audit_epsilon(run, d1, d0, epsilon=1.0, runs=10_000, level=0.001, random_state=0, name=run.__name__)
    print(report.verdict)
    print(report.sentence)
