"""Differences of values: numbers, units, signs, versions, dates, times and identifiers.

A value in the place of another in an aligned statement may be a conflict. Elsewhere, a value that only one text has is
a veto.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.differences.alignment import Frame, Pair, Slot, span
from wellkept.core.differences.function_words import meanings
from wellkept.core.differences.statement_parts import (
    anchored,
    comes_first,
    link_of,
    opens_clause,
    stands_alone,
)
from wellkept.core.differences.tense_and_modality import is_past_event, says_was
from wellkept.core.lexicon import Language, lexicon
from wellkept.core.reading.tokens import Features, Token
from wellkept.core.reading.values import Value, ValueKind, bare_identifier, same_value
from wellkept.core.text.forms import canonical
from wellkept.types import Difference, DifferenceKind

_YEARS = range(1900, 2100)
_FEET_OR_INCHES = re.compile(r"\d+'{1,2}(?![^\W_])")
_STROKE = re.compile("\\d[\"'\u2018\u2019\u201d\u2032\u2033]")
_GROUPS: tuple[tuple[DifferenceKind, tuple[ValueKind, ...]], ...] = (
    ("number", ("number", "ordinal", "version")),
    ("identifier", ("identifier",)),
    ("date", ("date",)),
    ("time", ("time",)),
)
"""Kinds of values that are compared with each other, by the kind of the difference."""
_CONVERSIONS = (7, 12, 24, 52, 60, 100, 365, 1000)
"""How many of one unit another unit has: days, months, hours, weeks, minutes, cents, metres."""
_SMALL = 2
"""Up to this a bare number is often no count."""
_DAYS = 40
"""Most dates of a text that are compared with a day that may be one of them."""
_READ = 200
"""Most values of a text that are compared."""


# --------------------------------------------------------------------------------------------
# Values in one text only


def value_veto(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """Each text has values of one sort that the other has not."""
    only_a, only_b = unmatched_values(pair.a, pair.b)
    found: list[Difference] = []
    for kind, group in _GROUPS:
        left = [t for t in only_a if t.value and _is_among(t.value, group)]
        right = [t for t in only_b if t.value and _is_among(t.value, group)]
        if not left or not right or not any(t.value and t.value.kind in group for t in (*left, *right)):
            continue
        if not any(map(is_strong, (*left, *right))) and not (_has_ordinal(left) and _has_ordinal(right)):
            continue
        if kind == "number":
            kind = _kind_of_numbers(left, right)
        if kind not in known and not (kind == "number" and known & {"unit", "sign", "version"}):
            found.append(Difference(kind, span(left[:4]), span(right[:4])))
    return found


def another_number(pair: Pair) -> ValueKind | None:
    """Which sort of number differs: the only one of each text, which counts the same; None if there is no such.

    Each text has one number or one ordinal of one dimension, and not different words behind it. Twelve or a hundred
    times as much may be the same in another unit. Small bare numbers may count different things ("twice", "one wheel").
    """
    ours, theirs = _only_number(pair.a), _only_number(pair.b)
    if ours is None or theirs is None:
        return None
    (a, counted_a), (b, counted_b) = ours, theirs
    if a.kind != b.kind or a.dimension != b.dimension or a.amount == b.amount:
        return None
    if not a.dimension and counted_a and counted_b and counted_a != counted_b:
        return None
    if a.kind == "ordinal":
        return "ordinal" if counted_a and counted_b else None
    least, most = sorted((abs(a.amount), abs(b.amount)))
    counts = bool(a.dimension) or least > _SMALL
    return "number" if counts and most not in (least * times for times in _CONVERSIONS) else None


def _only_number(own: Features) -> tuple[Value, str] | None:
    """The number of a text that has no other, and the content word behind it; "" if there is none."""
    tokens = [token for clause in own.clauses for token in clause.tokens]
    found = [at for at, token in enumerate(tokens) if token.value and token.value.kind in ("number", "ordinal")]
    value = tokens[found[0]].value if len(found) == 1 else None
    if value is None:
        return None
    behind = tokens[found[0] + 1 : found[0] + 2]
    return value, "".join(token.key for token in behind if token.content)


def _is_among(value: Value, group: Sequence[ValueKind]) -> bool:
    """Whether a value is of one of these kinds; the 2 of "2 to 6 April" is a date too."""
    days = [meaning for meaning in value.also if meaning.kind == "date"] if "date" in group else []
    return value.kind in group or (len(days) == 1 and days[0].parts[1] is not None)


def _has_ordinal(tokens: Sequence[Token]) -> bool:
    return any(token.value is not None and token.value.kind == "ordinal" for token in tokens)


def is_strong(token: Token) -> bool:
    """Whether the value of a token distinguishes two texts by itself."""
    return token.value is not None and token.value.strong


def _kind_of_numbers(left: Sequence[Token], right: Sequence[Token]) -> DifferenceKind:
    kinds = {t.value.kind for t in (*left, *right) if t.value}
    if kinds == {"version"}:
        return "version"
    if len(left) == len(right) == 1 and left[0].value and right[0].value:
        return _number_kind(left[0].value, right[0].value)
    return "number"


def _number_kind(a: Value, b: Value) -> DifferenceKind:
    """How two numbers differ: in sign, in unit only, or in amount."""
    if a.amount and a.amount == -b.amount and a.dimension == b.dimension:
        return "sign"
    if a.written == b.written and a.key != b.key and (a.dimension or b.dimension):
        return "unit"
    return "number"


def unmatched_values(a: Features, b: Features) -> tuple[list[Token], list[Token]]:
    """The values of each text that the other text has not, in no form and with no other meaning."""
    only_a, only_b = _added_values(a, b), _added_values(b, a)
    if not only_a and not only_b:
        return only_a, only_b
    return _unexplained(only_a, only_b, b), _unexplained(only_b, only_a, a)


def _unexplained(own: Sequence[Token], others: Sequence[Token], other: Features) -> list[Token]:
    """Values that mean none of the values that only the other text has.

    Of two values only one may be taken in another way.
    """
    told = [token.value for token in others if token.value]
    keys = {bare_identifier(value.key) for value in told}
    meanings = [*other.meant, *(meaning for value in told for meaning in value.also)]
    also = {bare_identifier(meaning.key) for meaning in meanings}
    days = [value for value in told if value.kind == "date"][:_DAYS]
    may_be_days = [meaning for meaning in meanings if meaning.kind == "date"][:_DAYS]
    found = []
    for token in own:
        value = token.value
        if (
            value is None
            or bare_identifier(value.key) in also
            or any(bare_identifier(m.key) in keys for m in value.also)
        ):
            continue
        if any(m.kind == "date" and any(same_value(m, day) for day in days) for m in value.also):
            continue
        if value.kind == "date" and any(same_value(value, day) for day in may_be_days):
            continue
        found.append(token)
    return found


def _added_values(own: Features, other: Features) -> list[Token]:
    """Values of a text that the other text has not in any form."""
    others = [token.value for token in other.values if token.value]
    keys = {value.key for value in others}
    identifiers = {bare_identifier(value.key) for value in others[:_READ] if value.kind == "identifier"}
    found = []
    for token in own.values[:_READ]:
        value = token.value
        if value is None or value.key in keys:
            continue
        if value.kind == "identifier":
            known = bare_identifier(value.key) in identifiers or _is_in_words(value.key[2:], other)
        else:
            known = value.kind != "ordinal" and any(same_value(value, one) for one in others[:_READ])
        if not known:
            found.append(token)
    return found


def _is_in_words(identifier: str, other: Features) -> bool:
    """Whether the other text has the identifier in plain form: 441 for `#441`, "payments service" with a point."""
    bare = identifier.lstrip("#@-")
    keys = {f"n::{bare}", f"i:{bare}", f"i:#{bare}"}
    if any(token.value and token.value.key in keys for token in other.values[:_READ]):
        return True
    for sign in "._-/":
        bare = bare.replace(sign, " ")
    parts = bare.split()
    return bool(parts) and all(part in other.lowers for part in parts)


# --------------------------------------------------------------------------------------------
# One value in the place of another


def replaced_value(
    item: Frame, slot: Slot, values: tuple[Value, Value], language: Language, *, clear: bool
) -> Difference:
    """One value in the place of another; `clear`: nothing else in the statement changed."""
    a, b = values
    kind = _value_kind(a, b)
    sure = clear and anchored(item, language, group=False) and not is_past_event(item, language)
    if _is_year(a) and _is_year(b):
        # What was true in one year may be true in another.
        decisive = sure and not comes_first(item, slot) and not says_was(item, language)
        return Difference("date" if a.kind == b.kind == "date" else "number", "", "", decisive=decisive)
    match kind:
        case "sign":
            return Difference("sign", "", "", decisive=sure)
        case "number" | "unit":
            quantity = a.strong or b.strong
            decisive = (
                sure
                and quantity
                and a.kind == b.kind == "number"
                and _comparable(a, b)
                and _same_bound(item, language)
                and not _numbered_subject(item, slot, a, language)
            )
        case "version":
            decisive = sure and not opens_clause(item, slot)
        case "date" | "time":
            decisive = sure and a.kind == b.kind and not comes_first(item, slot) and not _is_relative(a, b)
        case "identifier":
            link = link_of(item.a, slot.a_at, language, item, slot)
            if link == "purpose" and stands_alone(item, slot):
                return Difference("value", "", "", decisive=sure, sure=sure)
            return Difference(kind, "", "", decisive=sure and link in ("choose", "copula", "equals"))
        case _:
            decisive = False
    return Difference(kind, "", "", decisive=decisive, sure=decisive)


def _value_kind(a: Value, b: Value) -> DifferenceKind:
    kinds = {a.kind, b.kind}
    if kinds <= {"number", "ordinal"}:
        return _number_kind(a, b)
    if "version" in kinds and kinds <= {"version", "number"}:
        return "version"
    return a.kind if a.kind == b.kind and a.kind != "ordinal" else "value"


def _comparable(a: Value, b: Value) -> bool:
    """Whether both measure the same quantity; a size and a duration may both be limits of one thing."""
    if a.dimension == b.dimension or not a.dimension or not b.dimension:
        return True
    return any({a.dimension, b.dimension} <= family for family in lexicon().comparable)


def _same_bound(item: Frame, language: Language) -> bool:
    """Whether both amounts have the same bound; "more than one" and "seven" may both hold."""
    return meanings(item.a, language, "bound") == meanings(item.b, language, "bound")


def _is_year(value: Value) -> bool:
    """Whether a value is a year without month or day."""
    if value.kind == "date":
        return bool(value.parts) and value.parts[0] is not None and not any(value.parts[1:])
    return value.kind == "number" and not value.dimension and value.written == value.amount and value.written in _YEARS


def _is_relative(a: Value, b: Value) -> bool:
    """Whether one is relative to the day of writing, such as "today"; then both may hold."""
    return any(value.parts and value.parts[-1] is not None for value in (a, b))


def _numbered_subject(item: Frame, slot: Slot, value: Value, language: Language) -> bool:
    """ "Server 3 has …": a bare number between noun and verb identifies the subject and counts nothing."""
    if value.dimension or value.written != value.written.to_integral_value():
        return False
    for clause, at in ((item.a, slot.a_at), (item.b, slot.b_at)):
        before = clause.tokens[at - 1] if at else None
        after = clause.tokens[at + 1] if at + 1 < len(clause.tokens) else None
        if before is None:
            return True
        if before.content and after is not None and after.lower in language.copula | language.auxiliary:
            return True
    return False


# --------------------------------------------------------------------------------------------
# Lengths in feet and inches


def changed_lengths(pair: Pair) -> tuple[str, str] | None:
    """Lengths in feet or inches (5', 5'') that differ; the strokes are read from the text."""
    a, b = _lengths(pair.a), _lengths(pair.b)
    return (" ".join(a), " ".join(b)) if a and b and a != b else None


def _lengths(own: Features) -> list[str]:
    return sorted(_FEET_OR_INCHES.findall(canonical(own.text))) if _STROKE.search(own.text) else []
