"""Decisions as text: messages for agents, log lines, `check-similar`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from wellkept.core.records.merge import short
from wellkept.core.records.wikilinks import names, will_link
from wellkept.core.text.forms import excerpt
from wellkept.policy import SIMILARITY_EDGE_THRESHOLD
from wellkept.types import (
    AnswerPart,
    AnswerVerb,
    Conflict,
    ConflictKind,
    Decision,
    Difference,
    Json,
    Match,
    MatchAction,
    Memory,
    Move,
    MoveReason,
    Question,
    Reason,
    Relation,
    WriteResult,
)

_NEAR = 0.5
"""Similarity from which the nearest memory is named even if the decision ignores it."""
_REASON_WORDS = {
    "content_hash": "exactly the same text",
    "canonical_hash": "the same text in another spelling",
    "similarity_skip": "nothing in it is new",
    "told_again": "a paraphrase of what is stored",
    "restates": "another wording of a stored memory",
    "outdated": "it probably replaces the older text",
    "may_update": "it may replace an older memory",
    "may_restate": "it may be another wording of a stored memory",
    "similarity_evolve": "similar enough to be appended",
    "no_room_to_grow": "it adds to a memory that is long enough already",
    "similarity_link": "similar to a stored memory",
    "refines": "it adds detail to a stored memory",
    "same_subject": "a new value for the same subject",
    "reversion": "an earlier value, stated again",
    "conflict_supersede": "it contradicts the older text and is newer",
    "older_assertion": "of an earlier date than what is stored",
    "conflict_warn": "the two cannot both hold",
    "possible_conflict": "the two may contradict each other",
    "conflict_judge": "the judge found a contradiction",
    "possible_repeat": "possibly a duplicate",
    "conflict_raise": "the policy refuses conflicts",
    "ongoing_window": "the same episode is still going on",
    "junk": "not worth keeping",
    "chatter": "it says nothing worth keeping",
    "low_importance": "it may say nothing worth keeping, so it has a low importance",
    "recording_filter": "nothing was decided",
    "nothing_like_it": "no match found",
    "near_but_different": "similar to a stored memory, but not a duplicate",
    "own_event": "its kind keeps every record",
    "not_compared": "stored without comparison",
    "replay": "the same call was made before",
    "handed_out": "it was recalled a moment ago, in the same session",
    "wikilink": "named in the text",
    "wikilink_waits": "a name that no memory has yet",
    "wikilink_found": "older texts name it",
    "auto_link": "among the nearest stored memories",
    "judged_later": "read by the models after the commit",
    "judged_right": "somebody looked and found the decision right",
    "judged_wrong": "somebody looked and found the decision wrong",
    "judged_unsure": "somebody looked and could not tell",
    "sweep": "checked after the model came back",
    "delivery": "queued; it is compared and stored when the queue is flushed",
    "reactivated": "it was used again",
    "answer": "somebody answered the question about it",
    "answered_by": "who answered",
    "answered_with": "the model and the prompt that gave the answer",
    "teaches": "what the answer says of an automatic act",
    "forget_lessons": "what answers had taught was forgotten",
    "lessons": "what answers had taught another store was taken over",
    "bounds": "the relation model whose bounds held",
    "split": "a wording is a memory of its own",
    "turn": "another turn of the episode",
    "plan": "part of a consolidation plan",
    "undo_run": "the run was undone",
    "import": "replaced there, where it was imported from",
    "expired": "nobody decided in time",
    "reembed": "its vector was recomputed",
    "repair": "it was repaired",
    "refused": "it would be refused",
}
"""Text for each rule id of decisions and journal entries, except custom consolidation rules."""

_HOLDS_IT: tuple[MatchAction, ...] = ("duplicate", "restate", "reuse")
"""Match actions under which no row is added to the list."""
_FLAGGED: Mapping[ConflictKind, str] = {
    "duplicate": "possible duplicate of",
    "contradiction": "possible conflict with",
    "outdated": "probably outdates",
}


_MOVES: Mapping[MoveReason, str] = {
    "outdates": "outdates",
    "contradicts": "contradicts",
    "updates": "may update",
    "updates_part": "updates in part",
    "replaces": "replaces",
}


def duplicate_message(match: Match, *, verb: str = "restore") -> str:
    """The message for a duplicate, with a hint to reactivate a faded memory.

    Args:
        match: The memory that holds the text.
        verb: Name of the command that reactivates it.
    """
    text = f'Duplicate: already stored as "{match.title or "Untitled"}" ({match.memory_id or "?"})'
    if match.lifecycle != "ACTIVE":
        text += f" [{match.lifecycle}]. Use {verb} to reactivate if needed"
    return f"{text}. Not created. ({_percent(match)}% similar)"


def restated_message(match: Match) -> str:
    """The message for a text that is kept as a wording of the memory that it restates."""
    return f'Known: kept as another wording of "{match.title or "Untitled"}" ({match.memory_id}).'


def mark_words(mark: Conflict, one: str) -> str:
    """The phrase for a mark from the side of one of its memories, to be followed by the other one's id.

    Example:
        >>> from datetime import UTC, datetime
        >>> mark = Conflict(key="k", a="old", b="new", kind="outdated", reason="model", similarity=None,
        ...                 created_at=datetime(2026, 3, 1, tzinfo=UTC), probability=0.93)
        >>> mark_words(mark, "old"), mark_words(mark, "new")
        ('outdated by', 'outdates')
    """
    return "outdated by" if mark.a == one else "outdates"


def move_words(move: Move, over: str) -> str:
    """The reason why a hit precedes one with a better score.

    Args:
        move: The move.
        over: Name of the hit with the better score.

    Example:
        >>> move_words(Move("old", "outdates", 0.93), "old")
        'put before old, which it outdates (0.93)'
    """
    return f"put before {over}, which it {_MOVES[move.why]}{chance(move.probability)}"


def chance(probability: float | None) -> str:
    """A probability in parentheses, after a space; empty without one."""
    return "" if probability is None else f" ({probability:.2f})"


def queued_message(memory: Memory, *, linking: bool = True) -> str:
    """The message for a queued text, with the names it will link."""
    return f'Queued: "{short(memory)}"{will_link(names(memory.content) if linking else ())}'


def message(decision: Decision, *, asked_only: bool = False) -> str:
    """The message for a decision in one or two sentences; `asked_only` words it for a `check`."""
    if asked_only:
        return f"Not written, only checked. It would answer: {message(decision)}"
    memory = decision.memory
    match decision.outcome:
        case "duplicate":
            text = duplicate_message(decision.matches[0])
        case "restated" if decision.reasons[0].rule == "no_room_to_grow":
            text = f'Added behind "{decision.matches[0].title}" ({decision.matches[0].memory_id}), as a wording.'
        case "restated":
            text = restated_message(decision.matches[0])
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
        case "queued" if memory is not None:
            text = queued_message(memory)
        case _ if memory is not None:
            text = f'Stored: "{short(memory)}" ({memory.id})' + _aside(decision, memory)
        case _:
            text = decision.outcome.capitalize()
    return text + _judged_by(decision) + _unjudged(decision)


def _unjudged(decision: Decision) -> str:
    """What the decision lacks, so that it is not the last word."""
    if "embedding" in decision.degraded:
        return " Stored unchecked: the embedder could not be reached."
    return " It is judged later." if "judging" in decision.degraded else ""


def _judged_by(decision: Decision) -> str:
    """The relation model's answer, probability and version, where it decided; *variant* is no answer of the model."""
    said = [
        f"{_reported(match)} with probability {match.opinion.of(_reported(match)):.4f} by {match.opinion.model}"
        for match in decision.matches
        if match.action != "none" and match.opinion is not None and not any(item.decisive for item in match.differences)
        if _reported(match) != "variant"
    ]
    return f" Judged {'; '.join(said)}." if said else ""


