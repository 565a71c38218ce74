"""How a new statement relates to a stored memory: a decision list over rules and model.

1. A decisive difference is a conflict; the rules name the words.
2. Equal words are *same*, unless another field differs.
3. With an opinion of the relation model, its most probable relation holds. Soft differences (an extra word, a
condition, a negation) appear in one of three true repeats, so the model may overrule them, and where it is sure, a name
or a tense too; but neither between texts of nearly the same words. Other hard differences (numbers, dates, identifiers)
forbid *same*. All hard ones forbid skip, merge and evolve (`core.judging.evidence.is_barred`).
4. Without an opinion any difference forbids *same*; similar texts are a *variant*.

The policy decides which probability and similarity permit which action.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rapidfuzz.distance import OSA

from wellkept.core.differences.alignment import PAIR_AT
from wellkept.core.differences.find import differences
from wellkept.core.judging.list_head import ReadTwice
from wellkept.core.reading.chat_turns import questions, speaker
from wellkept.core.reading.features import features
from wellkept.core.reading.tokens import Features
from wellkept.core.records.merge import segments
from wellkept.core.records.summary_levels import is_summary_of
from wellkept.core.text.forms import canonical, excerpt, slot_key
from wellkept.core.text.same_words import in_same_words
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Comparison, Difference, DifferenceKind, Memory, Opinion, Relation, Statement

LONG_TEXT = 1000
"""Characters above which similarity alone never gives *same*."""

SOFT: frozenset[DifferenceKind] = frozenset(("condition", "detail", "negation", "value"))
"""Differences that also occur between paraphrases."""
SOFT_WHERE_SURE: frozenset[DifferenceKind] = SOFT | {"name", "subject", "time", "unit"}
"""Those that a sure model may overrule; a number, an identifier or a policy's opposites it may not."""
NEARLY_THE_SAME_WORDS = 0.8
"""Share of common words from which even a soft difference counts."""
STILL_THE_SAME = 0.8
"""From this P(same) a pair with a veto is no other relation: *same* or a *variant*. Of the selection pairs that become
*same*, 110 of 113 say the same. In nearly the same words the model is as sure of two exchanged names. Below, the second
most probable relation holds.
"""
OVERRULES_NEGATION = 0.15
"""Below this P(conflict) a negation counts as wording."""

_MOST_WORDS = 6
_SHORTEST_MISSPELT = 6
_POSSIBLE = 0.2
_DENIALS = frozenset(("negation", "antonym", "sign"))
_TOLD: tuple[Relation, ...] = ("same", "refines", "generalises", "conflict", "distinct")


def compare(
    new: Statement,
    old: Memory,
    *,
    cosine: float | None,
    similarity: float | None,
    opinion: Opinion | None = None,
    opposites: Opposites = NO_OPPOSITES,
) -> Comparison:
    """Compare a new statement with a stored memory.

    Args:
        new: The statement being written (or the newer of two stored ones).
        old: The stored memory.
        cosine: Raw cosine of the two vectors; None without vectors.
        similarity: The calibrated cosine; None without vectors.
        opinion: The relation model's opinion of the pair, if it was asked.
        opposites: Additional antonyms of the policy.

    Returns:
        The relation, both figures rounded to 4 decimals, the differences and the reason.
    """
    found = _of_slots(new, old) + _of_speakers(new, old) + _of_stance(new, old)
    another = any(item.kind == "subject" for item in found)
    timed = any(item.kind == "event_time" for item in found)
    textual = _of_texts(new, old, opposites)
    if another or timed:
        # Another subject or another time: both statements may hold.
        textual = tuple(replace(item, decisive=False, sure=False) for item in textual)
        found = tuple(replace(item, decisive=False, sure=False) for item in found)
    if questions(new.content) or questions(old.content):
        textual = tuple(replace(item, decisive=False, sure=False) for item in textual)  # a question states nothing
    found += textual
    found += _of_length(new, old, opposites)
    derived = _derived(new, old)
    if derived is not None:
        found = tuple(replace(item, decisive=False, sure=False) for item in found)
        opinion = None  # a summary never contradicts its source
    if another or timed:
        opinion = None  # given fields outweigh the texts
    if opinion is not None:
        found = tuple(_doubted(item, opinion) for item in found)
    relation = _relation(new, old, found, similarity, opinion, opposites)
    if another or timed:
        relation = "distinct"
    if derived is not None and relation != "same":
        relation = derived
    if _is_told_by_model(relation, opinion) and all(item.kind in _ADDITIONS for item in found):
        found += (_meaning(new.content, old.content, opposites),)
    return Comparison(
        relation=relation,
        similarity=None if similarity is None else round(similarity, 4),
        cosine=None if cosine is None else round(cosine, 4),
        differences=tuple(sorted(found, key=lambda item: not item.decisive)),
        reason=_reason(found) or ("model" if relation == "conflict" else ""),
        opinion=opinion.plain if isinstance(opinion, ReadTwice) else opinion,
    )


