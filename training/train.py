"""Train the relation model; a run can be stopped and resumed at any time.

    python -m training.train --checkpoint model.safetensors --out build/relation --steps 9000

Uses bfloat16 if the processor supports it. Pairs are drawn on demand, each chunk from its own seed, so that a resumed
run uses the same pairs as an uninterrupted one. They come from stories, from similar lines of different stories, and
from the composer.
"""

from __future__ import annotations

import argparse
import json
import random
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from training.compose import Composer, Pair
from training.material import cases, frames, texts
from training.model import WIDTH, RelationModel, from_minilm, tensors
from training.public import public_pairs
from training.running import BFLOAT16, Running
from training.stories import TRAINING, crowd_pairs, pairs_of, stories
from training.vocabulary import added
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.tokenizer.pairs import LABELS, PairReader, Row
from wellkept.models.tokenizer.wordpiece import Tokenizer

BATCH, CHUNK_BATCHES = 32, 24
LONGEST = 160
OF_STORIES, OF_CROWD = 0.55, 0.17
"""Shares of pairs from one story, and of pairs from two stories; the others are composed."""
SAVE_EVERY = 250
SELECT_PAIRS = 1600


def main() -> None:
    """Command line of the trainer."""
    args = _arguments()
    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    args.out.mkdir(parents=True, exist_ok=True)
    run = _Run(args)
    run.running.resume()
    run.go()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--checkpoint", type=Path, required=True, help="model.safetensors of all-MiniLM-L6-v2")
    parser.add_argument("--vocabulary", type=Path, required=True, help="its vocab.txt")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--start", type=Path, help="folder of an earlier run to go on from")
    parser.add_argument("--public", type=Path, help="folder of public inference sets")
    parser.add_argument(
        "--crowd", type=Path, help="texts that belong to no story, one a line, to tell lines apart from"
    )
    parser.add_argument("--public-share", type=float, default=0.12)
    parser.add_argument("--steps", type=int, default=6000)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--layers", type=int, default=6)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


