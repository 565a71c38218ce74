"""In what two texts differ, by rules that speak only where they are sure (I2, B-3, B-14).

Two degrees. A *veto*: numbers, names, negations or conditions do not agree, so the texts are never the
same. A *conflict* (`decisive`): the statements are aligned and exactly one exclusive thing in them was
replaced or denied, so both cannot hold. Everything else is left to the models.

The rules see the two texts in one fixed order and mirror their findings afterwards, so that swapping
the texts mirrors the answer. Only `detail` has a direction: what the new text adds.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from wellkept.core.frames import Frame, Slot, frame, pair_clauses
from wellkept.core.lexicon import Language
from wellkept.core.slots import judge_slot, opposed
from wellkept.core.text import canonical, excerpt
from wellkept.core.tokens import Clause, Features, Token, features
from wellkept.core.values import Value, same_value
from wellkept.types import Difference, DifferenceKind

MAX_DIFFERENCES = 12
_SPAN = 80
_ORDER: tuple[DifferenceKind, ...] = (
    "polarity", "negation", "antonym", "number", "sign", "unit", "version", "date", "time", "name", "value",
    "identifier", "condition", "subject", "detail", "event_time", "length", "custom",
)  # fmt: skip
_RANK = {kind: rank for rank, kind in enumerate(_ORDER)}


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two texts aligned: the frames and what found no counterpart."""

    a: Features
    b: Features
    frames: tuple[Frame, ...]
    rest_a: tuple[Clause, ...]
    rest_b: tuple[Clause, ...]


