"""Two tokens, two namespaces, one server: neither sees, compares with or learns of the other (I8, issue 6)."""

from __future__ import annotations

import random
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest
from starlette.testclient import TestClient

import wellkept
from raising import raise_question
from stores import fold, place
from surfaces.serving.asking import ABSENT, Known, asked, learn, send
from surfaces.serving.running import serving, token, tokens_of
from wellkept.operations.registry import OPERATIONS, Operation
from wellkept.server.access.headers import NAMESPACE
from wellkept.server.mcp.authorised_store import StoreAccess
from wellkept.server.serving.assembly import assembled
from wellkept.types import ALL_STATUSES, Filter

ROUTED = [row for row in OPERATIONS if row.route is not None]
OURS, THEIRS, NOBODYS = "acme/a", "birch/b", "birch/no such thing"
REFUSED = 403
CLEANING = ("plan", "execute", "undo_run")


@dataclass
class Two:
    """A server with two tokens.

    Attributes:
        http: A client without a token; requests bring one.
        ours / theirs: The header of each token.
        reader: That of a token that may only read in our namespace.
        we / they: What each knows of its namespace.
        store: The store behind it.
    """

    http: TestClient
    ours: str
    theirs: str
    reader: str
    we: Known
    they: Known
    store: wellkept.MemoryStore


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Two]:
    db = place(tmp_path_factory.mktemp("two") / "a.db")
    secrets = [token(db, "acme/*", "admin"), token(db, "birch/*", "admin"), token(db, OURS, "read", name="reader")]
    opened = wellkept.open(str(db), embedder="hashing", relation_model="none")
    with opened as store, tokens_of(db) as tokens:
        app = assembled(store, tokens=tokens, toolset="full", rate=None).app
        with TestClient(app, base_url="http://localhost") as http:
            ours, theirs, reader = (f"Bearer {secret}" for secret in secrets)
            found = Two(http, ours, theirs, reader, Known("amber"), Known("bronze"), store)
            for header, namespace, known in ((ours, OURS, found.we), (theirs, THEIRS, found.they)):
                furnish(http, header, namespace, known)
                there = store.in_namespace(namespace)
                active = [row.id for row in there.list()]
                for at in (0, 2):
                    raise_question(there, *active[at : at + 2])
                known.questions = [one.id for one in there.questions(limit=None)]
            yield found


def furnish(http: httpx2.Client, header: str, namespace: str, known: Known) -> None:
    """A namespace with memories, a conflict, a plan and a run."""
    rng = random.Random(1)
    for name in ("remember",) * 12 + ("conflicts", "plan", "journal", "start_episode"):
        row = named(name)
        answer = send(http, row, asked(row, rng, known), Authorization=header, Wellkept_Namespace=namespace)
        assert answer.status_code in (200, 201), answer.text
        learn(known, row, answer.json())
    row, fields = named("queue_remember"), {"content": known.text(rng), "kind": "thesis"}
    learn(known, row, send(http, row, fields, Authorization=header, Wellkept_Namespace=namespace).json())
    row = named("execute")
    learn(known, row, send(http, row, {"plan": known.plan}, Authorization=header, Wellkept_Namespace=namespace).json())
    conflicts = send(http, named("conflicts"), {}, Authorization=header, Wellkept_Namespace=namespace).json()
    learn(known, named("conflicts"), conflicts)
    assert known.ids
    assert known.keys
    assert known.plan
    assert known.episodes
    assert known.queued


