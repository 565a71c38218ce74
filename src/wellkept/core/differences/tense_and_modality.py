"""Differences of tense and modality: what is planned, intended, in progress, done or past; what must, may or can be.

Modality includes quantifiers, bounds, pronouns, operators, questions, and the word that "only" limits. All are vetoes
and no conflicts: a plan is no fact yet, and each statement may be true at its time.
"""

from __future__ import annotations

from wellkept.core.differences.alignment import Frame, Pair
from wellkept.core.differences.function_words import meanings_of
from wellkept.core.lexicon import Language, lexicon
from wellkept.core.reading.chat_turns import asks, reported_question
from wellkept.core.reading.events import Course, Limit, courses
from wellkept.core.reading.stems import PREFIX, share_a_verb, shared_words
from wellkept.core.reading.tokens import Clause
from wellkept.types import Difference

_SHARED = 0.5
"""Share of common words from which two texts are about the same event."""
_NEARLY_ALL = 0.7
"""Share of common words from which the places of "only" are compared."""


# --------------------------------------------------------------------------------------------
# Tense


def tense_veto(pair: Pair, a: Course, b: Course) -> list[Difference]:
    """A plan against a fact, or an intention that only one text states."""
    return _plan_veto(a, b) or _intention_veto(pair, a, b)


def _plan_veto(a: Course, b: Course) -> list[Difference]:
    """ "We will migrate" and "We have migrated", or "We migrate": a plan is no fact yet."""
    shared, least, most = shared_words(a.keys, b.keys), min(len(a.keys), len(b.keys)), max(len(a.keys), len(b.keys))
    if shared < _SHARED * max(1, least):
        return []
    close = shared >= _SHARED * most
    for plan, fact, swapped in ((a, b, False), (b, a, True)):
        if fact.future or fact.intended:
            continue
        is_fact = fact.done or (fact.being and plan.planned_state and not plan.planned)
        same_verb = share_a_verb(plan.planned, fact.words) and (close or fact.done)
        if plan.future and (same_verb or (is_fact and close)):
            return [_difference((", ".join(plan.future[:2]), fact.done), swapped=swapped)]
        if close and not fact.due and share_a_verb(plan.due, _done(fact)):
            return [_difference((_some(plan.due), fact.done), swapped=swapped)]
        if close and (words := _progress(plan, fact) or _former_habit(plan, fact)):
            return [_difference(words, swapped=swapped)]
    for earlier, later, swapped in ((a, b, False), (b, a, True)):
        if close and (words := _past_and_present(earlier, later)):
            return [_difference(words, swapped=swapped)]
    return []


def told_as_done(old: str, new: str) -> Difference | None:
    """The difference by which the newer text tells as done what the older plans; None where it does not.

    In languages with spaces both must have the same verb.

    Example:
        >>> told_as_done("We will migrate to Postgres.", "We have migrated to Postgres.")
        Difference(kind='time', old='will', new='have migrated', decisive=False, sure=False)
        >>> told_as_done("We have migrated to Postgres.", "We will migrate to Postgres.") is None
        True
    """
    plan, deed = courses(old, new)
    if deed.future or deed.intended or not (deed.done or deed.finished):
        return None
    if deed.words and not share_a_verb(plan.words | plan.planned, _done(deed)):
        return None
    if plan.future:
        return next(iter(_plan_veto(plan, deed)), None)
    return _intention(plan, deed) if plan.intended else None


def tells_of_another_time(old: str, new: str) -> bool:
    """Whether one of two texts tells what used to be, or the newer what is only wished.

    Example:
        >>> tells_of_another_time("We use tabs rather than spaces.", "We used to use spaces rather than tabs.")
        True
    """
    ours, theirs = courses(old, new)
    return bool(ours.former or theirs.former or theirs.intended)


def turns_to_the_past(old: str, new: str) -> bool:
    """Whether the newer of two texts tells of the past, and the older does not.

    Example:
        >>> turns_to_the_past("Kim takes tea.", "Kim took coffee rather than tea.")
        True
    """
    ours, theirs = courses(old, new)
    return bool(theirs.past and not ours.past)


def _progress(running: Course, finished: Course) -> tuple[str, str] | None:
    """ "We are migrating" and "We have migrated"; in languages with spaces both must have the same verb."""
    if not running.running or finished.running or running.done:
        return None
    if not (finished.finished or not finished.words and finished.done):
        return None
    if running.words and not share_a_verb(running.running, finished.finished):
        return None
    return _some(running.running), finished.done


def _former_habit(former: Course, current: Course) -> tuple[str, str] | None:
    """ "We used to deploy by hand" and "We deploy by hand"."""
    if not former.former or current.former or current.finished or current.stopped:
        return None
    return (_some(former.former), "") if share_a_verb(former.former, current.words) else None


def _past_and_present(earlier: Course, later: Course) -> tuple[str, str] | None:
    """The verbs, where one text is in the past and the other in the present or future, and the verb forms show it."""
    past, now = earlier.past - later.words, later.now - earlier.words
    if not past or not now or earlier.now - later.words or later.past - earlier.words:
        return None
    only_verbs = bool(earlier.words) and earlier.words - later.words == past and later.words - earlier.words == now
    return (_some(past), _some(now)) if only_verbs or shared_words(past, now) else None