def differences(old: str, new: str) -> tuple[Difference, ...]:
    """How the new text differs from the old one, decisive differences first.

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
    pair = _align(features(new), features(old)) if swapped else _align(features(old), features(new))
    found = _conflicts(pair)
    found += _vetoes(pair, {difference.kind for difference in found})
    if swapped:
        found = [replace(difference, old=difference.new, new=difference.old) for difference in found]
        pair = _Pair(pair.b, pair.a, tuple(map(_mirror, pair.frames)), pair.rest_b, pair.rest_a)
    found += _details(pair, {difference.kind for difference in found})
    unique = {(d.kind, d.old, d.new): d for d in sorted(found, key=lambda d: d.decisive)}
    ordered = sorted(unique.values(), key=lambda d: (not d.decisive, _RANK[d.kind], d.old, d.new))
    return tuple(ordered[:MAX_DIFFERENCES])


def _mirror(item: Frame) -> Frame:
    slots = tuple(Slot(slot.b, slot.a, slot.b_at, slot.a_at) for slot in item.slots)
    return Frame(item.b, item.a, item.matched, item.ratio, slots, item.only_b, item.only_a, item.moved)


def _align(a: Features, b: Features) -> _Pair:
    pairs, rest_a, rest_b = pair_clauses(a, b)
    frames = tuple(frame(x, y, a.language) for x, y in pairs)
    return _Pair(a, b, frames, tuple(c for c in rest_a if c.keys), tuple(c for c in rest_b if c.keys))


def span(tokens: Iterable[Token]) -> str:
    """The words of a finding as the reader sees them."""
    listed = list(tokens)
    glue = "" if listed and all(token.char for token in listed) else " "
    return excerpt(glue.join(token.text for token in listed), _SPAN)


# --------------------------------------------------------------------------------------------
# Conflicts: one aligned statement, one change


def _conflicts(pair: _Pair) -> list[Difference]:
    found: list[Difference] = []
    changed = [item for item in pair.frames if item.slots or item.only_a or item.only_b or item.moved]
    # Where both texts also say things the other does not, they may speak about different things.
    same_topic = not (pair.rest_a and pair.rest_b) and not _strangers(pair)
    for item in pair.frames:
        alone = same_topic and (not changed or changed == [item])
        denied = _parity(item.a, pair.a.language) != _parity(item.b, pair.b.language)
        flips = [slot for slot in item.slots if opposed(slot, pair.a.language)]
        if denied and len(flips) == 1 and len(item.slots) == 1:
            continue  # "is not allowed" and "is forbidden": the two reversals cancel each other
        conditioned = _condition_classes(item.a) != _condition_classes(item.b)
        if denied or (item.a.negations and item.b.negations):
            found += _negation(pair, item, denied=denied, sure_topic=alone and not conditioned)
        clear = alone and not denied and not conditioned and _single(item) and not (item.a.additive or item.b.additive)
        if item.ratio >= 0.5:
            for slot in item.slots[:6]:
                judged = judge_slot(item, slot, pair.a.language, clear=clear)
                if judged is not None:
                    found.append(replace(judged, old=span(slot.a), new=span(slot.b)))
        found += _swapped_roles(item)
    return found


def _single(item: Frame) -> bool:
    return len(item.slots) == 1 and not item.moved and not item.only_a and not item.only_b


def _strangers(pair: _Pair) -> bool:
    """Different names or identifiers stand in clauses that were not aligned with each other."""
    if len(pair.frames) <= 1 and not pair.rest_a and not pair.rest_b:
        return False
    replaced = sum(1 for item in pair.frames for slot in item.slots if _names_something(slot.a) and _names_something(slot.b))
    return replaced > 1


def _names_something(tokens: Sequence[Token]) -> bool:
    return any(token.proper or (token.value is not None and token.value.kind == "identifier") for token in tokens)


def _parity(clause: Clause, language: Language) -> int:
    return len(clause.negations) % 2


def _condition_classes(clause: Clause) -> frozenset[str]:
    return frozenset(group for group, _, _ in clause.conditions)


def _negation(pair: _Pair, item: Frame, *, denied: bool, sure_topic: bool) -> list[Difference]:
    """The same proposition affirmed and denied (S2-22, S1-25, B-14)."""
    a, b = item.a, item.b
    if not denied:
        return _moved_negation(item)
    only_values = all(t.value for slot in item.slots for t in (*slot.a, *slot.b))
    denying, affirming = (item.only_a, item.only_b) if len(a.negations) % 2 else (item.only_b, item.only_a)
    narrowed = [token for token in denying if token.key not in pair.a.language.light]
    covered = len(item.matched) >= max(1, 0.75 * min(len(a.keys), len(b.keys)))
    clean = only_values and not narrowed and len(affirming) <= 2 and not item.moved
    if item.slots and only_values:
        covered = item.ratio >= 0.5
    decisive = sure_topic and clean and covered
    return [Difference("negation", _cue_span(a), _cue_span(b), decisive=decisive)]


def _moved_negation(item: Frame) -> list[Difference]:
    """Both deny something, but not the same: "tabs, not spaces" and "spaces, not tabs"."""
    a, b = item.a, item.b
    if sorted(a.keys) != sorted(b.keys) or len(a.negations) != len(b.negations):
        return []
    heads_a = {a.keys[at] for at, _ in a.negations if at < len(a.keys)}
    heads_b = {b.keys[at] for at, _ in b.negations if at < len(b.keys)}
    if not heads_a or not heads_b or heads_a & heads_b or a.keys == b.keys:
        return []
    return [Difference("negation", _cue_span(a), _cue_span(b), decisive=True)]


def _cue_span(clause: Clause) -> str:
    parts = []
    for at, cue in clause.negations:
        head = clause.tokens[clause.content[at]].text if at < len(clause.content) else ""
        parts.append(f"{cue} {head}".strip())
    if parts:
        return excerpt(", ".join(parts), _SPAN)
    return span(clause.tokens[place] for place in clause.content[:4])


def _swapped_roles(item: Frame) -> list[Difference]:
    """ "from A to B" and "from B to A": the same words, two of them in each other's place."""
    a, b = item.a, item.b
    if not item.moved or item.slots or len(a.keys) != len(b.keys) or sorted(a.keys) != sorted(b.keys):
        return []
    apart = [n for n, (x, y) in enumerate(zip(a.keys, b.keys, strict=True)) if x != y]
    general_a = [token.lower for token in a.tokens if not token.content]
    general_b = [token.lower for token in b.tokens if not token.content]
    if len(apart) != 2 or general_a != general_b or not general_a:
        return []
    return [Difference("value", span(a.tokens[a.content[n]] for n in apart), span(b.tokens[b.content[n]] for n in apart))]


# --------------------------------------------------------------------------------------------
# Vetoes: something does not agree, wherever it stands


def _vetoes(pair: _Pair, known: set[DifferenceKind]) -> list[Difference]:
    found = _value_vetoes(pair, known)
    names_a, names_b = _foreign_names(pair.a, pair.b), _foreign_names(pair.b, pair.a)
    if names_a and names_b and not known & {"name", "subject", "value", "antonym"}:
        found.append(Difference("name", span(names_a[:4]), span(names_b[:4])))
    if "condition" not in known:
        found += _condition_veto(pair)
    if "antonym" not in known:
        found += _antonym_veto(pair)
    if "negation" not in known:
        found += _negation_veto(pair)
    if not found and not known and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        found += _one_gap(pair.a.clauses[0], pair.b.clauses[0])
    return found


_UNIVERSAL = frozenset("all every each both same".split())


