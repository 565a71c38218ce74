"""Whether two texts are in the same words, without the canonical form of each where their letters already differ."""

from __future__ import annotations

from wellkept.core.text.forms import canonical

_NO_LETTERS = {code: None for code in range(128) if not chr(code).isalnum()}


def in_same_words(one: str, other: str) -> bool:
    """Whether two texts have the same canonical form.

    Example:
        >>> in_same_words("Use  SQLite!", "use sqlite"), in_same_words("v1.5", "v15")
        (True, False)
    """
    if one == other:
        return True
    # The canonical form keeps all letters and digits, and for ASCII these are quickly read.
    if one.isascii() and other.isascii() and _signs_of(one) != _signs_of(other):
        return False
    return canonical(one) == canonical(other)


def _signs_of(text: str) -> str:
    """The letters and digits of an ASCII text."""
    return text.translate(_NO_LETTERS).lower()
