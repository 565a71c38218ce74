"""What a journal entry decided: the text it was given, and what came of it, in a form that can be compared."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from wellkept.core.gate.worth_keeping import INFORMATIONAL_FRAMES
from wellkept.core.text.forms import excerpt
from wellkept.engine.gate.mentions import RULES
from wellkept.policy import Policy
from wellkept.types import (
    ConflictChange,
    JournalEntry,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    NewMemory,
    OnConflict,
    Statement,
    WriteResult,
)
from wellkept.types.replay import Differing, Verdict

EXCERPT = 80
_VERBS = frozenset({"remember", "remember_many", "import"})
_JUDGE = "judge"
_LED_TO = frozenset({"duplicate", "evolved", "reused"})


def is_decision(entry: JournalEntry) -> bool:
    """Whether the gate decided it; an export that was brought back has the verb of an import, and no reason."""
    return entry.verb in _VERBS and bool(entry.reasons)


def born_of(entry: JournalEntry) -> Memory | None:
    """The memory that the text of a decision was, or would have been; its time and id are those of the decision."""
    if entry.dropped is not None:
        return entry.dropped
    for effect in entry.effects:
        if isinstance(effect, MemoryChange) and effect.before is None and effect.after is not None:
            if effect.after.id == entry.memory_id:
                return effect.after
    return None


def given(entry: JournalEntry, born: Memory) -> NewMemory:
    """What the gate was given then.

    Nothing keeps whether a text that passed was written automatically; it counts as written on purpose.
    One that a filter refused is given back to it as it was.
    """
    statement = {name: getattr(born, name) for name in Statement.__dataclass_fields__}
    rule, detail = entry.reasons[0].rule, entry.reasons[0].detail
    filtered = entry.outcome == "rejected" and rule in ("junk", "recording_filter")
    frames = [frame for frame in sorted(INFORMATIONAL_FRAMES) if detail.startswith(f"a {frame} frame")]
    return NewMemory(
        **statement,
        automatic=filtered,
        frame=frames[0] if filtered and frames else "",
        recorded_at=born.created_at if born.created_at != born.updated_at else None,
    )


def own_links(entry: JournalEntry) -> tuple[Link, ...]:
    """Links that the writer asked for; the gate's own come first and have a reason each."""
    related = [link for link in _made(entry) if link.rel == "related"]
    return tuple(related[_near(entry) + _by_itself(entry) :])


def _of_the_text(entry: JournalEntry) -> tuple[Link, ...]:
    """Links that the text made by itself; a replay asks what the gate decides, and they decide nothing."""
    related = [link for link in _made(entry) if link.rel == "related"]
    return tuple(related[_near(entry) :][: _by_itself(entry)])


def _made(entry: JournalEntry) -> list[Link]:
    return [effect.after for effect in entry.effects if isinstance(effect, LinkChange) and effect.after is not None]


def _near(entry: JournalEntry) -> int:
    return sum(reason.rule == "similarity_link" for reason in entry.reasons)


def _by_itself(entry: JournalEntry) -> int:
    return sum(reason.rule in RULES for reason in entry.reasons)


# --------------------------------------------------------------------------------------------
# What came of it


@dataclass(frozen=True, slots=True)
class Deed:
    """What a decision did, without its words: two equal deeds leave the same store."""

    outcome: str
    memory: str
    replaced: frozenset[tuple[str, str]]
    links: frozenset[tuple[str, str, str]]
    conflicts: frozenset[str]


def then(entry: JournalEntry) -> Deed:
    """What was done; conflicts that only a judge found are left out, since a replay asks no judge."""
    asked_for = {*own_links(entry), *_of_the_text(entry)}
    opened = [effect.after for effect in entry.effects if isinstance(effect, ConflictChange) and effect.after]
    return _deed(
        entry.outcome,
        entry.memory_id,
        [link for link in _made(entry) if link not in asked_for],
        (conflict.key for conflict in opened if conflict.reason != _JUDGE),
    )


def now(result: WriteResult) -> Deed:
    """What would be done."""
    memory = result.memory.id if result.memory is not None else ""
    return _deed(result.outcome, memory, result.links, (conflict.key for conflict in result.conflicts))


def _deed(outcome: str, memory: str, links: Iterable[Link], conflicts: Iterable[str]) -> Deed:
    made = list(links)
    return Deed(
        outcome,
        memory,
        frozenset((link.src, link.dst) for link in made if link.rel == "supersedes"),
        frozenset((link.src, link.dst, link.rel) for link in made if link.rel != "supersedes"),
        frozenset(conflicts),
    )


