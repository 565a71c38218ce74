"""What an item must match: its namespace a path, its value a filter."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from langgraph.store.base import InvalidNamespaceError, ListNamespacesOp, MatchCondition

from wellkept.errors import InvalidField, use_one_of
from wellkept.integrations.common.namespaces import Labels

_KEY = re.compile(r"[\w.-]+")


def checked(labels: Sequence[Any]) -> Labels:
    """The labels of a namespace, if LangGraph allows them.

    Raises:
        InvalidNamespaceError: A label is empty or no text, or has a dot or a NUL.
    """
    for label in labels:
        if not isinstance(label, str) or not label or "." in label or "\0" in label:
            raise InvalidNamespaceError(f"{label!r} in {tuple(labels)!r}: use texts that are not empty, without a dot")
    return tuple(labels)


def is_below(labels: Labels, prefix: Labels) -> bool:
    """Whether a namespace is another one or lies in it."""
    return labels[: len(prefix)] == prefix


def listed(found: Sequence[Labels], op: ListNamespacesOp) -> list[Labels]:
    """The namespaces that an operation asks for: sorted, cut to its depth, each once, its page.

    Example:
        >>> found = [("a", "x"), ("a", "y"), ("b",)]
        >>> listed(found, ListNamespacesOp(max_depth=1))
        [('a',), ('b',)]
    """
    fitting = [labels for labels in found if all(_meets(labels, one) for one in op.match_conditions or ())]
    cut = sorted({labels[: op.max_depth] for labels in fitting})
    return cut[op.offset : op.offset + op.limit]


def _meets(labels: Labels, condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if len(labels) < len(path):
        return False
    part = labels[: len(path)] if condition.match_type == "prefix" else labels[len(labels) - len(path) :]
    return all(wanted in ("*", label) for wanted, label in zip(path, part, strict=True))


def fits(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    """Whether a value has every field of a filter, at its dotted path.

    Raises:
        InvalidField: A key or an operator of the filter is not allowed.

    Example:
        >>> fits({"user": {"age": 41}, "tags": ["a"]}, {"user.age": {"$gte": 40}, "tags": ["a"]})
        True
    """
    return all(_compares(_at(value, path), condition) for path, condition in (wanted or {}).items())


def _at(value: Any, path: object) -> Any:
    if not isinstance(path, str) or not _KEY.fullmatch(path):
        raise InvalidField(f"Invalid filter key {str(path)[:60]!r}", where="filter", todo="Write a field, or a.field")
    if isinstance(value, Mapping) and path in value:
        return value[path]
    for part in path.split("."):
        value = value.get(part) if isinstance(value, Mapping) else None
    return value


def _compares(value: Any, condition: Any) -> bool:
    if not isinstance(condition, Mapping):
        return _is_equal(value, condition)
    if not any(str(name).startswith("$") for name in condition):
        return isinstance(value, Mapping) and all(_compares(value.get(name), one) for name, one in condition.items())
    return all(_operator(name)(value, bound) for name, bound in condition.items())


def _operator(name: object) -> Callable[[Any, Any], bool]:
    if name not in _OPERATORS:
        todo = use_one_of(name, _OPERATORS)
        raise InvalidField(f"Invalid filter operator {str(name)[:60]!r}", where="filter", todo=todo)
    return _OPERATORS[str(name)]


def _is_equal(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)


def _order(value: Any, other: Any) -> float:
    """Below, at or above 0; NaN where the two have no order, so that every comparison is false."""
    numbers = isinstance(value, int | float) and isinstance(other, int | float) and not isinstance(value, bool)
    if not numbers and not (isinstance(value, str) and isinstance(other, str)):
        return math.nan
    return math.nan if value != value or other != other else (value > other) - (value < other)


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "$eq": _is_equal,
    "$ne": lambda value, other: not _is_equal(value, other),
    "$gt": lambda value, other: _order(value, other) > 0,
    "$gte": lambda value, other: _order(value, other) >= 0,
    "$lt": lambda value, other: _order(value, other) < 0,
    "$lte": lambda value, other: _order(value, other) <= 0,
}
