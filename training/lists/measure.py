"""How well the weights of a run tell relations apart, for the learning curve.

    python -m training.lists.measure --run build/lists --vocabulary vocab.txt --weights averaged-500.pt

What the heads over the list do from there is printed by `training.heads`.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from training.heads import LARGE, Crowd, Listed, Numbers, crowd_of, embedded_lines, lines, listed
from training.lists.together import Together
from training.stories import stories
from wellkept.core.reading.language_detection import is_english
from wellkept.models.tokenizer.pairs import LABELS

NOBODY = Crowd((), np.zeros((0, 384), dtype=np.float32))


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=Path, nargs="+", required=True, help="folder of a run; of several, their mean")
    parser.add_argument("--weights", default="averaged.pt", help="file of the weights in that folder")
    parser.add_argument("--vocabulary", type=Path, help="vocab.txt of all-MiniLM-L6-v2, for runs without own pieces")
    parser.add_argument("--files", nargs="+", default=["select"], help="stories to measure on; `select` to choose by")
    parser.add_argument("--crowd", type=Path, help="strangers besides, one text a line")
    args = parser.parse_args()
    torch.set_num_threads(1)
    together, found = Together(args.run, args.vocabulary, args.weights), stories(*args.files)
    crowd = crowd_of(lines(args.crowd)[:LARGE]) if args.crowd else NOBODY
    items = listed(found, crowd, embedded_lines(found))
    texts = [(item.line.text, tuple(text for text, _ in item.texts)) for item in items]
    for alone in (False, True):
        told = zip(items, together.told(texts, alone=alone), strict=True)
        rows = [(item, place, shares) for item, some in told for place, shares in some.items()]
        for group, english in (("English", True), ("other languages", False)):
            some = [row for row in rows if is_english(row[0].line.text) is english]
            print(f"{'alone' if alone else 'in lists'}, {group}: {_figures(some)}", flush=True)


def _figures(rows: Sequence[tuple[Listed, int, NDArray[np.float64]]]) -> str:
    told, labels = np.array([row for _, _, row in rows]), [item.labels[place] for item, place, _ in rows]
    repeats = np.array([float(not {"same", "generalises"}.isdisjoint(known)) for known in labels])
    against = np.array([float(known == ("conflict",)) for known in labels])
    right = np.mean([LABELS[row.argmax()] in known for row, known in zip(told, labels, strict=True)])
    same, conflict = area(told[:, 0] + told[:, 2], repeats), area(told[:, 3], against)
    return f"AUC same {same:.4f}, conflict {conflict:.4f}, right {right:.3f} of {len(rows)}"


def area(scores: Numbers, wanted: Numbers) -> float:
    """Area under the curve: the chance that a wanted one has the higher score; ties count half."""
    kinds, of = np.unique(scores, return_inverse=True)
    good = np.bincount(of, weights=wanted, minlength=len(kinds))
    bad = np.bincount(of, weights=1.0 - wanted, minlength=len(kinds))
    below = np.cumsum(bad) - bad
    return float((good * (below + bad / 2)).sum() / max(1.0, good.sum() * bad.sum()))


if __name__ == "__main__":
    main()
