"""The data exports of two chat services: `conversations.json`, alone, in its folder, or in the archive as downloaded.

ChatGPT keeps a conversation as a tree of messages; the branch that was shown last is read. Claude keeps a list.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from wellkept.adapters.foreign_records import time_of
from wellkept.adapters.transcripts.archives import Files
from wellkept.adapters.transcripts.json_fields import at, name_of, text_at, texts_of_parts
from wellkept.adapters.transcripts.json_values import elements
from wellkept.core.transcripts.turns import Role, Said, Turn
from wellkept.errors import InvalidInput

FILE = re.compile(r"(?:^|/)conversations(?:[-_ ]?\d+)?\.json$")
_ROLES: Mapping[str, Role] = {"user": "person", "human": "person", "assistant": "agent"}
_NAMES: Mapping[Role, str] = {"person": "User", "agent": "Assistant"}


def is_chatgpt(value: object) -> bool:
    """Whether a value is a conversation of a ChatGPT export."""
    return isinstance(at(value, "mapping"), dict)


def is_claude(value: object) -> bool:
    """Whether a value is a conversation of a Claude export."""
    return isinstance(at(value, "chat_messages"), list)


def conversations(files: Files) -> list[str]:
    """The files that hold conversations."""
    names = files.names()
    return [name for name in names if FILE.search(name)] or names[: len(names) == 1]


def chatgpt(files: Files) -> Iterator[Said]:
    """The turns of a ChatGPT export, conversation by conversation.

    Raises:
        InvalidInput: A file is no such export; names the file, the line and what to do.
    """
    for name, number, value in _all(files):
        if not is_chatgpt(value):
            yield _unlike(files.where(name), number, "mapping")
            continue
        conversation = text_at(value, "conversation_id") or text_at(value, "id") or f"{name}#{number}"
        for message in _shown(value):
            role = _ROLES.get(text_at(message, "author", "role"))
            hidden = at(message, "metadata", "is_visually_hidden_from_conversation") is True
            if role is None or hidden or (text_at(message, "recipient") or "all") != "all":
                continue
            text = _parts(at(message, "content"))
            if text:
                yield _turn(conversation, message.get("id"), text, role, message.get("create_time"))


def claude(files: Files) -> Iterator[Said]:
    """The turns of a Claude export, conversation by conversation.

    Raises:
        InvalidInput: A file is no such export; names the file, the line and what to do.
    """
    for name, number, value in _all(files):
        if not is_claude(value):
            yield _unlike(files.where(name), number, "chat_messages")
            continue
        conversation = text_at(value, "uuid") or f"{name}#{number}"
        for message in value["chat_messages"]:
            role = _ROLES.get(text_at(message, "sender"))
            text = texts_of_parts(at(message, "content"), "text") or text_at(message, "text")
            if role is not None and text:
                yield _turn(conversation, message.get("uuid"), text, role, message.get("created_at"))


def _all(files: Files) -> Iterator[tuple[str, int, Any]]:
    """The conversations of all files, each with its file and its number."""
    for name in conversations(files):
        where = files.where(name)
        for number, value in enumerate(elements(files.read(name), where), start=1):
            inner = at(value, "conversations")
            for one in inner if isinstance(inner, list) else [value]:
                yield name, number, one


def _shown(conversation: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The messages from the first to the one that was shown last; without that, in the order of the file."""
    nodes = conversation["mapping"]
    branch: list[Mapping[str, Any]] = []
    seen: set[str] = set()
    name = text_at(conversation, "current_node")
    while name in nodes and name not in seen:
        seen.add(name)
        branch.append(nodes[name])
        name = text_at(nodes[name], "parent")
    found = branch[::-1] or list(nodes.values())
    return [node["message"] for node in found if isinstance(at(node, "message"), dict)]


def _parts(content: object) -> str:
    """The text of a message; code, pictures and the output of tools are none."""
    if text_at(content, "content_type") not in ("text", "multimodal_text", ""):
        return ""
    parts = at(content, "parts")
    texts = [part if isinstance(part, str) else text_at(part, "text") for part in parts] if type(parts) is list else []
    return "\n".join(text for text in texts if text)


def _turn(conversation: str, place: object, text: str, role: Role, at: object) -> Turn:
    return Turn(
        conversation=name_of(conversation, "conversation"),
        place=name_of(place, ""),
        text=text,
        speaker=_NAMES[role],
        role=role,
        at=time_of(at),
    )


def _unlike(where: str, number: int, key: str) -> InvalidInput:
    return InvalidInput(
        f"conversation {number} has no {key}", where=where, todo="Name the format with --format, or remove it"
    )
