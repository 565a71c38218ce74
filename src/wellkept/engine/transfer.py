"""Import and export: any JSON lines in through the gate, the whole namespace out and back to the letter.

An import is a run of ordinary writes. Each line carries an idempotency key made of the source (its
given name, or the file's path), its content and how often that content stood in the source before.
A second run of the same source therefore changes nothing (I5), while the same words in another
source are a new assertion (F-21).
"""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from wellkept.core.codec import conflict_from, dumps, link_from, memory_from, to_plain
from wellkept.core.effects import same_record
from wellkept.core.merge import absorbed, segments
from wellkept.core.text import content_hash, decode, excerpt
from wellkept.engine.acts import apply
from wellkept.engine.context import Context
from wellkept.engine.embedding import Embeddings, text_of, vector_key
from wellkept.engine.inputs import new_memory
from wellkept.engine.write import CHUNK, Cause, payload_of, remember_all
from wellkept.errors import IdempotencyMismatch, InvalidField, InvalidInput, InvalidText, WellkeptError
from wellkept.policy import Policy
from wellkept.types import (
    ALL_STATUSES,
    ConflictChange,
    Effect,
    Filter,
    ImportReport,
    ItemError,
    LinkChange,
    Memory,
    MemoryChange,
    NewMemory,
    WriteResult,
)

FORMAT = 1
Lines = Iterable[bytes]
Progress = Callable[[int], None]
Reject = Callable[[Mapping[str, Any]], None]
_CONTENT_NAMES = ("content", "text", "memory")
_KEPT = 200
_ARRAY = re.compile(rb"(?:\xef\xbb\xbf)?\s*\[\s*(?:$|[\[{\"\]])")


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportSpec:
    """How lines become memories.

    Args:
        source: Name of the source, kept with each memory. By default the file's name; runs are then told
            apart by its whole path, so that two files of one name are two sources. With a name of
            one's own, a file may move and is still the same source.
        mapping: Field of a memory to key of the line; keys reach into objects with dots. Fields
            not mapped are taken from keys of the same name; the text from `content`, `text` or `memory`.
        fixed: Field of a memory to a value for all lines.
        items: Key of a list inside each line, each of whose objects is one memory.
        plain: Lines are texts, not JSON.
        limit: Read at most this many lines.
        identity: What tells this source from others in idempotency keys; follows from the above.
    """

    source: str = ""
    mapping: Mapping[str, str] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    items: str = ""
    plain: bool = False
    limit: int | None = None
    identity: str = ""

    def of_file(self, path: Path) -> ImportSpec:
        """The same for this file: named and told apart as described above."""
        if self.source:
            return replace(self, identity=self.identity or self.source)
        return replace(self, source=path.name, identity=self.identity or str(path.resolve()))


@dataclass(frozen=True, slots=True)
class Row:
    """One memory-to-be of a source, or why it cannot be one."""

    line: int
    raw: str
    new: NewMemory | None
    error: WellkeptError | None = None
    outer: Mapping[str, Any] = field(default_factory=dict)


def rows(lines: Lines, spec: ImportSpec, policy: Policy) -> Iterator[Row]:
    """Read lines one by one; a bad line is a row with an error, and reading goes on."""
    seen: Counter[str] = Counter()
    for number, raw in enumerate(lines, start=1):
        if spec.limit is not None and number > spec.limit:
            return
        wrong = misread(raw, plain=spec.plain) if number == 1 else None
        if wrong is not None:
            yield Row(number, raw[:_KEPT].decode("utf-8", "backslashreplace").strip("\r\n"), None, wrong)
            continue
        try:
            text = decode(raw).strip("\r\n")
        except InvalidText as error:
            yield Row(number, repr(raw[:_KEPT]), None, error)
            continue
        if not text.strip():
            continue
        try:
            objects = [({"content": text}, {})] if spec.plain else _objects(text, spec)
        except WellkeptError as error:
            yield Row(number, text, None, error)
            continue
        for item, outer in objects:
            yield _row(number, item, outer, spec=spec, policy=policy, seen=seen)


def misread(first: bytes, *, plain: bool) -> InvalidInput | None:
    """What the first line shows to be wrong with all of them: the file is UTF-16, or one JSON array."""
    # Without its mark, UTF-16 shows in one NUL beside the ASCII that a line of JSON begins with.
    if first[:2] in (b"\xff\xfe", b"\xfe\xff") or (len(first) > 1 and (first[0] == 0) != (first[1] == 0)):
        return InvalidText("the file looks like UTF-16", todo="Convert it to UTF-8")
    if not plain and _ARRAY.match(first):
        return InvalidInput("this is a JSON array", todo="Write one object a line, without brackets and commas")
    return None


