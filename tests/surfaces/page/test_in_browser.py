"""Journeys through the page in Chromium: `make test-page`. What needs no browser is tested in the other files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import wellkept
from surfaces.page.driver import CHROMEDRIVER, CHROMIUM, Driver, chromium
from surfaces.page.visitors import ROOMS
from surfaces.rest.serving import served
from surfaces.serving.running import ROOT, surroundings
from wellkept.engine.consolidation import planning
from wellkept.errors import InvalidText
from wellkept.server.access import Tokens
from wellkept.server.access.owner import OwnerToken
from wellkept.server.page import Sessions, with_page
from wellkept.server.page.sessions import IDLE_SECONDS
from wellkept.server.rest import create_app

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="needs chromium and chromedriver"),
]
AXE = Path(os.environ.get("WELLKEPT_TEST_AXE", "build/axe/node_modules/axe-core/axe.min.js"))
WIDTHS = (360, 768, 1280, 2560)
SCRIPTS = {
    "Arabic": "مرحبا بالعالم، هذا نص عربي طويل يمتد على أكثر من سطر واحد.",
    "Hebrew": "הספרייה פתוחה כל יום חוץ משבת.",
    "Chinese": "数据库监听端口五四三三，测试服务器在二楼。",
    "Japanese": "テスト用データベースはポート5433で待ち受けます。",
    "Korean": "테스트 데이터베이스는 포트 5433에서 수신합니다.",
    "Thai": "ฐานข้อมูลทดสอบรับฟังที่พอร์ต ๕๔๓๓",
    "Hindi": "परीक्षण डेटाबेस पोर्ट ५४३३ पर सुनता है।",
    "Russian": "Тестовая база данных слушает порт 5433.",
    "emoji": "The 👩🏽‍🚀 family 👨‍👩‍👧‍👦 sits upstairs.",
}
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "</p><style>main { display: none }</style>",
    "a \u202e b \u2066 c",
)
_HTML = "return document.documentElement.outerHTML"
_PLACED = """
const title = [...document.querySelectorAll("h3")].find((one) => one.textContent.trim() === arguments[0]);
const text = title.parentElement.querySelector(".text");
const range = document.createRange();
range.selectNodeContents(text);
const [first] = range.getClientRects();
const box = text.getBoundingClientRect();
return { text: text.textContent.trim(), right: first.left - box.left > box.right - first.right + 5 };
"""
_FIRST_CARD = "return document.querySelector('[data-card]').innerText"
_FOCUSED_CARD = "return [...document.querySelectorAll('[data-card]')].indexOf(document.activeElement)"
_WRITER = """
import select, sys, wellkept
number = 0
with wellkept.open(sys.argv[1], embedder="hashing", relation_model="none") as store:
    while not select.select([sys.stdin], [], [], 0.05)[0]:
        store.remember(f"Shelf {number} holds box {number * 7}.", kind="thesis")
        number += 1
        print(number, flush=True)
print(number)
"""
_SERIOUS = """
const found = await axe.run(document, { resultTypes: ["violations"] });
return found.violations.filter((one) => ["serious", "critical"].includes(one.impact))
  .map((one) => `${one.id}: ${one.nodes.slice(0, 3).map((node) => node.html).join(" | ")}`);
