"""Decisions made on the page: each is one operation, can be taken back, and is made once."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import wellkept
from surfaces.page.visitors import Browser, Page, browsing
from wellkept.cli.app import app
from wellkept.core.asking.answer_text import choices_of
from wellkept.core.asking.budget import opened
from wellkept.core.asking.state import Asking, state_text
from wellkept.engine.consolidation import planning
from wellkept.engine.history import verdicts
from wellkept.engine.verbs.store import MemoryStore
from wellkept.server.page import work
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
    of_run = browser.get("journal", run=store.runs()[0].run_id)
    assert [form.label for form in of_run.forms].count("Take the whole run back") == 1
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


def drawn(page: Page) -> list[int]:
    """The entries that a sample asks about."""
    return sorted({int(str(attrs["name"])[1:]) for _, attrs in page.tags if attrs.get("type") == "radio"})


def test_verdicts_are_stored_and_give_an_error_rate_with_an_interval_and_labelled_pairs(
    browser: Browser, store: wellkept.MemoryStore, tmp_path: Path
) -> None:
    for text in ("Tea is upstairs.", "tea is upstairs", "Coffee is downstairs.", "coffee is downstairs!"):
        store.remember(text, kind="note")
    page = browser.get("errors")
    assert drawn(page) == [1, 2, 3, 4]
    result = browser.press(page, "Store the answers", v1="right", v2="right", v4="wrong")
    assert "3 judged, 1 wrong" in result.text and drawn(result) == [3]
    assert "25 % wrong" in result.text  # half of the store was stored, none of it wrong; of the rest one of two was
    after = browser.press(result, "Store the answers", v3="unsure")
    assert "3 judged, 1 wrong, 1 unsure" in after.text and "Everything is judged" in after.text
    with browsing(store) as another:  # nothing is kept by the server: another one knows the same
        assert "3 judged, 1 wrong, 1 unsure" in another.get("errors").text
    file = tmp_path / "pairs.jsonl"
    file.write_text(browser.http.get("/page/errors/pairs").text)
    assert [json.loads(line)["relation"] for line in file.read_text().splitlines()] == ["same", "distinct"]
    assert CliRunner().invoke(app, ["--embedder", "hashing", "eval", "pairs", str(file), "--json"]).exit_code == 0
    assert [entry.verb for entry in store.journal()].count("judge") == 2


def test_a_verdict_given_twice_is_one_and_a_new_one_replaces_it(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("Tea is upstairs.", kind="note")
    page = browser.get("errors")
    browser.press(page, "Store the answers", v1="right")
    again = browser.press(page, "Store the answers", v1="right")
    assert "Nothing was chosen" in again.text and "1 judged, 0 wrong" in again.text
    assert "1 judged, 1 wrong" in browser.press(page, "Store the answers", v1="wrong").text
    assert [entry.outcome for entry in store.journal()] == ["created", "judged", "judged"]


@pytest.mark.parametrize(
    ("field", "status"), [({"v1": "perhaps"}, 422), ({"v2": "right"}, 404), ({"v99": "right"}, 404)]
)
def test_a_verdict_about_no_decision_is_refused_and_nothing_is_stored(
    browser: Browser, store: wellkept.MemoryStore, field: dict[str, str], status: int
) -> None:
    memory_id = store.remember("Tea is upstairs.", kind="note").id
    store.forget(memory_id)
    browser.press(browser.get("errors"), "Store the answers", status=status, **field)
    assert len(store.journal()) == 2


def test_rare_outcomes_are_drawn_from_a_long_journal_and_judged_decisions_are_not(store: wellkept.MemoryStore) -> None:
    numbers = [store.remember(text, kind="note").entry for text in ("Tea is upstairs.", "tea is upstairs")]
    for number in range(300):
        store.remember(f"Shelf {number} holds box {number * 7 + 3}.", kind="thesis")
    store.remember("TEA is upstairs.", kind="note")
    for seed in "abcde":
        found = verdicts.draw(store._ctx, 20, seed=seed)
        assert len({one.seq for one in found}) == 20
        assert sorted(one.seq for one in found if one.outcome == "duplicate") == [numbers[1], 303]
    verdicts.judge(store._ctx, {numbers[1]: "right"})
    again = verdicts.draw(store._ctx, 20, seed="a")
    assert [one.seq for one in again if one.outcome == "duplicate"] == [303]
    assert [(one.outcome, one.size, one.judged) for one in verdicts.strata(store._ctx)] == [
        ("created", 301, 0), ("duplicate", 2, 1),
    ]  # fmt: skip


def test_what_was_not_stored_waits_until_somebody_agrees_or_stores_it(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    for text in ("Done!", "ok thanks"):
        assert store.remember(text, kind="note", automatic=True).outcome == "rejected"
    page = browser.get("inbox", sort="rejected")
    assert "Done!" in page.text and "ok thanks" in page.text and active(store) == []
    page = browser.press(page, "Store it after all")
    assert active(store) == ["ok thanks"]
    page = browser.press(page, "Rightly left out")
    assert "Nothing waits for you" in page.text and store.journal()[-1].verb == "judge"


def test_what_an_import_has_not_stored_waits_with_the_line_that_it_was(
    browser: Browser, store: wellkept.MemoryStore, tmp_path: Path
) -> None:
    lines = tmp_path / "lines.jsonl"
    lines.write_text('{"text": "Tea is upstairs."}\n{"text": "ok, thanks"}\n{"text": "Done!"}\n', encoding="utf-8")
    report = store.import_(lines)
    assert (report.counts["created"], report.counts["rejected"]) == (1, 2)
    page = browser.get("inbox", sort="rejected")
    assert "ok, thanks" in page.text and "Done!" in page.text and "Tea" not in page.text
    page = browser.press(page, "Store it after all")
    page = browser.press(page, "Rightly left out")
    assert active(store) == ["Tea is upstairs.", "Done!"] and "Nothing waits for you" in page.text


def test_a_queued_write_that_failed_waits_with_its_reason_and_is_tried_again_or_dropped(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    store.queue.remember("Follow up on nobody.", kind="thesis", links=["nobody"])
    assert store.queue.flush().failed
    page = browser.get("inbox")
    assert "This could not be stored" in page.text and "Follow up on nobody." in page.text and "nobody" in page.text
    page = browser.press(page, "Try again")
    assert "2 attempts" in page.text and active(store) == []
    assert "Nothing is stored here yet" in browser.press(page, "Drop it").text and store.queue.failed() == ()


def test_a_plan_that_was_looked_at_waits_in_the_inbox_until_it_is_applied_or_put_aside(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    for text in ("The limit is 0.85.", "The limit is 0.95."):
        store.remember(text, kind="lesson", on_conflict="ignore")
    plan = browser.press(browser.get("health"), "Look at a plan")
    waiting = browser.get("inbox")
    assert "A plan waits" in waiting.text
    [link] = [str(attrs["href"]) for _, attrs in waiting.tags if attrs.get("data-key") == "1"]
    assert browser.http.get(link).text.count('name="action"') == 1
    put_aside = browser.press(plan, "Apply what is ticked", leave="yes")
    assert "put aside" in put_aside.text and "A plan waits" not in browser.get("inbox").text
    assert store.conflicts() == ()
    browser.press(browser.press(browser.get("health"), "Look at a plan"), "Apply what is ticked", action="")
    assert "A plan waits" in browser.get("inbox").text


def test_long_work_shows_how_far_it_is_and_then_its_result(
    browser: Browser, store: wellkept.MemoryStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.remember("Tea is upstairs.", kind="note")
    going, goes_on = threading.Event(), threading.Event()

    def slow(self: wellkept.MemoryStore, *, progress: Callable[[str, int, int], None]) -> object:
        progress("compare", 3, 8)
        going.set()
        assert goes_on.wait(60)
        return planning.plan(self._ctx)

    monkeypatch.setattr(wellkept.MemoryStore, "plan", slow)
    monkeypatch.setattr(work, "_PATIENCE", 0.0)
    form = next(one for one in browser.get("health").forms if one.label == "Look at a plan")
    answer = browser.http.post(form.action, data=form.fields, follow_redirects=False)
    assert answer.status_code == 303 and going.wait(60)
    place = answer.headers["location"]
    progress = Page(browser.http.get(place).text)
    assert (
        "compare: 3 of 8" in progress.text
        and ("progress", {"max": "8", "value": "3", "aria-label": "Comparing"}) in progress.tags
    )
    assert "Comparing goes on" in browser.get("health").text
    assert browser.http.get(place.replace("ns=default", "ns=other")).status_code == 404
    asked = {"HX-Request": "true"}
    assert "hx-refresh" not in browser.http.get(place, headers=asked).headers
    goes_on.set()
    until = time.monotonic() + 60
    while "hx-refresh" not in browser.http.get(place, headers=asked).headers and time.monotonic() < until:
        time.sleep(0.02)
    while "Nothing has changed yet" not in (text := browser.http.get(place).text) and time.monotonic() < until:
        time.sleep(0.02)
    assert "Nothing has changed yet" in text
    gone = f"{place.split('?')[0]}x?{place.partition('?')[2]}"
    assert "hx-refresh" in browser.http.get(gone, headers=asked).headers  # the page is loaded anew, and says so
    assert browser.http.get(gone).status_code == 404


def test_an_undo_is_offered_for_a_minute(store: wellkept.MemoryStore, browser: Browser) -> None:
    memory_id = store.remember("Tea is upstairs.", kind="note").id
    page = browser.press(browser.get(f"memories/{memory_id}"), "Forget")
    assert "Done: forgotten" in page.text
    later = MemoryStore(replace(store._ctx, clock=lambda: store._ctx.clock() + timedelta(seconds=61)))
    with browsing(later) as another:
        assert "Done:" not in another.get(f"memories/{memory_id}", done=store.journal()[-1].seq).text


def test_another_policy_is_shown_beside_with_what_it_decides_otherwise(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    store.remember("The tea is upstairs.", kind="note")
    store.remember("the tea is upstairs", kind="note")
    before = store.journal()
    page = browser.get("ask", q="where is the tea")
    other = browser.press(page, "Show it beside", policy='[kinds.note]\npreset = "append_only"\n')
    assert "1 would differ; 1 memories hold now, 2 would" in other.text
    assert "then: known already now: stored" in other.text
    assert "The tea is upstairs." in other.text.partition("Under the other policy")[2]
    assert store.journal() == before
    browser.press(page, "Show it beside", status=422, policy="[kinds.note")


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