def _objects(text: str, spec: ImportSpec) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"not JSON: {error}", todo="Mend the line, or import plain text lines") from error
    if not isinstance(data, dict):
        raise InvalidInput(f"is a JSON {type(data).__name__}, not an object", todo="Write one object a line")
    if not spec.items:
        return [(data, data)]
    inner = _reach(data, spec.items)
    if not isinstance(inner, list) or not all(isinstance(item, dict) for item in inner):
        raise InvalidInput(f"has no list of objects at {spec.items!r}", todo="Name the key of the list")
    return [(item, data) for item in inner]


def _row(
    number: int,
    item: Mapping[str, Any],
    outer: Mapping[str, Any],
    *,
    spec: ImportSpec,
    policy: Policy,
    seen: Counter[str],
) -> Row:
    raw = json.dumps(item, ensure_ascii=False)
    try:
        values = _values(item, spec)
        content = values.pop("content", None)
        if content is None:
            wanted = spec.mapping.get("content", " or ".join(_CONTENT_NAMES))
            raise InvalidField(f"has no {wanted}", where="content", todo="Map it: --map content=KEY")
        values.setdefault("source", spec.source)
        new = new_memory(content, values, policy)
        name = payload_of(new)
        seen[name] += 1
        key = content_hash(f"{spec.identity or spec.source}\x1f{name}\x1f{seen[name]}")[:40]
        return Row(number, raw, replace(new, idempotency_key=f"import:{key}"), None, outer)
    except WellkeptError as error:
        return Row(number, raw, None, error, outer)


def _values(item: Mapping[str, Any], spec: ImportSpec) -> dict[str, Any]:
    known = NewMemory.__dataclass_fields__
    values = {name: item[name] for name in known if name in item and item[name] is not None}
    for name, key in spec.mapping.items():
        if name not in known:
            raise InvalidField("unknown field", where=name, todo=f"Map one of: {', '.join(sorted(known))}")
        value = _reach(item, key)
        if value is not None:
            values[name] = value
        else:
            values.pop(name, None)
    if "content" not in values:
        found = next((item[name] for name in _CONTENT_NAMES if isinstance(item.get(name), str)), None)
        if found is not None:
            values["content"] = found
    values.update(spec.fixed)
    return values


def _reach(item: Mapping[str, Any], key: str) -> Any:
    if key in item:
        return item[key]
    value: Any = item
    for step in key.split("."):
        if not isinstance(value, Mapping) or step not in value:
            return None
        value = value[step]
    return value


class Importer:
    """Takes rows through the gate in chunks and counts what became of them.

    Args:
        ctx: Where they go; `at` gives the context of another namespace.
        run_id: Stands in every journal entry.
        reject: Called with every line that was not taken.
    """

    def __init__(self, ctx: Context, run_id: str, *, reject: Reject | None = None) -> None:
        self._ctx = ctx
        self._cause = Cause("import", run_id)
        self._reject = reject
        self._waiting: list[Row] = []
        self._namespace = ctx.namespace
        self._counts: Counter[str] = Counter()
        self._errors: list[ItemError] = []
        self._read = 0
        self._conflicts = 0
        self._started = time.monotonic()

    def take(self, row: Row, namespace: str) -> None:
        """One more row, for this namespace."""
        self._read += 1
        if row.error is not None or row.new is None:
            self._failed(row, row.error or InvalidInput("is no memory"))
            return
        if namespace != self._namespace or len(self._waiting) >= CHUNK:
            self.flush()
            self._namespace = namespace
        self._waiting.append(row)

    def flush(self) -> None:
        """Write what is waiting."""
        waiting, self._waiting = self._waiting, []
        if not waiting:
            return
        ctx = replace(self._ctx, namespace=self._namespace)
        results = remember_all(ctx, [row.new for row in waiting if row.new is not None], self._cause)
        for row, result in zip(waiting, results, strict=True):
            if isinstance(result, WriteResult):
                replayed = bool(result.reasons) and result.reasons[0].rule == "replay"
                self._counts["replayed" if replayed else result.outcome] += 1
                self._conflicts += sum(conflict.resolution is None for conflict in result.conflicts)
            else:
                self._failed(row, result)

    def report(self, rejects: str = "") -> ImportReport:
        """What was done, after a last `flush`."""
        self.flush()
        return ImportReport(
            run_id=self._cause.run_id,
            read=self._read,
            counts=dict(self._counts),
            conflicts=self._conflicts,
            errors=tuple(self._errors),
            rejects=rejects if self._errors else "",
            seconds=round(time.monotonic() - self._started, 3),
        )

    def _failed(self, row: Row, error: WellkeptError) -> None:
        name = type(error).__name__
        self._errors.append(ItemError(row.line, shown(row.raw), name, str(error)))
        if self._reject is not None:
            self._reject({"line": row.line, "error": name, "message": str(error), "raw": row.raw})


