"""Merges two texts into one memory without loss: confirm, evolve, absorb.

Updates are append-only: the original text first, then dated updates. The text keeps the last ten; older ones are in the
journal. Every text change needs a new vector. Every absorbed text leaves its hashes as aliases, so that a replay is
found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from wellkept.core.records.lifecycle import next_version
from wellkept.core.text.forms import canonical_hash, content_hash, excerpt
from wellkept.core.text.titles import titles, with_titles
from wellkept.types import AliasChange, Effect, Json, Memory, MemoryChange, Statement, Update

SHOWN_UPDATES = 10
GROWN_AT_MOST = 1_000
"""Maximum characters of a memory after an addition that is also kept as a wording; longer texts are not compared as a
whole."""
MAX_PROVENANCE = 1_000
REVIEW_MARK = "needs_review"


def content_alias(text: str) -> str:
    """Alias of exactly this text."""
    return f"content:{content_hash(text)}"


def canonical_alias(text: str) -> str:
    """Alias of this text in any equivalent spelling."""
    return f"canonical:{canonical_hash(text)}"


def aliases(text: str) -> tuple[str, str]:
    """Both aliases of a text."""
    return content_alias(text), canonical_alias(text)


def original(memory: Memory) -> str:
    """The original text of a memory, without dated updates."""
    tail = added(memory.updates)
    return memory.content[: len(memory.content) - len(tail)] if tail else memory.content


def added(updates: Sequence[Update]) -> str:
    """The text that dated updates append."""
    return "".join(_line(update) for update in updates)


def segments(memory: Memory) -> tuple[str, ...]:
    """The texts of a memory, oldest first; a single one if it never evolved."""
    return (original(memory), *(update.text for update in memory.updates))


def evolve(memory: Memory, text: str, *, at: datetime, similarity: float) -> Memory:
    """The memory with one more dated update, as a new version.

    Above ten updates the oldest leaves the text (it stays in the journal) and the memory is marked for review.
    `embedding` is cleared; the caller computes the vector.
    """
    updates = (*memory.updates, Update(at, text, similarity))
    metadata = dict(memory.metadata)
    if len(updates) > SHOWN_UPDATES:
        updates = updates[-SHOWN_UPDATES:]
        metadata[REVIEW_MARK] = "more than ten updates"
    grown = _with_updates(memory, updates, at=at)
    return replace(grown, evolution_count=memory.evolution_count + 1, metadata=metadata)


def _with_updates(memory: Memory, updates: tuple[Update, ...], *, at: datetime) -> Memory:
    """The next version of a memory, whose text is the original with these dated updates."""
    content = original(memory) + added(updates)
    return replace(next_version(memory, at=at), content=content, updates=updates, embedding="", chunks=0)


def has_room(memory: Memory, text: str, *, at: datetime) -> bool:
    """Whether a memory takes one more dated update without passing ten updates or `GROWN_AT_MOST` characters."""
    longer = len(memory.content) + len(_line(Update(at, text, 0.0)))
    return len(memory.updates) < SHOWN_UPDATES and longer <= GROWN_AT_MOST


def without(memory: Memory, text: str, *, at: datetime) -> Memory:
    """The memory without the dated updates that are this text; the caller computes the vector of what is left."""
    updates = tuple(update for update in memory.updates if update.text != text)
    return _with_updates(memory, updates, at=at)


def evolution(memory: Memory) -> dict[str, Json]:
    """Summary of the updates for metadata: count, last time, and the last ten in short."""
    return {
        "evolution_count": memory.evolution_count,
        "last_evolution": memory.updates[-1].at.isoformat() if memory.updates else None,
        "history": [
            {"date": update.at.date().isoformat(), "preview": update.text[:100], "similarity": update.similarity}
            for update in memory.updates
        ],
    }


def confirm(memory: Memory, new: Statement, *, at: datetime, raise_importance: bool = False) -> Memory:
    """The memory after a duplicate.

    The confirmation is counted, empty fields are filled, provenance ids are merged. Importance changes only with
    `raise_importance`, to the higher of the two. A different title is kept as an additional one.
    """
    importance = max(memory.importance, new.importance) if raise_importance else memory.importance
    return replace(_filled(confirmed(memory, at=at), new), tags=memory.tags or new.tags, importance=importance)


def _filled(memory: Memory, new: Statement) -> Memory:
    """The memory with what it lacks from a statement that says the same or adds to it, and all titles and ids."""
    filled = replace(
        memory,
        title=memory.title or new.title,
        summary=memory.summary or new.summary,
        subject=memory.subject or new.subject,
        attribute=memory.attribute or (new.attribute if not memory.subject else ""),
        event_time=memory.event_time or new.event_time,
        event_end=memory.event_end or (new.event_end if memory.event_time is None else None),
        source=memory.source or new.source,
        provenance=united(memory.provenance, new.provenance)[:MAX_PROVENANCE],
    )
    return with_titles(filled, titles(new))


def confirmed(memory: Memory, *, at: datetime) -> Memory:
    """The memory with one more confirmation and nothing else changed."""
    return replace(next_version(memory, at=at), confirmations=memory.confirmations + 1, last_confirmed_at=at)


def unconfirmed(head: Memory, wording: Memory, *, at: datetime, last: datetime | None) -> Memory:
    """The head without the confirmations of a wording.

    Args:
        head: The head of the wording.
        wording: The wording, with its own confirmations.
        at: Time of the change.
        last: Time of the last other confirmation; ignored when no confirmation is left.
    """
    left = max(0, head.confirmations - 1 - wording.confirmations)
    return replace(next_version(head, at=at), confirmations=left, last_confirmed_at=last if left else None)


def gathered(memory: Memory, new: Statement) -> Memory:
    """The memory with the other fields of an appended text: ids, tags and missing fields.

    Importance becomes the higher of the two; a differing stance stays in the journal with the text.
    """
    grown = replace(memory, metadata={**new.metadata, **memory.metadata})
    return replace(
        _filled(grown, new),
        tags=united(memory.tags, new.tags),
        importance=max(memory.importance, new.importance),
        pinned=memory.pinned or new.pinned,
    )


def united(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Both sequences in order, without repeats."""
    return tuple(dict.fromkeys((*first, *second)))


def absorbed(memory_id: str, texts: Sequence[str], held: frozenset[str]) -> tuple[AliasChange, ...]:
    """Alias effects for all these texts; `held` are the aliases the memory already has."""
    wanted = dict.fromkeys(alias for text in texts for alias in aliases(text))
    return tuple(AliasChange(memory_id, alias, present=True) for alias in wanted if alias not in held)


def absorb(kept: Memory, other: Memory, *, at: datetime, held: frozenset[str]) -> tuple[Memory, tuple[Effect, ...]]:
    """`kept` with the other's text as a dated update and merged metadata (`resolve` by merge)."""
    grown = evolve(kept, other.content, at=at, similarity=1.0)
    grown = replace(
        grown,
        tags=united(kept.tags, other.tags),
        importance=max(kept.importance, other.importance),
        provenance=united(kept.provenance, other.provenance)[:MAX_PROVENANCE],
        confirmations=kept.confirmations + other.confirmations,
        pinned=kept.pinned or other.pinned,
    )
    grown = with_titles(grown, titles(other))
    return grown, (MemoryChange(kept, grown), *absorbed(kept.id, segments(other), held))


def short(memory: Memory) -> str:
    """Title, or the start of the text, to name a memory in messages."""
    return memory.title or excerpt(original(memory), 60)


def _line(update: Update) -> str:
    return f"\n\n[{update.at.date().isoformat()}] {update.text}"