def _one_gap(a: Clause, b: Clause) -> list[Difference]:
    """The same small words around one other piece: too little content to align, yet not the same."""
    left, right = [t.lower for t in a.tokens], [t.lower for t in b.tokens]
    shorter = min(len(left), len(right))
    start = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    tail = next((n for n in range(shorter - start) if left[-1 - n] != right[-1 - n]), shorter - start)
    gap_a, gap_b = a.tokens[start : len(left) - tail], b.tokens[start : len(right) - tail]
    if not gap_a or not gap_b or start + tail < 3 or (start + tail) * 2 < shorter:
        return []
    universal = bool(_UNIVERSAL & {t.lower for t in gap_a}) != bool(_UNIVERSAL & {t.lower for t in gap_b})
    told_a, told_b = {t.key[:3] for t in gap_a if t.content}, {t.key[:3] for t in gap_b if t.content}
    other_words = 0 < len(told_a) <= 2 and 0 < len(told_b) <= 2 and not told_a & told_b
    if not other_words and not (universal and told_a == told_b):
        return []
    return [Difference("value", span(gap_a), span(gap_b))]


def _value_vetoes(pair: _Pair, known: set[DifferenceKind]) -> list[Difference]:
    only_a, only_b = _foreign_values(pair.a, pair.b), _foreign_values(pair.b, pair.a)
    found: list[Difference] = []
    for group in (("number", "ordinal", "version"), ("identifier",), ("date",), ("time",)):
        left = [t for t in only_a if t.value and t.value.kind in group]
        right = [t for t in only_b if t.value and t.value.kind in group]
        if not left or not right or not (any(map(_strong, left)) or any(map(_strong, right))):
            both_ranks = left and right and group[0] == "number" and _ranks(left) and _ranks(right)
            if not both_ranks:
                continue
        kind = _group_kind(left, right, group)
        if kind not in known and not (kind == "number" and known & {"unit", "sign", "version"}):
            found.append(Difference(kind, span(left[:4]), span(right[:4])))
    return found


def _ranks(tokens: Sequence[Token]) -> bool:
    return any(token.value is not None and token.value.kind == "ordinal" for token in tokens)


def _strong(token: Token) -> bool:
    return token.value is not None and token.value.strong


def _group_kind(left: Sequence[Token], right: Sequence[Token], group: tuple[str, ...]) -> DifferenceKind:
    if group[0] != "number":
        return {"identifier": "identifier", "date": "date", "time": "time"}[group[0]]  # type: ignore[return-value]
    kinds = {t.value.kind for t in (*left, *right) if t.value}
    if kinds == {"version"}:
        return "version"
    if len(left) == len(right) == 1 and left[0].value and right[0].value:
        return number_kind(left[0].value, right[0].value)
    return "number"


def number_kind(a: Value, b: Value) -> DifferenceKind:
    """How two numbers differ: in sign, in unit only, or in amount."""
    if a.amount and a.amount == -b.amount and a.dimension == b.dimension:
        return "sign"
    if a.written == b.written and a.key != b.key and (a.dimension or b.dimension):
        return "unit"
    return "number"


def _foreign_values(own: Features, other: Features) -> list[Token]:
    """Values of a text that the other does not hold; each occurrence counts once."""
    left = [token.value for token in other.values if token.value]
    keys = {value.key for value in left}
    found = []
    for token in own.values[:200]:
        value = token.value
        if value is None or value.key in keys:
            continue
        if value.kind in ("date", "number", "version") and any(same_value(value, known) for known in left[:200]):
            continue
        if value.kind == "identifier" and _spelled_out(value.key[2:], other):
            continue
        found.append(token)
    return found


def _spelled_out(identifier: str, other: Features) -> bool:
    """`#441` and 441, `payments.service` and "payments service"."""
    bare = identifier.lstrip("#@-")
    if any(token.value and token.value.key in (f"n::{bare}", f"i:{bare}", f"i:#{bare}") for token in other.values[:200]):
        return True
    for sign in "._-/":
        bare = bare.replace(sign, " ")
    parts = bare.split()
    return bool(parts) and all(part in other.lowers for part in parts)


def _foreign_names(own: Features, other: Features) -> list[Token]:
    """Names of a text that the other does not hold in any form (short, spelled out, acronym)."""
    if "de" in (own.language.code, other.language.code) or (own.names and not other.clauses):
        return []
    return [token for token in own.names[:100] if not _name_known(token, other)]


def _name_known(token: Token, other: Features) -> bool:
    lower = token.lower
    if lower in other.lowers or token.key in other.keys:
        return True
    if token.text.isupper() and 2 <= len(lower) <= 6 and lower in other.initials:
        return True
    if len(lower) >= 3:
        return any(known.startswith(lower) or (len(known) >= 3 and lower.startswith(known)) for known in other.lowers)
    return False


