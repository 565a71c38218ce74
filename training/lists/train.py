"""Train the list reader from the weights of a pair model; a run can be stopped and resumed at any time.

    python -m training.lists.train --start build/relation --vocabulary build/minilm/vocab.txt --out build/lists

Lists are drawn on demand, each chunk from its own seed. State is saved between chunks. With `--teachers` the targets
are what these readers say on average, of lists that nobody has labelled too.
"""

from __future__ import annotations

import argparse
import random
import time
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.compose import Composer
from training.lists.disguise import MASK, Names, hidden
from training.lists.kept import reader_of, weights_in
from training.lists.material import Listing, Lists, of_authors
from training.lists.model import Batch, batch_of, from_pairs
from training.lists.together import Together
from training.lists.unlabelled import Unlabelled
from training.material import Case, Frame, cases, frames
from training.running import BFLOAT16, Running
from training.stories import TRAINING, Story, stories
from training.train import targets_of
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.tokenizer.lists import ListRow, in_rows
from wellkept.models.tokenizer.pairs import LABELS, MIRROR

Told = TypeVar("Told", Case, Frame, Story)

CHUNK = 192
"""Lists drawn together and sorted by length."""
LONGEST_TEXT = 120
"""Most pieces of a training text."""
DISGUISED = 0.5
"""Share of the lists whose names are exchanged, and of those in which pieces are hidden."""
LABELLED = 0.3
"""Share of the lists that are labelled where teachers are asked; half of a target is the label there."""
SAVE_EVERY, KEEP_EVERY = 100, 500
"""Steps between two states, and between two copies of the averaged weights that are kept for the learning curve."""


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
    parser.add_argument("--start", type=Path, required=True, help="folder of a run of the pair model, or of lists")
    parser.add_argument("--vocabulary", type=Path, help="vocab.txt of all-MiniLM-L6-v2, unless the folder has pieces")
    parser.add_argument("--out", type=Path, required=True, help="folder of the run")
    parser.add_argument("--teachers", type=Path, nargs="+", help="runs whose mean it learns, also on unlabelled lists")
    parser.add_argument("--crowd", type=Path, help="texts that belong to no story, one a line")
    parser.add_argument("--authors", type=int, help="train on the stories of this many authors; default: all")
    parser.add_argument("--english", type=float, default=1.0, help="share of the English material to train on")
    parser.add_argument("--pieces", type=int, default=2_000, help="most pieces of a batch, with padding")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


