"""The demo as JSON: all figures and decisions in one object."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from wellkept.cli.demo.story import Step, Story
from wellkept.cli.demo.view import reason
from wellkept.core.records.codec import iso, to_plain
from wellkept.types import WriteResult


def as_json(story: Story, db: str | None) -> str:
    """Return one JSON object with the figures and every decision, in ASCII, so that a terminal interprets nothing."""
    numbers = story.numbers
    back = story.taken_back
    whole: dict[str, Any] = {
        "store": db,
        "embedder": story.embedder,
        "figures": asdict(story.figures),
        "decisions": [_decision(done, numbers) for done in story.steps],
        "conflicts": to_plain(story.conflicts, full=True),
        "question": {
            "query": story.answer.query,
            "hits": [
                {"content": hit.memory.content, "id": hit.memory.id, "score": hit.score} for hit in story.answer.hits
            ],
            "timeline": to_plain(story.answer.timeline, full=True),
        },
        "undo": None
        if back is None
        else {
            "number": back.step.line.number,
            "before": back.before,
            "after_undo": back.after_undo,
            "after_redo": back.after_redo,
            "restored": back.restored,
        },
    }
    return json.dumps(whole, indent=2)


def _decision(done: Step, numbers: Mapping[str, int]) -> dict[str, Any]:
    shared = {
        "number": done.line.number,
        "at": iso(done.line.at),
        "kind": done.line.kind,
        "content": done.line.content,
        "outcome": done.outcome,
        "why": reason(done, numbers),
    }
    match done.became:
        case WriteResult() as result:
            return {
                **shared,
                "memory_id": result.memory.id if result.memory is not None else None,
                "reasons": to_plain(result.reasons),
                "matches": to_plain([match for match in result.matches if match.action != "none"], full=True),
                "conflicts": [conflict.key for conflict in result.conflicts],
                "degraded": list(result.degraded),
                "entry": result.entry,
            }
        case error:
            return {**shared, "error": type(error).__name__}
