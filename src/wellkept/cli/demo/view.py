"""Terminal output of the demo: plain sentences with some colour, readable in 80 columns and in a pipe.

Texts of the sample and of the store are untrusted. They are printed only through `plain` and as `Text`
values, so that neither control characters nor rich markup take effect.
"""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich.console import Console
from rich.text import Text

from wellkept.cli.demo.story import Answer, Figures, Line, Step, Story, TakenBack
from wellkept.core.records.explain import chance, difference_words, why
from wellkept.core.records.lifecycle import effective_time
from wellkept.types import Conflict, ConflictKind, Memory, WriteResult
from wellkept.types.showing import count_of

_STYLES: Mapping[str, str] = {
    "created": "green",
    "duplicate": "yellow",
    "restated": "yellow",
    "reused": "yellow",
    "evolved": "cyan",
    "superseded": "bold cyan",
    "rejected": "magenta",
    "refused": "bold red",
}
_LACKS: Mapping[str, str] = {
    "embedding": "stored unchecked, the embedder could not be reached",
    "language": "no negation rules for their language",
    "lexical": "compared by spelling only, the embedder does not know their words",
    "relation": "judged by rules alone, the relation model could not be loaded",
    "unreadable": "no vector, the embedder cannot read them; only exact duplicates are found",
}
_CONFLICTS: Mapping[ConflictKind, tuple[str, str]] = {
    "contradiction": ("contradiction", "contradictions"),
    "outdated": ("probably outdated", "probably outdated"),
    "duplicate": ("possible duplicate", "possible duplicates"),
}
"""Words for one conflict of each kind, and for several."""
_INDENT = 21
_MIN_WIDTH = 48
_LABEL = 22
_JOINERS = frozenset("\u200c\u200d")
_UNSEEN = frozenset(("Cc", "Cf", "Cs", "Co", "Zl", "Zp"))


def plain(text: str, console: Console) -> str:
    """The text on one line, safe to print: no invisible characters and no control sequences.

    Control characters, direction overrides and similar characters are printed as escapes (`\\x1b`, `\\u202e`), as
    are characters that the console's encoding lacks.
    """
    shown = "".join(_escaped(char) for char in " ".join(text.split()))
    return shown.encode(console.encoding, "backslashreplace").decode(console.encoding)


def _escaped(char: str) -> str:
    if char in _JOINERS or unicodedata.category(char) not in _UNSEEN:
        return char
    return char.encode("unicode_escape").decode("ascii")


# --------------------------------------------------------------------------------------------
# While it runs


def opening(console: Console, lines: Sequence[Line]) -> None:
    """The introduction."""
    first, last = lines[0].at, lines[-1].at
    _print(console, Text("Wellkept: a month of a coding agent's notes", "bold"))
    _paragraph(
        console,
        f"{len(lines)} writes from {_day(first)} to {_day(last)} {last.year} pass the gate one by one. Everything runs "
        "in this process with one file: no key, no server, no network.",
    )


def step(console: Console, done: Step, numbers: Mapping[str, int]) -> None:
    """One write: number, date, outcome, kind and text, with the reason below."""
    head = Text(f"{done.line.number:>2} {_day(done.line.at)} ")
    head.append(f"{done.outcome:<10}  ", _STYLES.get(done.outcome, ""))
    head.append(f"{done.line.kind}: ", "dim")
    head.append(plain(done.line.content, console))
    head.truncate(_width(console), overflow="ellipsis" if console.encoding.startswith("utf") else "crop")
    _print(console, head)
    _indented(console, Text(plain(reason(done, numbers), console), "dim"), _INDENT)


def reason(done: Step, numbers: Mapping[str, int]) -> str:
    """The reason in words, with the numbers of the related lines."""
    match done.became:
        case WriteResult() as result:
            about, words = _about(result, numbers), why(result)
            return f"{about}: {words}" if about else words
        case error:
            words = f"{type(error).__name__}: {error}"
            for memory_id, number in numbers.items():
                words = words.replace(memory_id, f"write {number}")
            return words


