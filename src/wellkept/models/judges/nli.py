"""A judge of contradictions: any NLI cross-encoder in a local ONNX file.

NLI models are trained on sentence pairs about one scene and assume the same event. On memories they call related but
compatible texts contradictions. So this judge only adds to the review list, and only if the mean of both orders is high
enough.
"""

from __future__ import annotations

import hashlib
import importlib
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.gate.judge_review import FLAG_AT
from wellkept.errors import ConfigError, InvalidInput, ModelResponseInvalid, ModelUnavailable
from wellkept.models.crossencoder import TODO, Files, Pairs, bytes_of, files_at, need_libraries, tokenizer_of
from wellkept.models.judges.ending import WORK
from wellkept.models.loading import LoadingLock
from wellkept.models.onnx import first_output, session, verified_bytes
from wellkept.parsing import parsed_json
from wellkept.types import Memory, Statement

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from wellkept.core.judging.evidence import ContradictionFn

LONGEST = 256
"""Most tokens of a pair; longer pairs are not judged. Many models allow 512, at four times the cost."""
_WHAT = "the NLI judge"


class NliJudge:
    """An NLI model in a local file; loaded on first use, safe between threads. Nothing is downloaded.

    Args:
        path: The `.onnx` file, or a folder with `model.onnx` (or `onnx/model.onnx`). `tokenizer.json` and `config.json`
            (labels of the outputs) are read from the same folder or its parent.
        sha256: Expected hash of the model file; not checked when empty.
        contradiction: Index of the contradiction output; by default from `id2label`.
        longest: Most tokens of a pair.

    Raises:
        ConfigError: A number is out of range.
    """

    def __init__(
        self, path: str | Path, *, sha256: str = "", contradiction: int | None = None, longest: int = LONGEST
    ) -> None:
        self._path = Path(path)
        self._sha256 = sha256.lower()
        if longest < 8 or (contradiction is not None and contradiction < 0):
            raise ConfigError("contradiction or longest is out of range", where=str(path))
        self._contradiction = contradiction
        self._longest = longest
        self._loading = LoadingLock()
        self._loaded: tuple[int, _Model] | None = None
        self._hash = ""

    @property
    def id(self) -> str:
        """Name of the folder or file, and the hash of the weights."""
        if not self._hash:
            self.check()
        return f"nli/{self._path.name}@{self._hash[:8]}"

    def check(self) -> None:
        """Check all files without creating a session.

        Raises:
            ModelUnavailable: A package or file is missing, unreadable, or has another hash.
            ConfigError: The contradiction output is unknown.
        """
        need_libraries(_WHAT)
        files = files_at(self._path, what=_WHAT)
        self._read(files)
        tokenizer_of(files)
        self._output(files)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """P(contradiction) as the mean of both orders; None for pairs that are too long.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
            ModelResponseInvalid: Its output is no row of logits.
            ConfigError: The contradiction output is unknown.
        """
        model = self._model()
        return [model.contradiction(old, new) for old, new in pairs]

    def _model(self) -> _Model:
        with self._loading:
            # A session does not survive a fork: its threads stay in the parent.
            if self._loaded is None or self._loaded[0] != os.getpid():
                files = files_at(self._path, what=_WHAT)
                with WORK.under_way(_let_it_finish):
                    running = session(self._read(files), what=_WHAT, where=files.model, todo=TODO)
                    model = _Model(tokenizer_of(files), running, self._output(files), self._longest)
                self._loaded = (os.getpid(), model)
            return self._loaded[1]

    def _read(self, files: Files) -> bytes:
        if self._sha256:
            blob = verified_bytes(files.model, self._sha256, what="the weights of the NLI judge", todo=TODO)
        else:
            blob = bytes_of(files.model, what=_WHAT)
        self._hash = hashlib.sha256(blob).hexdigest()
        return blob

    def _output(self, files: Files) -> int:
        return self._contradiction if self._contradiction is not None else _labelled(files.beside("config.json"))


class _Model:
    """A loaded tokenizer and session."""

    def __init__(self, tokenizer: Tokenizer, running: Any, output: int, longest: int) -> None:
        self._session = running
        self._output = output
        self._pairs = Pairs(tokenizer, running, longest)

    def contradiction(self, old: str, new: str) -> float | None:
        """P(contradiction), the same for the swapped pair."""
        options = importlib.import_module("onnxruntime").RunOptions()
        with WORK.under_way(lambda: setattr(options, "terminate", True)):
            fed = [self._pairs.feed(old, new), self._pairs.feed(new, old)]
            if any(one is None for one in fed):
                return None
            shares = [self._run(one, options) for one in fed if one is not None]
            return round(sum(shares) / len(shares), 4)

    def _run(self, feed: dict[str, Any], options: Any) -> float:
        told = first_output(self._session, feed, what="the NLI judge", options=options)
        return _share(np.asarray(told, dtype=np.float64), self._output)


def nli_relation(path: str | Path, *, at: float = FLAG_AT) -> ContradictionFn:
    """An NLI model as a contradiction function, for `wellkept eval --nli` and `contradiction_fn`.

    Args:
        path: As for `NliJudge`.
        at: Least probability of a contradiction.

    Raises:
        ModelUnavailable: A file is missing or unreadable.
        ConfigError: The contradiction output is unknown.
    """
    judge = NliJudge(path)
    judge.check()

    def contradicts(old: Memory, new: Statement) -> bool:
        told = judge.judge([(old.content, new.content)])[0]
        return told is not None and told >= at

    return contradicts


def _labelled(path: Path) -> int:
    """The output that `id2label` names contradiction."""
    todo = "Say which output it is, as in nli:PATH?contradiction=0"
    try:
        config = parsed_json(bytes_of(path, what=_WHAT))
    except (ModelUnavailable, InvalidInput):
        raise ConfigError("no config.json says which output means contradiction", where=str(path), todo=todo) from None
    labels = config.get("id2label") if isinstance(config, dict) else None
    named = labels.items() if isinstance(labels, dict) else ()
    found = [key for key, label in named if str(label).casefold().startswith("contradict") and str(key).isdecimal()]
    if len(found) != 1:
        raise ConfigError("`id2label` names no output contradiction", where=str(path), todo=todo)
    return int(found[0])


def _share(logits: NDArray[np.float64], output: int) -> float:
    """The softmax probability of one output."""
    if logits.ndim != 2 or logits.shape[0] != 1 or logits.shape[1] < 2 or not np.isfinite(logits).all():
        raise ModelResponseInvalid("the NLI judge gave no row of logits", where=str(logits.shape))
    if output >= logits.shape[1]:
        raise ModelResponseInvalid(f"the NLI judge has no output {output}", where=f"{logits.shape[1]} outputs")
    # Summation order depends on threads; rounding removes the difference.
    row = np.round(logits[0], 4)
    shares = np.exp(row - row.max())
    return float(shares[output] / shares.sum())


def _let_it_finish() -> None:
    """Loading cannot be stopped; shutdown only waits for it."""
