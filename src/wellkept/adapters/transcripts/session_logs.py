"""The session logs of coding agents, one JSON object a line: Claude Code and Codex.

What people and agents say is read. Calls of tools and their results, thoughts, side conversations, summaries, and what
the program itself puts in front of a prompt, are not.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any

from wellkept.adapters.foreign_records import time_of
from wellkept.adapters.transcripts.archives import Files
from wellkept.adapters.transcripts.json_fields import at, name_of, text_at, texts_of_parts
from wellkept.adapters.transcripts.json_values import objects_by_line
from wellkept.adapters.transcripts.tags import without_tags
from wellkept.core.transcripts.turns import Role, Said, Turn
from wellkept.errors import InvalidInput

_CLAUDE_TYPES = frozenset({"user", "assistant", "summary", "system", "attachment", "file-history-snapshot", "progress"})
_CODEX_TYPES = frozenset({"session_meta", "response_item", "event_msg", "turn_context", "compacted"})
_ROLES: Mapping[str, Role] = {"user": "person", "assistant": "agent"}
_NAMES: Mapping[Role, str] = {"person": "User", "agent": "Assistant"}
_NOT_SAID = ("Caveat: ", "[Request interrupted", "# AGENTS.md instructions", "This session is being continued from")
"""Starts of texts that the program puts in the place of a prompt."""


def is_claude_code(value: object) -> bool:
    """Whether a value is a line of a Claude Code session log."""
    return text_at(value, "type") in _CLAUDE_TYPES and (
        isinstance(at(value, "message"), dict) or bool(text_at(value, "sessionId") or text_at(value, "leafUuid"))
    )


def is_codex(value: object) -> bool:
    """Whether a value is a line of a Codex session log."""
    if text_at(value, "type") in _CODEX_TYPES:
        return isinstance(at(value, "payload"), dict)
    return bool(text_at(value, "id") and text_at(value, "timestamp") and at(value, "type") is None)


def claude_code(files: Files) -> Iterator[Said]:
    """The turns of Claude Code sessions, file by file; bad lines as errors."""
    for name in _logs(files):
        for line, value in objects_by_line(files.read(name), files.where(name)):
            if isinstance(value, InvalidInput):
                yield value
                continue
            role = _ROLES.get(text_at(value, "type"))
            aside = value.get("isSidechain") is True or value.get("isMeta") is True
            if role is None or aside or value.get("isCompactSummary") is True:
                continue
            session = text_at(value, "sessionId") or PurePosixPath(name).stem
            text = texts_of_parts(at(value, "message", "content"), "text")
            yield from _turn(session, value, line, text, role)


def codex(files: Files) -> Iterator[Said]:
    """The turns of Codex sessions, file by file; bad lines as errors."""
    for name in _logs(files):
        session = PurePosixPath(name).stem
        for line, value in objects_by_line(files.read(name), files.where(name)):
            if isinstance(value, InvalidInput):
                yield value
                continue
            payload = value["payload"] if isinstance(value.get("payload"), dict) else value
            if text_at(value, "type") == "session_meta" or line == 1 and is_codex(value) and payload is value:
                session = text_at(payload, "id") or session
            role = _ROLES.get(text_at(payload, "role"))
            if text_at(payload, "type") == "message" and role is not None:
                text = texts_of_parts(payload.get("content"), "input_text", "output_text", "text")
                yield from _turn(session, value, line, text, role)


def _logs(files: Files) -> list[str]:
    names = files.names()
    return [name for name in names if name.endswith(".jsonl")] if len(names) > 1 else names


def _turn(session: str, value: Mapping[str, Any], line: int, text: str, role: Role) -> Iterator[Turn]:
    said = without_tags(text) if role == "person" else text
    if said.strip() and not said.lstrip().startswith(_NOT_SAID):
        yield Turn(
            conversation=name_of(session, "session"),
            place=name_of(value.get("uuid"), str(line)),
            text=said,
            speaker=_NAMES[role],
            role=role,
            at=time_of(text_at(value, "timestamp").replace("Z", "+00:00")),
        )
