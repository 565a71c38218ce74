"""The rooms of the page, read without scripts: what they show, what they refuse, and that nothing stored is obeyed."""

from __future__ import annotations

import hashlib
import json
import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

import wellkept
from surfaces.page.visitors import ROOMS, Browser, Page, browsing, inline, shown

HTMX = "d6fdc75f204e6bdefa99b69bf1e6d4ac69b8a364f77929f45c13476b4000f717"
"""SHA-256 of `dist/htmx.min.js` of htmx.org 2.0.11."""
HOSTILE = (
    "<script>alert('stored')</script>",
    "</p><style>body { display: none }</style>",
    '"><img src=x onerror=alert(1)>',
    "{{ visit.frame.sessions }} {% raw %}",
    "javascript:alert(1)",
    "left \u202e right \u2066 hidden \u200b end",
)


@pytest.mark.parametrize("room", ROOMS)
def test_an_empty_store_teaches_what_will_stand_here(browser: Browser, room: str) -> None:
    page = browser.get(room)
    assert any("empty" in (attrs.get("class") or "") for _, attrs in page.tags)


@pytest.mark.parametrize("room", [*ROOMS, "memories?q=left", "ask?q=script", "journal?only=dropped", "health/runs"])
def test_hostile_texts_are_shown_as_text_everywhere(browser: Browser, store: wellkept.MemoryStore, room: str) -> None:
    for text in HOSTILE:
        store.remember(text, kind="lesson", title=text[:100], tags=[text[:60]], source=text[:60], subject=text[:60])
    store.remember("The limit is 0.85. <b>Old</b>", kind="lesson")
    store.remember("The limit is 0.95. <b>Old</b>", kind="lesson")
    raw = browser.http.get(f"/page/{room}").text
    assert inline(raw) == []
    for text in HOSTILE[:3]:
        assert text not in raw
    assert not set("\u202e\u2066\u200b") & set(raw)
    assert "<b>" not in raw


def test_a_memorys_own_page_shows_hostile_texts_as_text(browser: Browser, store: wellkept.MemoryStore) -> None:
    for text in HOSTILE:
        made = store.remember(text, kind="lesson", title=text[:100], tags=[text[:60]], metadata={"a": text}).memory
        assert made is not None
        raw = browser.http.get(f"/page/memories/{made.id}").text
        assert inline(raw) == []
        assert shown(text.partition("\u202e")[0].strip()) in raw or "&#39;" in raw or "&#34;" in raw
        assert not set("\u202e\u2066\u200b") & set(raw)


def test_every_answer_forbids_what_is_inline_and_may_not_be_framed(browser: Browser) -> None:
    for path in (*ROOMS, "login", "page.css", "page.js", "nowhere", "memories/unknown"):
        headers = browser.http.get(f"/page/{path}").headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'") and "frame-ancestors 'none'" in policy
        assert "unsafe" not in policy and "http" not in policy
        assert headers["x-content-type-options"] == "nosniff"


def test_scripts_and_styles_come_from_the_server_and_name_no_other(browser: Browser) -> None:
    for name, kind in (("page.css", "text/css"), ("page.js", "text/javascript"), ("icon.svg", "image/svg+xml")):
        answer = browser.http.get(f"/page/{name}")
        assert answer.headers["content-type"].startswith(kind)
        assert "//" not in answer.text.replace("http://www.w3.org/2000/svg", "").replace("// Comfort", "").replace(
            "// A decision", ""
        )


def test_htmx_is_the_published_file_and_may_neither_evaluate_text_nor_keep_pages(browser: Browser) -> None:
    script = browser.http.get("/page/htmx.min.js")
    assert script.headers["content-type"].startswith("text/javascript")
    assert hashlib.sha256(script.content).hexdigest() == HTMX
    page = browser.get("memories")
    [settings] = [attrs["content"] for _, attrs in page.tags if attrs.get("name") == "htmx-config"]
    assert json.loads(settings or "") == {
        "allowEval": False, "allowScriptTags": False, "historyCacheSize": 0, "includeIndicatorStyles": False,
    }  # fmt: skip


def test_the_page_is_at_the_root_of_the_server(browser: Browser) -> None:
    answer = browser.http.get("/", follow_redirects=False)
    assert (answer.status_code, answer.headers["location"]) == (303, "/page/inbox")


