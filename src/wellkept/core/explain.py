"""Decisions in words: the sentence for the agent, the seeds' message texts, log lines, S0's answer shape."""

from __future__ import annotations

from wellkept.core.merge import short
from wellkept.core.text import excerpt
from wellkept.core.wikilinks import names, will_link
from wellkept.policy import DEDUP_CHECK_THRESHOLD, SIMILARITY_EDGE_THRESHOLD
from wellkept.types import Conflict, Decision, Difference, Json, Match, Memory, Reason, Relation, WriteResult

_REASON_WORDS = {
    "content_hash": "the same text, to the letter",
    "canonical_hash": "the same text in another spelling",
    "similarity_skip": "nothing in it is new",
    "told_again": "told again in other words",
    "similarity_evolve": "near enough to belong to it",
    "similarity_link": "near it",
    "refines": "it adds to what is stored",
    "same_subject": "a new value for the same subject",
    "reversion": "an older text asserted again",
    "conflict_supersede": "it contradicts the older text and is newer",
    "older_assertion": "it was true earlier than what is stored",
    "conflict_warn": "the two cannot both hold",
    "possible_conflict": "they may not both hold",
    "conflict_judge": "a judge says that the two cannot both hold",
    "possible_repeat": "it may say the same",
    "conflict_raise": "the policy refuses conflicts",
    "ongoing_window": "the same episode is still going on",
    "junk": "not worth keeping",
    "recording_filter": "nothing was decided",
    "nothing_like_it": "nothing like it is stored",
    "near_but_different": "near something stored, yet not the same",
    "own_event": "every one of its kind is an event of its own",
    "not_compared": "stored without comparison",
    "replay": "this call was made before",
    "handed_out": "memory had just handed it out",
    "wikilink": "named in the text",
    "wikilink_waits": "a name that no memory has yet",
    "wikilink_found": "older texts name it",
    "auto_link": "the nearest of those that are stored",
    "sweep": "checked after the model came back",
    "delivery": "put off, to be compared and stored when the queue is flushed",
    "reactivated": "it was used again",
    "turn": "another turn of the episode",
    "plan": "a plan asked for it",
    "undo_run": "a whole run was taken back",
    "expired": "nobody decided in time",
    "reembed": "its vector was made anew",
    "repair": "it was not as it should be",
    "refused": "it would be refused",
}
"""Every rule that a decision or an entry of the journal can name, but those of one's own consolidation."""


def duplicate_message(match: Match) -> str:
    """The text of S0-32, with the reactivation hint for a faded memory (S0-33)."""
    text = f'Duplicate: already stored as "{match.title or "Untitled"}" ({match.memory_id or "?"})'
    if match.lifecycle != "ACTIVE":
        text += f" [{match.lifecycle}]. Use update_memory to reactivate if needed"
    percent = int((match.similarity or 0.0) * 100 + 1e-9)
    return f"{text}. Not created. ({percent}% similar)"


def queued_message(memory: Memory, *, linking: bool = True) -> str:
    """The text of S0-45: what waits, and what it will be linked to where its kind links names."""
    return f'Queued: "{short(memory)}"{will_link(names(memory.content) if linking else ())}'


def message(decision: Decision, *, asked_only: bool = False) -> str:
    """One sentence or two for the agent: what became of its text, or would, after a `check`."""
    if asked_only:
        return f"Not written, only checked. It would answer: {message(decision)}"
    memory = decision.memory
    match decision.outcome:
        case "duplicate":
            text = duplicate_message(decision.matches[0])
        case "rejected" if decision.conflicts:
            words = [f'"{excerpt(item.excerpt_a, 60)}" ({item.a}){_because(item)}' for item in decision.conflicts]
            text = f"Not stored: the policy refuses conflicts with {', '.join(words)}."
        case "rejected":
            reason = decision.reasons[0]
            text = f"Not stored: {reason_words(reason.rule)} ({reason.detail})."
        case "evolved" if memory is not None:
            text = f'Updated: "{short(memory)}" ({memory.id}) took the text as update {memory.evolution_count}.'
        case "reused" if memory is not None:
            text = f'Reused: "{short(memory)}" ({memory.id}) is still going on. Not created.'
        case "queued":
            text = queued_message(memory) if memory is not None else "Queued"
        case _ if memory is not None:
            text = f'Stored: "{short(memory)}" ({memory.id})' + _aside(decision, memory)
        case _:
            text = decision.outcome.capitalize()
    text += _judged_by(decision)
    if "embedding" in decision.degraded:
        text += " Stored unchecked: the embedder could not be reached."
    return text


