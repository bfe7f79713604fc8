"""The planned set: bugs that the layers were built for, in the order in which a table goes through the gate.

Their score is 100 % by construction and says little; what is worth quoting is the share that is caught of a set
written by somebody who has not looked at the layers.
"""

from __future__ import annotations

from mutants import Mutant


def _bug(name: str, layer: str, module: str, *texts: str) -> Mutant:
    """A bug in one module: old and new texts in turn."""
    return Mutant(name, layer, tuple((module, old, new) for old, new in zip(texts[::2], texts[1::2], strict=True)))


# --- the noise ---------------------------------------------------------------------------------------------------

_SAMPLER = "drawn: list[int] = _sampler(type(law), law.scale)([0] * count)"
_TOP = "_LARGEST_DRAW = 2**63 - 1\n"


def _drawn(name: str, text: str, top: str = "") -> Mutant:
    """A fault of the secure sampler."""
    more = (_TOP, _TOP + top) if top else ()
    return _bug(name, "N", "privacy.noise", _SAMPLER, text, *more)


_LINE = "\n        "
NOISE = (
    _drawn("half of the noise", _SAMPLER.replace("law.scale", "law.scale / 2")),
    _drawn("a fifth less noise", _SAMPLER.replace("law.scale", "law.scale * 0.8")),
    _drawn("a variance passed as a scale", _SAMPLER.replace("law.scale", "math.sqrt(law.scale)")),
    _drawn("a scale that is cut to a whole number", _SAMPLER.replace("law.scale", "max(0.2, float(int(law.scale)))")),
    _drawn(
        "noise that is used again",
        "drawn: list[int] = _USED.setdefault((law, count), _sampler(type(law), law.scale)([0] * count))",
        "_USED: dict[object, list[int]] = {}\n",
    ),
    _drawn("one draw for all coordinates", _SAMPLER.replace("([0] * count)", "([0]) * count")),
    _drawn(
        "coordinates that mirror each other",
        f"drawn: list[int] = _sampler(type(law), law.scale)([0] * (count - count // 2)){_LINE}"
        "drawn += [-each for each in drawn[: count // 2]]",
    ),
    _drawn("a fixed seed", "drawn: list[int] = SeededNoise(0).draw_many(law, count).tolist()"),
    _drawn(
        "a generator that starts again after some releases",
        f"_COUNTS.append(count){_LINE}drawn: list[int] = SeededNoise(len(_COUNTS) % 40).draw_many(law, count).tolist()",
        "_COUNTS: list[int] = []\n",
    ),
    _drawn(
        "a draw that listens to the global seed", "drawn = np.rint(np.random.laplace(0, law.scale, count)).tolist()"
    ),
    _drawn(
        "tails that are cut",
        f"{_SAMPLER}{_LINE}reach = math.ceil(3 * law.scale){_LINE}"
        "drawn = [min(reach, max(-reach, value)) for value in drawn]",
    ),
    _drawn("noise to one side", f"{_SAMPLER}{_LINE}drawn = [abs(value) for value in drawn]"),
    _drawn("no noise where 32 bits overflow", f"{_SAMPLER}{_LINE}drawn = drawn if law.scale < 2**31 else [0] * count"),
    _drawn("no noise at a small scale", f"{_SAMPLER}{_LINE}drawn = drawn if law.scale > 0.25 else [0] * count"),
    _drawn("no noise in a single coordinate", f"{_SAMPLER}{_LINE}drawn = drawn if count > 1 else [0]"),
    _bug(
        "Gaussian noise where Laplace is declared",
        "N",
        "privacy.noise",
        "if law is DiscreteLaplace:",
        "if law is None:",
    ),
    _bug(
        "the noise of one law for coordinates of another",
        "N",
        "privacy.noise",
        "for law in set(laws):\n            places = [place for place, each in enumerate(laws) if each == law]\n"
        "            for place, drawn in zip(places, self._draw_alike",
        "for law in sorted(set(laws), key=lambda each: each.scale)[:1]:\n            places = list(range(len(laws)))\n"
        "            for place, drawn in zip(places, self._draw_alike",
    ),
    _bug(
        "a choice with half of its noise",
        "N",
        "privacy.noise",
        "int(_noisy_maximum(scale, pure)",
        "int(_noisy_maximum(scale / 2, pure)",
    ),
    _bug(
        "a choice without noise at a small scale",
        "C",
        "privacy.noise",
        "if scale == 0:\n            return int(np.argmax(exact_scores))",
        "if scale < 1:\n            return int(np.argmax(exact_scores))",
    ),
    _bug(
        "Gumbel noise where a pure choice is declared",
        "N",
        "privacy.noise",
        "max_divergence() if pure else zero_concentrated_divergence()",
        "zero_concentrated_divergence()",
    ),
)

# --- the gate ----------------------------------------------------------------------------------------------------

_NOISY = "value + drawn for value, drawn in zip"
_RECEIPT = "receipt=self._receipt(each.statistic, each.charge(entry)),"
_ANSWER = "        prices = self.price(questions)\n        entries = self._charge(prices)\n        totals ="
_CHARGED = "        entries = self._charge(prices)\n        totals = self._pass([each.statistic"
_CHARGED_CHOICE = "        entries = self._charge(prices)\n        totals = self._pass([each.scores"
_PASSED = "        return [total.exact_values for total in accumulation.totals()]\n"


def _released(name: str, text: str, layer: str = "R") -> Mutant:
    """A fault where a total and its noise meet."""
    return _bug(name, layer, "privacy.session", _NOISY, f"{text} for value, drawn in zip")


