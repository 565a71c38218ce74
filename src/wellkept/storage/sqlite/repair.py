"""Rebuild of derived data (full text, columns, counters), and handling of unreadable records.

Derived data contains no decision about a memory and has no history, so its repair is not journaled. The engine repairs
decisions.
"""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta

from wellkept.core.records.codec import dumps, record_text
from wellkept.errors import Corrupt
from wellkept.storage.memory_rows import columns, conflict_of, is_usage, memory_of, micros
from wellkept.storage.sql.verification import of_link, readable
from wellkept.storage.sqlite.session import Session
from wellkept.storage.sqlite.verify import flaws, rows_of, unusable
from wellkept.storage.sqlite.write_transaction import words_of
from wellkept.types import Memory


def mend(session: Session, *, dry_run: bool) -> list[str]:
    """Rebuild the derived data that is wrong.

    Args:
        session: The writing connection inside its transaction; a reading one for a dry run.
        dry_run: Only report.

    Returns:
        The repaired problems, with the messages of `Storage.verify`.
    """
    found = [flaw for flaw in flaws(session) if flaw.mend]
    if dry_run or not found:
        return [flaw.text for flaw in found]
    parts = {flaw.mend for flaw in found}
    if "aliases" in parts:
        session.run("mend.aliases")
    if "numbers" in parts:
        session.run("mend.numbers")
    if "vectors" in parts:  # the sweep embeds texts without a vector
        for _, _, place in list(unusable(session)):
            session.run("mend.vector", {"place": place})
        session.run("mend.sizes")
    if "links" in parts:
        _mend_links(session)
    if "conflicts" in parts:
        _mend_conflicts(session)
    if "records" in parts:
        _set_aside(session)
    if parts & {"columns", "usage"}:
        _mend_memories(session)
    if parts & {"columns", "records", "words"}:  # the full text depends on the status, which may have been wrong
        remake_words(session)
    return [flaw.text for flaw in found]


def remake_words(session: Session) -> None:
    """Rebuild the whole full text from the records."""
    session.run("words.delete_all")
    for ns, place, record in session.rows("memory.active"):
        memory = readable(record)
        if memory is not None:  # otherwise `verify` reports it; the other rows must still be found
            session.run("words.insert", (place, words_of(memory, ns)))


def _mend_links(session: Session) -> None:
    numbers = dict(session.rows("verify.namespaces"))
    for name, src, dst, rel, created_at in session.rows("verify.links"):
        if any(of_link(src, dst, rel, created_at)):
            session.run("mend.link", {"ns": numbers[name], "src": src, "dst": dst, "rel": rel})


def _mend_conflicts(session: Session) -> None:
    """Correct the columns of conflicts; an unreadable conflict is deleted, because it would break every recall."""
    numbers = dict(session.rows("verify.namespaces"))
    for name, key, a, b, created, record in session.rows("verify.conflicts"):
        ns = numbers[name]
        try:
            conflict = conflict_of(record)
        except Corrupt:
            session.run("mend.conflict", {"ns": ns, "key": key})
            continue
        at = micros(conflict.created_at)
        if (conflict.key, conflict.a, conflict.b, at) == (key, a, b, created):
            continue
        session.run("mend.conflict", {"ns": ns, "key": key})
        if key == conflict.key or session.row("conflict.get", {"ns": ns, "key": conflict.key}) is None:
            row = {"ns": ns, "key": conflict.key, "a": conflict.a, "b": conflict.b, "created": at}
            session.run("conflict.put", {**row, "record": dumps(conflict)})


def _mend_memories(session: Session) -> None:
    numbers = dict(session.rows("verify.namespaces"))
    for name, memory_id, place, stored, usage, record in list(rows_of(session)):
        memory = readable(record)
        if memory is None:
            continue
        if not is_usage(usage):
            session.run("mend.usage", {"place": place})
        if (memory.namespace, memory.id) == (name, memory_id) and stored != columns(memory):
            try:
                session.run("memory.update", (*columns(memory), record, numbers[name], memory_id))
            except sqlite3.IntegrityError:  # another row has the same unique key; the row stays unchanged
                continue


def _set_aside(session: Session) -> None:
    """Replace each unreadable record by an archived memory with the record as its text. Nothing is lost, and the record
    no longer breaks every recall of its namespace."""
    numbers = dict(session.rows("verify.namespaces"))
    for name, memory_id, _, stored, _, record in list(rows_of(session)):
        try:
            memory_of(record)
        except Corrupt as error:
            at = _time(stored[4])
            memory = Memory(
                id=memory_id, namespace=name, kind=stored[0], content=record or "(nothing)", status="archived",
                created_at=at, updated_at=at, tags=("unreadable",), metadata={"unreadable": error.what},
                version=max(1, stored[7]),
            )  # fmt: skip
            session.run("memory.update", (*columns(memory), record_text(memory), numbers[name], memory_id))


def _time(micros: int) -> datetime:
    """Creation time of a row by its column; 1970 if the value is not valid."""
    try:
        return datetime.fromtimestamp(0, UTC) + timedelta(microseconds=micros)
    except OverflowError:
        return datetime.fromtimestamp(0, UTC)
