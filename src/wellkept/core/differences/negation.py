"""Differences of negation: one text affirms what the other denies.

A negation is a conflict only if it denies the whole statement. "No host other than X", "not all", "not before noon" and
a negation in both texts do not exclude the other statement; they are a difference and no conflict.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.differences.alignment import CLOSE, COVERED, Frame, Pair, cue_span
from wellkept.core.differences.antonyms import opposed
from wellkept.core.differences.function_words import meanings
from wellkept.core.differences.statement_parts import weighty
from wellkept.core.differences.tense_and_modality import is_past_clause
from wellkept.core.lexicon import Language, in_all_languages
from wellkept.core.reading.tokens import Clause, Features, Token
from wellkept.types import Difference

_QUANTITIES = frozenset(("number", "ordinal"))
"""Kinds of values that are amounts."""
_INFLECTION = 2
"""Most characters of an ending in a script without spaces."""
_LIMITS = ("quantity", "only", "bound")
"""Groups of function words that limit a statement."""
_DESCRIBING = 2
"""Most words that describe what does not exist ("There is no *second* host")."""


def denied(item: Frame) -> bool:
    """Whether one clause denies and the other does not; two negations cancel each other."""
    return len(item.a.negations) % 2 != len(item.b.negations) % 2


def denial(item: Frame, language: Language, *, sure_topic: bool) -> list[Difference]:
    """The difference that the negations of two aligned clauses make.

    Args:
        item: Two aligned clauses.
        language: The language of the texts.
        sure_topic: No other difference shows that the texts are about different things.
    """
    if not denied(item):
        return _contrast(item)
    decisive = sure_topic and _covered(item) and _denies_whole(item, language)
    return [Difference("negation", cue_span(item.a), cue_span(item.b), decisive=decisive)]


def _covered(item: Frame) -> bool:
    """Whether both clauses say the same except for the negation, or except for an amount."""
    amounts = all(t.value and t.value.kind in _QUANTITIES for slot in item.slots for t in (*slot.a, *slot.b))
    if item.slots:
        return amounts and item.ratio >= CLOSE
    return len(item.matched) >= max(1, COVERED * min(len(item.a.keys), len(item.b.keys)))


def _denies_whole(item: Frame, language: Language) -> bool:
    """Whether one clause denies once, without a limit, what the other affirms about the same thing and time."""
    a, b = item.a, item.b
    denying, affirming = (a, b) if a.negations else (b, a)
    if affirming.negations or len(denying.negations) != 1 or item.moved:
        return False
    alone = (item.only_a, item.only_b) if denying is a else (item.only_b, item.only_a)
    there_is_none = _there_is_none(denying, affirming, language)
    if weighty(alone[0], language):
        return False
    more = weighty(alone[1], language)
    if denying.negations[0][1] in language.nobody and all(t.lower in language.anybody for t in more):
        more, there_is_none = [], True
    if denying.negations[0][1] in language.never:
        more = [token for token in more if token.lower not in language.frequency]
    if more and not (there_is_none and _plain(more)) and not _in_its_place(more, affirming, denying):
        return False
    scope, affirmed_scope = _words(denying), _words(affirming)
    harmless = language.soft | language.universal if there_is_none else language.soft
    if scope & language.scopes != (affirmed_scope & language.scopes) - harmless:
        return False
    if (scope | affirmed_scope) & language.negative or is_past_clause(a, language) != is_past_clause(b, language):
        return False
    limits = _LIMITS[1:] if there_is_none else _LIMITS
    if any(meanings(a, language, group) != meanings(b, language, group) for group in limits):
        return False
    return _same_persons(scope, affirmed_scope, language) and not _subject_amount(item, denying)


def _there_is_none(denying: Clause, affirming: Clause, language: Language) -> bool:
    """ "Nobody …", "There is no …" and "Some …": to deny that there is any is to deny each, however described."""
    at, cue = denying.negations[0]
    there = cue in language.none and any(token.lower in language.there_is for token in denying.tokens[:1])
    return (
        at == 0
        and (cue in language.nobody or there)
        and not any((_words(denying) | _words(affirming)) & words for words in language.persons)
        and bool(affirming.tokens)
        and (affirming.tokens[0].lower in language.indefinite or affirming.tokens[0].value is not None)
    )


def _plain(tokens: Sequence[Token]) -> bool:
    """Whether the words are at most two describing words: no name, date or identifier."""
    return len(tokens) <= _DESCRIBING and not any(
        token.proper or (token.value is not None and token.value.kind != "number") for token in tokens
    )


def _in_its_place(more: Sequence[Token], affirming: Clause, denying: Clause) -> bool:
    """In a script without spaces: whether the characters are in the place of the negation (an ending, "may")."""
    if len(more) > _INFLECTION or not all(token.char for token in more):
        return False
    places = [n for n, at in enumerate(affirming.content) if any(affirming.tokens[at] is token for token in more)]
    return places == list(range(denying.negations[0][0], denying.negations[0][0] + len(more)))


def _words(clause: Clause) -> frozenset[str]:
    return frozenset(token.lower for token in clause.tokens)


def _same_persons(left: frozenset[str], right: frozenset[str], language: Language) -> bool:
    ours, theirs = ({n for n, words in enumerate(language.persons) if words & side} for side in (left, right))
    return not ours or not theirs or bool(ours & theirs)


def _subject_amount(item: Frame, denying: Clause) -> bool:
    """Whether an amount before the negation belongs to the subject: "502 errors are not …" and "504 errors are …"."""
    if not item.slots:
        return False
    at = denying.negations[0][0]
    place = denying.content[at] if at < len(denying.content) else len(denying.tokens)
    starts = (slot.a_at if denying is item.a else slot.b_at for slot in item.slots)
    return any(start < place for start in starts)


def _contrast(item: Frame) -> list[Difference]:
    """Two texts that prefer opposite things: "tabs, not spaces" and "spaces, not tabs"."""
    a, b = item.a, item.b
    if len(a.negations) != 1 or len(b.negations) != 1 or len(a.keys) != len(b.keys):
        return []
    (at_a, cue_a), (at_b, cue_b) = a.negations[0], b.negations[0]
    if cue_a != cue_b or cue_a not in in_all_languages("contrasting") or not at_a or not at_b:
        return []
    if sorted(a.keys) != sorted(b.keys) or at_a >= len(a.keys) or at_b >= len(b.keys) or a.keys[at_a] == b.keys[at_b]:
        return []
    swap = {a.keys[at_a]: b.keys[at_b], b.keys[at_b]: a.keys[at_a]}
    if tuple(swap.get(key, key) for key in a.keys) != b.keys:
        return []
    return [Difference("negation", cue_span(a), cue_span(b), decisive=True)]


def answer_alike(pair: Pair) -> bool:
    """Whether both texts have the same clauses that reverse the next statement."""
    return _answers(pair.a) == _answers(pair.b)


def _answers(own: Features) -> frozenset[tuple[str, ...]]:
    """Clauses of function words alone that deny or limit ("Nobody.", "Only he."): they reverse the next statement."""
    return frozenset(
        (*(cue for _, cue in clause.negations), *(token.lower for token in clause.tokens))
        for clause in own.clauses
        if not clause.keys and len(own.clauses) > 1 and (clause.negations or clause.tokens)
    )


def denied_slot(item: Frame) -> bool:
    """Whether a negation precedes the replaced words."""
    return any(
        clause.negations
        and any(at >= clause.content[place] for place, _ in clause.negations if place < len(clause.content))
        or any(place >= len(clause.content) for place, _ in clause.negations)
        for slot in item.slots
        for clause, at in ((item.a, slot.a_at), (item.b, slot.b_at))
    )


def negation_veto(pair: Pair) -> list[Difference]:
    """One text has an even number of negations and the other an odd number, where their clauses were not aligned."""
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
    """The number of negation cues and words, without the clauses that only this text has if it covers the other."""
    skipped = {id(clause) for clause in rest} if not other_rest else set()
    clauses = [clause for clause in own.clauses if id(clause) not in skipped]
    cues = sum(len(clause.negations) for clause in clauses)
    words = sum(token.lower in own.language.negative for clause in clauses for token in clause.tokens)
    return cues + words


def _first_cue(own: Features) -> str:
    for clause in own.clauses:
        if clause.negations:
            return cue_span(clause)
    return ""
