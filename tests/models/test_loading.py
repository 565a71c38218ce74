"""A process that forks while another thread loads a model has a child that works."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable, Sequence

import pytest

from wellkept.engine.models import scale
from wellkept.models import loading, minilm, relation
from wellkept.models.judges.nli import NliJudge
from wellkept.models.loading import LoadingLock
from wellkept.models.reranking import OnnxReranker

needs_fork = pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
LOCKS: dict[str, Callable[[], LoadingLock]] = {
    "embedder": lambda: minilm._LOADING,
    "relation model": lambda: relation._LOADING,
    "network for other languages": lambda: relation._LOADING_MULTILINGUAL,
    "scale": lambda: scale._ONE_AT_A_TIME,
    "NLI judge": lambda: NliJudge("model.onnx")._loading,
    "reranker": lambda: OnnxReranker("model.onnx")._loading,
}


def exit_of_child(act: Callable[[], bool], seconds: float = 20.0) -> int:
    """The exit code of a forked child: 0 if the act was true; -9 if it did not end in time."""
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 0 if act() else 2
        finally:
            os._exit(code)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Held:
    """A thread that holds a lock until `over` is set."""

    def __init__(self, lock: LoadingLock) -> None:
        self.over, self._inside, self._lock = threading.Event(), threading.Event(), lock
        self.thread = threading.Thread(target=self._hold, daemon=True)
        self.thread.start()
        assert self._inside.wait(20)

    def _hold(self) -> None:
        with self._lock:
            self._inside.set()
            self.over.wait(20)


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # newer Pythons warn of any fork beside threads
@pytest.mark.parametrize("of", LOCKS.values(), ids=LOCKS)
def test_a_child_may_load_what_a_thread_of_its_parent_was_loading(
    of: Callable[[], LoadingLock], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loading, "PATIENCE", 0.1)
    lock = of()
    holder = Held(lock)

    def loads() -> bool:
        with lock:
            return True

    assert exit_of_child(loads) == 0
    holder.over.set()
    holder.thread.join(20)
    with lock:
        assert not holder.thread.is_alive()


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_waits_for_what_is_being_loaded() -> None:
    lock = LoadingLock()
    holder = Held(lock)
    soon = threading.Timer(0.2, holder.over.set)
    soon.start()
    assert exit_of_child(holder.over.is_set) == 0
    holder.thread.join(20)


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_who_forks_while_loading_does_not_wait_for_itself_and_goes_on_in_both_processes() -> None:
    """An embedder of the user may start a process while it is measured."""
    lock = LoadingLock()

    def ends() -> bool:
        lock.__exit__(None, None, None)
        with lock:
            return True

    began = time.monotonic()
    lock.__enter__()
    assert exit_of_child(ends) == 0
    assert ends()
    assert time.monotonic() - began < loading.PATIENCE


@needs_fork
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_fork_gives_back_what_a_loading_thread_needs_to_go_on() -> None:
    """The scale measures an embedder, which is loaded for that: locks are not taken in the order of their making."""
    inner, outer = LoadingLock(), LoadingLock()
    holder, over = Held(outer), threading.Event()

    def needs_both() -> None:
        with inner:
            over.set()
        holder.over.set()

    real = loading._taken
    tried: list[bool] = []

    def taken(wanted: Sequence[threading.Lock], seconds: float) -> Sequence[threading.Lock]:
        if not tried:
            threading.Thread(target=needs_both, daemon=True).start()
        tried.append(True)
        return real(wanted, seconds)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loading, "_taken", taken)
        assert exit_of_child(over.is_set) == 0
    holder.thread.join(20)


def test_a_lock_that_nobody_has_is_forgotten() -> None:
    before = len(loading._LOCKS)
    lock = LoadingLock()
    assert len(loading._LOCKS) == before + 1
    del lock
    assert len(loading._LOCKS) == before
