"""A request for each operation of the table, with ids of a namespace."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import httpx2

from wellkept.operations.registry import Operation

ABSENT = "019b796d-0000-7000-8000-00000000abcd"
"""An id as ours look, of nothing."""


@dataclass
class Known:
    """Ids and texts of a namespace, for requests.

    Attributes:
        word: Stands in each of its texts, and in no other's.
        ids / keys / runs: Of its memories, conflicts and runs.
        wordings: Of memories that stand behind others.
        episodes / queued: Of its episodes, and of what waits in its queue.
        questions: Of its open questions.
        plan: The last plan made of it.
        entry: The newest entry of its journal.
    """

    word: str
    ids: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    runs: list[str] = field(default_factory=list)
    wordings: list[str] = field(default_factory=list)
    episodes: list[str] = field(default_factory=list)
    queued: list[str] = field(default_factory=list)
    questions: list[str] = field(default_factory=list)
    plan: dict[str, Any] | None = None
    entry: int = 1

    def an_id(self, rng: random.Random) -> str:
        """One of its memories."""
        return rng.choice(self.ids) if self.ids else ABSENT

    def text(self, rng: random.Random) -> str:
        """A text of it; some come twice, and some contradict each other."""
        return f"The {self.word} service number {rng.randrange(30)} listens on port {rng.choice((8080, 9090))}."


Asked = Callable[[random.Random, Known], dict[str, Any]]

ASKED: Mapping[str, Asked] = {
    "remember": lambda rng, of: {"content": of.text(rng), "kind": rng.choice(("lesson", "fact", "semantic"))},
    "remember_many": lambda rng, of: {"items": [of.text(rng), {"content": of.text(rng), "kind": "fact"}]},
    "check": lambda rng, of: {"content": of.text(rng)},
    "revise": lambda rng, of: {"memory_id": of.an_id(rng), "content": f"{of.text(rng)} Revised."},
    "recall": lambda rng, of: {"query": "which port does the service listen on", "limit": 20, "explain": True},
    "pack": lambda rng, of: {"query": of.text(rng), "exclude": [of.an_id(rng)], "session": "one"},
    "get": lambda rng, of: {"memory_id": of.an_id(rng)},
    "list": lambda rng, of: {"limit": 50},
    "history": lambda rng, of: {"memory_id": of.an_id(rng)},
    "journal": lambda rng, of: {"newest": 20},
    "conflicts": lambda rng, of: {"memory_id": of.an_id(rng), "settled": True} if rng.random() < 0.5 else {},
    "neighbors": lambda rng, of: {"memory_id": of.an_id(rng), "depth": 3},
    "subgraph": lambda rng, of: {"ids": [of.an_id(rng), of.an_id(rng)], "depth": 3},
    "stats": lambda rng, of: {},
    "supersede": lambda rng, of: {"old_id": of.an_id(rng), "new_id": of.an_id(rng)},
    "forget": lambda rng, of: {"memory_id": of.an_id(rng)},
    "restore": lambda rng, of: {"memory_id": of.an_id(rng)},
    "split": lambda rng, of: {"memory_id": rng.choice(of.wordings) if of.wordings else of.an_id(rng)},
    "resolve": lambda rng, of: {
        "key": rng.choice(of.keys) if of.keys else ABSENT,
        "resolution": rng.choice(("keep_new", "keep_both", "dismissed")),
    },
    "link": lambda rng, of: {"src": of.an_id(rng), "dst": of.an_id(rng), "strict": rng.random() < 0.5},
    "unlink": lambda rng, of: {"src": of.an_id(rng), "dst": of.an_id(rng)},
    "undo": lambda rng, of: {"entry": rng.randint(max(1, of.entry - 3), of.entry)},
    "erase": lambda rng, of: {"memory_id": of.an_id(rng)},
    "verify": lambda rng, of: {},
    "plan": lambda rng, of: {},
    "execute": lambda rng, of: {"plan": of.plan or {}},
    "runs": lambda rng, of: {},
    "questions": lambda rng, of: {"limit": 20},
    "answer": lambda rng, of: {
        "question": rng.choice(of.questions) if of.questions else "q999999",
        "text": rng.choice(
            ("new", "repeats 1", "replaces 1", "replaces part of 1", "adds to 1", "keep both 1", "not worth keeping")
        ),
    },
    "undo_answers": lambda rng, of: {"by": "agent"} if rng.random() < 0.5 else {},
    "asking": lambda rng, of: {},
    "forget_lessons": lambda rng, of: {},
    "judge": lambda rng, of: {
        "entry": rng.randint(max(1, of.entry - 3), of.entry),
        "verdict": rng.choice(("right", "wrong", "unsure")),
    },
    "record_decision": lambda rng, of: {"content": of.text(rng), "outcome": "pending"},
    "record_turn": lambda rng, of: {
        "response": of.text(rng),
        "frame": rng.choice(("task", "question")),
        **({"episode": of.episodes[-1]} if of.episodes and rng.random() < 0.5 else {}),
    },
    "start_episode": lambda rng, of: {"content": f"Moving the {of.word} service number {rng.randrange(3)}"},
    "end_episode": lambda rng, of: {"episode_id": rng.choice(of.episodes) if of.episodes else ABSENT},
    "queue_remember": lambda rng, of: {"content": of.text(rng), "kind": rng.choice(("thesis", "lesson"))},
    "queue_pending": lambda rng, of: {},
    "queue_flush": lambda rng, of: {"again": rng.random() < 0.5},
    "queue_drop": lambda rng, of: {"queued_id": of.queued[-1] if of.queued else ABSENT},
    "undo_run": lambda rng, of: {"run_id": rng.choice(of.runs) if of.runs else ABSENT},
}
"""Operation to the fields of a request. One that is missing here fails the tests: it is shown for every one."""


def asked(row: Operation, rng: random.Random, of: Known) -> dict[str, Any]:
    """The fields of a request; for an operation that was added since, this says what to do."""
    assert row.name in ASKED, f"add a request for {row.name!r} to tests/surfaces/serving/asking.py"
    return ASKED[row.name](rng, of)


def send(http: httpx2.Client, row: Operation, fields: dict[str, Any], **headers: str) -> httpx2.Response:
    """Send a request to the route of an operation."""
    assert row.route is not None
    named = set(row.route.parameters)
    path = row.route.path.format(**{name: fields[name] for name in named})
    rest = {name: value for name, value in fields.items() if name not in named}
    titled = {name.replace("_", "-"): value for name, value in headers.items()}
    if row.route.method in ("GET", "DELETE"):
        texts = {name: str(value).lower() if isinstance(value, bool) else value for name, value in rest.items()}
        return http.request(row.route.method, path, params=texts, headers=titled)
    return http.request(row.route.method, path, json=rest, headers=titled)


def learn(of: Known, row: Operation, answer: Any) -> None:
    """Keep what an answer tells."""
    if answer.get("entry"):  # 0 where nothing was written
        of.entry = answer["entry"]
    match row.name:
        case "remember" | "revise" | "record_decision" | "record_turn":
            _learn_memory(of, answer)
        case "start_episode" if answer["outcome"] == "created":
            of.episodes.append(answer["memory"]["id"])
        case "queue_remember" if answer["outcome"] == "queued":
            of.queued.append(answer["reasons"][0]["detail"].split()[-1])
        case "queue_pending" | "questions" | "conflicts":
            _learn_list(of, answer)
        case "remember_many":
            for item in answer.get("results", answer.get("items", [])):
                _learn_memory(of, item)
        case "plan":
            of.plan = answer.get("plan", answer)
        case "execute" if answer.get("run_id"):
            of.runs.append(answer["run_id"])
        case "journal":
            of.entry = max((item["seq"] for item in answer["entries"]), default=of.entry)
        case _:
            pass


def _learn_list(of: Known, answer: Any) -> None:
    if "pending" in answer:
        of.queued = [one["id"] for one in answer["pending"]]
    of.keys = [one["key"] for one in answer.get("conflicts", ())] or of.keys
    of.questions = [one["id"] for one in answer.get("questions", ())] or of.questions


def _learn_memory(of: Known, answer: Any) -> None:
    memory = answer.get("memory") if isinstance(answer, dict) else None
    if memory and memory["id"] not in of.ids:
        of.ids.append(memory["id"])