def differing(old: Deed, new: Deed) -> tuple[Differing, ...]:
    """In what two deeds differ; where the outcome does, all else follows from it."""
    if old.outcome != new.outcome:
        return ("outcome",)
    words: tuple[Differing, ...] = ("memory", "replaced", "links", "conflicts")
    return tuple(word for word in words if getattr(old, word) != getattr(new, word))


def verdict_then(entry: JournalEntry, row: Callable[[str], Memory | None]) -> Verdict:
    """What was decided, for a reader."""
    match = entry.matches[0] if entry.matches else None
    deed = then(entry)
    acted_on = match.memory_id if match is not None else _other_end(deed)
    return Verdict(
        outcome=entry.outcome,
        reasons=entry.reasons,
        memory_id=acted_on,
        text=_text(row(acted_on)),
        similarity=match.similarity if match is not None else None,
        replaced=len(deed.replaced),
        links=len(deed.links),
        conflicts=len(deed.conflicts),
    )


def verdict_now(result: WriteResult, row: Callable[[str], Memory | None]) -> Verdict:
    """What would be decided, for a reader; where nothing was acted on, the nearest memory is told."""
    acted = [match for match in result.matches if match.action != "none"]
    deed = now(result)
    match = next(iter(acted), None)
    if match is None and not _other_end(deed):
        match = next(iter(result.matches), None)
    acted_on = match.memory_id if match is not None else _other_end(deed)
    return Verdict(
        outcome=result.outcome,
        reasons=result.reasons,
        memory_id=acted_on,
        text=_text(row(acted_on)),
        similarity=match.similarity if match is not None else None,
        replaced=len(deed.replaced),
        links=len(deed.links),
        conflicts=len(deed.conflicts),
    )


def _other_end(deed: Deed) -> str:
    if deed.outcome in _LED_TO:
        return deed.memory
    ends = sorted(end for pair in deed.replaced for end in pair if end != deed.memory)
    return ends[0] if ends else ""


def _text(memory: Memory | None) -> str:
    return excerpt(memory.content, EXCERPT) if memory is not None else ""


# --------------------------------------------------------------------------------------------
# Under which policy


@dataclass(frozen=True, slots=True)
class Asked:
    """The policy of a past decision, and what its call asked for beside it.

    Attributes:
        policy: The whole policy that applied; None when none of those at hand has its hash.
        answer: The call's own `on_conflict`, for these kinds; None when it had none, or none is known.
    """

    policy: Policy | None = None
    answer: OnConflict | None = None
    kinds: tuple[str, ...] = ()

    def on(self, policy: Policy) -> Policy:
        """Another policy with what the call asked for: a caller's own word holds under any policy."""
        for kind in self.kinds if self.answer is not None else ():
            if self.answer is not None and (kind in policy.kinds or "*" in policy.kinds):
                policy = policy.with_conflict(kind, self.answer)
        return policy


class PastPolicies:
    """Finds the policy of a decision by the hash that its entry names.

    Args:
        known: Policies at hand.
        batched: Gives, by policy hash, the kinds of all texts that batches wrote under it. A batch asks for
            one `on_conflict` for all its kinds at once; read only when a hash is not explained otherwise.
    """

    def __init__(self, known: Iterable[Policy], batched: Callable[[], Mapping[str, frozenset[str]]]) -> None:
        self._known = tuple({policy.hash: policy for policy in known}.values())
        self._batched = batched
        self._kinds: Mapping[str, frozenset[str]] | None = None
        self._found: dict[tuple[str, str, bool], Asked] = {}

    def of(self, entry: JournalEntry, kind: str) -> Asked:
        """The policy of one decision about a text of this kind."""
        key = (entry.policy, kind, entry.verb == "remember_many")
        if key not in self._found:
            self._found[key] = self._search(*key)
        return self._found[key]

    def _search(self, wanted: str, kind: str, many: bool) -> Asked:  # noqa: FBT001 - part of a key
        for policy in self._known:
            if policy.hash == wanted:
                return Asked(policy)
        found = self._with_answer(wanted, (kind,))
        if found is None and many:
            if self._kinds is None:
                self._kinds = self._batched()
            found = self._with_answer(wanted, tuple(sorted(self._kinds.get(wanted, ()))))
        return found or Asked()

    def _with_answer(self, wanted: str, kinds: tuple[str, ...]) -> Asked | None:
        for policy in self._known:
            for answer in get_args(OnConflict):
                asked = Asked(None, answer, kinds)
                told = asked.on(policy)
                if told.hash == wanted:
                    return Asked(told, answer, kinds)
        return None
