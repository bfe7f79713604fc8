"""Exact totals on local threads: one block per thread, BLAS held to one thread."""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from functools import cache

from threadpoolctl import ThreadpoolController

from sordino.domain import Domain
from sordino.engine.accumulation import Accumulation
from sordino.engine.self_test import require_exact_products
from sordino.statistics.statistic import Statistic
from sordino.table.source import Source, UnreadBlock

#: Called with the share of the table that has been read, from 0 to 1.
Progress = Callable[[float], None]


def accumulate(
    source: Source,
    domain: Domain,
    statistics: Sequence[Statistic],
    *,
    threads: int | None = None,
    block_rows: int | None = None,
    progress: Progress | None = None,
) -> Accumulation:
    """One pass over a source: the accumulation of several statistics, the same bits for any split."""
    require_exact_products()
    columns = tuple(dict.fromkeys(name for statistic in statistics for name in statistic.columns))
    feed = _Feed(source, columns or tuple(domain.columns)[:1], progress)
    workers = threads or usual_threads()
    accumulations = [Accumulation(domain, statistics, block_rows) for _ in range(workers)]
    if feed.single or workers == 1:
        feed.drain_into(accumulations[0])
        return accumulations[0]
    with _blas_on_one_thread(), ThreadPoolExecutor(workers) as pool:
        try:
            for finished in [pool.submit(feed.drain_into, accumulation) for accumulation in accumulations]:
                finished.result()
        except BaseException:  # Ctrl-C reaches this thread alone; the others must not read on to the end
            feed.stop()
            raise
    whole, *others = accumulations
    for other in others:
        whole.merge(other.exact_rows, other.exact_values())
    return whole


def usual_threads() -> int:
    """One thread per core that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


class _Feed:
    """Unread blocks, handed out one at a time to whichever thread asks; stops at the first failure."""

    def __init__(self, source: Source, columns: Sequence[str], progress: Progress | None) -> None:
        blocks = source.blocks(columns)
        first = list(itertools.islice(blocks, 2))
        self.single = len(first) < 2
        self._blocks: Iterator[UnreadBlock] = itertools.chain(first, blocks)
        self._lock = threading.Lock()
        self._failed = False
        self._rows, self._expected, self._progress = 0, source.size_hint(), progress

    def drain_into(self, accumulation: Accumulation) -> None:
        """Add blocks until none is left."""
        try:
            while (unread := self._next()) is not None:
                block = unread()
                accumulation.add(block)
                self._tell(len(block))
        except BaseException:
            self._failed = True
            raise

    def stop(self) -> None:
        """Hand out no further block."""
        self._failed = True

    def _next(self) -> UnreadBlock | None:
        with self._lock:
            return None if self._failed else next(self._blocks, None)

    def _tell(self, rows: int) -> None:
        if self._progress is None or not self._expected:
            return
        with self._lock:
            self._rows += rows
            self._progress(min(1.0, self._rows / self._expected))


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()


def _blas_on_one_thread() -> AbstractContextManager[object]:
    """Several threads that each multiply small blocks are faster than one that multiplies on all cores."""
    limited: AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limited
