"""Which stored memories the relation model is asked about: the few near ones that rules leave open."""

from __future__ import annotations

from wellkept.core.judging.compare import LONG_TEXT, compare
from wellkept.core.judging.evidence import Evidence, Moment, in_scope, is_talk, may_contradict
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.text.forms import canonical
from wellkept.policy import KindPolicy
from wellkept.types import Candidate, Memory, NewMemory

MOST_ASKED = 4
"""Pairs that one write may cost; a fifth neighbour is seldom what the text is about."""
CLOSE_AT = 0.6
FEW_ASKED = 2
"""Below `CLOSE_AT` only the two nearest are worth it: what a text updates is nearly always among them."""
ASK_AT = 0.3
"""Similarity from which a pair may be anything but distinct; of our own cases' contradictions 24 in 25 lie above."""


def questions(new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[Memory, ...]:
    """The memories to be judged by the model, nearest first; at most four.

    Left out is what is decided already: a verbatim repeat, a decisive difference, another subject.
    """
    policy = moment.policy.for_kind(new.kind)
    if policy.on_conflict == "ignore" or len(new.content) > LONG_TEXT:
        return ()
    asked: list[Memory] = []
    for candidate in sorted(evidence.neighbours, key=lambda item: (-(item.cosine or 0.0), item.memory.id)):
        if len(asked) >= _most(candidate, evidence):
            break
        if _is_open(new, candidate, policy, evidence, moment):
            asked.append(candidate.memory)
    return tuple(asked)


def _most(candidate: Candidate, evidence: Evidence) -> int:
    if candidate.cosine is None or evidence.calibration is None:
        return 0
    return MOST_ASKED if evidence.calibration.similarity(candidate.cosine) >= CLOSE_AT else FEW_ASKED


def _is_open(new: NewMemory, candidate: Candidate, policy: KindPolicy, evidence: Evidence, moment: Moment) -> bool:
    memory = candidate.memory
    if memory.status != "active" or is_expired(memory, moment.now) or len(memory.content) > LONG_TEXT:
        return False
    searched = "vector" in policy.stages and in_scope(new, memory, policy)
    if not searched and (is_talk(new, memory) or not may_contradict(new, memory, moment.policy)):
        return False
    if candidate.cosine is None or evidence.calibration is None:
        return False
    similarity = evidence.calibration.similarity(candidate.cosine)
    if similarity < ASK_AT or canonical(new.content) == canonical(memory.content):
        return False
    opposites = moment.policy.opposites
    comparison = compare(new, memory, cosine=candidate.cosine, similarity=similarity, opposites=opposites)
    if comparison.relation == "distinct":
        return False  # another subject was given, or another time
    # What the rules call denied is asked again: "no other than X" denies nothing.
    return all(item.kind == "negation" for item in comparison.differences if item.decisive)
