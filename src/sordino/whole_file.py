"""A file of text that is there whole or not at all: a draft beside it takes its place in the end.

A pipe or a device is written to, and not replaced. A ledger is neither replaced nor used as a draft: it would forget
what was spent.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from sordino.errors import LedgerError
from sordino.ledger_header import belongs_to_a_ledger


def draft_of(path: Path) -> Path:
    """Where a file is written until it is whole."""
    return Path(f"{path}.draft")


def is_stream(path: Path) -> bool:
    """Whether a pipe or a device is there."""
    return path.exists() and not path.is_file() and not path.is_dir()


def write_whole(path: Path, text: str) -> None:
    """Write the file, or leave what was there as it was. An error of the system is the caller's to tell."""
    draft = draft_of(path)
    for each in (path, draft):
        if belongs_to_a_ledger(each):
            raise LedgerError(f"ledger: {str(each)!r} is one, and must not be written over. Name another file.")
    if is_stream(path):
        path.write_text(text, encoding="utf-8")
        return
    try:
        draft.write_text(text, encoding="utf-8")
        draft.replace(path)
    finally:  # a full disk leaves nothing half-written
        with suppress(OSError):
            draft.unlink(missing_ok=True)
