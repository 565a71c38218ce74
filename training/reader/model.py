"""The reader in PyTorch: first layers of SmolLM2, a network of the Llama family, and a head at each candidate's end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.functional import embedding, scaled_dot_product_attention, silu

from training.reader.kept import depth_of
from training.reader.rows import Row
from training.reader.source import Weights
from wellkept.models.tokenizer.pairs import LABELS

WIDTH, INNER, HEADS, SHARED_HEADS, SIZE = 576, 1536, 9, 3, 64
TURNING, EPSILON = 100_000.0, 1e-5


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows padded to the length of the longest. Padding stands behind all that is read, so nothing sees it."""

    pieces: Tensor
    ends: Tensor


def batch_of(rows: Sequence[Row]) -> Batch:
    """The rows as tensors; the candidates that a row lacks end at its first piece."""
    pieces = torch.zeros(len(rows), max(len(row.pieces) for row in rows), dtype=torch.long)
    ends = torch.zeros(len(rows), max(len(row.ends) for row in rows), dtype=torch.long)
    for at, row in enumerate(rows):
        pieces[at, : len(row.pieces)] = torch.tensor(row.pieces)
        ends[at, : len(row.ends)] = torch.tensor(row.ends)
    return Batch(pieces, ends)


class Layer(nn.Module):
    """One decoder layer, without biases; three heads read by one key and value."""

    def __init__(self) -> None:
        super().__init__()
        self.attention_norm, self.norm = nn.RMSNorm(WIDTH, EPSILON), nn.RMSNorm(WIDTH, EPSILON)
        self.read = nn.Linear(WIDTH, (HEADS + 2 * SHARED_HEADS) * SIZE, bias=False)
        self.output = nn.Linear(WIDTH, WIDTH, bias=False)
        self.wide = nn.Linear(WIDTH, 2 * INNER, bias=False)
        self.narrow = nn.Linear(INNER, WIDTH, bias=False)

    def forward(self, hidden: Tensor, turns: Tensor) -> Tensor:
        read = self.read(self.attention_norm(hidden)).unflatten(2, (-1, SIZE)).transpose(1, 2)
        query, key, value = read.split((HEADS, SHARED_HEADS, SHARED_HEADS), dim=1)
        query, key = _turned(query, turns), _turned(key, turns)
        key, value = (part.repeat_interleave(HEADS // SHARED_HEADS, dim=1) for part in (key, value))
        mixed = scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.output(mixed.transpose(1, 2).flatten(2))
        gate, up = self.wide(self.norm(hidden)).chunk(2, dim=2)
        return hidden + self.narrow(silu(gate) * up)


class Reader(nn.Module):
    """Logits of the five relations of each candidate to the new text.

    Args:
        words: Vectors of the pieces; they are neither trained nor saved.
        layers: How many layers.
    """

    words: Tensor

    def __init__(self, words: Tensor, layers: int) -> None:
        super().__init__()
        self.register_buffer("words", words, persistent=False)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.norm = nn.RMSNorm(WIDTH, EPSILON)
        self.head = nn.Linear(WIDTH, len(LABELS))

    def hidden(self, pieces: Tensor) -> Tensor:
        """What the model has read at each piece, shape (rows, pieces, width)."""
        hidden, turns = embedding(pieces, self.words), _turns(pieces.shape[1])
        for layer in self.layers:
            hidden = layer(hidden, turns)
        return self.norm(hidden)

    def forward(self, batch: Batch) -> Tensor:
        """Logits of shape (rows, candidates of the longest list, relations), from the candidate's point of view."""
        hidden = self.hidden(batch.pieces)
        return self.head(hidden[torch.arange(len(hidden))[:, None], batch.ends])


def from_weights(words: NDArray[np.float32], weights: Weights) -> Reader:
    """A reader with these weights; a head that they lack knows nothing."""
    model = Reader(torch.from_numpy(words), depth_of(weights))
    of_head = {"head.weight": torch.zeros(len(LABELS), WIDTH), "head.bias": torch.zeros(len(LABELS))}
    model.load_state_dict(of_head | {name: torch.from_numpy(weight) for name, weight in weights.items()})
    return model


def _turns(length: int) -> Tensor:
    """By which angle each pair of numbers is turned at each place, as complex numbers of shape (length, pairs)."""
    speeds = TURNING ** (-torch.arange(0, SIZE, 2, dtype=torch.float32) / SIZE)
    angles = torch.outer(torch.arange(length, dtype=torch.float32), speeds)
    return torch.polar(torch.ones_like(angles), angles)


def _turned(part: Tensor, turns: Tensor) -> Tensor:
    pairs = torch.view_as_complex(part.float().unflatten(-1, (-1, 2)).contiguous())
    return torch.view_as_real(pairs * turns).flatten(-2).to(part.dtype)
