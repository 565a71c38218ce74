"""Two tenants in one database, and a client with the token of one of them that can send any statement.

The owner of the tables is no superuser, because a superuser bypasses all policies.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg

import wellkept
from postgres.server import Server, emptying
from wellkept.engine.verbs.store import MemoryStore
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.shared.tokens import TokenRow, key_of
from wellkept.testing.embedder import FakeEmbedder

ALICE, BOB = "alice/a", "bob"
SECRETS = {ALICE: "wk_alice", BOB: "wk_bob", "reader": "wk_reader", "all": "wk_all", "ended": "wk_ended"}
SAID = "bob keeps it secret"
_numbers = count()


@dataclass
class Ground:
    """A store with row-level security: its addresses and logins."""

    running: Server
    owner: str
    tenant: str
    app: str
    working: psycopg.Connection[Any] | None = None

    @property
    def name(self) -> str:
        """Of the database."""
        return urlsplit(self.owner).path[1:]

    @property
    def above(self) -> str:
        """The address for a superuser."""
        return self.running.at(self.name)

    def store(self, namespace: str, token: str) -> MemoryStore:
        """The store as opened by a library user of the application role."""
        return wellkept.open(
            self.tenant, embedder=FakeEmbedder(dim=64), relation_model="none", namespace=namespace, token=token
        )

    def own(self, namespace: str) -> MemoryStore:
        """What its owner opens, without a token."""
        return wellkept.open(self.owner, embedder=FakeEmbedder(dim=64), relation_model="none", namespace=namespace)

    def give(
        self, name: str, patterns: tuple[str, ...], scopes: tuple[str, ...], *, ends: datetime | None = None
    ) -> str:
        """Make a token; returns its hash."""
        storage = PostgresStorage(self.owner)
        row = TokenRow(
            hash="", name=name, patterns=patterns, scopes=scopes, created_at=datetime.now(UTC), expires_at=ends
        )
        made = storage.tokens().put(SECRETS[name], row, most=100)
        storage.close()
        assert made is not None
        return made

    def sql(self, *statements: str) -> list[Any]:
        """Run statements as a superuser; returns the rows of the last one."""
        if self.working is None:
            self.working = psycopg.connect(self.above, autocommit=True)
        for statement in statements:
            cursor = self.working.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []

    def kept(self, namespace: str) -> str:
        """A digest of everything the database holds of a namespace."""
        parts = (
            f"SELECT '{table}', t::text FROM wellkept.{table} AS t WHERE ns = wellkept.number_of('{namespace}')"
            for table in self.tables()
        )
        return hashlib.sha256(repr(self.sql(f"{' UNION ALL '.join(parts)} ORDER BY 1, 2")).encode()).hexdigest()

    def tables(self) -> list[str]:
        """Every table with a namespace that is no partition."""
        return [
            name
            for (name,) in self.sql(
                "SELECT c.relname FROM pg_class AS c JOIN pg_attribute AS a ON a.attrelid = c.oid AND a.attname = 'ns' "
                "WHERE c.relnamespace = 'wellkept'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition"
            )
        ]


@contextmanager
def ground(running: Server) -> Iterator[Ground]:
    """An empty store with an owner and a login for applications; everything is taken away at the end."""
    number = next(_numbers)
    keeper, tenant, app = (f"wellkept_{what}_{number}" for what in ("keeper", "tenant", "app"))
    url = running.bare()
    name = urlsplit(url).path[1:]
    with psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {keeper} LOGIN CREATEROLE".encode())
        connection.execute(f"CREATE ROLE {tenant} LOGIN".encode())
        connection.execute(f'ALTER DATABASE "{name}" OWNER TO {keeper}'.encode())
    made = Ground(running, _as(url, keeper), _as(url, tenant), app)
    made.sql("CREATE EXTENSION vector")
    try:
        PostgresStorage(made.owner).close()
        yield made
    finally:
        if made.working is not None:
            made.working.close()
        running.drop(url)
        with psycopg.connect(running.url, autocommit=True) as connection:
            for role in (tenant, app, keeper):
                connection.execute(f"DROP ROLE IF EXISTS {role}".encode())


def close(made: Ground) -> list[str]:
    """Close the store, and let its tenant in as an application."""
    storage = PostgresStorage(made.owner)
    left = storage.secure(made.app)
    storage.close()
    made.sql(f"GRANT {made.app} TO {urlsplit(made.tenant).username}")
    return left


def empty(made: Ground) -> None:
    """Leave the tokens and the rules, and nothing else."""
    made.sql(f"BEGIN; {emptying()} COMMIT")


class Client:
    """Sends statements as the application role, each in a transaction that shows one token."""

    def __init__(self, made: Ground, secret: str = SECRETS[ALICE]) -> None:
        self._made = made
        self.key = key_of(secret)

    def plans(self, asked: str, settings: Sequence[str]) -> str:
        """How the server would and did answer, without the texts and numbers of the question."""
        said = [f"SET LOCAL {setting}" for setting in settings]
        plan = self.ask(*said, f"EXPLAIN (ANALYZE, TIMING OFF, SUMMARY OFF, BUFFERS OFF) {asked}")
        assert isinstance(plan, list), plan
        text = "\n".join(line for (line,) in plan)
        return re.sub(r"'[^']*'(::[a-z]+(\[\])?)?|\b\d{15,}\b", "?", text)

    def ask(self, *statements: str, namespace: str = ALICE) -> list[Any] | str:
        """The rows of the last statement, or the server's error message."""
        with psycopg.connect(self._made.tenant, autocommit=True) as connection:
            try:
                connection.execute("BEGIN")
                connection.execute("SELECT wellkept.enter(%s, %s)", (namespace, self.key))
                for statement in statements:
                    cursor = connection.execute(statement.replace("{key}", self.key).encode())
                rows = cursor.fetchall() if cursor.description else []
                connection.execute("COMMIT")
                return rows
            except psycopg.Error as error:
                diag = error.diag
                return " ".join(filter(None, (str(error), diag.message_detail, diag.message_hint, diag.context)))


def _as(url: str, user: str) -> str:
    parts = urlsplit(url)
    return urlunsplit(parts._replace(netloc=f"{user}@{parts.hostname}:{parts.port}"))
