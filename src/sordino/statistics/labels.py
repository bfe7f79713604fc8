"""What a margin classifier tells apart: the classes, or the public or released components inside each class.

A record's component is a function of the record and of numbers that are public or were released: the nearest of its
class's centres, by exact integer products; the first one of a tie. Proof: ``docs/proofs/directions.md``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sordino.domain import Domain
from sordino.errors import ParameterError
from sordino.statistics.histograms import CategoryAxis
from sordino.statistics.projected import Projected
from sordino.statistics.vectors import Box
from sordino.table.clipping import Batch, Floats, Integers


class Labels(Protocol):
    """A label per record, from 0; -1 for none."""

    @property
    def cells(self) -> int:
        """How many labels there are."""
        ...

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column that a label depends on."""
        ...

    def codes(self, batch: Batch) -> Integers:
        """The label of each record."""
        ...


@dataclass(frozen=True)
class ClassLabels:
    """The declared classes."""

    classes: CategoryAxis

    @property
    def cells(self) -> int:
        """As many as classes."""
        return self.classes.cells

    @property
    def columns(self) -> tuple[str, ...]:
        """The class."""
        return (self.classes.column,)

    def codes(self, batch: Batch) -> Integers:
        """The class of each record."""
        return self.classes.codes(batch)


@dataclass(frozen=True)
class ComponentLabels:
    """The component of each record: ``centres[class][component]``, in units of the map; the nearest of its class."""

    classes: CategoryAxis
    of: Box | Projected
    centres: tuple[tuple[tuple[float, ...], ...], ...]

    def __post_init__(self) -> None:
        widths = {len(centre) for centres in self.centres for centre in centres}
        numbers = {len(centres) for centres in self.centres}
        if len(self.centres) != self.classes.cells or len(numbers) != 1 or widths != {len(self.of.columns)}:
            raise ParameterError("components: every class needs as many centres, each of the map's coordinates.")
        if not all(abs(place) <= 1 for centres in self.centres for centre in centres for place in centre):
            raise ParameterError("components: centres must lie in the map's range, each coordinate in [-1, 1].")

    @property
    def column(self) -> str:
        """The column of the class."""
        return self.classes.column

    @property
    def components(self) -> int:
        """Components per class."""
        return len(self.centres[0])

    @property
    def cells(self) -> int:
        """Components of all classes."""
        return self.classes.cells * self.components

    @property
    def columns(self) -> tuple[str, ...]:
        """The class and the columns of the map."""
        return tuple(dict.fromkeys((self.classes.column, *self.of.reads)))

    def example(self, domain: Domain, cell: int) -> Any:
        """The class of a component."""
        return self.classes.example(domain, cell // self.components)

    def codes(self, batch: Batch) -> Integers:
        """Class × components + component."""
        classes = self.classes.codes(batch)
        vectors, whole = self.of.vectors(batch)
        codes = np.full(len(batch), -1, dtype=np.int64)
        for label in range(self.classes.cells):
            mine = classes == label
            codes[mine] = label * self.components + self._nearest(vectors[mine], self._integers[label])
        if whole is not None:
            codes[~whole] = -1
        return codes

    @cached_property
    def _integers(self) -> Floats:
        """Centres on the grid of the map."""
        integers: Floats = np.rint(np.array(self.centres) * self.of.steps)
        return integers

    @staticmethod
    def _nearest(vectors: Floats, centres: Floats) -> Integers:
        """Integers throughout: the distance less what is the same for all centres."""
        nearness = 2 * (vectors @ centres.T) - np.einsum("ij,ij->i", centres, centres)
        nearest: Integers = np.argmax(nearness, axis=1)
        return nearest