def _reported(match: Match) -> Relation:
    """The relation to show: a possible conflict instead of *distinct* where one was flagged."""
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
            word = _FLAGGED[conflict.kind]
            parts.append(f'{word} "{excerpt(conflict.excerpt_a, 60)}" ({conflict.a}){_because(conflict)}')
    return "; ".join(["", *parts]) + "." if parts else "."


def _because(conflict: Conflict) -> str:
    words = [difference_words(item) for item in conflict.differences if item.decisive]
    return f": {', '.join(words)}" if words else ""


def difference_words(difference: Difference) -> str:
    """`number: "0.85" -> "0.95"`; bare numbers read as identifiers are named "version or number"."""
    kind, old, new = difference.kind.replace("_", " "), difference.old, difference.new
    if kind == "identifier" and old.isdecimal() and new.isdecimal():
        kind = "version or number"
    return f'{kind}: "{excerpt(old, 40) or "(nothing)"}" -> "{excerpt(new, 40) or "(nothing)"}"'


def reason_words(rule: str) -> str:
    """Text for a rule id."""
    return _REASON_WORDS.get(rule, rule.replace("_", " "))


def told(reasons: Iterable[Reason]) -> str:
    """The reasons of a journal entry in one line; an answer is given in its own words.

    Example:
        >>> told([Reason("answer", "new"), Reason("answered_by", "person"), Reason("teaches", "fold wrong drawn")])
        'the answer: new; by a person; the fold was wrong'
        >>> told([Reason("judged_right", "4 created"), Reason("judged_right", "7 restated")])
        'right: entry 4, 7'
    """
    given, judged = tuple(reasons), []
    for verdict in ("right", "wrong", "unsure"):
        numbers = [one.detail.partition(" ")[0] for one in given if one.rule == f"judged_{verdict}"]
        judged += [f"{verdict}: entry {', '.join(numbers)}"] if numbers else []
    rest = (one for one in given if not one.rule.startswith("judged_"))
    return "; ".join(dict.fromkeys([*judged, *(words for reason in rest if (words := _told(reason)))]))


