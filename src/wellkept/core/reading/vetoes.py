"""What does not agree between two texts, wherever it stands: values, names, conditions, opposites, denials.

A veto never says which of the two is right, only that they are not the same.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from wellkept.core.lexicon.english import same_by_another_name
from wellkept.core.reading.alignment import SPAN, Pair, span
from wellkept.core.reading.negations import negation_veto
from wellkept.core.reading.order_differences import agreed_links, course_vetoes, is_past_of
from wellkept.core.reading.roles import roles_veto
from wellkept.core.reading.small_words import particle_vetoes
from wellkept.core.reading.tokens import Clause, Features, Token
from wellkept.core.reading.values import Value, bare_identifier, same_value
from wellkept.core.text.forms import excerpt
from wellkept.types import Difference, DifferenceKind


def vetoes(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """Differences that forbid to call two texts the same without making them a conflict."""
    found = _value_vetoes(pair, known)
    names_a, names_b = foreign_names(pair.a, pair.b), foreign_names(pair.b, pair.a)
    if names_a and names_b and not known & {"name", "subject", "value", "antonym"}:
        found.append(Difference("name", span(names_a[:4]), span(names_b[:4])))
    if not {"name", "time"} & {*known, *(item.kind for item in found)}:
        # Beside whatever else differs: a soft difference the model may overrule must not stand in for these.
        found += roles_veto(pair) or course_vetoes(pair) or _tense_veto(pair)
    if "condition" not in known:
        found += _condition_veto(pair)
    if "antonym" not in known:
        found += _antonym_veto(pair)
    if "negation" not in known:
        found += negation_veto(pair)
    if not found and not known and len(pair.a.clauses) == len(pair.b.clauses) == 1:
        found += _one_gap(pair.a.clauses[0], pair.b.clauses[0], pair.a.language.universal)
    if not found and not known and (small := particle_vetoes(pair)):
        found.append(Difference("value", excerpt(small[0], SPAN), excerpt(small[1], SPAN)))
    return found


def _tense_veto(pair: Pair) -> list[Difference]:
    """ "She was the lead" and "She is the lead", "I wanted it" and "I want it": the same but for one tense."""
    texts = [[token.lower for clause in own.clauses for token in clause.tokens] for own in (pair.a, pair.b)]
    if len(texts[0]) != len(texts[1]):
        return []
    other = [(a, b) for a, b in zip(*texts, strict=True) if a != b]
    both = (pair.a.language, pair.b.language)
    if len(other) != 1 or not any(is_past_of(*words, told) for told in both for words in (other[0], other[0][::-1])):
        return []
    return [Difference("time", *other[0])]


def _one_gap(a: Clause, b: Clause, every: frozenset[str]) -> list[Difference]:
    """The same small words around one other piece: too little content to align, yet not the same."""
    left, right = [t.lower for t in a.tokens], [t.lower for t in b.tokens]
    shorter = min(len(left), len(right))
    start = next((n for n in range(shorter) if left[n] != right[n]), shorter)
    tail = next((n for n in range(shorter - start) if left[-1 - n] != right[-1 - n]), shorter - start)
    gap_a, gap_b = a.tokens[start : len(left) - tail], b.tokens[start : len(right) - tail]
    if len(gap_a) == len(gap_b) == 1 and _one_thing(gap_a[0], gap_b[0]):
        return []
    if not gap_a or not gap_b or start + tail < 3 or (start + tail) * 2 < shorter:
        return []
    universal = bool(every & {t.lower for t in gap_a}) != bool(every & {t.lower for t in gap_b})
    told_a, told_b = {t.key[:3] for t in gap_a if t.content}, {t.key[:3] for t in gap_b if t.content}
    other_words = 0 < len(told_a) <= 2 and 0 < len(told_b) <= 2 and not told_a & told_b
    if not other_words and not (universal and told_a == told_b):
        return []
    return [Difference("value", span(gap_a), span(gap_b))]


def _one_thing(a: Token, b: Token) -> bool:
    """The same value, or an English word of the same meaning."""
    if a.value or b.value:
        return a.value is not None and b.value is not None and same_value(a.value, b.value)
    return not (a.proper or b.proper) and same_by_another_name(a.lower, b.lower)


def _value_vetoes(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    only_a, only_b = foreign_values(pair.a, pair.b), foreign_values(pair.b, pair.a)
    found: list[Difference] = []
    for group in (("number", "ordinal", "version"), ("identifier",), ("date",), ("time",)):
        left = [t for t in only_a if t.value and t.value.kind in group]
        right = [t for t in only_b if t.value and t.value.kind in group]
        if not left or not right or not (any(map(is_strong, left)) or any(map(is_strong, right))):
            both_ranks = left and right and group[0] == "number" and _ranks(left) and _ranks(right)
            if not both_ranks:
                continue
        kind = _group_kind(left, right, group)
        if kind not in known and not (kind == "number" and known & {"unit", "sign", "version"}):
            found.append(Difference(kind, span(left[:4]), span(right[:4])))
    return found


def _ranks(tokens: Sequence[Token]) -> bool:
    return any(token.value is not None and token.value.kind == "ordinal" for token in tokens)


def is_strong(token: Token) -> bool:
    """Whether the token's value alone tells two things apart."""
    return token.value is not None and token.value.strong


