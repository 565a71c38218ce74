"""Reflection on stores: planned, executed once, taken back to the byte (S2-33, S2-48, S2-51, B-28)."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from stores import Desk, desk
from wellkept.core.consolidation.reflection import Reflection
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.judging.compare import compare
from wellkept.errors import InvalidField, ModelUnavailable, UndoBlocked, UnknownKind
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Filter, NewMemory, Scope

A = "The nightly deploy failed because the disk was full"
B = "The deploy broke once more at night, the disk was full"
C = "Last night the deploy did not pass"
FAR = "Tea is served upstairs"


def episodic(text, **values):
    return NewMemory(content=text, kind="episodic", **values)


def fill(table: Desk, *texts: str, kind: str = "episodic", cosine: float = 0.8, **values) -> list[str]:
    """Texts that are all as near to each other, stored one a minute."""
    for at, text in enumerate(texts):
        for other in texts[:at]:
            pair = (NewMemory(content=other, kind=kind), NewMemory(content=text, kind=kind))
            table.near(*pair, cosine)
    ids = []
    for text in texts:
        ids.append(table.store.remember(text, kind=kind, on_conflict="ignore", **values).memory.id)
        table.clock.advance(minutes=1)
    return ids


def only_summary(table: Desk):
    (found,) = [row for row in table.store.list() if "reflection" in row.tags]
    return found


def execute(table: Desk, config: Reflection | None = None, **options):
    return table.store.execute(table.store.reflect(config, **options))


def test_reflection_only_plans_until_it_is_executed(table):
    ids = fill(table, A, B, FAR)
    before = table.snapshot()
    plan = table.store.reflect()
    assert [(action.type, set(action.targets)) for action in plan.actions] == [("summarize", set(ids))]
    assert table.snapshot() == before


def test_sources_survive_behind_the_summary_with_their_links(table):
    """S2-48, S2-51, B-28: superseded_by the summary, derived_from links, nothing lost."""
    ids = fill(table, A, B, C)
    run = execute(table)
    made = only_summary(table)
    assert (run.executed, made.kind, made.provenance) == (1, "semantic", tuple(ids))
    assert made.tags == ("reflection", "level:1")
    for memory_id in ids:
        held = table.store.get(memory_id, touch=False)
        assert (held.status, held.superseded_by, held.superseded_at) == ("superseded", made.id, table.clock())
    links = table.store.subgraph([made.id]).edges
    assert set(links) == {(made.id, one, rel) for one in ids for rel in ("derived_from", "supersedes")}
    assert [hit.memory.id for hit in table.store.recall("nightly deploy disk")] == [made.id]
    assert table.store.verify() == ()
    (entry,) = table.store.journal(newest=1)
    assert (entry.outcome, entry.memory_id, entry.run_id) == ("summarize", made.id, run.run_id)


@pytest.mark.parametrize(("how", "status"), [("hard", "archived"), ("keep", "active")])
def test_the_other_two_forms_keep_everything_as_well(table, how, status):
    """S2-48: `hard` is destructive elsewhere; here its sources are archived and restorable (I1)."""
    ids = fill(table, A, B)
    execute(table, Reflection(consolidate=how))
    made = only_summary(table)
    rows = [table.store.get(one, touch=False) for one in ids]
    assert [(row.status, row.superseded_by, row.content) for row in rows] == [(status, "", A), (status, "", B)]
    assert set(table.store.subgraph([made.id]).edges) == {(made.id, one, "derived_from") for one in ids}
    assert table.store.verify() == ()
    if how == "hard":
        assert table.store.restore(ids[0]) and table.store.get(ids[0]).status == "active"


@pytest.mark.parametrize("how", ["default", "hard", "keep"])
def test_a_plan_executed_twice_makes_one_summary(table, how):
    """I5, B-22."""
    fill(table, A, B)
    plan = table.store.reflect(Reflection(consolidate=how))
    assert table.store.execute(plan).executed == 1
    before = table.snapshot()
    again = table.store.execute(plan)
    assert [result.state for result in again.results] == ["done"] and table.snapshot() == before
    assert table.store.reflect(Reflection(consolidate=how)).actions == ()


@pytest.mark.parametrize("how", ["default", "hard", "keep"])
def test_an_undone_run_leaves_no_trace_in_the_memories(table, how):
    """S2-48: the summary goes, the sources come back to the byte; the plan can then be executed anew."""
    fill(table, A, B, C)
    rows, links, conflicts, *_ = table.snapshot()
    plan = table.store.reflect(Reflection(consolidate=how))
    run = table.store.execute(plan)
    table.store.undo_run(run.run_id)
    assert table.snapshot()[:3] == (rows, links, conflicts)
    assert table.store.verify() == ()
    assert table.store.execute(plan).executed == 1 and len(table.rows("active")) == (4 if how == "keep" else 1)


def test_what_changed_since_is_stale_and_stays(table):
    first, _, third = fill(table, A, B, C)
    plan = table.store.reflect()
    table.store.revise(third, importance=0.9)
    before = table.snapshot()
    (result,) = table.store.execute(plan).results
    assert (result.state, third in result.why) == ("stale", True) and table.snapshot() == before
    assert table.store.get(first).status == "active"


@pytest.mark.parametrize(("how", "state"), [("default", "stale"), ("keep", "executed")])
def test_a_memory_that_came_into_dispute_since_does_not_go_out_of_sight(table, how, state):
    """A conflict changes no version; both sides must stay visible for review."""
    fill(table, A, B)
    plan = table.store.reflect(Reflection(consolidate=how))
    against = "The nightly deploy did not fail because the disk was full"
    table.near(episodic(A), episodic(against), 0.7)
    table.near(episodic(B), episodic(against), 0.5)
    assert table.store.remember(against, kind="episodic").conflicts
    assert [result.state for result in table.store.execute(plan).results] == [state]


def test_a_source_restored_while_the_summary_lives_stays_out(table):
    ids = fill(table, A, B, C)
    run = execute(table)
    made = only_summary(table)
    assert table.store.restore(ids[1])
    assert table.store.get(ids[1], touch=False).superseded_by == ""
    assert (made.id, ids[1], "derived_from") in table.store.subgraph([made.id]).edges
    assert table.store.reflect().actions == () and table.store.verify() == ()
    with pytest.raises(UndoBlocked):
        table.store.undo_run(run.run_id)


def test_a_forgotten_summary_lets_its_sources_be_summed_up_again(table):
    fill(table, A, B)
    execute(table, Reflection(consolidate="keep"))
    table.store.forget(only_summary(table).id)
    assert execute(table, Reflection(consolidate="keep")).executed == 1
    assert len([row for row in table.store.list() if "reflection" in row.tags]) == 1


def test_the_same_store_gives_the_same_plan(tmp_path):
    """I4, B-22: on both backends, whatever the time."""
    plans = []
    for backend in ("memory", "sqlite"):
        table = desk(backend, tmp_path)
        fill(table, A, B, C, FAR, cosine=0.76)
        plans.append(table.store.reflect())
        table.clock.advance(days=1)
        plans.append(table.store.reflect())
        table.store.close()
    assert len({plan.plan_id for plan in plans}) == 1 and plans[0].actions


def test_a_summary_is_found_by_its_own_words_and_is_told_again_as_a_repeat(table):
    fill(table, A, B)
    execute(table)
    made = only_summary(table)
    assert table.store.remember(made.content, kind="semantic", tags=made.tags).outcome == "duplicate"


@pytest.mark.parametrize("how", ["default", "keep"])
def test_a_source_said_again_is_a_repeat_as_before_and_takes_no_summary_away(table, how):
    """S2-33, B-9: summed up is not replaced; one text of many is no reversion of their summary."""
    first, _ = fill(table, A, B)
    execute(table, Reflection(consolidate=how))
    made = only_summary(table)
    result = table.store.remember(A.upper(), kind="episodic")
    assert (result.outcome, result.memory.id) == ("duplicate", first)
    assert table.store.get(made.id, touch=False).status == "active"


def test_a_text_that_was_replaced_by_a_source_may_return_without_hiding_the_summary(table):
    """B-9 along a chain: older -> source -> summary."""
    older = table.store.remember("The deploy runs at noon", kind="episodic").memory
    first, _ = fill(table, A, B)
    table.store.supersede(older.id, first)
    execute(table)
    result = table.store.remember("The deploy runs at noon", kind="episodic")
    assert result.outcome == "created" and only_summary(table).status == "active"


def test_consolidation_never_flags_a_summary_against_its_source(table):
    """S2-33, even if negation differs; nor does it fold one into the other."""
    texts = ("The deploy runs at night", "At night the deploy does run")
    fill(table, *texts, kind="semantic")
    writer = Says("The deploy does not run at night")
    plan = table.store.reflect(Reflection(consolidate="keep"), Scope(kinds=("semantic",)), summariser=writer)
    assert "contradicts" in " ".join(plan.actions[0].rationale.reasons)  # our own check would not let it pass
    execute(table, Reflection(consolidate="keep"), scope=Scope(kinds=("semantic",)))
    made = only_summary(table)
    table.store.revise(made.id, content="The deploy does not run at night")
    made = table.store.get(made.id)
    source = table.store.list()[0]
    assert compare(NewMemory(content=made.content), source, cosine=None, similarity=None).relation == "conflict"
    assert table.store.plan(Consolidation(look_at=0.0)).actions == () and table.store.conflicts() == ()


def test_a_second_level_sums_up_summaries(table):
    fill(table, A, B)
    fill(table, "Tea was late on Monday", "On Monday tea was late again")
    execute(table)
    rows = table.store.list()
    assert len(rows) == 2
    plan = table.store.reflect(Reflection(max_level=2, similarity=0.0), Scope(kinds=("semantic",)))
    table.store.execute(plan)
    made = only_summary(table)
    assert made.tags == ("reflection", "level:2") and made.provenance == tuple(row.id for row in rows)
    assert table.store.reflect(Reflection(similarity=0.0), Scope(kinds=("semantic",))).actions == ()


def test_an_unknown_kind_is_refused_and_a_setting_out_of_range_too(table):
    with pytest.raises(UnknownKind):
        table.store.reflect(None, Scope(kinds=("rumour",)))
    with pytest.raises(InvalidField):
        Reflection(min_size=1)


def test_namespaces_are_summed_up_by_themselves(table):
    """I8."""
    table.near(episodic(A), episodic(B), 0.9)
    table.store.remember(A, kind="episodic")
    table.store.in_namespace("other").remember(B, kind="episodic")
    assert table.store.reflect().actions == ()


def test_the_embedder_down_while_executing_stores_the_summary_unchecked(table):
    """I7."""
    fill(table, A, B)
    plan = table.store.reflect()
    table.fake.fail_with = ModelUnavailable("down")
    assert table.store.execute(plan).executed == 1
    made = only_summary(table)
    assert (made.checked, made.embedding) == (False, "")
    table.fake.fail_with = None
    table.store.reembed()
    assert table.store.get(made.id).checked and table.store.conflicts() == ()
    assert {row.status for row in table.store.list(Filter(kinds=("episodic",), statuses=("active", "superseded")))} == {
        "superseded"
    }


# --------------------------------------------------------------------------------------------
# Other summarisers


class Says:
    """Writes what it is told to, or fails."""

    id = "says/1"

    def __init__(self, *answers: object) -> None:
        self.answers = list(answers)
        self.asked: list[tuple[tuple[str, ...], int]] = []

    def summarise(self, texts: Sequence[str], *, limit: int) -> str:
        self.asked.append((tuple(texts), limit))
        answer = self.answers.pop(0) if len(self.answers) > 1 else self.answers[0]
        if isinstance(answer, Exception):
            raise answer
        return answer  # type: ignore[return-value]


def test_another_summarisers_text_is_taken_where_it_stands_the_checks(table):
    fill(table, A, B)
    writer = Says("  The nightly deploy fails when the disk is full.\n")
    plan = table.store.reflect(Reflection(limit=100), summariser=writer)
    (action,) = plan.actions
    assert action.summary["content"] == "The nightly deploy fails when the disk is full."
    assert (plan.degraded, writer.asked) == ((), [((A, B), 100)])
    assert "summed up by says/1" in action.rationale.reasons
    assert plan.plan_id != table.store.reflect(Reflection(limit=100)).plan_id


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        ("", "empty"),
        ("x" * 600, "512"),
        ("The nightly deploy failed 12 times", "names 12"),
        ("The nightly deploy never failed because the disk was full", "contradicts"),
        ("nul \x00", ""),
        (None, "not text"),
        (7, "not text"),
        (ModelUnavailable("down"), "down"),
        (RuntimeError("boom"), "RuntimeError"),
        (KeyError("x"), "KeyError"),
    ],
)
def test_what_cannot_be_taken_is_told_and_sentences_are_chosen_instead(table, answer, why):
    """S2-33, I7: a summary is bounded, invents nothing and contradicts no source; otherwise it is extractive."""
    fill(table, A, B)
    plan = table.store.reflect(summariser=Says(answer))
    (action,) = plan.actions
    assert plan.degraded == ("summariser",)
    assert set(action.summary["content"].split("\n")) <= {A, B}
    assert "was not taken" in action.rationale.reasons[-1] and why in action.rationale.reasons[-1]
    assert table.store.execute(plan).executed == 1


def test_a_summariser_that_is_down_is_asked_once_one_that_errs_again(table):
    fill(table, A, B)
    fill(table, "Tea was late on Monday", "On Monday tea was late again")
    down, errs = Says(ModelUnavailable("down")), Says("x" * 600, "Tea is late on Mondays.")
    assert len(table.store.reflect(summariser=down).actions) == 2 and len(down.asked) == 1
    plan = table.store.reflect(summariser=errs)
    assert len(errs.asked) == 2 and plan.actions[1].summary["content"] == "Tea is late on Mondays."


def test_a_lexical_embedder_is_told(tmp_path):
    table = desk("memory", tmp_path, fake=FakeEmbedder(dim=64, lexical=True))
    assert table.store.reflect().degraded == ("lexical",)
