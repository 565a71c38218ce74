"""A store is moved between backends with its journal, without any change of content (I5, I8, I9)."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest

import wellkept
from engine.moving import filled, history
from stores import Desk, desk, snapshot
from wellkept.engine.transfer.fingerprints import fingerprint, movable
from wellkept.engine.transfer.migrate import MoveReport, migrate
from wellkept.errors import Busy, Corrupt, EmbedderMismatch, NotFound, StorageError
from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Stale, Storage
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.checks.world import memory
from wellkept.types import AliasChange, Effect, Filter, MemoryChange

ROOT = Path(__file__).parents[2]
SPACES = ("acme/alice", "名前/ボブ")


def on_a_server(folder: Path, name: str) -> Storage:
    from postgres.server import shelf

    return shelf.open(folder / name)


PLACES: dict[str, Callable[[Path, str], Storage]] = {
    "memory": lambda folder, name: DictStorage(),
    "sqlite": lambda folder, name: SqliteStorage(folder / f"{name}.db", durability="relaxed"),
    "postgres": on_a_server,
}
"""Backends by name; another one is added here."""
PAIRS = list(product(PLACES, repeat=2))
IN_PAGES = [(*pair, 7) for pair in PAIRS] + [(name, name, 500) for name in PLACES]
"""Pages of a few rows between all of them; a page that holds everything need not be tried between any two."""
_OPENED: list[Storage] = []


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    """Closes the stores that a test opened."""
    yield
    while _OPENED:
        _OPENED.pop().close()


def place(backend: str, folder: Path, name: str) -> Storage:
    """A new, empty store."""
    _OPENED.append(PLACES[backend](folder, name))
    return _OPENED[-1]


def everything(storage: Storage, name: str) -> tuple[object, ...]:
    """All data of a namespace, and search results in it."""
    with storage.begin(name, write=False) as tx:
        rows = tx.find(Filter(statuses=("active", "superseded", "archived", "erased")))
        vectors = tx.vectors({row.embedding for row in rows if row.embedding})
        return (
            (tx.seq, rows, tx.links(), tx.conflicts(), list(movable(tx).aliases())),
            [replace(entry, effects=()) for entry in tx.journal()],
            [[told_of(effect) for effect in entry.effects] for entry in tx.journal()],
            {digest: vector.tobytes() for digest, vector in vectors.items()},
            tx.match(["hall", "lamp", "report", "テスト"], limit=50),
            tx.census(),
        )


def told_of(effect: Effect) -> Effect:
    """The effect in comparable form; backends differ in the tombstone that a former entry left of an erased memory."""
    if isinstance(effect, MemoryChange) and effect.after is not None and effect.after.status == "erased":
        return replace(effect, after=replace(effect.after, version=0, updated_at=effect.after.created_at))
    return effect


def moved(source: Storage, target: Storage, **options: object) -> MoveReport:
    return migrate(source, target, **options)  # type: ignore[arg-type]


def again(storage: Storage, tmp_path: Path, here: Desk) -> Desk:
    """An opened copy with the same embedder and clock, and with unused ids."""
    shared = {"clock": here.clock, "new_id": here.options["new_id"]}
    return desk(storage, tmp_path, fake=here.fake, namespace=SPACES[0], **shared)


def storage_of(here: Desk) -> Storage:
    storage = here.store._ctx.storage
    _OPENED.append(storage)
    return storage


@pytest.mark.parametrize(("one", "other", "page"), IN_PAGES)
def test_a_moved_store_is_the_same_to_the_letter(one: str, other: str, page: int, tmp_path: Path) -> None:
    """Rows with their use, hashes, links, conflicts, vectors, journal with numbers and times, runs, erasures."""
    here = filled(place(one, tmp_path, "one"), tmp_path)
    source, target = storage_of(here), place(other, tmp_path, "two")

    report = moved(source, target, page=page)

    assert [(each.namespace, each.state) for each in report.namespaces] == [(name, "copied") for name in SPACES]
    assert (target.header().embedder, target.header().dim) == (source.header().embedder, source.header().dim)
    assert (target.header().policy, target.header().namespaces) == (source.header().policy, SPACES)
    for name, each in zip(SPACES, report.namespaces, strict=True):
        assert everything(target, name) == everything(source, name)
        with target.begin(name, write=False) as tx:
            assert fingerprint(tx) == each.held
    assert target.verify() == []
    copy = again(target, tmp_path, here)
    assert copy.store.verify() == () == here.store.verify()
    assert copy.store.recall("lamp hall", touch=False) == here.store.recall("lamp hall", touch=False)
    assert "Quxolotl" not in repr(snapshot(copy.store))

    back = place(one, tmp_path, "three")
    assert [each.held for each in moved(target, back).namespaces] == [each.held for each in report.namespaces]
    for name in SPACES:
        assert everything(back, name) == everything(source, name)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_sparse_vectors_arrive_as_they_were(one: str, other: str, tmp_path: Path) -> None:
    """Their length after rounding is not 1, so rounding them once more would change them."""
    source, target = place(one, tmp_path, "one"), place(other, tmp_path, "two")
    store = wellkept.open(source, embedder="hashing", relation_model="none", namespace="acme")
    for text in ("User: I live in Graz now.", "Assistant: The tram runs every ten minutes there."):
        store.remember(text, kind="note")
    moved(source, target)
    assert everything(target, "acme") == everything(source, "acme")


@pytest.mark.parametrize("other", PLACES)
def test_the_same_move_again_changes_nothing(other: str, tmp_path: Path) -> None:
    """I5: a repeated move writes nothing."""
    source, target = storage_of(filled("sqlite", tmp_path)), place(other, tmp_path, "two")
    first = moved(source, target)
    before = [everything(target, name) for name in SPACES]
    second = moved(source, target)
    assert [(each.state, each.entries) for each in second.namespaces] == [("already there", 0)] * 2
    assert [each.held for each in second.namespaces] == [each.held for each in first.namespaces]
    assert [everything(target, name) for name in SPACES] == before


@pytest.mark.parametrize("other", PLACES)
def test_what_the_source_wrote_since_is_taken_by_the_next_move(other: str, tmp_path: Path) -> None:
    """Including later erasures: no erased text remains in the target (I1)."""
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), place(other, tmp_path, "two")
    moved(source, target)
    secret = here.store.list(Filter(kinds=("fact",)))[0]
    here.store.remember("The organ was sold.", kind="note")
    here.store.recall("organ")
    report = moved(source, target)
    assert [(each.state, each.entries) for each in report.namespaces] == [("continued", 1), ("already there", 0)]
    assert everything(target, SPACES[0]) == everything(source, SPACES[0])

    here.store.erase(secret.id)
    assert secret.content in repr(everything(target, SPACES[0]))
    assert [each.state for each in moved(source, target).namespaces] == ["copied anew", "already there"]
    assert everything(target, SPACES[0]) == everything(source, SPACES[0])
    assert secret.content not in repr(everything(target, SPACES[0]))
    assert target.verify() == []


def test_a_dry_run_tells_what_would_be_copied_and_writes_nothing(tmp_path: Path) -> None:
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), DictStorage()
    report = moved(source, target, dry_run=True)
    assert report.dry_run and [each.state for each in report.namespaces] == ["would be copied"] * 2
    assert (target.header().namespaces, target.header().embedder) == ((), "")
    done = moved(source, target)
    assert [(each.entries, each.held) for each in done.namespaces] == [
        (each.entries, each.held) for each in report.namespaces
    ]
    here.store.remember("The organ was sold.", kind="note")
    later = moved(source, target, dry_run=True)
    assert [(each.state, each.entries) for each in later.namespaces] == [
        ("would be continued", 1),
        ("already there", 0),
    ]


def test_one_namespace_moves_beside_others(tmp_path: Path) -> None:
    """I8: the rest of the target is left alone, and not looked into."""
    here = filled("sqlite", tmp_path)
    target = desk("memory", tmp_path, fake=here.fake, namespace="acme/bob")
    target.store.remember("Bob's own.", kind="note")
    before = everything(storage_of(target), "acme/bob")
    report = moved(storage_of(here), storage_of(target), namespaces=[SPACES[1]])
    assert ([each.namespace for each in report.namespaces], report.others) == ([SPACES[1]], ("acme/bob",))
    assert storage_of(target).header().namespaces == ("acme/bob", SPACES[1])
    assert everything(storage_of(target), "acme/bob") == before
    assert everything(storage_of(target), SPACES[1]) == everything(storage_of(here), SPACES[1])
    with pytest.raises(NotFound, match="no namespace 'acme/eve'"):
        moved(storage_of(here), storage_of(target), namespaces=["acme/eve"])


def test_a_target_that_holds_other_things_is_refused_and_they_are_named(tmp_path: Path) -> None:
    here = filled("sqlite", tmp_path)
    source = storage_of(here)
    for name, text in (("acme/bob", "namespace 'acme/bob'"), (SPACES[0], "namespace 'acme/alice', whose entry 1")):
        target = desk("memory", tmp_path, fake=here.fake, namespace=name)
        target.clock.advance(minutes=77)
        target.store.remember("Bob's own.", kind="note")
        before = everything(storage_of(target), name)
        with pytest.raises(StorageError, match=text):
            moved(source, storage_of(target))
        assert everything(storage_of(target), name) == before
        assert storage_of(target).header().namespaces == (name,)


def test_a_target_that_went_on_by_itself_is_refused(tmp_path: Path) -> None:
    """Copied once, then written to: a second move would lose that."""
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), place("sqlite", tmp_path, "two")
    moved(source, target)
    there = again(target, tmp_path, here)
    there.clock.advance(days=1)
    there.store.remember("Written here.", kind="note")
    at = there.store.journal(newest=1)[0].seq
    with pytest.raises(StorageError, match=f"at entry {at}, where the source is at {at - 1}"):
        moved(source, target)
    here.store.remember("Written there.", kind="note")
    with pytest.raises(StorageError, match=f"whose entry {at} is another one"):
        moved(source, target)
    here.store.remember("And more.", kind="note")
    with pytest.raises(StorageError, match=f"whose entry {at} is another one"):
        moved(source, target)
    assert "Written here." in there.rows()


def test_vectors_of_two_embedders_are_never_mixed(tmp_path: Path) -> None:
    here = filled("sqlite", tmp_path)
    target = DictStorage()
    target.configure(embedder="another/one", dim=64, policy="")
    with target.begin("acme/bob", write=True) as tx:
        tx.apply(replace(here.store.journal()[0], effects=(), seq=0))
    with pytest.raises(EmbedderMismatch, match="another/one"):
        moved(storage_of(here), target, namespaces=[SPACES[1]])


def test_use_of_a_copy_is_no_reason_to_refuse_it_and_is_kept(tmp_path: Path) -> None:
    """Reading counts use, in both stores; the higher count stays."""
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), DictStorage()
    moved(source, target)
    there = again(target, tmp_path, here)
    here.clock.advance(days=1)
    hit = there.store.recall("drum", limit=1)[0].memory.id
    read = there.store.get(hit, touch=False).access_count
    assert read > here.store.get(hit, touch=False).access_count
    assert {each.state for each in moved(source, target).namespaces} == {"already there"}
    assert there.store.get(hit, touch=False).access_count == read
    for _ in range(3):
        here.clock.advance(days=1)
        here.store.recall("drum", limit=1)
    moved(source, target)
    assert there.store.get(hit, touch=False).access_count == here.store.get(hit, touch=False).access_count > read


def test_what_no_entry_tells_is_brought_in_line_too(tmp_path: Path) -> None:
    """A hash that was mended away, a row the journal never knew: the copy is of the rows, not of the story."""
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), DictStorage()
    with source.begin(SPACES[0], write=True) as tx:
        (digest, owner) = movable(tx).aliases(limit=1)[0]
        stray = memory("n1", "Nobody wrote this.", namespace=SPACES[0])
        movable(tx).restore((), loose=[AliasChange(owner, digest, present=False), MemoryChange(None, stray)])
    moved(source, target)
    assert everything(target, SPACES[0])[0] == everything(source, SPACES[0])[0]
    with source.begin(SPACES[0], write=True) as tx:
        movable(tx).restore((), loose=[MemoryChange(stray, None)])
    moved(source, target)
    assert everything(target, SPACES[0]) == everything(source, SPACES[0])


def test_a_damaged_source_is_not_copied(tmp_path: Path) -> None:
    """A damaged source is refused, because the copy would look undamaged."""
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), DictStorage()
    row = here.store.list()[0]
    with source.begin(SPACES[0], write=True) as tx:
        movable(tx).restore((), loose=[MemoryChange(row, replace(row, content="Tampered."))])
    with pytest.raises(Corrupt, match=f"memory {row.id}: not as the journal left it"):
        moved(source, target)
    assert target.header().namespaces == ()


class Meddled(DictStorage):
    """A target in which another process writes between two blocks."""

    meddling = False

    def begin(self, namespace, *, write):  # type: ignore[no-untyped-def]
        if write and self.meddling:
            self.meddling = False
            with super().begin(namespace, write=True) as tx:
                tx.restore([replace(self.next, seq=tx.seq + 1)])
        return super().begin(namespace, write=write)


def test_somebody_who_writes_in_the_target_meanwhile_is_noticed(tmp_path: Path) -> None:
    here = filled("sqlite", tmp_path)
    source, target = storage_of(here), Meddled()
    target.next = replace(here.store.journal()[0], effects=())

    def told(namespace: str, at: int, whole: int) -> None:
        target.meddling = True

    with pytest.raises(Busy, match="somebody else writes in the target") as told_of:
        moved(source, target, page=10, progress=told)
    assert isinstance(told_of.value.__cause__, Stale)


def started(source: Path, target: str) -> subprocess.Popen[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join((str(ROOT / "src"), str(ROOT / "tests")))}
    command = [sys.executable, "-m", "engine.moving", str(source), str(target)]
    return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)


@pytest.mark.skipif(os.name != "posix", reason="signals are those of POSIX")
@pytest.mark.parametrize(
    ("other", "blocks"),
    [("sqlite", 4), ("postgres", 4), *(pytest.param("sqlite", n, marks=pytest.mark.soak) for n in (1, 9))],
)
def test_a_killed_move_goes_on_where_it_was_and_doubles_nothing(other: str, blocks: int, tmp_path: Path) -> None:
    """kill -9 after some blocks: the target is an earlier state of the source, and the next start completes it."""
    here = filled("sqlite", tmp_path, name="source.db")
    history(here.store, 120)
    here.store.close()
    whole, path = tmp_path / "source.db", str(tmp_path / "target.db")
    if other == "postgres":
        from postgres.server import server

        path = server().database()
    worker = started(whole, path)
    assert worker.stdout is not None
    for _ in range(blocks):
        assert worker.stdout.readline()
    os.kill(worker.pid, signal.SIGKILL)
    worker.communicate(timeout=30)

    source, target = SqliteStorage(whole), wellkept._storage(path)
    _OPENED.extend((source, target))
    with target.begin(SPACES[0], write=False) as tx:
        held, entries = tx.seq, tx.journal()
    with source.begin(SPACES[0], write=False) as tx:
        assert blocks * 10 <= held < tx.seq
        assert [entry.seq for entry in entries] == list(range(1, held + 1))
        assert [entry.at for entry in entries] == [entry.at for entry in tx.journal() if entry.seq <= held]
        whole_seq = tx.seq
    assert target.verify() == []

    report = migrate(source, target)
    assert (report.namespaces[0].state, report.namespaces[0].entries) == ("continued", whole_seq - held)
    for name in SPACES:
        assert everything(target, name) == everything(source, name)
    assert {each.state for each in migrate(source, target).namespaces} == {"already there"}


def test_a_file_copied_by_hand_is_known_as_the_same_history(tmp_path: Path) -> None:
    """A backup that is older than the source is brought up to it."""
    here = filled("sqlite", tmp_path, name="source.db")
    here.store.close()
    shutil.copy(tmp_path / "source.db", tmp_path / "copy.db")
    source = SqliteStorage(tmp_path / "source.db")
    again(source, tmp_path, here).store.remember("Written later.", kind="note")
    report = migrate(source, SqliteStorage(tmp_path / "copy.db"))
    assert [(each.state, each.entries) for each in report.namespaces] == [("continued", 1), ("already there", 0)]
