"""Reranking by a cross-encoder in a local ONNX file that reads query and memory together.

Nothing is downloaded. It reorders the few best answers within a time limit and never decides which are shown.
"""

from __future__ import annotations

import hashlib
import importlib
import math
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qsl

import numpy as np
from numpy.typing import NDArray

from wellkept.errors import ConfigError, ModelResponseInvalid
from wellkept.models.crossencoder import TODO, Files, Pairs, bytes_of, files_at, need_libraries, tokenizer_of
from wellkept.models.endpoints.options import number
from wellkept.models.judges.ending import WORK
from wellkept.models.judges.timeboxed import TimeBoxed
from wellkept.models.loading import LoadingLock
from wellkept.models.onnx import first_output, session, verified_bytes

if TYPE_CHECKING:
    from wellkept.models.port import Reranker

PREFIX = "onnx:"
LONGEST = 256
"""Most tokens of query and memory together; longer pairs are truncated."""
SECONDS = 2.0
"""Default time limit of the reranker per query."""
_WHAT = "the reranker"
_OPTIONS = ("output", "sha256", "longest", "seconds")


class OnnxReranker:
    """Your own cross-encoder, such as one trained on MS MARCO; loaded on first use, safe between threads.

    Args:
        path: The `.onnx` file, or a folder with `model.onnx` (or `onnx/model.onnx`); `tokenizer.json` is in the same
            folder or its parent.
        sha256: Expected hash of the model file; not checked when empty.
        output: Index of the relevance output; not needed for a model with one output.
        longest: Most tokens of query and memory together.

    Raises:
        ConfigError: A number is out of range.
    """

    def __init__(
        self, path: str | Path, *, sha256: str = "", output: int | None = None, longest: int = LONGEST
    ) -> None:
        if longest < 8 or (output is not None and output < 0):
            raise ConfigError("output or longest is out of range", where=str(path))
        self._path = Path(path)
        self._sha256 = sha256.lower()
        self._output = output
        self._longest = longest
        self._loading = LoadingLock()
        self._loaded: tuple[int, Any, Pairs] | None = None
        self._hash = ""

    @property
    def id(self) -> str:
        """Name of the folder or file, and the hash of the weights."""
        if not self._hash:
            self.check()
        return f"rerank/{self._path.name}@{self._hash[:8]}"

    def check(self) -> None:
        """Check all files without creating a session.

        Raises:
            ModelUnavailable: A package or file is missing, unreadable, or has another hash.
        """
        need_libraries(_WHAT)
        files = files_at(self._path, what=_WHAT)
        self._read(files)
        tokenizer_of(files)

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Score of each text, 0 to 1, in order; None for a text it cannot read.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
            ModelResponseInvalid: Its output is no row of logits.
        """
        running, pairs = self._model()
        return [self._worth(running, pairs.feed(query, text)) for text in texts]

    def _model(self) -> tuple[Any, Pairs]:
        with self._loading:
            # A session does not survive a fork: its threads stay in the parent.
            if self._loaded is None or self._loaded[0] != os.getpid():
                files = files_at(self._path, what=_WHAT)
                with WORK.under_way(_let_it_finish):
                    running = session(self._read(files), what=_WHAT, where=files.model, todo=TODO)
                    pairs = Pairs(tokenizer_of(files), running, self._longest, cut=True)
                self._loaded = (os.getpid(), running, pairs)
            return self._loaded[1:]

    def _read(self, files: Files) -> bytes:
        if self._sha256:
            blob = verified_bytes(files.model, self._sha256, what="the weights of the reranker", todo=TODO)
        else:
            blob = bytes_of(files.model, what=_WHAT)
        self._hash = hashlib.sha256(blob).hexdigest()
        return blob

    def _worth(self, running: Any, feed: dict[str, Any] | None) -> float | None:
        if feed is None:
            return None
        options = importlib.import_module("onnxruntime").RunOptions()
        with WORK.under_way(lambda: setattr(options, "terminate", True)):
            told = first_output(running, feed, what="the reranker", options=options)
        return worth(np.asarray(told, dtype=np.float64), self._output)


class TimeBoxedReranker:
    """Calls a reranker with a time limit; itself a `Reranker`.

    Args:
        reranker: The wrapped reranker.
        seconds: Time limit for all texts of one query.

    Example:
        >>> class Longest:
        ...     id = "longest"
        ...     def rerank(self, query, texts):
        ...         return [len(text) / 100 for text in texts]
        >>> TimeBoxedReranker(Longest(), seconds=1).rerank("which?", ["short", "not so short"])
        [0.05, 0.12]
    """

    def __init__(self, reranker: Reranker, *, seconds: float = SECONDS) -> None:
        self._reranker = reranker
        self._box = TimeBoxed(self, seconds=seconds)

    @property
    def id(self) -> str:
        """The reranker's id; its class name if it has none."""
        return str(getattr(self._reranker, "id", type(self._reranker).__name__))

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """The reranker's scores, in the order of the texts.

        Raises:
            ModelUnavailable: The reranker is late or busy with earlier calls.
            ModelResponseInvalid: The number of scores is wrong.
            Exception: Any error of the reranker.
        """
        return self._box.judge([(query, text) for text in texts])

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Called by `TimeBoxed` in its thread; the pairs are (query, text)."""
        return list(self._reranker.rerank(pairs[0][0], [text for _, text in pairs]))


def worth(logits: NDArray[np.float64], output: int | None) -> float:
    """A score from one row of logits, 0 to 1: sigmoid of a single output, or softmax of the given one.

    Example:
        >>> worth(np.asarray([[0.0]]), None), worth(np.asarray([[1.0, 1.0]]), 1)
        (0.5, 0.5)
    """
    if logits.ndim != 2 or logits.shape[0] != 1 or logits.shape[1] < 1 or not np.isfinite(logits).all():
        raise ModelResponseInvalid("the reranker gave no row of logits", where=str(logits.shape))
    # Summation order depends on threads; rounding removes the difference.
    row = np.round(logits[0], 4)
    if len(row) == 1:
        return round(1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, float(row[0]))))), 6)
    if output is None or output >= len(row):
        raise ModelResponseInvalid(
            f"the reranker has {len(row)} outputs", where=str(output), todo="Say which one, as in onnx:PATH?output=1"
        )
    shares = np.exp(row - row.max())
    return round(float(shares[output] / shares.sum()), 6)


def onnx_reranker(spec: str) -> TimeBoxedReranker:
    """The reranker of `onnx:PATH?output=N&sha256=HEX&longest=N&seconds=S`, files checked.

    Raises:
        ConfigError: An option is unknown or out of range.
        ModelUnavailable: A file is missing or has another sha256.
    """
    path, _, query = spec[len(PREFIX) :].partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(options.keys() - set(_OPTIONS))
    if unknown:
        raise ConfigError(
            "unknown option of a reranker", where=unknown[0], todo=f"Use one of: {', '.join(sorted(_OPTIONS))}"
        )
    if not path.strip():
        raise ConfigError("a reranker needs a path", where="reranker", todo="Write onnx:PATH")
    seconds = number(options, "seconds", SECONDS, float, where="reranker")
    if not 0 < seconds <= 600:
        raise ConfigError("seconds must be above 0 and at most 600", where="reranker")
    reranker = OnnxReranker(
        Path(path).expanduser(),
        sha256=options.get("sha256", ""),
        output=number(options, "output", 0, int, where="reranker") if "output" in options else None,
        longest=number(options, "longest", LONGEST, int, where="reranker"),
    )
    reranker.check()
    return TimeBoxedReranker(reranker, seconds=seconds)


def _let_it_finish() -> None:
    """Loading cannot be stopped; shutdown only waits for it."""
