"""The endpoint of source 000 and its node routes, over HTTP against a running server (S0-14 to S0-27, S0-53 to S0-57).

Cosines are injected where a case names one; what a match is, then depends on nothing but the bounds.

The relation model of these tests leaves every pair to rules and similarity (`FakeRelationModel.defers`), which the
packaged one never does: bounds can so be tried to the fourth decimal. The twins with the packaged models stand in
`scenarios/test_shipped_bands.py` and `scenarios/test_example_sentences.py`.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx2
import pytest

from letter import to_the_letter
from stores import Desk, desk
from surfaces.rest.serving import rest_app, served
from wellkept.client import Client
from wellkept.errors import Corrupt, ModelUnavailable
from wellkept.storage.memory import DictStorage
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.faults import FaultyStorage
from wellkept.types import Filter, NewMemory

LESSON = "custom:lesson"
TITLE, BODY = "Avoid trading during low-volume weekends", "Never trade during low-volume weekends"
OTHER_TITLE, OTHER = TITLE, "Avoid trading on weekends when volume is low"
REQUIRED = {"error": "content, title, and subtype are required"}
UNIQUE = {"matches": [], "recommendation": "unique"}


@dataclass
class Host:
    """A running server, its store, and a client of the host's own kind."""

    table: Desk
    url: str
    http: httpx2.Client

    def check(self, content: Any = OTHER, title: Any = OTHER_TITLE, subtype: Any = LESSON, **more: Any) -> Any:
        return self.http.post(
            "/v1/nodes/check-similar", json=dict(content=content, title=title, subtype=subtype, **more)
        )

    def create(self, body: str = BODY, title: str = TITLE, subtype: str = LESSON, **more: Any) -> httpx2.Response:
        given = {"type": "concept", "subtype": subtype, "content_title": title, "content_body": body, **more}
        return self.http.post("/v1/nodes", json=given)

    def near(self, cosine: float, *, kind: str = "lesson") -> None:
        """Declares how near `OTHER` is to `BODY`."""
        old = NewMemory(content=BODY, title=TITLE, kind=kind)
        self.table.near(old, NewMemory(content=OTHER, title=OTHER_TITLE, kind=kind), cosine)

    def count(self) -> int:
        return len(self.http.get("/v1/nodes").json()["data"])


@pytest.fixture
def open_host(tmp_path: Path) -> Iterator[Callable[..., Host]]:
    """Starts servers, and stops them with their stores."""
    with ExitStack() as stack:

        def start(backend: Any = "sqlite", **options: Any) -> Host:
            table = desk(backend, tmp_path, **options)
            stack.callback(table.store.close)
            url = stack.enter_context(served(rest_app(table.store)))
            return Host(table, url, stack.enter_context(httpx2.Client(base_url=url, timeout=30)))

        yield start


@pytest.fixture
def host(open_host: Callable[..., Host]) -> Host:
    return open_host()


# --------------------------------------------------------------------------------------------
# The twelve cases of S0-54


def test_1_a_near_duplicate_is_found(host: Host) -> None:
    """S0-54 case 1, S0-14, S0-22, S0-24, S0-26: the first example body, to the digit."""
    host.near(0.9712)
    made = host.create()
    assert made.status_code == 201
    answer = host.check()
    assert answer.status_code == 200
    assert answer.json() == {
        "matches": [
            {
                "node_id": made.json()["id"],
                "title": TITLE,
                "similarity": 0.9712,
                "action": "duplicate",
                "lifecycle": "ACTIVE",
            }
        ],
        "recommendation": "duplicate_found",
    }


def test_2_an_exact_duplicate_is_found(host: Host) -> None:
    """S0-54 case 2."""
    made = host.create().json()["id"]
    found = host.check(BODY, TITLE).json()
    assert found["recommendation"] == "duplicate_found"
    assert [(one["node_id"], one["similarity"], one["action"]) for one in found["matches"]] == [
        (made, 1.0, "duplicate")
    ]


