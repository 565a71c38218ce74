"""Information about other namespaces that a client with one token and its own SQL gets from server statistics (I8).

Each guess runs in its own transaction, once right and once wrong: the numbers of scans, rows and blocks of each table
and index must be the same for both.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest

from postgres.hostile import ALICE, SAID, Client, Ground, close, ground
from postgres.server import server
from wellkept.storage.postgres import PostgresStorage
from wellkept.storage.postgres.rows import number_of
from wellkept.storage.postgres.session import Bounds, Parameters, Session
from wellkept.types.queue import QueuedWrite

VICTIM = "bob-8"
"""A name whose rows lie in the same part of each table as those of ALICE."""
HIS, MINE = number_of(VICTIM), number_of(ALICE)
COUNTED = (
    "SELECT c.relname, pg_stat_get_xact_numscans(c.oid), pg_stat_get_xact_tuples_returned(c.oid), "
    "pg_stat_get_xact_tuples_fetched(c.oid), pg_stat_get_xact_blocks_fetched(c.oid) "
    "FROM pg_class AS c WHERE c.relnamespace = 'wellkept'::regnamespace AND c.relkind IN ('r', 'i') ORDER BY 1"
)
NOBODY = 1_000_000_000_000_000_000


@pytest.fixture(scope="module")
def two() -> Iterator[Ground]:
    with ground(server()) as made:
        for namespace, word in ((ALICE, "alice is open"), (VICTIM, SAID)):
            with made.own(namespace) as store:
                for number in range(12):
                    store.remember(f"{word} {number}", subject=f"{namespace} subject {number}", kind="thesis")
                store.queue.remember("waits", kind="thesis")
        assert close(made) == []
        made.give(ALICE, ("alice/*",), ("write",))
        # With so few rows the server would go by this index, with very many by that of the words.
        made.sql("ALTER TABLE wellkept.words DROP CONSTRAINT words_pkey")
        yield made


def counted(client: Client, *statements: str) -> object:
    """The server's counters of this transaction, after some statements."""
    answer = client.ask(*statements, COUNTED)
    assert isinstance(answer, list), answer
    return answer


GUESSES = {
    "a name": ("SELECT wellkept.enter('{}', '{key}')", VICTIM, "rob-8"),
    "a word, counted": ("SELECT * FROM wellkept.word_counts(ARRAY['{}'])", f"{HIS:x}_secret", f"{HIS:x}_nothing"),
    "a word, found": ("SELECT * FROM wellkept.word_places(ARRAY['{}'])", f"{HIS:x}_secret", f"{HIS:x}_nothing"),
    "words": ("SELECT * FROM wellkept.word_counts(ARRAY['open', '{}'])", f"{HIS:x}_keeps", f"{HIS:x}_kept"),
    "a subject": ("SELECT * FROM wellkept.of_subject('{}')", f"{VICTIM} subject 7", f"{VICTIM} subject x"),
    "a number": ("SELECT * FROM wellkept.namespace WHERE ns = {}", str(HIS), str(NOBODY)),
    "a name in the table": ("SELECT * FROM wellkept.namespace WHERE name = '{}'", VICTIM, "rob-8"),
    "who waits": ("SELECT * FROM wellkept.waiting WHERE ns = {}", str(HIS), str(NOBODY)),
    "who is searched by an index": ("SELECT * FROM wellkept.approximate WHERE ns = {}", str(HIS), str(NOBODY)),
}


@pytest.mark.parametrize("name", GUESSES)
@pytest.mark.parametrize("setting", ["enable_seqscan = off", "enable_indexscan = off", "enable_bitmapscan = off"])
def test_counters_do_not_tell_a_right_guess_from_a_wrong_one(two: Ground, name: str, setting: str) -> None:
    """E4, E5."""
    client = Client(two)
    asked, right, wrong = GUESSES[name]
    seen = [counted(client, f"SET LOCAL {setting}", asked.replace("{}", guess)) for guess in (right, wrong)]
    assert seen[0] == seen[1]


def test_the_two_lie_in_one_part_of_each_table(two: Ground) -> None:
    rows = two.sql(
        f"SELECT count(DISTINCT tableoid), count(DISTINCT ns) FROM wellkept.words WHERE ns IN ({HIS}, {MINE})"
    )
    assert rows == [(1, 2)]


def test_the_counters_do_count(two: Ground) -> None:
    """Check of the method: it distinguishes a term of the own namespace from an unused one."""
    client = Client(two)
    asked = "SELECT * FROM wellkept.word_counts(ARRAY['{}'])"
    settings = "SET LOCAL enable_seqscan = off"
    there, not_there = (counted(client, settings, asked.replace("{}", word)) for word in ("open", "shut"))
    assert there != not_there


def test_a_word_of_ones_own_is_found_with_and_without_the_number_in_front(two: Ground) -> None:
    """A client of an older release adds the prefix itself."""
    client = Client(two)
    for term, count in (("open", 12), (f"{MINE:x}_open", 12), (f"{HIS:x}_secret", 0), ("secret", 0), ("", 0)):
        assert client.ask(f"SELECT * FROM wellkept.word_counts(ARRAY['{term}'])") == [(1, count)], term
    assert client.ask("SELECT * FROM wellkept.word_counts(ARRAY['open'])", namespace=VICTIM) == [(1, 0)]
    with two.store(ALICE, "wk_alice") as store:
        assert len(store.recall("open", limit=20)) == 12


def test_the_locks_of_others_do_not_tell_their_names(two: Ground) -> None:
    """Everybody may look at `pg_locks`, and can make the number of a name he guesses."""
    storage = PostgresStorage(two.owner)
    held, shown = threading.Event(), threading.Event()

    def put(names: list[str]) -> None:
        said = {"store": "x", "at": datetime(2026, 1, 1, tzinfo=UTC), "statement": {"content": "x"}}
        ledger = storage.ledger()
        begun = ledger._begun

        @contextmanager
        def watched(name: str, bounds: Bounds | None = None) -> Iterator[Session]:
            with begun(name, bounds) as session:
                run = session.run

                def waits(statement: str, parameters: Parameters = None) -> int:
                    if statement == "commit":
                        held.set()
                        shown.wait(30)
                    return run(statement, parameters)

                session.run = waits  # type: ignore[method-assign]
                yield session

        ledger._begun = watched
        ledger.put([QueuedWrite(id=f"w {name}", namespace=name, **said) for name in names])  # type: ignore[arg-type]

    putting = threading.Thread(target=put, args=([f"tenant {number}" for number in range(100)],))
    putting.start()
    assert held.wait(30)
    [(count,)] = Client(two).ask("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'")
    shown.set()
    putting.join(30)
    storage.close()
    assert 1 < count <= 16
    assert two.sql("SELECT count(*) FROM wellkept.waiting WHERE id LIKE 'w tenant%'") == [(100,)]
