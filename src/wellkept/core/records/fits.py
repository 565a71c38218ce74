"""What a filter means: which of its parts a memory does not match, and which of many matching ones are meant."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from wellkept.core.text.forms import slot_key
from wellkept.types import Filter, Memory

_Test = tuple[str, Callable[[Memory], bool]]


def misfit(where: Filter) -> Callable[[Memory], str]:
    """A function from a memory to the first part of the filter that it does not match; empty when it matches.

    `hashes` and `embedded` are left out: aliases and vectors are not part of the record.

    Example:
        >>> from datetime import UTC, datetime
        >>> now = datetime(2026, 3, 1, tzinfo=UTC)
        >>> row = Memory(id="m1", namespace="a", content="Ann likes tea", created_at=now, updated_at=now)
        >>> misfit(Filter())(row), misfit(Filter(tags=("tea",)))(row)
        ('', 'tags')
    """
    tests = (*_identity(where), *_content(where), *_state(where))
    return lambda row: next((name for name, fits in tests if not fits(row)), "")


def matching(rows: Iterable[Memory], where: Filter, *, limit: int | None) -> list[Memory]:
    """The rows that match, in their order; of more than `limit` the first ones, or the last ones before a row."""
    unfit = misfit(where)
    found = [row for row in rows if not unfit(row)]
    if limit is None:
        return found
    return found[max(0, len(found) - max(0, limit)) :] if is_backward(where) else found[: max(0, limit)]


def is_backward(where: Filter) -> bool:
    """Whether the last matching memories are meant: those right before `before`."""
    return where.before is not None and where.ids is None


def _identity(where: Filter) -> Iterator[_Test]:
    if where.ids is not None:
        ids = frozenset(where.ids)
        yield "ids", lambda row: row.id in ids
    if where.id_prefix or where.id_end:
        yield "id", lambda row: row.id.startswith(where.id_prefix) and row.id.endswith(where.id_end)
    if where.after is not None:
        last = where.after
        yield "after", lambda row: (row.created_at, row.id) > last
    if where.before is not None:
        first = where.before
        yield "before", lambda row: (row.created_at, row.id) < first


def _content(where: Filter) -> Iterator[_Test]:
    if where.kinds:
        yield "kinds", lambda row: row.kind in where.kinds
    if where.subject is not None:
        subject = slot_key(where.subject)
        yield "subject", lambda row: slot_key(row.subject) == subject
    if where.attribute is not None:
        attribute = slot_key(where.attribute)
        yield "attribute", lambda row: slot_key(row.attribute) == attribute
    if where.tags:
        tags = {slot_key(tag) for tag in where.tags}
        yield "tags", lambda row: any(slot_key(tag) in tags for tag in row.tags)
    if where.sources:
        yield "sources", lambda row: row.source in where.sources
    for key, value in where.metadata.items():
        yield f"metadata.{key}", lambda row, key=key, value=value: _has(row, key, value)  # type: ignore[misc]


def _state(where: Filter) -> Iterator[_Test]:
    created_from, created_to, least = where.created_from, where.created_to, where.min_importance
    if where.statuses:
        yield "statuses", lambda row: row.status in where.statuses
    if where.ongoing is not None:
        yield "ongoing", lambda row: (row.ended_at is None) is where.ongoing
    if created_from is not None:
        yield "created_from", lambda row: row.created_at >= created_from
    if created_to is not None:
        yield "created_to", lambda row: row.created_at < created_to
    if least is not None:
        yield "min_importance", lambda row: row.importance >= least
    if where.unchecked is not None:
        yield "unchecked", lambda row: row.checked is not where.unchecked


def _has(row: Memory, key: str, wanted: object) -> bool:
    """Whether the metadata has this key with this value; JSON distinguishes true from 1."""
    held = row.metadata.get(key)
    return (
        key in row.metadata and _listed(held) == _listed(wanted) and isinstance(held, bool) == isinstance(wanted, bool)
    )


def _listed(value: object) -> object:
    """A tuple as the list it becomes in JSON."""
    return list(value) if isinstance(value, tuple) else value
