"""What `wellkept ingest` takes from conversations, against facts that people noted about them.

    python -m benchmarks.transcripts FOLDER [--conversations 2] [--gate]

The folder holds `turns.jsonl` (conv, dia_id, speaker, date, text) and `observations.jsonl` (conv, dia_ids, speaker,
text), as LoCoMo's conversations are prepared.

An observation is found by place if something kept comes from one of its turns,
and by words if half of its content words stand in what is kept of its turns. What is kept is right by place if an
observation names its turn, and by words if it shares half of the content words of the shorter one of the two.

The extractor is a recording: a server on this machine that answers each passage with the observations about its lines,
and with two facts that no line tells, one with a line that is not there and one with a wrong line. So its figures say
what the way of a fact loses and lets through, not how good a model is.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import threading
import time
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import wellkept
from wellkept.core.lexicon import in_all_languages
from wellkept.core.text.forms import search_terms
from wellkept.core.transcripts.facts import passages
from wellkept.core.transcripts.statements import all_statements
from wellkept.core.transcripts.turns import Turn
from wellkept.engine.ingest.choosing import Heard
from wellkept.engine.ingest.extracting import KeptAnswers, extracted, facts_of
from wellkept.engine.ingest.harvest import Harvest, statements_of, taken_in
from wellkept.engine.ingest.import_rows import Origin
from wellkept.engine.verbs.store import MemoryStore
from wellkept.models.answering.extractor import ChatExtractor

HALF = 0.5
_DATE = "%I:%M %p on %d %B, %Y"
INVENTED = "The mayor of the town keeps forty silver peacocks."


@dataclass(frozen=True)
class Noted:
    """A fact that people noted, with the turns that tell it."""

    places: frozenset[tuple[str, str]]
    terms: frozenset[str]
    text: str


@dataclass(frozen=True)
class Kept:
    """A text that is kept, with the turns that it comes from."""

    places: frozenset[tuple[str, str]]
    terms: frozenset[str]


@dataclass(frozen=True)
class Score:
    """How well kept texts meet noted facts; shares from 0 to 1."""

    kept: int
    recall_by_place: float
    precision_by_place: float
    recall_by_words: float
    precision_by_words: float

    def line(self, name: str) -> str:
        """A row of a Markdown table."""
        shares = (self.recall_by_place, self.precision_by_place, self.recall_by_words, self.precision_by_words)
        return f"| {name} | {self.kept:,} | {' | '.join(f'{100 * share:.1f} %' for share in shares)} |"


def terms_of(text: str, without: str = "") -> frozenset[str]:
    """The content words of a text, without those of a name."""
    return frozenset(search_terms(text)) - in_all_languages("function") - frozenset(search_terms(without))


def score(kept: Sequence[Kept], noted: Sequence[Noted]) -> Score:
    """Compare kept texts with noted facts."""
    kept_at: dict[tuple[str, str], list[Kept]] = defaultdict(list)
    noted_at: dict[tuple[str, str], list[Noted]] = defaultdict(list)
    for one in kept:
        for place in one.places:
            kept_at[place].append(one)
    for fact in noted:
        for place in fact.places:
            noted_at[place].append(fact)
    by_place = by_words = 0
    for fact in noted:
        near = [one for place in fact.places for one in kept_at[place]]
        said = frozenset().union(*(one.terms for one in near))
        by_place += bool(near)
        by_words += len(fact.terms & said) >= HALF * len(fact.terms) and bool(near)
    right_place = right_words = 0
    for one in kept:
        facts = [fact for place in one.places for fact in noted_at[place]]
        right_place += bool(facts)
        right_words += any(_shares(one.terms, fact.terms) for fact in facts)
    least = max(1, len(kept))
    return Score(len(kept), by_place / len(noted), right_place / least, by_words / len(noted), right_words / least)


def _shares(one: frozenset[str], other: frozenset[str]) -> bool:
    shorter = min(len(one), len(other))
    return shorter > 0 and len(one & other) >= HALF * shorter


def conversations(folder: Path) -> dict[str, list[Turn]]:
    """The turns of each conversation."""
    found: dict[str, list[Turn]] = defaultdict(list)
    for row in _rows(folder / "turns.jsonl"):
        at = datetime.strptime(row["date"], _DATE).replace(tzinfo=UTC).isoformat()
        found[row["conv"]].append(
            Turn(conversation=row["conv"], place=row["dia_id"], text=row["text"], speaker=row["speaker"], at=at)
        )
    return found


def observations(folder: Path, names: Iterable[str]) -> list[Noted]:
    """The noted facts of these conversations."""
    wanted = set(names)
    return [
        Noted(
            frozenset((row["conv"], place) for place in row["dia_ids"]),
            terms_of(row["text"], row["speaker"]),
            row["text"],
        )
        for row in _rows(folder / "observations.jsonl")
        if row["conv"] in wanted and row["dia_ids"]
    ]


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def of_harvest(harvest: Harvest) -> list[Kept]:
    """The texts of a harvest."""
    return [
        Kept(
            frozenset(tuple(place.partition(":")[2].split("/", 1)) for place in row.new.provenance),  # type: ignore[misc]
            terms_of(row.new.content, " ".join(map(str, row.new.metadata["speakers"]))),  # type: ignore[arg-type]
        )
        for row in harvest.rows
        if row.new is not None
    ]


# --------------------------------------------------------------------------------------------
# The recorded extractor


@contextmanager
def recording(turns: Sequence[Turn], noted: Sequence[Noted]) -> Iterator[str]:
    """A server that answers from a recording; yields its address."""
    places: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for passage in passages(turns):
        for turn, text in passage.lines:
            places[text].append((turn.conversation, turn.place))
    about: dict[tuple[str, str], list[Noted]] = defaultdict(list)
    for fact in noted:
        for place in fact.places:
            about[place].append(fact)

    def answer(lines: Mapping[str, Mapping[str, str]]) -> list[dict[str, Any]]:
        told: dict[str, dict[str, Any]] = {}
        for number, line in lines.items():
            for place in places[line["text"]]:
                for fact in about[place]:
                    told.setdefault(fact.text, {"text": fact.text, "lines": []})["lines"].append(int(number))
        invented = {"text": INVENTED, "lines": [1]}
        return [*told.values(), invented, {"text": "Nobody said this line.", "lines": [len(lines) + 1]}]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            request = json.loads(self.rfile.read(int(self.headers["content-length"])))
            facts = answer(json.loads(request["messages"][1]["content"]))
            choice = {
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": json.dumps({"facts": facts})},
            }
            body = json.dumps({"choices": [choice]}).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            """Quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()


