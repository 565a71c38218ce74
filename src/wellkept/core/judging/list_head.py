"""The probability of an act, from the opinions on all candidates of one text.

An opinion on one pair leaves out what a reader of the whole list sees: whether the candidate is the nearest, how far
the next one is, what is said of the others, which words the two texts share, and whether their letters look like a
change. A logistic regression over these features decides two acts that lose nothing: `fold`, keep the text as a wording
of the memory that it restates, and `mark`, mark the memory as outdated. Its weights belong to the relation model and
ship with it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from functools import lru_cache
from math import exp, log, log1p
from typing import Any, Literal, Self, TypeAlias

from wellkept.core.judging.letters import ChangeCues
from wellkept.core.reading.language_detection import is_english
from wellkept.core.text.forms import search_terms
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.frozen import frozen
from wellkept.policy import Risk
from wellkept.types import Opinion

Act: TypeAlias = Literal["fold", "mark"]

FEATURES = {"fold": 52, "mark": 42}
"""Number of features of a candidate, by act."""
ODDS_OF_THE_ACT = 5
"""Place of the log-odds of the act's own probability among them."""
_LEAST = 1e-4
_MOST_COUNTED = 3
"""Numbers and names beyond this many add nothing."""


@frozen(kw_only=True)
class ReadTwice(Opinion):
    """An opinion that is the mean of two readings; only the heads see them.

    Attributes:
        first: The opinion on the text among other older texts.
        second: The opinion on it alone, or that of a second network on it among the others.
        third: The opinion of the second network, which is no part of the mean: on it alone, or in English, for a second
            reader, among the others that are not clearly distinct.
    """

    first: Opinion
    second: Opinion
    third: Opinion | None = None

    @property
    def plain(self) -> Opinion:
        """The opinion without its readings, as results give it."""
        return Opinion(self.same, self.refines, self.generalises, self.conflict, self.distinct, self.model)


