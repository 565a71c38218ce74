"""Inputs of a decision: evidence, the moment, and each candidate with its comparison."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.judging.compare import compare, is_vetoed, one_word_swapped, shared_words
from wellkept.core.judging.risk_bounds import NEAR_AT, NEVER, Bounds
from wellkept.core.reading.chat_turns import is_turn, reported_question, speaker
from wellkept.core.reading.language_detection import language_is_known
from wellkept.core.records.lifecycle import is_ahead, is_expired
from wellkept.core.text.forms import canonical, slot_key, term_set
from wellkept.frozen import frozen
from wellkept.policy import KindPolicy, Policy
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import (
    SEARCHED,
    Candidate,
    Comparison,
    Degradation,
    Difference,
    Memory,
    NewMemory,
    Opinion,
    Reading,
    Statement,
)

if TYPE_CHECKING:
    from wellkept.core.judging.calibration import Calibration
    from wellkept.core.judging.chatter import Chatter

_SHARED_WORDS = 0.6
# Of 2,395 pairs at .60 to .80 in a store of 10,000, one was a conflict: comparing a few is enough.
_MOST_DISTANT = 4
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")

ContradictionFn = Callable[[Memory, Statement], bool]


@frozen(kw_only=True)
class Evidence:
    """Everything a decision may read; the engine gathers it in the transaction.

    Attributes:
        verbatim: Rows with a hash of the new text, of any status, with the stage.
        heads: What stands before a row: the current head of a superseded row in `verbatim`, the head of a wording.
        slot: Active rows of the same subject and attribute.
        ongoing: Active rows without an end, for the window stage.
        neighbours: Nearest rows by vector, with raw cosines.
        held: Aliases that each candidate already has, by memory id.
        known_conflicts: Keys of recorded conflicts, open or settled.
        calibration: Raw cosine to similarity; None without vectors.
        lexical: True when the vectors are lexical only, the embedder only spells the text, or the rules do not know the
            language; the bands are then off.
        by_words: True when the embedder compares the words of every text: the lexical fallback. The heads over the list
            do not know its cosines. They know those between vectors of letters, which MiniLM gives what it cannot read.
        embedding: Hash of the embedded text; empty without a vector.
        chunks: Windows the embedder needed; 0 without a vector.
        degraded: Parts that could not run.
        contradiction_fn: The caller's own contradiction check.
        opinions: The relation model's opinions by memory id; pairs it cannot read are missing.
        reading: The same opinions as the journal keeps them; None where the model was not asked.
        bounds: Least probabilities for each action under the policy's risk.
        originals: Raw cosines of the originals of memories that have grown, by memory id, where they were computed.
        outage: True when the relation model failed; the memory is then stored unchecked for a later sweep.
        chatter: How probably the text says nothing worth keeping; None where the embedder has no opinion.
        unjudged: True when pairs without an opinion were read by no model. Only the link band applies to them, because
            similarity alone never means *same*.
    """

    verbatim: tuple[Candidate, ...] = ()
    heads: Mapping[str, Memory] = field(default_factory=dict)
    slot: tuple[Memory, ...] = ()
    ongoing: tuple[Memory, ...] = ()
    neighbours: tuple[Candidate, ...] = ()
    held: Mapping[str, frozenset[str]] = field(default_factory=dict)
    known_conflicts: frozenset[str] = frozenset()
    calibration: Calibration | None = None
    lexical: bool = False
    by_words: bool = False
    embedding: str = ""
    chunks: int = 0
    degraded: tuple[Degradation, ...] = ()
    contradiction_fn: ContradictionFn | None = None
    opinions: Mapping[str, Opinion] = field(default_factory=dict)
    reading: Reading | None = None
    bounds: Bounds = NEVER
    originals: Mapping[str, float] = field(default_factory=dict)
    outage: bool = False
    chatter: Chatter | None = None
    unjudged: bool = False

    def similarity(self, candidate: Candidate) -> float | None:
        """The calibrated similarity of a candidate; None without a vector."""
        if candidate.cosine is None or self.calibration is None:
            return None
        return self.calibration.similarity(candidate.cosine)


@frozen
class Moment:
    """Inputs from outside the pure core: time, id, namespace, policy.

    Attributes:
        own: The policy of the new text's kind.
    """

    now: datetime
    id: str
    namespace: str
    policy: Policy
    own: KindPolicy


@frozen
class Judged:
    """A candidate with its comparison.

    Attributes:
        vetoed: Whether differences forbid a duplicate that the relation model sees.
        worded: Whether the two texts share enough words for such a duplicate; if not, the pair is at most listed.
        spoken: Whether one text is a turn of a conversation; the model's contradictions are then ignored.
        memory: The stored memory.
        similarity: Calibrated similarity; -1 without a vector, which is below every threshold.
    """

    candidate: Candidate
    comparison: Comparison
    vetoed: bool = False
    worded: bool = True
    spoken: bool = False
    memory: Memory = field(init=False, repr=False, compare=False)
    similarity: float = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        """Read the two values that every rule asks for."""
        near = self.comparison.similarity
        object.__setattr__(self, "memory", self.candidate.memory)
        object.__setattr__(self, "similarity", -1.0 if near is None else near)


def compared(new: NewMemory, evidence: Evidence, moment: Moment) -> tuple[list[Judged], list[Judged]]:
    """Compare the current neighbours: those in the policy's scope, and those beside it; the most similar first.

    A decision or an episode may state that a fact has changed. Memories of other kinds, and of kinds that do not search
    by vector, are never merged. For them only contradictions count, and these are only reported.
    """
    own = moment.own
    inside: list[Judged] = []
    beside: list[Judged] = []
    distant = 0
    for candidate in evidence.neighbours:
        memory = candidate.memory
        if memory.status != "active" or is_expired(memory, moment.now):
            continue
        has_opinion = memory.id in evidence.opinions
        if "vector" in own.stages and in_scope(new, memory, own):
            if not has_opinion and _is_distant(new, candidate, evidence, own):
                if distant == _MOST_DISTANT or not _share_words(new, memory):
                    continue
                distant += 1
            inside.append(_with_hook(judged(new, memory, candidate, evidence, moment), new, evidence, own))
        elif own.on_conflict != "ignore" and may_contradict(new, memory, own, moment.policy):
            found = judged(new, memory, candidate, evidence, moment)
            if has_opinion or found.comparison.relation == "conflict":
                beside.append(found)
    return sorted(inside, key=_nearest_first), sorted(beside, key=_nearest_first)


def judged(new: NewMemory, read: Memory, candidate: Candidate, evidence: Evidence, moment: Moment) -> Judged:
    """The memory of a candidate, compared by the text that was read: its own, its original, or that of a wording."""
    opinion, opposites = evidence.opinions.get(read.id), moment.policy.opposites
    similarity = evidence.similarity(candidate)
    comparison = compare(
        new, read, cosine=candidate.cosine, similarity=similarity, opinion=opinion, opposites=opposites
    )
    repeats = opinion is not None and comparison.relation in ("same", "generalises")
    vetoed = repeats and is_barred(new, read, comparison, opposites)
    worded = not repeats or rests_on_words(new, read, similarity, evidence.bounds)
    return Judged(candidate, comparison, vetoed, worded, is_talk(new, read))


def _nearest_first(found: Judged) -> tuple[float, datetime, str]:
    return -found.similarity, found.memory.created_at, found.memory.id


def rests_on_words(new: Statement, memory: Memory, similarity: float | None, bounds: Bounds) -> bool:
    """Whether two texts share enough words to be a duplicate.

    On a stream of 600 vague facts about a few people the packaged model was sure of 37 repeats; two in three said
    something else, with almost no words in common.
    """
    least = bounds.words_far if similarity is None or similarity < NEAR_AT else bounds.words_near
    return least <= 0 or shared_words(new.content, memory.content) >= least


def is_barred(new: Statement, memory: Memory, comparison: Comparison, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the model alone must not make the pair a duplicate.

    It must not with a hard difference, another field that differs (agent, time, stance), a language whose negations the
    rules cannot read, a question (the model was trained on statements), or one replaced word as the only difference.
    """
    if is_question(new.content) or is_question(memory.content):
        return True
    if not says_the_same(new, memory) or is_vetoed(new.content, memory.content, comparison.differences, opposites):
        return True
    if one_word_swapped(comparison.differences):
        return True
    return not (language_is_known(new.content) and language_is_known(memory.content))


