"""Filters of rows: the part that a backend evaluates, and the part that is evaluated here."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace

from wellkept.engine.base.inputs import moment, share
from wellkept.errors import InvalidField
from wellkept.types import Filter

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
