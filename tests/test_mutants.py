"""The mutation suite: bugs that give people away, planted in the real code; each must be caught by the layer it names.

``make mutants`` runs it alone. A layer that finds something in the code as it is would catch everything, so each is
tried without a bug first. To ask which layers see a bug of your own:

    python tests/mutants.py sordino.statistics.count "moves = 1 if" "moves = 0 if"
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from blind_mutants import FIRST_SEEN, MISSED, SECOND_SEEN
from mutants import Mutant, Parent
from mutation_layers import LAYERS
from planned_mutants import PLANNED
from test_architecture import read_sources


@pytest.fixture(scope="module")
def parent() -> Iterator[Parent]:
    with Parent() as started:
        yield started


@pytest.mark.parametrize("layer", LAYERS)
def test_a_layer_finds_nothing_in_the_code_as_it_is(parent: Parent, layer: str) -> None:
    assert parent.first_complaint(Mutant("no bug", layer, ())) is None


@pytest.mark.parametrize("mutant", PLANNED, ids=lambda mutant: mutant.name)
def test_a_planted_bug_is_caught_by_the_layer_that_it_names(parent: Parent, mutant: Mutant) -> None:
    assert parent.first_complaint(mutant) is not None, f"{mutant.name} was not seen by {mutant.layer}"


@pytest.mark.parametrize("mutant", MISSED, ids=lambda mutant: mutant.name)
def test_a_bug_that_a_blind_set_brought_to_light_is_caught_now(parent: Parent, mutant: Mutant) -> None:
    assert parent.first_complaint(mutant) is not None, f"{mutant.name} was not seen by {mutant.layer}"


def test_the_planned_set_is_large_and_every_text_is_there_once() -> None:
    assert len(PLANNED) >= 40
    assert len({mutant.name for mutant in PLANNED}) == len(PLANNED)
    assert {mutant.layer for mutant in PLANNED} == set(LAYERS)
    sources = read_sources()
    every = (*PLANNED, *FIRST_SEEN, *SECOND_SEEN, *MISSED)
    assert [edit for mutant in every for edit in mutant.edits if sources[edit[0]].count(edit[1]) != 1] == []
