"""Folders of Markdown notes: each list item and each paragraph becomes a memory, with its headings as title.

Tags and date come from the front matter, or the date from the file name. The modification time is not used, because a
copy or checkout changes it. Sizes are limited, symbolic links are not followed, and hidden folders are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from wellkept.adapters.folders import files_below
from wellkept.adapters.foreign_records import Foreign, Found, Unread, time_of
from wellkept.core.text.forms import decode
from wellkept.errors import InvalidInput, InvalidText, NotAStore

ENDINGS = (".md", ".markdown")
MOST_FILES = 20_000
MOST_BYTES = 4_000_000
_MOST_TITLE = 200
"""Most characters of a heading, which is repeated in the title of every memory below it."""
_FENCE = re.compile(r"^\s{0,3}(```+|~~~+)")
_HEADING = re.compile(r"^(#{1,6})\s+(.*)$")
_ITEM = re.compile(r"^(\s*)(?:[-*+]|\d{1,9}[.)])\s+(?:\[([ xX])\]\s+)?(.*)$")
_RULE = re.compile(r"^\s{0,3}([-*_])(?:\s*\1){2,}\s*$")
DATED = re.compile(r"(?<!\d)(\d{4}-\d{2}-\d{2})(?!\d)")
"""A day as ISO 8601 in a text or a name."""
_KEY = re.compile(r"^([A-Za-z_][\w-]*):\s*(.*)$")
_DATES = ("created", "date", "created_at", "day", "updated")
_TAG_MARKS = "#\"' "


def is_note(path: Path) -> bool:
    """Whether a file name is that of a Markdown note."""
    return path.suffix.lower() in ENDINGS


def has_notes(folder: Path) -> bool:
    """Whether a folder contains a note."""
    return any(map(is_note, files_below(folder)))


def memories(path: Path) -> Iterator[Found]:
    """The items and paragraphs of a note, or of all notes of a folder in the order of their names.

    Raises:
        NotAStore: The folder holds too many files.
        StorePathError: A folder cannot be read.
    """
    if path.is_file():
        files = [path]
        root = path.parent
    else:
        root = path
        files = []
        for file in filter(is_note, files_below(path)):
            files.append(file)
            if len(files) > MOST_FILES:
                todo = "Name a folder below it"
                raise NotAStore(f"holds more than {MOST_FILES} notes", where=str(path), todo=todo)
        files.sort(key=lambda file: file.relative_to(root).parts)
    for file in files:
        yield from _of_file(file, file.relative_to(root).as_posix())


# --------------------------------------------------------------------------------------------
# One file


@dataclass
class _Block:
    """A block of a note, collected line by line."""

    lines: list[str]
    title: str
    indent: int = -1
    done: bool | None = None


@dataclass
class _Note:
    """Front matter of a note."""

    title: str = ""
    tags: tuple[str, ...] = ()
    date: str = ""
    rest: dict[str, object] = field(default_factory=dict)


def _of_file(file: Path, name: str) -> Iterator[Found]:
    try:
        with file.open("rb") as data:
            raw = data.read(MOST_BYTES + 1)
    except OSError as error:
        why = InvalidInput(f"cannot be read: {error.strerror}", where=name, todo="Check its permissions")
        yield Unread(raw=name, why=why)
        return
    if len(raw) > MOST_BYTES:
        yield Unread(
            raw=name, why=InvalidInput(f"is larger than {MOST_BYTES // 1_000_000} MB", where=name, todo="Split it")
        )
        return
    try:
        text = decode(raw)
    except InvalidText as error:
        yield Unread(raw=name, why=InvalidText(error.what, where=name, todo=error.todo))
        return
    note, body = _front_matter(text.replace("\r\n", "\n").replace("\r", "\n"))
    if not note.date and (dated := DATED.search(name)):
        note.date = time_of(dated.group(1))
    for block in _blocks(_without_comments(body), note.title):
        text = "\n".join(block.lines).strip()
        if any(char.isalnum() for char in text):
            yield _memory(block, text, note, name)


def _without_comments(text: str) -> str:
    """The text without `<!-- comments -->`; an unclosed comment is kept as text."""
    pieces: list[str] = []
    at = 0
    while (start := text.find("<!--", at)) >= 0 and (end := text.find("-->", start + 4)) >= 0:
        pieces.append(text[at:start])
        at = end + 3
    return "".join((*pieces, text[at:]))


def _name(heading: str) -> str:
    """A heading without closing marks."""
    return heading.rstrip().rstrip("#").rstrip()[:_MOST_TITLE]


def _memory(block: _Block, text: str, note: _Note, name: str) -> Foreign:
    about: dict[str, object] = {"file": name, **note.rest}
    if block.done is not None:
        about["done"] = block.done
    return Foreign(
        # Without a line number, because an inserted line would change the ids of all later blocks.
        id=f"{name}#{block.title}" if block.title else name,
        text=text,
        title=block.title,
        kind="note",
        tags=note.tags,
        recorded_at=note.date,
        metadata=about,
    )


def _front_matter(text: str) -> tuple[_Note, str]:
    """The front matter (keys with values or lists), and the text after it."""
    note = _Note()
    lines = text.split("\n")
    if not lines or lines[0].strip() != "---":
        return note, text
    end = next((at for at, line in enumerate(lines[1:], start=1) if line.strip() in ("---", "...")), None)
    if end is None:
        return note, text
    fields: dict[str, list[str]] = {}
    key = ""
    for line in lines[1:end]:
        if found := _KEY.match(line):
            key = found.group(1).lower()
            fields[key] = _values(found.group(2))
        elif key and line.strip().startswith("- "):
            fields[key] += _values(line.strip()[2:])
    note.title = " ".join(fields.pop("title", []))[:_MOST_TITLE]
    tags = [part.strip(_TAG_MARKS) for name in ("tags", "tag") for part in fields.pop(name, [])]
    note.tags = tuple(dict.fromkeys(tag for tag in tags if tag))
    note.date = next((time for name in _DATES if (time := time_of(" ".join(fields.get(name, []))))), "")
    note.rest = {name: values[0] if len(values) == 1 else values for name, values in fields.items() if values}
    return note, "\n".join(lines[end + 1 :])


def _values(text: str) -> list[str]:
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        text = text[1:-1]
        return [part.strip().strip("\"'") for part in text.split(",") if part.strip()]
    plain = text.strip("\"'")
    return [plain] if plain else []


@dataclass
class _Reader:
    """Splits a note into blocks, line by line: list items and paragraphs.

    A code block belongs to the block before it.
    """

    title: str
    path: list[tuple[int, str]] = field(default_factory=list)
    block: _Block | None = None
    fence: str = ""
    parted: bool = True

    def take(self, line: str) -> _Block | None:
        """Process one line; returns the block that it ends, if any."""
        marks = _FENCE.match(line)
        if self.fence or marks:
            self._code(line, marks.group(1) if marks else "")
            return None
        if not line.strip():
            self.parted = True
            return None
        heading, item, rule = _HEADING.match(line), _ITEM.match(line), _RULE.match(line)
        starts = heading or item or rule or (self.parted and not self._goes_on(line))
        ended = self.block if starts else None
        self.parted = False
        if starts:
            self.block = None
        if heading:
            level = len(heading.group(1))
            self.path = [(depth, name) for depth, name in self.path if depth < level] + [
                (level, _name(heading.group(2)))
            ]
        elif item and not rule:
            done = None if item.group(2) is None else item.group(2) in "xX"
            self.block = _Block([item.group(3)], self._title(), len(item.group(1)), done)
        elif not rule:
            self._add(line.strip())
        return ended

    def _code(self, line: str, marks: str) -> None:
        self._add(line.rstrip())
        self.parted = False
        if not self.fence:
            self.fence = marks
        elif marks.startswith(self.fence) and not line.strip().strip(self.fence[0]):
            self.fence = ""

    def _add(self, line: str) -> None:
        if self.block is None:
            self.block = _Block([], self._title())
        self.block.lines.append(line)

    def _goes_on(self, line: str) -> bool:
        """Whether a line after an empty one continues the list item."""
        indent = len(line) - len(line.lstrip())
        return self.block is not None and self.block.indent >= 0 and indent > self.block.indent + 1

    def _title(self) -> str:
        names = [name for _, name in self.path if name]
        return " › ".join(names if not self.title or names[:1] == [self.title] else [self.title, *names])


def _blocks(text: str, title: str) -> Iterator[_Block]:
    reader = _Reader(title)
    for line in text.split("\n"):
        ended = reader.take(line)
        if ended is not None:
            yield ended
    if reader.block is not None:
        yield reader.block
