"""Texts in scripts that the packaged embedder has not learnt, or cannot read: the gate compares them and says so."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

import wellkept
from stores import EACH_BACKEND, place
from wellkept import MemoryStore, Policy
from wellkept.engine.history.past import Past
from wellkept.engine.models.embedding import Embeddings, vector_key
from wellkept.engine.replay.cached_models import StoredFirst
from wellkept.errors import ModelUnavailable
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.port import Embedded
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Header, LinkChange

RAIN, FRONTEND = "今天下雨，路上很堵。", "李雷负责前端开发工作。"
BACKUP, RETOLD = "每周五下午备份数据库。", "数据库在每个星期五的下午做备份。"
PORT, MOVED = "服务器监听端口8080。", "服务器监听端口9090。"
SUGAR, UNSWEETENED = "ฉันชอบกาแฟใส่น้ำตาล", "ฉันชอบกาแฟไม่ใส่น้ำตาล"
FATHER, FATHERS = "𐌰𐍄𐍄𐌰 𐌿𐌽𐍃𐌰𐍂 𐌸𐌿 𐌹𐌽 𐌷𐌹𐌼𐌹𐌽𐌰𐌼", "𐌰𐍄𐍄𐌰 𐌿𐌽𐍃𐌰𐍂 𐌸𐌿 𐌹𐌽 𐌷𐌹𐌼𐌹𐌽𐌰𐌼 𐍅𐌴𐌹𐌷𐌽𐌰𐌹"
"""Gothic, of which no vocabulary has a letter."""


@pytest.fixture(params=EACH_BACKEND)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    where = "memory:" if request.param == "memory" else str(place(tmp_path / "store.db"))
    with wellkept.open(where) as opened:
        for text in (RAIN, FRONTEND):
            opened.remember(text)
        yield opened


@pytest.mark.parametrize(
    ("old", "new", "outcome", "rule", "degraded"),
    [
        (BACKUP, RETOLD, "restated", "told_again", ()),
        (PORT, MOVED, "created", "conflict_warn", ()),
        (BACKUP, PORT, "created", "nothing_like_it", ()),
        (SUGAR, UNSWEETENED, "created", "near_but_different", ("lexical", "language")),
        (FATHER, FATHERS, "created", "near_but_different", ("lexical", "language")),
    ],
    ids=["a restatement", "another number", "another fact", "a negation in Thai", "an addition in Gothic"],
)
def test_a_text_in_any_script_is_compared_with_what_is_near(
    store: MemoryStore, old: str, new: str, outcome: str, rule: str, degraded: tuple[str, ...]
) -> None:
    store.remember(old)
    result = store.remember(new)
    assert (result.outcome, result.reasons[0].rule, result.degraded) == (outcome, rule, degraded)
    assert store.replay(Policy()).differences == ()


def test_such_a_text_is_never_taken_for_chatter(store: MemoryStore) -> None:
    written = [store.remember(text) for text in ("会议改到周四。", "李雷换了工作。", "แมวชื่อมะลิ")]
    assert [(one.outcome, one.memory.importance) for one in written] == [("created", 0.5)] * 3


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (FATHER, FATHERS),
        (SUGAR, "ฉันชอบกาแฟใส่น้ำตาลทุกเช้า"),
    ],
    ids=["a vector of letters", "a script that is only spelled"],
)
@pytest.mark.parametrize("outages", [0, 1], ids=["at once", "after an outage"])
def test_a_stored_vector_in_such_a_script_decides_nothing_by_similarity(
    old: str, new: str, outages: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    with wellkept.open("memory:", relation_model="none") as store:
        store.remember(old, kind="lesson")
        with monkeypatch.context() as outage:
            if outages:
                outage.setattr(MiniLmEmbedder, "embed", fails)
            store.remember(new, kind="lesson")
        assert store.sweep().checked == outages
        made = [effect for entry in store.journal() for effect in entry.effects if isinstance(effect, LinkChange)]
        assert made == []


def fails(*_: object) -> None:
    raise ModelUnavailable("no answer")


def test_a_question_in_such_a_script_is_answered_by_words_alone(store: MemoryStore) -> None:
    store.remember(FATHER)
    hits = store.recall("𐌿𐌽𐍃𐌰𐍂", explain=True)
    assert [hit.memory.content for hit in hits] == [FATHER]
    assert not list(store.recall("𐍅𐌴𐌹𐌷𐌽𐌰𐌹"))


def test_the_marks_of_a_stored_vector_are_those_of_its_text() -> None:
    """The journal of a write that was not compared tells nothing of them."""
    header = Header("dict", 0, MiniLmEmbedder.id, MiniLmEmbedder.dim, "", datetime(2026, 1, 5, tzinfo=UTC))
    past = Past("default", header)
    stored, adopted = StoredFirst(MiniLmEmbedder(), past), Embeddings(MiniLmEmbedder())
    for made, text in zip(MiniLmEmbedder().embed([BACKUP, "Tea at four."]), (BACKUP, "Tea at four."), strict=True):
        past.keep({vector_key(text): made.vector})
        stored.note(vector_key(text), 1, spelled=False)
        adopted.adopt(text, made.vector, 1)
        for one in (*stored.embed([text]), adopted.get(text)):
            assert one is not None
            assert (one.spelled, one.by_words) == (made.spelled, made.by_words)
    assert stored.used


def test_nothing_acts_on_a_vector_whose_embedder_fails_to_tell_its_marks() -> None:
    class Mute(FakeEmbedder):
        def about(self, text: str) -> Embedded:
            raise RuntimeError(text)

    vectors, [made] = Embeddings(Mute()), FakeEmbedder().embed([PORT])
    assert made.vector is not None
    vectors.adopt(PORT, made.vector, 1)
    assert vectors.degraded(PORT) == ("lexical",)
