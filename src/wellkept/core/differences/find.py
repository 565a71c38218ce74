"""Differences of two texts, found by rules that are precise and not complete.

A *veto* forbids to call two texts the same: numbers, names, negations or conditions do not agree. A *conflict*
(`decisive`) needs more: the statements are aligned, and exactly one exclusive thing in them was replaced or negated, so
both cannot hold. Everything else is left to the models.

Each sort of difference has its file, and this one asks them in turn: `negation`, `roles_and_order`, `crossed_pairs`,
`choices`, `values`, `conditions`, `tense_and_modality`, `names`, `antonyms`, `replacements` (other words), `details`
(added words). They share `alignment`, `function_words` and `statement_parts`.

The rules read the two texts in one fixed order and mirror their findings, so that swapped texts give the mirrored
result. Only `detail` has a direction: what the new text adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wellkept.core.differences.alignment import CLOSE, SPAN, Frame, Pair, align, mirrored, span
from wellkept.core.differences.antonyms import antonym_veto, opposed
from wellkept.core.differences.choices import exchanged_choice
from wellkept.core.differences.conditions import changes_condition, condition_order_veto, condition_veto
from wellkept.core.differences.content_words import may_exclude
from wellkept.core.differences.crossed_pairs import crossed_pairs
from wellkept.core.differences.details import detail
from wellkept.core.differences.names import name_veto, several_names_replaced
from wellkept.core.differences.negation import answer_alike, denial, denied, denied_slot, negation_veto
from wellkept.core.differences.replacements import gap_veto, replaced_thing
from wellkept.core.differences.roles_and_order import (
    changed_preposition,
    order_veto,
    role_veto,
    swapped_parts,
    swapped_words,
)
from wellkept.core.differences.tense_and_modality import (
    changed_meaning,
    changed_question,
    one_verb_veto,
    scope_veto,
    tense_veto,
)
from wellkept.core.differences.values import another_number, changed_lengths, value_veto
from wellkept.core.reading.events import MOST_READ, courses
from wellkept.core.reading.features import features
from wellkept.core.reading.tokens import Clause
from wellkept.core.reading.values import ValueKind
from wellkept.core.text.forms import excerpt
from wellkept.core.text.same_words import in_same_words
from wellkept.core.text.text_cache import MIB, remembered
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import Difference, DifferenceKind

MAX_DIFFERENCES = 12
_ORDER: tuple[DifferenceKind, ...] = (
    "polarity", "negation", "antonym", "number", "sign", "unit", "version", "date", "time", "order", "scope", "name",
    "value", "identifier", "condition", "subject", "detail", "event_time", "length", "meaning", "custom",
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


@remembered(16 * MIB)
def differences(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> tuple[Difference, ...]:
    """The differences of two texts, decisive ones first.

    Args:
        old: The older text.
        new: The newer text.
        opposites: Antonyms of the policy, in addition to those of the word lists.

    Returns:
        At most 12 differences; none for texts that are equal in canonical form.

    Example:
        >>> [(d.kind, d.decisive, d.sure) for d in differences("threshold 0.85", "threshold 0.95")]
        [('number', True, True)]
        >>> [(d.kind, d.decisive) for d in differences("Use X", "Never use X")]
        [('negation', True)]
        >>> differences("It starts at 5pm.", "It starts at 17:00")
        ()
    """
    if in_same_words(old, new):
        return ()
    pair = _aligned(old, new, opposites)
    found = _conflicts(pair)
    found += _vetoes(pair, {difference.kind for difference in found})
    if new < old:
        found = [replace(difference, old=difference.new, new=difference.old) for difference in found]
        pair = mirrored(pair)
    found += detail(pair, {difference.kind for difference in found})
    unique = {(d.kind, d.old, d.new): d for d in sorted(found, key=lambda d: d.decisive)}
    ordered = sorted(unique.values(), key=lambda d: (not d.decisive, _RANK[d.kind], d.old, d.new))
    return tuple(ordered[:MAX_DIFFERENCES])


def excludes(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether one of the differences of two texts is decisive, so that both cannot hold.

    It looks for conflicts alone: vetoes and added words are most of the work of `differences` and never decisive. Texts
    whose content words rule a decisive difference out are not aligned.

    Args:
        old: The older text.
        new: The newer text.
        opposites: Antonyms of the policy, in addition to those of the word lists.

    Example:
        >>> excludes("threshold 0.85", "threshold 0.95"), excludes("It runs", "It runs at night")
        (True, False)
    """
    if not may_exclude(old, new, opposites) or in_same_words(old, new):
        return False
    return any(difference.decisive for difference in _conflicts(_aligned(old, new, opposites)))


