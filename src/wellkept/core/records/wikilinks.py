"""Wikilinks: `[[names]]` in a text, and links that wait for a memory that does not exist yet.

A name is a title or an id. An unknown name is kept as a link to a *waiting* end, `[[name]]` in canonical spelling. No
memory has such an id, so the link is dangling; a memory written later under the name resolves it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wellkept.core.records.merge import short
from wellkept.core.text.forms import canonical
from wellkept.types import Memory

MAX_NAMES = 20
"""Most names followed per text; texts are untrusted, and each name costs a search."""
MAX_NAME = 200
_NAME = re.compile(rf"\[\[([^\[\]\r\n]{{1,{MAX_NAME}}})\]\]")


def names(text: str) -> tuple[str, ...]:
    """Names in double brackets, in order, without repeats, at most `MAX_NAMES`.

    Text after a bar is only a label: `[[Risk rules|the rules]]` names *Risk rules*. A list of numbers is not a name.

    Example:
        >>> names("See [[Risk rules]] and [[risk rules]], not [[1, 2]]; [[週末|weekend]].")
        ('Risk rules', '週末')
    """
    if "[[" not in text:
        return ()
    found: dict[str, str] = {}
    for match in _NAME.finditer(text):
        name = match[1].partition("|")[0].strip()
        key = canonical(name)
        if key and _is_name(name):
            found.setdefault(key, name)
            if len(found) == MAX_NAMES:
                break
    return tuple(found.values())


def _is_name(name: str) -> bool:
    """Whether it can be a name: lists of numbers in code are not."""
    return any(map(str.isalpha, name)) or (any(map(str.isalnum, name)) and "," not in name)


def keys(memory: Memory) -> frozenset[str]:
    """Names under which a memory is found: its title, or its short text without one."""
    key = canonical(short(memory))
    return frozenset((key,)) if key else frozenset()


def waiting(name: str) -> str:
    """The waiting end of a link to an unknown name.

    Example:
        >>> waiting("Risk Rules"), is_waiting(waiting("Risk Rules")), is_waiting("0190a1b2")
        ('[[risk rules]]', True, False)
    """
    return f"[[{canonical(name)}]]"


def is_waiting(end: str) -> bool:
    """Whether a link end is a waiting name."""
    return end.startswith("[[") and end.endswith("]]")


def will_link(found: Iterable[str]) -> str:
    """Suffix of the message for a queued text with links; empty without links.

    Example:
        >>> will_link(["Risk rules", "Weekends"])
        ' (will link: Risk rules, Weekends)'
    """
    listed = ", ".join(found)
    return f" (will link: {listed})" if listed else ""