def test_3_what_is_unrelated_is_unique(host: Host) -> None:
    """S0-54 case 3, S0-20, S0-26: also in an empty store."""
    assert host.check().json() == UNIQUE
    host.create()
    assert host.check("Rotate the signing keys every quarter", "Keys").json() == UNIQUE


@pytest.mark.parametrize("other", ["custom:curiosity", "custom:thesis", "custom:nobody-knows"])
def test_4_another_subtype_is_never_compared(host: Host, other: str) -> None:
    """S0-54 case 4, S0-19, S0-52."""
    host.create()
    assert host.check(BODY, TITLE, other).json() == UNIQUE
    assert host.check(BODY, TITLE).json()["recommendation"] == "duplicate_found"


def test_4_to_the_letter_another_subtype_of_the_family_is_not_compared_either(open_host: Callable[..., Host]) -> None:
    """S0-52."""
    host = open_host(policy=to_the_letter())
    host.create()
    assert host.check(BODY, TITLE, "custom:semantic").json() == UNIQUE


def test_the_same_words_in_another_subtype_of_the_family_are_found_because_a_write_would_add_no_row(host: Host) -> None:
    """Design, amendments: what a check says is what the store does."""
    host.create()
    assert host.check(BODY, TITLE, "custom:semantic").json()["recommendation"] == "duplicate_found"
    assert host.table.store.remember(BODY, title=TITLE, kind="semantic").outcome == "restated"


@pytest.mark.parametrize(
    "body",
    [
        {"title": TITLE, "subtype": LESSON},
        {"content": BODY, "subtype": LESSON},
        {"content": BODY, "title": TITLE},
        {"content": "", "title": TITLE, "subtype": LESSON},
        {"content": BODY, "title": "", "subtype": LESSON},
        {"content": BODY, "title": TITLE, "subtype": ""},
        {"content": None, "title": TITLE, "subtype": LESSON},
        {"limit": 5},
        {},
        [],
    ],
)
def test_5_a_missing_or_empty_field_is_a_400_with_the_words_of_the_source(host: Host, body: Any) -> None:
    """S0-54 case 5, S0-15, S0-16."""
    answer = host.http.post("/v1/nodes/check-similar", json=body)
    assert (answer.status_code, answer.json()) == (400, REQUIRED)


def test_6_what_is_near_at_0_925_is_to_be_connected(host: Host) -> None:
    """S0-54 case 6, S0-22, S0-24."""
    host.near(0.925)
    host.create()
    found = host.check().json()
    assert found["recommendation"] == "similar_found"
    assert [(one["similarity"], one["action"]) for one in found["matches"]] == [(0.925, "connect")]


@pytest.mark.parametrize(
    ("cosine", "recommendation", "actions"),
    [(0.97, "duplicate_found", ["duplicate"]), (0.925, "similar_found", ["connect"]), (0.5, "unique", [])],
)
def test_7_the_client_gives_the_right_structure(
    host: Host, cosine: float, recommendation: str, actions: list[str]
) -> None:
    """S0-54 case 7 (three times), S0-27, S0-30."""
    host.near(cosine)
    host.create()
    with Client(host.url) as client:
        found = client.check_similar(OTHER, OTHER_TITLE, LESSON)
    assert set(found) == {"matches", "recommendation"}
    assert found["recommendation"] == recommendation
    assert [one["action"] for one in found["matches"]] == actions
    assert all(set(one) == {"node_id", "title", "similarity", "action", "lifecycle"} for one in found["matches"])


def test_8_a_duplicate_is_blocked_and_no_row_is_added(open_host: Callable[..., Host]) -> None:
    """S0-54 case 8, S0-29, S0-31, S0-32, to the letter of the source."""
    host = open_host(policy=to_the_letter())
    host.near(0.9712)
    first = host.create().json()
    again = host.create(OTHER, OTHER_TITLE)
    assert (again.status_code, again.json()["id"], again.json()["outcome"]) == (200, first["id"], "duplicate")
    assert again.json()["message"] == (
        f'Duplicate: already stored as "{TITLE}" ({first["id"]}). Not created. (97% similar)'
    )
    assert host.count() == 1


