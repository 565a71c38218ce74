"""Markdown notes: which parts of a note become memories, and with which fields (issue 4, 8)."""

from __future__ import annotations

from pathlib import Path

import pytest

from adapters import foreign_stores
from wellkept.adapters import notes, read
from wellkept.adapters.foreign_records import Foreign, Unread

PIECES = [
    ("a list item each", "- one\n- two\n", [("", "one"), ("", "two")]),
    (
        "any mark of a list",
        "* one\n+ two\n1. three\n2) four\n",
        [("", "one"), ("", "two"), ("", "three"), ("", "four")],
    ),
    ("a paragraph", "one\ntwo\n\nthree\n", [("", "one\ntwo"), ("", "three")]),
    ("an item that goes on", "- one\n  more\n\n  and more\n- two\n", [("", "one\nmore\nand more"), ("", "two")]),
    ("an item within an item", "- one\n  - two\n", [("", "one"), ("", "two")]),
    ("a paragraph after a list", "- one\n\nafter\n", [("", "one"), ("", "after")]),
    ("headings above", "# A\n## B\none\n# C\ntwo\n", [("A › B", "one"), ("C", "two")]),
    ("a heading back up", "## B\none\n### C\ntwo\n## D\nthree\n", [("B", "one"), ("B › C", "two"), ("D", "three")]),
    ("code with what it belongs to", "run:\n\n```\n- x\n```\n\nlater\n", [("", "run:\n```\n- x\n```"), ("", "later")]),
    ("a fence within a longer fence", "````\n```\n# no\n````\none\n", [("", "````\n```\n# no\n````\none")]),
    ("rules and empty pieces", "one\n\n---\n\n- \n\n* * *\ntwo\n", [("", "one"), ("", "two")]),
    ("comments", "one <!-- two\nthree --> four\n", [("", "one  four")]),
    ("lines of another system", "- one\r\n- two\r\n", [("", "one"), ("", "two")]),
    ("a hash that is no heading", "#tag and more\n", [("", "#tag and more")]),
    ("a number that is no list", "3.5 litres\n", [("", "3.5 litres")]),
    ("every script", "# 会议\n- 测试数据库监听端口 5433。\n", [("会议", "测试数据库监听端口 5433。")]),
    ("front matter that never ends", "---\ntitle: A\n\none\n", [("", "title: A"), ("", "one")]),
    ("front matter's title once", "---\ntitle: A\n---\n# A\none\n", [("A", "one")]),
]


@pytest.mark.parametrize(("text", "wanted"), [case[1:] for case in PIECES], ids=[case[0] for case in PIECES])
def test_a_note_falls_into_its_pieces(text: str, wanted: list[tuple[str, str]], tmp_path: Path) -> None:
    path = tmp_path / "note.md"
    path.write_bytes(text.encode())
    found = list(notes.memories(path))
    assert all(isinstance(one, Foreign) for one in found)
    assert [(one.title, one.text) for one in found if isinstance(one, Foreign)] == wanted


def test_front_matter_and_names_give_tags_and_dates(tmp_path: Path) -> None:
    found = [one for one in notes.memories(foreign_stores.notes(tmp_path / "n")) if isinstance(one, Foreign)]
    dated, _, first = found[:3]
    assert dated.recorded_at == "2026-01-05T00:00:00+00:00"  # from the name of the file
    assert first.recorded_at == "2026-02-01T00:00:00+00:00"
    assert first.tags == ("team", "rules")
    assert first.metadata["owner"] == "ana"
    assert found[1].metadata["done"] is True
    assert not any("nobody reads this" in one.text for one in found)


def test_a_line_put_in_above_makes_no_news_of_what_follows(tmp_path: Path) -> None:
    """I5: a note that has grown is imported again, and only the new lines do anything."""
    path = tmp_path / "note.md"
    path.write_text("# A\n- one\n- two\n")
    before = {row.new.idempotency_key for row in read(path) if row.new is not None}
    path.write_text("# A\n- zero\n- one\n- two\n")
    after = {row.new.idempotency_key for row in read(path) if row.new is not None}
    assert before < after
    assert len(after - before) == 1


def test_what_cannot_be_read_as_text_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "b.md").write_bytes(b"x" * (notes.MOST_BYTES + 1))
    (tmp_path / "c.md").write_text("- one\n")
    found = list(notes.memories(tmp_path))
    assert [one.raw for one in found if isinstance(one, Unread)] == ["a.md", "b.md"]
    assert [one.text for one in found if isinstance(one, Foreign)] == ["one"]
