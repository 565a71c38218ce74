"""The heads over the list: fitted on the calibration authors, measured by leaving one author out.

    python -m training.heads --out build/heads.json

Each line of a calibration story is compared with its nearest earlier lines, as the gate does; the relation model that
ships reads them. A logistic regression over `wellkept.core.judging.list_head` learns when to fold and when to mark.
The least probability of each act is the lowest at which the share of wrong acts among all writes stays under its bound,
with 95 % confidence by a bootstrap over stories, since the lines of one story hang together.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from training.stories import Line, Story, labels_of, stories
from wellkept.core.judging.list_head import Act, Head, Read, best_for, features_of
from wellkept.models.minilm import MiniLmEmbedder
from wellkept.models.relation import PackagedRelationModel

NEAREST = 4
MOST_WRONG: dict[Act, float] = {"fold": 0.01, "mark": 0.01}
"""Largest share of wrong acts among all writes."""
PENALTY = 10.0
"""Of squared weights of standardised features; the sets are small."""
ROUNDS, RESAMPLED, SEED = 40, 300, 1

Numbers: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True)
class Listed:
    """A line with the opinions on its nearest earlier lines.

    Attributes:
        labels: How the line relates to each of them.
    """

    story: Story
    line: Line
    read: tuple[Read, ...]
    labels: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Case:
    """One line for one act.

    Attributes:
        right: Whether the act would be right.
        wanted: Whether the line asks for the act.
        counts: Whether a wrong act on it counts as an error; an old value told late may be folded or marked.
    """

    author: str
    story: str
    features: tuple[float, ...]
    right: bool
    wanted: bool
    counts: bool


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--files", nargs="+", default=["calibrate"])
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    listed = [item for story in stories(*args.files) for item in listed_of(story)]
    found = {}
    acts: tuple[Act, ...] = ("fold", "mark")
    for act in acts:
        cases = [case for item in listed if (case := case_of(act, item)) is not None]
        scores = left_out(cases)
        least = least_of(cases, scores, MOST_WRONG[act])
        report(act, cases, scores, least)
        weights, bias = fitted(cases)
        found[act] = {"weights": [round(float(item), 5) for item in weights], "bias": round(bias, 5), "least": least}
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(found, indent=1) + "\n")


_EMBEDDER = MiniLmEmbedder()
_MODEL = PackagedRelationModel()


def listed_of(story: Story) -> list[Listed]:
    """Each line of a story after the first, with opinions on its nearest earlier lines."""
    made = _EMBEDDER.embed([line.text for line in story.lines])
    found = []
    for place, line in enumerate(story.lines):
        own = made[place].vector
        near = [
            (float(own @ old), at) for at in range(place) if own is not None and (old := made[at].vector) is not None
        ]
        near = sorted(near, reverse=True)[:NEAREST]
        told = _MODEL.read([(story.lines[at].text, line.text) for _, at in near])
        pairs = [(at, cosine, opinion) for (cosine, at), opinion in zip(near, told, strict=True) if opinion is not None]
        if pairs:
            read = tuple(Read(story.lines[at].text, cosine, opinion) for at, cosine, opinion in pairs)
            found.append(Listed(story, line, read, tuple(labels_of(story.lines[at], line) for at, *_ in pairs)))
    return found


def case_of(act: Act, item: Listed) -> Case | None:
    """The case of a line for an act; None for an old value told late, which may be called either way."""
    if item.line.act == "late":
        return None
    place = best_for(act, item.read)
    features, labels = features_of(act, item.line.text, item.read, place), item.labels[place]
    if act == "fold":
        wanted, counts = item.line.act == "restates", True
        right = wanted and not {"same", "generalises"}.isdisjoint(labels)
    else:
        wanted = item.line.act == "updates"
        right = wanted and labels == ("conflict",)
        counts = labels != ("conflict",)  # a restatement of the new value contradicts the old one too
    return Case(item.story.author, item.story.id, features, right, wanted, counts)


def fitted(cases: Sequence[Case]) -> tuple[Numbers, float]:
    """Weights and bias of a logistic regression with a penalty on squared weights, by Newton's method."""
    kept = [case for case in cases if case.right or case.counts]
    values = np.array([case.features for case in kept])
    mean, width = values.mean(0), values.std(0) + 1e-9
    rows = np.hstack([(values - mean) / width, np.ones((len(kept), 1))])
    right = np.array([case.right for case in kept], dtype=np.float64)
    penalty = np.full(rows.shape[1], PENALTY)
    penalty[-1] = 0.0
    weights = np.zeros(rows.shape[1])
    for _ in range(ROUNDS):
        chance = 1 / (1 + np.exp(-rows @ weights))
        slope = rows.T @ (right - chance) - penalty * weights
        bend = (rows * (chance * (1 - chance))[:, None]).T @ rows + np.diag(penalty + 1e-9)
        weights = weights + np.linalg.solve(bend, slope)
    plain = weights[:-1] / width
    return plain, float(weights[-1] - plain @ mean)


def left_out(cases: Sequence[Case]) -> Numbers:
    """The probability of each case under a head that has not seen its author."""
    scores = np.zeros(len(cases))
    for author in sorted({case.author for case in cases}):
        weights, bias = fitted([case for case in cases if case.author != author])
        head = Head(tuple(weights.tolist()), bias, 0.0)
        for place, case in enumerate(cases):
            if case.author == author:
                scores[place] = head.probability(case.features)
    return scores


def least_of(cases: Sequence[Case], scores: Numbers, most: float) -> float:
    """The lowest probability at which wrong acts stay under the bound."""
    wrong = np.array([case.counts and not case.right for case in cases])
    names = sorted({case.story for case in cases})
    places = {name: place for place, name in enumerate(names)}
    of = np.array([places[case.story] for case in cases])
    size = np.bincount(of)
    chosen = np.random.default_rng(SEED).integers(0, len(names), (RESAMPLED, len(names)))
    least = 2.0
    for step in range(99, 19, -1):
        errors = np.bincount(of, weights=(wrong & (scores >= step / 100)).astype(float))
        shares = errors[chosen].sum(1) / size[chosen].sum(1)
        if np.quantile(shares, 0.95) > most:
            break
        least = step / 100
    return least


def report(act: Act, cases: Sequence[Case], scores: Numbers, least: float) -> None:
    """Print, by author, the share of wanted acts done and of wrong acts among all writes."""
    for author in [*sorted({case.author for case in cases}), "all"]:
        rows = [(case, score) for case, score in zip(cases, scores, strict=True) if author in (case.author, "all")]
        done = sum(case.right and score >= least for case, score in rows) / max(1, sum(case.wanted for case, _ in rows))
        wrong = sum(case.counts and not case.right and score >= least for case, score in rows) / len(rows)
        print(f"{act} from {least:.2f}, author {author}: done {done:.3f}, wrong {wrong:.4f} of {len(rows)} writes")


if __name__ == "__main__":
    main()
