"""Differences in the course of things: another order, a plan for a deed, another place of "only".

Each is a veto and no conflict: it forbids to call two texts the same, and says nothing of which is right.
"""

from __future__ import annotations

from collections.abc import Iterator

from wellkept.core.lexicon import Language
from wellkept.core.reading.alignment import Pair
from wellkept.core.reading.events import Course, Limit, Order, courses
from wellkept.types import Difference

_PREFIX = 4
_ENOUGH = 2
_SHARED = 0.5
_NEARLY_ALL = 0.7


def course_vetoes(pair: Pair) -> list[Difference]:
    """What forbids to call two texts the same because of when things happen, or of what "only" limits."""
    a, b = courses(pair.a.text, pair.b.text)
    return [*_order_veto(a, b), *(_plan_veto(a, b) or _intent_veto(pair, a, b)), *_limit_veto(a, b)]


# --------------------------------------------------------------------------------------------
# Order


def _order_veto(a: Course, b: Course) -> list[Difference]:
    """ "Run the tests before merging", "Merge before running the tests": each event in the other's place."""
    for ours, theirs, straight, crossed in _matched(a, b):
        both = _common(ours.earlier, theirs.later) and _common(ours.later, theirs.earlier)
        if both and crossed > straight and crossed >= _SHARED * min(ours.weight, theirs.weight):
            return [Difference("order", ours.link, theirs.link)]
    return _condition_veto(a, b)


def _condition_veto(a: Course, b: Course) -> list[Difference]:
    """ "Close the issue when the patch is merged", "Merge the patch when it is closed".

    "Merge only when the tests pass" and "When you merge, the tests must pass" are left to the model.
    """
    for ours in a.conditions:
        for theirs in b.conditions:
            both = _common(ours.earlier, theirs.later) and _common(ours.later, theirs.earlier)
            alike = ours.words == theirs.words and bool(a.limit) == bool(b.limit)
            crossed = _crossed(ours, theirs)
            if both and alike and crossed > _straight(ours, theirs):
                if crossed >= _SHARED * min(ours.weight, theirs.weight):
                    return [Difference("order", ours.link, theirs.link)]
    return []


def agreed_links(pair: Pair) -> frozenset[str]:
    """The words that tell one and the same order: "X before Y" and "Y after X" are no opposites."""
    return frozenset(
        word
        for ours, theirs, straight, crossed in _matched(*courses(pair.a.text, pair.b.text))
        if straight > crossed and straight >= _ENOUGH
        for order in (ours, theirs)
        for word in order.words
    )


def _matched(a: Course, b: Course) -> Iterator[tuple[Order, Order, int, int]]:
    """Each order of one text with its likest of the other: what they share as they stand, and turned round."""
    for ours in a.orders:
        both = [(_straight(ours, theirs), _crossed(ours, theirs), theirs) for theirs in b.orders]
        if both:
            straight, crossed, theirs = max(both, key=lambda found: (max(found[:2]), found[0]))
            yield ours, theirs, straight, crossed


def _straight(a: Order, b: Order) -> int:
    return _common(a.earlier, b.earlier) + _common(a.later, b.later)


def _crossed(a: Order, b: Order) -> int:
    return _common(a.earlier, b.later) + _common(a.later, b.earlier)


def _common(a: frozenset[str], b: frozenset[str]) -> int:
    """How many words two sets share; forms of one word may differ behind their first letters."""
    return len(a & b) + len(_heads(a - b) & _heads(b - a))


def _heads(keys: frozenset[str]) -> frozenset[str]:
    return frozenset(key[:_PREFIX] for key in keys if len(key) >= _PREFIX)


# --------------------------------------------------------------------------------------------
# Plans and deeds


