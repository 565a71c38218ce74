"""Whose memories are meant, and which: ids and filters as mem0 has them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any
from urllib.parse import quote, unquote

from wellkept.errors import InvalidField, use_one_of

ENTITIES = ("user_id", "agent_id", "run_id")
_LONGEST = 100
_LONGEST_TOGETHER = 180
"""Characters of the namespace that a user, an agent and a run have together, below that of the store."""
_DEEPEST = 32
"""Most conditions inside each other."""


def known(method: str, given: Iterable[str], names: Iterable[str]) -> None:
    """Refuse arguments that a method has not.

    Raises:
        InvalidField: An argument is not known; an id belongs into `filters`.
    """
    allowed = tuple(names)
    for name in given:
        if name in ENTITIES and name not in allowed:
            what = f"Top-level entity parameters are not supported in {method}(): {name}"
            raise InvalidField(what, where=name, todo=f"Write filters={{{name!r}: ...}}")
        if name not in allowed:
            raise InvalidField(f"{method}() has no argument {name!r}", where=name, todo=use_one_of(name, allowed))


def entities_of(given: Mapping[str, Any]) -> dict[str, str]:
    """The user, agent and run that are named.

    Raises:
        InvalidField: None is named, or one is empty or has blanks in it.

    Example:
        >>> entities_of({"user_id": " ada ", "agent_id": None, "topic": "tea"})
        {'user_id': 'ada'}
    """
    _named(given)
    found = {name: str(given[name]).strip() for name in ENTITIES if given.get(name) is not None}
    for name, value in found.items():
        if not value or len(value) > _LONGEST or any(char.isspace() for char in value):
            what = f"Invalid {name}: cannot be empty, contain whitespace or be longer than {_LONGEST} characters"
            raise InvalidField(what, where=name, todo="Provide a valid identifier")
    if not found:
        what = "filters must contain at least one of: user_id, agent_id, run_id"
        raise InvalidField(what, where="filters", todo="Example: filters={'user_id': 'u1'}")
    if len(scope_of(found)) > _LONGEST_TOGETHER:
        what = f"The ids are longer than {_LONGEST_TOGETHER} characters together, as a URL spells them"
        raise InvalidField(what, where="filters", todo="Use shorter ids")
    return found


def certain(entities: Mapping[str, str]) -> dict[str, str]:
    """The user, agent and run of a write or a deletion, which `*` cannot name.

    Raises:
        InvalidField: One is `*`.
    """
    for name, value in entities.items():
        if value == "*":
            raise InvalidField(f"{name} is '*', which only a search understands", where=name, todo="Name one")
    return dict(entities)


def metadata_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The metadata among arguments, without what says whose a memory is; empty without any.

    Raises:
        InvalidField: It is no mapping.
    """
    found = given.get("metadata")
    if found is not None and not isinstance(found, Mapping):
        raise InvalidField("metadata must be a mapping", where="metadata", todo="Example: {'topic': 'tea'}")
    return {name: value for name, value in (found or {}).items() if name not in (*ENTITIES, "actor_id")}


def scope_of(entities: Mapping[str, str]) -> str:
    """The namespace of a user, agent and run, below that of the store.

    Example:
        >>> scope_of({"user_id": "ada", "run_id": "a/b"})
        'user_id=ada/run_id=a%2Fb'
    """
    return "/".join(f"{name}={quote(entities[name], safe='')}" for name in ENTITIES if name in entities)


def owners_of(scope: str) -> dict[str, str]:
    """The user, agent and run of a namespace; empty if it belongs to none.

    Example:
        >>> owners_of("user_id=ada/run_id=a%2Fb"), owners_of("notes/old")
        ({'user_id': 'ada', 'run_id': 'a/b'}, {})
    """
    parts = [part.partition("=") for part in scope.split("/")]
    owned = {name: unquote(value) for name, mark, value in parts if mark and name in ENTITIES}
    return owned if len(owned) == len(parts) else {}


