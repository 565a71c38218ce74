"""Answers as text for models: one line per memory, `[id] date kind text (conflict)`.

Programs read the structured content, which has all fields. Further lines of a memory's text are indented, so that
no text can imitate a line of the answer.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from wellkept.core.asking.question_text import HEAD, one_of_list
from wellkept.core.recall.safe_blocks import lines_of, one_line
from wellkept.core.records.explain import chance, move_words
from wellkept.server.mcp.answers import SHORTENED, bare, compact
from wellkept.types import Move
from wellkept.types.showing import count_of

_Json = Mapping[str, Any]
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_END = 8
_NOTHING = "Nothing found."
_IN_THE_LINE = frozenset({"id", "kind", "content", "title", "namespace", "status"})


def text_of_answer(name: str, answer: _Json) -> str:
    """Render an answer as text.

    Args:
        name: Name of the operation.
        answer: Its JSON, shortened to the limit; an answer without memories is rendered as JSON.

    Example:
        >>> memory = {"id": "m1", "created_at": "2026-03-01T09:00:00Z", "kind": "fact", "content": "Tea is upstairs."}
        >>> text_of_answer("list", {"memories": [memory]})
        '[m1] 2026-03-01 fact Tea is upstairs.'
    """
    reader = _READERS.get(name)
    if reader is None or "dry_run" in answer:
        return compact(bare(dict(answer)))
    lines = list(reader(answer)) or [_NOTHING]
    if answer.get("more"):
        lines.append(f"There are more: {_NEXT.get(name, 'use a smaller limit or a narrower filter')}.")
    if SHORTENED in answer:
        lines.append(str(answer[SHORTENED]))
    return "\n".join(lines)


def line(memory: _Json, *notes: str) -> str:
    """Render a memory as one line, or as several when its text has several.

    Args:
        memory: The memory as JSON.
        *notes: Notes to append in parentheses; empty ones are omitted.
    """
    day = str(memory.get("event_time") or memory.get("created_at") or "")[:10]
    status = memory.get("status", "active")
    kind = one_line(str(memory.get("kind", "")), 40) + ("" if status == "active" else f" {status}")
    title = one_line(str(memory.get("title") or ""), 200)
    text = "\n  ".join(lines_of(str(memory.get("content", ""))))
    appended = " ".join(f"({note})" for note in notes if note)
    head = f"[{short_id(memory.get('id', ''))}] {day} {kind}"
    return " ".join(part for part in (head, f"{title}:" if title else "", text, appended) if part)


def short_id(memory_id: str) -> str:
    """The end of an id, which tools accept too; ids that are not UUIDs stay complete."""
    return memory_id[-_END:] if _UUID.fullmatch(memory_id) else one_line(memory_id, 200)


def _written(answer: _Json) -> Iterator[str]:
    yield one_line(answer.get("message", ""))
    for conflict in answer.get("conflicts", ()):
        yield _conflict(conflict)
    if answer.get("entry"):
        yield f"undo {answer['entry']} undoes this."
    if answer.get("dropped"):
        yield f"restore {answer['dropped']} stores the text anyway."


def _questions(answer: _Json) -> Iterator[str]:
    if answer.get("questions"):
        yield HEAD
    for asked in answer.get("questions", ()):
        rows = [(one["number"], one["memory"]) for one in asked["candidates"]]
        yield one_of_list(
            asked["id"],
            asked["memory"]["content"],
            [(number, row["created_at"][:10], row["kind"], row["content"]) for number, row in rows],
        )


def _answers(answer: _Json) -> Iterator[str]:
    for done in answer.get("answered", ()):
        undo = f" undo {done['entry']} undoes this." if done.get("entry") else ""
        yield f"{one_line(done.get('message', ''))}{undo}"
    for error in answer.get("errors", ()):
        yield f"Not answered: {error['question']}: {one_line(error['message'], 300)}"


def _batch(answer: _Json) -> Iterator[str]:
    yield ", ".join(f"{count} {outcome}" for outcome, count in answer.get("counts", {}).items() if count)
    for result in answer.get("results", ()):
        if result is not None:
            yield one_line(result.get("message", ""))
    asked = [result["question"]["id"] for result in answer.get("results", ()) if result and result.get("question")]
    if asked:
        yield f"Asked about: {', '.join(asked)}; see questions."
    for error in answer.get("errors", ()):
        yield f"Not stored: item {error['index']}: {one_line(error['message'], 300)}"


def _hits(answer: _Json) -> Iterator[str]:
    for hit in answer.get("hits", ()):
        own = hit["memory"].get("id", "")
        repeats = len(hit.get("repeats", ()))
        yield line(
            hit["memory"],
            _wording(hit.get("wording")),
            _moved(hit),
            *(_opposed(own, conflict) for conflict in hit.get("conflicts", ())),
            f"{repeats} more say the same" if repeats else "",
            f"linked by {one_line(hit['via']['rel'], 40)}" if hit.get("via") else "",
        )
    for left in answer.get("left_out", ()):
        yield f"Left out: {line(left['memory'], one_line(left.get('why', ''), 200))}"


def _memories(answer: _Json) -> Iterator[str]:
    wordings, marks = answer.get("wordings", {}), answer.get("marks", ())
    for memory in answer.get("memories", ()):
        own = memory.get("id", "")
        behind = wordings.get(own, 0)
        yield line(
            memory,
            *(_opposed(own, mark) for mark in marks if mark["a"] == own),
            count_of(behind, "wording") if behind else "",
        )


def _versions(answer: _Json) -> Iterator[str]:
    for version in answer.get("versions", ()):
        what = f"entry {version.get('seq')}, {str(version.get('at', ''))[:10]}, {version.get('outcome', '')}:"
        yield f"{what} {line(version['memory']) if version.get('memory') else 'removed'}"


def _conflicts(answer: _Json) -> Iterator[str]:
    return map(_conflict, answer.get("conflicts", ()))


def _neighbors(answer: _Json) -> Iterator[str]:
    for found in answer.get("neighbors", ()):
        steps = found.get("depth", 1)
        way = f"{one_line(found.get('rel', ''), 40)}, {found.get('direction', '')}"
        yield line(found["memory"], way if steps == 1 else f"{way}, {steps} steps")
    yield from _dangling(answer)


def _graph(answer: _Json) -> Iterator[str]:
    for memory in answer.get("nodes", {}).values():
        yield line(memory)
    for src, dst, rel in answer.get("edges", ()):
        yield f"{short_id(src)} -{one_line(rel, 40)}-> {short_id(dst)}"
    yield from _dangling(answer)


def _dangling(answer: _Json) -> Iterator[str]:
    if answer.get("dangling"):
        yield f"Linked ids that do not exist: {', '.join(map(short_id, answer['dangling']))}"


def _memory(answer: _Json) -> Iterator[str]:
    yield line(answer)
    rest = {name: value for name, value in answer.items() if name not in _IN_THE_LINE and name != SHORTENED}
    yield compact(bare(rest))


def _pack(answer: _Json) -> Iterable[str]:
    return [answer["text"]] if answer.get("text") else []


def _undone(answer: _Json) -> Iterator[str]:
    yield f"Entry {answer['undone']} was undone by entry {answer['entry']}."
    for change in answer.get("changes", ()):
        for word in ("before", "after"):
            held = change.get(word)
            yield f"{word}: {line(held)}" if held else f"{word}: [{short_id(change['memory_id'])}] is not there"


def _opposed(own: str, conflict: _Json) -> str:
    other = conflict["b"] if conflict["a"] == own else conflict["a"]
    if conflict["kind"] == "outdated":
        relation = "outdated by" if conflict["a"] == own else "outdates"
        return f"{relation} [{short_id(other)}]{chance(conflict.get('probability'))}, key {conflict['key']}"
    return f"{conflict['kind']} with [{short_id(other)}], key {conflict['key']}"


def _wording(wording: _Json | None) -> str:
    return f"in other words: {one_line(str(wording.get('content', '')), 300)}" if wording else ""


def _moved(hit: _Json) -> str:
    """The reason why a hit precedes a better one, unless a conflict next to it already states it."""
    move = hit.get("moved")
    if not move or any(move["over"] in (item["a"], item["b"]) for item in hit.get("conflicts", ())):
        return ""
    return move_words(Move(move["over"], move["why"], move.get("probability")), f"[{short_id(move['over'])}]")


def _conflict(conflict: _Json) -> str:
    values = ", ".join(
        f"{item.get('old', '')} -> {item.get('new', '')}" for item in conflict.get("differences", ()) if item
    )
    sides = " / ".join(
        f"[{short_id(conflict.get(side, ''))}] {one_line(conflict.get(f'excerpt_{side}', ''))}" for side in ("a", "b")
    )
    settled = f" ({conflict['resolution']})" if conflict.get("resolution") else ""
    return f"{conflict['key']} {conflict['kind']}{settled}: {sides}" + (f" ({one_line(values)})" if values else "")


_NEXT: Mapping[str, str] = {
    "list": "pass created_at and id of the last one as where.after",
    "history": "pass the entry of the last one as after",
    "conflicts": "pass the key of the last one as after",
    "questions": "answer these first, or use a larger limit",
    "neighbors": "pass the whole id of the last one as after",
}
"""How to request the next page of each list."""
_READERS: Mapping[str, Callable[[_Json], Iterable[str]]] = {
    **dict.fromkeys(
        ("remember", "check", "record_decision", "record_turn", "start_episode", "queue_remember"), _written
    ),
    **dict.fromkeys(("get", "revise", "end_episode"), _memory),
    "remember_many": _batch,
    "questions": _questions,
    "answer": _answers,
    "recall": _hits,
    "list": _memories,
    "history": _versions,
    "conflicts": _conflicts,
    "neighbors": _neighbors,
    "subgraph": _graph,
    "pack": _pack,
    "undo": _undone,
}
