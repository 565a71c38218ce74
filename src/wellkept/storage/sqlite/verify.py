"""What `verify` looks at: pages, keys, numbers, vectors, records, full text, and the journal against the rows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np

from wellkept.core.records.codec import DAMAGE, entry_from, record_text, text_digest
from wellkept.errors import Corrupt, StorageError
from wellkept.parsing import parsed_json
from wellkept.storage.journal_codec import first_before
from wellkept.storage.memory_rows import columns, conflict_of, is_usage, link_of, memory_of, micros
from wellkept.storage.sqlite.rows import words_of
from wellkept.storage.sqlite.session import Session
from wellkept.types import Memory

Mend: TypeAlias = Literal[
    "", "aliases", "columns", "conflicts", "links", "numbers", "records", "usage", "vectors", "words"
]
"""What `mending` makes anew from the rows; empty for what cannot be made from anything that is left."""

ADOPTING = "repair"
"""The verb of entries that take over a row as it is found, though no entry had left it so."""
_COLUMNS = ("kind", "status", "subject", "attribute", "created", "ongoing", "checked", "version", "embedding")
_SHOWN = 20
_LENGTH = 0.01
"""How far the length of a vector may be from 1; half precision keeps it within a tenth of that."""


@dataclass(frozen=True, slots=True)
class Flaw:
    """Something that is not as it should be, and what could be made anew to mend it."""

    text: str
    mend: Mend = ""


def flaws(session: Session) -> list[Flaw]:
    """Damage and inconsistencies; empty when the file is sound. Never raises because of damage."""
    found = _guarded("the pages", _pages, session)
    if found:
        return found  # nothing else can be trusted then
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
    """The same in words."""
    return [flaw.text for flaw in flaws(session)]


def _guarded(what: str, look: Callable[[Session], Iterator[Flaw]], session: Session) -> list[Flaw]:
    found: list[Flaw] = []
    try:
        found.extend(look(session))
    except StorageError as error:  # what it found before stays found
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
        # Only the counter is wrong when the entries themselves are without a gap.
        mend: Mend = "numbers" if newest == count else ""
        yield Flaw(f"namespace {name!r} stands at entry {seq}, its journal holds {count} up to {newest}", mend)
    for name, memory_id, seq in session.rows("verify.journal_memory", {"most": _SHOWN}):
        yield Flaw(f"namespace {name!r}: the list of entries about {memory_id} names {seq}, which is not there")


def _vectors(session: Session) -> Iterator[Flaw]:
    for name, digest in session.rows("verify.sizes"):
        yield Flaw(f"namespace {name!r} holds a vector of a wrong length ({digest})", "vectors")
    for name, digest, _ in unusable(session):
        yield Flaw(f"namespace {name!r} holds a vector that is not of unit length or not finite ({digest})", "vectors")


def unusable(session: Session) -> Iterator[tuple[str, str, int]]:
    """Vectors of the right size that cannot stand for a text: namespace, hash, place."""
    after = 0
    while rows := session.rows("verify.vectors", {"after": after, "most": 2000}):
        for name, digest, place, vec in rows:
            after = place
            values = np.frombuffer(vec, dtype="<f2").astype(np.float64)
            length = float(np.sqrt(values @ values)) if np.isfinite(values).all() else 0.0
            if abs(length - 1.0) > _LENGTH:
                yield name, digest, place


def _aliases(session: Session) -> Iterator[Flaw]:
    for name, memory_id in session.rows("verify.aliases"):
        yield Flaw(f"namespace {name!r} has a hash of memory {memory_id}, which is not there", "aliases")


def _links(session: Session) -> Iterator[Flaw]:
    for name, src, dst, rel, created_at in session.rows("verify.links"):
        try:
            link_of(src, dst, rel, created_at)
        except Corrupt:
            yield Flaw(f"namespace {name!r}, link {src} -{rel}-> {dst}: its time cannot be read", "links")


def _conflicts(session: Session) -> Iterator[Flaw]:
    for name, key, a, b, created, record in session.rows("verify.conflicts"):
        try:
            conflict = conflict_of(record)
        except Corrupt:
            yield Flaw(f"namespace {name!r}, conflict {key}: it cannot be read", "conflicts")
            continue
        if (conflict.key, conflict.a, conflict.b, micros(conflict.created_at)) != (key, a, b, created):
            yield Flaw(f"namespace {name!r}, conflict {key}: its columns do not repeat its record", "conflicts")


# --------------------------------------------------------------------------------------------
# Records and full text


def _records(session: Session) -> Iterator[Flaw]:
    for name, memory_id, _, stored, usage, record in rows_of(session):
        at = f"namespace {name!r}, memory {memory_id}"
        try:
            memory = memory_of(record, 0, None, None)
        except Corrupt as error:
            yield Flaw(f"{at}: {error.what}; `repair` keeps its text as an archived memory", "records")
            continue
        if (memory.namespace, memory.id) != (name, memory_id):
            yield Flaw(f"{at}: its columns do not repeat its record")
        elif stored != columns(memory):
            wrong = [one for one, a, b in zip(_COLUMNS, stored, columns(memory), strict=True) if a != b]
            yield Flaw(f"{at}: its columns do not repeat its record ({', '.join(wrong)})", "columns")
        elif record_text(memory) != record:
            yield Flaw(f"{at}: its record is not in its own form")
        if not is_usage(usage):
            yield Flaw(f"{at}: when it was last used cannot be read", "usage")


def rows_of(session: Session) -> Iterator[tuple[str, str, int, tuple[Any, ...], tuple[Any, ...], str]]:
    """Every memory: namespace, id, place, the columns that repeat the record, the usage, the record."""
    after = 0
    while rows := session.rows("verify.records", {"after": after, "most": 2000}):
        for name, memory_id, place, *rest in rows:
            after = place
            kind, status, subject, attribute, created, ongoing, checked, *more = rest[:9]
            stored = (kind, status, subject, attribute, created, bool(ongoing), bool(checked), *more)
            yield name, memory_id, place, stored, tuple(rest[9:12]), rest[12]


def _words(session: Session) -> Iterator[Flaw]:
    """Whether each active memory is found under its own terms, and nothing else is found at all.

    For each row a sum over the hashes of its terms is compared; the text itself is kept only once.
    """
    found: defaultdict[int, int] = defaultdict(int)
    for (term,) in session.rows("verify.terms"):
        for (place,) in session.rows("words.places", {"query": f'"{term}"'}):
            found[place] += hash(term)
    missing = 0
    numbers = dict(session.rows("verify.namespaces"))
    for name, _, place, stored, _, record in rows_of(session):
        if stored[1] != "active" or name not in numbers:
            continue
        try:
            terms = words_of(memory_of(record, 0, None, None), numbers[name]).split()
        except Corrupt:
            continue  # told already
        missing += sum(hash(term) for term in terms) != found.pop(place, 0)
    if missing:
        yield Flaw(f"memories not found by all their words, or by words they do not have: {missing}", "words")
    if found:
        yield Flaw(f"the full text holds rows that are not active memories: {len(found)}", "words")


# --------------------------------------------------------------------------------------------
# The journal against the rows


def _journal(session: Session) -> Iterator[Flaw]:
    for number, (name, text) in enumerate(_breaks(session)):
        if number == _SHOWN:
            yield Flaw("the journal has more breaks like these")
            return
        yield Flaw(f"namespace {name!r}, {text}")
    for name, memory_id in against_rows(session)[1]:
        yield Flaw(f"namespace {name!r}, memory {memory_id}: the journal left it, and it is not there")


def _breaks(session: Session) -> Iterator[tuple[str, str]]:
    """Entries that cannot be read, or that found a memory other than the entry before had left it."""
    known: dict[str, dict[str, str]] = defaultdict(dict)
    erased = _erased(session)
    for name, seq, plain in _entries(session):
        if plain is None:
            yield name, f"journal entry {seq}: it cannot be read"
            continue
        state = known[name]
        try:
            entry_from({**plain, "seq": seq}, effects=())
            for part in plain.get("effects", ()):
                if part["type"] != "memory" or (name, part["id"]) in erased:
                    continue
                left = state.get(part["id"])
                found = _before(plain, part)
                if left is not None and found != left and plain["verb"] != ADOPTING:
                    yield name, f"journal entry {seq}: it found memory {part['id']} in a state no entry had left"
                state[part["id"]] = part["after"]["digest"] if "after" in part else ""
        except DAMAGE as error:
            yield name, f"journal entry {seq}: it cannot be read: {type(error).__name__}"


def against_rows(session: Session, namespace: str | None = None) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Memories that are not what the journal's last entry left, and those that are not there: (namespace, id).

    Args:
        session: A connection inside a transaction.
        namespace: Only this one; all for None.
    """
    left: dict[tuple[str, str], str] = {}
    for name, _, plain in _entries(session, namespace):
        parts = plain.get("effects", ()) if isinstance(plain, dict) else ()
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "memory":
                after = part.get("after")
                left[name, str(part.get("id"))] = str(after.get("digest")) if isinstance(after, dict) else ""
    changed = []
    for name, memory_id, _, _, _, record in rows_of(session):
        digest = left.pop((name, memory_id), None)
        if digest is not None and digest != text_digest(record) and _status(record) not in ("erased", ""):
            changed.append((name, memory_id))
    return changed, [key for key, digest in left.items() if digest]


def _before(plain: dict[str, Any], part: dict[str, Any]) -> str:
    memory = first_before({"effects": [part]}, part["id"])
    return "" if memory is None else text_digest(record_text(memory))


def _entries(session: Session, namespace: str | None = None) -> Iterator[tuple[str, int, dict[str, Any] | None]]:
    """Every entry as a plain object, by namespace and number; None for one that is no JSON object."""
    for ns_name, ns in session.rows("verify.namespaces"):
        if namespace not in (None, ns_name):
            continue
        after = 0
        while rows := session.rows("verify.journal", {"ns": ns, "after": after, "most": 500}):
            for seq, record in rows:
                after = seq
                try:
                    plain = parsed_json(record)
                except ValueError:
                    plain = None
                yield ns_name, seq, plain if isinstance(plain, dict) else None


def _erased(session: Session) -> set[tuple[str, str]]:
    """Of these the journal keeps no former state, so nothing can be compared."""
    return {(name, memory_id) for name, memory_id, _, stored, _, _ in rows_of(session) if stored[1] == "erased"}


def _status(record: str) -> str:
    try:
        memory: Memory = memory_of(record, 0, None, None)
    except Corrupt:
        return ""
    return memory.status
