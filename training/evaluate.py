"""Evaluation of the packaged model on unseen material: the selection split, by relation and by language.

    python -m training.evaluate

Loads the installed package as the product does, so that the product's own model is measured.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Sequence

from training.compose import Pair
from training.material import cases, frames
from training.natural import natural_pairs, stream_pairs
from wellkept.models.relation import PackagedRelationModel
from wellkept.models.tokenizer.pairs import LABELS
from wellkept.types import Opinion


def main() -> None:
    """Print the figures as JSON."""
    kept = cases("select")
    concrete = {case.id for case in kept}
    pairs = natural_pairs(kept, frames("select"))
    streamed = stream_pairs(kept)
    pairs += streamed
    others = set(streamed)
    model = PackagedRelationModel()
    told = model.read([(pair.old, pair.new) for pair in pairs])
    groups: dict[str, list[tuple[Pair, Opinion]]] = defaultdict(list)
    for pair, opinion in zip(pairs, told, strict=True):
        if opinion is None:
            continue
        if pair in others:
            groups["same subject"].append((pair, opinion))
            continue
        groups["all"].append((pair, opinion))
        groups["cases" if pair.source in concrete else "frames"].append((pair, opinion))
        groups[pair.lang].append((pair, opinion))
    figures = {name: _figures(rows) for name, rows in sorted(groups.items())}
    print(json.dumps({"model": model.id, "unread": told.count(None), "groups": figures}, indent=1))


def _figures(rows: Sequence[tuple[Pair, Opinion]]) -> dict[str, object]:
    guesses = [max(LABELS, key=opinion.of) for _, opinion in rows]
    right = [guess in pair.labels for guess, (pair, _) in zip(guesses, rows, strict=True)]
    by_label = {}
    for label in LABELS:
        given = [ok for ok, (pair, _) in zip(right, rows, strict=True) if pair.labels[0] == label]
        said = [ok for ok, guess in zip(right, guesses, strict=True) if guess == label]
        by_label[label] = {"recall": _share(given), "precision": _share(said), "n": len(given)}
    return {"n": len(rows), "accuracy": _share(right), **by_label}


def _share(values: Sequence[bool]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


if __name__ == "__main__":
    main()
