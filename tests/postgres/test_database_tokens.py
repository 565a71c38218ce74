"""Tokens in the database: a library user, a server and a pooler each act under one, and the database asks (I8)."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from hypothesis import given
from hypothesis import strategies as st
from starlette.testclient import TestClient

import wellkept
from examples import examples
from postgres.hostile import ALICE, BOB, SECRETS, Ground, close, empty, ground
from postgres.server import server
from surfaces.command_line import Cli
from wellkept.engine.base.retry import Patience
from wellkept.errors import AmbiguousId, ConfigError, InvalidField, NotFound, NotPermitted, ReadOnly
from wellkept.server.access import Grant
from wellkept.server.access.grants import covers
from wellkept.server.access.one_namespace import bound
from wellkept.server.access.token_database import DatabaseTokens
from wellkept.server.serving.assembly import assembled
from wellkept.storage.port import Storage
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server import opening
from wellkept.storage.postgres.server.connections import Connections
from wellkept.storage.postgres.server.isolation import secure_again
from wellkept.storage.postgres.session import Connection
from wellkept.storage.postgres.shared.tokens import key_of
from wellkept.storage.postgres.sql import migrations
from wellkept.testing.conformance import CHECKS, Check, run_one
from wellkept.testing.embedder import FakeEmbedder

BOUNCER = shutil.which("pgbouncer") or os.environ.get("WELLKEPT_TEST_PGBOUNCER", "")


@pytest.fixture(scope="module")
def closed() -> Iterator[Ground]:
    with ground(server()) as made:
        made.own(ALICE).close()
        assert close(made) == []
        made.give("all", ("*",), ("admin",))
        yield made


@pytest.fixture
def two(closed: Ground) -> Iterator[Ground]:
    """Two tenants; their data and tokens are created for each test."""
    empty(closed)
    closed.own(ALICE).close()
    closed.sql("DELETE FROM wellkept.token WHERE name <> 'all'")
    closed.give(ALICE, ("alice/*",), ("write",))
    closed.give(BOB, (BOB,), ("admin",))
    closed.give("reader", ("alice/*",), ("read",))
    yield closed


def ended(made: Ground, name: str) -> None:
    made.sql(f"UPDATE wellkept.token SET revoked_at = now() WHERE name = '{name}'")


# -- a library user ---------------------------------------------------------------------------


def test_a_library_user_remembers_and_recalls_under_a_token_and_nowhere_else(two: Ground) -> None:
    with two.store(ALICE, SECRETS[ALICE]) as store, two.store(BOB, SECRETS[BOB]) as his:
        first = store.remember("The boiler is in the cellar.", subject="boiler").memory
        assert store.remember("The boiler is in the cellar.").outcome == "duplicate"
        his.remember("The boiler is in the cellar.")
        assert first is not None and [hit.memory.id for hit in store.recall("boiler")] == [first.id]
        assert store.get(first.id).access_count >= 1, "its use was counted"
        assert store.namespaces() == (ALICE,) and his.namespaces() == (BOB,)
        assert store.verify() == () and his.verify() == ()
        assert store.in_namespace("alice/b").remember("Elsewhere.").outcome == "created"
        for verb in (lambda: store.in_namespace(BOB).list(), lambda: store.in_namespace("alice").remember("Above.")):
            with pytest.raises(NotPermitted, match="the token does not allow this"):
                verb()
        assert len(his.list()) == 1


def test_without_a_token_or_with_a_wrong_one_nothing_is_shown_and_no_secret_is_told(two: Ground) -> None:
    with two.store(ALICE, "") as store, pytest.raises(NotPermitted, match="without a token"):
        store.list()
    for wrong in ("wk_guess", key_of(SECRETS[ALICE]), "x" * 10_000, "wk\ud800"):
        with two.store(ALICE, wrong) as store, pytest.raises(NotPermitted) as told:
            store.list()
        assert wrong not in str(told.value)


def test_a_reader_reads_and_a_token_that_has_ended_does_nothing(two: Ground) -> None:
    with two.own(ALICE) as owner:
        kept = owner.remember("Tea is upstairs.").memory
    with two.store(ALICE, SECRETS["reader"]) as store:
        assert kept is not None and [hit.memory.id for hit in store.recall("tea")] == [kept.id]
        with pytest.raises(NotPermitted):
            store.remember("Coffee is not.")
        ended(two, "reader")
        with pytest.raises(NotPermitted):
            store.list()
    two.give("ended", ("*",), ("admin",), ends=datetime.now(UTC) + timedelta(hours=1))
    with two.store(ALICE, SECRETS["ended"]) as store:
        assert [memory.id for memory in store.list()] == [kept.id]
        two.sql("UPDATE wellkept.token SET expires_at = now() - interval '1 s' WHERE name = 'ended'")
        with pytest.raises(NotPermitted):
            store.list()


def test_a_token_that_is_revoked_while_it_writes_leaves_nothing_and_spoils_no_search(two: Ground) -> None:
    """The matrix that the namespace's other readers share was not filled from rows that were hidden."""
    with two.own(ALICE) as owner:
        owner.remember("Tea is upstairs.")
    storage = PostgresStorage(two.tenant, token=SECRETS[ALICE])
    other = storage.under(SECRETS["all"])
    embedder = FakeEmbedder(dim=64)
    mine = wellkept.open(storage, embedder=embedder, relation_model="none", namespace=ALICE)
    query = embedder.embed(["Tea is upstairs."])[0].vector[None, :]
    with pytest.raises(NotPermitted), storage.begin(ALICE, write=True) as tx:
        ended(two, ALICE)
        tx.nearest(query, limit=1, statuses=("active",))
    with other.begin(ALICE, write=False) as tx:
        assert len(tx.nearest(query, limit=1, statuses=("active",))[0].ids) == 1
    assert two.sql("SELECT count(*) FROM wellkept.journal") == [(1,)]
    mine.close()


