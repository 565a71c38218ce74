"""What users see of wordings and marks: library, command line, REST and MCP say the same, on every backend."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from typer.testing import CliRunner

import wellkept
from stores import Place, place
from surfaces.mcp.servers import talk
from surfaces.rest.serving import rest_app, served
from surfaces.serving.asking import send
from wellkept import MemoryStore, Policy
from wellkept.cli.app import app
from wellkept.client import Client
from wellkept.operations.registry import call, operation
from wellkept.server.mcp.server import create_server
from wellkept.server.rest import create_app

TOML = '[kinds.fact]\nrepeats = "fold"\nupdates = "mark"\n'
HEAD = "The invoices are sent by Marta."
WORDING = "Marta sends the invoices."
OLD, NEW = "The website is hosted on Heroku.", "Since July we host the website on Render."
QUESTION = "The website is hosted on Heroku?"

Ask = Callable[..., Any]


@pytest.fixture
def where(tmp_path: Path) -> Place:
    return place(tmp_path / "store.db")


@pytest.fixture
def store(where: Place) -> Iterator[MemoryStore]:
    with wellkept.open(str(where), policy=Policy.from_toml(TOML)) as opened:
        for text in (HEAD, WORDING, OLD, NEW):
            opened.remember(text, kind="fact")
        yield opened


@pytest.fixture
def ids(store: MemoryStore) -> dict[str, str]:
    return {row.content: row.id for row in store.list()}


@pytest.fixture(params=["table", "rest", "mcp"])
def ask(request: pytest.FixtureRequest, store: MemoryStore) -> Ask:
    """An operation by its name, over a surface; the answer as JSON."""
    http = TestClient(create_app(store), base_url="http://127.0.0.1")
    server = create_server(store, toolset="full")

    def answer(name: str, **given: Any) -> Any:
        match request.param:
            case "table":
                return call(store, name, given).model_dump(mode="json")
            case "rest":
                return send(http, operation(name), given).json()
            case _:
                return talk(server, "auto", lambda client: client.call_tool(name, given)).structured_content

    return answer


@pytest.fixture
def wk(where: Place, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, store: MemoryStore) -> Callable[..., str]:
    """Runs the command line on the same store; returns its output of both streams."""
    monkeypatch.setenv("COLUMNS", "200")
    (tmp_path / "policy.toml").write_text(TOML)
    options = ["--db", str(where), "--policy", str(tmp_path / "policy.toml")]

    def run(*arguments: str) -> str:
        return CliRunner().invoke(app, [*options, *arguments]).output

    return run


# -- the library -----------------------------------------------------------------------------


def test_a_hit_that_was_moved_says_before_which_and_why(store, ids):
    hits = store.recall(QUESTION)
    assert [hit.memory.content for hit in hits[:2]] == [NEW, OLD]
    assert hits[0].score < hits[1].score
    [mark] = store.conflicts()
    assert hits[0].moved == wellkept.types.Move(ids[OLD], "outdates", mark.probability)
    assert hits[1].moved is None
    semantic = store.recall(QUESTION, mode="semantic")
    assert [(hit.memory.content, hit.moved) for hit in semantic] == [(OLD, None), (NEW, None)]


def test_a_pack_prints_the_older_text_beneath_the_newer_and_no_line_of_its_own(store, ids):
    pack = store.pack("where is the website hosted")
    lines = pack.text.splitlines()
    at = lines.index(f"    {NEW}")
    assert lines[at + 1].startswith("before: ") and f"id={ids[OLD]} probability=0." in lines[at + 1]
    assert lines[at + 2] == f"    {OLD}"
    assert pack.text.count(OLD) == 1 and ids[OLD] in pack.ids
    store.resolve(store.conflicts()[0].key, "keep_both")
    assert "before: " not in store.pack("where is the website hosted").text


def test_a_memory_linked_by_hand_as_a_restatement_is_not_erased_with_the_other(store, ids):
    store.link(ids[NEW], ids[HEAD], "restates")
    store.erase(ids[HEAD])
    assert sorted(row.content for row in store.list()) == sorted([OLD, NEW])


# -- servers ---------------------------------------------------------------------------------


def test_every_surface_says_the_wording_the_mark_and_the_move(ask, ids):
    hits = ask("recall", query=QUESTION)["hits"]
    assert hits[0]["moved"]["over"] == ids[OLD] and hits[0]["moved"]["why"] == "outdates"
    assert hits[0]["moved"]["probability"] > 0.5
    [mark] = hits[1]["conflicts"]
    assert (mark["kind"], mark["a"], mark["b"]) == ("outdated", ids[OLD], ids[NEW])
    assert mark["probability"] == hits[0]["moved"]["probability"]
    best = ask("recall", query=WORDING)["hits"][0]
    assert (best["memory"]["content"], best["wording"]["content"]) == (HEAD, WORDING)


def test_every_surface_says_in_a_list_what_is_outdated_and_how_many_wordings_there_are(ask, ids):
    told = ask("list")
    assert [row["content"] for row in told["memories"]] == [HEAD, OLD, NEW]
    assert [(mark["a"], mark["b"]) for mark in told["marks"]] == [(ids[OLD], ids[NEW])]
    assert told["wordings"] == {ids[HEAD]: 1}
    behind = ask("neighbors", memory_id=ids[HEAD], rel="restates", direction="in")["neighbors"]
    assert [row["memory"]["content"] for row in behind] == [WORDING]


def test_every_surface_packs_the_same_text(ask, store):
    told = ask("pack", query="where is the website hosted")
    assert told["text"] == store.pack("where is the website hosted").text
    assert [hit["memory"]["content"] for group in told["groups"] for hit in group.get("before", ())] == [OLD]


def test_a_client_over_http_has_the_values_of_the_library(store):
    with served(rest_app(store)) as address, Client(address) as client:
        for query in (QUESTION, WORDING):
            assert [(hit.moved, hit.wording) for hit in client.recall(query)] == [
                (hit.moved, hit.wording) for hit in store.recall(query)
            ]
        assert client.list() == store.list()
        packs = [one.pack("where is the website hosted") for one in (client, store)]
        assert packs[0].ids == packs[1].ids and packs[0].text == packs[1].text


def test_a_model_reads_the_mark_the_wordings_and_what_an_erasure_takes_along(store, ids):
    server = create_server(store, toolset="full")

    def said(name: str, **given: Any) -> str:
        return talk(server, "auto", lambda client: client.call_tool(name, given)).content[0].text

    newer, older = said("recall", query=QUESTION).splitlines()[:2]
    assert f"(outdates [{ids[OLD][-8:]}] (0." in newer and f"(outdated by [{ids[NEW][-8:]}] (0." in older
    assert f"(in other words: {WORDING})" in said("recall", query=WORDING)
    listed = said("list").splitlines()
    assert listed[0].endswith(f"{HEAD} (1 wording)") and "(outdated by " in listed[1] and listed[2].endswith(NEW)
    preview = json.loads(said("erase", memory_id=ids[HEAD]))
    assert HEAD in preview["would_lose"] and WORDING in preview["would_lose"]


# -- the command line ------------------------------------------------------------------------


def test_the_table_of_hits_says_the_move_the_mark_and_the_wording(wk, ids):
    older, newer = ids[OLD][-8:], ids[NEW][-8:]
    rows = wk("recall", QUESTION).splitlines()[2:4]
    assert NEW in rows[0] and f"put before {older}, which it outdates (0." in rows[0]
    assert OLD in rows[1] and f"outdated by {newer} (0." in rows[1]
    assert f"wording: {WORDING}" in wk("recall", WORDING)


def test_lists_say_what_is_outdated_and_how_many_wordings_a_head_has(wk, ids):
    head, old, new = wk("list").splitlines()[2:]
    assert "1 wording" in head and f"outdated by {ids[NEW][-8:]} (0." in old and "outdate" not in new
    assert f"{ids[NEW]} (0." in wk("get", ids[OLD]) and "outdates" in wk("get", ids[NEW])
    assert WORDING in wk("get", ids[HEAD])


def test_erasing_shows_the_wordings_first(wk, ids, store):
    assert f"Its wording goes with it: '{WORDING}'" in wk("erase", ids[HEAD])
    assert store.get(ids[HEAD]).content == HEAD
    assert WORDING in wk("erase", ids[HEAD], "--yes")
    assert store.get(ids[HEAD]).status == "erased"
