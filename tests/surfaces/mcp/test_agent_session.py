"""A coding agent's session of two weeks is replayed with the answers it gave, and without any."""

from __future__ import annotations

import sys
from dataclasses import replace
from pathlib import Path

import pytest

import wellkept
from stores import place
from surfaces.mcp.agent_session import Played, play, recorded
from wellkept.core.asking.question_text import CANDIDATE_AT_MOST, FRAME_AT_MOST
from wellkept.policy import Policy
from wellkept.testing.clock import CountingIds, FrozenClock

pytestmark = pytest.mark.slow
NOTES = recorded()
RECORDED = {(note.n, frozenset(note.candidates)) for note in NOTES if note.answer}
MOST_CHANGED = 4
"""Questions more and fewer together: another processor may decide a write near a bound in another way."""


@pytest.fixture(scope="module")
def sessions(tmp_path_factory: pytest.TempPathFactory) -> tuple[Played, Played]:
    """The session with the recorded answers, and without answers."""
    with_answers, without = (_played(tmp_path_factory.mktemp("agent"), answering=one) for one in (True, False))
    sys.stdout.write(f"\nwith answers: {with_answers}\nwithout: {without}\n")
    return with_answers, without


def _played(folder: Path, *, answering: bool) -> Played:
    clock = FrozenClock()
    options = {"clock": clock, "new_id": CountingIds(), "policy": replace(Policy(), ask=20.0)}
    with wellkept.open(str(place(folder / "agent.db")), **options) as store:
        return play(store, clock, NOTES, answering=answering)


def test_the_same_writes_raise_the_same_questions(sessions: tuple[Played, Played]) -> None:
    asked = {(note, frozenset(candidates)) for note, candidates in sessions[0].asked}
    assert len(asked ^ RECORDED) <= MOST_CHANGED
    assert sessions[0].answered >= len(RECORDED) - MOST_CHANGED


def test_answers_leave_fewer_notes_twice_and_fewer_updates_unmarked_and_lose_nothing(
    sessions: tuple[Played, Played],
) -> None:
    played, without = sessions
    missing = len(RECORDED) - played.answered
    assert (played.lost, without.lost) == ((), ())
    assert len(played.twice) <= missing
    assert len(played.unmarked) <= 3 + missing
    assert len(without.twice) > len(played.twice)
    assert len(without.unmarked) > len(played.unmarked)


def test_wrong_acts_do_not_increase_but_by_what_the_agent_itself_got_wrong(sessions: tuple[Played, Played]) -> None:
    played, without = sessions
    assert len(played.folded) <= len(without.folded) <= 2
    assert (len(played.marked), len(without.marked)) <= (1, 0)


def test_a_question_stays_small(sessions: tuple[Played, Played]) -> None:
    for played in sessions:
        candidates = sum(text.count("\n") - 1 for text in played.shown)
        assert 0 < played.tokens <= FRAME_AT_MOST * len(played.shown) + CANDIDATE_AT_MOST * candidates