GATE = (
    _released("noise in occupied cells only", "(value + drawn if value else 0)"),
    _released("half of the noise after it was drawn", "value + drawn // 2"),
    _released("a raw number in a rare branch", "max(value + drawn, value - 10**8)"),
    _released("a raw number where the noise is large", "(value + drawn if drawn < 10**8 else value)"),
    _released("a release that is no integer", "value + drawn + 0.5", "I"),
    _bug(
        "an exact total in the receipt", "R", "privacy.session",
        _RECEIPT, _RECEIPT.replace(")),", ")).with_caveat(f'of {sum(exact_values)}'),"),
    ),
    _bug(
        "the number of rows in the receipt", "R", "privacy.session",
        "self._require_declared_rows(accumulation)\n",
        "self._require_declared_rows(accumulation)\n        self._source.rows = accumulation.exact_rows\n",
        'rows = () if self.domain.rows is None else (f"{self.domain.rows} rows",)',
        'rows = (f"{self._source.rows} rows",)',
    ),
    _bug(
        "rows that are printed", "R", "privacy.session",
        _PASSED, f"        print(accumulation.exact_rows)\n{_PASSED}",
    ),
    _bug(
        "a warning about small tables", "R", "privacy.session",
        _PASSED,
        "        import warnings\n\n        if accumulation.exact_rows < 65:\n"
        f"            warnings.warn('few rows', stacklevel=2)\n{_PASSED}",
    ),
    _bug(
        "a log of totals", "R", "privacy.session",
        _PASSED, f"        __import__('logging').getLogger('gate').debug('%s', accumulation.exact_values())\n{_PASSED}",
    ),
    _bug(
        "an error about small tables", "R", "privacy.session",
        _PASSED,
        f"        if accumulation.exact_rows < 2:\n            raise PassError('table: too few rows.')\n{_PASSED}",
    ),
    _bug(
        "the number of rows in an error", "I", "privacy.session",
        "and the table has another number. ", "and the table has {accumulation.exact_rows}. ",
    ),
    _bug(
        "a cell in an error", "I", "privacy.session",
        'failed = f"the pass over the table failed ({type(error).__name__})."',
        'failed = f"the pass over the table failed ({error})."',
    ),
    _bug(
        "a cell behind an error", "I", "privacy.session",
        'raise PassError(f"{failed} The charge stands and nothing was released.")',
        'raise PassError("It failed. The charge stands.") from KeyError(failed)',
        "failed = f\"the pass over the table failed ({type(error).__name__}).\"",
        "failed = repr(error)",
    ),
    _bug(
        "one release of several is never charged", "R", "privacy.session",
        _CHARGED, _CHARGED.replace("self._charge(prices)", "[*self._charge(prices[:1]), *[None] * len(prices[1:])]"),
    ),
    _bug(
        "one entry of the ledger for several releases", "I", "privacy.session",
        "return self._ledger.charge([(each.charge().statistic, each.cost, each.charge().to_dict()) for each in prices])",
        "first = prices[0]\n        return self._ledger.charge("
        "[(first.charge().statistic, first.cost, first.charge().to_dict())]) * len(prices)",
    ),
    _bug(
        "a choice that is not charged", "R", "privacy.session",
        _CHARGED_CHOICE, _CHARGED_CHOICE.replace("self._charge(prices)", "[None] * len(prices)"),
    ),
    _bug(
        "a charge after the table was read", "I", "privacy.session",
        _ANSWER, "        prices = self.price(questions)\n        totals =",
        "self._pass([each.statistic for each in prices])\n",
        "self._pass([each.statistic for each in prices])\n        entries = self._charge(prices)\n",
    ),
    _bug(
        "an answer without a ledger's refusal", "I", "privacy.session",
        _ANSWER,
        "        prices = self.price(questions)\n        try:\n            entries = self._charge(prices)\n"
        "        except BudgetError:\n            entries = [None] * len(prices)\n        totals =",
    ),
    _bug(
        "prices for the other relation of neighbours", "R", "privacy.session",
        "price(question, self.domain.neighbours)", 'price(question, "add-remove")',
    ),
    _bug(
        "a choice for the other relation of neighbours", "R", "privacy.session",
        "price_choice(scores, cost, self.domain.neighbours)", 'price_choice(scores, cost, "add-remove")',
    ),
    _bug(
        "a declared number of rows that is not checked", "I", "privacy.session",
        "if self.domain.rows is not None and accumulation.exact_rows != self.domain.rows:",
        "if self.domain.rows is not None and accumulation.exact_rows > 10 * self.domain.rows:",
    ),
    _bug(
        "seeded noise in a session that was not asked for it", "I", "privacy.session",
        "session = cls(source, domain, ledger, SecureNoise())", "session = cls(source, domain, ledger, SeededNoise(1))",
    ),
    _bug(
        "seeded noise that is called private", "I", "privacy.session",
        '("seeded noise: not private", *caveats), False', '("seeded noise: not private", *caveats), True',
    ),
    _bug(
        "seeded noise on a ledger on disk", "I", "privacy.session",
        "if self._ledger is not None and self._ledger.on_disk:", "if self._ledger is not None and self._ledger.on_disk < 0:",
    ),
    _bug(
        "an answer without noise that was not asked for by a seed", "I", "privacy.session",
        "and (self._noise.secure or self._ledger is not None)", "and self._ledger is not None",
    ),
    _bug(
        "a table whose ledger was bound to another", "I", "privacy.session",
        "ledger.bind(source.name, domain.neighbours)", 'ledger.bind("table", domain.neighbours)',
    ),
    _bug("a session that shows its table", "I", "privacy.session",
         'return f"Session({self.name!r}, {len(self.domain.columns)} columns, neighbours {self.domain.neighbours!r})"',
         'return f"Session({vars(self._source)}, {self.domain.neighbours!r})"'),
)  # fmt: skip

# --- the price ---------------------------------------------------------------------------------------------------

