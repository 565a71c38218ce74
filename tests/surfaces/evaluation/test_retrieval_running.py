"""A set goes through a real store: conversations apart, sources kept through merges, one object at the end."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from surfaces.command_line import Cli
from wellkept.errors import InvalidInput
from wellkept.evaluation.retrieval_reading import Collection, Document, Question
from wellkept.evaluation.retrieval_running import DEFAULT, RECALLED, Stored, run_played, run_stored
from wellkept.evaluation.run import Setup, Warm
from wellkept.models.hashing import HashingEmbedder

TOLD = {
    "c1": ["Ana: I have moved to Lisbon.", "Ben: Great!", "Ana: The flat has a balcony.", "Ben: Great!"],
    "c2": ["Kim: I have moved to Oslo.", "Lee: The fjord is cold."],
}
ASKED = [("c1", "Where has Ana moved?", "D1:1", 4), ("c2", "Who has moved?", "D1:1", 5), ("c1", "Great?", "D1:4", 4)]
TURNS = [
    {"conv": conv, "session": 1, "date": "9:05 am on 3 March, 2024", "dia_id": f"D1:{number}",
     "speaker": said.split(":")[0], "text": said.split(": ")[1], "caption": None}
    for conv, told in TOLD.items() for number, said in enumerate(told, 1)
]  # fmt: skip
QUESTIONS = [
    {"id": str(number), "conv": conv, "question": text, "category": category, "evidence": [evidence]}
    for number, (conv, text, evidence, category) in enumerate(ASKED)
]
MESSAGES = [{"conv": "b", "id": number, "role": "user", "session": 1, "text": text} for number, text in
            enumerate(["The quota is 900 calls.", "The logo is blue.", "The quota is 1200 calls."])]  # fmt: skip
BEAM = [{"id": "q", "conv": "b", "question": "What is the quota?", "type": "knowledge_update", "evidence": [0, 2]}]


def collection() -> Collection:
    return Collection(
        name="tiny", format="locomo", unit="turns", without_evidence=0, repaired=0,
        documents={
            conv: tuple(
                Document(conversation=conv, sources=(f"D1:{number}",), text=text, session="1", place="f, line 1")
                for number, text in enumerate(told, 1)
            )
            for conv, told in TOLD.items()
        },
        questions=tuple(
            Question(str(number), conv, text, "single_hop", (evidence,))
            for number, (conv, text, evidence, _) in enumerate(ASKED)
        ),
    )  # fmt: skip


def stored(setup: Setup | None = None, *, through_gate: bool = False) -> Stored:
    given = setup or Setup(embedder=Warm(HashingEmbedder()), judging="rules")
    return run_stored(collection(), given, [DEFAULT], through_gate=through_gate, progress=lambda _: None)


def test_the_answers_come_in_the_order_of_the_questions_and_from_their_conversation() -> None:
    answers = stored().answers[DEFAULT]
    assert [answer.question.id for answer in answers] == ["0", "1", "2"]
    assert answers[0].found[0] == ("D1:1",)
    assert len(answers[1].found) <= len(TOLD["c2"])  # I8
    assert all(answer.recall(10) == 1.0 for answer in answers)


def test_without_the_gate_everything_is_stored() -> None:
    found = stored()
    assert (found.written, found.rows, found.repeats) == (6, 6, 1)
    assert found.outcomes == {"created": 6}


def test_through_the_gate_a_text_that_was_stored_once_says_both_turns() -> None:
    found = stored(through_gate=True)
    assert ("D1:2", "D1:4") in found.answers[DEFAULT][2].found  # "Great!" was said twice; cleaning is no loss
    assert found.answers[DEFAULT][2].recall(5) == 1.0
    assert (found.written, found.rows, found.repeats) == (6, 5, 0)
    assert found.outcomes == {"created": 5, "duplicate": 1}


def test_the_played_rankings_answer_the_same_questions() -> None:
    setup = Setup(embedder=Warm(HashingEmbedder()), judging="rules")
    answers = run_played(collection(), setup, ["bm25", "context"])
    assert [answer.question.id for answer in answers["bm25"]] == ["0", "1", "2"]
    assert answers["bm25"][0].found[0] == ("D1:1",)
    assert answers["context"][0].tokens[0] > 0


def test_a_question_that_cannot_be_asked_is_named() -> None:
    asked = Question("long", "c1", "x" * 30_000, "single_hop", ("D1:1",))
    broken = Collection(
        name="tiny", format="locomo", unit="turns", without_evidence=0, repaired=0,
        documents=collection().documents, questions=(asked,),
    )  # fmt: skip
    setup = Setup(embedder=Warm(HashingEmbedder()), judging="rules")
    with pytest.raises(InvalidInput, match="question long"):
        run_stored(broken, setup, [DEFAULT], through_gate=False, progress=lambda _: None)


# --------------------------------------------------------------------------------------------
# The command


def written(folder: Path, **files: list[Any]) -> str:
    for name, rows in files.items():
        (folder / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    return str(folder)


@pytest.fixture
def locomo(cli: Cli) -> str:
    return written(cli.folder, turns=TURNS, questions=QUESTIONS)


def test_the_report_holds_recall_with_intervals_and_the_baseline_beside_it(cli: Cli, locomo: str) -> None:
    report = cli.json("eval", "retrieval", locomo)
    names = {
        f"{name}_at_{depth}{rest}"
        for depth in (5, 10)
        for name, rest in (("recall", ""), ("recall", "_no_adversarial"), ("hit_any", ""), ("hit_all", ""))
    }
    for entry in (report, report["baseline"]):
        assert names | {"tokens_at_5", "tokens_at_10", "by_group"} == set(entry["metrics"])
        for name in names:
            assert entry["intervals"][name][0] <= entry["metrics"][name] <= entry["intervals"][name][1]
    assert report["metrics"]["recall_at_10"] == 1.0
    assert (report["format"], report["documents"], report["n"], report["conversations"]) == ("locomo", "turns", 3, 2)
    assert report["evidence_in_documents"] == 1.0
    assert report["through_gate"] is None
    assert not cli.file.exists()  # nobody's store was touched


def test_beam_is_known_by_its_fields(cli: Cli) -> None:
    report = cli.json("eval", "retrieval", written(cli.folder, docs=MESSAGES, questions=BEAM))
    assert (report["format"], report["documents"]) == ("beam", "messages")
    assert report["metrics"]["by_group"]["knowledge_update"]["recall_at_5"] == 1.0
    assert "recall_at_5_no_lists" in report["metrics"]


def test_the_gate_stands_beside_storing_everything(cli: Cli, locomo: str) -> None:
    report = cli.json("eval", "retrieval", locomo, "--through-gate", "--no-dates")
    gated = report["through_gate"]
    assert gated["rows"] <= report["stored"]["rows"]
    assert gated["metrics"]["recall_at_10"] == 1.0
    assert gated["over_storing_everything"]["difference"]["recall_at_10"] == 0.0


def test_settings_are_compared_question_by_question(cli: Cli, locomo: str) -> None:
    report = cli.json("eval", "retrieval", locomo, "--against", "words", "--against", "context")
    assert list(report["against"]) == ["words", "context"]
    for entry in (*report["against"].values(), report["baseline"]):
        assert set(entry["default_over_it"]) == {"difference", "intervals", "better", "worse"}


def test_every_setting_of_recall_can_be_named(cli: Cli, locomo: str) -> None:
    for name in RECALLED:
        report = cli.json("eval", "retrieval", locomo, "--against", name)  # B-20: each basis of recency among them
        assert set(report["against"]) == {name} - {DEFAULT}


def test_the_same_files_give_the_same_report(cli: Cli, locomo: str) -> None:
    reports = [cli.json("eval", "retrieval", locomo, "--against", "context", "--through-gate") for _ in range(2)]
    for report in reports:
        report.pop("seconds")
    assert reports[0] == reports[1]  # I4


def test_people_see_settings_gains_and_sorts_of_questions(cli: Cli, locomo: str) -> None:
    shown = cli("eval", "retrieval", locomo, "--through-gate", "--against", "context").stdout
    for part in ("R@10", "tokens@10", "through the gate", "context", "bm25", "single hop", "adversarial"):
        assert part in shown
    assert "verbatim repeats" in shown and "resamples of the questions give the default recall@5" in shown


def test_observations_that_do_not_say_everything_are_told(cli: Cli, locomo: str) -> None:
    said = [{"conv": "c1", "session": 1, "text": "Ana moved to Lisbon.", "dia_ids": ["D1:1"]},
            {"conv": "c2", "session": 1, "text": "Lee finds the fjord cold.", "dia_ids": ["D1:2"]}]  # fmt: skip
    written(cli.folder, observations=said)
    assert cli.json("eval", "retrieval", locomo, "--documents", "observations")["evidence_in_documents"] < 1
    assert "no recall can be higher" in cli("eval", "retrieval", locomo, "--documents", "observations").stdout


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (["--documents", "sessions"], 2, "sessions"),
        (["--against", "magic"], 2, "magic"),
        (["--documents", "messages"], 1, "messages"),
    ],
)
def test_what_is_not_there_is_refused_with_what_is(
    cli: Cli, locomo: str, arguments: list[str], code: int, part: str
) -> None:
    assert part in cli("eval", "retrieval", locomo, *arguments, code=code).stderr


def test_a_folder_without_a_set_is_an_error(cli: Cli) -> None:
    (cli.folder / "empty").mkdir()
    assert "jsonl" in cli("eval", "retrieval", "empty", code=1).stderr
    assert cli("eval", "retrieval", "nowhere", code=1).stderr
