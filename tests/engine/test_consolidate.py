"""Planning and execution of a consolidation in the engine: questions, reports, writes and cost (S1)."""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import wellkept
from growth import too_slow
from letter import to_the_letter
from scenarios.tidy import ALL_NEAR, BUS, NO_TEA, TEA, all_the_same, fill, model, of_type, states
from scenarios.world import BACKENDS, World, make, snapshot
from stores import EVERYTHING
from wellkept.core.consolidation.rules import Consolidation, Rule, When
from wellkept.core.records.merge import aliases
from wellkept.engine.consolidation import execution, planning
from wellkept.engine.models.embedding import text_of, vector_key
from wellkept.errors import Full, InvalidPlan, ModelUnavailable
from wellkept.models.port import Embedded
from wellkept.policy import Policy
from wellkept.storage.memory import DictStorage
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.faults import FaultyStorage
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import AliasChange, JournalEntry, Memory, MemoryChange, NewMemory, Scope, Statement

each_backend = pytest.mark.parametrize("backend", BACKENDS)


@pytest.fixture
def here(tmp_path: Path) -> Any:
    made = make("memory", tmp_path, ALL_NEAR)
    yield made
    made.store.close()


# -- what is asked ---------------------------------------------------------------------------


def test_no_text_is_embedded_again_and_only_open_pairs_are_read(here: World) -> None:
    """A pass over stored memories needs no embedding; rules decide first."""
    fill(here, [*TEA, NO_TEA, "Port 8000.", "Port 8001."])
    here.embedder.calls = 0
    model(here).asked.clear()
    plan = here.store.plan()
    here.store.execute(plan)
    assert here.embedder.calls == 0
    asked = {frozenset(pair) for pair in model(here).asked}
    assert len(asked) == len(model(here).asked)  # each pair once
    assert all(not {"Port 8000.", "Port 8001."} & pair for pair in asked)
    assert plan.detected.asked <= plan.detected.pairs


def test_the_older_text_is_asked_about_first(here: World) -> None:
    """The model reads (old, new), as at the gate."""
    fill(here, BUS)
    model(here).asked.clear()
    here.store.plan()
    assert model(here).asked == [BUS]


def test_the_progress_of_each_step_is_told(here: World) -> None:
    fill(here, [*TEA, *BUS])
    all_the_same(here, TEA)
    seen: list[tuple[str, int, int]] = []
    plan = here.store.plan(progress=lambda *step: seen.append(step))
    assert [step for step, done, whole in seen if done == whole] == ["read", "compare"]
    done: list[tuple[int, int]] = []
    here.store.execute(plan, progress=lambda at, of: done.append((at, of)))
    assert done == [(1, 1)]


def test_the_kinds_of_degradation_are_named_in_the_plan(tmp_path: Path) -> None:
    """I7: the report names parts that could not run."""
    lexical = make("memory", tmp_path, embedder=FakeEmbedder(ALL_NEAR, lexical=True), policy=to_the_letter())
    fill(lexical, [*BUS, "Use SQLite.", "use sqlite!"])
    all_the_same(lexical, BUS)
    plan = lexical.store.plan()
    assert plan.degraded == ("lexical",)
    assert [len(action.targets) for action in plan.actions] == [2]  # the equal ones; letters alone say nothing
    model(lexical).failure = ModelUnavailable("down")
    assert lexical.store.plan().degraded == ("relation", "lexical")
    lexical.store.close()


def test_a_model_that_fails_in_the_middle_leaves_the_rules_to_decide(tmp_path: Path) -> None:
    """I7: half an answer is none."""
    pairs = {(f"Machine {n} is painted.", f"There is paint on machine {n}."): 0.97 for n in range(3)}
    here = make("memory", tmp_path, pairs)
    fill(here, [text for pair in pairs for text in pair])
    all_the_same(here, *pairs)
    whole = here.store.plan()
    model(here).failure = ModelUnavailable("down")
    told = here.store.plan()
    assert whole.planned["fold"] == 3 and told.actions == () and "relation" in told.degraded
    here.store.close()


@each_backend
def test_memories_of_a_kind_that_the_policy_no_longer_knows_are_left_alone_and_told(
    backend: str, tmp_path: Path
) -> None:
    """I7: one such row must not stop the pass."""
    old = Policy.from_toml('[kinds.rumour]\npreset = "general"\n')
    here = make(backend, tmp_path, policy=old)
    fill(here, ["It is said.", "it is said!"], kind="rumour")
    fill(here, ["Use SQLite.", "use sqlite!"])
    assert here.store.plan().planned["merge"] == 2
    ctx = replace(here.store._ctx, policy=Policy())
    plan = planning.plan(ctx)
    assert (plan.planned["merge"], plan.detected.memories, plan.degraded) == (1, 2, ("unknown_kind",))
    here.store.close()


