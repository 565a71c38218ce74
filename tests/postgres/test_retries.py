"""Transient failures are retried, and a commit without an answer is neither lost nor repeated.

A proxy cuts the connection at a chosen point; no test waits, because clock and pauses are injected.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

import wellkept
from asked import NEW, OLD, THIRD, Drawn, relate, state, unsure
from postgres.proxy import INTERNAL, REMOTE, At, Proxy
from postgres.server import server
from stores import Desk, fold
from wellkept.core.asking.state import Checked
from wellkept.engine.base.retry import Patience
from wellkept.engine.upkeep.reembed import sweep
from wellkept.engine.verbs.store import MemoryStore
from wellkept.errors import Busy, ModelUnavailable, ReadOnly, StorageError, StorePathError
from wellkept.server.access.one_namespace import NamespaceStore
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.failures import Lost, translated
from wellkept.testing.checks.world import NS, entry, memory
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import ALL_STATUSES, Filter, MemoryChange

ROOMS = ("Room 4 has a red door.", "The door of room 4 is blue.", "Room 4 is closed by a green door.")
FACTS = tuple(f"The {name} gauge is read at noon." for name in ("left", "middle", "right"))


class Time:
    """A clock that only sleeping moves."""

    def __init__(self) -> None:
        self.at = 0.0
        self.pauses: list[float] = []
        self.awoken: Callable[[], None] = lambda: None

    def sleep(self, seconds: float) -> None:
        self.at += seconds
        self.pauses.append(seconds)
        self.awoken()

    def patience(self, seconds: float = 30.0) -> Patience:
        return Patience(seconds, now=lambda: self.at, sleep=self.sleep, chance=lambda: 1.0)


@pytest.fixture
def proxy(url: str) -> Iterator[Proxy]:
    made = Proxy(url)
    yield made
    made.stop()


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture
def store(proxy: Proxy, time: Time) -> Iterator[MemoryStore]:
    storage = PostgresStorage(proxy.url, busy_seconds=5)
    with wellkept.open(storage, embedder=FakeEmbedder(dim=64)) as made:
        storage.insist = time.patience().insist
        yield made
    storage.close()


def once(proxy: Proxy, at: At) -> None:
    """Cut the connection at the next commit only."""
    rest = iter([at])
    proxy.at_commit = lambda: next(rest, "")


def rows_of(url: str) -> list[str]:
    """The rows on the server."""
    with wellkept.open(url, embedder=FakeEmbedder(dim=64)) as seen:
        assert seen.verify() == ()
        entries = seen.journal()
        assert [one.seq for one in entries] == list(range(1, len(entries) + 1))
        return sorted(row.content for row in seen.list(Filter(statuses=ALL_STATUSES)))


CUTS: tuple[At, ...] = ("before", "unanswered", "unread")
ALL_CUTS: tuple[At, ...] = (*CUTS, "error before", "error unanswered", "error unread")
"""Also those between the coordinator of a cluster and the server of the namespace."""


# -- a commit without an answer ---------------------------------------------------------------


@pytest.mark.parametrize("error", [INTERNAL, REMOTE], ids=["internal", "remote"])
@pytest.mark.parametrize("at", ALL_CUTS[3:])
def test_a_write_whose_commit_was_answered_by_an_error_of_a_cluster_is_there_once(
    store: MemoryStore, proxy: Proxy, url: str, at: At, error: bytes
) -> None:
    """The client keeps its connection, hears of the row as created, and its repeat is a duplicate."""
    proxy.error = error
    once(proxy, at)
    told = store.remember(FACTS[0], kind="lesson")
    assert proxy.cuts == 1
    assert (told.outcome, told.entry) == ("created", 1)
    assert store.remember(FACTS[0], kind="lesson").outcome == "duplicate"
    assert rows_of(url) == [FACTS[0]]


def test_an_error_of_a_cluster_that_nobody_can_clear_up_names_the_lost_server(
    store: MemoryStore, proxy: Proxy, url: str
) -> None:
    proxy.error = REMOTE

    def last() -> At:
        proxy.at_commit = lambda: "before"  # whoever asks gets no answer either
        return "error unanswered"

    proxy.at_commit = last
    with pytest.raises(Lost, match="server worker:5432 of the cluster was lost.*with its idempotency key"):
        store.remember(FACTS[0])
    proxy.at_commit = lambda: ""
    assert rows_of(url) == [FACTS[0]], "it was"


def test_a_server_of_the_cluster_that_is_away_is_named_and_the_call_repeated(url: str) -> None:
    connecting = psycopg.errors.ConnectionFailure
    error = connecting("connection to the remote node wellkept@worker-2:5432 failed with the following error: refused")
    error.sqlstate = "08006"
    told = translated(error, "postgresql://coordinator/memory")
    assert isinstance(told, Lost) and told.transient
    assert "the server worker-2:5432 of the cluster cannot be reached; nothing was written" in str(told)
    assert isinstance(translated(connecting("the server closed the connection"), "x"), Lost)


@pytest.mark.parametrize("at", CUTS)
def test_a_write_whose_commit_was_not_answered_is_there_once_and_told_as_it_was_done(
    store: MemoryStore, proxy: Proxy, url: str, at: At
) -> None:
    """I1, I5: no key was given; the caller hears of a row that is there, and of it being created."""
    once(proxy, at)
    told = store.remember(FACTS[0], kind="lesson")
    assert proxy.cuts == 1
    assert told.outcome == "created" and told.memory is not None and told.entry == 1
    assert store.get(told.memory.id, touch=False).content == FACTS[0]
    assert rows_of(url) == [FACTS[0]]


def test_the_tenth_commit_of_a_connection_is_cut_like_the_first(store: MemoryStore, proxy: Proxy, url: str) -> None:
    """The driver prepares what it sends often; a commit stays one plain message, so its answer is lost whole."""
    texts = [f"The {name} gauge hangs over boiler {name}." for name in "abcdefghijkl"]
    for text in texts[:9]:
        store.remember(text, on_conflict="ignore")
    for text in texts[9:]:
        once(proxy, "unanswered")
        cuts = proxy.cuts
        assert store.remember(text, on_conflict="ignore").outcome == "created"
        assert proxy.cuts == cuts + 1, "the commit was recognised on its way"
        proxy.at_commit = lambda: ""
    assert rows_of(url) == sorted(texts)


Act = Callable[[MemoryStore, str, str], object]
VERBS: dict[str, Act] = {
    "remember": lambda store, a, b: store.remember(FACTS[2], kind="thesis").outcome,
    "remember_many": lambda store, a, b: dict(store.remember_many([*FACTS], on_conflict="ignore").counts),
    "supersede": lambda store, a, b: store.supersede(a, b),
    "forget": lambda store, a, b: store.forget(a),
    "erase": lambda store, a, b: store.erase(a),
    "link": lambda store, a, b: store.link(a, b).rel,
    "unlink": lambda store, a, b: store.unlink(a, b),
    "split": lambda store, a, b: store.split(a),
    "undo": lambda store, a, b: store.undo(2),
    "revise": lambda store, a, b: store.revise(a, tags=["seen"]).version,
    "queue": lambda store, a, b: _queued(store),
    "record_turn": lambda store, a, b: store.record_decision("We moved to the new region.").outcome,
}


def _queued(store: MemoryStore) -> object:
    with store.deferred():
        store.remember(FACTS[2], kind="thesis")
    return [row.content for row in store.list(Filter(kinds=("thesis",)))]


@pytest.mark.parametrize("at", CUTS)
@pytest.mark.parametrize("verb", VERBS)
def test_every_writing_verb_answers_as_if_no_connection_had_been_cut(
    store: MemoryStore, proxy: Proxy, url: str, verb: str, at: At
) -> None:
    """The same call on a store with an intact connection gives the same answer and the same journal."""
    told: list[object] = []
    journals = []
    with wellkept.open("memory:", embedder=FakeEmbedder(dim=64)) as other:
        for one in (other, store):
            a, b = (_id(one, text) for text in FACTS[:2])
            if verb == "unlink":
                one.link(a, b)
            if verb == "split":
                fold(one, a, b)
            if one is store:
                once(proxy, at)
            told.append(VERBS[verb](one, a, b))
            journals.append([(line.seq, line.verb, line.outcome) for line in one.journal()])
    assert proxy.cuts == 1
    assert told[0] == told[1]
    assert journals[0] == journals[1]


Step = Callable[[Desk], object]
# What is done with a question about the second of two texts, which is the second entry; each step loses its commit.
OF_QUESTIONS: dict[str, tuple[Step, ...]] = {
    "a write that asks": (lambda table: _asked(table, THIRD),),
    "a batch that asks": (lambda table: _asked_together(table),),
    "an answer": (lambda table: _answered(table, "replaces 1"),),
    "the same answer twice": (lambda table: _answered(table, "repeats 1"), lambda table: _answered(table, "repeats 1")),
    "an answer that teaches": (lambda table: _answered(table, "new"),),
    "an answer of a person": (lambda table: table.store.answer("q2", "replaces 1", by="person").answer,),
    "an answer of a model": (lambda table: table.store.answer_with(lambda given: ["replaces 1"] * len(given)).left,),
    "the undo of an answer": (lambda table: _answered(table, "replaces 1"), lambda table: table.store.undo(3)),
    "answers taken back": (lambda table: _answered(table, "new"), lambda table: table.store.undo_answers().undone),
    "the undo of the write": (lambda table: table.store.undo(2),),
    "a memory forgotten": (lambda table: table.store.forget(table.store.questions()[0].memory.id),),
    "an erasure": (lambda table: table.store.erase(table.store.questions()[0].memory.id),),
    "lessons forgotten": (lambda table: _answered(table, "new"), lambda table: table.store.forget_lessons()),
}


@pytest.mark.parametrize("at", CUTS)
@pytest.mark.parametrize("act", OF_QUESTIONS)
def test_a_question_is_asked_once_paid_once_and_answered_once(
    proxy: Proxy, url: str, time: Time, tmp_path: Path, act: str, at: At
) -> None:
    """Budget, open questions and lessons are those of a store with an intact connection."""
    storage = PostgresStorage(proxy.url, busy_seconds=5)
    storage.insist = time.patience().insist
    ends = []
    for backend in ("memory", storage):
        table = _unsure(backend, tmp_path)
        told = []
        for step in OF_QUESTIONS[act]:
            if backend is storage:
                once(proxy, at)
            told.append(step(table))
        now, journal = state(table.store), table.store.journal()
        told += [(line.seq, line.verb, line.outcome, line.answers, line.asks is not None) for line in journal]
        told += [now.tokens, now.scores, [(one.entry, one.worth) for one in now.open], now.checked]
        ends.append([*told, table.rows("active"), table.store.verify()])
        table.store.close()
    storage.close()
    assert proxy.cuts == len(OF_QUESTIONS[act])
    assert ends[0] == ends[1]


def test_an_answer_that_nobody_heard_of_is_given_again_and_changes_nothing(
    proxy: Proxy, url: str, time: Time, tmp_path: Path
) -> None:
    storage = PostgresStorage(proxy.url, busy_seconds=5)
    storage.insist = time.patience().insist
    table = _unsure(storage, tmp_path)

    def last() -> At:
        proxy.refusing = True
        return "unanswered"

    proxy.at_commit = last
    with pytest.raises(Lost):
        _answered(table, "new")
    proxy.at_commit, proxy.refusing = lambda: "", False
    assert state(table.store).checked["mark"] == Checked(audited=1, wrong=1)
    assert _answered(table, "new") == ("new", 0)
    assert state(table.store).checked["mark"] == Checked(audited=1, wrong=1)
    assert [line.answers for line in table.store.journal()] == [0, 0, 2]
    table.store.close()
    storage.close()


def _unsure(backend: str | PostgresStorage, folder: Path) -> Desk:
    """A store with two texts, of which the second is asked about: the gate has marked the first, and is checked."""
    table = unsure(backend, folder, new_id=Drawn())
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    table.store.remember(OLD, kind="fact")
    assert _asked(table, NEW) == "q2"
    return table


def _asked(table: Desk, text: str) -> str:
    found = table.store.remember(text, kind="fact").question
    return found.id if found is not None else ""


def _asked_together(table: Desk) -> list[str]:
    relate(table, table.options["relation_model"], ROOMS)
    done = table.store.remember_many([{"content": text, "kind": "fact"} for text in ROOMS])
    return [one.question.id for one in done.results if one.question is not None]


def _answered(table: Desk, said: str) -> tuple[str, int]:
    answered = table.store.answer("q2", said)
    return answered.answer, answered.entry


@pytest.mark.parametrize("at", CUTS)
def test_what_a_sweep_counts_comes_from_the_transactions_that_were_kept(
    store: MemoryStore, proxy: Proxy, at: At
) -> None:
    """F-28: a decision that is taken anew is one decision."""
    fake = store._ctx.embedder
    assert isinstance(fake, FakeEmbedder)
    fake.fail_with = ModelUnavailable("down")
    _id(store, FACTS[0])
    fake.fail_with = None
    commits = iter(["", at])  # the vectors' own, then that of the check
    proxy.at_commit = lambda: next(commits, "")
    told = sweep(store._ctx)
    assert proxy.cuts == 1
    checks = [line for line in store.journal() if line.verb == "recheck"]
    assert (told.embedded, told.checked, len(checks)) == (1, 1, 1)


def _id(store: MemoryStore, text: str) -> str:
    made = store.remember(text, kind="note").memory
    assert made is not None
    return made.id


def test_a_commit_that_is_still_under_way_is_waited_for(store: MemoryStore, proxy: Proxy, url: str, time: Time) -> None:
    """The server still works on the commit when its result is queried; the query waits for the namespace's lock."""
    at_first(
        url,
        "PERFORM pg_sleep(0.5)",
        "CREATE CONSTRAINT TRIGGER first AFTER INSERT OR UPDATE ON wellkept.namespace DEFERRABLE INITIALLY DEFERRED "
        "FOR EACH ROW EXECUTE FUNCTION first()",
    )
    once(proxy, "unread")
    assert store.remember(FACTS[0]).entry == 1
    assert time.pauses == []
    assert rows_of(url) == [FACTS[0]]