def _judged_by(decision: Decision) -> str:
    """Where the relation model decided: what it said, how sure it was, and its version."""
    said = [
        f"{_reported(match)} with probability {match.opinion.of(_reported(match)):.4f} by {match.opinion.model}"
        for match in decision.matches
        if match.action != "none" and match.opinion is not None and not any(item.decisive for item in match.differences)
    ]
    return f" Judged {'; '.join(said)}." if said else ""


def _reported(match: Match) -> Relation:
    """What is said of a match: of two that are called distinct, the conflict that is still possible."""
    return "conflict" if match.action == "conflict" and match.relation == "distinct" else match.relation


def _aside(decision: Decision, memory: Memory) -> str:
    parts = []
    if memory.status == "superseded":
        parts.append(f"as history: {memory.superseded_by} is of a later date")
    replaced = [link.dst for link in decision.links if link.rel == "supersedes" and link.src == memory.id]
    if replaced:
        parts.append("replaces " + ", ".join(replaced))
    linked = [link.dst for link in decision.links if link.rel == "related"]
    if linked:
        parts.append("linked to " + ", ".join(linked))
    unknown = [reason.detail for reason in decision.reasons if reason.rule == "wikilink_waits"]
    if unknown:
        parts.append("to be linked once it is written: " + ", ".join(unknown))
    for conflict in decision.conflicts:
        if conflict.resolution is None:
            word = "possible repeat of" if conflict.kind == "duplicate" else "possible conflict with"
            parts.append(f'{word} "{excerpt(conflict.excerpt_a, 60)}" ({conflict.a}){_because(conflict)}')
    return "; ".join(["", *parts]) + "." if parts else "."


def _because(conflict: Conflict) -> str:
    words = [difference_words(item) for item in conflict.differences if item.decisive]
    return f": {', '.join(words)}" if words else ""


def difference_words(difference: Difference) -> str:
    """`number: "0.85" -> "0.95"`."""
    old, new = excerpt(difference.old, 40) or "(nothing)", excerpt(difference.new, 40) or "(nothing)"
    return f'{difference.kind.replace("_", " ")}: "{old}" -> "{new}"'


def reason_words(rule: str) -> str:
    """A rule id in words a person understands."""
    return _REASON_WORDS.get(rule, rule.replace("_", " "))


def _reason_line(reason: Reason) -> str:
    words = reason_words(reason.rule)
    return f"{words} ({reason.detail})" if reason.rule in ("junk", "recording_filter") else words


def why(result: WriteResult) -> str:
    """The reasons of a result in one line, with the differences that decided."""
    parts = list(dict.fromkeys(_reason_line(reason) for reason in result.reasons))
    near = any(reason.rule == "near_but_different" for reason in result.reasons)
    told = result.matches[:1] if near else [match for match in result.matches if match.action != "none"]
    shown = [item for match in told for item in match.differences]
    parts += list(dict.fromkeys(difference_words(item) for item in shown))[:3]
    return "; ".join(parts)


def dropped_line(dropped: Memory, match: Match) -> str:
    """The log line of S0-34."""
    percent = int((match.similarity or 0.0) * 100 + 1e-9)
    return (
        f'Dedup: dropped {dropped.kind} "{short(dropped)}" — '
        f'duplicate of "{match.title}" ({match.memory_id}, {percent}% similar)'
    )


def check_similar(result: WriteResult, *, limit: int = 5) -> dict[str, Json]:
    """A check in the shape of S0's endpoint (S0-20 to S0-24): matches of .90 and more, and a recommendation."""
    near = [match for match in result.matches if (match.similarity or 0.0) >= SIMILARITY_EDGE_THRESHOLD]
    near.sort(key=lambda match: -(match.similarity or 0.0))
    matches = [
        {
            "node_id": match.memory_id,
            "title": match.title or "Untitled",
            "similarity": round(match.similarity or 0.0, 4),
            "action": _s0_action(match),
            "lifecycle": match.lifecycle,
        }
        for match in near[: max(0, limit)]
    ]
    actions = {match["action"] for match in matches}
    recommendation = "duplicate_found" if "duplicate" in actions else "similar_found" if matches else "unique"
    return {"matches": matches, "recommendation": recommendation}


def _s0_action(match: Match) -> str:
    """S0-10's tier, unless a difference forbids to call it a duplicate (I2, F-8, F-9)."""
    repeat = (match.similarity or 0.0) >= DEDUP_CHECK_THRESHOLD and match.relation == "same"
    return "duplicate" if repeat or match.action == "duplicate" else "connect"
