"""In what two texts differ, by rules that speak only where they are sure.

Two degrees. A *veto*: numbers, names, negations or conditions do not agree, so the texts are never the
same. A *conflict* (`decisive`): the statements are aligned and exactly one exclusive thing in them was
replaced or denied, so both cannot hold. Everything else is left to the models.

The rules see the two texts in one fixed order and mirror their findings afterwards, so that swapping
the texts mirrors the answer. Only `detail` has a direction: what the new text adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from wellkept.core.reading.alignment import Frame, Pair, align, cue_span, mirrored, span
from wellkept.core.reading.negations import answers, denial, denied, denied_slot
from wellkept.core.reading.replacements import judge_slot, opposed
from wellkept.core.reading.roles import swapped_roles
from wellkept.core.reading.tokens import Clause, Token, features
from wellkept.core.reading.vetoes import foreign_names, foreign_values, is_strong, vetoes
from wellkept.core.text.forms import canonical
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Difference, DifferenceKind

_REPLACED: frozenset[DifferenceKind] = frozenset(
    ("number", "unit", "sign", "version", "identifier", "date", "time", "name", "value", "subject", "antonym")
)
MAX_DIFFERENCES = 12
_ORDER: tuple[DifferenceKind, ...] = (
    "polarity", "negation", "antonym", "number", "sign", "unit", "version", "date", "time", "order", "scope", "name",
    "value", "identifier", "condition", "subject", "detail", "event_time", "length", "meaning", "custom",
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


@remembered(16 * MIB)
def differences(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> tuple[Difference, ...]:
    """How the new text differs from the old one, decisive differences first.

    Args:
        old: The one text.
        new: The other.
        opposites: Words that exclude each other, beside those of the word lists.

    Example:
        >>> [(d.kind, d.decisive, d.sure) for d in differences("threshold 0.85", "threshold 0.95")]
        [('number', True, True)]
        >>> [(d.kind, d.decisive) for d in differences("Use X", "Never use X")]
        [('negation', True)]
        >>> differences("It starts at 5pm.", "It starts at 17:00")
        ()
    """
    if old == new or canonical(old) == canonical(new):
        return ()
    swapped = new < old
    first, second = (features(text, opposites) for text in ((new, old) if swapped else (old, new)))
    pair = align(first, second)
    found = _conflicts(pair)
    found += vetoes(pair, {difference.kind for difference in found})
    if swapped:
        found = [replace(difference, old=difference.new, new=difference.old) for difference in found]
        pair = mirrored(pair)
    found += _details(pair, {difference.kind for difference in found})
    unique = {(d.kind, d.old, d.new): d for d in sorted(found, key=lambda d: d.decisive)}
    ordered = sorted(unique.values(), key=lambda d: (not d.decisive, _RANK[d.kind], d.old, d.new))
    return tuple(ordered[:MAX_DIFFERENCES])


# --------------------------------------------------------------------------------------------
# Conflicts: one aligned statement, one change


def _conflicts(pair: Pair) -> list[Difference]:
    found: list[Difference] = []
    changed = [item for item in pair.frames if item.slots or item.only_a or item.only_b or item.moved]
    # Where both texts also say things the other does not, they may speak about different things.
    same_topic = not (pair.rest_a and pair.rest_b) and not _strangers(pair) and answers(pair.a) == answers(pair.b)
    for item in pair.frames:
        alone = same_topic and (not changed or changed == [item])
        is_denied = denied(item)
        flips = [slot for slot in item.slots if opposed(slot, pair.a.language)]
        if is_denied and len(flips) == 1 and len(item.slots) == 1:
            continue  # "is not allowed" and "is forbidden": the two reversals cancel each other
        conditioned = _condition_classes(item.a) != _condition_classes(item.b)
        if is_denied or (item.a.negations and item.b.negations):
            found += denial(item, pair.a.language, sure_topic=alone and not conditioned)
        clear = (
            alone and not is_denied and not conditioned and _single(item) and not (item.a.additive or item.b.additive)
        )
        # What a thing is not leaves open what it is: "not on Windows" and "not on Python 3.8" both hold.
        clear = clear and not denied_slot(item)
        if item.ratio >= 0.5:
            for slot in item.slots[:6]:
                judged = judge_slot(item, slot, pair.a.language, clear=clear)
                if judged is not None:
                    found.append(replace(judged, old=span(slot.a), new=span(slot.b)))
        found += swapped_roles(item)
    return found


def _single(item: Frame) -> bool:
    return len(item.slots) == 1 and not item.moved and not item.only_a and not item.only_b


def _strangers(pair: Pair) -> bool:
    """Different names or identifiers stand in clauses that were not aligned with each other."""
    if len(pair.frames) <= 1 and not pair.rest_a and not pair.rest_b:
        return False
    replaced = sum(
        1 for item in pair.frames for slot in item.slots if _names_something(slot.a) and _names_something(slot.b)
    )
    return replaced > 1


def _names_something(tokens: Sequence[Token]) -> bool:
    return any(token.proper or (token.value is not None and token.value.kind == "identifier") for token in tokens)


def _condition_classes(clause: Clause) -> frozenset[str]:
    return frozenset(group for group, _, _ in clause.conditions)


# --------------------------------------------------------------------------------------------
# Details: what only the new text says


def _details(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """What the new text (b) brings that the old one lacks; what it leaves out is no difference."""
    fresh = [token for token in foreign_values(pair.b, pair.a) if is_strong(token)] + foreign_names(pair.b, pair.a)
    if fresh and not known & _REPLACED:
        return [Difference("detail", "", span(fresh[:4]))]
    if known:
        return []
    light = pair.b.language.light
    for item in pair.frames:
        added = [
            t
            for t in item.only_b
            if t.key not in light and t.lower not in light and not t.char and t.key not in pair.a.keys
        ]
        if added and not item.slots and not item.only_a and not item.moved and item.ratio >= 0.5:
            return [Difference("detail", "", span(added[:6]))]
    if pair.frames and not pair.rest_a and all(item.ratio >= 0.6 for item in pair.frames):
        for clause in pair.rest_b:
            words = [clause.tokens[p] for p in clause.content if clause.tokens[p].key not in pair.a.keys]
            if len(words) >= 2:
                denial = [Difference("negation", "", cue_span(clause))] if len(clause.negations) % 2 else []
                return [Difference("detail", "", span(words[:6])), *denial]
    return []
