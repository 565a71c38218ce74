"""Which writes may be judged after their commit, and what is stored meanwhile: evidence in, decision out."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from wellkept.core.gate.may_wait import WAITS, is_open, is_plain, may_wait, put_off, why
from wellkept.core.judging.calibration import IDENTITY
from wellkept.core.judging.evidence import Evidence, Moment
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import Candidate, JournalEntry, Memory, MemoryChange, NewMemory

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
NEW = NewMemory(content="Each month begins with paying the landlord.", kind="fact")
OLD = Memory(
    id="old", namespace="n", content="The rent is due on the first.", kind="fact", created_at=NOW - timedelta(days=9),
    updated_at=NOW - timedelta(days=9),
)  # fmt: skip


def moment(judging="later", **options):
    kinds = {**DEFAULT_KINDS, "fact": replace(DEFAULT_KINDS["fact"], **options)}
    return Moment(NOW, "new", "n", Policy(kinds=kinds, judging=judging), kinds["fact"])


def evidence(row=OLD, **values):
    found = Evidence(neighbours=(Candidate(row, "vector", 0.7),), calibration=IDENTITY)
    return replace(found, **values)


@pytest.mark.parametrize(
    ("judging", "options", "waits"),
    [
        ("later", {}, True),
        ("now", {}, False),
        ("later", {"on_conflict": "raise"}, False),
        ("later", {"on_error": "raise"}, False),
    ],
)
def test_a_write_waits_unless_its_caller_waits_for_a_refusal(judging, options, waits):
    assert may_wait(NEW, moment(judging, **options)) is waits


def test_a_text_waits_only_where_there_is_something_to_read():
    assert is_open(NEW, evidence(), moment())
    assert not is_open(NEW, Evidence(), moment())


def test_what_waits_is_stored_as_new_and_does_nothing_else():
    decision = put_off(NEW, evidence(), moment())
    assert decision is not None and is_plain(decision)
    assert [one.rule for one in decision.reasons] == ["judged_later"] and WAITS in decision.degraded
    born = decision.effects[0]
    assert isinstance(born, MemoryChange) and born.after is not None and not born.after.checked


@pytest.mark.parametrize(
    "found",
    [
        evidence(degraded=("embedding",)),
        evidence(contradiction_fn=lambda old, new: False),
        evidence(replace(OLD, subject="rent", attribute="day"), slot=(replace(OLD, subject="rent", attribute="day"),)),
    ],
    ids=["without a vector", "with a check of the caller", "where the rules see an act"],
)
def test_what_the_rules_decide_is_not_put_off(found):
    new = replace(NEW, subject="rent", attribute="day") if found.slot else NEW
    assert put_off(new, found, moment()) is None


def test_a_late_act_names_its_write():
    entry = JournalEntry(seq=7, at=NOW, verb="remember", outcome="created", effects=())
    assert why(entry).detail == "written in entry 7"