PRICE = (
    _bug(
        "shares of a budget that add up to more", "R", "privacy.price",
        "steps[0] += int(1 / SHARE_STEP) - sum(steps)", "steps[0] += 1 + int(1 / SHARE_STEP) - sum(steps)",
    ),
    _bug("a scale that is rounded down", "R", "privacy.price",
         "DiscreteLaplace(up_to_float(sensitivity.l1 / cost.epsilon))",
         "DiscreteLaplace(max(0.01, float(math.floor(sensitivity.l1 / cost.epsilon))))"),
    _bug("a scale below the exact fraction by one float", "R", "privacy.price",
         "while math.isfinite(root) and Fraction(root) ** 2 < value:", "while False:"),
    _bug("half of the variance for a cost in rho", "R", "privacy.price",
         "variance = sensitivity.l2_squared / (2 * cost.rho)", "variance = sensitivity.l2_squared / (4 * cost.rho)"),
    _bug("the L2 sensitivity for Laplace noise", "R", "privacy.price",
         "up_to_float(sensitivity.l1 / cost.epsilon)",
         "up_to_float(Fraction(math.isqrt(sensitivity.l2_squared)) / cost.epsilon)"),
    _bug("weights that count twice", "R", "privacy.price",
         "_root_up(variance / weight)", "_root_up(variance / weight**2)"),
    _bug("a coarser grid whose noise is that of one coarser still", "R", "privacy.price",
         "sensitivity = statistic.sensitivity(neighbours)\n        _refuse",
         "sensitivity = (statistic.coarser() or statistic).sensitivity(neighbours)\n        _refuse"),
    _bug("a scale that is cut at its largest", "R", "privacy.price",
         "laws = _laws(statistic, sensitivity, question.cost)",
         "laws = tuple(type(law)(min(law.scale, 1e12)) for law in _laws(statistic, sensitivity, question.cost))"),
    _bug("a choice with the noise for one side", "R", "privacy.price",
         "spread = moves if monotone else 2 * moves", "spread = moves"),
    _bug("less noise for a large epsilon", "R", "privacy.price",
         "return (DiscreteLaplace(up_to_float(sensitivity.l1 / cost.epsilon)),) * statistic.size",
         "return (DiscreteLaplace(up_to_float(sensitivity.l1 / cost.epsilon / (1 + (cost.epsilon > 20)))),) "
         "* statistic.size"),
)  # fmt: skip

# --- statistics --------------------------------------------------------------------------------------------------

STATISTICS = (
    _bug("L2 for L1 in a ball", "S", "statistics.sums",
         "Sensitivity(math.isqrt(dimension * reach * reach), reach * reach)", "Sensitivity(reach, reach * reach)"),
    _bug("one substitution counted as one change", "S", "statistics.sums",
         'moves = 1 if neighbours == "add-remove" else 2\n        reach, dimension', "moves = 1\n        reach, dimension"),
    _bug("a triangle without its diagonal", "S", "statistics.moments",
         "return pairs * unit, (dimension**2 if frobenius else pairs) * unit**2",
         "return max(1, pairs - dimension) * unit, (dimension**2 if frobenius else pairs) * unit**2"),
    _bug("the published sensitivity of a triangle, two roots of p", "S", "statistics.moments",
         "quadrupled = (dimension + 2) ** 2 + dimension**2 - dimension % 2", "quadrupled = 16 * dimension"),
    _bug("squared L2 of a triangle as if no sign could flip", "S", "statistics.moments",
         "squared = dimension**2 - odd", "squared = pairs"),
    _bug("both triangles released, one paid", "S", "statistics.moments",
         "return triangle(len(self.of.columns))", "return len(self.of.columns) ** 2",
         "rows, columns = np.triu_indices(len(self.of.columns))\n        return vectors",
         "rows, columns = np.indices((len(self.of.columns),) * 2).reshape(2, -1)\n        return vectors",
         "gram.take(_upper_places(len(self.of.columns))).astype(np.int64)", "gram.ravel().astype(np.int64)"),
    _bug("products in 32 bits", "S", "statistics.moments",
         "gram = vectors.T @ vectors", "gram = (vectors.T.astype(np.float32) @ vectors.astype(np.float32))"),
    _bug("features forgotten", "S", "statistics.histograms",
         "return Sensitivity(len(self.tables), len(self.tables))", "return Sensitivity(1, 1)"),
    _bug("two cells of a histogram counted as one", "S", "statistics.histograms",
         "moves = sum(min(2, cells) for cells in self.table_sizes)", "moves = len(self.tables)"),
    _bug("columns forgotten in a split of units", "S", "statistics.unit_split",
         'moves = len(self.columns) * (1 if neighbours == "add-remove" else 2)',
         'moves = 1 if neighbours == "add-remove" else 2'),
    _bug("a middle part that is counted twice", "S", "statistics.unit_split",
         "(low * low, 2 * low * high, high * high)", "(low * low, 4 * low * high, high * high)"),
    _bug("another class forgotten", "S", "statistics.by_class",
         "return Sensitivity(max(same.l1, moved.l1), max(same.l2_squared, moved.l2_squared))", "return same"),
    _bug("a substitution that may leave a class empty forgotten", "S", "statistics.by_class",
         "return Sensitivity(max(same.l1, one.l1), max(same.l2_squared, one.l2_squared))", "return same"),
    _bug("records without a class in the last one", "S", "statistics.by_class",
         "placed = np.flatnonzero(codes >= 0)", "placed = np.arange(len(codes))"),
    _bug("small classes dropped", "S", "statistics.by_class",
         "self.inner.block_total(ChosenRows(batch, np.flatnonzero(codes == code)))",
         "self.inner.block_total(ChosenRows(batch, np.flatnonzero((codes == code) & ((codes == code).sum() > 4))))"),
    _bug("a list of classes read from the rows", "S", "statistics.histograms",
         "return batch.codes(self.column)",
         "found = batch.codes(self.column)\n        return np.searchsorted(np.unique(found[found >= 0]), found) - (found < 0)"),
    _bug("distances from guesses move by one in either relation", "S", "statistics.misfits",
         'move = 1 if neighbours == "add-remove" else 2', "move = 1"),
    _bug("an amount from end to end counted as its larger end", "S", "statistics.amounts",
         "return max(alone, high - low) if self.gaps[position] else high - low", "return alone"),
    _bug("the covariance as if the mean stayed", "S", "statistics.direct",
         "entry = (self.rows - 1) * (2 * self.steps) ** 2", "entry = (self.rows - 1) * 2 * self.steps**2"),
    _bug("the median of an odd number as of an even one", "S", "statistics.direct",
         "moves = 2 * self.steps * (2 if self.rows % 2 else 1)", "moves = 2 * self.steps"),
    _bug("scores of a quantile that move by one", "R", "statistics.ranks",
         'return max(part, whole - part) if neighbours == "add-remove" else whole', "return 1"),
    _bug("a count whose missing cells do not count", "S", "statistics.count",
         'moves = 1 if neighbours == "add-remove" or self.columns else 0', 'moves = 1 if neighbours == "add-remove" else 0'),
    _bug("a ball that is not checked after rounding", "S", "statistics.grid_ball",
         "room = steps - math.ceil(math.sqrt(places.shape[1]) / 2)", "room = steps",
         "return inside(vectors, steps)", "return vectors"),
    _bug("a vector outside that is shrunk by the longest of its batch", "S", "statistics.grid_ball",
         "room = steps - math.ceil(math.sqrt(places.shape[1]) / 2)", "room = steps",
         "(steps / np.sqrt(squares[far]))[:, None]", "(steps / np.sqrt(squares.max(initial=1.0)))"),
    _bug("a vector outside that is rounded and not cut", "S", "statistics.grid_ball",
         "room = steps - math.ceil(math.sqrt(places.shape[1]) / 2)", "room = steps",
         "np.trunc(vectors[far]", "np.rint(vectors[far]"),
    _bug("a ball that the longest record of the batch decides", "S", "statistics.vectors",
         "lengths(placed), self.radius * GRID_STEPS",
         "lengths(placed), min(self.radius * GRID_STEPS, lengths(placed).max(initial=0) + 1e-3)"),
    _bug("a centre taken from the rows", "S", "statistics.vectors",
         "        return in_ball(placed,",
         "        placed = placed - np.rint(placed.mean(axis=0)) if len(placed) else placed\n        return in_ball(placed,"),
    _bug("scores that are not pulled into their ball", "S", "statistics.scores",
         "in_ball(placed, lengths(placed), self.radius * _SCORE_STEPS, self.steps), None",
         "np.rint(placed * (self.steps / (self.radius * _SCORE_STEPS))), None"),
)  # fmt: skip

