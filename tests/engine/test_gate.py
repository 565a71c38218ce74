"""Search before store: the same insight leaves one row (source 000).

The stores of these tests keep to the letter of the source: a repeat is dropped. The default policy keeps it as a
wording of the stored row: `engine/test_repeats_by_default.py`.

The relation model of these tests leaves every pair to rules and similarity (`FakeRelationModel.defers`), which the
packaged one never does: bounds can so be tried to the fourth decimal. The twins with the packaged models stand in
`scenarios/test_shipped_bands.py` and `scenarios/test_example_sentences.py`.
"""

from __future__ import annotations

import json
import logging
from dataclasses import replace

import pytest

from letter import to_the_letter
from wellkept.core.records.explain import check_similar
from wellkept.errors import ModelUnavailable, NotFound, UnknownKind
from wellkept.policy import DEFAULT_KINDS, Band, Policy
from wellkept.types import NewMemory

L1 = "Never trade during low-volume weekends"
PARAPHRASE = "Avoid trading on weekends when volume is low"
REFINED = "Never trade during low-volume weekends UNLESS funding is extremely negative"
UNRELATED = "Rotate the signing keys every quarter"
NEVER_CHECKED = [
    "thesis", "signal", "trade", "trade_entry", "trade_close", "trade_modify", "watchpoint", "turn_summary",
    "session_summary",
]  # fmt: skip


@pytest.fixture
def make(make):
    """Opens stores that drop repeats, unless the test names a policy."""
    return lambda **options: make(**({"policy": to_the_letter()} | options))


def pair(table, cosine, *, kind="lesson", old=L1, new=PARAPHRASE, title=""):
    """A stored memory and a second text at an exact cosine."""
    table.near(NewMemory(content=old, kind=kind, title=title), NewMemory(content=new, kind=kind), cosine)
    return table.store.remember(old, kind=kind, title=title).memory, lambda: table.store.remember(new, kind=kind)


# --------------------------------------------------------------------------------------------
# Goal and gating


@pytest.mark.parametrize("kind", ["lesson", "curiosity"])
def test_the_same_insight_told_three_times_leaves_one_row_by_injected_similarity(make, kind):
    """S0-1, S0-47, S0-54."""
    table = make()
    table.near(NewMemory(content=L1, kind=kind), NewMemory(content=PARAPHRASE, kind=kind), 0.97)
    outcomes = [table.store.remember(text, kind=kind).outcome for text in (L1, PARAPHRASE, L1.lower())]
    assert outcomes == ["created", "duplicate", "duplicate"]
    assert table.rows() == [L1]
    assert [hit.memory.content for hit in table.store.recall(L1)] == [L1]


@pytest.mark.parametrize("kind", NEVER_CHECKED)
def test_these_kinds_are_stored_each_time_without_a_check(make, kind):
    """S0-3, S0-4, S0-41, F-6."""
    table = make()
    calls = table.fake.calls
    results = [table.store.remember(L1, kind=kind) for _ in range(3)]
    assert [result.outcome for result in results] == ["created"] * 3
    assert all(result.links == () and result.matches == () for result in results)
    assert table.rows() == [L1] * 3
    assert table.fake.calls >= calls


@pytest.mark.parametrize("kind", ["lessson", "Lesson", "concept", ""])
def test_an_unknown_kind_is_refused_by_name(table, kind):
    """S0-5, S0-6: the kind itself selects the policy; no string is mapped behind the scenes."""
    with pytest.raises(UnknownKind) as caught:
        table.store.remember(L1, kind=kind)
    assert repr(kind) in str(caught.value) and "lesson" in str(caught.value)
    assert table.rows() == []


