"""The relation model in PyTorch: the MiniLM-L6 encoder over both texts together, and a small head.

The encoder's parameters have the names of the original checkpoint, so that its weights load unchanged. The inputs of
the head are the vector of the first piece, the mean of all pieces, and the difference of the means of the two texts.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from wellkept.models.tokenizer.pairs import LABELS, MARKS, Row

WIDTH, HEADS, INNER, LAYERS, POSITIONS = 384, 12, 1536, 6, 256


class Layer(nn.Module):
    """One encoder layer of BERT."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(WIDTH, WIDTH) for _ in range(3))
        self.output = nn.Linear(WIDTH, WIDTH)
        self.attention_norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.wide = nn.Linear(WIDTH, INNER)
        self.narrow = nn.Linear(INNER, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.drop = nn.Dropout(0.1)

    def forward(self, hidden: Tensor, mask: Tensor) -> Tensor:
        rows, length, _ = hidden.shape

        def split(part: Tensor) -> Tensor:
            return part.view(rows, length, HEADS, WIDTH // HEADS).transpose(1, 2)

        query, key, value = split(self.query(hidden)), split(self.key(hidden)), split(self.value(hidden))
        scores = query @ key.transpose(2, 3) / (WIDTH // HEADS) ** 0.5 + mask
        read = (scores.softmax(dim=-1) @ value).transpose(1, 2).reshape(rows, length, WIDTH)
        hidden = self.attention_norm(hidden + self.drop(self.output(read)))
        return self.norm(hidden + self.drop(self.narrow(nn.functional.gelu(self.wide(hidden)))))


class RelationModel(nn.Module):
    """Logits of the five relations for rows of pieces and marks; 0 in `pieces` is padding.

    Args:
        pieces: Size of the vocabulary.
        layers: Number of encoder layers.
    """

    def __init__(self, pieces: int, layers: int = LAYERS) -> None:
        super().__init__()
        self.words = nn.Embedding(pieces, WIDTH)
        self.positions = nn.Embedding(POSITIONS, WIDTH)
        self.marks = nn.Embedding(2 * MARKS, WIDTH)
        self.norm = nn.LayerNorm(WIDTH, eps=1e-12)
        self.layers = nn.ModuleList(Layer() for _ in range(layers))
        self.drop = nn.Dropout(0.1)
        self.head = nn.Sequential(nn.Linear(4 * WIDTH, 256), nn.GELU(), nn.Dropout(0.1), nn.Linear(256, len(LABELS)))

    def encoded(self, pieces: Tensor, marks: Tensor) -> Tensor:
        """One vector per piece."""
        present = (pieces != 0).float()
        places = torch.arange(pieces.shape[1], device=pieces.device)
        hidden = self.drop(self.norm(self.words(pieces) + self.positions(places) + self.marks(marks)))
        mask = ((1.0 - present) * -1e4)[:, None, None, :]
        for layer in self.layers:
            hidden = layer(hidden, mask)
        return hidden

    def forward(self, pieces: Tensor, marks: Tensor) -> Tensor:
        present = (pieces != 0).float()
        hidden = self.encoded(pieces, marks)
        newer = (marks >= MARKS).float() * present
        means = [_mean(hidden, share) for share in (present, present - newer, newer)]
        seen = torch.cat((hidden[:, 0], means[0], (means[1] - means[2]).abs(), means[1] * means[2]), dim=1)
        return self.head(seen)


def _mean(hidden: Tensor, share: Tensor) -> Tensor:
    return (hidden * share[:, :, None]).sum(1) / share.sum(1, keepdim=True).clamp(min=1.0)


_PARTS = {
    "attention.self.query": "query",
    "attention.self.key": "key",
    "attention.self.value": "value",
    "attention.output.dense": "output",
    "attention.output.LayerNorm": "attention_norm",
    "intermediate.dense": "wide",
    "output.dense": "narrow",
    "output.LayerNorm": "norm",
}


def from_minilm(checkpoint: Path, extra: Sequence[Sequence[int]], layers: int = LAYERS) -> RelationModel:
    """A model whose encoder is initialised from an all-MiniLM-L6-v2 checkpoint.

    Args:
        checkpoint: `model.safetensors` of all-MiniLM-L6-v2 (Apache-2.0).
        extra: For each piece added to the vocabulary, the existing pieces whose mean initialises it.
        layers: Number of the six layers to keep, evenly spaced.
    """
    weights = load_file(checkpoint)
    words = weights["embeddings.word_embeddings.weight"]
    model = RelationModel(len(words) + len(extra), layers)
    with torch.no_grad():
        model.words.weight[: len(words)] = words
        for place, pieces in enumerate(extra, start=len(words)):
            noise = torch.randn(WIDTH) * 0.01
            model.words.weight[place] = words[list(pieces)].mean(0) + noise
        model.positions.weight.copy_(weights["embeddings.position_embeddings.weight"][:POSITIONS])
        sides = weights["embeddings.token_type_embeddings.weight"]
        model.marks.weight.copy_(sides.repeat_interleave(MARKS, dim=0) + torch.randn(2 * MARKS, WIDTH) * 0.01)
        model.norm.weight.copy_(weights["embeddings.LayerNorm.weight"])
        model.norm.bias.copy_(weights["embeddings.LayerNorm.bias"])
        for place, layer in enumerate(model.layers):
            source = place * (LAYERS - 1) // max(1, layers - 1)
            for theirs, ours in _PARTS.items():
                for kind in ("weight", "bias"):
                    part = getattr(getattr(layer, ours), kind)
                    part.copy_(weights[f"encoder.layer.{source}.{theirs}.{kind}"])
    return model


def tensors(rows: Sequence[Row]) -> tuple[Tensor, Tensor]:
    """Rows padded to the length of the longest."""
    longest = max(len(row.pieces) for row in rows)
    pieces = torch.zeros(len(rows), longest, dtype=torch.long)
    marks = torch.zeros_like(pieces)
    for place, row in enumerate(rows):
        pieces[place, : len(row.pieces)] = torch.tensor(row.pieces)
        marks[place, : len(row.marks)] = torch.tensor(row.marks)
    return pieces, marks
