"""Conflicts at write time: detected, reported, superseded, refused, reviewed (source 002).

The relation model of these tests leaves every pair to rules and similarity (`FakeRelationModel.defers`), which the
packaged one never does: bounds can so be tried to the fourth decimal. The twins with the packaged models stand in
`scenarios/test_shipped_bands.py` and `scenarios/test_example_sentences.py`.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

import wellkept
from letter import to_the_letter
from wellkept.errors import ConflictError, CycleError, IllegalTransition, InvalidField, NotFound, SelfReference
from wellkept.policy import DEFAULT_KINDS, Policy
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ALL_STATUSES, Filter, NewMemory

RUFF, FLAKE8 = "Use ruff for linting", "Use flake8 for linting"
PLAIN, PLAIN_REWORDED = "The build runs in a container", "A container is where the build runs"


def pair(table, cosine, *, old=RUFF, new=FLAKE8, old_fields=None, **fields):
    """A stored memory and the call that writes the other text at an exact cosine."""
    table.near(old, new, cosine)
    stored = table.store.remember(old, **(old_fields or {})).memory
    return stored, lambda **more: table.store.remember(new, **{**fields, **more})


# --------------------------------------------------------------------------------------------
# What is a conflict


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (RUFF, FLAKE8, "value_diff"),  # S2-38, B-3, F-12
        ("Use X", "Never use X", "negation_diff"),  # S2-22, S2-23, S2-36, F-11
        ("threshold 0.85", "threshold 0.95", "value_diff"),  # F-9
        ("MRR +5%", "MRR -5%", "value_diff"),  # F-10
        ("Commit the lock file", "Do not commit the lock file", "negation_diff"),
        ("Run tests with the cache", "Run tests without the cache", "negation_diff"),
        ("Verwende ruff zum Linten", "Verwende flake8 zum Linten", "value_diff"),
    ],
)
@pytest.mark.parametrize("cosine", [0.85, 0.99])
def test_two_texts_that_cannot_both_hold_are_kept_and_reported_by_injected_similarity(make, old, new, reason, cosine):
    """S2-22, S2-26, S2-28, S2-36, S2-38, B-5, B-6: under `warn` both rows stay, one conflict."""
    table = make()
    stored, write = pair(table, cosine, old=old, new=new)
    result = write()
    assert result.outcome == "created"
    (conflict,) = result.conflicts
    assert (conflict.a, conflict.b) == (stored.id, result.memory.id)
    assert (conflict.kind, conflict.reason, conflict.similarity) == ("contradiction", reason, cosine)
    assert table.store.conflicts() == (conflict,)
    assert table.rows("active") == [old, new]
    assert "possible conflict" in result.message and stored.id in result.message


@pytest.mark.parametrize(("cosine", "acts"), [(0.8001, True), (0.8000, True), (0.7999, False)])
def test_a_contradiction_acts_from_080_on(make, cosine, acts):
    """S2-21: the seed's threshold, inclusive, is where `supersede` hides the older; below, both stay and it is told."""
    table = make()
    old, write = pair(table, cosine)
    result = write(on_conflict="supersede")
    assert result.outcome == ("superseded" if acts else "created")
    assert [conflict.resolution for conflict in result.conflicts] == ["keep_new" if acts else None]


@pytest.mark.parametrize(("cosine", "found"), [(0.6001, True), (0.6000, True), (0.5999, False)])
def test_a_denial_is_reported_from_060_on(make, cosine, found):
    """S2-21, B-1: .80 before anything is reported would lose half of the contradictions the rules find."""
    table = make()
    _, write = pair(table, cosine, old="Commit the lock file", new="Do not commit the lock file")
    assert bool(write().conflicts) is found


@pytest.mark.parametrize("cosine", [0.6, 0.4016, 0.31])
def test_one_value_replaced_in_one_frame_is_reported_at_any_similarity(make, cosine):
    table = make()
    _, write = pair(table, cosine)
    assert write().conflicts


