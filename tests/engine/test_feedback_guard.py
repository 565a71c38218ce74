"""The feedback-loop guard: what memory has handed out is no news when it comes back (design §4, step 1; I1, I2)."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from wellkept.engine.base.handed_out import Handed
from wellkept.types import Memory

TEXT = "Ship the export behind a flag."
EVENTS = ("decision", "episode", "turn_summary", "session_summary", "thesis", "trade", "signal")


def handed_out(table, text=TEXT, kind="decision", session="chat", **fields):
    """A memory that was handed out to a session."""
    made = table.store.remember(text, kind=kind, **fields).memory
    table.clock.advance(hours=2)  # an ongoing episode is not meant
    assert made.id in table.store.pack(text, session=session).ids
    return made


@pytest.mark.parametrize("kind", EVENTS)
@pytest.mark.parametrize("back", [TEXT, "ship  the EXPORT behind a flag"])
def test_what_was_handed_out_comes_back_as_an_access(make, kind, back):
    """Verbatim or in another spelling: no second row, its use is counted, nothing else about it changes."""
    table = make()
    made = handed_out(table, kind=kind)
    before = table.store.get(made.id, touch=False)
    result = table.store.in_session("chat").remember(back, kind=kind)
    assert (result.outcome, result.memory.id) == ("duplicate", made.id)
    assert [reason.rule for reason in result.reasons] == ["handed_out"]
    assert made.id in result.message
    after = table.store.get(made.id, touch=False)
    assert after.access_count == before.access_count + 1
    assert (after.version, after.confirmations, after.importance) == (1, 0, before.importance)
    assert len(table.store.list()) == 1


@pytest.mark.parametrize("kind", EVENTS)
def test_elsewhere_the_same_words_are_an_event_of_their_own(make, kind):
    """Without a session, in another one and in another namespace nothing was handed out (I8)."""
    table = make()
    handed_out(table, kind=kind)
    for store in (
        table.store,
        table.store.in_session("another"),
        table.store.in_namespace("n2").in_session("chat"),
    ):
        table.clock.advance(hours=2)
        assert store.remember(TEXT, kind=kind).outcome == "created"


def test_a_pack_without_a_session_is_not_remembered(make):
    table = make()
    handed_out(table, session="")
    assert table.store.remember(TEXT, kind="decision").outcome == "created"


def test_what_did_not_fit_was_not_handed_out(make):
    table = make()
    table.store.remember(TEXT, kind="decision")
    chat = table.store.in_session("chat")
    assert chat.pack("export", budget_tokens=2).left_out
    assert chat.remember(TEXT, kind="decision").outcome == "created"


@pytest.mark.parametrize(
    ("text", "fields"),
    [
        ("Never ship the export behind a flag.", {}),
        ("Ship the export behind 2 flags.", {}),
        ("We ship the export behind a flag from now on.", {}),
        (TEXT, {"event_time": datetime(2026, 3, 1, tzinfo=UTC)}),  # it happened at a time
        (TEXT, {"subject": "export"}),
        (TEXT, {"metadata": {"price": 7}}),
        (TEXT, {"polarity": -1}),
        (TEXT, {"agent": "bob"}),
        (TEXT, {"kind": "turn_summary"}),  # S0-52: a decision summed up is a summary
    ],
)
def test_whatever_it_brings_beside_the_words_makes_it_news(make, text, fields):
    """I2."""
    table = make()
    handed_out(table)
    result = table.store.in_session("chat").remember(text, **{"kind": "decision", **fields})
    assert result.outcome == "created"


@pytest.mark.parametrize(("automatic", "outcome"), [(True, "duplicate"), (False, "restated")])
def test_what_nobody_asked_to_keep_is_an_echo_under_any_kind(make, automatic, outcome):
    """The loop that fills stores: a note is handed out, taken from the answer again and stored as another kind."""
    table = make()
    handed_out(table, kind="decision")
    result = table.store.in_session("chat").remember(TEXT, kind="semantic", automatic=automatic)
    assert result.outcome == outcome


def test_an_echo_stays_in_the_journal_and_can_be_kept_after_all(make):
    """I1."""
    table = make()
    handed_out(table)
    result = table.store.in_session("chat").remember(TEXT, kind="decision")
    entry = table.store.journal()[-1]
    assert (entry.outcome, entry.effects, entry.dropped.content) == ("duplicate", (), TEXT)
    assert table.store.restore(result.dropped)
    assert table.rows("active") == [TEXT, TEXT]
    assert table.store.verify() == ()


def test_a_check_says_so_and_counts_nothing(make):
    table = make()
    made = handed_out(table)
    before = table.store.get(made.id, touch=False)
    assert table.store.in_session("chat").check(TEXT, kind="decision").outcome == "duplicate"
    assert table.store.get(made.id, touch=False) == before


def test_what_was_forgotten_since_is_news(make):
    table = make()
    made = handed_out(table)
    table.store.forget(made.id)
    assert table.store.in_session("chat").remember(TEXT, kind="decision").outcome == "created"


def test_every_item_of_a_batch_is_guarded_and_no_model_is_asked_for_it(make):
    table = make()
    handed_out(table)
    batch = table.store.in_session("chat").remember_many(
        [{"content": TEXT, "kind": "decision"}, {"content": "Hire a reviewer.", "kind": "decision"}]
    )
    assert [result.outcome for result in batch.results] == ["duplicate", "created"]


def test_a_switched_off_search_for_repeats_stays_switched_off(make):
    """B-37."""
    table = make()
    handed_out(table, kind="semantic")
    chat = table.store.in_session("chat")
    assert chat.remember(TEXT, on_conflict="ignore").outcome == "created"
    assert chat.remember(TEXT).outcome == "duplicate"


def test_a_session_given_to_the_store_is_that_of_its_packs(make):
    table = make()
    chat = table.store.in_session("chat")
    chat.remember(TEXT, kind="decision")
    assert chat.pack("export").session == "chat"
    assert chat.remember(TEXT, kind="decision").outcome == "duplicate"


def memory(number, text):
    at = datetime(2026, 3, 1, tzinfo=UTC)
    return Memory(id=f"m{number}", namespace="n", content=text, created_at=at, updated_at=at)


def test_what_is_remembered_is_bounded_and_the_newest_stays():
    handed = Handed(sessions=2, texts=3)
    for session in ("a", "b", "c"):
        handed.note("n", session, [memory(number, f"text {number}") for number in range(5)])
    assert handed.ids("n", "a", "text 4") == ()
    assert handed.ids("n", "b", "text 1") == ()
    assert handed.ids("n", "c", "Text 2!") == ("m2",)
    handed.note("n", "b", [memory(9, "text 9")])
    handed.note("n", "d", [memory(9, "text 9")])
    assert (handed.ids("n", "c", "text 4"), handed.ids("n", "b", "text 4")) == ((), ("m4",))


def test_of_one_text_in_two_memories_the_newest_handed_out_is_meant():
    handed = Handed()
    handed.note("n", "a", [memory(1, "tea"), memory(2, "tea")])
    assert handed.ids("n", "a", "Tea") == ("m2", "m1")