def named(name: str) -> Operation:
    return next(row for row in OPERATIONS if row.name == name)


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_a_namespace_outside_of_the_grant_is_refused_alike_whether_it_holds_anything(two: Two, row: Operation) -> None:
    """A request that names it is 403; the text names nothing, and is the same where nothing was ever stored."""
    rng = random.Random(2)
    before = two.store.in_namespace(THEIRS).journal()
    fields = asked(row, rng, two.they)
    answers = [
        send(two.http, row, fields, Authorization=two.ours, Wellkept_Namespace=namespace)
        for namespace in (THEIRS, NOBODYS, "acme", "acme2", "acme2/a", "default")
    ]
    assert [answer.status_code for answer in answers] == [REFUSED] * len(answers)
    assert len({answer.content for answer in answers}) == 1
    said = answers[0].text.casefold()
    assert not any(word in said for word in ("birch", "bronze", "acme", "default", *two.they.ids))
    assert two.store.in_namespace(THEIRS).journal() == before
    assert NOBODYS not in two.store.namespaces()


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_a_request_that_cannot_be_read_is_refused_before_it_is_read(two: Two, row: Operation) -> None:
    """Error messages reveal nothing about a namespace without access."""
    fields: dict[str, Any] = {**asked(row, random.Random(3), two.they), "no_such_field": 1}
    answer = send(two.http, row, fields, Authorization=two.ours, Wellkept_Namespace=THEIRS)
    assert answer.status_code == REFUSED


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_what_belongs_to_another_namespace_is_as_absent_as_what_is_not_there(two: Two, row: Operation) -> None:
    """Within a grant, ids, keys and runs of another namespace give the same answer as unknown ones."""
    pairs = list(references(row, two))
    for theirs, absent, swaps in pairs:
        told = [
            send(two.http, row, fields, Authorization=two.ours, Wellkept_Namespace="acme/empty")
            for fields in (theirs, absent)
        ]
        assert told[0].status_code == told[1].status_code, row.name
        texts = [answer.text for answer in told]
        for one, other in swaps.items():
            texts[0] = texts[0].replace(one, other)
        if row.effect == "read" and told[0].status_code == 200:
            assert "bronze" not in texts[0]
        if told[0].status_code >= 400:
            assert texts[0] == texts[1]
    assert bool(pairs) == (row.name in REFERRING)


WITH_TEXT = {
    "remember", "remember_many", "revise", "check", "pack", "record_decision", "record_turn", "start_episode",
    "queue_remember",
}  # fmt: skip
"""Operations whose requests hold a text: the answer speaks of its words, whoever's they are."""

REFERRING = {
    "revise", "get", "history", "conflicts", "neighbors", "subgraph", "supersede", "forget", "restore",
    "split", "resolve", "answer", "link", "unlink", "erase", "undo_run", "pack", "end_episode", "record_turn",
    "queue_drop",
}  # fmt: skip
"""Operations that name something stored; a plan names its own namespace, see below."""


def references(row: Operation, two: Two) -> Iterator[tuple[dict[str, Any], dict[str, Any], dict[str, str]]]:
    """Requests with existing foreign ids and with unknown ids, and how their answers are compared."""
    mine, other = two.they.ids[0], two.they.ids[1]
    ids = {mine: ABSENT, other: ABSENT[:-1] + "e"}
    fields: list[dict[str, Any]] = []
    match row.name:
        case "revise":
            fields = [{"memory_id": mine, "content": "Changed."}]
        case "get" | "history" | "neighbors" | "forget" | "restore" | "split" | "erase" | "conflicts":
            fields = [{"memory_id": mine}, {"memory_id": mine[:13]}]
            ids[mine[:13]] = ABSENT[:13]
        case "subgraph":
            fields = [{"ids": [mine, other]}]
        case "supersede":
            fields = [{"old_id": mine, "new_id": other}]
        case "link":
            fields = [{"src": mine, "dst": other, "strict": True}]
        case "unlink":
            fields = [{"src": mine, "dst": other}]
        case "pack":
            fields = [{"query": "bronze", "exclude": [mine]}]
        case "resolve":
            ids = {two.they.keys[0]: ABSENT}
            fields = [{"key": two.they.keys[0], "resolution": "dismissed"}]
        case "answer":
            ids = {two.they.questions[0]: "q999999"}
            fields = [{"question": two.they.questions[0], "text": "replaces 1"}]
        case "end_episode" | "record_turn" | "queue_drop" | "undo_run":
            name, known, more = {
                "end_episode": ("episode_id", two.they.episodes, {}),
                "record_turn": ("episode", two.they.episodes, {"response": "Keep it.", "frame": "task"}),
                "queue_drop": ("queued_id", two.they.queued, {}),
                "undo_run": ("run_id", two.they.runs or [ABSENT], {}),
            }[row.name]
            ids = {known[0]: ABSENT}
            fields = [{name: known[0], **more}]
        case _:
            return
    for given in fields:
        absent = {
            name: [ids.get(one, one) for one in value] if isinstance(value, list) else ids.get(value, value)
            for name, value in given.items()
        }
        yield given, absent, ids


