"""Every statement is bound to one namespace, so that it reads no other (I8), wherever its rows are.

Checked on recorded statements: those of the conformance kit, the golden scenarios, a random run, the command line, the
queue and the jobs. The server's plan for each, with its bound values, must be bound to one number in every table, and
so reach one partition of each. A cluster sends such a statement to one server.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import psycopg
import pytest

import wellkept
from postgres.cluster_rules import Rules
from postgres.sent import PLANNED, Planner, Sent, listening
from postgres.server import server
from properties.acts import COSINES, world
from properties.rolling import done, rolled
from scenarios.cases import CASES
from scenarios.world import make
from surfaces.command_line import Cli
from wellkept.errors import Busy
from wellkept.storage.port import OPEN
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.server.distribution import BY_NAMESPACE, HERE, distribute
from wellkept.storage.postgres.shared.tokens import TokenRow
from wellkept.storage.postgres.sql import migrations, queries
from wellkept.storage.postgres.write_transaction import WriteTx
from wellkept.testing.checks.world import entry, memory
from wellkept.testing.conformance import CHECKS, run_one
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Filter, MemoryChange
from wellkept.types.jobs import Cadence
from wellkept.types.queue import QueuedWrite

TABLES = (*BY_NAMESPACE, *(table for table in HERE if table != "token"))
ADMINISTRATION = {
    "namespace.names": "the header lists them all",
    "lock.writers": "who changes the embedder or the full text waits for all writers; no row is looked at",
    "verify.namespaces": "verify goes through them all",
    "verify.strangers": "looks for rows of no namespace",
    "spread.approximate": "asks before the tables are spread whether anything would be lost",
    "waiting.all": "a process that starts looks for what another one left, wherever",
    "waiting.any": "whether there is any of that",
    "waiting.still": "which of what he found there are left, before he writes them",
    "job.look": "looks in all namespaces for what is due",
    "job.claim": "takes what has been due longest, wherever",
    "job.again": "what has failed is tried again, in one namespace or in all",
    "look.waiting": "tells whoever looks after the store how many writes wait",
    "look.failed": "tells him how many jobs were given up",
    "job.list": "shows what is to be done, in one namespace or in all",
}
"""Statements that may look at all namespaces, or at a table as a whole, and why."""
PUT_TOGETHER = {
    r"SELECT EXISTS \(SELECT 1 FROM wellkept\.\w+\)$": "asks before the tables are spread which of them hold rows",
}
"""The same for those without a name; each is known by how it begins."""
CASES_TAKEN = CASES[::12]
OPERATIONS = 100
"""Enough of each for every statement to be sent, which is shown below."""


def mentioned(text: str) -> set[str]:
    """Tables with rows of namespaces that a statement names."""
    # In quotes it is the name of a table, a setting or a lock, and no row is looked at.
    return {table for table in TABLES if re.search(rf"(?<!')\bwellkept\.{table}\b(?!\()", text)}


NAMES = {text: name for name, text in queries().items()}
STEPS = {text for _, text in migrations()}


# -- what is sent ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def sent(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sent]:
    """Everything the product sends in a day's work."""
    folder = tmp_path_factory.mktemp("sent")
    with listening() as heard, pytest.MonkeyPatch.context() as patch:
        for name in ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME"):
            patch.setenv(name, str(folder))
        patch.chdir(folder)
        conform()
        decide(folder)
        live(folder)
        type_commands(folder)
        queue_and_work()
        act_for_a_token()
        spread_over_a_cluster()
        keep_up()
    yield heard


def conform() -> None:
    urls: dict[int, str] = {}

    def opened(url: str) -> PostgresStorage:
        store = PostgresStorage(url)
        urls[id(store)] = url
        return store

    def reopened(store: Any) -> PostgresStorage:
        store.close()
        return opened(urls[id(store)])

    for check in CHECKS:
        run_one(check, lambda: opened(server().database()), reopened)
        for url in set(urls.values()):
            server().release(url)
        urls.clear()


def decide(folder: Path) -> None:
    for number, case in enumerate(CASES_TAKEN):
        opened = make("postgres", folder, case.cosines, policy=case.policy, name="cases.db")
        here = replace(opened, store=opened.store.in_namespace(f"case/{number}"))
        try:
            here.batch(case.items)
            here.store.recall(case.new["content"])
        finally:
            opened.store.close()


