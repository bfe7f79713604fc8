"""What a table synthesiser buys, step by step: how many records, each column, the dependence, a few pairs of columns.

Each step decides by public facts and by what was released before it. A step that would not pay is left out, and what it
would have cost goes to the next.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

import numpy as np

from sordino.domain import Real
from sordino.errors import ParameterError
from sordino.repair.positive_definite import from_triangle
from sordino.statistics.count import Count
from sordino.statistics.histograms import Axis, Histograms, MergedAxis
from sordino.statistics.misfits import guessed
from sordino.statistics.moments import SecondMoment
from sordino.statistics.scores import Scores
from sordino.statistics.vectors import LARGEST_DIMENSION
from sordino.synthesis.cells import Cells, Floats, Integers
from sordino.synthesis.copula import Copula, correlation_of, order_of
from sordino.synthesis.learned import Learned, Table, Target
from sordino.synthesis.marginals import Marginal, class_totals, probabilities
from sordino.synthesis.measurement import Measurement
from sordino.synthesis.pairs import Pair, coarse, pairs_of

_COUNT = Fraction(1, 100)
_MARGINALS = Fraction(1, 2)

#: Of that, the share of the first cut of all columns; and of each finer one, of the columns that need it.
_FIRST = Fraction(3, 5)
_FINER = (Fraction(1, 5), Fraction(1, 5))

#: The part of what is left after the marginals that goes to the dependence, where tables follow.
_DEPENDENCE = Fraction(1, 2)

#: The part of the tables' share that pays for the choice among pairs.
_CHOICE = Fraction(3, 20)

#: A target that is a number is cut into so many classes, after a histogram that takes this share; into fewer where
#: columns are bought alone.
_GROUPS, _GROUPS_APART = 8, 2
_TARGET = Fraction(1, 25)

#: Classes pay while the error of a column's histogram that they cost, in total variation, stays below this.
_LARGEST_ERROR = 0.05

#: Where columns are bought alone, classes are all that they have in common, and pay up to here.
_LARGEST_ERROR_APART = 0.5

#: Columns are bought alone where the dependence would add more noise than the first to a table of two columns by what
#: it costs them, and more than the second by its own. How much it is worth depends on how strong it is, which noise
#: does not tell: the first lies between Adult at pure ε = 0.1 (.061), whose columns are better alone, and breast cancer
#: at ε = 1 (.049), whose columns are near copies of one another.
_LARGEST_ADDED_ERROR, _LARGEST_OWN_ERROR = 0.055, 0.01

#: Tables per class pay while a table's error stays below this.
_LARGEST_TABLE_ERROR = 0.08

#: A column has from 4 to 32 cells at first, so that noise is a quarter of a mean cell.
_FEWEST_CELLS, _MOST_CELLS = 2, 5

#: The error of a table that noise may cause, over half of a normal variable's mean size.
_CELL_ERROR = 0.2

#: Tables pay when they can have this many cells a side; more than 16 are never needed.
_FEWEST_SIDES, _MOST_SIDES = 4, 16

#: There are more tables than columns when records outnumber this many standard deviations of a table's noise.
_RECORDS_PER_TABLE = 2000

#: Pairs that compete for a table, at most; of more, those with the largest correlations.
_MOST_CANDIDATES = 1000

#: The mean size of a normal variable, and half of it: what a cell's noise adds to a distance, in total variation.
_MEAN_SIZE = 0.8
_HALF_SIZE = _MEAN_SIZE / 2


def learn(measurement: Measurement, target: str | None) -> Learned:
    """Buy everything, spending all that may be spent."""
    if len(measurement.columns) > LARGEST_DIMENSION:
        raise ParameterError(
            f"TableSynthesizer: takes at most {LARGEST_DIMENSION} columns. Got {len(measurement.columns)}. "
            "Leave some out of the domain."
        )
    rows = _count(measurement)
    apart = _pays_apart(measurement, rows)
    known, columns = _plan(measurement, target, rows, apart)
    apart = apart or len(columns) == 1
    marginals = _marginals(measurement, known, columns, rows, measurement.left if apart else _MARGINALS)
    totals = class_totals(marginals)
    margins = tuple(probabilities(marginal, totals) for marginal in marginals)
    cells = tuple(marginal.cells for marginal in marginals)
    orders = tuple(order_of(each, margin, totals) for each, margin in zip(cells, margins, strict=True))
    learned = Learned(known, cells, Copula(margins, orders, totals, np.eye(len(cells))))
    if apart:
        return learned
    pairs = _candidates(measurement, learned)
    part = measurement.left * _DEPENDENCE if pairs else measurement.left
    learned = replace(learned, copula=replace(learned.copula, correlation=_correlation(measurement, learned, part)))
    return replace(learned, tables=_tables(measurement, learned, pairs)) if pairs else learned


def _count(measurement: Measurement) -> float:
    """How many records there are: bought, or declared."""
    domain = measurement.session.domain
    if domain.rows is not None:
        return float(domain.rows)
    every = () if domain.neighbours == "add-remove" else (next(iter(domain.columns)),)
    counts, _ = measurement.ask(Count(every), _COUNT)
    return max(float(counts[0]), 1.0)


def _pays_apart(measurement: Measurement, rows: float) -> bool:
    """Whether columns are better bought alone, for all there is, than with their dependence: by known noise only.

    What the dependence costs makes the columns noisier, and a table of two takes the noise of both. Its own noise moves
    a table as a correlation does: by r / π in total variation, for two normal variables.
    """
    names = list(measurement.columns)
    cells = _first_cells(measurement, names, rows, 1, _MARGINALS)
    mean = sum(map(len, cells)) / len(cells)
    together, apart = (_deviation(measurement, names, share) for share in (_MARGINALS, measurement.left))
    added = 2 * _HALF_SIZE * mean * (together - apart) / rows
    own = _MEAN_SIZE / math.pi * _correlation_deviation(measurement) / rows
    return added > _LARGEST_ADDED_ERROR and own > _LARGEST_OWN_ERROR


def _correlation_deviation(measurement: Measurement) -> float:
    """Standard deviation of the noise in a sum of products of two scores, in the ball that the dependence will have."""
    axes = tuple(Cells.of(name, column, 2).axis for name, column in measurement.columns.items())
    unscored = tuple(((0.0,) * axis.cells,) for axis in axes)
    moments = SecondMoment(Scores(axes, unscored, 1.0), frobenius=not measurement.cost.is_pure)
    return len(axes) * measurement.deviation(moments, measurement.left - _MARGINALS)


def _plan(measurement: Measurement, target: str | None, rows: float, apart: bool) -> tuple[Target | None, list[Cells]]:
    """Whether the target makes classes, and the first cells of the other columns; all columns where it does not."""
    declared = measurement.columns
    others = [name for name in declared if name != target]
    share, largest = (measurement.left, _LARGEST_ERROR_APART) if apart else (_MARGINALS, _LARGEST_ERROR)
    if target is not None and others:
        column = declared[target]
        groups = _GROUPS_APART if apart else _GROUPS
        classes = groups if isinstance(column, Real) else len(column)
        columns = _first_cells(measurement, others, rows, classes, share)
        mean = sum(map(len, columns)) / len(columns)
        if _HALF_SIZE * classes * mean * _deviation(measurement, others, share * _FIRST) / rows <= largest:
            return _classes(measurement, target, rows, groups), columns
    return None, _first_cells(measurement, list(declared), rows, 1, share)


def _deviation(measurement: Measurement, names: Sequence[str], share: Fraction) -> float:
    declared = measurement.columns
    tables = tuple((Cells.of(name, declared[name], 2).axis,) for name in names)
    return measurement.deviation(Histograms(tables), share)


def _first_cells(
    measurement: Measurement, names: Sequence[str], rows: float, classes: int, share: Fraction
) -> list[Cells]:
    wished = _wished(rows, _deviation(measurement, names, share * _FIRST) * math.sqrt(classes))
    declared = measurement.columns
    return [Cells.of(name, declared[name], wished) for name in names]


def _wished(records: float, deviation: float) -> int:
    """A power of two of cells, so that the noise in each is about a quarter of its count."""
    power = math.log2(max(records, 1.0) / max(4 * deviation, 1e-9))
    return int(2 ** min(max(round(power), _FEWEST_CELLS), _MOST_CELLS))


def _classes(measurement: Measurement, target: str, rows: float, wished: int) -> Target:
    """The classes: categories as they are, a number in groups of about equal noisy mass."""
    declared = measurement.columns[target]
    cells = Cells.of(target, declared, 2**_MOST_CELLS).complete()
    if not cells.ordered:
        return Target(cells, tuple(range(len(cells))), np.ones(len(cells)))
    (marginal,) = _marginals(measurement, None, [cells], rows, _TARGET)
    mass = probabilities(marginal, class_totals([marginal]))[0]
    groups = coarse(marginal.cells, mass, wished)
    within = np.bincount(groups, mass)[np.array(groups)]
    return Target(marginal.cells, groups, np.divide(mass, within, out=np.zeros_like(mass), where=within > 0))


def _marginals(
    measurement: Measurement, target: Target | None, columns: Sequence[Cells], rows: float, part: Fraction
) -> list[Marginal]:
    """Each column's counts, per class; again on finer cells where many records are in one, else on the same cells."""
    answers = _histograms(measurement, target, columns, part * _FIRST)
    marginals = [
        Marginal(cells, counts, np.full(len(cells), variance))
        for cells, (counts, variance) in zip(columns, answers, strict=True)
    ]
    unspent = Fraction(1) - _FIRST
    for level in _FINER:
        heavy = {place: each.heavy(rows) for place, each in enumerate(marginals) if any(each.heavy(rows))}
        if not heavy:
            break
        share = part * level
        unspent -= level
        coarser = [marginals[place].cells for place in heavy]
        deviation = measurement.deviation(_crossed(target, [(each.axis,) for each in coarser]), share)
        finer = {place: _finer(marginals[place], chosen, deviation) for place, chosen in heavy.items()}
        answers = _histograms(measurement, target, [cells for cells, _ in finer.values()], share)
        for (place, (cells, parents)), (counts, variance) in zip(finer.items(), answers, strict=True):
            marginals[place] = marginals[place].refined(cells, parents, counts, variance)
    return _again(measurement, target, marginals, part * unspent) if unspent else marginals


