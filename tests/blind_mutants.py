"""Blind sets: bugs written without looking at the layers. What was caught of them on that day is worth quoting.

    python tests/blind_mutants.py       # asks every layer about each, and prints what is seen today

The first set, a dozen bugs of the newer code, was half blind: its author knew what the layers do. They saw 8. The
second, two dozen over all rooms, was written by somebody who had read the sources alone, and nothing in this folder.
They saw 13, three of which turned out to be planned as well (so 10 of 21); of the other 11 the ordinary tests saw 8.
Nobody saw a frame of objects left to Arrow, a solver that stops early, and a saved receipt that forgets what it said.

The layers have learned from what they missed since, and ``test_mutants.py`` keeps it so: what is caught of these sets
today is no blind score any more. Write a fresh set for each release, and let somebody write it who has not read the
layers.
"""

from __future__ import annotations

from dataclasses import replace

from mutants import Mutant, Parent

FIRST_SEEN = (
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
)  # fmt: skip

FIRST_MISSED = (
    Mutant("a subsample whose scores are said to move as little as under the other relation", "S", ((
        "statistics.choice",
        'return max(self.inner.score_sensitivity(neighbours), self.inner.score_sensitivity("add-remove"))',
        'return self.inner.score_sensitivity("add-remove")',
    ),)),
    Mutant("numbers of rows in an error about shapes", "I", ((
        "models.estimator",
        'f"{who}: X and y must have the same number of rows."',
        'f"{who}: X and y must have the same number of rows. Got {len(values)} and {len(labels)}."',
    ),)),
    Mutant("choices of one pass that share their noise scale", "I", ((
        "privacy.session",
        "self._noise.choose(exact_scores, each.scale, each.cost.is_pure)",
        "self._noise.choose(exact_scores, each.scale / len(prices), each.cost.is_pure)",
    ),)),
    Mutant("kinds of text columns guessed from their cells", "T", ((
        "table.memory",
        'kinds: list[Kind] = ["untyped"] * len(cells)',
        'kinds: list[Kind] = ["number" if all(str(each).replace(".", "").isdigit() for each in column) else "untyped" for column in values.T]',
    ),)),
)  # fmt: skip

SECOND_SEEN = (
    Mutant("a window that is not clipped to, since bounds were", "T", ((
        "table.clipping",
        "        np.clip(grid, -steps, steps, out=grid)\n",
        "        if windows is None:\n            np.clip(grid, -steps, steps, out=grid)\n",
    ),)),
    Mutant("one class that no record can leave", "S", ((
        "statistics.by_class",
        "return Sensitivity(max(same.l1, one.l1), max(same.l2_squared, one.l2_squared))",
        "return same",
    ),)),
    Mutant("steps from a mean that are measured before they are rounded", "S", ((
        "statistics.components",
        "squares = np.maximum(squared_norms(steps), _PRODUCT_STEPS**2)",
        "squares = np.maximum(squared_norms((vectors - self.of.centres[component]) * scale), _PRODUCT_STEPS**2)",
    ),)),
    Mutant("a subsample that hashes places, so that duplicates are thinned too", "S", ((
        "statistics.choice",
        "state: Hashes = np.full(len(batch), self.key, dtype=np.uint64)",
        "state: Hashes = np.arange(self.key, self.key + len(batch), dtype=np.uint64)",
    ),)),
    Mutant("guesses that are scaled to the size of the table", "S", ((
        "statistics.misfits",
        "gaps = [abs(count - guess) for count, guess in zip(total, self.guess, strict=True)]",
        "size, whole = sum(total), max(1, sum(self.guess))\n"
        "        gaps = [abs(count - guess * size // whole) for count, guess in zip(total, self.guess, strict=True)]",
    ),)),
    Mutant("rows of a minimiser that are counted when they have a label", "R", ((
        "engine.feature_blocks", "self.exact_rows += rows", "self.exact_rows += len(block[1])",
    ),)),
    Mutant("one memory for a set of columns, whatever the grid", "T", ((
        "table.clipping", "self._grid_memory((columns, steps, windows), values)", "self._grid_memory(columns, values)",
    ),)),
    Mutant("the noise of a coarser grid on the finest one", "R", ((
        "privacy.price",
        "return Price(statistic, question.cost, sensitivity, laws)",
        "return Price(question.statistic, question.cost, sensitivity, laws)",
    ),)),
    Mutant("a ledger that knows its table by name alone", "I", ((
        "privacy.ledger",
        "if (name or bound.name, neighbours or bound.neighbours) != (bound.name, bound.neighbours):",
        "if (name or bound.name) != bound.name:",
    ),)),
    Mutant("a choice whose noise of less than one step is none", "N", ((
        "privacy.noise",
        "        if scale == 0:\n            return int(np.argmax(exact_scores))",
        "        if scale < 1:\n            return int(np.argmax(exact_scores))",
    ),)),
    Mutant("the whole cost for every statistic of a query", "R", ((
        "queries.query",
        "shares = [cost] if len(statistics) == 1 else session.split(cost, statistics)",
        "shares = [cost] * len(statistics)",
    ),)),
    Mutant("all of epsilon and delta beside a pure part", "R", ((
        "models.class_counts", "rest = Cost.of(left, delta)", "rest = Cost.of(epsilon, delta)",
    ),)),
    Mutant("shares by the weights that every fit has", "R", ((
        "synthesis.small_space", "sum(self.weights.values())", "sum(WEIGHTS.values())",
    ),)),
)  # fmt: skip