def _about(result: WriteResult, numbers: Mapping[str, int]) -> str:
    memory = result.memory
    match result.outcome:
        case "duplicate" if memory is not None:
            return f"same as {_number(memory.id, numbers)}"
        case "restated" if memory is not None:
            return f"kept behind {_number(memory.id, numbers)}"
        case "reused" if memory is not None:
            return f"continues {_number(memory.id, numbers)}"
        case "evolved" if memory is not None:
            return f"added to {_number(memory.id, numbers)}"
        case "created" if memory is not None and memory.status == "superseded":
            return f"kept as history of {_number(memory.superseded_by, numbers)}"
        case _:
            replaced = [link.dst for link in result.links if link.rel == "supersedes"]
            unsettled = [conflict for conflict in result.conflicts if conflict.resolution is None]
            marked = [conflict.a for conflict in unsettled if conflict.kind == "outdated"]
            open_ones = [conflict.a for conflict in unsettled if conflict.kind != "outdated"]
            linked = [
                link.dst for link in result.links if link.rel == "related" and link.dst not in (*open_ones, *marked)
            ]
            named = (("replaces", replaced), ("outdates", marked), ("compare with", open_ones), ("linked to", linked))
            return ", ".join(f"{word} {_numbered(ids, numbers)}" for word, ids in named if ids)


# --------------------------------------------------------------------------------------------
# At the end


def ending(console: Console, story: Story, *, db: str | None, program: str, verbose: bool) -> None:
    """Summary, one write per outcome, conflicts, a query, an undo, and next steps that use `program`."""
    _summary(console, story.figures, story.conflicts)
    if not verbose:
        _examples(console, story, program)
    _conflicts(console, story.conflicts, story.numbers)
    _answer(console, story.answer, story.numbers)
    if story.taken_back is not None:
        _taken_back(console, story.taken_back)
    _farewell(console, db, program)


def _summary(console: Console, figures: Figures, conflicts: Sequence[Conflict]) -> None:
    kinds = Counter(conflict.kind for conflict in conflicts)
    outcomes = figures.outcomes
    evolved, superseded = outcomes.get("evolved", 0), outcomes.get("superseded", 0)
    late = figures.updates_applied - evolved - superseded
    again, reused = outcomes.get("duplicate", 0), outcomes.get("reused", 0)
    replaced = f"{superseded} replaced, {evolved} added to, {late} filed as older"
    flagged = ", ".join(f"{kinds[kind]} {words}" for kind, (_, words) in _CONFLICTS.items() if kinds[kind]) or "none"
    if figures.conflicts_expired:
        flagged += f"; {figures.conflicts_expired} expired, both texts stay"
    _heading(console, "Summary")
    rows = (
        ("writes", figures.writes, ", ".join(f"{number} {word}" for word, number in outcomes.items())),
        ("memories", figures.memories, f"current; {figures.history} older versions kept as history"),
        ("duplicates stopped", figures.duplicates_stopped, f"{again} already stored; continued episodes: {reused}"),
        ("paraphrases kept", figures.paraphrases_kept, "as wordings behind the memories that they repeat"),
        ("updates applied", figures.updates_applied, replaced),
        ("conflicts to review", figures.conflicts_to_look_at, flagged),
        ("refused", figures.errors, "with a typed error; nothing was written"),
    )
    for name, number, note in rows:
        row = Text(f"  {name:<{_LABEL}}")
        row.append(f"{number:>3}", "bold")
        row.append(f"   {note}", "dim")
        _indented(console, row, 0, hang=_LABEL + 8)
    for word, number in figures.degraded.items():
        _paragraph(console, f"  {count_of(number, 'write')}: {_LACKS.get(word, word)}.")


def _examples(console: Console, story: Story, program: str) -> None:
    """The first write of each outcome, with its reason."""
    _heading(console, "One write of each outcome, with its reason")
    firsts = {done.outcome: done for done in reversed(story.steps)}
    for done in sorted(firsts.values(), key=lambda done: done.line.number):
        step(console, done, story.numbers)
    _unbroken(console, f"  All {len(story.steps)} writes: {plain(program, console)} demo --verbose")


def _conflicts(console: Console, conflicts: Sequence[Conflict], numbers: Mapping[str, int]) -> None:
    _heading(console, "Conflicts to review")
    if not conflicts:
        _print(console, Text("  none"))
    for conflict in conflicts:
        deciding = [item for item in conflict.differences if item.decisive] or list(conflict.differences)
        words = ", ".join(difference_words(item) for item in deciding)
        head = Text(f"  {_CONFLICTS[conflict.kind][0]}{chance(conflict.probability)}", "yellow")
        head.append(plain(f": {words}" if words else "", console))
        _indented(console, head, 0, hang=4)
        for memory_id, text in ((conflict.a, conflict.excerpt_a), (conflict.b, conflict.excerpt_b)):
            _indented(console, Text(f"    {_number(memory_id, numbers):>3}  {plain(text, console)}"), 0, hang=9)


