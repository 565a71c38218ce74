"""A store over several databases: where a namespace lives, and moving one without losing or doubling anything."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from typer.testing import CliRunner

import wellkept
from postgres.proxy import Proxy
from postgres.server import Server
from wellkept.cli.app import app
from wellkept.engine.queue import flushing
from wellkept.engine.queue.deferred import Queue
from wellkept.engine.queue.flushing import flush_left
from wellkept.engine.transfer import move as engine_move
from wellkept.engine.transfer import second_copy
from wellkept.engine.transfer.migrate import migrate
from wellkept.engine.transfer.move import Database, clean, give_up, move
from wellkept.engine.transfer.second_copy import remove
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import (
    Busy,
    ConfigError,
    Corrupt,
    Elsewhere,
    EmbedderMismatch,
    IllegalTransition,
    NoStore,
    StorageError,
)
from wellkept.operations import queued_writes
from wellkept.policy import Policy
from wellkept.storage.placement import PlacedStorage
from wellkept.storage.placement.table import Table, table_from, text_of
from wellkept.storage.port import OPEN, Closed
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.moves import PostgresMover
from wellkept.storage.postgres.session import Session
from wellkept.storage.sqlite import SqliteStorage
from wellkept.types import Filter

ANA = "acme/ana"
NAMES = ("one", "two", "three")


@dataclass
class Places:
    """Databases and the file that names them."""

    file: Path
    urls: dict[str, str]

    @property
    def address(self) -> str:
        return f"placement://{self.file}"

    def write(self, places: str = "", rest: tuple[str, ...] = NAMES, file: Path | None = None) -> Path:
        file = file or self.file
        file.write_text(text_of(Table(self.urls, {}, rest)) + places, "utf-8")
        return file

    def open(self, **more: Any) -> MemoryStore:
        return wellkept.open(self.address, embedder="hashing", relation_model="none", namespace=ANA, **more)

    def run(self, *words: str) -> Any:
        return CliRunner().invoke(app, ["--db", self.address, "--embedder", "hashing", *words])


@pytest.fixture
def places(running: Server, tmp_path: Path) -> Iterator[Places]:
    made = Places(tmp_path / "places.toml", {name: running.database() for name in NAMES})
    urls = list(made.urls.values())
    made.write('"acme/" = "one"\n')
    yield made
    for url in urls:
        running.release(url)


@pytest.fixture
def storage(places: Places) -> Iterator[PlacedStorage]:
    with places.open() as store:
        for number in range(7):
            store.remember(f"Shelf {number} of the archive holds the maps of region {number}.")
    made = PlacedStorage(places.file)
    yield made
    made.close()


def database(storage: PlacedStorage, name: str) -> Database:
    return Database(name, storage.at(name))


def moved(storage: PlacedStorage, source: str, target: str, page: int = 2) -> Any:
    def switch() -> None:
        storage.file.change(lambda table: table.with_place(ANA, target))

    check = storage.file.check
    return move(database(storage, source), database(storage, target), ANA, check=check, switch=switch, page=page)


def closing(storage: PlacedStorage, name: str, closed: Closed, was: Closed = OPEN) -> None:
    with storage.at(name).alone(ANA) as mover:
        mover.close_for(closed, was=was)


def held(storage: PlacedStorage) -> dict[str, int]:
    """The number of journal entries that each database holds of the namespace, open or not."""
    numbers = {}
    for name, one in storage.databases().items():
        with one.for_moving().begin(ANA, write=False) as tx:
            numbers[name] = tx.seq
    return numbers


# -- the table -------------------------------------------------------------------------------

BASE = '[databases]\none = "postgresql://a/x"\ntwo = "postgresql://b/x"\n'
WRONG = {
    "no TOML": ("[databases", "not TOML"),
    "no database": ("[databases]\n", "no database is named"),
    "a file": ('[databases]\none = "agent.db"\n', "'one' is no PostgreSQL database"),
    "another table of places, which could lead back": (
        '[databases]\none = "placement:///other.toml"\n',
        "no PostgreSQL database.*no other table",
    ),
    "two names for one address": ('[databases]\none = "postgresql://a/x"\ntwo = "postgresql://a/x"\n', "same address"),
    "a name twice": ('[databases]\none = "postgresql://a/x"\none = "postgresql://b/x"\n', "not TOML"),
    "a name that is none": ('[databases]\n"a b" = "postgresql://a/x"\n', "no name of a database"),
    "no text": ("[databases]\none = 1\n", "databases must be a table of texts"),
    "a place in an unknown database": (BASE + '[places]\n"acme/" = "six"\n', "no database 'six'.*Use one of: one, two"),
    "a rest in an unknown database": ('rest = ["six"]\n' + BASE, "no database 'six'"),
    "a rest that is empty": ("rest = []\n" + BASE, "rest must be a list"),
    "a rest that repeats": ('rest = ["one", "one"]\n' + BASE, "names a database twice"),
    "a path that is none": (BASE + '[places]\n"/" = "one"\n', "no path of namespaces"),
    "an unknown key": ("more = 1\n" + BASE, "unknown key 'more'"),
}


@pytest.mark.parametrize(("text", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_table_is_refused_with_its_reason(text: str, message: str, tmp_path: Path) -> None:
    file = tmp_path / "places.toml"
    file.write_text(text, "utf-8")
    with pytest.raises(ConfigError, match=f"(?s){message}"):
        PlacedStorage(file)


def test_a_missing_table_is_named(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file.*nowhere.toml"):
        wellkept.open(f"placement://{tmp_path}/nowhere.toml", embedder="hashing")


PLACES = {
    "its own entry": (ANA, "two", ANA),
    "the longest path": ("acme/ben/notes", "one", "acme/ben/"),
    "a shorter path": ("acme/cleo", "three", "acme/"),
    "a path does not cover the namespace of its name": ("acme", None, ""),
    "no entry of a part of a name": ("acmeother", None, ""),
}


@pytest.mark.parametrize(("namespace", "database", "by"), PLACES.values(), ids=PLACES)
def test_the_nearest_entry_decides(namespace: str, database: str | None, by: str) -> None:
    urls = {name: f"postgresql://{name}/x" for name in NAMES}
    table = Table(urls, {"acme/": "three", "acme/ben/": "one", ANA: "two"}, NAMES)
    place = table.place_of(namespace)
    assert place.by == by and (database is None or place.database == database)
    assert table_from(text_of(table), where="test") == table


def test_a_further_database_takes_its_share_and_moves_nothing_else() -> None:
    urls = {name: f"postgresql://{name}/x" for name in (*NAMES, "four")}
    before, after = Table(urls, {}, NAMES), Table(urls, {}, (*NAMES, "four"))
    names = [f"team/{number}" for number in range(4_000)]
    changed = [name for name in names if before.place_of(name) != after.place_of(name)]
    assert {after.place_of(name).database for name in changed} == {"four"}
    assert 800 < len(changed) < 1_200
    assert all(1_100 < sum(before.place_of(one).database == name for one in names) < 1_600 for name in NAMES)


# -- opening ---------------------------------------------------------------------------------


def test_each_namespace_is_in_the_database_of_its_place_and_nowhere_else(places: Places) -> None:
    with places.open() as store:
        store.remember("Ana waters the ferns.")
        assert store.recall("ferns")[0].memory.content == "Ana waters the ferns."
        for number in range(12):
            store.in_namespace(f"team/{number}").remember("Tea is upstairs.")
        assert len(store.namespaces()) == 13
        assert store._ctx.storage.verify() == []
    found: dict[str, list[str]] = {}
    for name, url in places.urls.items():
        plain = PostgresStorage(url)
        for one in plain.header().namespaces:
            found.setdefault(one, []).append(name)
        plain.close()
    table = table_from(places.file.read_text("utf-8"), where="test")
    assert found == {one: [table.place_of(one).database] for one in found} and len(found) == 13
    assert found[ANA] == ["one"] and len({at[0] for at in found.values()}) == 3


def test_every_database_that_cannot_be_used_is_named_with_its_reason(places: Places) -> None:
    places.urls |= {"two": "postgresql://127.0.0.1:1/x", "three": "postgresql://127.0.0.1:2/y"}
    places.write()
    with pytest.raises(StorageError, match=r"2 of 3 databases cannot be used: 'two': .*127.0.0.1:1.*'three': .*:2"):
        PlacedStorage(places.file)


def test_databases_of_different_embedders_are_refused_and_a_new_one_takes_that_of_the_others(
    places: Places, running: Server
) -> None:
    with places.open() as store:
        store.remember("Ana waters the ferns.")
    plain = PostgresStorage(places.urls["two"])
    assert plain.header().embedder == "hashing-v1/384"
    plain.configure(embedder="other/3", dim=3, policy="")
    plain.close()
    with pytest.raises(EmbedderMismatch, match="'one' has 'hashing-v1/384', 'two' has 'other/3'"):
        PlacedStorage(places.file)


def test_one_database_under_two_addresses_is_refused(places: Places) -> None:
    """A move would take one for a copy of the other, and empty it."""
    with places.open() as store:
        store.remember("Ana waters the ferns.")
    places.urls["two"] = places.urls["one"].replace("127.0.0.1", "localhost")
    places.write()
    with pytest.raises(ConfigError, match="'one' and 'two' are one database under two addresses"):
        PlacedStorage(places.file)


def test_a_reader_makes_no_store(places: Places, running: Server) -> None:
    places.urls = {name: running.bare() for name in ("one", "two")}
    places.write(rest=("one", "two"))
    with pytest.raises(NoStore, match="no such store.*places.toml"):
        PlacedStorage(places.file, make=False)
    for url in places.urls.values():
        running.drop(url)


def test_a_namespace_that_is_not_where_the_table_says_is_refused_not_hidden(
    places: Places, storage: PlacedStorage
) -> None:
    places.write('"acme/" = "two"\n')  # edited by hand, without a move
    for write in (False, True):
        with pytest.raises(Elsewhere, match="lives in database 'one', and the table of places says 'two'"):
            with storage.begin(ANA, write=write):
                pass
    assert held(storage) == {"one": 7, "two": 0, "three": 0}


def test_a_new_namespace_is_looked_for_without_holding_a_connection(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Many callers that each held one and wanted a second would wait for each other."""
    small = partial(PostgresStorage, connections=2, busy_seconds=0.5)
    monkeypatch.setattr("wellkept.storage.placement.storage.PostgresStorage", small)
    storage = PlacedStorage(places.file)
    with storage.begin("acme/ben", write=False):  # one of two connections is taken
        for write in (False, True):
            with storage.begin("acme/cleo", write=write) as tx:
                assert tx.seq == 0
    storage.close()