SECOND_MISSED = (
    Mutant("decimal commas, where no cell of the block has a point", "T", ((
        "table.source",
        "    trimmed = pc.ascii_trim_whitespace(column)\n",
        "    trimmed = pc.ascii_trim_whitespace(column)\n"
        '    if not pc.any(pc.match_substring(trimmed, ".")).as_py():\n'
        '        trimmed = pc.replace_substring(trimmed, ",", ".")\n',
    ),)),
    Mutant("a column of objects that is left to Arrow when its first cell is text", "T", ((
        "table.memory",
        "if str(dtype).startswith(_LOOSE)}",
        "if str(dtype).startswith(_LOOSE) and not isinstance(next(iter(data[name]), None), str)}",
    ),)),
    Mutant("rows of a CSV file that cannot be read, left out", "T", ((
        "table.files",
        "yield from _stream_duckdb(query, self._paths, columns, rows_left_out=_UNREADABLE_ROWS)",
        "yield from _stream_duckdb(query, self._paths, columns)",
    ),)),
    Mutant("types of a pandas frame that follow its rows", "T", ((
        "table.memory",
        "return super().stored_types if _is_pandas(self._data) else self._types",
        "return super().stored_types if not self._types else self._types",
    ),)),
    Mutant("a solver that stops earlier where there are more records", "I", ((
        "privacy.session",
        "return minimise(Objective(blocks, asked.loss, asked.ridge, linear), certificate(asked.ridge))",
        "enough = certificate(asked.ridge) * max(1, blocks.exact_records)\n"
        "        return minimise(Objective(blocks, asked.loss, asked.ridge, linear), enough)",
    ),)),
    Mutant("a minimiser that lies where its noise does not reach", "I", ((
        "privacy.session",
        "found = priced.finish.within(self._solved(priced, blocks, linear))",
        "found = self._solved(priced, blocks, linear)",
    ),)),
    Mutant("labels of objects, with the type that Arrow finds in them", "T", ((
        "table.memory",
        '    if labels.dtype.kind in "OUST":\n',
        '    if labels.dtype.kind == "O":\n        with suppress(pa.ArrowException):\n'
        '            return pa.array(labels, from_pandas=True), "untyped"\n    if labels.dtype.kind in "OUST":\n',
    ),)),
    Mutant("an empty array, refused in the words of scikit-learn", "I", ((
        "models.estimator",
        "        if values.shape[1] == 0:\n",
        "        if len(values) == 0:\n"
        '            raise ParameterError(f"{who}: Found array with 0 sample(s) while a minimum of 1 is required.")\n'
        "        if values.shape[1] == 0:\n",
    ),)),
    Mutant("a ledger that is written over where another pays", "I", ((
        "terminal", "if path.resolve() in taken or belongs_to_a_ledger(path):", "if path.resolve() in taken:",
    ),)),
    Mutant("the text of an internal error on the screen", "I", ((
        "cli",
        'f"internal error ({type(problem).__name__}); nothing more was released"',
        'f"internal error ({type(problem).__name__}: {problem}); nothing more was released"',
    ),)),
    Mutant("a saved receipt that forgets it was not private", "I", ((
        "release", '            private=document["private"],\n', "",
    ),)),
)  # fmt: skip


#: What the layers did not see on the day, and see now.
MISSED = (*FIRST_MISSED, *SECOND_MISSED)


def main() -> None:
    for name, mutants in (("first", FIRST_SEEN + FIRST_MISSED), ("second", SECOND_SEEN + SECOND_MISSED)):
        print(f"{sum(map(_shown, mutants))} of {len(mutants)} of the {name} set are seen by some layer today")


def _shown(mutant: Mutant) -> bool:
    """Whether some layer sees it; which one is printed."""
    with Parent() as parent:
        for layer in dict.fromkeys(mutant.layer + "SRCNITLAO"):
            if found := parent.first_complaint(replace(mutant, layer=layer)):
                print(f"{layer} {mutant.name}: {found}", flush=True)
                return True
    print(f"- {mutant.name}: not seen", flush=True)
    return False


if __name__ == "__main__":
    main()
