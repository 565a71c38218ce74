"""Texts in scripts that the packaged embedder cannot read: the gate compares them, recall goes by their words."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import wellkept
from stores import BACKENDS, place
from wellkept import MemoryStore, Policy
from wellkept.models.minilm import MiniLmEmbedder

RAIN, FRONTEND = "今天下雨，路上很堵。", "李雷负责前端开发工作。"
BACKUP, RETOLD = "每周五下午备份数据库。", "数据库在每个星期五的下午做备份。"
PORT, MOVED = "服务器监听端口8080。", "服务器监听端口9090。"
SUGAR, UNSWEETENED = "ฉันชอบกาแฟใส่น้ำตาล", "ฉันชอบกาแฟไม่ใส่น้ำตาล"


@pytest.fixture(params=BACKENDS)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    where = "memory:" if request.param == "memory" else str(place(tmp_path / "store.db"))
    with wellkept.open(where) as opened:
        for text in (RAIN, FRONTEND):
            opened.remember(text)
        yield opened


@pytest.mark.parametrize(
    ("old", "new", "outcome", "rule"),
    [
        (BACKUP, RETOLD, "restated", "restates"),
        (PORT, MOVED, "created", "conflict_warn"),
        (SUGAR, UNSWEETENED, "created", "near_but_different"),
        (BACKUP, PORT, "created", "nothing_like_it"),
    ],
    ids=["a restatement in Chinese", "another number in Chinese", "a negation in Thai", "another fact"],
)
def test_a_text_that_the_embedder_cannot_read_is_compared_with_what_shares_its_letters(
    store: MemoryStore, old: str, new: str, outcome: str, rule: str
) -> None:
    assert all(made.by_words for made in MiniLmEmbedder().embed([old, new]))
    store.remember(old)
    result = store.remember(new)
    assert (result.outcome, result.reasons[0].rule) == (outcome, rule)
    assert "lexical" in result.degraded
    assert store.replay(Policy()).differences == ()


def test_such_a_text_is_never_taken_for_chatter(store: MemoryStore) -> None:
    written = [store.remember(text) for text in ("会议改到周四。", "李雷换了工作。", "แมวชื่อมะลิ")]
    assert [(one.outcome, one.memory.importance) for one in written] == [("created", 0.5)] * 3


def test_a_question_in_such_a_script_is_answered_by_words_alone(store: MemoryStore) -> None:
    store.remember(BACKUP)
    hits = store.recall("什么时候备份数据库？", explain=True)
    assert hits[0].memory.content == BACKUP
    assert all(hit.score == pytest.approx(0.0) or hit.memory.content == BACKUP for hit in hits)
