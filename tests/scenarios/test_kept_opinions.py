"""A plan does not read again what the gate judged under the same policy and model (I4, N1)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from itertools import combinations
from pathlib import Path

import pytest

import wellkept
from stores import embedded, place
from wellkept import MemoryStore, Policy
from wellkept.engine.transfer.migrate import migrate
from wellkept.storage.memory import DictStorage
from wellkept.testing.clock import CountingIds, FrozenClock
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import NewMemory, Opinion, Reading

TEXTS = ("The office is at the harbour.", "They work from the old mill now.", "Work happens in the old mill.")
POLICY = Policy.from_toml('[kinds.fact]\nrepeats = "fold"\nupdates = "mark"\nfamily = "statements"\n')
OTHER = Policy.from_toml('conflict_days = 7\n[kinds.fact]\nrepeats = "fold"\nupdates = "mark"\nfamily = "statements"\n')


class Pairs(FakeRelationModel):
    """Reads pairs; an answer never changes."""

    repeatable = True

    def __init__(self, id: str = "pairs-1") -> None:
        super().__init__()
        self.id = id
        for old, new in combinations(TEXTS, 2):
            self.declare(old, new, conflict=0.3)


class Lists(Pairs):
    """Reads lists, which it counts."""

    def __init__(self, id: str = "lists-1") -> None:
        super().__init__(id)
        self.lists: list[tuple[str, tuple[str, ...]]] = []

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        self.lists += [(new, tuple(texts)) for new, texts in lists]
        return [[self._declared.get((old, new)) for old in texts] for new, texts in lists]


def embedder() -> FakeEmbedder:
    made = FakeEmbedder(dim=64)
    for old, new in combinations([embedded(NewMemory(content=text, kind="fact")) for text in TEXTS], 2):
        made.relate(old, new, 0.5)  # too far to be read as a pair of a consolidation
    return made


Opens = Callable[..., MemoryStore]


@pytest.fixture
def opens(tmp_path: Path) -> Iterator[Opens]:
    """Opens the store with a model, under a policy; the one that was open before is closed."""
    clock, ids, where = FrozenClock(), CountingIds(), str(place(tmp_path / "kept.db"))
    with ExitStack() as stack:
        held: list[MemoryStore] = []

        def opened(model: FakeRelationModel, policy: Policy = POLICY) -> MemoryStore:
            for one in held:
                one.close()
            store = wellkept.open(
                where, policy=policy, clock=clock, new_id=ids, embedder=embedder(), relation_model=model
            )
            held.append(stack.enter_context(store))
            return store

        yield opened


def written(store: MemoryStore) -> MemoryStore:
    for text in TEXTS:
        store.remember(text, kind="fact")
        store._ctx.clock.advance(minutes=5)  # type: ignore[attr-defined]
    return store


def readings(store: MemoryStore) -> list[Reading]:
    return [entry.reading for entry in store.journal() if entry.reading is not None]


@pytest.mark.parametrize("model", [Pairs, Lists])
def test_a_plan_reads_nothing_that_the_gate_has_read(opens: Opens, model: type[Pairs]) -> None:
    store = written(opens(model()))
    assert [len(one.memory_ids) for one in readings(store)] == [1, 2]
    again = model()
    plan = opens(again).plan()
    assert again.asked == []
    assert getattr(again, "lists", []) == []
    assert plan.detected.asked == 0
    assert plan.actions == opens(model(), OTHER).plan().actions


@pytest.mark.parametrize(
    ("model", "policy"),
    [
        pytest.param(Lists("lists-2"), POLICY, id="another model"),
        pytest.param(Lists(), OTHER, id="another policy"),
    ],
)
def test_a_plan_reads_again_what_was_judged_otherwise(opens: Opens, model: Lists, policy: Policy) -> None:
    written(opens(Lists()))
    assert opens(model, policy).plan().detected.asked == 3
    assert len(model.lists) == 2


def test_a_plan_reads_again_what_has_changed(opens: Opens) -> None:
    store = written(opens(Lists()))
    [first] = [row for row in store.list() if row.content == TEXTS[0]]
    store.revise(first.id, content="The office is at the harbour, beside the crane.")
    model = Lists()
    opens(model).plan()
    assert all(first.content not in texts for _, texts in model.lists)
    assert len(model.lists) >= 1


def test_a_model_whose_answers_change_leaves_nothing(opens: Opens) -> None:
    model = Lists()
    model.repeatable = False
    assert readings(written(opens(model))) == []


def test_readings_survive_undo_and_a_move_to_another_backend(opens: Opens) -> None:
    store = written(opens(Lists()))
    kept = readings(store)
    store.undo(store.undo(store.journal()[-1].seq))
    assert readings(store) == kept
    assert store.verify() == ()
    target = DictStorage()
    migrate(store._ctx.storage, target)
    with target.begin(store._ctx.namespace, write=False) as tx:
        assert tuple(tx.journal()) == store.journal()


def test_erasing_a_memory_removes_the_readings_beside_it(opens: Opens) -> None:
    """A digest could confirm what somebody guesses of the text (I1)."""
    store = written(opens(Lists()))
    [first] = [row for row in store.list() if row.content == TEXTS[0]]
    assert all(first.id in one.memory_ids for one in readings(store))
    store.erase(first.id)
    assert readings(store) == []
    assert store.verify() == ()
