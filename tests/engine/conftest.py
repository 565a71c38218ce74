"""Every verb is tried on every backend that ships."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from stores import EACH_BACKEND, Desk, desk


@pytest.fixture(params=EACH_BACKEND)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Opens stores on the backend of this run; they are closed afterwards."""
    opened: list[Desk] = []

    def factory(**options: object) -> Desk:
        made = desk(request.param, tmp_path, **options)
        opened.append(made)
        return made

    yield factory
    for made in opened:
        made.store.close()


@pytest.fixture
def table(make: Callable[..., Desk]) -> Desk:
    """One store with nothing declared."""
    return make()