# --- records, blocks and sums ------------------------------------------------------------------------------------

_CLIP = "        np.clip(grid, -steps, steps, out=grid)\n"

RECORDS = (
    _bug("values that are not clipped", "S", "table.clipping", _CLIP, ""),
    _bug("a clip a little beyond the bounds", "S", "table.clipping",
         _CLIP, "        np.clip(grid, -steps - 1, steps + 1, out=grid)\n"),
    _bug("numbers that are not clipped", "S", "table.clipping",
         "return np.clip(values, declared.low, declared.high)", "return values"),
    _bug("bounds taken from the rows", "S", "table.clipping",
         "return np.clip(values, declared.low, declared.high)",
         "return np.clip(values, np.nanmin(values, initial=declared.high), np.nanmax(values, initial=declared.low)) "
         "* 1.0 if len(values) < 9 else values - np.nanmin(values) + declared.low"),
    _bug("missing cells that stay", "S", "table.clipping",
         "        grid[~whole] = 0.0\n        return grid, whole\n\n\nclass",
         "        return np.nan_to_num(grid, nan=2.0 * steps), whole\n\n\nclass"),
    _bug("missing cells filled with the mean of the others", "S", "table.clipping",
         "        grid[~whole] = 0.0\n        return grid, whole\n\n\nclass",
         "        grid[~whole] = np.rint(np.nan_to_num(np.nanmean(grid, axis=0)))\n        return grid, None\n\n\nclass"),
    _bug("outliers dropped", "S", "table.clipping",
         "        if not np.isnan(grid.min(initial=0.0)):",
         "        far = np.abs(grid - grid.mean(axis=0)) > 2 * grid.std(axis=0)\n        grid[far] = 0\n"
         "        if not np.isnan(grid.min(initial=0.0)):"),
    _bug("two grids of a batch in the same memory", "T", "table.clipping",
         "self._grid_memory((columns, steps, windows), values)", "self._grid_memory(columns, values)"),
    _bug("memory that threads share", "T", "table.clipping",
         "self._arrays: dict[Hashable, Floats] = {}", "self._arrays = _ARRAYS",
         "\nclass Workspace:", "_ARRAYS: dict[Hashable, Floats] = {}\n\n\nclass Workspace:"),
    _bug("memory that is never looked at for missing cells", "T", "table.clipping",
         "grid.min(initial=0.0)", "grid[:1].min(initial=0.0)"),
    _bug("an incomplete column let through", "I", "table.clipping",
         'if declared.missing != "drop":', "if not isinstance(declared.missing, str):"),
    _bug("an unknown label in a complete column let through", "I", "table.clipping",
         'if declared.missing == "reject":\n        raise _incomplete(name)\n    codes',
         'if declared.missing == "never":\n        raise _incomplete(name)\n    codes'),
    _bug("rows capped at a block", "T", "engine.accumulation",
         "for start in range(0, len(block), self._block_rows):", "for start in range(0, len(block), self._block_rows)[:1]:"),
    _bug("the last rows of a block dropped", "S", "engine.accumulation",
         "for start in range(0, len(block), self._block_rows):",
         "for start in range(0, max(1, len(block) - 1), self._block_rows):"),
    _bug("a limb that overflows", "T", "engine.accumulation",
         "_BLOCKS_PER_LIMB = 512", "_BLOCKS_PER_LIMB = 2048"),
    _bug("blocks beyond what floats add exactly", "T", "statistics.statistic",
         "EXACT_LIMIT = 2**53", "EXACT_LIMIT = 2**57"),
    _bug("parts that are merged without their rows", "T", "engine.accumulation",
         "        self.exact_rows += exact_rows\n", ""),
    _bug("a second merge that forgets the first", "T", "engine.accumulation",
         "for mine, theirs in zip(self.values(), values, strict=True)]", "for mine, theirs in zip(self._low.tolist(), values, strict=True)]"),
    _bug("a block that no thread takes", "T", "engine.local",
         "itertools.chain(first, blocks)", "itertools.chain(first[:1], blocks)"),
    _bug("a total that shows itself", "I", "statistics.statistic",
         'return f"Total({len(self)} integers, private)"', 'return f"Total({self.exact_values}, private)"'),
)  # fmt: skip

