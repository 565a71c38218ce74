"""Train the list reader from the weights of a pair model; a run can be stopped and resumed at any time.

    python -m training.lists.train --start build/relation --vocabulary build/minilm/vocab.txt --out build/lists

Lists are drawn on demand, each chunk from its own seed. State is saved between chunks.
"""

from __future__ import annotations

import argparse
import json
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
from training.lists.material import Lists, of_authors
from training.lists.model import Batch, batch_of, from_pairs
from training.material import Case, Frame, cases, frames
from training.running import BFLOAT16, Running
from training.stories import TRAINING, Story, stories
from training.train import targets_of
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.tokenizer.lists import ListReader, ListRow, in_rows
from wellkept.models.tokenizer.pairs import LABELS, MIRROR
from wellkept.models.tokenizer.unigram import Unigram
from wellkept.models.tokenizer.wordpiece import Tokenizer

Told = TypeVar("Told", Case, Frame, Story)

CHUNK = 192
"""Lists drawn together and sorted by length."""
LONGEST_TEXT = 120
"""Most pieces of a training text."""
DISGUISED = 0.5
"""Share of the lists whose names are exchanged, and of those in which pieces are hidden."""
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
    parser.add_argument("--crowd", type=Path, help="texts that belong to no story, one a line")
    parser.add_argument("--authors", type=int, help="train on the stories of this many authors; default: all")
    parser.add_argument("--english", type=float, default=1.0, help="share of the English material to train on")
    parser.add_argument("--pieces", type=int, default=2_000, help="most pieces of a batch, with padding")
    parser.add_argument("--steps", type=int, default=3000)
    parser.add_argument("--rate", type=float, default=8e-5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def reader_of(run: Path, vocabulary: Path | None) -> ListReader:
    """The reader with the vocabulary of a run: pieces of its own, or MiniLM's and those that were added."""
    if vocabulary is None:
        return ListReader(Unigram(*json.loads((run / "pieces.json").read_text(encoding="utf-8"))))
    known = vocabulary.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    pieces = {piece: place for place, piece in enumerate(known)}
    extra = json.loads((run / "added.json").read_text(encoding="utf-8"))
    return ListReader(Tokenizer(pieces | {word: len(known) + at for at, (word, _) in enumerate(extra)}))


def _weights(folder: Path) -> dict[str, Tensor]:
    """The averaged weights of a run, or those that are kept in half precision."""
    kept = folder / "averaged.npz"
    if not kept.exists():
        found: dict[str, Tensor] = torch.load(folder / "averaged.pt")
        return found
    with np.load(kept) as arrays:
        return {name: torch.tensor(arrays[name].astype(np.float32)) for name in arrays.files}


class _Run:
    """One training run with its resumable state."""

    def __init__(self, args: argparse.Namespace) -> None:
        self.args = args
        self.frames = _with_less_english(frames("train"), args.english)
        self.cases = _with_less_english(cases("train"), args.english)
        found = _with_less_english(_stories(args), args.english)
        self.lists, self.names = _lists(args, found, self.cases), Names(found)
        reader = reader_of(args.start, args.vocabulary)
        for file in ("added.json", "pieces.json"):
            if (args.start / file).exists():
                (args.out / file).write_bytes((args.start / file).read_bytes())
        self.mask = MASK if args.vocabulary else reader.tokenizer.pieces["[UNK]"]
        self.reader, self.read = reader, lru_cache(maxsize=1 << 16)(reader.read)
        self.model = from_pairs(_weights(args.start))
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
        return self.running.learn(loss_of(logits.float(), targets))

    def _chunk(self, step: int) -> Iterator[tuple[Batch, Tensor]]:
        chance = random.Random(f"{self.args.seed}/{step}")
        composer = Composer(self.frames, self.cases, seed=chance.randrange(2**60))
        rows: list[tuple[ListRow, list[tuple[str, ...]]]] = []
        while len(rows) < CHUNK:
            listing = self.lists.draw(chance, composer)
            listing = self.names.exchanged(listing, chance) if chance.random() < DISGUISED else listing
            new, texts = self.read(listing.new), [self.read(text) for text in listing.texts]
            kept = [at for at, text in enumerate(texts) if len(text.pieces) <= LONGEST_TEXT]
            lists = in_rows(new, [texts[at] for at in kept]) if len(new.pieces) <= LONGEST_TEXT else []
            if lists:
                places = [kept[at] for at in lists[0]]
                row = self.reader.row(new, [texts[at] for at in places])
                row = hidden(row, chance, self.mask) if chance.random() < DISGUISED else row
                rows.append((row, [listing.labels[at] for at in places]))
        # Of equal length hardly any piece of a batch is padding.
        rows.sort(key=lambda item: (len(item[0].pieces), item[0].pieces))
        batches: list[list[tuple[ListRow, list[tuple[str, ...]]]]] = [[]]
        for item in rows:
            if (len(batches[-1]) + 1) * len(item[0].pieces) > self.args.pieces:
                batches.append([])
            batches[-1].append(item)
        chance.shuffle(batches)
        for chosen in batches:
            batch = batch_of([row for row, _ in chosen])
            yield batch, padded([labels for _, labels in chosen])


def padded(labels: Sequence[Sequence[tuple[str, ...]]]) -> Tensor:
    """Multi-hot targets of shape (rows, candidates of the longest list, relations); all zero for no candidate."""
    targets = torch.zeros(len(labels), max(map(len, labels)), len(LABELS))
    for at, row in enumerate(labels):
        targets[at, : len(row)] = targets_of(list(row))
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