def _answer(console: Console, answer: Answer, numbers: Mapping[str, int]) -> None:
    _heading(console, f"Asked: {answer.query}")
    if not answer.hits:
        _print(console, Text("  nothing found"))
        return
    _indented(console, Text(f"  {plain(answer.hits[0].memory.content, console)}", "bold green"), 0, hang=2)
    for memory in answer.timeline:
        since = effective_time(memory, memory.created_at).date().isoformat()
        row = Text(f"    {since}  {plain(memory.content, console)} ")
        row.append(_standing(memory, numbers), "dim")
        _indented(console, row, 0, hang=16)


def _standing(memory: Memory, numbers: Mapping[str, int]) -> str:
    """The status of a memory in the timeline."""
    late = memory.event_time is not None and memory.event_time < memory.created_at
    learnt = f", learned {_day(memory.created_at)}" if late else ""
    current = ", current" if memory.status == "active" else ""
    return f"(write {_number(memory.id, numbers)}{learnt}{current})"


def _taken_back(console: Console, back: TakenBack) -> None:
    _heading(console, f"Undo of write {back.step.line.number}, then redo")
    for name, texts in (("before", back.before), ("after undo", back.after_undo), ("after redo", back.after_redo)):
        shown = " / ".join(plain(text, console) for text in texts) or "nothing"
        _indented(console, Text(f"  {name:<12}{shown}"), 0, hang=14)
    if back.restored:
        note = "  Every field is as it was before the undo; the journal keeps all three steps."
        _indented(console, Text(note, "dim"), 0, hang=2)


def _farewell(console: Console, db: str | None, program: str) -> None:
    _heading(console, "Next")
    program = plain(program, console)
    if db is None:
        _paragraph(console, "  The store was a temporary file and is gone. To keep one and look around:")
        name = "month.db"
        tries = [(f"{program} demo --db {name}", "the demo again, in a file that is kept")]
    else:
        name = plain(db, console)
        _unbroken(console, f"  The store is {name}. Look around:")
        tries = [(f"{program} stats --db {name}", "counts of the store")]
    tries += [
        (f'{program} recall "who owns checkout?" --db {name}', "current memories relevant to a query"),
        # With --settled: the conflicts of that month have expired by now.
        (f"{program} conflicts --settled --db {name}", "both texts of each conflict, and how to resolve it"),
    ]
    for command, meaning in tries:
        _unbroken(console, f"    {command}")
        _print(console, Text(f"        {meaning}", "dim"))


# --------------------------------------------------------------------------------------------
# Lines


def _width(console: Console) -> int:
    return max(_MIN_WIDTH, console.width)


def _print(console: Console, text: Text) -> None:
    text.rstrip()
    console.print(text, soft_wrap=True, highlight=False)


def _indented(console: Console, text: Text, indent: int, *, hang: int | None = None) -> None:
    """The text wrapped to the console; `hang` is the indent of its continuation lines."""
    further = indent if hang is None else hang
    first, *_ = text.wrap(console, _width(console) - indent)
    _print(console, Text(" " * indent) + first)
    rest = text[len(first) :]
    rest = rest[len(rest.plain) - len(rest.plain.lstrip()) :]
    for line in rest.wrap(console, _width(console) - further) if rest.plain else ():
        _print(console, Text(" " * further) + line)


def _paragraph(console: Console, text: str) -> None:
    indent = len(text) - len(text.lstrip())
    _indented(console, Text(text.lstrip()), indent)


def _unbroken(console: Console, text: str) -> None:
    """A line to copy: never wrapped, however long its path."""
    _print(console, Text(text))


def _heading(console: Console, text: str) -> None:
    _print(console, Text())
    _print(console, Text(text, "bold"))


def _day(at: datetime) -> str:
    return f"{_MONTHS[at.month - 1]} {at.day:02}"


# Not strftime: its month names depend on the locale.
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _number(memory_id: str, numbers: Mapping[str, int]) -> str:
    return str(numbers.get(memory_id, "?"))


def _numbered(ids: Iterable[str], numbers: Mapping[str, int]) -> str:
    return ", ".join(_number(memory_id, numbers) for memory_id in ids)
