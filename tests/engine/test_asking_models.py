"""How often models are asked: each once for a run of writes, outside transactions, and uses counted meanwhile stay."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import wellkept
from letter import to_the_letter
from wellkept import ImportSpec
from wellkept.core.judging.calibration import IDENTITY, Calibration
from wellkept.core.text.forms import embed_text
from wellkept.engine.models.scale import Embed, Scale
from wellkept.engine.verbs.store import MemoryStore
from wellkept.policy import Policy
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import ALL_STATUSES, Filter, Memory, Opinion, Statement

OPENS = "The office opens at nine on Mondays in Berlin."
SAME = "The office in Berlin opens on Mondays at nine o'clock."
OTHER = "Our Berlin place of work begins its Monday somewhat later in winter."


def embedded(text: str) -> str:
    return embed_text(kind="fact", title="", summary="", content=text, trigger="")


def near(one: str, other: str, cosine: float) -> FakeEmbedder:
    embedder = FakeEmbedder()
    embedder.relate(embedded(one), embedded(other), cosine)
    return embedder


class Counted(FakeRelationModel):
    """A relation model that remembers how many pairs each reading had, and recalls during a reading if asked to."""

    def __init__(self) -> None:
        super().__init__()
        self.readings: list[int] = []
        self.meanwhile: MemoryStore | None = None

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        self.readings.append(len(pairs))
        if self.meanwhile is not None:
            for _ in range(5):
                self.meanwhile.recall("office Berlin Mondays")
        return super().read(pairs)


@pytest.mark.parametrize(
    ("policy", "outcome", "uses"), [(Policy(), "restated", [5, 10]), (to_the_letter(), "duplicate", [15])]
)
def test_uses_that_are_counted_while_a_model_is_asked_are_kept(
    tmp_path: Path, policy: Policy, outcome: str, uses: list[int]
) -> None:
    """Those of a dropped text are added to the memory, those of a wording stay with it."""
    model = Counted()
    model.declare(OPENS, SAME, same=0.99)
    lines = tmp_path / "lines.jsonl"
    lines.write_text(json.dumps({"content": SAME, "kind": "fact", "uses": 10}) + "\n", encoding="utf-8")
    with wellkept.open("memory:", embedder=near(OPENS, SAME, 0.95), relation_model=model, policy=policy) as store:
        kept = store.remember(OPENS, kind="fact").id
        model.meanwhile = store
        report = store.import_(lines, ImportSpec(mapping={"access_count": "uses"}))
        assert report.counts == {outcome: 1}
        held = store.list(Filter(statuses=ALL_STATUSES))
    assert [row.access_count for row in held] == uses
    assert held[0].id == kept


def test_a_batch_that_was_undone_is_embedded_at_once_when_it_comes_again() -> None:
    embedder = FakeEmbedder()
    items = [
        {"content": f"House {number} has walls of colour {number * 7}.", "idempotency_key": f"k{number}"}
        for number in range(20)
    ]
    with wellkept.open("memory:", embedder=embedder, relation_model=FakeRelationModel()) as store:
        for result in store.remember_many(items).results:
            assert result is not None
            store.undo(result.entry)
        before = embedder.calls
        again = store.remember_many(items)
        assert (again.counts, embedder.calls - before) == ({"created": 20}, 1)


class Possible:
    """A judge that finds half of everything possible."""

    id = "possible"

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        return [0.6 for _ in pairs]


@pytest.mark.parametrize("cosine", [0.85, 0.92])
@pytest.mark.parametrize("verb", ["check", "remember"])
def test_a_function_of_the_caller_is_asked_once_also_where_there_is_a_judge(verb: str, cosine: float) -> None:
    asked: list[str] = []

    def contradicts(old: Memory, new: Statement) -> bool:
        asked.append(new.content)
        return False

    with wellkept.open(
        "memory:",
        embedder=near(OPENS, OTHER, cosine),
        relation_model=FakeRelationModel(),
        contradiction_fn=contradicts,
        judge=Possible(),
    ) as store:
        store.remember(OPENS, kind="fact")
        asked.clear()
        getattr(store, verb)(OTHER, kind="fact")
    assert asked == [OTHER]


class Measures:
    """A calibrator that has no table yet."""

    def stored(self, embedder_id: str) -> tuple[Calibration | None, bool]:
        return None, False

    def measure(self, embedder_id: str, embed: Embed) -> Calibration:
        return IDENTITY


@pytest.mark.parametrize("measured", [True, False])
def test_a_batch_is_read_at_once_whether_or_not_the_embedder_was_measured(*, measured: bool) -> None:
    texts = [f"Item {number} says that the house has walls like {chr(97 + number) * 3}." for number in range(10)]
    pairs = {(embedded(texts[at]), embedded(texts[at + 1])): 0.8 for at in range(0, 10, 2)}
    embedder, model = FakeEmbedder(pairs), Counted()
    with wellkept.open("memory:", embedder=embedder, relation_model=model) as store:
        if not measured:
            object.__setattr__(store._ctx, "scale", Scale(embedder, Measures()))
        store.remember_many([{"content": text, "kind": "fact"} for text in texts])
    assert model.readings == [5]