def _again(
    measurement: Measurement, target: Target | None, marginals: Sequence[Marginal], part: Fraction
) -> list[Marginal]:
    answers = _histograms(measurement, target, [each.cells for each in marginals], part)
    return [
        each.refined(each.cells, np.arange(len(each.cells)), counts, variance)
        for each, (counts, variance) in zip(marginals, answers, strict=True)
    ]


def _finer(marginal: Marginal, chosen: Sequence[bool], deviation: float) -> tuple[Cells, Integers]:
    """The heavy cells cut so that noise stays small beside their parts."""
    least = marginal.pooled[np.array(chosen)].min()
    return marginal.cells.cut(chosen, _wished(least, deviation * math.sqrt(len(marginal.counts))))


def _histograms(
    measurement: Measurement, target: Target | None, columns: Sequence[Cells], part: Fraction
) -> list[tuple[Floats, float]]:
    """Counts of each column, a row per class, and the variance of their noise."""
    statistic = _crossed(target, [(each.axis,) for each in columns])
    values, variances = measurement.ask(statistic, part)
    pieces = np.split(values, np.cumsum(statistic.table_sizes)[:-1])
    classes = 1 if target is None else target.classes
    return [(piece.reshape(classes, -1), float(variances[0])) for piece in pieces]


def _crossed(target: Target | None, tables: Sequence[tuple[Axis, ...]]) -> Histograms:
    """Tables, each crossed with the classes where there are any."""
    return Histograms(tuple(table if target is None else (target.axis, *table) for table in tables))


