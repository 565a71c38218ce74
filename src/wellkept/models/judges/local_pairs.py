"""A model that reads two texts together, in a local ONNX file: checked, loaded on first use, stopped at shutdown."""

from __future__ import annotations

import hashlib
import importlib
import os
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from wellkept.errors import ConfigError, ModelResponseInvalid
from wellkept.models.crossencoder import TODO, Files, Pairs, bytes_of, files_at, need_libraries, tokenizer_of
from wellkept.models.judges.ending import WORK
from wellkept.models.loading import LoadingLock
from wellkept.models.onnx import first_output, session, verified_bytes
from wellkept.models.tokenizer.pairs import shares

LONGEST = 256
"""Most tokens of a pair. Many models allow 512, at four times the cost."""


class LocalPairs(ABC):
    """The base of models of pairs; safe between threads. Nothing is downloaded.

    Args:
        path: The `.onnx` file, or a folder with `model.onnx` (or `onnx/model.onnx`). Its other files are read from the
            same folder or its parent.
        sha256: Expected hash of the model file; not checked when empty.
        output: Index of the output that is wanted.
        longest: Most tokens of a pair.

    Raises:
        ConfigError: A number is out of range.
    """

    kind: ClassVar[str]
    what: ClassVar[str]
    wanted: ClassVar[str] = "output"
    """Name of the option that says which output is wanted."""
    cut: ClassVar[bool] = False
    """Whether long pairs are truncated; else they have no score."""

    def __init__(
        self, path: str | Path, *, sha256: str = "", output: int | None = None, longest: int = LONGEST
    ) -> None:
        self._path = Path(path)
        if longest < 8 or (output is not None and output < 0):
            raise ConfigError(f"{self.wanted} or longest is out of range", where=str(path))
        self._sha256 = sha256.lower()
        self._output = output
        self._longest = longest
        self._loading = LoadingLock()
        self._loaded: tuple[int, Any, Pairs, int | None] | None = None
        self._hash = ""

    @abstractmethod
    def score(self, logits: NDArray[np.float64], output: int | None) -> float:
        """The score of a pair, from what the model computed."""

    def output_of(self, files: Files) -> int | None:
        """Index of the output that is wanted."""
        return self._output

    @property
    def id(self) -> str:
        """Name of the folder or file, and the hash of the weights."""
        if not self._hash:
            self.check()
        return f"{self.kind}/{self._path.name}@{self._hash[:8]}"

    def check(self) -> None:
        """Check all files without creating a session.

        Raises:
            ModelUnavailable: A package or file is missing, unreadable, or has another hash.
            ConfigError: It is not known which output is wanted.
        """
        need_libraries(self.what)
        files = files_at(self._path, what=self.what)
        self._read(files)
        tokenizer_of(files)
        self.output_of(files)

    def scores(self, *pairs: tuple[str, str]) -> list[float | None]:
        """The score of each pair; None for a pair that is too long or cannot be read.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
            ModelResponseInvalid: Its output is no row of logits.
        """
        running, feeding, output = self._model()
        options = importlib.import_module("onnxruntime").RunOptions()
        with WORK.under_way(lambda: setattr(options, "terminate", True)):
            feeds = [feeding.feed(first, second) for first, second in pairs]
            told = (feed and first_output(running, feed, what=self.what, options=options) for feed in feeds)
            return [None if one is None else self.score(np.asarray(one, dtype=np.float64), output) for one in told]

    def _model(self) -> tuple[Any, Pairs, int | None]:
        with self._loading:
            # A session does not survive a fork: its threads stay in the parent.
            if self._loaded is None or self._loaded[0] != os.getpid():
                files = files_at(self._path, what=self.what)
                with WORK.under_way(_let_it_finish):
                    running = session(self._read(files), what=self.what, where=files.model, todo=TODO)
                    feeding = Pairs(tokenizer_of(files), running, self._longest, cut=self.cut)
                    self._loaded = (os.getpid(), running, feeding, self.output_of(files))
            return self._loaded[1:]

    def _read(self, files: Files) -> bytes:
        if self._sha256:
            blob = verified_bytes(files.model, self._sha256, what=f"the weights of {self.what}", todo=TODO)
        else:
            blob = bytes_of(files.model, what=self.what)
        self._hash = hashlib.sha256(blob).hexdigest()
        return blob


def row_of(logits: NDArray[np.float64], what: str, *, least: int = 1) -> NDArray[np.float64]:
    """The only row of logits, with at least so many outputs.

    Raises:
        ModelResponseInvalid: There is no such row.
    """
    if logits.ndim != 2 or logits.shape[0] != 1 or logits.shape[1] < least or not np.isfinite(logits).all():
        raise ModelResponseInvalid(f"{what} gave no row of logits", where=str(logits.shape))
    # Summation order depends on threads; rounding removes the difference.
    row: NDArray[np.float64] = np.round(logits[0], 4)
    return row


def share(row: NDArray[np.float64], output: int) -> float:
    """The softmax probability of one output."""
    return float(shares(row)[output])


def _let_it_finish() -> None:
    """Loading cannot be stopped; shutdown only waits for it."""