@pytest.mark.parametrize(
    ("old", "new", "compared"),
    [
        ((), (), True),
        (("a",), ("a", "b"), True),
        (("A",), ("a",), True),
        (("a",), ("b",), False),
        (("a",), (), False),  # S2-21 to the letter: both empty, or common ones
        ((), ("a",), False),
    ],
)
def test_tags_must_overlap_or_be_empty_on_both_sides(make, old, new, compared):
    """S2-21, B-12."""
    table = make()
    _, write = pair(table, 0.9, old_fields={"tags": old}, tags=new)
    assert bool(write().conflicts) is compared


def test_another_kind_is_no_candidate(make):
    """S2-21."""
    table = make()
    _, write = pair(table, 0.9, kind="procedural")
    assert write().conflicts == ()


def test_a_superseded_memory_is_no_candidate(make):
    """S2-21: neither is superseded."""
    table = make()
    stored, write = pair(table, 0.9)
    head = table.store.remember("Linting is done by an external service").memory
    table.store.supersede(stored.id, head.id)
    assert write().conflicts == ()


@pytest.mark.parametrize(
    ("a", "b", "conflict"), [(1, -1, True), (-1, 1, True), (1, 1, False), (1, 0, False), (0, -1, False), (0, 0, False)]
)
def test_opposite_polarity_is_a_contradiction(make, a, b, conflict):
    """S2-19, S2-22: the product must be -1."""
    table = make()
    _, write = pair(table, 0.9, old=PLAIN, new=PLAIN_REWORDED, old_fields={"polarity": a}, polarity=b)
    found = write().conflicts
    assert [item.reason for item in found] == (["polarity"] if conflict else [])


@pytest.mark.parametrize(
    ("verdict", "cosine", "reason"), [(True, 0.9, "custom_fn"), (False, 0.9, None), (True, 0.59, None)]
)
def test_a_judge_of_ones_own_is_asked_about_near_texts(make, verdict, cosine, reason):
    """S2-24, S2-56."""
    asked = []

    def judge(old, new):
        asked.append((old.content, new.content))
        return verdict

    table = make(contradiction_fn=judge)
    _, write = pair(table, cosine, old=PLAIN, new=PLAIN_REWORDED)
    result = write()
    assert [item.reason for item in result.conflicts] == ([reason] if reason else [])
    assert asked == ([(PLAIN, PLAIN_REWORDED)] if cosine >= 0.6 else [])


@pytest.mark.parametrize(("cosine", "asked"), [(0.90, 1), (0.80, 1), (0.7999, 0), (0.70, 0), (0.60, 0)])
@pytest.mark.parametrize("conflict", [0.0, 0.45, 0.55, 0.95])
def test_a_judge_of_ones_own_is_asked_whatever_the_relation_model_says(make, cosine, asked, conflict):
    """S2-24, S2-21: from .80 on; what the model thinks too improbable to be listed is asked like everything else."""
    model = FakeRelationModel()
    model.declare(PLAIN, PLAIN_REWORDED, conflict=conflict)
    told = []
    table = make(relation_model=model, contradiction_fn=lambda *pair: told.append(pair) or True)
    _, write = pair(table, cosine, old=PLAIN, new=PLAIN_REWORDED)
    reasons = [item.reason for item in write().conflicts]
    assert len(told) == asked
    assert reasons == (["custom_fn"] if asked else ["model"] if conflict > 0.5 else [])


def test_the_judge_is_not_asked_where_the_rules_are_sure(make):
    """S2-24: the fast path."""
    asked = []
    table = make(contradiction_fn=lambda *pair: asked.append(pair) or True)
    _, write = pair(table, 0.9, old="Use X", new="Never use X")
    assert write().conflicts[0].reason == "negation_diff"
    assert asked == []


# --------------------------------------------------------------------------------------------
# The matrix


