"""The list reader in PyTorch: the encoder of the pair model, with a mask, and its head for each candidate.

Its parameters have the names of the pair model, so that training starts from its weights. With one candidate it gives
exactly the logits of the pair model for (new text, candidate), which the trainer checks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from training.model import POSITIONS, WIDTH, Layer
from wellkept.models.tokenizer.lists import ListRow
from wellkept.models.tokenizer.pairs import LABELS, MARKS, SHARED

_UNSEEN = -200.0


@dataclass(frozen=True, slots=True)
class Batch:
    """Rows padded to the length of the longest; padding has block -1."""

    pieces: Tensor
    marks: Tensor
    shared: Tensor
    places: Tensor
    blocks: Tensor


def batch_of(rows: Sequence[ListRow]) -> Batch:
    """The rows as tensors."""
    shape = (len(rows), max(len(row.pieces) for row in rows))
    pieces, marks, places = (torch.zeros(shape, dtype=torch.long) for _ in range(3))
    shared, blocks = torch.ones(shape), torch.full(shape, -1)
    for at, row in enumerate(rows):
        size = len(row.pieces)
        pieces[at, :size] = torch.tensor(row.pieces)
        marks[at, :size] = torch.tensor(row.marks)
        shared[at, :size] = torch.tensor(row.shared)
        places[at, :size] = torch.tensor(row.places)
        blocks[at, :size] = torch.tensor(row.blocks)
    return Batch(pieces, marks, shared, places, blocks)


class ListModel(nn.Module):
    """Logits of the five relations of each candidate to the new text.

    Args:
        pieces: Size of the vocabulary.
        layers: Number of encoder layers.
    """

    def __init__(self, pieces: int, layers: int = 6) -> None:
        super().__init__()
        self.words = nn.Embedding(pieces, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.marks = nn.Embedding(2 * MARKS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Sequential(nn.Linear(4 * WIDTH, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, len(LABELS)))

    def forward(self, batch: Batch) -> Tensor:
        """Logits of shape (rows, candidates of the longest list, relations), from the candidate's point of view."""
        alone = self.marks(batch.marks)
        common = self.marks(batch.marks // MARKS * MARKS + SHARED)
        marked = torch.lerp(alone, common, batch.shared[:, :, None].to(alone.dtype))
        hidden = self.drop(self.norm(self.words(batch.pieces) + self.positions(batch.places) + marked))
        mask = mask_of(batch.blocks)
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return self.head(seen_of(hidden, batch))


def mask_of(blocks: Tensor) -> Tensor:
    """What each piece sees: its own block and the new text; a piece of the new text everything but padding."""
    asking, asked = blocks[:, :, None], blocks[:, None, :]
    seen = (asked >= 0) & ((asked == 0) | (asking == 0) | (asked == asking))
    return ((~seen).float() * _UNSEEN)[:, None]


def seen_of(hidden: Tensor, batch: Batch) -> Tensor:
    """The inputs of the head: the block's [CLS], and the means of the new text and of the candidate."""
    count = int(batch.blocks.max())
    of_block = batch.blocks[:, None, :] == torch.arange(1, count + 1)[None, :, None]
    older = batch.marks < MARKS
    first = (of_block & older[:, None, :]).to(hidden.dtype)  # the block's [CLS], which a pair counts to its first text
    text = (of_block & ~older[:, None, :]).to(hidden.dtype)
    new = (batch.blocks == 0).to(hidden.dtype)[:, None, :]
    start, candidate, told = first @ hidden, text @ hidden, new @ hidden + first @ hidden
    size, of_new = text.sum(2, keepdim=True), new.sum(2, keepdim=True) + 1
    both = (candidate + told) / (size + of_new)
    candidate, told = candidate / size.clamp(min=1), told / of_new
    return torch.cat((start, both, (told - candidate).abs(), told * candidate), dim=2)


def from_pairs(weights: Mapping[str, Tensor]) -> ListModel:
    """A list reader with the weights of a pair model."""
    layers = len({name.split(".")[1] for name in weights if name.startswith("layers.")})
    model = ListModel(len(weights["words.weight"]), layers)
    model.load_state_dict(dict(weights))
    return model