def test_8_by_default_the_duplicate_is_kept_as_a_wording_and_no_row_is_listed(host: Host) -> None:
    """I1: the text of S0-54 case 8 is not dropped."""
    host.near(0.9712)
    first = host.create().json()
    again = host.create(OTHER, OTHER_TITLE)
    assert (again.status_code, again.json()["id"], again.json()["outcome"]) == (200, first["id"], "restated")
    assert again.json()["message"] == f'Known: kept as another wording of "{TITLE}" ({first["id"]}).'
    assert host.count() == 1
    [wording] = host.table.store.list(Filter(statuses=("wording",)))
    assert (wording.content, wording.superseded_by) == (OTHER, first["id"])


def test_9_what_is_unique_is_created_without_edges(host: Host) -> None:
    """S0-54 case 9, S0-39."""
    host.create()
    made = host.create("Rotate the signing keys every quarter", "Keys")
    assert (made.status_code, made.json()["edges"]) == (201, [])
    assert host.table.store.neighbors(made.json()["id"]) == ()
    assert host.count() == 2


def test_10_what_is_to_be_connected_gets_exactly_one_edge(host: Host) -> None:
    """S0-54 case 10, S0-36, S0-38: naming the row in the text as well makes no second edge."""
    host.near(0.925)
    old = host.create().json()["id"]
    made = host.create(OTHER, OTHER_TITLE)
    new = made.json()["id"]
    assert made.json()["edges"] == [{"source_id": new, "target_id": old, "type": "relates_to"}]
    host.table.store.link(new, old, "relates_to")  # the host draws it once more
    assert [(item.memory.id, item.rel) for item in host.table.store.neighbors(new)] == [(old, "related")]
    assert host.table.store.stats().links == 1


def test_11_the_duplicate_of_a_duplicate_is_blocked(host: Host) -> None:
    """S0-54 case 11."""
    host.near(0.9712)
    first = host.create().json()["id"]
    answers = [host.create(OTHER, OTHER_TITLE), host.create(OTHER, OTHER_TITLE), host.create()]
    assert [(one.status_code, one.json()["id"]) for one in answers] == [(200, first)] * 3
    assert host.count() == 1


def test_12_when_the_check_fails_the_row_is_created_with_a_warning(
    host: Host, caplog: pytest.LogCaptureFixture
) -> None:
    """S0-54 case 12, S0-17, S0-40."""
    host.near(0.9712)
    host.create()
    host.table.fake.fail_with = ModelUnavailable("no credentials", where="models.example")
    answer = host.check()
    assert (answer.status_code, answer.json()) == (500, {"error": "embedding generation failed: no credentials"})
    with caplog.at_level(logging.WARNING, logger="wellkept"):
        made = host.create(OTHER, OTHER_TITLE)
    assert (made.status_code, made.json()["edges"], made.json()["embedding_model"]) == (201, [], None)
    assert any(line.startswith("Dedup check failed, creating normally: ") for line in caplog.messages)
    assert host.count() == 2


# --------------------------------------------------------------------------------------------
# The rest of the endpoint


def test_the_endpoint_is_not_taken_for_a_node_of_that_name(host: Host) -> None:
    """S0-14."""
    assert host.check().json() == UNIQUE
    for method in ("GET", "PATCH", "DELETE"):
        answer = host.http.request(method, "/v1/nodes/check-similar", json={})
        assert (answer.status_code, answer.headers["allow"]) == (405, "POST")
    assert host.http.get("/v1/nodes/check-similar-to-nothing").json() == {"error": "node not found"}


