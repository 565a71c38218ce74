"""The table of scenarios on every path: remember, check, remember_many, import; each also replayed (I4, I5).

The relation model of these tests leaves every pair to rules and similarity (`FakeRelationModel.defers`), which the
packaged one never does: bounds can so be tried to the fourth decimal. The twins with the packaged models stand in
`scenarios/test_shipped_bands.py` and `scenarios/test_example_sentences.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from scenarios.cases import CASES, VERBATIM_BLOCKS, Case
from scenarios.world import Snapshot, World, snapshot
from wellkept.core.records.merge import segments
from wellkept.errors import ConflictError
from wellkept.types import ALL_STATUSES, WriteResult

Worlds = Callable[..., World]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def name_rows(picture: Snapshot) -> dict[str, str]:
    return {row.id: " + ".join(segments(row)) for row in picture.memories}


def assert_holds(case: Case, picture: Snapshot) -> None:
    """Rows, links and conflicts are those of the case, and no others."""
    names = name_rows(picture)
    by_status = {
        status: tuple(sorted(names[row.id] for row in picture.memories if row.status == status))
        for status in ALL_STATUSES
    }
    expected_rows = {"active": case.active, "superseded": case.hidden, "wording": case.wordings}
    assert by_status == {status: tuple(sorted(expected_rows.get(status, ()))) for status in ALL_STATUSES}
    links = sorted((names[src], rel, names[dst]) for src, dst, rel, _ in picture.links)
    assert links == sorted(case.links)
    conflicts = sorted((item.kind, item.reason, str(item.resolution)) for item in picture.conflicts)
    expected = sorted((kind, reason, str(resolution)) for kind, reason, resolution in case.conflicts)
    assert conflicts == expected


def assert_decided(case: Case, result: WriteResult) -> None:
    assert (result.outcome, result.reasons[0].rule) == (case.outcome, case.rule)
    assert result.message  # I6
    if case.outcome in ("duplicate", "restated"):
        assert result.memory is not None
        assert result.memory.id in result.message  # S0-32


def prepared(world: Worlds, case: Case) -> World:
    here = world(case.cosines, policy=case.policy)
    for item in case.stored:
        here.write(item)
    return here


@every_case
def test_one_write_decides_as_the_scenario_says(world: Worlds, case: Case) -> None:
    here = prepared(world, case)
    before = snapshot(here.store)
    if case.rule == "conflict_raise":
        with pytest.raises(ConflictError) as refused:
            here.write(case.new)
        assert refused.value.conflicts
        assert snapshot(here.store) == before  # F-13: no row, no journal entry, no counter
        return
    result = here.write(case.new)
    assert_decided(case, result)
    after = snapshot(here.store)
    assert_holds(case, after)
    assert len(after.journal) == len(before.journal) + 1 == result.entry
    assert here.store.verify() == ()


@every_case
def test_a_check_says_what_the_write_will_do_and_writes_nothing(world: Worlds, case: Case) -> None:
    here = prepared(world, case)
    before = snapshot(here.store)
    foretold = here.check(case.new)
    assert_decided(case, foretold)
    assert foretold.entry == 0
    assert snapshot(here.store) == before
    if case.rule == "conflict_raise":
        return
    done = here.write(case.new)
    assert [(reason.rule) for reason in done.reasons] == [(reason.rule) for reason in foretold.reasons]
    assert done.matches == foretold.matches
    assert [(link.rel, link.dst) for link in done.links] == [(link.rel, link.dst) for link in foretold.links]
    told = [
        [(item.kind, item.reason, item.similarity, item.a) for item in result.conflicts] for result in (done, foretold)
    ]
    assert told[0] == told[1]


@every_case
def test_a_batch_decides_the_same_and_its_replay_changes_nothing(world: Worlds, case: Case) -> None:
    here = world(case.cosines, policy=case.policy)
    first = here.batch(case.items)
    if case.rule == "conflict_raise":
        assert [error.error for error in first.errors] == ["ConflictError"]
    else:
        last = first.results[-1]
        assert last is not None
        assert not first.errors
        assert_decided(case, last)
    after = snapshot(here.store)
    assert_holds(case, after)
    here.clock.advance(days=1)
    again = here.batch(case.items)
    assert snapshot(here.store) == after  # I5
    assert all(result.entry == 0 for result in again.results if result is not None)


@every_case
def test_an_import_decides_the_same_and_its_replay_changes_nothing(world: Worlds, case: Case) -> None:
    here = world(case.cosines, policy=case.policy)
    path = here.file(case.items)
    first = here.store.import_(path)
    refused = case.rule == "conflict_raise"
    assert len(first.errors) == refused
    assert sum(first.counts.values()) == len(case.items) - refused
    after = snapshot(here.store)
    assert_holds(case, after)
    here.clock.advance(days=1)
    again = here.store.import_(path)
    assert snapshot(here.store) == after  # I5
    assert dict(again.counts) == {"replayed": len(case.items) - refused}


CONFIRMED = [case for case in CASES if case.new["kind"] in VERBATIM_BLOCKS and case.rule != "conflict_raise"]


@pytest.mark.parametrize("case", CONFIRMED, ids=str)
def test_one_write_repeated_only_confirms(world: Worlds, case: Case) -> None:
    """B-38: the repeat counts, is journaled, and changes nothing else."""
    here = prepared(world, case)
    first = here.write(case.new)
    before = snapshot(here.store)
    later = here.clock.advance(days=1)
    again = here.write(case.new)
    assert (again.outcome, again.reasons[0].rule) == ("duplicate", "content_hash")
    assert first.memory is not None
    assert again.memory is not None
    assert again.memory.id == first.memory.id
    after = snapshot(here.store)
    assert len(after.journal) == len(before.journal) + 1
    confirmed = {
        row.id: replace(
            row, confirmations=row.confirmations + 1, last_confirmed_at=later, updated_at=later, version=row.version + 1
        )
        for row in before.memories
        if row.id == again.memory.id
    }
    expected = replace(before, memories=tuple(confirmed.get(row.id, row) for row in before.memories))
    assert after.without_journal() == expected.without_journal()


@pytest.mark.parametrize(
    "case",
    [case for case in CASES if case.outcome in ("created", "superseded", "evolved", "duplicate", "restated")],
    ids=str,
)
def test_every_decision_can_be_taken_back(world: Worlds, case: Case) -> None:
    """I1: undo restores exactly the former state."""
    here = prepared(world, case)
    before = snapshot(here.store).without_journal()
    result = here.write(case.new)
    here.store.undo(result.entry)
    assert snapshot(here.store).without_journal() == before
