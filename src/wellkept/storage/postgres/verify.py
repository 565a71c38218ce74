"""What `verify` looks at: numbers, vectors, records, full text, and the journal against the rows.

Pages and checksums are the server's business (`pg_amcheck`, data checksums); here is what only the
store can know. Each namespace is read by itself, inside one snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from wellkept.core.records.codec import DAMAGE, entry_from, record_text, text_digest
from wellkept.errors import Corrupt, StorageError
from wellkept.parsing import parsed_json
from wellkept.storage.journal_codec import first_before
from wellkept.storage.memory_rows import conflict_of, is_usage, link_of, memory_of, micros
from wellkept.storage.postgres.rows import columns, words_of
from wellkept.storage.postgres.server.isolation import READ
from wellkept.storage.postgres.session import Session, half_of

Mend: TypeAlias = Literal["", "words"]
"""What `mending` makes anew from the rows; empty for what it does not."""

ADOPTING = "repair"
"""The verb of entries that take over a row as it is found, though no entry had left it so."""
_COLUMNS = (
    "kind", "status", "subject", "attribute", "created", "ongoing", "checked", "version", "embedding", "tags",
)  # fmt: skip
_SHOWN = 20
_LENGTH = 0.01
"""How far the length of a vector may be from 1; half precision keeps it within a tenth of that."""
_ROWS_AT_ONCE = 1000


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that is not as it should be, and what could be made anew to mend it."""

    text: str
    mend: Mend = ""


def flaws(session: Session) -> list[Flaw]:
    """Damage and inconsistencies; empty when the store is sound."""
    found = [Flaw(f"table {name} has rows of no namespace") for (name,) in session.rows("verify.strangers")]
    for name, ns in session.rows("verify.namespaces"):
        session.run("savepoint")
        try:
            session.enter(name, READ)
            for flaw in _namespace(session, name, ns):
                found.append(Flaw(f"namespace {name!r}{flaw.text}", flaw.mend))
        except (StorageError, *DAMAGE) as error:
            if session.lost:
                raise
            why = error.what if isinstance(error, StorageError) else type(error).__name__
            found.append(Flaw(f"namespace {name!r} cannot be read: {why}"))
        session.run("savepoint.back")  # after an error the server refuses whatever else this transaction asks
    return found


def problems(session: Session) -> list[str]:
    """The same in words."""
    return [flaw.text for flaw in flaws(session)]


def _namespace(session: Session, name: str, ns: int) -> Iterator[Flaw]:
    yield from _numbers(session, ns)
    yield from _vectors(session, ns)
    for (memory_id,) in session.rows("verify.aliases", {"ns": ns, "most": _SHOWN}):
        yield Flaw(f" has a hash of memory {memory_id}, which is not there")
    yield from _links_and_conflicts(session, ns)
    yield from _records(session, name, ns)
    for number, text in enumerate(_breaks(session, ns)):
        if number == _SHOWN:
            yield Flaw(": the journal has more breaks like these")
            break
        yield Flaw(f", {text}")
    for memory_id in against_rows(session, ns)[1]:
        yield Flaw(f", memory {memory_id}: the journal left it, and it is not there")


def _numbers(session: Session, ns: int) -> Iterator[Flaw]:
    seq, newest, count = session.row("verify.seq", {"ns": ns})
    if seq != newest or seq != count:
        yield Flaw(f" stands at entry {seq}, its journal holds {count} up to {newest}")
    for memory_id, number in session.rows("verify.journal_memory", {"ns": ns, "most": _SHOWN}):
        yield Flaw(f": the list of entries about {memory_id} names {number}, which is not there")


def _vectors(session: Session, ns: int) -> Iterator[Flaw]:
    for rows in session.blocks("verify.vectors", {"ns": ns}, _ROWS_AT_ONCE):
        for digest, dim, vec in rows:
            values = np.frombuffer(half_of(vec), dtype="<f2").astype(np.float64)
            if values.size != dim:
                yield Flaw(f" holds a vector of a wrong length ({digest})")
            elif abs(float(np.sqrt(values @ values)) - 1.0) > _LENGTH:
                yield Flaw(f" holds a vector that is not of unit length ({digest})")


def _links_and_conflicts(session: Session, ns: int) -> Iterator[Flaw]:
    for src, dst, rel, created_at in session.rows("verify.links", {"ns": ns}):
        try:
            link_of(src, dst, rel, created_at)
        except Corrupt:
            yield Flaw(f", link {src} -{rel}-> {dst}: its time cannot be read")
    for key, a, b, created, record in session.rows("verify.conflicts", {"ns": ns}):
        try:
            conflict = conflict_of(record)
        except Corrupt:
            yield Flaw(f", conflict {key}: it cannot be read")
            continue
        if (conflict.key, conflict.a, conflict.b, micros(conflict.created_at)) != (key, a, b, created):
            yield Flaw(f", conflict {key}: its columns do not repeat its record")


