"""Streams of related texts, with a model that has a fixed opinion on each pair: for stores that judge later."""

from __future__ import annotations

import hashlib
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from asked import Unsure
from stores import EVERYTHING, Desk, desk
from wellkept.core.judging.calibration import IDENTITY, Calibration
from wellkept.models.port import Embedded
from wellkept.policy import Policy
from wellkept.policy.record import WhenJudged
from wellkept.types import Filter, Opinion

_SUBJECTS = ("The office in Rome", "Our billing team", "The backup of the shop", "Ana's project")
_SAID = (
    "{} opens at nine.", "{} starts work at nine o'clock.", "{} opens at ten.", "{} is closed.", "{} is led by Bo.",
    "{} is run by Carl.", "{} moved to the second floor.", "{} has moved up by one floor.", "{} uses Postgres.",
    "{} keeps its data in Postgres, and nowhere else.", "{} does not open on Mondays.", "{} likes green tea.",
)  # fmt: skip
_DIM = 48
_SHARES = (
    {"same": 0.97}, {"same": 0.94}, {"refines": 0.95}, {"generalises": 0.95}, {"conflict": 0.97}, {"conflict": 0.92},
    {"conflict": 0.4}, {"same": 0.5}, {}, {}, {},
)  # fmt: skip


def _chance(*texts: str) -> random.Random:
    return random.Random(hashlib.sha256("\0".join(texts).encode()).hexdigest())


class Topical:
    """Texts with the same beginning are near, others are not."""

    id, dim, lexical = "topical/48", _DIM, False
    calibration: Calibration = IDENTITY

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """The sum of a direction for the topic and a smaller one for the text."""
        return [Embedded(self._of(text), 1) for text in texts]

    def _of(self, text: str) -> Any:
        topic = next((one for one in _SUBJECTS if one in text), text)
        made = sum(share * self._direction(of) for share, of in ((1.0, topic), (0.55, text)))
        return (made / np.linalg.norm(made)).astype(np.float32)

    def _direction(self, of: str) -> Any:
        seed = int(hashlib.sha256(of.encode()).hexdigest()[:8], 16)
        made = np.random.default_rng(seed).standard_normal(_DIM)
        return made / np.linalg.norm(made)


class Opinionated(Unsure):
    """Has an opinion on each pair, which is the same whenever it is asked."""

    defers = False

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions by the hash of the pair."""
        if self.failure is not None:
            raise self.failure
        self.asked += pairs
        return [self._opinion(*pair) for pair in pairs]

    def _opinion(self, old: str, new: str) -> Opinion:
        shares = _chance(old, new).choice(_SHARES)
        values = {"same": 0.0, "refines": 0.0, "generalises": 0.0, "conflict": 0.0} | shares
        return Opinion(**values, distinct=round(1.0 - sum(values.values()), 4), model=self.id)


def stream(seed: int, length: int) -> list[tuple[str, dict[str, Any]]]:
    """So many writes: texts that recur, some of other kinds, some with a subject, some with a name in brackets."""
    chance = random.Random(seed)
    found = []
    for _ in range(length):
        text = chance.choice(_SAID).format(chance.choice(_SUBJECTS[: 1 + seed % 4]))
        fields: dict[str, Any] = {"kind": chance.choice(("fact", "fact", "note", "lesson", "preference", "knowledge"))}
        if chance.random() < 0.12:
            fields |= {"subject": "office", "attribute": "state"}
        if chance.random() < 0.1:
            text = f"{text} See [[Handbook]]."
        if chance.random() < 0.05:
            fields["title"] = "Handbook"
        found.append((text, fields))
    return found


def store_of(backend: str, folder: Path, judging: WhenJudged, **values: Any) -> Desk:
    """An empty store that judges now, or later."""
    policy = replace(Policy(), judging=judging, **values)
    return desk(backend, folder, fake=Topical(), relation_model=Opinionated(), policy=policy, name=f"{judging}.db")  # type: ignore[arg-type]


def picture(store: Any) -> tuple[Counter[Any], ...]:
    """What can be seen of a store: memories, links and conflicts by text, without ids, versions and entries."""
    rows = {row.id: row for row in store.list(EVERYTHING)}

    def named(memory_id: str) -> Any:
        row = rows.get(memory_id)
        return memory_id if row is None else (row.content, row.kind, row.created_at)

    seen = Counter(
        (
            named(row.id), row.status, named(row.superseded_by), row.superseded_at, row.updates, row.confirmations,
            row.last_confirmed_at, row.subject, row.attribute, row.title, row.importance, row.pinned, row.checked,
            bool(row.embedding), row.updated_at, row.tags,
        )
        for row in rows.values()
    )  # fmt: skip
    ctx = store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        links = Counter((named(one.src), one.rel, named(one.dst), one.created_at) for one in tx.links())
        conflicts = Counter(
            (one.kind, named(one.a), named(one.b), one.resolution, one.probability, one.created_at, one.expires_at)
            for one in tx.conflicts()
        )
    return seen, links, conflicts


def waits(store: Any) -> int:
    """How many memories are unchecked."""
    return len(store.list(Filter(unchecked=True)))
