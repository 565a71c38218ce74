"""What most tests of PostgreSQL begin with: the server, a database with an empty store, and its storage."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from postgres.server import Server, server
from wellkept.storage.postgres import PostgresStorage


@pytest.fixture
def running() -> Server:
    """The server of this process."""
    return server()


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """The address of a database with an empty store."""
    made = running.database()
    yield made
    running.release(made)


@pytest.fixture
def storage(url: str) -> Iterator[PostgresStorage]:
    """That store, opened."""
    made = PostgresStorage(url)
    yield made
    made.close()
