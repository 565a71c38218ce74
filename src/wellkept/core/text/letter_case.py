"""Letters without case."""

from __future__ import annotations

_LETTER_I = {0x130: "i", 0x131: "i"}
"""To a pattern that ignores case both are "i"; case folding makes two characters of one and leaves the other."""


def without_case(text: str) -> str:
    """A text without case: texts that a pattern takes for equal when it ignores case are equal.

    Example:
        >>> without_case("P\u0130N"), without_case("TO\u212aEN")
        ('pin', 'token')
    """
    return text.translate(_LETTER_I).casefold()
