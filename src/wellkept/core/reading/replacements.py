"""One thing in the place of another: what kind of change that is, and whether both can hold.

`decisive` needs a statement that admits one value only: a copula with a definite subject, a verb of
choice ("use … for", "lives in", "prefers"), a quantity, a schedule. A thing in the place of the subject
is another subject, and a past event may have happened twice; neither is ever a conflict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from wellkept.core.lexicon import Antonymy, Language, lexicon
from wellkept.core.lexicon.english import classes, opposites, related, same_by_another_name
from wellkept.core.lexicon.language import Antonyms
from wellkept.core.reading.alignment import Frame, Slot
from wellkept.core.reading.small_words import meanings
from wellkept.core.reading.tokens import Clause, Token
from wellkept.core.reading.values import Value
from wellkept.types import Difference, DifferenceKind

Link = Literal["choose", "purpose", "copula", "equals", "instrument", ""]
MAX_SLOT = 4
_EQUATED = 2
_DAYS_AND_CLOCKS = ("date", "time")

_CALLED = 100


def judge_slot(item: Frame, slot: Slot, language: Language, *, clear: bool) -> Difference | None:
    """The difference one slot makes; `clear` says that nothing else in the statement changed."""
    if len(slot.a) > MAX_SLOT or len(slot.b) > MAX_SLOT:
        return None
    subject = _is_subject(item, slot, language)
    values_a, values_b = _one_value(slot.a), _one_value(slot.b)
    if values_a is not None and values_b is not None:
        subject = subject and not _counts_known(item, slot, language)
        return _value_slot(item, slot, (values_a, values_b), language, clear=clear and not subject)
    if any(t.value for t in (*slot.a, *slot.b)) and not (_called(slot.a) and _called(slot.b)):
        return None  # left to the comparison of all values
    grade = antonymy(slot, language)
    if grade:
        return Difference("antonym", "", "", decisive=clear and _denies(item, slot, grade, language))
    if _renamed(slot, language):
        return None
    if subject:
        return Difference("subject", "", "")
    return _other_thing(item, slot, language, clear=clear)


def _other_thing(item: Frame, slot: Slot, language: Language, *, clear: bool) -> Difference | None:
    """One thing named in the place of another: is it a name, and does the statement admit one only?"""
    names = _is_name(slot.a) and _is_name(slot.b) and not language.grammar.nouns_capitalised
    group = _shared_group(slot)
    if len(item.slots) > 2 and not names:
        return None
    if item.moved and not names:
        return None
    link = _common_link(item, slot, language)
    kind: DifferenceKind = "name" if names and link != "purpose" else "value"
    if kind == "value" and (item.a.additive or item.b.additive):
        return Difference("detail", "", "")  # "also the keys" adds to "also the radio", it replaces nothing
    decisive = (
        clear
        and not _related(slot, language)
        and _anchored(item, language, group=bool(group))
        and (
            _exclusive(item, slot, link, language, names=names, group=bool(group))
            or (link == "copula" and _is_a(item, slot, language))
        )
    )
    if link == "copula" and not language.grammar.past_excludes and _was(item, language):
        decisive = False  # somebody was here and was there, at two times
    return Difference(kind, "", "", decisive=decisive, sure=decisive)


def opposed(slot: Slot, language: Language) -> bool:
    """Was one word replaced by its opposite?"""
    return bool(antonymy(slot, language))


def antonymy(slot: Slot, language: Language) -> Antonymy | None:
    """How strongly the two words of a slot oppose each other; None when they do not."""
    if len(slot.a) != 1 or len(slot.b) != 1 or slot.a[0].value or slot.b[0].value:
        return None
    x, y = slot.a[0], slot.b[0]
    for table in _antonym_tables(language):
        for opposite, grade in table.get(x.lower, ()):
            if opposite == y.lower:
                return grade
        for opposite, grade in table.get(x.key, ()):
            if opposite == y.key:
                return grade
    if not language.grammar.wordnet or (x.lower in language.scopes and y.lower in language.scopes):
        return None
    return opposites(x.lower, y.lower)


def _antonym_tables(language: Language) -> Iterator[Antonyms]:
    """The opposites of a language, and of those whose words stand in all texts."""
    yield language.antonyms
    if not language.grammar.in_all_texts:
        yield from (other.antonyms for other in lexicon().everywhere)


def _one_value(tokens: Sequence[Token]) -> Value | None:
    """The value a side consists of."""
    return tokens[0].value if len(tokens) == 1 else None


def _is_name(tokens: Sequence[Token]) -> bool:
    """Only capitalised words, a bare number among them allowed ("Apache 2.0", not "Acme, $12k")."""
    return any(t.proper for t in tokens) and all(t.proper or (t.value and not t.value.dimension) for t in tokens)


def _called(tokens: Sequence[Token]) -> bool:
    """A name, or one word, possibly with digits in it (flake8)."""
    return _is_name(tokens) or (len(tokens) == 1 and (tokens[0].value is None or tokens[0].value.kind == "identifier"))


def _shared_group(slot: Slot) -> frozenset[str]:
    if len(slot.a) != 1 and len(slot.b) != 1:
        return frozenset()
    groups = lexicon().groups
    first, second = slot.a[0].lower, slot.b[0].lower
    return groups.get(first, frozenset()) & groups.get(second, frozenset())


def _renamed(slot: Slot, language: Language) -> bool:
    """One word in the place of another that means the same, as far as the tables know: "buy", "purchase"."""
    if not language.grammar.wordnet or len(slot.a) != 1 or len(slot.b) != 1 or slot.a[0].proper or slot.b[0].proper:
        return False
    return same_by_another_name(slot.a[0].lower, slot.b[0].lower)


def _related(slot: Slot, language: Language) -> bool:
    """May one side be a kind of the other, lie in it, or be another name of it? Berlin and Germany may both hold."""
    return language.grammar.wordnet and related(_said(slot.a), _said(slot.b))


def _said(tokens: Sequence[Token]) -> str:
    return " ".join(token.lower for token in tokens)


def _is_a(item: Frame, slot: Slot, language: Language) -> bool:
    """ "The pet is a dog", "The pet is a cat": two kinds of one class, said of a definite thing."""
    if not language.grammar.wordnet or len(slot.a) != 1 or len(slot.b) != 1 or not _definite(item):
        return False
    silent = language.indefinite_articles | language.soft
    for clause, at in ((item.a, slot.a_at), (item.b, slot.b_at)):
        verb = next((t for t in reversed(clause.tokens[:at]) if t.lower not in silent), None)
        if verb is None or verb.lower not in language.copula or not _last(clause, at, slot.a):
            return False
    return bool(classes(slot.a[0].lower) & classes(slot.b[0].lower))


# --------------------------------------------------------------------------------------------
# Values


def _value_slot(item: Frame, slot: Slot, values: tuple[Value, Value], language: Language, *, clear: bool) -> Difference:
    a, b = values
    kind = _value_kind(a, b)
    sure = clear and _anchored(item, language, group=False) and not _past_event(item, language)
    if _year(a) and _year(b):
        # Two points in time: what was true in one year may be true in another.
        decisive = sure and not _comes_first(item, slot) and not _was(item, language)
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
                and _one_bound(item, language)
                and not _numbered_subject(item, slot, a, language)
            )
        case "version":
            decisive = sure and not _opens(item, slot)
        case "date" | "time":
            decisive = sure and a.kind == b.kind and not _comes_first(item, slot) and not _relative(a, b)
        case "identifier":
            link = _link(item.a, slot.a_at, language, item, slot)
            if link == "purpose" and _bare(item, slot):
                return Difference("value", "", "", decisive=sure, sure=sure)
            return Difference(kind, "", "", decisive=sure and link in ("choose", "copula", "equals"))
        case _:
            decisive = False
    return Difference(kind, "", "", decisive=decisive, sure=decisive)


def _value_kind(a: Value, b: Value) -> DifferenceKind:
    kinds = {a.kind, b.kind}
    if kinds <= {"number", "ordinal"}:
        if a.amount and a.amount == -b.amount and a.dimension == b.dimension:
            return "sign"
        return "unit" if a.written == b.written and (a.dimension or b.dimension) else "number"
    if "version" in kinds and kinds <= {"version", "number"}:
        return "version"
    if len(kinds) == 1:
        only = next(iter(kinds))
        return "identifier" if only == "identifier" else "date" if only == "date" else "time"
    return "value"


_FAMILIES = (frozenset(("time", "months")), frozenset(("EUR", "USD", "GBP", "JPY", "CNY", "CHF", "RUB", "INR", "BRL")))


def _comparable(a: Value, b: Value) -> bool:
    """Do both measure the same? A size and a time may both be limits of one thing."""
    if a.dimension == b.dimension or not a.dimension or not b.dimension:
        return True
    return any({a.dimension, b.dimension} <= family for family in _FAMILIES)


def _one_bound(item: Frame, language: Language) -> bool:
    """Is the amount told in the same way? "More than one" leaves room for seven."""
    return meanings(item.a, language, "bound") == meanings(item.b, language, "bound")


_YEARS = range(1900, 2100)


def _year(value: Value) -> bool:
    """A year and nothing else, bare or behind a preposition."""
    if value.kind == "date":
        return bool(value.parts) and value.parts[0] is not None and not any(value.parts[1:])
    return value.kind == "number" and not value.dimension and value.written == value.amount and value.written in _YEARS


def _was(item: Frame, language: Language) -> bool:
    return any(token.lower in language.was for clause in (item.a, item.b) for token in clause.tokens)


def _relative(a: Value, b: Value) -> bool:
    """Today and tomorrow move with the day of writing; they exclude nothing."""
    return any(value.parts and value.parts[-1] is not None for value in (a, b))


def _numbered_subject(item: Frame, slot: Slot, value: Value, language: Language) -> bool:
    """ "Server 3 has …": a bare number behind a noun and before the verb says which, not how many."""
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


def _past_event(item: Frame, language: Language) -> bool:
    """A thing that happened can happen again with another value."""
    for clause in (item.a, item.b):
        lowers = {token.lower for token in clause.tokens}
        if lowers & (language.copula | language.auxiliary | language.schedule | language.choose):
            continue
        if lowers & language.past:
            return True
        endings = tuple(language.past_endings) if language.grammar.past_is_participle else ()
        if any(t.lower.endswith(endings) and len(t.lower) > 4 and not t.value for t in clause.tokens):
            return True
    return False


# --------------------------------------------------------------------------------------------
# Places in a statement


def _opens(item: Frame, slot: Slot) -> bool:
    """The slot, or the name right before it, opens a clause that goes on after it."""
    for clause, at in ((item.a, slot.a_at), (item.b, slot.b_at)):
        before = [token for token in clause.tokens[:at] if token.content]
        if len(before) <= 1 and any(token.content for token in clause.tokens[at + 1 :]):
            return True
    return False


def _comes_first(item: Frame, slot: Slot) -> bool:
    """ "On Monday we …" opens a report of that day."""
    return not any(token.content for token in item.a.tokens[: slot.a_at]) or not any(
        token.content for token in item.b.tokens[: slot.b_at]
    )


def _is_subject(item: Frame, slot: Slot, language: Language) -> bool:
    """Does the slot stand before the predicate, so that the two texts are about different things?"""
    for clause, at, tokens in ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b)):
        if not language.grammar.spaced and tokens[0].char:
            continue
        before = clause.tokens[:at]
        content_before = [token for token in before if token.content]
        named = any(token.proper or (token.value and token.value.kind == "identifier") for token in tokens)
        if content_before:
            # A name right behind the opening noun still belongs to the subject ("Service A listens").
            if named and len(content_before) == 1 and not _has_verb(before, language) and not _last(clause, at, tokens):
                return True
            continue
        if named:
            return True
        after = clause.tokens[at + len(tokens) : at + len(tokens) + 2]
        if any(token.lower in language.copula | language.auxiliary for token in after):
            return not any(token.value and token.value.kind in _DAYS_AND_CLOCKS for token in tokens)
    return False


def _counts_known(item: Frame, slot: Slot, language: Language) -> bool:
    """ "The two servers are …", "the five servers are …": the number of definite things, not other things."""
    sides = ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b))
    return all(
        at and clause.tokens[at - 1].lower in language.articles and _counted(clause, at, tokens[0].value, language)
        for clause, at, tokens in sides
    )


def _counted(clause: Clause, at: int, value: Value | None, language: Language) -> bool:
    """A small number and a plural behind it; "the 504 errors" and "the 8080 port" are called by their number."""
    if value is None or value.dimension or value.kind != "number" or value.amount >= _CALLED:
        return False
    noun = next((t.lower for t in clause.tokens[at + 1 :] if t.content and t.key != t.lower), "")
    return noun.endswith(tuple(language.plural_endings)) or noun in language.plurals


def _last(clause: Clause, at: int, tokens: Sequence[Token]) -> bool:
    return not any(token.content for token in clause.tokens[at + len(tokens) :])


def _has_verb(tokens: Sequence[Token], language: Language) -> bool:
    verbs = language.copula | language.auxiliary | language.choose | language.light | language.schedule
    return any(t.lower in verbs or t.key in language.light or t.text in (":", "=") for t in tokens)


def _anchored(item: Frame, language: Language, *, group: bool) -> bool:
    """Is there a common word that says what the statement is about?"""
    telling = [t for t in item.matched if t.lower not in language.light and t.key not in language.light]
    return bool(telling) or (group and bool(item.matched))


def _common_link(item: Frame, slot: Slot, language: Language) -> Link:
    """What ties the slot to its statement in both texts alike; nothing when they do it differently."""
    link = _link(item.a, slot.a_at, language, item, slot)
    return link if link == _link(item.b, slot.b_at, language, item, slot) else ""


def _link(clause: Clause, at: int, language: Language, item: Frame, slot: Slot) -> Link:
    """What ties the slot to its statement: looks back over small words, in Japanese also ahead."""
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


def _exclusive(item: Frame, slot: Slot, link: Link, language: Language, *, names: bool, group: bool) -> bool:
    """Does the statement admit one thing only in this place?"""
    match link:
        case "purpose":
            return group or names or _bare(item, slot)
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


def _bare(item: Frame, slot: Slot) -> bool:
    """ "use ruff for": the object stands alone right behind its verb, it is no adjective of another."""
    for clause, at, tokens in ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b)):
        after = clause.tokens[at + len(tokens)] if at + len(tokens) < len(clause.tokens) else None
        if len(tokens) > 2 or (after is not None and after.content and not after.char):
            return False
        if at and not clause.tokens[at - 1].content and not clause.tokens[at - 1].char:
            return False
    return True


def _preferred(item: Frame, slot: Slot, language: Language) -> bool:
    """ "prefers tea": one verb that needs no name to exclude."""
    single = len(slot.a) == len(slot.b) == 1  # "fakes to mocks" and "tables to loops" are two preferences
    return single and slot.a_at > 0 and item.a.tokens[slot.a_at - 1].lower in language.direct


def _definite(item: Frame) -> bool:
    """ "The owner is A": a definite role; "Alice is A" may have many completions."""
    first = item.a.tokens[0]
    return not first.proper and (not first.content or len([t for t in item.matched if not t.proper]) > 0)


def _denies(item: Frame, slot: Slot, grade: Antonymy, language: Language) -> bool:
    """Is the word and its opposite what the statement asserts, not what it is about?"""
    if grade == "weak" or not item.matched:
        return False
    if grade == "act":
        return True
    if grade == "own":
        return not language.grammar.spaced or not (_qualifies(item.a, slot.a_at) or _qualifies(item.b, slot.b_at))
    for clause, at, tokens in ((item.a, slot.a_at, slot.a), (item.b, slot.b_at, slot.b)):
        before = clause.tokens[:at]
        if not (any(t.lower in language.copula | language.auxiliary for t in before) or _last(clause, at, tokens)):
            return not language.grammar.spaced
        if language.grammar.bare_adjectives and not _predicated(clause, at, tokens, language):
            return False
    return True


def _qualifies(clause: Clause, at: int) -> bool:
    """ "Hawkish members …": the word tells which thing is meant; before a name or a value it asserts something."""
    after = clause.tokens[at + 1] if at + 1 < len(clause.tokens) else None
    return after is not None and after.content and after.value is None and not after.proper


def _predicated(clause: Clause, at: int, tokens: Sequence[Token], language: Language) -> bool:
    """ "is up", "status: open", not "going up the hill" and not "the open tickets are …"."""
    before = [token for token in clause.tokens[:at] if token.lower not in language.soft]
    after = clause.tokens[at + len(tokens)] if at + len(tokens) < len(clause.tokens) else None
    if after is not None and after.content and after.value is None:
        return False
    if tokens[0].lower in language.directions:
        return bool(before) and (before[-1].lower in language.copula or before[-1].text in (":", "="))
    return not before or not before[-1].content or before[-1].text in (":", "=") or after is None