"""


@pytest.fixture(scope="module")
def windows() -> Iterator[Callable[[], Driver]]:
    with chromium() as window:
        yield window


@pytest.fixture(scope="module")
def window(windows: Callable[[], Driver]) -> Driver:
    return windows()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[wellkept.MemoryStore]:
    with wellkept.open(str(tmp_path / "page.db"), embedder="hashing", relation_model="none") as opened:
        opened.remember("The limit is 0.85.", kind="lesson")
        opened.remember("The limit is 0.95.", kind="lesson")
        yield opened


@pytest.fixture
def address(store: wellkept.MemoryStore) -> Iterator[str]:
    with served(with_page(create_app(store), store)) as found:
        yield f"{found}/page"


def active(store: wellkept.MemoryStore) -> list[str]:
    return [row.content for row in store.list()]


def test_from_the_first_visit_to_a_settled_conflict_to_its_undo_by_keys(
    store: wellkept.MemoryStore, windows: Callable[[], Driver]
) -> None:
    owner, sessions = OwnerToken("mara"), Sessions()
    app = with_page(create_app(store, tokens=owner), store, tokens=owner, sessions=sessions)
    with served(app) as address:
        fresh = windows()
        fresh.go(f"{address}/page/enter?code={sessions.invite(owner.secret)}")
        assert "These two contradict each other" in fresh.text()
        fresh.press("j1")
        fresh.wait("return document.body.innerText.includes('Nothing waits for you')")
        assert active(store) == ["The limit is 0.95."] and store.journal()[-1].actor == "mara"
        fresh.press("u")
        fresh.wait("return document.body.innerText.includes('These two contradict each other')")
        assert active(store) == ["The limit is 0.85.", "The limit is 0.95."]


@pytest.mark.parametrize(
    ("key", "resolution", "left"),
    [
        ("1", "keep_new", {"The limit is 0.95."}),
        ("2", "keep_old", {"The limit is 0.85."}),
        ("3", "keep_both", {"The limit is 0.85.", "The limit is 0.95."}),
        ("4", "dismissed", {"The limit is 0.85.", "The limit is 0.95."}),
    ],
)
def test_keys_decide_the_card_that_has_the_focus(
    store: wellkept.MemoryStore, window: Driver, address: str, key: str, resolution: str, left: set[str]
) -> None:
    for text in ("The queue holds 10 jobs.", "The queue holds 25 jobs."):
        store.remember(text, kind="lesson")
    window.go(f"{address}/inbox")
    steps = "j" if "limit is" in window.run(_FIRST_CARD) else "jj"
    window.press(f"{steps}{key}")
    window.wait("return document.body.innerText.includes('Done:')")
    assert {text for text in active(store) if "limit" in text} == left
    assert len([text for text in active(store) if "queue" in text]) == 2
    assert [one.outcome for one in store.journal() if one.verb == "resolve"] == [resolution]


def test_j_and_k_go_from_card_to_card_and_stay_at_the_ends(
    store: wellkept.MemoryStore, window: Driver, address: str
) -> None:
    for text in ("The queue holds 10 jobs.", "The queue holds 25 jobs."):
        store.remember(text, kind="lesson")
    window.go(f"{address}/inbox")
    for keys, place in (("j", 0), ("k", 0), ("j", 1), ("j", 1), ("k", 0)):
        window.press(keys)
        assert window.run(_FOCUSED_CARD) == place


def test_a_plan_is_applied_and_taken_back_while_another_process_writes(
    store: wellkept.MemoryStore, tmp_path: Path, window: Driver, address: str
) -> None:
    for text in ("The queue holds 10 jobs.", "The queue holds 25 jobs."):
        store.remember(text, kind="lesson", on_conflict="ignore")
    settings = {"PYTHONPATH": str(ROOT / "src"), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(tmp_path / "page.db")],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env={**surroundings(), **settings},
    ) as writer:  # fmt: skip
        try:
            assert writer.stdout is not None and writer.stdout.readline() == "1\n"
            window.go(f"{address}/health")
            window.click("button", "Look at a plan")
            window.wait("return document.querySelector('input[name=action]') !== null")
            before = len(active(store))
            window.click("button", "Apply what is ticked")
            window.wait("return document.querySelector('h1').textContent === 'Applied'")
            assert len(store.conflicts()) == 2
            window.click("button", "Take the whole run back")
            window.wait("return document.body.innerText.includes('taken back')")
            during = len(active(store)) - before
        finally:
            told, _ = writer.communicate("end\n", timeout=60)
    assert writer.returncode == 0 and during > 0
    written = {text for text in active(store) if text.startswith("Shelf ")}
    assert len(written) == int(told.split()[-1]), "each write of the other process is there, and nothing else is"
    assert len(store.conflicts()) == 1 and store.verify() == ()


def test_stored_texts_are_shown_and_never_run(store: wellkept.MemoryStore, window: Driver, address: str) -> None:
    for text in HOSTILE:
        store.remember(text, kind="lesson", title=text, tags=[text])
    window.complaints()
    for path in (*ROOMS, "memories?q=limit", f"memories/{store.list()[-1].id}"):
        window.go(f"{address}/{path}")
        assert "owned" not in str(window.run("return document.title"))
        assert window.run("return document.querySelectorAll('main script, main style').length") == 0
        assert window.run("return getComputedStyle(document.querySelector('main')).display") != "none"
    assert [line for line in window.complaints() if "favicon" not in line] == []


def test_search_answers_while_somebody_types(store: wellkept.MemoryStore, window: Driver, address: str) -> None:
    store.remember("Coffee is downstairs.", kind="note")
    window.go(f"{address}/memories")
    window.press("/")
    window.fill("#q", "coffee")
    window.wait("return document.querySelectorAll('.hit').length > 0")
    assert "Coffee is downstairs." in str(window.run("return document.querySelector('.hit').innerText"))
    assert "q=coffee" in str(window.run("return location.search"))


def test_who_types_into_a_search_after_the_session_has_ended_signs_in_and_comes_back_to_it(
    store: wellkept.MemoryStore, tmp_path: Path, windows: Callable[[], Driver]
) -> None:
    store.in_namespace("acme").remember("Pears are ripe.", kind="note")
    now = [0.0]
    tokens, sessions = Tokens(tmp_path / "tokens"), Sessions(clock=lambda: now[0])
    secret = tokens.create(name="mara", namespaces=["acme"], scopes=["read"])[1]
    with served(with_page(create_app(store, tokens=tokens), store, tokens=tokens, sessions=sessions)) as address:
        fresh = windows()
        fresh.go(f"{address}/page/enter?code={sessions.invite(secret)}")
        fresh.go(f"{address}/page/memories")
        now[0] += IDLE_SECONDS
        fresh.fill("#q", "pears")
        fresh.wait("return location.pathname === '/page/login'")
        fresh.fill("#token", secret)
        fresh.click("button", "Sign in")
        fresh.wait("return location.search.includes('q=pears') && document.body.innerText.includes('Pears are ripe.')")


def test_long_work_shows_its_progress_and_then_its_result_while_somebody_waits(
    store: wellkept.MemoryStore, window: Driver, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, goes_on = threading.Event(), threading.Event()

    def slow(self: wellkept.MemoryStore, *, progress: Callable[[str, int, int], None]) -> object:
        progress("compare", 3, 8)
        assert told.wait(60)
        progress("compare", 7, 8)
        assert goes_on.wait(60)
        return planning.plan(self._ctx)

    monkeypatch.setattr(wellkept.MemoryStore, "plan", slow)
    window.go(f"{address}/health")
    window.click("button", "Look at a plan")
    window.wait("return document.body.innerText.includes('compare: 3 of 8')")
    told.set()
    window.wait("return document.body.innerText.includes('compare: 7 of 8')")
    goes_on.set()
    window.wait("return document.body.innerText.includes('Nothing has changed yet')")


def test_people_sign_in_see_what_their_token_opens_and_sign_out(
    store: wellkept.MemoryStore, tmp_path: Path, windows: Callable[[], Driver]
) -> None:
    store.in_namespace("acme").remember("Pears are ripe.", kind="note")
    tokens = Tokens(tmp_path / "tokens")
    secret = tokens.create(name="mara", namespaces=["acme"], scopes=["read"])[1]
    with served(with_page(create_app(store, tokens=tokens), store, tokens=tokens)) as address:
        fresh = windows()
        fresh.go(f"{address}/page/memories")
        fresh.fill("#token", secret)
        fresh.click("button", "Sign in")
        fresh.wait("return document.body.innerText.includes('Pears are ripe.')")
        assert "limit" not in fresh.text()
        fresh.click("button", "Sign out")
        fresh.wait("return location.pathname === '/page/login'")


def test_every_script_is_shown_in_its_direction(store: wellkept.MemoryStore, window: Driver, address: str) -> None:
    for name, text in SCRIPTS.items():
        store.remember(text, kind="note", title=name)
    window.like(width=1280, height=900)
    window.go(f"{address}/memories")
    for name, text in SCRIPTS.items():
        found = window.run(_PLACED, name)
        assert found["text"].replace("⟨U+200D⟩", "\u200d") == text
        assert found["right"] is (name in ("Arabic", "Hebrew")), name


def test_ten_megabytes_and_control_characters_are_shown_as_text(tmp_path: Path, window: Driver) -> None:
    controls = "\t\u202e\u2066\u200b\n"
    text = f"<b>Start</b> {controls} " + ("wörd 数 " + "x" * 90) * 100_000
    policy = wellkept.Policy.from_toml("max_content_chars = 10000000")
    with (
        wellkept.open(str(tmp_path / "large.db"), embedder="hashing", relation_model="none", policy=policy) as store,
        served(with_page(create_app(store), store)) as address,
    ):
        with pytest.raises(InvalidText):
            store.remember("a \x01 b", kind="thesis")  # these no memory can hold
        large = store.remember(text, kind="thesis").id
        for path in ("memories", f"memories/{large}", "journal", "ask?q=Start"):
            window.go(f"{address}/page/{path}")
            assert "<b>Start</b>" in window.text() and "⟨U+202E⟩" in window.text(), path
            assert window.run("return document.querySelectorAll('main b').length") == 0
            assert len(str(window.run(_HTML))) < 400_000


def test_a_decision_made_in_two_windows_at_once_is_one(
    store: wellkept.MemoryStore, windows: Callable[[], Driver], address: str
) -> None:
    both = windows(), windows()
    for one in both:
        one.go(f"{address}/inbox")
    threads = [threading.Thread(target=one.click, args=("button", "Keep the newer")) for one in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    for one in both:
        one.wait("return /Done:|That no longer fits/.test(document.body.innerText)")
    assert sorted("That no longer fits" in one.text() for one in both) == [False, True]
    assert [entry.verb for entry in store.journal()].count("resolve") == 1


def test_two_people_with_two_tokens_never_see_each_other(
    store: wellkept.MemoryStore, tmp_path: Path, windows: Callable[[], Driver]
) -> None:
    tokens = Tokens(tmp_path / "tokens")
    people = {"acme": "pear", "zebra": "plum"}
    for space, word in people.items():
        one = store.in_namespace(space)
        for limit in ("0.85", "0.95"):
            one.remember(f"The {word} limit is {limit}.", kind="lesson")
    with served(with_page(create_app(store, tokens=tokens), store, tokens=tokens)) as address:
        for space, word in people.items():
            own = windows()
            own.go(f"{address}/page/inbox")
            own.fill("#token", tokens.create(name=word, namespaces=[space], scopes=["admin"])[1])
            own.click("button", "Sign in")
            own.wait(f"return document.body.innerText.includes('The {word} limit')")
            for path in (*ROOMS, "memories?q=limit", "ask?q=limit"):
                own.go(f"{address}/page/{path}")
                assert not {other for name, other in people.items() if name != space and f"{other} limit" in own.text()}
                assert not [name for name in people if name != space and name in str(own.run(_HTML))]


def test_a_server_that_is_killed_in_the_middle_loses_no_decision(tmp_path: Path, windows: Callable[[], Driver]) -> None:
    db = tmp_path / "killed.db"
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as opened:
        for name in ("red", "blue", "green", "black"):
            for count in (10, 25):
                opened.remember(f"The {name} queue holds {count} jobs.", kind="lesson")
        conflicts = len(opened.conflicts())
    command = [sys.executable, "-m", "wellkept.cli", "--db", str(db), "--embedder", "hashing", "open", "--json"]
    settings = {"PYTHONPATH": str(ROOT / "src"), "WELLKEPT_RELATION_MODEL": "none", "OPENBLAS_NUM_THREADS": "1"}
    process = subprocess.Popen(
        [*command, "--no-browser"], stdout=subprocess.PIPE, text=True, env={**surroundings(), **settings}
    )
    own = windows()
    try:
        assert process.stdout is not None
        own.go(json.loads(process.stdout.readline())["link"])
        own.click("button", "Keep both")
        own.wait("return document.body.innerText.includes('Done:')")
        own.run("document.querySelectorAll('form[action*=resolve]').forEach((form) => { form.target = '_blank'; })")
        own.run("[...document.querySelectorAll('button')].find((one) => one.textContent === 'Keep both').click()")
    finally:
        process.kill()
        process.communicate(timeout=60)
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as opened:
        decided = [entry for entry in opened.journal() if entry.verb == "resolve"]
        assert len(decided) in (1, 2), "the second was decided or not; the first is there"
        assert len(opened.conflicts()) == conflicts - len(decided) and opened.verify() == ()


@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_runs_out_of_the_window(store: wellkept.MemoryStore, window: Driver, address: str, width: int) -> None:
    store.remember("long" * 200, kind="note", title="x" * 180, tags=["y" * 150])
    store.remember("مرحبا بالعالم، هذا نص عربي طويل.", kind="note", title="عنوان")
    window.like(width=width, height=800)
    for path in (*ROOMS, "memories?q=limit", f"memories/{store.list()[-2].id}"):
        window.go(f"{address}/{path}")
        assert window.run("return document.documentElement.scrollWidth - innerWidth") <= 0, path


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there; `make test-page` fetches it by npm")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "light"), (1280, "dark"), (390, "dark")])
def test_axe_finds_nothing_serious(
    store: wellkept.MemoryStore, window: Driver, address: str, width: int, scheme: str
) -> None:
    old = store.remember("Tea is upstairs.", kind="note").id
    store.supersede(old, store.remember("Everything was moved to the cellar.", kind="note").id)
    store.link(old, store.list()[0].id, "example_of")
    window.like(width=width, height=900, dark=scheme == "dark")
    store.remember("Done!", kind="note", automatic=True)
    seen = (
        "memories?q=limit",
        f"memories/{old}",
        "ask?q=limit",
        "health/runs",
        "inbox/batch?sort=contradiction&least=0",
    )
    for path in (*ROOMS, *seen, "login", "nowhere"):
        window.go(f"{address}/{path}")
        window.run(AXE.read_text(encoding="utf-8"))
        assert window.run(_SERIOUS) == [], path