def _told(reason: Reason) -> str:
    match reason.rule:
        case "answer" if reason.detail:
            return f"the answer: {reason.detail}"
        case "answered_by":
            return f"by {'an' if reason.detail == 'agent' else 'a'} {reason.detail}"
        case "teaches":
            return f"the {reason.detail.replace(' ', ' was ', 1).removesuffix(' drawn').removesuffix(' seen')}"
        case "bounds":
            return ""  # an id that tells people nothing
        case _:
            return reason_words(reason.rule)


def _reason_line(reason: Reason, matches: Sequence[Match]) -> str:
    words = reason_words(reason.rule)
    if reason.rule == "nothing_like_it" and matches and (matches[0].similarity or 0.0) >= _NEAR:
        nearest = matches[0]
        return f'no sure match; nearest: "{excerpt(nearest.title, 60)}" ({_percent(nearest)}% similar)'
    return f"{words} ({reason.detail})" if reason.rule in ("junk", "chatter", "recording_filter") else words


def why(result: WriteResult) -> str:
    """The reasons of a result in one line, with the deciding differences."""
    parts = list(dict.fromkeys(_reason_line(reason, result.matches) for reason in result.reasons))
    near = any(reason.rule == "near_but_different" for reason in result.reasons)
    told = result.matches[:1] if near else [match for match in result.matches if match.action != "none"]
    shown = [item for match in told for item in match.differences]
    parts += list(dict.fromkeys(difference_words(item) for item in shown))[:3]
    return "; ".join(parts)


def _percent(match: Match) -> int:
    return int((match.similarity or 0.0) * 100 + 1e-9)


def dropped_line(dropped: Memory, match: Match) -> str:
    """The log line of a dropped duplicate."""
    return (
        f'Dedup: dropped {dropped.kind} "{short(dropped)}" — '
        f'duplicate of "{match.title}" ({match.memory_id}, {_percent(match)}% similar)'
    )


def check_similar(result: WriteResult, *, limit: int = 5) -> dict[str, Json]:
    """The `check-similar` answer: near memories and what a write would do.

    It lists matches at similarity .90 or more and every match the write would act on, duplicates first. The
    recommendation does not depend on `limit`.
    """
    near = [
        match
        for match in result.matches
        if (match.similarity or 0.0) >= SIMILARITY_EDGE_THRESHOLD or match.action in (*_HOLDS_IT, "evolve")
    ]
    near.sort(key=lambda match: (match.action not in _HOLDS_IT, -(match.similarity or 0.0)))
    matches = [
        {
            "node_id": match.memory_id,
            "title": match.title or "Untitled",
            "similarity": round(match.similarity or 0.0, 4),
            "action": "duplicate" if match.action in _HOLDS_IT else "connect",
            "lifecycle": match.lifecycle,
        }
        for match in near
    ]
    known = any(match["action"] == "duplicate" for match in matches)
    recommendation = "duplicate_found" if known else "similar_found" if matches else "unique"
    return {"matches": matches[: max(0, limit)], "recommendation": recommendation}


def answered(parts: Sequence[AnswerPart], question: Question, *, hides: bool) -> str:
    """One sentence on what an answer has done; `hides` when a replaced memory is superseded, not only marked."""
    numbers = {one.number: one.memory for one in question.candidates}
    words = _ANSWERED if hides else {**_ANSWERED, **_MARKED}
    said = [words[part.verb].format(_named(part, numbers)) for part in parts]
    return f"{question.id}: {' and '.join(said)}."


_ANSWERED: Mapping[AnswerVerb, str] = {
    "new": "it stays a memory of its own",
    "repeats": "it is another wording of {}",
    "replaces": "it replaces {}",
    "replaces part of": "it replaces a part of {}; the rest holds",
    "outdated by": "it is outdated by {}",
    "adds to": "it adds to {}",
    "keep both": "it contradicts {}, and both stand",
    "not worth keeping": "it is archived; `restore` brings it back",
}

_MARKED: Mapping[AnswerVerb, str] = {
    "replaces": "it is marked as the update of {}",
    "outdated by": "it is marked as outdated by {}",
}


def _named(part: AnswerPart, numbers: Mapping[int, Memory]) -> str:
    return " and ".join(f'"{excerpt(numbers[one].content, 60)}" ({numbers[one].id})' for one in part.numbers)
