"""Feedback-loop guard: a text that recall just returned is a use of the memory, not a new statement.

Agents write back what they read, as a summary or a decision. For most kinds the hash stages catch such a repeat. Events
are stored every time, because an equal text may be a new event; for events and for automatic writes the guard looks at
what the session was given. A new time, subject, figure or other field makes the text a new statement.
"""

from __future__ import annotations

from collections.abc import Sequence

from wellkept.core.gate.outcomes import born, match_of
from wellkept.core.judging.compare import contradicts
from wellkept.core.judging.evidence import Evidence, Judged, Moment
from wellkept.core.records.lifecycle import is_expired
from wellkept.core.records.merge import segments
from wellkept.core.text.same_words import in_same_words
from wellkept.types import Candidate, Comparison, Decision, Memory, NewMemory, Reason, Stage

_RULE = "handed_out"
_BROUGHT = (
    "title",
    "summary",
    "subject",
    "attribute",
    "trigger",
    "event_time",
    "event_end",
    "ended_at",
    "polarity",
    "metadata",
    "signals",
)


def echoed(new: NewMemory, handed: Sequence[Memory], evidence: Evidence, moment: Moment) -> Decision | None:
    """Decide that a text is an echo of a returned memory; None when it is a new statement.

    Args:
        new: The statement, not decided by any other stage.
        handed: Memories returned to this session with the same canonical text, newest first.
        evidence: Evidence gathered without vectors.
        moment: Time, id and policy.

    Returns:
        A duplicate without effects: the use is counted and the memory is unchanged. The text stays in the journal and
        can be restored.
    """
    found = next((row for row in handed if _is_echo(new, row, moment)), None)
    if found is None:
        return None
    letters = new.content in (found.content, *segments(found))
    stage: Stage = "content_hash" if letters else "canonical_hash"
    same = Comparison("same", 1.0 if letters else 0.95, None)
    return Decision(
        outcome="duplicate",
        memory=found,
        dropped=born(new, evidence, moment),
        matches=(match_of(Judged(Candidate(found, stage), same), "duplicate", moment),),
        reasons=(Reason(_RULE, f"{found.id} was handed out to this session"),),
    )


def is_echo(decision: Decision) -> bool:
    """Whether the guard made this decision."""
    return any(reason.rule == _RULE for reason in decision.reasons)


def _is_echo(new: NewMemory, row: Memory, moment: Moment) -> bool:
    if row.status != "active" or is_expired(row, moment.now):
        return False
    if moment.own.on_conflict == "ignore" and {"hash", "canonical"} & set(moment.own.stages):
        return False  # duplicate search is off for this kind
    if new.kind != row.kind and not new.automatic:
        return False  # a note written again as a decision is a new decision
    if new.agent != row.agent or any(_is_news(new, row, name) for name in _BROUGHT):
        return False
    # A later update of the memory may contradict the part that was returned.
    return in_same_words(row.content, new.content) or not contradicts(new, row, moment.policy.opposites)


def _is_news(new: NewMemory, row: Memory, name: str) -> bool:
    told, known = getattr(new, name), getattr(row, name)
    if isinstance(told, str) and isinstance(known, str):
        return bool(told.strip()) and not in_same_words(told, known)
    return bool(told) and told != known