def test_when_nobody_can_tell_the_caller_hears_that_it_may_be_written(
    store: MemoryStore, proxy: Proxy, url: str, time: Time
) -> None:
    store.remember(FACTS[0])

    def last() -> At:
        proxy.refusing = True
        return "unanswered"

    proxy.at_commit = last
    with pytest.raises(Lost, match="with its idempotency key it is not written twice") as caught:
        store.remember(FACTS[1])
    assert not caught.value.transient
    assert 25 < time.at <= 30, "asked until the bound, not longer"
    assert rows_of(url) == sorted(FACTS[:2]), "it was"


def test_a_commit_that_arrived_is_known_even_when_others_have_written_since(
    store: MemoryStore, proxy: Proxy, url: str, time: Time
) -> None:
    store.remember(FACTS[0])
    refused = iter([True])

    def last() -> At:
        proxy.refusing = next(refused, False)
        return "unanswered" if proxy.refusing else ""

    def others() -> None:
        with wellkept.open(url, embedder=FakeEmbedder(dim=64), actor="other") as other:
            other.remember(FACTS[2])
        proxy.refusing = False

    proxy.at_commit, time.awoken = last, others
    told = store.remember(FACTS[1])
    assert (told.outcome, told.entry, len(time.pauses)) == ("created", 2, 1)
    assert rows_of(url) == sorted(FACTS)


