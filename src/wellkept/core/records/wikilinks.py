"""`[[names]]` in a text: which memories it names, and how a name waits for a memory that is not written yet.

A name is a title or an id. One that nobody has yet is kept as a link to a *waiting* end, `[[name]]` in
its canonical spelling. No memory has such an id, so the link is dangling and told as such, and
the memory that is written under the name later finds it by that end.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from wellkept.core.records.merge import short
from wellkept.core.text.forms import canonical
from wellkept.types import Memory

MAX_NAMES = 20
"""Names of one text that are followed; texts are untrusted, and each name costs a search."""
MAX_NAME = 200
_NAME = re.compile(rf"\[\[([^\[\]\r\n]{{1,{MAX_NAME}}})\]\]")


def names(text: str) -> tuple[str, ...]:
    """The names between double brackets in their order, each thing once, at most `MAX_NAMES`.

    What stands behind a bar is only shown to readers: `[[Risk rules|the rules]]` names *Risk rules*. A
    list of numbers is no name.

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
    """Whether a person would call something so; code has nested lists of numbers."""
    return any(map(str.isalpha, name)) or (any(map(str.isalnum, name)) and "," not in name)


def keys(memory: Memory) -> frozenset[str]:
    """Under which names a memory is found: its title, or what messages call it where it has none."""
    key = canonical(short(memory))
    return frozenset((key,)) if key else frozenset()


def waiting(name: str) -> str:
    """The end of a link whose name nobody has yet.

    Example:
        >>> waiting("Risk Rules"), is_waiting(waiting("Risk Rules")), is_waiting("0190a1b2")
        ('[[risk rules]]', True, False)
    """
    return f"[[{canonical(name)}]]"


def is_waiting(end: str) -> bool:
    """Whether the end of a link is a name that waits for its memory."""
    return end.startswith("[[") and end.endswith("]]")


def will_link(found: Iterable[str]) -> str:
    """The end of the answer of a queued text that names others; empty when it names none.

    Example:
        >>> will_link(["Risk rules", "Weekends"])
        ' (will link: Risk rules, Weekends)'
    """
    listed = ", ".join(found)
    return f" (will link: {listed})" if listed else ""