def is_question(text: str) -> bool:
    """Whether the text ends with a question mark, in any script."""
    return text.rstrip().endswith(_QUESTION_MARKS)


def may_contradict(new: Statement, old: Memory, own: KindPolicy, policy: Policy) -> bool:
    """Whether a contradiction between these two may be reported, whatever their kinds; `own` is that of the new one."""
    if not reaches(new.kind, policy) or not reaches(old.kind, policy):
        return False
    if new.kind == old.kind and "vector" in own.stages:
        return False  # the kind is compared in its own scope only
    return "agent" not in own.scope or new.agent == old.agent


def is_talk(new: Statement, old: Memory) -> bool:
    """Whether either text is a turn of a conversation; the model's contradictions are unreliable there."""
    return is_turn(new.content) or is_turn(old.content)


def is_beside(new: Statement, old: Memory, own: KindPolicy, policy: Policy) -> bool:
    """Whether a memory outside of the scope may be contradicted, restated or outdated."""
    return (
        may_contradict(new, old, own, policy)
        or is_of_family(new, old, own, policy)
        or is_outdating(new, old, own, policy)
    )


def may_concern(new: Statement, old: Memory, own: KindPolicy, policy: Policy) -> bool:
    """Whether an act may concern a memory: it is in the scope, or beside it and no turn of a conversation."""
    if "vector" in own.stages and in_scope(new, old, own):
        return True
    return not is_talk(new, old) and is_beside(new, old, own, policy)