@pytest.mark.parametrize(
    ("limit", "shown", "recommendation"),
    [({}, 5, "duplicate_found"), ({"limit": 2}, 2, "duplicate_found"), ({"limit": 0}, 0, "duplicate_found"),
     ({"limit": 7}, 7, "duplicate_found")],
)  # fmt: skip
def test_matches_are_sorted_and_then_cut_to_the_limit(
    open_host: Callable[..., Host], limit: dict[str, int], shown: int, recommendation: str
) -> None:
    """S0-15, S0-19, S0-23, S0-51, B-15: the nearest is found however many are newer."""
    fake = FakeEmbedder(dim=128)
    host = open_host(fake=fake)
    texts = [
        "avoid weekend trading at low volume",
        "trading on weekends at low volume: avoid it",
        "when volume is low on weekends avoid trading",
        "avoid to trade when weekend volume is low",
        "low volume on weekends: avoid trading then",
        "on weekends avoid trading at low volume",
        "avoid trading while weekend volume is low",
    ]
    from stores import embedded

    asked = NewMemory(content=OTHER, title=OTHER_TITLE, kind="lesson")
    # Seven texts in a bundle around the asked one; among themselves they are just far enough apart.
    cosines = [0.99, 0.92, 0.93, 0.94, 0.95, 0.96, 0.97]
    for at, text in enumerate(texts):
        old = NewMemory(content=text, title=TITLE, kind="lesson")
        fake.relate(embedded(old), embedded(asked), cosines[at])
        for before in range(at):
            other = NewMemory(content=texts[before], title=TITLE, kind="lesson")
            fake.relate(embedded(old), embedded(other), round(cosines[at] * cosines[before], 6))
    for text in texts:
        host.table.store.remember(text, kind="lesson", title=TITLE, on_conflict="ignore")
    for number in range(20):
        host.create(f"filler {number}", f"filler {number}")
    found = host.check(**limit).json()
    assert [one["similarity"] for one in found["matches"]] == [0.99, 0.97, 0.96, 0.95, 0.94, 0.93, 0.92][:shown]
    assert found["recommendation"] == recommendation


@pytest.mark.parametrize(
    ("cosine", "action"),
    [(0.9500, "duplicate"), (0.9499, "connect"), (0.9000, "connect"), (0.8999, None)],
)
def test_the_tiers_have_inclusive_lower_bounds_by_injected_similarity(
    host: Host, cosine: float, action: str | None
) -> None:
    """S0-10, S0-22."""
    host.near(cosine)
    host.create()
    assert [one["action"] for one in host.check().json()["matches"]] == ([action] if action else [])


@pytest.mark.parametrize("kind", ["thesis", "signal", "decision", "semantic", "knowledge", "fact", "lesson"])
def test_every_subtype_can_be_asked_about_and_the_answer_is_what_a_write_does(host: Host, kind: str) -> None:
    """S0-19: near nodes are shown of every subtype; only where a write adds no row is it a duplicate."""
    host.near(0.96, kind=kind)
    made = host.create(subtype=f"custom:{kind}").json()
    found = host.check(subtype=f"custom:{kind}").json()
    assert host.check(subtype=kind).json() == found
    assert [one["node_id"] for one in found["matches"]] == [made["id"]]
    stored = host.create(OTHER, OTHER_TITLE, subtype=f"custom:{kind}")
    assert (found["recommendation"] == "duplicate_found") == (stored.status_code == 200)


def test_an_ongoing_episode_is_found_as_a_write_would_find_it(host: Host) -> None:
    """S3-13: the same words within half an hour are the same episode."""
    assert host.create(subtype="custom:episode").status_code == 201
    assert host.check(BODY, TITLE, "custom:episode").json()["recommendation"] == "duplicate_found"
    assert host.create(subtype="custom:episode").status_code == 200