def test_writes_that_wait_are_those_of_their_token(two: Ground) -> None:
    with two.store(ALICE, SECRETS[ALICE]) as store, two.store(BOB, SECRETS[BOB]) as his:
        store.queue.remember("Alice waits.", kind="thesis")
        his.queue.remember("Bob waits.", kind="thesis")
        assert [one.namespace for one in store.queue.pending()] == [ALICE]
        assert [result.outcome for result in store.queue.flush().results] == ["created"]
        assert len(his.queue) == 1 and len(store.queue) == 0
        assert [memory.content for memory in store.list()] == ["Alice waits."]


@pytest.mark.parametrize("name", ["", "/", "alice/", "/alice", "alice//a", "alice/a/", "*"])
def test_a_name_that_is_no_path_is_opened_by_no_token(two: Ground, name: str) -> None:
    storage = PostgresStorage(two.tenant, token=SECRETS["all" if name != "*" else BOB])
    for write in (False, True):
        with pytest.raises(NotPermitted), storage.begin(name, write=write):
            raise AssertionError("it was opened")
    storage.close()


def test_the_owner_needs_no_token_and_is_no_superuser(two: Ground) -> None:
    with two.own(ALICE) as owner:
        kept = owner.remember("Tea is upstairs.").memory
        assert owner.list() == (kept,) and owner.namespaces() == (ALICE,) and owner.verify() == ()
    assert two.sql(f"SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = '{_user(two.owner)}'") == [(False,)]


def test_only_a_server_takes_a_token(tmp_path: Path) -> None:
    for url in ("memory:", str(tmp_path / "agent.db")):
        with pytest.raises(InvalidField, match="token"):
            wellkept.open(url, embedder="hashing", token="wk_x")


OF_PATHS = [check for check in CHECKS if check.name != "no method sees another namespace"]
"""That one writes in a namespace whose name is no path, and no token opens such a one."""


@pytest.mark.parametrize("check", OF_PATHS, ids=[check.name for check in OF_PATHS])
def test_the_backend_conforms_behind_the_rules(check: Check, closed: Ground) -> None:
    """Every rule of the port holds for a login that is bound by them, under a token for everything (I9)."""
    empty(closed)
    made: list[Behind] = []

    def make() -> Storage:
        made.append(Behind(closed))
        return made[-1]

    def reopen(store: Storage) -> Storage:
        store.close()
        return make()

    try:
        run_one(check, make, reopen)
    finally:
        for one in made:
            one.close()


class Behind(PostgresStorage):
    """A store of an application; what only an owner may do is done by the owner."""

    def __init__(self, made: Ground) -> None:
        self._ground = made
        super().__init__(made.tenant, token=SECRETS["all"])

    def configure(self, *, embedder: str, dim: int, policy: str) -> None:
        owner = PostgresStorage(self._ground.owner)
        owner.configure(embedder=embedder, dim=dim, policy=policy)
        owner.close()
        if self._model is not None:
            self.bind(embedder)


