"""A planted bug: which text of which module becomes what, and the layer that must catch it.

Bugs are tried by a parent process that has everything imported and forks a child for each.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import sordino


@dataclass(frozen=True)
class Mutant:
    """A bug in words, the layer that must see it, and its edits: a module without ``sordino.``, old and new text."""

    name: str
    layer: str
    edits: tuple[tuple[str, str, str], ...]


class Parent:
    """The process that forks a child for each bug: none of them is ever planted here."""

    def __enter__(self) -> Self:
        tests = Path(__file__).parent
        paths = (str(tests), str(Path(sordino.__file__).parents[1]), os.environ.get("PYTHONPATH"))
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
        environment |= {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # children inherit no thread
        self._process = subprocess.Popen(
            [sys.executable, str(tests / "mutation_parent.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.seconds = 0.0
        return self

    def __exit__(self, *error: object) -> None:
        self._process.communicate()

    def first_complaint(self, mutant: Mutant) -> str | None:
        """What the named layer says first; None when it sees nothing. Code that breaks down is not caught."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(json.dumps({"edits": mutant.edits, "layer": mutant.layer}) + "\n")
        self._process.stdin.flush()
        answer = json.loads(self._process.stdout.readline())
        self.seconds = answer.get("seconds", 0.0)
        if "error" in answer:
            raise AssertionError(f"{mutant.name}: {answer['error']}")
        complaint: str | None = answer["complaint"]
        return complaint


def complaints_of(*edits: tuple[str, str, str], layers: str = "SRNLCATIO") -> dict[str, str | None]:
    """What each layer says first about a bug of your own."""
    with Parent() as parent:
        return {layer: parent.first_complaint(Mutant("your bug", layer, edits)) for layer in layers}


if __name__ == "__main__":
    for layer, complaint in complaints_of((sys.argv[1].removeprefix("sordino."), sys.argv[2], sys.argv[3])).items():
        print(layer, complaint or "-")