WITH_ONE_AWAY: dict[str, Callable[[MemoryStore], object]] = {
    "a queued write": lambda store: store.queue.remember("Ana waters the roses."),
    "what is queued": lambda store: store.queue.pending(),
    "the queue, written": lambda store: store.queue.flush(),
    "a look at an earlier time": lambda store: store.recall("ferns", as_of=datetime(2030, 1, 1, tzinfo=UTC)),
    "a replay": lambda store: store.replay(Policy()),
    "counts": lambda store: store.stats(),
    "a sweep": lambda store: store.sweep(),
}


@pytest.mark.parametrize("act", WITH_ONE_AWAY.values(), ids=WITH_ONE_AWAY)
def test_work_in_one_namespace_asks_no_database_that_it_does_not_need(
    places: Places, act: Callable[[MemoryStore], object]
) -> None:
    with places.open() as store:
        store.remember("Ana waters the ferns.")
        store.queue.remember("Ana waters the palms.")
        inner = store._ctx.storage
        assert isinstance(inner, PlacedStorage)
        for name in ("two", "three"):
            inner.at(name).close()
        act(store)
        with pytest.raises(StorageError, match="the store is closed"):
            store.namespaces()  # asks all


def test_the_past_of_a_namespace_needs_no_first_database(places: Places) -> None:
    places.write('"acme/" = "two"\n')
    with places.open() as store:
        store.remember("Ana waters the ferns.")
        inner = store._ctx.storage
        assert isinstance(inner, PlacedStorage)
        known = inner.header().store_id
        inner.at("one").close()
        assert len(store.recall("ferns", as_of=datetime(2030, 1, 1, tzinfo=UTC))) == 1
        assert inner.header_for(ANA).store_id == known


