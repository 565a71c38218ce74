"""Terminal output: tables, timelines and short sentences. All stored text is escaped first."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, TypeAlias

from wellkept.cli.terminal.safe import one_line, safe
from wellkept.core.records.explain import chance, difference_words, mark_words, move_words, told, why
from wellkept.types import (
    BatchResult,
    Conflict,
    Hit,
    ImportReport,
    ItemError,
    JournalEntry,
    Memory,
    Question,
    Stats,
    Version,
    WriteResult,
)
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

    from wellkept.engine.lookup.wordings_and_marks import Standing

    Parts: TypeAlias = Iterator[RenderableType | str]

SHOWN_ERRORS = 5
_CONTENT = 20_000
_CELL = 200
_SHORT = 8
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_COLOURS = {
    "created": "green",
    "evolved": "cyan",
    "superseded": "yellow",
    "duplicate": "blue",
    "reused": "blue",
    "replayed": "blue",
    "queued": "magenta",
    "rejected": "red",
    "active": "green",
    "archived": "dim",
    "erased": "dim",
}


class ShortIds:
    """Shortened ids: their last characters, as many as needed to distinguish the given ids.

    The ends of time-ordered ids are random, while ids created within a second share their beginnings.

    Example:
        >>> names = ShortIds(["0190a1b2-c3d4-7abc-8def-0123456789ab", "my-own-id"])
        >>> names("0190a1b2-c3d4-7abc-8def-0123456789ab"), names("my-own-id")
        ('456789ab', 'my-own-id')
    """

    def __init__(self, ids: Iterable[str]) -> None:
        distinct = set(ids)
        self._length = _SHORT
        while self._length < 36 and self._clash(distinct):
            self._length += 4

    def __call__(self, memory_id: str) -> str:
        """The short form of one id."""
        return one_line(memory_id[-self._length :] if _UUID.fullmatch(memory_id) else memory_id, limit=40)

    def _clash(self, ids: set[str]) -> bool:
        return len({item[-self._length :] for item in ids}) < len(ids)


# --------------------------------------------------------------------------------------------
# Writing


def written(result: WriteResult, *, checked: bool = False) -> Parts:
    """The outcome of a write, the reason, and possible next steps."""
    yield _outcome(result.outcome) + styled("  " + one_line(result.message, limit=1_000))
    reasons = why(result)
    if reasons and reasons not in result.message:
        yield _detail("why", reasons)
    if result.degraded:
        yield _detail("degraded", ", ".join(result.degraded))
    for conflict in result.conflicts:
        if conflict.resolution is None:
            yield _detail("conflict", f"{conflict.key}  {differences_of(conflict)}")
    for link in result.links:
        yield _detail("link", f"{link.src} -{link.rel}-> {link.dst}")
    if checked:
        for match in result.matches:
            yield _detail("match", f"{number(match.similarity)}  {match.relation}  {match.title} ({match.memory_id})")
    if result.dropped:
        yield _detail("dropped", f"{result.dropped}; `wellkept restore {result.dropped}` stores it anyway")
    elif result.entry:
        yield _detail("entry", f"{result.entry}; `wellkept undo {result.entry}` undoes this")
    if result.question is not None:
        yield from _asked(result.question)


def _asked(question: Question) -> Parts:
    """The question about a write, in short."""
    from wellkept.core.asking.question_text import HOW, opinion_words

    yield _detail("asks", f"{question.id}: does it repeat, replace or add to one of these?")
    for one in question.candidates:
        said = f"{one.number}  {day(one.memory)}  {one_line(one.memory.content, limit=_CELL)}"
        yield _detail("", f"{said}  ({opinion_words(one.opinion)})")
    yield _detail("", f"wellkept answer {question.id} {HOW}")


def batch(result: BatchResult) -> Parts:
    """One row per item, then the counts."""
    errors = {error.index: error for error in result.errors}
    table = _table("item>", "outcome", "what")
    for place, item in enumerate(result.results):
        if item is not None:
            table.add_row(str(place), _outcome(item.outcome), _cell(item.message))
        elif place in errors:
            table.add_row(str(place), styled("error", "red"), _cell(errors[place].message))
    if table.row_count:
        yield table
    yield counted(result.counts, len(result.errors))
    asked = sum(item is not None and item.question is not None for item in result.results)
    if asked:
        yield f"{count_of(asked, 'question')} asked; `wellkept questions` lists them"


def counted(counts: Mapping[str, int], errors: int) -> Text:
    """`2 created, 1 duplicate`."""
    parts = [f"{count} {word}" for word, count in counts.items() if count]
    if errors:
        parts.append(f"{errors} rejected")
    return styled(", ".join(parts) or "Nothing to do")


def imported(report: ImportReport) -> Parts:
    """Counts by outcome, the first errors, and the path of the rejected lines."""
    table = _table("outcome", "lines>")
    for word, count in sorted(report.counts.items()):
        table.add_row(_outcome(word), str(count))
    if report.failed:
        table.add_row(styled("rejected", "red"), str(report.failed))
    table.add_section()
    table.add_row(styled("read"), str(report.read))
    table.add_row(styled("conflicts opened"), str(report.conflicts))
    table.add_row(styled("seconds"), f"{report.seconds:.1f}")
    yield table
    yield from item_errors(report.errors, report.failed)
    if report.rejects:
        yield _detail("rejects", report.rejects)
    yield _detail("run", report.run_id)


def item_errors(errors: Sequence[ItemError], count: int) -> Parts:
    """The first errors with their line numbers, and the number of further errors."""
    for error in errors[:SHOWN_ERRORS]:
        yield _detail(f"line {error.index}", f"{error.message} [{error.excerpt}]")
    if count > SHOWN_ERRORS:
        yield _detail("", f"… and {count - SHOWN_ERRORS} more")


# --------------------------------------------------------------------------------------------
# Reading


def memories(rows: Sequence[Memory], beside: Standing | None = None) -> Parts:
    """A table of memories, with the number of their wordings and the memories that outdate them."""
    if not rows:
        yield "No memories"
        return
    marks, behind = ((), {}) if beside is None else (beside.marks, beside.wordings)
    short = ShortIds((*(row.id for row in rows), *(end for mark in marks for end in (mark.a, mark.b))))
    notes = {row.id: "; ".join(_standing(row, marks, behind, short)) for row in rows}
    mixed, noted = any(row.status != "active" for row in rows), any(notes.values())
    table = _table("id", "kind", *(["status"] if mixed else []), "subject", "text", "date", *([""] if noted else []))
    for row in rows:
        status = [_outcome(row.status)] if mixed else []
        note = [styled(notes[row.id], "yellow")] if noted else []
        table.add_row(
            short(row.id), _cell(row.kind), *status, _cell(row.subject), _cell(_text_of(row)), day(row), *note
        )
    yield table


def hits(found: Sequence[Hit], *, explain: bool) -> Parts:
    """A table of hits, best first; with score parts when `explain` is set."""
    if not found:
        yield "Nothing found"
        return
    short = ShortIds(key for hit in found for key in (*hit.ids, *_others(hit)))
    names = sorted({name for hit in found for name in hit.parts}) if explain else []
    table = _table("score>", *(f"{name}>" for name in names), "id", "text", "kind", "date", "")
    for hit in found:
        text = _cell(_text_of(hit.memory))
        if hit.wording is not None:
            text.append("\nwording: ", "dim").append(one_line(hit.wording.content, limit=_CELL))
        table.add_row(
            f"{hit.score:.3f}",
            *(number(hit.parts.get(name)) for name in names),
            short(hit.memory.id),
            text,
            _cell(hit.memory.kind),
            day(hit.memory),
            styled("; ".join(_notes(hit, short)), "yellow"),
        )
    yield table


def memory(row: Memory, beside: Standing | None = None) -> Parts:
    """One memory: its text, its wordings, the memories that outdate it, then every field with a value."""
    text = safe(row.content[:_CONTENT], lines=True)
    if row.title:
        yield styled(one_line(row.title), "bold")
    yield styled(text)
    if len(row.content) > _CONTENT:
        yield styled(f"… and {len(row.content) - _CONTENT} characters more; --json shows all", "dim")
    yield ""
    for name, value in (*_beside(row, beside), *_fields(row)):
        yield styled(f"{name:<15} ", "dim").append(value, style="default")


def history(versions: Sequence[Version]) -> Parts:
    """A timeline of states and the decisions that led to them."""
    table = _table("entry>", "when", "what", "version>", "text", "why")
    for item in versions:
        state = item.memory
        table.add_row(
            str(item.seq),
            when(item.at),
            _cell(_act(item)),
            str(state.version) if state is not None else "",
            _cell(_text_of(state)) if state is not None else styled("(gone)", "dim"),
            _cell(told(item.reasons)),
        )
    yield table


def journal(entries: Sequence[JournalEntry]) -> Parts:
    """The entries of the journal."""
    if not entries:
        yield "The journal is empty"
        return
    short = ShortIds(entry.memory_id for entry in entries if entry.memory_id)
    rows = [(str(one.seq), when(one.at), _act(one), short(one.memory_id), _entry_words(one)) for one in entries]
    yield rows_of(("entry>", "when", "what", "memory", "why"), rows)


def conflicts(found: Sequence[Conflict]) -> Parts:
    """Each conflict: both texts side by side, their differences in one line, and the deciding words."""
    from wellkept.cli.terminal.word_diffs import word_diff_of

    if not found:
        yield "No conflicts"
        return
    short = ShortIds(key for item in found for key in (item.a, item.b))
    for item in found:
        table = _table(f"older  {short(item.a)}", f"newer  {short(item.b)}")
        table.title = styled(_headline(item))
        table.title_justify = "left"
        old = [difference.old for difference in item.differences]
        new = [difference.new for difference in item.differences]
        table.add_row(_marked(item.excerpt_a, old), _marked(item.excerpt_b, new))
        yield table
        marked = word_diff_of(item.excerpt_a, item.excerpt_b)
        if marked is not None:
            yield marked
        yield styled(f"  {differences_of(item)}", "yellow")
        if item.resolution is None:
            yield styled(f"  wellkept resolve {item.key} keep-new | keep-old | keep-both | merge | dismissed", "dim")
        yield ""


def statistics(stats: Stats) -> Parts:
    """Counts of a namespace."""
    table = _table("what", "count>")
    for title, counts in (("memories", stats.memories), ("kind", stats.kinds), ("outcome", stats.outcomes)):
        for word, count in sorted(counts.items()):
            table.add_row(_cell(f"{title}: {word}"), str(count))
        table.add_section()
    for title, count in (
        ("links", stats.links),
        ("open conflicts", stats.open_conflicts),
        ("unchecked", stats.unchecked),
        ("waiting to be judged", stats.waiting),
        ("without vector", stats.without_vector),
        ("journal entries", stats.journal),
    ):
        table.add_row(title, str(count))
    yield table
    yield _detail("namespace", stats.namespace)
    yield _detail("embedder", stats.embedder)
    yield _detail("policy", stats.policy)
    yield _detail("schema", str(stats.schema))


def rows_of(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A plain table; a heading that ends with `>` aligns its column to the right."""
    table = _table(*headings)
    for row in rows:
        table.add_row(*(_cell(cell) for cell in row))
    return table


