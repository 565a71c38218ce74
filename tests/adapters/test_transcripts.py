"""Transcripts of every format, read as turns: who said what, when; and files that are none."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from adapters import transcript_files
from adapters.transcript_files import written, zipped
from wellkept.adapters.transcripts import FORMATS, archives, read, recognise
from wellkept.core.transcripts.turns import Turn
from wellkept.errors import InvalidInput, NotAStore, StorePathError, WellkeptError

SAID = {
    "chat": [
        ("Ana", "2026-05-01T10:00", "Hi Ben! I moved to Graz in May."),
        ("Ben", "2026-05-01T10:01", "The test database listens on port 5433.\nIt runs on db2 now."),
    ],
    "chatgpt": [
        ("User", "2026-05-01T10:00", "I live in Graz now."),
        ("Assistant", "2026-05-01T10:01", "The tram runs every ten minutes there."),
    ],
    "claude": [
        ("User", "2026-05-01T10:00", "I live in Graz now."),
        ("Assistant", "2026-05-01T10:00", "The tram runs every ten minutes there."),
    ],
    "claude-code": [
        ("User", "2026-05-01T10:00", "Always run the tests with pytest -n 0. "),
        ("Assistant", "2026-05-01T10:00", "I look at the failing test first."),
        ("Assistant", "2026-05-01T10:01", "I moved the test database to port 5434."),
    ],
    "codex": [
        ("User", "2026-05-01T10:00", "We deploy on Fridays only."),
        ("Assistant", "2026-05-01T10:00", "The release script now refuses other days."),
    ],
    "slack": [
        ("Ana", "2026-05-01T10:00", "ben the staging box is <db2> now."),
        ("ben", "2026-05-01T10:00", "I put the runbook to the wiki today."),
    ],
    "diary": [
        ("", "2026-05-01T00:00", "Moved the test database to port 5433 in the morning."),
        ("", "2026-05-02T00:00", "Ana joins the platform team in June."),
    ],
}
PLACES = {"chatgpt": "c1", "claude": "k1", "claude-code": "s1", "codex": "x1", "slack": "ops"}


def turns(path: Path, format: str = "") -> list[Turn]:
    found = list(read(path, format))
    assert all(isinstance(one, Turn) for one in found), found
    return [one for one in found if isinstance(one, Turn)]


def test_every_format_is_tried() -> None:
    assert SAID.keys() == FORMATS.keys()


@pytest.mark.parametrize("format", SAID)
def test_a_transcript_is_recognised_and_gives_who_said_what_and_when(tmp_path: Path, format: str) -> None:
    path = written(tmp_path / "in", format)
    assert recognise(path).name == format
    assert [(turn.speaker, turn.at[:16], turn.text) for turn in turns(path)] == SAID[format]
    assert all(turn.place for turn in turns(path))
    assert {turn.conversation for turn in turns(path)} == {PLACES.get(format, path.name)}


@pytest.mark.parametrize("format", ["chatgpt", "claude", "slack", "claude-code"])
def test_an_archive_gives_the_same_as_its_folder(tmp_path: Path, format: str) -> None:
    path = written(tmp_path / "in", format)
    assert turns(zipped(path, tmp_path / "export.zip")) == turns(path)


@pytest.mark.parametrize(
    ("lines", "at"),
    [
        (
            ["31.12.25, 21:15 - Ana: A happy new year.", "01.01.26, 09:00 - Ben: The same."],
            "2025-12-31T21:15",
        ),
        (["12/31/25, 9:15 PM - Ana: A happy new year.", "1/1/26, 9:00 AM - Ben: The same to you."], "2025-12-31T21:15"),
        (["[2026-05-01T23:30:00+02:00] Ana: It is late now.", "[2026-05-02] Ben: x: y"], "2026-05-01T21:30"),
        (["5/6/26, 9:15 PM - Ana: It is a nice day.", "5/7/26, 9:00 AM - Ben: So it is here."], ""),
        (["Ana: I moved to Graz.", "Ben: I like my new job."], ""),
    ],
    ids=["day first", "month first", "zone", "day or month", "no time"],
)
def test_times_are_read_where_they_are_sure(tmp_path: Path, lines: list[str], at: str) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    assert turns(path, "chat")[0].at[:16] == at and turns(path, "chat")[0].speaker == "Ana"


@pytest.mark.parametrize(
    ("line", "speaker", "at", "text"),
    [
        ("2026-01-04 Ana: ok thanks", "Ana", "2026-01-04T00:00", "ok thanks"),
        ("2026-01-04 10:05 Ana: ok thanks", "Ana", "2026-01-04T10:05", "ok thanks"),
        ("2026-01-04T10:05:09Z Ana: ok thanks", "Ana", "2026-01-04T10:05", "ok thanks"),
        ("2026-01-04, Ana: ok thanks", "Ana", "2026-01-04T00:00", "ok thanks"),
        ("2026-01-04: Ana: ok thanks", "Ana", "2026-01-04T00:00", "ok thanks"),
        ("[2026-01-04] Ana: ok: thanks", "Ana", "2026-01-04T00:00", "ok: thanks"),
        ("04.01.2026 - Jürgen Groß: Danke dir", "Jürgen Groß", "2026-01-04T00:00", "Danke dir"),
        ("2026/01/04 アナ：了解です", "アナ", "2026-01-04T00:00", "了解です"),
        ("2026-01-04 10:05 安娜：好的", "安娜", "2026-01-04T10:05", "好的"),
        ("2026-01-04 Аня: хорошо, спасибо", "Аня", "2026-01-04T00:00", "хорошо, спасибо"),
        ("٢٠٢٦-٠١-٠٤ آنا: شكرا لك", "آنا", "2026-01-04T00:00", "شكرا لك"),
        ("2026-01-04 אנה: תודה רבה", "אנה", "2026-01-04T00:00", "תודה רבה"),
        ("2026-01-04 10:05 अना: ठीक है", "अना", "2026-01-04T10:05", "ठीक है"),
        ("2026-01-04 อานา: ขอบคุณ", "อานา", "2026-01-04T00:00", "ขอบคุณ"),
    ],
)
def test_a_date_without_brackets_is_no_part_of_what_is_said(
    tmp_path: Path, line: str, speaker: str, at: str, text: str
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text(f"{line}\n{line}\n", encoding="utf-8")
    assert recognise(path).name == "chat"
    assert [(one.speaker, one.at[:16], one.text) for one in turns(path)] == 2 * [(speaker, at, text)]


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["2026-05-01 Ana: hello", "2026-05-02 Ben: I like it here"], [("Ana", "hello"), ("Ben", "I like it here")]),
        (["2026-05-01 Ana: done", "2026-05-02 Ana: merged"], [("Ana", "done"), ("Ana", "merged")]),
        (["2026-05-01 10:00 Ana: done", "2026-05-02 Ana: merged"], [("Ana", "done"), ("Ana", "merged")]),
        (["2026-05-01 10:00 Release: done"], [("Release", "done")]),
        (
            ["2026-05-01 Release: the new version runs.", "2026-05-02 Ana: I like it"],
            [("", "Release: the new version runs."), ("Ana", "I like it")],
        ),
        (
            ["2026-05-01 Ana: hello", "[2026-05-02] Release: v2 is out.", "It is fast.", "2026-05-03 Ana: thanks"],
            [("Ana", "hello"), ("", "Release: v2 is out.\nIt is fast."), ("Ana", "thanks")],
        ),
        (["01.05.2026 - Besprechung: Der Umzug beginnt."], [("", "Besprechung: Der Umzug beginnt.")]),
        (["2026-05-01 Выпуск: новая версия"], [("", "Выпуск: новая версия")]),
        (["2026/05/01 発表：新しい版"], [("", "発表：新しい版")]),
    ],
)
def test_behind_a_date_alone_a_label_that_stands_once_does_not_speak(
    tmp_path: Path, lines: list[str], said: list[tuple[str, str]]
) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    found = turns(path, "chat")
    assert [(one.speaker, one.text) for one in found] == said and all(one.at for one in found)


def test_a_date_without_a_name_belongs_to_what_is_said(tmp_path: Path) -> None:
    path = tmp_path / "chat.txt"
    path.write_text("2026-01-04 Ana: We meet twice.\n2026-01-11 and then\n1.2.3 Ana: is a version\n", encoding="utf-8")
    assert [one.text for one in turns(path, "chat")] == ["We meet twice.\n2026-01-11 and then\n1.2.3 Ana: is a version"]


def test_a_bad_line_of_a_log_is_told_with_file_and_line_and_the_others_are_read(tmp_path: Path) -> None:
    path = written(tmp_path, "claude-code")
    whole = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([whole[1], "{half\n", "[1]\n", whole[4]]), encoding="utf-8")
    found = list(read(path))
    assert [type(one).__name__ for one in found] == ["Turn", "InvalidInput", "InvalidInput", "Turn"]
    assert [one.where for one in found if isinstance(one, InvalidInput)] == [f"{path}, line 2", f"{path}, line 3"]
    assert all(one.todo for one in found if isinstance(one, InvalidInput))


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b'[{"mapping": {}, "title": "a"},\n {"mapping": ', "element 2 is not JSON"),
        (b'[{"mapping": {}}\n', "it ends before the array does"),
        (b'[{"mapping": {"a": ' + b"[" * 100_000, "levels of nesting"),
        (b'[{"mapping": {"a": "\xff"}}]', "is not UTF-8"),
    ],
)
def test_a_damaged_export_is_refused_as_a_whole_with_file_and_line(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "conversations.json"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="line ") as caught:
        list(read(path, "chatgpt"))
    assert word in caught.value.what and str(path) in caught.value.where and caught.value.todo


@pytest.mark.parametrize(
    "value", [7, [7], [{"mapping": 7}], [{"mapping": {"a": 7}}], [{"mapping": {"a": {"message": {"author": 7}}}}], {}]
)
@pytest.mark.parametrize("format", ["chatgpt", "claude", "slack", "claude-code", "codex"])
def test_json_of_any_shape_gives_turns_or_typed_errors(tmp_path: Path, format: str, value: Any) -> None:
    name = {"slack": "ops/2026-05-01.json"}.get(format, "conversations.json")
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(json.dumps(value), encoding="utf-8")
    try:
        found = list(read(tmp_path, format))
    except WellkeptError as error:
        found = [error]  # type: ignore[list-item]
    assert not any(isinstance(one, Turn) for one in found)


def test_a_circle_of_messages_ends(tmp_path: Path) -> None:
    mapping = {name: {"parent": other, "message": None} for name, other in (("a", "b"), ("b", "a"))}
    path = tmp_path / "conversations.json"
    path.write_text(json.dumps([{"mapping": mapping, "current_node": "a"}]), encoding="utf-8")
    assert turns(path) == []


def test_a_zip_bomb_is_refused_after_what_it_may_become(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_PLAIN", 1 << 20)
    path = tmp_path / "bomb.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b" " * (8 << 20) + b"]")
    with pytest.raises(InvalidInput, match="is larger than") as caught:
        list(read(path, "chatgpt"))
    assert "conversations.json" in caught.value.where and caught.value.todo


def test_the_size_that_an_archive_states_is_not_believed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "MOST_BYTES", 1 << 20)
    path = tmp_path / "liar.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", b"[" + b" " * (2 << 20) + b"]")
    raw = path.read_bytes().replace((2 + (2 << 20)).to_bytes(4, "little"), (9).to_bytes(4, "little"))
    path.write_bytes(raw)
    with pytest.raises((InvalidInput, StorePathError)):
        list(read(path, "chatgpt"))


def test_an_encrypted_or_damaged_archive_is_told(tmp_path: Path) -> None:
    path = zipped(written(tmp_path / "in", "chatgpt"), tmp_path / "export.zip")
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(NotAStore, match="damaged"):
        list(read(path))
    central = whole.find(b"PK\x01\x02") + 8
    path.write_bytes(whole[:central] + b"\x01" + whole[central + 1 :])
    with pytest.raises(InvalidInput, match="encrypted"):
        list(read(path, "chatgpt"))


def test_a_file_or_archive_with_too_much_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = written(tmp_path / "in", "chat")
    monkeypatch.setattr(archives, "MOST_BYTES", 10)
    with pytest.raises(InvalidInput, match="is larger than"):
        list(read(path, "chat"))
    monkeypatch.setattr(archives, "MOST_FILES", 1)
    with pytest.raises(NotAStore, match="more than 1 files"):
        list(read(written(tmp_path / "slack", "slack")))


@pytest.mark.parametrize(
    ("name", "content"),
    [("notes.txt", b"Nobody speaks here.\nNobody does.\n"), ("x.json", b'{"a": 1}'), ("x.jsonl", b'{"a": 1}\n')],
)
def test_what_is_no_transcript_is_told_with_the_formats(tmp_path: Path, name: str, content: bytes) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(NotAStore) as caught:
        recognise(path)
    assert "--format" in caught.value.todo and "slack" in caught.value.todo


def test_a_path_or_format_that_is_none_is_told(tmp_path: Path) -> None:
    with pytest.raises(StorePathError):
        recognise(tmp_path / "nothing")
    with pytest.raises(WellkeptError, match="is not a format"):
        recognise(tmp_path, "wordstar")
    with pytest.raises(NotAStore, match="holds no files"):
        recognise(tmp_path)


def test_the_files_of_these_tests_hold_what_is_left_out() -> None:
    """What no reader gives stands in the files: else nothing would be shown by its absence."""
    whole = json.dumps([transcript_files.CLAUDE_CODE, transcript_files.CODEX, dict(transcript_files.SLACK)])
    for text in ("Never say so.", "The port was taken.", "Only a helper says this.", "zsh in /p", "Build 7 is green."):
        assert text in whole