def live(folder: Path) -> None:
    here = world("postgres", folder, name="life.db", embedder=FakeEmbedder(COSINES))
    for namespace, act in rolled(5, OPERATIONS):
        done(here, namespace, act)
        here.clock.advance(minutes=7)
    here.store.close()


def type_commands(folder: Path) -> None:
    url = server().database()
    cli = Cli(folder, url)  # type: ignore[arg-type]  # it only passes the address on
    one = cli.remember("The boiler is in the cellar.", "--subject", "boiler")
    two = cli.remember("The boiler is on the roof.", "--subject", "stove")
    three = cli.remember("Ana has a key of the cellar.", "--tag", "keys")
    cli("link", one, three)
    for words in (
        ["check", "Ana has a key of the cellar."],
        ["recall", "boiler"],
        ["get", one[:13]],
        ["get", one[-8:]],
        ["list", "--tag", "keys"],
        ["history", one],
        ["journal"],
        ["neighbors", one],
        ["subgraph", one],
        ["stats"],
        ["namespaces"],
        ["conflicts"],
        ["pack", "boiler"],
        ["forget", two],
        ["restore", two],
        ["supersede", one, two],
        ["unlink", one, three],
        ["revise", three, "--tag", "cellar"],
        ["undo", "1", "--dry-run"],
        ["runs"],
        ["decay"],
        ["verify"],
        ["doctor"],
        ["repair", "--dry-run"],
        ["sweep"],
        ["maintain", "--once"],
        ["consolidate"],
        ["export", str(folder / "out.jsonl")],
        ["import", str(folder / "out.jsonl")],
        ["reembed"],
        ["erase", three, "--yes"],
        ["repair"],
        ["migrate", url, str(folder / "moved.db")],
        ["migrate", str(folder / "moved.db"), url, "--dry-run"],
        ["db", "distribute"],
        ["token", "list"],
        ["jobs", "list"],
        ["queue", "list"],
    ):
        run(cli, words)
    server().release(url)


def run(cli: Cli, words: list[str]) -> None:
    """Run a command and ignore its exit code, because only its statements matter."""
    from typer.testing import CliRunner

    from wellkept.cli.app import app

    result = CliRunner().invoke(app, ["--db", str(cli.db), "--embedder", "hashing", *words])
    assert result.exception is None or isinstance(result.exception, SystemExit), (words, result.exception)


def queue_and_work() -> None:
    url = server().database()
    storage = PostgresStorage(url)
    said: dict[str, Any] = {
        "namespace": "acme/ana",
        "at": datetime(2026, 1, 1, tzinfo=UTC),
        "statement": {"content": "x"},
    }
    waiting = [QueuedWrite(id=f"q{number}", store=storage.header().store_id, **said) for number in range(3)]
    ledger = storage.ledger()
    ledger.put(waiting)
    ledger.waiting(), ledger.waiting("acme/ana"), ledger.still(waiting), ledger.is_empty()
    with ledger.turn(), ledger.turn(wait=False):
        ledger.settle(["q0"], {"q1": "no"}, namespace="acme/ana")
    with storage.begin("acme/ana", write=True) as tx:
        tx.touch({})
    queue = storage.queue()
    queue.look([Cadence(kind="sweep", changes=1)])
    queue.put("expire", ["acme/ana", "acme/ben"])
    for kind, ends in (("expire", queue.finish), ("expire", queue.leave)):
        job = queue.claim([kind], holder="here", seconds=30)
        assert job is not None
        queue.renew(job, seconds=30)
        if ends == queue.finish:
            queue.finish(job, seq=0, report={})
        else:
            queue.leave(job, after=None, error="no")
    queue.note("sweep", "acme/ana")
    queue.again(), queue.jobs()
    storage.close()
    server().release(url)


def act_for_a_token() -> None:
    """Some statements have a variant for tokens."""
    url = server().database()
    storage = PostgresStorage(url)
    scopes = ("read", "write", "admin")
    row = TokenRow(
        hash="", name="ana", patterns=("acme/*",), scopes=scopes, created_at=datetime(2026, 1, 1, tzinfo=UTC)
    )
    storage.tokens().put("wk_ana", row, most=10)
    storage.close()
    how: dict[str, Any] = {"embedder": FakeEmbedder(dim=64), "relation_model": FakeRelationModel()}
    with wellkept.open(url, namespace="acme/ana", token="wk_ana", **how) as store:
        store.remember("The ferns need water.", subject="ferns")
        store.recall("ferns water")
        store.list(Filter(subject="ferns"))
        store.verify()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DELETE FROM wellkept.token")
    server().release(url)


