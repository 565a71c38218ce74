"""Stores and browsers for the tests of the page."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from stores import place
from surfaces.page.visitors import Browser, browsing


@pytest.fixture
def store(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    with wellkept.open(str(place(tmp_path / "page.db")), embedder="hashing", relation_model="none") as opened:
        yield opened


@pytest.fixture
def browser(store: wellkept.MemoryStore) -> Iterator[Browser]:
    with browsing(store) as opened:
        yield opened