def _intention_veto(pair: Pair, a: Course, b: Course) -> list[Difference]:
    """ "Kim wants to move" and "Kim has moved": only one text states an intention, and the other may tell it as fact.

    It may where it has half of the words of either, or a finished verb of the intention. Only the sentences that state
    the intention count: one that is mentioned in passing forbids nothing.
    """
    if bool(a.intended) == bool(b.intended) or not pair.a.keys & pair.b.keys:
        return []
    plan, fact = (a, b) if a.intended else (b, a)
    shared, least = shared_words(plan.wished, fact.keys), min(len(plan.wished), len(fact.keys))
    told = shared >= _SHARED * max(1, least) or share_a_verb(plan.wished, fact.finished)
    return [_intention(a, b)] if told or not fact.words else []


def _intention(a: Course, b: Course) -> Difference:
    return Difference("time", " ".join(a.intended[:3]), " ".join(b.intended[:3]))


def _done(fact: Course) -> frozenset[str]:
    return frozenset(fact.done.split()) | fact.finished


def _some(words: frozenset[str]) -> str:
    return " ".join(sorted(words)[:2])


def _difference(words: tuple[str, str], *, swapped: bool) -> Difference:
    return Difference("time", *(words[::-1] if swapped else words))


def one_verb_veto(pair: Pair) -> list[Difference]:
    """Texts equal but for the tense of one verb: "She was the lead" and "She is the lead"."""
    texts = [[token.lower for clause in own.clauses for token in clause.tokens] for own in (pair.a, pair.b)]
    if len(texts[0]) != len(texts[1]):
        return []
    changed = [(a, b) for a, b in zip(*texts, strict=True) if a != b]
    if len(changed) != 1:
        return []
    for language in (pair.a.language, pair.b.language):
        if any(_is_past_of(*words, language) for words in (changed[0], changed[0][::-1])):
            return [Difference("time", *changed[0])]
    return []


def _is_past_of(past: str, present: str, language: Language) -> bool:
    """Whether one word is the past form of the other: "was" of "is", "wanted" of "want", "used" of "use"."""
    ends = {ending for whole in language.past_endings for ending in (whole, whole[1:])}
    return present in language.events.was.get(past, ()) or past in {present + ending for ending in ends}


def says_was(item: Frame, language: Language) -> bool:
    """Whether a clause has a past form of "to be"."""
    return any(token.lower in language.was for clause in (item.a, item.b) for token in clause.tokens)


def is_past_event(item: Frame, language: Language) -> bool:
    """Whether a clause reports a past event, which can happen again with another value."""
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


def is_past_clause(clause: Clause, language: Language) -> bool:
    """Whether an auxiliary puts a clause in the past; what was so may no longer be so."""
    auxiliaries = tuple(language.past_auxiliaries)
    return any(cue.startswith(auxiliaries) for _, cue in clause.negations) or any(
        token.lower in language.past_auxiliaries for token in clause.tokens
    )


# --------------------------------------------------------------------------------------------
# Modality


def changed_question(pair: Pair) -> tuple[str, str] | None:
    """One text asks, or reports a question, and the other states."""
    a, b = asks(pair.a.text), asks(pair.b.text)
    if a != b:
        return ("?", ".") if a else (".", "?")
    open_a, open_b = reported_question(pair.a.text), reported_question(pair.b.text)
    return None if bool(open_a) == bool(open_b) else (open_a, open_b)


def changed_meaning(a: Clause, b: Clause, pair: Pair) -> tuple[str, str] | None:
    """Function words of one group with other meanings: "must" and "may", "at least" and "at most", "he" and "she"."""
    implied = lexicon().implied
    left, right = meanings_of(a, pair.a.language), meanings_of(b, pair.b.language)
    for group in sorted({group for group, _ in (*left, *right)}):
        ours = {meaning: text for (g, meaning), text in left.items() if g == group}
        theirs = {meaning: text for (g, meaning), text in right.items() if g == group}
        if ours.keys() == theirs.keys():
            continue
        replaced = bool(ours) and bool(theirs)
        if replaced or not (ours.keys() | theirs.keys()) <= implied:
            return ", ".join(ours.values()), ", ".join(theirs.values())
    return None


# --------------------------------------------------------------------------------------------
# Scope of "only"


def scope_veto(a: Course, b: Course) -> list[Difference]:
    """ "Only admins can delete projects" and "Admins can only delete projects": "only" limits another word."""
    x, y = a.limit, b.limit
    if x is None or y is None:
        return []
    ours, theirs = frozenset(x.keys), frozenset(y.keys)
    if shared_words(ours, theirs) < _NEARLY_ALL * max(len(ours), len(theirs)):
        return []
    same_focus = x.focus[:PREFIX] == y.focus[:PREFIX]
    agree = x.link == y.link if same_focus else _reaches(x, y) or _reaches(y, x)
    return [] if agree else [Difference("scope", _text(x), _text(y))]


def _reaches(limit: Limit, other: Limit) -> bool:
    """Whether the one "only" may limit the focus of the other: "Only deploy on Fridays", "Deploy only on Fridays"."""
    return limit.loose and any(key[:PREFIX] == other.focus[:PREFIX] for key in limit.keys[limit.at :])


def _text(limit: Limit) -> str:
    return " ".join(filter(None, (limit.word, limit.link, limit.limited)))
