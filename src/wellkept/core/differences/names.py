"""Differences of names: names that only one of two texts has."""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.differences.alignment import Pair, span
from wellkept.core.reading.tokens import Features, Token
from wellkept.types import Difference, DifferenceKind


def name_veto(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """Each text has names that the other has not, and no other difference explains them."""
    names_a, names_b = added_names(pair.a, pair.b), added_names(pair.b, pair.a)
    if not names_a or not names_b or known & {"name", "subject", "value", "antonym"}:
        return []
    return [Difference("name", span(names_a[:4]), span(names_b[:4]))]


def added_names(own: Features, other: Features) -> list[Token]:
    """The names of a text that the other text has in no form (short form, full form, acronym)."""
    capitals = own.language.grammar.nouns_capitalised or other.language.grammar.nouns_capitalised
    if capitals or (own.names and not other.clauses):
        return []
    return [token for token in own.names[:100] if not _name_known(token, other)]


def _name_known(token: Token, other: Features) -> bool:
    lower = token.lower
    if lower in other.lowers or token.key in other.keys:
        return True
    if token.text.isupper() and 2 <= len(lower) <= 6 and lower in other.initials:
        return True
    if len(lower) >= 3:
        return any(_short_form(lower, known) or _short_form(known, lower) for known in other.lowers)
    return False


def _short_form(short: str, full: str) -> bool:
    """Whether a name is a short form of another: Alex of Alexandra, Postgres of PostgreSQL, not Java of JavaScript."""
    return len(short) >= 3 and len(full) - len(short) <= 5 and full.startswith(short)


def several_names_replaced(pair: Pair) -> bool:
    """Whether more than one name or identifier was replaced, in texts of several clauses."""
    if len(pair.frames) <= 1 and not pair.rest_a and not pair.rest_b:
        return False
    replaced = sum(1 for item in pair.frames for slot in item.slots if _has_name(slot.a) and _has_name(slot.b))
    return replaced > 1


def _has_name(tokens: Sequence[Token]) -> bool:
    return any(token.proper or (token.value is not None and token.value.kind == "identifier") for token in tokens)
