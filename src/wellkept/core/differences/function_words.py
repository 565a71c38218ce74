"""What the function words of a clause mean: "must", "all", "at least", "only", "he", "twice", "≥".

Alignment compares content words. This module reads the function words and signs between them, by the groups of
meanings in the word lists.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.lexicon import Language, in_all_languages, lexicon
from wellkept.core.lexicon.language import Meanings
from wellkept.core.reading.tokens import Clause, Token


def meanings_of(clause: Clause, language: Language) -> dict[tuple[str, str], str]:
    """Group and meaning of each function word and condition cue of a clause, with the words of the text."""
    found: dict[tuple[str, str], str] = {}
    table = language.particles.meanings
    operators = lexicon().operators
    for place, token in enumerate(clause.tokens):
        if token.text in operators and token.value is None and (place or token.text != "*"):
            found[("operator", operators[token.text])] = token.text
    if not language.grammar.spaced:
        _meanings_in_run("".join(token.lower for token in clause.tokens), table, found)
        return found
    words = [token.lower for token in clause.tokens]
    place = 0
    while place < len(words):
        place += _meaning_at(clause.tokens, words, place, table, found)
    for _, _, cue in clause.conditions:
        parts = tuple(cue.split())
        for phrase, group, meaning in table.get(parts[0], ()):
            if phrase == parts:
                found[(group, meaning)] = cue
    return found


def meanings(clause: Clause, language: Language, *groups: str) -> frozenset[tuple[str, str]]:
    """Group and meaning of the function words of a clause in some groups ("bound", "quantity", "only" …)."""
    return frozenset(found for found in meanings_of(clause, language) if found[0] in groups)


def _meaning_at(
    tokens: Sequence[Token],
    words: Sequence[str],
    place: int,
    table: Meanings,
    found: dict[tuple[str, str], str],
) -> int:
    """Records the meaning of the phrase at a place; returns its number of words."""
    value = tokens[place].value
    if value is not None and value.kind in ("date", "time"):
        return 1
    for phrase, group, meaning in table.get(words[place], ()):
        plain = phrase[:-1] if phrase[-1] == "#" else phrase
        end = place + len(plain)
        if tuple(words[place:end]) != plain:
            continue
        if len(plain) < len(phrase) and not (end < len(tokens) and tokens[end].value is not None):
            continue
        if place and words[place - 1] in in_all_languages("contrasting"):
            return len(plain)  # "not only" adds, it does not limit
        found[(group, meaning)] = " ".join(plain)
        return len(plain)
    return 1


def _meanings_in_run(text: str, table: Meanings, found: dict[tuple[str, str], str]) -> None:
    """Records the meanings of the phrases of a text without spaces."""
    place = 0
    while place < len(text):
        for phrase, group, meaning in table.get(text[place], ()):
            if text.startswith(phrase[0], place):
                found[(group, meaning)] = phrase[0]
                place += len(phrase[0]) - 1
                break
        place += 1