@pytest.fixture
def with_two_away(places: Places) -> Iterator[tuple[MemoryStore, Proxy]]:
    """A store with a queued write for each of three databases, one of which has gone since; and its network."""
    proxy = Proxy(places.urls["two"])
    places.urls["two"] = proxy.url
    places.write('"gone/" = "two"\n"fresh/" = "one"\n' + "".join(f'"team/{name}" = "{name}"\n' for name in NAMES))
    with places.open() as store:
        for name in NAMES:
            store.in_namespace(f"team/{name}").remember("Tea is upstairs.")
        inner = store._ctx.storage
        assert isinstance(inner, PlacedStorage)
        inner.insist = lambda act, kept=int: act()
        for name in ("two", "one", "three"):  # the one that has gone is the first in the queue
            store.in_namespace(f"team/{name}").queue.remember("Ana waters the ferns.")
        proxy.refusing = True
        proxy.cut()
        yield store, proxy
    proxy.stop()


FLUSHES: dict[str, Callable[[MemoryStore], object]] = {
    "at once": lambda store: Queue(store._ctx, everywhere=True).flush(),
    "in parts, as a server does": lambda store: list(flush_left(store._ctx, idle=timedelta())),
}


@pytest.mark.parametrize("act", FLUSHES.values(), ids=FLUSHES)
def test_a_database_that_has_gone_keeps_its_queued_writes_and_stops_no_others(
    with_two_away: tuple[MemoryStore, Proxy], act: Callable[[MemoryStore], object], monkeypatch: pytest.MonkeyPatch
) -> None:
    store, proxy = with_two_away
    monkeypatch.setattr(flushing, "_MOST_AT_ONCE", 1)
    with pytest.raises(StorageError, match=r"1 database could not be written: 'two': .*127\.0\.0\.1:\d+") as refused:
        act(store)
    assert refused.value.database == "two"
    assert [len(store.in_namespace(f"team/{name}").list()) for name in ("one", "three")] == [2, 2]
    [waiting] = Queue(store._ctx, everywhere=True).pending()
    assert (waiting.namespace, waiting.attempts) == ("team/two", 0)
    proxy.refusing = False
    act(store)
    assert len(store.in_namespace("team/two").list()) == 2
    assert Queue(store._ctx, everywhere=True).pending() == ()


def test_a_server_that_stops_says_whose_queued_writes_wait(with_two_away: tuple[MemoryStore, Proxy]) -> None:
    assert "waits for the next start: 1 database could not be written: 'two'" in queued_writes.flush(with_two_away[0])


