"""A session that a coding agent had with the server: its notes, the questions it was shown, and its answers.

The notes were written before they were first played, with what each restates or updates. The agent answered from what
the tool printed. Each note was remembered alone, in the order of the file, a day of work in one connection.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import Client

import wellkept
from stores import EVERYTHING
from surfaces.mcp.servers import talk
from wellkept.server.mcp.server import create_server
from wellkept.testing.clock import FrozenClock

RECORDED = Path(__file__).parents[2] / "scenarios" / "recorded" / "agent_session.jsonl"
CHARACTERS_PER_TOKEN = 4
Asked = tuple[int, tuple[int, ...]]
"""The number of the note in question, and those of its candidates."""


@dataclass(frozen=True, slots=True)
class Note:
    """A note: what it is (`new`, `restates`, `updates`, `event`, `detail`, `chatter`), and of which note.

    An `event` is an update that is told as something that happened. A `detail` holds beside the other note.
    """

    n: int
    day: int
    text: str
    is_: str
    of: int
    candidates: tuple[int, ...]
    answer: str


@dataclass(frozen=True, slots=True)
class Played:
    """What was asked, as notes and as printed, how many were answered, and the figures at the end."""

    asked: frozenset[Asked]
    shown: tuple[str, ...]
    answered: int
    lost: tuple[int, ...]
    twice: tuple[int, ...]
    unmarked: tuple[int, ...]
    folded: tuple[int, ...]
    marked: tuple[int, ...]

    @property
    def tokens(self) -> int:
        """Length of all questions that were shown."""
        return sum(len(text) for text in self.shown) // CHARACTERS_PER_TOKEN

    def __str__(self) -> str:
        return (
            f"{len(self.asked)} questions shown {len(self.shown)} times ({self.tokens} tokens), "
            f"{self.answered} answered; lost {self.lost}, twice {self.twice}, unmarked {self.unmarked}, "
            f"wrong folds {self.folded}, wrong marks {self.marked}"
        )


def recorded() -> tuple[Note, ...]:
    """The notes, in order."""
    rows = map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
    return tuple(
        Note(row["n"], row["day"], row["text"], row["is"], row.get("of", 0), tuple(row.get("candidates", ())),
             row.get("answer", ""))
        for row in rows
    )  # fmt: skip


def play(store: wellkept.MemoryStore, clock: FrozenClock, notes: Sequence[Note], *, answering: bool) -> Played:
    """Remember the notes through a client, and answer the questions as it was recorded."""
    server = create_server(store)
    numbers = {note.text: note.n for note in notes}
    by_number = {note.n: note for note in notes}
    asked: set[Asked] = set()
    shown: list[str] = []
    answered: list[str] = []

    async def reply(client: Client, ids: Sequence[str]) -> None:
        for question in store.questions(limit=None):
            if question.id not in ids or question.id in answered:
                continue
            found = tuple(numbers[one.memory.content] for one in question.candidates)
            note = by_number[numbers[question.memory.content]]
            asked.add((note.n, found))
            if answering and (text := _renumbered(note, found)):
                told = await client.call_tool("answer", {"text": f"{question.id} {text}"})
                assert not told.is_error, told
                answered.append(question.id)

    async def work(client: Client, day: int) -> None:
        for note in (note for note in notes if note.day == day):
            told = await client.call_tool("remember", {"content": note.text})
            assert not told.is_error, told
            if found := re.search(r"^Question (q\d+): [\s\S]*", told.content[0].text, re.MULTILINE):
                shown.append(found[0])
                await reply(client, [found[1]])
            clock.advance(minutes=7)

    async def end(client: Client) -> None:
        listed = (await client.call_tool("questions", {})).structured_content["questions"]
        await reply(client, [one["id"] for one in listed])

    for day in sorted({note.day for note in notes}):
        talk(server, "auto", lambda client, day=day: work(client, day))
        clock.advance(hours=23)
    talk(server, "auto", end)
    figures = _figures(store, notes)
    return Played(frozenset(asked), tuple(shown), len(answered), **figures)


def _renumbered(note: Note, found: tuple[int, ...]) -> str:
    """The recorded answer with the numbers that the candidates have now; empty if one of them is missing."""
    named = [note.candidates[int(number) - 1] for number in re.findall(r"\d+", note.answer)]
    if not set(named) <= set(found):
        return ""
    return re.sub(r"\d+", lambda number: str(found.index(note.candidates[int(number[0]) - 1]) + 1), note.answer)


def _figures(store: wellkept.MemoryStore, notes: Sequence[Note]) -> dict[str, Any]:
    """The notes that are lost, shown twice, unmarked, wrongly folded and wrongly marked, by what was true."""
    rows = {row.content: row for row in store.list(EVERYTHING, limit=None)}
    row_of = {note.n: rows[note.text] for note in notes if note.text in rows}
    number_of = {row.id: number for number, row in row_of.items()}
    said = _said(notes)
    current = {key: value for key, value in (said[number] for number in sorted(said))}
    kept = {n for n, row in row_of.items() if row.status in ("active", "wording")}
    listed = {n for n, row in row_of.items() if row.status == "active"}
    outdated = {number_of[item.a] for item in store.conflicts() if item.kind == "outdated"}
    outdated |= {n for n, row in row_of.items() if row.status == "superseded"}

    def holds(n: int) -> bool:
        return said[n][1] == current[said[n][0]]

    def older(n: int) -> set[int]:
        key, value = said[n]
        return {one for one in listed - outdated if said.get(one, ("", 0))[0] == key and said[one][1] < value}

    heads = {n: number_of[row.superseded_by] for n, row in row_of.items() if row.status == "wording"}
    return {
        "lost": tuple(n for n in said if n not in kept and (n not in row_of or holds(n))),
        "twice": tuple(
            note.n for note in notes if note.is_ == "restates" and note.n in listed
            and any(said.get(one) == said[note.n] for one in listed - {note.n})
        ),
        "unmarked": tuple(note.n for note in notes if note.is_ in ("updates", "event") and older(note.n)),
        "folded": tuple(n for n, head in heads.items() if n not in said or said.get(head) != said[n]),
        "marked": tuple(n for n in sorted(outdated) if n in said and holds(n)),
    }  # fmt: skip


def _said(notes: Sequence[Note]) -> Mapping[int, tuple[int, int]]:
    """What each note says: the note that first spoke of it, and the note that first said it so."""
    said: dict[int, tuple[int, int]] = {}
    for note in notes:
        match note.is_:
            case "chatter":
                continue
            case "restates":
                said[note.n] = said[note.of]
            case "updates" | "event":
                said[note.n] = (said[note.of][0], note.n)
            case _:
                said[note.n] = (note.n, note.n)
    return said
