"""ONNX models: files verified by sha256, and sessions."""

from __future__ import annotations

import hashlib
import importlib
import os
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from wellkept.errors import ModelUnavailable

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Given = TypeVar("_Given")
_Told = TypeVar("_Told")
_AT_ONCE = min(4, os.cpu_count() or 1)
_forks = False


def survive_forks() -> None:
    """Make all sessions of this process so that children can use them: they compute in the thread that asks.

    To be called before the first session is made, by a process that forks and has no other threads.
    """
    global _forks
    _forks = True


def owner() -> int:
    """The process whose sessions this one may use: itself, as their threads do not survive a fork.

    Sessions without threads of their own are used by children too.
    """
    return 0 if _forks else os.getpid()


def missing(package: str, *, what: str, todo: str) -> ModelUnavailable:
    """The error for a missing package."""
    return ModelUnavailable(f"{what} needs the package {package}", where="import", todo=todo)


def verified_bytes(path: Path, sha256: str, *, what: str, todo: str) -> bytes:
    """The content of a file, if its hash matches.

    Raises:
        ModelUnavailable: The file is unreadable or has another hash.
    """
    try:
        blob = path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"{what} cannot be read", where=str(path), todo=todo) from error
    check_hash(blob, sha256, what=what, where=path, todo=todo)
    return blob


def check_hash(content: bytes | mmap, sha256: str, *, what: str, where: Path, todo: str) -> None:
    """Compare the hash of a file's content.

    Raises:
        ModelUnavailable: It is another one.
    """
    found = hashlib.sha256(content).hexdigest()
    if found != sha256:
        raise ModelUnavailable(
            f"{what} are not the known ones: sha256 is {found[:12]}…, expected {sha256[:12]}…",
            where=str(where),
            todo=todo,
        )


def session(
    blob: bytes,
    *,
    what: str,
    where: Path,
    todo: str,
    exact: bool = False,
    threads: int = 0,
    weights: Mapping[str, NDArray[Any]] | None = None,
) -> Any:
    """An onnxruntime session on the CPU.

    Args:
        where: The file of the model or of its weights.
        exact: Run the graph as it is written: fused nodes differ in the last digits between processors.
        threads: How many work on one row; 0 for one on each core.
        weights: Weights that the model names and does not hold, by name; used where they are. Their file lies in the
            folder of `where`. A model without them reads no other file.

    Raises:
        ModelUnavailable: onnxruntime is missing or cannot load the model.
    """
    try:
        ort = importlib.import_module("onnxruntime")
    except ImportError as error:
        raise missing("onnxruntime", what=what, todo=todo) from error
    options = ort.SessionOptions()
    # Spinning worker threads would use a core of the host process while idle.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.log_severity_level = 3
    options.intra_op_num_threads = 1 if _forks else threads
    options.enable_mem_reuse = False  # planning who takes whose buffer is most of the loading, and saves no memory
    if exact:
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
        options.add_session_config_entry("session.disable_quant_qdq", "1")
    values = {name: ort.OrtValue.ortvalue_from_numpy(value) for name, value in (weights or {}).items()}
    for name, value in values.items():
        options.add_initializer(name, value)
    if values:
        options.add_session_config_entry("session.model_external_initializers_file_folder_path", str(where.parent))
    try:
        running = ort.InferenceSession(blob, options, providers=["CPUExecutionProvider"])
        running.weights = values  # the session does not keep them alive
        return running
    except Exception as error:  # onnxruntime errors have no common base class
        raise ModelUnavailable(f"onnxruntime cannot load {what}", where=str(where), todo=todo) from error


def side_by_side(ask: Callable[[_Given], _Told], given: Sequence[_Given]) -> list[_Told]:
    """The answers to each of these, several at a time on as many cores.

    One network on several cores for one row costs a seventh to a third more and ends no sooner, since its threads wait
    for each other.
    """
    try:
        return _at_once(ask, given) if len(given) > 1 else [ask(one) for one in given]
    except RuntimeError:  # at the end of a program no thread can be started: this one does all
        return [ask(one) for one in given]


def _at_once(ask: Callable[[_Given], _Told], given: Sequence[_Given]) -> list[_Told]:
    from concurrent.futures import Future, ThreadPoolExecutor

    told: list[_Told] = []
    waiting: deque[Future[_Told]] = deque()
    with ThreadPoolExecutor(max_workers=min(len(given), _AT_ONCE), thread_name_prefix="wellkept-read") as readers:
        for one in given:
            if len(waiting) >= 2 * _AT_ONCE:  # the end of a program waits for those that were handed over
                told.append(waiting.popleft().result())
            waiting.append(readers.submit(ask, one))
        return [*told, *(one.result() for one in waiting)]


def first_output(session: Any, feed: Mapping[str, Any], *, what: str, options: Any = None) -> Any:
    """Run a session, and give its first output as the model computed it.

    Args:
        options: onnxruntime's `RunOptions`, by which another thread can end the run.

    Raises:
        ModelUnavailable: The model fails to run.
    """
    try:
        return session.run(None, feed, options)[0]
    except Exception as error:  # onnxruntime errors have no common base class
        raise ModelUnavailable(f"{what} failed to run", where=type(error).__name__) from error
