"""Audit a callable that lives in another interpreter, with libraries of its own: one process, lines of JSON.

The two tables are made and kept over there. What cannot be asked, because the other process ends or does not
answer in time, is *not tested*.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import TracebackType
from typing import Any, NoReturn

import numpy as np

from sordino.audit import peer_worker
from sordino.audit.lower_bound import audit_epsilon
from sordino.audit.verdict import AuditReport
from sordino.errors import ParameterError

#: Variables that would carry our own environment into the other one.
_OURS = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONINSPECT", "__PYVENV_LAUNCHER__")

_CHUNK = 65536
_LAST_WORDS = 200


class _PeerGoneError(Exception):
    """The other process cannot be asked any more."""


class PeerOutcomeError(Exception):
    """The callable failed over there: an outcome like any other."""


class Peer:
    """Another interpreter that runs one callable on two tables of its own."""

    def __init__(self, python: str, target: str, neighbours: str | None, *, seconds: float, unsafe: bool) -> None:
        found = shutil.which(python)
        if found is None:
            raise ParameterError(f"audit: there is no interpreter {python!r} to run. Give its path with --python.")
        if not 0 < seconds < float("inf"):
            raise ParameterError(f"audit: the longest wait, in seconds, must be above 0 and finite. Got {seconds}.")
        self._python, self._seconds = found, seconds
        self._asked = {"target": target, "neighbours": neighbours, "unsafe": unsafe}
        self._waiting = b""
        self.gone = ""
        self.warnings: list[str] = []

    def __enter__(self) -> Peer:
        source = Path(peer_worker.__file__).read_text(encoding="utf-8")
        outside = {name: value for name, value in os.environ.items() if name not in _OURS}
        self._words = tempfile.TemporaryFile()
        self._process = subprocess.Popen(
            [self._python, "-c", source], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._words,
            env=outside, start_new_session=True,
        )  # fmt: skip
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.communicate()
        self._words.close()

    def start(self, seed: int) -> dict[str, Any]:
        """Load the callable and make its tables; what the other side says about itself."""
        answer = self._ask({**self._asked, "seed": seed})
        if "error" in answer:
            raise ParameterError(f"audit: over there, {answer['error']}")
        return answer

    def run(self, table: int, public: np.random.Generator) -> Any:
        """One outcome, on the first table (1) or the second (0)."""
        if self.gone:
            raise _PeerGoneError(self.gone)
        answer = self._ask({"table": table})
        if "failed" in answer:
            raise PeerOutcomeError(answer["failed"])
        return answer["outcome"]

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        try:
            self._write(json.dumps(request).encode() + b"\n")
            answer: dict[str, Any] = json.loads(self._line())
        except (OSError, ValueError):  # a broken pipe, or a line that is no answer
            self._leave("broke off")
        self.warnings = answer.get("warnings", self.warnings)
        return answer

    def _write(self, line: bytes) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(line)
        self._process.stdin.flush()

    def _line(self) -> bytes:
        """One line of the reply, or the end of patience."""
        assert self._process.stdout is not None
        deadline = time.monotonic() + self._seconds
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while b"\n" not in self._waiting:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    self._leave(f"gave no answer within {self._seconds:g} s")
                chunk = os.read(self._process.stdout.fileno(), _CHUNK)
                if not chunk:
                    self._leave(self._end())
                self._waiting += chunk
        line, _, self._waiting = self._waiting.partition(b"\n")
        return line

    def _end(self) -> str:
        """How it ended, with the last line that it wrote."""
        code = self._process.wait()
        self._words.seek(0)
        words = self._words.read().decode(errors="replace").split("\n")
        last = next((line.strip() for line in reversed(words) if line.strip()), "")[:_LAST_WORDS]
        return f"ended with code {code}" + (f", saying {last!r}" if last else "")

    def _leave(self, how: str) -> NoReturn:
        self.gone = self.gone or how
        raise _PeerGoneError(self.gone)


def audit_peer(
    python: str,
    target: str,
    *,
    epsilon: float,
    delta: float = 0.0,
    runs: int = 20_000,
    level: float = 0.05,
    neighbours: str | None = None,
    seconds: float = 60.0,
    random_state: int | None = None,
    progress: Callable[[float], None] | None = None,
    unsafe_real_data: bool = False,
) -> AuditReport:
    """``audit_epsilon`` of ``MODULE:FUNCTION`` in the environment of another Python; what it warns about is kept."""
    name = target
    with Peer(python, target, neighbours, seconds=seconds, unsafe=unsafe_real_data) as peer:

        def watch(share: float) -> None:
            if peer.gone:
                raise _PeerGoneError(peer.gone)
            if progress:
                progress(share)

        try:
            about = peer.start(int(np.random.default_rng(random_state).integers(2**63)))
            name = f"{target} under Python {about['python']}"
            report = audit_epsilon(
                peer.run, 1, 0, epsilon=epsilon, delta=delta, runs=runs, level=level, random_state=random_state,
                progress=watch, name=name,
            )  # fmt: skip
        except _PeerGoneError:
            return AuditReport("epsilon", name, "not tested", f"The other interpreter {peer.gone}.")
        more = {"python": about["python"], "library_warnings": peer.warnings, "tables": about["tables"]}
        return replace(report, evidence={**report.evidence, **more}, sentence=report.sentence + warned(peer.warnings))


def warned(said: list[str]) -> str:
    """What a library warned about, as a sentence."""
    return f" The library warns: {'; '.join(said)}." if said else ""