def test_a_database_that_has_gone_is_tried_once_and_is_not_mistaken_for_the_one_of_a_new_namespace(
    with_two_away: tuple[MemoryStore, Proxy], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new namespace is looked for in all databases first, so it waits, but its own database has not failed."""
    store, _ = with_two_away
    for name in ("gone/one", "gone/two", "fresh/one"):
        store.in_namespace(name).queue.remember("Ana waters the ferns.")
    store.in_namespace("team/one").queue.remember("Ana waters the palms.")
    tried: list[str] = []
    begin = PostgresStorage.begin

    def counted(self: PostgresStorage, namespace: str, *, write: bool) -> Any:
        tried.append(namespace)
        return begin(self, namespace, write=write)

    monkeypatch.setattr(PostgresStorage, "begin", counted)
    with pytest.raises(StorageError, match="'two'"):
        Queue(store._ctx, everywhere=True).flush()
    assert "team/two" in tried and not {"gone/one", "gone/two"} & set(tried)
    assert [len(store.in_namespace(f"team/{name}").list()) for name in ("one", "three")] == [3, 2]
    waiting = Queue(store._ctx, everywhere=True).pending()
    assert sorted(one.namespace for one in waiting) == ["fresh/one", "gone/one", "gone/two", "team/two"]


def with_a_further_one(places: Places, url: str) -> None:
    places.urls = {**places.urls, "four": url}
    places.write('"acme/" = "one"\n"delta/" = "four"\n')


def test_a_further_database_is_used_only_if_it_fits(places: Places, running: Server) -> None:
    with places.open() as store:
        store.remember("Ana waters the ferns.")
        delta = store.in_namespace("delta/one")
        with_a_further_one(places, places.urls["one"].replace("127.0.0.1", "localhost"))
        for _ in range(2):  # it was used the second time
            with pytest.raises(ConfigError, match="'one' and 'four' are one database under two addresses"):
                delta.remember("Written twice.")
        other = running.database()
        plain = PostgresStorage(other)
        plain.configure(embedder="other/3", dim=3, policy="")
        plain.close()
        with_a_further_one(places, other)
        for _ in range(2):
            with pytest.raises(EmbedderMismatch, match="'one' has 'hashing-v1/384', 'four' has 'other/3'"):
                delta.remember("Without a vector.")
        places.urls["four"] = running.database()
        with_a_further_one(places, places.urls["four"])
        inner = store._ctx.storage
        assert isinstance(inner, PlacedStorage)
        inner.at("two").close()  # it is not asked again
        assert inner.at("four").header().embedder == "hashing-v1/384"


def test_a_process_keeps_the_database_of_its_queue_when_the_table_is_put_in_another_order(places: Places) -> None:
    with places.open() as store:
        store.queue.remember("Ana waters the ferns.")
        known = store._ctx.header_of_queue().store_id
        before = dict(places.urls)
        places.urls = dict(reversed(before.items()))
        places.write('"acme/" = "one"\n')
        store.queue.remember("Ana waters the palms.")
        assert store._ctx.header_of_queue().store_id == store._ctx.storage.header().store_id == known
    with places.open() as other:
        assert other.queue.pending() == ()  # they wait in the database that was the first
    places.urls = before
    places.write('"acme/" = "one"\n')
    with places.open() as other:
        assert [len(other.queue.flush().results), len(other.list())] == [2, 2]


def test_a_renamed_database_draws_its_namespaces_anew_and_none_is_hidden(places: Places) -> None:
    places.write()
    names = [f"team/{number}" for number in range(12)]
    with places.open() as store:
        for name in names:
            store.in_namespace(name).remember("Tea is upstairs.")
    before = table_from(places.file.read_text("utf-8"), where="test")
    places.urls = {("zwei" if name == "two" else name): url for name, url in places.urls.items()}
    places.write(rest=("one", "zwei", "three"))
    after = table_from(places.file.read_text("utf-8"), where="test")
    same = {
        name
        for name in names
        if after.databases[after.place_of(name).database] == before.databases[before.place_of(name).database]
    }
    found = set()
    with places.open() as store:
        for name in names:
            try:
                assert len(store.in_namespace(name).list()) == 1
                found.add(name)
            except Elsewhere as error:
                assert "and the table of places says" in str(error)
        assert set(store.namespaces()) == set(names)
    assert found == same and 0 < len(same) < len(names)


def test_a_database_that_the_table_no_longer_names_is_told(places: Places, storage: PlacedStorage) -> None:
    before = storage.file.table()
    del places.urls["three"]
    places.write(rest=("one", "two"))
    with pytest.raises(ConfigError, match="the table of places has no database 'three'.*places.toml"):
        storage.at("three")
    assert list(storage.databases()) == ["one", "two"]
    assert storage._at(before, "three").header().namespaces == ()  # who has begun with the former table goes on


# -- moving ----------------------------------------------------------------------------------


def test_a_moved_namespace_is_complete_and_open_in_one_database_only(places: Places, storage: PlacedStorage) -> None:
    result = moved(storage, "one", "two")
    assert (result.done, result.entries, result.source, result.target) == ("moved", 7, "one", "two")
    assert storage.found_at(ANA) == ["two"] and storage.file.table().place_of(ANA).by == ANA
    with places.open() as store:
        assert len(store.list()) == 7
        store.remember("Ana waters the ferns.")
    assert held(storage) == {"one": 7, "two": 8, "three": 0}
    with wellkept.open(places.urls["one"], embedder="hashing", namespace=ANA) as former:
        with pytest.raises(Elsewhere, match="lives in database 'two'"):
            former.remember("Written in the old place.")
    assert clean(database(storage, "one"), database(storage, "two"), ANA).entries == 7
    assert held(storage) == {"one": 0, "two": 8, "three": 0}
    moved(storage, "two", "one")
    assert held(storage)["one"] == 8 and storage.found_at(ANA) == ["one"]
    assert storage.verify() == []


def test_a_process_with_an_old_table_follows_to_the_new_place(
    places: Places, storage: PlacedStorage, tmp_path: Path
) -> None:
    old = places.write('"acme/" = "one"\n', file=tmp_path / "of another machine.toml")
    with wellkept.open(f"placement://{old}", embedder="hashing", namespace=ANA) as other:
        other.remember("Ana waters the ferns.")
        moved(storage, "one", "two")
        other.remember("The ferns are in the hall.")
        assert len(other.list()) == 9
    assert held(storage) == {"one": 8, "two": 9, "three": 0}


def test_counts_and_checks_follow_a_namespace_that_was_moved(
    places: Places, storage: PlacedStorage, tmp_path: Path
) -> None:
    old = PlacedStorage(places.write('"acme/" = "one"\n', file=tmp_path / "of another machine.toml"))
    moved(storage, "one", "two")
    with storage.begin(ANA, write=False) as tx:
        first = tx.find(Filter())[0].id
    old.count_use(ANA, {first: (5, datetime(2026, 3, 1, tzinfo=UTC), None)})
    counts = {}
    for name in ("one", "two"):
        with storage.at(name).for_moving().begin(ANA, write=False) as tx:
            counts[name] = tx.find(Filter(ids=(first,)))[0].access_count
    assert counts == {"one": 0, "two": 5}
    with psycopg.connect(places.urls["two"], autocommit=True) as connection:
        connection.execute("UPDATE wellkept.memory SET record = replace(record, 'Shelf 0', 'Shelf X')")
    assert old.strayed(ANA) == [first]
    old.close()


def test_a_use_is_counted_after_the_move_that_closes_the_namespace_to_writers(storage: PlacedStorage) -> None:
    with storage.begin(ANA, write=False) as tx:
        first = tx.find(Filter())[0].id
    closing(storage, "one", Closed(moving="two"))
    storage.count_use(ANA, {first: (5, datetime(2026, 3, 1, tzinfo=UTC), None)})
    with storage.begin(ANA, write=False) as tx:
        assert tx.find(Filter(ids=(first,)))[0].access_count == 0
    closing(storage, "one", OPEN, Closed(moving="two"))
    storage.count_use(ANA, {})
    with storage.begin(ANA, write=False) as tx:
        assert tx.find(Filter(ids=(first,)))[0].access_count == 5


def test_a_writer_waits_for_the_move_and_is_told_if_it_takes_too_long(places: Places, storage: PlacedStorage) -> None:
    with places.open() as store:
        inner = store._ctx.storage
        assert isinstance(inner, PlacedStorage)
        closing(storage, "one", Closed(moving="two"))
        inner.insist = lambda act, kept=int: act()
        with pytest.raises(Busy, match=r"being moved to database 'two'; nothing was written.*db move NAMESPACE --back"):
            store.remember("Ana waters the ferns.")
        assert len(store.list()) == 7  # a reader never waits
    waiting = places.open()
    threading.Timer(0.5, closing, (storage, "one", OPEN, Closed(moving="two"))).start()
    assert waiting.remember("Ana waters the ferns.").outcome == "created"
    waiting.close()


def copied_in_part(storage: PlacedStorage) -> None:
    """What a move to `two` has left that was killed when writers waited."""
    closing(storage, "two", Closed(moved="one"))
    copy = storage.at("two").for_moving(Closed(moved="one"))
    migrate(storage.at("one").for_moving(), copy, namespaces=(ANA,))
    closing(storage, "one", Closed(moving="two"))


OTHER_MOVERS: dict[str, Callable[[PlacedStorage], object]] = {
    "the same move": lambda storage: moved(storage, "one", "two"),
    "a move elsewhere": lambda storage: moved(storage, "one", "three"),
    "a move of the copy": lambda storage: moved(storage, "two", "three"),
    "giving up": lambda storage: give_up(database(storage, "one"), database(storage, "two"), ANA),
    "removing the copy": lambda storage: clean(database(storage, "two"), database(storage, "one"), ANA),
}


@pytest.mark.parametrize("act", OTHER_MOVERS.values(), ids=OTHER_MOVERS)
@pytest.mark.parametrize("moment", ["while it copies", "before the table is changed"])
def test_a_namespace_has_one_mover_and_others_are_told_which(
    places: Places, storage: PlacedStorage, act: Callable[[PlacedStorage], object], moment: str
) -> None:
    told: list[str] = []

    def other(*_: Any) -> None:
        if not told:
            another = PlacedStorage(places.file)
            with pytest.raises(Busy) as refused:
                act(another)
            another.close()
            told.append(str(refused.value))

    when = {"progress" if moment == "while it copies" else "switch": other}
    ends = database(storage, "one"), database(storage, "two")
    result = move(*ends, ANA, **{"check": storage.file.check, "switch": lambda: None, "page": 2, **when})
    assert result.done == "moved" and held(storage) == {"one": 7, "two": 7, "three": 0}
    assert f"is being moved by wellkept, process {os.getpid()} on " in told[0]


def test_who_has_lost_his_lock_or_finds_another_state_changes_nothing(places: Places, storage: PlacedStorage) -> None:
    one = storage.at("one")
    with one.alone(ANA) as mover:
        with pytest.raises(Busy, match="somebody else has moved the namespace meanwhile"):
            mover.close_for(Closed(moving="three"), was=Closed(moving="two"))
        with psycopg.connect(places.urls["one"], autocommit=True) as operator:
            operator.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = current_database()"
                " AND application_name LIKE 'wellkept, process %'"
            )
        with one.alone(ANA):  # so another one may begin
            with pytest.raises(Busy, match="that kept other movers away was lost"):
                mover.close_for(Closed(moving="three"), was=OPEN)
    assert one.closed(ANA) == OPEN


def test_a_mover_writes_no_copy_where_another_one_has_gone_on(storage: PlacedStorage) -> None:
    """Copying afresh would remove what was written since."""
    copied_in_part(storage)
    late = storage.at("two").for_moving(Closed(moved="one"))
    closing(storage, "two", OPEN, Closed(moved="one"))
    with pytest.raises(Busy, match="somebody else has moved namespace 'acme/ana' meanwhile; nothing was written"):
        with late.begin(ANA, write=True):
            pass


MEANWHILE: dict[str, tuple[str, str]] = {
    "opened": ("UPDATE wellkept.namespace SET moved = ''", "somebody else has moved"),
    "said to be elsewhere": ("UPDATE wellkept.namespace SET moved = 'three'", "somebody else has moved"),
    "written": ("UPDATE wellkept.namespace SET seq = seq + 1", "somebody has written in the copy meanwhile"),
}


@pytest.mark.parametrize(("change", "told"), MEANWHILE.values(), ids=MEANWHILE)
@pytest.mark.parametrize("moment", ["before it is closed", "before it is emptied"])
def test_a_copy_that_changes_after_it_was_compared_is_not_removed(
    places: Places, storage: PlacedStorage, monkeypatch: pytest.MonkeyPatch, change: str, told: str, moment: str
) -> None:
    moved(storage, "one", "two")
    module, name = (engine_move, "foreign") if moment == "before it is closed" else (PostgresMover, "close_for")
    done = getattr(module, name)

    def changed(*given: Any, **named: Any) -> Any:
        result = done(*given, **named)
        with psycopg.connect(places.urls["one"], autocommit=True) as connection:
            connection.execute(change)
        return result

    with monkeypatch.context() as patch:
        patch.setattr(module, name, changed)
        with pytest.raises(Busy, match=told):
            clean(database(storage, "one"), database(storage, "two"), ANA)
    with storage.at("one").for_moving().begin(ANA, write=False) as tx:
        assert len(tx.journal()) == 7


def test_a_copy_of_a_copy_is_removed_and_says_where_the_namespace_is_now(storage: PlacedStorage) -> None:
    moved(storage, "one", "two")
    moved(storage, "two", "three")
    for name in ("one", "two"):
        assert clean(database(storage, name), database(storage, "three"), ANA).entries == 7
        assert storage.at(name).closed(ANA) == Closed(moved="three")
    assert held(storage) == {"one": 0, "two": 0, "three": 7}


class Killed(BaseException):
    """The end of the mover, which nothing in it can catch."""


def killing(monkeypatch: pytest.MonkeyPatch, storage: PlacedStorage, after: int) -> Callable[[], int]:
    """Kill the mover when it has made this many changes: commits, or a new table."""
    done = 0
    run, change = Session.run, storage.file.change

    def count() -> None:
        nonlocal done
        done += 1
        if done == after:
            raise Killed

    def counted(self: Session, name: str, parameters: Any = None) -> int:
        rows = run(self, name, parameters)
        if name == "commit":
            count()
        return rows

    def changed(edit: Any) -> None:
        change(edit)
        count()

    monkeypatch.setattr(Session, "run", counted)
    monkeypatch.setattr(storage.file, "change", changed)
    return lambda: done


def test_a_mover_that_is_killed_after_any_change_goes_on_or_is_given_up(
    places: Places, storage: PlacedStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    after, ends = 0, []
    while True:
        after += 1
        with monkeypatch.context() as patch:
            killing(patch, storage, after)
            try:
                moved(storage, "one", "two")
                break
            except Killed:
                pass
        assert len(storage.found_at(ANA)) in (1, 2) and held(storage)["one"] == 7
        source, target = database(storage, "one"), database(storage, "two")
        try:
            give_up(source, target, ANA)
            ends.append("given up")
            assert held(storage) == {"one": 7, "two": 0, "three": 0}
        except IllegalTransition:
            ends.append("finished")
            if not storage.at("one").closed(ANA).moved:
                assert moved(storage, "one", "two").done == "finished"
            assert held(storage) == {"one": 7, "two": 7, "three": 0} and storage.found_at(ANA) == ["two"]
            moved(storage, "two", "one")
            clean(target, source, ANA)
        with places.open() as store:
            assert store.check("Shelf 0 of the archive holds the maps of region 0.").outcome == "duplicate"
            assert len(store.list()) == 7
    assert ends.count("given up") >= 5 and ends.count("finished") >= 2
    assert storage.found_at(ANA) == ["two"] and storage.verify() == []


def test_a_failure_before_the_switch_leaves_the_namespace_open_where_it_was(
    places: Places, storage: PlacedStorage
) -> None:
    plain = PostgresStorage(places.urls["two"])
    with plain.begin(ANA, write=True) as tx, storage.at("one").begin(ANA, write=False) as ours:
        tx.restore(ours.journal()[:1])  # type: ignore[attr-defined]
    with wellkept.open(plain, embedder="hashing", namespace=ANA) as other:
        other.remember("Something else altogether.")
    with pytest.raises(StorageError, match="the target holds other things: namespace 'acme/ana'"):
        moved(storage, "one", "two")
    assert storage.at("one").closed(ANA) == Closed()
    with pytest.raises(StorageError, match="open to writers|other things"):
        moved(storage, "one", "two")


def test_a_move_that_is_started_again_and_fails_leaves_the_namespace_open(
    storage: PlacedStorage, monkeypatch: pytest.MonkeyPatch
) -> None:
    copied_in_part(storage)
    with monkeypatch.context() as patch:
        patch.setattr(PostgresStorage, "verify", lambda _: ["page 7 cannot be read"])
        with pytest.raises(Corrupt, match="the source is not sound: page 7"):
            moved(storage, "one", "two")
    assert storage.at("one").closed(ANA) == OPEN
    assert moved(storage, "one", "two").done == "moved" and storage.found_at(ANA) == ["two"]


@pytest.mark.parametrize("blocked", [".places.toml.tmp", "places.toml.lock"])
def test_a_table_that_cannot_be_replaced_is_noticed_before_anything_is_copied(
    places: Places, storage: PlacedStorage, blocked: str
) -> None:
    places.file.with_name(blocked).unlink(missing_ok=True)
    places.file.with_name(blocked).mkdir()
    with pytest.raises(ConfigError, match="the table of places cannot be written: Is a directory"):
        moved(storage, "one", "two")
    assert storage.at("one").closed(ANA) == OPEN and held(storage) == {"one": 7, "two": 0, "three": 0}


def test_a_table_that_cannot_be_replaced_in_the_end_keeps_no_writer_waiting(
    places: Places, storage: PlacedStorage
) -> None:
    def switch() -> None:
        raise ConfigError("the table of places cannot be written")

    ends = database(storage, "one"), database(storage, "two")
    with pytest.raises(ConfigError):
        move(*ends, ANA, check=storage.file.check, switch=switch)
    with places.open() as store:
        assert store.remember("Ana waters the ferns.").outcome == "created"
    assert held(storage) == {"one": 7, "two": 8, "three": 0}
    assert "lives in two already" in places.run("db", "move", ANA, "two").stdout
    assert storage.file.table().place_of(ANA).database == "two"


def test_nothing_is_lost_or_doubled_while_namespaces_move_under_load(places: Places, storage: PlacedStorage) -> None:
    names = [f"acme/{number}" for number in range(3)]
    stop, said, wrong = threading.Event(), {name: [] for name in names}, []

    def write(name: str) -> None:
        with places.open() as store:
            own = store.in_namespace(name)
            while not stop.is_set():
                text = f"Box {len(said[name])} of {name} is on floor {len(said[name])}."
                try:
                    own.remember(text, idempotency_key=text)
                    said[name].append(text)
                    stop.wait(0.05)
                except Exception as error:  # noqa: BLE001 - the assertion below shows it
                    wrong.append(error)
                    return

    threads = [threading.Thread(target=write, args=(name,)) for name in names]
    for thread in threads:
        thread.start()
    for source, target in (("one", "two"), ("two", "one")):
        for name in names:
            while not said[name]:
                stop.wait(0.01)
            switch = lambda: storage.file.change(lambda table: table.with_place(name, target))  # noqa: B023, E731
            ends = database(storage, source), database(storage, target)
            result = move(*ends, name, check=storage.file.check, switch=switch)
            assert result.done == "moved"
    stop.set()
    for thread in threads:
        thread.join()
    assert wrong == []
    with places.open() as store:
        for name in names:
            kept = [memory.content for memory in store.in_namespace(name).list(limit=None)]
            assert sorted(kept) == sorted(said[name]) and len(kept) > 3
    assert storage.verify() == []


# -- commands --------------------------------------------------------------------------------


def test_the_commands_show_set_and_move(places: Places, storage: PlacedStorage) -> None:
    shown = json.loads(places.run("db", "place", ANA, "--json").stdout)
    assert shown == {"namespace": ANA, "database": "one", "by": "acme/", "found": ["one"], "moving": ""}
    told = places.run("db", "place", "beta/", "--in", "three")
    assert "beta/ lives in three, by the place 'beta/'" in told.stdout
    refused = places.run("db", "place", "acme/", "--in", "two")
    assert refused.exit_code == 1 and "would be looked for in 'two', where it is not" in refused.stderr
    done = json.loads(places.run("db", "move", ANA, "two", "--json").stdout)
    assert done == {
        "namespace": ANA, "done": "moved", "source": "one", "target": "two", "entries": 7, "copied_closed": 0
    }  # fmt: skip
    assert "lives in two already: 7 entries" in places.run("db", "move", ANA, "two").stdout
    listed = places.run("db", "place").stdout
    assert ANA in listed and "postgresql://" in listed
    assert "the copy of 7 entries in one is removed" in places.run("db", "move", ANA, "--clean").stdout
    assert "There is no copy to remove" in places.run("db", "move", ANA, "--clean").stdout
    assert "no move closes it" in places.run("db", "move", ANA, "--back").stderr
    assert "no database 'four'" in places.run("db", "move", ANA, "four").stderr
    assert "no namespace 'nobody'" in places.run("db", "move", "nobody", "one").stderr
    assert "needs one of DATABASE" in places.run("db", "move", ANA).stderr


@pytest.mark.parametrize("words", [[ANA, "three"], [ANA, "--clean"], [ANA, "--back"]], ids=" ".join)
def test_no_command_chooses_between_two_databases_that_hold_a_namespace(
    places: Places, storage: PlacedStorage, words: list[str]
) -> None:
    with wellkept.open(places.urls["two"], embedder="hashing", namespace=ANA) as other:
        other.remember("Written by a process with another table.")
    refused = places.run("db", "move", *words)
    assert refused.exit_code == 1
    assert "databases 'one' and 'two' each hold a namespace 'acme/ana', and no move made them" in refused.stderr
    assert held(storage) == {"one": 7, "two": 1, "three": 0}


@pytest.fixture
def twice(places: Places, storage: PlacedStorage) -> PlacedStorage:
    """A namespace of seven memories that a process with another table has made in `two` as well."""
    with wellkept.open(places.urls["two"], embedder="hashing", namespace=ANA) as other:
        other.remember("Written by a process with another table.")
        other.remember("Shelf 0 of the archive holds the maps of region 0.")
    return storage


def test_a_second_copy_that_no_move_made_is_shown_then_saved_in_a_file_and_removed(
    places: Places, twice: PlacedStorage, tmp_path: Path
) -> None:
    shown = json.loads(places.run("db", "remove-copy", ANA, "two", "--json").stdout)
    assert shown == {
        "namespace": ANA, "kept": "one", "database": "two", "entries": 2, "memories": 2, "missing": 1,
        "texts": ["Written by a process with another table."], "removed": False,
    }  # fmt: skip
    assert "Nothing was changed" in places.run("db", "remove-copy", ANA, "two").stdout
    assert twice.found_at(ANA) == ["one", "two"]
    late = places.write('"acme/" = "two"\n', file=tmp_path / "of another machine.toml")
    done = places.run("db", "remove-copy", ANA, "two", "--save", str(tmp_path / "two.db"))
    assert "kept, lacks 1 of them" in done.stdout and "compared by hashes; it is removed" in done.stdout
    assert held(twice) == {"one": 7, "two": 0, "three": 0} and twice.found_at(ANA) == ["one"]
    with wellkept.open(str(tmp_path / "two.db"), embedder="hashing", namespace=ANA) as saved:
        assert len(saved.list()) == len(saved.journal()) == 2
    with wellkept.open(f"placement://{late}", embedder="hashing", namespace=ANA) as other:
        assert other.remember("Ana waters the ferns.").outcome == "created"
    assert held(twice) == {"one": 8, "two": 0, "three": 0}
    lines = str(tmp_path / "ana-two.jsonl")
    out = CliRunner().invoke(app, ["--db", str(tmp_path / "two.db"), "--namespace", ANA, "export", lines])
    back = places.run("--namespace", ANA, "import", lines)
    assert (out.exit_code, back.exit_code) == (0, 0), back.output
    with places.open() as store:
        assert "Written by a process with another table." in [memory.content for memory in store.list()]


REFUSALS: dict[str, tuple[list[str], str]] = {
    "the one of the table": ([ANA, "one"], "by the table of places it lives in 'one'"),
    "none": ([ANA, "three"], "database 'three' holds no copy"),
    "an unknown database": ([ANA, "six"], "there is no database 'six'"),
    "a namespace of nobody": (["acme/ben", "two"], "database 'two' holds no copy"),
}


@pytest.mark.parametrize(("words", "told"), REFUSALS.values(), ids=REFUSALS)
def test_only_a_second_copy_is_removed(
    places: Places, twice: PlacedStorage, words: list[str], told: str, tmp_path: Path
) -> None:
    refused = places.run("db", "remove-copy", *words, "--save", str(tmp_path / "copy.db"))
    assert refused.exit_code == 1 and told in refused.stderr
    assert held(twice) == {"one": 7, "two": 2, "three": 0}


def test_no_copy_is_removed_while_one_of_both_is_moved_or_the_kept_one_is_closed(
    places: Places, twice: PlacedStorage, tmp_path: Path
) -> None:
    save = ("--save", str(tmp_path / "copy.db"))
    closing(twice, "two", Closed(moving="three"))
    assert "being moved to database 'three'" in places.run("db", "remove-copy", ANA, "two", *save).stderr
    closing(twice, "two", OPEN, Closed(moving="three"))
    closing(twice, "one", Closed(moved="two"))
    assert "is not there or not open" in places.run("db", "remove-copy", ANA, "two", *save).stderr
    closing(twice, "one", OPEN, Closed(moved="two"))
    with twice.at("two").alone(ANA):
        assert "is being moved by wellkept, process" in places.run("db", "remove-copy", ANA, "two", *save).stderr
    assert held(twice) == {"one": 7, "two": 2, "three": 0}


def test_a_copy_that_cannot_be_saved_stays_and_stays_open(places: Places, twice: PlacedStorage, tmp_path: Path) -> None:
    with wellkept.open(str(tmp_path / "other.db"), embedder="hashing", namespace=ANA) as other:
        other.remember("Something else.")
        other.remember("And more.")
    refused = places.run("db", "remove-copy", ANA, "two", "--save", str(tmp_path / "other.db"))
    assert refused.exit_code == 1 and "the target holds other things" in refused.stderr
    assert twice.found_at(ANA) == ["one", "two"]


@pytest.mark.parametrize("how", [Corrupt("the copy is not what was copied"), KeyboardInterrupt()], ids=["error", "end"])
def test_a_failure_while_a_copy_is_saved_opens_it_again(
    twice: PlacedStorage, monkeypatch: pytest.MonkeyPatch, how: BaseException, tmp_path: Path
) -> None:
    def fails(*_: Any, **__: Any) -> None:
        raise how

    ends, save = (database(twice, "one"), database(twice, "two")), SqliteStorage(tmp_path / "two.db")
    with monkeypatch.context() as patch:
        patch.setattr(second_copy, "copy_namespace", fails)
        with pytest.raises(type(how)):
            remove(*ends, ANA, save=save)
    assert twice.found_at(ANA) == ["one", "two"]
    closing(twice, "two", Closed(moved="one"))  # as one has left it that was killed
    assert remove(*ends, ANA, save=save).removed and held(twice) == {"one": 7, "two": 0, "three": 0}
    save.close()


def test_a_copy_that_changes_after_it_was_saved_is_not_removed(
    places: Places, twice: PlacedStorage, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy, save = second_copy.copy_namespace, SqliteStorage(tmp_path / "two.db")

    def changed(*given: Any, **named: Any) -> Any:
        result = copy(*given, **named)
        with psycopg.connect(places.urls["two"], autocommit=True) as connection:
            connection.execute("UPDATE wellkept.namespace SET seq = seq + 1")
        return result

    monkeypatch.setattr(second_copy, "copy_namespace", changed)
    with pytest.raises(Busy, match="somebody has written in the copy meanwhile; nothing was removed"):
        remove(database(twice, "one"), database(twice, "two"), ANA, save=save)
    with twice.at("two").for_moving().begin(ANA, write=False) as tx:
        assert len(tx.journal()) == 2
    save.close()


def test_a_move_is_given_up_by_command(places: Places, storage: PlacedStorage) -> None:
    copied_in_part(storage)
    assert "moving to two" in places.run("db", "place", ANA).stdout
    assert "Finish the move, or give it up" in places.run("db", "move", ANA, "--clean").stderr
    assert "being moved to database 'two'" in places.run("db", "move", ANA, "three").stderr
    assert "stays in one; the copy of 7 entries in two is removed" in places.run("db", "move", ANA, "--back").stdout
    assert held(storage) == {"one": 7, "two": 0, "three": 0} and storage.found_at(ANA) == ["one"]