def test_every_node_of_the_same_words_is_shown(host: Host) -> None:
    """S0-51."""
    for _ in range(3):
        host.table.store.remember(BODY, kind="lesson", title=TITLE, on_conflict="ignore")
    found = host.check(BODY, "Another title").json()
    assert [(one["similarity"], one["action"]) for one in found["matches"]] == [(1.0, "duplicate")] * 3


def test_a_difference_is_never_called_a_duplicate(host: Host) -> None:
    """I2, S0-50."""
    old, new = "The limit for retries is 3", "The limit for retries is 5"
    host.table.near(
        NewMemory(content=old, title="Limit", kind="lesson"), NewMemory(content=new, title="Limit", kind="lesson"), 0.99
    )
    host.create(old, "Limit")
    assert [one["action"] for one in host.check(new, "Limit").json()["matches"]] == ["connect"]


def test_a_faded_node_still_blocks_and_can_be_brought_back(host: Host) -> None:
    """S0-22, S0-25, S0-32, S0-35."""
    made = host.create().json()["id"]
    host.table.clock.advance(days=100)
    assert host.check(BODY, TITLE).json()["matches"][0]["lifecycle"] == "WEAK"
    host.table.clock.advance(days=300)
    assert host.check(BODY, TITLE).json()["matches"][0]["lifecycle"] == "DORMANT"
    assert "[DORMANT]. Use update_memory to reactivate" in host.create().json()["message"]
    back = host.http.patch(f"/v1/nodes/{made}", json={"state_lifecycle": "ACTIVE"})
    assert (back.status_code, back.json()["state_lifecycle"]) == (200, "ACTIVE")
    assert host.check(BODY, TITLE).json()["matches"][0]["lifecycle"] == "ACTIVE"


def test_a_node_without_a_title_is_untitled_or_named_after_its_text(host: Host) -> None:
    """S0-22: a match always has a title."""
    host.create(title="")
    title = host.check(BODY, TITLE).json()["matches"][0]["title"]
    assert isinstance(title, str) and title
    assert host.http.get("/v1/nodes").json()["data"][0]["content_title"] is None


def test_a_text_that_gets_no_vector_is_an_empty_result(host: Host) -> None:
    """S0-17."""
    from stores import embedded

    host.table.fake.unreadable.add(embedded(NewMemory(content=OTHER, title=OTHER_TITLE, kind="lesson")))
    answer = host.check()
    assert (answer.status_code, answer.json()) == (500, {"error": "embedding generation failed: empty result"})


def test_when_the_candidates_cannot_be_read_the_search_has_failed(open_host: Callable[..., Host]) -> None:
    """S0-18; the text names no file."""
    storage = FaultyStorage(DictStorage(), error=Corrupt("the file is damaged", where="/var/lib/agent.db"))
    host = open_host(storage)
    host.create()
    storage.fail_at(1)
    answer = host.check()
    storage.fail_at(0)
    assert (answer.status_code, answer.json()) == (500, {"error": "similarity search failed: the file is damaged"})
    assert host.check(BODY, TITLE).json()["recommendation"] == "duplicate_found"