@pytest.mark.parametrize(
    ("mode", "cosine", "old", "new", "outcome", "active", "kinds"),
    [
        ("ignore", 0.99, RUFF, FLAKE8, "created", [RUFF, FLAKE8], []),
        ("ignore", 0.99, PLAIN, PLAIN_REWORDED, "created", [PLAIN, PLAIN_REWORDED], []),
        ("ignore", 1.0, PLAIN, PLAIN + "!", "created", [PLAIN, PLAIN + "!"], []),  # B-37
        ("warn", 0.85, RUFF, FLAKE8, "created", [RUFF, FLAKE8], ["contradiction"]),
        ("warn", 0.95, PLAIN, PLAIN_REWORDED, "created", [PLAIN, PLAIN_REWORDED], ["duplicate"]),  # S2-35
        ("warn", 0.9499, PLAIN, PLAIN_REWORDED, "created", [PLAIN, PLAIN_REWORDED], []),
        ("supersede", 0.85, RUFF, FLAKE8, "superseded", [FLAKE8], ["contradiction"]),
        ("supersede", 0.95, PLAIN, PLAIN_REWORDED, "restated", [PLAIN], []),
        ("supersede", 0.9499, PLAIN, PLAIN_REWORDED, "created", [PLAIN, PLAIN_REWORDED], []),
        ("supersede", 0.82, PLAIN, PLAIN_REWORDED, "created", [PLAIN, PLAIN_REWORDED], []),  # F-14
        ("supersede_sure", 0.85, RUFF, FLAKE8, "superseded", [FLAKE8], ["contradiction"]),
        ("supersede_sure", 0.85, "Use X", "Never use X", "created", ["Use X", "Never use X"], ["contradiction"]),
    ],
)  # fmt: skip
def test_on_conflict_says_what_becomes_of_the_two(make, mode, cosine, old, new, outcome, active, kinds):
    """S2-25, S2-28, B-3, B-23."""
    table = make()
    _, write = pair(table, cosine, old=old, new=new)
    result = write(on_conflict=mode)
    assert result.outcome == outcome
    assert table.rows("active") == active
    assert [conflict.kind for conflict in result.conflicts] == kinds


def test_warn_is_the_default(make):
    """S2-25, S2-56, B-23."""
    table = make()
    _, write = pair(table, 0.85)
    assert write().conflicts and write(on_conflict="ignore").conflicts == ()


@pytest.mark.parametrize("kind", ["lesson", "knowledge", "semantic"])
def test_ignore_stores_without_looking_for_repeats(make, kind):
    """S2-28, B-37: all of it is switched off for that write."""
    table = make()
    table.near(PLAIN, PLAIN_REWORDED, 0.99)
    for text in (PLAIN, PLAIN_REWORDED, PLAIN):
        assert table.store.remember(text, kind=kind, on_conflict="ignore").outcome == "created"
    assert table.rows("active") == [PLAIN, PLAIN_REWORDED, PLAIN]
    assert table.store.conflicts() == ()


def test_a_store_may_have_a_default_of_its_own_that_a_call_overrides(make):
    """S2-56."""
    table = make(policy=Policy().with_conflict("semantic", "supersede"))
    _, write = pair(table, 0.85)
    assert write(on_conflict="warn").outcome == "created"
    table.store.undo(2)
    assert write().outcome == "superseded"


def test_superseding_marks_the_old_one_in_column_and_link(make):
    """S2-20, S2-28, S2-37, S2-55, S2-59, F-11."""
    table = make()
    stored, write = pair(table, 0.85, old="Use X", new="Never use X")
    result = write(on_conflict="supersede")
    old = table.store.get(stored.id)
    assert (old.status, old.superseded_by, old.superseded_at) == ("superseded", result.memory.id, table.clock())
    assert [(link.src, link.dst, link.rel) for link in result.links] == [(result.memory.id, stored.id, "supersedes")]
    assert [conflict.resolution for conflict in result.conflicts] == ["keep_new"]
    assert table.store.conflicts() == ()
    assert table.store.restore(stored.id) is True
    assert table.store.get(stored.id).superseded_by == ""