def spread_over_a_cluster() -> None:
    url = server().bare()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute((Path(__file__).parent / "cluster.sql").read_bytes())
    PostgresStorage(url).close()
    distribute(url, dry_run=True)
    distribute(f"{url}?application_name=operator")  # unheard: it copies whole tables, which it names beforehand
    storage = PostgresStorage(url)
    with storage.begin("default", write=True) as tx:
        tx.touch({})
    storage.close()
    server().drop(url)


def keep_up() -> None:
    """What only an operator asks for, in a store that has been through something."""
    url = server().database()
    with wellkept.open(url, embedder=FakeEmbedder(dim=64), relation_model=FakeRelationModel()) as store:
        for text in ("The ferns need water.", "The office has a kitchen.", "Deploys run from the main branch."):
            store.remember(text)
    storage = PostgresStorage(url)
    storage.bind(storage.header().embedder)
    storage.approximate("default")
    with storage.begin("default", write=False) as tx:
        tx.nearest(np.ones((1, 64), dtype=np.float32), limit=2, statuses=("active",))
        tx.nearest(np.ones((1, 64), dtype=np.float32), limit=2, kinds=("thesis",), statuses=("active",))  # is rare
    storage.exact("default")
    with storage.alone("default"), pytest.raises(Busy, match="is being moved by"), storage.alone("default"):
        pass
    with storage.alone("default") as mover:
        mover.close_for(OPEN, was=storage.closed("default"))
    ahead = storage.ahead(embedder="fake/32", dim=32)
    ahead.missing("default", ["none"])
    ahead.keep("default", {"none": np.ones(32, dtype=np.float32)})
    ahead.drop_former("default")
    with storage.begin("default", write=True) as tx:
        tx.apply(entry(MemoryChange(None, memory("m1", namespace="default"))))
    with storage.begin("default", write=True) as again:
        assert isinstance(tx, WriteTx) and isinstance(again, WriteTx) and again.has(tx)
    look_after_another_writer(url, storage)
    storage.configure(embedder="fake/16", dim=16, policy="p")
    with storage.begin("default", write=True) as tx:
        tx.apply(entry(memory_ids=()), vectors={"none": np.ones(16, dtype=np.float32)})
        tx.find(Filter(embedded=True))
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("UPDATE wellkept.words SET terms = '{}'")
    assert storage.mend(dry_run=False)
    storage.close()
    server().release(url)


def look_after_another_writer(url: str, storage: PostgresStorage) -> None:
    """Then the matrix in memory has to catch up."""
    other = PostgresStorage(url)
    for number in (2, 3):
        with storage.begin("default", write=False) as tx:
            tx.nearest(np.ones((1, 64), dtype=np.float32), limit=2, statuses=("active",))
        with other.begin("default", write=True) as tx:
            tx.apply(entry(MemoryChange(None, memory(f"m{number}", namespace="default"))))
    other.close()


# -- what is proved --------------------------------------------------------------------------


@pytest.mark.slow
def test_every_statement_that_is_sent_is_bound_to_one_namespace_in_every_table(sent: Sent) -> None:
    """I8, S0-1; in a cluster distributed by namespace, one server answers each statement."""
    url = server().database()
    planner = Planner(url)
    wrong: list[str] = []
    used: set[str] = set()
    proved = 0
    for text in sent.first:
        name = NAMES.get(text, "")
        if not mentioned(text) or text in STEPS:
            continue
        name = name or next((pattern for pattern in PUT_TOGETHER if re.match(pattern, text)), "")
        unbound = not_bound(planner, sent, text)
        if name in ADMINISTRATION or name in PUT_TOGETHER:
            used.add(name)
            assert unbound, f"{name} is bound to one namespace: take it off the list"
        elif unbound:
            wrong.append(f"{name or text[:200]}: {unbound}")
        else:
            proved += 1
    planner.close()
    server().release(url)
    assert wrong == []
    assert used == {*ADMINISTRATION, *PUT_TOGETHER}, "an exception that is never sent is none"
    assert proved > 100