# --- models, and the statistics and the mechanism that were written for them -----------------------------------------

_PLACES = "self.size_ = max(1.0, self._asked(opening, Count(self._counted(opening)), SIZE_SHARE).in_units()[0])"
_ROWS = "len(next(iter(opening.session._source.blocks(opening.features)))())"
_FIRST_ROW = "next(iter(opening.session._source.blocks(opening.features)))().matrix(opening.features)[0]"

MODELS = (
    _bug("shares among components that the whole batch decides", "S", "statistics.components",
         "scores -= scores[rows, best][:, None]", "scores -= scores.max(initial=-1e300)"),
    _bug("a far record that counts as if it were far", "S", "statistics.components",
         "np.floor(np.minimum(np.sqrt(squares), self._reach)", "np.floor(np.sqrt(squares)",
         "        np.minimum(near, _SPREAD_STEPS, out=near)\n", ""),
    _bug("products of a far record that are not pulled in", "S", "statistics.components",
         "squares = np.maximum(squared_norms(steps), _PRODUCT_STEPS**2)",
         "squares = np.full(len(steps), float(_PRODUCT_STEPS**2))"),
    _bug("shares in floats that do not add up to the whole", "S", "statistics.components",
         "shares: Floats = np.floor(grown * self.parts / grown.sum(axis=1, keepdims=True))",
         "shares: Floats = np.ceil(grown * self.parts / grown.sum(axis=1, keepdims=True)) + 1",
         "        shares[rows, best] += self.parts - shares.sum(axis=1)\n", ""),
    _bug("a gradient whose norm is forgotten", "S", "statistics.gradients",
         "return in_ball(gradients, norms, self.truncation, self.steps, whole), whole",
         "return np.rint(gradients * (self.steps / self.truncation)), whole"),
    _bug("a gradient clipped by the mean norm of the batch", "S", "statistics.gradients",
         "norms, self.truncation, self.steps", "norms, min(self.truncation, norms.mean()), self.steps"),
    _bug("scores of an EM round by float products", "S", "statistics.gradients",
         "scores = (placed @ self._grid) * (unit / self._steps_of_grid)",
         "scores = (placed @ self._grid - placed.mean()) * (unit / self._steps_of_grid)"),
    _bug("a projected ball whose bound is that of the large space", "S", "statistics.projected",
         "return in_ball(coordinates, lengths(coordinates), self.radius * self._scale, self.steps, whole), whole",
         "return np.rint(coordinates * (self.steps / (self.radius * self._scale))), whole"),
    _bug("directions that are not brought to one length", "S", "statistics.directions",
         "return in_ball(beside, norms, 0.0, self.steps, whole), whole",
         "return np.rint(beside * (self.steps / constant)), whole"),
    _bug("hits that are called monotone under substitution", "R", "statistics.hits",
         'return neighbours == "add-remove"', "return True"),
    _bug("slopes of a margin that are not bounded", "S", "statistics.margin_gradients",
         "slopes = np.floor(shares * PARTS / whole[:, None])", "slopes = np.floor(shares * PARTS)",
         "slopes[:, output] = np.minimum(slopes[:, output], PARTS - together)", "slopes[:, output] = slopes[:, output]"),
    _bug("a subsample by the place of a record", "S", "statistics.choice",
         "kept: Flags = (state >> np.uint64(64 - HASH_BITS)) < np.uint64(self.kept)",
         "kept: Flags = np.arange(len(batch)) % 2 == 0"),
    _bug("cells of a grid that two records of a substitution share", "S", "statistics.lattice",
         'moves = 1 if neighbours == "add-remove" else 2', "moves = 1"),
    _bug("squares of one record that are paid as if all were one", "S", "statistics.squares",
         "return Sensitivity(self.size * self.unit, self.size * self.unit**2)", "return Sensitivity(self.unit, self.unit**2)"),
    _bug("a minimiser for one changed record", "R", "privacy.perturbed_minimiser",
         'return 1 if neighbours == "add-remove" else 2', "return 1"),
    _bug("a minimiser with half of its noise declared", "R", "privacy.perturbed_minimiser",
         "scale = moves(neighbours) * gradient_bound(loss) / epsilon * (1 + 1e-12)",
         "scale = moves(neighbours) * gradient_bound(loss) / epsilon / 2"),
    _bug("a minimiser whose records differ by half of what they do", "R", "privacy.margin_losses",
         '"""e_c - e_y for every other c."""\n        return ((self.outputs - 1, 2.0),)',
         '"""e_c - e_y for every other c."""\n        return ((self.outputs - 1, 1.0),)'),
    _bug("a minimiser with a third of its noise drawn", "C", "privacy.perturbed_minimiser",
         "return drawn * (self.scale * length / float(np.linalg.norm(drawn)))",
         "return drawn * (self.scale / 3 * length / float(np.linalg.norm(drawn)))"),
    _bug("a minimiser without a random term", "C", "privacy.session",
         "linear = priced.linear.draw(self._noise)", "linear = 0 * priced.linear.draw(self._noise)"),
    _bug("normal numbers that are too small", "N", "privacy.noise",
         "lengths = np.sqrt(2 * self.exponentials(count))", "lengths = np.sqrt(self.exponentials(count))"),
    _bug("exponential numbers from a fixed seed", "N", "privacy.noise",
         "bits = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)",
         "bits = np.random.default_rng(0).integers(2**64 - 1, size=count, dtype=np.uint64)"),
    _bug("a cost at another order that the ledger takes", "L", "privacy.ledger",
         "return cost.order is not None and cost.order != _order(budget)", "return False"),
    _bug("a warm start from a record", "R", "models.gradient_em",
         "given, left = self._given_start(dimension), 1 - SIZE_SHARE",
         f"given, left = self._within({_FIRST_ROW}), 1 - SIZE_SHARE"),
    _bug("the number of rows instead of a bought size", "R", "models.gradient_em", _PLACES, f"self.size_ = float({_ROWS})"),
    _bug("a round too many", "R", "models.gradient_em", "for _ in range(rounds):", "for _ in range(rounds + 1):"),
    _bug("rounds that the rows decide", "R", "models.gradient_em",
         "for _ in range(rounds):", f"for _ in range(rounds if {_ROWS} > 10 else 0):"),
    _bug("a range read from the rows", "R", "models.ranges",
         "centre = np.full(dimension, common)",
         "centre = np.clip(next(iter(session._source.blocks(columns)))().matrix(columns)[0] / 10, -1, 1)"),
    _bug("bought ranges that nothing else is charged less for", "R", "models.gaussian_bayes",
         "cost = remaining(cost, sum((each.cost for each in found.receipts), Cost()))", "cost = cost"),
    _bug("a bought range that is missing in the receipt", "R", "models.gaussian_bayes",
         "        opening.receipts.extend(found.receipts)\n", ""),
    _bug("class sizes that pay nothing", "R", "models.class_counts",
         "    opening.receipts.append(total.receipt)\n    noisy,", "    noisy,"),
    _bug("features forgotten in a table by class", "S", "statistics.histograms",
         "moves = sum(min(2, cells) for cells in self.table_sizes)", "moves = min(2, max(self.table_sizes))"),
    _bug("directions that the rows decide", "R", "synthesis.small_space",
         "directions = random_directions(len(asked.features), components, seed)",
         "seed += len(next(iter(asked.session._source.blocks(asked.features)))())\n"
         "    directions = random_directions(len(asked.features), components, seed)"),
    _bug("weights of a budget that count for less than they are", "R", "synthesis.small_space",
         "Fraction(self.weights[part], sum(self.weights.values()))", "Fraction(self.weights[part], sum(self.weights.values()) - 9)"),
    _bug("a measurement that forgets what it spent", "R", "synthesis.measurement",
         "        self.left -= part\n", "        self.left -= part / 2\n"),
    _bug("the number of rows kept by a model", "R", "models.naive_bayes",
         "self.classes_ = np.asarray(opening.classes)", f"self.classes_ = np.asarray(opening.classes)\n        self._rows = {_ROWS}"),
    _bug("the number of rows kept by a model of arrays", "I", "models.estimator",
         "values, labels = self._checked_shapes(X, y)", "values, labels = self._checked_shapes(X, y)\n        self._seen = len(values)"),
    _bug("classes read from the labels of arrays", "I", "models.estimator",
         "            classes = np.unique(labels) if observed and labels is not None else np.array(declared.values)",
         "            classes = np.unique(labels) if labels is not None else np.array(declared.values)"),
    _bug("observed classes that are called private", "I", "models.estimator",
         "private=joined.private and not self.not_private", "private=joined.private or self.not_private"),
)  # fmt: skip