@frozen
class Read:
    """One stored text that the relation model has read beside the new one.

    Attributes:
        text: The stored text.
        cosine: Raw cosine of the two vectors.
        opinion: The model's opinion of the pair.
        repeats: The probability that the new text adds nothing, read among the others.
    """

    text: str
    cosine: float
    opinion: Opinion
    repeats: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Add the opinion up once; each of the others is measured against it."""
        object.__setattr__(self, "repeats", self.first.repeats)

    @property
    def first(self) -> Opinion:
        """What the first reading said, of the text among the others."""
        return self.opinion.first if isinstance(self.opinion, ReadTwice) else self.opinion

    @property
    def second(self) -> Opinion:
        """What the second reading said, if there was one; otherwise the first."""
        return self.opinion.second if isinstance(self.opinion, ReadTwice) else self.opinion

    @property
    def third(self) -> Opinion | None:
        """What the third reading said, if there was one."""
        return self.opinion.third if isinstance(self.opinion, ReadTwice) else None


@frozen
class Head:
    """Weights of one act.

    Attributes:
        weights: One for each feature of `features_of`.
        bias: The constant term.
        english: Least probability to act on an English text.
        other: Least probability to act on a text in another language.
        cues: Weights of letters that make three of the features; without them these are 0.
        elsewhere: The weights and the constant term for a text in another language; by default the same.
    """

    weights: tuple[float, ...]
    bias: float
    english: float
    other: float
    cues: ChangeCues | None = None
    elsewhere: tuple[tuple[float, ...], float] | None = None

    @classmethod
    def of(cls, plain: Mapping[str, Any], risk: Risk, cues: ChangeCues | None) -> Self:
        """The head from its JSON object, with the least probabilities for a risk."""
        elsewhere = plain.get("elsewhere")
        others = None if elsewhere is None else (tuple(elsewhere["weights"]), elsewhere["bias"])
        return cls(tuple(plain["weights"]), plain["bias"], **plain["least"][risk], cues=cues, elsewhere=others)

    def least(self, text: str) -> float:
        """The least probability to act on this text."""
        return self.english if is_english(text) else self.other

    def probability(self, text: str, features: Sequence[float]) -> float:
        """The probability of the act on this text, 0 to 1, rounded to 4 decimals so that every processor agrees."""
        weights, bias = self.weights, self.bias
        if self.elsewhere is not None and not is_english(text):
            weights, bias = self.elsewhere
        total = bias + sum(weight * value for weight, value in zip(weights, features, strict=True))
        return round(1.0 / (1.0 + exp(-max(-30.0, min(30.0, total)))), 4)


@lru_cache(maxsize=4)
def chances_of(head: Head, act: Act, new: str, read: tuple[Read, ...]) -> tuple[float, ...]:
    """The probability that the act concerns each candidate, by a head; a write asks for it several times.

    Args:
        head: The head of the act.
        act: The act.
        new: The new text.
        read: All candidates that the model has read.
    """
    return tuple(head.probability(new, features) for features in features_of(act, new, read, head.cues))


def features_of(
    act: Act, new: str, read: Sequence[Read], cues: ChangeCues | None = None
) -> tuple[tuple[float, ...], ...]:
    """What the head sees of each candidate and of the others in its list.

    Args:
        act: The act.
        new: The new text.
        read: All candidates that the model has read.
        cues: Weights of letters.

    Returns:
        For each candidate: log-odds of the opinion and of the act; the cosine and its distance to the nearest and to
        the next; the largest log-odds among the others and in the whole list; shares of common words; counts of common
        and differing numbers and names; lengths. To fold also the probabilities themselves and their distance to the
        others'. Then the log-odds of the second reading, and the letters: how much the pair looks like a change, and
        how much more than the others; how much the new text sounds like one. Last the log-odds of the third reading,
        and whether there was one.
    """
    news = cues.of_text(new) if cues else 0.0
    changes = [cues.of_pair(new, item.text) if cues else 0.0 for item in read]
    found = []
    for place, change in enumerate(changes):
        beyond = max((other for at, other in enumerate(changes) if at != place), default=0.0)
        third = _of_third(act, new, read[place])
        found.append((*_seen(act, new, read, place), change, change - beyond, news, *third))
    return tuple(found)


def _seen(act: Act, new: str, read: Sequence[Read], place: int) -> tuple[float, ...]:
    found = read[place]
    others = [item for at, item in enumerate(read) if at != place]
    nearest = max(item.cosine for item in read)
    beyond = max((item.cosine for item in others), default=0.0)
    said, again = found.first, found.second
    return (
        *_log_odds(act, said),
        found.cosine,
        found.cosine - nearest,
        found.cosine - beyond,
        _odds(max((item.first.conflict for item in others), default=0.0)),
        _odds(max((item.first.same for item in others), default=0.0)),
        _odds(max((item.first.distinct for item in others), default=1.0)),
        _odds(max(item.first.same for item in read)),
        _odds(max(item.first.refines for item in read)),
        _odds(max(item.first.conflict for item in read)),
        *_words_in_common(found.text, new),
        *(_shares(found, others, len(read)) if act == "fold" else ()),
        *_log_odds(act, again),
    )


def _of_third(act: Act, new: str, found: Read) -> tuple[float, ...]:
    """The third reading; the mean of the others where there was none.

    A head for English knows what a second reader says of English lists, and not the reading of a text in another
    language alone.
    """
    third = found.third if is_english(found.text) or not is_english(new) else None
    return (*_log_odds(act, found.opinion if third is None else third), float(third is not None))


def _log_odds(act: Act, said: Opinion) -> tuple[float, ...]:
    shares = (said.same, said.refines, said.generalises, said.conflict, said.distinct, _wanted(act, said))
    return tuple(_odds(share) for share in shares)


def _shares(found: Read, others: Sequence[Read], count: int) -> tuple[float, ...]:
    """The probabilities themselves and their distance to the others: log-odds alone hide how sure the model is."""
    said = found.first
    beyond = max((item.repeats for item in others), default=0.0)
    against = max((item.first.conflict for item in others), default=0.0)
    return (
        said.same,
        said.refines,
        said.generalises,
        said.conflict,
        found.repeats**4,
        said.same * said.conflict,
        said.refines * said.same,
        found.repeats - beyond,
        said.conflict - against,
        float(count),
    )


def _wanted(act: Act, opinion: Opinion) -> float:
    return opinion.repeats if act == "fold" else opinion.conflict


def _odds(probability: float) -> float:
    bounded = min(1 - _LEAST, max(_LEAST, probability))
    return log(bounded / (1 - bounded))


def _words_in_common(old: str, new: str) -> tuple[float, ...]:
    theirs, ours = _terms(old), _terms(new)
    common = len(ours.all & theirs.all)
    return (
        common / max(1, len(ours.all | theirs.all)),
        common / max(1, len(theirs.all)),
        common / max(1, len(ours.all)),
        *_counts(theirs.numbers, ours.numbers),
        *_counts(theirs.names, ours.names),
        log1p(len(theirs.all)),
        log1p(len(ours.all)),
    )


def _counts(old: frozenset[str], new: frozenset[str]) -> tuple[float, float, float]:
    both, only_old, only_new = len(old & new), len(old - new), len(new - old)
    return float(min(both, _MOST_COUNTED)), float(min(only_old, _MOST_COUNTED)), float(min(only_new, _MOST_COUNTED))


@frozen
class _Terms:
    all: frozenset[str]
    numbers: frozenset[str]
    names: frozenset[str]


@remembered(16 * MIB)
def _terms(text: str) -> _Terms:
    terms = frozenset(search_terms(text))
    numbers = frozenset(term for term in terms if any(sign.isdigit() for sign in term))
    words = text.split()
    # A capital at the start of a text has no meaning.
    names = (word.strip(".,;:!?\"'()[]") for word in words[1:] if word[:1].isupper())
    return _Terms(terms, numbers, frozenset(name.casefold() for name in names if name))
