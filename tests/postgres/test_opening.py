"""Errors of a database or a connection, each with what, where and what to do (design §10)."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import pytest
from typer.testing import CliRunner

import wellkept
from postgres.cluster_rules import Rules
from postgres.sent import listening
from postgres.server import Server, server
from wellkept.cli.app import app
from wellkept.errors import Busy, InvalidText, NotAStore, SchemaTooNew, StorageError, StorePathError, UnknownBackend
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.failures import Lost
from wellkept.storage.postgres.server import opening
from wellkept.storage.postgres.sql import migrations, queries
from wellkept.testing.checks.world import NS, World, at, changed, entry, memory, vector
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Filter, Link, LinkChange, MemoryChange

ALONE = {"PYTHONPATH": str(Path(__file__).parents[2] / "src")}


@pytest.fixture
def bare(running: Server) -> Iterator[str]:
    made = running.bare()
    yield made
    running.drop(made)


def sql(url: str, *statements: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement.encode())


def cut(running: Server, url: str) -> None:
    """End every connection to a database from the server's side."""
    name = urlsplit(url).path[1:]
    sql(running.url, f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{name}'")


# -- opening ---------------------------------------------------------------------------------


def test_a_url_opens_a_store_and_what_it_holds_is_there_again(url: str) -> None:
    with wellkept.open(url, embedder=FakeEmbedder(dim=64)) as store:
        made = store.remember("The boiler is in the cellar.").memory
    with wellkept.open(url.replace("postgresql://", "postgres://"), embedder=FakeEmbedder(dim=64)) as store:
        assert store.list() == (made,)
        assert store.verify() == ()
        assert [hit.memory for hit in store.recall("boiler cellar")] == [made]


def test_a_store_is_made_once_however_many_open_an_empty_database_together(bare: str) -> None:
    with ThreadPoolExecutor(4) as pool:
        stores = list(pool.map(lambda _: PostgresStorage(bare), range(4)))
    assert len({store.header().store_id for store in stores}) == 1
    with psycopg.connect(bare) as connection:
        applied = connection.execute("SELECT version FROM wellkept.migration ORDER BY version").fetchall()
    assert applied == [(version,) for version, _ in migrations()]
    for store in stores:
        store.close()


def test_steps_are_numbered_from_one_without_gaps() -> None:
    assert [version for version, _ in migrations()] == list(range(1, len(migrations()) + 1))


def alter(connection: psycopg.Connection[Any], change: str, columns: Mapping[str, Sequence[str]]) -> None:
    """Change columns of tables, which are given by the name of the table."""
    for table, names in columns.items():
        for name in names:
            connection.execute(f"ALTER TABLE wellkept.{table} {change.format(name)}".encode())


def test_a_database_of_version_6_is_migrated_with_everything_it_held(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing is remembered of questions at first; the entries of then ask nothing."""
    with monkeypatch.context() as patch:
        patch.setattr(opening, "migrations", lambda: migrations()[:6])
        kept = PostgresStorage(bare)
        # Today's statements name the columns that are new in versions 7, 9 and 10; the migration makes them anew.
        added = {"namespace": ("asking", "moving", "moved"), "journal": ("day",)}
        with psycopg.connect(bare, autocommit=True) as connection:
            alter(connection, "ADD COLUMN {} text NOT NULL DEFAULT ''", added)
        world = World(kept)
        row = world.add(memory("m1"), seed=1)
        world.store.close()
        with psycopg.connect(bare, autocommit=True) as connection:
            alter(connection, "DROP COLUMN {}", added)
    with psycopg.connect(bare) as connection:
        assert connection.execute("SELECT max(version) FROM wellkept.migration").fetchone() == (6,)
    store = PostgresStorage(bare)
    with store.begin(NS, write=True) as tx:
        assert (tx.asking(), tx.find(Filter()), [one.asks for one in tx.journal()]) == ("", [row], [None])
        [written] = tx.journal()
        assert tx.outcomes_by_day() == {(f"{written.at:%Y-%m-%d}", written.outcome): 1}
        tx.note_asking("noted")
    with store.begin(NS, write=False) as tx:
        assert tx.asking() == "noted"
    assert store.verify() == []
    store.close()


def test_a_database_of_version_7_gets_functions_that_do_not_hold_its_tables(
    bare: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What version 7 had, a cluster refused to distribute; names and tokens work as before."""
    with psycopg.connect(bare, autocommit=True) as connection, monkeypatch.context() as patch:
        patch.setattr(opening, "migrations", lambda: migrations()[:7])
        kept = PostgresStorage(bare)
        added = {"namespace": ("moving", "moved"), "journal": ("day",)}
        alter(connection, "ADD COLUMN {} text NOT NULL DEFAULT ''", added)
        world = World(kept)
        row = world.add(memory("m1"), seed=1)
        world.store.close()
        alter(connection, "DROP COLUMN {}", added)
        assert list(Rules(connection).functions()) != []
    store = PostgresStorage(bare)
    with psycopg.connect(bare, autocommit=True) as connection:
        assert list(Rules(connection).functions()) == []
        put = "INSERT INTO wellkept.token SELECT encode(sha256('k'), 'hex'), 'ana', %s, '{read}', now()"
        connection.execute(put.encode(), ([f"{NS}/*", NS],))
        asked = [connection.execute(b"SELECT name, seq FROM wellkept.names()").fetchall()]
        with connection.transaction():
            connection.execute("SELECT set_config('wellkept.token', 'k', true)")
            asked.append(connection.execute(b"SELECT name, seq FROM wellkept.names()").fetchall())
        connection.execute(b"DELETE FROM wellkept.token")
    assert asked == [[], [(NS, 1)]]
    with store.begin(NS, write=False) as tx:
        assert tx.find(Filter()) == [row]
    store.close()


def test_pgvector_is_added_only_where_it_is_missing(running: Server) -> None:
    """A cluster asks for the right to add it even if it is there, and a user of an application has none."""
    bare = running.bare()
    sql(bare, "CREATE EXTENSION vector")
    with listening() as sent:
        PostgresStorage(bare).close()
    running.drop(bare)
    assert [text for text in sent.first if "EXTENSION" in text] == []


def test_a_failed_step_leaves_the_database_as_it_was(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = (*migrations(), (99, "CREATE TABLE wellkept.more (x int); SELECT no_such_function();"))
    with monkeypatch.context() as patch:
        patch.setattr(opening, "migrations", lambda: broken)
        with pytest.raises(StorageError):
            PostgresStorage(bare)
    with psycopg.connect(bare) as connection:
        assert connection.execute("SELECT to_regnamespace('wellkept')").fetchone() == (None,)
    PostgresStorage(bare).close()


def test_a_schema_of_a_newer_release_is_refused(url: str) -> None:
    sql(url, "INSERT INTO wellkept.migration (version) VALUES (99)")
    try:
        with pytest.raises(SchemaTooNew, match="schema 99.*Upgrade"):
            PostgresStorage(url)
    finally:
        sql(url, "DELETE FROM wellkept.migration WHERE version = 99")


def test_somebody_elses_schema_is_left_alone(bare: str) -> None:
    sql(bare, "CREATE SCHEMA wellkept", "CREATE TABLE wellkept.theirs (x int)")
    with pytest.raises(NotAStore, match="schema 'wellkept'"):
        PostgresStorage(bare)
    sql(bare, "SELECT x FROM wellkept.theirs")


def test_a_database_that_cannot_keep_every_script_is_refused(running: Server, bare: str) -> None:
    name = urlsplit(bare).path[1:] + "_latin"
    sql(
        running.url,
        f"CREATE DATABASE \"{name}\" TEMPLATE template0 ENCODING 'LATIN1' LOCALE_PROVIDER libc LOCALE 'C'",
    )
    try:
        with pytest.raises(StorageError, match="LATIN1.*UTF8"):
            PostgresStorage(running.at(name))
    finally:
        running.drop(running.at(name))


def test_a_server_without_pgvector_is_named(bare: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's error for an extension that is not installed."""
    asked = {**queries(), "opening.extension": "CREATE EXTENSION IF NOT EXISTS wellkept_is_not_installed"}
    monkeypatch.setattr(opening, "queries", lambda: asked)
    with pytest.raises(StorageError, match="no pgvector.*Install the extension"):
        PostgresStorage(bare)


@pytest.mark.parametrize(
    "where, error, said",
    [
        ("postgresql://postgres:hunter2@127.0.0.1:1/none", StorePathError, "cannot be reached"),
        ("postgresql://postgres:hunter2@127.0.0.1:no/none", StorePathError, "port|URL"),
        ("postgresql://postgres:hunter2@[::1/none", StorePathError, "URL cannot be read"),
        ("mysql://root:hunter2@127.0.0.1/none", UnknownBackend, "no backend serves"),
    ],
)
def test_what_cannot_be_reached_says_so_and_never_tells_the_password(
    where: str, error: type[StorageError], said: str
) -> None:
    begun = time.monotonic()
    with pytest.raises(error, match=said) as caught:
        wellkept.open(where, embedder=FakeEmbedder(dim=64))
    assert "hunter2" not in str(caught.value)
    assert time.monotonic() - begun < 15


def test_without_the_driver_the_address_says_what_to_install() -> None:
    """A subprocess, since here the driver has long been imported."""
    act = "wellkept.open('postgresql://host/name', embedder='hashing')"
    code = f"import sys; sys.modules['psycopg'] = None; import wellkept; {act}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=ALONE)
    assert "UnknownBackend" in done.stderr and "Install wellkept[postgres]" in done.stderr


def test_a_file_is_opened_without_the_driver() -> None:
    code = "import sys, wellkept; wellkept.open('memory:', embedder='hashing'); assert 'psycopg' not in sys.modules"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=ALONE)
    assert done.returncode == 0, done.stderr


def test_a_database_that_is_not_there_and_a_user_nobody_knows_are_told_apart(running: Server) -> None:
    with pytest.raises(StorePathError, match="database does not exist"):
        PostgresStorage(running.at("wellkept_no_such"))
    stranger = running.url.replace("://", "://stranger:hunter2@").replace("@postgres@", "@")
    with pytest.raises(StorePathError, match="lets this user not in|refused the user") as caught:
        PostgresStorage(stranger)
    assert "hunter2" not in str(caught.value)


def test_a_wrong_password_is_refused_and_not_repeated_in_the_error(running: Server, url: str) -> None:
    if running.folder is None:
        pytest.skip("the rules of access of a server that was given are not ours to change")
    rules = running.folder / "data" / "pg_hba.conf"
    before = rules.read_text()
    rules.write_text("host all locked 127.0.0.1/32 scram-sha-256\n" + before)
    sql(running.url, "CREATE ROLE locked LOGIN SUPERUSER PASSWORD 'right'", "SELECT pg_reload_conf()")
    try:
        with pytest.raises(StorePathError, match="user or the password") as caught:
            PostgresStorage(url.replace("postgres@", "locked:wrong-one@"))
        assert "wrong-one" not in str(caught.value)
        PostgresStorage(url.replace("postgres@", "locked:right@")).close()
    finally:
        rules.write_text(before)
        sql(running.url, "DROP ROLE locked", "SELECT pg_reload_conf()")


# -- connections that are lost ---------------------------------------------------------------


def test_connections_that_died_while_idle_are_replaced_without_a_word(running: Server, url: str) -> None:
    world = World(PostgresStorage(url))
    world.add(memory("m1"), seed=1)
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: world.ids(Filter()), range(8)))
    cut(running, url)
    assert world.ids(Filter()) == ["m1"]
    cut(running, url)
    world.add(memory("m2"), seed=2)
    assert world.near(2) == ["m2", "m1"]
    world.store.close()


def test_a_connection_lost_while_writing_leaves_nothing_half_written(running: Server, url: str) -> None:
    """I3: the error says that the call can be repeated; the next one works."""
    world = World(PostgresStorage(url))
    row = world.add(memory("m1"), seed=1)
    with pytest.raises(Lost, match="repeat|Repeat"), world.store.begin(NS, write=True) as tx:
        tx.apply(entry(changed(row, title="half"), LinkChange(None, Link("m1", "m2", "related", at(1)))))
        cut(running, url)
        tx.apply(entry(MemoryChange(None, memory("m2"))))
    assert world.get("m1") == row and world.ids(Filter()) == ["m1"] and len(world.journal()) == 1
    assert world.apply(MemoryChange(None, memory("m3"))) == 2
    assert world.store.verify() == []
    world.store.close()


def test_a_store_put_back_to_an_older_state_does_not_answer_from_a_newer_matrix(url: str) -> None:
    """Not even when as many entries were written since as were lost (issue 7, item 8)."""
    world = World(PostgresStorage(url))
    world.add(memory("m1"), seed=1)
    world.add(memory("m2"), seed=2)
    assert world.near(2) == ["m2", "m1"]
    sql(
        url,
        *(f"DELETE FROM wellkept.{table} WHERE id = 'm2'" for table in ("memory", "words", "journal_memory")),
        "DELETE FROM wellkept.journal WHERE seq = 2",
        "UPDATE wellkept.namespace SET seq = 1",
    )
    assert world.near(2) == ["m1"], "an older state"
    other = World(PostgresStorage(url))
    other.add(memory("m3"), seed=3)
    other.store.close()
    assert world.near(3) == ["m3", "m1"], "another history"
    with world.store.begin(NS, write=True) as tx:
        assert tx.nearest(vector(3)[None, :], limit=1, statuses=("active",))[0].ids == ("m3",)
    world.store.close()


# -- waiting ---------------------------------------------------------------------------------


def test_a_writer_who_waits_too_long_says_busy_and_readers_never_wait(url: str) -> None:
    world = World(PostgresStorage(url))
    world.add(memory("m1"), seed=1)
    impatient = PostgresStorage(url, busy_seconds=0.1)
    with world.store.begin(NS, write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m2"))))
        with pytest.raises(Busy, match="Repeat"), impatient.begin(NS, write=True):
            raise AssertionError("two writers at once")
        with impatient.begin(NS, write=False) as reader:
            assert [row.id for row in reader.find(Filter())] == ["m1"]
        impatient.count_use(NS, {"m1": (1, at(9), None)})  # waits for nobody; see design §8
        with pytest.raises(Busy, match="already writing"), world.store.begin("elsewhere", write=True):
            raise AssertionError("one thread writes twice")
    assert world.get("m1").access_count == 0
    with impatient.begin(NS, write=True) as tx:
        assert [row.id for row in tx.find(Filter())] == ["m1", "m2"]
    assert world.get("m1").access_count == 1, "the count was made up for"
    impatient.close()
    world.store.close()


def test_counts_that_waited_are_written_when_the_store_is_closed(url: str) -> None:
    world = World(PostgresStorage(url))
    world.add(memory("m1"))
    other = PostgresStorage(url)
    with world.store.begin(NS, write=True):
        other.count_use(NS, {"m1": (1, at(9), None)})
        other.count_use(NS, {"m1": (1, at(8), None)})
    other.close()
    assert (world.get("m1").access_count, world.get("m1").last_accessed_at) == (2, at(9))
    world.store.close()


def test_an_embedder_is_not_changed_under_a_writer(url: str) -> None:
    """Vectors of two embedders are never mixed (I8, B-1)."""
    world = World(PostgresStorage(url))
    moved = threading.Event()

    def move() -> None:
        world.store.configure(embedder="kit/two", dim=4, policy="p")
        moved.set()

    mover = threading.Thread(target=move)
    with world.store.begin(NS, write=True) as tx:
        mover.start()
        assert not moved.wait(0.1)
        tx.apply(entry(MemoryChange(None, memory("m1"))))
    mover.join(20)
    assert moved.is_set() and world.store.header().embedder == "kit/two"
    world.store.close()


# -- content ---------------------------------------------------------------------------------


def test_a_nul_or_half_a_character_is_refused_as_text_and_nothing_is_written(url: str) -> None:
    world = World(PostgresStorage(url))
    for bad in ("a\0b", "a\ud800b"):
        with pytest.raises(InvalidText):
            world.apply(MemoryChange(None, memory("m1", subject=bad)))
        with pytest.raises(InvalidText):
            world.ids(Filter(subject=bad))
    assert world.ids(Filter()) == [] and world.journal() == []
    world.store.close()


def test_a_full_text_that_went_wrong_is_found_and_made_anew(url: str) -> None:
    world = World(PostgresStorage(url))
    world.add(memory("m1", "apple tree"))
    world.add(memory("m2", "birch tree"))
    sql(url, "UPDATE wellkept.words SET terms = '{}' WHERE id = 'm1'")
    assert isinstance(world.store, PostgresStorage)
    told = world.store.verify()
    assert len(told) == 1 and "not found by all their words, or by words they do not have: 1" in told[0]
    assert world.store.mend(dry_run=True) == told and world.match("apple") == []
    assert world.store.mend(dry_run=False) == told
    assert (world.match("apple"), world.match("birch"), world.store.verify()) == (["m1"], ["m2"], [])
    world.store.close()


def test_another_way_of_making_terms_makes_the_full_text_anew(url: str) -> None:
    world = World(PostgresStorage(url))
    world.add(memory("m1", "apple tree"))
    world.store.close()
    sql(url, "UPDATE wellkept.header SET words = 'as it was'", "UPDATE wellkept.words SET terms = '{}'")
    again = PostgresStorage(url)
    with again.begin(NS, write=False) as tx:
        assert tx.match(["apple"], limit=3) == ["m1"]
    again.close()


@pytest.mark.parametrize(
    "statement, told",
    [
        ("UPDATE wellkept.namespace SET seq = 9", "stands at entry 9"),
        ("DELETE FROM wellkept.memory WHERE id = 'm1'", "memory m1: the journal left it, and it is not there"),
        ("UPDATE wellkept.memory SET status = 'archived'", "columns do not repeat its record"),
        ("UPDATE wellkept.memory SET access_count = -1", "when it was last used cannot be read"),
        ("UPDATE wellkept.vector SET vec = '[1,2,3]'", "a vector of a wrong length"),
        ("UPDATE wellkept.journal SET record = 'x'", "journal entry 1: it cannot be read"),
        ("DELETE FROM wellkept.namespace", "has rows of no namespace"),
        ("INSERT INTO wellkept.alias VALUES ((SELECT ns FROM wellkept.namespace), 'h', 'm9')", "memory m9"),
    ],
)
def test_damage_is_found(url: str, statement: str, told: str) -> None:
    world = World(PostgresStorage(url))
    world.add(memory("m1"), seed=1, hashes=("h",))
    assert world.store.verify() == []
    sql(url, statement)
    assert told in "\n".join(world.store.verify())
    world.store.close()


def test_a_statement_that_takes_too_long_is_ended_and_its_call_leaves_nothing_behind(url: str) -> None:
    """A search must not hold a namespace for ever; the transaction after it has its own time."""
    store = PostgresStorage(url, statement_seconds=0.2)
    world = World(store)
    for write in (False, True):
        with pytest.raises(Busy, match="longer than it may"), store.begin(NS, write=write) as tx:
            tx._session.select("SELECT pg_sleep(20)")  # type: ignore[attr-defined]
    assert world.apply(MemoryChange(None, memory("m1"))) == 1
    patient = PostgresStorage(url, statement_seconds=0)
    with patient.begin(NS, write=False) as tx:
        assert tx._session.select("SELECT current_setting('statement_timeout')") == [("0",)]
    with store._begun("begin.read", store._unhurried) as session:
        assert session.select("SELECT current_setting('statement_timeout')") == [("0",)], "administration is bounded"
    patient.close()
    store.close()


@pytest.mark.parametrize(
    "command", [("list",), ("stats",), ("recall", "tea"), ("check", "Tea."), ("verify",), ("consolidate",)]
)
def test_who_only_reads_makes_no_store_and_says_that_there_is_none(
    command: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    url = server().bare()
    told = CliRunner().invoke(app, ["--db", url, "--embedder", "hashing", *command])
    assert told.exit_code == 0, told.stderr
    assert "There is no store at postgresql://127.0.0.1" in told.stderr
    with psycopg.connect(url) as connection:
        assert connection.execute("SELECT count(*) FROM pg_namespace WHERE nspname = 'wellkept'").fetchone() == (0,)
    refused = CliRunner().invoke(app, ["--db", url, "--embedder", "hashing", "reembed", "--json"])
    assert refused.exit_code == 1 and json.loads(refused.stdout)["error"]["type"] == "NoStore"
