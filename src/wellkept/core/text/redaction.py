"""Redacted excerpts for reports: short, on one line, without likely secrets."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from wellkept.core.lexicon import in_all_languages, lexicon
from wellkept.core.text.forms import excerpt
from wellkept.core.text.letter_case import without_case

LIMIT = 80
_HARMLESS = ("[e-mail]", "[number]")
"""What is removed from a report and is no secret of a memory."""
_AFTER_A_NAME = r"\1\2[secret]"
_READ = 8
"""Factor of the limit that is scanned, so that text moved up by a redaction has been scanned too."""
_HIDDEN = re.compile(
    "[\u00ad\u061c\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\U000e0000-\U000e007f]"
)
"""Bidirectional and invisible characters."""


@lru_cache(maxsize=1)
def _secrets() -> tuple[tuple[re.Pattern[str], str], ...]:
    known = lexicon()
    unspaced = (language.secret_verbs for language in known.languages.values() if not language.grammar.spaced)
    names = "|".join(_secret_names())
    verbs = "|".join(map(re.escape, sorted(in_all_languages("secret_verbs") | known.secret_verbs)))
    direct = "".join(sorted(verb for listed in unspaced for verb in listed))
    return (
        (re.compile(r"[\w.+-]{1,64}@[\w-]+(?:\.[\w-]+)+"), "[e-mail]"),
        (re.compile(r"(?<=://)[^/\s:@]+:[^/\s@]+(?=@)"), "[login]"),
        # A few words may be in between: "the password for the router is …".
        (
            re.compile(
                rf"(?i)(?<![^\W_])({names})((?:\s+[^\s:=]+){{0,5}}?\s*(?:{verbs}|=|:|：|-)(?:\s+|(?<=\W)|(?=\W)))\s*\S+"
            ),
            _AFTER_A_NAME,
        ),
        (re.compile(rf"({names})\s*([=:：{direct}])\s*\S+", re.IGNORECASE), _AFTER_A_NAME),
        # A run of words and dashes is looked at once, from its beginning.
        (re.compile(r"(?<![\w-])(?=[\w-]*\d)(?=[\w-]*[A-Za-z])[\w-]{20,}\b"), "[key]"),
        (re.compile(r"\b\d(?:[ -]?\d){8,}\b"), "[number]"),
    )


def redacted(text: str, limit: int = LIMIT) -> str:
    """The start of a text with addresses, passwords, keys and long numbers removed.

    Redaction is best effort and no protection: secrets are recognised heuristically.

    Example:
        >>> redacted("Mail ana@example.org, the password is hunter2.")
        'Mail [e-mail], the password is [secret]'
    """
    line = _HIDDEN.sub("", excerpt(text, limit * _READ))
    if line.endswith("…") and " " in line:
        line = line[: line.rindex(" ")] + " …"  # half a key would not be recognised
    for pattern, word in _found_in(line):
        line = pattern.sub(word, line)
    return excerpt(line, limit)


def without_secrets(text: str) -> str:
    """A text with what looks like a password, a key or a login replaced; addresses and numbers stay.

    Best effort, like `redacted`: it rather takes a commit hash for a key than the other way round.

    Example:
        >>> without_secrets("DB_PASSWORD=s3cret for ana@example.org")
        'DB_PASSWORD=[secret] for ana@example.org'
    """
    for pattern, word in _found_in(text):
        if word not in _HARMLESS:
            text = pattern.sub(word, text)
    return text


def _found_in(text: str) -> Iterator[tuple[re.Pattern[str], str]]:
    """The patterns that may match a text; those that begin with a name only where such a name is in it."""
    # Looked up before the first replacement, which changes the text.
    is_named = _names().search(without_case(text)) is not None
    return (each for each in _secrets() if is_named or each[1] != _AFTER_A_NAME)


@lru_cache(maxsize=1)
def _names() -> re.Pattern[str]:
    return re.compile("|".join(sorted(map(without_case, _secret_names()))))


def _secret_names() -> list[str]:
    return sorted(in_all_languages("secret_names") | set(lexicon().secret_names))
