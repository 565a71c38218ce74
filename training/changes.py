"""Letters that tell a change: linear weights, fitted on pairs of lines of the training stories.

    python -m training.changes

Each write is paired with the earlier lines of its story that look most alike, and with those of its own key. The label
is whether it replaces what the older line says. Updates of stories are longer than other writes, so each pair is
weighted such that among pairs of one length as many change something as do not: the weights learn words, not length.
The strength of the penalty is chosen on `select`. The heads (`training.heads`) are fitted afterwards, on other authors.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss, roc_auc_score

from training.package import RUNTIME, WEIGHTS, pin
from training.stories import CALIBRATING, TRAINING, Story, labels_of, stories
from wellkept.core.text.letter_groups import BUCKETS, letters_of

NEAREST = 8
"""Earlier lines that each write is paired with."""
LENGTHS = 10
"""Groups of texts of about one length."""
STRENGTHS = (0.03, 0.1, 0.3, 1.0)
"""Inverse penalties that are tried."""
STEPS = 150
NEWS, PAIR = ("whole",), ("whole", "added", "gone", "common")

Letters: TypeAlias = frozenset[int]
Block: TypeAlias = Callable[[Letters, Letters], Letters]

BLOCKS: Mapping[str, Block] = {
    "whole": lambda new, old: new,
    "added": lambda new, old: new - old,
    "gone": lambda new, old: old - new,
    "common": lambda new, old: new & old,
}


@dataclass(frozen=True)
class Pairs:
    """Pairs of lines of stories.

    Attributes:
        letters: Groups of letters of the newer and of the older text.
        changes: Whether the newer replaces what the older says.
        english: Whether the story is English.
    """

    letters: Sequence[tuple[Letters, Letters]]
    changes: NDArray[np.bool_]
    english: NDArray[np.bool_]

    def rows(self, blocks: Sequence[str]) -> sparse.csr_matrix:
        """The values of these blocks, shape (pairs, blocks * `BUCKETS`)."""
        return sparse.hstack([values_of([BLOCKS[name](*pair) for pair in self.letters]) for name in blocks]).tocsr()

    def weights(self) -> NDArray[np.float64]:
        """The weight of each pair: in every group of lengths changes count as much as the rest."""
        lengths = np.array([len(new) for new, _ in self.letters])
        bars = np.quantile(lengths, np.linspace(0, 1, LENGTHS + 1)[1:-1])
        of, weights = np.digitize(lengths, bars), np.ones(len(lengths))
        for group in range(LENGTHS):
            for changes in (False, True):
                some = (of == group) & (self.changes == changes)
                weights[some] = (of == group).sum() / 2 / max(1, some.sum())
        return weights


def main() -> None:
    """Fit the weights, and write them to the card of the relation model."""
    train, select, calibrate = (pairs_of(stories(*files)) for files in (TRAINING, ("select",), CALIBRATING))
    card = WEIGHTS / "relation.json"
    settings = json.loads(card.read_text(encoding="utf-8"))
    pieces = settings.pop("pieces")
    news, _ = fitted(NEWS, train, select, calibrate)
    pair, bias = fitted(PAIR, train, select, calibrate)
    cues = {"news": news["whole"], **pair, "bias": bias}
    card.write_text(json.dumps({**settings, "cues": cues, "pieces": pieces}, ensure_ascii=False, indent=1) + "\n")
    pin(RUNTIME, CARD_SHA256=card)


def pairs_of(found: Sequence[Story]) -> Pairs:
    """The pairs of all writes that are worth keeping."""
    letters, changes, english = [], [], []
    for story in found:
        texts = [line.text for line in story.lines]
        values = TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)).fit_transform(texts)
        alike = (values @ values.T).toarray()
        for place, new in enumerate(story.lines):
            if new.act == "noise":
                continue
            related = [at for at in range(place) if new.key and story.lines[at].key == new.key]
            for at in dict.fromkeys([*np.argsort(-alike[place, :place])[:NEAREST].tolist(), *related]):
                letters.append((letters_of(new.text), letters_of(texts[at])))
                changes.append(labels_of(story.lines[at], new) == ("conflict",))
                english.append(story.lang == "en")
    return Pairs(letters, np.array(changes), np.array(english))


def fitted(blocks: Sequence[str], train: Pairs, select: Pairs, calibrate: Pairs) -> tuple[dict[str, object], float]:
    """The weights of these blocks as they ship, and the constant term."""
    rows, known = train.rows(blocks), select.rows(blocks)
    tried = {
        strength: LogisticRegression(C=strength, max_iter=STEPS).fit(rows, train.changes, train.weights())
        for strength in STRENGTHS
    }
    losses = {
        strength: log_loss(select.changes, model.predict_proba(known)[:, 1], sample_weight=select.weights())
        for strength, model in tried.items()
    }
    model = tried[min(losses, key=lambda strength: losses[strength])]
    print(f"{'+'.join(blocks)}: log loss on select", {strength: round(loss, 4) for strength, loss in losses.items()})
    for name, pairs in (("select", select), ("calibrate", calibrate)):
        scores = model.decision_function(pairs.rows(blocks))
        for group, some in (("English", pairs.english), ("other languages", ~pairs.english)):
            print(f"    {name}, {group}: AUC {roc_auc_score(pairs.changes[some], scores[some]):.3f}")
    parts = model.coef_[0].reshape(len(blocks), BUCKETS)
    return {name: shipped(part) for name, part in zip(blocks, parts, strict=True)}, round(float(model.intercept_[0]), 4)


def shipped(weights: NDArray[np.float64]) -> dict[str, object]:
    """Weights as signed bytes and their unit."""
    unit = float(np.abs(weights).max()) / 127
    return {
        "letters": base64.b64encode(np.round(weights / unit).astype(np.int8).tobytes()).decode(),
        "step": round(unit, 6),
    }


def values_of(groups: Sequence[Letters]) -> sparse.csr_matrix:
    """The groups of each text as a row: each counts 1 / the root of their number."""
    counts = np.array([len(some) for some in groups])
    places = np.fromiter((group for some in groups for group in some), dtype=np.int32, count=int(counts.sum()))
    shares = np.repeat(1 / np.sqrt(np.maximum(1, counts)), counts).astype(np.float32)
    return sparse.csr_matrix((shares, places, np.concatenate([[0], np.cumsum(counts)])), shape=(len(groups), BUCKETS))


if __name__ == "__main__":
    main()