@pytest.mark.parametrize(("policy", "importance", "wordings"), [(to_the_letter(), 0.9, []), (Policy(), 0.4, [0.9])])
def test_merging_a_repeat_keeps_the_stored_text(make, policy, importance, wordings):
    """S2-28, B-2: a dropped text raises the importance of the existing row; a wording keeps its own."""
    table = make(policy=policy)
    stored, write = pair(table, 0.96, old=PLAIN, new=PLAIN_REWORDED, old_fields={"importance": 0.4})
    result = write(on_conflict="supersede", importance=0.9)
    assert (result.memory.id, result.memory.importance, result.memory.content) == (stored.id, importance, PLAIN)
    assert result.memory.confirmations == 1
    assert [row.importance for row in table.store.list(Filter(statuses=("wording",)))] == wordings


def test_a_plain_neighbour_is_linked_not_superseded(make):
    """F-14, B-3."""
    table = make()
    stored, write = pair(table, 0.82, old=PLAIN, new=PLAIN_REWORDED)
    result = write(on_conflict="supersede")
    assert [(link.dst, link.rel) for link in result.links] == [(stored.id, "related")]


@pytest.mark.parametrize(
    ("cosine", "old", "new", "kind"),
    [(0.85, "Use X", "Never use X", "contradiction"), (0.96, PLAIN, PLAIN_REWORDED, "duplicate")],
)
def test_raise_refuses_both_before_anything_is_written(make, cosine, old, new, kind):
    """S2-28, B-11, F-13: no row, no journal entry, no counter."""
    table = make()
    stored, write = pair(table, cosine, old=old, new=new)
    before = table.snapshot()
    with pytest.raises(ConflictError) as caught:
        write(on_conflict="raise")
    assert [(item.a, item.kind) for item in caught.value.conflicts] == [(stored.id, kind)]
    assert stored.id in str(caught.value) and caught.value.todo
    assert table.snapshot() == before


def test_a_check_under_raise_says_rejected_and_raises_nothing(make):
    table = make()
    pair(table, 0.85)
    before = table.snapshot()
    result = table.store.check(FLAKE8, on_conflict="raise")
    assert (result.outcome, len(result.conflicts)) == ("rejected", 1)
    assert table.snapshot() == before


def test_an_unknown_answer_to_conflicts_is_refused(table):
    with pytest.raises(InvalidField, match="ignore, warn, supersede_sure, supersede, raise"):
        table.store.remember(RUFF, on_conflict="explode")


# --------------------------------------------------------------------------------------------
# Listing, keys, expiry


def test_open_conflicts_are_listed_oldest_first_also_by_memory(make):
    """S2-27, S2-34: what `find_conflicts` gives."""
    table = make()
    first, write = pair(table, 0.85)
    write()
    table.clock.advance(days=1)
    table.near("threshold 0.85", "threshold 0.95", 0.99)
    second = table.store.remember("threshold 0.85").memory
    table.store.remember("threshold 0.95")
    assert [item.a for item in table.store.conflicts()] == [first.id, second.id]
    assert [item.a for item in table.store.conflicts(second.id)] == [second.id]
    assert table.store.conflicts(table.store.remember("something else").memory.id) == ()


def test_a_pair_is_flagged_once_however_often_it_is_found(make):
    """S1-31, B-8: replaying changes nothing."""
    table = make()
    pair(table, 0.99, old="threshold 0.85", new="threshold 0.95")
    for _ in range(3):
        table.store.remember("threshold 0.95")
        table.store.remember("threshold 0.85")
    assert len(table.store.conflicts(settled=True)) == 1
    assert table.rows("active") == ["threshold 0.85", "threshold 0.95"]


def test_the_same_store_of_affairs_gives_the_same_keys(make, tmp_path):
    """I4, S1-31."""
    keys = []
    for name in ("a.db", "b.db"):
        table = make(name=name)
        _, write = pair(table, 0.85)
        keys.append(write().conflicts[0].key)
    assert keys[0] == keys[1]