class _Run:
    """One training run with its resumable state."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.frames, self.cases = frames("train"), cases("train")
        self.public = public_pairs(args.public) if args.public else []
        self.told, self.strange = _story_pairs(args)
        known = args.vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n")
        extra_path = args.out / "added.json"
        before = args.start / "added.json" if args.start else None
        pieces = {piece: place for place, piece in enumerate(known)}
        if extra_path.exists():
            extra = json.loads(extra_path.read_text())
        else:
            extra = json.loads(before.read_text()) if before else []
            have = {word for word, _ in extra}
            fresh = added(pieces, texts([*self.frames, *self.cases]))
            extra += [pair for pair in fresh if pair[0] not in have]
            extra_path.write_text(json.dumps(extra))
        self.reader = PairReader(Tokenizer(pieces | {word: len(known) + at for at, (word, _) in enumerate(extra)}))
        self.model = from_minilm(args.checkpoint, [start for _, start in extra], args.layers)
        if args.start:
            _widen(self.model, torch.load(args.start / "averaged.pt"))
        self.running = Running(self.model, args.out, steps=args.steps, rate=args.rate, warming=200)
        print(
            f"{len(self.frames)} frames, {len(self.cases)} cases, {len(self.told)} pairs of a story, "
            f"{len(self.strange)} of two, {len(self.public)} public, {len(extra)} added pieces",
            flush=True,
        )

    def go(self) -> None:
        """Train until the last step."""
        began, seen, running = time.monotonic(), 0, self.running
        while running.step < self.args.steps:
            losses = []
            for pieces, marks, targets in self._chunk(running.step):
                losses.append(self._learn(pieces, marks, targets))
                seen += len(pieces)
                if running.step % SAVE_EVERY == 0:
                    running.save()
                if running.step % 1000 == 0 or running.step == self.args.steps:
                    print(f"step {running.step}: {self.select()}", flush=True)
            speed = seen / (time.monotonic() - began)
            print(f"step {running.step} loss {sum(losses) / len(losses):.4f} {speed:.0f} pairs/s", flush=True)
        running.save()

    def _learn(self, pieces: Tensor, marks: Tensor, targets: Tensor) -> float:
        self.model.train()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=BFLOAT16):
            logits = self.model(pieces, marks)
        return self.running.learn(loss_of(logits.float(), targets))

    def _chunk(self, step: int) -> Iterator[tuple[Tensor, Tensor, Tensor]]:
        chance = random.Random(f"{self.args.seed}/{step}")
        composer = Composer(self.frames, self.cases, seed=chance.randrange(2**60))
        read: list[tuple[Row, tuple[str, ...]]] = []
        while len(read) < BATCH * CHUNK_BATCHES:
            pair, roll = composer.draw(), chance.random()
            if roll < OF_STORIES + OF_CROWD:
                pair = chance.choice(self.told if roll < OF_STORIES else self.strange)
                pair = pair.swapped() if chance.random() < 0.5 else pair
            elif self.public and chance.random() < self.args.public_share:
                pair = chance.choice(self.public)
            row = self.reader.row(self.reader.read(pair.old), self.reader.read(pair.new))
            if len(row.pieces) <= LONGEST:
                read.append((row, pair.labels))
        # Of equal length hardly any piece of a batch is padding.
        read.sort(key=lambda item: (len(item[0].pieces), item[0].pieces))
        batches = [read[start : start + BATCH] for start in range(0, len(read), BATCH)]
        chance.shuffle(batches)
        for batch in batches:
            pieces, marks = tensors([row for row, _ in batch])
            yield pieces, marks, targets_of([labels for _, labels in batch])

    def select(self) -> str:
        """Accuracy with averaged weights on the selection split, which is never trained on."""
        kept = {name: item.detach().clone() for name, item in self.model.state_dict().items()}
        self.model.load_state_dict(self.running.averaged)
        told = []
        composers = {
            "frames": Composer(frames("select"), [], seed=7, noisy=False),
            "cases": Composer([], cases("select"), seed=7, noisy=False),
        }
        chosen = {name: [composer.draw() for _ in range(SELECT_PAIRS)] for name, composer in composers.items()}
        chance = random.Random(7)
        chosen["stories"] = [pair for story in stories("select") for pair in pairs_of(story, chance)]
        for name, pairs in chosen.items():
            hits: dict[str, list[bool]] = {label: [] for label in LABELS}
            for pair, share in zip(pairs, probabilities(self.model, self.reader, pairs), strict=True):
                hits[pair.labels[0]].append(LABELS[int(share.argmax())] in pair.labels)
            parts = " ".join(f"{label} {sum(found) / max(1, len(found)):.3f}" for label, found in hits.items())
            told.append(f"{name} {sum(map(sum, hits.values())) / len(pairs):.3f} ({parts})")
        self.model.load_state_dict(kept)
        return "; ".join(told)


def probabilities(model: RelationModel, reader: PairReader, pairs: list[Pair]) -> Tensor:
    """Probabilities of the five relations, averaged over both orders of a pair."""
    model.eval()
    mirrored = torch.tensor([0, 2, 1, 3, 4])
    total = torch.zeros(len(pairs), len(LABELS))
    for swap in (False, True):
        rows = []
        for pair in pairs:
            old, new = reader.read(pair.old), reader.read(pair.new)
            rows.append(reader.row(new, old) if swap else reader.row(old, new))
        order = sorted(range(len(rows)), key=lambda place: len(rows[place].pieces))
        for start in range(0, len(order), 64):
            chosen = order[start : start + 64]
            with torch.no_grad(), torch.autocast("cpu", dtype=torch.bfloat16, enabled=BFLOAT16):
                pieces, marks = tensors([rows[place] for place in chosen])
                share = model(pieces[:, :256], marks[:, :256]).float().softmax(dim=1)
            total[chosen] += share[:, mirrored] if swap else share
    return total / 2


def targets_of(labels: list[tuple[str, ...]]) -> Tensor:
    """Multi-hot targets: 1 for each possible relation of a pair."""
    targets = torch.zeros(len(labels), len(LABELS))
    for row, allowed in enumerate(labels):
        for label in allowed:
            targets[row, LABELS.index(label)] = 1.0
    return targets


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the set of allowed relations.

    Labels are not smoothed, because acts need thresholds near 1, where smoothed probabilities are not informative.
    """
    allowed = (logits.log_softmax(dim=1) + targets.clamp(min=1e-9).log()).logsumexp(dim=1)
    return -allowed.mean()


def _story_pairs(args: argparse.Namespace) -> tuple[list[Pair], list[Pair]]:
    """The pairs of the training stories: within one story, and between two stories or a story and the crowd."""
    found, chance = stories(*TRAINING), random.Random(args.seed)
    inside = [pair for story in found for pair in pairs_of(story, chance)]
    crowd = args.crowd.read_text(encoding="utf-8").splitlines() if args.crowd else []
    kept = args.out / "vectors.npy"
    if not kept.exists():
        made = MiniLmEmbedder().embed([*(line.text for story in found for line in story.lines), *crowd])
        zero = np.zeros(WIDTH, dtype=np.float32)
        np.save(kept, np.array([zero if item.vector is None else item.vector for item in made], dtype=np.float32))
    vectors = np.load(kept)
    lines = len(vectors) - len(crowd)
    return inside, crowd_pairs(found, vectors[:lines], crowd, vectors[lines:])


def _widen(model: RelationModel, earlier: dict[str, Tensor]) -> None:
    """Load the weights of an earlier run, whose vocabulary may be shorter."""
    fresh = model.state_dict()
    words = earlier.pop("words.weight")
    fresh["words.weight"][: len(words)] = words
    fresh.update(earlier)
    model.load_state_dict(fresh)


if __name__ == "__main__":
    main()
