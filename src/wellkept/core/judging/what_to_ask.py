"""Selects the near memories that the relation model is asked about: those that the rules leave open."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import islice

from wellkept.core.judging.compare import LONG_TEXT, compare
from wellkept.core.judging.evidence import Evidence, Moment, may_concern
from wellkept.core.reading.language_detection import is_english
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.records.merge import original
from wellkept.core.text.forms import term_set
from wellkept.core.text.same_words import in_same_words
from wellkept.policy import Policy
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Candidate, Memory, NewMemory, Statement

NEAREST_ASKED = 4
ALIKE_ASKED = 4
MOST_ASKED = NEAREST_ASKED + ALIKE_ASKED
"""Most pairs per write: the nearest by vector, and of the other neighbours those that share most words.

On English calibration stories they hold 98 % of the restated and 94 % of the replaced memories, beside 20,000 strangers
94 and 91 %.
"""
CLOSE_AT = 0.6
MOST_PARTS = 2
"""Additions read of one memory that has grown, beside its original."""
_ASK_AT = 0.15
"""Least similarity to ask in English. Many updates share hardly a word with the value that they replace: from .3 on,
87 % of the replaced memories were read."""


def questions(new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[Memory, ...]:
    """Select the memories for the model: the nearest, then those that share most words.

    Decided pairs are excluded: verbatim repeats, decisive differences, other subjects.
    """
    if moment.own.on_conflict == "ignore" or len(new.content) > LONG_TEXT:
        return ()
    nearest = sorted(evidence.neighbours, key=lambda item: (-(item.cosine or 0.0), item.memory.id))
    candidates = list(_originals_first(nearest, evidence, moment.policy))
    texts = texts_to_read((candidate.memory for candidate in candidates), moment.policy)
    asked = chosen(new.content, texts, lambda place: _is_open(new, candidates[place], evidence, moment))
    return tuple(candidates[place].memory for place in asked)


def chosen(new: str, texts: Sequence[str], is_open: Callable[[int], bool]) -> list[int]:
    """The positions of the texts to read: the first open ones, then of the others those that share most words.

    Args:
        new: The new text.
        texts: The stored texts, nearest first.
        is_open: Whether the rules leave the text at this position open.

    Example:
        >>> texts = ["Tea at four.", "Tea is late.", "Sour milk.", "Cold rice.", "Ovens.", "A plate.", "Lunch at one."]
        >>> chosen("Lunch is at one.", texts, lambda place: place != 1)
        [0, 2, 3, 4, 6, 5]
    """
    rest = iter(range(len(texts)))
    first = list(islice((place for place in rest if is_open(place)), NEAREST_ASKED))
    alike = sorted(rest, key=lambda place: (-_shared(new, texts[place]), place))
    return [*first, *islice((place for place in alike if is_open(place)), ALIKE_ASKED)]


def _shared(new: str, old: str) -> float:
    """Common terms, as a share of the text that has fewer."""
    ours, theirs = term_set(new), term_set(old)
    return len(ours & theirs) / max(1, min(len(ours), len(theirs)))


def asked_from(text: str) -> float:
    """The least similarity to ask about a text.

    The default embedder has learnt English, and Chinese texts are compared by their letters: from .15 on only a third
    of the restated and replaced memories were read there, from 0 on 90 and 96 %.
    """
    return _ASK_AT if is_english(text) else 0.0


def has_parts(memory: Memory, policy: Policy) -> bool:
    """Whether the memory has grown by additions, each of which is also kept as a wording."""
    known = policy.kinds.get(memory.kind) or policy.kinds.get("*")
    return bool(memory.updates) and known is not None and known.repeats == "fold"


def parted(evidence: Evidence, policy: Policy) -> list[tuple[Candidate, Memory]]:
    """The candidates that belong to a memory with parts, each with that memory."""
    heads = ((hit, evidence.heads.get(hit.memory.id, hit.memory)) for hit in evidence.neighbours)
    return [(hit, head) for hit, head in heads if has_parts(head, policy)]


def texts_to_read(memories: Iterable[Memory], policy: Policy) -> list[str]:
    """What the model reads of memories: their texts; of one with parts the original, because each part is read itself.

    A model that reads an original with several additions takes the next one for a contradiction.
    """
    return [original(memory) if has_parts(memory, policy) else memory.content for memory in memories]


def _originals_first(nearest: Iterable[Candidate], evidence: Evidence, policy: Policy) -> Iterator[Candidate]:
    """The candidates; a memory with parts stands before the nearest of them, and at most `MOST_PARTS` follow."""
    parts: dict[str, int] = {}
    for candidate in nearest:
        memory = evidence.heads.get(candidate.memory.id, candidate.memory)
        if not has_parts(memory, policy):
            yield candidate
            continue
        if memory.id not in parts:
            parts[memory.id] = 0
            yield replace(candidate, memory=memory)
        if candidate.memory.status == "wording" and parts[memory.id] < MOST_PARTS:
            parts[memory.id] += 1
            yield candidate


def _is_open(new: NewMemory, candidate: Candidate, evidence: Evidence, moment: Moment) -> bool:
    memory = candidate.memory
    head = evidence.heads.get(memory.id, memory)
    if head.status != "active" or is_expired(head, moment.now) or len(memory.content) > LONG_TEXT:
        return False
    if not may_concern(new, memory, moment.own, moment.policy):
        return False
    similarity = evidence.similarity(candidate)
    return similarity is not None and is_left_open(new, memory, similarity, moment.policy.opposites)


def is_left_open(new: Statement, memory: Memory, similarity: float, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the rules leave a near pair open: neither verbatim, nor decided by a difference, nor another subject."""
    if similarity < asked_from(new.content) or in_same_words(new.content, memory.content):
        return False
    comparison = compare(new, memory, cosine=None, similarity=similarity, opposites=opposites)
    if comparison.relation == "distinct":
        return False  # another subject or time was given
    # Negations by rule are asked again: "no other than X" negates nothing.
    return all(item.kind == "negation" for item in comparison.differences if item.decisive)
