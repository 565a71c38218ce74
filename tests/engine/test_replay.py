"""Policy replay (issue 4.9): past decisions under another policy, in the world as it was, without writing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from examples import examples
from letter import to_the_letter
from properties import acts
from properties.acts import Act
from properties.test_stories import fresh, run
from scenarios.world import BACKENDS, World, snapshot
from stores import Desk
from wellkept.engine.replay.replay import replay
from wellkept.errors import InvalidField, ModelUnavailable
from wellkept.policy import Policy
from wellkept.types.replay import ReplayReport

each_backend = pytest.mark.parametrize("backend", BACKENDS)
OLD, AGAIN = "Deploys run from the main branch.", "The main branch is where deploys run from."


def policy(text: str) -> Policy:
    return Policy.from_toml(text)


def tried(desk: Desk | World, new: Policy | str, **options: Any) -> ReplayReport:
    """Replay, and see that nothing was written."""
    before = snapshot(desk.store)
    header = desk.store._ctx.storage.header()
    report = replay(desk.store._ctx, policy(new) if isinstance(new, str) else new, **options)
    assert snapshot(desk.store) == before
    assert desk.store._ctx.storage.header() == header
    return report


def moves(report: ReplayReport) -> list[tuple[int, str, str]]:
    return [(item.entry, item.old.outcome, item.new.outcome) for item in report.differences]


# -- the same policy -------------------------------------------------------------------------


lives = given(prefix=acts.stories(acts.acts, 14), items=st.lists(acts.items, max_size=4), forward=st.booleans())


@each_backend
@examples(8, 20)
@lives
def test_the_policy_of_then_decides_as_it_did(
    backend: str,
    prefix: list[Act],
    items: list[dict[str, Any]],
    forward: bool,  # noqa: FBT001
) -> None:
    """I4: over any sequence of acts, calls with their own `on_conflict` and a batch among them."""
    decides_as_it_did(backend, prefix, items, forward=forward)


@pytest.mark.soak
@each_backend
@settings(max_examples=250)
@lives
def test_the_policy_of_then_decides_as_it_did_in_many_lives(
    backend: str,
    prefix: list[Act],
    items: list[dict[str, Any]],
    forward: bool,  # noqa: FBT001
) -> None:
    """The same law, searched further."""
    decides_as_it_did(backend, prefix, items, forward=forward)


def decides_as_it_did(backend: str, prefix: list[Act], items: list[dict[str, Any]], *, forward: bool) -> None:
    with fresh(backend) as here:
        run(here, prefix)
        here.store.remember_many(items, on_conflict="supersede")
        entries = here.store.journal()
        erased = any(entry.verb == "erase" for entry in entries)
        report = tried(here, Policy(), forward=forward)
        if erased and forward:
            return  # what is left of the world need not lead to the same decisions; they say `unknown`
        assert report.differences == ()
        decisions = [entry for entry in entries if entry.verb in ("remember", "remember_many")]
        assert report.decisions + sum(item.verb.startswith("remember") for item in report.unreplayed) == len(decisions)
        assert erased or report.unreplayed == ()
        assert all("erased" in item.why or erased for item in report.unreplayed)
        if forward and not erased:
            assert report.active == (len(here.rows()), len(here.rows()))


@each_backend
def test_an_import_is_replayed_and_an_export_brought_back_is_not_a_decision(backend: str) -> None:
    with fresh(backend, 2) as (here, there):
        here.store.import_(here.file(["Use X", "use x!", "ok, thanks"]))
        report = tried(here, Policy())
        assert (report.decisions, report.differences, report.unreplayed) == (3, (), ())
        path = here.folder / "export.jsonl"
        here.store.export(path)
        there.store.import_(path)
        assert tried(there, Policy()).decisions == 0


# -- what a changed policy would do ----------------------------------------------------------


@pytest.mark.parametrize(("repeats", "outcome"), [("fold", "restated"), ("drop", "duplicate")])
def test_a_lower_band_folds_or_drops_what_was_stored(table: Desk, repeats: str, outcome: str) -> None:
    table.near(OLD, AGAIN, 0.92)
    first = table.store.remember(OLD, kind="lesson").memory
    table.store.remember(AGAIN, kind="lesson")
    bands = f'[kinds.lesson]\nrepeats = "{repeats}"\nbands = [{{at = 0.90, outcome = "skip"}}]\n'
    report = tried(table, bands)
    assert moves(report) == [(2, "created", outcome)]
    [item] = report.differences
    assert (item.old.similarity, item.new.similarity, item.new.reasons[0].rule) == (0.92, 0.92, "similarity_skip")
    assert first is not None
    assert (item.new.memory_id, item.new.text, item.text) == (first.id, OLD, AGAIN)
    assert (item.differs, item.cause, item.old.links) == (("outcome",), "policy", 1)
    assert [(one.old, one.new, one.count) for one in report.counts] == [
        ("created", "created", 1),
        ("created", outcome, 1),
    ]


def test_a_higher_link_band_is_told_though_the_outcome_stays(table: Desk) -> None:
    table.near(OLD, AGAIN, 0.92)
    for text in (OLD, AGAIN):
        table.store.remember(text, kind="lesson")
    report = tried(table, '[kinds.lesson]\nbands = [{at = 0.95, outcome = "link"}]\n')
    assert [(item.differs, item.old.links, item.new.links) for item in report.differences] == [(("links",), 1, 0)]


def test_warn_made_supersede_hides_the_older(table: Desk) -> None:
    table.near("threshold 0.85", "threshold 0.95", 0.99)
    old = table.store.remember("threshold 0.85").memory
    table.store.remember("threshold 0.95")
    report = tried(table, '[kinds.semantic]\non_conflict = "supersede"\n')
    assert moves(report) == [(2, "created", "superseded")]
    [item] = report.differences
    assert old is not None
    assert (item.new.memory_id, item.new.replaced, item.new.reasons[0].rule) == (old.id, 1, "conflict_supersede")
    assert (item.old.conflicts, item.old.reasons[0].rule) == (1, "conflict_warn")


def test_warn_made_raise_refuses(table: Desk) -> None:
    table.near("threshold 0.85", "threshold 0.95", 0.99)
    for text in ("threshold 0.85", "threshold 0.95"):
        table.store.remember(text)
    for forward in (False, True):
        report = tried(table, '[kinds.semantic]\non_conflict = "raise"\n', forward=forward)
        assert moves(report) == [(2, "created", "rejected")]
    assert report.active == (2, 1)


def test_append_only_knowledge_keeps_repeats_and_updates(table: Desk) -> None:
    table.near(OLD, AGAIN, 0.7)
    for text in (OLD, "deploys run from the main branch", AGAIN):
        table.store.remember(text, kind="knowledge")
    report = tried(table, '[kinds.knowledge]\npreset = "append_only"\n')
    assert moves(report) == [(2, "duplicate", "created"), (3, "evolved", "created")]
    assert {item.new.reasons[0].rule for item in report.differences} == {"own_event"}


def test_strict_risk_stores_what_the_model_is_only_fairly_sure_of(table: Desk) -> None:
    table.near(OLD, AGAIN, 0.97)
    table.store._ctx.relation_model.declare(OLD, AGAIN, same=0.93)
    for text in (OLD, AGAIN):
        table.store.remember(text, kind="lesson")
    report = tried(table, '[kinds.lesson]\nrisk = "strict"\n')
    assert moves(report) == [(2, "restated", "created")]
    assert report.differences[0].cause == "policy"


def test_an_own_answer_of_a_call_holds_under_any_policy(table: Desk) -> None:
    """S2-56: the writer said `ignore` for this one text."""
    for text in ("Use X", "Use X"):
        table.store.remember(text, kind="lesson", on_conflict="ignore")
    assert tried(table, '[kinds.lesson]\nbands = [{at = 0.5, outcome = "skip"}]\n').differences == ()


def test_a_filter_that_is_switched_off_stores_what_it_refused(table: Desk) -> None:
    table.store.remember("ok, thanks")
    table.store.remember("Here's the current status of it.", kind="decision", automatic=True)
    table.store.remember("We go with plan B.", kind="decision", automatic=True, frame="question")
    table.store.remember("We go with plan C.", kind="decision", automatic=True)
    assert tried(table, Policy()).differences == ()
    off = '[kinds.semantic]\nadmit = "anything"\n[kinds.decision]\nadmit = "content"\n'
    assert moves(tried(table, off)) == [(number, "rejected", "created") for number in (1, 2, 3)]


# -- the world as it was ---------------------------------------------------------------------


def test_each_decision_sees_what_was_there_then(table: Desk) -> None:
    """Forget, undo, supersede and restore between the writes count as they did."""
    use = table.store.remember("Use X", kind="lesson").memory
    assert use is not None
    table.store.forget(use.id)
    again = table.store.remember("Use X", kind="lesson")
    table.store.undo(again.entry)
    table.store.restore(use.id)
    assert table.store.remember("use x!", kind="lesson").outcome == "duplicate"
    assert tried(table, Policy()).differences == ()
    report = tried(table, '[kinds.lesson]\npreset = "append_only"\n')
    assert moves(report) == [(6, "duplicate", "created")]


def test_a_consolidation_in_between_counts_as_it_did(table: Desk) -> None:
    """A merged repeat is out of the way of the decisions after the run, in both modes; so is the run undone."""
    for text in ("Tea is upstairs.", "tea is upstairs"):
        table.store.remember(text, on_conflict="ignore")
    run_id = table.store.consolidate(execute=True).run_id
    assert len(table.store.list()) == 1
    assert table.store.remember("TEA is upstairs!").outcome == "duplicate"
    for forward in (False, True):
        assert tried(table, Policy(), forward=forward).differences == ()
    table.store.undo(len(table.store.journal()))
    table.store.undo_run(run_id)
    assert len(table.store.list()) == 2
    table.store.remember("Tea is upstairs.")
    for forward in (False, True):
        assert tried(table, Policy(), forward=forward).differences == ()


def test_forward_lets_the_new_decisions_make_the_world(table: Desk) -> None:
    """A text the new policy does not fold is there for the next one; acts are taken over as far as they fit."""
    table.near(OLD, AGAIN, 0.96)
    first = table.store.remember(OLD, kind="lesson").memory
    table.store.remember(AGAIN, kind="lesson")
    assert first is not None
    table.store.forget(first.id)
    table.store.remember(AGAIN, kind="lesson")
    new = '[kinds.lesson]\nbands = [{at = 0.99, outcome = "skip"}]\n'
    assert moves(tried(table, new)) == [(2, "restated", "created")]
    report = tried(table, new, forward=True)
    assert moves(report) == [(2, "restated", "created"), (4, "created", "duplicate")]
    assert report.active == (1, 1)
    assert {item.cause for item in report.differences} == {"unknown"}


def test_forward_takes_back_what_it_did_itself(table: Desk) -> None:
    table.store.remember("Use X", kind="lesson")
    repeat = table.store.remember("use x!", kind="lesson")
    taken = table.store.undo(repeat.entry)
    assert tried(table, '[kinds.lesson]\npreset = "append_only"\n', forward=True).active == (1, 1)
    table.store.undo(taken)
    assert tried(table, '[kinds.lesson]\npreset = "append_only"\n', forward=True).active == (1, 2)


def test_an_act_on_a_memory_that_would_not_be_there_is_told(table: Desk) -> None:
    table.near(OLD, AGAIN, 0.92)
    table.store.remember(OLD, kind="lesson")
    second = table.store.remember(AGAIN, kind="lesson").memory
    assert second is not None
    table.store.forget(second.id)
    report = tried(table, '[kinds.lesson]\nbands = [{at = 0.90, outcome = "skip"}]\n', forward=True)
    assert [(item.entry, item.verb, second.id in item.why) for item in report.unreplayed] == [(3, "forget", True)]


# -- what cannot be replayed -----------------------------------------------------------------


def test_erased_texts_and_decisions_about_them_are_listed(table: Desk) -> None:
    """I1: no result is guessed for erased texts."""
    secret = table.store.remember("The PIN is 4711.", kind="lesson").memory
    table.store.remember("the pin is 4711", kind="lesson")
    table.store.remember("Use X", kind="lesson")
    assert secret is not None
    table.store.erase(secret.id)
    report = tried(table, '[kinds.lesson]\npreset = "append_only"\n')
    assert [(item.entry, "erased" in item.why, item.text) for item in report.unreplayed] == [
        (1, True, ""),
        (2, True, ""),
    ]
    assert (report.decisions, report.erased, report.differences) == (1, 1, ())


def test_a_decision_that_an_erased_memory_had_a_silent_part_in_is_listed(table: Desk) -> None:
    """The second "0.85" was a reversion to the erased row, though its entry names only the head (B-9)."""
    table.near("threshold 0.85", "threshold 0.95", 0.99)
    first = table.store.remember("threshold 0.85", kind="lesson", on_conflict="supersede").memory
    table.store.remember("threshold 0.95", kind="lesson", on_conflict="supersede")
    table.store.remember("threshold 0.85", kind="lesson")
    assert first is not None
    table.store.erase(first.id)
    report = tried(table, Policy())
    assert (report.differences, [item.entry for item in report.unreplayed]) == ((), [1, 2, 3])


def test_an_unknown_kind_is_listed(table: Desk) -> None:
    table.store.remember("Use X", kind="lesson")
    table.store.remember("Use Y")
    known = {kind: rules for kind, rules in Policy().kinds.items() if kind != "lesson"}
    report = tried(table, replace(Policy(), kinds=known))
    assert [(item.entry, item.why) for item in report.unreplayed] == [(1, "the policy knows no kind 'lesson'")]
    assert report.decisions == 1


def test_a_text_longer_than_the_policy_takes_is_a_difference(table: Desk) -> None:
    table.store.remember("Use X for everything that is new.")
    report = tried(table, "max_content_chars = 10\n")
    assert moves(report) == [(1, "created", "rejected")]
    assert "33 characters, 10 are allowed" in report.differences[0].new.reasons[0].detail


def test_what_was_decided_in_an_outage_is_listed(table: Desk) -> None:
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember("Use X", kind="lesson")
    table.fake.fail_with = None
    assert [item.why for item in tried(table, Policy()).unreplayed] == [
        "the embedder could not be asked then, so nothing was compared"
    ]


# -- models ----------------------------------------------------------------------------------


@pytest.mark.parametrize(("used", "asked"), [(Policy(), []), (to_the_letter(), [True])], ids=["kept", "dropped"])
def test_the_embedder_is_asked_only_for_what_is_not_stored(
    make: Callable[..., Desk], used: Policy, asked: list[bool]
) -> None:
    """A dropped text has no vector in the store; all others, wordings among them, have theirs."""
    table = make(policy=used)
    table.near(OLD, AGAIN, 0.96)
    for text in (OLD, AGAIN, "Something else entirely."):
        table.store.remember(text, kind="lesson")
    seen = len(table.fake.texts_seen)
    assert tried(table, used).decisions == 3
    assert [AGAIN in text for text in table.fake.texts_seen[seen:]] == asked


def test_a_model_that_is_down_ends_the_replay_with_its_error(make: Callable[..., Desk]) -> None:
    """Half a replay would tell differences that are none (I7); the embedder is asked for the dropped text."""
    table = make(policy=to_the_letter())
    table.near(OLD, AGAIN, 0.96)
    for text in (OLD, AGAIN):
        table.store.remember(text, kind="lesson")
    table.store._ctx.relation_model.failure = ModelUnavailable("relations down")
    with pytest.raises(ModelUnavailable, match="relations down"):
        replay(table.store._ctx, to_the_letter())
    table.store._ctx.relation_model.failure = None
    table.fake.fail_with = ModelUnavailable("embedder down")
    with pytest.raises(ModelUnavailable, match="embedder down"):
        replay(table.store._ctx, to_the_letter())


def test_a_difference_that_no_policy_made_says_so(make: Callable[..., Desk]) -> None:
    """Another relation model than then: the policy of then decides differently today, too."""
    table = make()
    table.near(OLD, AGAIN, 0.97)
    for text in (OLD, AGAIN):
        table.store.remember(text, kind="lesson")
    table.store._ctx.relation_model.declare(OLD, AGAIN, distinct=1.0)
    report = tried(table, Policy())
    assert [(item.new.outcome, item.cause) for item in report.differences] == [("created", "surroundings")]


def test_decisions_under_a_policy_nobody_has_any_more_have_no_known_cause(make: Callable[..., Desk]) -> None:
    first = make(policy=policy('[kinds.lesson]\npreset = "append_only"\n'), name="one.db")
    for _ in range(2):
        first.store.remember("Use X", kind="lesson")
    ctx = replace(first.store._ctx, policy=Policy())
    report = replay(ctx, policy("conflict_days = 30\n"))
    assert [(item.entry, item.new.outcome, item.cause) for item in report.differences] == [(2, "duplicate", "unknown")]
    assert list(report.policies) == [first.store._ctx.policy.hash]


# -- bounds ----------------------------------------------------------------------------------


def test_after_and_limit_bound_what_is_replayed_not_the_world(table: Desk) -> None:
    for _ in range(4):
        table.store.remember("Use X", kind="lesson")
    new = '[kinds.lesson]\npreset = "append_only"\n'
    steps: list[tuple[int, int]] = []
    report = tried(table, new, after=2, limit=1, progress=lambda part, whole: steps.append((part, whole)))
    assert (moves(report), report.last, report.complete) == ([(3, "duplicate", "created")], 3, False)
    assert steps == [(1, 4), (2, 4), (3, 4)]
    assert moves(tried(table, new, after=3)) == [(4, "duplicate", "created")]
    assert tried(table, new, after=9).decisions == 0
    assert tried(table, new, limit=0).complete is False
    for wrong in ({"after": -1}, {"limit": -1}, {"limit": True}):
        with pytest.raises(InvalidField):
            replay(table.store._ctx, Policy(), **wrong)


def test_more_entries_than_a_page_are_followed_in_order(table: Desk) -> None:
    for number in range(150):
        table.store.remember(f"Rule {number}: use tool {number}.", kind="thesis")
        if number % 50 == 0:
            table.store.remember("Use X", kind="lesson")
    report = tried(table, '[kinds.lesson]\npreset = "append_only"\n')
    assert (report.decisions, moves(report)) == (
        153,
        [(53, "duplicate", "created"), (104, "duplicate", "created")],
    )


def test_other_namespaces_are_not_seen(table: Desk) -> None:
    """I8."""
    table.store.in_namespace("other").remember("Use X", kind="lesson")
    table.store.remember("Use X", kind="lesson")
    assert tried(table, Policy()).decisions == 1
