"""The checks of `verify`: numbers, vectors, records, full text, and the journal against the rows.

The server's own tools check pages and checksums (`pg_amcheck`, data checksums). Each namespace is read separately, in
one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from wellkept.core.records.codec import DAMAGE
from wellkept.errors import StorageError
from wellkept.parsing import object_of
from wellkept.storage.postgres.rows import columns, words_of
from wellkept.storage.postgres.server.isolation import READ
from wellkept.storage.postgres.session import Session
from wellkept.storage.sql.verification import (
    COLUMNS,
    SHOWN,
    Entries,
    Flaw,
    is_unit,
    left_by,
    of_conflict,
    of_journal,
    of_link,
    of_memory,
    some,
    strayed,
)
from wellkept.types import SEARCHED

_COLUMNS = (*COLUMNS, "tags")
_ROWS_AT_ONCE = 1000


def flaws(session: Session) -> list[Flaw]:
    """Damage and inconsistencies; empty when the store is sound."""
    found = [Flaw(f"table {name} has rows of no namespace") for (name,) in session.rows("verify.strangers")]
    for name, ns in session.rows("verify.namespaces"):
        session.run("savepoint")
        try:
            session.enter(name, READ)
            for flaw in _namespace(session, name, ns):
                found.append(flaw.of(name))
        except (StorageError, *DAMAGE) as error:
            if session.lost:
                raise
            why = error.what if isinstance(error, StorageError) else type(error).__name__
            found.append(Flaw(f"namespace {name!r} cannot be read: {why}"))
        session.run("savepoint.back")  # after an error, the server rejects further statements until this
    return found


def problems(session: Session) -> list[str]:
    """The flaws as messages."""
    return [flaw.text for flaw in flaws(session)]


def _namespace(session: Session, name: str, ns: int) -> Iterator[Flaw]:
    yield from _numbers(session, ns)
    yield from _vectors(session, ns)
    for (memory_id,) in session.rows("verify.aliases", {"ns": ns, "most": SHOWN}):
        yield Flaw(f" has a hash of memory {memory_id}, which is not there")
    yield from _links_and_conflicts(session, ns)
    yield from _records(session, name, ns)
    erased = {memory_id for memory_id, stored, *_ in _rows(session, ns) if stored[1] == "erased"}
    yield from some(of_journal(_entries(session, ns), erased), ": the journal has more breaks like these")
    for memory_id in against_rows(session, ns)[1]:
        yield Flaw(f", memory {memory_id}: the journal left it, and it is not there")


def _numbers(session: Session, ns: int) -> Iterator[Flaw]:
    seq, newest, count = session.row("verify.seq", {"ns": ns})
    if seq != newest or seq != count:
        yield Flaw(f" stands at entry {seq}, its journal holds {count} up to {newest}")
    for memory_id, number in session.rows("verify.journal_memory", {"ns": ns, "most": SHOWN}):
        yield Flaw(f": the list of entries about {memory_id} names {number}, which is not there")


def _vectors(session: Session, ns: int) -> Iterator[Flaw]:
    for rows in session.blocks("verify.vectors", {"ns": ns}, _ROWS_AT_ONCE):
        for digest, dim, vec in rows:
            blob = session.vector_bytes([vec])
            if len(blob) != 2 * dim:
                yield Flaw(f" holds a vector of a wrong length ({digest})")
            elif not is_unit(blob):
                yield Flaw(f" holds a vector that is not of unit length ({digest})")


def _links_and_conflicts(session: Session, ns: int) -> Iterator[Flaw]:
    for link in session.rows("verify.links", {"ns": ns}):
        yield from of_link(*link)
    for conflict in session.rows("verify.conflicts", {"ns": ns}):
        yield from of_conflict(*conflict)


# --------------------------------------------------------------------------------------------
# Records and full text


def _records(session: Session, name: str, ns: int) -> Iterator[Flaw]:
    missing = 0
    for memory_id, stored, usage, record, terms in _rows(session, ns):
        memory = yield from of_memory(name, memory_id, stored, usage, record, columns=columns, names=_COLUMNS)
        if memory is not None and memory.status in SEARCHED:
            missing += terms is None or set(terms) != set(words_of(memory, ns))
    if missing:
        yield Flaw(f": memories not found by all their words, or by words they do not have: {missing}", "words")
    extra = session.row("verify.words", {"ns": ns})[0]
    if extra:
        yield Flaw(f": the full text holds rows that are not active memories: {extra}", "words")


def _rows(session: Session, ns: int) -> Iterator[tuple[str, tuple[Any, ...], tuple[Any, ...], str, list[str] | None]]:
    """Every memory: id, the columns derived from the record, the usage, the record, its full-text terms."""
    for rows in session.blocks("verify.records", {"ns": ns}, _ROWS_AT_ONCE):
        for memory_id, *rest in rows:
            yield memory_id, tuple(rest[:10]), tuple(rest[10:13]), rest[13], rest[14]


# --------------------------------------------------------------------------------------------
# The journal against the rows


def against_rows(session: Session, ns: int) -> tuple[list[str], list[str]]:
    """Ids of memories whose row differs from the journal's last entry, and ids of missing memories."""
    rows = ((memory_id, record) for memory_id, _, _, record, _ in _rows(session, ns))
    return strayed(left_by(_entries(session, ns)), rows)


def _entries(session: Session, ns: int) -> Entries:
    for rows in session.blocks("verify.journal", {"ns": ns}, _ROWS_AT_ONCE):
        for seq, record in rows:
            yield seq, object_of(record)
