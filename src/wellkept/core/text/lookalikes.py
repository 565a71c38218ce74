"""Normalises words with look-alike letters of another script.

Readers cannot tell "paypal" from the same word with a Cyrillic "а", but hashes differ. Only two sorts of words change,
so that no real word of another script does: words that mix scripts, and words of look-alikes only in an otherwise Latin
text. The result is used for hashing; stored text is unchanged.
"""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.lexicon.tables import raw_table
from wellkept.frozen import frozen
from wellkept.patterns import pattern

_LATIN_LETTERS = "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u024f"
_LATIN = pattern(f"[{_LATIN_LETTERS}]")
_WORD = pattern(r"[^\W\d_]+")
_MOSTLY = 2
"""A text is Latin if it has more than this many Latin letters per letter of the other script."""


@frozen
class _Script:
    """A script with its look-alikes.

    Attributes:
        letters: Pattern of the script's letters.
        latin: Look-alike to Latin letter.
        inner: Look-alikes that count only between Latin letters.
        own: Latin letter to look-alike.
    """

    letters: re.Pattern[str]
    latin: dict[str, str]
    inner: frozenset[str]
    own: dict[str, str]


def one_script(text: str) -> str:
    """The text with each mixed-script word normalised to one script.

    Example:
        >>> one_script("p\u0430ypal"), one_script("\u043fap\u043e\u043b\u044c"), one_script("TNF\u03b1")
        ('paypal', 'пароль', 'TNFα')
    """
    if text.isascii():
        return text
    for script in _scripts():
        if script.letters.search(text) and _LATIN.search(text):
            text = _respelled(text, script)
    return text


def _respelled(text: str, script: _Script) -> str:
    foreign = script.letters.findall(text)
    real = any(letter not in script.latin for letter in foreign)
    borrowed = not real and len(_LATIN.findall(text)) > _MOSTLY * len(foreign)

    def respell(found: re.Match[str]) -> str:
        word = found.group()
        if word.isascii():
            return word
        ours = len(_LATIN.findall(word))
        theirs = len(script.letters.findall(word))
        if not theirs or ours + theirs < len(word) or not (ours or borrowed):
            return word
        if real and 0 < ours < theirs and all(letter in script.own for letter in _LATIN.findall(word)):
            return "".join(script.own.get(letter, letter) for letter in word)
        framed = script.inner.isdisjoint((word[0], word[-1]))
        if framed and all(letter in script.latin for letter in script.letters.findall(word)):
            return "".join(script.latin.get(letter, letter) for letter in word)
        return word

    return _WORD.sub(respell, text)


@lru_cache(maxsize=1)
def _scripts() -> tuple[_Script, ...]:
    found = []
    for table in raw_table("lookalikes").values():
        inner = {pair[0]: pair[1] for pair in table["inner"].split()}
        pairs = {pair[0]: pair[1] for pair in table["pairs"].split()}
        own: dict[str, str] = {}
        for letter, latin in pairs.items():
            own.setdefault(latin, letter)
        letters = pattern(f"[{table['block']}]")
        found.append(_Script(letters, pairs | inner, frozenset(inner), own))
    return tuple(found)
