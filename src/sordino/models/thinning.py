"""Scores of a paid choice on a part of the records, where a part is enough to tell candidates apart."""

from __future__ import annotations

from sordino.statistics.choice import HASH_BITS, ChoiceScores, Subsample


def thinned(scores: ChoiceScores, rows: float, enough: int) -> ChoiceScores:
    """The same scores on about ``enough`` records, by a hash of each, when there are more than twice as many.

    ``rows`` is a released or declared number.
    """
    if rows <= 2 * enough:
        return scores
    return Subsample(scores, max(1, int(enough / rows * 2**HASH_BITS)))
