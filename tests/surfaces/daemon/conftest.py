"""One daemon for the tests of a module, with the models loaded; it ends with them."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from surfaces.daemon.daemons import Place

if sys.platform != "linux":
    collect_ignore_glob = ["test_*.py"]  # they look into /proc


@pytest.fixture(scope="module")
def runtime() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="wk-"))  # short: the path of a socket is
    yield folder
    Place(folder, folder).end()
    shutil.rmtree(folder)


@pytest.fixture
def place(tmp_path: Path, runtime: Path) -> Place:
    """Where a test's commands run, with a daemon that it starts itself if it needs one."""
    return Place(tmp_path, runtime)


@pytest.fixture
def served(place: Place) -> Place:
    """Where a test's commands run, and a daemon runs."""
    if not place.pid():
        place.start()
    return place
