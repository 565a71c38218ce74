"""What happened to a text, from the store's content and the write result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Literal, TypeAlias

from wellkept.core.text.forms import excerpt, search_terms
from wellkept.frozen import frozen
from wellkept.types import Conflict, Difference, Match, Memory, Relation, WriteResult

Kept: TypeAlias = Literal["stored", "evolved", "flagged", "lost"]
Hidden: TypeAlias = Literal["", "conflict", "other"]

_QUOTED = 200


@frozen(kw_only=True)
class Seen:
    """The effect of the second text of a pair.

    Attributes:
        relation: The judged relation to the first text; `none` without a match.
        outcome: The outcome; `refused` where a conflict was raised.
        kept: Where the new text is: a separate row, in the text of an updated row, in an open conflict, or lost (the
            journal does not count).
        active: Number of active rows.
        holds_new: Whether one of them contains the new text.
        hidden: Why the first row is no longer active: by a conflict, or otherwise (merge, refinement, same subject).
        repeat_flagged: Whether the two are linked, or listed as a possible duplicate.
        confidence: The relation model's probability of the relation; None where it did not decide.
        same: Its P(*same*); 1 for equal texts, None where rules exclude a duplicate.
        model: The model's version; empty if it was not asked.
    """

    relation: Relation
    outcome: str
    kept: Kept
    active: int
    holds_new: bool
    hidden: Hidden = ""
    repeat_flagged: bool = False
    confidence: float | None = None
    same: float | None = None
    model: str = ""
    similarity: float | None = None
    reasons: tuple[str, ...] = ()
    differences: tuple[Difference, ...] = ()
    degraded: tuple[str, ...] = ()


@frozen(kw_only=True)
class Change:
    """A namespace before and after one write.

    Attributes:
        text: The written text.
        result: The write result; None where a conflict was raised.
        before: Rows of any status by id, before.
        after: Rows of any status by id, after.
        conflicts: Open conflicts afterwards.
    """

    text: str
    result: WriteResult | None
    before: Mapping[str, Memory]
    after: Mapping[str, Memory]
    conflicts: tuple[Conflict, ...] = ()

    @property
    def own(self) -> Memory | None:
        """The new row of the text, perhaps a wording of another; None if it was not stored."""
        memory = self.result.memory if self.result is not None else None
        if memory is None:
            return None
        if memory.id not in self.before:
            return self.after.get(memory.id)
        return next((row for row in self.after.values() if row.id not in self.before), None)

    @property
    def grown(self) -> Memory | None:
        """The active row that the write updated with the text."""
        for row in self.after.values():
            earlier = self.before.get(row.id)
            if row.status == "active" and earlier is not None and earlier.content != row.content:
                if holds(row.content, self.text):
                    return row
        return None

    @property
    def kept(self) -> Kept:
        """Where the text is now; a wording of a memory that took its text is a part of that memory."""
        own = self.own
        if own is not None and (own.status != "wording" or self.grown is None):
            return "stored"
        if self.grown is not None:
            return "evolved"
        return "flagged" if self._is_flagged() else "lost"

    @property
    def model(self) -> str:
        """Version of the relation model, if it gave an opinion on a match; else empty."""
        matches = self.result.matches if self.result is not None else ()
        return next((match.opinion.model for match in matches if match.opinion is not None), "")

    def hidden(self) -> tuple[Memory, ...]:
        """Rows that the write made inactive, in their earlier state."""
        return tuple(row for row in self.before.values() if row.status == "active" and self._status(row.id) != "active")

    def _status(self, memory_id: str) -> str:
        row = self.after.get(memory_id)
        return row.status if row is not None else "gone"

    def _is_flagged(self) -> bool:
        if self.result is None:
            return True  # refused before any write: the error names the conflict
        ids = {self.result.dropped} - {""}
        quoted = excerpt(self.text, _QUOTED)
        return any(ids & {item.a, item.b} or quoted in (item.excerpt_a, item.excerpt_b) for item in self.conflicts)


def holds(text: str, part: str) -> bool:
    """Whether a text contains another one, exactly or by all its words.

    Example:
        >>> holds("The fair is in May. [2026-03-01] It is in the town hall.", "It is in the  town hall.")
        True
        >>> holds("The fair is in May.", "The fair is in June.")
        False
    """
    if " ".join(part.split()) in " ".join(text.split()):
        return True
    terms = set(search_terms(part))
    return bool(terms) and terms <= set(search_terms(text))


def seen(change: Change, *, old_id: str) -> Seen:
    """The effect of the second text of a pair.

    Args:
        change: The namespace around the second write.
        old_id: Id of the first memory; empty if it was not stored.
    """
    result = change.result
    match = _match(result.matches, old_id) if result is not None else None
    active = [row for row in change.after.values() if row.status == "active"]
    own, grown = change.own, change.grown
    return Seen(
        relation=match.relation if match is not None else "none" if result is not None else "conflict",
        outcome=result.outcome if result is not None else "refused",
        kept=change.kept,
        active=len(active),
        holds_new=grown is not None or (own is not None and own.status == "active"),
        hidden=_hidden(change, match, old_id),
        repeat_flagged=result is not None and _is_repeat_flagged(result, change.conflicts, old_id),
        confidence=_confidence(match),
        same=_same(match),
        model=change.model,
        similarity=match.similarity if match is not None else None,
        reasons=tuple(f"{reason.rule}: {reason.detail}" for reason in result.reasons) if result is not None else (),
        differences=match.differences if match is not None else (),
        degraded=tuple(result.degraded) if result is not None else (),
    )


def _match(matches: Iterable[Match], old_id: str) -> Match | None:
    return next((match for match in matches if old_id and match.memory_id == old_id), None)


def _confidence(match: Match | None) -> float | None:
    if match is None or match.opinion is None or _is_ruled(match):
        return None
    return match.opinion.of(match.relation)


def _same(match: Match | None) -> float | None:
    if match is None or _is_ruled(match):
        return None
    if match.opinion is None:
        return 1.0 if match.relation == "same" and match.stage in ("content_hash", "canonical_hash") else None
    likely = match.opinion.same
    # If P(*same*) is higher than that of the decided relation, a rule excluded *same*.
    return likely if match.relation == "same" or likely < match.opinion.of(match.relation) else None


def _is_ruled(match: Match) -> bool:
    return any(item.decisive for item in match.differences)


def _hidden(change: Change, match: Match | None, old_id: str) -> Hidden:
    if old_id not in {row.id for row in change.hidden()}:
        return ""
    rules = [reason.rule for reason in change.result.reasons] if change.result is not None else []
    if (match is not None and match.relation == "conflict") or any(rule.startswith("conflict") for rule in rules):
        return "conflict"
    return "other"


def _is_repeat_flagged(result: WriteResult, conflicts: Iterable[Conflict], old_id: str) -> bool:
    linked = any(old_id in (link.src, link.dst) for link in result.links)
    return linked or any(item.kind == "duplicate" and old_id in (item.a, item.b) for item in conflicts)