def _group_kind(left: Sequence[Token], right: Sequence[Token], group: tuple[str, ...]) -> DifferenceKind:
    if group[0] != "number":
        return "identifier" if group[0] == "identifier" else "date" if group[0] == "date" else "time"
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


def foreign_values(own: Features, other: Features) -> list[Token]:
    """Values of a text that the other does not hold; each occurrence counts once."""
    left = [token.value for token in other.values if token.value]
    keys = {value.key for value in left}
    named = {bare_identifier(value.key) for value in left[:200] if value.kind == "identifier"}
    found = []
    for token in own.values[:200]:
        value = token.value
        if value is None or value.key in keys:
            continue
        if value.kind == "identifier":
            known = bare_identifier(value.key) in named or _spelled_out(value.key[2:], other)
        else:
            known = value.kind != "ordinal" and any(same_value(value, one) for one in left[:200])
        if known:
            continue
        found.append(token)
    return found


def _spelled_out(identifier: str, other: Features) -> bool:
    """`#441` and 441, `payments.service` and "payments service"."""
    bare = identifier.lstrip("#@-")
    spelled = {f"n::{bare}", f"i:{bare}", f"i:#{bare}"}
    if any(token.value and token.value.key in spelled for token in other.values[:200]):
        return True
    for sign in "._-/":
        bare = bare.replace(sign, " ")
    parts = bare.split()
    return bool(parts) and all(part in other.lowers for part in parts)


def foreign_names(own: Features, other: Features) -> list[Token]:
    """Names of a text that the other does not hold in any form (short, spelled out, acronym)."""
    capitals = own.language.grammar.nouns_capitalised or other.language.grammar.nouns_capitalised
    if capitals or (own.names and not other.clauses):
        return []
    return [token for token in own.names[:100] if not _name_known(token, other)]


def _name_known(token: Token, other: Features) -> bool:
    lower = token.lower
    if lower in other.lowers or token.key in other.keys:
        return True
    if own_plural := _PLURAL.fullmatch(token.text):
        return own_plural.group(1).lower() in other.lowers
    if token.text.isupper() and lower + "s" in other.lowers:
        return True
    if token.text.isupper() and 2 <= len(lower) <= 6 and lower in other.initials:
        return True
    if len(lower) >= 3:
        return any(_short_form(lower, known) or _short_form(known, lower) for known in other.lowers)
    return False


_PLURAL = re.compile("([A-Z]{2,5})s")
"""Acronyms in the plural: PRs, CDs."""


def _short_form(short: str, full: str) -> bool:
    """Alex and Alexandra, Postgres and PostgreSQL; Java and JavaScript are too far apart."""
    return len(short) >= 3 and len(full) - len(short) <= 5 and full.startswith(short)


def _condition_veto(pair: Pair) -> list[Difference]:
    """Unless, except, only if, until … in one text only."""
    cues_a, cues_b = _loose_conditions(pair.a, pair.b), _loose_conditions(pair.b, pair.a)
    if not cues_a and not cues_b:
        return []
    return [Difference("condition", excerpt(", ".join(cues_a), SPAN), excerpt(", ".join(cues_b), SPAN))]


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


def _antonym_veto(pair: Pair) -> list[Difference]:
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
                if opposite in only_b and not denied and not {token.lower, opposite} <= agreed_links(pair):
                    return [Difference("antonym", token.text, opposite)]
    return []