def test_a_plan_of_another_namespace_is_refused_and_changes_nothing(two: Two) -> None:
    before = two.store.in_namespace(THEIRS).journal(), two.store.in_namespace(OURS).journal()
    answer = send(two.http, named("execute"), {"plan": two.they.plan}, Authorization=two.ours, Wellkept_Namespace=OURS)
    assert answer.status_code == 409
    assert "bronze" not in answer.text
    assert (two.store.in_namespace(THEIRS).journal(), two.store.in_namespace(OURS).journal()) == before


@pytest.mark.parametrize("row", ROUTED, ids=lambda row: row.name)
def test_a_scope_that_does_not_reach_is_refused(two: Two, row: Operation) -> None:
    """A token that may read does what reads and nothing else."""
    before = two.store.in_namespace(OURS).journal()
    answer = send(
        two.http, row, asked(row, random.Random(4), two.we), Authorization=two.reader, Wellkept_Namespace=OURS
    )
    assert (answer.status_code == REFUSED) == (row.scope != "read")
    assert two.store.in_namespace(OURS).journal() == before


def test_questions_are_listed_and_answered_with_the_scope_for_it_and_in_their_own_namespace(two: Two) -> None:
    """Reading lists them, writing answers them; another namespace neither sees nor answers them."""
    there = two.store.in_namespace(OURS)
    before, question = there.journal(), two.we.questions[0]
    listed = send(two.http, named("questions"), {}, Authorization=two.reader)
    assert {one["id"] for one in listed.json()["questions"]} == set(two.we.questions)
    fields = {"question": question, "text": "new"}
    assert send(two.http, named("answer"), fields, Authorization=two.reader).status_code == REFUSED
    elsewhere = [
        send(two.http, named(name), {}, Authorization=two.theirs, Wellkept_Namespace=THEIRS)
        for name in ("questions", "asking")
    ]
    assert {one["id"] for one in elsewhere[0].json()["questions"]} == set(two.they.questions)
    assert "amber" not in elsewhere[0].text
    assert there.journal() == before
    done = send(two.http, named("answer"), fields, Authorization=two.ours, Wellkept_Namespace=OURS)
    assert done.status_code == 200
    assert [entry.verb for entry in there.journal(after=before[-1].seq)] == ["answer"]
    assert len(two.store.in_namespace(THEIRS).questions()) == len(two.they.questions)


@pytest.mark.parametrize("header", ["", "Bearer ", "Bearer wk_nothing", "Basic d2s6d2s=", "wk_nothing"])
@pytest.mark.parametrize(
    "path", ["/v1/recall", "/v1/nodes/check-similar", "/mcp", "/mcp/", "/metrics", "/v1/no such path"]
)
def test_without_a_valid_token_nothing_is_said_but_that(two: Two, header: str, path: str) -> None:
    answer = two.http.post(path, json={"query": "amber"}, headers={"Authorization": header} if header else {})
    assert answer.status_code == 401
    assert answer.headers["www-authenticate"].startswith("Bearer")


def test_figures_of_the_whole_store_need_a_token_for_the_whole_store(two: Two) -> None:
    answer = two.http.get("/metrics", headers={"Authorization": two.ours})
    assert answer.status_code == REFUSED


def test_a_token_of_one_namespace_need_not_name_it(two: Two) -> None:
    row = named("stats")
    assert send(two.http, row, {}, Authorization=two.reader).json()["namespace"] == OURS
    assert send(two.http, row, {}, Authorization=two.ours).status_code == REFUSED  # which one is meant, nobody can tell


@pytest.mark.file
def test_damage_in_one_namespace_is_told_to_nobody_in_another(tmp_path: Path) -> None:
    """I8: `verify` checks the whole file, and its findings name namespaces and ids."""
    db = tmp_path / "a.db"
    ours, all_of_it = token(db, "acme/*", "admin"), token(db, "*", "admin", name="operator")
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace=THEIRS) as store:
        theirs = store.remember("The bronze cups are upstairs.").memory
        assert theirs is not None
    with closing(sqlite3.connect(db)) as file, file:
        file.execute("UPDATE vector SET vec = zeroblob(length(vec))")
        file.execute("DELETE FROM memory")
    opened = wellkept.open(str(db), embedder="hashing", relation_model="none", namespace=OURS)
    with opened as store, tokens_of(db) as tokens:
        http = TestClient(assembled(store, tokens=tokens).app, base_url="http://localhost")
        told = [
            send(http, named("verify"), {}, Authorization=f"Bearer {secret}", Wellkept_Namespace=OURS)
            for secret in (ours, all_of_it)
        ]
        grants = [tokens.grant_of(secret) for secret in (ours, all_of_it)]
        over_mcp = [
            StoreAccess(opened=lambda: store, grant=lambda grant=grant: grant)
            .store({NAMESPACE: OURS}, "admin")
            .verify()
            for grant in grants
        ]
    assert told[0].json() == {"problems": []}
    assert over_mcp[0] == ()
    for seen in (told[1].text, str(over_mcp[1])):  # who may see all of it is told
        assert THEIRS in seen
        assert theirs.id in seen


