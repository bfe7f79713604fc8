"""Noise: the one file where randomness that protects people is drawn.

Secure noise comes from OpenDP's exact discrete samplers on 64-bit integers, fed by the operating system. A draw
at either end of 64 bits may be saturated and is never used. Seeded noise has the same laws, is drawn by numpy
in one sweep, and exists for experiments: everything made with it is marked *not private*. Continuous noise, for the
perturbed minimiser alone, is made in floats from the operating system's bits: idealised arithmetic, never called exact.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Protocol

import numpy as np

from sordino.errors import NoiseError, ParameterError
from sordino.release import DiscreteGaussian, DiscreteLaplace, Law, NoNoise

_LARGEST_DRAW = 2**63 - 1

Floats = np.ndarray[Any, np.dtype[np.float64]]


class Noise(Protocol):
    """A source of integer noise and of noisy choices."""

    secure: bool

    def draw(self, laws: Sequence[Law]) -> list[int]:
        """One independent integer per law."""
        ...

    def choose(self, exact_scores: Sequence[int], scale: float, pure: bool) -> int:
        """The index of a noisy maximum: exponential noise (pure) or Gumbel noise (rho)."""
        ...

    def normals(self, count: int) -> Floats:
        """Standard normal numbers, in floats."""
        ...

    def exponentials(self, count: int) -> Floats:
        """Standard exponential numbers, in floats."""
        ...


class SecureNoise:
    """OpenDP's exact samplers with the operating system's randomness."""

    secure = True

    def draw(self, laws: Sequence[Law]) -> list[int]:
        """One independent integer per law; coordinates of one law are drawn together."""
        noise = [0] * len(laws)
        for law in set(laws):
            places = [place for place, each in enumerate(laws) if each == law]
            for place, drawn in zip(places, self._draw_alike(law, len(places)), strict=True):
                noise[place] = drawn
        return noise

    def choose(self, exact_scores: Sequence[int], scale: float, pure: bool) -> int:
        """OpenDP's noisy maximum, without floats; the scores' own maximum when there is no noise."""
        if scale == 0:
            return int(np.argmax(exact_scores))
        return int(_noisy_maximum(scale, pure)(list(exact_scores)))

    def normals(self, count: int) -> Floats:
        """Box and Muller's transform of exponential and uniform numbers."""
        lengths = np.sqrt(2 * self.exponentials(count))
        normals: Floats = lengths * np.cos(2 * math.pi * _uniforms(count))
        return normals

    def exponentials(self, count: int) -> Floats:
        """Minus the logarithm of uniform numbers."""
        exponentials: Floats = -np.log(_uniforms(count))
        return exponentials

    @staticmethod
    def _draw_alike(law: Law, count: int) -> list[int]:
        if isinstance(law, NoNoise):
            return [0] * count
        drawn: list[int] = _sampler(type(law), law.scale)([0] * count)
        if any(abs(value) >= _LARGEST_DRAW for value in drawn):
            raise NoiseError("noise: a draw reached the end of 64 bits and was not used. The charge stands; ask again.")
        return drawn


class SeededNoise:
    """The same laws from a seed: fast, repeatable, and not private."""

    secure = False

    def __init__(self, random_state: Any) -> None:
        self._generator = _generator(random_state)

    def draw(self, laws: Sequence[Law]) -> list[int]:
        """One integer per law, drawn law by law in order of scale."""
        noise = [0] * len(laws)
        for law in sorted(set(laws), key=lambda each: each.scale):
            places = [place for place, each in enumerate(laws) if each == law]
            for place, drawn in zip(places, self.draw_many(law, len(places)).tolist(), strict=True):
                noise[place] = drawn
        return noise

    def draw_many(self, law: Law, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        """Many integers of one law."""
        if isinstance(law, DiscreteLaplace):
            return _seeded_laplace(self._generator, law.scale, count)
        if isinstance(law, DiscreteGaussian):
            return _seeded_gaussian(self._generator, law.scale, count)
        return np.zeros(count, dtype=np.int64)

    def choose(self, exact_scores: Sequence[int], scale: float, pure: bool) -> int:
        """A noisy maximum in floats."""
        scores = np.array(exact_scores, dtype=float)
        if scale == 0:
            return int(np.argmax(scores))
        draw = self._generator.standard_exponential if pure else self._generator.gumbel
        return int(np.argmax(scores + scale * draw(size=len(scores))))

    def normals(self, count: int) -> Floats:
        """From the seed."""
        return self._generator.standard_normal(count)

    def exponentials(self, count: int) -> Floats:
        """From the seed."""
        return self._generator.standard_exponential(count)


def _uniforms(count: int) -> Floats:
    """Numbers in (0, 1], each from 64 bits of the operating system."""
    bits = np.frombuffer(os.urandom(8 * count), dtype=np.uint64)
    uniforms: Floats = (bits.astype(np.float64) + 0.5) * 2.0**-64
    return uniforms


def _generator(random_state: Any) -> np.random.Generator:
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(random_state.randint(2**31, size=4))
    try:
        return np.random.default_rng(random_state)
    except (TypeError, ValueError):
        raise ParameterError(
            f"random_state: must be a whole number or a numpy generator. Got {type(random_state).__name__}."
        ) from None


def _seeded_laplace(generator: np.random.Generator, scale: float, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The difference of two geometric variables; floor of an exponential is geometric."""
    first = np.floor(generator.standard_exponential(count) * scale)
    second = np.floor(generator.standard_exponential(count) * scale)
    return (first - second).astype(np.int64)


def _seeded_gaussian(generator: np.random.Generator, scale: float, count: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Rejection from a discrete Laplace (Canonne, Kamath and Steinke 2020, Algorithm 3), many at a time."""
    accepted: list[np.ndarray[Any, np.dtype[np.int64]]] = []
    missing, width = count, float(math.floor(scale) + 1)
    while missing > 0:
        proposed = _seeded_laplace(generator, width, int(missing * 1.5) + 64)
        excess = np.abs(proposed) - scale * scale / width
        kept = proposed[generator.standard_exponential(len(proposed)) >= excess * excess / (2 * scale * scale)]
        accepted.append(kept[:missing])
        missing -= len(accepted[-1])
    return np.concatenate(accepted) if accepted else np.zeros(0, dtype=np.int64)


@lru_cache(maxsize=256)
def _sampler(law: type, scale: float) -> Callable[[list[int]], list[int]]:
    """OpenDP's sampler of one law at one (public) scale."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_gaussian, make_laplace
    from opendp.metrics import l1_distance, l2_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    integers = vector_domain(atom_domain(T="i64"))
    if law is DiscreteLaplace:
        return make_laplace(integers, l1_distance(T="i64"), scale=scale)
    return make_gaussian(integers, l2_distance(T="f64"), scale=scale)


@lru_cache(maxsize=256)
def _noisy_maximum(scale: float, pure: bool) -> Callable[[list[int]], int]:
    """OpenDP's noisy maximum at one (public) scale."""
    from opendp.domains import atom_domain, vector_domain
    from opendp.measurements import make_noisy_max
    from opendp.measures import max_divergence, zero_concentrated_divergence
    from opendp.metrics import linf_distance
    from opendp.mod import enable_features

    enable_features("contrib")
    measure = max_divergence() if pure else zero_concentrated_divergence()
    integers = vector_domain(atom_domain(T="i64"))
    return make_noisy_max(integers, linf_distance(T="i64"), measure, scale=scale)
