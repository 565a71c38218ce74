"""Things that are told in pairs and have exchanged their partners.

"Backups go to Hetzner and logs to AWS" and "AWS gets the backups, Hetzner the logs" use the same words, which no model
tells from a paraphrase. The parts between commas, full stops and words such as "and" show which things belong together.
"""

from __future__ import annotations

import re
from collections import defaultdict, deque
from collections.abc import Sequence
from itertools import combinations, product

from wellkept.core.differences.alignment import Pair, span
from wellkept.core.reading.tokens import Features
from wellkept.types import Difference

_LEAST_SHARED = 4
"""Two pairs have four things."""
_MOST_PARTS = 12
"""Texts with more parts are lists or stories, whose parts are no pairs."""
_SIGNS = re.compile(r"(?:[,;!?]|(?<=\w{3})\.)(?=\s|$)|[()\n、，；。！？]|\s[-–—→]\s")
"""Ends of a phrase. A full stop behind two letters belongs to an abbreviation ("Ms.")."""
_STRONG_SIGNS = re.compile(r"(?:[;!?]|(?<=\w{3})\.)(?=\s|$)|[\n；。！？]")


def crossed_pairs(pair: Pair) -> list[Difference]:
    """Two things that stand in one part of one text, and each with the partner of another in the other text.

    Only things that stand in a single part of each text count. Pairs in another order, and partners in another order
    inside a pair, are no difference.
    """
    if len(pair.a.keys & pair.b.keys) < _LEAST_SHARED:
        return []
    for ours, theirs in product(_divided(pair.a), _divided(pair.b)):
        shared = _shared(ours, theirs)
        for (i, j), (k, m) in combinations(sorted(shared), 2):
            if i != k and j != m and (i, m) in shared and (k, j) in shared:
                # Part i of the first text has what parts j and m of the second have; part j has that of i and k.
                old, new = shared[i, j] | shared[i, m], shared[i, j] | shared[k, j]
                return [Difference("order", _text(pair.a, old), _text(pair.b, new))]
    return []


def _divided(own: Features) -> list[list[frozenset[str]]]:
    """The content words of each part of a text: of each phrase, and of each sentence if there are several."""
    language = own.language
    words = (language.joining | language.but) - language.particles.roles if language.grammar.spaced else frozenset()
    phrases, sentences = _parts(own, _SIGNS, words), _parts(own, _STRONG_SIGNS, frozenset())
    return [parts for parts in (phrases, sentences) if 2 <= len(parts) <= _MOST_PARTS]


def _parts(own: Features, signs: re.Pattern[str], words: frozenset[str]) -> list[frozenset[str]]:
    """The content words between signs and dividing words."""
    ends = deque(hit.start() for hit in signs.finditer(own.text))
    parts: list[set[str]] = [set()]
    for at, token in own.located():
        while ends and ends[0] <= at:
            ends.popleft()
            parts.append(set())
        if token.lower in words:
            parts.append(set())
        elif token.content:
            parts[-1].add(token.key)
    return [frozenset(part) for part in parts if part]


def _shared(a: Sequence[frozenset[str]], b: Sequence[frozenset[str]]) -> dict[tuple[int, int], frozenset[str]]:
    """By a part of each text: the words that stand in these two parts and in no others."""
    places: dict[str, tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for side, parts in enumerate((a, b)):
        for at, keys in enumerate(parts):
            for key in keys:
                places[key][side].append(at)
    found: dict[tuple[int, int], set[str]] = defaultdict(set)
    for key, (ours, theirs) in places.items():
        if len(ours) == len(theirs) == 1:
            found[ours[0], theirs[0]].add(key)
    return {cell: frozenset(keys) for cell, keys in found.items()}


def _text(own: Features, keys: frozenset[str]) -> str:
    return span(token for clause in own.clauses for token in clause.tokens if token.key in keys)