@pytest.mark.parametrize("other", ["curiosity", "knowledge", "semantic", "fact", "thesis"])
def test_the_same_text_of_another_kind_is_not_a_repeat(make, other):
    """S0-52, S0-54, F-7."""
    table = make()
    table.store.remember(L1, kind="lesson")
    result = table.store.remember(L1, kind=other)
    assert (result.outcome, result.links) == ("created", ())
    assert check_similar(table.store.check(L1, kind="lesson"))["recommendation"] == "duplicate_found"


# --------------------------------------------------------------------------------------------
# Similarity


@pytest.mark.parametrize(
    ("cosine", "outcome", "linked"),
    [
        (1.0, "duplicate", False),
        (0.9501, "duplicate", False),
        (0.9500, "duplicate", False),  # F-1
        (0.9499, "created", True),  # F-2
        (0.9250, "created", True),  # S0-54
        (0.9000, "created", True),  # F-2
        (0.8999, "created", False),  # F-3
        (0.3, "created", False),
    ],
)
def test_the_tiers_have_exact_bounds_by_injected_similarity(make, cosine, outcome, linked):
    """S0-10, S0-31, S0-36, S0-39, B-1."""
    table = make()
    old, write = pair(table, cosine)
    result = write()
    assert result.outcome == outcome
    edges = [(link.src, link.dst, link.rel) for link in result.links]
    assert edges == ([(result.memory.id, old.id, "related")] if linked else [])
    assert len(table.rows()) == (1 if outcome == "duplicate" else 2)
    assert [item.memory.id for item in table.store.neighbors(old.id)] == ([result.memory.id] if linked else [])


def test_age_use_and_importance_have_no_say_in_what_is_a_repeat(make):
    """S0-7, S0-8: an identical lesson of two months ago beats a different one of yesterday."""
    table = make()
    table.near(NewMemory(content=L1, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), 0.96)
    table.near(NewMemory(content=UNRELATED, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), 0.2)
    old = table.store.remember(L1, kind="lesson", importance=0.0).memory
    table.clock.advance(days=60)
    table.store.remember(UNRELATED, kind="lesson", importance=1.0, pinned=True)
    result = table.store.remember(PARAPHRASE, kind="lesson")
    assert (result.outcome, result.memory.id) == ("duplicate", old.id)


def test_a_short_text_is_checked_like_a_long_one(make):
    """S0-8: no classifier of queries switches vectors off."""
    table = make()
    table.near(NewMemory(content="buy low", kind="lesson"), NewMemory(content="purchase cheaply", kind="lesson"), 0.96)
    table.store.remember("buy low", kind="lesson")
    assert table.store.remember("purchase cheaply", kind="lesson").outcome == "duplicate"


def test_the_repeat_is_found_as_16th_newest_by_injected_similarity(make):
    """S0-19 is wrong there: B-15, F-4. All rows of the scope are compared."""
    table = make()
    old, write = pair(table, 0.96)
    for number in range(40):
        table.store.remember(f"filler number {number}", kind="lesson")
    result = write()
    assert (result.outcome, result.memory.id) == ("duplicate", old.id)


def test_text_and_title_are_embedded_by_one_builder_for_check_create_and_backfill(make):
    """S0-12, B-16, S0-55: `[kind] title`, summary, body, cut at 30 000 characters."""
    table = make()
    body = "volume " * 6000
    given = {"kind": "lesson", "title": "Weekends", "summary": "thin markets"}
    checked = table.store.check(body, **given)
    text = table.fake.texts_seen[-1]
    assert text.startswith("[lesson] Weekends\nthin markets\nvolume") and len(text) == 30_000
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember(body, **given)
    table.fake.fail_with = None
    table.fake.texts_seen.clear()
    assert table.store.reembed()["embedded"] == 1
    assert set(table.fake.texts_seen) == {text}
    assert checked.outcome == "created"


def test_a_new_text_is_embedded_once_for_check_and_insert(make):
    """S0-13: the double embed of the source is not needed."""
    table = make()
    table.store.remember(L1, kind="lesson")
    table.store.remember(UNRELATED, kind="lesson")
    assert table.fake.texts_seen == [L1, UNRELATED]