def shown(text: str) -> str:
    """The beginning of a text that was refused, fit to be printed whatever it holds."""
    return excerpt(text, 50).encode("utf-8", "replace").decode("utf-8")


def export_lines(ctx: Context) -> Iterator[str]:
    """The namespace as JSON lines: a header, memories of any status, links, conflicts; nothing that was erased."""
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        header = {"wellkept": FORMAT, "namespace": ctx.namespace, "seq": tx.seq, "at": ctx.clock().isoformat()}
        yield json.dumps(header)
        for memory in tx.find(Filter(statuses=ALL_STATUSES)):
            yield dumps({"memory": to_plain(memory)})
        for link in tx.links():
            yield dumps({"link": to_plain(link)})
        for conflict in tx.conflicts():
            yield dumps({"conflict": to_plain(conflict)})


def is_export(first: bytes) -> bool:
    """Whether a first line begins one of our own exports."""
    if not first.startswith(b'{"wellkept"'):
        return False
    try:
        return bool(json.loads(first)["wellkept"] == FORMAT)
    except (ValueError, KeyError, RecursionError):
        return False


def import_export(ctx: Context, lines: Lines, *, run_id: str) -> ImportReport:
    """Bring an export back: rows, links and conflicts as they were, under their own ids; present ones stay.

    Raises:
        IdempotencyMismatch: A memory of the same id says something else here; nothing was written.
        InvalidInput: A line is damaged; nothing was written.
    """
    started = time.monotonic()
    memories: list[Memory] = []
    rest: list[Effect] = []
    read = 0
    for number, raw in enumerate(lines, start=2):  # the header was line 1
        read += 1
        try:
            data = json.loads(decode(raw))
            if not isinstance(data, dict) or not data.keys() & {"memory", "link", "conflict"}:
                raise ValueError("it holds no memory, link or conflict")
            if "memory" in data:
                memories.append(replace(memory_from(data["memory"]), namespace=ctx.namespace))
            elif "link" in data:
                rest.append(LinkChange(None, link_from(data["link"])))
            elif "conflict" in data:
                rest.append(ConflictChange(None, conflict_from(data["conflict"])))
        except (ValueError, KeyError, TypeError, RecursionError) as error:
            raise InvalidInput(
                f"is no line of an export: {error}", where=f"line {number}", todo="Export again"
            ) from error
    vectors = Embeddings(ctx.embedder)
    living = [memory for memory in memories if memory.embedding]
    for start in range(0, len(living), CHUNK):
        vectors.fetch([text_of(memory) for memory in living[start : start + CHUNK]])
    counts: Counter[str] = Counter()
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        there = {row.id: row for row in tx.find(Filter(statuses=ALL_STATUSES))}
        for memory in memories:
            if memory.id in there:
                if not same_record(there[memory.id], memory):
                    raise IdempotencyMismatch(
                        f"memory {memory.id} says something else here",
                        where="import",
                        todo="Import into a new namespace",
                    )
                counts["replayed"] += 1
                continue
            made = vectors.vector(memory)
            kept = {} if made is None else {vector_key(text_of(memory)): made}
            effects: tuple[Effect, ...] = (
                MemoryChange(None, memory),
                *absorbed(memory.id, segments(memory), frozenset()),
            )
            apply(ctx, tx, effects, verb="import", outcome="created", memory_id=memory.id, vectors=kept)
            counts["created"] += 1
        links = {(link.src, link.dst, link.rel) for link in tx.links()}
        keys = {conflict.key for conflict in tx.conflicts()}
        news = [effect for effect in rest if _is_new(effect, links, keys)]
        if news:
            apply(ctx, tx, news, verb="import", outcome="linked", memory_id="")
    return ImportReport(run_id, read, dict(counts), 0, (), "", round(time.monotonic() - started, 3))


def _is_new(effect: Effect, links: set[tuple[str, str, str]], keys: set[str]) -> bool:
    match effect:
        case LinkChange(_, after) if after is not None:
            return (after.src, after.dst, after.rel) not in links
        case ConflictChange(_, after) if after is not None:
            return after.key not in keys
        case _:
            return False