# -- what is written -------------------------------------------------------------------------


@each_backend
@pytest.mark.parametrize(
    ("policy", "act", "at", "status"), [(to_the_letter(), "merge", 0, "archived"), (Policy(), "fold", 1, "wording")],
    ids=["letter", "default"],
)  # fmt: skip
def test_each_action_is_one_journal_entry_that_says_run_plan_rule_and_configuration(
    backend: str, tmp_path: Path, policy: Policy, act: str, at: int, status: str
) -> None:
    """S1-3, S1-45, I6: the memory at this place is merged away or becomes a wording."""
    here = make(backend, tmp_path, ALL_NEAR, policy=policy)
    rows = fill(here, [*TEA, NO_TEA])
    all_the_same(here, TEA)
    plan = here.store.plan()
    before = len(here.store.journal())
    report = here.store.execute(plan)
    entries = [entry for entry in here.store.journal()[before:] if entry.verb != "ask"]
    assert [entry.seq for entry in entries] == [result.entry for result in report.results]
    assert {(entry.verb, entry.run_id, entry.actor) for entry in entries} == {("consolidate", report.run_id, "tester")}
    assert [entry.outcome for entry in entries] == ["flag_contradiction", act]
    for entry, action in zip(entries, plan.actions, strict=True):
        assert entry.reasons[0].rule == action.rationale.rule and entry.reasons[0].detail
        assert plan.plan_id in entry.reasons[1].detail and plan.config_hash in entry.reasons[1].detail
        assert action.id in entry.reasons[1].detail
        assert set(action.targets) <= set(entry.memory_ids)
    assert entries[0].conflict_keys == (here.store.conflicts()[0].key,)
    story = here.store.history(rows[at].id)
    assert [version.outcome for version in story][-1] == act
    assert story[-1].memory is not None and story[-1].memory.status == status
    here.store.close()


def test_a_dry_report_has_a_run_of_its_own_and_wrote_nothing(here: World) -> None:
    """S1-1, S1-52, B-22."""
    fill(here, BUS)
    all_the_same(here, BUS)
    plan, before = here.store.plan(), snapshot(here.store)
    reports = [execution.dry(here.store._ctx, plan, forced="kill switch") for _ in range(2)]
    assert {report.mode for report in reports} == {"dry_run"} and reports[0].run_id != reports[1].run_id
    assert reports[0].forced == "kill switch" and reports[0].executed == reports[0].skipped == 0
    assert snapshot(here.store) == before


def test_an_action_that_fails_is_told_in_the_log(here: World, caplog: pytest.LogCaptureFixture) -> None:
    """S1-48, S1-51."""
    fill(here, BUS)
    all_the_same(here, BUS)
    plan = here.store.plan()
    ctx = here.store._ctx
    broken = replace(ctx, storage=FaultyStorage(ctx.storage, at=1, error=Full("no space is left"), only=("apply",)))
    with caplog.at_level(logging.ERROR, "wellkept.consolidate"):
        report = execution.execute(broken, plan)
    assert states(report) == [("fold", "failed")]
    assert any("CONSOLIDATE/ERROR" in record.getMessage() for record in caplog.records)


def test_a_hand_made_plan_that_names_what_is_not_there_fails_or_is_stale_and_writes_nothing(here: World) -> None:
    """A plan may come from a file."""
    fill(here, BUS)
    all_the_same(here, BUS)
    plan = here.store.plan()
    (merge,) = plan.actions
    broken = [
        replace(merge, id="1", expect={"nobody": 1}),
        replace(merge, id="2", expect={}),
        replace(merge, id="3", canonical="nobody"),
        replace(merge, id="4", aliases=("nobody",)),
        replace(merge, id="5", rows=(replace(merge.rows[0], after={"no_field": 1}),)),
        replace(merge, id="6", rows=(replace(merge.rows[0], after={"expires_at": "soon"}, before={}),)),
    ]
    before = snapshot(here.store)
    report = here.store.execute(replace(plan, actions=tuple(broken)))
    assert {result.state for result in report.results} <= {"stale", "failed"}, report.results
    assert all(result.why for result in report.results)
    assert snapshot(here.store) == before
    with pytest.raises(InvalidPlan):
        here.store.execute(replace(plan, namespace="elsewhere"))


