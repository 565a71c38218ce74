"""Neighbours in a conversation lift a memory in the default mode: a short answer is found by its question.

"Where did Ana move?" is answered by "To Lisbon!", told after "I have moved": neither words nor meaning lead there.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest

from stores import EVERY_BACKEND, Desk, desk
from wellkept.core.recall.scoring import CONTEXT, FADING, REACH
from wellkept.errors import ModelUnavailable
from wellkept.types import Filter, Hit

ASKED = "moved"
GOOD = "I have moved at last"
SHORT = "To Lisbon!"
OTHER = "Rain again today"


def scores(table: Desk, **options: object) -> dict[str, Hit]:
    """The hits by their texts; nothing is counted as used."""
    options = {"limit": 50, "touch": False, "min_score": 0, **options}
    return {hit.memory.content: hit for hit in table.store.recall(ASKED, **options)}


def order(table: Desk, **options: object) -> list[str]:
    return list(scores(table, **options))


@dataclass
class Told:
    """One statement: after how many minutes, from where, and its other fields."""

    text: str
    after: float = 1
    source: str = "chat"
    fields: dict[str, object] = field(default_factory=dict)


def tell(table: Desk, *told: Told) -> dict[str, str]:
    """Store the statements in order; their ids by text."""
    table.near(GOOD, ASKED, 0.6)
    ids = {}
    for item in told:
        table.clock.advance(minutes=item.after)
        ids[item.text] = table.store.remember(item.text, source=item.source, **item.fields).memory.id
    return ids


def among(count: int, *, after: float = 0.5) -> list[Told]:
    """Statements of another sitting at the same time."""
    return [Told(f"Mail item{after}x{number}x{count}", after=after, source="mail") for number in range(count)]


# --------------------------------------------------------------------------------------------
# Who lifts whom


@pytest.mark.parametrize(
    ("told", "steps"),
    [
        pytest.param([Told(GOOD), Told(SHORT)], 1, id="told right after it"),
        pytest.param([Told(SHORT), Told(GOOD)], 1, id="told right before it"),
        pytest.param([Told(GOOD), Told("Really?"), Told(SHORT)], 2, id="two steps away"),
        pytest.param([Told(GOOD), Told("Really?"), Told("Yes, at once"), Told(SHORT)], 3, id="as far as it reaches"),
        pytest.param(
            [Told(GOOD), Told("Really?"), Told("Yes, at once"), Told("Well, good luck"), Told(SHORT)],
            0,
            id="beyond its reach",
        ),
        pytest.param([Told(GOOD), Told(SHORT, source="mail")], 0, id="of another source"),
        pytest.param([Told(GOOD, source=""), Told(SHORT, source="")], 0, id="of no source, so of no sitting"),
        pytest.param([Told(GOOD), Told(SHORT, after=60)], 1, id="after an hour to the minute"),
        pytest.param([Told(GOOD), Told(SHORT, after=60.1)], 0, id="after more than an hour of silence"),
        pytest.param([Told(GOOD), Told("Really?", after=50), Told(SHORT, after=50)], 2, id="no silence of an hour"),
        pytest.param([Told(GOOD), Told(OTHER, source="mail"), Told(SHORT)], 1, id="beside another sitting"),
        pytest.param([Told(GOOD), *among(3), Told(SHORT)], 1, id="after three statements of another sitting"),
        pytest.param([Told(SHORT), *among(30), Told(GOOD)], 1, id="before thirty statements of another sitting"),
        pytest.param(
            [Told(GOOD), *among(9), Told("Really?"), *among(9), Told("Yes, at once"), *among(9), Told(SHORT)],
            3,
            id="three steps through another sitting",
        ),
        pytest.param(
            [Told(GOOD), *among(2, after=29), Told(SHORT, after=29)], 0, id="silent for an hour while others talked"
        ),
        pytest.param(
            [Told(GOOD), Told("Hm, is it far?", fields={"kind": "lesson"}), Told(SHORT)], 2, id="any kind is a step"
        ),
    ],
)
def test_what_was_told_beside_a_good_answer_is_lifted_by_it(make, told, steps):
    """The nearer the more; at its own worth it stays where nothing lifts it."""
    table = make()
    tell(table, *told)
    hits = scores(table)
    own = round(hits[SHORT].score - hits[SHORT].parts.get("context", 0.0), 4)
    assert own == 0.0, "by itself it answers nothing"
    expected = CONTEXT * FADING ** (steps - 1) * hits[GOOD].score if steps else 0.0
    assert hits[SHORT].parts.get("context", 0.0) == pytest.approx(expected, abs=1e-4)
    assert ("context" in hits[SHORT].weights) is bool(steps)


def test_the_best_answer_stays_as_it_is_and_stays_first(make):
    table = make()
    tell(table, Told(SHORT), Told(GOOD), Told(OTHER))
    hits = scores(table)
    assert order(table)[0] == GOOD
    assert "context" not in hits[GOOD].parts
    assert hits[GOOD].score == pytest.approx(0.7 * 0.6 + 0.3, abs=1e-6)


def test_a_neighbour_without_a_common_word_comes_into_the_pool(make):
    """Slightly nearer memories fill the pool; neighbours of the best hit are considered anyway."""
    table = make()
    for number in range(30):
        table.near(f"Crowd item{number}", ASKED, 0.1)
        table.store.remember(f"Crowd item{number}")
    table.near(SHORT, ASKED, 0.01)
    table.clock.advance(days=1)
    tell(table, Told(GOOD), Told(SHORT))
    assert SHORT not in order(table, limit=2, mode="hybrid")
    assert order(table, limit=2) == [GOOD, SHORT]


def test_neighbours_of_equal_worth_do_not_lift_each_other(make):
    table = make()
    table.near("moved here", ASKED, 0.3)
    table.near("moved there", ASKED, 0.3)
    tell(table, Told("moved here"), Told("moved there"))
    hits = scores(table)
    assert [hit.parts.get("context") for hit in hits.values()] == [None, None]


@pytest.mark.parametrize("others", [0, 1, 3, 7])
def test_a_filter_that_fits_everything_changes_nothing_however_many_talk_at_once(make, others):
    """With a filter all rows are looked at, without one the pages around an answer: the sitting is the same."""
    table = make()
    talk = []
    for text in (OTHER, GOOD, SHORT, "Really?", "Yes, at once", "Well, good luck"):
        talk.append(Told(text))
        talk += [Told(f"Mail {text} {number}", after=0.1, source=f"mail {number}") for number in range(others)]
    tell(table, *talk)

    def lifts(**options: object) -> dict[str, float]:
        hits = scores(table, **options)
        return {text: hit.parts["context"] for text, hit in hits.items() if "context" in hit.parts}

    near = lifts()
    assert near == lifts(where=Filter(min_importance=0.0)) and SHORT in near


def test_sittings_that_went_on_at_the_same_time_do_not_mix(make):
    table = make()
    tell(
        table,
        Told(OTHER, source="mail"),
        Told(GOOD),
        Told("Sun tomorrow", source="mail"),
        Told(SHORT),
        Told("Wind at night", source="mail"),
    )
    lifted = {text for text, hit in scores(table).items() if "context" in hit.parts}
    assert lifted == {SHORT}


# --------------------------------------------------------------------------------------------
# What may be shown


@pytest.mark.parametrize(
    ("where", "shown", "lifted"),
    [
        (Filter(), {GOOD, SHORT, OTHER}, {SHORT, OTHER}),
        (Filter(sources=("chat",)), {GOOD, SHORT, OTHER}, {SHORT, OTHER}),
        (Filter(kinds=("semantic",)), {GOOD, OTHER}, {OTHER}),
        (Filter(tags=("red",)), {GOOD, SHORT}, {SHORT}),
        (Filter(min_importance=0.8), {SHORT}, set()),
        (Filter(sources=("mail",)), set(), set()),
    ],
)
def test_a_filter_holds_for_neighbours_too(make, where, shown, lifted):
    """What does not fit neither comes in by its neighbour nor lifts one."""
    table = make()
    tell(
        table,
        Told(GOOD, fields={"tags": ["red"]}),
        Told(SHORT, fields={"kind": "lesson", "tags": ["red"], "importance": 0.9}),
        Told(OTHER),
    )
    hits = scores(table, where=where)
    assert set(hits) == shown
    assert {text for text, hit in hits.items() if "context" in hit.parts} == lifted


@pytest.mark.parametrize("how", ["forget", "supersede", "expire"])
def test_a_hidden_neighbour_stays_hidden_and_lifts_nothing(make, how):
    """S2-20, S2-29: neither is it brought in by what stays, nor does it count for it."""
    table = make()
    fields = {"expires_at": "2026-01-01T20:00:00Z"} if how == "expire" else {}
    ids = tell(table, Told(GOOD, fields=fields), Told(SHORT), Told(OTHER, source="mail"))
    match how:
        case "forget":
            table.store.forget(ids[GOOD])
        case "supersede":
            table.store.supersede(ids[GOOD], ids[OTHER])
        case _:
            table.clock.advance(days=1)
    hits = scores(table)
    assert set(hits) == {SHORT, OTHER}
    assert not any("context" in hit.parts for hit in hits.values())


def test_a_replaced_neighbour_is_shown_where_it_is_asked_for(make):
    """S2-29."""
    table = make()
    ids = tell(table, Told(GOOD), Told(SHORT), Told(OTHER, source="mail"))
    table.store.supersede(ids[SHORT], ids[OTHER])
    assert SHORT not in scores(table)
    hits = scores(table, include_superseded=True)
    assert hits[SHORT].parts["context"] > 0 and hits[SHORT].memory.status == "superseded"


def test_the_past_is_lifted_by_what_was_told_by_then(make):
    """`as_of` knows no later neighbour, and still knows one that was hidden since."""
    table = make()
    ids = tell(table, Told(GOOD), Told(SHORT))
    then = table.clock()
    table.clock.advance(minutes=1)
    table.store.remember(OTHER, source="chat")
    table.store.forget(ids[GOOD])
    hits = scores(table, as_of=then)
    assert set(hits) == {GOOD, SHORT}
    assert hits[SHORT].parts["context"] == pytest.approx(CONTEXT * hits[GOOD].score, abs=1e-4)


def test_what_did_not_hold_then_lifts_nothing(make):
    """`valid_at`: the statement beside it came to be true later."""
    table = make()
    tell(table, Told(GOOD, fields={"event_time": "2025-06-01T00:00:00Z"}),
         Told(SHORT, fields={"event_time": "2024-01-01T00:00:00Z"}))  # fmt: skip
    assert "context" in scores(table, valid_at="2025-07-01T00:00:00Z")[SHORT].parts
    before = scores(table, valid_at="2025-01-01T00:00:00Z")
    assert set(before) == {SHORT} and "context" not in before[SHORT].parts


def test_another_namespace_lifts_nothing(make):
    """I8."""
    table = make()
    tell(table, Told(GOOD))
    table.clock.advance(minutes=1)
    elsewhere = table.store.in_namespace("elsewhere")
    elsewhere.remember(SHORT, source="chat")
    [hit] = elsewhere.recall(ASKED, min_score=0)
    assert (hit.memory.content, "context" in hit.parts) == (SHORT, False)


# --------------------------------------------------------------------------------------------
# Scores


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_the_other_modes_know_no_neighbours(make, mode):
    """S2-2, S2-10: their scores are the sums that they say."""
    table = make()
    tell(table, Told(GOOD), Told(SHORT), Told(OTHER, source="mail"))
    hits = scores(table, mode=mode)
    assert not any("context" in hit.parts or "context" in hit.weights for hit in hits.values())


@pytest.mark.parametrize("explain", [False, True])
def test_parts_times_weights_add_up_to_the_score(make, explain):
    """I6: every part of the score is returned."""
    table = make()
    tell(table, Told(OTHER), Told(GOOD), Told("moved, did you?"), Told(SHORT), Told("Sun tomorrow", source="mail"))
    hits = scores(table, explain=explain)
    assert {text for text, hit in hits.items() if "context" in hit.parts} == {OTHER, "moved, did you?", SHORT}
    for hit in hits.values():
        told = sum(hit.parts[name] * weight for name, weight in hit.weights.items())
        assert told == pytest.approx(hit.score, abs=2e-4)


def test_explain_tells_the_lift_of_what_was_ranked_too_low_as_well(make):
    """I6."""
    table = make()
    tell(table, Told(GOOD), Told(SHORT))
    answer = table.store.recall(ASKED, limit=1, explain=True)
    [left] = answer.left_out
    assert (left.memory.content, left.why) == (SHORT, "ranked 2 of 2, and 1 were asked for")
    assert left.parts["context"] == pytest.approx(CONTEXT * answer[0].score, abs=1e-4)


def test_without_vectors_the_words_lift_their_neighbours(make):
    """I7."""
    table = make()
    tell(table, Told(GOOD), Told(SHORT))
    table.fake.fail_with = ModelUnavailable("down")
    hits = scores(table)
    assert order(table) == [GOOD, SHORT]
    assert hits[SHORT].parts["context"] == pytest.approx(CONTEXT, abs=1e-4)
    assert hits[SHORT].degraded == ("embedding",)


def test_both_backends_lift_alike(tmp_path):
    """I9."""
    answers = []
    for backend in EVERY_BACKEND:
        table = desk(backend, tmp_path)
        for number in range(3 * REACH):
            table.near(f"Turn {number} of the talk", ASKED, 0.05 * number)
        tell(table, *(Told(f"Turn {number} of the talk", after=20 * (number % 4)) for number in range(3 * REACH)))
        answers.append([(text, hit.score, dict(hit.parts)) for text, hit in scores(table).items()])
        table.store.close()
    assert answers[0] == answers[1] and any("context" in parts for _, _, parts in answers[0])