def _condition_veto(pair: _Pair) -> list[Difference]:
    """Unless, except, only if, until … in one text only (F-8, S0-50)."""
    cues_a, cues_b = _loose_conditions(pair.a, pair.b), _loose_conditions(pair.b, pair.a)
    if not cues_a and not cues_b:
        return []
    return [Difference("condition", excerpt(", ".join(cues_a), _SPAN), excerpt(", ".join(cues_b), _SPAN))]


def _loose_conditions(own: Features, other: Features) -> list[str]:
    classes = {group for clause in other.clauses for group, _, _ in clause.conditions}
    found = []
    for clause in own.clauses:
        for group, at, cue in clause.conditions:
            if group in classes:
                continue
            scope = clause.keys[at : at + 6]
            if group == "exception" or any(key not in other.keys for key in scope):
                words = " ".join(clause.tokens[place].text for place in clause.content[at : at + 4])
                found.append(f"{cue} {words}".strip())
    return found[:4]


def _antonym_veto(pair: _Pair) -> list[Difference]:
    """A word in one text, its opposite in the other, and much else in common."""
    a, b = pair.a, pair.b
    shared = len(a.keys & b.keys)
    if shared < 0.4 * max(1, min(len(a.keys), len(b.keys))):
        return []
    tables = {a.language.code: a.language.antonyms, b.language.code: b.language.antonyms}
    only_b = b.lowers - a.lowers
    denied = sum(len(c.negations) for c in a.clauses) % 2 != sum(len(c.negations) for c in b.clauses) % 2
    for token in (token for clause in a.clauses for token in clause.tokens):
        if token.lower in b.lowers or token.value is not None:
            continue
        for table in tables.values():
            for opposite, _ in table.get(token.lower, ()):
                if opposite in only_b and not denied:
                    return [Difference("antonym", token.text, opposite)]
    return []


def _negation_veto(pair: _Pair) -> list[Difference]:
    """Parity of the denials of both texts, where they could not be laid side by side (B-14)."""
    if not pair.a.keys & pair.b.keys:
        return []
    count_a, count_b = _denials(pair.a, pair.rest_a, pair.rest_b), _denials(pair.b, pair.rest_b, pair.rest_a)
    if count_a % 2 == count_b % 2:
        return []
    cancelled = any(opposed(slot, pair.a.language) for item in pair.frames for slot in item.slots)
    if cancelled:
        return []
    return [Difference("negation", _first_cue(pair.a), _first_cue(pair.b))]


def _denials(own: Features, rest: Sequence[Clause], other_rest: Sequence[Clause]) -> int:
    """Cues and words that deny; clauses only this text has do not count when all else is covered."""
    skipped = {id(clause) for clause in rest} if not other_rest else set()
    clauses = [clause for clause in own.clauses if id(clause) not in skipped]
    cues = sum(len(clause.negations) for clause in clauses)
    words = sum(token.lower in own.language.negative for clause in clauses for token in clause.tokens)
    return cues + words


def _first_cue(own: Features) -> str:
    for clause in own.clauses:
        if clause.negations:
            return _cue_span(clause)
    return ""


# --------------------------------------------------------------------------------------------
# Details: what only the new text says


def _details(pair: _Pair, known: set[DifferenceKind]) -> list[Difference]:
    """What the new text (b) brings that the old one lacks; what it leaves out is no difference."""
    fresh = [token for token in _foreign_values(pair.b, pair.a) if _strong(token)] + _foreign_names(pair.b, pair.a)
    if fresh and not known & {"number", "unit", "sign", "version", "identifier", "date", "time", "name", "value", "subject"}:
        return [Difference("detail", "", span(fresh[:4]))]
    if known:
        return []
    light = pair.b.language.light
    for item in pair.frames:
        added = [t for t in item.only_b if t.key not in light and t.lower not in light and not t.char and t.key not in pair.a.keys]
        if added and not item.slots and not item.only_a and not item.moved and item.ratio >= 0.5:
            return [Difference("detail", "", span(added[:6]))]
    if pair.frames and not pair.rest_a and all(item.ratio >= 0.6 for item in pair.frames):
        for clause in pair.rest_b:
            words = [clause.tokens[p] for p in clause.content if clause.tokens[p].key not in pair.a.keys]
            if len(words) >= 2:
                denial = [Difference("negation", "", _cue_span(clause))] if len(clause.negations) % 2 else []
                return [Difference("detail", "", span(words[:6])), *denial]
    return []

