"""How many examples a law is tried on: few in `make test`, many in `make soak`."""

from __future__ import annotations

from typing import Any

from hypothesis import settings

LONG = settings.get_current_profile_name() == "long"


def examples(few: int, many: int, **more: Any) -> settings:
    """The number of examples of this run, with other settings."""
    return settings(max_examples=many if LONG else few, **more)