@pytest.mark.parametrize("at", CUTS)
def test_a_write_that_is_put_off_waits_once_whatever_becomes_of_the_answer(
    store: MemoryStore, proxy: Proxy, url: str, time: Time, at: At
) -> None:
    """A repeated `put` stores no duplicate, also if the server cannot be reached at first (I5)."""

    def cut() -> At:
        proxy.at_commit, proxy.refusing = lambda: "", True
        return at

    def back() -> None:
        proxy.refusing = False

    proxy.at_commit, time.awoken = cut, back
    assert store.queue.remember(FACTS[0], kind="thesis").outcome == "queued"
    proxy.at_commit = cut
    with store.deferred():
        assert store.remember(FACTS[1], kind="thesis").outcome == "queued"
    assert len(time.pauses) == 2 and rows_of(url) == sorted([FACTS[1]])
    assert len(store.queue.flush().results) == 1
    assert rows_of(url) == sorted(FACTS[:2])


def test_every_verb_of_a_queue_and_of_a_request_outlives_a_server_that_is_away_for_a_moment(
    store: MemoryStore, proxy: Proxy, time: Time
) -> None:
    def back() -> None:
        proxy.refusing = False

    time.awoken = back
    queue, walled = store.queue, NamespaceStore(store._ctx)
    verbs: tuple[Callable[[], object], ...] = (
        lambda: queue.remember(FACTS[0], kind="thesis"),
        queue.pending,
        queue.failed,
        queue.flush,
        walled.verify,
    )
    for number, verb in enumerate(verbs, 1):
        proxy.refusing = True
        proxy.cut()
        verb()
        assert len(time.pauses) == number


