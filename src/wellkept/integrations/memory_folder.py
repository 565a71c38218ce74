"""A folder of text files made of memories, for models that keep their memory in files.

Each file is one memory: writing it goes through the gate, editing it is a `revise`, deleting it a `forget`. So every
edit is in the journal and can be undone. Memories that have no path lie in a folder of their kind.
"""

from __future__ import annotations

import posixpath
import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from wellkept.errors import InvalidField, use_one_of
from wellkept.integrations.keyed import KeyedRows, drop, rewrite, rows_of, write
from wellkept.types import Kind, Memory

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

ROOT = "/memories"
FIELD = "memory_folder"
"""The field of the metadata that holds the path, and the text of a file without words."""
MOST_LINES = 999_999
LONGEST_PATH = 500
_WIDTH = 6
_LEVELS = 2
_MOST_NOTES = 3
_AROUND = 2


class MemoryFolder:
    """The commands view, create, str_replace, insert, delete and rename, over the memories of a namespace.

    Args:
        memories: The namespace.
        kind: The kind of new files, which selects their policy.

    Example:
        >>> import wellkept
        >>> with wellkept.open("memory:", embedder="hashing") as store:
        ...     folder = MemoryFolder(store)
        ...     said = folder.run({"command": "create", "path": "/memories/tea.md", "file_text": "Tea is upstairs."})
        ...     print(folder.run({"command": "view", "path": "/memories/tea.md"}))
        Here's the content of /memories/tea.md with line numbers:
             1	Tea is upstairs.
    """

    def __init__(self, memories: MemoryStore, *, kind: Kind = "note") -> None:
        self.memories = memories
        self._kind = kind
        self._rows = KeyedRows(memories, path_of)
        self._editing = threading.RLock()

    def run(self, command: Mapping[str, Any]) -> str:
        """Run a command as the model wrote it; what the model is told.

        Raises:
            InvalidField: The command cannot be run; `what` says why, in words for the model. Nothing was changed.
        """
        named = command.get("command")
        verbs: Mapping[str, Callable[..., str]] = {
            "view": self.view,
            "create": self.create,
            "str_replace": self.str_replace,
            "insert": self.insert,
            "delete": self.delete,
            "rename": self.rename,
        }
        if not isinstance(named, str) or named not in verbs:
            raise InvalidField(f"Unknown command: {str(named)[:40]}", where="command", todo=use_one_of(named, verbs))
        given = {name: value for name, value in command.items() if name != "command" and value is not None}
        try:
            with self._editing:
                return verbs[named](**given)
        except TypeError as error:  # a field is missing, unknown, or of another type
            raise InvalidField(f"The command {named} cannot be run: {error}", where="command") from error

    def view(self, path: str, view_range: list[int] | None = None) -> str:
        """A file with line numbers, or the files of a folder."""
        place = checked(path)
        row = self._rows.newest(place) if place != ROOT else None
        if row is None:
            return self._listing(place)
        lines = text_of(row).split("\n")
        if len(lines) > MOST_LINES:
            raise InvalidField(f"File {place} exceeds maximum line limit of {MOST_LINES:,} lines")
        first, last = 1, len(lines)
        if view_range is not None:
            first, last = _range(view_range, len(lines))
        return f"Here's the content of {place} with line numbers:\n{_numbered(lines, first, last)}"

    def create(self, path: str, file_text: str) -> str:
        """A new file."""
        place, text = checked(path), _text("file_text", file_text)
        if place == ROOT or self._rows.newest(place) is not None or any(self._below(place)):
            raise InvalidField(f"File {place} already exists")
        for folder in _folders(place):
            if self._rows.newest(folder) is not None:
                raise InvalidField(f"The path {folder} is not a directory")
        content, record = _kept(place, text)
        row = write(self.memories, content, compared=content == text, kind=self._kind, metadata={FIELD: record})
        return f"File created successfully at: {place}{self._note(row)}"

    def str_replace(self, path: str, old_str: str, new_str: str = "") -> str:
        """A file with one part replaced, which must be there once."""
        place, row = self._file(path)
        old, new, text = _text("old_str", old_str), _text("new_str", new_str), text_of(row)
        count = text.count(old) if old else 0
        if not count:
            raise InvalidField(f"No replacement was performed, old_str `{old}` did not appear verbatim in {place}.")
        if count > 1:
            raise InvalidField(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{_lines_with(text, old)}. Please ensure it is unique"
            )
        at = text[: text.index(old)].count("\n") + 1
        edited = text.replace(old, new)
        row = self._save(place, row, edited)
        lines = edited.split("\n")
        shown = _numbered(lines, max(1, at - _AROUND), min(len(lines), at + new.count("\n") + _AROUND))
        said = "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
        return f"{said}\n{shown}{self._note(row)}"

    def insert(self, path: str, insert_line: int, insert_text: str) -> str:
        """A file with lines put in after a line; 0 is its beginning."""
        place, row = self._file(path)
        added, lines = _text("insert_text", insert_text), text_of(row).split("\n")
        if not lines[-1]:
            lines.pop()
        if not _is_from(insert_line, len(lines)):
            raise InvalidField(
                f"Invalid `insert_line` parameter: {str(insert_line)[:20]}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        lines[insert_line:insert_line] = [added.removesuffix("\n")]
        row = self._save(place, row, "\n".join(lines) + "\n")
        return f"The file {place} has been edited.{self._note(row)}"

    def delete(self, path: str) -> str:
        """A file, or all files of a folder, forgotten; `restore` and `undo` bring them back."""
        place = checked(path)
        if place == ROOT:
            raise InvalidField(f"Cannot delete the {ROOT} directory itself")
        for _, row in self._there(place):
            drop(self.memories, row)
        return f"Successfully deleted {place}"

    def rename(self, old_path: str, new_path: str) -> str:
        """A file or a folder under another path."""
        old, new = checked(old_path), checked(new_path)
        if ROOT in (old, new):
            raise InvalidField(f"Cannot rename the {ROOT} directory itself")
        moved = self._there(old)
        if self._rows.newest(new) is not None or any(self._below(new)) or new.startswith(f"{old}/"):
            raise InvalidField(f"The destination {new} already exists")
        for folder in _folders(new):
            if self._rows.newest(folder) is not None:
                raise InvalidField(f"The path {folder} is not a directory")
        for place, _ in moved:
            checked(new + place.removeprefix(old))
        for place, row in moved:
            _, record = _kept(new + place.removeprefix(old), text_of(row))
            self.memories.revise(row.id, metadata={**row.metadata, FIELD: record})
        return f"Successfully renamed {old} to {new}"

    def files(self) -> dict[str, str]:
        """Every path with its text, in order."""
        return dict(sorted((path_of(row), text_of(row)) for row in rows_of(self.memories) if _is_shown(row)))

    # ------------------------------------------------------------------ the memories behind it

    def _file(self, path: str) -> tuple[str, Memory]:
        place = checked(path)
        row = self._rows.newest(place)
        if row is None:
            if place == ROOT or any(self._below(place)):
                raise InvalidField(f"The path {place} is not a file.")
            raise InvalidField(f"The path {place} does not exist. Please provide a valid path.")
        return place, row

    def _there(self, place: str) -> list[tuple[str, Memory]]:
        """The file at a path, or the files below it."""
        row = self._rows.newest(place)
        found = [(place, row)] if row is not None else list(self._below(place))
        if not found:
            raise InvalidField(f"The path {place} does not exist")
        return found

    def _below(self, place: str) -> Iterator[tuple[str, Memory]]:
        for row in rows_of(self.memories):
            if _is_shown(row) and path_of(row).startswith(f"{place}/"):
                yield path_of(row), row

    def _save(self, place: str, row: Memory, text: str) -> Memory:
        content, record = _kept(place, text)
        return rewrite(self.memories, row, content, metadata={**row.metadata, FIELD: record})

    def _note(self, row: Memory) -> str:
        """What the gate found, for the model; empty if it found nothing."""
        notes = []
        if row.status == "wording":
            head = self.memories.get(row.superseded_by, touch=False)
            notes.append(f"The same is said in {path_of(head)}.")
        for conflict in self.memories.conflicts(row.id)[:_MOST_NOTES]:
            other = conflict.b if conflict.a == row.id else conflict.a
            there = path_of(self.memories.get(other, touch=False))
            notes.append(f"Possible {conflict.kind}: compare {there}.")
        return "".join(f"\nNote: {note}" for note in notes)

    def _listing(self, place: str) -> str:
        found = list(self._below(place))
        if not found and place != ROOT:
            raise InvalidField(f"The path {place} does not exist. Please provide a valid path.")
        sizes: dict[str, int] = {}
        for path, row in found:
            parts = path.removeprefix(f"{place}/").split("/")
            if any(part.startswith(".") for part in parts):
                continue
            size = len(text_of(row).encode("utf-8", "surrogatepass"))
            for depth in range(1, min(len(parts), _LEVELS) + 1):
                end = "/" if depth < len(parts) else ""
                shown = f"{place}/{'/'.join(parts[:depth])}{end}"
                sizes[shown] = sizes.get(shown, 0) + size
        whole = sum(len(text_of(row).encode("utf-8", "surrogatepass")) for _, row in found)
        lines = [f"{_size(whole)}\t{place}", *(f"{_size(size)}\t{shown}" for shown, size in sorted(sizes.items()))]
        said = f"Here're the files and directories up to {_LEVELS} levels deep in {place}, excluding hidden items:"
        return "\n".join((said, *lines))


def checked(path: object) -> str:
    """A path in the folder, in normal form.

    Raises:
        InvalidField: It lies outside, or is no path.

    Example:
        >>> checked("/memories//a/./b.md")
        '/memories/a/b.md'
    """
    if not isinstance(path, str) or not path.isprintable() or len(path) > LONGEST_PATH:
        raise InvalidField(f"{str(path)[:40]!r} is no path of at most {LONGEST_PATH} characters")
    if path != ROOT and not path.startswith(f"{ROOT}/"):
        raise InvalidField(f"Path must start with {ROOT}, got: {path}")
    place = posixpath.normpath(path)
    if place != ROOT and not place.startswith(f"{ROOT}/"):
        raise InvalidField(f"Path {path} would escape {ROOT} directory")
    return place


def path_of(row: Memory) -> str:
    """The path of a memory; one that no command wrote lies in a folder of its kind."""
    held = row.metadata.get(FIELD)
    if isinstance(held, Mapping) and isinstance(held.get("path"), str):
        return str(held["path"])
    return f"{ROOT}/{row.kind.replace('/', '_')}/{row.id[-8:]}.md"


def text_of(row: Memory) -> str:
    """The text of a file."""
    held = row.metadata.get(FIELD)
    return str(held["text"]) if isinstance(held, Mapping) and isinstance(held.get("text"), str) else row.content


def _is_shown(row: Memory) -> bool:
    """Files are there until they are deleted; other memories, while they hold."""
    return row.status == "active" or FIELD in row.metadata


def _kept(place: str, text: str) -> tuple[str, dict[str, str]]:
    """Content and record of a file; one without words is kept in the record, since a memory says something."""
    return (text, {"path": place}) if text.strip() else (f"Empty file {place}", {"path": place, "text": text})


def _folders(place: str) -> Iterator[str]:
    """The folders a path lies in, below the root."""
    parts = place.removeprefix(f"{ROOT}/").split("/")
    for end in range(1, len(parts)):
        yield f"{ROOT}/{'/'.join(parts[:end])}"


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidField(f"{name} must be a text, not {type(value).__name__}")
    return value


def _is_from(given: object, most: int) -> bool:
    """Whether a value is a whole number from 0 to another one."""
    return isinstance(given, int) and not isinstance(given, bool) and 0 <= given <= most


def _range(given: object, whole: int) -> tuple[int, int]:
    numbers = given if isinstance(given, list | tuple) else ()
    if len(numbers) != 2 or any(isinstance(one, bool) or not isinstance(one, int) for one in numbers):
        raise InvalidField("Invalid `view_range` parameter: it must be two line numbers, [first, last]")
    first, last = numbers[0], whole if numbers[1] == -1 else numbers[1]
    if not 1 <= first <= last:
        raise InvalidField(f"Invalid `view_range` parameter: [{first}, {last}] of a file of {whole} lines")
    return first, min(last, whole)


def _numbered(lines: list[str], first: int, last: int) -> str:
    return "\n".join(f"{number:>{_WIDTH}}\t{lines[number - 1]}" for number in range(first, last + 1))


def _lines_with(text: str, part: str) -> str:
    """The lines in which a part of a text begins."""
    found, at = [], text.find(part)
    line, before = 1, 0
    while at >= 0:
        line += text.count("\n", before, at)
        found.append(line)
        before, at = at, text.find(part, at + len(part))
    return ", ".join(map(str, dict.fromkeys(found)))


def _size(size: int) -> str:
    number, unit = float(size), 0
    while number >= 1024 and unit < 3:
        number, unit = number / 1024, unit + 1
    return f"{number:.1f}".removesuffix(".0") + "BKMG"[unit]
