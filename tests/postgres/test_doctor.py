"""`wellkept doctor` checks a database as it does a file, without changing it (design §9, §10)."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest

import wellkept
from postgres.hostile import ALICE, BOB, SECRETS, Ground, close, ground
from postgres.server import Server, server
from surfaces.command_line import Cli
from wellkept.cli.operating.store_findings import _access_and_queues, _server
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server import inspection
from wellkept.storage.postgres.server.distribution import distribute
from wellkept.storage.postgres.server.inspection import Look, ServerFacts, StoreFacts
from wellkept.storage.postgres.session import Bounds
from wellkept.storage.postgres.sql import schema_version
from wellkept.testing.embedder import FakeEmbedder

NO_STORE = {"store", "postgresql", "psycopg", "python", "model"}
INSIDE = {"access", "vectors", "contents", "integrity"}
CATALOGUE = """
SELECT 'relation', c.oid::text, c.relname::text, c.xmin::text FROM pg_class AS c
UNION ALL SELECT 'schema', n.oid::text, n.nspname::text, n.xmin::text FROM pg_namespace AS n
UNION ALL SELECT 'type', t.oid::text, t.typname::text, t.xmin::text FROM pg_type AS t
UNION ALL SELECT 'function', p.oid::text, p.proname::text, p.xmin::text FROM pg_proc AS p
UNION ALL SELECT 'extension', e.oid::text, e.extname::text, e.xmin::text FROM pg_extension AS e
UNION ALL SELECT 'settings', s.setrole::text, s.setconfig::text, s.xmin::text FROM pg_db_role_setting AS s
ORDER BY 1, 2, 3
"""


@pytest.fixture
def bare(running: Server) -> Iterator[str]:
    made = running.bare()
    yield made
    running.drop(made)


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "300")
    return tmp_path


def ask(url: str, *statements: str) -> list[Any]:
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in statements:
            cursor = connection.execute(statement.encode())
        return cursor.fetchall() if cursor.description else []


class Doctor(Cli):
    """A command line on the address it is given, whatever other tests keep their stores in."""

    @property
    def db(self) -> Any:
        return self.file


def doctor(here: Path, url: str) -> Doctor:
    return Doctor(here, url)  # type: ignore[arg-type]


def look(here: Path, url: str, *, code: int = 0) -> dict[str, dict[str, Any]]:
    findings = doctor(here, url).json("doctor", code=code)["findings"]
    return {item["topic"]: item for item in findings}


def rows(url: str) -> list[Any]:
    """Every row of every table of the store, with the transaction that wrote it."""
    names = ask(
        url,
        "SELECT c.relname FROM pg_class AS c JOIN pg_namespace AS n ON n.oid = c.relnamespace "
        "WHERE n.nspname = 'wellkept' AND c.relkind = 'r' ORDER BY 1",
    )
    return [
        (name, ask(url, f"SELECT t.xmin::text, t.ctid::text, t::text FROM wellkept.{name} AS t ORDER BY 2"))
        for (name,) in names
    ]


# -- a store that is there --------------------------------------------------------------------


def test_a_store_in_a_database_is_looked_through_as_one_in_a_file(here: Path, url: str) -> None:
    cli = doctor(here, url)
    cli("remember", "Deploys happen on Monday.")
    cli("remember", "Deploys do not happen on Monday.", "--namespace", "acme")
    cli("remember", "Deploys happen on Monday.", "--namespace", "acme")
    [(version, vectors, store_id)] = ask(
        url,
        "SELECT current_setting('server_version'), (SELECT extversion FROM pg_extension WHERE extname = 'vector'), "
        "(SELECT store_id FROM wellkept.header)",
    )
    found = look(here, url)
    assert set(found) >= NO_STORE | INSIDE
    assert found["postgresql"]["what"] == f"{version}, pgvector {vectors}, login postgres"
    assert f"schema {schema_version()}, " in found["store"]["what"] and store_id in found["store"]["what"]
    assert found["access"]["what"].startswith("this login owns the store and sees all namespaces; there are no")
    assert "3 memories, 3 journal entries, 2 namespaces" in found["contents"]["what"]
    assert (found["conflicts"]["health"], found["conflicts"]["what"]) == ("warn", "1 open")
    assert found["vectors"]["what"] == "hashing-v1/384"
    assert found["integrity"] == {"topic": "integrity", "health": "ok", "what": "sound", "todo": ""}


def test_the_size_is_that_of_the_tables_with_their_indexes(url: str) -> None:
    view = Look(url)
    facts = view.store()
    view.close()
    [(size,)] = ask(
        url,
        "SELECT sum(pg_total_relation_size(c.oid))::bigint FROM pg_class AS c JOIN pg_namespace AS n "
        "ON n.oid = c.relnamespace WHERE n.nspname = 'wellkept' AND c.relkind = 'r'",
    )
    assert facts is not None and facts.size == size > 100_000


def test_looking_writes_nothing_into_a_store_not_even_what_waits(here: Path, url: str) -> None:
    doctor(here, url)("remember", "Tea at four.")
    with wellkept.open(url, embedder="hashing") as store:
        store.queue.remember("waits", kind="thesis")
    ask(url, 'UPDATE wellkept.waiting SET record = replace(record, \'"at": "20\', \'"at": "19\')')  # long ago
    Path("wellkept.toml").write_text('[kinds.recipe]\npreset = "knowledge"\n', encoding="utf-8")  # another policy
    before = rows(url)
    found = look(here, url)
    assert found["queue"] == {
        "topic": "queue", "health": "ok", "what": "1 write waits", "todo": "`wellkept queue flush` writes them",
    }  # fmt: skip
    assert rows(url) == before


def test_a_database_that_takes_no_writes_is_looked_through_all_the_same(here: Path, running: Server, bare: str) -> None:
    """As a standby is; the server itself would refuse whatever wrote."""
    doctor(here, bare)("remember", "Tea at four.")
    Path("wellkept.toml").write_text('[kinds.recipe]\npreset = "knowledge"\n', encoding="utf-8")
    ask(running.url, f'ALTER DATABASE "{urlsplit(bare).path[1:]}" SET default_transaction_read_only = on')
    found = look(here, bare)
    assert "1 memory, 1 journal entry, 1 namespace" in found["contents"]["what"]
    assert found["integrity"]["what"] == "sound"


def test_writes_that_failed_and_jobs_that_were_given_up_are_told(here: Path, url: str) -> None:
    with wellkept.open(url, embedder="hashing") as store:
        store.remember("Tea at four.")
        store.queue.remember("waits", kind="thesis")
        store.queue.remember("waits too", kind="thesis")
        ask(
            url,
            "UPDATE wellkept.waiting SET error = 'no', attempts = 1 WHERE place = 1",
            "INSERT INTO wellkept.job (ns, kind, name, state, due) VALUES "
            f"({number_of('default')}, 'sweep', 'default', 'failed', now()), "
            f"({number_of('acme')}, 'sweep', 'acme', 'due', now() + interval '1 day')",
        )
        found = look(here, url)
        assert (found["queue"]["health"], found["queue"]["what"]) == ("warn", "2 writes wait, of which 1 failed before")
        assert (found["jobs"]["health"], found["jobs"]["what"]) == ("warn", "1 were given up")
        ask(url, "DELETE FROM wellkept.waiting")


def test_what_is_broken_inside_is_a_failure_and_what_comes_after_is_told_too(here: Path, url: str) -> None:
    doctor(here, url)("remember", "Tea at four.")
    ask(url, "UPDATE wellkept.memory SET record = '{'")
    found = look(here, url, code=3)
    assert found["integrity"]["health"] == "fail"
    assert found["store"]["health"] == found["vectors"]["health"] == "ok"


def test_a_store_that_another_one_holds_is_told_soon(here: Path, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inspection, "_BOUNDS", Bounds(lock=100, statement=100))
    with psycopg.connect(url) as other:
        other.execute("LOCK TABLE wellkept.migration")
        found = look(here, url, code=3)
    assert found["store"]["health"] == "fail"
    assert found["postgresql"]["health"] == "ok", "one finding hides no other"


# -- none, or another one ---------------------------------------------------------------------


def test_an_empty_database_is_told_and_stays_as_it_was(here: Path, bare: str) -> None:
    """Neither tables nor a schema nor the extension: to look is not to make."""
    before = ask(bare, CATALOGUE)
    found = look(here, bare)
    assert "holds no store yet" in found["store"]["what"]
    assert (found["store"]["health"], found["store"]["todo"]) == ("ok", "`wellkept remember TEXT` creates it")
    assert ", no pgvector in the database, login postgres; the server has " in found["postgresql"]["what"]
    assert set(found).isdisjoint(INSIDE) and set(found) >= NO_STORE
    assert ask(bare, CATALOGUE) == before


def test_what_an_older_release_left_is_not_brought_up_to_date_by_looking(here: Path, bare: str) -> None:
    PostgresStorage(bare).close()
    ask(bare, f"DELETE FROM wellkept.migration WHERE version = {schema_version()}")
    before = ask(bare, CATALOGUE), rows(bare)
    found = look(here, bare)
    assert found["store"]["health"] == "warn" and "older release" in found["store"]["what"]
    assert set(found).isdisjoint(INSIDE)
    assert (ask(bare, CATALOGUE), rows(bare)) == before


def test_full_text_of_an_older_release_is_not_made_anew_by_looking(here: Path, url: str) -> None:
    with wellkept.open(url, embedder=FakeEmbedder(dim=64)) as store:
        store.remember("Tea at four.")
    [(words,)] = ask(url, "SELECT words FROM wellkept.header")
    ask(url, "UPDATE wellkept.header SET words = 'older'")
    before = rows(url)
    try:
        assert "older release" in look(here, url)["store"]["what"]
        assert rows(url) == before
    finally:
        ask(url, f"UPDATE wellkept.header SET words = '{words}'")


def test_a_store_of_a_newer_release_is_a_failure_with_a_remedy(here: Path, bare: str) -> None:
    PostgresStorage(bare).close()
    ask(bare, "INSERT INTO wellkept.migration (version) VALUES (99)")
    found = look(here, bare, code=3)
    assert (found["store"]["health"], found["store"]["todo"]) == ("fail", "Upgrade wellkept")
    assert found["postgresql"]["health"] == "ok"


@pytest.mark.parametrize(
    "statements, said",
    [
        (["CREATE SCHEMA wellkept", "CREATE TABLE wellkept.theirs (x int)"], "is not a store"),
        (["CREATE SCHEMA wellkept", "CREATE TABLE wellkept.migration (version int)"], "does not say what it is|tables"),
    ],
)
def test_a_schema_that_is_no_store_is_a_failure_and_not_a_crash(
    here: Path, bare: str, statements: list[str], said: str
) -> None:
    ask(bare, *statements)
    found = look(here, bare, code=3)
    assert found["store"]["health"] == "fail"
    assert any(part in found["store"]["what"] for part in said.split("|"))


# -- a server that does not answer ------------------------------------------------------------


def test_a_server_that_is_not_there_is_a_failure_with_a_remedy(here: Path) -> None:
    found = look(here, "postgresql://ana:hunter2@127.0.0.1:1/memory", code=3)
    assert found["store"]["health"] == "fail" and "cannot be reached" in found["store"]["what"]
    assert found["store"]["todo"] == "Check host, port and the server"
    assert found["python"]["health"] == found["model"]["health"] == "ok"


def test_a_server_that_takes_the_call_and_says_nothing_is_given_up_soon(here: Path) -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        begun = time.monotonic()
        found = look(here, f"postgresql://ana@127.0.0.1:{silent.getsockname()[1]}/memory", code=3)
    assert found["store"]["health"] == "fail" and found["store"]["todo"]
    assert time.monotonic() - begun < 3 * inspection.CONNECT_SECONDS


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ana:s3cret@127.0.0.1:1/memory?password=s3cret",
        "postgresql://ana:s3cret@127.0.0.1:no/memory",
        "postgresql://ana:s3cret@[::1/memory",
        "postgresql://ana:s3cret/x@127.0.0.1/memory",
        "postgresql://ana:12/s3cret@127.0.0.1/memory",
        "postgresql://ana:s3cret?x@127.0.0.1/memory",
        "postgresql://ana:s3cret#x@127.0.0.1/memory",
        "postgresql://127.0.0.1:1/memory?user=ana@home&password=s3cret@x",
        "mysql://ana:s3cret@127.0.0.1/memory",
    ],
)
def test_no_password_is_shown_whatever_is_wrong_with_the_address(here: Path, address: str) -> None:
    for words in (["doctor"], ["doctor", "--json"]):
        told = doctor(here, address)(*words, code=3)
        assert "s3cret" not in told.stdout + told.stderr
        assert "python" in told.stdout


def test_no_password_is_shown_of_a_store_that_is_there(here: Path, url: str) -> None:
    parts = urlsplit(url)
    address = urlunsplit(
        parts._replace(netloc=f"postgres:s3cret@{parts.hostname}:{parts.port}", query="password=s3cret")
    )
    for words in (["doctor"], ["doctor", "--json"]):
        told = doctor(here, address)(*words)
        assert "s3cret" not in told.stdout + told.stderr
        assert f"{parts.hostname}:{parts.port}{parts.path}" in told.stdout


# -- who may see what -------------------------------------------------------------------------


@pytest.fixture(scope="module")
def closed() -> Iterator[Ground]:
    with ground(server()) as made:
        for namespace in (ALICE, BOB):
            with wellkept.open(made.owner, embedder="hashing", relation_model="none", namespace=namespace) as store:
                store.remember("The ferns need water.")
                store.queue.remember("waits", kind="thesis")
        assert close(made) == []
        made.give(ALICE, ("alice/*",), ("read",))
        yield made


def test_the_owner_is_told_everything(here: Path, closed: Ground) -> None:
    found = look(here, closed.owner)
    assert found["access"]["what"] == (
        "this login owns the store and sees all namespaces; access rules apply to others"
    )
    assert "2 memories, 2 journal entries, 2 namespaces" in found["contents"]["what"]
    assert found["queue"]["what"] == "2 writes wait"
    assert found["integrity"]["what"] == "sound"


def test_a_superuser_is_told_that_no_rule_holds_for_him(here: Path, closed: Ground) -> None:
    assert look(here, closed.above)["access"]["what"].startswith("this login bypasses all access rules and sees all")


def test_an_owner_with_a_token_is_told_that_it_narrows_what_is_seen(
    here: Path, closed: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLKEPT_TOKEN", SECRETS[ALICE])
    found = look(here, closed.owner)
    assert "owns the store and with this token sees what it opens" in found["access"]["what"]
    assert "1 memory, 1 journal entry, 1 namespace" in found["contents"]["what"]


def test_an_application_without_a_token_is_told_that_it_sees_nothing(here: Path, closed: Ground) -> None:
    found = look(here, closed.tenant)
    assert (found["access"]["health"], found["access"]["todo"]) == ("warn", "Set WELLKEPT_TOKEN")
    assert "subject to the access rules" in found["access"]["what"]
    assert found["store"]["health"] == "ok" and "schema" in found["store"]["what"]
    assert set(found).isdisjoint({"contents", "queue", "jobs", "integrity"})


def test_an_application_is_told_what_its_token_opens(
    here: Path, closed: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I8: neither memories nor writes of others are counted."""
    monkeypatch.setenv("WELLKEPT_TOKEN", SECRETS[ALICE])
    found = look(here, closed.tenant)
    assert found["access"]["health"] == "ok" and "subject to the access rules" in found["access"]["what"]
    assert "1 memory, 1 journal entry, 1 namespace" in found["contents"]["what"]
    assert found["integrity"]["what"] == "sound"
    assert "queue" not in found and "jobs" not in found
    assert BOB not in doctor(here, closed.tenant)("doctor").stdout