def contradicts(new: Statement, old: Memory, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the rules alone find a contradiction."""
    return compare(new, old, cosine=None, similarity=None, opposites=opposites).relation == "conflict"


def _derived(new: Statement, old: Memory) -> Relation | None:
    """The relation of a summary and one of its sources; None for any other pair."""
    if new.provenance and is_summary_of(new, old):
        return "generalises"
    return "refines" if old.provenance and isinstance(new, Memory) and is_summary_of(old, new) else None


def _of_slots(new: Statement, old: Memory) -> tuple[Difference, ...]:
    """Explicit subjects and attributes state what a text is about; different ones never conflict."""
    ours, theirs = slot_key(new.subject), slot_key(old.subject)
    if not ours or not theirs:
        return ()
    if ours != theirs:
        return (Difference("subject", old.subject, new.subject),)
    ours, theirs = slot_key(new.attribute), slot_key(old.attribute)
    if ours and theirs and ours != theirs:
        return (Difference("subject", f"{old.subject}: {old.attribute}", f"{new.subject}: {new.attribute}"),)
    return ()


def _of_speakers(new: Statement, old: Memory) -> tuple[Difference, ...]:
    """Two speakers who speak about themselves are two subjects."""
    ours, theirs = speaker(new.content), speaker(old.content)
    return (Difference("subject", theirs, ours),) if ours and theirs and ours != theirs else ()


def _of_stance(new: Statement, old: Memory) -> tuple[Difference, ...]:
    found: tuple[Difference, ...] = ()
    if new.polarity * old.polarity == -1:
        found += (Difference("polarity", f"{old.polarity:+d}", f"{new.polarity:+d}", decisive=True),)
    if new.event_time is not None and old.event_time is not None and new.event_time != old.event_time:
        found += (Difference("event_time", old.event_time.isoformat(), new.event_time.isoformat()),)
    return found


# --------------------------------------------------------------------------------------------
# Texts


def _of_texts(new: Statement, old: Memory, opposites: Opposites) -> tuple[Difference, ...]:
    """Differences of content (per segment), summary and trigger; titles do not count.

    In an evolved memory the newest segment holds: if it already states the new text, the outdated value of an older
    segment is no conflict.
    """
    if old.updates:
        found = _of_segments(new.content, segments(old), opposites)
    else:
        found = differences(old.content, new.content, opposites)
    for ours, theirs in ((new.summary, old.summary), (new.trigger, old.trigger)):
        if ours.strip() and theirs.strip():
            beside = differences(theirs, ours, opposites)
            found += tuple(replace(item, decisive=False, sure=False) for item in beside if item.kind != "detail")
    unique: dict[tuple[str, str, str], Difference] = {}
    for item in found:
        unique.setdefault((item.kind, item.old, item.new), item)
    return tuple(unique.values())


_ADDITIONS = frozenset({"detail", "condition"})


def _of_segments(new: str, texts: Sequence[str], opposites: Opposites) -> tuple[Difference, ...]:
    spoken: list[tuple[Difference, ...]] = []
    for text in reversed(texts):
        if not _same_topic(text, new, opposites):
            continue
        found = differences(text, new, opposites)
        if any(item.decisive for item in found):
            return found
        if not found:
            # An older segment states it, but a newer one on the topic has changed: no repeat.
            return spoken[0] if spoken else ()
        spoken.append(found)
    if not spoken:
        return differences("\n".join(texts), new, opposites)
    # Other differences with older segments on the topic still forbid an update.
    return (*spoken[0], *(item for found in spoken[1:] for item in found if item.kind not in _ADDITIONS))


def _same_topic(a: str, b: str, opposites: Opposites) -> bool:
    left, right = features(a, opposites).keys, features(b, opposites).keys
    return len(left & right) >= PAIR_AT * max(1, min(len(left), len(right)))


def _of_length(new: Statement, old: Memory, opposites: Opposites) -> tuple[Difference, ...]:
    """Long texts are *same* only when they consist of the same sentences."""
    if old.chunks <= 1 and len(new.content) <= LONG_TEXT and len(old.content) <= LONG_TEXT:
        return ()
    whole = (old.content, *segments(old)[-1:])
    if new.content in whole:
        return ()
    said = _sentences(new.content, opposites)
    if any(_sentences(text, opposites) == said for text in whole):
        return ()
    return (Difference("length", excerpt(old.content, 40), excerpt(new.content, 40)),)


def _sentences(text: str, opposites: Opposites = NO_OPPOSITES) -> frozenset[tuple[str, ...]]:
    canonical_text = canonical(text)
    clauses = features(text, opposites).clauses
    if not clauses:
        return frozenset({(canonical_text,)})
    return frozenset(
        (
            *(token.lower for token in clause.tokens),
            *(cue for _, cue in clause.negations),
            *(cue for *_, cue in clause.conditions),
        )
        for clause in clauses
    )


# --------------------------------------------------------------------------------------------
# The verdict


def _relation(
    new: Statement,
    old: Memory,
    found: Sequence[Difference],
    similarity: float | None,
    opinion: Opinion | None,
    opposites: Opposites,
) -> Relation:
    if any(item.decisive for item in found):
        return "conflict"
    if in_same_words(new.content, old.content):
        return "variant" if found else "same"
    if opinion is not None:
        told = opinion.likeliest(_TOLD)
        if told == "conflict" and not found and _keys(new, opposites) == _keys(old, opposites):
            return "variant"  # same words in another order, no difference by rule
        if told != "same" or not is_vetoed(new.content, old.content, found, opposites):
            return told
        if opinion.same < STILL_THE_SAME:
            return opinion.likeliest(_TOLD[1:])
        return "same" if _may_be_overruled(new.content, old.content, found, opposites) else "variant"
    if similarity is None and not _keys(new, opposites) & _keys(old, opposites):
        return "none"
    if found or similarity is None:
        # Without a vector, common words make a neighbour at most; only equal texts are *same*.
        return "variant"
    return "same"


def _keys(said: Statement, opposites: Opposites) -> frozenset[str]:
    return features(said.content, opposites).keys


def is_sure(comparison: Comparison) -> bool:
    """Whether one value was replaced in the same frame: a conflict at any similarity."""
    decisive = [item for item in comparison.differences if item.decisive]
    return comparison.relation == "conflict" and bool(decisive) and all(item.sure for item in decisive)


def is_vetoed(new: str, old: str, found: Sequence[Difference], opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the differences forbid *same* even against the model."""
    if any(item.decisive for item in differences(old, new, opposites)):
        return True  # a negation that the model doubts is neither conflict nor repeat
    real = [item for item in found if not _is_misspelt(item)]
    if any(item.kind not in SOFT for item in real):
        return True
    return bool(real) and shared_words(new, old, opposites) >= NEARLY_THE_SAME_WORDS


def _may_be_overruled(new: str, old: str, found: Sequence[Difference], opposites: Opposites) -> bool:
    """Whether a sure model may overrule the differences: in other words, and none of them decides by itself."""
    if any(item.kind not in SOFT_WHERE_SURE for item in found):
        return False
    if shared_words(new, old, opposites) >= NEARLY_THE_SAME_WORDS:
        return False
    return not any(item.decisive for item in differences(old, new, opposites))


def is_changed(new: str, old: str, found: Sequence[Difference], opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the texts are one statement with a change: a decisive difference, or one in nearly the same words.

    A paraphrase shows soft differences too, but it uses other words; where nearly all words are the same, what differs
    is the point.
    """
    real = [item for item in found if not _is_misspelt(item)]
    if any(item.decisive for item in real):
        return True
    return bool(real) and shared_words(new, old, opposites) >= NEARLY_THE_SAME_WORDS


def one_word_swapped(found: Sequence[Difference]) -> bool:
    """Whether the only difference is one replaced word: "Ana leads", "Ben leads".

    The model does not overrule it: in a short text that word may be the whole statement, and not every name is
    recognised as a name. Misspellings do not count.
    """
    if len(found) != 1 or found[0].kind != "value" or not found[0].old or not found[0].new:
        return False
    return not _is_misspelt(found[0])


def _is_misspelt(item: Difference) -> bool:
    """Whether the two words differ by one typo: two letters swapped, one missing, doubled or wrong.

    "Deploymnet" is no other value than "deployment"; the model decides whether the texts are the same.
    """
    old, new = item.old.casefold(), item.new.casefold()
    words = old.isalpha() and new.isalpha() and min(len(old), len(new)) >= _SHORTEST_MISSPELT
    return item.kind == "value" and words and OSA.distance(old, new, score_cutoff=1) <= 1


@remembered(4 * MIB)
def shared_words(a: str, b: str, opposites: Opposites = NO_OPPOSITES) -> float:
    """Share of the content words of the longer text that the other text has too."""
    left, right = features(a, opposites).keys, features(b, opposites).keys
    return len(left & right) / max(1, len(left), len(right))


def _is_told_by_model(relation: Relation, opinion: Opinion | None) -> bool:
    return opinion is not None and relation in ("conflict", "distinct") and opinion.conflict >= _POSSIBLE


def _meaning(new: str, old: str, opposites: Opposites) -> Difference:
    """The words that only one text has, for a conflict that only the model reports."""
    theirs, ours = features(old, opposites), features(new, opposites)
    return Difference("meaning", _own_words(theirs, ours), _own_words(ours, theirs))


def _own_words(text: Features, other: Features) -> str:
    words = [
        clause.tokens[place].text
        for clause in text.clauses
        for place in clause.content
        if clause.tokens[place].key not in other.keys
    ]
    return " ".join(words[:_MOST_WORDS])


def _doubted(item: Difference, opinion: Opinion) -> Difference:
    if item.kind == "negation" and item.decisive and opinion.conflict < OVERRULES_NEGATION:
        return replace(item, decisive=False, sure=False)
    return item


def _reason(found: Sequence[Difference]) -> str:
    """The reason word of the deciding difference."""
    decisive = {item.kind for item in found if item.decisive}
    if not decisive:
        return ""
    if "polarity" in decisive:
        return "polarity"
    if "negation" in decisive or "antonym" in decisive and not decisive - _DENIALS:
        return "negation_diff"
    return "value_diff"
