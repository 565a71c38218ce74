"""Who does what to whom: names in each other's place, and who acts in a passive."""

from __future__ import annotations

from wellkept.core.lexicon import in_all_languages
from wellkept.core.reading.alignment import Frame, Pair, span
from wellkept.core.reading.tokens import Features, Token
from wellkept.types import Difference

_JOINING_SIGNS = frozenset("&,+/")


def roles_veto(pair: Pair) -> list[Difference]:
    """ "Ana thanked Bo" and "Bo thanked Ana": each opens with a name the other has later, so somebody else acts.

    A passive ("Bo was thanked by Ana") and a pair ("Ana and Bo", "Bo and Ana") say the same.
    """
    opening = _opening(pair.a), _opening(pair.b)
    if opening[0] is None or opening[1] is None:
        return []
    first, second = opening[0].lower, opening[1].lower
    if first == second:
        return _voice_veto(pair)
    for own, other in ((pair.a, second), (pair.b, first)):
        before = [token.lower for clause in own.clauses for token in clause.tokens]
        at = next((place for place, word in enumerate(before) if word == other), -1)
        named = any(token.lower == other for token in own.names)
        if at < 1 or not named or before[at - 1] in in_all_languages("agents") or at <= 2 and _joins(before[at - 1]):
            return []
    return [Difference("name", opening[0].text, opening[1].text)]


def _joins(word: str) -> bool:
    return word in _JOINING_SIGNS or word in in_all_languages("joining")


def _voice_veto(pair: Pair) -> list[Difference]:
    """ "Ana manages Bo" and "Ana is managed by Bo": the same opening, but only one of them names Bo as who acts."""
    agents = [_agents(own) for own in (pair.a, pair.b)]
    for name in sorted(agents[0] ^ agents[1]):  # a set has another order in each process
        if name in pair.a.lowers and name in pair.b.lowers:
            return [Difference("name", _voiced(name, agents[0]), _voiced(name, agents[1]))]
    return []


def _agents(own: Features) -> frozenset[str]:
    names = {token.lower for token in own.names}
    found, agents = set(), in_all_languages("agents")
    for clause in own.clauses:
        for before, token in zip(clause.tokens, clause.tokens[1:], strict=False):
            if before.lower in agents and token.lower in names:
                found.add(token.lower)
    return frozenset(found)


def _voiced(name: str, agents: frozenset[str]) -> str:
    return f"by {name}" if name in agents else name


def _opening(own: Features) -> Token | None:
    """The word a text opens with."""
    return next((token for clause in own.clauses for token in clause.tokens), None)


def swapped_roles(item: Frame) -> list[Difference]:
    """ "from A to B" and "from B to A": the same words, two of them in each other's place."""
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
