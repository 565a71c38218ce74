"""The features of a text, made once per text and cached."""

from __future__ import annotations

from wellkept.core.reading.clause_reader import ClauseReader
from wellkept.core.reading.in_words.other_meanings import meant_by_words, with_other_meanings
from wellkept.core.reading.language_detection import language_of
from wellkept.core.reading.lexer import prepared
from wellkept.core.reading.policy_antonyms import with_opposites
from wellkept.core.reading.tokens import Features, Token
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites

_TOKEN = 800
"""Bytes of a token, including its share of the clauses and sets that hold it."""


def _size(found: Features) -> int:
    """Size in bytes of the features of a text, without its language, which all texts share."""
    return _TOKEN * sum(len(clause.tokens) for clause in found.clauses)


@remembered(64 * MIB, _size)
def features(text: str, opposites: Opposites = NO_OPPOSITES) -> Features:
    """The features of a text; cached, so that a process reads a stored text once.

    Args:
        text: Any text.
        opposites: Antonyms of the policy, in addition to those of the language.

    Example:
        >>> found = features("Deploy to Graz at 5pm, not on Fridays.")
        >>> [token.text for token in found.names], [token.value.key for token in found.values]
        (['Graz'], ['t:1020', 'd:---4-'])
        >>> found.clauses[0].negations
        ((3, 'not'),)
    """
    folded = prepared(text)
    language = with_opposites(language_of(folded), opposites)
    reader = ClauseReader(folded, language, opposites)
    clauses = reader.read()
    tokens = [token for clause in clauses for token in clause.tokens]
    content = [token for token in tokens if token.content]
    names = tuple(token for token in content if token.proper and not token.value)
    words_in_order = [token.lower for token in tokens if not token.char and token.lower[:1].isalpha()]
    return Features(
        language=language,
        clauses=clauses,
        keys=frozenset(token.key for token in content),
        lowers=frozenset(token.lower for token in tokens),
        initials="".join(word[0] for word in words_in_order),
        values=with_other_meanings(tokens, language),
        names=names if not language.grammar.nouns_capitalised and not _is_heading(content) else (),
        text=text,
        meant=meant_by_words(tokens, language),
    )


def _is_heading(content: list[Token]) -> bool:
    """Whether most words have a capital, as in a heading, so that capitals mark no names."""
    plain = [token for token in content if not token.value and not token.char and not token.first]
    return len(plain) > 3 and sum(token.proper for token in plain) > 0.6 * len(plain)
