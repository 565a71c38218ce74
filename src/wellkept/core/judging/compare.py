"""How a new statement relates to a stored memory: one decision list over rules and model.

1. A decisive difference is a conflict, and the rules say which words decided.
2. Equal words are the same, unless something beside them differs.
3. The relation model's opinion, where it was asked: its most probable relation. Hard differences
   (numbers, names, dates, another subject) forbid *same* whatever it says. Soft ones (a word
   more, a condition, a negation somewhere) only tell that the wording differs: one true repeat in
   three has them, so the model may overrule them, except between texts of nearly the same words.
4. Without an opinion any difference forbids *same*, and what is alike is a *variant*.

How probable and how similar a pair must be for an act is the policy's business, not this module's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from rapidfuzz.distance import OSA

from wellkept.core.reading.alignment import PAIR_AT
from wellkept.core.reading.chat_turns import questions, speaker
from wellkept.core.reading.differences import differences
from wellkept.core.reading.tokens import Features, features
from wellkept.core.records.merge import segments
from wellkept.core.records.summary_levels import is_summary_of
from wellkept.core.text.forms import canonical, excerpt, slot_key
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Comparison, Difference, DifferenceKind, Memory, Opinion, Relation, Statement

LONG_TEXT = 1000
"""Characters above which a vector alone never makes two texts the same."""

SOFT: frozenset[DifferenceKind] = frozenset(("condition", "detail", "negation", "value"))
"""Differences that a paraphrase may show too: one true repeat in three has one of them."""
NEARLY_THE_SAME_WORDS = 0.8
"""Share of common words from which even a soft difference is what the new text is about."""
STILL_THE_SAME = 0.8
"""Of the pairs that the model is this sure of, four in five say the same although a rule sees a difference
(a format, a word). Whatever other relation then comes second would be an invention: it is left open."""
OVERRULES_NEGATION = 0.15
"""A denial that the model thinks less probable to be a conflict than this is only a difference of words."""

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
    """Compares a statement on its way in with a stored one.

    Args:
        new: The statement being written (or the newer of two stored ones).
        old: The stored memory.
        cosine: Raw cosine of their vectors; None without usable vectors.
        similarity: The same on the published scale; None without usable vectors.
        opinion: What the relation model says of the pair, if it was asked.
        opposites: The opposites that the policy names.

    Returns:
        The relation, both figures rounded to 4 decimals, the differences and the reason word.
    """
    found = _of_slots(new, old) + _of_speakers(new, old) + _of_stance(new, old)
    another = any(item.kind == "subject" for item in found)
    timed = any(item.kind == "event_time" for item in found)
    textual = _of_texts(new, old, opposites)
    if another or timed:
        # Another subject, or the same subject at another time: both statements may hold.
        textual = tuple(replace(item, decisive=False, sure=False) for item in textual)
        found = tuple(replace(item, decisive=False, sure=False) for item in found)
    if questions(new.content) or questions(old.content):
        textual = tuple(replace(item, decisive=False, sure=False) for item in textual)  # what is asked states nothing
    found += textual
    if not any(item.kind == "length" for item in found):
        found += _of_length(new, old, opposites)
    derived = _derived(new, old)
    if derived is not None:
        found = tuple(replace(item, decisive=False, sure=False) for item in found)
        opinion = None  # it says less than its source, and never the contrary
    if another or timed:
        opinion = None  # what was given beside the texts outweighs whatever is read in them
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
        opinion=opinion,
    )


def _derived(new: Statement, old: Memory) -> Relation | None:
    """How a summary and one of the memories it was made from stand to each other; None for all other pairs."""
    if is_summary_of(new, old):
        return "generalises"
    return "refines" if isinstance(new, Memory) and is_summary_of(old, new) else None


def _of_slots(new: Statement, old: Memory) -> tuple[Difference, ...]:
    """Given subjects and attributes say what a statement is about; unlike ones never conflict."""
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
    """What two persons say of themselves is about two persons."""
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
    """Differences of content, segment by segment, and of summary and trigger; a title only heads the text.

    An evolved memory says its newest word last: a segment that already holds what the new text says
    settles the matter, and an older segment's overtaken value is no conflict with it.
    """
    found = _of_segments(new.content, segments(old), opposites)
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
    if len(texts) == 1:
        return differences(texts[0], new, opposites)
    spoken: list[tuple[Difference, ...]] = []
    for text in reversed(texts):
        if not _same_topic(text, new, opposites):
            continue
        found = differences(text, new, opposites)
        if any(item.decisive for item in found):
            return found
        if not found:
            # An older segment says it, but a newer one about the same thing has moved on: no repeat.
            return spoken[0] if spoken else ()
        spoken.append(found)
    if not spoken:
        return differences("\n".join(texts), new, opposites)
    # What an older segment on the same topic says otherwise still forbids to add to it.
    return (*spoken[0], *(item for found in spoken[1:] for item in found if item.kind not in _ADDITIONS))


def _same_topic(a: str, b: str, opposites: Opposites) -> bool:
    left, right = features(a, opposites).keys, features(b, opposites).keys
    return len(left & right) >= PAIR_AT * max(1, min(len(left), len(right)))


def _of_length(new: Statement, old: Memory, opposites: Opposites) -> tuple[Difference, ...]:
    """Long texts are the same only when they consist of the same sentences."""
    if old.chunks <= 1 and len(new.content) <= LONG_TEXT and len(old.content) <= LONG_TEXT:
        return ()
    said = _sentences(new.content, opposites)
    if any(_sentences(text, opposites) == said for text in (old.content, *segments(old)[-1:])):
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
    if canonical(new.content) == canonical(old.content):
        return "variant" if found else "same"
    if opinion is not None:
        told = max(_TOLD, key=opinion.of)
        if told == "conflict" and not found and _keys(new, opposites) == _keys(old, opposites):
            return "variant"  # the same words in another order, and no rule finds a difference between them
        if told != "same" or not is_vetoed(new.content, old.content, found, opposites):
            return told
        if opinion.same >= STILL_THE_SAME:
            return "variant"
        return max(_TOLD[1:], key=opinion.of)
    if similarity is None and not _keys(new, opposites) & _keys(old, opposites):
        return "none"
    if found or similarity is None:
        # Without a vector, words in common make a neighbour at most; only equal texts are the same.
        return "variant"
    return "same"


def _keys(said: Statement, opposites: Opposites) -> frozenset[str]:
    return features(said.content, opposites).keys


def is_sure(comparison: Comparison) -> bool:
    """Whether one value was replaced inside the same frame: a conflict however near the vectors lie."""
    decisive = [item for item in comparison.differences if item.decisive]
    return comparison.relation == "conflict" and bool(decisive) and all(item.sure for item in decisive)


def is_vetoed(new: str, old: str, found: Sequence[Difference], opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the differences forbid *same* even against the model."""
    if any(item.decisive for item in differences(old, new, opposites)):
        return True  # a denial that the model doubts is no conflict, but no repeat either
    real = [item for item in found if not _is_misspelt(item)]
    if any(item.kind not in SOFT for item in real):
        return True
    return bool(real) and shared_words(new, old, opposites) >= NEARLY_THE_SAME_WORDS