# --------------------------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--conversations", type=int, help="only the first of them")
    parser.add_argument("--embedder", default="auto")
    parser.add_argument("--gate", action="store_true", help="also write it, and count what the gate makes of it")
    given = parser.parse_args(arguments)
    whole = conversations(given.folder)
    names = list(whole)[: given.conversations]
    turns = tuple(turn for name in names for turn in whole[name])
    noted = observations(given.folder, names)
    origin = Origin(format="locomo")
    print(f"{len(names)} conversations, {len(turns):,} turns, {len(noted):,} observations\n")
    print("| kept | texts | found, by place | right, by place | found, by words | right, by words |")
    print("|---|---:|---:|---:|---:|---:|")
    with wellkept.open("memory:", embedder=given.embedder) as store, tempfile.TemporaryDirectory() as folder:
        everything = [Kept(frozenset({(one.conversation, one.place)}), terms_of(one.text)) for one in turns]
        print(score(everything, noted).line("every turn, whole"))
        every = list(all_statements(turns))
        print(score([_as_kept(one.turn, one.text) for one in every], noted).line("every sentence"))
        ruled = [_as_kept(one.turn, one.text) for one in every if one.why is None]
        print(score(ruled, noted).line("without questions, greetings, fragments"))
        began = time.perf_counter()
        harvest = statements_of(store._ctx, Heard(turns, ()), origin)
        seconds = time.perf_counter() - began
        print(score(of_harvest(harvest), noted).line("**statements worth keeping**, without a model"))
        with recording(turns, noted) as url:
            model = ChatExtractor(url, model="recorded")
            found = extracted(turns, model, KeptAnswers(Path(folder), model.id))
            facts = facts_of(store._ctx, Heard(turns, ()), found, origin)
        print(score(of_harvest(facts), noted).line("**facts of a recorded extractor**"))
        invented = sum(fact.text == INVENTED for fact in found.facts)
        print(
            f"\nChoosing took {seconds:.0f} s. The extractor was asked {found.asked} times; not taken: {found.faults}; "
            f"invented facts taken: {invented} of {2 * found.asked}."
        )
        if given.gate:
            _through_the_gate(store, {"statements": harvest, "facts": facts})
    return 0


def _as_kept(turn: Turn, text: str) -> Kept:
    return Kept(frozenset({(turn.conversation, turn.place)}), terms_of(text, turn.speaker))


def _through_the_gate(store: MemoryStore, harvests: Mapping[str, Harvest]) -> None:
    for name, harvest in harvests.items():
        inside = store.in_namespace(name)
        report = taken_in(inside._ctx, harvest)
        counts = ", ".join(f"{word} {count:,}" for word, count in sorted(report.counts.items()))
        print(f"Through the gate, {name}: {counts}; conflicts {report.conflicts}; {report.seconds:.0f} s")


if __name__ == "__main__":
    sys.exit(main())
