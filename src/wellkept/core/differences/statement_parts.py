"""The place of a slot in its statement: subject, object or predicate, and the verb or sign that governs it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from wellkept.core.differences.alignment import Frame, Slot
from wellkept.core.lexicon import Language
from wellkept.core.reading.tokens import Clause, Token
from wellkept.core.reading.values import Value

Link = Literal["choose", "purpose", "copula", "equals", "instrument", ""]
"""What governs a slot: a verb of choice, a general verb with a purpose ("use … for"), a copula, a sign, "with"."""
_DAYS_AND_CLOCKS = ("date", "time")
_CALLED = 100
"""A number from here on is rather a name than a count: "the 504 errors"."""


def is_subject(item: Frame, slot: Slot, language: Language) -> bool:
    """Whether the slot is the subject, so that the two texts are about different things."""
    for clause, at, tokens in ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b)):
        if not language.grammar.spaced and tokens[0].char:
            continue
        before = clause.tokens[:at]
        content_before = [token for token in before if token.content]
        named = any(token.proper or (token.value and token.value.kind == "identifier") for token in tokens)
        if content_before:
            # A name directly after the first noun belongs to the subject ("Service A listens").
            if (
                named
                and len(content_before) == 1
                and not _has_verb(before, language)
                and not is_last(clause, at, tokens)
            ):
                return True
            continue
        if named:
            return True
        after = clause.tokens[at + len(tokens) : at + len(tokens) + 2]
        if any(token.lower in language.copula | language.auxiliary for token in after):
            return not any(token.value and token.value.kind in _DAYS_AND_CLOCKS for token in tokens)
    return False


def counts_definite(item: Frame, slot: Slot, language: Language) -> bool:
    """ "The two servers are …", "the five servers are …": another number of the same things, no other subject."""
    sides = ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b))
    return all(
        at and clause.tokens[at - 1].lower in language.articles and _counted(clause, at, tokens[0].value, language)
        for clause, at, tokens in sides
    )


def _counted(clause: Clause, at: int, value: Value | None, language: Language) -> bool:
    """Whether a small number counts a plural noun; in "the 504 errors" and "the 8080 port" the number is a name."""
    if value is None or value.dimension or value.kind != "number" or value.amount >= _CALLED:
        return False
    noun = next((t.lower for t in clause.tokens[at + 1 :] if t.content and t.key != t.lower), "")
    return noun.endswith(tuple(language.plural_endings)) or noun in language.plurals


def is_last(clause: Clause, at: int, tokens: Sequence[Token]) -> bool:
    """Whether no content word follows in the clause."""
    return not any(token.content for token in clause.tokens[at + len(tokens) :])


def _has_verb(tokens: Sequence[Token], language: Language) -> bool:
    verbs = language.copula | language.auxiliary | language.choose | language.light | language.schedule
    return any(t.lower in verbs or t.key in language.light or t.text in (":", "=") for t in tokens)


def anchored(item: Frame, language: Language, *, group: bool) -> bool:
    """Whether the clauses share a word that says what they are about; within a group of things any word will do."""
    return bool(weighty(item.matched, language)) or (group and bool(item.matched))


def weighty(tokens: Sequence[Token], language: Language) -> list[Token]:
    """The tokens without verbs so general that they say nothing ("use")."""
    return [token for token in tokens if token.key not in language.light and token.lower not in language.light]


def opens_clause(item: Frame, slot: Slot) -> bool:
    """Whether the slot, or the one word before it, is the subject of a longer clause."""
    for clause, at in ((item.a, slot.a_at), (item.b, slot.b_at)):
        before = [token for token in clause.tokens[:at] if token.content]
        if len(before) <= 1 and any(token.content for token in clause.tokens[at + 1 :]):
            return True
    return False


def comes_first(item: Frame, slot: Slot) -> bool:
    """Whether no content word precedes the slot: "On Monday we …" reports that day."""
    return not any(token.content for token in item.a.tokens[: slot.a_at]) or not any(
        token.content for token in item.b.tokens[: slot.b_at]
    )


def stands_alone(item: Frame, slot: Slot) -> bool:
    """Whether the slot is a whole object directly after its verb ("use ruff for"), and no attribute of a noun."""
    for clause, at, tokens in ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b)):
        after = clause.tokens[at + len(tokens)] if at + len(tokens) < len(clause.tokens) else None
        if len(tokens) > 2 or (after is not None and after.content and not after.char):
            return False
        if at and not clause.tokens[at - 1].content and not clause.tokens[at - 1].char:
            return False
    return True


def common_link(item: Frame, slot: Slot, language: Language) -> Link:
    """What governs the slot in both texts; empty if they differ."""
    link = link_of(item.a, slot.a_at, language, item, slot)
    return link if link == link_of(item.b, slot.b_at, language, item, slot) else ""


def link_of(clause: Clause, at: int, language: Language, item: Frame, slot: Slot) -> Link:
    """What governs a slot: looks back over function words, and ahead in languages with the object first."""
    between = 0
    for token in reversed(clause.tokens[max(0, at - 4) : at]):
        if token.lower in language.instruments and not between:
            return "instrument"
        if token.lower in language.blockers:
            return ""
        if token.text in ("=", ":"):
            return "equals" if token.text == "=" else "copula"
        if token.lower in language.choose or token.key in language.light & language.choose:
            return _choice(clause, at, token, between, language, item, slot)
        if token.lower in language.copula:
            return "copula"
        if token.content:
            return ""
        between += 1
    if language.grammar.object_first:
        for token in clause.tokens[at + len(slot.a) : at + len(slot.a) + 3]:
            if token.lower in language.choose:
                return "purpose" if any(t.content for t in clause.tokens[:at]) else "choose"
    return ""


def _choice(clause: Clause, at: int, verb: Token, between: int, language: Language, item: Frame, slot: Slot) -> Link:
    if verb.lower in language.direct:
        return "choose"
    if verb.lower in language.light or verb.key in language.light:
        after = {token.key for token in clause.tokens[at + len(slot.a) :] if token.content}
        return "purpose" if after & {token.key for token in item.matched} else "choose"
    place = at - between - 2
    passive = place >= 0 and clause.tokens[place].lower in language.copula
    return "choose" if between or passive else ""
