"""Every scenario runs in memory and on one of the other backends, of a table every other case on each of these in turn.

`make soak` runs the rest. That all backends give the same to the letter is shown for every golden scenario in
`properties/test_long_lives.py`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from scenarios.world import BACKENDS, World, make

HERE = Path(__file__).parent
IN_TURN = ("sqlite", "postgres")
FEW = 3
"""Tests with so few cases run on every backend."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave three of four cases of a table to `make soak` on each of the backends that take turns."""
    tables: dict[str, dict[str, list[pytest.Item]]] = defaultdict(lambda: defaultdict(list))
    for item in items:
        chosen = getattr(item, "callspec", None)
        backend = chosen.params.get("backend") if chosen is not None else None
        if item.path.parent == HERE and backend in IN_TURN:
            tables[item.nodeid.partition("[")[0]][backend].append(item)
    for table in tables.values():
        if len(table) == len(IN_TURN) and all(len(cases) > FEW for cases in table.values()):
            for turn, backend in enumerate(IN_TURN):
                for number, case in enumerate(table[backend]):
                    if number % 4 != 2 * turn:
                        case.add_marker(pytest.mark.soak)


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