def test_the_same_lesson_twice_in_one_breath_is_one_by_injected_similarity(make):
    """S0-48: the source accepts a race here; we do not."""
    table = make()
    table.near(NewMemory(content=L1, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), 0.96)
    batch = table.store.remember_many([{"content": L1, "kind": "lesson"}, {"content": PARAPHRASE, "kind": "lesson"}])
    assert [result.outcome for result in batch.results] == ["created", "duplicate"]
    assert table.rows() == [L1]


# --------------------------------------------------------------------------------------------
# The shape of a check


def ask(table, text=PARAPHRASE, *, limit=5, **fields):
    return check_similar(table.store.check(text, kind="lesson", **fields), limit=limit)


@pytest.mark.parametrize(
    ("cosine", "body"),
    [
        (0.9712, ("duplicate", "duplicate_found")),
        (0.9500, ("duplicate", "duplicate_found")),
        (0.9234, ("connect", "similar_found")),
        (0.9000, ("connect", "similar_found")),
        (0.8999, None),
    ],
)
def test_a_check_answers_in_the_shape_of_the_source(make, cosine, body):
    """S0-22, S0-24, S0-26, S0-54."""
    table = make()
    old, _ = pair(table, cosine, title="Avoid weekends")
    before = table.snapshot()
    answer = ask(table)
    if body is None:
        assert answer == {"matches": [], "recommendation": "unique"}
    else:
        action, recommendation = body
        assert answer == {
            "matches": [
                {
                    "node_id": old.id,
                    "title": "Avoid weekends",
                    "similarity": cosine,
                    "action": action,
                    "lifecycle": "ACTIVE",
                }
            ],
            "recommendation": recommendation,
        }
    assert table.snapshot() == before


def test_an_empty_store_answers_unique(table):
    """S0-20, S0-47."""
    assert ask(table) == {"matches": [], "recommendation": "unique"}


def test_a_similarity_has_four_decimals(make):
    """S0-22."""
    table = make()
    pair(table, 0.934567)
    assert ask(table)["matches"][0]["similarity"] == 0.9346


@pytest.mark.parametrize(("limit", "count"), [(5, 5), (2, 2), (0, 0), (20, 7)])
def test_matches_come_most_similar_first_and_are_cut_to_the_limit(make, limit, count):
    """S0-15, S0-22, S0-23."""
    table = make()
    texts = [f"stored lesson about topic{number}" for number in range(8)]
    cosines = [0.91, 0.97, 0.93, 0.95, 0.90, 0.92, 0.96, 0.3]
    for text, cosine in zip(texts, cosines, strict=True):
        for other, near in zip(texts, cosines, strict=True):
            if text < other:
                table.near(
                    NewMemory(content=text, kind="lesson"), NewMemory(content=other, kind="lesson"), cosine * near
                )
        table.near(NewMemory(content=text, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), cosine)
    for text in texts:
        table.store.remember(text, kind="lesson", on_conflict="ignore")
    got = [match["similarity"] for match in ask(table, limit=limit)["matches"]]
    assert got == sorted((cosine for cosine in cosines if cosine >= 0.9), reverse=True)[:count]


def test_a_row_without_a_vector_or_an_unreadable_one_is_passed_over(make):
    """S0-21, B-34: the check succeeds and compares the rest."""
    table = make()
    table.fake.unreadable.add("☃☃ ☃")
    table.store.remember("☃☃ ☃", kind="thesis")
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember("stored during an outage", kind="lesson")
    table.fake.fail_with = None
    old, _ = pair(table, 0.96)
    assert [match["node_id"] for match in ask(table)["matches"]] == [old.id]