# -- the same rules in two languages ----------------------------------------------------------

_PARTS = st.sampled_from(["a", "b", "*", "", "acme", "名", " a", "%", "_", "a%", ".*"])
_PATHS = st.lists(_PARTS, min_size=1, max_size=4).map("/".join)


def test_the_database_reads_patterns_and_names_as_the_server_does(two: Ground) -> None:
    with psycopg.connect(two.above, autocommit=True) as connection:

        @examples(80, 300, deadline=None)
        @given(_PATHS, _PATHS)
        def same(pattern: str, name: str) -> None:
            [(said, number)] = connection.execute(
                "SELECT wellkept.covers(ARRAY[%s::text], %s), wellkept.number_of(%s)", (pattern, name, name)
            ).fetchall()
            assert number == number_of(name)
            # What is kept has no blank around a part; the database need not forgive one.
            if all(part == part.strip() for part in (*pattern.split("/"), *name.split("/"))):
                assert said == covers(pattern, name), (pattern, name)
            else:
                assert not said or covers(pattern, name)

        same()


# -- tokens as they are kept ------------------------------------------------------------------


@pytest.fixture
def tokens(two: Ground) -> Iterator[DatabaseTokens]:
    storage = PostgresStorage(two.owner)
    yield DatabaseTokens(storage.tokens())
    storage.close()


def test_a_token_is_made_found_listed_and_ended_for_every_server_at_once(two: Ground, tokens: DatabaseTokens) -> None:
    other_storage = PostgresStorage(two.tenant)
    other = DatabaseTokens(other_storage.tokens())
    token_id, secret = tokens.create(name="ci", namespaces=["acme/*", " acme / * "], scopes=["write", "read"])
    grant = other.grant_of(secret)
    assert grant == Grant("ci", ("acme/*",), frozenset({"read", "write"})) and other.required and other.usable
    [row] = [token for token in tokens.list() if token.id == token_id]
    assert (row.name, row.namespaces, row.scopes, row.state(datetime.now(UTC))) == (
        "ci", ("acme/*",), ("read", "write"), "active",
    )  # fmt: skip
    assert tokens.revoke(token_id[:6]).state(datetime.now(UTC)) == "revoked"
    again = tokens.revoke(token_id)
    assert again.revoked_at == tokens.revoke(token_id).revoked_at
    for unknown in (secret, "wk_nobody", "", "x" * 10_000):
        assert other.grant_of(unknown) is None
    with pytest.raises(ReadOnly):
        other.list()
    other_storage.close()


def test_the_database_holds_no_secret_and_nothing_that_opens_a_server(two: Ground, tokens: DatabaseTokens) -> None:
    _, secret = tokens.create(name="ci", namespaces=["*"], scopes=["admin"])
    held = str(two.sql("SELECT t::text FROM wellkept.token AS t"))
    assert secret not in held and key_of(secret) not in held
    assert tokens.grant_of(key_of(secret)) is None
    assert all(tokens.grant_of(token.hash) is None for token in tokens.list())
    assert secret not in repr(tokens.grant_of(secret))


def test_what_cannot_be_granted_is_refused_and_a_doubtful_id_ends_nothing(tokens: DatabaseTokens) -> None:
    before = tokens.list()
    good: dict[str, Any] = {"name": "ci", "namespaces": ["a"], "scopes": ["read"]}
    past = datetime(2020, 1, 1, tzinfo=UTC)
    for wrong in (
        {"name": " "},
        {"namespaces": []},
        {"namespaces": ["a*"]},
        {"scopes": ["root"]},
        {"expires_at": past},
    ):
        with pytest.raises(InvalidField):
            tokens.create(**{**good, **wrong})
    for nothing in ("", "zz", "%"):
        with pytest.raises(NotFound):
            tokens.revoke(nothing)
    first = {token.id[0] for token in before}
    if len(first) < len(before):
        twice = next(one for one in first if sum(token.id.startswith(one) for token in before) > 1)
        with pytest.raises(AmbiguousId):
            tokens.revoke(twice)
    assert tokens.list() == before


# -- closing ----------------------------------------------------------------------------------