def test_a_row_without_a_vector_is_passed_over_until_it_is_backfilled(host: Host) -> None:
    """S0-12, S0-21, S0-55."""
    host.near(0.9712)
    host.table.fake.fail_with = ModelUnavailable("down")
    host.create()
    down = host.http.post("/v1/nodes/backfill-embeddings")
    assert down.status_code == 500 and down.json()["error"].startswith("embedding generation failed: ")
    host.table.fake.fail_with = None
    assert host.check().json() == UNIQUE
    done = host.http.post("/v1/nodes/backfill-embeddings")
    assert (done.status_code, done.json()) == (200, {"embedded": 1, "left": 0})
    assert host.check().json()["recommendation"] == "duplicate_found"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"{", 400),
        (b"\xff\xfe", 400),
        (b"null", 400),
        (b'"text"', 400),
        (b"", 400),
        (json.dumps({"content": 5, "title": "t", "subtype": LESSON}).encode(), 400),
        (json.dumps({"content": "c", "title": "t", "subtype": LESSON, "limit": "5"}).encode(), 400),
        (json.dumps({"content": "c", "title": "t", "subtype": LESSON, "limit": -1}).encode(), 400),
        (json.dumps({"content": "c\x00d", "title": "t", "subtype": LESSON}).encode(), 400),
        (json.dumps({"content": "c", "title": "t", "subtype": "../../etc"}).encode(), 200),
        (json.dumps({"content": "c", "title": "<b>'; DROP TABLE", "subtype": LESSON, "more": 1}).encode(), 200),
    ],
)
def test_a_hostile_question_is_refused_as_text_or_answered(host: Host, sent: bytes, status: int) -> None:
    """S0-16 in spirit: an error is always `{"error": text}` and tells no address of the machine."""
    answer = host.http.post("/v1/nodes/check-similar", content=sent, headers={"content-type": "application/json"})
    assert answer.status_code == status
    body = answer.json()
    assert set(body) == ({"error"} if status == 400 else {"matches", "recommendation"})
    assert str(host.table.folder) not in answer.text and "Traceback" not in answer.text
    assert host.table.store.verify() == ()


# --------------------------------------------------------------------------------------------
# Nodes


def test_a_node_is_created_read_listed_changed_and_deleted(host: Host) -> None:
    """S0-55: the columns and routes the host relies on."""
    made = host.create(type="insight", content_summary="in short")
    node = made.json()
    assert {"id", "subtype", "content_title", "state_lifecycle", "embedding_model", "provenance_created_at"} <= set(
        node
    )
    assert (node["type"], node["subtype"], node["content_summary"]) == ("insight", LESSON, "in short")
    assert node["embedding_model"] == host.table.fake.id
    read = host.http.get(f"/v1/nodes/{node['id']}")
    assert (read.status_code, read.json()["content_body"]) == (200, BODY)
    changed = host.http.patch(f"/v1/nodes/{node['id']}", json={"content_title": "Weekend", "content_body": "Not then"})
    assert (changed.json()["content_title"], changed.json()["content_body"]) == ("Weekend", "Not then")
    assert host.http.delete(f"/v1/nodes/{node['id']}").json() == {"id": node["id"], "deleted": True}
    assert host.http.get(f"/v1/nodes/{node['id']}").status_code == 404
    assert host.http.delete(f"/v1/nodes/{node['id']}").status_code == 404
    assert host.count() == 0
    # I1: nothing is lost.
    back = host.http.patch(f"/v1/nodes/{node['id']}", json={"state_lifecycle": "ACTIVE"})
    assert back.status_code == 200 and host.count() == 1


def test_trigger_and_signals_travel_in_the_body(host: Host) -> None:
    """S0-28."""
    said = {"text": BODY, "trigger": "on weekends", "signals_at_creation": {"funding": -0.01}}
    node = host.create(json.dumps(said)).json()
    stored = host.table.store.get(node["id"])
    assert (stored.content, stored.trigger, dict(stored.signals)) == (BODY, "on weekends", {"funding": -0.01})
    assert json.loads(host.http.get(f"/v1/nodes/{node['id']}").json()["content_body"]) == said
    assert host.create('{"text": "not ours", "more": 1}').json()["content_body"] == '{"text": "not ours", "more": 1}'


@pytest.mark.parametrize(
    "trigger", [{"price": "> 100", "hours": [1, 2]}, ["weekend", "night"], "{not JSON", "on weekends"]
)
def test_a_trigger_of_any_form_is_kept_and_given_back_as_it_came(host: Host, trigger: Any) -> None:
    """S0-28: a trigger that is an object is no reason to lose the memory."""
    answer = host.create(json.dumps({"text": BODY, "trigger": trigger}))
    assert answer.status_code == 201
    assert host.table.store.get(answer.json()["id"]).content == BODY
    assert json.loads(answer.json()["content_body"]) == {"text": BODY, "trigger": trigger}


