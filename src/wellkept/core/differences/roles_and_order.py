"""Differences of roles and order: who does what to whom, and which event comes first.

Names that changed places, another agent in a passive, another preposition, two parts of a clause or two events that
changed places. No role and no order makes a conflict: these differences only forbid to call two texts the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from wellkept.core.differences.alignment import Frame, Pair, span
from wellkept.core.lexicon import Language, in_all_languages
from wellkept.core.reading.events import Course, Order, courses
from wellkept.core.reading.stems import shared_words
from wellkept.core.reading.tokens import Clause, Features, Token
from wellkept.types import Difference

_JOINING_SIGNS = frozenset("&,+/")
_LINKING_SIGNS = frozenset(("/", "&", "=", "=="))
_MAX_BLOCK = 4
"""Most words of a part that changed places."""
_LEAST_SHARED = 2
"""Least number of common words from which two orders are the same."""
_SHARED = 0.5
"""Share of an order's words that must change places."""
Exchanged = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]
"""Two parts that changed places, and the words between them."""


# --------------------------------------------------------------------------------------------
# Names


def role_veto(pair: Pair) -> list[Difference]:
    """ "Ana thanked Bo" and "Bo thanked Ana": each text opens with a name that the other has later.

    A passive ("Bo was thanked by Ana") and an enumeration ("Ana and Bo", "Bo and Ana") are no difference.
    """
    opening = _opening(pair.a), _opening(pair.b)
    if opening[0] is None or opening[1] is None:
        return []
    first, second = opening[0].lower, opening[1].lower
    if first == second:
        return _agent_veto(pair)
    for own, other in ((pair.a, second), (pair.b, first)):
        before = [token.lower for clause in own.clauses for token in clause.tokens]
        at = next((place for place, word in enumerate(before) if word == other), -1)
        named = any(token.lower == other for token in own.names)
        if at < 1 or not named or before[at - 1] in in_all_languages("agents") or at <= 2 and _joins(before[at - 1]):
            return []
    return [Difference("name", opening[0].text, opening[1].text)]


def _joins(word: str) -> bool:
    return word in _JOINING_SIGNS or word in in_all_languages("joining")


def _agent_veto(pair: Pair) -> list[Difference]:
    """ "Ana manages Bo" and "Ana is managed by Bo": the same opening, but only one text has Bo as the agent."""
    agents = [_agents(own) for own in (pair.a, pair.b)]
    for name in sorted(agents[0].keys() ^ agents[1].keys()):  # the order of a set differs between processes
        if name in pair.a.lowers and name in pair.b.lowers:
            return [Difference("name", _agent_text(name, agents[0]), _agent_text(name, agents[1]))]
    return []


def _agents(own: Features) -> dict[str, str]:
    """Names after the preposition of an agent, with that preposition."""
    names = {token.lower for token in own.names}
    found: dict[str, str] = {}
    for clause in own.clauses:
        for before, token in zip(clause.tokens, clause.tokens[1:], strict=False):
            if before.lower in in_all_languages("agents") and token.lower in names:
                found.setdefault(token.lower, before.lower)
    return found


def _agent_text(name: str, agents: Mapping[str, str]) -> str:
    return f"{agents[name]} {name}" if name in agents else name


def _opening(own: Features) -> Token | None:
    """The first word of a text."""
    return next((token for clause in own.clauses for token in clause.tokens), None)


# --------------------------------------------------------------------------------------------
# Prepositions and parts of a clause


def swapped_words(item: Frame) -> list[Difference]:
    """ "from A to B" and "from B to A": the same words, two of them exchanged."""
    a, b = item.a, item.b
    if not item.moved or item.slots or len(a.keys) != len(b.keys) or sorted(a.keys) != sorted(b.keys):
        return []
    apart = [n for n, (x, y) in enumerate(zip(a.keys, b.keys, strict=True)) if x != y]
    general_a = [token.lower for token in a.tokens if not token.content]
    general_b = [token.lower for token in b.tokens if not token.content]
    if len(apart) != 2 or general_a != general_b or not general_a:
        return []
    return [
        Difference("value", span(a.tokens[a.content[n]] for n in apart), span(b.tokens[b.content[n]] for n in apart))
    ]


def changed_preposition(a: Clause, b: Clause, pair: Pair) -> tuple[str, str] | None:
    """ "deployed by Anna" and "deployed for Anna": the same word after another preposition."""
    left, right = _prepositions(a, pair.a.language), _prepositions(b, pair.b.language)
    for key in sorted(left.keys() & right.keys()):
        if left[key] and right[key] and left[key] != right[key]:
            return f"{left[key]} {key}", f"{right[key]} {key}"
    return None


def _prepositions(clause: Clause, language: Language) -> dict[str, str]:
    """The preposition before each content word that occurs once; empty without one."""
    roles, spaced = language.particles.roles, language.grammar.spaced
    counts = Counter(clause.keys)
    found: dict[str, str] = {}
    for key, at in zip(clause.keys, clause.content, strict=True):
        if counts[key] == 1:
            before = clause.tokens[max(0, at - 2) : at]
            near = [token.lower for token in reversed(before)]
            while near and near[0] not in roles and spaced and not before[-1].content and len(near) > 1:
                near = near[1:]
            found[key] = near[0] if near and near[0] in roles else ""
    return found