def test_closing_again_changes_nothing_and_only_the_owner_can(two: Ground) -> None:
    rules = "SELECT polname, polrelid::regclass::text, pg_get_expr(polqual, polrelid) FROM pg_policy ORDER BY 1, 2"
    before = two.sql(rules)
    assert close(two) == [] and two.sql(rules) == before and len(before) > 100
    stranger = PostgresStorage(two.tenant)
    with pytest.raises(ReadOnly, match="lacks a right"):
        stranger.secure(two.app)
    stranger.close()


@pytest.mark.parametrize(
    "role, error", [("postgres", ConfigError), ("", InvalidField), ("pg_x", InvalidField), ("x" * 64, InvalidField)]
)
def test_a_role_above_the_rules_is_no_application(two: Ground, role: str, error: type[Exception]) -> None:
    owner = PostgresStorage(two.owner)
    with pytest.raises(error):
        owner.secure(role)
    with pytest.raises(ConfigError):
        owner.secure(_user(two.owner))
    owner.close()


def test_a_table_that_a_later_release_adds_is_closed_with_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rules are made by going through the catalog, again after each migration of a closed store."""
    with ground(server()) as made:
        made.own(ALICE).close()
        close(made)
        made.give(ALICE, (ALICE,), ("write",))
        later = (*migrations(), (99, "CREATE TABLE wellkept.later (ns bigint, said text);"))
        with monkeypatch.context() as patch:
            patch.setattr(opening, "migrations", lambda: later)
            patch.setattr(opening, "schema_version", lambda: 99)
            PostgresStorage(made.owner).close()
        made.sql(f"INSERT INTO wellkept.later VALUES ({number_of(BOB)}, 'his'), ({number_of(ALICE)}, 'hers')")
        with psycopg.connect(made.tenant) as connection:
            connection.execute("SELECT wellkept.enter(%s, %s)", (ALICE, key_of(SECRETS[ALICE])))
            assert connection.execute("SELECT said FROM wellkept.later").fetchall() == [("hers",)]


def test_a_role_whose_name_has_to_be_quoted_is_found_again_after_a_migration() -> None:
    with ground(server()) as made:
        made.app = f'{made.app} "Of Ours"'
        made.sql(f"CREATE ROLE {_quoted(made.app)}")
        try:
            owner = PostgresStorage(made.owner)
            owner.secure(made.app)
            with owner._begun("begin.write") as session:
                secure_again(session)
                found = session.rows("isolation.applications")
            owner.close()
            assert found == [(made.app,)]
            assert made.sql("SELECT count(*) FROM pg_roles WHERE rolname LIKE '%Of Ours%'") == [(1,)]
        finally:
            made.sql(f"DROP OWNED BY {_quoted(made.app)}", f"DROP ROLE {_quoted(made.app)}")


# -- a server ---------------------------------------------------------------------------------


@pytest.fixture
def serving(two: Ground) -> Iterator[tuple[TestClient, wellkept.MemoryStore]]:
    """A server that logs in as an application, as `wellkept serve` makes it."""
    store = two.store("default", "")
    table = store._ctx.storage.tokens()  # type: ignore[attr-defined]
    whole = assembled(store, tokens=DatabaseTokens(table), rate=None, hosts=("testserver",))
    with TestClient(whole.app, raise_server_exceptions=False) as client:
        yield client, store
    store.close()


def sent(client: TestClient, name: str, namespace: str, content: str = "") -> int:
    headers = {"Authorization": f"Bearer {SECRETS[name]}", "Wellkept-Namespace": namespace}
    if content:
        return client.post("/v1/memories", json={"content": content}, headers=headers).status_code
    return client.get("/v1/memories", headers=headers).status_code


def test_each_request_is_served_under_its_own_token(
    two: Ground, serving: tuple[TestClient, wellkept.MemoryStore]
) -> None:
    client, _ = serving
    assert (sent(client, ALICE, ALICE, "Tea."), sent(client, BOB, BOB, "Coffee.")) == (201, 201)
    assert (sent(client, ALICE, BOB), sent(client, BOB, ALICE), sent(client, "reader", ALICE, "No.")) == (403, 403, 403)
    assert client.get("/v1/memories").status_code == 401
    assert client.get("/readyz").status_code == 200
    figures = client.get("/metrics", headers={"Authorization": f"Bearer {SECRETS['all']}"})
    assert 'wellkept_memories{status="active"} 2.0' in figures.text
    ended(two, ALICE)
    assert (sent(client, ALICE, ALICE), sent(client, BOB, BOB)) == (401, 200)


def test_after_one_request_has_written_the_next_one_leaves_a_server_that_takes_no_more_writes(
    two: Ground, serving: tuple[TestClient, wellkept.MemoryStore]
) -> None:
    """Each request has its own view of the store, and all share the connections."""
    _, store = serving
    storage = store._ctx.storage
    assert isinstance(storage, PostgresStorage)

    def written() -> str:
        seen = wellkept.MemoryStore(bound(store._ctx, Grant("alice", ("*",), frozenset(), secret=SECRETS[ALICE])))
        return seen.in_namespace(ALICE).remember("Tea.", kind="thesis").outcome

    assert written() == "created"
    pauses: list[float] = []

    def slept(seconds: float) -> None:
        pauses.append(seconds)
        two.sql(f'ALTER DATABASE "{two.name}" RESET default_transaction_read_only')

    storage.insist = Patience(30, sleep=slept).insist
    two.sql(f'ALTER DATABASE "{two.name}" SET default_transaction_read_only = on')
    storage._pool.renew()
    assert written() == "created"
    assert len(pauses) == 1


def test_an_application_is_told_that_jobs_are_not_its_own(two: Ground) -> None:
    """Rules of access would else make the list empty, and a worker ask for ever."""
    storage = PostgresStorage(two.tenant, token=SECRETS[ALICE])
    with pytest.raises(NotPermitted, match="the owner's"):
        storage.queue()
    storage.close()


def test_a_server_keeps_no_key_of_a_namespace_whose_counts_are_written(
    two: Ground, serving: tuple[TestClient, wellkept.MemoryStore]
) -> None:
    """It meets very many of them."""
    _, store = serving
    storage = store._ctx.storage
    assert isinstance(storage, PostgresStorage)
    grant = Grant("alice", ("*",), frozenset(), secret=SECRETS[ALICE])
    seen = wellkept.MemoryStore(bound(store._ctx, grant)).in_namespace(ALICE)
    seen.remember("Tea.")
    assert seen.recall("tea")
    assert [memory.access_count for memory in seen.list()] == [1] and storage._uses._keys == {}


def test_the_database_stops_what_the_server_would_let_pass(
    two: Ground, serving: tuple[TestClient, wellkept.MemoryStore]
) -> None:
    """The transactions of a request run under its token, whatever the server assumes about it."""
    _, store = serving
    believed = Grant("alice", ("*",), frozenset({"admin"}), secret=SECRETS[ALICE])
    seen = wellkept.MemoryStore(bound(store._ctx, believed))
    assert seen.in_namespace(ALICE).remember("Tea.").outcome == "created"
    with pytest.raises(NotPermitted):
        seen.in_namespace(BOB).list()
    ended(two, ALICE)
    for verb in (lambda: seen.in_namespace(ALICE).list(), lambda: seen.in_namespace(ALICE).remember("Coffee.")):
        with pytest.raises(NotPermitted):
            verb()
    with pytest.raises(NotPermitted):
        store.in_namespace(ALICE).list()


def test_a_server_whose_database_is_gone_lets_nobody_in(
    two: Ground, serving: tuple[TestClient, wellkept.MemoryStore]
) -> None:
    client, _ = serving
    two.sql(f"ALTER ROLE {_user(two.tenant)} NOLOGIN")
    two.sql(f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE usename = '{_user(two.tenant)}'")
    try:
        assert sent(client, ALICE, ALICE) == 503
    finally:
        two.sql(f"ALTER ROLE {_user(two.tenant)} LOGIN")
    assert sent(client, ALICE, ALICE) == 200


def test_the_command_line_closes_a_store_and_keeps_tokens_in_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli = Cli(tmp_path, tmp_path / "none.db")
    with ground(server()) as made:
        wellkept.open(made.owner, embedder="hashing").close()
        assert cli.json("db", "secure", "--db", made.owner, "--role", made.app) == {"role": made.app, "left": []}
        made.sql(f"GRANT {made.app} TO {_user(made.tenant)}")
        token = cli.json("token", "create", "--db", made.owner, "--namespace", "acme", "--name", "ci")
        assert [row["name"] for row in cli.rows("token", "list", "--db", made.owner)] == ["ci"]
        at = ("--db", made.tenant, "--namespace", "acme")
        refused = cli("remember", "Tea.", *at, code=1)
        assert "without a token" in refused.stderr
        monkeypatch.setenv("WELLKEPT_TOKEN", token["secret"])
        assert cli.json("remember", "Tea.", *at)["outcome"] == "created"
        assert token["secret"] not in cli("doctor", *at, code=0).stdout
        assert "does not allow" in cli("list", "--db", made.tenant, "--namespace", "other", code=1).stderr
        cli("token", "revoke", "--db", made.owner, token["id"])
        ended = cli("list", *at, code=1)
        assert "does not allow" in ended.stderr and token["secret"] not in ended.stderr
        assert "lacks a right" in cli("token", "list", "--db", made.tenant, code=1).stderr
        assert not (tmp_path / "none.db").exists()


# -- behind a pooler --------------------------------------------------------------------------


def use(one: str, other: str) -> None:
    """Two tenants work at the same time, and at the end each has only its own data."""
    with (
        wellkept.open(
            one, embedder=FakeEmbedder(dim=64), relation_model="none", namespace=ALICE, token=SECRETS[ALICE]
        ) as a,
        wellkept.open(
            other, embedder=FakeEmbedder(dim=64), relation_model="none", namespace=BOB, token=SECRETS[BOB]
        ) as b,
    ):

        def work(number: int) -> None:
            store = a if number % 2 else b
            store.remember(f"{store.namespace} keeps number {number * number}.", kind="thesis")
            assert {hit.memory.namespace for hit in store.recall("number")} == {store.namespace}

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(24)))
        for store in (a, b):
            assert len(store.list(limit=100)) == 12 and store.verify() == () and store.stats().journal == 12
            store.queue.remember("It waits.", kind="thesis")
            assert len(store.queue.flush().results) == 1


def test_nothing_is_left_in_a_session_from_one_transaction_to_the_next(
    two: Ground, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As behind a pooler: every transaction gets a new session or one that another client has used."""
    give = Connections.give

    def swapped(self: Connections, connection: Connection, *, spoiled: bool = False) -> None:
        if not connection.closed:
            connection.execute("DISCARD ALL")
            connection.execute("SET SESSION wellkept.token = 'wk_left'")
            connection.execute("SET SESSION wellkept.namespace = 'bob'")
            connection.execute("SET SESSION search_path = pg_temp, public")
        give(self, connection, spoiled=spoiled)
        self._idle.sort(key=lambda one: hash((one.info.backend_pid, threading.get_ident(), self._uses)))

    monkeypatch.setattr(Connections, "give", swapped)
    monkeypatch.setattr("wellkept.storage.postgres.server.pooling._leads_to_pooler", lambda connection: True)
    use(two.tenant, two.tenant)


