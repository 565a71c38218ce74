"""Similarity of a text to the originals of memories that have grown, whose own vectors cover the additions too."""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.judging.evidence import Evidence
from wellkept.core.judging.what_to_ask import has_parts
from wellkept.core.records.merge import original
from wellkept.core.records.vectors import cosine
from wellkept.engine.models.embedding import Embeddings, text_of
from wellkept.policy import Policy
from wellkept.types import NewMemory


def with_originals(new: NewMemory, evidence: Evidence, vectors: Embeddings, policy: Policy) -> Evidence:
    """The evidence with the cosines of the originals that the text may refine.

    Raises:
        UnansweredError: An original is not embedded yet.
    """
    found: dict[str, float] = {}
    for hit in evidence.neighbours:
        head = evidence.heads.get(hit.memory.id, hit.memory)
        opinion = evidence.opinions.get(head.id)
        if head.id in found or opinion is None or not has_parts(head, policy):
            continue
        if max(opinion.refines - evidence.bounds.evolve, opinion.repeats - evidence.bounds.skip) < 0:
            continue
        ours = vectors.get(text_of(new))
        theirs = vectors.get(text_of(replace(head, content=original(head), updates=())))
        if ours is None or theirs is None or ours.vector is None or theirs.vector is None:
            continue
        found[head.id] = cosine(ours.vector, theirs.vector)
    return replace(evidence, originals=found) if found else evidence
