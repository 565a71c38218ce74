"""Differences of two texts, found by rules that are precise and not complete.

A *veto* forbids to call two texts the same: numbers, names, negations or conditions do not agree. A *conflict*
(`decisive`) needs more: the statements are aligned, and exactly one exclusive thing in them was replaced or negated, so
both cannot hold. Everything else is left to the models.

The rules read the two texts in one fixed order and mirror their findings, so that swapped texts give the mirrored
result. Only `detail` has a direction: what the new text adds.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from wellkept.core.differences.alignment import SPAN, Frame, Pair, align, cue_span, mirrored, span
from wellkept.core.differences.antonyms import antonym_veto, opposed
from wellkept.core.differences.conditions import condition_classes, condition_veto
from wellkept.core.differences.modality import changed_meaning, changed_question
from wellkept.core.differences.names import added_names, name_veto
from wellkept.core.differences.negation import answers, denial, denied, denied_slot, negation_veto
from wellkept.core.differences.order import order_veto, scope_veto
from wellkept.core.differences.replacements import replaced_thing
from wellkept.core.differences.roles import changed_preposition, role_veto, swapped_parts, swapped_words
from wellkept.core.differences.tense import one_verb_veto, tense_veto
from wellkept.core.differences.values import added_values, changed_lengths, is_strong, value_veto
from wellkept.core.lexicon.english import same_by_another_name
from wellkept.core.reading.events import courses
from wellkept.core.reading.features import features
from wellkept.core.reading.tokens import Clause, Token
from wellkept.core.reading.values import same_value
from wellkept.core.text.forms import canonical, excerpt
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
_CLOSE = 0.5
"""Share of aligned words from which two clauses are about the same thing."""


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
    if old == new or canonical(old) == canonical(new):
        return ()
    swapped = new < old
    first, second = (features(text, opposites) for text in ((new, old) if swapped else (old, new)))
    pair = align(first, second)
    found = _conflicts(pair)
    found += _vetoes(pair, {difference.kind for difference in found})
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
    """Differences of aligned clauses; decisive where one change in one clause is all that differs."""
    found: list[Difference] = []
    changed = [item for item in pair.frames if item.slots or item.only_a or item.only_b or item.moved]
    # If each text also says what the other does not, the texts may be about different things.
    same_topic = (
        not (pair.rest_a and pair.rest_b) and not _several_names_replaced(pair) and answers(pair.a) == answers(pair.b)
    )
    for item in pair.frames:
        alone = same_topic and (not changed or changed == [item])
        is_denied = denied(item)
        flips = [slot for slot in item.slots if opposed(slot, pair.a.language)]
        if is_denied and len(flips) == 1 and len(item.slots) == 1:
            continue  # "is not allowed" and "is forbidden": negation and antonym cancel each other
        conditioned = condition_classes(item.a) != condition_classes(item.b)
        if is_denied or (item.a.negations and item.b.negations):
            found += denial(item, pair.a.language, sure_topic=alone and not conditioned)
        # "Not on Windows" and "not on Python 3.8" both hold, so a negated slot is not clear.
        clear = alone and not is_denied and not conditioned and _one_slot(item) and not denied_slot(item)
        clear = clear and not (item.a.additive or item.b.additive)
        if item.ratio >= _CLOSE:
            for slot in item.slots[:6]:
                judged = replaced_thing(item, slot, pair.a.language, clear=clear)
                if judged is not None:
                    found.append(replace(judged, old=span(slot.a), new=span(slot.b)))
        found += swapped_words(item)
    return found


def _one_slot(item: Frame) -> bool:
    return len(item.slots) == 1 and not item.moved and not item.only_a and not item.only_b


def _several_names_replaced(pair: Pair) -> bool:
    """Whether more than one name or identifier was replaced, in texts of several clauses."""
    if len(pair.frames) <= 1 and not pair.rest_a and not pair.rest_b:
        return False
    replaced = sum(1 for item in pair.frames for slot in item.slots if _has_name(slot.a) and _has_name(slot.b))
    return replaced > 1


def _has_name(tokens: Sequence[Token]) -> bool:
    return any(token.proper or (token.value is not None and token.value.kind == "identifier") for token in tokens)


# --------------------------------------------------------------------------------------------
# Vetoes: what does not agree, anywhere in the texts


def _vetoes(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """Differences that forbid to call two texts the same and are no conflict."""
    found = value_veto(pair, known) + name_veto(pair, known)
    if not {"name", "time"} & {*known, *(item.kind for item in found)}:
        # Also beside soft differences, because the model may overrule those.
        found += role_veto(pair) or _event_vetoes(pair) or one_verb_veto(pair)
    if "condition" not in known:
        found += condition_veto(pair)
    if "antonym" not in known:
        found += antonym_veto(pair)
    if "negation" not in known:
        found += negation_veto(pair)
    if not found and not known and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        found += _gap_veto(pair.a.clauses[0], pair.b.clauses[0], pair.a.language.universal)
    if not found and not known and (words := _changed_function_words(pair)):
        found.append(Difference("value", excerpt(words[0], SPAN), excerpt(words[1], SPAN)))
    return found


def _event_vetoes(pair: Pair) -> list[Difference]:
    a, b = courses(pair.a.text, pair.b.text)
    return [*order_veto(a, b), *tense_veto(pair, a, b), *scope_veto(a, b)]


def _gap_veto(a: Clause, b: Clause, universal: frozenset[str]) -> list[Difference]:
    """Clauses with too few content words to align that are equal but for one gap."""
    left, right = [t.lower for t in a.tokens], [t.lower for t in b.tokens]
    shorter = min(len(left), len(right))
    start = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    tail = next((n for n in range(shorter - start) if left[-1 - n] != right[-1 - n]), shorter - start)
    gap_a, gap_b = a.tokens[start : len(left) - tail], b.tokens[start : len(right) - tail]
    if len(gap_a) == len(gap_b) == 1 and _same_thing(gap_a[0], gap_b[0]):
        return []
    if not gap_a or not gap_b or start + tail < 3 or (start + tail) * 2 < shorter:
        return []
    one_is_universal = bool(universal & {t.lower for t in gap_a}) != bool(universal & {t.lower for t in gap_b})
    keys_a, keys_b = {t.key[:3] for t in gap_a if t.content}, {t.key[:3] for t in gap_b if t.content}
    other_words = 0 < len(keys_a) <= 2 and 0 < len(keys_b) <= 2 and not keys_a & keys_b
    if not other_words and not (one_is_universal and keys_a == keys_b):
        return []
    return [Difference("value", span(gap_a), span(gap_b))]


def _same_thing(a: Token, b: Token) -> bool:
    """The same value, or an English word of the same meaning."""
    if a.value or b.value:
        return a.value is not None and b.value is not None and same_value(a.value, b.value)
    return not (a.proper or b.proper) and same_by_another_name(a.lower, b.lower)


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
        if item.ratio >= _CLOSE or item.moved:
            yield item.a, item.b
    if not pair.frames and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        yield pair.a.clauses[0], pair.b.clauses[0]


# --------------------------------------------------------------------------------------------
# Details: what only the new text says


def _details(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """What only the new text (b) says; what it leaves out is no difference."""
    added = [token for token in added_values(pair.b, pair.a) if is_strong(token)] + added_names(pair.b, pair.a)
    if added and not known & _REPLACED:
        return [Difference("detail", "", span(added[:4]))]
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
                negation = [Difference("negation", "", cue_span(clause))] if len(clause.negations) % 2 else []
                return [Difference("detail", "", span(words[:6])), *negation]
    return []
