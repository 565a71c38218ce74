"""Stores whose gate is not sure, on every backend."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from asked import Made, unsure
from stores import EACH_BACKEND, Desk


@pytest.fixture(params=EACH_BACKEND)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Made]:
    """Opens stores that ask; they are closed afterwards."""
    opened: list[Desk] = []

    def factory(**options: Any) -> Desk:
        opened.append(unsure(request.param, tmp_path, **options))
        return opened[-1]

    yield factory
    for made in opened:
        made.store.close()


@pytest.fixture
def table(make: Made) -> Desk:
    """One store that asks."""
    return make()
