"""Two counts to audit, one right and one not; run as a script, it records outputs of the first in two files.

``sordino audit mechanism noisy_count.py:noisy_count --epsilon 1`` finds nothing; ``noisy_count.py:hasty_count``, which
forgets to divide, is found out. The standard library is enough, so that any Python can run it.
"""

import math
import random


def neighbours():
    """Two tables of made-up people, one of whom is in the first alone."""
    without = [{"age": 40}, {"age": 50}, {"age": 60}]
    return [*without, {"age": 70}], without


def noisy_count(table, rng, scale=1.0):
    """How many there are, with Laplace noise: the difference of two exponential draws. Scale 1 is what ε = 1 asks."""
    return len(table) + scale * (math.log(1 - rng.random()) - math.log(1 - rng.random()))


def hasty_count(table, rng):
    """The same with half the noise."""
    return noisy_count(table, rng, scale=0.5)


if __name__ == "__main__":
    dice = random.Random(1)
    for name, table in zip(("with.csv", "without.csv"), neighbours(), strict=True):
        with open(name, "w", encoding="utf-8") as file:
            file.writelines(f"{noisy_count(table, dice)}\n" for _ in range(3000))
