"""Every scenario runs on both backends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scenarios.world import BACKENDS, World, make


@pytest.fixture(params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def world(backend: str, tmp_path: Path) -> Iterator[Callable[..., World]]:
    """Creates worlds that are closed at the end of the test; each has its own file."""
    with ExitStack() as stack:

        def another(*args: Any, **kwargs: Any) -> World:
            name = f"store-{len(list(tmp_path.iterdir()))}.db"
            made = make(backend, tmp_path, *args, name=name, **kwargs)
            stack.callback(made.store.close)
            return made

        yield another
