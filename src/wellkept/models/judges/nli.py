"""Any NLI cross-encoder in ONNX, from a file of one's own, as a judge of contradictions.

Such models were trained on sentences about one scene, and take any two sentences to be about the same
event: on memories they call related but compatible texts contradictions. That is why this judge only
adds to the review list, and only when both orders of a pair together are sure enough.
"""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import os
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.review import FLAG_AT
from wellkept.errors import ConfigError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.judges.ending import WORK
from wellkept.models.onnx import missing, session, verified_bytes
from wellkept.types import Memory, Statement

if TYPE_CHECKING:
    from tokenizers import Tokenizer

    from wellkept.core.evidence import ContradictionFn

LONGEST = 256
"""Tokens of a pair; longer ones are not judged. Most such models take 512, at four times the cost."""
_WHAT = "the NLI judge"
_TODO = "Point to a folder with model.onnx and tokenizer.json, or to the .onnx file beside it"
_TYPES = {"tensor(int64)": np.int64, "tensor(int32)": np.int32}
_ROLES = {
    "input_ids": "ids",
    "ids": "ids",
    "attention_mask": "mask",
    "input_mask": "mask",
    "mask": "mask",
    "token_type_ids": "sides",
    "segment_ids": "sides",
}


class NliJudge:
    """An NLI model in a local file; loaded on first use, safe between threads. Nothing is downloaded.

    Args:
        path: The `.onnx` file, or a folder with `model.onnx` (or `onnx/model.onnx`). The tokenizer is
            read from `tokenizer.json` beside it or one folder up, the meaning of the outputs from
            `config.json` there.
        sha256: What the model's file must hash to; anything will do when empty.
        contradiction: Which output means contradiction, from 0; by default `id2label` tells.
        longest: Tokens of a pair above which nothing is judged.

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
        self._loading = threading.Lock()
        self._loaded: tuple[int, _Model] | None = None
        self._hash = ""

    @property
    def id(self) -> str:
        """Name of the folder or file, and the hash of the weights."""
        if not self._hash:
            self.check()
        return f"nli/{self._path.name}@{self._hash[:8]}"

    def check(self) -> None:
        """Make sure that all files can be found and are right, without making a session.

        Raises:
            ModelUnavailable: A package or file is missing, cannot be read, or is another.
            ConfigError: Nothing says which output means contradiction.
        """
        for module in ("onnxruntime", "tokenizers"):
            if importlib.util.find_spec(module) is None:
                raise missing(module, what=_WHAT, todo=f"Install it with `pip install {module}`")
        files = _files(self._path)
        self._read(files)
        _tokenizer(files)
        self._output(files)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """The model's probability of a contradiction, the mean of both orders; None for pairs that are too long.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
            ModelResponseInvalid: Its output is no row of logits.
            ConfigError: Nothing says which output means contradiction.
        """
        model = self._model()
        return [model.contradiction(old, new) for old, new in pairs]

    def _model(self) -> _Model:
        with self._loading:
            # A session does not survive a fork: its threads stay in the parent.
            if self._loaded is None or self._loaded[0] != os.getpid():
                files = _files(self._path)
                with WORK.under_way(_let_it_finish):
                    running = session(self._read(files), what=_WHAT, where=files.model, todo=_TODO)
                    model = _Model(_tokenizer(files), running, self._output(files), self._longest)
                self._loaded = (os.getpid(), model)
            return self._loaded[1]

    def _read(self, files: _Files) -> bytes:
        if self._sha256:
            blob = verified_bytes(files.model, self._sha256, what="the weights of the NLI judge", todo=_TODO)
        else:
            blob = _bytes(files.model)
        self._hash = hashlib.sha256(blob).hexdigest()
        return blob

    def _output(self, files: _Files) -> int:
        return self._contradiction if self._contradiction is not None else _labelled(files.beside("config.json"))


class _Model:
    """Tokenizer and session, loaded."""

    def __init__(self, tokenizer: Tokenizer, running: Any, output: int, longest: int) -> None:
        self._tokenizer = tokenizer
        self._session = running
        self._output = output
        self._inputs = _inputs(running)
        fixed = [fed.length for fed in self._inputs if fed.length]
        self._fixed = min(fixed, default=0)
        self._longest = min(longest, *fixed) if fixed else longest
        padding = [found for piece in ("[PAD]", "<pad>") if (found := tokenizer.token_to_id(piece)) is not None]
        self._pad = padding[0] if padding else 0
        bare = tokenizer.encode("", "")
        marks = zip(bare.ids, bare.special_tokens_mask, strict=True)
        self._frame = frozenset((*padding, *(token for token, framing in marks if framing)))

    def contradiction(self, old: str, new: str) -> float | None:
        """Probability of a contradiction, the same for the swapped pair."""
        options = importlib.import_module("onnxruntime").RunOptions()
        with WORK.under_way(lambda: setattr(options, "terminate", True)):
            rows = [self._row(old, new), self._row(new, old)]
            if any(row is None for row in rows):
                return None
            shares = [self._run(row, options) for row in rows if row is not None]
            return round(sum(shares) / len(shares), 4)

    def _row(self, first: str, second: str) -> Mapping[str, Sequence[int]] | None:
        encoding = self._tokenizer.encode(_clean(first), _clean(second))
        if len(encoding.ids) > self._longest:
            return None
        said = (token for token, mark in zip(encoding.ids, encoding.special_tokens_mask, strict=True) if not mark)
        if not self._frame.isdisjoint(said):
            return None  # some vocabularies hold "[SEP]" as a word: a text must not end itself and begin another
        padding = [0] * max(0, self._fixed - len(encoding.ids))
        return {
            "ids": [*encoding.ids, *(self._pad for _ in padding)],
            "mask": [*(1 for _ in encoding.ids), *padding],
            "sides": [*encoding.type_ids, *padding],
        }

    def _run(self, row: Mapping[str, Sequence[int]], options: Any) -> float:
        # One row at a time: int8 arithmetic scales over a whole batch, and an answer must not depend on company.
        feed = {fed.name: np.asarray([row[fed.role]], dtype=fed.type) for fed in self._inputs}
        try:
            told = self._session.run(None, feed, options)[0]
        except Exception as error:  # its error classes share no base of their own; all become ours
            raise ModelUnavailable("the NLI judge failed to run", where=type(error).__name__) from error
        return _share(np.asarray(told, dtype=np.float64), self._output)


def nli_relation(path: str | Path, *, at: float = FLAG_AT) -> ContradictionFn:
    """An NLI model as a contradiction function (S2-24), for `wellkept eval --nli` and `contradiction_fn`.

    Args:
        path: As for `NliJudge`.
        at: Probability from which the answer is yes.

    Raises:
        ModelUnavailable: A file is missing, or cannot be read.
        ConfigError: Nothing says which output means contradiction.
    """
    judge = NliJudge(path)
    judge.check()

    def contradicts(old: Memory, new: Statement) -> bool:
        told = judge.judge([(old.content, new.content)])[0]
        return told is not None and told >= at

    return contradicts


# --------------------------------------------------------------------------------------------
# Files


@dataclass(frozen=True, slots=True)
class _Files:
    """The model's file and the folders its companions may lie in."""

    model: Path
    folders: tuple[Path, ...]

    def beside(self, name: str) -> Path:
        """The companion of this name; in the model's own folder when it is nowhere."""
        there = [folder / name for folder in self.folders if (folder / name).is_file()]
        return there[0] if there else self.folders[0] / name