def test_a_token_that_opens_nothing_is_a_failure_and_no_damage(
    here: Path, closed: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WELLKEPT_TOKEN", "wk_of_nobody")
    found = look(here, closed.tenant, code=3)
    assert (found["contents"]["health"], found["contents"]["todo"]) == ("fail", "Use one that covers it")
    assert "integrity" not in found
    assert "wk_of_nobody" not in doctor(here, closed.tenant)("doctor", code=3).stdout


def test_a_login_without_any_right_is_a_failure_and_the_server_is_told(here: Path, closed: Ground) -> None:
    parts = urlsplit(closed.tenant)
    stranger = f"{parts.username}_stranger"
    closed.sql(f"CREATE ROLE {stranger} LOGIN")
    try:
        found = look(here, urlunsplit(parts._replace(netloc=f"{stranger}@{parts.hostname}:{parts.port}")), code=3)
    finally:
        closed.sql(f"DROP ROLE {stranger}")
    assert found["store"]["health"] == "fail" and "lacks a right" in found["store"]["what"]
    assert found["postgresql"]["what"].endswith(f"login {stranger}")


def test_a_store_that_is_spread_says_so(here: Path, bare: str) -> None:
    ask(bare, (Path(__file__).parent / "cluster.sql").read_text("utf-8"))
    PostgresStorage(bare).close()
    assert "cluster" not in look(here, bare)
    distribute(bare)
    found = look(here, bare)
    assert found["cluster"]["health"] == "ok" and "distributed by namespace" in found["cluster"]["what"]
    assert found["integrity"]["what"] == "sound"


# -- findings from facts ----------------------------------------------------------------------


def served(version: str = "18.6", *, vectors: str = "0.8.1", available: str = "0.8.1", standby: bool = False) -> Any:
    number = int(version.partition(".")[0])
    facts = ServerFacts(
        version=version, number=number, vectors=vectors, available=available, login="ana", standby=standby
    )
    return [(item.health, item.what, item.todo) for item in _server(facts)]


NEWER = "Install the extension `vector`, 0.8 or newer, on the server"
UPDATE = "Run ALTER EXTENSION vector UPDATE"


@pytest.mark.parametrize(
    "facts, health, what, todo",
    [
        ({}, "ok", "18.6, pgvector 0.8.1, login ana", ""),
        ({"standby": True}, "ok", "18.6, pgvector 0.8.1, login ana, a read-only standby", ""),
        ({"version": "14.19"}, "ok", "14.19, pgvector 0.8.1, login ana", ""),
        ({"version": "13.22"}, "fail", "13.22, pgvector 0.8.1, login ana", "Use PostgreSQL 14 or newer"),
        ({"vectors": "0.10.0"}, "ok", "18.6, pgvector 0.10.0, login ana", ""),
        ({"vectors": "0.7.4"}, "warn", "`wellkept db index` needs 0.8", UPDATE),
        ({"vectors": "0.7.4", "available": "0.7.4"}, "warn", "`wellkept db index` needs 0.8", NEWER),
        ({"vectors": "0.5.1"}, "fail", "0.7 is needed", UPDATE),
        ({"vectors": "", "available": "0.5.1"}, "fail", "0.7 is needed", NEWER),
        ({"vectors": "", "available": ""}, "fail", "nor on the server", NEWER),
        ({"vectors": ""}, "ok", "no pgvector in the database, login ana; the server has 0.8.1 for it", ""),
    ],
)
def test_a_server_that_is_too_old_is_told_with_what_to_do(
    facts: dict[str, Any], health: str, what: str, todo: str
) -> None:
    [(found, said, remedy)] = served(**facts)
    assert (found, remedy) == (health, todo)
    assert what in said


def test_a_server_and_an_extension_that_are_both_too_old_are_both_told() -> None:
    assert [todo for _, _, todo in served("12.9", vectors="0.5.1")] == ["Use PostgreSQL 14 or newer", UPDATE]


def test_a_login_that_lacks_rights_where_there_are_no_rules_is_warned() -> None:
    facts = StoreFacts(schema=5, current=True, store_id="s", size=1, closed=False, owns=False, above=False, behind=True)
    [found] = _access_and_queues(facts, has_token=False)
    assert found.health == "warn" and "wellkept db secure" in found.todo
