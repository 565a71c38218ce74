"""Train the reader; a run can be stopped, resumed and prolonged at any time.

    python -m training.reader.source build/smollm
    python -m training.reader.train --base build/smollm --out build/reader

Lists are drawn on demand, each chunk from its own seed, as those of the list reader are. State is saved between chunks.
The rate is constant until the last `--falling` steps, so that a run that has not come to them goes on with larger
`--steps` as if nothing had been.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from torch import Tensor

from training.compose import Composer
from training.lists.disguise import Names
from training.lists.material import ALONE, Lists
from training.lists.train import DISGUISED, loss_of, padded, vectors_of
from training.material import cases, frames
from training.reader.model import Batch, batch_of, from_weights
from training.reader.rows import Row, Rows
from training.reader.runs import weights_of
from training.reader.source import Base
from training.running import BFLOAT16, Running
from training.stories import TRAINING, stories
from training.train import targets_of

CHUNK = 64
"""Lists drawn together and sorted by length."""
LONGEST = 400
"""Most pieces of a row that is trained on."""
SAVE_AFTER = 120.0
"""Least seconds between two states."""
KEEP_EVERY = 200
"""Steps between two copies of the averaged weights that are kept for the learning curve."""


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
    parser.add_argument("--base", type=Path, required=True, help="folder of the language model")
    parser.add_argument("--start", type=Path, help="folder of an earlier run, or of a kept one, to go on from")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--crowd", type=Path, help="texts that belong to no story, one a line")
    parser.add_argument("--languages", nargs="+", default=["en"], help="of stories and of composed lists")
    parser.add_argument("--layers", type=int, default=15, help="first layers of the language model; not with --start")
    parser.add_argument("--frozen", type=int, default=0, help="first layers that are not trained")
    parser.add_argument("--alone", type=float, default=ALONE, help="share of the stories' lists with one candidate")
    parser.add_argument("--batch", type=int, default=600, help="most pieces of a batch, with padding")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--falling", type=int, default=300, help="last steps, over which the rate falls")
    parser.add_argument("--rate", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


class _Run:
    """One training run with its resumable state."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.frames = [item for item in frames("train") if item.lang in args.languages]
        self.cases = [item for item in cases("train") if item.lang in args.languages]
        found = [story for story in stories(*TRAINING) if story.lang in args.languages]
        crowd = args.crowd.read_text(encoding="utf-8").splitlines() if args.crowd else []
        told = [line.text for story in found for line in story.lines]
        vectors = vectors_of([*told, *crowd], args.out / "vectors.npz")
        self.lists = Lists(found, vectors[: len(told)], crowd, vectors[len(told) :], self.cases, args.alone)
        self.names = Names(found)
        base = Base(args.base)
        self.rows = Rows(base.tokenizer())
        weights = weights_of(args.start, base) if args.start else base.layers(args.layers)
        self.model = from_weights(base.words(), weights)
        for layer in self.model.layers[: args.frozen]:
            layer.requires_grad_(requires_grad=False)
        self.running = Running(self.model, args.out, steps=args.steps, rate=args.rate, warming=40, falling=args.falling)
        print(f"{len(found)} stories, {len(self.model.layers)} layers, {args.frozen} of them frozen", flush=True)

    def go(self) -> None:
        """Train until the last step."""
        began, saved, seen, lists, running = time.monotonic(), time.monotonic(), 0, 0, self.running
        while running.step < self.args.steps:
            before, losses = running.step, []
            for batch, targets in self._chunk(running.step):
                losses.append(self._learn(batch, targets))
                seen, lists = seen + batch.pieces.numel(), lists + len(batch.pieces)
            mark = running.step // KEEP_EVERY * KEEP_EVERY
            copies = [f"averaged-{mark}.pt"] if before < mark else []
            if copies or time.monotonic() - saved > SAVE_AFTER:
                running.save(*copies)
                saved = time.monotonic()
            speed, loss = seen / (time.monotonic() - began), sum(losses) / len(losses)
            cost = time.process_time()
            print(
                f"step {running.step} loss {loss:.4f} {lists} lists {speed:.0f} pieces/s {cost:.0f} s used", flush=True
            )
        running.save()

    def _learn(self, batch: Batch, targets: Tensor) -> float:
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=BFLOAT16):
            logits = self.model(batch)
        return self.running.learn(loss_of(logits.float(), targets))

    def _chunk(self, step: int) -> Iterator[tuple[Batch, Tensor]]:
        chance = random.Random(f"{self.args.seed}/{step}")
        composer = Composer(self.frames, self.cases, seed=chance.randrange(2**60))
        rows: list[tuple[Row, tuple[tuple[str, ...], ...]]] = []
        while len(rows) < CHUNK:
            listing = self.lists.draw(chance, composer)
            listing = self.names.exchanged(listing, chance) if chance.random() < DISGUISED else listing
            row = self.rows.row(listing.new, listing.texts)
            if len(row.pieces) <= LONGEST:
                rows.append((row, listing.labels))
        # Of equal length hardly any piece of a batch is padding.
        rows.sort(key=lambda item: (len(item[0].pieces), item[0].pieces))
        batches: list[list[tuple[Row, tuple[tuple[str, ...], ...]]]] = [[]]
        for item in rows:
            if (len(batches[-1]) + 1) * len(item[0].pieces) > self.args.batch:
                batches.append([])
            batches[-1].append(item)
        chance.shuffle(batches)
        for chosen in batches:
            yield batch_of([row for row, _ in chosen]), padded([list(targets_of(labels)) for _, labels in chosen])


if __name__ == "__main__":
    main()