def not_bound(planner: Planner, sent: Sent, text: str) -> str:
    """The reason why a statement is not bound to one namespace; empty if it is."""
    if not text.lstrip().startswith(PLANNED):
        return "it is no query"
    seen: set[str] = set()
    for values in sent.values(text):
        numbers: set[int] = set()
        for look in planner.looks(text, values):
            if look.table not in TABLES:
                continue
            if len(look.numbers) != 1:
                return f"{look.table} is bound to {sorted(look.numbers) or 'no namespace'}"
            numbers |= look.numbers
            if look.part not in (look.table, planner.part_of(look.table, *look.numbers)):
                return f"{look.part} is looked at and is not the partition"
            seen.add(look.table)
        if len(numbers) > 1:
            return f"it is bound to several: {sorted(numbers)}"
    return f"no plan shows {sorted(mentioned(text) - seen)}" if mentioned(text) - seen else ""


@pytest.mark.slow
def test_no_statement_that_is_sent_would_be_refused_by_a_cluster(sent: Sent) -> None:
    """Rules that were met on a real one; a migration runs before a store is distributed, and has tests of its own."""
    url = server().database()
    with psycopg.connect(url) as connection:
        rules = Rules(connection)
        wrong = {text: rules.refused(text) for text in sent.first if text not in STEPS}
    server().release(url)
    assert {text: told for text, told in wrong.items() if told} == {}


@pytest.mark.slow
def test_every_statement_there_is_was_sent(sent: Sent) -> None:
    """Every named statement must be sent above to be checked; templates with braces are for administration."""
    texts = list(sent.first)
    missing = [
        name
        for name, text in queries().items()
        if mentioned(text) and "{" not in text and not any(text in other for other in texts)
    ]
    assert missing == []


def test_a_statement_without_a_namespace_would_be_found() -> None:
    """Check of the method: statements without a bound, with two, or with one in one table only are found."""
    url = server().database()
    planner = Planner(url)
    heard = Sent()
    number = number_of("default")
    for text, said in {
        "SELECT id FROM wellkept.memory WHERE id = %(id)s": "memory is bound to no namespace",
        "SELECT id FROM wellkept.memory WHERE ns = ANY(ARRAY[%(ns)s, 1::bigint])": "memory is bound to",
        "SELECT m.id FROM wellkept.memory AS m JOIN wellkept.vector AS v ON v.hash = m.embedding WHERE m.ns = %(ns)s": (
            "vector is bound to no namespace"
        ),
        "DELETE FROM wellkept.link WHERE src = %(id)s": "link is bound to no namespace",
        "INSERT INTO wellkept.alias SELECT m.ns, '', m.id FROM wellkept.memory AS m WHERE m.id = %(id)s": (
            "is bound to no namespace"
        ),
        "SELECT 1 FROM wellkept.memory WHERE ns = %(ns)s UNION SELECT 1 FROM wellkept.memory WHERE ns = 7": "several",
        "SELECT id FROM wellkept.memory WHERE ns = %(ns)s AND id = %(id)s": "",
    }.items():
        heard.take(text, {"ns": number, "id": "m1"})
        told = not_bound(planner, heard, text)
        assert said in told if said else told == "", text
    planner.close()
    server().release(url)


# -- what is stored --------------------------------------------------------------------------


def test_every_table_that_holds_rows_of_a_namespace_is_led_by_it_and_spread_by_it() -> None:
    script = "".join(text for _, text in migrations())
    for table in TABLES:
        body = re.search(rf"CREATE TABLE wellkept\.{table} \((.*?)\n\)(.*?);", script, re.S)
        assert body is not None, table
        assert body[1].strip().startswith("ns bigint")
        assert re.search(r"PRIMARY KEY \(ns\b|ns bigint PRIMARY KEY", body[1]), table
        small = ("namespace", "approximate", *HERE)
        assert "PARTITION BY HASH (ns)" in body[2] or table in small, table
    for index, keys in re.findall(r"CREATE (?:UNIQUE )?INDEX (\w+) ON [\w.]+ \(([^;]*?)\)", script):
        assert keys.startswith("ns"), index  # those with `USING` serve the words, led by their number, and the queue


def test_the_number_of_a_namespace_follows_from_its_name_for_good() -> None:
    """It is part of every key, so a changed number would be another namespace."""
    assert number_of("default") == 4010717984327297149
    assert number_of("acme/alice") != number_of("acme/alic") != number_of("ACME/ALICE")
    assert all(0 <= number_of(name) < 2**63 for name in ("", "default", "名前", "a" * 200))
