"""The embedder for other languages: multilingual-e5-small as a network in integers, turned into MiniLM's space.

    python -m training.multilingual.embedder

All 12 layers are kept, and the pieces of the list reader, whose vectors both networks share. A linear map turns the
vectors, so that those of a text in any language are comparable with MiniLM's of English ones. It starts as the ridge
regression from the vectors of English training lines to MiniLM's of the same lines, which holds for other languages
too, since multilingual-e5-small gives translations like vectors (compare Artetxe et al. 2018, arXiv 1805.06297). Then
it learns, on training stories that are not English, to bring lines about the same thing together, and questions near
the lines that answer them (InfoNCE; van den Oord et al. 2018, arXiv 1807.03748), while English lines stay where they
are. Prints what it does to the stories of `select`, whose authors it never sees.
"""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn.functional import normalize

from training.graph import Turn, embedder_graph
from training.lists.export import WORDS
from training.model import RelationModel
from training.multilingual.start import Packed, fetched
from training.package import MODELS, WEIGHTS, pin
from training.quantise import quantised
from training.stories import TRAINING, Story, stories
from wellkept.models import minilm
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.multilingual import PIECES, VECTORS
from wellkept.models.tokenizer.pairs import Row
from wellkept.models.tokenizer.unigram import Unigram

LAYERS = 12
ENGLISH, SENTENCES, SEED = 9_000, 400, 2
"""English lines that the map is fitted on; sentences that the rounding of the weights is fitted on."""
RIDGE, GAIN = 0.1, 1.5
"""Penalty of the regression, and how far its result is spread, since it shrinks what it predicts."""
EPOCHS, RATE, STORIES = 14, 3e-4, 4
"""Of learning the map further: passes over the stories, step, and stories to a step."""
TEMPERATURE, HELD = 0.1, 10.0
"""Of InfoNCE; weight of the distance of English lines from MiniLM's vectors."""
CENTRED = 0.5
"""Share of what all turned vectors have in common that is taken off at last. So unrelated texts have cosines like those
of MiniLM, whose calibration then holds."""


class Read(NamedTuple):
    """A story as vectors, before they are turned.

    Attributes:
        lines: One vector for each line, shape (lines, 384).
        alike: Which lines are about the same thing, shape (lines, lines).
        asked: One vector for each question.
        answers: Which lines answer it, shape (questions, lines).
    """

    lines: Tensor
    alike: Tensor
    asked: Tensor
    answers: Tensor


@dataclass
class Map:
    """The turn while it is learnt: unit vectors, less `middle`, times `weights`, plus `bias`."""

    weights: Tensor
    bias: Tensor
    middle: Tensor

    def turned(self, vectors: Tensor) -> Tensor:
        return normalize((vectors - self.middle) @ self.weights + self.bias, dim=-1)


def main() -> None:
    """Make the files, and print what they are worth."""
    random.seed(SEED)
    torch.manual_seed(SEED)
    packed = Packed(fetched())
    pieces, scores = json.loads(gzip.decompress((WEIGHTS / PIECES).read_bytes()))
    kept = packed.shipped()
    (WEIGHTS / VECTORS).write_bytes(packed.blocks(kept).tobytes())
    pin(MODELS / "multilingual.py", VECTORS_SHA256=WEIGHTS / VECTORS)
    reader = Reader(encoder(packed, kept), Unigram(pieces, scores))

    learnt = learned(reader, english_lines(), [read(reader, story) for story in others(*TRAINING)])
    state = {name: value.numpy() for name, value in reader.model.state_dict().items() if name != WORDS}
    chosen = random.sample([line.text for story in others(*TRAINING) for line in story.lines], SENTENCES)
    rows = [Row(window, (0,) * len(window)) for text in chosen for window in reader.windows.of(text)[:1]]
    bias = (learnt.bias - learnt.middle @ learnt.weights).double().numpy()
    embedder_graph(
        state, quantised(reader.model, rows), WEIGHTS / minilm.OTHER, Turn(learnt.weights.double().numpy(), bias)
    )
    pin(MODELS / "minilm.py", OTHER_SHA256=WEIGHTS / minilm.OTHER)
    report("turned", [read(reader, story) for story in others("select")], learnt)


def others(*files: str) -> list[Story]:
    """The stories of these files that are not English."""
    return [story for story in stories(*files) if story.lang != "en"]


def english_lines() -> list[str]:
    """Lines of English training stories."""
    lines = [line.text for story in stories(*TRAINING) if story.lang == "en" for line in story.lines]
    return random.sample(list(dict.fromkeys(lines)), ENGLISH)


def encoder(packed: Packed, kept: Sequence[int]) -> RelationModel:
    """The encoder with its only mark; the head is not used."""
    model = RelationModel(len(kept), LAYERS)
    model.load_state_dict(packed.started(model, kept))
    with torch.no_grad():
        model.marks.weight.copy_(packed.mark().expand_as(model.marks.weight))
    return model.eval()


