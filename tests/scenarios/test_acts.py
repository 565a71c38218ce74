"""Scenarios beyond the table: messages, faded memories, restores, recall, long evolution, outages, namespaces."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import combinations

import pytest

from letter import to_the_letter
from scenarios.cases import FLAKE8, K1, K2, L1, L1_AGAIN, NEVER, RUFF, USE, says
from scenarios.tidy import model
from scenarios.world import World, found_anywhere, snapshot
from wellkept.core.judging.calibration import rounded
from wellkept.core.records.lifecycle import lifecycle
from wellkept.core.records.merge import evolution
from wellkept.core.records.vectors import cosine
from wellkept.engine.models.embedding import text_of, vector_key
from wellkept.errors import ConflictError, ModelUnavailable
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.types import ALL_STATUSES, Filter, Memory

Worlds = Callable[..., World]
ALL_KINDS = tuple(DEFAULT_KINDS)
BY_DEFAULT, TO_THE_LETTER = "by default", "to the letter"
either_policy = pytest.mark.parametrize("rules", [BY_DEFAULT, TO_THE_LETTER])


def policy_of(rules: str) -> Policy:
    """The default policy keeps a repeat as a wording; the letter of the sources drops it."""
    return Policy() if rules == BY_DEFAULT else to_the_letter()


def alive(here: World, memory: Memory) -> str:
    """The lifecycle of a memory now."""
    return lifecycle(here.store.get(memory.id, touch=False), Policy().for_kind(memory.kind).decay, here.clock())


# -- F-1, F-4, F-5: repeats -----------------------------------------------------------------


def test_the_message_of_a_duplicate_names_the_stored_lesson(world: Worlds) -> None:
    """F-1, S0-32."""
    here = world({(L1, L1_AGAIN): 0.95}, policy=to_the_letter())
    first = here.write(says("lesson", L1, title="Funding"))
    again = here.write(says("lesson", L1_AGAIN))
    assert first.memory is not None
    # The title stands in the embedded text, so L1 keeps its exact cosine only without one.
    assert again.outcome == "created"
    plain = here.write(says("curiosity", L1))
    repeat = here.write(says("curiosity", L1_AGAIN))
    assert plain.memory is not None
    assert repeat.message == f'Duplicate: already stored as "{L1}" ({plain.memory.id}). Not created. (95% similar)'
    assert repeat.dropped
    assert here.store.restore(repeat.dropped)  # I1: the refused words can be brought back
    assert L1_AGAIN in {row.content for row in here.rows()}


@pytest.mark.parametrize("nearer", [60, pytest.param(30, marks=pytest.mark.soak)])
def test_a_repeat_is_found_behind_nearer_rows_that_are_out_of_scope(world: Worlds, nearer: int) -> None:
    """F-4, B-15: the row of the scope is compared, however many rows with other tags are nearer."""
    strangers = [f"Deploys of {name} run from the main branch." for name in map(str, range(1000, 1000 + nearer))]
    cosines = {(K1, K2): 0.96} | {(text, K2): 0.97 for text in strangers}
    cosines |= {(a, b): 0.98 for at, a in enumerate(strangers) for b in strangers[at + 1 :]}
    cosines |= {(K1, text): 0.95 for text in strangers}
    here = world(cosines, policy=Policy().with_conflict("semantic", "supersede"))
    first = here.write(says("semantic", K1, tags=["ours"]))
    for text in strangers:
        here.write(says("semantic", text, tags=["theirs"]), on_conflict="ignore")
    again = here.write(says("semantic", K2, tags=["ours"]))
    assert again.outcome == "restated"
    assert again.memory is not None and first.memory is not None
    assert again.memory.id == first.memory.id


def test_a_dormant_lesson_blocks_and_its_reactivation_lasts(world: Worlds) -> None:
    """F-5: reactivation survives a read, upkeep, and the passing of days (I11)."""
    here = world()
    first = here.write(says("lesson", L1)).memory
    assert first is not None
    here.clock.advance(days=270)
    assert alive(here, first) == "DORMANT"
    again = here.write(says("lesson", L1))
    assert again.outcome == "duplicate"
    assert again.matches[0].lifecycle == "DORMANT"
    assert "[DORMANT]" in again.message
    assert "reactivate" in again.message
    assert alive(here, first) == "DORMANT"  # B-38: a confirmed repeat is no use
    assert here.store.restore(first.id)
    assert alive(here, first) == "ACTIVE"
    assert not here.store.restore(first.id)
    here.store.get(first.id)
    here.store.reembed()
    here.store.verify()
    here.clock.advance(days=30)
    assert alive(here, first) == "ACTIVE"
    assert here.store.get(first.id).status == "active"


# -- F-11, F-12, F-13, F-15: conflicts, and what is not asked --------------------------------


def test_restore_brings_the_denied_text_back_and_opens_the_conflict(world: Worlds) -> None:
    """F-11."""
    here = world({(USE, NEVER): 0.85}, policy=Policy().with_conflict("semantic", "supersede"))
    old = here.write(says("semantic", USE)).memory
    new = here.write(says("semantic", NEVER)).memory
    assert old is not None and new is not None
    assert [hit.memory.id for hit in here.store.recall("use x")] == [new.id]
    assert here.store.conflicts() == ()
    assert here.store.restore(old.id)
    assert {row.id for row in here.rows()} == {old.id, new.id}
    assert here.store.neighbors(old.id, rel="supersedes") == ()
    opened = here.store.conflicts(old.id)
    assert [(item.a, item.b, item.reason) for item in opened] == [(old.id, new.id, "negation_diff")]
    assert {hit.memory.id for hit in here.store.recall("use x")} == {old.id, new.id}


def test_recall_shows_the_conflict_with_both_tools(world: Worlds) -> None:
    """F-12."""
    here = world({(RUFF, FLAKE8): 0.85})
    here.write(says("semantic", RUFF))
    result = here.write(says("semantic", FLAKE8))
    (conflict,) = result.conflicts
    assert (conflict.kind, conflict.reason) == ("contradiction", "value_diff")
    assert [(item.old, item.new) for item in conflict.differences if item.decisive] == [("ruff", "flake8")]
    hits = here.store.recall("linting")
    assert {hit.memory.content for hit in hits} == {RUFF, FLAKE8}
    assert all([item.key for item in hit.conflicts] == [conflict.key] for hit in hits)


def test_a_refused_conflict_leaves_the_undo_list_as_it_was(world: Worlds) -> None:
    """F-13, B-11: the last entry is still the one before, and can still be undone."""
    here = world({(USE, NEVER): 0.85})
    first = here.write(says("semantic", USE))
    before, counts = snapshot(here.store), here.store.stats()
    with pytest.raises(ConflictError) as refused:
        here.write(says("semantic", NEVER), on_conflict="raise")
    assert [conflict.a for conflict in refused.value.conflicts] == [first.memory.id if first.memory else ""]
    assert (snapshot(here.store), here.store.stats()) == (before, counts)
    assert here.store.journal()[-1].seq == first.entry
    here.store.undo(first.entry)
    assert here.rows() == ()


@pytest.mark.parametrize("again", ["Use SQLite", "use sqlite!", "  USE   SQLite. "])
def test_the_embedder_is_not_asked_about_a_text_in_another_spelling(world: Worlds, again: str) -> None:
    """F-15, S4-4: on every path."""
    here = world()
    here.write(says("knowledge", "Use SQLite"))
    calls = here.embedder.calls
    assert here.write(says("knowledge", again)).outcome == "duplicate"
    assert here.check(says("knowledge", again)).outcome == "duplicate"
    assert here.batch([says("knowledge", again)]).counts == {"duplicate": 1}
    assert here.store.import_(here.file([says("knowledge", again)])).counts == {"duplicate": 1}
    assert here.embedder.calls == calls


# -- F-16, F-18: evolution -------------------------------------------------------------------


def test_an_evolved_row_shows_the_original_and_the_dated_update(world: Worlds) -> None:
    """F-16: a repeat of the update finds the row by its hash."""
    here = world({(K1, K2): 0.88})
    here.write(says("knowledge", K1))
    here.clock.advance(days=2)
    row = here.write(says("knowledge", K2)).memory
    assert row is not None
    assert (row.content, row.evolution_count, row.version) == (f"{K1}\n\n[2026-01-03] {K2}", 1, 2)
    calls = here.embedder.calls
    for text in (K2, K2.upper(), K1):
        again = here.write(says("knowledge", text))
        assert (again.outcome, again.memory.evolution_count if again.memory else 0) == ("duplicate", 1)
    assert here.embedder.calls == calls
    assert [version.memory.content for version in here.store.history(row.id)[:2] if version.memory] == [K1, row.content]


def test_twelve_updates_keep_ten_in_sight_and_all_in_history(world: Worlds) -> None:
    """F-18, B-7, B-8, S4-11: and the vector is always that of the present text; by default only ten are added."""
    here = world(policy=to_the_letter())
    first = "The night shift reports to the duty officer."
    whole, earlier = first, []
    texts = [f"The duty officer of the night shift also looks after the {word}." for word in NEWER_THINGS]
    row = here.write(says("knowledge", first)).memory
    for text in texts:
        here.clock.advance(days=1)
        here.embedder.relate(whole, text, 0.7)
        result = here.write(says("knowledge", text))
        assert (result.outcome, result.matches[0].similarity) == ("evolved", 0.7)
        assert result.memory is not None
        row, whole = result.memory, result.memory.content
        earlier.append(whole)
    assert row is not None
    assert row.evolution_count == 12
    told = evolution(row)
    assert (told["evolution_count"], told["last_evolution"]) == (12, here.clock().isoformat())
    assert [item["preview"] for item in told["history"]] == [text[:100] for text in texts[-10:]]
    assert {item["similarity"] for item in told["history"]} == {0.7}
    assert row.content.startswith(first)
    assert texts[0] not in row.content
    past = "\n".join(version.memory.content for version in here.store.history(row.id) if version.memory)
    assert [text for text in (first, *texts) if text not in past] == []
    assert row.embedding == vector_key(text_of(row))
    with here.store._ctx.storage.begin(here.store.namespace, write=False) as tx:
        stored = tx.vectors((row.embedding,))[row.embedding]
    wanted = here.embedder.embed([row.content])[0].vector
    assert wanted is not None
    assert rounded(cosine(stored, wanted)) == 1.0
    for text in (first, *texts):  # also those that have left the text
        assert here.write(says("knowledge", text)).outcome == "duplicate"
    assert here.store.verify() == ()


NEWER_THINGS = (
    "radio", "keys", "lamps", "boats", "doors", "gate", "generator", "kitchen", "archive", "garden", "mailbox", "pumps",
)  # fmt: skip


# -- F-19, F-20, F-25: recall ----------------------------------------------------------------


def test_recall_shows_only_the_newer_value_of_a_subject(world: Worlds) -> None:
    """F-19."""
    here = world({("status PLANNED", "is shipped"): 0.7, ("006", "status PLANNED"): 0.5, ("006", "is shipped"): 0.5})
    here.write(says("fact", "status PLANNED", subject="006"))
    here.write(says("fact", "is shipped", subject="006"))
    assert [hit.memory.content for hit in here.store.recall("006")] == ["is shipped"]
    shown = here.store.recall("006", include_superseded=True)
    assert {hit.memory.content for hit in shown} == {"is shipped", "status PLANNED"}


@pytest.mark.parametrize("kind", ["semantic", "decision", "note"])
def test_recall_shows_both_of_two_different_decisions(world: Worlds, kind: str) -> None:
    """F-25, B-26: five of six words in common do not make them one."""
    texts = ["Use Postgres for the events store", "Use SQLite for the events store"]
    here = world({(texts[0], texts[1]): 0.96, ("events store", texts[0]): 0.6, ("events store", texts[1]): 0.6})
    for text in texts:
        here.write(says(kind, text))
    assert sorted(hit.memory.content for hit in here.store.recall("events store")) == texts


# -- F-28: an outage -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_a_text_written_during_an_outage_is_stored_and_marked(world: Worlds, kind: str) -> None:
    """F-28, I7: every kind; the result says what could not run."""
    here = world({(L1, L1_AGAIN): 0.97})
    here.write(says(kind, L1))
    here.clock.advance(hours=1)  # an episode of the last half hour would need no vector
    here.embedder.fail_with = ModelUnavailable("no model")
    foretold = here.check(says(kind, L1_AGAIN))
    result = here.write(says(kind, L1_AGAIN))
    assert (result.outcome, foretold.outcome) == ("created", "created")
    assert result.memory is not None
    assert result.degraded == foretold.degraded == ("embedding",)
    assert "unchecked" in result.message
    assert not result.memory.checked
    assert [row.id for row in here.store.list(Filter(unchecked=True))] == [result.memory.id]
    assert found_anywhere(here.store, L1_AGAIN)
    assert here.store.journal()[-1].degraded == ("embedding",)
    with pytest.raises(ModelUnavailable):
        here.store.reembed()
    here.embedder.fail_with = None
    here.store.reembed()
    assert here.store.list(Filter(unchecked=True)) == ()
    assert all(row.embedding for row in here.store.list())
    assert here.store.verify() == ()


BEHIND = {BY_DEFAULT: "wording", TO_THE_LETTER: "superseded"}
"""The status of a repeat that the sweep puts behind the kept row."""
L1_ONCE_MORE = "The position is cut when the funding turns negative."
OUTAGES = (
    # kind, stored, new, cosine, (active afterwards, links, conflicts (open))
    ("lesson", L1, L1_AGAIN, 0.97, ((L1,), ("restates",), ())),
    ("lesson", L1, L1_AGAIN, 0.92, ((L1, L1_AGAIN), ("related",), ())),
    ("lesson", "threshold 0.85", "threshold 0.95", 0.99,
     (("threshold 0.85", "threshold 0.95"), (), ("contradiction",))),
    ("knowledge", K1, K2, 0.9, ((K1,), ("restates",), ())),
    ("knowledge", K1, K2, 0.8, ((K1, K2), ("related",), ())),
    ("semantic", RUFF, FLAKE8, 0.85, ((FLAKE8, RUFF), (), ("contradiction",))),
    ("fact", "The API listens on port 1.", "The API listens on port 2.", 0.9,
     (("The API listens on port 2.",), ("supersedes",), ())),
    ("thesis", L1, L1_AGAIN, 0.99, ((L1, L1_AGAIN), (), ())),
)  # fmt: skip


@either_policy
@pytest.mark.parametrize(("kind", "old", "new", "near", "expected"), OUTAGES)
def test_the_sweep_after_an_outage_decides_as_the_gate_would_have(
    world: Worlds,
    kind: str,
    old: str,
    new: str,
    near: float,
    expected: tuple[tuple[str, ...], ...],
    rules: str,
) -> None:
    """F-28: a repeat goes behind the kept one, a conflict is flagged; a second sweep changes nothing."""
    active, links, conflicts = expected
    here = world({(old, new): near}, policy=policy_of(rules))
    if rules == TO_THE_LETTER:
        links = tuple("supersedes" if rel == "restates" else rel for rel in links)
    kept = here.write(says(kind, old)).memory
    here.embedder.fail_with = ModelUnavailable("no model")
    late = here.write(says(kind, new)).memory
    assert kept is not None and late is not None
    here.embedder.fail_with = None
    here.clock.advance(hours=1)
    here.store.reembed()
    assert tuple(sorted(row.content for row in here.rows())) == tuple(sorted(active))
    picture = snapshot(here.store)
    assert tuple(rel for _, _, rel, _ in picture.links) == links
    assert tuple(item.kind for item in here.store.conflicts()) == conflicts
    if active == (old,):
        behind = here.store.get(late.id)
        assert (behind.status, behind.superseded_by) == (BEHIND[rules], kept.id)
    assert found_anywhere(here.store, new)
    assert here.store.verify() == ()
    here.clock.advance(hours=1)
    here.store.reembed()
    assert snapshot(here.store) == picture


@either_policy
def test_both_texts_of_an_outage_find_each_other_afterwards(world: Worlds, rules: str) -> None:
    """F-28: nothing was stored before the outage; the sweep still sees that the two say the same."""
    here = world({(L1, L1_AGAIN): 0.97}, policy=policy_of(rules))
    here.embedder.fail_with = ModelUnavailable("no model")
    first, second = here.write(says("lesson", L1)).memory, here.write(says("lesson", L1_AGAIN)).memory
    assert first is not None and second is not None
    here.embedder.fail_with = None
    here.store.reembed()
    active = here.rows()
    assert len(active) == 1
    assert {row.superseded_by for row in here.rows(BEHIND[rules])} == {active[0].id}
    assert here.store.verify() == ()


@either_policy
def test_the_same_words_in_another_kind_are_known_without_the_embedder(world: Worlds, rules: str) -> None:
    """F-28: the hashes alone say so; the wording gets its vector from the sweep."""
    here = world({}, policy=policy_of(rules))
    here.embedder.fail_with = ModelUnavailable("no model")
    first, again = here.write(says("lesson", L1)), here.write(says("note", L1.upper()))
    assert again.outcome == ("restated" if rules == BY_DEFAULT else "created")
    here.embedder.fail_with = None
    assert here.store.sweep().left == 0
    assert [row.id for row in here.rows()][0] == first.id
    assert all(row.embedding for row in here.rows("active", "wording"))
    assert here.store.verify() == ()


@either_policy
def test_after_the_sweep_the_words_behind_the_kept_row_lead_to_it(world: Worlds, rules: str) -> None:
    """F-28, B-9: a repeat hidden by the sweep is no superseded statement; a repeat of it is still a duplicate."""
    here = world({(L1, L1_AGAIN): 0.97}, policy=policy_of(rules))
    kept = here.write(says("lesson", L1)).memory
    here.embedder.fail_with = ModelUnavailable("no model")
    here.write(says("lesson", L1_AGAIN))
    here.embedder.fail_with = None
    here.store.reembed()
    again = here.write(says("lesson", L1_AGAIN))
    assert again.outcome == "duplicate"
    assert again.memory is not None and kept is not None
    assert again.memory.id == kept.id


@either_policy
def test_the_wordings_of_a_row_that_the_sweep_puts_behind_another_move_along(world: Worlds, rules: str) -> None:
    """F-28: the row got a wording of its own before the sweep; none is lost, whatever policy sweeps."""
    here = world({(L1, L1_AGAIN): 0.96, (L1_AGAIN, L1_ONCE_MORE): 0.96, (L1, L1_ONCE_MORE): 0.89})
    kept = here.write(says("lesson", L1)).memory
    model(here).failure = ModelUnavailable("no model")
    late = here.write(says("lesson", L1_AGAIN)).memory
    model(here).failure = None
    assert kept is not None and late is not None
    last = here.write(says("lesson", L1_ONCE_MORE))
    assert (last.outcome, last.id) == ("restated", late.id)
    here.store._ctx = replace(here.store._ctx, policy=policy_of(rules))
    before = snapshot(here.store).without_journal()
    here.store.reembed()
    (row,) = here.rows()
    assert (row.id, found_anywhere(here.store, L1_AGAIN)) == (kept.id, True)
    assert {(one.content, one.superseded_by) for one in here.rows(BEHIND[rules])} >= {(L1_AGAIN, kept.id)}
    assert {(one.content, one.superseded_by) for one in here.rows("wording")} >= {(L1_ONCE_MORE, kept.id)}
    assert here.store.verify() == ()
    swept = here.store.journal()[-1].seq
    again = here.write(says("lesson", L1_ONCE_MORE))
    assert (again.outcome, again.id) == ("duplicate", kept.id)
    here.store.undo(again.entry)
    here.store.undo(swept)
    assert snapshot(here.store).without_journal() == before
    here.store.reembed()
    here.store.erase(kept.id)
    assert not any(L1_ONCE_MORE in one.content for one in here.rows(*ALL_STATUSES))


@pytest.mark.parametrize(("resolution", "said"), [("keep_old", K2), ("keep_new", K1)])
def test_the_loser_of_a_settled_repeat_leads_to_the_winner(world: Worlds, resolution: str, said: str) -> None:
    """B-9: of two duplicate rows one is hidden; a repeat of its text is no reversion."""
    here = world({(K1, K2): 0.96})
    here.write(says("semantic", K1))
    (conflict,) = here.write(says("semantic", K2)).conflicts
    assert conflict.kind == "duplicate"
    here.store.resolve(conflict.key, resolution)  # type: ignore[arg-type]
    (winner,) = here.rows()
    again = here.write(says("semantic", said))
    assert again.outcome == "duplicate"
    assert again.memory is not None
    assert again.memory.id == winner.id


# -- F-29, F-30: writers and namespaces ------------------------------------------------------


@either_policy
@pytest.mark.parametrize("kind", ["lesson", "semantic", "fact", "knowledge"])
def test_threads_that_say_the_same_leave_one_row(world: Worlds, kind: str, rules: str) -> None:
    """F-29, I3; by default the other text stands behind it, once. Processes are in tests/concurrency."""
    spellings = (L1, L1.upper(), L1_AGAIN, L1_AGAIN.upper())
    policy = policy_of(rules).with_conflict(kind, "supersede")
    here = world(dict.fromkeys(combinations(spellings, 2), 0.97), policy=policy)
    texts = spellings * 4
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda text: here.store.remember(text, kind=kind), texts))
    outcomes = sorted(result.outcome for result in results)
    kept = ["restated"] if rules == BY_DEFAULT else []
    assert outcomes == ["created", *["duplicate"] * (len(texts) - 1 - len(kept)), *kept]
    (row,) = here.rows()
    assert len(here.rows("wording")) == len(kept)
    assert row.confirmations == len(texts) - 1
    assert [entry.seq for entry in here.store.journal()] == list(range(1, len(texts) + 1))


@pytest.mark.parametrize("kind", ALL_KINDS)
def test_another_namespace_neither_blocks_nor_shows(world: Worlds, kind: str) -> None:
    """F-30, I8."""
    here = world()
    here.write(says(kind, L1))
    before = snapshot(here.store)
    there = here.store.in_namespace("another")
    result = there.remember(L1, kind=kind)
    assert (result.outcome, result.matches, result.links) == ("created", (), ())
    assert snapshot(here.store) == before
    assert [hit.memory.namespace for hit in there.recall(L1)] == ["another"]
