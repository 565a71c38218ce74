"""The namespace of a user, an application or a session, whatever characters its name has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

from wellkept.engine.base.inputs import MAX_NAMESPACE
from wellkept.errors import InvalidField

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

Labels: TypeAlias = tuple[str, ...]

_ESCAPED = re.compile(r"(?:%[0-9A-F]{2})+")


def below(memories: MemoryStore, **labels: object) -> MemoryStore:
    """The store, in the namespace of what is named, below its own.

    Args:
        memories: An open store.
        **labels: The names, outermost first: `app_name="shop", user_id="ada"`.

    Raises:
        InvalidField: A name is empty or no text, or all are too long for a namespace.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     below(store, app_name="shop", user_id="a/b").namespace
        'default/shop/a%2Fb'
    """
    for where, label in labels.items():
        if not isinstance(label, str) or not label.strip():
            raise InvalidField(f"{label!r} is no name", where=where, todo="Use a text that is not empty")
    name = name_of(memories.namespace, tuple(map(str, labels.values())))
    if len(name) > MAX_NAMESPACE:
        what = f"the names have {len(name)} characters with the namespace, {MAX_NAMESPACE} are allowed"
        raise InvalidField(what, where=", ".join(labels), todo="Use shorter names")
    return memories.in_namespace(name)


def name_of(root: str, labels: Sequence[str]) -> str:
    """The namespace of Wellkept for labels below a root.

    Example:
        >>> name_of("default", ("memories", "a/b "))
        'default/memories/a%2Fb%20'
    """
    return "/".join((root, *map(_escaped, labels)))


def labels_of(root: str, name: str) -> Labels | None:
    """The labels of a namespace of Wellkept; None if it is not below the root.

    Example:
        >>> labels_of("default", "default/memories/a%2Fb%20")
        ('memories', 'a/b ')
    """
    if not name.startswith(f"{root}/"):
        return None
    return tuple(_ESCAPED.sub(_unescaped, part) for part in name.removeprefix(f"{root}/").split("/"))


def _escaped(label: str) -> str:
    return "".join(char if char.isprintable() and char not in "/% " else _bytes_of(char) for char in label)


def _bytes_of(char: str) -> str:
    return "".join(f"%{byte:02X}" for byte in char.encode("utf-8", "surrogatepass"))


def _unescaped(found: re.Match[str]) -> str:
    return bytes.fromhex(found[0].replace("%", "")).decode("utf-8", "replace")