class _Run:
    """One training run with its resumable state."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.frames = _with_less_english(frames("train"), args.english)
        self.cases = _with_less_english(cases("train"), args.english)
        found = _with_less_english(_stories(args), args.english)
        self.lists, self.names = _lists(args, found, self.cases), Names(found)
        self.unlabelled = Unlabelled(self.lists, self.names)
        self.teachers = Together(args.teachers, args.vocabulary) if args.teachers else None
        reader = reader_of(args.start, args.vocabulary)
        for file in ("added.json", "pieces.json"):
            if (args.start / file).exists():
                (args.out / file).write_bytes((args.start / file).read_bytes())
        self.mask = MASK if args.vocabulary else reader.tokenizer.pieces["[UNK]"]
        self.reader, self.read = reader, lru_cache(maxsize=1 << 16)(reader.read)
        self.model = from_pairs(weights_in(args.start))
        # Half of all parameters; few of them are in a batch, and a step without them takes an eighth less time.
        self.model.words.requires_grad_(requires_grad=False)
        self.running = Running(self.model, args.out, steps=args.steps, rate=args.rate, warming=100)

    def go(self) -> None:
        """Train until the last step."""
        began, seen, running = time.monotonic(), 0, self.running
        while running.step < self.args.steps:
            before, losses = running.step, []
            for batch, targets in self._chunk(running.step):
                losses.append(self._learn(batch, targets))
                seen += batch.pieces.numel()
            kept = running.step // KEEP_EVERY
            if before // SAVE_EVERY != running.step // SAVE_EVERY:
                copies = [f"averaged-{kept * KEEP_EVERY}.pt"] if before // KEEP_EVERY != kept else []
                running.save(*copies)
            speed = seen / (time.monotonic() - began)
            print(f"step {running.step} loss {sum(losses) / len(losses):.4f} {speed:.0f} pieces/s", flush=True)
        running.save()

    def _learn(self, batch: Batch, targets: Tensor) -> float:
        self.model.train()
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=BFLOAT16):
            logits = self.model(batch)
        loss = loss_of if self.teachers is None else taught_loss_of
        return self.running.learn(loss(logits.float(), targets))

    def _chunk(self, step: int) -> Iterator[tuple[Batch, Tensor]]:
        chance = random.Random(f"{self.args.seed}/{step}")
        composer = Composer(self.frames, self.cases, seed=chance.randrange(2**60))
        rows: list[tuple[ListRow, list[Tensor]]] = []
        while len(rows) < CHUNK:
            for new, texts, targets in self._drawn(chance, composer):
                row = self._row(new, texts, targets, chance)
                rows += [row] if row else []
        # Of equal length hardly any piece of a batch is padding.
        rows.sort(key=lambda item: (len(item[0].pieces), item[0].pieces))
        batches: list[list[tuple[ListRow, list[Tensor]]]] = [[]]
        for item in rows:
            if (len(batches[-1]) + 1) * len(item[0].pieces) > self.args.pieces:
                batches.append([])
            batches[-1].append(item)
        chance.shuffle(batches)
        for chosen in batches:
            batch = batch_of([row for row, _ in chosen])
            yield batch, padded([targets for _, targets in chosen])

    def _row(
        self, told: str, candidates: Sequence[str], targets: Sequence[Tensor], chance: random.Random
    ) -> tuple[ListRow, list[Tensor]] | None:
        new, texts = self.read(told), [self.read(text) for text in candidates]
        kept = [at for at, text in enumerate(texts) if len(text.pieces) <= LONGEST_TEXT]
        lists = in_rows(new, [texts[at] for at in kept]) if len(new.pieces) <= LONGEST_TEXT else []
        if not lists:
            return None
        places = [kept[at] for at in lists[0]]
        row = self.reader.row(new, [texts[at] for at in places])
        row = hidden(row, chance, self.mask) if chance.random() < DISGUISED else row
        return row, [targets[at] for at in places]

    def _drawn(self, chance: random.Random, composer: Composer) -> Iterator[tuple[str, Sequence[str], list[Tensor]]]:
        """A list with its targets, or many at once from the teachers."""
        if self.teachers is None:
            listing = self._listing(chance, composer)
            yield listing.new, listing.texts, list(targets_of(list(listing.labels)))
            return
        lists, labels = [], []
        for _ in range(CHUNK):
            if chance.random() < LABELLED:
                listing = self._listing(chance, composer)
                lists.append((listing.new, listing.texts))
                labels.append(targets_of(list(listing.labels)))
            else:
                new, texts = self.unlabelled.draw(chance, composer)
                lists.append((new, tuple(texts)))
                labels.append(None)
        for (new, texts), known, told in zip(lists, labels, self.teachers.told(lists), strict=True):
            places = sorted(told)
            answers = [torch.tensor(told[at], dtype=torch.float32) for at in places]
            if known is not None:
                answers = [(one + known[at] / known[at].sum()) / 2 for one, at in zip(answers, places, strict=True)]
            yield new, [texts[at] for at in places], answers

    def _listing(self, chance: random.Random, composer: Composer) -> Listing:
        listing = self.lists.draw(chance, composer)
        return self.names.exchanged(listing, chance) if chance.random() < DISGUISED else listing


def padded(told: Sequence[Sequence[Tensor]]) -> Tensor:
    """Targets of shape (rows, candidates of the longest list, relations); all zero for no candidate."""
    targets = torch.zeros(len(told), max(map(len, told)), len(LABELS))
    for at, row in enumerate(told):
        targets[at, : len(row)] = torch.stack(list(row))
    return targets


def loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy of the set of allowed relations, averaged over all candidates.

    Args:
        logits: As the model gives them, from the candidate's point of view.
        targets: Possible relations of the new text to the candidate.
    """
    present = targets.sum(2) > 0
    told = logits[:, :, list(MIRROR)].log_softmax(dim=2)
    allowed = (told + targets.clamp(min=1e-9).log()).logsumexp(dim=2)
    return -allowed[present].mean()


def taught_loss_of(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy to shares of the relations, averaged over all candidates; otherwise as `loss_of`."""
    told = logits[:, :, list(MIRROR)].log_softmax(dim=2)
    return -(targets * told).sum(2)[targets.sum(2) > 0].mean()


def _stories(args: argparse.Namespace) -> list[Story]:
    found = stories(*TRAINING)
    return list(of_authors(found, args.authors, args.seed)) if args.authors else found


def _with_less_english(found: Sequence[Told], share: float) -> list[Told]:
    """All material in other languages, and this share of the English."""
    chance = random.Random(0)
    return [item for item in found if chance.random() < share or item.lang != "en"]


def _lists(args: argparse.Namespace, found: Sequence[Story], known: Sequence[Case]) -> Lists:
    crowd = args.crowd.read_text(encoding="utf-8").splitlines() if args.crowd else []
    told = [line.text for story in found for line in story.lines]
    vectors = vectors_of([*told, *crowd], args.out / "vectors.npz")
    return Lists(found, vectors[: len(told)], crowd, vectors[len(told) :], known)


def vectors_of(texts: Sequence[str], kept: Path) -> NDArray[np.float32]:
    """Unit vectors of these texts; those in the file are not made again."""
    known: dict[str, NDArray[np.float32]] = {}
    if kept.exists():
        with np.load(kept) as file:
            known = dict(zip(file["texts"].tolist(), file["vectors"], strict=True))
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    for text, made in zip(missing, MiniLmEmbedder().embed(missing), strict=True):
        known[text] = np.zeros(384, dtype=np.float32) if made.vector is None else made.vector.astype(np.float32)
    if missing:
        np.savez(kept, texts=np.array(list(known)), vectors=np.array(list(known.values())))
    return np.array([known[text] for text in texts], dtype=np.float32).reshape(len(texts), 384)


if __name__ == "__main__":
    main()