# --------------------------------------------------------------------------------------------
# Records and full text


def _records(session: Session, name: str, ns: int) -> Iterator[Flaw]:
    missing = 0
    for memory_id, stored, usage, record, terms in _rows(session, ns):
        at = f", memory {memory_id}"
        try:
            memory = memory_of(record, 0, None, None)
        except Corrupt as error:
            yield Flaw(f"{at}: {error.what}")
            continue
        if (memory.namespace, memory.id) != (name, memory_id):
            yield Flaw(f"{at}: its columns do not repeat its record")
        elif stored != columns(memory):
            wrong = [one for one, a, b in zip(_COLUMNS, stored, columns(memory), strict=True) if a != b]
            yield Flaw(f"{at}: its columns do not repeat its record ({', '.join(wrong)})")
        elif record_text(memory) != record:
            yield Flaw(f"{at}: its record is not in its own form")
        if not is_usage(usage):
            yield Flaw(f"{at}: when it was last used cannot be read")
        if memory.status == "active":
            missing += terms is None or set(terms) != set(words_of(memory, ns))
    if missing:
        yield Flaw(f": memories not found by all their words, or by words they do not have: {missing}", "words")
    extra = session.row("verify.words", {"ns": ns})[0]
    if extra:
        yield Flaw(f": the full text holds rows that are not active memories: {extra}", "words")


def _rows(session: Session, ns: int) -> Iterator[tuple[str, tuple[Any, ...], tuple[Any, ...], str, list[str] | None]]:
    """Every memory: id, the columns that repeat the record, the usage, the record, its words."""
    for rows in session.blocks("verify.records", {"ns": ns}, _ROWS_AT_ONCE):
        for memory_id, *rest in rows:
            yield memory_id, tuple(rest[:10]), tuple(rest[10:13]), rest[13], rest[14]


# --------------------------------------------------------------------------------------------
# The journal against the rows


def _breaks(session: Session, ns: int) -> Iterator[str]:
    """Entries that cannot be read, or that found a memory other than the entry before had left it."""
    erased = {memory_id for memory_id, stored, *_ in _rows(session, ns) if stored[1] == "erased"}
    state: dict[str, str] = {}
    for seq, plain in _entries(session, ns):
        if plain is None:
            yield f"journal entry {seq}: it cannot be read"
            continue
        try:
            entry_from({**plain, "seq": seq}, effects=())
            for part in plain.get("effects", ()):
                if part["type"] != "memory" or part["id"] in erased:
                    continue
                left = state.get(part["id"])
                if left is not None and _before(part) != left and plain["verb"] != ADOPTING:
                    yield f"journal entry {seq}: it found memory {part['id']} in a state no entry had left"
                state[part["id"]] = part["after"]["digest"] if "after" in part else ""
        except DAMAGE as error:
            yield f"journal entry {seq}: it cannot be read: {type(error).__name__}"


def against_rows(session: Session, ns: int) -> tuple[list[str], list[str]]:
    """Ids of memories that are not what the journal's last entry left, and of those that are not there."""
    left: dict[str, str] = {}
    for _, plain in _entries(session, ns):
        parts = plain.get("effects", ()) if isinstance(plain, dict) else ()
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "memory":
                after = part.get("after")
                left[str(part.get("id"))] = str(after.get("digest")) if isinstance(after, dict) else ""
    changed = []
    for memory_id, _, _, record, _ in _rows(session, ns):
        digest = left.pop(memory_id, None)
        if digest is not None and digest != text_digest(record) and _status(record) not in ("erased", ""):
            changed.append(memory_id)
    return changed, [memory_id for memory_id, digest in left.items() if digest]


def _before(part: dict[str, Any]) -> str:
    memory = first_before({"effects": [part]}, part["id"])
    return "" if memory is None else text_digest(record_text(memory))


def _entries(session: Session, ns: int) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Every entry as a plain object, by number; None for one that is no JSON object."""
    for rows in session.blocks("verify.journal", {"ns": ns}, _ROWS_AT_ONCE):
        for seq, record in rows:
            try:
                plain = parsed_json(record)
            except ValueError:
                plain = None
            yield seq, plain if isinstance(plain, dict) else None


def _status(record: str) -> str:
    try:
        return memory_of(record, 0, None, None).status
    except Corrupt:
        return ""