def test_memories_that_are_gone_or_changed_are_named(here: World) -> None:
    rows = fill(here, [*BUS, *TEA])
    all_the_same(here, BUS, TEA)
    plan = here.store.plan()
    here.store.erase(rows[0].id)
    here.store.forget(rows[2].id)
    report = here.store.execute(plan)
    assert states(report) == [("fold", "stale"), ("fold", "stale")]
    assert rows[0].id in report.results[0].why and rows[2].id in report.results[1].why


def test_what_somebody_did_by_hand_already_is_done_and_what_was_half_done_is_stale(tmp_path: Path) -> None:
    """An action is `done` only if all its rows are in the state after it."""
    here = make("memory", tmp_path)
    rows = fill(here, ["A note.", "Another note."])
    here.clock.advance(days=45)
    plan = here.store.plan()
    here.store.forget(rows[0].id)
    assert [result.state for result in here.store.execute(plan).results] == ["done", "executed"]
    here.store.restore(rows[1].id)
    assert [result.state for result in here.store.execute(plan).results] == ["done", "stale"]
    here.store.close()


def test_after_a_promotion_somebody_elses_judgement_is_not_run_over(tmp_path: Path) -> None:
    here = make("memory", tmp_path)
    rows = fill(here, [{"content": "Restart the worker.", "tags": ["sop"], "importance": 0.8}])
    with here.store._ctx.storage.begin("default", write=True) as tx:
        tx.touch({rows[0].id: (7, here.clock(), None)})
    plan = here.store.plan()
    here.store.execute(plan)
    here.store.revise(rows[0].id, importance=0.3)
    assert [result.state for result in here.store.execute(plan).results] == ["stale"]
    assert here.rows()[0].importance == 0.3
    assert here.store.plan().actions == ()
    here.store.close()


def test_a_run_of_many_sources_keeps_every_name_and_the_winners_provenance(tmp_path: Path) -> None:
    """MAX_PROVENANCE: ids above the limit remain in the merged memories."""
    here = make("memory", tmp_path)
    for number in range(4):
        origins = [f"{number}-{at}" for at in range(600)]
        fill(here, ["Said again" + "." * number], provenance=origins)
    plan = here.store.plan()
    here.store.execute(plan)
    (kept,) = here.rows()
    assert len(kept.metadata["merged_from"]) == 3
    assert len(kept.provenance) == 1000 and kept.provenance[0] == "3-0"
    assert here.store.verify() == ()
    here.store.undo_run(here.store.journal()[-1].run_id)
    assert len(here.rows()) == 4
    here.store.close()


def test_taking_back_an_import_run_leaves_nothing_of_it(tmp_path: Path) -> None:
    """Whatever wrote the run."""
    here = make("memory", tmp_path)
    fill(here, ["It was here before."])
    before = snapshot(here.store).without_journal()
    report = here.store.import_(here.file(["One.", "Two.", "one", "Three."]))
    assert len(here.rows()) == 4
    here.store.undo_run(report.run_id)
    assert snapshot(here.store).without_journal() == before
    here.store.close()


# -- traps -----------------------------------------------------------------------------------


class Bundle(FakeEmbedder):
    """All texts are near each other, with different vectors."""

    def embed(self, texts: Any) -> list[Embedded]:
        made = []
        for text in texts:
            noise = np.random.default_rng(len(text) + sum(text.encode()) * 7).standard_normal(self.dim)
            made.append(Embedded(vector=(1 + 0.05 * noise).astype(np.float32), chunks=1))
        return made


def crowd(count: int, say: Any) -> wellkept.MemoryStore:
    """A store of so many memories, put there without asking the gate."""
    embedder, clock, ids = Bundle(dim=64), FrozenClock(), CountingIds()
    store = wellkept.open(
        DictStorage(), embedder=embedder, relation_model=FakeRelationModel(), clock=clock, new_id=CountingIds(10**6)
    )
    ctx = store._ctx
    effects: list[Any] = []
    vectors = {}
    for number in range(count):
        new: NewMemory = say(number)
        said = {name: getattr(new, name) for name in Statement.__dataclass_fields__}
        at, key = clock.advance(seconds=1), vector_key(text_of(new))
        memory = Memory(
            **said, id=ids(), namespace=ctx.namespace, created_at=at, updated_at=at, embedding=key, chunks=1
        )
        vectors.setdefault(key, embedder.embed([new.content])[0].vector)
        effects.append(MemoryChange(None, memory))
        effects += [AliasChange(memory.id, one, present=True) for one in aliases(new.content)]
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        ids_ = tuple(item.after.id for item in effects if isinstance(item, MemoryChange))
        entry = JournalEntry(at=clock(), verb="import", outcome="created", memory_ids=ids_, effects=tuple(effects))
        tx.apply(entry, vectors=vectors)
    return store


