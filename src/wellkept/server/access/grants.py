"""Grants of a caller: namespace patterns and scopes. Pure functions of their arguments.

A pattern is compared with a namespace path segment by segment, not by character prefix, so `acme/*` does not
match `acme2`. A final `*` matches one or more segments, any other `*` exactly one. A pattern does not cover the
parents of its namespaces: `acme/*` does not match `acme`.

Scopes are ordered: admin implies write, and write implies read. Write includes read because the answer to a
write names the memory that it repeats or contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal, TypeAlias, get_args

from wellkept.engine.base.inputs import check_namespace
from wellkept.errors import InvalidField
from wellkept.frozen import frozen

Scope: TypeAlias = Literal["read", "write", "admin"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""In ascending order; each includes those before it."""
_ANY = "*"


@frozen
class Grant:
    """The permissions of one caller.

    Attributes:
        actor: Name of the caller, for the journal.
        namespaces: Patterns such as `acme/*`; one of them must cover the namespace of a request.
        scopes: The permitted scopes in these namespaces.
        secret: The token presented, when the database checks it too; otherwise empty.
    """

    actor: str
    namespaces: tuple[str, ...]
    scopes: frozenset[Scope]
    secret: str = field(default="", repr=False, compare=False)


EVERYTHING = Grant(actor="", namespaces=(_ANY,), scopes=frozenset(SCOPES))
"""The grant on a server without tokens, which listens on loopback only. The store's own actor applies."""


def allowed(grant: Grant, namespace: str, scope: Scope) -> bool:
    """Whether a grant permits a scope in a namespace. It reads no stored data, so the answer discloses none.

    Args:
        grant: The permissions of the caller.
        namespace: The name as the caller wrote it; an invalid name is never permitted.
        scope: The required scope.

    Example:
        >>> ci = Grant("ci", ("acme/*",), frozenset({"write"}))
        >>> allowed(ci, "acme/a/b", "read"), allowed(ci, "acme2", "read"), allowed(ci, "acme/a", "admin")
        (True, False, False)
    """
    return _reaches(grant.scopes, scope) and any(covers(pattern, namespace) for pattern in grant.namespaces)


def covers(pattern: str, namespace: str) -> bool:
    """Whether a pattern covers a namespace.

    Example:
        >>> covers("acme/*", "acme/a/b"), covers("*/ci", "acme/ci"), covers("acme/*", "acme"), covers("*", "any")
        (True, True, False, True)
    """
    wanted, given = _parts(pattern), _parts(namespace)
    if not all(given):
        return False
    if wanted[-1] == _ANY:
        if len(given) < len(wanted):
            return False
    elif len(given) != len(wanted):
        return False
    return all(want in (_ANY, part) for want, part in zip(wanted, given, strict=False))


def covers_all(grant: Grant) -> bool:
    """Whether a grant covers every namespace, so that information about the whole store may be disclosed.

    Example:
        >>> covers_all(EVERYTHING), covers_all(Grant("ci", ("acme/*",), frozenset({"admin"})))
        (True, False)
    """
    return _ANY in grant.namespaces


def home(grant: Grant, default: str) -> str:
    """The namespace of a request that names none: the only one the grant covers, otherwise the store's own.

    A token for exactly one namespace selects it. Any other token selects the store's namespace, and is rejected
    when its grant does not cover it.

    Example:
        >>> home(Grant("ci", ("acme/ci",), frozenset({"read"})), "default")
        'acme/ci'
    """
    alone = grant.namespaces[0] if len(grant.namespaces) == 1 else _ANY
    if _ANY in _parts(alone) or any(covers(pattern, default) for pattern in grant.namespaces):
        return default
    return alone


def check_pattern(pattern: str) -> str:
    """Validate and normalise a pattern.

    Raises:
        InvalidField: It is not a path, or a segment contains `*` with other characters.

    Example:
        >>> check_pattern(" acme / * ")
        'acme/*'
    """
    kept = check_namespace(pattern)
    for part in kept.split("/"):
        if _ANY in part and part != _ANY:
            raise InvalidField(
                f"{part[:60]!r} is not a whole part", where="namespace", todo="Use * for a whole part, as in acme/*"
            )
    return kept


def check_scopes(given: Iterable[str]) -> tuple[Scope, ...]:
    """Validate scopes; returns each once, in ascending order.

    Raises:
        InvalidField: The list is empty, or a scope is unknown.

    Example:
        >>> check_scopes(["write", "read", "write"])
        ('read', 'write')
    """
    asked = {name.strip() for name in given}
    unknown = sorted(asked - set(SCOPES))
    if unknown or not asked:
        what = f"{unknown[0][:40]!r} does not exist" if unknown else "is empty"
        raise InvalidField(what, where="scope", todo=f"Use one or more of: {', '.join(SCOPES)}")
    return tuple(scope for scope in SCOPES if scope in asked)


def _reaches(held: frozenset[Scope], needed: Scope) -> bool:
    return any(SCOPES.index(scope) >= SCOPES.index(needed) for scope in held)


def _parts(path: str) -> list[str]:
    # As in `check_namespace`, so that a name and its normalised form get the same decision.
    return [part.strip() for part in path.split("/")]
