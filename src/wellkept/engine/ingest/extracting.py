"""Has a model extract facts from the turns, passage by passage; each answer is kept, so that no passage is sent twice.

What is kept is what the model said. It is checked each time it is used, like a new answer.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Protocol

from wellkept.core.transcripts.facts import Fact, Passage, as_data, facts_in, passages
from wellkept.core.transcripts.turns import Turn
from wellkept.engine.base.context import Context
from wellkept.engine.base.files import replacing
from wellkept.engine.ingest.choosing import Heard
from wellkept.engine.ingest.harvest import BUDGET, Harvest
from wellkept.engine.ingest.import_rows import Origin, fact_rows, unread_rows
from wellkept.errors import StorePathError
from wellkept.frozen import frozen

_MOST_BYTES = 1 << 20
_UNREADABLE = "unreadable answer"


class Extractor(Protocol):
    """A model that is asked about passages.

    Attributes:
        id: Names the model and its prompt.
    """

    id: str

    def __call__(self, passage: Passage) -> str | None:
        """The model's answer about a passage; None when the budget is spent.

        Raises:
            ModelError: It cannot be asked, or sends something else.
        """


class KeptAnswers:
    """What models have said about passages, one file each, which only its owner can read.

    Args:
        folder: The folder of the files; it is made when it is needed.
        model: The id of the model.
    """

    def __init__(self, folder: Path, model: str) -> None:
        self._folder = folder
        self._model = model

    def get(self, passage: Passage) -> str | None:
        """The kept answer about a passage; None if there is none, or it is unreadable."""
        try:
            with self._file(passage).open("rb") as file:
                said = file.read(_MOST_BYTES).decode()
        except (OSError, UnicodeDecodeError):
            return None
        return said if facts_in(said, passage) is not None else None

    def put(self, passage: Passage, said: str) -> None:
        """Keep the model's answer about a passage.

        Raises:
            StorePathError: It cannot be written.
        """
        plain = said.encode("utf-8", "replace")
        if len(plain) > _MOST_BYTES:
            return
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            where = str(self._folder)
            raise StorePathError(f"cannot be made: {error.strerror}", where=where, todo="Check the path") from error
        file = self._file(passage)
        with replacing(file) as out:
            out.write(plain.decode())
        with suppress(OSError):
            os.chmod(file, 0o600)

    def _file(self, passage: Passage) -> Path:
        plain = f"{self._model}\x1f{as_data(passage)}".encode("utf-8", "surrogatepass")
        return self._folder / f"{hashlib.blake2b(plain, digest_size=20).hexdigest()}.txt"


@frozen(kw_only=True)
class Extraction:
    """What a model has extracted.

    Attributes:
        facts: The facts, in the order of their passages.
        faults: How many of its facts or answers do not count, by reason.
        passages: Number of passages.
        asked: Number of passages that were sent now; the others were kept from earlier.
        left: Number of passages that the budget did not allow.
    """

    facts: tuple[Fact, ...]
    faults: Mapping[str, int] = field(default_factory=dict)
    passages: int
    asked: int
    left: int


def extracted(
    turns: Sequence[Turn],
    ask: Extractor,
    kept: KeptAnswers,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> Extraction:
    """The facts of the turns, as a model tells them.

    Args:
        turns: The turns.
        ask: The model.
        kept: What was said before.
        progress: Called with the number of passages done, and of all.

    Raises:
        ModelError: The model cannot be asked; what it said before is kept.
    """
    whole = list(passages(turns))
    facts: dict[tuple[str, tuple[Turn, ...]], Fact] = {}
    faults: Counter[str] = Counter()
    asked = left = 0
    for number, passage in enumerate(whole, start=1):
        said = kept.get(passage)
        if said is None:
            said = ask(passage)
            if said is None:
                left += 1
                continue
            asked += 1
        found = facts_in(said, passage)
        if found is None:
            faults[_UNREADABLE] += 1
            continue
        kept.put(passage, said)
        faults.update(found.faults)
        facts.update({(fact.text, fact.turns): fact for fact in found.facts})
        if progress is not None:
            progress(number, len(whole))
    return Extraction(facts=tuple(facts.values()), faults=dict(faults), passages=len(whole), asked=asked, left=left)


def facts_of(ctx: Context, heard: Heard, found: Extraction, origin: Origin) -> Harvest:
    """The facts that a model has extracted, as rows.

    Args:
        ctx: The store; it is only read.
        heard: The transcript.
        found: What the model has extracted.
        origin: Where the transcript comes from.
    """
    rows = fact_rows(found.facts, origin, ctx.policy)
    return Harvest(
        turns=len(heard.turns),
        rows=(*unread_rows(heard.unread), *rows),
        left_out=dict(found.faults),
        degraded=(BUDGET,) if found.left else (),
    )
