"""Cross-encoders in local ONNX files: which files belong together, and what such a model is fed."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.errors import ModelUnavailable
from wellkept.models.onnx import missing

if TYPE_CHECKING:
    from tokenizers import Tokenizer

EXTRA = "Install it with `pip install 'wellkept[crossencoder]'`"
TODO = "Point to a folder with model.onnx and tokenizer.json, or to the .onnx file beside it"
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


# --------------------------------------------------------------------------------------------
# Files


@dataclass(frozen=True, slots=True)
class Files:
    """The model's file and the folders its companions may lie in.

    Attributes:
        what: What the model is for, for errors.
    """

    what: str
    model: Path
    folders: tuple[Path, ...]

    def beside(self, name: str) -> Path:
        """The companion of this name; in the model's own folder when it is nowhere."""
        there = [folder / name for folder in self.folders if (folder / name).is_file()]
        return there[0] if there else self.folders[0] / name


def files_at(path: Path, *, what: str) -> Files:
    """The files of a model: `path` is its `.onnx` file, or a folder with `model.onnx` or `onnx/model.onnx`."""
    if path.is_dir():
        inner = path / "onnx" / "model.onnx"
        model = path / "model.onnx"
        model = inner if inner.is_file() and not model.is_file() else model
    else:
        model = path
    return Files(what, model, (model.parent, model.parent.parent))


def bytes_of(path: Path, *, what: str) -> bytes:
    """The content of a file of the model.

    Raises:
        ModelUnavailable: It cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"a file of {what} cannot be read", where=str(path), todo=TODO) from error


def need_libraries(what: str) -> None:
    """Make sure that such a model can be run here, without importing anything.

    Raises:
        ModelUnavailable: A package is missing.
    """
    for module, todo in (("onnxruntime", "Install it with `pip install onnxruntime`"), ("tokenizers", EXTRA)):
        if importlib.util.find_spec(module) is None:
            raise missing(module, what=what, todo=todo)


def tokenizer_of(files: Files) -> Tokenizer:
    """The tokenizer beside the model; it neither pads nor cuts, and takes marks in a text for text.

    Raises:
        ModelUnavailable: It cannot be read.
    """
    from tokenizers import Tokenizer

    path = files.beside("tokenizer.json")
    try:
        tokenizer = Tokenizer.from_buffer(bytes_of(path, what=files.what))
    except ModelUnavailable:
        raise
    except Exception as error:  # it raises plain Exception; all become ours
        raise ModelUnavailable("the tokenizer cannot be read", where=str(path), todo=TODO) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a memory is text like any other
    return tokenizer


# --------------------------------------------------------------------------------------------
# Inputs


@dataclass(frozen=True, slots=True)
class Input:
    """One input of the model: what it takes, in which type, and how long it must be (0: as long as it is)."""

    name: str
    role: str
    type: Any
    length: int


class Pairs:
    """Makes the inputs of a pair of texts.

    Args:
        tokenizer: Of the model.
        running: The model's session.
        longest: Most tokens of a pair, unless the model itself takes fewer.
        cut: Whether longer pairs lose the end of the longer text; otherwise they have no inputs.

    Raises:
        ModelUnavailable: The model takes something else than text.
    """

    def __init__(self, tokenizer: Tokenizer, running: Any, longest: int, *, cut: bool = False) -> None:
        self._tokenizer = tokenizer
        self._inputs = _inputs(running)
        fixed = [fed.length for fed in self._inputs if fed.length]
        self._fixed = min(fixed, default=0)
        self._longest = min(longest, *fixed) if fixed else longest
        padding = [found for piece in ("[PAD]", "<pad>") if (found := tokenizer.token_to_id(piece)) is not None]
        self._pad = padding[0] if padding else 0
        bare = tokenizer.encode("", "")
        marks = zip(bare.ids, bare.special_tokens_mask, strict=True)
        self._frame = frozenset((*padding, *(token for token, framing in marks if framing)))
        if cut:
            tokenizer.enable_truncation(self._longest, strategy="longest_first")

    def feed(self, first: str, second: str) -> dict[str, Any] | None:
        """The inputs for one pair; None when it is too long, or could pass for something else.

        One pair at a time: int8 arithmetic scales over a whole batch, and an answer must not depend on company.
        """
        encoding = self._tokenizer.encode(_clean(first), _clean(second))
        if len(encoding.ids) > self._longest:
            return None
        said = (token for token, mark in zip(encoding.ids, encoding.special_tokens_mask, strict=True) if not mark)
        if not self._frame.isdisjoint(said):
            return None  # some vocabularies hold "[SEP]" as a word: a text must not end itself and begin another
        padding = [0] * max(0, self._fixed - len(encoding.ids))
        row = {
            "ids": [*encoding.ids, *(self._pad for _ in padding)],
            "mask": [*(1 for _ in encoding.ids), *padding],
            "sides": [*encoding.type_ids, *padding],
        }
        return {fed.name: np.asarray([row[fed.role]], dtype=fed.type) for fed in self._inputs}


def _inputs(running: Any) -> tuple[Input, ...]:
    nodes = running.get_inputs()
    found = []
    for node in nodes:
        role = "ids" if len(nodes) == 1 else _ROLES.get(node.name, "")
        if not role or node.type not in _TYPES:
            raise ModelUnavailable("the model takes an input that is not text", where=node.name, todo=TODO)
        length = node.shape[1] if len(node.shape) == 2 else None
        found.append(Input(node.name, role, _TYPES[node.type], length if isinstance(length, int) else 0))
    return tuple(found)


def _clean(text: str) -> str:
    # Lone surrogates stand for nothing.
    return text.encode("utf-8", "replace").decode()
