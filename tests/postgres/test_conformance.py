"""The PostgreSQL backend passes the conformance kit unchanged (I9, design §10)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

import pytest

from postgres.server import Server, server
from wellkept.storage.port import Storage
from wellkept.storage.postgres import PostgresStorage
from wellkept.testing.conformance import CHECKS, Check, run_one


class Databases:
    """Makes stores in databases of their own and knows where each one is."""

    def __init__(self, running: Server) -> None:
        self.running = running
        self.urls: dict[int, str] = {}
        self.numbers = count()

    def make(self) -> Storage:
        return self._open(self.running.database())

    def reopen(self, store: Storage) -> Storage:
        store.close()
        return self._open(self.urls[id(store)])

    def _open(self, url: str) -> Storage:
        store = PostgresStorage(url)
        self.urls[id(store)] = url
        return store


@pytest.fixture
def databases() -> Iterator[Databases]:
    made = Databases(server())
    yield made
    for url in set(made.urls.values()):
        made.running.release(url)


@pytest.mark.parametrize("check", CHECKS, ids=[check.name for check in CHECKS])
def test_the_postgresql_backend_conforms(check: Check, databases: Databases) -> None:
    run_one(check, databases.make, databases.reopen)