@pytest.mark.skipif(not BOUNCER, reason="no pgbouncer on the path and none in WELLKEPT_TEST_PGBOUNCER")
def test_everything_works_through_pgbouncer_in_transaction_mode(two: Ground, tmp_path: Path) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    parts = urlsplit(two.tenant)
    (tmp_path / "users.txt").write_text(f'"{parts.username}" ""\n')
    (tmp_path / "pgbouncer.ini").write_text(
        f"[databases]\n* = host=127.0.0.1 port={parts.port}\n"
        f"[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"unix_socket_dir =\nauth_type = trust\nauth_file = {tmp_path}/users.txt\npool_mode = transaction\n"
        "default_pool_size = 3\nserver_round_robin = 1\n"
    )
    for place in (tmp_path, *tmp_path.parents[:3]):
        place.chmod(0o755)
    command = [BOUNCER, *(["-u", "nobody"] if os.geteuid() == 0 else []), str(tmp_path / "pgbouncer.ini")]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            url = urlunsplit(parts._replace(netloc=f"{parts.username}@127.0.0.1:{port}"))
            for _ in range(200):
                try:
                    psycopg.connect(url, connect_timeout=2).close()
                    break
                except psycopg.OperationalError:
                    threading.Event().wait(0.02)
            use(url, url)
        finally:
            process.terminate()


def _user(url: str) -> str:
    return urlsplit(url).username or ""


def _quoted(role: str) -> str:
    return '"' + role.replace('"', '""') + '"'