def _plan_veto(a: Course, b: Course) -> list[Difference]:
    """ "We will migrate" and "We have migrated", or "We migrate": what is to come is no fact yet."""
    shared, least, most = _common(a.keys, b.keys), min(len(a.keys), len(b.keys)), max(len(a.keys), len(b.keys))
    if shared < _SHARED * max(1, least):
        return []
    for plan, other, turned in ((a, b, False), (b, a, True)):
        if other.future or other.intended:
            continue
        verbs = plan.planned - {"be"}
        is_fact = other.done or (other.being and bool(plan.planned) and not verbs)
        close = shared >= _SHARED * most
        by_verb = _tells_of(verbs, other.words) and (close or other.done)
        if plan.future and (by_verb or (is_fact and close)):
            return [_of_time((", ".join(plan.future[:2]), other.done), turned=turned)]
        if close and not other.due and _tells_of(plan.due, frozenset(other.done.split()) | other.finished):
            return [_of_time((" ".join(sorted(plan.due)[:2]), other.done), turned=turned)]
        if close and (told := _goes_on(plan, other) or _once(plan, other)):
            return [_of_time(told, turned=turned)]
    for earlier, later, turned in ((a, b, False), (b, a, True)):
        if shared >= _SHARED * most and (told := _in_the_past(earlier, later)):
            return [_of_time(told, turned=turned)]
    return []


def _goes_on(now: Course, other: Course) -> tuple[str, str] | None:
    """ "We are migrating" and "We have migrated": what goes on is not done; by its verb where words stand apart."""
    if not now.running or other.running or now.done or not (other.finished or not other.words and other.done):
        return None
    if now.words and not _tells_of(now.running, other.finished):
        return None
    return " ".join(sorted(now.running)[:2]), other.done


def _once(then: Course, other: Course) -> tuple[str, str] | None:
    """ "We used to deploy by hand" and "We deploy by hand": what somebody did once is not what they do."""
    if not then.former or other.former or other.finished or other.stopped or not _tells_of(then.former, other.words):
        return None
    return " ".join(sorted(then.former)[:2]), ""


def _tells_of(verbs: frozenset[str], words: frozenset[str]) -> bool:
    return bool(_heads(verbs) & _heads(words) or verbs & words)


def _of_time(told: tuple[str, str], *, turned: bool) -> Difference:
    return Difference("time", *(told[::-1] if turned else told))


def _in_the_past(earlier: Course, later: Course) -> tuple[str, str] | None:
    """The verbs, where one text reports and the other tells what is or will be, and a language's verbs show it."""
    past, now = earlier.past - later.words, later.now - earlier.words
    if not past or not now or earlier.now - later.words or later.past - earlier.words:
        return None
    alone = bool(earlier.words) and earlier.words - later.words == past and later.words - earlier.words == now
    if not alone and not _common(past, now):
        return None
    return " ".join(sorted(past)[:2]), " ".join(sorted(now)[:2])


def _intent_veto(pair: Pair, a: Course, b: Course) -> list[Difference]:
    """ "Kim wants to move" and "Kim has moved": what one text intends is done, or not spoken of, in the other."""
    if bool(a.intended) == bool(b.intended) or not pair.a.keys & pair.b.keys:
        return []
    return [Difference("time", " ".join(a.intended[:3]), " ".join(b.intended[:3]))]


def is_past_of(past: str, present: str, language: Language) -> bool:
    """Whether one word is the other in the past: "was" of "is", "wanted" of "want", "used" of "use"."""
    ends = {ending for whole in language.past_endings for ending in (whole, whole[1:])}
    return present in language.events.was.get(past, ()) or past in {present + ending for ending in ends}


# --------------------------------------------------------------------------------------------
# Limits


def _limit_veto(a: Course, b: Course) -> list[Difference]:
    """ "Only admins can delete projects" and "Admins can only delete projects": "only" limits another word."""
    x, y = a.limit, b.limit
    if x is None or y is None:
        return []
    ours, theirs = frozenset(x.keys), frozenset(y.keys)
    if _common(ours, theirs) < _NEARLY_ALL * max(len(ours), len(theirs)):
        return []
    if x.focus[:_PREFIX] == y.focus[:_PREFIX]:
        moved = x.link != y.link
    else:
        moved = not (_reaches(x, y) or _reaches(y, x))
    if not moved:
        return []
    return [Difference("scope", _limited(x), _limited(y))]


def _reaches(limit: Limit, other: Limit) -> bool:
    """ "Only deploy on Fridays" may limit the day, as "Deploy only on Fridays" does."""
    return limit.loose and any(key[:_PREFIX] == other.focus[:_PREFIX] for key in limit.keys[limit.at :])


def _limited(limit: Limit) -> str:
    return " ".join(filter(None, (limit.word, limit.link, limit.beside)))
