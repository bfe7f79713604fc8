"""How a ledger's file begins, so that nothing is written over one: it would forget what was spent."""

from __future__ import annotations

from pathlib import Path

#: How SQLite begins its files.
SQLITE = b"SQLite format 3\x00"


def is_ledger(path: Path) -> bool:
    """Whether a file is there that begins as ledgers do."""
    if not path.is_file():  # nothing is read from a pipe
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False
