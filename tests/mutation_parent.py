"""The parent of planted bugs: it has everything imported, and forks a child for each, which has no way back.

Run by ``mutants.Parent``. One line of JSON comes in for each bug (its edits and a layer), one goes out: the layer's
first complaint, None when it finds nothing, or the error with which the planted code broke down.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
import traceback
from typing import Any

from mutation_layers import first_complaint, warm_up
from transplant import mutated_source, plant

#: A child that says nothing for so long is stopped; what hangs is not caught.
PATIENCE = 240


def tried(edits: list[tuple[str, str, str]], layer: str) -> dict[str, Any]:
    """Plant and ask, in this process."""
    by_module: dict[str, list[tuple[str, str]]] = {}
    for module, old, new in edits:
        by_module.setdefault(module, []).append((old, new))
    start = time.perf_counter()
    try:
        sources = {module: mutated_source(f"sordino.{module}", *pairs) for module, pairs in by_module.items()}
        if layer != "A":  # which judges texts, and some of them cannot run
            for module, pairs in by_module.items():
                plant(f"sordino.{module}", *pairs)
        outcome: dict[str, Any] = {"complaint": first_complaint(layer, sources)}
    except Exception:
        outcome = {"error": traceback.format_exc()}
    return {**outcome, "seconds": time.perf_counter() - start}


def answered(request: dict[str, Any]) -> dict[str, Any]:
    """The answer of a forked child."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.alarm(PATIENCE)
        text = json.dumps(tried(request["edits"], request["layer"]))
        with os.fdopen(writing, "w") as stream:
            stream.write(text)
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading) as stream:
        text = stream.read()
    os.waitpid(child, 0)
    return dict(json.loads(text)) if text else {"error": "the child was stopped before it answered"}


if __name__ == "__main__":
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # whatever planted code prints is no answer
    warm_up()
    for line in sys.stdin:
        print(json.dumps(answered(json.loads(line))), file=answers, flush=True)
