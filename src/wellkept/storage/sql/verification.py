"""The checks of `verify` for all SQL backends: vectors, links, conflicts, records, and the journal.

Each message follows the name of its namespace; see `Flaw.of`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Generator, Iterable, Iterator
from typing import Any, Literal, TypeAlias, TypeVar

from wellkept.core.records.codec import DAMAGE, entry_from, record_text, text_digest
from wellkept.errors import Corrupt
from wellkept.frozen import frozen
from wellkept.storage.journal_codec import first_before
from wellkept.storage.memory_rows import conflict_of, is_usage, link_of, memory_of, micros
from wellkept.types import Memory

Mend: TypeAlias = Literal[
    "", "aliases", "columns", "conflicts", "links", "numbers", "records", "usage", "vectors", "words"
]
"""The derived data that a repair rebuilds; empty if a repair is not possible."""
Entries: TypeAlias = Iterable[tuple[int, dict[str, Any] | None]]
"""Journal entries as plain objects, by number; None if one is no JSON object."""
Key = TypeVar("Key")

ADOPTING = "repair"
"""The verb of entries that adopt a row that differs from the journal."""
COLUMNS = ("kind", "status", "subject", "attribute", "created", "ongoing", "checked", "version", "embedding")
"""The columns derived from the record, in the order of `memory_rows.columns`."""
SHOWN = 20
_LENGTH = 0.01
"""Largest deviation of a vector's length from 1; half precision causes at most a tenth of it."""


@frozen
class Flaw:
    """A problem, and the derived data whose rebuild repairs it."""

    text: str
    mend: Mend = ""

    def of(self, name: str) -> Flaw:
        """The same with the name of its namespace."""
        return Flaw(f"namespace {name!r}{self.text}", self.mend)


def is_unit(blob: bytes) -> bool:
    """Whether a stored vector is valid: finite and of unit length."""
    import numpy as np

    values = np.frombuffer(blob, dtype="<f2").astype(np.float64)
    return bool(np.isfinite(values).all()) and abs(float(np.sqrt(values @ values)) - 1.0) <= _LENGTH


def of_link(src: str, dst: str, rel: str, created_at: str | None) -> Iterator[Flaw]:
    """The flaws of a link."""
    try:
        link_of(src, dst, rel, created_at)
    except Corrupt:
        yield Flaw(f", link {src} -{rel}-> {dst}: its time cannot be read", "links")


def of_conflict(key: str, a: str, b: str, created: int, record: str) -> Iterator[Flaw]:
    """The flaws of a conflict."""
    try:
        conflict = conflict_of(record)
    except Corrupt:
        yield Flaw(f", conflict {key}: it cannot be read", "conflicts")
        return
    if (conflict.key, conflict.a, conflict.b, micros(conflict.created_at)) != (key, a, b, created):
        yield Flaw(f", conflict {key}: its columns do not repeat its record", "conflicts")


def of_memory(
    name: str,
    memory_id: str,
    stored: tuple[Any, ...],
    usage: tuple[Any, ...],
    record: str,
    *,
    columns: Callable[[Memory], tuple[Any, ...]],
    names: Iterable[str] = COLUMNS,
) -> Generator[Flaw, None, Memory | None]:
    """The flaws of a memory's row; returns the memory if its record can be read.

    Args:
        name: Namespace of the memory.
        memory_id: Id of the memory.
        stored: The stored columns that derive from the record.
        usage: Access count, last access, stability.
        record: The record.
        columns: Computes the correct columns.
        names: Names of the columns.
    """
    at = f", memory {memory_id}"
    try:
        memory = memory_of(record)
    except Corrupt as error:
        yield Flaw(f"{at}: {error.what}", "records")
        return None
    if (memory.namespace, memory.id) != (name, memory_id):
        yield Flaw(f"{at}: its columns do not repeat its record")
    elif stored != columns(memory):
        wrong = [one for one, a, b in zip(names, stored, columns(memory), strict=True) if a != b]
        yield Flaw(f"{at}: its columns do not repeat its record ({', '.join(wrong)})", "columns")
    elif record_text(memory) != record:
        yield Flaw(f"{at}: its record is not in its own form")
    if not is_usage(usage):
        yield Flaw(f"{at}: when it was last used cannot be read", "usage")
    return memory


def of_journal(entries: Entries, erased: Collection[str]) -> Iterator[Flaw]:
    """Flaws of entries that cannot be read, or whose `before` differs from the result of the preceding entry.

    Args:
        entries: Entries of one namespace.
        erased: Ids of erased memories, whose former states are not in the journal.
    """
    state: dict[str, str] = {}
    for seq, plain in entries:
        at = f", journal entry {seq}: it"
        if plain is None:
            yield Flaw(f"{at} cannot be read")
            continue
        try:
            entry_from({**plain, "seq": seq}, effects=())
            for part in plain.get("effects", ()):
                if part["type"] != "memory" or part["id"] in erased:
                    continue
                found, left = _found(part), state.get(part["id"])
                if left is not None and found != left and plain["verb"] != ADOPTING:
                    yield Flaw(f"{at} found memory {part['id']} in a state no entry had left")
                state[part["id"]] = part["after"]["digest"] if "after" in part else ""
        except DAMAGE as error:
            yield Flaw(f"{at} cannot be read: {type(error).__name__}")


def _found(part: dict[str, Any]) -> str:
    memory = first_before({"effects": [part]}, part["id"])
    return "" if memory is None else text_digest(record_text(memory))


def some(flaws: Iterable[Flaw], more: str) -> Iterator[Flaw]:
    """The first flaws of one kind, and `more` as the message about the others."""
    for number, flaw in enumerate(flaws):
        if number == SHOWN:
            yield Flaw(more)
            return
        yield flaw


def left_by(entries: Entries) -> dict[str, str]:
    """Digest of each memory after the journal's last entry about it; empty if it was removed."""
    left: dict[str, str] = {}
    for _, plain in entries:
        parts = plain.get("effects", ()) if plain is not None else ()
        for part in parts if isinstance(parts, list) else ():
            if isinstance(part, dict) and part.get("type") == "memory":
                after = part.get("after")
                left[str(part.get("id"))] = str(after.get("digest")) if isinstance(after, dict) else ""
    return left


def strayed(left: dict[Key, str], rows: Iterable[tuple[Key, str]]) -> tuple[list[Key], list[Key]]:
    """Memories whose row differs from the journal's last entry, and missing memories.

    Args:
        left: Result of `left_by`; emptied by this function.
        rows: Every stored memory with its record.
    """
    changed = []
    for key, record in rows:
        digest = left.pop(key, None)
        if digest is not None and digest != text_digest(record):
            memory = readable(record)
            if memory is not None and memory.status != "erased":
                changed.append(key)
    return changed, [key for key, digest in left.items() if digest]


def readable(record: str) -> Memory | None:
    """The memory of a record; None if the record cannot be read, which `of_memory` reports."""
    try:
        return memory_of(record)
    except Corrupt:
        return None