# --- the ledger --------------------------------------------------------------------------------------------------

_LOCKED = "        with self._lock:\n            state, entries = self._book\n            new, added = change(state)\n"

LEDGER = (
    _bug("a tolerance", "L", "privacy.ledger",
         "spent.epsilon + cost.epsilon <= budget.pure", "spent.epsilon + cost.epsilon <= budget.pure + Fraction(1, 10**9)"),
    _bug("a tolerance in the other lane", "L", "privacy.ledger",
         "spent.rho + cost.as_rho <= budget.rho", "spent.rho + cost.as_rho <= budget.rho * (1 + Fraction(1, 10**12))"),
    _bug("a race", "L", "privacy.ledger",
         _LOCKED, "        if True:\n            state, entries = self._book\n            new, added = change(state)\n"),
    _bug("a race between processes", "L", "privacy.ledger_file",
         "        new, entries = change(state)\n",
         '        connection.execute("COMMIT")\n        new, entries = change(state)\n        connection.execute("BEGIN IMMEDIATE")\n',
         '"INSERT INTO entry VALUES', '"INSERT OR REPLACE INTO entry VALUES'),
    _bug("a charge that is taken back when its process ends", "L", "privacy.ledger_file",
         '        connection.execute("COMMIT")\n',
         '        connection.execute("ROLLBACK" if writing and os.getpid() != _BORN else "COMMIT")\n',
         "FORMAT = 1\n", "FORMAT = 1\n_BORN = os.getpid()\n"),
    _bug("charges of one name that overwrite each other", "L", "privacy.ledger",
         "        found = placed(state.budget, state.spent, cost)\n",
         "        if what in _NAMES:\n            continue\n        _NAMES.add(what)\n"
         "        found = placed(state.budget, state.spent, cost)\n",
         "MOST_BITS = 8192\n", "MOST_BITS = 8192\n_NAMES: set[str] = set()\n"),
    _bug("costs that are not above zero", "L", "privacy.ledger",
         "or min(amounts) != 0 or max(amounts) <= 0:", "or min(amounts) > 0:"),
    _bug("a release without noise that is free", "L", "privacy.ledger",
         "if not isinstance(cost, Cost) or cost.infinite:", "if not isinstance(cost, Cost):",
         "or min(amounts) != 0 or max(amounts) <= 0:", "or min(amounts) != 0 or (max(amounts) <= 0 and not cost.infinite):"),
    _bug("the first part of a refused batch is booked", "L", "privacy.ledger",
         "        if found is None:\n            _refuse(", "        if found is None and entries:\n            break\n"
         "        if found is None:\n            _refuse("),
    _bug("a copy with a budget of its own", "L", "privacy.ledger",
         "    def __deepcopy__(self, memo: object) -> Ledger:\n        return self\n",
         "    def __deepcopy__(self, memo: object) -> Ledger:\n        return Ledger(self.epsilon, self.delta)\n"),
    _bug("a fork with a budget of its own", "L", "privacy.ledger",
         "if os.getpid() != self._process:", "if os.getpid() < 0:"),
    _bug("a refund", "L", "privacy.ledger",
         "    def verify(self) -> list[str]:\n",
         "    def refund(self) -> None:\n        self._store.update(lambda state: (replace(state, spent=Spent()), ()))\n\n"
         "    def verify(self) -> list[str]:\n"),
    _bug("a ledger for two tables", "L", "privacy.ledger",
         "if (name or bound.name, neighbours or bound.neighbours) != (bound.name, bound.neighbours):", "if False:"),
    _bug("a pure release at half its rho", "L", "cost",
         "return self.epsilon * self.epsilon / 2 + self.rho", "return self.epsilon * self.epsilon / 4 + self.rho"),
    _bug("a rho that is rounded up", "L", "cost",
         "low, high = (middle, high) if _log_delta(middle, target) <= goal else (low, middle)\n    rounded",
         "low, high = (middle, high) if _log_delta(middle, target) <= goal + 0.01 else (low, middle)\n    rounded"),
    _bug("an audit of the ledger that finds nothing", "L", "privacy.ledger",
         "return problems + problems_of(state, entries)", "return problems"),
    _bug("a changed file that takes a charge", "L", "privacy.ledger_file",
         "if seal != state.seal or (last, _digest_at(connection, last, state)) != (state.entries, state.digest):",
         "if state.entries < 0:"),
    _bug("an old copy of the file that is taken", "L", "privacy.ledger_file",
         "if self.seen is not None and _digest_at(connection, self.seen[0], state) != self.seen[1]:", "if False:"),
)  # fmt: skip

