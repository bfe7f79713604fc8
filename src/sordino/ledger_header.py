"""How a ledger's file begins, so that nothing is written over one: it would forget what was spent."""

from __future__ import annotations

from pathlib import Path

#: How SQLite begins its files.
SQLITE = b"SQLite format 3\x00"

#: What SQLite puts behind a ledger's name for files of its own: it takes back a charge from them, or deletes them.
_OWN = ("-journal", "-wal", "-shm")


def belongs_to_a_ledger(path: Path) -> bool:
    """Whether a file is there that begins as ledgers do, or the name is that of SQLite's own file beside one."""
    for ending in _OWN:
        beside = path.name.removesuffix(ending)
        if beside not in ("", path.name) and belongs_to_a_ledger(path.with_name(beside)):
            return True
    if not path.is_file():  # nothing is read from a pipe
        return False
    try:
        with path.open("rb") as file:
            return file.read(len(SQLITE)) == SQLITE
    except OSError:
        return False
