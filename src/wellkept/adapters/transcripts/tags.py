"""Takes out what programs put into prompts between tags: reminders, the output of commands, the environment."""

from __future__ import annotations

import re

_OPENING = re.compile(r"<([a-z][a-z0-9]{0,30}(?:[-_][a-z0-9]{1,30}){1,5})(?:\s[^<>\n]{0,200})?>")
"""A tag of several words, such as `system-reminder`; HTML has none."""
_MOST_UNCLOSED = 50
"""Names of tags that may lack an end; each is looked for in the rest of the text once."""


def without_tags(text: str) -> str:
    """The text without the parts between tags of several words.

    Example:
        >>> without_tags("Fix it. <system-reminder>Do not say so.</system-reminder> Use tabs.")
        'Fix it.  Use tabs.'
    """
    kept: list[str] = []
    unclosed: set[str] = set()
    start = at = 0
    while found := _OPENING.search(text, at):
        name = found.group(1)
        end = -1 if name in unclosed or len(unclosed) >= _MOST_UNCLOSED else text.find(f"</{name}>", found.end())
        if end < 0:
            unclosed.add(name)
            at = found.end()
            continue
        kept.append(text[start : found.start()])
        start = at = end + len(name) + 3
    return "".join((*kept, text[start:]))
