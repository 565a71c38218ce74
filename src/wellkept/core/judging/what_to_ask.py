"""Selects the near memories that the relation model is asked about: those that the rules leave open."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from wellkept.core.judging.compare import LONG_TEXT, compare
from wellkept.core.judging.evidence import Evidence, Moment, in_scope, is_of_family, is_talk, may_contradict
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.records.merge import original
from wellkept.core.text.forms import canonical
from wellkept.policy import KindPolicy, Policy
from wellkept.types import Candidate, Memory, NewMemory

MOST_ASKED = 4
"""Most pairs per write; a fifth neighbour is rarely relevant."""
CLOSE_AT = 0.6
FEW_ASKED = 2
"""Pairs below `CLOSE_AT`: only the two nearest, because an update nearly always concerns one of them."""
MOST_PARTS = 2
"""Additions read of one memory that has grown, beside its original."""
ASK_AT = 0.3
"""Least similarity to ask; in our own cases 24 of 25 contradictions lie above it."""


def questions(new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[Memory, ...]:
    """Select the memories for the model, nearest first; at most four.

    Decided pairs are excluded: verbatim repeats, decisive differences, other subjects.
    """
    policy = moment.policy.for_kind(new.kind)
    if policy.on_conflict == "ignore" or len(new.content) > LONG_TEXT:
        return ()
    asked: list[Memory] = []
    nearest = sorted(evidence.neighbours, key=lambda item: (-(item.cosine or 0.0), item.memory.id))
    for candidate in _originals_first(nearest, evidence, moment.policy):
        if len(asked) >= _most(candidate, evidence):
            break
        if _is_open(new, candidate, policy, evidence, moment):
            asked.append(candidate.memory)
    return tuple(asked)


def has_parts(memory: Memory, policy: Policy) -> bool:
    """Whether the memory has grown by additions, each of which is also kept as a wording."""
    known = policy.kinds.get(memory.kind) or policy.kinds.get("*")
    return bool(memory.updates) and known is not None and known.repeats == "fold"


def text_to_read(memory: Memory, policy: Policy) -> str:
    """What the model reads of a memory: its text; of one with parts the original, because each part is read itself.

    A model that reads an original with several additions takes the next one for a contradiction.
    """
    return original(memory) if has_parts(memory, policy) else memory.content


def _originals_first(nearest: Iterable[Candidate], evidence: Evidence, policy: Policy) -> Iterator[Candidate]:
    """The candidates; a memory with parts stands before the nearest of them, and at most `MOST_PARTS` follow."""
    parts: dict[str, int] = {}
    for candidate in nearest:
        memory = evidence.heads.get(candidate.memory.id, candidate.memory)
        if not has_parts(memory, policy):
            yield candidate
            continue
        if memory.id not in parts:
            parts[memory.id] = 0
            yield replace(candidate, memory=memory)
        if candidate.memory.status == "wording" and parts[memory.id] < MOST_PARTS:
            parts[memory.id] += 1
            yield candidate


def _most(candidate: Candidate, evidence: Evidence) -> int:
    if candidate.cosine is None or evidence.calibration is None:
        return 0
    return MOST_ASKED if evidence.calibration.similarity(candidate.cosine) >= CLOSE_AT else FEW_ASKED


def _is_open(new: NewMemory, candidate: Candidate, policy: KindPolicy, evidence: Evidence, moment: Moment) -> bool:
    memory = candidate.memory
    head = evidence.heads.get(memory.id, memory)
    if head.status != "active" or is_expired(head, moment.now) or len(memory.content) > LONG_TEXT:
        return False
    searched = "vector" in policy.stages and in_scope(new, memory, policy)
    told = not is_talk(new, memory) and (
        may_contradict(new, memory, moment.policy) or is_of_family(new, memory, moment.policy)
    )
    if not searched and not told:
        return False
    if candidate.cosine is None or evidence.calibration is None:
        return False
    similarity = evidence.calibration.similarity(candidate.cosine)
    if similarity < ASK_AT or canonical(new.content) == canonical(memory.content):
        return False
    opposites = moment.policy.opposites
    comparison = compare(new, memory, cosine=candidate.cosine, similarity=similarity, opposites=opposites)
    if comparison.relation == "distinct":
        return False  # another subject or time was given
    # Negations by rule are asked again: "no other than X" negates nothing.
    return all(item.kind == "negation" for item in comparison.differences if item.decisive)
