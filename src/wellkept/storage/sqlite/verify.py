"""The checks of `verify`: pages, keys, numbers, vectors, records, full text, and the journal against the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from wellkept.core.records.codec import DAMAGE
from wellkept.errors import StorageError
from wellkept.parsing import object_of
from wellkept.storage.memory_rows import columns
from wellkept.storage.sql.verification import (
    SHOWN,
    Entries,
    Flaw,
    Mend,
    is_unit,
    left_by,
    of_conflict,
    of_journal,
    of_link,
    of_memory,
    readable,
    some,
    strayed,
)
from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.write_transaction import words_of
from wellkept.types import SEARCHED


def flaws(session: Session) -> list[Flaw]:
    """Damage and inconsistencies; empty if there are none. Damage raises no error."""
    found = _guarded("the pages", _pages, session)
    if found:
        return found  # with damaged pages, further checks are not reliable
    looks: tuple[tuple[str, Callable[[Session], Iterator[Flaw]]], ...] = (
        ("the keys", _keys),
        ("the numbers of the journal", _numbers),
        ("the vectors", _vectors),
        ("the hashes", _aliases),
        ("the links", _links),
        ("the conflicts", _conflicts),
        ("the memories", _records),
        ("the journal", _journal),
    )
    for what, look in looks:
        found += _guarded(what, look, session)
    try:
        found += _words(session)
    except StorageError as error:
        found.append(Flaw(f"the full text cannot be read: {error.what}", "words"))
    return found


def problems(session: Session) -> list[str]:
    """The flaws as messages."""
    return [flaw.text for flaw in flaws(session)]


def _guarded(what: str, look: Callable[[Session], Iterator[Flaw]], session: Session) -> list[Flaw]:
    found: list[Flaw] = []
    try:
        found.extend(look(session))
    except StorageError as error:  # keep the flaws found so far
        found.append(Flaw(f"{what} cannot be read: {error.what}"))
    except DAMAGE as error:
        found.append(Flaw(f"{what} cannot be read: {type(error).__name__}"))
    return found


def _pages(session: Session) -> Iterator[Flaw]:
    for (line,) in session.rows("verify.pages"):
        if line != "ok":
            yield Flaw(f"damaged pages: {line}")


def _keys(session: Session) -> Iterator[Flaw]:
    for row in session.rows("verify.keys"):
        yield Flaw(f"a row of table {row[0]} names something that is not there")


def _numbers(session: Session) -> Iterator[Flaw]:
    for name, seq, newest, count in session.rows("verify.seq"):
        # If the entries have no gap, only the counter is wrong.
        mend: Mend = "numbers" if newest == count else ""
        yield Flaw(f"namespace {name!r} stands at entry {seq}, its journal holds {count} up to {newest}", mend)
    for name, memory_id, seq in session.rows("verify.journal_memory", {"most": SHOWN}):
        yield Flaw(f"namespace {name!r}: the list of entries about {memory_id} names {seq}, which is not there")


def _vectors(session: Session) -> Iterator[Flaw]:
    for name, digest in session.rows("verify.sizes"):
        yield Flaw(f"namespace {name!r} holds a vector of a wrong length ({digest})", "vectors")
    for name, digest, _ in unusable(session):
        yield Flaw(f"namespace {name!r} holds a vector that is not of unit length or not finite ({digest})", "vectors")


def unusable(session: Session) -> Iterator[tuple[str, str, int]]:
    """Vectors of the right size with an invalid value: namespace, hash, place."""
    after = 0
    while rows := session.rows("verify.vectors", {"after": after, "most": 2000}):
        for name, digest, place, vec in rows:
            after = place
            if not is_unit(vec):
                yield name, digest, place


def _aliases(session: Session) -> Iterator[Flaw]:
    for name, memory_id in session.rows("verify.aliases"):
        yield Flaw(f"namespace {name!r} has a hash of memory {memory_id}, which is not there", "aliases")


def _links(session: Session) -> Iterator[Flaw]:
    for name, *link in session.rows("verify.links"):
        yield from (flaw.of(name) for flaw in of_link(*link))


def _conflicts(session: Session) -> Iterator[Flaw]:
    for name, *conflict in session.rows("verify.conflicts"):
        yield from (flaw.of(name) for flaw in of_conflict(*conflict))


# --------------------------------------------------------------------------------------------
# Records and full text


def _records(session: Session) -> Iterator[Flaw]:
    for name, memory_id, _, stored, usage, record in rows_of(session):
        for flaw in of_memory(name, memory_id, stored, usage, record, columns=columns):
            if flaw.mend == "records":
                flaw = replace(flaw, text=f"{flaw.text}; `repair` keeps its text as an archived memory")
            yield flaw.of(name)


def rows_of(session: Session) -> Iterator[tuple[str, str, int, tuple[Any, ...], tuple[Any, ...], str]]:
    """Every memory: namespace, id, place, the columns derived from the record, the usage, the record."""
    after = 0
    while rows := session.rows("verify.records", {"after": after, "most": 2000}):
        for name, memory_id, place, *rest in rows:
            after = place
            kind, status, subject, attribute, created, ongoing, checked, *more = rest[:9]
            stored = (kind, status, subject, attribute, created, bool(ongoing), bool(checked), *more)
            yield name, memory_id, place, stored, tuple(rest[9:12]), rest[12]


def _words(session: Session) -> Iterator[Flaw]:
    """Check that the full text has exactly the terms of the searchable memories.

    For each row the sum of the hashes of its terms is compared, so that no second copy of the terms is needed.
    """
    found: defaultdict[int, int] = defaultdict(int)
    for (term,) in session.rows("verify.terms"):
        for (place,) in session.rows("words.places", {"query": f'"{term}"'}):
            found[place] += hash(term)
    missing = 0
    numbers = dict(session.rows("verify.namespaces"))
    for name, _, place, stored, _, record in rows_of(session):
        if stored[1] not in SEARCHED or name not in numbers or (memory := readable(record)) is None:
            continue  # an unreadable one is already reported
        terms = words_of(memory, numbers[name]).split()
        missing += sum(hash(term) for term in terms) != found.pop(place, 0)
    if missing:
        yield Flaw(f"memories not found by all their words, or by words they do not have: {missing}", "words")
    if found:
        yield Flaw(f"the full text holds rows that are not active memories: {len(found)}", "words")


# --------------------------------------------------------------------------------------------
# The journal against the rows


def _journal(session: Session) -> Iterator[Flaw]:
    yield from some(_breaks(session), "the journal has more breaks like these")
    for name, memory_id in against_rows(session)[1]:
        yield Flaw(f", memory {memory_id}: the journal left it, and it is not there").of(name)


def _breaks(session: Session) -> Iterator[Flaw]:
    erased: dict[str, set[str]] = defaultdict(set)
    for name, memory_id, _, stored, _, _ in rows_of(session):
        if stored[1] == "erased":
            erased[name].add(memory_id)
    for name, ns in session.rows("verify.namespaces"):
        yield from (flaw.of(name) for flaw in of_journal(_entries(session, ns), erased[name]))


def against_rows(session: Session, namespace: str | None = None) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Memories whose row differs from the journal's last entry, and missing memories, as (namespace, id).

    Args:
        session: A connection inside a transaction.
        namespace: Only this namespace; None for all.
    """
    left: dict[tuple[str, str], str] = {}
    for name, ns in session.rows("verify.namespaces"):
        if namespace in (None, name):
            left |= {(name, memory_id): digest for memory_id, digest in left_by(_entries(session, ns)).items()}
    return strayed(left, (((name, memory_id), record) for name, memory_id, *_, record in rows_of(session)))


def _entries(session: Session, ns: int) -> Entries:
    after = 0
    while rows := session.rows("verify.journal", {"ns": ns, "after": after, "most": 500}):
        for seq, record in rows:
            after = seq
            yield seq, object_of(record)
