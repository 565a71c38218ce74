"""`wellkept db distribute`: distributes a store by namespace, or reports the reason and changes nothing.

Citus is simulated by functions of the same names that record their calls (`cluster.sql`). docs/scale-out.md lists what
was verified by hand with the real Citus, and what was not.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import wellkept
from postgres.sent import listening
from postgres.server import Server, server
from wellkept.cli.app import app
from wellkept.errors import ConfigError, StorageError, StorePathError
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server.distribution import BY_NAMESPACE, EVERYWHERE, HERE, CannotSpread, distribute
from wellkept.testing.checks.world import NS, World, memory
from wellkept.testing.conformance import CHECKS, run_one
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

CLUSTER = (Path(__file__).parent / "cluster.sql").read_text("utf-8")


@pytest.fixture
def running() -> Server:
    return server()


@pytest.fixture
def url(running: Server) -> Iterator[str]:
    """A separate database, because its changes are not undone."""
    made = running.bare()
    with psycopg.connect(made, autocommit=True) as connection:
        connection.execute(CLUSTER.encode())
    yield made
    running.drop(made)


def ask(url: str, statement: str) -> list[tuple[Any, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


def asked(url: str) -> list[str]:
    return [what for (what,) in ask(url, "SELECT what FROM asked ORDER BY call")]


def shape(url: str) -> dict[str, Any]:
    """Columns, keys, indexes and rights of every table, and whether it has partitions; names included."""
    columns = """SELECT c.relname, a.attname, format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attcollation
      FROM pg_attribute AS a JOIN pg_class AS c ON c.oid = a.attrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      WHERE n.nspname = 'wellkept' AND c.relkind IN ('r', 'p') AND NOT c.relispartition AND a.attnum > 0
      ORDER BY 1, a.attnum"""
    indexes = """SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ONLY ', ' ON '), i.indisprimary, k.conname
      FROM pg_index AS i JOIN pg_class AS c ON c.oid = i.indrelid JOIN pg_namespace AS n ON n.oid = c.relnamespace
      LEFT JOIN pg_constraint AS k ON k.conindid = i.indexrelid
      WHERE n.nspname = 'wellkept' AND NOT c.relispartition ORDER BY 1"""
    rights = """SELECT c.relname, a.grantee::regrole, a.privilege_type FROM pg_class AS c
      JOIN pg_namespace AS n ON n.oid = c.relnamespace, aclexplode(c.relacl) AS a
      WHERE n.nspname = 'wellkept' AND NOT c.relispartition AND a.grantee <> c.relowner ORDER BY 1, 2, 3"""
    return {"columns": ask(url, columns), "indexes": ask(url, indexes), "rights": ask(url, rights)}


def filled(url: str) -> wellkept.MemoryStore:
    store = wellkept.open(url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel())
    for name in ("acme/ana", "acme/ben"):
        here = store.in_namespace(name)
        one = here.remember(f"{name} waters the ferns.", subject="ferns").memory
        two = here.remember(f"{name} has a key of the cellar.", tags=["keys"]).memory
        assert one is not None and two is not None
        here.link(one.id, two.id, "related")
    return store


def told(store: wellkept.MemoryStore) -> list[Any]:
    spaces = [store.in_namespace(name) for name in ("acme/ana", "acme/ben")]
    return [(here.list(), here.journal(), here.recall("ferns", touch=False)) for here in spaces]


def test_a_store_that_is_spread_is_not_closed(url: str) -> None:
    """Citus does not pass the token of a transaction to other servers, so no rows would be visible."""
    distribute(url)
    storage = PostgresStorage(url)
    with pytest.raises(ConfigError, match="spread over several servers"):
        storage.secure("wellkept_app")
    storage.close()


# -- what is done ----------------------------------------------------------------------------


def test_an_empty_database_becomes_a_store_that_is_spread_by_namespace(url: str) -> None:
    done = distribute(url, shards=64)
    assert (done.citus, done.servers, done.dry_run) == ("13.2", ("one:5432", "two:5432"), False)
    assert (done.by_namespace, done.everywhere, done.here) == (BY_NAMESPACE, EVERYWHERE, HERE)
    assert asked(url) == [
        *(f"copied wellkept.{name}" for name in EVERYWHERE),
        "divided wellkept.namespace by ns beside none in 64",
        *(f"divided wellkept.{name} by ns beside wellkept.namespace in as many" for name in BY_NAMESPACE[1:]),
    ]
    assert ask(url, "SELECT relname FROM pg_class WHERE relkind = 'p'") == [], "a shard is the partition"


def test_every_table_of_the_store_has_its_place(running: Server) -> None:
    """A table that a release adds is put into one of the three lists, or this fails."""
    made = running.database()
    rows = ask(
        made,
        """SELECT c.relname, EXISTS (SELECT 1 FROM pg_attribute AS a WHERE a.attrelid = c.oid AND a.attname = 'ns')
        FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace
        WHERE n.nspname = 'wellkept' AND c.relkind IN ('r', 'p') AND NOT c.relispartition""",
    )
    running.release(made)
    assert {name for name, _ in rows} == {*BY_NAMESPACE, *EVERYWHERE, *HERE}
    assert {name for name, has_ns in rows if has_ns} == {*BY_NAMESPACE, *HERE} - {"token"}


def test_rows_keys_indexes_and_rights_are_the_same_afterwards(url: str) -> None:
    ask(url, "CREATE ROLE wellkept_reads_here")
    try:
        store = filled(url)
        ask(url, "GRANT SELECT, INSERT ON wellkept.memory, wellkept.vector TO wellkept_reads_here")
        ask(url, "GRANT SELECT ON wellkept.journal TO PUBLIC")
        before, was = shape(url), told(store)
        assert before["rights"]
        distribute(url)
        assert shape(url) == before
        assert told(store) == was, "also to a process that had the store open"
        assert store.verify() == ()
        again = store.in_namespace("acme/ana").remember("acme/ana waters the ferns.")
        assert again.outcome == "duplicate"
        store.close()
        assert [line for line in asked(url) if line.startswith("freed")] == [
            f"freed wellkept.{name}"
            for name in BY_NAMESPACE
            if ask(url, f"SELECT EXISTS (SELECT 1 FROM wellkept.{name})") == [(True,)]
        ]
    finally:
        ask(url, "DROP OWNED BY wellkept_reads_here")
        ask(url, "DROP ROLE wellkept_reads_here")


@pytest.mark.parametrize("check", CHECKS[::7], ids=[check.name for check in CHECKS[::7]])
def test_tables_without_partitions_conform_too(check: Any, url: str) -> None:
    """Every seventh check of the kit: the statements name no partition."""
    distribute(url)

    def reopened(store: Any) -> PostgresStorage:
        store.close()
        return PostgresStorage(url)

    run_one(check, lambda: PostgresStorage(url), reopened)


def test_a_second_run_changes_nothing_and_one_after_an_upgrade_does_what_is_missing(url: str) -> None:
    distribute(url)
    calls = asked(url)
    assert distribute(url).statements == () and asked(url) == calls
    added = "'wellkept.approximate'::regclass, 'wellkept.embedder'::regclass"
    ask(url, f"DELETE FROM pg_dist_partition WHERE logicalrelid IN ({added})")
    assert distribute(url).statements[1:] == (
        "SELECT create_reference_table('wellkept.embedder')",
        "SELECT create_distributed_table('wellkept.approximate', 'ns', colocate_with => 'wellkept.namespace')",
    )


def test_a_dry_run_says_the_same_statements_and_changes_nothing(url: str) -> None:
    with pytest.raises(StorePathError, match="no store yet"):
        distribute(url, dry_run=True)
    filled(url).close()
    before = shape(url)
    plan = distribute(url, dry_run=True)
    assert plan.dry_run and asked(url) == [] and shape(url) == before
    assert distribute(url).statements == plan.statements != ()


def test_the_command_prints_them(url: str) -> None:
    runner = CliRunner()
    PostgresStorage(url).close()
    shown = runner.invoke(app, ["--db", url, "db", "distribute", "--dry-run", "--shards", "32"]).stdout
    assert "create_distributed_table('wellkept.namespace', 'ns', colocate_with => 'none', shard_count => 32);" in shown
    assert "Dry run: nothing was changed" in shown and asked(url) == []
    done = json.loads(runner.invoke(app, ["--db", url, "db", "distribute", "--json"]).stdout)
    assert done["by_namespace"] == list(BY_NAMESPACE) and done["statements"]
    again = runner.invoke(app, ["--db", url, "db", "distribute"])
    assert again.exit_code == 0 and "It was already distributed" in again.stdout
    file = runner.invoke(app, ["--db", "memory.db", "db", "distribute"])
    assert file.exit_code == 1 and "only a store in PostgreSQL" in file.stderr


# -- what is refused -------------------------------------------------------------------------

REFUSED = {
    "no Citus": ("DROP FUNCTION citus_version", "does not know Citus.*Install Citus"),
    "an old one": (
        "CREATE OR REPLACE FUNCTION citus_version() RETURNS text LANGUAGE sql AS $$ SELECT 'Citus 11.1.4 on x' $$",
        "too old: 'Citus 11.1.4.*Upgrade it to 11.2",
    ),
    "one that cannot be read": (
        "CREATE OR REPLACE FUNCTION citus_version() RETURNS text LANGUAGE sql AS $$ SELECT 'nobody' $$",
        "too old: 'nobody'",
    ),
    "a worker without pgvector": ("UPDATE worker SET vectors = '' WHERE nodename = 'two'", r"two:5432 \(none\)"),
    "a worker with an old one": ("UPDATE worker SET vectors = '0.6.2' WHERE nodename = 'one'", r"one:5432 \(0.6.2\)"),
    "a worker that cannot be asked": ("UPDATE worker SET vectors = NULL", "one:5432 .*refused.*two:5432"),
    "a coordinator nobody knows": ("DELETE FROM pg_dist_node WHERE groupid = 0", "citus_set_coordinator_host"),
    "no server for rows": ("UPDATE pg_dist_node SET shouldhaveshards = false", "citus_add_node"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_cluster_that_could_not_hold_the_store_is_refused_before_anything_is_done(url: str, case: str) -> None:
    change, said = REFUSED[case]
    ask(url, change)
    for dry_run in (True, False):
        with pytest.raises(CannotSpread, match=said):
            distribute(url, dry_run=dry_run)
    assert asked(url) == [] and ask(url, "SELECT to_regnamespace('wellkept')") == [(None,)]


def test_rules_of_access_are_not_left_behind_silently(url: str) -> None:
    """I8: row-level security uses settings that Citus does not pass on, so such a store stays on one server."""
    filled(url).close()
    ask(url, "ALTER TABLE wellkept.memory ENABLE ROW LEVEL SECURITY")
    with pytest.raises(CannotSpread, match="rules of access"):
        distribute(url)
    assert asked(url) == []


def test_a_namespace_that_is_searched_by_an_index_of_its_own_is_named(url: str) -> None:
    filled(url).close()
    ask(url, "INSERT INTO wellkept.approximate (ns, model) SELECT ns, 2 FROM wellkept.namespace LIMIT 1")
    with pytest.raises(CannotSpread, match="indexes of their own"):
        distribute(url)


def test_a_failure_in_the_middle_leaves_everything_as_it_was(url: str) -> None:
    store = filled(url)
    before, was = shape(url), told(store)
    ask(
        url,
        """CREATE OR REPLACE FUNCTION truncate_local_data_after_distributing_table(function_name regclass)
        RETURNS void LANGUAGE plpgsql AS $$ BEGIN RAISE 'a server is gone'; END $$""",
    )
    with pytest.raises(StorageError, match="a server is gone"):
        distribute(url)
    assert (shape(url), told(store), asked(url)) == (before, was, [])
    store.close()


def test_a_table_that_came_to_lie_elsewhere_is_told(url: str) -> None:
    filled(url).close()
    distribute(url)
    ask(url, "UPDATE pg_dist_partition SET colocationid = 8 WHERE logicalrelid = 'wellkept.link'::regclass")
    with pytest.raises(CannotSpread, match="link is not divided by namespace beside namespace"):
        distribute(url)


# -- locks that hold on every server ---------------------------------------------------------


def test_the_server_of_the_namespace_is_told_how_long_a_writer_waits(url: str) -> None:
    """The limit of the session holds on the coordinator; the row is locked elsewhere, so a query takes it there."""
    heard = []
    for spread in (False, True):
        if spread:
            distribute(url)
        world = World(PostgresStorage(url, busy_seconds=7))
        with listening() as sent:
            world.add(memory(f"m{int(spread)}"))
        world.store.close()
        heard.append([values for text in sent.first if "'lock_timeout'" in text for values in sent.values(text)])
    assert heard == [[], [{"ns": number_of(NS), "wait": "7000ms"}]]


def test_an_embedder_is_not_changed_under_a_writer_who_came_by_another_server(url: str) -> None:
    """An advisory lock is known to one server; the writer here has none and is waited for all the same."""
    world = World(PostgresStorage(url))
    world.add(memory("m1"))
    done = threading.Event()

    def change() -> None:
        world.store.configure(embedder="kit/two", dim=4, policy="p")
        done.set()

    mover = threading.Thread(target=change)
    with psycopg.connect(url) as other:
        other.execute("UPDATE wellkept.namespace SET seq = seq")
        mover.start()
        assert not done.wait(0.2)
        other.rollback()
    mover.join(20)
    assert done.is_set()
    world.store.close()
