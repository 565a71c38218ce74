"""Adapters: read the memory stores of other tools as rows of an import.

`read` yields each memory as a checked row, or an error row that names the reason. Nothing is written, no model is
called, and there is no network access.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TypeAlias

from wellkept.adapters import chroma, json_lines, knowledge_graph, mcp_memory_service, mem0, notes
from wellkept.adapters.databases import is_sqlite, looking_at
from wellkept.adapters.foreign_records import Found, as_rows
from wellkept.engine.transfer.import_lines import ImportSpec, Row
from wellkept.errors import InvalidField, NotAStore, StorePathError
from wellkept.frozen import frozen
from wellkept.policy import Policy

Reader: TypeAlias = Callable[[Path], Iterator[Found]]
JSON_LINES = "jsonl"


@frozen
class Format:
    """A supported store format.

    Attributes:
        name: Value of `--format`.
        what: Description.
        reader: Reads a file or folder; None for JSON lines, whose rows depend on the import.
        in_order: Whether later entries are newer where the format has no times.
    """

    name: str
    what: str
    reader: Reader | None = field(default=None, repr=False, compare=False)
    in_order: bool = False


@frozen
class Source:
    """A recognised store.

    Attributes:
        path: The file or folder to read.
        format: Its format.
    """

    path: Path
    format: Format


FORMATS: Mapping[str, Format] = {
    item.name: item
    for item in (
        Format(JSON_LINES, "JSON lines", in_order=True),
        Format("mem0", "a mem0 store (the folder of Qdrant's local mode)", mem0.memories),
        Format("mem0-history", "the history database of mem0", mem0.history),
        Format("mcp-memory-service", "a store of mcp-memory-service (SQLite)", mcp_memory_service.memories),
        Format(
            "mcp-server-memory", "the memory.jsonl of the MCP reference server", knowledge_graph.memories, in_order=True
        ),
        Format("chroma", "a folder of Chroma", chroma.memories),
        Format("markdown", "a folder of Markdown notes", notes.memories),
    )
}
_READ = "These are read: " + "; ".join(item.what for item in FORMATS.values())


def read(
    source: str | Path, *, format: str = "", spec: ImportSpec | None = None, policy: Policy | None = None
) -> Iterator[Row]:
    """The memories of another tool's store, oldest first; unreadable ones as rows with an error.

    Args:
        source: A file or folder.
        format: One of `FORMATS`; recognised by content if empty.
        spec: Mapping, fixed values and limit, as in an import. The fields `id`, `owner` and `metadata` of a memory can
            be mapped too.
        policy: Defines the known kinds; by default the default policy.

    Raises:
        NotAStore: The format is not supported, or the store is empty.
        StorageError: The store is damaged, truncated, locked, or has an unknown layout.
        InvalidField: There is no such format.

    Example:
        >>> import pathlib, tempfile
        >>> folder = pathlib.Path(tempfile.mkdtemp())
        >>> _ = (folder / "team.md").write_text("# Team\\n- Reviews need two approvals.\\n", encoding="utf-8")
        >>> [(row.new.title, row.new.content, row.new.provenance) for row in read(folder)]
        [('Team', 'Reviews need two approvals.', ('markdown:team.md#Team',))]
    """
    spec = spec if spec is not None else ImportSpec()
    return rows_of(recognise(source, format=format, plain=spec.plain), spec, policy)


def rows_of(source: Source, spec: ImportSpec, policy: Policy | None = None) -> Iterator[Row]:
    """The rows of a recognised store; see `read`."""
    policy = policy if policy is not None else Policy()
    spec = spec.of_file(source.path)
    if source.format.reader is None:
        found = json_lines.memories(source.path, spec, policy)
    else:
        found = as_rows(source.format.reader(source.path), source.format.name, spec, policy)
    empty = True
    for row in found:
        empty = False
        yield row
    if empty:
        raise NotAStore(
            f"holds no memories, though it is {source.format.what}",
            where=str(source.path),
            todo="Name the store that your agent writes to",
        )


def recognise(source: str | Path, *, format: str = "", plain: bool = False) -> Source:
    """Recognise the format of a store by its content.

    Args:
        source: A file or folder.
        format: One of `FORMATS`, to skip recognition.
        plain: Lines are plain texts, as in `ImportSpec.plain`.

    Raises:
        NotAStore, StorageError, InvalidField: As in `read`.
    """
    path = Path(source)
    if format and format not in FORMATS:
        raise InvalidField(f"{format!r} is not a format", where="format", todo=f"Use one of: {', '.join(FORMATS)}")
    if not path.exists():
        raise StorePathError("there is no such file or folder", where=str(path), todo="Check the path")
    if format:
        return Source(path, FORMATS[format])
    if plain and path.is_file():
        return Source(path, FORMATS[JSON_LINES])
    found = _folder(path) if path.is_dir() else _file(path)
    if found is None:
        raise NotAStore("is not a known kind of store", where=str(path), todo=_READ)
    return found


def _folder(path: Path) -> Source | None:
    if mem0.is_folder(path):
        return Source(path, FORMATS["mem0"])
    if (path / chroma.FILE).is_file():
        return Source(path, FORMATS["chroma"])
    _refuse_known_others(path)
    inside = [path / name for name in ("qdrant", "history.db", "sqlite_vec.db", *knowledge_graph.NAMES)]
    for one in inside:
        found = (_folder(one) if one.is_dir() else _file(one)) if one.exists() else None
        if found is not None:
            return found
    if notes.has_notes(path):
        return Source(path, FORMATS["markdown"])
    if not any(path.iterdir()):
        raise NotAStore("is an empty folder", where=str(path), todo="Name the store that your agent writes to")
    return None


def _refuse_known_others(path: Path) -> None:
    """Refuse similar but unsupported stores, with a hint."""
    if any((path / name).exists() for name in chroma.OLD_FILES):
        todo = "Have Chroma 0.4 or later migrate it first (chroma-migrate)"
        raise NotAStore("is a folder of Chroma before 0.4", where=str(path), todo=todo)
    if (path / "raft_state.json").exists():
        todo = "Read it through the server, and audit the result as JSON lines"
        raise NotAStore("is the storage of a Qdrant server, not of its local mode", where=str(path), todo=todo)


def _file(path: Path) -> Source | None:
    if not path.stat().st_size:
        raise NotAStore("is empty", where=str(path), todo="Name the store that your agent writes to")
    if is_sqlite(path):
        return _database(path)
    if notes.is_note(path):
        return Source(path, FORMATS["markdown"])
    value = json_lines.first_value(path)
    if knowledge_graph.is_line(value):
        return Source(path, FORMATS["mcp-server-memory"])
    if isinstance(value, dict) and "wellkept" in value:
        todo = "Import it into a store, and use `wellkept consolidate` there"
        raise NotAStore("is an export of Wellkept", where=str(path), todo=todo)
    lines = isinstance(value, dict | list) or {".jsonl", ".ndjson"} & set(path.suffixes)
    return Source(path, FORMATS[JSON_LINES]) if lines else None


def _database(path: Path) -> Source | None:
    with looking_at(path) as database:
        tables = database.tables
    if {"journal", "memory", "namespace"} <= tables.keys():
        todo = "Name it with --db, and use `wellkept consolidate`"
        raise NotAStore("is a Wellkept store already", where=str(path), todo=todo)
    if mcp_memory_service.is_one(tables):
        return Source(path, FORMATS["mcp-memory-service"])
    if mem0.is_history(tables):
        return Source(path, FORMATS["mem0-history"])
    if chroma.is_one(tables):
        return Source(path, FORMATS["chroma"])
    if mem0.is_points(tables):
        return Source(path, FORMATS["mem0"])
    named = ", ".join(sorted(tables)[:8]) or "none"
    raise NotAStore(f"is a SQLite file of another tool; its tables: {named}", where=str(path), todo=_READ)


__all__ = ["FORMATS", "Format", "Source", "read", "recognise", "rows_of"]
