"""What a decision may look at: evidence, the moment, and each candidate after comparison."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING

from wellkept.core.judging.compare import compare, is_vetoed, one_word_swapped, shared_words
from wellkept.core.judging.risk_bounds import NEAR_AT, NEVER, Bounds
from wellkept.core.reading.chat_turns import is_turn
from wellkept.core.reading.lexer import language_is_known
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.text.forms import canonical, search_terms, slot_key
from wellkept.core.text.text_cache import remembered
from wellkept.policy import KindPolicy, Policy
from wellkept.policy.antonyms import NO_OPPOSITES, Opposites
from wellkept.types import (
    Candidate,
    Comparison,
    Degradation,
    Difference,
    Memory,
    NewMemory,
    Opinion,
    Statement,
)

if TYPE_CHECKING:
    from wellkept.core.judging.calibration import Calibration

_SHARED_WORDS = 0.6
# Of 2,395 pairs at .60 to .80 in a store of 10,000 one was a conflict: a few of the nearest are enough.
_MOST_DISTANT = 4
_QUESTION_MARKS = ("?", "\uff1f", "\u061f", "\u037e")

ContradictionFn = Callable[[Memory, Statement], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Everything the decision may look at; gathered by the engine inside the transaction.

    Attributes:
        verbatim: Rows that a hash of the new text points at, of any status, with the stage.
        heads: Current heads of the superseded rows among them, by id of the superseded row.
        slot: Active rows of the same subject and attribute.
        ongoing: Active rows without an end, for the window stage.
        neighbours: Nearest rows by vector, with their raw cosines.
        held: Aliases that each candidate has already, by memory id.
        known_conflicts: Keys of conflicts recorded before, open or settled.
        calibration: Raw cosine to similarity; None without vectors.
        lexical: True when the vectors compare letters only, or the rules do not know the language:
            then the bands do not act.
        embedding: Hash of the embedded text; empty when it has no vector.
        chunks: Windows the embedder needed; 0 without a vector.
        degraded: What could not run.
        contradiction_fn: The caller's own judge.
        opinions: What the relation model said, by memory id; a pair it cannot read is missing.
        bounds: From which probability the model's word may act, under the policy's risk.
        outage: True when a relation model that should have been asked failed: the memory is then
            stored unchecked, for a later sweep.
        unjudged: True when a pair without an opinion has been read by nobody: then only its link
            band acts, since similarity alone never means "same".
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
    embedding: str = ""
    chunks: int = 0
    degraded: tuple[Degradation, ...] = ()
    contradiction_fn: ContradictionFn | None = None
    opinions: Mapping[str, Opinion] = field(default_factory=dict)
    bounds: Bounds = NEVER
    outage: bool = False
    unjudged: bool = False


@dataclass(frozen=True, slots=True)
class Moment:
    """The inputs that must not come from inside: time, id, namespace, policy."""

    now: datetime
    id: str
    namespace: str
    policy: Policy


@dataclass(frozen=True, slots=True)
class Judged:
    """A candidate and what comparison said of it.

    Attributes:
        vetoed: True when the differences forbid to take the new text for a repeat, even one that says
            less, whatever the relation model thinks.
        worded: Whether the words bear out that it is one; if not, it is at most listed.
        spoken: Whether one of the texts is a turn of a conversation: then the model finds no contradiction.
    """

    candidate: Candidate
    comparison: Comparison
    vetoed: bool = False
    worded: bool = True
    spoken: bool = False

    @property
    def memory(self) -> Memory:
        """The stored memory."""
        return self.candidate.memory

    @property
    def similarity(self) -> float:
        """On the published scale; -1 where there is none, which is below every bound."""
        return self.comparison.similarity if self.comparison.similarity is not None else -1.0


def compared(new: NewMemory, policy: KindPolicy, evidence: Evidence, moment: Moment) -> list[Judged]:
    """The neighbours of the policy's scope, compared, most similar first."""
    if "vector" not in policy.stages:
        return []
    judged = []
    opposites = moment.policy.opposites
    distant = 0
    for candidate in evidence.neighbours:
        memory = candidate.memory
        if memory.status != "active" or is_expired(memory, moment.now) or not in_scope(new, memory, policy):
            continue
        similarity = _similarity(candidate, evidence)
        opinion = evidence.opinions.get(memory.id)
        if opinion is None and _is_distant(new, memory, similarity, policy):
            if distant == _MOST_DISTANT or not _share_words(new, memory):
                continue
            distant += 1
        comparison = compare(
            new, memory, cosine=candidate.cosine, similarity=similarity, opinion=opinion, opposites=opposites
        )
        vetoed = opinion is not None and is_barred(new, memory, comparison, opposites)
        worded = opinion is None or rests_on_words(new, memory, similarity, evidence.bounds)
        told = _with_hook(comparison, new, memory, evidence, policy)
        judged.append(Judged(candidate, told, vetoed, worded, is_talk(new, memory)))
    return sorted(judged, key=lambda found: (-found.similarity, found.memory.created_at, found.memory.id))


def rests_on_words(new: Statement, memory: Memory, similarity: float | None, bounds: Bounds) -> bool:
    """Whether the words bear out that two texts say the same, as far as the model needs it.

    On a stream of 600 vague facts about a few persons the packaged model was sure of 37 repeats; two in three
    of them said something else, with hardly a word in common.
    """
    least = bounds.words_far if similarity is None or similarity < NEAR_AT else bounds.words_near
    return least <= 0 or shared_words(new.content, memory.content) >= least


