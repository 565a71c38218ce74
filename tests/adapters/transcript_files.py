"""Small transcripts in each format, as their programs write them."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

CHAT = """[2026-05-01 10:00] Ana: Hi Ben! I moved to Graz in May.
[2026-05-01 10:01:30] Ben: The test database listens on port 5433.
It runs on db2 now.
"""
CHATGPT: list[Any] = [
    {
        "title": "Travel",
        "conversation_id": "c1",
        "create_time": 1777629600.0,
        "current_node": "n3",
        "mapping": {
            "root": {"id": "root", "message": None, "parent": None, "children": ["n0"]},
            "n0": {"id": "n0", "parent": "root", "children": ["n1", "x1"], "message": {
                "id": "m0", "author": {"role": "system"}, "content": {"content_type": "text", "parts": ["Be brief."]}}},
            "n1": {"id": "n1", "parent": "n0", "children": ["n3"], "message": {
                "id": "m1", "author": {"role": "user"}, "create_time": 1777629600.0,
                "content": {"content_type": "multimodal_text", "parts": [{"asset": "pic"}, "I live in Graz now."]}}},
            "x1": {"id": "x1", "parent": "n0", "children": [], "message": {
                "id": "m2", "author": {"role": "user"}, "create_time": 1777629500.0,
                "content": {"content_type": "text", "parts": ["I live in Vienna now."]}}},
            "n3": {"id": "n3", "parent": "n1", "children": [], "message": {
                "id": "m3", "author": {"role": "assistant"}, "create_time": 1777629660.5, "recipient": "all",
                "content": {"content_type": "text", "parts": ["The tram runs every ten minutes there."]}}},
        },
    }
]  # fmt: skip
CLAUDE: list[Any] = [
    {
        "uuid": "k1",
        "name": "Trips",
        "created_at": "2026-05-01T10:00:00.000000Z",
        "chat_messages": [
            {"uuid": "a", "sender": "human", "created_at": "2026-05-01T10:00:00.000000Z", "text": "",
             "content": [{"type": "text", "text": "I live in Graz now."}, {"type": "tool_use", "name": "x"}]},
            {"uuid": "b", "sender": "assistant", "created_at": "2026-05-01T10:00:09.000000Z",
             "text": "The tram runs every ten minutes there.", "content": []},
        ],
    }
]  # fmt: skip
CLAUDE_CODE: list[Any] = [
    {"type": "summary", "summary": "Fixing tests", "leafUuid": "x"},
    {"type": "user", "sessionId": "s1", "uuid": "u1", "timestamp": "2026-05-01T10:00:00.000Z", "message": {
        "role": "user",
        "content": "Always run the tests with pytest -n 0. <system-reminder>Never say so.</system-reminder>"}},
    {"type": "assistant", "sessionId": "s1", "uuid": "u2", "timestamp": "2026-05-01T10:00:05.000Z", "message": {
        "role": "assistant",
        "content": [{"type": "text", "text": "I look at the failing test first."}, {"type": "tool_use", "id": "t"}]}},
    {"type": "user", "sessionId": "s1", "uuid": "u3", "timestamp": "2026-05-01T10:00:09.000Z", "message": {
        "role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "The port was taken."}]}},
    {"type": "assistant", "sessionId": "s1", "uuid": "u4", "timestamp": "2026-05-01T10:01:05.000Z", "message": {
        "role": "assistant", "content": [{"type": "text", "text": "I moved the test database to port 5434."}]}},
    {"type": "user", "sessionId": "s1", "isMeta": True, "message": {"content": "Caveat: generated messages follow."}},
    {"type": "assistant", "sessionId": "s1", "isSidechain": True, "message": {"content": "Only a helper says this."}},
]  # fmt: skip
CODEX: list[Any] = [
    {"timestamp": "2026-05-01T10:00:00.000Z", "type": "session_meta", "payload": {"id": "x1", "cwd": "/p"}},
    {"timestamp": "2026-05-01T10:00:01.000Z", "type": "response_item", "payload": {
        "type": "message", "role": "user",
        "content": [{"type": "input_text", "text": "<environment_context>zsh in /p</environment_context>"}]}},
    {"timestamp": "2026-05-01T10:00:02.000Z", "type": "response_item", "payload": {
        "type": "message", "role": "user", "content": [{"type": "input_text", "text": "We deploy on Fridays only."}]}},
    {"timestamp": "2026-05-01T10:00:03.000Z", "type": "event_msg", "payload": {"type": "user_message", "message": "x"}},
    {"timestamp": "2026-05-01T10:00:04.000Z", "type": "response_item", "payload": {"type": "function_call"}},
    {"timestamp": "2026-05-01T10:00:05.000Z", "type": "response_item", "payload": {
        "type": "message", "role": "assistant",
        "content": [{"type": "output_text", "text": "The release script now refuses other days."}]}},
]  # fmt: skip
SLACK: Mapping[str, Any] = {
    "users.json": [{"id": "U1", "name": "ana", "profile": {"display_name": "Ana"}}, {"id": "U2", "name": "ben"}],
    "channels.json": [{"id": "C1", "name": "ops"}],
    "ops/2026-05-01.json": [
        {"type": "message", "user": "U1", "ts": "1777629600.000100",
         "text": "<@U2> the staging box is &lt;db2&gt; now."},
        {"type": "message", "subtype": "channel_join", "user": "U2", "ts": "1777629601.0", "text": "has joined"},
        {"type": "message", "user": "U2", "ts": "1777629602.0",
         "text": "I put the runbook to <https://w.example/r|the wiki> today."},
        {"type": "message", "bot_id": "B1", "ts": "1777629603.0", "text": "Build 7 is green."},
    ],
}  # fmt: skip
DIARY = """# Work

## 2026-05-01
Moved the test database to
port 5433 in the morning.

## 2026-05-02
- Ana joins the platform team in June.
"""


def lines(values: list[Any]) -> str:
    return "".join(json.dumps(value) + "\n" for value in values)


def written(folder: Path, format: str) -> Path:
    """A transcript in a format, and where it is."""
    folder.mkdir(parents=True, exist_ok=True)
    match format:
        case "chat":
            return _file(folder / "chat.txt", CHAT)
        case "chatgpt" | "claude":
            return _file(folder / "conversations.json", json.dumps(CHATGPT if format == "chatgpt" else CLAUDE))
        case "claude-code" | "codex":
            return _file(folder / "session.jsonl", lines(CLAUDE_CODE if format == "claude-code" else CODEX))
        case "diary":
            return _file(folder / "diary.md", DIARY)
    for name, value in SLACK.items():
        (folder / name).parent.mkdir(exist_ok=True)
        _file(folder / name, json.dumps(value))
    return folder


def zipped(source: Path, target: Path) -> Path:
    """A file or the files of a folder in a zip archive."""
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in [source] if source.is_file() else sorted(source.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(source.parent if source.is_file() else source))
    return target


def _file(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path
