"""How well the weights of a run tell relations apart, for the learning curve.

    python -m training.lists.measure --run build/lists --vocabulary vocab.txt --weights averaged-500.pt

What the heads over the list do from there is printed by `training.heads`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
import torch

from training.heads import Crowd, Numbers, embedded_lines, listed
from training.lists.model import from_pairs
from training.lists.reading import Asked, with_torch
from training.lists.train import reader_of
from training.running import BFLOAT16
from training.stories import stories
from wellkept.models.tokenizer.pairs import LABELS, shares

NOBODY = Crowd((), np.zeros((0, 384), dtype=np.float32))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, required=True, help="folder of the run")
    parser.add_argument("--weights", default="averaged.pt", help="file of the weights in that folder")
    parser.add_argument("--vocabulary", type=Path, required=True, help="vocab.txt of all-MiniLM-L6-v2")
    parser.add_argument("--file", default="select", help="stories to measure on; `select` to choose by")
    args = parser.parse_args()
    torch.set_num_threads(1)
    reading = with_torch(from_pairs(torch.load(args.run / args.weights)), fast=BFLOAT16)
    found = stories(args.file)
    items = listed(found, NOBODY, embedded_lines(found))
    for alone in (False, True):
        asked = Asked(reader_of(args.run, args.vocabulary), items, alone=alone)
        rows = [(shares(logits), items[at].labels[place]) for at, place, logits in asked.answers(reading(asked.rows))]
        told = np.array([row for row, _ in rows])
        repeats = np.array([float(not {"same", "generalises"}.isdisjoint(labels)) for _, labels in rows])
        against = np.array([float(labels == ("conflict",)) for _, labels in rows])
        right = np.mean([LABELS[row.argmax()] in labels for row, labels in rows])
        same, conflict = area(told[:, 0] + told[:, 2], repeats), area(told[:, 3], against)
        name = "alone" if alone else "in lists"
        print(f"{name}: AUC same {same:.4f}, conflict {conflict:.4f}, right {right:.3f} of {len(rows)}")


def area(scores: Numbers, wanted: Numbers) -> float:
    """Area under the curve: the chance that a wanted one has the higher score; ties count half."""
    kinds, of = np.unique(scores, return_inverse=True)
    good = np.bincount(of, weights=wanted, minlength=len(kinds))
    bad = np.bincount(of, weights=1.0 - wanted, minlength=len(kinds))
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / max(1.0, good.sum() * bad.sum()))


if __name__ == "__main__":
    main()