def apart(new: Statement, rows: Iterable[Memory], own: KindPolicy, policy: Policy) -> tuple[list[Memory], list[Memory]]:
    """The memories in the scope, and those beside it that may be contradicted, restated or outdated."""
    inside: list[Memory] = []
    beside: list[Memory] = []
    for row in rows:
        if "vector" in own.stages and in_scope(new, row, own):
            inside.append(row)
        elif is_beside(new, row, own, policy):
            beside.append(row)
    return inside, beside


def reaches(kind: str, policy: Policy) -> bool:
    """Whether memories of this kind are compared with other kinds."""
    known = policy.kinds.get(kind) or policy.kinds.get("*")
    return known is not None and known.conflicts_with == "any_kind"


def _is_distant(new: NewMemory, candidate: Candidate, evidence: Evidence, policy: KindPolicy) -> bool:
    """Whether the similarity is below all bands, where only contradictions count and are only reported."""
    similarity = evidence.similarity(candidate)
    if similarity is None or new.polarity * candidate.memory.polarity == -1:
        return False
    return similarity < min(policy.act_at, *(band.at for band in policy.bands), 1.0)


def _share_words(new: NewMemory, memory: Memory) -> bool:
    """Whether the rules could find a contradiction: nearly the same words, or all words but one."""
    ours, theirs = term_set(new.content), term_set(memory.content)
    shared, most = len(ours & theirs), max(len(ours), len(theirs))
    return shared >= _SHARED_WORDS * most or 0 < shared == most - 1


def _with_hook(found: Judged, new: NewMemory, evidence: Evidence, policy: KindPolicy) -> Judged:
    """Apply the caller's own check wherever the rules found no contradiction, whatever the model says.

    A conflict found by the model alone may be too improbable to be listed.
    """
    hook, told = evidence.contradiction_fn, found.comparison
    near = told.similarity is not None and told.similarity >= policy.act_at
    by_rules = told.relation == "conflict" and told.reason != "model"
    if hook is None or not near or by_rules or not hook(found.memory, new):
        return found
    custom = Difference("custom", found.memory.content, new.content, decisive=True)
    told = replace(told, relation="conflict", differences=(*told.differences, custom), reason="custom_fn")
    return replace(found, comparison=told)