# --- how cells are read ------------------------------------------------------------------------------------------

#: The first 22 were written before their author had looked at the layers, which then saw two. The other ten were in the
#: code: a bug that was found is planted again.
READING = (
    _bug("pandas objects typed by Arrow from their rows", "O", "table.memory",
         "if str(dtype).startswith(_LOOSE)}",
         'if str(dtype).startswith("complex")}'),
    _bug("text cast whole first, cell by cell only when that fails", "O", "table.source",
         "    nothing = pa.scalar(None, trimmed.type)\n",
         "    try:\n"
         "        return trimmed.cast(pa.float64()).to_numpy(zero_copy_only=False)\n"
         "    except pa.ArrowInvalid:\n"
         "        pass\n"
         "    nothing = pa.scalar(None, trimmed.type)\n"),
    _bug("words for truth are read only where the column holds nothing else", "O", "table.clipping",
         "    return pc.coalesce(named.cast(pa.float64()), numbers)",
         "    return named.cast(pa.float64()) if named.null_count == column.null_count else numbers"),
    _bug("truth in an object matrix is a word", "O", "table.memory",
         "    return str(int(cell)) if isinstance(cell, bool | np.bool_) else _as_text(cell)",
         "    return _as_text(cell)"),
    _bug("only None is absent among objects", "O", "table.memory",
         "        return cell is None or not bool(cell == cell)",
         "        return cell is None"),
    _bug("an unreadable line of a CSV file is left out", "O", "table.files",
         "columns, rows_left_out=_UNREADABLE_ROWS)",
         "columns)"),
    _bug("a CSV line with two unreadable cells counts twice", "O", "table.files",
         "SELECT count(*) FROM (SELECT DISTINCT file_id, line FROM reject_errors)",
         "SELECT count(*) FROM reject_errors"),
    _bug("a missing cell takes the place of a narrow dictionary's index", "O", "table.clipping",
         "indices.cast(pa.int64()).fill_null(len(table) - 1)",
         "indices.fill_null(min(len(table) - 1, 127))"),
    _bug("an unused entry of a dictionary is refused", "O", "table.clipping",
         "    indices = column.indices\n",
         "    indices = column.indices\n"
         '    if declared.missing == "reject" and (table[:-1] < 0).any():\n'
         "        raise _incomplete(name)\n"),
    _bug("a missing cell is filled from the block", "O", "table.clipping",
         "    filled[absent, position] = declared.missing",
         "    filled[absent, position] = np.nanmin(np.append(filled[:, position], declared.missing))"),
    _bug("lists typed by numpy from all their cells", "O", "models.estimator",
         'return np.asarray(cells) if hasattr(cells, "__array__") else np.asarray(cells, dtype=object)',
         "return np.asarray(cells)"),
    _bug("object labels typed by Arrow", "O", "table.memory",
         '        return _text_column(labels), "untyped" if labels.dtype.kind == "O" else "text"',
         '        guessed = pa.array(labels, from_pandas=True) if labels.dtype.kind == "O" else _text_column(labels)\n'
         "        return guessed, kind_of(guessed.type)"),
    _bug("objects of a frame as text in one call", "O", "table.memory",
         'frame[name].astype(object).map(_object_as_text).astype("string")',
         'frame[name].astype("string")'),
    _bug("whole numbers beyond 53 bits are an error", "O", "table.source",
         "column = widened(column).cast(pa.float64(), safe=False)",
         "column = widened(column).cast(pa.float64())"),
    _bug("an object that cannot be written is an error", "O", "table.memory",
         "    with suppress(Exception):\n        cell = cell[()]",
         "    with suppress(UnicodeError):\n        cell = cell[()]"),
    _bug("one missing cell empties its block", "O", "table.clipping",
         "        grid[~whole] = 0.0",
         "        grid[~whole if whole.sum() > 1 else slice(None)] = 0.0"),
    _bug("NaN in a dictionary is an unknown value", "O", "table.clipping",
         "    codes[values.is_null(nan_is_null=True).to_numpy(zero_copy_only=False)] = -2",
         "    codes[values.is_null().to_numpy(zero_copy_only=False)] = -2"),
    _bug("a masked cell is its fill value", "O", "table.memory",
         "np.ma.filled(values.astype(np.float64), np.nan)",
         "np.ma.filled(values)"),
    _bug("labels are checked for being of one kind", "O", "models.estimator",
         "        if labels is not None and self._observes():\n"
         "            check_classification_targets(labels)",
         "        if labels is not None:\n"
         '            np.sort(labels) if labels.dtype.kind == "O" else None\n'
         "        if labels is not None and self._observes():\n"
         "            check_classification_targets(labels)"),
    _bug("CSV types are sniffed", "O", "table.files",
         "auto_detect=false, header=true",
         "auto_detect=true, header=true"),
    _bug("whole-number codes cast with care", "O", "table.clipping",
         "        return cells.cast(pa.float64(), safe=False)",
         "        return cells.cast(pa.int64()).cast(pa.float64())"),
    _bug("numbers with a bigger exponent", "O", "table.source",
         "[0-9]{1,4})?|",
         "[0-9]+)?|"),
    _bug("labels of rows are converted with a frame", "O", "table.memory",
         "    frame.index = range(len(frame))\n",
         ""),
    _bug("text of Python converted at once", "O", "table.memory",
         'getattr(dtype, "storage", None) == "python"',
         'getattr(dtype, "storage", None) == "nothing"'),
    _bug("a Parquet text without an encoding stops the pass", "O", "table.files",
         ", utf8_validation='replace'",
         ""),
    _bug("short floats by the digits that numpy prints", "O", "table.memory",
         "        cell = float(cell) if isinstance(cell, np.floating) else cell\n",
         ""),
    _bug("a list of labels takes the shape that numpy finds", "O", "models.estimator",
         "else _label_vector(who, y)",
         "else _as_stored(who, y)"),
    _bug("objects keep the NULs at their ends", "O", "table.memory",
         'text.rstrip("\\0")',
         "text"),
    _bug("labels of text end at their first NUL", "O", "table.memory",
         "return pa.array(labels.tolist(), pa.string())",
         "return pa.array(labels)"),
    _bug("minus zero is no zero among codes", "O", "table.clipping",
         "pc.add(_as_numbers(column), 0.0)",
         "_as_numbers(column)"),
    _bug("a signalling NaN stops the pass", "O", "table.memory",
         ".map(_object_as_text).astype",
         '.map(_cell_as_text, na_action="ignore").astype'),
    _bug("one complex number makes them of a column", "O", "table.memory",
         '_LOOSE = ("object", "complex", "float96", "float128")',
         '_LOOSE = ("object",)'),
)  # fmt: skip

