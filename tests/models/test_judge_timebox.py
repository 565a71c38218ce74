"""The time box of a judge: late is no answer, threads are few and end, and nothing keeps a program from ending."""

from __future__ import annotations

import subprocess
import sys
import threading
import time

import pytest

from wellkept.errors import ModelResponseInvalid, ModelUnavailable
from wellkept.models.judges.timeboxed import AT_ONCE, TimeBoxed, timeboxed

PAIR, OTHER = ("It is open.", "It is shut."), ("Tea at four.", "The fair opens in May.")


class Judge:
    """Answers when a test releases it, or fails if the test sets an error."""

    id = "patient"

    def __init__(self, told=0.7, *, waits=False):
        self.told, self.asked = told, []
        self.let = threading.Event()
        if not waits:
            self.let.set()

    def judge(self, pairs):
        self.asked.append(list(pairs))
        assert self.let.wait(20)
        if isinstance(self.told, BaseException):
            raise self.told
        return self.told if isinstance(self.told, list) else [self.told for _ in pairs]


def judges_at_work():
    return [thread for thread in threading.enumerate() if thread.name == "wellkept-judge"]


def all_gone():
    for thread in judges_at_work():
        thread.join(5)
    return not judges_at_work()


def test_an_answer_in_time_is_handed_on():
    boxed = TimeBoxed(Judge())
    assert boxed.judge([PAIR, OTHER]) == [0.7, 0.7]
    assert boxed.id == "patient"
    assert all_gone()


def test_a_late_judge_has_not_answered_and_its_thread_ends_with_it():
    judge = Judge(waits=True)
    boxed = TimeBoxed(judge, seconds=0.05)
    started = time.monotonic()
    with pytest.raises(ModelUnavailable, match=r"did not answer within 0\.05 s"):
        boxed.judge([PAIR])
    assert time.monotonic() - started < 2
    judge.let.set()
    assert all_gone()


def test_a_judge_that_hangs_keeps_a_few_threads_and_no_more():
    judge = Judge(waits=True)
    boxed = TimeBoxed(judge, seconds=0.02)
    messages = []
    for _ in range(AT_ONCE + 5):
        with pytest.raises(ModelUnavailable) as caught:
            boxed.judge([PAIR])
        messages.append(str(caught.value))
    assert len(judges_at_work()) == len(judge.asked) == AT_ONCE
    assert ["busy" in line for line in messages] == [False] * AT_ONCE + [True] * 5
    judge.let.set()
    assert all_gone()
    assert boxed.judge([PAIR]) == [0.7], "it is asked again once it is free"


def test_writers_wait_for_their_turn_within_the_box():
    judge = Judge(waits=True)
    boxed = TimeBoxed(judge, seconds=10)
    told = []
    asked = [(f"old {number}", "new") for number in range(AT_ONCE + 3)]
    writers = [threading.Thread(target=lambda pair=pair: told.append(boxed.judge([pair]))) for pair in asked]
    for writer in writers:
        writer.start()
    while len(judge.asked) < AT_ONCE:
        time.sleep(0.005)
    assert len(judges_at_work()) == AT_ONCE
    judge.let.set()
    for writer in writers:
        writer.join(10)
    assert told == [[0.7]] * len(asked)


@pytest.mark.parametrize(
    ("raised", "caught"),
    [
        (ModelUnavailable("down"), ModelUnavailable),
        (ZeroDivisionError(), ZeroDivisionError),
        (SystemExit(3), ModelUnavailable),
        (KeyboardInterrupt(), ModelUnavailable),
    ],
)
def test_what_the_judge_raises_reaches_whoever_asked(raised, caught):
    """A judge that calls sys.exit() ends nothing but its own answer."""
    boxed = TimeBoxed(Judge(raised))
    for _ in range(AT_ONCE + 1):  # a failure gives its place back
        with pytest.raises(caught):
            boxed.judge([PAIR])
    assert all_gone()


@pytest.mark.parametrize("told", [[], [0.5], [0.5] * 3])
def test_answers_of_the_wrong_number_belong_to_no_pair(told):
    with pytest.raises(ModelResponseInvalid, match="asked about 2 pairs"):
        TimeBoxed(Judge(told)).judge([PAIR, OTHER])


def test_an_answer_is_remembered_so_that_a_check_and_the_write_after_it_agree():
    """I4, as far as a judge allows."""
    judge = Judge()
    boxed = TimeBoxed(judge)
    assert boxed.judge([PAIR]) == [0.7]
    judge.told = 0.1
    assert boxed.judge([OTHER, PAIR, PAIR[::-1]]) == [0.1, 0.7, 0.1]
    assert judge.asked == [[PAIR], [OTHER, PAIR[::-1]]]
    assert boxed.judge([]) == []


@pytest.mark.parametrize("told", [None, float("nan"), 2.0, "yes"])
def test_what_is_no_probability_is_not_remembered(told):
    judge = Judge([told])
    boxed = TimeBoxed(judge)
    boxed.judge([PAIR])
    judge.told = 0.9
    assert boxed.judge([PAIR]) == [0.9]


def test_two_pairs_whose_texts_run_together_alike_are_two_pairs():
    judge = Judge()
    TimeBoxed(judge).judge([("ab", "c"), ("a", "bc")])
    assert judge.asked == [[("ab", "c"), ("a", "bc")]]


def test_a_thread_that_cannot_be_started_takes_no_place(monkeypatch):
    boxed = TimeBoxed(Judge(), seconds=0.05)

    def refuse(self):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patched:
        patched.setattr(threading.Thread, "start", refuse)
        for _ in range(AT_ONCE + 1):
            with pytest.raises(RuntimeError, match="new thread"):
                boxed.judge([PAIR])
    assert boxed.judge([PAIR]) == [0.7]


def test_a_judge_keeps_the_box_it_has():
    boxed = TimeBoxed(Judge(), seconds=1)
    assert timeboxed(boxed) is boxed
    assert isinstance(timeboxed(Judge()), TimeBoxed)


HANGING = """
import sys, time
from wellkept.errors import ModelError
from wellkept.models.judges.timeboxed import TimeBoxed

class Hangs:
    id = "hangs"
    def judge(self, pairs):
        time.sleep(600)

try:
    TimeBoxed(Hangs(), seconds=0.05).judge([("a", "b")])
except ModelError:
    print("late")
"""


def test_a_hanging_judge_does_not_keep_the_interpreter_from_ending():
    done = subprocess.run(
        [sys.executable, "-c", HANGING],
        env={"PYTHONPATH": ":".join(sys.path)},
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "late\n", "")
