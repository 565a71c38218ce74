"""Conversion between records and the rows that all SQL backends share."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from wellkept.core.records.codec import DAMAGE, conflict_from, iso, link_from, memory_from, time_from
from wellkept.core.text.forms import search_terms, slot_key
from wellkept.core.text.text_cache import MIB, bytes_of, remembered
from wellkept.core.text.titles import titles
from wellkept.errors import Corrupt, InvalidField
from wellkept.parsing import parsed_json
from wellkept.types import Conflict, Json, Link, Memory

if TYPE_CHECKING:
    from wellkept.types import Vector

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
_MOST_TOLD = 300
_BYTES_OF_FIELDS = 2000
"""Memory of a record without its longer fields; measuring each takes longer than decoding all."""
WORDS_VERSION = (
    "pr_441 pr 441 lauft cplusplus c 数据 据库 テス スト नमस्ते बच्चा שלום مرحبا αληθεια v1_5_2 v1 5 2 "
    "snake_case snake case camelcase camel case 5_2 5 2 hidden"
)
"""Version of the term extraction: the terms of a text with all it treats. If they change, the index is rebuilt."""


def micros(at: datetime) -> int:
    """Microseconds since 1970: exact, and in the same order as the times."""
    return (at - _EPOCH) // _MICROSECOND


def columns(memory: Memory) -> tuple[Any, ...]:
    """The columns derived from the record, in the order of `memory.update` without the record."""
    return (
        memory.kind,
        memory.status,
        slot_key(memory.subject) if memory.subject else "",
        slot_key(memory.attribute) if memory.attribute else "",
        micros(memory.created_at),
        memory.ended_at is None,
        bool(memory.checked),
        memory.version,
        memory.embedding,
    )


def usage_columns(count: int, last: datetime | None, stability: float | None) -> tuple[Any, ...]:
    """The usage columns, in the order of `memory.insert`."""
    return (count, None if last is None else iso(last), stability)


def is_usage(usage: tuple[Any, ...]) -> bool:
    """Whether the usage columns are valid: access count, last access, stability."""
    count, last, stability = usage
    try:
        is_time = last is None or bool(time_from(last))
        return count >= 0 and is_time and (stability is None or 0 < stability < math.inf)
    except DAMAGE:
        return False


def memory_of(
    record: str, access_count: int = 0, last_accessed_at: str | None = None, stability: float | None = None
) -> Memory:
    """Decode the memory of a row.

    Raises:
        Corrupt: The record is not a memory.
    """
    return memories_of([(record, access_count, last_accessed_at, stability)])[0]


def memories_of(rows: Iterable[tuple[Any, ...]]) -> list[Memory]:
    """Decode the memories of rows.

    Raises:
        Corrupt: A record is not a memory.
    """
    try:
        # Values of the caller's own can be changed in place, so a memory that has some is not shared.
        return [(_decoded if '"metadata"' in row[0] or '"signals"' in row[0] else _shared)(row) for row in rows]
    except DAMAGE as error:
        raise _corrupt("memory", error) from error


def _decoded(row: tuple[Any, ...]) -> Memory:
    record, access_count, last_accessed_at, stability = row
    plain = parsed_json(record)
    if access_count:
        plain["access_count"] = access_count
    if last_accessed_at is not None:
        plain["last_accessed_at"] = last_accessed_at
    if stability is not None:
        plain["stability"] = stability
    return memory_from(plain)


def _memory_bytes(memory: Memory) -> int:
    long = (
        memory.content,
        memory.summary,
        memory.trigger,
        memory.tags,
        memory.provenance,
        memory.updates,
        memory.checked,
    )
    return _BYTES_OF_FIELDS + sum(map(bytes_of, long))


_shared = remembered(32 * MIB, _memory_bytes)(_decoded)
"""The same rows are read again and again: each write reads its neighbours, each query its candidates."""


def link_of(src: str, dst: str, rel: str, created_at: str | None) -> Link:
    """Decode the link of a row.

    Raises:
        Corrupt: Its time is invalid.
    """
    return links_of([(src, dst, rel, created_at)])[0]


def links_of(rows: Iterable[tuple[Any, ...]]) -> list[Link]:
    """Decode the links of rows.

    Raises:
        Corrupt: A time is invalid.
    """
    try:
        return [_link(row) for row in rows]
    except DAMAGE as error:
        raise _corrupt("link", error) from error


@remembered(4 * MIB)
def _link(row: tuple[Any, ...]) -> Link:
    return link_from(dict(zip(("src", "dst", "rel", "created_at"), row, strict=True)))


@remembered(8 * MIB)
def conflict_of(record: str) -> Conflict:
    """Decode the conflict of a row.

    Raises:
        Corrupt: The record is not a conflict.
    """
    try:
        return conflict_from(parsed_json(record))
    except DAMAGE as error:
        raise _corrupt("conflict", error) from error


def entry_of(record: str) -> dict[str, Json]:
    """Decode the packed journal entry of a row.

    Raises:
        Corrupt: The record is not a JSON object.
    """
    try:
        plain = parsed_json(record)
    except ValueError as error:
        raise _corrupt("journal entry", error) from error
    if not isinstance(plain, dict):
        raise _corrupt("journal entry", TypeError("it is not a JSON object"))
    return plain


def _vector_bytes(vector: Vector | None) -> int:
    return 0 if vector is None else vector.nbytes * 3 // 2  # and the stored bytes, by which it is found


def vector_blob(digest: str, vector: Vector) -> bytes:
    """A vector as it is stored: of unit length, in half precision.

    Raises:
        InvalidField: It has no length, or is not finite.
    """
    from wellkept.core.records.vectors import quantise, unit

    try:
        direction = unit(vector)
        if not direction.any():
            raise ValueError("it has no length")
        return quantise(direction)
    except ValueError as error:
        raise InvalidField(f"a vector cannot be stored: {error}", where=digest) from error


def vectors_of(blobs: bytes, dim: int) -> list[Vector | None]:
    """Decode vectors of this dimension that stand one after the other, read-only; None for an invalid one."""
    size = max(1, 2 * dim)
    parts = [blobs[at : at + size] for at in range(0, len(blobs), size)]
    return [_vector(part) if len(part) == size else None for part in parts]


@remembered(16 * MIB, _vector_bytes)
def _vector(blob: bytes) -> Vector | None:
    from wellkept.core.records.vectors import restore

    try:
        vector = restore(blob)
    except ValueError:
        return None
    vector.setflags(write=False)  # it is shared
    return vector


def _corrupt(what: str, error: Exception) -> Corrupt:
    return Corrupt(f"a stored {what} cannot be read: {error}"[:_MOST_TOLD], todo="Run `wellkept verify`")


def said(memory: Memory) -> tuple[Any, ...]:
    """The fields that full-text search covers."""
    return (titles(memory), memory.content, memory.summary, memory.subject, memory.attribute, memory.tags)


def searched(memory: Memory) -> list[str]:
    """The full-text terms of a memory, in the order of its text."""
    parts = (*titles(memory), memory.content, memory.summary, memory.subject, memory.attribute, *memory.tags)
    return search_terms("\n".join(part for part in parts if part))


_COMMON = 20_000
"""A term in more rows is common in a namespace of any size: reading the rows of every rarer one stays cheap."""


def common_above(seq: int) -> int:
    """A term in more rows than this is searched only when rarer terms find too few.

    Args:
        seq: Newest journal number of the namespace, as a measure of its size.
    """
    return max(1000, min(seq // 10, _COMMON))