# --- the laws of the house ---------------------------------------------------------------------------------------

_IMPORT = "from __future__ import annotations\n"


def _written(name: str, module: str, text: str) -> Mutant:
    """A line that breaks a law, among the imports of a module."""
    return _bug(name, "A", module, _IMPORT, f"{_IMPORT}\n{text}\n")


HOUSE = (
    _written("noise of numpy in a query", "queries.mean", "import numpy as np\nNOISE = np.random.laplace(0, 1)"),
    _written("a model that looks into the table", "models.estimator", "from sordino.table.source import Source"),
    _written("a query that draws its noise", "queries.count", "from sordino.privacy.noise import SecureNoise"),
    _written("an engine beside the gate", "queries.sums", "from sordino.engine.local import accumulate"),
    _written("a model that watches a rehearsal", "models.classifier", "import sordino.privacy.rehearsal"),
    _written("a statistic that knows the ledger", "statistics.count", "from sordino.privacy.ledger import Ledger"),
    _bug("a memory of rows", "A", "table.clipping",
         "def _encoded(name", "@lru_cache(maxsize=None)\ndef _encoded(name"),
    _bug("a private name read from outside", "A", "queries.query",
         "prices = session.price(self.questions(session, cost))", "prices = session._pass([])"),
)  # fmt: skip

PLANNED: tuple[Mutant, ...] = (*NOISE, *GATE, *PRICE, *STATISTICS, *RECORDS, *MODELS, *LEDGER, *READING, *HOUSE)
