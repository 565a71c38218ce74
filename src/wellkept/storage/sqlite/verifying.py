"""What `verify` looks at: pages, keys, numbers and records."""

from __future__ import annotations

from collections.abc import Iterator

from wellkept.core.codec import record_text
from wellkept.errors import Corrupt
from wellkept.storage.sqlite.rows import memory_of
from wellkept.storage.sqlite.session import Session


def problems(session: Session) -> list[str]:
    """Damage and inconsistencies in words; empty when the file is sound."""
    found = list(_pages(session))
    if found:
        return found  # nothing else can be trusted then
    found += [f"a row of table {row[0]} names something that is not there" for row in session.rows("verify.keys")]
    for name, seq, newest, count in session.rows("verify.seq"):
        found.append(f"namespace {name!r} stands at entry {seq}, its journal holds {count} up to {newest}")
    for name, digest in session.rows("verify.sizes"):
        found.append(f"namespace {name!r} holds a vector of a wrong length ({digest})")
    for name, memory_id in session.rows("verify.aliases"):
        found.append(f"namespace {name!r} has a hash of memory {memory_id}, which is not there")
    found += _records(session)
    return found


def _pages(session: Session) -> Iterator[str]:
    for (line,) in session.rows("verify.pages"):
        if line != "ok":
            yield f"damaged pages: {line}"


def _records(session: Session) -> Iterator[str]:
    for name, memory_id, kind, status, version, record in session.rows("verify.records"):
        try:
            memory = memory_of(record, 0, None, None)
        except Corrupt as error:
            yield f"namespace {name!r}, memory {memory_id}: {error.what}"
            continue
        shown = (memory.namespace, memory.id, memory.kind, memory.status, memory.version)
        if shown != (name, memory_id, kind, status, version):
            yield f"namespace {name!r}, memory {memory_id}: its columns do not repeat its record"
        elif record_text(memory) != record:
            yield f"namespace {name!r}, memory {memory_id}: its record is not in its own form"
