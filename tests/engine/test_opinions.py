"""When and how the relation model is asked, and what becomes of a write when it cannot answer (I3, I4, I7)."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import wellkept
from stores import EACH_BACKEND, EVERY_BACKEND, Desk, desk
from wellkept.core.judging.list_head import FEATURES, Head
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.judging.what_to_ask import MOST_ASKED
from wellkept.errors import ModelError, ModelUnavailable
from wellkept.models.port import PartUnavailable
from wellkept.policy import Risk
from wellkept.storage.memory import DictStorage
from wellkept.storage.port import Storage, Tx
from wellkept.storage.sqlite import SqliteStorage
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import NewMemory, Opinion

Make = Callable[..., Desk]
OLD, NEW, BETWEEN = (
    "Deploys are started by hand",
    "The pipeline ships every merge by itself",
    "Each merge goes out through the pipeline on its own",
)
COSINES = {(OLD, NEW): 0.97, (OLD, BETWEEN): 0.6, (NEW, BETWEEN): 0.7}


class Model(FakeRelationModel):
    """Counts its calls and runs an action with each."""

    def __init__(self, beside: Callable[[], None] = lambda: None) -> None:
        super().__init__()
        self.calls: list[list[tuple[str, str]]] = []
        self.beside = beside

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        self.calls.append(list(pairs))
        self.beside()
        return super().read(pairs)


class Broken(FakeRelationModel):
    """Answers with anything at all."""

    defers = False

    def __init__(self, answer: Callable[[int], Any], bounds: Callable[[], Bounds] | None = None) -> None:
        super().__init__()
        self._answer, self._bounds = answer, bounds

    def read(self, pairs: Sequence[tuple[str, str]]) -> Any:
        return self._answer(len(pairs))

    def bounds(self, risk: Risk) -> Bounds:
        return super().bounds(risk) if self._bounds is None else self._bounds()


class Lists(FakeRelationModel):
    """Reads lists, by pairs unless another answer is given, and counts its calls."""

    def __init__(self, answer: Callable[[int], Any] | None = None) -> None:
        super().__init__()
        self.defers = answer is None
        self.lists: list[list[tuple[str, tuple[str, ...]]]] = []
        self._answer = answer

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> Any:
        self.lists.append([(new, tuple(texts)) for new, texts in lists])
        if self._answer is not None:
            return self._answer(len(lists))
        return [self.read([(old, new) for old in texts]) for new, texts in lists]


def fail(error: Exception) -> Callable[..., Any]:
    def raising(*_: Any) -> Any:
        raise error

    return raising


class Halved(FakeRelationModel):
    """Cannot read pairs with one text, for want of a part; `missed` shifts the positions that it names."""

    def __init__(self, unread: str, missed: int = 0) -> None:
        super().__init__()
        self._unread, self._missed = unread, missed

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        if places := [place for place, pair in enumerate(pairs) if self._unread in pair]:
            lacking = ModelUnavailable("half of the weights are missing")
            raise PartUnavailable(lacking, (place + self._missed for place in places))
        return super().read(pairs)


@pytest.mark.parametrize("missed", [0, 9], ids=["named", "no position named"])
def test_only_pairs_that_need_a_missing_part_of_the_model_have_no_opinion(make: Make, missed: int) -> None:
    """I7: a failure that names no pair is one of the whole model."""
    model = Halved(NEW, missed)
    model.declare(OLD, BETWEEN, same=1.0)
    store = make(fake=near(), relation_model=model).store
    store.remember(OLD, kind="lesson")
    told = store.remember_many([NewMemory(content=text, kind="lesson") for text in (BETWEEN, NEW)]).results
    outcomes = [(one.outcome, one.degraded) for one in told if one is not None]
    alone = ("created", ("relation",))
    assert outcomes == [alone if missed else ("restated", ()), alone]


def near() -> FakeEmbedder:
    return FakeEmbedder(COSINES, dim=64)


SURE = Opinion(1.0, 0.0, 0.0, 0.0, 0.0, "broken")
TOO_SHORT, LONG_ENOUGH = (1.0, 2.0), (0.0,) * FEATURES["fold"]
OUTAGES = {
    "says it is down": Broken(fail(ModelUnavailable("no weights"))),
    "runs out of memory": Broken(fail(MemoryError())),
    "raises anything": Broken(fail(RuntimeError("boom"))),
    "raises an odd thing": Broken(fail(KeyError("scale"))),
    "answers too little": Broken(lambda count: [SURE] * (count - 1)),
    "answers too much": Broken(lambda count: [SURE] * (count + 1)),
    "answers nothing": Broken(lambda _: None),
    "answers with a number": Broken(lambda _: 7),
    "answers with words": Broken(lambda count: ["same"] * count),
    "answers with records": Broken(lambda count: [{"same": 1.0}] * count),
    "has no bounds": Broken(lambda count: [SURE] * count, bounds=fail(KeyError("balanced"))),
    "has a head of too few weights": Broken(
        lambda count: [SURE] * count, bounds=lambda: Bounds(*[0.9] * 5, fold=Head(TOO_SHORT, 0.0, 0.9, 0.9))
    ),
    "has too few for other languages": Broken(
        lambda count: [SURE] * count,
        bounds=lambda: Bounds(*[0.9] * 5, fold=Head(LONG_ENOUGH, 0.0, 0.9, 0.9, elsewhere=(TOO_SHORT, 0.0))),
    ),
    "says of lists that it is down": Lists(fail(ModelUnavailable("no weights"))),
    "raises anything at a list": Lists(fail(RuntimeError("boom"))),
    "answers too few lists": Lists(lambda count: [[SURE]] * (count - 1)),
    "answers too much of a list": Lists(lambda count: [[SURE] * 9] * count),
    "answers a list with a number": Lists(lambda _: 7),
    "answers a list with opinions": Lists(lambda count: [SURE] * count),
    "answers a list with words": Lists(lambda count: [["same"]] * count),
}


@pytest.mark.parametrize("kind", ["lesson", "semantic", "fact", "knowledge"])
@pytest.mark.parametrize("model", [*OUTAGES.values(), "none"], ids=[*OUTAGES, "is not there"])
def test_without_an_answer_the_text_is_stored_and_nothing_happens_on_similarity(
    make: Make, model: Any, kind: str
) -> None:
    """I2, I7: similarity .97 alone neither means "same" nor appends; the result names the missing part."""
    table = make(fake=near(), relation_model=model)
    table.store.remember(OLD, kind=kind)
    result = table.store.remember(NEW, kind=kind)
    assert (result.outcome, result.degraded, result.conflicts) == ("created", ("relation",), ())
    assert table.store.journal()[-1].degraded == ("relation",)
    assert [row.content for row in table.store.list()] == [OLD, NEW]
    assert {link.rel for link in result.links} <= {"related"}
    assert table.store.check(BETWEEN, kind=kind).degraded == ("relation",)


def test_rules_still_decide_without_the_model(make: Make) -> None:
    limit, other = "The retry limit is 3", "The retry limit is 5"
    table = make(fake=FakeEmbedder({(limit, other): 0.9}, dim=64), relation_model="none")
    table.store.remember(limit, kind="lesson")
    assert [item.reason for item in table.store.remember(other, kind="lesson").conflicts] == ["value_diff"]
    again = table.store.remember("the retry limit is 3!", kind="lesson")
    assert again.outcome == "duplicate"


def test_one_outage_in_a_batch_is_one_warning_and_loses_no_item(make: Make, caplog: pytest.LogCaptureFixture) -> None:
    table = make(fake=near(), relation_model=FakeRelationModel(RuntimeError("boom")))
    done = table.store.remember_many([{"content": text, "kind": "lesson"} for text in (OLD, NEW, BETWEEN)])
    assert [item.outcome for item in done.results] == ["created"] * 3
    assert len([line for line in caplog.messages if "Relation model failed" in line]) == 1


def test_a_pair_the_model_cannot_read_is_not_judged_by_similarity(make: Make) -> None:
    """Design §5: an opinion of None from a real model is honest silence, not a yes."""
    table = make(fake=near(), relation_model=Broken(lambda count: [None] * count))
    table.store.remember(OLD, kind="lesson")
    result = table.store.remember(NEW, kind="lesson")
    assert (result.outcome, result.degraded, [link.rel for link in result.links]) == ("created", (), ["related"])


# --------------------------------------------------------------------------------------------
# How often


def test_one_write_asks_once_about_at_most_eight(make: Make) -> None:
    """Issue item 5."""
    words = ("here", "there", "now", "then", "still", "again", "too", "twice", "often", "soon")
    rows = [f"{OLD} {word}" for word in words]
    model = Model()
    table = make(fake=FakeEmbedder({(row, NEW): 0.1 for row in rows}, dim=64), relation_model=model)
    for row in rows:
        table.store.remember(row, kind="lesson")
    model.calls.clear()
    table.store.remember(NEW, kind="lesson")
    assert model.calls == []  # all below the least similarity
    close = FakeEmbedder({(one, other): 0.6 for one in [*rows, NEW] for other in rows if one > other}, dim=64)
    table = make(fake=close, relation_model=model, name="close.db")
    for row in rows:
        table.store.remember(row, kind="lesson")
    model.calls.clear()
    table.store.remember(NEW, kind="lesson")
    assert [len(pairs) for pairs in model.calls] == [MOST_ASKED] == [8]
    assert all(new == NEW for _, new in model.calls[0])


def test_a_model_that_reads_lists_is_given_all_candidates_of_a_text_at_once(make: Make) -> None:
    model = Lists()
    model.declare(OLD, NEW, distinct=1.0)
    model.declare(OLD, BETWEEN, distinct=1.0)
    model.declare(BETWEEN, NEW, same=0.97)
    table = make(fake=near(), relation_model=model)
    for text in (OLD, BETWEEN, NEW):
        result = table.store.remember(text, kind="lesson")
    assert model.lists == [[(BETWEEN, (OLD,))], [(NEW, (OLD, BETWEEN) if OLD < BETWEEN else (BETWEEN, OLD))]]
    assert (result.outcome, result.memory and result.memory.content) == ("restated", BETWEEN)


def test_a_batch_gives_all_its_lists_in_one_question(make: Make) -> None:
    model = Lists()
    for pair in ((OLD, NEW), (OLD, BETWEEN), (NEW, BETWEEN)):
        model.declare(*pair, distinct=1.0)
    table = make(fake=near(), relation_model=model)
    done = table.store.remember_many([{"content": text, "kind": "lesson"} for text in (OLD, NEW, BETWEEN)])
    assert [item.outcome for item in done.results] == ["created"] * 3
    assert model.lists == [[(NEW, (OLD,)), (BETWEEN, tuple(sorted((OLD, NEW))))]]


def test_a_verbatim_repeat_asks_nothing(make: Make) -> None:
    model = Model()
    table = make(fake=near(), relation_model=model)
    table.store.remember(OLD, kind="lesson")
    table.store.remember(f"{OLD.upper()}!", kind="lesson")
    assert model.calls == []


def test_a_text_without_a_vector_asks_nothing(make: Make) -> None:
    """B-34, I7: nothing is near it."""
    model = Model()
    fake = FakeEmbedder(COSINES, dim=64, unreadable=(BETWEEN,))
    table = make(fake=fake, relation_model=model)
    table.store.remember(OLD, kind="lesson")
    table.store.remember(BETWEEN, kind="lesson")
    fake.fail_with = ModelUnavailable("down")
    table.store.remember(NEW, kind="lesson")
    assert model.calls == []


def test_an_item_of_a_batch_is_judged_against_the_items_before_it_in_one_question(make: Make) -> None:
    model = Model()
    model.declare(OLD, NEW, refines=0.9)
    model.declare(NEW, BETWEEN, same=0.95)
    table = make(fake=near(), relation_model=model)
    done = table.store.remember_many([{"content": text, "kind": "lesson"} for text in (OLD, NEW, BETWEEN)])
    assert [item.outcome for item in done.results] == ["created", "created", "restated"]
    assert [link.rel for link in done.results[1].links if link.rel == "refines"] == ["refines"]
    assert done.results[2].memory is not None
    assert done.results[2].memory.content == NEW
    assert len(model.calls) == 1
    assert set(model.calls[0]) == {(OLD, NEW), (OLD, BETWEEN), (NEW, BETWEEN)}


def test_an_import_asks_as_a_batch_does(make: Make) -> None:
    model = Model()
    model.declare(OLD, NEW, same=0.95)
    table = make(fake=near(), relation_model=model)
    source = table.folder / "source.jsonl"
    source.write_text("".join(f'{{"content": "{text}", "kind": "lesson"}}\n' for text in (OLD, NEW)), "utf-8")
    table.store.import_(source)
    assert [row.content for row in table.store.list()] == [OLD]
    assert (OLD, NEW) in model.asked


# --------------------------------------------------------------------------------------------
# Outside any transaction, and with other writers about


class Watched:
    """A storage that knows how many transactions are open."""

    def __init__(self, inner: Storage) -> None:
        self._inner = inner
        self.open = 0

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)

    @contextmanager
    def begin(self, namespace: str, *, write: bool) -> Iterator[Tx]:
        with self._inner.begin(namespace, write=write) as tx:
            self.open += 1
            try:
                yield tx
            finally:
                self.open -= 1


@pytest.fixture(params=EACH_BACKEND)
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Watched]:
    inner: Storage = DictStorage() if request.param == "memory" else SqliteStorage(tmp_path / "shared.db")
    yield Watched(inner)
    inner.close()


def test_the_model_is_never_asked_inside_a_transaction(storage: Watched, tmp_path: Path) -> None:
    """I3: the lock is not held while the model is asked."""
    held: list[int] = []
    model = Model(beside=lambda: held.append(storage.open))
    model.declare(OLD, NEW, conflict=0.8)
    texts = (OLD, NEW, BETWEEN, "Swept later", "Rewritten")
    fake = FakeEmbedder({(one, two): 0.5 for one in texts for two in texts if one < two}, dim=64)
    table = desk(storage, tmp_path, fake=fake, relation_model=model)
    table.store.remember(OLD, kind="lesson")
    table.store.check(NEW, kind="lesson")
    table.store.remember(NEW, kind="lesson")
    table.store.remember_many([{"content": BETWEEN, "kind": "lesson"}])
    assert len(model.calls) == 3
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember("Swept later", kind="lesson")
    table.fake.fail_with = None
    table.store.reembed()
    table.store.revise(table.store.list()[-1].id, content="Rewritten")
    assert (OLD, "Swept later") in model.asked
    assert (OLD, "Rewritten") in model.asked
    assert set(held) == {0}


@pytest.mark.parametrize(
    ("written", "told", "outcome"),
    [
        (BETWEEN, {"same": 0.97}, "restated"),
        (BETWEEN, {"conflict": 0.95}, "superseded"),
        (BETWEEN, {"distinct": 1.0}, "created"),
        (NEW, {}, "duplicate"),  # the same text, to the letter
    ],
    ids=["a repeat", "a contradiction", "something else", "the text itself"],
)
def test_what_another_writer_adds_meanwhile_is_asked_about_before_anything_is_decided(
    storage: Watched, tmp_path: Path, written: str, told: dict[str, float], outcome: str
) -> None:
    """I3: between the first look and the lock a second writer stores a text that matters."""
    fake = near()
    theirs = FakeRelationModel()
    theirs.declare(OLD, NEW, distinct=1.0)
    other = desk(storage, tmp_path, fake=fake, relation_model=theirs).store
    once = iter([lambda: other.remember(written, kind="fact")])
    model = Model(beside=lambda: next(once, lambda: None)() and None)
    model.declare(OLD, NEW, refines=1.0)  # no rival for the nearest contradiction
    model.declare(BETWEEN, NEW, **told)
    other.remember(OLD, kind="fact")
    result = desk(storage, tmp_path, fake=fake, relation_model=model, new_id=other._ctx.new_id).store.remember(
        NEW, kind="fact"
    )
    assert result.outcome == outcome
    asked = [[(OLD, NEW)], [(BETWEEN, NEW)]] if written == BETWEEN else [[(OLD, NEW)]]
    assert model.calls == asked
    contents = [row.content for row in other.list()]
    assert contents.count(NEW) == (0 if outcome == "restated" else 1)


# --------------------------------------------------------------------------------------------
# Other verbs


@pytest.mark.parametrize(
    ("told", "kind"), [({"conflict": 0.8}, "outdated"), ({"same": 0.95}, "duplicate")], ids=["conflict", "repeat"]
)
def test_a_rewritten_memory_is_judged_and_only_flagged(make: Make, told: dict[str, float], kind: str) -> None:
    """E-0: revise never hides or drops."""
    model = Model()
    model.declare(OLD, NEW, **told)
    table = make(fake=near(), relation_model=model)
    table.store.remember(OLD, kind="fact")
    row = table.store.remember("The archive moved to Bremen", kind="fact").memory
    assert row is not None
    table.store.revise(row.id, content=NEW)
    assert [item.kind for item in table.store.conflicts()] == [kind]
    assert [memory.content for memory in table.store.list()] == [OLD, NEW]


def test_what_was_stored_unchecked_is_judged_when_it_is_swept(make: Make) -> None:
    """I7, F-28."""
    model = Model()
    model.declare(OLD, NEW, conflict=0.8)
    table = make(fake=near(), relation_model=model)
    table.store.remember(OLD, kind="lesson")
    table.fake.fail_with = ModelUnavailable("down")
    assert table.store.remember(NEW, kind="lesson").conflicts == ()
    table.fake.fail_with = None
    counts = table.store.reembed()
    assert (counts["checked"], counts["conflicts"]) == (1, 1)
    assert [item.reason for item in table.store.conflicts()] == ["model"]
    assert table.store.reembed()["conflicts"] == 0  # I5


def test_a_sweep_during_an_outage_of_the_model_hides_nothing(make: Make) -> None:
    table = make(fake=near(), relation_model=FakeRelationModel(RuntimeError("boom")))
    table.store.remember(OLD, kind="lesson")
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember(NEW, kind="lesson")
    table.fake.fail_with = None
    with pytest.raises(ModelError):  # I7: the row is not marked as checked by a sweep that could not check it
        table.store.reembed()
    assert [row.content for row in table.store.list()] == [OLD, NEW]
    assert table.store.stats().unchecked == 1


@pytest.mark.parametrize("told", [{"same": 0.95}, {"refines": 0.9}, {"conflict": 0.95}, {"conflict": 0.6}, {}])
@pytest.mark.parametrize("kind", ["lesson", "semantic", "fact", "knowledge"])
def test_a_check_and_the_write_after_it_agree(make: Make, kind: str, told: dict[str, float]) -> None:
    """I4."""
    model = Model()
    model.declare(OLD, NEW, **told)
    table = make(fake=near(), relation_model=model)
    table.store.remember(OLD, kind=kind)
    foretold, done = table.store.check(NEW, kind=kind), table.store.remember(NEW, kind=kind)
    assert (foretold.outcome, [item.rule for item in foretold.reasons]) == (
        done.outcome,
        [item.rule for item in done.reasons],
    )
    assert [(item.relation, item.action, item.opinion) for item in foretold.matches] == [
        (item.relation, item.action, item.opinion) for item in done.matches
    ]


def test_the_same_writes_give_the_same_journal_whatever_the_backend(tmp_path: Path) -> None:
    """I4, I9."""
    told: list[list[Any]] = []
    for backend in EVERY_BACKEND:
        model = FakeRelationModel()
        model.declare(OLD, NEW, conflict=0.95)
        model.declare(NEW, BETWEEN, same=0.97)
        table = desk(backend, tmp_path, fake=near(), relation_model=model)
        for text in (OLD, NEW, BETWEEN):
            table.store.remember(text, kind="fact")
        told.append([(entry.outcome, entry.reasons, entry.matches) for entry in table.store.journal()])
        table.store.close()
    assert told[0] == told[1]


def test_a_store_opened_with_an_unknown_name_of_a_model_says_which_there_are() -> None:
    with pytest.raises(wellkept.errors.ConfigError, match="auto, packaged, none"):
        wellkept.open("memory:", embedder="hashing", relation_model="bert")
