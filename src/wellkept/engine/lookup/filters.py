"""Filters of rows: the part that a backend evaluates, and the part that is evaluated here."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, replace

from wellkept.core.text.forms import slot_key
from wellkept.engine.base.inputs import moment, share
from wellkept.errors import InvalidField
from wellkept.types import Filter, Memory

_FIELDS = tuple(item.name for item in fields(Filter))
_SHOWN = 40
_LISTS = ("ids", "hashes", "kinds", "statuses", "tags", "sources")


def checked(where: Filter | None) -> Filter:
    """The filter with times in UTC; None becomes a filter that matches everything.

    Raises:
        InvalidField: Not a filter, or an invalid field.
    """
    if where is None:
        return Filter()
    if not isinstance(where, Filter):
        todo = f'Write where=wellkept.Filter(kinds=("fact",)); its fields are {", ".join(_FIELDS)}'
        raise InvalidField(f"must be a Filter, not {type(where).__name__}", where="where", todo=todo)
    if not isinstance(where.metadata, Mapping):
        raise InvalidField("must be a mapping", where="where.metadata", todo='Pass {"key": value}')
    for name in _LISTS:
        if isinstance(given := getattr(where, name), str):
            todo = f"Write {name}=({given[:_SHOWN]!r},)"
            raise InvalidField("must be a tuple of texts, not one text", where=f"where.{name}", todo=todo)
    least = None if where.min_importance is None else share("where.min_importance", where.min_importance)
    return replace(
        where,
        created_from=moment("where.created_from", where.created_from),
        created_to=moment("where.created_to", where.created_to),
        min_importance=least,
    )


def narrows(where: Filter) -> bool:
    """Whether the filter has more than kinds, which vector search supports itself."""
    return where != Filter(kinds=where.kinds, statuses=where.statuses)


def proposed(where: Filter) -> Filter:
    """The part of a filter that a backend evaluates; tags are compared here, without case."""
    return replace(where, tags=(), created_to=None, min_importance=None, sources=(), metadata={})


def looks(where: Filter) -> bool:
    """Whether any part of the filter is evaluated here."""
    return proposed(where) != where


def misfit(row: Memory, where: Filter) -> str:
    """The part of a filter that a row does not match, except what only a backend knows: statuses, hashes, vectors."""
    return next((name for name, fits in _tests(where) if not fits(row)), "")


def _tests(where: Filter) -> Iterator[tuple[str, Callable[[Memory], bool]]]:
    if where.ids is not None:
        yield "ids", lambda row: row.id in (where.ids or ())
    if where.id_prefix or where.id_end:
        yield "id", lambda row: row.id.startswith(where.id_prefix) and row.id.endswith(where.id_end)
    if where.kinds:
        yield "kinds", lambda row: row.kind in where.kinds
    if where.subject is not None:
        subject = slot_key(where.subject)
        yield "subject", lambda row: slot_key(row.subject) == subject
    if where.attribute is not None:
        attribute = slot_key(where.attribute)
        yield "attribute", lambda row: slot_key(row.attribute) == attribute
    if where.tags:
        wanted = {slot_key(tag) for tag in where.tags}
        yield "tags", lambda row: bool(wanted & {slot_key(tag) for tag in row.tags})
    yield from _state_tests(where)


def _state_tests(where: Filter) -> Iterator[tuple[str, Callable[[Memory], bool]]]:
    created_from, created_to, least = where.created_from, where.created_to, where.min_importance
    if where.ongoing is not None:
        yield "ongoing", lambda row: (row.ended_at is None) is where.ongoing
    if created_from is not None:
        yield "created_from", lambda row: row.created_at >= created_from
    if created_to is not None:
        yield "created_to", lambda row: row.created_at < created_to
    if least is not None:
        yield "min_importance", lambda row: row.importance >= least
    if where.sources:
        yield "sources", lambda row: row.source in where.sources
    for key, value in where.metadata.items():
        yield (
            f"metadata.{key}",
            lambda row, key=key, value=value: (
                key in row.metadata
                and _same(  # type: ignore[misc]
                    row.metadata[key], value
                )
            ),
        )
    if where.unchecked is not None:
        yield "unchecked", lambda row: row.checked is not where.unchecked
    if where.after is not None:
        last = where.after
        yield "after", lambda row: (row.created_at, row.id) > last
    if where.before is not None:
        first = where.before
        yield "before", lambda row: (row.created_at, row.id) < first


def _same(held: object, wanted: object) -> bool:
    # JSON distinguishes true from 1; a tuple comes back as a list.
    if isinstance(wanted, tuple):
        wanted = list(wanted)
    if isinstance(held, tuple):
        held = list(held)
    return held == wanted and isinstance(held, bool) == isinstance(wanted, bool)
