"""Export of a namespace as JSON lines, and its import under the same ids.

An export file is untrusted input. Each line is checked by the rules of `remember` for its statement, and otherwise
against what the store itself can write; nothing is written unless all lines are valid. Fields that merges and
comparisons make larger than in one statement (tags, metadata, updates, differences) are limited only by the
length of a line, so that every export can be imported.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from wellkept.core.records.codec import DAMAGE, conflict_from, dumps, link_from, memory_from, to_plain
from wellkept.core.records.conflicts import key_of
from wellkept.core.records.effects import same_record, tombstone, touched
from wellkept.core.records.merge import SHOWN_UPDATES, absorbed, added, original, segments
from wellkept.core.records.wikilinks import is_waiting
from wellkept.core.text.forms import check_text, decode, is_line
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import MAX_COUNT, label, new_memory
from wellkept.engine.base.numbered_lines import LONGEST, Line
from wellkept.engine.gate.acts import MAX_REL
from wellkept.engine.gate.write import CHUNK
from wellkept.engine.lookup.read import MAX_ID
from wellkept.engine.models.embedding import Embeddings, text_of, vector_key
from wellkept.engine.transfer.exported_questions import (
    Lessons,
    asked_again,
    lessons_in,
    lines_about_questions,
    question_in,
)
from wellkept.engine.transfer.import_lines import too_long
from wellkept.engine.transfer.importer import Progress
from wellkept.errors import IdempotencyMismatch, InvalidField, InvalidInput, WellkeptError
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json
from wellkept.policy import Policy
from wellkept.storage.port import Tx
from wellkept.types import (
    ALL_STATUSES,
    Conflict,
    ConflictChange,
    Effect,
    Filter,
    ImportReport,
    Json,
    Link,
    LinkChange,
    Memory,
    MemoryChange,
    QuestionRecord,
    Statement,
    Vector,
)

FORMAT = 1
Record: TypeAlias = Memory | Link | Conflict | QuestionRecord | Lessons
Wrong: TypeAlias = tuple[int, WellkeptError]
_COUNTS = ("version", "evolution_count", "confirmations", "chunks", "access_count")
_LISTS = ("tags", "provenance", "updates", "differences")
_STATEMENT = tuple(Statement.__dataclass_fields__)
_MOST_WRONG = 1_000
_AGAIN = "Export again"


def export_lines(ctx: Context) -> Iterator[str]:
    """The namespace as JSON lines: a header, memories of any status, links, conflicts, open questions, lessons.

    Nothing erased is in it.
    """
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        header = {"wellkept": FORMAT, "namespace": ctx.namespace, "seq": tx.seq, "at": ctx.clock().isoformat()}
        yield json.dumps(header)
        for memory in tx.find(Filter(statuses=ALL_STATUSES)):
            yield dumps({"memory": to_plain(memory)})
        for link in tx.links():
            yield dumps({"link": to_plain(link)})
        for conflict in tx.conflicts():
            yield dumps({"conflict": to_plain(conflict)})
        yield from map(dumps, lines_about_questions(ctx, tx))


def is_export(first: bytes) -> bool:
    """Whether a first line is the header of an export."""
    if not first.startswith(b'{"wellkept"'):
        return False
    try:
        return bool(parsed_json(first)["wellkept"] == FORMAT)
    except (InvalidInput, KeyError):
        return False


@frozen
class Export:
    """The parsed lines of an export.

    Attributes:
        read: Number of lines.
        records: The valid records, by line number.
        wrong: The invalid lines with their errors; at most the first thousand.
    """

    read: int
    records: Mapping[int, Record]
    wrong: tuple[Wrong, ...]


def read_export(lines: Iterator[Line], namespace: str, policy: Policy) -> Export:
    """Read and check the lines after the header.

    Args:
        lines: Numbered lines.
        namespace: The target namespace; the namespace in the file is ignored.
        policy: The known kinds and the maximum length of a text.

    Returns:
        Valid records, and the errors of the other lines; an invalid line raises nothing.
    """
    records: dict[int, Record] = {}
    wrong: list[Wrong] = []
    seen: set[tuple[str, ...]] = set()
    read = 0
    for number, raw in lines:
        read += 1
        try:
            record = _record(raw, namespace, policy)
            name = _name_of(record)
            if name in seen:
                raise InvalidInput("duplicate of an earlier line", where=name[1], todo="Remove one of the lines")
            seen.add(name)
            records[number] = record
        except WellkeptError as error:
            if len(wrong) < _MOST_WRONG:
                wrong.append((number, _placed(error, number)))
    return Export(read, records, tuple(wrong))


def import_export(ctx: Context, export: Export, *, run_id: str, progress: Progress | None = None) -> ImportReport:
    """Import an export: rows, links and conflicts unchanged, under their own ids; existing ones are kept.

    Its open questions are asked again.

    Raises:
        IdempotencyMismatch: A memory of the same id differs from the stored one; nothing was written.
        InvalidInput: A line cannot be imported; names the first one. Nothing was written.
    """
    started = time.monotonic()
    if export.wrong:
        raise export.wrong[0][1]
    memories = {number: one for number, one in export.records.items() if isinstance(one, Memory)}
    vectors = Embeddings(ctx.embedder)
    living = [memory for memory in memories.values() if memory.embedding]
    for start in range(0, len(living), CHUNK):
        vectors.fetch([text_of(memory) for memory in living[start : start + CHUNK]])
        if progress is not None:  # all lines are written together at the end
            progress(start + CHUNK)
    counts: Counter[str] = Counter()
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        there = {row.id: row for row in tx.find(Filter(statuses=ALL_STATUSES))}
        known = {*there, *(memory.id for memory in memories.values())}
        _check_successors(memories, known)
        news = _news(tx, export, known=known)
        for number, memory in memories.items():
            if memory.id in there:
                _refuse_another(there[memory.id], memory, number)
                counts["replayed"] += 1
                continue
            made = vectors.vector(text_of(memory))
            kept = {} if made is None else {vector_key(text_of(memory)): made}
            effects: list[Effect] = [MemoryChange(None, memory), *absorbed(memory.id, segments(memory), frozenset())]
            _apply(ctx, tx, effects, run_id=run_id, outcome="created", vectors=kept)
            counts["created"] += 1
        if news:
            _apply(ctx, tx, news, run_id=run_id, outcome="linked", vectors={})
        questions = [one for one in export.records.values() if isinstance(one, QuestionRecord | Lessons)]
        asked_again(ctx, tx, questions, run_id=run_id, known=known)
    return ImportReport(run_id, export.read, dict(counts), 0, (), "", round(time.monotonic() - started, 3))


def statement_of(raw: bytes) -> dict[str, Any]:
    """The statement of a line as fields for an import, for callers who may write but not restore rows.

    Raises:
        InvalidInput: The line is damaged, or is not an active memory.
    """
    plain = _object(raw).get("memory")
    if not isinstance(plain, dict) or plain.get("status", "active") != "active":
        what = "scope write accepts active memories only; other lines need scope admin"
        raise InvalidInput(what, where="export", todo="Import it with a token of scope admin, or leave it out")
    said = {name: plain[name] for name in _STATEMENT if name in plain}
    return {**said, "recorded_at": plain.get("created_at")}


# --------------------------------------------------------------------------------------------
# One line


def _placed(error: WellkeptError, number: int) -> WellkeptError:
    """The error with its line number."""
    where = f"line {number}: {error.where}" if error.where else f"line {number}"
    return type(error)(error.what, where=where, todo=error.todo or _AGAIN)


def _object(raw: bytes) -> dict[str, Any]:
    refused = too_long(raw)
    if refused is not None:
        raise refused
    data = parsed_json(decode(raw), todo=_AGAIN)
    if not isinstance(data, dict):
        raise InvalidInput("is not a JSON object", todo=_AGAIN)
    return data


def _record(raw: bytes, namespace: str, policy: Policy) -> Record:
    data = _object(raw)
    kinds = [name for name in _RECORDS if name in data]
    if len(kinds) != 1 or not isinstance(data[kinds[0]], dict):
        raise InvalidInput("holds no memory, link, conflict or question", todo=_AGAIN)
    plain = data[kinds[0]]
    for name in _LISTS:
        if not isinstance(plain.get(name, []), list):
            raise InvalidField("must be a list", where=name, todo=_AGAIN)
    try:
        if kinds[0] == "memory":
            return _memory(memory_from({**plain, "namespace": namespace}), policy)
        return _RECORDS[kinds[0]](plain)
    except WellkeptError:
        raise
    except DAMAGE as error:
        what = f"lacks {error}" if isinstance(error, KeyError) else str(error)[:200]
        raise InvalidInput(f"cannot be restored: {what}", where=kinds[0], todo=_AGAIN) from error


def _name_of(record: Record) -> tuple[str, ...]:
    match record:
        case Memory():
            return "memory", record.id
        case Link():
            return "link", record.src, record.dst, record.rel
        case Conflict():
            return "conflict", record.key
        case QuestionRecord():
            return "question", record.memory_id
        case Lessons():
            return "lessons", "lessons"


def _memory(memory: Memory, policy: Policy) -> Memory:
    """The memory with its statement as `remember` would store it."""
    _check_id("id", memory.id)
    for name in _COUNTS:
        _check_count(name, getattr(memory, name))
    if memory.stability is not None and not 0 < memory.stability < MAX_COUNT:
        raise InvalidField(f"{memory.stability!r} is not a number of days", where="stability", todo=_AGAIN)
    if memory.status == "erased":
        return _erased(memory)
    _check_pointer(memory)
    first = _check_updates(memory)
    fields = {name: getattr(memory, name) for name in _STATEMENT if name != "content"}
    said = new_memory(first, fields, policy, merged=True)
    checked = {name: getattr(said, name) for name in fields}
    whole = replace(memory, **checked)
    return replace(whole, embedding=vector_key(text_of(whole)) if memory.embedding else "")


def _erased(memory: Memory) -> Memory:
    """An erased memory; only its kind is kept."""
    if not same_record(memory, tombstone(memory)):
        raise InvalidField("an erased memory must have no content", where="status", todo="Remove the line")
    return replace(memory, kind=label("kind", memory.kind))


def _check_pointer(memory: Memory) -> None:
    if memory.superseded_by:
        _check_id("superseded_by", memory.superseded_by)
    pointed = bool(memory.superseded_by)
    if memory.superseded_by == memory.id or (memory.status in ("superseded", "wording")) > pointed or (
        memory.status == "active" and (pointed or memory.superseded_at is not None)
    ):  # fmt: skip
        what = f"a memory that is {memory.status} cannot be superseded by {memory.superseded_by[:40]!r}"
        raise InvalidField(what, where="superseded_by", todo=_AGAIN)


def _check_updates(memory: Memory) -> str:
    """The text before the dated additions; each addition is part of the content and a text of its own."""
    first = original(memory)
    if len(memory.updates) > SHOWN_UPDATES or not memory.content.endswith(added(memory.updates)):
        raise InvalidField("updates do not match the end of content", where="updates", todo=_AGAIN)
    for update in memory.updates:
        check_text(update.text, limit=LONGEST)
        if not -1 <= update.similarity <= 1:
            raise InvalidField(f"{update.similarity!r} is not a similarity", where="updates", todo=_AGAIN)
    return first


def _link(link: Link) -> Link:
    for name, end in (("src", link.src), ("dst", link.dst)):
        if not (is_waiting(end) and is_line(end)):
            _check_id(name, end)
    if link.src == link.dst:
        raise InvalidField("a memory cannot be linked to itself", where=link.src[:60], todo="Remove the line")
    if len(link.rel) > MAX_REL or not is_line(link.rel):
        raise InvalidField(f"{link.rel[:40]!r} is not a relation", where="rel", todo=_AGAIN)
    return link


def _conflict(one: Conflict) -> Conflict:
    _check_id("a", one.a)
    _check_id("b", one.b)
    if one.a == one.b or one.key != key_of(one.a, one.b, one.kind):
        raise InvalidField("key does not match a, b and kind", where="key", todo=_AGAIN)
    if (one.resolution is None) != (one.resolved_at is None):
        raise InvalidField("set both resolved_at and resolution, or neither", where="resolved_at", todo=_AGAIN)
    if one.similarity is not None and not -1 <= one.similarity <= 1:
        raise InvalidField(f"{one.similarity!r} is not a similarity", where="similarity", todo=_AGAIN)
    for name, text in {"reason": one.reason, "excerpt_a": one.excerpt_a, "excerpt_b": one.excerpt_b}.items():
        label(name, text, 2_000)
    for place, item in enumerate(one.differences):
        label(f"differences.{place}", f"{item.old}{item.new}", LONGEST)
    return one


_RECORDS: Mapping[str, Callable[[Mapping[str, Json]], Record]] = {
    "memory": memory_from,
    "link": lambda plain: _link(link_from(plain)),
    "conflict": lambda plain: _conflict(conflict_from(plain)),
    "question": question_in,
    "lessons": lessons_in,
}
"""What a line may hold, and how it is read; a memory is read with its namespace and policy."""


def _check_id(name: str, value: str) -> None:
    if not 0 < len(value) <= MAX_ID or not value.isprintable() or value != value.strip():
        raise InvalidField(f"{value[:40]!r} is not an id", where=name, todo=_AGAIN)


def _check_count(name: str, value: int) -> None:
    if not (name == "version") <= value <= MAX_COUNT:
        raise InvalidField(f"{str(value)[:40]} is not a count", where=name, todo=_AGAIN)


# --------------------------------------------------------------------------------------------
# Into the store


def _refuse_another(held: Memory, memory: Memory, number: int) -> None:
    if not same_record(held, memory):
        what = f"memory {memory.id} differs from the stored memory of that id"
        raise _placed(IdempotencyMismatch(what, todo="Import into a new namespace"), number)


def _check_successors(memories: Mapping[int, Memory], known: set[str]) -> None:
    for number, memory in memories.items():
        if memory.status in ("superseded", "wording") and memory.superseded_by not in known:
            what = f"memory {memory.superseded_by} does not exist"
            raise _placed(InvalidInput(what, where="superseded_by", todo=_AGAIN), number)


def _news(tx: Tx, export: Export, *, known: set[str]) -> list[Effect]:
    """Links and conflicts that the store does not have.

    Raises:
        InvalidInput: An open conflict is about a missing memory.
    """
    links = {(link.src, link.dst, link.rel) for link in tx.links()}
    keys = {conflict.key for conflict in tx.conflicts()}
    news: list[Effect] = []
    for number, one in export.records.items():
        if isinstance(one, Link) and (one.src, one.dst, one.rel) not in links:
            news.append(LinkChange(None, one))
        elif isinstance(one, Conflict) and one.key not in keys:
            if one.resolution is None and not {one.a, one.b} <= known:
                raise _placed(InvalidInput("one of its memories does not exist", where=f"conflict {one.key}"), number)
            news.append(ConflictChange(None, one))
    return news


def _apply(
    ctx: Context, tx: Tx, effects: list[Effect], *, run_id: str, outcome: str,
    vectors: Mapping[str, Vector],
) -> None:  # fmt: skip
    ids = touched(effects)
    about = ids[0] if outcome == "created" else ""
    entry = ctx.entry("import", outcome)
    entry = replace(entry, memory_id=about, memory_ids=ids, effects=tuple(effects), run_id=run_id)
    tx.apply(entry, vectors=vectors)
