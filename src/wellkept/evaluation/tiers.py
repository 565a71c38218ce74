"""Cosine tiers of other tools as policies: the result of a store that trusts similarity alone.

They are simulated as pure functions of texts and similarity, and scored with the same metrics. They show the difference
between "similar" and "the same".
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeAlias

from wellkept.core.judging.risk_bounds import Bounds
from wellkept.evaluation.outcome import Seen
from wellkept.frozen import frozen
from wellkept.types import Opinion, Relation

_WORD = re.compile(r"[\w']+")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_CONFLICT_NEGATIONS = frozenset(
    ("not", "never", "no", "don't", "doesn't", "won't", "shouldn't", "can't", "without", "avoid")
)
_MERGE_NEGATIONS = ("not", "never", "avoid", "cannot", "won't")  # "do not" is in "not"


@frozen
class Alike:
    """Input of a tier: two texts, their similarity, and whether both have the same given subject."""

    old: str
    new: str
    similarity: float
    one_subject: bool = False


Tier: TypeAlias = Callable[[Alike], Seen]


def insight(pair: Alike) -> Seen:
    """From .95 a duplicate, dropped; from .90 stored and linked.

    Example:
        >>> insight(Alike("a", "b", 0.95)).kept, insight(Alike("a", "b", 0.9499)).kept
        ('lost', 'stored')
    """
    if pair.similarity >= 0.95:
        return _dropped("same", pair)
    if pair.similarity >= 0.90:
        return replace(_stored("variant", pair), repeat_flagged=True)
    return _stored("distinct", pair)


def consolidation(pair: Alike) -> Seen:
    """From .95 merged: the newest wins, the older is archived.

    A negation in only one text, or different numbers, flag a contradiction; the published code still merges.
    """
    if pair.similarity < 0.95:
        return _stored("distinct", pair)
    contradicts = _has_merge_negation(pair.old) != _has_merge_negation(pair.new) or _numbers(pair.old) != _numbers(
        pair.new
    )
    merged = _stored("conflict" if contradicts else "same", pair)
    return replace(merged, outcome="superseded", active=1, hidden="other")


def conflicts(pair: Alike) -> Seen:
    """Under `supersede`: from .80 with an additional negation the newer supersedes; else from .95 merged.

    Under `warn`, the default, nothing is merged; the thresholds apply under `supersede` only.
    """
    if pair.similarity >= 0.80 and _parity(pair.old) != _parity(pair.new):
        return _superseding(pair)
    return _dropped("same", pair) if pair.similarity >= 0.95 else _stored("distinct", pair)


def facts(pair: Alike) -> Seen:
    """The same subject supersedes; without a subject .95 is a duplicate and above .85 a contradiction.

    A contradiction is flagged and both stay; .95 is the duplicate threshold of the preset.
    """
    if pair.one_subject:
        return _superseding(pair)
    if pair.similarity >= 0.95:
        return _dropped("same", pair)
    return _stored("conflict" if pair.similarity > 0.85 else "distinct", pair)


def evolution(pair: Alike) -> Seen:
    """Equal up to case, spaces and punctuation, or above .88: skipped; from .65 appended; else created.

    Example:
        >>> [evolution(Alike("a", "b", at)).outcome for at in (0.8801, 0.88, 0.65, 0.6499)]
        ['duplicate', 'evolved', 'evolved', 'created']
    """
    if _bare(pair.old) == _bare(pair.new) or pair.similarity > 0.88:
        return _dropped("same", pair)
    if pair.similarity >= 0.65:
        return replace(_stored("refines", pair), outcome="evolved", kept="evolved", active=1)
    return _stored("distinct", pair)


def model_alone(pair: Alike, opinion: Opinion | None, bounds: Bounds) -> Seen:
    """The relation model without rules: its most probable relation; duplicates are dropped from its bound on.

    Example:
        >>> from wellkept.core.judging.risk_bounds import NEVER
        >>> model_alone(Alike("a", "b", 0.9), None, NEVER).relation
        'distinct'
    """
    if opinion is None:
        return _stored("distinct", pair)
    relation: Relation = max(("same", "refines", "generalises", "conflict", "distinct"), key=opinion.of)
    repeats = relation in ("same", "generalises") and opinion.repeats >= bounds.skip
    seen = _dropped(relation, pair) if repeats else _stored(relation, pair)
    return replace(seen, confidence=opinion.of(relation), same=opinion.same, model=opinion.model)


TIERS: Mapping[str, Tier] = {
    "insight .95 .90": insight,
    "consolidation .98 .95": consolidation,
    "conflicts .95 .80": conflicts,
    "facts .95 .85": facts,
    "evolution .88 .65": evolution,
}
"""The tiers by their names in the table."""

LEGEND = (
    "Names with two numbers are thresholds of five other tools, raw: on the cosine, scaled: on the published scale. "
    "insight drops, links; consolidation merges, the newest wins; conflicts merges, or supersedes where a negation "
    "was added; facts drops, or reports a conflict; evolution drops, appends."
)
"""Explanation of the names."""


def _stored(relation: Relation, pair: Alike) -> Seen:
    return Seen(
        relation=relation, outcome="created", kept="stored", active=2, holds_new=True, similarity=pair.similarity
    )


def _dropped(relation: Relation, pair: Alike) -> Seen:
    return Seen(
        relation=relation, outcome="duplicate", kept="lost", active=1, holds_new=False, similarity=pair.similarity
    )


def _superseding(pair: Alike) -> Seen:
    return replace(_stored("conflict", pair), outcome="superseded", active=1, hidden="conflict")


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower().replace("’", "'"))


def _parity(text: str) -> int:
    return sum(word in _CONFLICT_NEGATIONS for word in _words(text)) % 2


def _has_merge_negation(text: str) -> bool:
    return any(word in _MERGE_NEGATIONS for word in _words(text))


def _numbers(text: str) -> list[str]:
    return sorted(_NUMBER.findall(text))


def _bare(text: str) -> str:
    return " ".join(re.sub(r"[.,;:!?'\"]", "", text.lower()).split())