def wordings(db: Path | str, namespace: str, word: str) -> list[str]:
    """A memory of the namespace with some wordings behind it; their ids."""
    with wellkept.open(str(db), embedder="hashing", relation_model="none", namespace=namespace, actor=word) as store:
        head = store.remember(f"The {word} office has tea at four.", kind="thesis").id
        said = [store.remember(f"At four the {word} office has tea, {n}.", kind="thesis").id for n in range(6)]
        for one in said:
            fold(store, one, head)
    return said


@pytest.mark.parametrize("count", [200, pytest.param(1000, marks=pytest.mark.soak)])
def test_random_operations_of_two_tokens_never_cross(tmp_path: Path, count: int) -> None:
    """Issue 6: over HTTP, with the ids, keys and runs of the other thrown in."""
    db = place(tmp_path / "a.db")
    secrets = token(db, "acme/*", "admin", name="amber"), token(db, "birch/*", "admin", name="bronze")
    rng = random.Random(7)
    known = Known("amber"), Known("bronze")
    answered: dict[str, int] = {}
    for one, namespace in zip(known, (OURS, THEIRS), strict=True):
        one.wordings = wordings(db, namespace, one.word)
    with serving(db, "--rate", "0") as server:
        clients = server.client(secrets[0], OURS), server.client(secrets[1], THEIRS)
        with clients[0], clients[1]:
            # At the end one of them executes a plan of its own and takes it back; by chance hardly anybody does.
            for step in range(count + len(CLEANING)):
                last = CLEANING[step - count] if step >= count else ""
                who = 0 if last else rng.randrange(2)
                row = named(last or "remember") if last or step % 2 else ROUTED[step // 2 % len(ROUTED)]
                # Each now and then asks with what belongs to the other: stolen ids, keys, plans and runs.
                theft = not last and rng.random() < 0.3 and row.name not in WITH_TEXT
                if last == "plan":
                    known[who].runs.clear()
                fields = asked(row, rng, known[1 - who] if theft else known[who])
                if theft and row.name == "link":
                    fields["strict"] = True  # otherwise a link may lead to any text at all, and show it again
                answer = send(clients[who], row, fields)
                assert answer.status_code < 500, (row.name, fields, answer.text)
                if answer.status_code < 300:
                    answered[row.name] = answered.get(row.name, 0) + 1
                    if not theft:
                        learn(known[who], row, answer.json())
                told = answer.text
                for given in strings(fields):
                    told = told.replace(given, "")
                assert known[1 - who].word not in told, (row.name, fields)
                assert not any(one in told for one in known[1 - who].ids), (row.name, fields)
    # The short run may find nothing to undo or to settle; the long one does everything.
    unanswered = {row.name for row in ROUTED} - set(answered)
    assert len(unanswered) <= (0 if count >= 1000 else len(ROUTED) - 20), unanswered
    with wellkept.open(str(db), embedder="hashing", relation_model="none") as store:
        assert store.namespaces() == tuple(sorted((OURS, THEIRS)))
        for namespace, mine, other in ((OURS, "amber", "bronze"), (THEIRS, "bronze", "amber")):
            there = store.in_namespace(namespace)
            assert there.verify() == ()
            assert {entry.actor for entry in there.journal()} == {mine}
            rows = there.list(Filter(statuses=ALL_STATUSES))
            assert rows
            assert not any(other in row.content for row in rows)
            ids = {row.id for row in rows}
            for conflict in there.conflicts(settled=True):
                assert {conflict.a, conflict.b} <= ids


def strings(value: Any) -> Iterator[str]:
    """All texts in a value, longest first."""
    match value:
        case str():
            yield value
        case dict():
            for item in value.values():
                yield from strings(item)
        case list():
            for item in value:
                yield from strings(item)
        case _:
            pass
