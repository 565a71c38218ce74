"""Stories with questions: what the readers answer, what is counted at the end, and the command."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from surfaces.command_line import Cli
from wellkept.core.records.conflicts import key_of
from wellkept.errors import InvalidInput
from wellkept.evaluation.asked.endings import Written, end_of
from wellkept.evaluation.asked.readers import oracle, reader_of
from wellkept.evaluation.labelled_files import Act, Write
from wellkept.evaluation.ledger import Ledger, Said
from wellkept.types import Chance, Conflict, Memory, Question, QuestionCandidate

DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Known(Ledger):
    """A ledger that is told what rows say and what holds, instead of following writes."""

    def __init__(self, said: dict[str, list[tuple[str, str]]], current: dict[str, str]) -> None:
        super().__init__()
        self._rows = {row: [Said(key, value, "first") for key, value in pairs] for row, pairs in said.items()}
        self._current = current


def memory(name: str, **values: Any) -> Memory:
    made = {"namespace": "n", "kind": "fact", "content": name, "created_at": DAY, "updated_at": DAY}
    return Memory(id=name, **(made | values))


def write(act: Act, value: str = "", key: str = "K1") -> Write:
    return Write(at=DAY, text="text", kind="fact", act=act, key="" if act == "noise" else key, value=value)


QUESTION = Question(
    id="q9",
    memory=memory("new"),
    candidates=tuple(
        QuestionCandidate(at, memory(row), Chance(row, 0, 0)) for at, row in ((1, "old"), (2, "now"), (3, "x"))
    ),
    worth=1.0,
    asked_at=DAY,
)
LEDGER = Known({"old": [("K1", "ten")], "now": [("K1", "nine")], "x": [("K2", "red")]}, {"K1": "nine", "K2": "red"})
ANSWERS = [
    (write("noise"), "not worth keeping"),
    (write("first", "blue", "K3"), "new"),
    (write("restates", "nine"), "repeats 2 and replaces 1"),
    (write("restates", "red", "K2"), "repeats 3"),
    (write("updates", "eight"), "replaces 1,2"),
    (write("updates", "green", "K9"), "new"),
    (write("refines", "nine"), "replaces 1 and adds to 2"),
    (write("late", "ten"), "repeats 1 and outdated by 2"),
    (write("late", "seven"), "outdated by 2"),
]


@pytest.mark.parametrize(("told", "answer"), ANSWERS)
def test_the_reader_who_knows_the_truth_answers_by_what_the_candidates_say(told: Write, answer: str) -> None:
    said = oracle(QUESTION, told, LEDGER)
    assert sorted(said.split(" and ")) == sorted(answer.split(" and "))


def test_the_reader_who_errs_errs_as_often_as_said_and_in_the_same_places() -> None:
    told = write("updates", "eight")
    for share, least, most in ((0.0, 0, 0), (0.25, 30, 70), (1.0, 200, 200)):
        runs = []
        for _ in range(2):
            read = reader_of(f"noisy:{share}")
            runs.append([read(QUESTION, told, LEDGER) for _ in range(200)])
        assert runs[0] == runs[1]
        assert least <= sum(one != "replaces 1,2" for one in runs[0]) <= most


@pytest.mark.parametrize("name", ["", "oracle:1", "noisy", "noisy:2", "noisy:-.1", "noisy:x", "noisy:nan", "somebody"])
def test_an_unknown_reader_is_an_error(name: str) -> None:
    with pytest.raises(InvalidInput, match="is no reader"):
        reader_of(name)


def mark(old: str, new: str, **values: Any) -> Conflict:
    made = Conflict(
        key=key_of(old, new, "outdated"), a=old, b=new, kind="outdated", reason="model", similarity=0.8, created_at=DAY
    )
    return replace(made, **values)


FIRST, AGAIN, UPDATE, OTHER = (
    write("first", "ten"),
    write("restates", "ten"),
    write("updates", "nine"),
    write("first", "red", "K2"),
)
BEHIND = {"status": "wording", "superseded_by": "a"}
HIDDEN = {"status": "superseded", "superseded_by": "b"}
SAID = {"a": [("K1", "ten")], "b": [("K1", "nine")], "c": [("K2", "red")]}
ENDS: dict[str, tuple[list[tuple[Write, str]], dict[str, Memory], list[Conflict], dict[str, int]]] = {
    "a restatement that stands twice": (
        [(FIRST, "a"), (AGAIN, "d")],
        {"a": memory("a"), "d": memory("d")},
        [],
        {"twice": 1},
    ),
    "one that became a wording": ([(FIRST, "a"), (AGAIN, "d")], {"a": memory("a"), "d": memory("d", **BEHIND)}, [], {}),
    "an update beside the old value": (
        [(FIRST, "a"), (UPDATE, "b")],
        {"a": memory("a"), "b": memory("b")},
        [],
        {"unmarked": 1},
    ),
    "an old value that is marked": (
        [(FIRST, "a"), (UPDATE, "b")],
        {"a": memory("a"), "b": memory("b")},
        [mark("a", "b")],
        {},
    ),
    "a mark that was dismissed": (
        [(FIRST, "a"), (UPDATE, "b")],
        {"a": memory("a"), "b": memory("b")},
        [mark("a", "b", resolution="dismissed", resolved_at=DAY)],
        {"unmarked": 1},
    ),
    "an old value that is superseded": (
        [(FIRST, "a"), (UPDATE, "b")],
        {"a": memory("a", **HIDDEN), "b": memory("b")},
        [],
        {},
    ),
    "a wording of something else": (
        [(FIRST, "a"), (OTHER, "c")],
        {"a": memory("a"), "c": memory("c", **BEHIND)},
        [],
        {"folds": 1},
    ),
    "a mark on what holds": (
        [(UPDATE, "b"), (OTHER, "c")],
        {"b": memory("b"), "c": memory("c")},
        [mark("b", "c")],
        {"marks": 1},
    ),
    "a text without a row": ([(FIRST, "")], {}, [], {"lost": 1}),
    "noise without a row": ([(write("noise"), "")], {}, [], {}),
}


@pytest.mark.parametrize("name", ENDS)
def test_the_end_of_a_story_is_counted_by_its_rows(name: str) -> None:
    written, rows, conflicts, expected = ENDS[name]
    ledger = Known({**SAID, "d": [("K1", "ten")]}, {"K1": "nine", "K2": "red"})
    found = end_of([Written(told, row) for told, row in written], rows, conflicts, ledger)
    assert {figure: count for figure, count in found.items() if count} == expected


STORY = {
    "id": "one",
    "lang": "en",
    "writes": [
        {"t": "2026-03-01T09:00:00Z", "text": "The standup is at ten.", "kind": "fact", "truth": "K1=ten"},
        {"t": "2026-03-02T09:00:00Z", "text": "The cat is called Mimi.", "kind": "fact", "truth": "K2=Mimi"},
        {"t": "2026-03-03T09:00:00Z", "text": "Standup starts half an hour earlier.", "kind": "fact",
         "truth": "updates K1=half past nine"},
    ],
    "queries": [{"q": "When is the standup?", "key": "K1", "answer_contains": "half an hour earlier",
                 "must_not_rank_first": ["at ten"]}],
}  # fmt: skip


def test_the_command_shows_what_questions_bring_with_the_packaged_models(cli: Cli) -> None:
    (cli.folder / "stories.jsonl").write_text(json.dumps(STORY) + "\n", "utf-8")
    real = replace(cli, embedder="minilm")
    report = real.json("eval", "stories", "stories.jsonl", "--ask", "0,100")
    without, answered = (one["metrics"] for one in report["asked"])
    assert (without["unmarked"], without["questions_per_100"]) == (1.0, 0.0)
    assert answered["unmarked"] == answered["lost"] == answered["wrong_marks"] == 0.0
    assert answered["questions_per_100"] > 0 < answered["tokens_per_100"]
    assert report["model"].startswith("relation@") and report["model"].endswith("/2")
    assert "unmarked" in real("eval", "stories", "stories.jsonl", "--ask", "100", "--answers", "noisy:0").stdout


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("--ask", "x"), 1, "is no number from 0 to 100"),
        (("--ask", "10,101"), 1, "is no number from 0 to 100"),
        (("--ask", "nan"), 1, "is no number from 0 to 100"),
        (("--ask", "10", "--answers", "nobody"), 1, "is no reader"),
        (("--ask", "10", "--errors", "wrong.jsonl"), 2, "--errors"),
    ],
)
def test_a_wrong_option_is_told(cli: Cli, options: tuple[str, ...], code: int, said: str) -> None:
    (cli.folder / "stories.jsonl").write_text(json.dumps(STORY) + "\n", "utf-8")
    assert said in cli("eval", "stories", "stories.jsonl", *options, code=code).stderr
