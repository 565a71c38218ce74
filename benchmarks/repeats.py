"""How well probabilities tell repeats from other pairs: the share of repeats found where 92 of 100 finds are right.

    python -m benchmarks.repeats PAIRS.jsonl

Compares P(*same*) of the relation model, which is what `wellkept eval pairs` sorts by, with the probability of the head
that decides about wordings. Equal texts count as sure. Prints one JSON object.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from wellkept.core.judging.list_head import Read, chances_of
from wellkept.core.text.forms import canonical
from wellkept.evaluation.labelled_files import Pair, read_pairs
from wellkept.evaluation.pair_metrics import PRECISION
from wellkept.evaluation.ratios import column, recall_at
from wellkept.evaluation.run import Warm
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel

_KIND = "fact"


def probabilities(pairs: Sequence[Pair]) -> Iterator[tuple[float, float]]:
    """For each pair, P(*same*) of the model and the probability of the head; 0 where there is no opinion."""
    model, embedder = PackagedRelationModel(), Warm(MiniLmEmbedder())
    head = model.bounds("balanced").fold
    assert head is not None
    for pair in pairs:
        if canonical(pair.old) == canonical(pair.new):
            yield 1.0, 1.0
            continue
        [[opinion]] = model.read_lists([(pair.new, [pair.old])])
        if opinion is None:
            yield 0.0, 0.0
            continue
        read = (Read(pair.old, embedder.cosine(_KIND, pair.old, pair.new) or 0.0, opinion),)
        yield opinion.same, chances_of(head, "fold", pair.new, read)[0]


def found(pairs: Sequence[Pair]) -> dict[str, float]:
    """The two shares, 0 to 1."""
    gold = column(pair.gold == "same" for pair in pairs)
    by_model, by_head = zip(*probabilities(pairs), strict=True)
    every = np.ones((1, len(pairs)))
    return {
        name: round(float(recall_at(sure, gold, precision=PRECISION, weights=every)[0]), 4)
        for name, sure in (("model", by_model), ("head", by_head))
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the shares for a file of labelled pairs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    given = parser.parse_args(arguments)
    with given.file.open("rb") as lines:
        read = read_pairs(given.file.name, lines)
    print(json.dumps({"pairs": len(read.pairs), "precision": PRECISION, **found(read.pairs)}))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
