"""The vocabulary and the weights in the folder of a run."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from wellkept.models.tokenizer.lists import ListReader
from wellkept.models.tokenizer.unigram import Unigram
from wellkept.models.tokenizer.wordpiece import Tokenizer


def reader_of(run: Path, vocabulary: Path | None) -> ListReader:
    """The reader with the vocabulary of a run: pieces of its own, or MiniLM's and those that were added."""
    if vocabulary is None:
        return ListReader(Unigram(*json.loads((run / "pieces.json").read_text(encoding="utf-8"))))
    known = vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    pieces = {piece: place for place, piece in enumerate(known)}
    extra = json.loads((run / "added.json").read_text(encoding="utf-8"))
    return ListReader(Tokenizer(pieces | {word: len(known) + at for at, (word, _) in enumerate(extra)}))


def weights_in(folder: Path, file: str = "averaged.pt") -> dict[str, Tensor]:
    """The weights in this file of a run, or those that are kept in half precision."""
    kept = folder / "averaged.npz"
    if not kept.exists():
        found: dict[str, Tensor] = torch.load(folder / file)
        return found
    with np.load(kept) as arrays:
        return {name: torch.tensor(arrays[name].astype(np.float32)) for name in arrays.files}
