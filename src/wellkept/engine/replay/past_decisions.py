"""What a journal entry decided: its input text and its result, in a comparable form."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import get_args

from wellkept.core.asking.learning import BRINGS
from wellkept.core.gate.may_wait import VERB, WAITS
from wellkept.core.gate.worth_keeping import INFORMATIONAL_FRAMES
from wellkept.core.text.forms import excerpt
from wellkept.engine.gate.mentions import RULES
from wellkept.frozen import frozen
from wellkept.policy import Policy
from wellkept.types import (
    ConflictChange,
    JournalEntry,
    Link,
    LinkChange,
    Match,
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
    """Whether the gate made this entry; an export is imported without a reason, but for lessons."""
    return entry.verb in _VERBS and bool(entry.reasons) and entry.reasons[0].rule != BRINGS


def judged_later(entries: Iterable[JournalEntry]) -> frozenset[int]:
    """The writes that were judged after their commit, by number: marked as judged, or taken back and written again."""
    written: dict[str, int] = {}
    found: set[int] = set()
    for entry in entries:
        if WAITS in entry.degraded:
            written[entry.memory_id] = entry.seq
        elif entry.verb == VERB:
            found.add(entry.undoes or written.get(entry.memory_id, 0))
    return frozenset(found)


def born_of(entry: JournalEntry) -> Memory | None:
    """The memory that the text became or would have become, with the time and id of the decision."""
    if entry.dropped is not None:
        return entry.dropped
    for effect in entry.effects:
        if isinstance(effect, MemoryChange) and effect.before is None and effect.after is not None:
            if effect.after.id == entry.memory_id or effect.after.status == "wording":
                return effect.after
    return None


def given(entry: JournalEntry, born: Memory) -> NewMemory:
    """The input of the gate at the time.

    It is not recorded whether an accepted text was written automatically; it counts as explicit. A text
    rejected by a filter is passed in as it was. Only a text that was rejected as chatter is judged for chatter again.
    """
    statement = {name: getattr(born, name) for name in Statement.__dataclass_fields__}
    rule, detail = entry.reasons[0].rule, entry.reasons[0].detail
    filtered = entry.outcome == "rejected" and rule in ("junk", "recording_filter")
    frames = [frame for frame in sorted(INFORMATIONAL_FRAMES) if detail.startswith(f"a {frame} frame")]
    return NewMemory(
        **statement,
        automatic=filtered,
        keep=rule != "chatter",
        frame=frames[0] if filtered and frames else "",
        recorded_at=born.created_at if born.created_at != born.updated_at else None,
    )


def own_links(entry: JournalEntry) -> tuple[Link, ...]:
    """Links that the caller asked for; the gate's own links come first and have one reason each."""
    related = [link for link in _made(entry) if link.rel == "related"]
    return tuple(related[_near(entry) + _by_itself(entry) :])


def _of_the_text(entry: JournalEntry) -> tuple[Link, ...]:
    """Automatic links of the text; a replay ignores them, because they do not affect decisions."""
    related = [link for link in _made(entry) if link.rel == "related"]
    return tuple(related[_near(entry) :][: _by_itself(entry)])


def _made(entry: JournalEntry) -> list[Link]:
    return [effect.after for effect in entry.effects if isinstance(effect, LinkChange) and effect.after is not None]


def _near(entry: JournalEntry) -> int:
    return sum(reason.rule == "similarity_link" for reason in entry.reasons)


def _by_itself(entry: JournalEntry) -> int:
    return sum(reason.rule in RULES for reason in entry.reasons)


# --------------------------------------------------------------------------------------------
# Results


@frozen
class Deed:
    """The result of a decision without its wording: equal deeds give equal stores."""

    outcome: str
    memory: str
    replaced: frozenset[tuple[str, str]]
    links: frozenset[tuple[str, str, str]]
    conflicts: frozenset[str]


def then(entry: JournalEntry) -> Deed:
    """The past result; conflicts found only by a judge are left out, because a replay asks no judge."""
    asked_for = {*own_links(entry), *_of_the_text(entry)}
    opened = [effect.after for effect in entry.effects if isinstance(effect, ConflictChange) and effect.after]
    return _deed(
        entry.outcome,
        entry.memory_id,
        [link for link in _made(entry) if link not in asked_for],
        (conflict.key for conflict in opened if conflict.reason != _JUDGE),
    )


def now(result: WriteResult) -> Deed:
    """The result under the replayed policy."""
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
    """How two deeds differ; if the outcome differs, nothing else is listed."""
    if old.outcome != new.outcome:
        return ("outcome",)
    words: tuple[Differing, ...] = ("memory", "replaced", "links", "conflicts")
    return tuple(word for word in words if getattr(old, word) != getattr(new, word))


def verdict_then(entry: JournalEntry, row: Callable[[str], Memory | None]) -> Verdict:
    """The past decision, for display."""
    return _verdict(entry, then(entry), entry.matches[0] if entry.matches else None, row)


def verdict_now(result: WriteResult, row: Callable[[str], Memory | None]) -> Verdict:
    """The new decision, for display; if it acted on no memory, the nearest one is shown."""
    acted = [match for match in result.matches if match.action != "none"]
    deed = now(result)
    match = next(iter(acted), None)
    if match is None and not _other_end(deed):
        match = next(iter(result.matches), None)
    return _verdict(result, deed, match, row)


def _verdict(
    decided: JournalEntry | WriteResult, deed: Deed, match: Match | None, row: Callable[[str], Memory | None]
) -> Verdict:
    acted_on = match.memory_id if match is not None else _other_end(deed)
    return Verdict(
        outcome=decided.outcome,
        reasons=decided.reasons,
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
# The policy of an entry


@frozen
class Asked:
    """The policy of a past decision, and the arguments of its call.

    Attributes:
        policy: The whole policy that applied; None when no known policy has its hash.
        answer: The call's own `on_conflict`, for these kinds; None when it had none, or it is unknown.
    """

    policy: Policy | None = None
    answer: OnConflict | None = None
    kinds: tuple[str, ...] = ()

    def on(self, policy: Policy) -> Policy:
        """Another policy with the same call arguments, which apply under any policy."""
        for kind in self.kinds if self.answer is not None else ():
            if self.answer is not None and (kind in policy.kinds or "*" in policy.kinds):
                policy = policy.with_conflict(kind, self.answer)
        return policy


class PastPolicies:
    """Finds the policy of a decision by the hash in its entry.

    Args:
        known: The known policies.
        batched: Returns, by policy hash, the kinds of all texts written by batches under it. A batch has one
            `on_conflict` for all its kinds; used only when a hash cannot be explained otherwise.
    """

    def __init__(self, known: Iterable[Policy], batched: Callable[[], Mapping[str, frozenset[str]]]) -> None:
        self._known = tuple({policy.hash: policy for policy in known}.values())
        self._batched = batched
        self._kinds: Mapping[str, frozenset[str]] | None = None
        self._found: dict[tuple[str, str, bool], Asked] = {}

    def of(self, entry: JournalEntry, kind: str) -> Asked:
        """The policy of a decision about a text of this kind."""
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
