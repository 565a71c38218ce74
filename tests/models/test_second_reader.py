"""The packaged relation model with its second reader: what is read again, by what, and what if it cannot be."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

import wellkept
from wellkept.core.judging.kept_opinions import opinions_in, reading_of
from wellkept.core.judging.list_head import Read, ReadTwice, chances_of
from wellkept.core.judging.second_reader import CLEARLY_DISTINCT, DOUBTFUL_CONFLICT, DOUBTFUL_REPETITION, doubtful
from wellkept.models import multilingual, relation
from wellkept.models.port import PartUnavailable, SecondReading
from wellkept.models.relation import PackagedRelationModel
from wellkept.models.tokenizer.pairs import LABELS, shares
from wellkept.policy import Policy
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Opinion

BEES = "Bees are kept on the roof of the office."
ROOF = ("The office roof has beehives.", "Tea at four.", "The office has a garden.")
SURE, OTHERS = "The sky is blue.", ("Tea at four.", "The bakery sells bread on Sundays.")
GERMAN, MEETINGS = "Das Treffen wurde auf Dienstag verschoben.", ("Das Treffen ist am Montag.", "Tea is at four.")
LISTS = [(BEES, ROOF), (SURE, OTHERS), (GERMAN, MEETINGS)]
BACKUPS = ("The database is backed up nightly.", "Every night a copy of the database is made.")
BOTH, ALONE = Policy(), Policy(second_reader="off")


@pytest.fixture(scope="module")
def both() -> PackagedRelationModel:
    return PackagedRelationModel(second_reader=True)


def of_first(opinion: Opinion | None) -> object:
    """What the first reader alone would say; the id of the model apart."""
    if not isinstance(opinion, ReadTwice):
        return opinion and replace(opinion, model="")
    return tuple(replace(one, model="") for one in (opinion.plain, opinion.first, opinion.second))


def test_only_a_doubtful_english_list_is_read_by_the_second_reader(both: PackagedRelationModel) -> None:
    alone, told = PackagedRelationModel().read_lists(LISTS), both.read_lists(LISTS)
    assert [list(map(of_first, one)) for one in told] == [list(map(of_first, one)) for one in alone]
    assert [[isinstance(one, ReadTwice) and one.third is not None for one in of_list] for of_list in told] == [
        [True, False, True],
        [False, False],
        [True, False],  # as without a second reader: what is not English is read alone
    ]


def test_the_doubtful_candidates_are_read_together_by_the_network_for_other_languages(
    both: PackagedRelationModel,
) -> None:
    [told] = both.read_lists([(BEES, ROOF)])
    again = doubtful(dict(zip(ROOF, told, strict=True)))
    assert again == [ROOF[0], ROOF[2]]
    network = relation._multilingual(relation.WEIGHTS, os.getpid())
    logits = network.listed(BEES, again)
    for text, opinion in zip(ROOF, told, strict=True):
        if text in again:
            assert isinstance(opinion, ReadTwice) and opinion.third is not None
            expected = shares(network.calibrated(logits[text]))
            assert [opinion.third.of(label) for label in LABELS] == [round(float(share), 4) for share in expected]


def test_a_list_that_may_hold_an_update_only_is_read_again_and_counts_for_a_mark(both: PackagedRelationModel) -> None:
    old, new = "Parcels are left with the neighbour.", "The neighbour moved away; parcels wait at the kiosk."
    [[told]] = both.read_lists([(new, (old,))])
    assert isinstance(told, ReadTwice) and told.third is not None
    assert told.repeats < DOUBTFUL_REPETITION[0]
    head = both.bounds("balanced").mark
    assert head is not None
    again, once = (
        chances_of(head, "mark", new, (Read(old, 0.7, one),))[0] for one in (told, replace(told, third=None))
    )
    assert again > once


def test_the_opinions_depend_on_neither_order_nor_company(both: PackagedRelationModel) -> None:
    expected = {
        new: dict(zip(texts, told, strict=True))
        for (new, texts), told in zip(LISTS, both.read_lists(LISTS), strict=True)
    }
    for seed in range(2):
        mixed = [(new, tuple(random.Random(seed).sample(texts, len(texts)))) for new, texts in LISTS]
        random.Random(seed).shuffle(mixed)
        for (new, texts), told in zip(mixed, both.read_lists(mixed), strict=True):
            assert dict(zip(texts, told, strict=True)) == expected[new]


def test_the_model_with_its_second_reader_is_another_model(both: PackagedRelationModel) -> None:
    """What the journal keeps of one is not taken for what the other would say."""
    alone = PackagedRelationModel()
    assert both.id == alone.with_second_reader().id != alone.id
    assert isinstance(alone, SecondReading)
    [[opinion, *_]] = both.read_lists([(BEES, ROOF)])
    assert opinion is not None and opinion.model == both.id
    bounds, others = alone.bounds("balanced"), both.bounds("balanced")
    assert replace(bounds, fold=None, mark=None) == replace(others, fold=None, mark=None)
    assert bounds.fold and others.fold and bounds.mark and others.mark
    for one, other in ((bounds.fold, others.fold), (bounds.mark, others.mark)):
        assert one.weights != other.weights
        assert (one.elsewhere, one.other) == (other.elsewhere, other.other)


def test_the_journal_keeps_all_readings(both: PackagedRelationModel) -> None:
    [told] = both.read_lists([(BEES, ROOF)])
    by_text = dict(zip(ROOF, told, strict=True))
    kept = reading_of(both.id, BEES, {text: text for text in ROOF}, by_text)
    assert kept is not None
    assert opinions_in(kept, len(ROOF)) == tuple(by_text[text] for text in sorted(ROOF))


@pytest.fixture
def without_second(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "relation"
    shutil.copytree(relation.WEIGHTS, folder)
    (folder / "multilingual.onnx").write_bytes(b"other")
    yield folder
    relation._load_multilingual.cache_clear()
    multilingual._tokenizer.cache_clear()
    multilingual._table.cache_clear()


def test_only_the_lists_that_need_the_lost_network_are_left_unread(without_second: Path) -> None:
    model = PackagedRelationModel(without_second, second_reader=True)
    with pytest.raises(PartUnavailable, match="the weights of the relation model") as lost:
        model.read_lists(LISTS[:2])
    assert lost.value.places == {0}
    assert model.read_lists([LISTS[1]]) == PackagedRelationModel(second_reader=True).read_lists([LISTS[1]])


def test_a_write_that_needs_the_lost_network_says_so_and_is_judged_when_it_is_back(without_second: Path) -> None:
    lost = PackagedRelationModel(without_second)
    with wellkept.open("memory:", relation_model=lost, policy=BOTH) as store:
        first = store.remember(ROOF[0])
        told = store.remember(BEES)
        assert (first.degraded, told.outcome, told.degraded) == ((), "created", ("relation",))
        assert not store.get(told.memory.id).checked
        store._ctx = replace(store._ctx, relation_model=PackagedRelationModel())
        assert store.sweep().left == 0
        assert store.get(told.memory.id).checked


def test_the_policy_of_the_store_chooses_the_reader() -> None:
    with wellkept.open("memory:") as store, wellkept.open("memory:", policy=ALONE) as other:
        for one in (store, other):
            one.remember(ROOF[0])
            one.remember(BEES)
        kept = [[entry.reading.model for entry in one.journal() if entry.reading] for one in (store, other)]
    assert kept == [[PackagedRelationModel(second_reader=True).id], [PackagedRelationModel.id]]


def test_a_replay_reads_as_the_policy_of_each_decision_says() -> None:
    for own, other, change in (
        (BOTH, ALONE, ("restated", "created")),
        (ALONE, BOTH, ("created", "restated")),
    ):
        with wellkept.open("memory:", policy=own) as store:
            for text in (*BACKUPS, SURE):
                store.remember(text)
            same, changed = store.replay(own), store.replay(other)
        assert (same.decisions, same.differences) == (3, ())
        assert [(one.old.outcome, one.new.outcome, one.cause) for one in changed.differences] == [(*change, "policy")]


def test_a_store_from_before_the_second_reader_is_replayed_as_it_was_judged(tmp_path: Path) -> None:
    """The journal names the default policy of its time by its hash; nobody needs to say which that was."""
    path = str(tmp_path / "old.db")
    with wellkept.open(path, policy=ALONE) as store:
        for text in BACKUPS:
            store.remember(text)
    with wellkept.open(path) as store:
        replayed = store.replay(Policy())
    assert [(one.old.outcome, one.new.outcome, one.cause) for one in replayed.differences] == [
        ("created", "restated", "policy")
    ]


def test_so_is_one_with_a_policy_of_its_own_which_did_not_name_the_reader(tmp_path: Path) -> None:
    path, own = str(tmp_path / "old.db"), Policy(ask=5)
    with wellkept.open(path, policy=replace(own, second_reader="off")) as store:
        store.remember(BACKUPS[0])
        store.remember(BACKUPS[1], on_conflict="supersede")
    with wellkept.open(path, policy=own) as store:
        replayed = store.replay(replace(own, ask=0))
    assert [(one.old.outcome, one.new.outcome, one.cause) for one in replayed.differences] == [
        ("created", "restated", "policy")
    ]


def test_a_model_without_a_second_reader_reads_as_ever() -> None:
    model = FakeRelationModel()
    with wellkept.open("memory:", policy=BOTH, relation_model=model) as store:
        store.remember(ROOF[0])
        assert store.remember(BEES).degraded == ()
        assert store.replay(BOTH).differences == ()
    assert (ROOF[0], BEES) in model.asked


@pytest.mark.parametrize(
    ("old", "new"),
    [
        BACKUPS,
        ("The printer on floor two is broken.", "The second-floor printer does not work."),
    ],
)
def test_a_second_reader_recognises_what_the_first_one_alone_is_not_sure_of(old: str, new: str) -> None:
    told = []
    for policy in (ALONE, BOTH):
        with wellkept.open("memory:", policy=policy) as store:
            store.remember(old)
            told.append(store.remember(new).outcome)
    assert told == ["created", "restated"]


def test_a_second_reader_that_cannot_be_had_counts_as_none() -> None:
    class Broken(FakeRelationModel):
        def with_second_reader(self) -> FakeRelationModel:
            raise RuntimeError("no second reader here")

    model = Broken()
    with wellkept.open("memory:", policy=BOTH, relation_model=model) as store:
        store.remember(ROOF[0])
        assert store.remember(BEES).degraded == ()
    assert (ROOF[0], BEES) in model.asked


def test_what_one_reader_said_is_not_taken_for_what_both_would_say() -> None:
    with wellkept.open("memory:", policy=ALONE) as store:
        store.remember(ROOF[0])
        assert store.check(BEES).outcome == "restated"
        store._ctx = replace(store._ctx, policy=BOTH)
        store.remember(BEES)
        kept = [entry.reading.model for entry in store.journal() if entry.reading]
    assert kept == [PackagedRelationModel(second_reader=True).id]


def test_other_doubts_would_be_other_opinions_and_need_another_id() -> None:
    """The end of the id stands for these bounds; a store would else use readings that were made under others."""
    bounds = (DOUBTFUL_REPETITION, DOUBTFUL_CONFLICT, CLEARLY_DISTINCT)
    assert (relation._SECOND_READER, bounds) == ("/2", ((0.1, 0.95), (0.2, 0.9), 0.9))


def test_of_a_list_in_two_languages_the_english_candidates_are_read_again(both: PackagedRelationModel) -> None:
    older = (ROOF[0], "Auf dem Dach des Büros gibt es Bienen.")
    [[english, german]] = both.read_lists([(BEES, older)])
    [[alone, _]] = PackagedRelationModel().read_lists([(BEES, older)])
    assert isinstance(english, ReadTwice) and english.third is not None
    assert isinstance(alone, ReadTwice) and alone.third is None
    assert isinstance(german, ReadTwice)  # as without a second reader
