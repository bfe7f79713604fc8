"""What every command shares: how options are written, what goes to the screen, and a progress bar."""

from __future__ import annotations

import json
import os
import re
import sys
import threading
from collections.abc import Iterator, Sequence
from glob import glob
from pathlib import Path
from types import TracebackType
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from sordino.errors import LedgerError, ModelError, ParameterError, file_problem
from sordino.ledger_header import belongs_to_a_ledger
from sordino.whole_file import draft_of, is_stream

#: Work that takes longer than this, in seconds, shows that it is alive.
PATIENCE = 0.5

AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Force = Annotated[bool, typer.Option("--force", help="Write over a model that is there.")]


#: What Typer writes behind an argument's name in help: ``<str>``, ``<list[Path]>``.
_PYTHON_TYPE = re.compile(r"^(  [^ \n]+)( <[\w\[\]]+>)", re.MULTILINE)


class _Command(TyperCommand):
    """A command whose help names what to type, and no type of Python's."""

    def get_help(self, ctx: Any) -> str:
        """The help, its columns in place."""
        return _PYTHON_TYPE.sub(lambda found: found[1] + " " * len(found[2]), super().get_help(ctx))


class _Commands(typer.Typer):
    def command(self, name: str | None = None, **options: Any) -> Any:
        """Registers a command; see ``_Command``."""
        return super().command(name, cls=_Command, **options)


def command_group(name: str, epilog: str, kind: type[TyperGroup] | None = None) -> typer.Typer:
    """A group of commands; no traceback of Typer's, which would print local variables."""
    names = {"help_option_names": ["-h", "--help"]}
    return _Commands(
        name=name,
        epilog=epilog,
        cls=kind,
        rich_markup_mode=None,
        pretty_exceptions_enable=False,
        context_settings=names,
    )


def example(command: str) -> str:
    """The end of a command's help."""
    return "\b\nExample:\n  " + command.replace("--domain", "\\\n    --domain", 1)


def one_of(metavar: str, names: str) -> Any:
    """An argument that takes one of these names, which help shows and the shell completes."""
    return typer.Argument(
        metavar=metavar,
        help=f"One of: {names}.",
        autocompletion=lambda incomplete: [each for each in names.split() if each.startswith(incomplete)],
    )


def number(name: str, words: str, symbol: str = "NUMBER") -> Any:
    """An option that takes a number."""
    return typer.Option(name, metavar=symbol, help=words)


def file(*names: str, words: str) -> Any:
    """An option that takes a file."""
    return typer.Option(*names, metavar="FILE", help=words)


def print_json(document: Any) -> None:
    """A document as JSON on standard output; arrays become lists."""
    from sordino.release import to_plain

    typer.echo(json.dumps(to_plain(document), indent=2, ensure_ascii=False))


def budget(who: str, path: Path | None, no_ledger: bool) -> Any:
    """The ledger in a file that is there, or none where that was spelled out."""
    from sordino import Ledger

    if (path is None) is not no_ledger:
        raise ParameterError(
            f"{who}: a budget that nobody keeps is no budget. Write --ledger FILE (sordino ledger create makes one), "
            "or --no-ledger."
        )
    return None if path is None else Ledger.open(existing_ledger(path))


def existing_ledger(path: Path) -> Path:
    """The path of a ledger, refused where there is no file."""
    if not os.path.lexists(path):
        raise LedgerError(f"ledger: there is no file {str(path)!r}. Make one with sordino ledger create.")
    return path


def require_apart(who: str, written: Sequence[Path | None], read: Sequence[str | Path | None]) -> None:
    """No file that is read is written over, none is written twice, and a ledger never: it would forget its charges."""
    taken = {Path(each).resolve() for given in read if given is not None for each in (given, *glob(str(given)))}
    for path in _with_drafts(written):
        if path.resolve() in taken or belongs_to_a_ledger(path):
            raise ParameterError(
                f"{who}: {str(path)!r} is read here, written twice or a ledger, and must not be written over. "
                "Name another file."
            )
        taken.add(path.resolve())


def _with_drafts(written: Sequence[Path | None]) -> Iterator[Path]:
    """The files, and beside each the draft that takes its place in the end: what has that name would be lost."""
    for path in written:
        if path is not None:
            yield from (path, draft_of(path))


def require_unpaid(who: str, path: Path, force: bool) -> None:
    """A model that was paid for is not written over unasked."""
    if path.is_file() and not force:
        raise ModelError(
            f"{who}: {str(path)!r} exists already, and no model that was paid for is written over unasked. "
            "Name another file, or say --force."
        )


def require_writable(who: str, path: Path) -> None:
    """Whatever could go wrong with a model's file is said before the model is paid for."""
    draft, problem = draft_of(path), ""
    if is_stream(path):
        return  # nothing is put beside it
    try:
        draft.touch()
        draft.unlink()
    except OSError as error:
        problem = file_problem(error)
    if problem or path.is_dir():
        raise ModelError(f"{who}: {str(path)!r} cannot be written ({problem or 'a folder'}). Name another with -o.")


def saved(who: str, model: Any, path: Path, force: bool) -> bool:
    """Whether the model could be written. A paid model is not lost: else it goes to standard output."""
    from sordino.models.saved import document_of

    problem = "a file is there by now" if path.is_file() and not force else ""
    try:
        if not problem:
            model.save(path)
    except LedgerError:
        problem = "a ledger is there by now"
    except OSError as error:
        problem = file_problem(error)
    if problem:
        typer.echo(json.dumps(document_of(model)))
        typer.echo(f"sordino: {who}: {str(path)!r} cannot be written ({problem}). "
                   "The model is on standard output; the charge stands.", err=True)  # fmt: skip
    return not problem


def columns(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows of cells as lines, each column as wide as its widest cell.

    >>> columns([["a", "bc"], ["def", "g"]])
    ['a    bc', 'def  g']
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]


class Progress:
    """A bar on a terminal's standard error, in percent and never in rows, once the work has taken a while."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._lock = threading.Lock()
        self._share: float | None = None
        self._bar: Any = None
        self._finished = not sys.stderr.isatty()
        self._timer = threading.Timer(PATIENCE, self._appear)
        self._timer.daemon = True

    def __enter__(self) -> Progress:
        if not self._finished:
            self._timer.start()
        return self

    def __call__(self, share: float) -> None:
        """The share that is done, from 0 to 1; never called by work of unknown length."""
        with self._lock:
            self._share = share
            if self._bar is not None:
                self._bar.update(0, total=1.0, completed=share)

    def say(self, words: str) -> None:
        """Words on standard output, above the bar."""
        with self._lock:
            if self._bar is not None:
                self._bar.stop()
            typer.echo(words)
            if self._bar is not None and not self._finished:
                self._bar.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()
        with self._lock:
            self._finished = True
            if self._bar is not None:
                self._bar.stop()

    def _appear(self) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TaskProgressColumn

        with self._lock:
            if self._finished:
                return
            parts = (SpinnerColumn(), self._doing, BarColumn(), TaskProgressColumn())
            self._bar = Progress(*parts, console=Console(stderr=True), transient=True)
            self._bar.add_task("", total=None if self._share is None else 1.0, completed=self._share or 0.0)
            self._bar.start()
