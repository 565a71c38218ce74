"""A text that recall has just given is a use of the memory, and no new statement."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from wellkept.core.gate.feedback_guard import echoed, is_echo
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.policy import Policy
from wellkept.types import Decision, Memory, NewMemory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEXT = "The staging server listens on port 8080."


def at(policy: Policy, kind: str) -> Moment:
    return Moment(NOW, "new", "n", policy, policy.for_kind(kind))


def handed(**values: Any) -> Memory:
    made = {"content": TEXT, "kind": "signal", "created_at": NOW, "updated_at": NOW, **values}
    return Memory(id="old", namespace="n", **made)


def guarded(row: Memory, **values: Any) -> Decision | None:
    new = NewMemory(**{"content": TEXT, "kind": "signal", **values})
    return echoed(new, (row,), Evidence(), at(Policy(), new.kind))


@pytest.mark.parametrize(
    ("row", "said", "stage"),
    [
        (handed(), {}, "content_hash"),
        (handed(), {"content": TEXT.upper()}, "canonical_hash"),
        (handed(), {"kind": "note", "automatic": True}, "content_hash"),
        (handed(title="Staging"), {"title": "staging"}, "content_hash"),
        (handed(subject="staging"), {}, "content_hash"),
        (handed(content=f"{TEXT}\nIt is in Graz."), {}, "canonical_hash"),
    ],
    ids=["letters", "spelling", "an automatic note", "its title", "less beside it", "a part"],
)
def test_what_was_handed_out_is_dropped_and_can_be_restored(row: Memory, said: dict[str, Any], stage: str) -> None:
    decision = guarded(row, **said)
    assert decision is not None and is_echo(decision)
    assert (decision.outcome, decision.memory, decision.effects) == ("duplicate", row, ())
    assert decision.dropped is not None and decision.dropped.content == said.get("content", TEXT)
    assert decision.matches[0].stage == stage


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (handed(status="archived"), {}),
        (handed(expires_at=NOW - timedelta(seconds=1)), {}),
        (handed(), {"kind": "note"}),
        (handed(agent="ana"), {"agent": "ben"}),
        (handed(), {"title": "Staging"}),
        (handed(title="Staging"), {"title": "Production"}),
        (handed(), {"event_time": NOW}),
        (handed(), {"metadata": {"seen": 2}}),
        (handed(content="The staging server listens on port 9090."), {}),
    ],
    ids=["archived", "lapsed", "another kind", "another agent", "a title", "another title", "a time", "a figure",
         "an update"],
)  # fmt: skip
def test_what_brings_something_new_is_a_statement_of_its_own(row: Memory, said: dict[str, Any]) -> None:
    assert guarded(row, **said) is None


@pytest.mark.parametrize(("on_conflict", "dropped"), [("warn", True), ("ignore", False)])
def test_where_the_policy_looks_for_no_repeats_nothing_is_dropped(on_conflict: Any, *, dropped: bool) -> None:
    moment = at(Policy().with_conflict("lesson", on_conflict), "lesson")
    new = NewMemory(content=TEXT, kind="lesson")
    assert (echoed(new, (handed(kind="lesson"),), Evidence(), moment) is not None) is dropped
