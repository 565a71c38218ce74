"""What a caller may do: patterns over namespaces, and scopes. Values in, values out.

A pattern is compared part by part with the path of a namespace, never letter by letter, so that
`acme/*` has nothing to do with `acme2`. At the end `*` stands for one part or more, elsewhere for
exactly one. A pattern does not cover what lies above it: `acme/*` is not `acme`.

Scopes form a ladder: admin implies write, and write implies read. A write that could not read would
be a promise nobody can keep: the answer to a write names the memory it repeats or contradicts.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, get_args

from wellkept.engine.base.inputs import check_namespace
from wellkept.errors import InvalidField

Scope: TypeAlias = Literal["read", "write", "admin"]

SCOPES: tuple[Scope, ...] = get_args(Scope)
"""From the least to the greatest; each holds those before it."""
_ANY = "*"


@dataclass(frozen=True, slots=True)
class Grant:
    """What one caller may do.

    Attributes:
        actor: Who acts, for the journal.
        namespaces: Patterns such as `acme/*`; one of them has to cover the namespace of a request.
        scopes: What may be done there.
        secret: What the caller has shown, where the place that keeps the rows asks for it too; else empty.
    """

    actor: str
    namespaces: tuple[str, ...]
    scopes: frozenset[Scope]
    secret: str = field(default="", repr=False, compare=False)


EVERYTHING = Grant(actor="", namespaces=(_ANY,), scopes=frozenset(SCOPES))
"""Whoever can reach a server without tokens: it listens on loopback only. The store's own actor is kept."""


def allowed(grant: Grant, namespace: str, scope: Scope) -> bool:
    """Whether a grant covers an act in a namespace. Never looks at what is stored, so it tells nothing of it.

    Args:
        grant: What the caller may do.
        namespace: The name as the caller wrote it; what is no namespace is never allowed.
        scope: What the act needs.

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
    """Whether no namespace lies outside of a grant, so that what concerns the whole store may be told.

    Example:
        >>> covers_all(EVERYTHING), covers_all(Grant("ci", ("acme/*",), frozenset({"admin"})))
        (True, False)
    """
    return _ANY in grant.namespaces


def home(grant: Grant, default: str) -> str:
    """The namespace of a request that names none: the store's own, or the only one the grant covers.

    A token of exactly one namespace need not be told which; otherwise the store's own is meant, and
    refused like any other where it lies outside of the grant.

    Example:
        >>> home(Grant("ci", ("acme/ci",), frozenset({"read"})), "default")
        'acme/ci'
    """
    alone = grant.namespaces[0] if len(grant.namespaces) == 1 else _ANY
    if _ANY in _parts(alone) or any(covers(pattern, default) for pattern in grant.namespaces):
        return default
    return alone


def check_pattern(pattern: str) -> str:
    """A pattern as it is kept.

    Raises:
        InvalidField: It is no path, or a part of it is only partly `*`.

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
    """Scopes, each once, from the least to the greatest.

    Raises:
        InvalidField: There is none, or one that does not exist.

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
    # As `check_namespace` keeps a name, so that a name and what it is kept as are never judged differently.
    return [part.strip() for part in path.split("/")]