def _files(path: Path) -> _Files:
    if path.is_dir():
        inner = path / "onnx" / "model.onnx"
        model = path / "model.onnx"
        model = inner if inner.is_file() and not model.is_file() else model
    else:
        model = path
    return _Files(model, (model.parent, model.parent.parent))


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelUnavailable("a file of the NLI judge cannot be read", where=str(path), todo=_TODO) from error


def _tokenizer(files: _Files) -> Tokenizer:
    from tokenizers import Tokenizer

    path = files.beside("tokenizer.json")
    try:
        tokenizer = Tokenizer.from_buffer(_bytes(path))
    except ModelUnavailable:
        raise
    except Exception as error:  # it raises plain Exception; all become ours
        raise ModelUnavailable("the tokenizer cannot be read", where=str(path), todo=_TODO) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a memory is text like any other
    return tokenizer


def _labelled(path: Path) -> int:
    """The output that `id2label` calls contradiction."""
    todo = "Say which output it is, as in nli:PATH?contradiction=0"
    try:
        config = json.loads(_bytes(path))
    except (ModelUnavailable, ValueError, RecursionError):
        raise ConfigError("no config.json says which output means contradiction", where=str(path), todo=todo) from None
    labels = config.get("id2label") if isinstance(config, dict) else None
    named = labels.items() if isinstance(labels, dict) else ()
    found = [key for key, label in named if str(label).casefold().startswith("contradict") and str(key).isdecimal()]
    if len(found) != 1:
        raise ConfigError("`id2label` names no output contradiction", where=str(path), todo=todo)
    return int(found[0])


# --------------------------------------------------------------------------------------------
# Inputs and outputs


@dataclass(frozen=True, slots=True)
class _Input:
    """One input of the model: what it takes, in which type, and how long it must be (0: as long as it is)."""

    name: str
    role: str
    type: Any
    length: int


def _inputs(running: Any) -> tuple[_Input, ...]:
    nodes = running.get_inputs()
    found = []
    for node in nodes:
        role = "ids" if len(nodes) == 1 else _ROLES.get(node.name, "")
        if not role or node.type not in _TYPES:
            raise ModelUnavailable("the model takes an input that is no text", where=node.name, todo=_TODO)
        length = node.shape[1] if len(node.shape) == 2 else None
        found.append(_Input(node.name, role, _TYPES[node.type], length if isinstance(length, int) else 0))
    return tuple(found)


def _share(logits: NDArray[np.float64], output: int) -> float:
    """The softmax share of one output of a single row."""
    if logits.ndim != 2 or logits.shape[0] != 1 or logits.shape[1] < 2 or not np.isfinite(logits).all():
        raise ModelResponseInvalid("the NLI judge gave no row of logits", where=str(logits.shape))
    if output >= logits.shape[1]:
        raise ModelResponseInvalid(f"the NLI judge has no output {output}", where=f"{logits.shape[1]} outputs")
    # Threads may add up in another order: what differs in the last bits must not decide.
    row = np.round(logits[0], 4)
    shares = np.exp(row - row.max())
    return float(shares[output] / shares.sum())


def _let_it_finish() -> None:
    """Loading cannot be stopped; it is only waited for."""


def _clean(text: str) -> str:
    # Lone surrogates stand for nothing.
    return text.encode("utf-8", "replace").decode()