@pytest.mark.parametrize(("days", "listed"), [(0, 1), (13.9, 1), (14, 0), (30, 0)])
def test_an_open_conflict_expires_after_two_weeks(make, days, listed):
    """E-0, D1: expired means both are kept."""
    table = make()
    _, write = pair(table, 0.85)
    write()
    table.clock.advance(days=days)
    assert len(table.store.conflicts()) == listed
    assert len(table.store.conflicts(settled=True)) == 1
    assert table.store.stats().open_conflicts == listed


# --------------------------------------------------------------------------------------------
# Resolving


@pytest.mark.parametrize(
    ("resolution", "active", "rels"),
    [
        ("keep_new", [FLAKE8], ["supersedes"]),
        ("keep_old", [RUFF], ["supersedes"]),
        ("keep_both", [RUFF, FLAKE8], ["contradicts"]),  # S2-55
        ("dismissed", [RUFF, FLAKE8], []),
    ],
)
def test_a_conflict_is_settled_as_somebody_decides(make, resolution, active, rels):
    table = make()
    old, write = pair(table, 0.85)
    new = write().memory
    (conflict,) = table.store.conflicts()
    settled = table.store.resolve(conflict.key, resolution)
    assert (settled.resolution, settled.resolved_at) == (resolution, table.clock())
    assert table.store.conflicts() == ()
    assert table.store.conflicts(settled=True) == (settled,)
    assert table.rows("active") == active
    assert [link[2] for link in table.store.subgraph([old.id, new.id]).edges] == rels


@pytest.mark.parametrize(("resolution", "pinned"), [("keep_new", "old"), ("keep_old", "new"), ("merge", "new")])
def test_the_one_that_is_kept_takes_over_the_pin(make, resolution, pinned):
    """E-4.5: protection must not get lost on the way."""
    table = make()
    old, write = pair(table, 0.85, old_fields={"pinned": pinned == "old"})
    new = write(pinned=pinned == "new").memory
    table.store.resolve(table.store.conflicts()[0].key, resolution)
    kept = new if resolution == "keep_new" else old
    assert table.store.get(kept.id).pinned is True
    entry = table.store.journal()[-1].seq
    table.store.undo(entry)
    assert table.store.get(kept.id).pinned is False


def test_resolving_by_merge_makes_one_memory_of_both(make):
    table = make()
    old, write = pair(table, 0.96, old=PLAIN, new=PLAIN_REWORDED, old_fields={"importance": 0.2})
    new = write(importance=0.9).memory
    (conflict,) = table.store.conflicts()
    assert conflict.kind == "duplicate"
    table.store.resolve(conflict.key, "merge")
    (row,) = table.store.list()
    assert (row.id, row.importance) == (old.id, 0.9)
    assert PLAIN in row.content and PLAIN_REWORDED in row.content
    assert table.store.get(new.id).superseded_by == old.id
    assert table.store.remember(PLAIN_REWORDED).memory.id == old.id  # its hashes came along (B-8)
    assert table.store.verify() == ()


def test_a_repeat_kept_twice_is_linked_as_related(make):
    """S2-33, S2-55: two that say the same do not contradict."""
    table = make()
    old, write = pair(table, 0.96, old=PLAIN, new=PLAIN_REWORDED)
    write()
    table.store.resolve(table.store.conflicts()[0].key, "keep_both")
    assert {link[2] for link in table.store.subgraph([old.id]).edges} == {"related"}


@pytest.mark.parametrize("again", ["keep_new", "keep_old", "keep_both", "merge", "dismissed"])
def test_a_settled_conflict_cannot_be_settled_again(make, again):
    table = make()
    _, write = pair(table, 0.85)
    write()
    key = table.store.conflicts()[0].key
    table.store.resolve(key, "keep_new")
    before = table.snapshot()
    with pytest.raises(IllegalTransition, match="is settled: keep_new"):
        table.store.resolve(key, again)
    assert table.snapshot() == before


