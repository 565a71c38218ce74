"""Opposites that a policy names (S1-28) count wherever two texts are compared, with the models that ship."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import wellkept
from wellkept import MemoryStore, Policy

PAIRS = (
    ("hawkish", "dovish"),
    ("overweight", "underweight"),
    ("contango", "backwardation"),
    ("relapsed", "remitted"),
    ("spayed", "intact"),
    ("alcista", "bajista"),
    ("dicht", "durchlässig"),
    ("бычий", "медвежий"),
    ("強気", "弱気"),
    ("上行", "下行"),
)
TOLD = (
    ("The board is hawkish on rates.", "The board is dovish on rates."),
    ("We are overweight in European equities.", "We are underweight in European equities."),
    ("The oil curve is in contango.", "The oil curve is in backwardation."),
    ("The patient relapsed in May.", "The patient remitted in May."),
    ("The dog Rex is SPAYED.", "The dog Rex is intact."),
    ("Los mercados son alcistas.", "Los mercados son bajistas."),
    ("Der Damm im Tal ist dicht.", "Der Damm im Tal ist durchlässig."),
    ("Прогноз по золоту бычий.", "Прогноз по золоту медвежий."),
    ("金の見通しは強気です。", "金の見通しは弱気です。"),
    ("铜价下半年上行。", "铜价下半年下行。"),
)
OLD, NEW = TOLD[0]
POLICY = Policy(antonyms=PAIRS)


@pytest.fixture(scope="module")
def stores() -> Iterator[dict[bool, MemoryStore]]:
    """By whether the policy names the pairs."""
    with wellkept.open("memory:") as without, wellkept.open("memory:", policy=POLICY) as named:
        yield {False: without, True: named}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize(("old", "new"), TOLD)
def test_a_pair_is_a_conflict_at_writing_and_in_consolidation_where_the_policy_names_it(
    stores: dict[bool, MemoryStore],
    old: str,
    new: str,
    named: bool,  # noqa: FBT001
) -> None:
    here = stores[named].in_namespace(f"gate/{old}")
    here.remember(old, kind="note")
    asked, told = here.check(new, kind="note"), here.remember(new, kind="note")
    assert [item.kind == "antonym" for match in told.matches for item in match.differences if item.decisive] == (
        [True] if named else []
    )
    # Without the pair the model alone decides; it may see an update here, or even a restatement.
    for result in (asked, told):
        kinds = [item.kind for item in result.conflicts]
        assert kinds == ["contradiction"] if named else "contradiction" not in kinds
    kept = stores[named].in_namespace(f"plan/{old}")
    for text in (old, new):
        kept.remember(text, kind="note", on_conflict="ignore")
    actions = [action.type for action in kept.plan().actions]
    assert actions == ["flag_contradiction"] if named else "flag_contradiction" not in actions


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Hawkish members vote first.", "Dovish members vote first."),
        ("The board is not hawkish on rates.", "The board is dovish on rates."),
        ("The board is hawkish on rates.", "The bank is dovish on growth."),
    ],
)
def test_a_word_that_only_tells_things_apart_or_is_denied_is_no_contradiction(
    stores: dict[bool, MemoryStore], old: str, new: str
) -> None:
    here = stores[True].in_namespace(f"apart/{old}/{new}")
    here.remember(old, kind="note")
    result = here.remember(new, kind="note")
    assert (result.outcome, result.conflicts) == ("created", ())


def test_a_rewritten_memory_is_judged_again_with_the_words_of_the_policy(stores: dict[bool, MemoryStore]) -> None:
    for named, store in stores.items():
        here = store.in_namespace("revised")
        first = here.remember(OLD, kind="note").memory
        second = here.remember("The board publishes its minutes.", kind="note").memory
        assert first is not None and second is not None
        here.revise(second.id, content=NEW)
        assert [item.kind for item in here.conflicts()] == (["contradiction"] if named else [])
        here.revise(second.id, content="The board publishes its minutes.")
        assert not here.conflicts()


def test_recall_puts_the_newer_of_two_opposites_first_and_marks_the_conflict(stores: dict[bool, MemoryStore]) -> None:
    here = stores[True].in_namespace("recall")
    for text in (OLD, NEW):
        here.remember(text, kind="note")
    hits = here.recall("The board is hawkish on rates.")
    assert [hit.memory.content for hit in hits[:2]] == [NEW, OLD]
    assert all(hit.conflicts for hit in hits[:2])


def test_two_decisions_in_the_same_words_but_for_a_pair_are_two_things(stores: dict[bool, MemoryStore]) -> None:
    texts = [
        "The board was hawkish about the policy rate in March, they said.",
        "In March they said the board was dovish about the policy rate.",
    ]
    for named, store in stores.items():
        here = store.in_namespace("decisions")
        for text in texts:
            here.remember(text, kind="decision")
        shown = [hit.memory.content for hit in here.recall(texts[0])]
        assert sorted(shown) == (sorted(texts) if named else texts[1:])


def test_past_decisions_are_tried_with_the_words_of_another_policy() -> None:
    with wellkept.open("memory:") as store:
        store.remember(OLD, kind="note")
        store.remember(NEW, kind="note")
        report = store.replay(POLICY)
        assert [(item.entry, item.old.conflicts, item.new.conflicts) for item in report.differences] == [(2, 0, 1)]
        assert store.replay(Policy()).differences == ()


def test_what_is_remembered_of_two_texts_depends_on_the_policy(stores: dict[bool, MemoryStore]) -> None:
    """Two stores of one process read the same texts, in turn, each with its own words."""
    for turn, named in enumerate((True, False, True, False)):
        here = stores[named].in_namespace(f"turn/{turn}")
        here.remember(OLD, kind="note")
        assert bool(here.check(NEW, kind="note").conflicts) is named


def test_the_journal_names_the_policy_with_its_words(stores: dict[bool, MemoryStore]) -> None:
    hashes = set()
    for store in stores.values():
        here = store.in_namespace("journal")
        here.remember(OLD, kind="note")
        hashes.add(here.journal()[-1].policy)
    assert hashes == {Policy().hash, POLICY.hash} and len(hashes) == 2