def _correlation(measurement: Measurement, learned: Learned, part: Fraction) -> Floats:
    """The latent correlation, from the sum of products of scores within classes."""
    copula, by = learned.copula, None if learned.target is None else learned.target.axis
    scores, size = copula.scores(), len(learned.columns)
    radius = math.sqrt(size)
    tables = tuple(tuple(tuple(map(float, row)) for row in table) for table in scores)
    of = Scores(tuple(each.axis for each in learned.columns), tables, radius, by)
    values, variances = measurement.ask(SecondMoment(of, frobenius=not measurement.cost.is_pure), part)
    variances_of = [(margin * score**2).sum(axis=1) for margin, score in zip(copula.margins, scores, strict=True)]
    gram, noise = from_triangle(values * radius**2), from_triangle(variances * radius**4)
    return correlation_of(gram, noise, variances_of, copula.totals)


def _sides(measurement: Measurement, learned: Learned) -> int:
    """How many coarse cells a column may have in a table; 0 where tables would not pay."""
    part = measurement.left * (1 - _DEPENDENCE) * (1 - _CHOICE)
    as_many = Histograms(tuple((each.axis,) for each in learned.columns))  # as tables: noise depends on their number
    deviation = measurement.deviation(as_many, part)
    sides = math.sqrt(_CELL_ERROR * learned.rows / max(deviation, 1e-9))
    return 0 if sides < _FEWEST_SIDES else int(min(sides, _MOST_SIDES))