def swapped_parts(a: Clause, b: Clause, pair: Pair) -> tuple[str, str] | None:
    """ "A depends on B" and "B depends on A", in any script: two parts that changed places."""
    language = pair.a.language
    if a.keys == b.keys and [t.lower for t in a.tokens] == [t.lower for t in b.tokens]:
        return None
    linking = language.blockers | language.articles | _LINKING_SIGNS
    whole_a, whole_b = tuple(t.lower for t in a.tokens), tuple(t.lower for t in b.tokens)
    found = _exchanged(whole_a, whole_b)
    if found and not set(found[2]) <= linking and not _may_move(found, a, b):
        return _swapped_text(found, " " if language.grammar.spaced else "")
    found = _exchanged(a.keys, b.keys)
    if not found or len(a.tokens) != len(b.tokens) or a.conditions != b.conditions:
        return None
    if any(_same_role(key, a, b) for key in (*found[0], *found[1])):
        return None
    return _swapped_text(found, " ")


def _swapped_text(found: Exchanged, glue: str) -> tuple[str, str]:
    first, second, middle = found
    return glue.join((*first, *middle, *second)), glue.join((*second, *middle, *first))


def _may_move(found: Exchanged, a: Clause, b: Clause) -> bool:
    """Whether the parts keep their role in any place: points in time, and nouns whose article shows their case."""
    dated = {t.lower for t in (*a.tokens, *b.tokens) if t.value and t.value.kind in ("date", "time")}
    moved, cased = {*found[0], *found[1]}, in_all_languages("cased_articles")
    return bool(dated & moved) or any(len(block) > 1 and block[0] in cased for block in found[:2])


def _same_role(key: str, a: Clause, b: Clause) -> bool:
    """Whether the word moved together with its article or preposition and its ending."""
    at = a.content[a.keys.index(key)]
    before, form = _context(key, a)
    if a.tokens[at].value is not None:
        return True
    return (before, form) == _context(key, b) and before != "" and before not in in_all_languages("bare_articles")


def _context(key: str, clause: Clause) -> tuple[str, str]:
    """The function word before a content word, and the form of the content word."""
    at = clause.content[clause.keys.index(key)]
    previous = clause.tokens[at - 1] if at else None
    return (previous.lower if previous and not previous.content else ""), clause.tokens[at].lower


def _exchanged(a: Sequence[str], b: Sequence[str]) -> Exchanged | None:
    """X, Y and M where one text has "… X M Y …" and the other "… Y M X …"; M is never empty."""
    if len(a) != len(b) or a == b or Counter(a) != Counter(b):
        return None
    start = next(n for n in range(len(a)) if a[n] != b[n])
    tail = next(n for n in range(len(a)) if a[-1 - n] != b[-1 - n])
    left, right = tuple(a[start : len(a) - tail]), tuple(b[start : len(b) - tail])
    size = len(left)
    for i in range(1, min(_MAX_BLOCK, size - 2) + 1):
        if left[:i] != right[size - i :]:
            continue
        for j in range(1, min(_MAX_BLOCK, size - i - 1) + 1):
            if left[size - j :] == right[:j] and left[i : size - j] == right[j : size - i]:
                return left[:i], left[size - j :], left[i : size - j]
    return None


# --------------------------------------------------------------------------------------------
# Order of events


def order_veto(a: Course, b: Course) -> list[Difference]:
    """ "Run the tests before merging" and "Merge before running the tests": the events changed places.

    Where each text has one order, the event behind the link decides, since the other may be told in other words: "moved
    here before the war", "came to live here after the war".
    """
    for ours, theirs in _nearest_orders(a, b):
        if is_crossed(ours, theirs) or len(a.orders) == len(b.orders) == 1 and _is_other_side(ours, theirs):
            return [Difference("order", ours.link, theirs.link)]
    return []


def _is_other_side(ours: Order, theirs: Order) -> bool:
    """Whether one text tells something before an event and the other text something after it."""
    same = theirs.earlier == ours.later or theirs.later == ours.earlier
    return same and ours.words != theirs.words and not _straight(ours, theirs)


def is_crossed(ours: Order, theirs: Order) -> bool:
    """Whether the earlier event of one order is the later event of the other, and the reverse."""
    both = shared_words(ours.earlier, theirs.later) and shared_words(ours.later, theirs.earlier)
    crossed = _crossed(ours, theirs)
    enough = crossed >= _SHARED * min(ours.weight, theirs.weight)
    return bool(both) and enough and crossed > _straight(ours, theirs)


def agreed_links(pair: Pair) -> frozenset[str]:
    """The links of orders that agree: in "X before Y" and "Y after X" the links are no antonyms."""
    return frozenset(
        word
        for ours, theirs in _nearest_orders(*courses(pair.a.text, pair.b.text))
        if _straight(ours, theirs) >= max(_LEAST_SHARED, _crossed(ours, theirs) + 1)
        for order in (ours, theirs)
        for word in order.words
    )


def _nearest_orders(a: Course, b: Course) -> Iterator[tuple[Order, Order]]:
    """Each order of one text with the order of the other text that shares most words with it."""

    def nearness(ours: Order, theirs: Order) -> tuple[int, int]:
        straight = _straight(ours, theirs)
        return max(straight, _crossed(ours, theirs)), straight

    for ours in a.orders:
        if b.orders:
            yield ours, max(b.orders, key=partial(nearness, ours))


def _straight(a: Order, b: Order) -> int:
    return shared_words(a.earlier, b.earlier) + shared_words(a.later, b.later)


def _crossed(a: Order, b: Order) -> int:
    return shared_words(a.earlier, b.later) + shared_words(a.later, b.earlier)