def may_concern_now(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether a restatement or an update may concern a memory today: it is current, and neither statement is ahead.

    `row` is the memory, or a wording that stands behind it.
    """
    if row.status not in SEARCHED or head.status != "active" or is_expired(head, moment.now):
        return False
    ahead = is_ahead(new, head, recorded=new.recorded_at or moment.now, now=moment.now)
    return not ahead and not is_question(row.content)


def may_restate(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether the text may restate a memory that it may concern; `row` is that memory, or a wording behind it."""
    if not in_scope(new, head, moment.own) and not is_of_family(new, head, moment.own, moment.policy):
        return False
    if _is_episode(head.kind, moment.policy) or _speakers_differ(new.content, row.content):
        return False
    if bool(reported_question(new.content)) != bool(reported_question(row.content)):
        return False
    return fields_agree(new, head)


def may_outdate(new: NewMemory, row: Memory, head: Memory, moment: Moment) -> bool:
    """Whether the text may outdate a memory that it may concern; `row` is that memory, or a wording behind it.

    Who asks whether something is so changes nothing of it; whoever answers does.
    """
    if reported_question(new.content) and not reported_question(row.content):
        return False
    return is_outdating(new, head, moment.own, moment.policy) and slots_agree(new, head)


def _speakers_differ(one: str, other: str) -> bool:
    """Whether two turns of a conversation name different speakers: what "I" means differs then."""
    first, second = speaker(one), speaker(other)
    return bool(first and second and first != second)


def _is_episode(kind: str, policy: Policy) -> bool:
    """Whether memories of the kind are episodes: each happened once, so nothing restates them."""
    known = policy.kinds.get(kind) or policy.kinds.get("*")
    return known is not None and "window" in known.stages


def is_of_family(new: Statement, old: Memory, own: KindPolicy, policy: Policy) -> bool:
    """Whether two kinds of one family meet, so that one may restate the other; each keeps its scope."""
    known = policy.kinds.get(old.kind) or policy.kinds.get("*")
    if new.kind == old.kind or not own.family or known is None or known.family != own.family:
        return False
    return _scopes_meet(new, old, own) and _scopes_meet(new, old, known)


def is_outdating(new: Statement, old: Memory, own: KindPolicy, policy: Policy) -> bool:
    """Whether a memory of one kind may outdate one of the other: both kinds mark updates; each keeps its scope."""
    known = policy.kinds.get(old.kind) or policy.kinds.get("*")
    if own.updates == "list" or known is None or known.updates == "list":
        return False
    return _scopes_meet(new, old, own) and _scopes_meet(new, old, known)


def in_scope(new: Statement, old: Memory, policy: KindPolicy) -> bool:
    """Whether the policy lets the two memories be compared; the namespace is always the same."""
    return new.kind == old.kind and _scopes_meet(new, old, policy)


def _scopes_meet(new: Statement, old: Memory, policy: KindPolicy) -> bool:
    """Whether the two memories agree in the fields of the policy's scope, apart from the kind."""
    if "agent" in policy.scope and new.agent != old.agent:
        return False
    if "subject" in policy.scope and slot_key(new.subject) != slot_key(old.subject):
        return False
    if "tags" in policy.scope:  # common tags, or none on either side
        ours, theirs = {slot_key(tag) for tag in new.tags}, {slot_key(tag) for tag in old.tags}
        return bool(ours & theirs) or not (ours or theirs)
    return True


def says_the_same(new: Statement, old: Memory) -> bool:
    """Whether equal texts are equal statements: no other field differs; titles do not count."""
    return new.kind == old.kind and fields_agree(new, old)


def fields_agree(new: Statement, old: Memory) -> bool:
    """Whether no field but the kind differs; titles do not count."""
    apart = (
        (canonical(new.summary), canonical(old.summary)),
        (canonical(new.trigger), canonical(old.trigger)),
        (new.event_time, old.event_time),
        (new.event_end, old.event_end),
    )
    if any(a and b and a != b for a, b in apart):
        return False
    return new.polarity * old.polarity != -1 and slots_agree(new, old)


def slots_agree(new: Statement, old: Memory) -> bool:
    """Whether both are about one subject and attribute, as far as they name them, and come from the same agent."""
    apart = (
        (slot_key(new.subject), slot_key(old.subject)),
        (slot_key(new.attribute), slot_key(old.attribute)),
    )
    return new.agent == old.agent and not any(a and b and a != b for a, b in apart)