def fits(fields: Mapping[str, Any], filters: Mapping[str, Any], *, depth: int = 0) -> bool:
    """Whether a memory meets every condition of a filter.

    Raises:
        InvalidField: An operator is not known, or AND, OR or NOT has no list.

    Example:
        >>> fits({"topic": "tea", "n": 3}, {"topic": {"in": ["tea"]}, "OR": [{"n": {"gt": 5}}, {"n": 3}]})
        True
    """
    _named(filters)
    if depth > _DEEPEST:
        raise InvalidField(f"more than {_DEEPEST} conditions inside each other", where="filters", todo="Nest fewer")
    return all(_holds(fields, name, condition, depth + 1) for name, condition in filters.items())


def meant(wanted: Mapping[str, str], owners: Mapping[str, str]) -> bool:
    """Whether a namespace belongs to the user, agent and run that are wanted; `*` means any.

    Example:
        >>> meant({"user_id": "*"}, {"user_id": "ada"}), meant({"user_id": "*"}, {"run_id": "1"})
        (True, False)
    """
    return all(name in owners and value in ("*", owners[name]) for name, value in wanted.items())


def _named(given: object) -> None:
    if not isinstance(given, Mapping) or not all(isinstance(name, str) for name in given):
        raise InvalidField("filters must be a mapping of names", where="filters", todo="Example: {'user_id': 'u1'}")


def _holds(fields: Mapping[str, Any], name: str, condition: Any, depth: int) -> bool:
    match name.lstrip("$").upper():
        case "AND":
            return all([fits(fields, one, depth=depth) for one in _list(name, condition)])
        case "OR":
            return any([fits(fields, one, depth=depth) for one in _list(name, condition)])
        case "NOT":
            return not any([fits(fields, one, depth=depth) for one in _list(name, condition)])
    if condition is None and name in ENTITIES:
        return True
    if condition == "*":
        return name in fields
    if isinstance(condition, list | tuple):
        return fields.get(name) in condition
    if not isinstance(condition, Mapping):
        wanted = str(condition).strip() if name in ENTITIES else condition
        return bool(fields.get(name) == wanted)
    _named(condition)
    return all(_operator(one)(fields.get(name), bound) for one, bound in condition.items())


def _list(name: str, given: Any) -> list[Mapping[str, Any]]:
    found = given if isinstance(given, list | tuple) else ()
    if not found or not all(isinstance(one, Mapping) for one in found):
        raise InvalidField(
            f"{name} operator requires a non-empty list of conditions", where="filters", todo="Write one"
        )
    return list(found)


def _operator(name: str) -> Callable[[Any, Any], bool]:
    if name not in _OPERATORS:
        todo = use_one_of(name, _OPERATORS)
        raise InvalidField(f"Unsupported metadata filter operator: {name[:40]}", where="filters", todo=todo)
    return _OPERATORS[name]


def _ordered(compare: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    """A comparison that is false where two values have no order."""

    def compared(value: Any, bound: Any) -> bool:
        numbers = isinstance(value, int | float) and isinstance(bound, int | float)
        return (numbers or (isinstance(value, str) and isinstance(bound, str))) and compare(value, bound)

    return compared


_OPERATORS: Mapping[str, Callable[[Any, Any], bool]] = {
    "eq": lambda value, bound: bool(value == bound),
    "ne": lambda value, bound: bool(value != bound),
    "gt": _ordered(lambda value, bound: bool(value > bound)),
    "gte": _ordered(lambda value, bound: bool(value >= bound)),
    "lt": _ordered(lambda value, bound: bool(value < bound)),
    "lte": _ordered(lambda value, bound: bool(value <= bound)),
    "in": lambda value, bound: isinstance(bound, list | tuple) and value in bound,
    "nin": lambda value, bound: isinstance(bound, list | tuple) and value not in bound,
    "contains": lambda value, bound: (
        bound in value
        if isinstance(value, list)
        else isinstance(value, str) and isinstance(bound, str) and bound in value
    ),
    "icontains": lambda value, bound: isinstance(value, str) and str(bound).casefold() in value.casefold(),
}
