"""The probability that a text says nothing worth keeping: greetings, thanks, status lines, small talk.

A logistic regression over the sentence vector, which is there already, over plain facts of the text, such as its
length, and over its groups of letters. The vector knows what a text is about; the letters know its words. The weights
belong to one embedder and ship with it; with another embedder there is no such opinion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import exp, fsum, log1p
from typing import Any, Self

from wellkept.core.reading.chat_turns import unasked
from wellkept.core.text.letter_groups import LetterWeights, letters_of
from wellkept.frozen import frozen
from wellkept.types import Vector

_DECIMALS = 4
_QUESTIONS = ("?", "\uff1f", "\u061f", "\u037e")
_ENDS = (".", "\u3002", "\u0964")
_WIDE = 2.5
"""Weight of a character that is a syllable or a word, against one letter."""


@frozen
class Chatter:
    """The opinion on one text.

    Attributes:
        probability: That the text says nothing worth keeping, 0 to 1.
        reject_at: Least probability at which it is rejected.
        low_at: Least probability at which it is stored with low importance.
    """

    probability: float
    reject_at: float
    low_at: float


@frozen
class ChatterHead:
    """Weights over a sentence vector, the facts of its text and its groups of letters.

    Attributes:
        vector: One weight for each component of the sentence vector.
        facts: One weight for each fact of `facts_of`.
        letters: The weights of groups of letters.
        bias: The constant term.
        reject_at: Least probability at which a text is rejected.
        low_at: Least probability at which a text is stored with low importance.
    """

    vector: tuple[float, ...]
    facts: tuple[float, ...]
    letters: LetterWeights
    bias: float
    reject_at: float
    low_at: float

    @classmethod
    def of(cls, plain: Mapping[str, Any]) -> Self:
        """The head from its JSON object."""
        return cls(
            tuple(plain["vector"]),
            tuple(plain["facts"]),
            LetterWeights.of(plain["letters"], plain["step"]),
            plain["bias"],
            plain["reject_at"],
            plain["low_at"],
        )

    def read(self, text: str, vector: Vector) -> Chatter:
        """The opinion on a text with this sentence vector; of a question, what it says without its mark."""
        return Chatter(self.probability(unasked(text), vector), self.reject_at, self.low_at)

    def probability(self, text: str, vector: Vector) -> float:
        """The probability that the text says nothing worth keeping, 0 to 1.

        The sum is exact and the result rounded to 4 decimals, so that every processor agrees.

        Args:
            text: The text.
            vector: Its sentence vector, unit norm.
        """
        terms = [weight * value for weight, value in zip(self.vector, vector.tolist(), strict=True)]
        terms += [weight * value for weight, value in zip(self.facts, facts_of(text), strict=True)]
        terms.append(self.letters.sum(letters_of(text)))
        total = self.bias + fsum(terms)
        return round(1.0 / (1.0 + exp(-max(-30.0, min(30.0, total)))), _DECIMALS)


def facts_of(text: str) -> tuple[float, ...]:
    """What is counted in a text: length, digits, names, punctuation. None of it depends on a language.

    Example:
        >>> len(facts_of("Tea at four."))
        18
    """
    plain = text.strip()
    length = fsum(_WIDE if _is_wide(sign) else 1.0 for sign in plain)
    words = plain.split()
    digits = sum(sign.isdigit() for sign in plain)
    names = sum(word[:1].isupper() for word in words[1:])
    return (
        log1p(length),
        min(length, 40.0) / 40,
        min(length, 100.0) / 100,
        float(length < 12),
        float(length < 20),
        float(digits > 0),
        min(digits, 6) / 6,
        min(names, 4) / 4,
        float(plain[:1].islower()),
        float(plain.endswith(_QUESTIONS)),
        float(plain.endswith(("!", "\uff01"))),
        float(plain.endswith(_ENDS)),
        float(":" in plain or "\uff1a" in plain),
        float("," in plain or "\uff0c" in plain or "\u3001" in plain),
        float("..." in plain or "\u2026" in plain),
        float(any(sign in plain for sign in "=/_")),
        float(plain[:1] in ("(", "[", "*")),
        float(any("\u2600" <= sign <= "\u27bf" or sign >= "\U0001f300" for sign in plain)),
    )


def _is_wide(sign: str) -> bool:
    return any(first <= sign <= last for first, last in _SCRIPTS)


_SCRIPTS: Sequence[tuple[str, str]] = (("\u2e80", "\u9fff"), ("\uac00", "\ud7af"), ("\uf900", "\ufaff"))
"""Blocks of Chinese, Japanese and Korean."""