def chosen_otherwise(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether each of two texts chooses what the other passes over.

    Args:
        old: The older text.
        new: The newer text; of more than 1,000 characters in either, no choice is read.
        opposites: Antonyms of the policy, in addition to those of the word lists.

    Example:
        >>> chosen_otherwise("We chose tea over coffee", "Coffee rather than tea is our choice")
        True
    """
    return max(len(old), len(new)) <= MOST_READ and bool(exchanged_choice(_aligned(old, new, opposites)))


def counted_otherwise(old: str, new: str, opposites: Opposites = NO_OPPOSITES) -> ValueKind | None:
    """Which sort of number differs where two texts count the same with one number each; None if none does.

    Args:
        old: The older text.
        new: The newer text; of more than 1,000 characters in either, no number is compared.
        opposites: Antonyms of the policy, in addition to those of the word lists.

    Example:
        >>> counted_otherwise("Cleaning costs 95.", "For cleaning we pay 105 now.")
        'number'
        >>> counted_otherwise("1 kg", "1000 g") is None
        True
    """
    return another_number(_aligned(old, new, opposites)) if max(len(old), len(new)) <= MOST_READ else None


def _aligned(old: str, new: str, opposites: Opposites) -> Pair:
    """The two texts in their fixed order, aligned."""
    first, second = (features(text, opposites) for text in sorted((old, new)))
    return align(first, second)


# --------------------------------------------------------------------------------------------
# Conflicts: one aligned statement, one change


def _conflicts(pair: Pair) -> list[Difference]:
    """Differences of aligned clauses; decisive where one change in one clause is all that differs."""
    found: list[Difference] = []
    changed = [item for item in pair.frames if item.slots or item.only_a or item.only_b or item.moved]
    # If each text also says what the other does not, the texts may be about different things.
    same_topic = not (pair.rest_a and pair.rest_b) and not several_names_replaced(pair) and answer_alike(pair)
    for item in pair.frames:
        alone = same_topic and (not changed or changed == [item])
        is_denied = denied(item)
        flips = [slot for slot in item.slots if opposed(slot, pair.a.language)]
        if is_denied and len(flips) == 1 and len(item.slots) == 1:
            continue  # "is not allowed" and "is forbidden": negation and antonym cancel each other
        conditioned = changes_condition(item)
        if is_denied or (item.a.negations and item.b.negations):
            found += denial(item, pair.a.language, sure_topic=alone and not conditioned)
        # "Not on Windows" and "not on Python 3.8" both hold, so a negated slot is not clear.
        clear = alone and not is_denied and not conditioned and _one_slot(item) and not denied_slot(item)
        clear = clear and not (item.a.additive or item.b.additive)
        if item.ratio >= CLOSE:
            for slot in item.slots[:6]:
                judged = replaced_thing(item, slot, pair.a.language, clear=clear)
                if judged is not None:
                    found.append(replace(judged, old=span(slot.a), new=span(slot.b)))
        found += swapped_words(item)
    return found


def _one_slot(item: Frame) -> bool:
    return len(item.slots) == 1 and not item.moved and not item.only_a and not item.only_b


# --------------------------------------------------------------------------------------------
# Vetoes: what does not agree, anywhere in the texts


def _vetoes(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """Differences that forbid to call two texts the same and are no conflict."""
    found = value_veto(pair, known) + name_veto(pair, known)
    if not {"name", "time"} & {*known, *(item.kind for item in found)}:
        # In addition to soft differences, because the model may overrule those.
        found += role_veto(pair) or _event_vetoes(pair) or one_verb_veto(pair)
    found += (crossed_pairs(pair) or exchanged_choice(pair)) + condition_veto(pair)
    if "antonym" not in known:
        found += antonym_veto(pair)
    if "negation" not in known:
        found += negation_veto(pair)
    if not found and not known and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        found += gap_veto(pair.a.clauses[0], pair.b.clauses[0], pair.a.language.universal)
    if not found and not known and (words := _changed_function_words(pair)):
        found.append(Difference("value", excerpt(words[0], SPAN), excerpt(words[1], SPAN)))
    return found


def _event_vetoes(pair: Pair) -> list[Difference]:
    a, b = courses(pair.a.text, pair.b.text)
    return [*(order_veto(a, b) or condition_order_veto(a, b)), *tense_veto(pair, a, b), *scope_veto(a, b)]


def _changed_function_words(pair: Pair) -> tuple[str, str] | None:
    """The first function words or signs that differ in texts that otherwise agree."""
    found = changed_question(pair) or changed_lengths(pair)
    if found:
        return found
    for a, b in _close_clauses(pair):
        found = changed_meaning(a, b, pair) or changed_preposition(a, b, pair) or swapped_parts(a, b, pair)
        if found:
            return found
    return None


def _close_clauses(pair: Pair) -> Iterator[tuple[Clause, Clause]]:
    for item in pair.frames[:40]:
        if item.ratio >= CLOSE or item.moved:
            yield item.a, item.b
    if not pair.frames and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        yield pair.a.clauses[0], pair.b.clauses[0]
