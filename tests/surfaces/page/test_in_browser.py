"""Journeys through the page in Chromium: `make test-page`. What needs no browser is tested in the other files."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import wellkept
from surfaces.page.driver import CHROMEDRIVER, CHROMIUM, Driver, chromium
from surfaces.page.visitors import ROOMS
from surfaces.rest.serving import served
from wellkept.server.access import Tokens
from wellkept.server.access.owner import OwnerToken
from wellkept.server.page import Sessions, with_page
from wellkept.server.rest import create_app

pytestmark = [
    pytest.mark.external,
    pytest.mark.skipif(not (CHROMIUM and CHROMEDRIVER), reason="needs chromium and chromedriver"),
]
AXE = Path(os.environ.get("WELLKEPT_TEST_AXE", "build/axe/node_modules/axe-core/axe.min.js"))
HOSTILE = (
    "<script>document.title = 'owned'</script>",
    "</p><style>main { display: none }</style>",
    "a \u202e b \u2066 c",
)
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


def test_a_plan_is_applied_and_taken_back_while_another_writes(
    store: wellkept.MemoryStore, window: Driver, address: str
) -> None:
    for text in ("The queue holds 10 jobs.", "The queue holds 25 jobs."):
        store.remember(text, kind="lesson", on_conflict="ignore")
    done = threading.Event()

    def write() -> None:
        for number in range(200):
            if done.wait(0.05):
                return
            store.remember(f"Shelf {number} holds box {number * 7}.", kind="thesis")

    writer = threading.Thread(target=write)
    writer.start()
    try:
        window.go(f"{address}/health")
        window.click("button", "Look at a plan")
        window.wait("return document.querySelector('input[name=action]') !== null")
        window.click("button", "Apply what is ticked")
        window.wait("return document.querySelector('h1').textContent === 'Applied'")
        assert len(store.conflicts()) == 2
        window.click("button", "Take the whole run back")
        window.wait("return document.body.innerText.includes('taken back')")
    finally:
        done.set()
        writer.join(30)
    assert len(store.conflicts()) == 1


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


@pytest.mark.parametrize("width", [360, 1280, 2560])
def test_nothing_runs_out_of_the_window(store: wellkept.MemoryStore, window: Driver, address: str, width: int) -> None:
    store.remember("long" * 200, kind="note", title="x" * 180, tags=["y" * 150])
    store.remember("مرحبا بالعالم، هذا نص عربي طويل.", kind="note", title="عنوان")
    window.like(width=width, height=800)
    for path in (*ROOMS, "memories?q=limit", f"memories/{store.list()[-2].id}"):
        window.go(f"{address}/{path}")
        assert window.run("return document.documentElement.scrollWidth - innerWidth") <= 0, path


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not there; `make test-page` fetches it by npm")
@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_axe_finds_nothing_serious(
    store: wellkept.MemoryStore, window: Driver, address: str, width: int, scheme: str
) -> None:
    old = store.remember("Tea is upstairs.", kind="note").id
    store.supersede(old, store.remember("Everything was moved to the cellar.", kind="note").id)
    store.link(old, store.list()[0].id, "example_of")
    window.like(width=width, height=900, dark=scheme == "dark")
    for path in (*ROOMS, "memories?q=limit", f"memories/{old}", "ask?q=limit", "login", "nowhere", "health/runs"):
        window.go(f"{address}/{path}")
        window.run(AXE.read_text(encoding="utf-8"))
        assert window.run(_SERIOUS) == [], path
