"""Answers in a replay: lessons of then, agreement with other policies, and the world that they make."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asked import NEW, OLD, THIRD, Drawn, Unsure, note, policy, unsure
from stores import EACH_BACKEND, Desk
from wellkept.core.asking.state import Asking, Checked, state_text
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.policy import Policy, Risk
from wellkept.types.replay import ReplayAnswers, ReplayReport


class Bolder(Unsure):
    """Marks from .3 on under the risk `strict`, which only the tried policy has."""

    def bounds(self, risk: Risk) -> Bounds:
        made = super().bounds(risk)
        assert made.mark is not None
        return made if risk == "balanced" else replace(made, mark=replace(made.mark, english=0.3, other=0.3))


@pytest.fixture(params=EACH_BACKEND)
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    opened: list[Desk] = []

    def factory(**options: Any) -> Desk:
        opened.append(unsure(request.param, tmp_path, relation_model=Bolder(), **options))
        return opened[-1]

    yield factory
    for made in opened:
        made.store.close()


def bold() -> Policy:
    made = policy()
    return replace(made, kinds={kind: replace(one, risk="strict") for kind, one in made.kinds.items()})


def said(table: Desk, answer: str) -> Desk:
    table.store.remember(OLD, kind="fact")
    question = table.store.remember(NEW, kind="fact").question
    assert question is not None
    table.store.answer(question.id, answer)
    return table


def told(report: ReplayReport) -> tuple[int, int, int]:
    return report.answers.agreed, report.answers.disagreed, report.answers.undecided


@pytest.mark.parametrize("forward", [False, True])
@pytest.mark.parametrize(
    ("answer", "bolder"),
    [
        ("replaces 1", (1, 0, 0)),
        ("new", (0, 1, 0)),
        ("repeats 1", (0, 1, 0)),
        ("outdated by 1", (0, 1, 0)),
        ("replaces part of 1", (0, 1, 0)),
    ],
)
def test_a_replay_tells_whether_another_policy_agrees_with_the_answers(
    make: Callable[..., Desk], answer: str, bolder: tuple[int, int, int], *, forward: bool
) -> None:
    table = said(make(), answer)
    before = table.snapshot()
    same = table.store.replay(policy(), forward=forward)
    assert (same.differences, same.unreplayed, told(same)) == ((), (), (0, 0, 1))
    other = table.store.replay(bold(), forward=forward)
    assert [one.entry for one in other.differences] == [2]
    assert (other.unreplayed, told(other)) == ((), bolder)
    assert table.snapshot() == before
    assert table.store.replay(bold(), forward=forward) == other


@pytest.mark.parametrize(
    ("answer", "left"), [("repeats 1", 1), ("not worth keeping", 1), ("new", 2), ("replaces part of 1", 2)]
)
def test_an_answer_makes_the_world_of_a_replay_where_nothing_else_decides(
    make: Callable[..., Desk], answer: str, left: int
) -> None:
    table = said(make(), answer)
    assert table.store.replay(policy(), forward=True).active == (left, left)
    assert table.store.replay(bold(), forward=True).active == (left, 2)


def test_an_answer_that_was_taken_back_does_not_count(make: Callable[..., Desk]) -> None:
    table = said(make(), "repeats 1")
    table.store.undo(3)
    for forward in (False, True):
        report = table.store.replay(bold(), forward=forward)
        assert (report.answers, report.unreplayed) == (ReplayAnswers(), ())
    assert table.store.replay(policy(), forward=True).active == (2, 2)
    table.store.undo(4)
    assert told(table.store.replay(bold())) == (0, 1, 0)
    assert table.store.replay(policy(), forward=True).active == (1, 1)


def test_a_replay_knows_the_lessons_of_then_and_not_those_of_now(make: Callable[..., Desk]) -> None:
    """The first mark is wrong, so the second text is no longer marked; both are decided again as they were."""
    table = make()
    model = table.options["relation_model"]
    model.declare(OLD, NEW, conflict=0.91)
    table.store.remember(OLD, kind="fact")
    table.store.remember(THIRD, kind="fact")
    for one in table.store.questions():
        table.store.answer(one.id, "new")
    question = table.store.remember(NEW, kind="fact").question
    assert question is not None
    table.store.answer(question.id, "new")
    near = ("The red lamp is lit.", "Now the red lamp is out.")
    table.near(*near, 0.8)
    model.declare(*near, conflict=0.91)
    table.store.remember(near[0], kind="fact")
    written = table.store.remember(near[1], kind="fact")
    assert written.conflicts == ()
    for lessons in (Checked(), Checked(others_wrong=5)):
        note(table.store, state_text(Asking(checked={"fold": Checked(), "mark": lessons})))
        for forward in (False, True):
            report = table.store.replay(policy(), forward=forward)
            assert report.differences == (), lessons


@pytest.mark.parametrize("taken_back", [False, True])
def test_a_replay_forgets_lessons_where_they_were_forgotten(make: Callable[..., Desk], *, taken_back: bool) -> None:
    """One wrong mark raises the bound above the next pair, until it is forgotten."""
    table = make(new_id=Drawn())
    model = table.options["relation_model"]
    near = ("The red lamp is lit.", "Now the red lamp is out.")
    table.near(*near, 0.8)
    for pair in ((OLD, NEW), near):
        model.declare(*pair, conflict=0.91)
    said(table, "new")
    table.store.forget_lessons()
    if taken_back:
        table.store.undo(4)
    table.store.remember(near[0], kind="fact")
    assert bool(table.store.remember(near[1], kind="fact").conflicts) is not taken_back
    for forward in (False, True):
        report = table.store.replay(policy(), forward=forward)
        assert (report.differences, report.unreplayed) == ((), ())
