"""Short excerpts that may stand in a report: bounded, on one line, without what looks like a secret (S1-16)."""

from __future__ import annotations

import re

from wellkept.core.text import excerpt

LIMIT = 80
_SECRETS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
    (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"), "[login]"),
    (re.compile(r"(?i)\b(pass(?:word|wd|phrase)?|secret|token|api[ _-]?key)(\s*(?:is|=|:)\s*)\S+"), r"\1\2[secret]"),
    (re.compile(r"\b(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}\b"), "[key]"),
    (re.compile(r"\b\d(?:[ -]?\d){8,}\b"), "[number]"),
)


def redacted(text: str, limit: int = LIMIT) -> str:
    """The beginning of a text with addresses, passwords, keys and long numbers taken out.

    Example:
        >>> redacted("Mail ana@example.org, the password is hunter2.")
        'Mail [e-mail], the password is [secret]'
    """
    line = excerpt(text, limit * 2)
    for pattern, word in _SECRETS:
        line = pattern.sub(word, line)
    return excerpt(line, limit)