def test_a_settled_conflict_stays_settled_when_the_same_is_said_again(make):
    table = make()
    _, write = pair(table, 0.99, old="threshold 0.85", new="threshold 0.95")
    write()
    table.store.resolve(table.store.conflicts()[0].key, "keep_both")
    for text in ("threshold 0.95", "threshold 0.85"):
        table.store.remember(text)
    assert table.store.conflicts() == ()


def test_restoring_the_loser_opens_the_conflict_again(make):
    table = make()
    old, write = pair(table, 0.85)
    write()
    key = table.store.conflicts()[0].key
    table.store.resolve(key, "keep_new")
    assert table.store.restore(old.id) is True
    assert [item.key for item in table.store.conflicts()] == [key]
    assert table.rows("active") == [RUFF, FLAKE8]
    assert table.store.verify() == ()


def test_a_resolution_can_be_taken_back(make):
    table = make()
    _, write = pair(table, 0.85)
    write()
    key = table.store.conflicts()[0].key
    before = table.snapshot()[:3]
    table.store.resolve(key, "keep_old")
    table.store.undo(table.store.journal(newest=1)[0].seq)
    after = table.snapshot()[:3]
    assert after == before


@pytest.mark.parametrize(
    ("key", "resolution", "error"), [("nowhere", "keep_new", NotFound), ("nowhere", "burn", InvalidField)]
)
def test_what_cannot_be_resolved_says_why(table, key, resolution, error):
    with pytest.raises(error) as caught:
        table.store.resolve(key, resolution)
    assert caught.value.todo


# --------------------------------------------------------------------------------------------
# Superseding by hand


def test_a_chain_shows_only_its_head(make):
    """S2-20, S2-27, S2-29, S2-30."""
    table = make()
    ids = [table.store.remember(f"The plan is number {name}").memory.id for name in ("alpha", "beta", "gamma")]
    table.store.supersede(ids[0], ids[1])
    table.store.supersede(ids[1], ids[2])
    assert [hit.memory.id for hit in table.store.recall("plan")] == [ids[2]]
    shown = table.store.recall("plan", include_superseded=True)
    assert {hit.memory.id for hit in shown} == set(ids)
    assert [table.store.get(one).superseded_by for one in ids] == [ids[1], ids[2], ""]


@pytest.mark.parametrize("length", [2, 3])
def test_a_circle_is_refused_and_nothing_changes(make, length):
    """S2-31."""
    table = make()
    ids = [table.store.remember(f"The plan is {name}").memory.id for name in ("alpha", "beta", "gamma")[:length]]
    for old, new in zip(ids, ids[1:], strict=False):
        table.store.supersede(old, new)
    before = table.snapshot()
    with pytest.raises(CycleError, match="already superseded") as caught:
        table.store.supersede(ids[-1], ids[0])
    assert caught.value.todo
    assert table.snapshot() == before


def test_a_memory_cannot_supersede_itself(table):
    """S2-32."""
    row = table.store.remember(RUFF).memory
    before = table.snapshot()
    with pytest.raises(SelfReference):
        table.store.supersede(row.id, row.id)
    assert table.snapshot() == before


def test_a_hidden_memory_can_still_be_removed_for_good(make):
    """S2-20: hard removal works on a superseded row too."""
    table = make()
    old, write = pair(table, 0.85)
    write(on_conflict="supersede")
    table.store.erase(old.id)
    assert table.store.get(old.id).status == "erased"


@pytest.mark.parametrize("status", ["active", "superseded", "archived"])
def test_restore_says_whether_anything_had_to_change(make, status):
    """S2-27."""
    table = make()
    a = table.store.remember(RUFF).memory.id
    if status == "superseded":
        table.store.supersede(a, table.store.remember("A linter runs elsewhere").memory.id)
    if status == "archived":
        table.store.forget(a)
    assert table.store.get(a, touch=False).status == status
    assert table.store.restore(a) is (status != "active")
    assert table.store.get(a, touch=False).status == "active"
    assert table.store.restore(a) is False


# --------------------------------------------------------------------------------------------
# Fields that were added later


