"""Learns the maps that turn the vector of a question towards those of its answers.

    python -m training.questions --out src/wellkept/models/data/questions.json

One map for each network of the embedder, learnt from the questions of the training stories: of all texts of its story
and of texts of any story, those that hold the answer shall be most similar to a question (InfoNCE). The stories of
the calibration authors, which are only reported, show what it gains by vectors alone.
"""

from __future__ import annotations

import argparse
import base64
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from training.keeping import embedded
from training.stories import CALIBRATING, TRAINING, Story, stories
from wellkept.core.reading.language_detection import is_english
from wellkept.models.question_map import QuestionMap

HEAT, STRANGERS, ROUNDS, AT_ONCE, RATE = 0.05, 512, 8, 4, 1e-4
"""Temperature of the similarities, texts of any story, rounds, stories of one step, and rate of learning: chosen by
leaving a third of the training authors out."""
SEED = 0


@dataclass(frozen=True)
class Asked:
    """The questions of one story in the languages of one network, as places of their texts.

    Attributes:
        texts: The texts of the story.
        questions: Each question with those of the texts that hold its answer.
    """

    texts: list[int]
    questions: list[tuple[int, list[int]]]


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path("build/vectors"), help="folder for vectors")
    args = parser.parse_args()
    train, report = ([story for story in stories(*files) if story.questions] for files in (TRAINING, CALIBRATING))
    texts = list(dict.fromkeys(text for story in train + report for text in _texts(story)))
    vectors = embedded(texts, args.cache)
    places = {text: place for place, text in enumerate(texts)}
    maps = {}
    for name, in_english in (("english", True), ("other", False)):
        learnt = learn([_asked(story, places, english=in_english) for story in train], torch.from_numpy(vectors))
        maps[name] = learnt
        shown = [_asked(story, places, english=in_english) for story in report]
        made = QuestionMap.of(learnt)
        for label, turn in (("as they are", lambda vector: vector), ("turned", made.turned)):
            print(f"{name}, {label}: {figures(shown, vectors, turn)}")
    args.out.write_text(json.dumps(maps) + "\n", encoding="utf-8")


def _texts(story: Story) -> list[str]:
    return [line.text for line in story.lines] + [question for question, _ in story.questions]


def _asked(story: Story, places: dict[str, int], *, english: bool) -> Asked:
    told = [line.text for line in story.lines]
    answers = [
        (places[question], [places[text] for text in told if answer in text])
        for question, answer in story.questions
        if is_english(question) is english
    ]
    return Asked([places[text] for text in told], [one for one in answers if one[1]])


def learn(stories: Sequence[Asked], vectors: torch.Tensor) -> dict[str, Any]:
    """The map as its JSON object.

    Args:
        stories: The questions.
        vectors: Of all texts, shape (texts, dim).
    """
    torch.manual_seed(SEED)
    chance = np.random.default_rng(SEED)
    stories = [story for story in stories if story.questions]
    others = np.array([place for story in stories for place in story.texts])
    dim = vectors.shape[1]
    moves = torch.zeros(dim + 1, dim, requires_grad=True)
    optimiser = torch.optim.Adam([moves], lr=RATE)
    steps = ROUNDS * -(-len(stories) // AT_ONCE)
    fading = torch.optim.lr_scheduler.LinearLR(optimiser, 1.0, 0.1, total_iters=steps)
    for _ in range(ROUNDS):
        order = chance.permutation(len(stories))
        for start in range(0, len(order), AT_ONCE):
            strangers = vectors[chance.choice(others, STRANGERS, replace=False)]
            losses = [_loss(stories[at], vectors, moves, strangers) for at in order[start : start + AT_ONCE]]
            optimiser.zero_grad()
            torch.stack(losses).mean().backward()  # type: ignore[no-untyped-call]
            optimiser.step()
            fading.step()
    weights = moves.detach().numpy()
    step = float(np.abs(weights).max()) / 127
    whole = np.rint(weights / step).astype(np.int8)
    return {"dim": dim, "step": step, "weights": base64.b64encode(whole.tobytes()).decode()}


def _loss(story: Asked, vectors: torch.Tensor, moves: torch.Tensor, strangers: torch.Tensor) -> torch.Tensor:
    asked = vectors[[place for place, _ in story.questions]]
    turned = torch.nn.functional.normalize(asked + asked @ moves[:-1] + moves[-1], dim=1)
    shares = (turned @ torch.cat([vectors[story.texts], strangers]).T / HEAT).log_softmax(1)
    held = [[place in answers for place in story.texts] for _, answers in story.questions]
    right = [torch.logsumexp(share[: len(own)][own], 0) for share, own in zip(shares, held, strict=True)]
    return -torch.stack(right).mean()


def figures(
    stories: Sequence[Asked], vectors: NDArray[np.float32], turn: Callable[[NDArray[np.float32]], NDArray[np.float32]]
) -> str:
    """How often an answer is first and among the first three, by vectors alone: in its story, and among all texts."""
    every = vectors[[place for story in stories for place in story.texts]]
    before, beside = [], []
    for story in stories:
        for question, answers in story.questions:
            vector = turn(vectors[question])
            best = (vectors[answers] @ vector).max()
            before.append(int((vectors[story.texts] @ vector > best).sum()))
            beside.append(int((every @ vector > best).sum()))
    shares = [100 * float(np.mean(np.array(ranks) < most)) for ranks in (before, beside) for most in (1, 3)]
    told = "in its story first {:.1f}, in three {:.1f} %; among all texts {:.1f}, {:.1f} %".format(*shares)
    return f"{told} ({len(before)} questions, {len(every)} texts)"


if __name__ == "__main__":
    main()