# -- what certainly was not kept --------------------------------------------------------------


def test_a_read_and_a_write_outlive_a_server_that_is_away_for_a_moment(
    store: MemoryStore, proxy: Proxy, time: Time
) -> None:
    store.remember(FACTS[0])
    for act in (lambda: store.recall("gauge"), lambda: store.remember(FACTS[1])):
        proxy.refusing = True
        proxy.cut()
        away = iter([True, True, True])

        def back(away: Iterator[bool] = away) -> None:
            proxy.refusing = next(away, False)

        time.awoken = back
        before = len(time.pauses)
        assert act()
        pauses = time.pauses[before:]
        assert len(pauses) == 4 and pauses == sorted(pauses) and pauses[0] < pauses[-1]


def test_a_server_that_stays_away_is_named_after_the_bound(store: MemoryStore, proxy: Proxy, time: Time) -> None:
    store.remember(FACTS[0])
    proxy.refusing = True
    proxy.cut()
    with pytest.raises(StorePathError, match="cannot be reached") as caught:
        store.remember(FACTS[1])
    assert 25 < time.at <= 30 and max(time.pauses) <= 2.0
    assert not caught.value.transient
    proxy.refusing = False
    assert store.remember(FACTS[1]).outcome == "created"


def test_a_connection_cut_within_a_transaction_makes_the_decision_anew(
    store: MemoryStore, proxy: Proxy, url: str, time: Time, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The whole call is repeated: another writer has stored the same text, so it is a duplicate now."""
    storage = store._ctx.storage
    assert isinstance(storage, PostgresStorage)
    from wellkept.storage.postgres.write_transaction import WriteTx

    apply, rest = WriteTx.apply, iter([True])

    def cut_once(tx: WriteTx, *args: object, **named: object) -> int:
        seq = apply(tx, *args, **named)  # type: ignore[arg-type]
        if next(rest, False):
            proxy.cut()
        return seq

    def other() -> None:
        with wellkept.open(url, embedder=FakeEmbedder(dim=64)) as beside:
            beside.remember(FACTS[0], kind="lesson")

    monkeypatch.setattr(WriteTx, "apply", cut_once)
    time.awoken = other
    assert store.remember(FACTS[0], kind="lesson").outcome == "duplicate"
    assert rows_of(url) == [FACTS[0]]


@pytest.mark.parametrize("state, tries", [("40001", 2), ("40P01", 2), ("57014", 1), ("55P03", 1)])
def test_a_transaction_the_server_gave_up_is_run_again_and_one_that_waited_is_not(
    store: MemoryStore, url: str, time: Time, state: str, tries: int
) -> None:
    """Serialization failures and deadlocks pass; who waited for a lock has waited, and a bound is a bound."""
    raising = f"RAISE EXCEPTION 'on purpose' USING ERRCODE = '{state}'"
    at_first(
        url, raising, "CREATE TRIGGER first BEFORE INSERT ON wellkept.journal FOR EACH ROW EXECUTE FUNCTION first()"
    )
    if tries > 1:
        assert store.remember(FACTS[0]).outcome == "created"
        assert len(time.pauses) == tries - 1
    else:
        with pytest.raises(Busy):
            store.remember(FACTS[0])
        assert time.pauses == []
        assert rows_of(url) == []


def at_first(url: str, act: str, trigger: str) -> None:
    """The trigger does this the first time; a sequence counts outside of transactions."""
    body = f"BEGIN IF nextval('first_time') = 1 THEN {act}; END IF; RETURN NEW; END"
    with psycopg.connect(url, autocommit=True) as connection:
        for statement in (
            "CREATE SEQUENCE first_time",
            f"CREATE FUNCTION first() RETURNS trigger LANGUAGE plpgsql AS $$ {body} $$",
            trigger,
        ):
            connection.execute(statement.encode())


@pytest.fixture(autouse=True)
def _without_triggers(url: str) -> Iterator[None]:
    yield
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("DROP FUNCTION IF EXISTS first() CASCADE; DROP SEQUENCE IF EXISTS first_time")


def test_a_batch_that_loses_its_connection_in_the_middle_goes_on_where_it_was(
    store: MemoryStore, proxy: Proxy, url: str
) -> None:
    """Committed items keep their result; the rest is decided again."""
    texts = [f"Pump {one}{other} is checked by hand." for one in "abcdefghijklmnop" for other in "abcdefghijklmnop"]
    cuts = iter(["before", "", "unanswered", "unread", "before"])
    proxy.at_commit = lambda: next(cuts, "")  # type: ignore[arg-type, return-value]
    done = store.remember_many([{"content": text, "kind": "thesis"} for text in texts])
    assert dict(done.counts) == {"created": len(texts)} and not done.errors
    assert rows_of(url) == sorted(texts)


def test_an_iterator_is_not_run_through_twice(store: MemoryStore, proxy: Proxy, url: str) -> None:
    once(proxy, "before")
    done = store.remember_many(text for text in FACTS)
    assert len(done.results) == 3 and rows_of(url) == sorted(FACTS)


# -- a primary that is one no longer ----------------------------------------------------------


def read_only(url: str, state: str) -> None:
    running, name = server(), urlsplit(url).path[1:]
    with psycopg.connect(running.url, autocommit=True) as connection:
        connection.execute(f'ALTER DATABASE "{name}" SET default_transaction_read_only = {state}'.encode())


def test_a_server_that_takes_no_more_writes_is_left_and_the_next_one_found(
    store: MemoryStore, proxy: Proxy, url: str, time: Time
) -> None:
    """Every connection to it is dropped; the first that takes writes again is used."""
    store.remember(FACTS[0])
    read_only(url, "on")
    try:
        proxy.cut()
        time.awoken = lambda: read_only(url, "off")
        assert store.remember(FACTS[1]).outcome == "created"
        assert len(time.pauses) == 1
    finally:
        read_only(url, "off")


def test_a_store_that_could_never_write_here_says_so_at_once(url: str, time: Time) -> None:
    read_only(url, "on")
    try:
        storage = PostgresStorage(url, busy_seconds=5)
        storage.insist = time.patience().insist
        with pytest.raises(ReadOnly, match="only reads|Name the primary"), storage.begin(NS, write=True) as tx:
            tx.apply(entry(MemoryChange(None, memory("m1"))))
        assert time.pauses == []
        storage.close()
    finally:
        read_only(url, "off")


# -- patience by itself -----------------------------------------------------------------------


def passing() -> StorageError:
    error = StorageError("on purpose")
    error.transient = True
    return error


def test_what_has_kept_something_is_not_run_again(time: Time) -> None:
    """A retry could not undo commits of the first run."""
    kept: list[int] = []

    def act() -> None:
        kept.append(1)
        raise passing()

    with pytest.raises(StorageError) as caught:
        time.patience().insist(act, kept=lambda: len(kept))
    assert len(kept) == 1 and not caught.value.transient


def test_who_gave_up_inside_is_not_run_again_outside(time: Time) -> None:
    tries: list[int] = []

    def act() -> None:
        tries.append(1)
        raise passing()

    with pytest.raises(StorageError):
        time.patience(3).insist(lambda: time.patience(3).insist(act))
    assert time.at <= 3 and 5 < len(tries) < 20


def test_what_does_not_pass_is_told_at_once(time: Time) -> None:
    def act() -> None:
        raise StorageError("for good")

    with pytest.raises(StorageError):
        time.patience().insist(act)
    assert time.pauses == []
