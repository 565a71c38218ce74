"""Differences of antonyms: a word in one text, its opposite in the other."""

from __future__ import annotations

from collections.abc import Iterator

from wellkept.core.differences.alignment import Pair, Slot
from wellkept.core.differences.roles_and_order import agreed_links
from wellkept.core.lexicon import Antonymy, Language, lexicon
from wellkept.core.lexicon.english import opposites
from wellkept.core.lexicon.language import Antonyms
from wellkept.types import Difference

_SHARED = 0.4
"""Share of common words from which antonyms anywhere in two texts count."""


def opposed(slot: Slot, language: Language) -> bool:
    """Whether one word replaces its opposite."""
    return bool(antonymy(slot, language))


def antonymy(slot: Slot, language: Language) -> Antonymy | None:
    """The grade of opposition of the two words of a slot; None if they are no antonyms."""
    if len(slot.a) != 1 or len(slot.b) != 1 or slot.a[0].value or slot.b[0].value:
        return None
    x, y = slot.a[0], slot.b[0]
    for table in _antonym_tables(language):
        for opposite, grade in table.get(x.lower, ()):
            if opposite == y.lower:
                return grade
        for opposite, grade in table.get(x.key, ()):
            if opposite == y.key:
                return grade
    if not language.grammar.wordnet or (x.lower in language.scopes and y.lower in language.scopes):
        return None
    return opposites(x.lower, y.lower)


def _antonym_tables(language: Language) -> Iterator[Antonyms]:
    """The antonyms of a language, and of the languages whose words occur in all texts."""
    yield language.antonyms
    if not language.grammar.in_all_texts:
        yield from (other.antonyms for other in lexicon().everywhere)


def antonym_veto(pair: Pair) -> list[Difference]:
    """A word in one text and its opposite in the other, where the texts share many words and neither is negated."""
    a, b = pair.a, pair.b
    if len(a.keys & b.keys) < _SHARED * max(1, min(len(a.keys), len(b.keys))):
        return []
    negated = sum(len(c.negations) for c in a.clauses) % 2 != sum(len(c.negations) for c in b.clauses) % 2
    if negated:
        return []
    tables = {a.language.code: a.language.antonyms, b.language.code: b.language.antonyms}
    only_b = b.lowers - a.lowers
    for token in (token for clause in a.clauses for token in clause.tokens):
        if token.lower in b.lowers or token.value is not None:
            continue
        for table in tables.values():
            for opposite, _ in table.get(token.lower, ()):
                if opposite in only_b and not {token.lower, opposite} <= agreed_links(pair):
                    return [Difference("antonym", token.text, opposite)]
    return []