@pytest.mark.parametrize(("days", "stage"), [(0, "ACTIVE"), (100, "WEAK"), (300, "DORMANT")])
def test_a_faded_row_still_stops_a_repeat_and_says_how_faded_it_is(make, days, stage):
    """S0-22, S0-25, S0-32, B-9."""
    table = make()
    old, write = pair(table, 0.96, title="Avoid weekend trading")
    table.clock.advance(days=days)
    assert ask(table)["matches"][0]["lifecycle"] == stage
    result = write()
    assert result.outcome == "duplicate"
    assert (f"[{stage}]" in result.message) is (stage != "ACTIVE")
    assert table.rows() == [L1]


# --------------------------------------------------------------------------------------------
# Messages


@pytest.mark.parametrize(("days", "aside"), [(0, ""), (300, " [DORMANT]. Use restore to reactivate if needed")])
def test_the_message_of_a_repeat_is_the_one_of_the_source(make, days, aside):
    """S0-32."""
    table = make()
    old, write = pair(table, 0.9577, title="Avoid weekend trading")
    table.clock.advance(days=days)
    expected = f'Duplicate: already stored as "Avoid weekend trading" ({old.id}){aside}. Not created. (95% similar)'
    assert write().message == expected


def test_the_message_of_a_faded_repeat_says_everything_the_acceptance_list_asks_for(make):
    """S0-33."""
    table = make()
    old, write = pair(table, 0.96, title="Avoid weekend trading")
    table.clock.advance(days=300)
    message = write().message
    for part in ("Duplicate", "Not created", "Avoid weekend trading", old.id, "DORMANT", "96%", "reactivate"):
        assert part in message


@pytest.mark.parametrize(("cosine", "percent"), [(0.95, 95), (0.9599, 95), (0.9999, 99), (0.99, 99), (0.97, 97)])
def test_the_percentage_is_floored_not_rounded(make, cosine, percent):
    """S0-32."""
    table = make()
    _, write = pair(table, cosine)
    assert f"({percent}% similar)" in write().message


def test_a_memory_without_title_is_called_by_its_beginning(make):
    """S0-32: the message must name something the agent recognises."""
    table = make()
    _, write = pair(table, 0.96)
    assert f'"{L1}"' in write().message


def test_a_stored_memory_answers_stored(make):
    """S0-42, S0-44: never Queued."""
    table = make()
    result = table.store.remember(L1, kind="lesson", title="Weekends")
    assert result.message == f'Stored: "Weekends" ({result.memory.id}).'


def test_the_log_line_of_a_dropped_text_is_the_one_of_the_source(make, caplog):
    """S0-34."""
    table = make()
    old, write = pair(table, 0.9577, title="Avoid weekend trading")
    with caplog.at_level(logging.INFO, logger="wellkept"):
        write()
    line = f'Dedup: dropped lesson "{PARAPHRASE}" — duplicate of "Avoid weekend trading" ({old.id}, 95% similar)'
    assert line in caplog.messages


# --------------------------------------------------------------------------------------------
# What a repeat leaves behind


def test_several_near_rows_are_all_told_and_the_highest_is_named(make):
    """S0-31, S0-51."""
    table = make()
    a, b = L1, "Weekends with low volume are no time for trades"
    for text, cosine in ((a, 0.96), (b, 0.97)):
        table.near(NewMemory(content=text, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), cosine)
    table.near(NewMemory(content=a, kind="lesson"), NewMemory(content=b, kind="lesson"), 0.93)
    one, two = (table.store.remember(text, kind="lesson", on_conflict="ignore").memory for text in (a, b))
    result = table.store.remember(PARAPHRASE, kind="lesson")
    assert (result.outcome, result.memory.id) == ("duplicate", two.id)
    assert [(match.memory_id, match.action) for match in result.matches] == [
        (two.id, "duplicate"),
        (one.id, "duplicate"),
    ]
    assert result.message.count("Duplicate") == 1 and two.id in result.message
    assert result.links == ()


