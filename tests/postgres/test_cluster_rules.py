"""A statement or function that a Citus cluster would refuse fails here, on a plain server.

`test_statements` asks the same of everything that is sent.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from postgres.cluster_rules import Rules, statements_of
from postgres.server import EMPTY, server
from wellkept.storage.postgres.sql import migrations, queries

BEFORE = 7
"""Steps up to this one run before a store can be distributed; see docs/upgrading.md."""


@pytest.fixture
def connection() -> Iterator[psycopg.Connection[Any]]:
    url = server().database()
    with psycopg.connect(url) as made:
        yield made
        made.rollback()
    server().release(url)


def test_no_function_of_the_store_would_be_refused(connection: psycopg.Connection[Any]) -> None:
    assert list(Rules(connection).functions()) == []


def test_no_statement_and_no_later_migration_would_be_refused(connection: psycopg.Connection[Any]) -> None:
    rules = Rules(connection)
    wrong = {name: rules.refused(text) for name, text in queries().items()}
    for version, script in migrations()[BEFORE:]:
        wrong |= {f"migration {version}: {text[:80]}": rules.refused(text) for text in statements_of(script)}
    wrong |= {f"tests: {text}": rules.refused(text) for text in EMPTY.split(";")}
    assert {name: told for name, told in wrong.items() if told} == {}


REFUSED = {
    "UPDATE wellkept.header SET store_id = gen_random_uuid()::text": "gen_random_uuid() in a change of header",
    "DELETE FROM wellkept.link WHERE ns = 1 AND random() < 0.5": "random() in a change of link",
    "SELECT id FROM wellkept.memory WHERE ns = 1 AND NOT EXISTS (SELECT FROM wellkept.link)": "without a column",
    "INSERT INTO wellkept.alias (ns, hash, id) SELECT 1, '', c FROM unnest(ARRAY['a']) AS c": "two-phase commit",
}
ACCEPTED = (
    "UPDATE wellkept.memory SET access_count = greatest(access_count, 2) WHERE ns = 1",
    "UPDATE wellkept.token SET revoked_at = clock_timestamp()",
    "UPDATE wellkept.memory SET record = 'random() of (SELECT FROM x)' WHERE ns = 1",
    "INSERT INTO wellkept.alias (ns, hash, id) VALUES (1, 'SELECT', 'b')",
    "INSERT INTO wellkept.waiting SELECT 1",
)


def test_each_rule_finds_what_it_is_for_and_nothing_else(connection: psycopg.Connection[Any]) -> None:
    rules = Rules(connection)
    for text, said in REFUSED.items():
        assert said in rules.refused(text), text
    assert [rules.refused(text) for text in ACCEPTED] == [""] * len(ACCEPTED)


FUNCTIONS = {
    "LANGUAGE sql BEGIN ATOMIC SELECT n.name FROM wellkept.namespace AS n; END": "bad() depends on namespace",
    "LANGUAGE sql AS 'SELECT x.name FROM wellkept.token AS x WHERE EXISTS (SELECT FROM wellkept.header)'": "column",
}


@pytest.mark.parametrize("body", FUNCTIONS)
def test_a_function_that_would_be_refused_is_found(connection: psycopg.Connection[Any], body: str) -> None:
    connection.execute(f"CREATE FUNCTION wellkept.bad() RETURNS SETOF text {body}".encode())
    [told] = Rules(connection).functions()
    assert FUNCTIONS[body] in told


def test_a_function_that_returns_rows_of_a_table_is_found(connection: psycopg.Connection[Any]) -> None:
    connection.execute(
        "CREATE FUNCTION wellkept.bad() RETURNS SETOF wellkept.link LANGUAGE plpgsql AS 'BEGIN RETURN; END'"
    )
    assert list(Rules(connection).functions()) == ["bad() depends on link, which then cannot be distributed"]