class Reader:
    """Gives the vectors that are to be turned; texts of the same length at a time."""

    def __init__(self, model: RelationModel, tokenizer: Unigram) -> None:
        self.model, self.windows = model, minilm.other_windows(tokenizer)

    def read(self, texts: Sequence[str]) -> Tensor:
        """One unit vector for each text, of its first window."""
        windows = [(self.windows.of(text) or [self.windows.start])[0] for text in texts]
        found = torch.zeros(len(texts), 384)
        for length in {len(window) for window in windows}:
            places = [place for place, window in enumerate(windows) if len(window) == length]
            with torch.no_grad():
                rows = torch.tensor([windows[place] for place in places])
                found[places] = normalize(self.model.encoded(rows, torch.zeros_like(rows)).mean(1), dim=1)
        return found


def read(reader: Reader, story: Story) -> Read:
    """The vectors of a story."""
    keys = np.array([line.key for line in story.lines])
    alike = (keys[:, None] == keys) & (keys != "") & ~np.eye(len(keys), dtype=bool)
    answers = [[answer in line.text for line in story.lines] for _, answer in story.questions]
    asked = [place for place, found in enumerate(answers) if any(found)]
    vectors = reader.read([line.text for line in story.lines] + [story.questions[place][0] for place in asked])
    found = torch.tensor([answers[place] for place in asked], dtype=torch.bool).reshape(len(asked), len(keys))
    return Read(vectors[: len(keys)], torch.tensor(alike), vectors[len(keys) :], found)


def learned(reader: Reader, english: Sequence[str], told: Sequence[Read]) -> Map:
    """The map, fitted on English lines and taught on stories."""
    given, wanted = (
        reader.read(english),
        torch.tensor(np.array([one.vector for one in MiniLmEmbedder().embed(english)])),
    )
    middle, aim = given.mean(0), wanted.mean(0)
    apart = (given - middle).double()
    moments = apart.T @ apart + RIDGE * torch.eye(len(middle), dtype=torch.double)
    fitted = torch.linalg.solve(moments, apart.T @ (wanted - aim).double()).float()
    # Each side is centred on its own: texts in other languages have a direction in common, which means nothing.
    elsewhere = torch.cat([story.lines for story in told]).mean(0)
    learnt = Map((GAIN * fitted).requires_grad_(), aim.clone().requires_grad_(), elsewhere)
    optimiser = torch.optim.Adam([learnt.weights, learnt.bias], lr=RATE)
    for _ in range(EPOCHS):
        order = random.sample(told, len(told))
        for start in range(0, len(order), STORIES):
            places = torch.randint(len(given), (256,))
            held = normalize((given[places] - middle) @ learnt.weights + learnt.bias, dim=1)
            loss = HELD * (1 - (held * wanted[places]).sum(1)).mean()
            loss = loss + sum(missed(story, learnt) for story in order[start : start + STORIES]) / STORIES
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
    weights, bias = learnt.weights.detach(), learnt.bias.detach()
    common = torch.cat([(story.lines - elsewhere) @ weights + bias for story in told]).mean(0)
    return Map(weights, bias - CENTRED * common, elsewhere)


def missed(story: Read, learnt: Map) -> Tensor:
    """InfoNCE of the lines about the same thing, and of the answers to questions."""
    lines, asked = learnt.turned(story.lines), learnt.turned(story.asked)
    own = torch.eye(len(lines), dtype=torch.bool)
    total = torch.zeros(())
    for vectors, right, hidden in ((lines, story.alike, own), (asked, story.answers, torch.zeros_like(story.answers))):
        found = right.any(1)
        if found.any():
            shares = (vectors @ lines.T / TEMPERATURE).masked_fill(hidden, -1e4).log_softmax(1)
            total = total - ((shares * right).sum(1)[found] / right.sum(1)[found]).mean()
    return total


def report(name: str, told: Sequence[Read], learnt: Map) -> None:
    """Print how well the vectors tell lines about the same thing from others, and find answers."""
    near: list[float] = []
    far: list[float] = []
    ranks: list[int] = []
    for story in told:
        lines = learnt.turned(story.lines)
        cosines = lines @ lines.T
        below = torch.ones_like(story.alike).tril(-1)
        near += cosines[story.alike & below].tolist()
        far += cosines[~story.alike & below].tolist()
        for scores, right in zip(learnt.turned(story.asked) @ lines.T, story.answers, strict=True):
            ranks.append(int((scores > scores[right].max()).sum()))
    told_apart = (np.array(near)[:, None] > np.array(far)).mean()
    first, three = (100 * np.mean(np.array(ranks) < most) for most in (1, 3))
    print(f"{name}: AUC of the same thing {told_apart:.4f}, cosines {np.mean(near):.2f} and {np.mean(far):.2f}")
    print(f"{len(ranks)} questions: the answer first {first:.1f} %, in three {three:.1f} %")


if __name__ == "__main__":
    main()