def test_a_repeat_makes_no_links_to_rows_that_are_merely_near(make):
    """S0-31: connect matches of the same answer are ignored."""
    table = make()
    near = "stored lesson about venues"
    table.near(NewMemory(content=L1, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), 0.97)
    table.near(NewMemory(content=near, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), 0.92)
    table.near(NewMemory(content=L1, kind="lesson"), NewMemory(content=near, kind="lesson"), 0.89)
    for text in (L1, near):
        table.store.remember(text, kind="lesson")
    result = table.store.remember(PARAPHRASE, kind="lesson")
    assert (result.outcome, result.links) == ("duplicate", ())
    assert table.store.subgraph([result.memory.id], depth=2).edges == ()


def test_a_repeat_of_a_repeat_is_stopped_too(make):
    """S0-54: the absorbed text is known by its letters."""
    table = make()
    old, write = pair(table, 0.96)
    assert write().outcome == "duplicate"
    seen = len(table.fake.texts_seen)
    again = write()
    assert (again.outcome, again.memory.id, again.matches[0].stage) == ("duplicate", old.id, "content_hash")
    assert len(table.fake.texts_seen) == seen
    assert table.rows() == [L1]


def test_a_dropped_text_can_be_stored_after_all(make):
    """I1."""
    table = make()
    _, write = pair(table, 0.96)
    dropped = write().dropped
    assert table.store.restore(dropped) is True
    assert table.rows() == [L1, PARAPHRASE]
    assert table.store.get(dropped).content == PARAPHRASE


@pytest.mark.parametrize("cosine", [0.90, 0.93, 0.96, 0.9999])
def test_a_refinement_is_never_dropped(make, cosine):
    """S0-50, F-8."""
    table = make()
    _, write = pair(table, cosine, new=REFINED)
    assert write().outcome == "created"
    assert table.rows() == [L1, REFINED]


@pytest.mark.parametrize("cosine", [0.90, 0.938, 0.96])
def test_two_ways_to_say_it_are_a_duplicate_or_connected_by_injected_similarity(make, cosine):
    """S0-49: the host measured .938 later."""
    table = make()
    _, write = pair(table, cosine)
    result = write()
    assert result.outcome == "duplicate" or [link.rel for link in result.links] == ["related"]


@pytest.mark.parametrize("cosine", [0.90, 0.94, 0.97])
def test_the_quick_check_of_the_source_finds_the_stored_lesson_by_injected_similarity(make, cosine):
    """S0-53: `duplicate_found` or `similar_found`, given the cosine of the source's own embedder."""
    table = make()
    stored = NewMemory(
        content="Low volume weekends increase slippage risk", title="Never trade weekends", kind="lesson"
    )
    asked = NewMemory(
        content="Weekend trading is risky due to low volume and slippage", title="Avoid weekend trading", kind="lesson"
    )
    table.near(stored, asked, cosine)
    row = table.store.remember(stored).memory
    answer = check_similar(table.store.check(asked))
    assert answer["recommendation"] in ("duplicate_found", "similar_found")
    assert [match["node_id"] for match in answer["matches"]] == [row.id]


def test_a_reactivated_memory_survives_a_read_and_time(make):
    """S0-35, F-5: the lifecycle is computed, so no decay pass undoes it."""
    table = make()
    old, write = pair(table, 0.96, title="Weekends")
    table.clock.advance(days=300)
    assert "[DORMANT]" in write().message
    assert table.store.restore(old.id) is True
    assert table.store.restore(old.id) is False
    for _ in range(3):
        table.clock.advance(days=10)
        table.store.get(old.id)
        table.store.recall(L1)
    assert ask(table)["matches"][0]["lifecycle"] == "ACTIVE"
    assert "[" not in write().message.split(")")[1]


# --------------------------------------------------------------------------------------------
# Links of a stored one


