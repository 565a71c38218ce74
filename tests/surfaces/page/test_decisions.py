"""Decisions made on the page: each is one operation, can be taken back, and is made once."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

import wellkept
from surfaces.page.visitors import Browser, browsing
from wellkept.core.asking.answer_text import choices_of
from wellkept.core.asking.budget import opened
from wellkept.core.asking.state import Asking, state_text
from wellkept.types import Chance, QuestionRecord


@pytest.fixture
def conflict(store: wellkept.MemoryStore) -> tuple[str, str]:
    """The ids of two memories that contradict each other."""
    old = store.remember("The limit is 0.85.", kind="lesson").id
    return old, store.remember("The limit is 0.95.", kind="lesson").id


def active(store: wellkept.MemoryStore) -> list[str]:
    return [row.content for row in store.list()]


@pytest.mark.parametrize(
    ("label", "left"),
    [
        ("Keep the newer", ["The limit is 0.95."]),
        ("Keep the older", ["The limit is 0.85."]),
        ("Keep both", ["The limit is 0.85.", "The limit is 0.95."]),
        ("No conflict", ["The limit is 0.85.", "The limit is 0.95."]),
    ],
)
def test_a_settled_conflict_leaves_the_inbox_and_undo_brings_it_back(
    browser: Browser, store: wellkept.MemoryStore, conflict: tuple[str, str], label: str, left: list[str]
) -> None:
    after = browser.press(browser.get("inbox"), label)
    assert active(store) == left and store.conflicts() == ()
    assert "Done:" in after.text and "Nothing waits for you" in after.text
    again = browser.press(after, "Undo")
    assert active(store) == ["The limit is 0.85.", "The limit is 0.95."] and len(store.conflicts()) == 1
    browser.press(again, "Redo")
    assert active(store) == left


def test_a_decision_made_twice_at_once_is_one(
    browser: Browser, store: wellkept.MemoryStore, conflict: tuple[str, str]
) -> None:
    form = next(one for one in browser.get("inbox").forms if one.label == "Keep the newer")

    def press(_: int) -> int:
        return browser.http.post(form.action, data=form.fields, follow_redirects=False).status_code

    with ThreadPoolExecutor(4) as pool:
        statuses = sorted(pool.map(press, range(4)))
    assert statuses == [303, 409, 409, 409]
    assert [entry.verb for entry in store.journal()].count("resolve") == 1


def test_what_another_process_has_settled_is_left_and_said(
    browser: Browser, store: wellkept.MemoryStore, conflict: tuple[str, str]
) -> None:
    page = browser.get("inbox")
    store.resolve(store.conflicts()[0].key, "keep_both")
    told = browser.press(page, "Keep the newer", status=409)
    assert "is settled" in told.text and len(active(store)) == 2


def test_many_are_previewed_and_settled_at_once(browser: Browser, store: wellkept.MemoryStore) -> None:
    for name in ("red", "blue", "green", "black"):
        store.remember(f"The {name} queue holds 10 jobs.", kind="lesson")
        store.remember(f"The {name} queue holds 25 jobs.", kind="lesson")
    keys = [one.key for one in store.conflicts()]
    assert len(keys) >= 4
    preview = browser.get("inbox/batch", sort="contradiction", least="0")
    boxes = [attrs["value"] for tag, attrs in preview.tags if attrs.get("name") == "key"]
    assert sorted(map(str, boxes)) == sorted(keys) and len(store.conflicts()) == len(keys)
    after = browser.press(preview, "Settle them", key=keys[1:], resolution="keep_both")
    assert [one.key for one in store.conflicts()] == keys[:1]
    assert f"{len(keys) - 1} settled" in after.text


def test_a_memory_is_forgotten_brought_back_and_erased_only_with_the_typed_word(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    memory_id = store.remember("Tea is upstairs.", kind="note").id
    page = browser.press(browser.get(f"memories/{memory_id}"), "Forget")
    assert store.get(memory_id).status == "archived"
    page = browser.press(page, "Bring back")
    assert store.get(memory_id).status == "active"
    browser.press(page, "Erase", status=422, confirmation="yes")
    assert store.get(memory_id).content == "Tea is upstairs."
    browser.press(page, "Erase", confirmation="erase")
    assert store.get(memory_id).status == "erased"
    assert "Tea" not in browser.get(f"memories/{memory_id}").text.replace("Team", "")


def test_a_wording_is_split_off_and_folded_again_by_undo() -> None:
    policy = wellkept.Policy.from_toml('[kinds.fact]\nrepeats = "fold"\n')
    with wellkept.open("memory:", policy=policy) as store, browsing(store) as browser:
        head = store.remember("The invoices are sent by Marta.", kind="fact").id
        assert store.remember("Marta sends the invoices.", kind="fact").outcome == "restated"
        page = browser.press(browser.get(f"memories/{head}"), "Says something else")
        assert len(active(store)) == 2
        browser.press(page, "Undo")
        assert active(store) == ["The invoices are sent by Marta."]


def test_a_dropped_text_is_stored_after_all(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("Tea is upstairs.", kind="note")
    store.remember("Done!", kind="note", automatic=True)
    assert len(active(store)) == 1
    browser.press(browser.get("journal", only="dropped"), "Store it after all")
    assert "Done!" in active(store)


def test_an_entry_of_the_journal_is_taken_back(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("Tea is upstairs.", kind="note")
    browser.press(browser.get("journal"), "Take back")
    assert active(store) == []


def test_a_plan_is_looked_at_applied_in_part_and_taken_back_while_others_write(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    pairs = ("The limit is 0.85.", "The limit is 0.95."), ("The queue holds 10 jobs.", "The queue holds 25 jobs.")
    for text in (text for pair in pairs for text in pair):
        store.remember(text, kind="lesson", on_conflict="ignore")
    plan = browser.press(browser.get("health"), "Look at a plan")
    actions = [str(attrs["value"]) for _, attrs in plan.tags if attrs.get("name") == "action"]
    assert len(actions) == 2 and store.conflicts() == ()
    store.remember("Meanwhile somebody writes.", kind="thesis")
    applied = browser.press(plan, "Apply what is ticked", action=actions[:1])
    assert "1 action applied" in applied.text and len(store.conflicts()) == 1
    store.remember("And writes again.", kind="thesis")
    runs = browser.press(applied, "Take the whole run back")
    assert "taken back" in runs.text and store.conflicts() == () and len(active(store)) == 6


def test_an_unknown_plan_is_refused_and_nothing_is_done(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("Tea is upstairs.", kind="thesis")
    form = browser.get("health").forms[0].fields
    answer = browser.http.post("/page/health/apply", data={**form, "plan_id": "x", "action": "y"})
    assert answer.status_code == 409 and "Look at a new plan" in answer.text


def test_the_check_names_problems_or_says_that_there_are_none(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("Tea is upstairs.", kind="note")
    assert "No problems" in browser.press(browser.get("health"), "Check the store").text


def test_a_judged_sample_gives_an_error_rate_with_an_interval_and_labelled_pairs(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    for text in ("Tea is upstairs.", "tea is upstairs", "Coffee is downstairs.", "coffee is downstairs!"):
        store.remember(text, kind="note")
    page = browser.get("errors")
    names = sorted({str(attrs["name"]) for tag, attrs in page.tags if attrs.get("type") == "radio"})
    assert names == ["v1", "v2", "v3", "v4"]
    verdicts = {name: "wrong" if name == "v4" else "right" for name in names}
    result = browser.press(page, "Show the error rate", **verdicts)
    assert "4 judged, 1 wrong" in result.text and "25 % wrong" in result.text
    form = next(one for one in result.forms if one.label == "Download as labelled pairs")
    lines = browser.http.post(form.action, data=form.fields).text.splitlines()
    assert len(lines) == 2 and '"relation": "same"' in lines[0] and '"relation": "distinct"' in lines[1]


ANSWERS = {
    "The new one replaces it": "replaces 1",
    "The new one replaces a part of it": "replaces part of 1",
    "Says the same": "repeats 1",
    "Adds to it": "adds to 1",
    "This one still holds": "outdated by 1",
    "They contradict: keep both": "keep both 1",
    "None of them: it is new": "new",
    "Not worth keeping": "not worth keeping",
}


@pytest.mark.parametrize("label", ANSWERS)
def test_a_question_has_a_button_for_every_answer_to_one_candidate(
    browser: Browser, store: wellkept.MemoryStore, label: str
) -> None:
    old, new = store.remember("The hall was built by Ana.").memory, store.remember("Bo has the keys.").memory
    assert old is not None and new is not None
    record = QuestionRecord(memory_id=new.id, chances=(Chance(old.id, 0.4, 0.2, 1),), worth=0.4)
    with store._ctx.storage.begin(store.namespace, write=True) as tx:
        first = tx.journal(seqs=(2,))[0]
        tx.apply(replace(first, seq=0, effects=(), asks=record, idempotency_key=""))
        tx.note_asking(state_text(Asking().with_question(opened(record, 3))))
    assert set(ANSWERS.values()) == set(choices_of((1,)))
    browser.press(browser.get("inbox"), label)
    (entry,) = store.journal(newest=1)
    assert {one.rule: one.detail for one in entry.reasons}["answer"] == ANSWERS[label]
