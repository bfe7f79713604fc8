"""What every suite shares."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import settings

# The machine may be busy: how long an example takes is no law of ours.
settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")

# Public data sets that lie beside the checkout are not downloaded again.
_BESIDE = Path(__file__).parents[2] / "shared" / "data"
if _BESIDE.is_dir():
    os.environ.setdefault("SORDINO_DATA", str(_BESIDE))