def test_signals_that_are_no_object_are_refused_by_the_name_of_the_field(host: Host) -> None:
    answer = host.create(json.dumps({"text": BODY, "signals_at_creation": [1]}))
    assert answer.status_code == 400 and "signals" in answer.json()["error"]
    assert host.count() == 0


def test_nodes_are_listed_newest_first_by_subtype_and_lifecycle(host: Host) -> None:
    """S0-55."""
    for number in range(3):
        host.create(f"Lesson {number}", f"Title {number}", "custom:thesis")
        host.table.clock.advance(days=40)
    host.create()
    titles = [node["content_title"] for node in host.http.get("/v1/nodes").json()["data"]]
    assert titles == [TITLE, "Title 2", "Title 1", "Title 0"]
    thesis = host.http.get("/v1/nodes", params={"subtype": "custom:thesis", "limit": 2}).json()["data"]
    assert [node["content_title"] for node in thesis] == ["Title 2", "Title 1"]
    weak = host.http.get("/v1/nodes", params={"lifecycle": "DORMANT"}).json()["data"]
    assert [node["content_title"] for node in weak] == ["Title 0"]
    assert host.http.get("/v1/nodes", params={"limit": 0}).status_code == 400


def test_search_gives_nodes_with_their_scores(host: Host) -> None:
    """S0-55."""
    made = host.create().json()["id"]
    found = host.http.post("/v1/search", json={"query": "trading on weekends", "limit": 3}).json()["data"]
    assert [node["id"] for node in found] == [made] and isinstance(found[0]["score"], float)
    assert host.http.post("/v1/search", json={}).status_code == 400


@pytest.mark.parametrize(
    ("sent", "status"),
    [({"subtype": "custom:nobody"}, 400), ({"content_body": ""}, 400), ({"event_time": "soon"}, 400)],
)
def test_a_node_that_cannot_be_is_refused_in_the_form_of_the_source(
    host: Host, sent: dict[str, Any], status: int
) -> None:
    """S0-6, S0-16."""
    answer = host.create(**{"body": BODY, "subtype": LESSON, **sent} if "subtype" in sent else sent)
    assert answer.status_code == status and set(answer.json()) == {"error"}
    assert host.count() == 0


def test_a_node_of_another_namespace_is_not_there(host: Host) -> None:
    """I8, S0-19."""
    host.near(0.9712)
    made = host.create().json()["id"]
    there = {"Wellkept-Namespace": "somebody/else"}
    assert host.http.get(f"/v1/nodes/{made}", headers=there).status_code == 404
    asked = {"content": BODY, "title": TITLE, "subtype": LESSON}
    assert host.http.post("/v1/nodes/check-similar", json=asked, headers=there).json() == UNIQUE


# --------------------------------------------------------------------------------------------
# The quick check with the model that ships


def test_the_quick_check_of_the_source_finds_the_stored_lesson(open_host: Callable[..., Host]) -> None:
    """S0-53, word for word, under MiniLM and the relation model that ship."""
    import wellkept

    with wellkept.open("memory:") as store, served(rest_app(store)) as url, httpx2.Client(base_url=url) as http:
        made = http.post(
            "/v1/nodes",
            json={
                "type": "concept",
                "subtype": "custom:lesson",
                "content_title": "Never trade weekends",
                "content_body": "Low volume weekends increase slippage risk",
            },
        )
        assert made.status_code == 201
        found = http.post(
            "/v1/nodes/check-similar",
            json={
                "title": "Avoid weekend trading",
                "content": "Weekend trading is risky due to low volume and slippage",
                "subtype": "custom:lesson",
            },
        ).json()
    assert found["recommendation"] in ("duplicate_found", "similar_found")
    assert found["matches"][0]["node_id"] == made.json()["id"] and found["matches"][0]["similarity"] >= 0.9