def _tables(measurement: Measurement, learned: Learned, pairs: list[Pair]) -> tuple[Table, ...]:
    """Tables of the pairs that the copula fits worst; all that is left buys them, in each class where that pays."""
    strength = [-abs(learned.copula.correlation[each.columns]) for each in pairs]
    pairs = [pairs[place] for place in np.argsort(strength, kind="stable")[:_MOST_CANDIDATES]]
    wanted = _how_many(measurement, learned, len(pairs))
    if wanted < len(pairs):
        pairs = _worst(measurement, learned, pairs, wanted)
    plain = Histograms(tuple(_axes(learned, each) for each in pairs))
    target = learned.target
    if target is not None:
        noise = target.classes * measurement.deviation(plain, measurement.left)
        if _HALF_SIZE * plain.size / len(pairs) * noise / learned.rows > _LARGEST_TABLE_ERROR:
            target = None
    statistic = _crossed(target, plain.tables)
    values, variances = measurement.ask(statistic, measurement.left)
    pieces = np.split(values, np.cumsum(statistic.table_sizes)[:-1])
    classes = 1 if target is None else target.classes
    return tuple(
        Table(replace(pair, classes=classes), counts, float(variances[0]))
        for pair, counts in zip(pairs, pieces, strict=True)
    )


def _candidates(measurement: Measurement, learned: Learned) -> list[Pair]:
    """Every pair of columns that are not constant, with their coarse cells; none where tables would not pay."""
    sides, copula = _sides(measurement, learned), learned.copula
    if not sides:
        return []
    pooled = [copula.totals @ margin / copula.totals.sum() for margin in copula.margins]
    groups = [coarse(each, mass, sides) for each, mass in zip(learned.columns, pooled, strict=True)]
    pairs = [Pair((first, second), (groups[first], groups[second])) for first, second in pairs_of(len(groups))]
    return [each for each in pairs if min(each.shape[1:]) > 1]


def _how_many(measurement: Measurement, learned: Learned, candidates: int) -> int:
    """A table per column; more where there are more records beside the noise."""
    columns = len(learned.columns)
    deviation = measurement.deviation(Histograms(((learned.columns[0].axis,),)), measurement.left)
    ratio = learned.rows / max(deviation, 1e-9) / _RECORDS_PER_TABLE
    return min(candidates, int(max(columns, columns / 2 * math.log2(1 + ratio))))


def _axes(learned: Learned, pair: Pair) -> tuple[Axis, ...]:
    return tuple(
        MergedAxis(learned.columns[place].axis, groups) for place, groups in zip(pair.columns, pair.groups, strict=True)
    )


def _worst(measurement: Measurement, learned: Learned, pairs: list[Pair], wanted: int) -> list[Pair]:
    """The pairs whose tables are farthest from the copula's own, beyond the noise of measuring them."""
    classes, codes, _ = learned.pool()
    rows = learned.rows / len(classes)
    expected = [np.bincount(each.codes(classes, codes), minlength=each.size) * rows for each in pairs]
    tables = Histograms(tuple(_axes(learned, each) for each in pairs))
    distances, _ = measurement.ask(guessed(tables, np.concatenate(expected)), measurement.left * _CHOICE)
    noise = _MEAN_SIZE * measurement.deviation(Histograms(tables.tables[:wanted]), measurement.left)
    gains = distances - noise * np.array([each.size for each in pairs])
    return [pairs[place] for place in np.argsort(-gains, kind="stable")[:wanted]]
