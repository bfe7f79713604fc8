"""What every suite shares."""

from __future__ import annotations

from hypothesis import settings

# The machine may be busy: how long an example takes is no law of ours.
settings.register_profile("house", deadline=None, print_blob=True)
settings.load_profile("house")
