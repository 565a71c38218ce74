"""Two texts become one memory without losing either: confirm, evolve, absorb.

Evolution is append-only: the original stands first, dated updates follow. The last ten stay
in the text; older ones live on in the memory's history. Every text change asks for a
new vector, and every absorbed text leaves its hashes behind, so that a replay finds it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from wellkept.core.text.forms import canonical_hash, content_hash, excerpt
from wellkept.core.text.titles import titles, with_titles
from wellkept.types import AliasChange, Effect, Json, Memory, MemoryChange, Statement, Update

SHOWN_UPDATES = 10
MAX_PROVENANCE = 1_000
REVIEW_MARK = "needs_review"


def content_alias(text: str) -> str:
    """The alias under which exactly this text is found again."""
    return f"content:{content_hash(text)}"


def canonical_alias(text: str) -> str:
    """The alias under which this text is found again in any spelling that means the same."""
    return f"canonical:{canonical_hash(text)}"


def aliases(text: str) -> tuple[str, str]:
    """Both aliases of a text."""
    return content_alias(text), canonical_alias(text)


def original(memory: Memory) -> str:
    """The first text of a memory, without its dated updates."""
    tail = added(memory.updates)
    return memory.content[: len(memory.content) - len(tail)] if tail else memory.content


def added(updates: Sequence[Update]) -> str:
    """What dated updates add to a text."""
    return "".join(_line(update) for update in updates)


def segments(memory: Memory) -> tuple[str, ...]:
    """The texts a memory is made of, oldest first; one for a memory that never evolved."""
    return (original(memory), *(update.text for update in memory.updates))


def evolve(memory: Memory, text: str, *, at: datetime, similarity: float) -> Memory:
    """The memory with one more dated update, as a new version.

    When more than ten updates have gathered, the oldest leaves the text (it stays in the journal)
    and the memory is marked for review. The vector is the caller's to make: `embedding` is
    cleared.
    """
    first = original(memory)
    updates = (*memory.updates, Update(at, text, similarity))
    metadata = dict(memory.metadata)
    if len(updates) > SHOWN_UPDATES:
        updates = updates[-SHOWN_UPDATES:]
        metadata[REVIEW_MARK] = "more than ten updates"
    return replace(
        memory,
        content=first + added(updates),
        updates=updates,
        evolution_count=memory.evolution_count + 1,
        metadata=metadata,
        updated_at=at,
        version=memory.version + 1,
        embedding="",
        chunks=0,
    )


def evolution(memory: Memory) -> dict[str, Json]:
    """What the metadata tell of updates: count, time of the last update, and the last ten in short."""
    return {
        "evolution_count": memory.evolution_count,
        "last_evolution": memory.updates[-1].at.isoformat() if memory.updates else None,
        "history": [
            {"date": update.at.date().isoformat(), "preview": update.text[:100], "similarity": update.similarity}
            for update in memory.updates
        ],
    }


def confirm(memory: Memory, new: Statement, *, at: datetime, raise_importance: bool = False) -> Memory:
    """The memory after the same thing was said again.

    It is counted; what the stored one lacks is filled in; the ids it was made from are united; its
    importance stays, unless a merge under `supersede` raises it to the higher of the two. Another title
    is kept as a further one.
    """
    confirmed = replace(
        memory,
        title=memory.title or new.title,
        summary=memory.summary or new.summary,
        subject=memory.subject or new.subject,
        attribute=memory.attribute or (new.attribute if not memory.subject else ""),
        tags=memory.tags or new.tags,
        event_time=memory.event_time or new.event_time,
        event_end=memory.event_end or (new.event_end if memory.event_time is None else None),
        source=memory.source or new.source,
        provenance=united(memory.provenance, new.provenance)[:MAX_PROVENANCE],
        importance=max(memory.importance, new.importance) if raise_importance else memory.importance,
        confirmations=memory.confirmations + 1,
        last_confirmed_at=at,
        updated_at=at,
        version=memory.version + 1,
    )
    return with_titles(confirmed, titles(new))


def gathered(memory: Memory, new: Statement) -> Memory:
    """The memory with what an added text brings beside its words: ids, tags and what was missing.

    What cannot be united (another importance, another stance) stays in the journal with the text.
    """
    grown = replace(
        memory,
        title=memory.title or new.title,
        summary=memory.summary or new.summary,
        subject=memory.subject or new.subject,
        attribute=memory.attribute or (new.attribute if not memory.subject else ""),
        tags=united(memory.tags, new.tags),
        importance=max(memory.importance, new.importance),
        event_time=memory.event_time or new.event_time,
        event_end=memory.event_end or (new.event_end if memory.event_time is None else None),
        source=memory.source or new.source,
        provenance=united(memory.provenance, new.provenance)[:MAX_PROVENANCE],
        metadata={**new.metadata, **memory.metadata},
        pinned=memory.pinned or new.pinned,
    )
    return with_titles(grown, titles(new))


def united(first: Sequence[str], second: Sequence[str]) -> tuple[str, ...]:
    """Both in order, each once."""
    return tuple(dict.fromkeys((*first, *second)))


def absorbed(memory_id: str, texts: Sequence[str], held: frozenset[str]) -> tuple[AliasChange, ...]:
    """Alias effects that let the memory be found under all these texts; `held` are those it has already."""
    wanted = dict.fromkeys(alias for text in texts for alias in aliases(text))
    return tuple(AliasChange(memory_id, alias, present=True) for alias in wanted if alias not in held)


def absorb(kept: Memory, other: Memory, *, at: datetime, held: frozenset[str]) -> tuple[Memory, tuple[Effect, ...]]:
    """The kept memory with the other's text as a dated update and its metadata united (`resolve` by merge)."""
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
    """Title, or the beginning of the text: what a message calls this memory."""
    return memory.title or excerpt(original(memory), 60)


def _line(update: Update) -> str:
    return f"\n\n[{update.at.date().isoformat()}] {update.text}"