def bare(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> Table:
    """A table without lines; its cells wrap where needed."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(styled(one_line(cell)) for cell in row))
    return table


# --------------------------------------------------------------------------------------------
# Helpers


def differences_of(conflict: Conflict) -> str:
    """The deciding words, or the reason when there are none."""
    decisive = [item for item in conflict.differences if item.decisive] or list(conflict.differences)
    words = ", ".join(difference_words(item) for item in decisive)
    return one_line(words or conflict.reason.replace("_", " "))


def number(value: float | None) -> str:
    """A share, with enough digits to compare it with a threshold."""
    return "–" if value is None else f"{value:.4f}"


def when(at: datetime) -> str:
    """A time in UTC."""
    return at.astimezone(UTC).strftime("%Y-%m-%d %H:%M")


def day(row: Memory) -> str:
    """The day of the event, or of storing when the event has no time."""
    return (row.event_time or row.created_at).astimezone(UTC).strftime("%Y-%m-%d")


def styled(words: str, style: str = "") -> Text:
    """Styled text; rich is loaded only when something is printed."""
    from rich.text import Text

    return Text(words, style)


def _table(*headings: str) -> Table:
    from rich.box import SIMPLE_HEAD
    from rich.table import Table

    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold")
    for heading in headings:
        right = heading.endswith(">")
        name = heading.removesuffix(">")
        wide = name in ("text", "what", "why", "todo", "") or name.startswith(("older", "newer"))
        table.add_column(styled(name), justify="right" if right else "left", no_wrap=not wide, overflow="fold")
    return table


def _detail(name: str, text: str) -> Text:
    return styled(f"  {name:<9} ", "dim").append(one_line(text, limit=1_000), style="default")


def _cell(text: str) -> Text:
    return styled(one_line(text, limit=_CELL))


def _outcome(word: str) -> Text:
    return styled(word, _COLOURS.get(word, "default"))


def _act(entry: JournalEntry | Version) -> str:
    text = entry.verb if entry.verb == entry.outcome else f"{entry.verb}: {entry.outcome}"
    return f"{text} by {entry.actor}" if entry.actor else text


def _entry_words(entry: JournalEntry) -> str:
    if entry.undoes:
        return f"undoes {entry.undoes}"
    words = told(entry.reasons)
    if entry.answers:
        return f"answers q{entry.answers}: {words.removeprefix('the answer: ')}"
    return "; ".join(filter(None, (words, f"asks q{entry.seq}" if entry.asks is not None else "")))


def _notes(hit: Hit, short: ShortIds) -> Iterator[str]:
    """Notes shown below a hit's text; a move comes first, because it explains the rank."""
    if hit.memory.status != "active":
        yield hit.memory.status
    if hit.moved is not None:
        yield move_words(hit.moved, short(hit.moved.over))
    own = frozenset(hit.ids)
    for item in hit.conflicts:
        one, other = (item.a, item.b) if item.a in own else (item.b, item.a)
        if item.kind == "outdated" and (hit.moved is None or hit.moved.over != other):
            yield f"{mark_words(item, one)} {short(other)}{chance(item.probability)}"
    if any(item.kind == "contradiction" for item in hit.conflicts):
        yield "conflict"
    if any(item.kind == "duplicate" for item in hit.conflicts):
        yield "possible duplicate"
    if hit.question:
        yield f"question {hit.question} is open"
    if hit.repeats:
        yield f"stored {len(hit.ids)} times"


def _others(hit: Hit) -> Iterator[str]:
    """The ids mentioned in the notes of a hit."""
    yield from () if hit.moved is None else (hit.moved.over,)
    yield from (end for item in hit.conflicts if item.kind == "outdated" for end in (item.a, item.b))


def _standing(
    row: Memory, marks: Sequence[Conflict], behind: Mapping[str, Sequence[Memory]], short: ShortIds
) -> Iterator[str]:
    for mark in marks:
        if mark.a == row.id:
            yield f"outdated by {short(mark.b)}{chance(mark.probability)}"
    if row.id in behind:
        yield count_of(len(behind[row.id]), "wording")


def _beside(row: Memory, beside: Standing | None) -> Iterator[tuple[str, str]]:
    if beside is None:
        return
    for mark in beside.marks:
        other, text = (mark.b, mark.excerpt_b) if mark.a == row.id else (mark.a, mark.excerpt_a)
        yield mark_words(mark, row.id), one_line(f"{other}{chance(mark.probability)}  {text}", limit=_CELL)
    for wording in beside.wordings.get(row.id, ()):
        yield "wording", one_line(f"{wording.id}  {wording.content}", limit=1_000)


def _text_of(row: Memory) -> str:
    return row.content or ("(erased)" if row.status == "erased" else "")


def _headline(item: Conflict) -> str:
    state = "" if item.resolution is None else f"  resolved: {item.resolution.replace('_', ' ')}"
    return f"{item.key}  {item.kind}  {number(item.similarity)}{state}"


def _marked(text: str, words: Sequence[str]) -> Text:
    shown = styled(one_line(text))
    for word in words:
        plain = one_line(word)
        if plain:
            shown.highlight_words([plain], style="bold reverse", case_sensitive=False)
    return shown


def _fields(row: Memory) -> Iterator[tuple[str, str]]:
    yield "id", one_line(row.id)
    yield "kind", one_line(row.kind)
    yield "status", row.status
    for name in ("superseded_by", "subject", "attribute", "summary", "agent", "source", "trigger"):
        if getattr(row, name):
            yield name.replace("_", " "), one_line(getattr(row, name), limit=1_000)
    for name in ("tags", "provenance"):
        if getattr(row, name):
            yield name, one_line(", ".join(getattr(row, name)), limit=1_000)
    for name in ("metadata", "signals"):
        if getattr(row, name):
            yield name, one_line(str(dict(getattr(row, name))), limit=1_000)
    yield from _figures(row)


def _figures(row: Memory) -> Iterator[tuple[str, str]]:
    yield "importance", f"{row.importance:g}"
    if row.confidence != 1.0:
        yield "confidence", f"{row.confidence:g}"
    if row.polarity:
        yield "polarity", f"{row.polarity:+d}"
    for name in ("event_time", "event_end", "ended_at", "expires_at", "created_at", "updated_at", "last_confirmed_at"):
        if getattr(row, name):
            yield name.replace("_", " ").removesuffix(" at"), when(getattr(row, name))
    yield "version", str(row.version)
    if row.evolution_count:
        yield "updates", str(row.evolution_count)
    if row.confirmations:
        yield "confirmed", count_of(row.confirmations, "time")
    if row.pinned:
        yield "pinned", "yes"
    if not row.checked:
        yield "unchecked", "stored while a check was unavailable; `wellkept reembed` repairs it"