CROWDS = {
    "equal": lambda number: NewMemory(content="Tea is upstairs."),
    "values": lambda number: NewMemory(content=f"The API listens on port {8000 + number}."),
    "slot": lambda number: NewMemory(content=f"Nous is at 1.{number}", subject="Nous", attribute="version"),
}


@pytest.mark.parametrize("name", sorted(CROWDS))
@pytest.mark.parametrize("count", [80, pytest.param(5000, marks=pytest.mark.soak)])
def test_a_crowd_of_one_kind_costs_its_number_and_not_its_square(name: str, count: int) -> None:
    """Equal texts, near-copies that differ in one number, one subject with everything."""
    store = crowd(count, CROWDS[name])
    began = time.process_time()
    plan = store.plan()
    spent = time.process_time() - began
    assert spent < 0.05 * count + 5, f"{spent:.1f} s"
    assert plan.detected.pairs <= 12 * count
    if name == "equal":
        assert [len(action.targets) for action in plan.actions] == [count]
    else:
        assert of_type(plan, "merge") == [] and 0 < len(plan.actions) <= 4 * count
    if len(plan.actions) > 2000:  # the reference backend copies itself for each transaction
        plan = replace(plan, actions=plan.actions[:1000])
    before = store.list(EVERYTHING)
    began = time.process_time()
    report = store.execute(plan)
    assert report.errors == 0 and report.executed == len(plan.actions)
    assert store.plan().planned["merge"] == 0
    store.undo_run(report.run_id)
    assert store.list(EVERYTHING) == before
    assert time.process_time() - began < 0.1 * count + 10
    store.close()


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(CROWDS))
def test_the_time_of_a_plan_grows_with_a_crowd_and_not_with_its_square(name: str) -> None:
    """Four times as many memories: a square would take sixteen times as long, twice their number is allowed."""

    def seconds(count: int) -> float:
        store = crowd(count, CROWDS[name])
        began = time.process_time()
        plan = store.plan()
        spent = time.process_time() - began
        assert plan.detected.pairs <= 12 * count
        store.close()
        return spent

    assert too_slow(seconds, 40, 160, 8) == ""


def test_a_rule_for_one_kind_of_cluster_leaves_the_others_alone(here: World) -> None:
    """S1-50: category scoping against over-merging."""
    fill(here, BUS, tags=["travel"])
    fill(here, TEA, tags=["kitchen"])
    all_the_same(here, TEA, BUS)
    rule = Rule(id="kitchen", trigger="on_similarity", action="merge", when=When(categories_any=("Kitchen",)))
    plan = here.store.plan(Consolidation(rules=(rule,)))
    assert [len(action.targets) for action in plan.actions] == [3]
    three = replace(rule, when=When(min_cluster_size=4))
    assert here.store.plan(Consolidation(rules=(three,))).actions == ()  # S1-23


def test_a_plan_that_was_edited_is_stale_where_it_lies_about_the_memories(tmp_path: Path) -> None:
    """B-22: a plan is a file. Its former states must equal the stored ones, and a merge joins only active memories."""
    with wellkept.open("memory:", embedder="hashing") as store:
        ids = [store.remember(text, on_conflict="ignore").memory.id for text in ("Tea is up.", "tea is up")]  # type: ignore[union-attr]
        plan = store.plan()
        [merge] = plan.actions
        lied = replace(merge.rows[0], before={**merge.rows[0].before, "importance": 0.1})
        forged = replace(plan, actions=(replace(merge, rows=(lied, *merge.rows[1:])),))
        told = store.execute(forged)
        assert [(result.state, "not what the plan says" in result.why) for result in told.results] == [("stale", True)]
        assert {memory.id for memory in store.list()} == set(ids)


def test_a_limit_above_the_number_of_memories_leaves_none_out() -> None:
    """S1-7: at most this many newest memories."""
    with wellkept.open("memory:", embedder="hashing") as store:
        for text in ("Tea is up.", "tea is up", "Cups are down."):
            store.remember(text, on_conflict="ignore")
        assert [store.plan(scope=Scope(limit=limit)).detected.memories for limit in (0, 2, 3, 5, 99)] == [0, 2, 3, 3, 3]
