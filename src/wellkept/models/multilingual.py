"""The pieces of multilingual-e5-small and their vectors, which both networks for other languages share.

A vector stands in blocks of 32 numbers of 4 bits, each block with its scale in half precision. Its numbers are exact in
single precision, so they are the same on every processor. Where the files come from: `weights/RELATION.md`.
"""

from __future__ import annotations

import json
import unicodedata
from functools import lru_cache
from mmap import mmap
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from wellkept.models.loading import LoadingLock
from wellkept.models.mapped import verified_mapping
from wellkept.models.tokenizer.data_files import unpacked
from wellkept.patterns import pattern

if TYPE_CHECKING:
    from wellkept.models.tokenizer.unigram import Unigram

PIECES, VECTORS = "multilingual-pieces.json.gz", "multilingual-vectors.bin"
PIECES_SHA256 = "2d5c8bae2183c521bdc88b808726d8820bc879eaff25b503102967948ef43210"
VECTORS_SHA256 = "10c8f8b1e6e398857729c7714940b640b5dcd6f3e5ba5f4c2a626919e1d0e4e6"
LEARNT_LETTERS = pattern(
    "[A-Za-z\u00aa-\u024f\u1e00-\u1eff\u0370-\u03ff\u1f00-\u1fff\u0400-\u052f\u05d0-\u05ea\u0620-\u064a"
    "\u066e-\u06d3\u0904-\u0939\u3005-\u3007\u3041-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7a3\U00020000-\U000323af]"
)
"""Latin, Greek, Cyrillic, Hebrew, Arabic, Devanagari, Japanese, Chinese, Korean: the scripts of the training material.
The pieces spell others too, in which nothing was measured: a denial in Thai is missed."""
WIDTH = 384
"""Numbers of a vector."""
_BLOCK, _BLOCK_BYTES = 32, 18
_MIDDLE = 8
"""Stands for 0 among the numbers of 4 bits."""
_LOADING = LoadingLock()


def tokenizer(folder: Path) -> Unigram:
    """The tokeniser, loaded on first use.

    Args:
        folder: Holds the file of the pieces.

    Raises:
        ModelUnavailable: The file is missing or damaged.
    """
    with _LOADING:
        return _tokenizer(folder)


def vectors_of(pieces: ArrayLike, folder: Path) -> NDArray[np.float32]:
    """The vector of each piece, shape (rows, pieces of a row, 384).

    Args:
        pieces: Numbers of pieces, in rows of equal length.
        folder: Holds the file of the vectors, which is loaded on first use.

    Raises:
        ModelUnavailable: The file is missing or damaged.
    """
    with _LOADING:
        table = _table(folder)
    return decoded(table[np.asarray(pieces)])


def check(folder: Path) -> None:
    """Check both files, without keeping the vectors.

    Raises:
        ModelUnavailable: A file is missing or damaged.
    """
    tokenizer(folder)
    _mapped(folder)


def decoded(rows: NDArray[np.uint8]) -> NDArray[np.float32]:
    """The numbers of vectors, whose blocks are the last dimension.

    Example:
        >>> one, blocks = np.float16(1).tobytes(), [0x9A] * 16
        >>> decoded(np.array([[*one, *blocks]], np.uint8))[0, [0, 16]].tolist()
        [2.0, 1.0]
    """
    blocks = rows.reshape(*rows.shape[:-1], -1, _BLOCK_BYTES)
    scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
    bits = blocks[..., 2:]
    numbers = np.concatenate((bits & 15, bits >> 4), axis=-1).astype(np.float32) - _MIDDLE
    return np.asarray((numbers * scales).reshape(*rows.shape[:-1], -1))


def strange_share(text: str) -> float:
    """The share of letters in scripts without training material, 0 to 1.

    Example:
        >>> strange_share("Tee um vier"), strange_share("ชา")
        (0.0, 1.0)
    """
    folded = unicodedata.normalize("NFKC", text)  # as the pieces are: Korean may be written in single letters
    letters = sum(map(str.isalpha, folded))
    return max(0, letters - len(LEARNT_LETTERS.findall(folded))) / letters if letters else 0.0


@lru_cache(maxsize=2)
def _tokenizer(folder: Path) -> Unigram:
    from wellkept.models.tokenizer.unigram import Unigram

    return Unigram(*json.loads(unpacked(folder / PIECES, PIECES_SHA256)))


@lru_cache(maxsize=2)
def _table(folder: Path) -> NDArray[np.uint8]:
    return np.frombuffer(_mapped(folder), np.uint8).reshape(-1, WIDTH // _BLOCK * _BLOCK_BYTES)


def _mapped(folder: Path) -> mmap | bytes:
    what, todo = "the vectors of pieces for other languages", "Reinstall wellkept"
    return verified_mapping(folder / VECTORS, VECTORS_SHA256, what=what, todo=todo)
