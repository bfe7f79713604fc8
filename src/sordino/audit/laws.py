"""The laws of a statistic, checked on made-up records: additive, pure, integer, inside its bound, zero when empty."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from sordino.audit.neighbours import hostile_records, ordinary_records
from sordino.domain import Domain
from sordino.engine.accumulation import Accumulation
from sordino.privacy.rehearsal import made_table
from sordino.statistics.statistic import Record, Statistic
from sordino.table.clipping import ClippedBatch, Integers
from sordino.table.source import ArrowBlock

#: Numbers of rows at which blocks begin and end, and a few that nobody thinks of.
LENGTHS = (0, 1, 2, 7, 8, 9, 511, 512, 513, 4097)

#: So many rows are also cut into blocks of seven.
_CUT_SMALL = 100


def broken_laws(statistic: Statistic, domain: Domain) -> list[str]:
    """Every law that is broken, in words; an empty list when all are kept."""
    hostile = list(hostile_records(domain).values())
    return [
        *_additive(statistic, domain, hostile),
        *_pure(statistic, domain, hostile),
        *_inside(statistic, domain, hostile),
    ]


def _additive(statistic: Statistic, domain: Domain, hostile: Sequence[Record]) -> Iterator[str]:
    """The total is exactly the sum of the records' maps, for any number of rows and any cut into blocks."""
    everything = [*hostile, *ordinary_records(domain, max(LENGTHS)), *hostile, *hostile]
    block = _block(everything, domain)
    maps = _maps(statistic, domain, block)
    if maps.dtype != np.int64 or maps.shape != (len(everything), statistic.inner_size):
        yield f"record maps are {maps.dtype} of shape {maps.shape}, not integers per record"
        return
    for length in LENGTHS:
        start = len(everything) - length
        expected = [sum(column) for column in maps[start:].T.tolist()]
        for block_rows in (None, 7) if length <= _CUT_SMALL else (None,):
            accumulation = Accumulation(domain, (statistic,), block_rows)
            accumulation.add(block.slice(start, length))
            if list(accumulation.exact_values()[0]) != expected:
                yield f"the total of {length} rows is not the sum of its records' maps"
                return


def _pure(statistic: Statistic, domain: Domain, hostile: Sequence[Record]) -> Iterator[str]:
    """A record's map does not depend on the other records of its batch, nor on its place among them."""
    records = [*ordinary_records(domain, 40, seed=1), *hostile]
    block = _block(records, domain)
    together = _maps(statistic, domain, block)
    alone = np.vstack([_maps(statistic, domain, block.slice(place, 1)) for place in range(len(records))])
    backwards = _maps(statistic, domain, _block(records[::-1], domain))[::-1]
    common = len(records) - len(hostile)
    lonely = [
        _maps(statistic, domain, _block([*records[:common], record], domain)) for record in hostile
    ]  # one odd record among ordinary ones is what a cut at some deviations would change
    among = all(np.array_equal(maps, [*alone[:common], alone[common + place]]) for place, maps in enumerate(lonely))
    if not np.array_equal(together, alone) or not among:
        yield "a record's map depends on the other records of its batch"
    if not np.array_equal(together, backwards):
        yield "a record's map depends on its place in the batch"


def _inside(statistic: Statistic, domain: Domain, hostile: Sequence[Record]) -> Iterator[str]:
    """Entries within their bound; for additive statistics also the whole map of any record."""
    maps = _maps(statistic, domain, _block([*hostile, *ordinary_records(domain, 50, seed=2)], domain))
    if maps.size and int(np.abs(maps).max()) > statistic.largest_entry:
        yield "an entry of a record's map is beyond its declared bound"
    if statistic.inner_size != statistic.size or hasattr(statistic, "rows"):
        return
    declared = statistic.sensitivity("add-remove")
    weights = statistic.weights or (1,) * statistic.size
    for row in maps.tolist():
        squared = sum(weight * entry * entry for weight, entry in zip(weights, row, strict=True))
        if sum(map(abs, row)) > declared.l1 or squared > declared.l2_squared:
            yield "a hostile record's map is beyond the declared sensitivity"
            return


def _block(records: Sequence[Record], domain: Domain) -> ArrowBlock:
    return ArrowBlock(made_table(records, domain).combine_chunks().to_batches()[0])


def _maps(statistic: Statistic, domain: Domain, block: ArrowBlock) -> Integers:
    with np.errstate(all="ignore"):
        return statistic.record_maps(ClippedBatch(domain, block))
