"""Cross-encoders in local ONNX files: finding the files and building model inputs."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.errors import ModelUnavailable
from wellkept.frozen import frozen
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


@frozen
class Files:
    """The model file and the folders that may hold its companion files.

    Attributes:
        what: Purpose of the model, for errors.
    """

    what: str
    model: Path
    folders: tuple[Path, ...]

    def beside(self, name: str) -> Path:
        """Path of a companion file; in the model's own folder if it exists nowhere."""
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
    """The bytes of a model file.

    Raises:
        ModelUnavailable: The file cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise ModelUnavailable(f"a file of {what} cannot be read", where=str(path), todo=TODO) from error


def need_libraries(what: str) -> None:
    """Check that the required packages are installed, without importing them.

    Raises:
        ModelUnavailable: A package is missing.
    """
    for module, todo in (("onnxruntime", "Install it with `pip install onnxruntime`"), ("tokenizers", EXTRA)):
        if importlib.util.find_spec(module) is None:
            raise missing(module, what=what, todo=todo)


def tokenizer_of(files: Files) -> Tokenizer:
    """The tokenizer of the model; no padding, no truncation, special tokens in a text read as plain text.

    Raises:
        ModelUnavailable: The tokenizer cannot be read.
    """
    from tokenizers import Tokenizer

    path = files.beside("tokenizer.json")
    try:
        tokenizer = Tokenizer.from_buffer(bytes_of(path, what=files.what))
    except ModelUnavailable:
        raise
    except Exception as error:  # the package raises plain Exception
        raise ModelUnavailable("the tokenizer cannot be read", where=str(path), todo=TODO) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    tokenizer.encode_special_tokens = True  # "[SEP]" in a memory is plain text
    return tokenizer


# --------------------------------------------------------------------------------------------
# Inputs


@frozen
class Input:
    """One model input: name, role, type and fixed length (0: variable)."""

    name: str
    role: str
    type: Any
    length: int


class Pairs:
    """Builds the model inputs of a text pair.

    Args:
        tokenizer: The model's tokenizer.
        running: The ONNX session.
        longest: Most tokens of a pair; the model's own limit applies too.
        cut: Truncate the longer text of a long pair; otherwise long pairs have no inputs.

    Raises:
        ModelUnavailable: The model needs an input that is not text.
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
        """The inputs of one pair; None when it is too long or contains a special token.

        One pair per run: int8 quantisation scales over the batch, so batching would change the answer.
        """
        encoding = self._tokenizer.encode(_clean(first), _clean(second))
        if len(encoding.ids) > self._longest:
            return None
        said = (token for token, mark in zip(encoding.ids, encoding.special_tokens_mask, strict=True) if not mark)
        if not self._frame.isdisjoint(said):
            return None  # some vocabularies hold "[SEP]" as a word, which would forge a text boundary
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
    # Lone surrogates have no meaning.
    return text.encode("utf-8", "replace").decode()
