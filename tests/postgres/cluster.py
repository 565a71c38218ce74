"""A store on a real Citus cluster, for tests that are run where `WELLKEPT_TEST_CITUS` names one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import psycopg
import pytest

from postgres.given import CITUS
from wellkept.storage.postgres.server.distribution import distribute

NEEDS_CLUSTER = [
    pytest.mark.external,
    pytest.mark.skipif(not CITUS, reason="name the coordinator's database in WELLKEPT_TEST_CITUS"),
]


def ask(statement: str) -> list[tuple[Any, ...]]:
    """The rows of a statement on the coordinator."""
    with psycopg.connect(CITUS, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


@contextmanager
def cluster_store() -> Iterator[str]:
    """The address of a new, distributed store on the cluster; dropped at the end."""
    ask("DROP SCHEMA IF EXISTS wellkept CASCADE")
    distribute(CITUS, shards=32)
    yield CITUS
    ask("DROP SCHEMA wellkept CASCADE")