def one_word_swapped(found: Sequence[Difference]) -> bool:
    """Whether the only difference is one word in the place of another: "Ana leads", "Ben leads".

    In a short text that word may be all it is about, and the names of a language are not always known
    as names, so the model does not overrule it; a slip of the finger is no other word.
    """
    if len(found) != 1 or found[0].kind != "value" or not found[0].old or not found[0].new:
        return False
    return not _is_misspelt(found[0])


def _is_misspelt(item: Difference) -> bool:
    """Whether the two words differ by one slip of the finger: two letters swapped, one missing, doubled or wrong.

    "Deploymnet" is no other value than "deployment"; that the texts say the same is left to the model.
    """
    old, new = item.old.casefold(), item.new.casefold()
    words = old.isalpha() and new.isalpha() and min(len(old), len(new)) >= _SHORTEST_MISSPELT
    return item.kind == "value" and words and OSA.distance(old, new, score_cutoff=1) <= 1


def shared_words(a: str, b: str, opposites: Opposites = NO_OPPOSITES) -> float:
    """Share of the content words of the richer text that the other has too."""
    left, right = features(a, opposites).keys, features(b, opposites).keys
    return len(left & right) / max(1, len(left), len(right))


def _is_told_by_model(relation: Relation, opinion: Opinion | None) -> bool:
    return opinion is not None and relation in ("conflict", "distinct") and opinion.conflict >= _POSSIBLE


def _meaning(new: str, old: str, opposites: Opposites) -> Difference:
    """The words in which texts differ that the model alone calls a conflict: what one has and the other lacks."""
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
    """The seeds' word for what decided."""
    decisive = {item.kind for item in found if item.decisive}
    if not decisive:
        return ""
    if "polarity" in decisive:
        return "polarity"
    if "custom" in decisive:
        return "custom_fn"
    if "negation" in decisive or "antonym" in decisive and not decisive - _DENIALS:
        return "negation_diff"
    return "value_diff"
