"""Which of two things is chosen, and which is passed over.

"I like tea better than coffee" and "Coffee is what I like more than tea" have the same words, which no model tells from
a paraphrase. The word lists of a language say beside which words the thing that is passed over stands ("rather than").
"""

from __future__ import annotations

import re
from functools import lru_cache

from wellkept.core.differences.alignment import Pair, span
from wellkept.core.lexicon import in_all_languages, lexicon
from wellkept.core.reading.events import MOST_READ
from wellkept.core.reading.tokens import Features, Token
from wellkept.core.text.letter_case import without_case
from wellkept.frozen import frozen
from wellkept.types import Difference

_MOST_BETWEEN = 6
"""Words between the parts of a phrase ("prefer … to")."""
_MOST_CONTENT = 2
"""Content words of a thing."""
_FEW_CHARACTERS = r"[^。、，；]{1,12}?"
_MOST_CHARACTERS = 6
"""Length of a thing in scripts without spaces."""
_BETWEEN = rf"[^\s,;.!?]+(?:\s+[^\s,;.!?]+){{0,{_MOST_BETWEEN - 1}}}?"
_NEXT = re.compile(r"\s*\w+")
_WORD = re.compile(r"\w+")
_ENDS = re.compile(r"[^\w\s'’&-]|\s[-–—→]\s")


@frozen
class _Passed:
    """A thing that is passed over.

    Attributes:
        words: Its words, as written.
        keys: Its content words, as alignment compares them.
    """

    words: str
    keys: frozenset[str]


def exchanged_choice(pair: Pair) -> list[Difference]:
    """Two things of which one text chooses the first, and the other text the second.

    Where only one text compares with "less" or "worse", it tells the choice from the other side.
    """
    if max(len(pair.a.text), len(pair.b.text)) > MOST_READ:
        return []
    ours, theirs = _passed_over(pair.a), _passed_over(pair.b)
    if not ours or not theirs or _is_lesser(pair.a) != _is_lesser(pair.b):
        return []
    never_a = frozenset[str]().union(*(one.keys for one in ours))
    never_b = frozenset[str]().union(*(one.keys for one in theirs))
    for first in ours:
        for second in theirs:
            # "Oat milk" and "soy milk" share a word that distinguishes nothing.
            ones, others = first.keys - second.keys, second.keys - first.keys
            if ones & pair.b.keys - never_b and others & pair.a.keys - never_a:
                return [Difference("order", first.words, second.words)]
    return []


def _is_lesser(own: Features) -> bool:
    """Whether a text has an odd number of words such as "less", each of which turns its choice round."""
    lesser = in_all_languages("lesser")
    return sum(token.lower in lesser for clause in own.clauses for token in clause.tokens) % 2 == 1


def _passed_over(own: Features) -> tuple[_Passed, ...]:
    """The things that a text passes over."""
    spaced = own.language.grammar.spaced
    if spaced and _telling_words().isdisjoint(map(without_case, _WORD.findall(own.text))):
        return ()
    before, behind = _phrases(spaced=spaced)
    found = [_first_thing(own, hit.end()) for hit in (before.finditer(own.text) if before else ())]
    found += [_last_thing(own, hit.start()) for hit in (behind.finditer(own.text) if behind else ())]
    return tuple(one for one in found if one.keys)


def _first_thing(own: Features, start: int) -> _Passed:
    """The thing from a position on: the first content words that stand together."""
    if _limits(own, start):
        return _Passed("", frozenset())  # "not only tea"
    ends = _ENDS.search(own.text, start)
    end = ends.start() if ends else len(own.text)
    most = _MOST_CONTENT if own.language.grammar.spaced else _MOST_CHARACTERS
    content: list[Token] = []
    for at, token in own.located():
        if start <= at < end and len(content) < most:
            names = token.content and token.lower not in own.language.scopes  # "not after" names nothing
            if content and not names:
                break
            content += [token] if names else []
    return _passed(own, content)


def _limits(own: Features, start: int) -> bool:
    """Whether the next word is "only" or the like, so that nothing is passed over."""
    following = _NEXT.match(own.text, start)
    return following is not None and following.group().strip().casefold() in _only()


@lru_cache(maxsize=1)
def _only() -> frozenset[str]:
    return frozenset(word for language in lexicon().languages.values() for word in language.events.only)


def _last_thing(own: Features, end: int) -> _Passed:
    """The thing up to a position, in a script without spaces."""
    start = max([0, *(hit.end() for hit in _ENDS.finditer(own.text, 0, end))])
    content = [token for at, token in own.located() if start <= at < end and token.content]
    return _passed(own, content[-_MOST_CHARACTERS:])


def _passed(own: Features, content: list[Token]) -> _Passed:
    words = span(content) if own.language.grammar.spaced else "".join(token.text for token in content)
    return _Passed(words, frozenset(token.key for token in content))


@lru_cache(maxsize=2)
def _phrases(*, spaced: bool) -> tuple[re.Pattern[str] | None, re.Pattern[str] | None]:
    """What finds the phrases before and behind a thing that is passed over, in languages with or without spaces.

    A short text may belong to several languages, so those of all count.
    """
    languages = [language for language in lexicon().languages.values() if language.grammar.spaced is spaced]
    listed = sorted({phrase for language in languages for phrase in language.passing_over}, key=_longest_first)
    source = _in_words if spaced else _in_characters
    behind = [source(phrase.removeprefix("*")) for phrase in listed if phrase.startswith("*")]
    before = [source(phrase) for phrase in listed if not phrase.startswith("*")]
    return _any_of(before), _any_of(behind)


@lru_cache(maxsize=1)
def _telling_words() -> frozenset[str]:
    """Words of which a text with spaces contains one if a phrase is in it: of each phrase the longest, and the last
    of equally long ones, which is rarer ("and not").
    """
    languages = [language for language in lexicon().languages.values() if language.grammar.spaced]
    phrases = {phrase for language in languages for phrase in language.passing_over}
    places = [
        [without_case(place).split("/") for place in phrase.split() if place not in {"*", ","}] for phrase in phrases
    ]
    return frozenset(word for place in places for word in max(reversed(place), key=_shortest))


def _shortest(words: list[str]) -> int:
    return min(map(len, words))


def _longest_first(phrase: str) -> tuple[int, str]:
    return -len(phrase), phrase


def _any_of(sources: list[str]) -> re.Pattern[str] | None:
    return re.compile("|".join(sources), re.IGNORECASE) if sources else None


def _in_words(phrase: str) -> str:
    words = [f"(?:{'|'.join(map(re.escape, word.split('/')))})" for word in phrase.split()]
    joined = r",?\s+".join(_BETWEEN if word == r"(?:\*)" else word for word in words)
    return ("" if phrase.startswith(",") else r"(?<!\w)") + joined + r"(?!\w)"


def _in_characters(phrase: str) -> str:
    return _FEW_CHARACTERS.join(map(re.escape, phrase.split("*")))