def is_barred(new: Statement, memory: Memory, comparison: Comparison, opposites: Opposites = NO_OPPOSITES) -> bool:
    """Whether the model's word alone must not make a repeat of the pair.

    A hard difference forbids it, something else said beside the texts (title, agent, time), a
    language whose "not" the rules cannot read, in either text, and a question: the model learnt from
    statements only. Neither may it overrule one word in the place of another, if that is all that differs.
    """
    if any(text.rstrip().endswith(_QUESTION_MARKS) for text in (new.content, memory.content)):
        return True
    if not says_the_same(new, memory) or is_vetoed(new.content, memory.content, comparison.differences, opposites):
        return True
    if one_word_swapped(comparison.differences):
        return True
    return not (language_is_known(new.content) and language_is_known(memory.content))


def compared_elsewhere(new: NewMemory, evidence: Evidence, moment: Moment) -> list[Judged]:
    """Memories that are compared only for a contradiction, most similar first.

    A decision or an episode often tells that a fact has changed. Kinds are never merged,
    nor memories of a kind whose policy does not search by vector: of these only a contradiction
    counts, and it is only reported.
    """
    judged = []
    opposites = moment.policy.opposites
    for candidate in evidence.neighbours:
        memory = candidate.memory
        if memory.status != "active" or is_expired(memory, moment.now):
            continue
        if not may_contradict(new, memory, moment.policy):
            continue
        opinion = evidence.opinions.get(memory.id)
        similarity = _similarity(candidate, evidence)
        comparison = compare(
            new, memory, cosine=candidate.cosine, similarity=similarity, opinion=opinion, opposites=opposites
        )
        if opinion is not None or comparison.relation == "conflict":
            judged.append(Judged(candidate, comparison, spoken=is_talk(new, memory)))
    return sorted(judged, key=lambda found: (-found.similarity, found.memory.created_at, found.memory.id))


def may_contradict(new: Statement, old: Memory, policy: Policy) -> bool:
    """Whether a contradiction between two memories is worth a report, whatever their kinds."""
    if not reaches(new.kind, policy) or not reaches(old.kind, policy):
        return False
    asked = policy.for_kind(new.kind)
    if new.kind == old.kind and "vector" in asked.stages:
        return False  # its own kind is compared in the policy's scope, and nowhere else
    return "agent" not in asked.scope or new.agent == old.agent


def is_talk(new: Statement, old: Memory) -> bool:
    """Whether one of two texts is a turn of a conversation, on which the model's word of a contradiction is no help."""
    return is_turn(new.content) or is_turn(old.content)


def reaches(kind: str, policy: Policy) -> bool:
    """Whether memories of this kind are compared with those of other kinds at all."""
    known = policy.kinds.get(kind) or policy.kinds.get("*")
    return known is not None and known.conflicts_with == "any_kind"


def _similarity(candidate: Candidate, evidence: Evidence) -> float | None:
    if candidate.cosine is None or evidence.calibration is None:
        return None
    return evidence.calibration.similarity(candidate.cosine)


@remembered(characters=1_000_000)
def _terms(text: str) -> frozenset[str]:
    return frozenset(search_terms(text))


def _is_distant(new: NewMemory, memory: Memory, similarity: float | None, policy: KindPolicy) -> bool:
    """Below all bands nothing but a contradiction matters, and that is only reported."""
    if similarity is None or new.polarity * memory.polarity == -1:
        return False
    return similarity < min(policy.act_at, *(band.at for band in policy.bands), 1.0)


def _share_words(new: NewMemory, memory: Memory) -> bool:
    """The rules find a contradiction only between texts of nearly the same words, or of all words but one."""
    ours, theirs = _terms(new.content), _terms(memory.content)
    shared, most = len(ours & theirs), max(len(ours), len(theirs))
    return shared >= _SHARED_WORDS * most or 0 < shared == most - 1


def _with_hook(
    comparison: Comparison, new: NewMemory, memory: Memory, evidence: Evidence, policy: KindPolicy
) -> Comparison:
    """The caller's own judge, asked wherever the rules found no contradiction, whatever the model says.

    What the model alone calls a conflict may be too improbable to be listed.
    """
    hook = evidence.contradiction_fn
    near = comparison.similarity is not None and comparison.similarity >= policy.act_at
    by_rules = comparison.relation == "conflict" and comparison.reason != "model"
    if hook is None or not near or by_rules or not hook(memory, new):
        return comparison
    custom = Difference("custom", memory.content, new.content, decisive=True)
    return replace(comparison, relation="conflict", differences=(*comparison.differences, custom), reason="custom_fn")


def in_scope(new: Statement, old: Memory, policy: KindPolicy) -> bool:
    """Whether the policy lets the two be compared at all; the namespace is the same by construction."""
    if new.kind != old.kind:
        return False
    if "agent" in policy.scope and new.agent != old.agent:
        return False
    if "subject" in policy.scope and slot_key(new.subject) != slot_key(old.subject):
        return False
    if "tags" in policy.scope:  # common tags, or none on either side
        ours, theirs = {slot_key(tag) for tag in new.tags}, {slot_key(tag) for tag in old.tags}
        return bool(ours & theirs) or not (ours or theirs)
    return True


def says_the_same(new: Statement, old: Memory) -> bool:
    """Whether equal text is an equal statement: nothing beside the text differs; a title only heads it."""
    apart = (
        (slot_key(new.subject), slot_key(old.subject)),
        (slot_key(new.attribute), slot_key(old.attribute)),
        (canonical(new.summary), canonical(old.summary)),
        (canonical(new.trigger), canonical(old.trigger)),
        (new.event_time, old.event_time),
        (new.event_end, old.event_end),
    )
    if any(a and b and a != b for a, b in apart):
        return False
    return new.kind == old.kind and new.polarity * old.polarity != -1 and new.agent == old.agent
