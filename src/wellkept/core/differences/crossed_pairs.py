"""Things that are told in pairs and have exchanged their partners.

"Backups go to Hetzner and logs to AWS" and "AWS gets the backups, Hetzner the logs" use the same words, which no model
tells from a paraphrase. The parts between commas, full stops and words such as "and" show which things belong together.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import combinations, product
from typing import TypeAlias

from wellkept.core.differences.alignment import Pair, span
from wellkept.core.reading.events import MOST_READ
from wellkept.core.reading.tokens import Features, Token
from wellkept.types import Difference

_LEAST_SHARED = 4
"""Two pairs have four things."""
_MOST_PARTS = 6
"""Texts with more parts are lists or stories, whose parts are no pairs."""
_SIGNS = re.compile(r"(?:[,;!?]|(?<=\w{3})\.)(?=\s|$)|[()\n、，；。！？]|\s[-–—→]\s")
"""Ends of a phrase. A full stop behind two letters belongs to an abbreviation ("Ms.")."""
_STRONG_SIGNS = re.compile(r"(?:[;!?]|(?<=\w{3})\.)(?=\s|$)|[\n；。！？]")
_BESIDE = "-"
"""The place behind another character, where no spaces divide words."""
_Part: TypeAlias = dict[str, str]
"""The content words of a part, each with the word before it: "" for the first; articles do not count."""


def crossed_pairs(pair: Pair) -> list[Difference]:
    """Two things that stand in one part of one text, and each with the partner of another in the other text.

    Only things that stand in a single part of each text count, and only if one text tells two things, or their
    partners, in the same place of their parts. Pairs in another order, and partners in another order inside a pair, are
    no difference.
    """
    if len(pair.a.keys & pair.b.keys) < _LEAST_SHARED or max(len(pair.a.text), len(pair.b.text)) > MOST_READ:
        return []
    for ours, theirs in product(_divided(pair.a), _divided(pair.b)):
        shared = _shared(ours, theirs)
        for (i, j), (k, m) in combinations(sorted(shared), 2):
            if i == k or j == m or (i, m) not in shared or (k, j) not in shared:
                continue
            # Part i of the first text has what parts j and m of the second have; part j has that of i and k.
            stays, left, other, came = shared[i, j], shared[i, m], shared[k, m], shared[k, j]
            parts = (ours[i], ours[k]), (theirs[j], theirs[m])
            words = (stays, other), (left + came, came + left)
            if any(_have_one_place(*pairs) for pairs in product(parts, words)):
                return [Difference("order", _text(pair.a, {*stays, *left}), _text(pair.b, {*stays, *came}))]
    return []


def _have_one_place(parts: tuple[_Part, _Part], words: tuple[Sequence[str], Sequence[str]]) -> bool:
    """Whether two parts tell one of their words in the same place, which is given by the word before it."""
    (one, two), (ours, theirs) = parts, words
    return not {one[key] for key in ours if key in one}.isdisjoint(two[key] for key in theirs if key in two)


def _divided(own: Features) -> list[list[_Part]]:
    """The parts of a text: its phrases, and its sentences if there are several."""
    language = own.language
    words = (language.joining | language.but) - language.particles.roles if language.grammar.spaced else frozenset()
    phrases, sentences = _parts(own, _SIGNS, words), _parts(own, _STRONG_SIGNS, frozenset())
    return [parts for parts in (phrases, sentences) if 2 <= len(parts) <= _MOST_PARTS]


def _parts(own: Features, signs: re.Pattern[str], words: frozenset[str]) -> list[_Part]:
    """The content words between signs and dividing words."""
    articles = own.language.articles | own.language.bare_articles
    ends = deque(hit.start() for hit in signs.finditer(own.text))
    parts: list[_Part] = [{}]
    before = ""
    for at, token in own.located():
        while ends and ends[0] <= at:
            ends.popleft()
            parts.append({})
            before = ""
        if token.lower in words:
            parts.append({})
            before = ""
        elif token.content:
            if not _is_one(token):
                parts[-1].setdefault(token.key, before)
            before = token.key if own.language.grammar.spaced else _BESIDE
        elif parts[-1] and token.lower not in articles:
            before = token.lower
    return [part for part in parts if part]


def _is_one(token: Token) -> bool:
    """Whether a token stands for a thing named before ("the brass one")."""
    return token.value is not None and token.value.kind == "number" and token.value.amount == 1


def _shared(a: Sequence[_Part], b: Sequence[_Part]) -> dict[tuple[int, int], list[str]]:
    """By a part of each text: the words that stand in these two parts and in no others."""
    places: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, parts in enumerate((a, b)):
        for at, part in enumerate(parts):
            for key in part:
                places[key][side].append(at)
    found: dict[tuple[int, int], list[str]] = defaultdict(list)
    for key, (ours, theirs) in sorted(places.items()):
        if len(ours) == len(theirs) == 1:
            found[ours[0], theirs[0]].append(key)
    return found


def _text(own: Features, keys: set[str]) -> str:
    return span(token for clause in own.clauses for token in clause.tokens if token.key in keys)