def test_a_conflict_is_a_card_with_the_differing_words_marked(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("The limit is 0.85.", kind="lesson")
    store.remember("The limit is 0.95.", kind="lesson")
    raw = browser.http.get("/page/inbox").text
    assert "<del>0.85.</del>" in raw and "<ins>0.95.</ins>" in raw
    assert [form.label for form in Page(raw).forms if "resolve" in form.action] == [
        "Keep the newer", "Keep the older", "Keep both", "No conflict",
    ]  # fmt: skip


def test_memories_are_listed_newest_first_page_by_page(browser: Browser, store: wellkept.MemoryStore) -> None:
    for number in range(60):
        store.remember(f"Shelf {number} holds box {number * 7 + 3}.", kind="thesis")
    first = browser.get("memories")
    assert "Shelf 59 holds" in first.text and "Shelf 9 holds" not in first.text
    [older] = [attrs["href"] for tag, attrs in first.tags if tag == "a" and "before=" in (attrs.get("href") or "")]
    second = Page(browser.http.get(str(older)).text)
    assert "Shelf 9 holds" in second.text and "Shelf 10 holds" not in second.text
    assert "Shelf 0 holds" in second.text


@pytest.mark.parametrize(
    ("query", "found", "missing"),
    [
        ({"kind": "note"}, "Tea is upstairs", "Coffee"),
        ({"tag": "kitchen"}, "Coffee is downstairs", "Tea"),
        ({"source": "chat"}, "Coffee is downstairs", "Tea"),
        ({"q": "coffee"}, "Coffee is downstairs", "Tea"),
        ({"status": "archived"}, "No memories", "Coffee"),
        ({"until": "2020-01-01"}, "No memories", "Coffee"),
    ],
)
def test_memories_are_filtered_and_searched(
    browser: Browser, store: wellkept.MemoryStore, query: dict[str, str], found: str, missing: str
) -> None:
    store.remember("Tea is upstairs.", kind="note")
    store.remember("Coffee is downstairs.", kind="lesson", tags=["kitchen"], source="chat")
    text = Page(browser.http.get("/page/memories", params=query).text).text
    assert found in text and missing not in text


def test_the_parts_of_a_score_are_drawn_as_long_as_they_are_large(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    store.remember("Tea is upstairs.", kind="note", importance=0.8)
    [hit] = store.recall("where is tea", limit=20, explain=True, touch=False)
    for path in ("memories", "ask"):
        raw = browser.http.get(f"/page/{path}", params={"q": "where is tea"}).text
        drawn = re.findall(r"<li([^>]*)><span>(\w+)</span><svg.*?class=\"fill\" width=\"(\d+)\".*?>(\d+) %</span>", raw)
        lengths = {name: int(length) for _, name, length, _ in drawn}
        parts = {"cosine": "meaning", "lexical": "words", "recency": "time", "importance": "importance"}
        assert lengths == {label: round(100 * hit.parts[name]) for name, label in parts.items() if name in hit.parts}
        assert {"meaning", "words", "importance"} <= lengths.keys() and lengths["importance"] == 80
        assert 0 < lengths["words"] <= 100
        assert [length for _, _, length, _ in drawn] == [told for *_, told in drawn]
        counted = {parts[name] for name in parts if hit.weights.get(name)}
        assert {name for idle, name, *_ in drawn if not idle} == counted


def test_the_filters_say_how_many_memories_they_hold(browser: Browser, store: wellkept.MemoryStore) -> None:
    gone = store.remember("Tea is upstairs.", kind="note").id
    store.remember("The hall was built by Ana.", kind="note")
    store.remember("Coffee is downstairs.", kind="lesson")
    store.forget(gone)
    text = browser.get("memories").text
    assert "note (1)" in text and "lesson (1)" in text and "fact (0)" in text
    assert "current (2)" in text and "forgotten (1)" in text and "replaced (0)" in text


def test_tags_and_sources_are_offered_with_their_counts_among_the_newest(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    store.remember("Tea is upstairs.", kind="note", tags=["kitchen", "<b>"], source="chat")
    store.remember("Coffee is downstairs.", kind="lesson", tags=["kitchen"])
    page = browser.get("memories", kind="note")
    assert "Tags of the newest 2: kitchen (2) <b> (1) Sources of the newest 2: chat (1)" in page.text
    [link] = [attrs["href"] for tag, attrs in page.tags if tag == "a" and "tag=kitchen" in (attrs.get("href") or "")]
    text = Page(browser.http.get(str(link)).text).text
    assert "Tea is upstairs" in text and "Coffee" not in text, "the filter on kinds stays"


def test_health_and_journal_count_what_each_day_has_decided() -> None:
    now = [datetime(2026, 3, 1, 12, tzinfo=UTC)]
    with wellkept.open("memory:", embedder="hashing", relation_model="none", clock=lambda: now[0]) as store:
        for text in ("Tea is upstairs.", "tea is upstairs", "The limit is 0.85."):
            store.remember(text, kind="lesson")
        now[0] += timedelta(days=1)
        for text in ("The limit is 0.95.", "Done!"):
            store.remember(text, kind="lesson", automatic=True)
        with browsing(store) as browser:
            health, journal = browser.get("health").text, browser.get("journal").text
    assert "Day stored restated replaced dropped conflicts 2 Mar 2026 1 0 0 1 1 1 Mar 2026 2 1 0 0 0" in health
    assert "1 Mar 2026 2 stored, 1 known already" in journal


def test_a_memorys_page_tells_its_history_with_the_words_that_changed(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    memory_id = store.remember("Tea is upstairs.", kind="note").id
    store.revise(memory_id, content="Tea is downstairs.")
    raw = browser.http.get(f"/page/memories/{memory_id}").text
    assert "<del>upstairs.</del>" in raw and "<ins>downstairs.</ins>" in raw
    assert "edited" in Page(raw).text


def test_a_memorys_page_tells_what_replaced_it_and_what_it_is_linked_to(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    old, new = store.remember("Tea is upstairs.").id, store.remember("Everything was moved to the cellar.").id
    other = store.remember("The cellar is dry.").id
    store.supersede(old, new)
    store.link(new, other, "example_of")
    page = browser.get(f"memories/{old}")
    assert "This was replaced by" in page.text and "Everything was moved to the cellar." in page.text
    assert "example_of" in browser.get(f"memories/{new}").text


def test_the_journal_shows_dropped_texts_and_filters(browser: Browser, store: wellkept.MemoryStore) -> None:
    store.remember("Tea is upstairs.", kind="note")
    store.remember("tea is upstairs", kind="note")
    store.remember("Coffee is downstairs.", kind="note")
    dropped = browser.get("journal", only="dropped").text
    assert "tea is upstairs" in dropped and "Coffee" not in dropped
    assert "Coffee" in browser.get("journal", outcome="created").text
    assert "Coffee" not in browser.get("journal", actor="nobody").text


def test_the_journal_is_read_backwards_page_by_page(browser: Browser, store: wellkept.MemoryStore) -> None:
    for number in range(55):
        store.remember(f"Shelf {number} holds box {number * 7 + 3}.", kind="thesis")
    first = browser.get("journal")
    assert "Shelf 54 holds" in first.text and "Shelf 4 holds" not in first.text
    [earlier] = [attrs["href"] for tag, attrs in first.tags if tag == "a" and "from=" in (attrs.get("href") or "")]
    assert "Shelf 4 holds" in Page(browser.http.get(str(earlier)).text).text


def test_ask_shows_the_hits_and_the_block_for_a_prompt_now_and_then(
    browser: Browser, store: wellkept.MemoryStore
) -> None:
    store.remember("Tea is upstairs.", kind="note")
    page = browser.get("ask", q="where is tea")
    assert page.text.count("Tea is upstairs.") >= 2 and "The block for a prompt" in page.text
    assert "Tea" not in browser.get("ask", q="where is tea", as_of="2020-01-01T00:00").text.replace("tea", "")
    assert store.get(store.list()[0].id, touch=False).access_count == 0


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("memories/unknown", 404),
        ("nowhere", 404),
        ("inbox/batch?sort=nothing", 422),
        ("inbox/batch?sort=outdated&least=2", 422),
        ("memories?since=yesterday", 422),
        ("ask?q=tea&as_of=never", 422),
        ("inbox?ns=a//b", 404),
    ],
)
def test_an_error_is_a_page_that_says_what_to_do(browser: Browser, path: str, status: int) -> None:
    answer = browser.http.get(f"/page/{path}")
    assert answer.status_code == status
    assert answer.headers["content-type"].startswith("text/html")
    assert inline(answer.text) == []


def test_a_text_of_the_greatest_length_is_shown_in_part(browser: Browser, store: wellkept.MemoryStore) -> None:
    long: Any = "wordy " * 40_000
    memory_id = store.remember(long[:190_000], kind="note").id
    assert len(browser.http.get(f"/page/memories/{memory_id}").text) < 200_000
    assert len(browser.http.get("/page/memories").text) < 20_000
