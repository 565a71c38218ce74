"""A store of project notes as it ships: what it cannot answer gets nothing, what it holds is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from wellkept import MemoryStore

NOTES = (
    "Python 3.12 is the minimum version of the service.",
    "We use Node 18 for the frontend build.",
    "Nightly backups run at 03:00 UTC and are kept for 30 days.",
    "PR-441 is blocked on a review by Jun.",
    "The feature flag gift_cards is off in production.",
    "Ines reviews every change under src/checkout.",
    "Der Staging-Server steht in Raum 2 und heißt Adler.",
    "Le déploiement du vendredi est interdit.",
    "La base de datos de pruebas escucha en el puerto 5433.",
    "Сборка запускается в GitLab каждую ночь.",
    "数据库端口是 5433，不是默认端口。",
    "リリースノートは毎週金曜日に書きます。",
)
NOWHERE = (
    "What is the capital of France?",
    "Who painted the Mona Lisa?",
    "tallest mountain in the world",
    "How many legs does a spider have?",
    "When is Aunt Gertrude's knee operation?",
    "How many llamas are on the farm?",
    "Was ist die Hauptstadt von Frankreich?",
    "Wie viele Beine hat eine Spinne?",
    "Quelle est la capitale de l'Allemagne ?",
    "¿Cuál es la capital de Francia?",
    "Qual é a capital da França?",
    "Какая столица у Франции?",
    "Jaka jest stolica Francji?",
    "法国的首都是哪里？",
    "蜘蛛有几条腿？",
    "フランスの首都はどこですか？",
    "프랑스의 수도는 어디인가요?",
)
ANSWERED = (
    ("Which Python do we need?", 0),
    ("node version", 1),
    ("when are backups made", 2),
    ("what happened to PR-441 in the meeting with the design team last week", 3),
    ("PR #441", 3),
    ("gift_cards", 4),
    ("Who has to approve a change to the checkout code?", 5),
    ("Wo steht der Staging-Server?", 6),
    ("Peut-on faire un déploiement le vendredi ?", 7),
    ("¿En qué puerto escucha la base de datos?", 8),
    ("Где запускается сборка?", 9),
    ("数据库用哪个端口？", 10),
    ("リリースノートはいつ書きますか？", 11),
)


@pytest.fixture(scope="module", params=["memory", "sqlite"])
def notes(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    folder: Path = tmp_path_factory.mktemp("notes")
    with wellkept.open("memory:" if request.param == "memory" else f"sqlite:///{folder / 'notes.db'}") as store:
        store.remember_many(NOTES)
        yield store


@pytest.mark.parametrize("query", NOWHERE)
def test_a_question_about_something_else_gets_nothing(notes: MemoryStore, query: str) -> None:
    assert notes.recall(query, touch=False) == ()
    assert notes.pack(query, touch=False).ids == ()
    assert len(notes.recall(query, touch=False, min_score=0)) > 0 or not query.isascii()


@pytest.mark.parametrize(("query", "number"), ANSWERED)
def test_a_question_about_the_project_gets_its_answer_first(notes: MemoryStore, query: str, number: int) -> None:
    hits = notes.recall(query, touch=False)
    assert hits and hits[0].memory.content == NOTES[number]


def test_a_pack_holds_nothing_that_only_fills_it(notes: MemoryStore) -> None:
    block = notes.pack("node version", touch=False).text
    assert NOTES[1] in block and "backups" not in block and "review" not in block