def test_new_fields_are_neutral_in_a_row_that_never_had_them(table):
    """S2-1, S2-19."""
    row = table.store.remember(RUFF).memory
    assert (row.superseded_by, row.superseded_at, row.polarity) == ("", None, 0)


def test_the_result_of_a_write_says_everything_at_once(make):
    """S2-26, B-25, I6: outcome, memory, conflicts, matches, reasons, message, entry."""
    table = make()
    stored, write = pair(table, 0.85)
    result = write()
    (match,) = result.matches
    assert (match.memory_id, match.relation, match.action) == (stored.id, "conflict", "conflict")
    assert (match.similarity, match.cosine, match.stage) == (0.85, 0.85, "vector")
    assert [reason.rule for reason in result.reasons] == ["conflict_warn"]
    entry = table.store.journal()[-1]
    assert (entry.seq, entry.outcome, entry.memory_id) == (result.entry, result.outcome, result.memory.id)
    assert (entry.matches, entry.reasons, entry.policy) == (result.matches, result.reasons, Policy().hash)
    assert entry.conflict_keys == (result.conflicts[0].key,)
    assert "flake8" in result.message


def test_every_entry_names_the_policy_it_was_decided_under(make):
    """I6, S1-45: also when a call asked for another answer."""
    lesson = replace(DEFAULT_KINDS["lesson"], conflict_at=0.5)
    policy = Policy(kinds={**DEFAULT_KINDS, "lesson": lesson})
    table = make(policy=policy)
    row = table.store.remember(RUFF).memory
    table.store.revise(row.id, importance=0.9)
    table.store.forget(row.id)
    table.store.restore(row.id)
    table.store.undo(4)
    assert {entry.policy for entry in table.store.journal()} == {policy.hash}
    table.store.remember(FLAKE8, on_conflict="ignore")
    assert table.store.journal()[-1].policy == policy.with_conflict("semantic", "ignore").hash != policy.hash


def test_nothing_is_compared_across_namespaces(make):
    """I8, F-30."""
    table = make()
    _, write = pair(table, 0.99, old="threshold 0.85", new="threshold 0.95")
    other = table.store.in_namespace("elsewhere")
    result = other.remember("threshold 0.95")
    assert (result.outcome, result.conflicts, result.matches) == ("created", (), ())
    assert other.remember("threshold 0.85", on_conflict="supersede").outcome == "superseded"
    assert other.list(Filter(statuses=ALL_STATUSES)) != ()
    assert table.rows("active") == ["threshold 0.85"]
    assert table.store.remember("threshold 0.85").outcome == "duplicate"
    assert set(table.store.namespaces()) == {"default", "elsewhere"}


def test_a_judge_given_for_one_call_is_heard_in_that_call_instead_of_the_stores(make):
    """S2-25, S2-56: by check and write alike, and never put off with the write."""
    table = make(contradiction_fn=lambda old, new: False)
    table.near(PLAIN, PLAIN_REWORDED, 0.9)
    table.store.remember(PLAIN)
    for verb in (table.store.check, table.store.remember):
        assert [item.reason for item in verb(PLAIN_REWORDED, contradiction_fn=lambda *_: True).conflicts] == [
            "custom_fn"
        ]
    assert table.store.check("A container is where every build runs").conflicts == ()
    with table.store.deferred():
        result = table.store.remember("Something else entirely", contradiction_fn=lambda *_: True)
        assert result.outcome == "created"
    with pytest.raises(InvalidField, match="contradiction_fn"):
        table.store.remember(PLAIN, contradiction_fn="yes")


def test_a_new_memory_value_can_be_passed_whole(table):
    """S2-25."""
    new = NewMemory(content=RUFF, tags=("lint",), importance=0.7, source="chat")
    row = table.store.remember(new).memory
    assert (row.content, row.kind, row.tags, row.importance, row.source) == (RUFF, "semantic", ("lint",), 0.7, "chat")
    assert wellkept.NewMemory is NewMemory
