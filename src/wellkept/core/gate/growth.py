"""What a text adds to a memory that has grown by additions, each of which is also kept as a wording.

Such a memory is read in parts: its original, and the additions near the text. So the tenth addition is judged like the
first one, beside the original, and not beside a text of ten sentences.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from wellkept.core.differences.find import differences
from wellkept.core.judging.evidence import Evidence, Judged, Moment, in_scope, judged
from wellkept.core.judging.what_to_ask import parted
from wellkept.core.reading.features import features
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.records.merge import original, segments
from wellkept.core.text.forms import search_terms
from wellkept.frozen import frozen
from wellkept.policy.antonyms import Opposites
from wellkept.types import Candidate, Memory, NewMemory

_ADDITIONS = frozenset({"detail", "condition"})


@frozen
class Grown:
    """A memory with additions, compared with the new text part by part.

    Attributes:
        first: Its original; the similarity is the highest of the original, the whole and the parts.
        parts: The additions near the text.
        is_beside: Whether the text adds something that no addition speaks of already.
    """

    first: Judged
    parts: tuple[Judged, ...]
    is_beside: bool


def grown_ones(new: NewMemory, evidence: Evidence, moment: Moment) -> list[Grown]:
    """The memories in scope that have grown and are near the text, most similar first."""
    policy = moment.own
    if "vector" not in policy.stages or policy.repeats == "drop":
        return []
    near: dict[str, list[Candidate]] = {}
    heads: dict[str, Memory] = {}
    for candidate, memory in parted(evidence, moment.policy):
        if memory.status == "active" and in_scope(new, memory, policy) and not is_expired(memory, moment.now):
            heads[memory.id] = memory
            near.setdefault(memory.id, []).append(candidate)
    found = [_grown(new, heads[memory_id], hits, evidence, moment) for memory_id, hits in near.items()]
    return sorted(found, key=lambda one: (-one.first.similarity, one.first.memory.created_at, one.first.memory.id))


def _grown(new: NewMemory, head: Memory, near: list[Candidate], evidence: Evidence, moment: Moment) -> Grown:
    known = [hit.cosine for hit in near if hit.cosine is not None]
    cosine = max(*known, evidence.originals.get(head.id, -1.0)) if known else None
    first = replace(head, content=original(head), updates=(), chunks=0)
    parts = tuple(
        judged(new, hit.memory, replace(hit, memory=head), evidence, moment)
        for hit in near
        if hit.memory.status == "wording"
    )
    told = {*segments(head)[1:], *(hit.memory.content for hit in near if hit.memory.status == "wording")}
    opposites = moment.policy.opposites
    beside = all(_is_beside(new.content, first.content, part, opposites) for part in told)
    return Grown(
        first=judged(new, first, Candidate(head, "vector", cosine), evidence, moment),
        parts=parts,
        is_beside=beside and not any(_is_probable_repeat(part, evidence) for part in parts),
    )


def _is_probable_repeat(part: Judged, evidence: Evidence) -> bool:
    opinion = part.comparison.opinion
    return opinion is not None and opinion.same >= evidence.bounds.link


def _is_beside(new: str, first: str, part: str, opposites: Opposites) -> bool:
    """Whether the text and an addition add different things to the original.

    "... and writes a summary" and "... in a separate process" do. "... with the rights of root" and "... with the
    rights of the user" do not: they share words that the original lacks, and differ in another.
    """
    known = _words(first, opposites)
    ours, theirs = _words(new, opposites) - known, _words(part, opposites) - known
    if ours <= theirs:
        return False  # it says the same, or less
    found = differences(part, new, opposites)
    if any(item.decisive for item in found):
        return False
    return not ours & theirs or all(item.kind in _ADDITIONS for item in found)


def _words(text: str, opposites: Opposites) -> frozenset[str]:
    """The content words; of a script without spaces the search terms, because one sign is not a word."""
    keys = features(text, opposites).keys
    if not any(len(key) == 1 and not key.isascii() for key in keys):
        return keys
    return frozenset(term for term in search_terms(text) if len(term) > 1)


def contradicted_parts(grown: list[Grown]) -> Iterator[Judged]:
    """The parts that the text contradicts by a rule, each as the memory that it stands behind."""
    for one in grown:
        for part in one.parts:
            if part.comparison.relation == "conflict" and part.comparison.reason not in ("", "model"):
                yield part
