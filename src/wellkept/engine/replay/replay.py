"""Policy replay: write decisions of the journal, repeated under another policy; nothing is written.

The journal is followed from its first entry in a scratch store in memory (`engine.history.past`). Each decision is
made by the gate there (`engine.gate.write.check`), with its original time and id, against the store as it was.
Vectors come from the store; models are asked only for missing ones.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import chain

from wellkept.core.gate.may_wait import VERB, WAITS
from wellkept.core.records.effects import invert
from wellkept.core.text.forms import check_text, excerpt
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import at_most
from wellkept.engine.gate import write
from wellkept.engine.history.as_of import journal_pages
from wellkept.engine.history.past import Past
from wellkept.engine.models.embedding import text_of, vector_key
from wellkept.engine.replay import past_decisions
from wellkept.engine.replay.answers import Answers
from wellkept.engine.replay.cached_models import AskedOnce, StoredFirst
from wellkept.engine.replay.past_decisions import EXCERPT, PastPolicies
from wellkept.errors import ConflictError, InvalidInput, UnknownKind
from wellkept.policy import Policy, former_default
from wellkept.types import Effect, Filter, JournalEntry, Memory, MemoryChange, NewMemory, Reason, WriteResult
from wellkept.types.replay import (
    Differing,
    ReplayCause,
    ReplayCount,
    ReplayDifference,
    ReplayReport,
    Unreplayed,
)

Progress = Callable[[int, int], None]


def replay(
    ctx: Context,
    policy: Policy,
    *,
    after: int = 0,
    limit: int | None = None,
    forward: bool = False,
    progress: Progress | None = None,
) -> ReplayReport:
    """Repeat the write decisions of the journal under another policy; nothing is written.

    Args:
        ctx: The store; its own policy is used to find which differences come from the new policy.
        policy: The policy to try.
        after: Replay only decisions of entries after this one; earlier entries are applied unchanged.
        limit: Replay at most this many decisions.
        forward: Apply the replayed decisions, so that later ones see their results. Otherwise each decision is
            made against the store as it was.
        progress: Called with the current entry number and the last one.

    Returns:
        Unchanged decisions, differences with causes, and entries that could not be replayed.

    Raises:
        InvalidField: `after` or `limit` is not a valid count.
        ModelError: A required model does not answer; an incomplete replay would be misleading.

    Example:
        >>> import wellkept
        >>> store = wellkept.open("memory:", embedder="hashing")
        >>> for _ in range(2):
        ...     _ = store.remember("Use ruff for linting.", kind="lesson")
        >>> report = replay(store._ctx, wellkept.Policy.from_toml('[kinds.lesson]\\npreset = "append_only"\\n'))
        >>> [(item.entry, item.old.outcome, item.new.outcome) for item in report.differences]
        [(2, 'duplicate', 'created')]
        >>> store.close()
    """
    bound = at_most("limit", limit)
    return _Replay(ctx, policy, forward=forward).run(at_most("after", after) or 0, bound, progress)


def as_if(ctx: Context, policy: Policy, *, progress: Progress | None = None) -> tuple[ReplayReport, Context]:
    """The store as it would be if another policy had decided every write; the real store is not changed.

    Args:
        ctx: The store.
        policy: The policy to try.
        progress: Called with the current entry number and the last one.

    Returns:
        The report of the replay, and a context over the scratch store in which it ended, to be read by one thread.

    Raises:
        ModelError: A required model does not answer.
    """
    made = _Replay(ctx, policy, forward=True)
    report = made.run(0, None, progress)
    return report, replace(ctx, storage=made.scratch, policy=policy)


class _Replay:
    """One replay: the scratch store, its context, and the results so far."""

    def __init__(self, ctx: Context, policy: Policy, *, forward: bool) -> None:
        self._ctx = ctx
        self._policy = policy
        self._forward = forward
        self._past = Past(ctx.namespace, ctx.header())
        self._vectors = StoredFirst(ctx.embedder, self._past)
        self._relations = None if ctx.relation_model is None else AskedOnce(ctx.relation_model)
        named = (ctx.policy, policy, Policy(), former_default())
        # Before the second reader every policy was one without it; its journals name it by that hash.
        former = (replace(one, second_reader="off") for one in named)
        self._policies = PastPolicies((*named, *former), self._batched)
        self._answers = Answers(self._past)
        self._done: dict[int, tuple[Effect, ...]] = {}
        self._counts: Counter[tuple[str, str]] = Counter()
        self._under: Counter[str] = Counter()
        self._differences: list[ReplayDifference] = []
        self._unreplayed: list[Unreplayed] = []
        self._held: dict[str, JournalEntry] = {}
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            self._upper = tx.seq
            self._erased = frozenset(row.id for row in tx.find(Filter(statuses=("erased",))))
            census = tx.census()
            self._active = census.statuses.get("active", 0)
        late = {"taken_up", "checked"}.intersection(census.outcomes)
        self._judged = past_decisions.judged_later(chain.from_iterable(self._pages())) if late else frozenset[int]()

    def run(self, after: int, limit: int | None, progress: Progress | None) -> ReplayReport:
        """Go through the journal once."""
        last, tried, complete = 0, 0, True
        for read in self._entries(after):
            entry, marked = self._in_turn(read)
            if entry is None:
                last = read.seq
                continue
            if read.seq > after and past_decisions.is_decision(entry):
                if tried == limit:
                    complete = False
                    break
                tried += 1
                self._decide(entry)
                if marked is not None and not self._forward:
                    self._past.follow(marked.effects)
            else:
                for one in (entry, *((marked,) if marked is not None else ())):
                    self._follow(one, as_it_was=read.seq <= after)
            last = read.seq
            if progress is not None:
                progress(last, self._upper)
        return self._report(after, last, complete=complete)

    @property
    def scratch(self) -> Past:
        """The scratch store; read it after the run."""
        return self._past

    # -- the journal -------------------------------------------------------------------------

    def _entries(self, after: int) -> Iterator[JournalEntry]:
        """The entries in order, page by page; the vectors of their memories are loaded."""
        for entries in self._pages():
            changes = [effect for entry in entries for effect in entry.effects if isinstance(effect, MemoryChange)]
            rows = [end.after for end in changes if end.after is not None and end.after.embedding]
            asked = {
                entry.seq: born
                for entry in entries
                if entry.seq > after
                and past_decisions.is_decision(entry)
                and (born := past_decisions.born_of(entry)) is not None
            }
            texts = {row.embedding: text_of(row) for row in rows}
            queries = {born.embedding: text_of(born) for born in asked.values() if born.embedding}
            with self._ctx.storage.begin(self._ctx.namespace, write=False) as tx:
                self._past.learn(tx.vectors({*texts, *queries}))
            for entry in entries:
                if (memory := asked.get(entry.seq)) is not None and memory.embedding:
                    spelled = "lexical" in entry.degraded and not self._vectors.lexical
                    self._vectors.note(memory.embedding, memory.chunks, spelled=spelled)
            # Vectors of earlier texts may be missing: the embedder was changed, or another memory was erased.
            self._vectors.make([text for key, text in texts.items() if key == vector_key(text)], keep=True)
            self._vectors.make([text for key, text in queries.items() if key == vector_key(text)], keep=False)
            yield from entries

    def _pages(self) -> Iterator[list[JournalEntry]]:
        return journal_pages(self._ctx, self._upper)

    def _in_turn(self, entry: JournalEntry) -> tuple[JournalEntry | None, JournalEntry | None]:
        """The entry to replay, and the one by which it was marked as judged, if it was.

        A write that waited is replayed where it was judged, among what was judged by then; until then it is held back.
        """
        if entry.seq in self._judged:
            self._held[entry.memory_id] = entry
            return None, None
        if entry.verb != VERB:
            return entry, None
        if entry.undoes in self._judged:
            self._held.pop(entry.memory_id, None)
            return None, None
        write = self._held.pop(entry.memory_id, None)
        return (entry, None) if write is None else (write, entry)

    def _batched(self) -> Mapping[str, frozenset[str]]:
        kinds: defaultdict[str, set[str]] = defaultdict(set)
        for entries in self._pages():
            for entry in entries:
                born = past_decisions.born_of(entry) if entry.verb == "remember_many" else None
                if born is not None:
                    kinds[entry.policy].add(born.kind)
        return {policy: frozenset(found) for policy, found in kinds.items()}

    # -- one entry ---------------------------------------------------------------------------

    def _follow(self, entry: JournalEntry, *, as_it_was: bool) -> None:
        """Apply the effects of an entry without deciding anything."""
        self._answers.follow(entry)
        if as_it_was or not self._forward:
            self._past.follow(entry.effects)
            return
        if self._answers.is_overtaken(entry):
            return
        effects = entry.effects
        if entry.undoes in self._done:  # undo what this replay made of that entry
            effects = tuple(invert(effect) for effect in reversed(self._done[entry.undoes]))
            self._done[entry.seq] = effects
        for memory_id in dict.fromkeys(self._past.adapt(effects)):
            why = f"memory {memory_id} is not there in this course of events, or is in another state"
            self._unreplayed.append(Unreplayed(entry=entry.seq, verb=entry.verb, text="", why=why))

    def _decide(self, entry: JournalEntry) -> None:
        born = past_decisions.born_of(entry)
        why = self._obstacle(entry, born)
        if born is None or why:
            self._give_up(entry, born, why or "nothing is left of its text")
            return
        asked = self._policies.of(entry, born.kind)
        wanted, new = asked.on(self._policy), past_decisions.given(entry, born)
        result = self._asked(entry, born, new, wanted)
        old = past_decisions.then(entry)
        differs = past_decisions.differing(old, past_decisions.now(result))
        stored = self._vectors.used
        if differs and stored:
            # Stored vectors are rounded: borderline cases are decided again with exact vectors.
            result = self._asked(entry, born, new, wanted, exact=True)
            differs = past_decisions.differing(old, past_decisions.now(result))
        cause: ReplayCause = "unknown"
        if differs and asked.policy is not None and not self._forward:
            again = self._asked(entry, born, new, asked.policy, exact=stored)
            cause = "surroundings" if past_decisions.differing(old, past_decisions.now(again)) else "policy"
        if cause == "surroundings" and self._past.statuses["erased"]:
            # A superseded memory may have mattered without being named by the entry.
            self._give_up(entry, born, "memories that were there have been erased, and without them it comes out anew")
            return
        self._counts[entry.outcome, result.outcome] += 1
        self._under[entry.policy] += 1
        self._answers.decided(entry, result, differs=bool(differs))
        if differs:
            self._differences.append(self._difference(entry, born, result, differs=differs, cause=cause))
        if self._forward:
            self._enact(entry, born, new, wanted)
        else:
            self._past.follow(entry.effects)

    def _difference(
        self,
        entry: JournalEntry,
        born: Memory,
        result: WriteResult,
        *,
        differs: tuple[Differing, ...],
        cause: ReplayCause,
    ) -> ReplayDifference:
        return ReplayDifference(
            entry=entry.seq,
            at=entry.at,
            verb=entry.verb,
            kind=born.kind,
            text=excerpt(born.content, EXCERPT),
            old=past_decisions.verdict_then(entry, self._past.row),
            new=past_decisions.verdict_now(result, self._past.row),
            differs=differs,
            cause=cause,
        )

    def _obstacle(self, entry: JournalEntry, born: Memory | None) -> str:
        """Why a decision cannot be replayed; empty when it can."""
        if born is None or born.status == "erased" or not born.content:
            return "its text was erased"
        erased = sorted(self._erased.intersection(entry.memory_ids))
        if erased:
            return f"it was about {', '.join(erased)}, whose content was erased"
        if "embedding" in entry.degraded:
            return "the embedder could not be asked then, so nothing was compared"
        if WAITS in entry.degraded and entry.seq not in self._judged:
            return "it was not judged"
        if "relation" in entry.degraded and not born.checked:
            return "the relation model failed then, so it was decided by rules alone"
        try:
            self._policy.for_kind(born.kind)
        except UnknownKind:
            return f"the policy knows no kind {born.kind!r}"
        return ""

    def _give_up(self, entry: JournalEntry, born: Memory | None, why: str) -> None:
        text = excerpt(born.content, EXCERPT) if born is not None else ""
        self._unreplayed.append(Unreplayed(entry=entry.seq, verb=entry.verb, text=text, why=why))
        self._follow(entry, as_it_was=False)

    # -- the gate ----------------------------------------------------------------------------

    def _asked(
        self, entry: JournalEntry, born: Memory, new: NewMemory, policy: Policy, *, exact: bool = False
    ) -> WriteResult:
        """The gate's decision about a text at this point of the past."""
        self._vectors.begin(exact=exact)
        try:
            check_text(new.content, limit=policy.max_content_chars)
        except InvalidInput as refused:
            return WriteResult(outcome="rejected", memory=None, reasons=(Reason("refused", refused.what),))
        result = write.check(self._surroundings(entry, born, policy), new)
        self._raise_outage()
        return result

    def _enact(self, entry: JournalEntry, born: Memory, new: NewMemory, policy: Policy) -> None:
        """Let the scratch store apply the decision of the policy."""
        links = tuple(link.dst for link in past_decisions.own_links(entry) if self._past.row(link.dst) is not None)
        self._past.applied = ()
        self._vectors.begin(exact=False)
        try:
            check_text(new.content, limit=policy.max_content_chars)
            write.remember(self._surroundings(entry, born, policy), replace(new, links=links))
        except (ConflictError, InvalidInput):
            pass  # refused: nothing is written, and the difference shows it
        self._raise_outage()
        self._done[entry.seq] = self._past.applied

    def _surroundings(self, entry: JournalEntry, born: Memory, policy: Policy) -> Context:
        # A decision made without the relation model is repeated without it.
        relations = None if "relation" in entry.degraded else self._relations
        return replace(
            self._ctx,
            storage=self._past,
            embedder=self._vectors,
            policy=replace(policy, ask=0, judging="now"),  # a replay asks nobody, and judges at once
            clock=lambda: born.updated_at,
            new_id=lambda: born.id,
            relation_model=relations,
            judge=None,
        )

    def _raise_outage(self) -> None:
        for model in (self._vectors, self._relations):
            if model is not None and model.failure is not None:
                raise model.failure

    # -- the end -----------------------------------------------------------------------------

    def _report(self, after: int, last: int, *, complete: bool) -> ReplayReport:
        decisions = sum(self._counts.values())
        counts = sorted(self._counts.items(), key=lambda item: (-item[1], item[0]))
        return ReplayReport(
            namespace=self._ctx.namespace,
            policy=self._policy.hash,
            policies=dict(sorted(self._under.items())),
            mode="forward" if self._forward else "independent",
            after=after,
            last=last,
            complete=complete,
            decisions=decisions,
            same=decisions - len(self._differences),
            counts=tuple(ReplayCount(old, new, count) for (old, new), count in counts),
            differences=tuple(self._differences),
            unreplayed=tuple(self._unreplayed),
            erased=len(self._erased),
            active=(self._active, self._past.statuses["active"]) if self._forward and complete else None,
            answers=self._answers.report(),
        )
