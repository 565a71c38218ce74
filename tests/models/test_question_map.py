"""The maps that turn a question towards its answers: exact, of unit length, and learnt for both networks."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from wellkept.errors import ModelUnavailable
from wellkept.models import minilm
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.question_map import QuestionMap

ASKED = [
    ("Where do I park the van?", "The van stands behind the bakery.", "Nobody likes to park the van."),
    ("Who signs the invoices?", "Invoices carry Petra's signature.", "Are there invoices without a signature?"),
    ("When does the pool open?", "Swimming starts at six.", "The pool is open to members."),
    ("Which database do we use?", "Everything is kept in Postgres.", "Let us not use a database."),
    ("Wo steht der Transporter?", "Der Transporter parkt hinter der Bäckerei.", "Wo steht denn nun der Transporter?"),
    ("¿Quién firma las facturas?", "Las facturas las firma Petra.", "¿Quién pagó las facturas?"),
    ("Qui signe les factures ?", "Les factures sont signées par Petra.", "Qui paie les factures ?"),
    ("プールは何時に開きますか？", "プールは六時に始まる。", "プールは今日開きますか？"),
]


@pytest.fixture(scope="module")
def embedder() -> MiniLmEmbedder:
    return MiniLmEmbedder()


def test_a_map_adds_the_product_and_its_last_row() -> None:
    made = QuestionMap(np.array([[0.0, 2.0], [0.0, 0.0], [1.0, 0.0]]), step=0.5)
    assert made.turned(np.array([0.0, 1.0], dtype=np.float32)).tolist() == pytest.approx([0.4472136, 0.8944272])
    assert made.turned(np.array([1.0, 0.0], dtype=np.float32)).tolist() == pytest.approx([0.8320503, 0.5547002])


@pytest.mark.parametrize("asked", [ASKED[:4], ASKED[4:]], ids=["English", "other languages"])
def test_questions_come_nearer_to_their_answers_than_to_what_resembles_them(embedder, asked) -> None:
    """On the whole: single questions may lose."""
    gained = []
    for question, answer, other in asked:
        plain, right, wrong = (one.vector for one in embedder.embed([question, answer, other]))
        turned = embedder.towards_answers(question, plain)
        assert float(turned @ turned) == pytest.approx(1.0, abs=1e-6)
        gained.append(float(turned @ (right - wrong) - plain @ (right - wrong)))
    assert sum(gained) / len(gained) > 0.03


def test_maps_that_are_not_the_packaged_ones_are_refused(embedder, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "questions.json").write_text("{}")
    monkeypatch.setattr(minilm, "DATA", tmp_path)
    minilm._question_maps.cache_clear()
    with pytest.raises(ModelUnavailable, match="maps of questions"):
        embedder.towards_answers("Where is it?", np.ones(384, dtype=np.float32))
    minilm._question_maps.cache_clear()
