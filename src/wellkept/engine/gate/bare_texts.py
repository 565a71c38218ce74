"""Similarity of two texts without what their vectors cover beside the text: titles and additions.

Different titles must not hide a duplicate. If they differ, both texts are embedded again without them, but only for a
likely duplicate, or when the rules see a contradiction. Of a memory that has grown by additions, the original is
embedded again.
"""

from __future__ import annotations

from dataclasses import replace

from wellkept.core.judging.compare import compare
from wellkept.core.judging.evidence import Evidence
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.judging.what_to_ask import parted
from wellkept.core.records.merge import original
from wellkept.core.records.vectors import cosine
from wellkept.core.text.same_words import in_same_words
from wellkept.engine.models.embedding import Embeddings, text_of
from wellkept.policy import Policy
from wellkept.policy.antonyms import Opposites
from wellkept.types import Candidate, NewMemory, Opinion, Relation, Statement


def with_bare_texts(new: NewMemory, evidence: Evidence, vectors: Embeddings, opposites: Opposites) -> Evidence:
    """The evidence with the similarity of the bare texts for duplicates and contradictions under different titles.

    Raises:
        UnansweredError: A text is not embedded yet.
    """
    near = tuple(
        replace(hit, cosine=nearer(hit.cosine, new, hit.memory, vectors))
        if _matters(new, hit, evidence, opposites)
        else hit
        for hit in evidence.neighbours
    )
    return replace(evidence, neighbours=near)


def with_originals(new: NewMemory, evidence: Evidence, vectors: Embeddings, policy: Policy) -> Evidence:
    """The evidence with the cosines of the originals that the text may refine.

    Raises:
        UnansweredError: An original is not embedded yet.
    """
    found: dict[str, float] = {}
    for head in {head.id: head for _, head in parted(evidence, policy)}.values():
        opinion = evidence.opinions.get(head.id)
        if opinion is None or opinion.refines < evidence.bounds.evolve and opinion.repeats < evidence.bounds.skip:
            continue
        ours, theirs = (
            vectors.get(text_of(new)),
            vectors.get(text_of(replace(head, content=original(head), updates=()))),
        )
        if ours is not None and theirs is not None and ours.vector is not None and theirs.vector is not None:
            found[head.id] = cosine(ours.vector, theirs.vector)
    return replace(evidence, originals=found) if found else evidence


def is_worth_it(new: Statement, old: Statement, relation: Relation, opinion: Opinion | None, bounds: Bounds) -> bool:
    """Whether the titles differ and it matters; `relation` is the comparison's result so far."""
    if not _are_unlike(new, old):
        return False
    return relation == "conflict" or (opinion is not None and opinion.repeats >= bounds.link)


def bare(*rows: Statement) -> list[str]:
    """The texts to be embedded, without titles."""
    return [text_of(replace(row, title="")) for row in rows]


def nearer(known: float | None, one: Statement, other: Statement, vectors: Embeddings) -> float | None:
    """The cosine of the bare texts where it is higher; the known one where the embedder failed.

    Raises:
        UnansweredError: A text is not embedded yet.
    """
    ours, theirs = (vectors.get(text) for text in bare(one, other))
    if known is None or ours is None or theirs is None or ours.vector is None or theirs.vector is None:
        return known
    return max(known, cosine(ours.vector, theirs.vector))


def _matters(new: NewMemory, hit: Candidate, evidence: Evidence, opposites: Opposites) -> bool:
    if not _are_unlike(new, hit.memory):
        return False
    opinion = evidence.opinions.get(hit.memory.id)
    told = compare(new, hit.memory, cosine=hit.cosine, similarity=None, opinion=opinion, opposites=opposites)
    return is_worth_it(new, hit.memory, told.relation, opinion, evidence.bounds)


def _are_unlike(new: Statement, old: Statement) -> bool:
    return new.title != old.title and not in_same_words(new.title, old.title)
