"""A text as the rules see it: clauses of tokens, with values, names, negations and conditions marked."""

from __future__ import annotations

from typing import NamedTuple

from wellkept.core.lexicon import Language
from wellkept.core.reading.values import Value
from wellkept.frozen import frozen


class Token(NamedTuple):
    """One word, value or sign.

    Attributes:
        text: The token as written.
        lower: The token in lower case.
        key: The form that alignment compares: the stem of a word, the normal form of a value.
        value: The value, if the token is one.
        proper: Whether it is written as a name (a capital inside the sentence).
        content: False for function words, adverbs such as "now", and signs.
        first: Whether it is the first token of its clause, where a capital means nothing.
        char: Whether it belongs to a run of a script without spaces.
    """

    text: str
    lower: str
    key: str
    value: Value | None = None
    proper: bool = False
    content: bool = True
    first: bool = False
    char: bool = False


@frozen
class Clause:
    """One statement of a text.

    Attributes:
        tokens: All tokens except the cues of negation and condition.
        content: Positions of the content tokens in `tokens`.
        keys: The keys of the content tokens, in order.
        negations: For each negation cue: the position in `keys` of the next content token, and the words of the cue.
        conditions: For each condition cue: its class, the position in `keys` of the next content token, and its words.
        additive: Whether a word such as "also" marks the statement as an addition.
    """

    tokens: tuple[Token, ...]
    content: tuple[int, ...]
    keys: tuple[str, ...]
    negations: tuple[tuple[int, str], ...]
    conditions: tuple[tuple[str, int, str], ...]
    additive: bool


@frozen
class Features:
    """Everything that the rules read from one text.

    Attributes:
        language: The detected language, with the antonyms of the policy.
        clauses: The statements, in order.
        keys: The keys of all content tokens.
        lowers: All tokens in lower case.
        initials: The first letters of the words, for acronyms.
        values: The tokens that are values, each with what else it may mean.
        meant: Values that words may mean ("Sat").
        names: The tokens that are names; none in a text in capitals or a language that capitalises nouns.
        text: The text as given.
    """

    language: Language
    clauses: tuple[Clause, ...]
    keys: frozenset[str]
    lowers: frozenset[str]
    initials: str
    values: tuple[Token, ...]
    names: tuple[Token, ...]
    text: str = ""
    meant: tuple[Value, ...] = ()

    def located(self) -> tuple[tuple[int, Token], ...]:
        """Each token with its position in the text, in order; tokens that are written otherwise there are left out."""
        found = []
        end = 0
        for clause in self.clauses:
            for token in clause.tokens:
                at = self.text.find(token.text, end)
                if at >= 0:
                    found.append((at, token))
                    end = at + len(token.text)
        return tuple(found)