def test_near_rows_are_linked_once_each_and_at_most_five(make):
    """S0-36, S0-54: exactly one edge per match, new to old."""
    table = make()
    texts = [f"stored lesson number{n} of venues" for n in range(7)]
    for place, text in enumerate(texts):
        table.near(NewMemory(content=text, kind="lesson"), NewMemory(content=PARAPHRASE, kind="lesson"), 0.94)
        for other in texts[:place]:
            table.near(NewMemory(content=text, kind="lesson"), NewMemory(content=other, kind="lesson"), 0.88)
    olds = [table.store.remember(text, kind="lesson").memory.id for text in texts]
    result = table.store.remember(PARAPHRASE, kind="lesson")
    assert result.outcome == "created"
    assert len(result.links) == 5
    assert {(link.src, link.rel) for link in result.links} == {(result.memory.id, "related")}
    assert len({link.dst for link in result.links} & set(olds)) == 5


def test_links_of_the_caller_come_first_and_are_not_doubled_by_nearness(make):
    """S0-42, S0-54."""
    table = make()
    old, _ = pair(table, 0.92)
    other = table.store.remember(UNRELATED, kind="lesson").memory
    result = table.store.remember(PARAPHRASE, kind="lesson", links=[other.id, old.id])
    assert sorted(link.dst for link in result.links) == sorted([other.id, old.id])
    assert result.links[0].dst == other.id
    assert len(table.store.neighbors(result.memory.id)) == 2


def test_a_link_of_the_caller_to_nowhere_stores_nothing(table):
    """S0-28, S0-42."""
    before = table.snapshot()
    with pytest.raises(NotFound, match="to link to"):
        table.store.remember(L1, kind="lesson", links=["nowhere"])
    assert table.snapshot() == before


# --------------------------------------------------------------------------------------------
# Fields


def test_trigger_signals_event_time_and_title_are_kept(table):
    """S0-28: fields of their own instead of JSON inside the text."""
    made = table.store.remember(
        L1, kind="watchpoint", title="Funding", trigger="funding < -0.05", signals={"funding": -0.01, "tags": ["a"]},
        event_time="2026-01-02T03:04:05+01:00",
    ).memory  # fmt: skip
    held = table.store.get(made.id)
    assert (held.content, held.trigger, held.signals) == (L1, "funding < -0.05", {"funding": -0.01, "tags": ["a"]})
    assert held.event_time.isoformat() == "2026-01-02T02:04:05+00:00"
    json.dumps(dict(held.signals))


# --------------------------------------------------------------------------------------------
# Fail open


def test_a_broken_check_stores_warns_and_marks(make, caplog):
    """S0-17, S0-40, S0-54: a duplicate is better than a lost memory."""
    table = make()
    pair(table, 0.96)
    table.fake.fail_with = ModelUnavailable("connection refused")
    with caplog.at_level(logging.WARNING, logger="wellkept"):
        result = table.store.remember(PARAPHRASE, kind="lesson")
    assert (result.outcome, result.links, result.degraded) == ("created", (), ("embedding",))
    assert any(line.startswith("Dedup check failed, creating normally: connection refused") for line in caplog.messages)
    assert "unchecked" in result.message
    assert table.store.get(result.memory.id).checked is False
    assert table.rows() == [L1, PARAPHRASE]


def test_the_hash_stages_work_without_a_model(make):
    """S0-40, S4-3: verbatim repeats are found without vectors."""
    table = make()
    table.store.remember(L1, kind="lesson")
    table.fake.fail_with = ModelUnavailable("down")
    result = table.store.remember(L1 + ".", kind="lesson")
    assert (result.outcome, result.degraded) == ("duplicate", ())


def test_a_band_of_ones_own_moves_the_tiers(make):
    """S0-9: constants are named and come from the policy, never from the code."""
    lesson = replace(DEFAULT_KINDS["lesson"], bands=(Band(0.8, "skip"), Band(0.6, "link")))
    table = make(policy=to_the_letter(Policy(kinds={**DEFAULT_KINDS, "lesson": lesson})))
    _, write = pair(table, 0.8)
    assert write().outcome == "duplicate"
