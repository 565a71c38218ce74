"""Differences of tense: what is planned, intended, in progress, done or past.

All are vetoes and no conflicts: a plan is no fact yet, and each statement may be true at its time.
"""

from __future__ import annotations

from wellkept.core.differences.alignment import Pair
from wellkept.core.differences.word_sets import share_a_verb, shared_words
from wellkept.core.lexicon import Language
from wellkept.core.reading.events import Course
from wellkept.types import Difference

_SHARED = 0.5
"""Share of common words from which two texts tell of the same event."""


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
        if close and not fact.due and share_a_verb(plan.due, frozenset(fact.done.split()) | fact.finished):
            return [_difference((_some(plan.due), fact.done), swapped=swapped)]
        if close and (words := _progress(plan, fact) or _former_habit(plan, fact)):
            return [_difference(words, swapped=swapped)]
    for earlier, later, swapped in ((a, b, False), (b, a, True)):
        if close and (words := _past_and_present(earlier, later)):
            return [_difference(words, swapped=swapped)]
    return []


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
    """ "Kim wants to move" and "Kim has moved": only one text states an intention."""
    if bool(a.intended) == bool(b.intended) or not pair.a.keys & pair.b.keys:
        return []
    return [Difference("time", " ".join(a.intended[:3]), " ".join(b.intended[:3]))]


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
