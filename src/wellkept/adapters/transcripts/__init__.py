"""Transcripts of conversations, read as turns: chat lines, exports of chat services, session logs, diaries.

Reading changes nothing, calls no model and asks no network. Sizes are bounded, and nothing is unpacked to the disk.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from wellkept.adapters import notes
from wellkept.adapters.transcripts import chat_exports, chat_lines, diaries, session_logs, slack
from wellkept.adapters.transcripts.archives import Files, files_of
from wellkept.adapters.transcripts.json_values import elements, objects_by_line
from wellkept.core.transcripts.turns import Said
from wellkept.errors import InvalidField, NotAStore, StorePathError
from wellkept.frozen import frozen

Reader: TypeAlias = Callable[[Files], Iterator[Said]]


@frozen
class Format:
    """A format of transcripts.

    Attributes:
        name: The value of `--format`.
        what: What it is.
        reader: Reads the files; None for diaries, which are read as notes.
        is_placed: Whether its conversations have ids of their own, so that a moved file is the same source.
    """

    name: str
    what: str
    reader: Reader | None = field(default=None, repr=False, compare=False)
    is_placed: bool = True


FORMATS: Mapping[str, Format] = {
    one.name: one
    for one in (
        Format("chat", "chat lines", chat_lines.turns, is_placed=False),
        Format("chatgpt", "a ChatGPT export", chat_exports.chatgpt),
        Format("claude", "a Claude export", chat_exports.claude),
        Format("claude-code", "Claude Code session logs", session_logs.claude_code),
        Format("codex", "Codex session logs", session_logs.codex),
        Format("slack", "a Slack export", slack.turns),
        Format("diary", "Markdown diaries", is_placed=False),
    )
}
_TODO = "Name the format: --format " + "|".join(FORMATS)
_PEEKED = 50


def read(path: Path, format: str = "") -> Iterator[Said]:
    """The turns of a transcript, conversation by conversation; what cannot be read as errors.

    Args:
        path: A file, a folder, or a zip archive.
        format: One of `FORMATS`; recognised by content if empty.

    Raises:
        StorePathError: It cannot be read.
        NotAStore: The format is not known, or a folder or archive holds too much.
        InvalidInput: It is damaged or too large; names file, line and what to do. Nothing of it is to be used.

    Example:
        >>> import pathlib, tempfile
        >>> file = pathlib.Path(tempfile.mkdtemp()) / "chat.txt"
        >>> _ = file.write_text("Ana: I moved to Graz.\\nBen: I like my new job.\\n", encoding="utf-8")
        >>> [(turn.speaker, turn.text) for turn in read(file)]
        [('Ana', 'I moved to Graz.'), ('Ben', 'I like my new job.')]
    """
    reader = recognise(path, format).reader
    return diaries.turns(path) if reader is None else reader(files_of(path))


def recognise(path: Path, format: str = "") -> Format:
    """The format of a transcript, by its content.

    Raises:
        InvalidField, StorePathError, NotAStore, InvalidInput: As `read`.
    """
    if format and format not in FORMATS:
        raise InvalidField(f"{format!r} is not a format", where="format", todo=f"Use one of: {', '.join(FORMATS)}")
    if not path.exists():
        raise StorePathError("there is no such file or folder", where=str(path), todo="Check the path")
    if format:
        return FORMATS[format]
    files = files_of(path)
    names = files.names()
    if not names:
        raise NotAStore("holds no files", where=str(path), todo="Name a transcript")
    if slack.is_export(names):
        return FORMATS["slack"]
    found = _by_content(files, names)
    if not found and (notes.is_note(path) or path.is_dir() and notes.has_notes(path)):
        found = "diary"
    if not found:
        raise NotAStore("is not a transcript of a known format", where=str(path), todo=_TODO)
    return FORMATS[found]


def _by_content(files: Files, names: list[str]) -> str:
    """The format of the first file that shows it; empty if none does."""
    for name in [name for name in names if chat_exports.FILE.search(name)] or names[:_PEEKED]:
        if name.endswith(".json"):
            value = next(elements(files.read(name), files.where(name)), None)
            inner = value.get("conversations") if isinstance(value, dict) else None
            value = inner[0] if isinstance(inner, list) and inner else value
            if chat_exports.is_chatgpt(value) or chat_exports.is_claude(value):
                return "chatgpt" if chat_exports.is_chatgpt(value) else "claude"
        elif name.endswith(".jsonl"):
            if found := _log(files, name):
                return found
        elif len(names) == 1 and not notes.is_note(Path(name)) and chat_lines.is_chat(files.read(name)):
            return "chat"
    return ""


def _log(files: Files, name: str) -> str:
    for (_, value), _ in zip(objects_by_line(files.read(name), files.where(name)), range(_PEEKED), strict=False):
        if session_logs.is_claude_code(value):
            return "claude-code"
        if session_logs.is_codex(value):
            return "codex"
    return ""


__all__ = ["FORMATS", "Format", "Said", "read", "recognise"]
