"""A blind set: bugs of the newer code, written without looking at the layers and never used to improve them.

    python tests/blind_mutants.py       # asks every layer about each, and prints the score

What is caught of this set is worth quoting; what is caught of ``planned_mutants.py`` is not. Write a fresh set for each
release, and let somebody write it who has not read the layers.
"""

from __future__ import annotations

from mutants import Mutant, Parent

BLIND = (
    Mutant("a subsample whose scores are said to move as little as under the other relation", "S", ((
        "statistics.choice",
        'return max(self.inner.score_sensitivity(neighbours), self.inner.score_sensitivity("add-remove"))',
        'return self.inner.score_sensitivity("add-remove")',
    ),)),
    Mutant("a bought radius at a fixed share of the budget, whatever the others are", "R", ((
        "synthesis.small_space",
        "NormRanks(of, candidates, quantile), self.cost(part))",
        "NormRanks(of, candidates, quantile), self.opening.cost.share(Fraction(1, 5)))",
    ),)),
    Mutant("features of length two in a minimiser", "C", ((
        "engine.feature_blocks", "vectors[used] / self._features.steps", "2 * vectors[used] / self._features.steps",
    ),)),
    Mutant("a hundredth of the noise on a minimiser's last digits", "R", ((
        "privacy.perturbed_minimiser",
        "scale = moved / float(share.epsilon) if cost.is_pure",
        "scale = moved / 100 / float(share.epsilon) if cost.is_pure",
    ),)),
    Mutant("a minimiser that is charged for its random term alone", "R", ((
        "privacy.perturbed_minimiser",
        "paid = Cost(cost.epsilon, cost.rho, order",
        "paid = Cost(cost.epsilon * Fraction(99, 100), cost.rho * Fraction(99, 100), order",
    ),)),
    Mutant("components nearest to records about the mean of their batch", "S", ((
        "statistics.labels",
        "        vectors, whole = self.of.vectors(batch)\n        codes = np.full",
        "        vectors, whole = self.of.vectors(batch)\n        vectors = vectors - np.rint(vectors.mean(axis=0))\n"
        "        codes = np.full",
    ),)),
    Mutant("a projection in 32 bits", "S", ((
        "statistics.projected",
        "fine = placed @ self._integers",
        "fine = (placed.astype(np.float32) @ self._integers.astype(np.float32)).astype(np.float64)",
    ),)),
    Mutant("shares of rounds that forget the first", "R", ((
        "models.gradient_em", "self._next(opening, path[-1], left / rounds)", "self._next(opening, path[-1], left / max(1, rounds - 1))",
    ),)),
    Mutant("a last question that spends what is left twice", "R", ((
        "synthesis.measurement", "self.cost.share(part))])\n        self.receipts", "self.cost.share(part if self.left else min(1, 2 * part)))])\n        self.receipts",
    ),)),
    Mutant("numbers of rows in an error about shapes", "I", ((
        "models.estimator",
        'f"{who}: X and y must have the same number of rows."',
        'f"{who}: X and y must have the same number of rows. Got {len(values)} and {len(labels)}."',
    ),)),
    Mutant("choices of one pass that share their noise scale", "C", ((
        "privacy.session",
        "self._noise.choose(exact_scores, each.scale, each.cost.is_pure)",
        "self._noise.choose(exact_scores, each.scale / len(prices), each.cost.is_pure)",
    ),)),
    Mutant("kinds of text columns guessed from their cells", "I", ((
        "table.memory",
        'kinds: list[Kind] = ["untyped"] * len(cells)',
        'kinds: list[Kind] = ["number" if all(str(each).replace(".", "").isdigit() for each in column) else "untyped" for column in values.T]',
    ),)),
)  # fmt: skip


def main() -> None:
    caught = 0
    with Parent() as parent:
        for mutant in BLIND:
            found = None
            for layer in dict.fromkeys(mutant.layer + "SRCNITLA"):
                found = parent.first_complaint(Mutant(mutant.name, layer, mutant.edits))
                if found:
                    break
            caught += found is not None
            print(f"{layer if found else '-'} {mutant.name}: {found or 'not seen'}", flush=True)
    print(f"{caught} of {len(BLIND)} were seen by some layer")


if __name__ == "__main__":
    main()
