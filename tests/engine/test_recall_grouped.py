"""Each thing once in plain recall: repeats are listed under the newest, and nothing in dispute is hidden (B-26, I2)."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from stores import EVERY_BACKEND, desk
from wellkept.errors import InvalidField, ModelUnavailable
from wellkept.testing.clock import FrozenClock
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ExpandSpec, NewMemory

OLD, NEW = "Alerts go to the duty phone.", "The duty phone gets the alerts."
FLAG = ("Ship the export behind a flag.", "ship the export behind a flag", "Ship the export behind a FLAG!")
RUFF = ("Use ruff for exports", "use RUFF for exports!")


def told(table, *texts, kind="decision", **fields):
    """Store the texts a day apart."""
    rows = []
    for text in texts:
        rows.append(table.store.remember(text, kind=kind, on_conflict="ignore", **fields).memory)
        table.clock.advance(days=1)
    return rows


def shown(hits):
    return [hit.ids for hit in hits]


def test_what_is_told_again_is_shown_once_with_the_others_under_the_newest(make):
    """B-26, S3-20."""
    table = make()
    first, second, third = told(table, *FLAG)
    [hit] = table.store.recall("export")
    assert (hit.memory, hit.repeats) == (third, (second, first))
    assert (hit.rank, hit.ids) == (1, (third.id, second.id, first.id))


def test_the_newest_stands_where_the_best_of_them_stood_with_its_own_score(make):
    """B-26; I6: parts times weights still add up to the returned score."""
    table = make()
    table.near(NewMemory(content=FLAG[0], kind="decision"), "export", 0.8)
    table.near(NewMemory(content="Export on Fridays", kind="decision"), "export", 0.5)
    old, other, new = told(table, FLAG[0], "Export on Fridays", FLAG[1])
    hits = table.store.recall("export")
    assert shown(hits) == [(new.id, old.id), (other.id,)]
    assert [hit.rank for hit in hits] == [1, 2]
    assert hits[0].scored_rank > 1 and hits[0].score < 0.7 * 0.8
    for hit in hits:
        assert sum(hit.parts[name] * share for name, share in hit.weights.items()) == pytest.approx(hit.score, abs=2e-4)


@pytest.mark.parametrize("limit", [1, 2, 3])
def test_the_limit_counts_things_not_their_repeats(make, limit):
    table = make()
    told(table, *FLAG, *FLAG)
    told(table, "Export on Fridays", "Import or export with care")
    hits = table.store.recall("export", limit=limit)
    assert [hit.rank for hit in hits] == list(range(1, limit + 1))
    texts = [hit.memory.content.lower().strip("!.") for hit in hits]
    assert len(set(texts)) == limit


def test_more_hits_are_looked_at_where_one_thing_fills_them_all(make):
    table = make()
    told(table, *(FLAG[0] for _ in range(9)))
    other = told(table, "Exports need a review by somebody else first")[0]
    hits = table.store.recall("ship the export", limit=2, overfetch=20)
    assert [len(hit.ids) for hit in hits] == [9, 1] and hits[1].memory.id == other.id


@pytest.mark.parametrize(
    ("mode", "grouped", "things"),
    [
        ("default", None, 1),
        ("default", False, 3),
        ("default", True, 1),
        ("semantic", None, 3),  # S2-10: the plain order
        ("semantic", True, 1),
        ("hybrid", None, 3),  # S2-13
        ("hybrid", True, 1),
    ],
)
def test_every_mode_can_show_each_thing_once(make, mode, grouped, things):
    table = make()
    told(table, *FLAG)
    assert len(table.store.recall("export", mode=mode, grouped=grouped)) == things


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        (FLAG[1], {"subject": "billing"}),
        (FLAG[1], {"metadata": {"outcome": "failure"}}),  # B-26: never different outcomes
        (FLAG[1], {"event_time": "2025-01-01T00:00:00Z"}),
        (FLAG[1], {"polarity": -1}),
        (FLAG[1], {"kind": "lesson"}),
        ("Never ship the export behind a flag", {}),
        ("Ship the export behind a switch", {}),
    ],
)
def test_what_keeps_the_gate_from_dropping_a_text_keeps_hits_apart(make, text, fields):
    """I2."""
    table = make()
    before = {"subject": "exports", "metadata": {"outcome": "success"}, "event_time": "2025-02-01T00:00:00Z"}
    told(table, FLAG[0], **{name: before[name] for name in fields if name in before}, **{
        name: 1 for name in fields if name == "polarity"
    })  # fmt: skip
    told(table, text, **{"kind": "decision", **fields})
    assert [hit.repeats for hit in table.store.recall("export")] == [(), ()]


@pytest.mark.parametrize(("grouped", "things"), [(None, 2), (True, 1), (False, 2)])
@pytest.mark.parametrize("fails", [False, True])
def test_the_relation_model_is_asked_for_repeats_only_where_that_is_wanted(make, grouped, things, fails):
    """I7: when it fails, repeats in other words stay apart, and the hits say so."""
    model = FakeRelationModel()
    model.declare(OLD, NEW, same=0.95)
    table = make(relation_model=model)
    table.near(OLD, NEW, 0.75)
    told(table, OLD, NEW, kind="semantic")
    if fails:
        model.failure = ModelUnavailable("it is away")
    hits = table.store.recall("who gets the alerts", grouped=grouped)
    assert len(hits) == (2 if fails else things)
    if fails and grouped:
        assert all(hit.degraded == ("relation",) for hit in hits)


# --------------------------------------------------------------------------------------------
# Disputes


def test_the_conflict_of_a_listed_repeat_is_told_with_the_one_that_is_shown(make):
    table = make(contradiction_fn=lambda old, new: True)
    table.near(RUFF[0], "Exports are linted by hand", 0.9)
    first = table.store.remember(RUFF[0]).memory
    table.clock.advance(days=1)
    found = table.store.remember("Exports are linted by hand").conflicts
    assert [item.kind for item in found] == ["contradiction"]
    table.clock.advance(days=1)
    second = told(table, RUFF[1], kind="semantic")[0]
    hits = {hit.memory.id: hit for hit in table.store.recall("exports")}
    assert hits[second.id].repeats == (first,)
    assert [item.key for item in hits[second.id].conflicts] == [found[0].key]


@pytest.mark.parametrize("days", [1, 30])
def test_grouping_lifts_no_older_statement_over_a_newer_one_that_contradicts_it(make, days):
    """S2-29; E-3.8: also after the conflict has expired without review."""
    table = make(contradiction_fn=lambda old, new: old.content == RUFF[1])
    hand = "Exports are linted by hand"
    table.near(RUFF[1], hand, 0.9)
    table.near(RUFF[0], "exports", 0.8)  # the repeat that answers best is not the one in dispute
    told(table, *RUFF, kind="semantic")
    assert table.store.remember(hand).conflicts
    table.clock.advance(days=days)
    hits = table.store.recall("exports", mode="hybrid", weights="hybrid-created", grouped=True)
    assert [hit.memory.content for hit in hits] == [hand, RUFF[1]]


TEXTS = (
    "Use ruff for exports",
    "use ruff for EXPORTS.",
    "Never use ruff for exports",
    "Use flake8 for exports",
    "The export limit is 0.85",
    "The export limit is 0.95",
    "the EXPORT limit is 0.85!",
    "Ship the export behind a flag",
    "We ship the export behind a flag",
    "Ship no export behind a flag",
)
written = st.lists(
    st.tuples(st.sampled_from(TEXTS), st.sampled_from(("semantic", "decision", "lesson"))), min_size=1, max_size=8
)


@given(written=written, grouped=st.sampled_from((None, True)), warn=st.booleans())
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_grouping_never_hides_a_conflict(tmp_path_factory, written, grouped, warn):
    """I2, I9: even where the model calls everything the same, and alike on both backends."""
    answers = []
    for backend in EVERY_BACKEND:
        model = FakeRelationModel()
        for old in TEXTS:
            for new in TEXTS:
                if old != new:
                    model.declare(old, new, same=1.0)
        table = desk(backend, tmp_path_factory.mktemp("once"), clock=FrozenClock(), relation_model=model)
        for text, kind in written:
            table.store.remember(text, kind=kind, on_conflict="warn" if warn else "ignore")
            table.clock.advance(minutes=1)
        plain = table.store.recall("export exports", limit=50, grouped=False, touch=False)
        once = table.store.recall("export exports", limit=50, grouped=grouped, touch=False)
        table.store.close()
        # Every hit is there once, shown or listed.
        assert sorted(key for hit in once for key in hit.ids) == sorted(hit.memory.id for hit in plain)
        # Every conflict is told, and none within one thing.
        open_ones = {item.key: item for hit in plain for item in hit.conflicts}
        assert {item.key for hit in once for item in hit.conflicts} == set(open_ones)
        for hit in once:
            assert not any({item.a, item.b} <= set(hit.ids) for item in open_ones.values() if item.kind != "duplicate")
            assert hit.memory.created_at >= max((row.created_at for row in hit.repeats), default=hit.memory.created_at)
        # Of two in dispute the newer is first.
        place = {key: hit.rank for hit in once for key in hit.ids}
        of = {key: hit.memory for hit in once for key in hit.ids}
        for item in open_ones.values():
            if item.kind == "contradiction" and grouped is None:
                older, newer = sorted((item.a, item.b), key=lambda key: of[key].created_at)
                assert place[newer] < place[older]
        answers.append([(hit.memory.content, [row.content for row in hit.repeats], hit.score) for hit in once])
    assert answers[0] == answers[1]


# --------------------------------------------------------------------------------------------
# Beside the hits


def test_only_what_is_shown_counts_as_used(make):
    table = make()
    old, new = told(table, *FLAG[:2])
    table.store.recall("export")
    used = {row.id: row.access_count for row in table.store.list()}
    assert used == {old.id: 0, new.id: 1}


def test_links_of_a_repeat_are_followed_and_no_repeat_is_added(make):
    table = make()
    rule = table.store.remember("Test before you merge", kind="lesson").memory
    old, new = told(table, *FLAG[:2])
    table.store.link(old.id, rule.id, "example_of")
    table.store.link(new.id, old.id, "refines")
    hits = table.store.recall("ship the export", limit=1, expand=ExpandSpec())
    assert shown(hits) == [(new.id, old.id), (rule.id,)]


def test_explain_names_what_did_not_come_in_and_no_repeat_that_did(make):
    table = make()
    old, new = told(table, *FLAG[:2])
    rest = told(table, "Export on Fridays", "export on fridays!")
    answer = table.store.recall("ship the export behind flags", limit=1, explain=True, min_score=0)
    assert shown(answer) == [(new.id, old.id)]
    assert {item.memory.id: item.why for item in answer.left_out} == {
        row.id: "ranked 2 of 2, and 1 were asked for" for row in rest
    }


def test_the_past_is_grouped_as_it_was(make):
    """`as_of`: a repeat that came later is not there, and a contradiction found later keeps nothing apart."""
    table = make()
    first, second = told(table, *FLAG[:2])
    then = table.clock()
    table.clock.advance(days=1)
    told(table, FLAG[2])
    for grouped in (None, True):
        assert shown(table.store.recall("export", as_of=then, grouped=grouped)) == [(second.id, first.id)]


@pytest.mark.parametrize("value", ["yes", 1, 0, "model"])
def test_a_wrong_option_is_named(table, value):
    with pytest.raises(InvalidField) as caught:
        table.store.recall("x", grouped=value)
    assert caught.value.where == "grouped" and caught.value.todo
