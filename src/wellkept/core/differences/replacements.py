"""One thing in the place of another: what sort of difference that is, and whether both can hold.

A difference is decisive only in a statement that admits one thing: a copula with a definite subject, a verb of choice
("use … for", "lives in", "prefers"), a quantity, a schedule. Another subject or a past event is never a conflict.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.differences.alignment import MAX_SLOT, Frame, Slot, span
from wellkept.core.differences.antonyms import antonymy
from wellkept.core.differences.statement_parts import (
    Link,
    anchored,
    common_link,
    counts_definite,
    is_last,
    is_subject,
    stands_alone,
)
from wellkept.core.differences.tense_and_modality import says_was
from wellkept.core.differences.values import replaced_value
from wellkept.core.lexicon import Antonymy, Language, lexicon
from wellkept.core.lexicon.english import classes, related, same_by_another_name
from wellkept.core.reading.tokens import Clause, Token
from wellkept.core.reading.values import Value, same_value
from wellkept.types import Difference, DifferenceKind

_EQUATED = 2
"""Most words on one side of "=" that exclude other words."""


def replaced_thing(item: Frame, slot: Slot, language: Language, *, clear: bool) -> Difference | None:
    """The difference that one slot makes, without its words; None if it makes none.

    Args:
        item: Two aligned clauses.
        slot: Words of one clause in the place of words of the other.
        language: The language of the texts.
        clear: Nothing else in the statement changed.
    """
    if len(slot.a) > MAX_SLOT or len(slot.b) > MAX_SLOT:
        return None
    subject = is_subject(item, slot, language)
    values_a, values_b = _one_value(slot.a), _one_value(slot.b)
    if values_a is not None and values_b is not None:
        subject = subject and not counts_definite(item, slot, language)
        return replaced_value(item, slot, (values_a, values_b), language, clear=clear and not subject)
    if any(t.value for t in (*slot.a, *slot.b)) and not (_is_term(slot.a) and _is_term(slot.b)):
        return None  # the values of the whole texts are compared instead
    grade = antonymy(slot, language)
    if grade:
        return Difference("antonym", "", "", decisive=clear and _asserts(item, slot, grade, language))
    if _is_synonym(slot, language):
        return None
    if subject:
        return Difference("subject", "", "")
    return _other_thing(item, slot, language, clear=clear)


def _other_thing(item: Frame, slot: Slot, language: Language, *, clear: bool) -> Difference | None:
    """One thing in the place of another: a name or another word, decisive if the statement admits only one."""
    names = _is_name(slot.a) and _is_name(slot.b) and not language.grammar.nouns_capitalised
    group = _shared_group(slot)
    if len(item.slots) > 2 and not names:
        return None
    if item.moved and not names:
        return None
    link = common_link(item, slot, language)
    kind: DifferenceKind = "name" if names and link != "purpose" else "value"
    if kind == "value" and (item.a.additive or item.b.additive):
        return Difference("detail", "", "")  # "also the keys" adds to "also the radio"
    decisive = (
        clear
        and not _related(slot, language)
        and anchored(item, language, group=bool(group))
        and (
            _exclusive(item, slot, link, language, names=names, group=bool(group))
            or (link == "copula" and _same_class(item, slot, language))
        )
    )
    if link == "copula" and not language.grammar.past_excludes and says_was(item, language):
        decisive = False  # at two times
    return Difference(kind, "", "", decisive=decisive, sure=decisive)


def _one_value(tokens: Sequence[Token]) -> Value | None:
    """The value, if the tokens are one value."""
    return tokens[0].value if len(tokens) == 1 else None


def _is_name(tokens: Sequence[Token]) -> bool:
    """Whether all words are capitalised; a bare number is allowed ("Apache 2.0", not "Acme, $12k")."""
    return any(t.proper for t in tokens) and all(t.proper or (t.value and not t.value.dimension) for t in tokens)


def _is_term(tokens: Sequence[Token]) -> bool:
    """Whether the tokens are a name or one word, possibly with digits (flake8)."""
    return _is_name(tokens) or (len(tokens) == 1 and (tokens[0].value is None or tokens[0].value.kind == "identifier"))


def _shared_group(slot: Slot) -> frozenset[str]:
    """The exclusive groups that both words belong to, such as databases."""
    if len(slot.a) != 1 and len(slot.b) != 1:
        return frozenset()
    groups = lexicon().groups
    first, second = slot.a[0].lower, slot.b[0].lower
    return groups.get(first, frozenset()) & groups.get(second, frozenset())


def _is_synonym(slot: Slot, language: Language) -> bool:
    """Whether WordNet has the two words as synonyms: "buy", "purchase"."""
    if not language.grammar.wordnet or len(slot.a) != 1 or len(slot.b) != 1 or slot.a[0].proper or slot.b[0].proper:
        return False
    return same_by_another_name(slot.a[0].lower, slot.b[0].lower)


def _related(slot: Slot, language: Language) -> bool:
    """Whether one side may be a kind, a part or another name of the other: Berlin and Germany may both hold."""
    return language.grammar.wordnet and related(_text(slot.a), _text(slot.b))


def _text(tokens: Sequence[Token]) -> str:
    return " ".join(token.lower for token in tokens)


def _same_class(item: Frame, slot: Slot, language: Language) -> bool:
    """ "The pet is a dog", "The pet is a cat": two kinds of one class as predicates of a definite subject."""
    if not language.grammar.wordnet or len(slot.a) != 1 or len(slot.b) != 1 or not _definite(item):
        return False
    skipped = language.indefinite_articles | language.soft
    for clause, at in ((item.a, slot.a_at), (item.b, slot.b_at)):
        verb = next((t for t in reversed(clause.tokens[:at]) if t.lower not in skipped), None)
        if verb is None or verb.lower not in language.copula or not is_last(clause, at, slot.a):
            return False
    return bool(classes(slot.a[0].lower) & classes(slot.b[0].lower))


def _exclusive(item: Frame, slot: Slot, link: Link, language: Language, *, names: bool, group: bool) -> bool:
    """Whether the statement admits only one thing in this place."""
    match link:
        case "purpose":
            return group or names or stands_alone(item, slot)
        case "choose":
            return group or names or _preferred(item, slot, language)
        case "equals":
            return group or names or max(len(slot.a), len(slot.b)) <= _EQUATED
        case "copula":
            return group or (names and _definite(item))
        case "instrument":
            return group
        case _:
            return False


def _preferred(item: Frame, slot: Slot, language: Language) -> bool:
    """ "prefers tea": a verb whose object excludes others even if it is no name."""
    single = len(slot.a) == len(slot.b) == 1  # "fakes to mocks" and "tables to loops" are two preferences
    return single and slot.a_at > 0 and item.a.tokens[slot.a_at - 1].lower in language.direct


def _definite(item: Frame) -> bool:
    """Whether the subject is a definite role ("The owner is A"); "Alice is A" and "Alice is B" may both hold."""
    first = item.a.tokens[0]
    return not first.proper and (not first.content or len([t for t in item.matched if not t.proper]) > 0)


def _asserts(item: Frame, slot: Slot, grade: Antonymy, language: Language) -> bool:
    """Whether the clauses assert the antonyms; an attribute ("the open tickets") asserts nothing."""
    if grade == "weak" or not item.matched:
        return False
    if grade == "act":
        return True
    if grade == "own":
        return not language.grammar.spaced or not (_is_attribute(item.a, slot.a_at) or _is_attribute(item.b, slot.b_at))
    for clause, at, tokens in ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b)):
        before = clause.tokens[:at]
        if not (any(t.lower in language.copula | language.auxiliary for t in before) or is_last(clause, at, tokens)):
            return not language.grammar.spaced
        if language.grammar.bare_adjectives and not _is_predicate(clause, at, tokens, language):
            return False
    return True


def _is_attribute(clause: Clause, at: int) -> bool:
    """Whether a word is the attribute of a noun ("Hawkish members …"), and not before a name or a value."""
    after = clause.tokens[at + 1] if at + 1 < len(clause.tokens) else None
    return after is not None and after.content and after.value is None and not after.proper


def _is_predicate(clause: Clause, at: int, tokens: Sequence[Token], language: Language) -> bool:
    """Whether a word is a predicate: "is up", "status: open", not "going up the hill", not "the open tickets are …"."""
    before = [token for token in clause.tokens[:at] if token.lower not in language.soft]
    after = clause.tokens[at + len(tokens)] if at + len(tokens) < len(clause.tokens) else None
    if after is not None and after.content and after.value is None:
        return False
    if tokens[0].lower in language.directions:
        return bool(before) and (before[-1].lower in language.copula or before[-1].text in (":", "="))
    return not before or not before[-1].content or before[-1].text in (":", "=") or after is None


# --------------------------------------------------------------------------------------------
# Short clauses


def gap_veto(a: Clause, b: Clause, universal: frozenset[str]) -> list[Difference]:
    """The difference of two clauses that are equal but for one gap, and have too few content words to align.

    Args:
        a, b: The only clause of each text.
        universal: Words for all ("all", "every"), of which a gap may add or drop one.
    """
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
