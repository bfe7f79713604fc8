"""What every suite shares."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

# The machine may be busy: how long an example takes is no law of ours.
settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")

# Each of several processes learns on one thread: where threads of all wait for each other, a second becomes a minute.
if "PYTEST_XDIST_WORKER" in os.environ:
    os.environ.setdefault("OPENBLAS_NUM_THREADS", str(os.cpu_count()))  # which would follow the other
    os.environ.setdefault("OMP_NUM_THREADS", "1")

# Public data sets that lie beside the checkout are not downloaded again.
_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("SORDINO_DATA", str(_BESIDE))
