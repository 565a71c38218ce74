"""Differences of names: names that only one of two texts has."""

from __future__ import annotations

import re

from wellkept.core.differences.alignment import Pair, span
from wellkept.core.reading.tokens import Features, Token
from wellkept.types import Difference, DifferenceKind

_PLURAL = re.compile("([A-Z]{2,5})s")
"""Acronyms in the plural: PRs, CDs."""


def name_veto(pair: Pair, known: set[DifferenceKind]) -> list[Difference]:
    """Each text has names that the other has not, and no other difference explains them."""
    names_a, names_b = added_names(pair.a, pair.b), added_names(pair.b, pair.a)
    if not names_a or not names_b or known & {"name", "subject", "value", "antonym"}:
        return []
    return [Difference("name", span(names_a[:4]), span(names_b[:4]))]


def added_names(own: Features, other: Features) -> list[Token]:
    """Names of a text that the other text has in no form (short form, full form, acronym)."""
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


def _short_form(short: str, full: str) -> bool:
    """Whether a name is a short form of another: Alex of Alexandra, Postgres of PostgreSQL, not Java of JavaScript."""
    return len(short) >= 3 and len(full) - len(short) <= 5 and full.startswith(short)
