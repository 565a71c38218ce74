"""Pairs for evaluation: each composition of a case once, without noise, and a few fillings of each frame.

Each fact of a dossier is paired with its few nearest other facts, because the model reads only those in a store. These
pairs are separate from the near misses, which are far rarer in a store.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

import numpy as np

from training.compose import Composer, Pair
from training.material import Case, Frame, is_of_dossier
from wellkept.core.records.vectors import cosines
from wellkept.models.minilm import MiniLmEmbedder

FRAME_PAIRS = 12
"""Pairs drawn per frame; cases have more weight, because their wordings are natural."""


def natural_pairs(cases: Sequence[Case], frames: Sequence[Frame] = (), *, seed: int = 11) -> list[Pair]:
    """All pairs of the cases and a few of each frame, in a fixed order."""
    found = [pair for case in cases for pair in of_case(case)]
    composer = Composer(frames, [], seed=seed, noisy=False)
    found += [composer.draw() for _ in range(FRAME_PAIRS * len(frames))]
    chance = random.Random(seed)
    strangers = [case for case in cases if len(case.parts["same"]) > 1]
    for case in strangers:
        other = chance.choice(strangers)
        if other.id != case.id:
            old, new = chance.choice(case.parts["same"]), chance.choice(other.parts["same"])
            found.append(Pair(old, new, ("distinct",), case.lang, case.id))
    return found


def of_case(case: Case) -> list[Pair]:
    """All pairs whose relation the case states directly, older text first."""
    same = case.parts["same"]
    pairs = [Pair(old, new, ("same",), case.lang, case.id) for old, new in combinations(same, 2)]
    for place, old in enumerate(same[:3]):
        for relation in ("refines", "conflict", "distinct"):
            if relation == "distinct" and is_of_dossier(case.id):
                continue  # see stream_pairs
            # Each text of a kind once or twice, so that no kind is swamped by another.
            chosen = case.parts[relation][place::3] if relation != "refines" else case.parts[relation]
            pairs += [Pair(old, new, (relation,), case.lang, case.id) for new in chosen]
    return pairs


NEAREST = 4
"""Number of stored neighbours that the gate compares with one write."""


def stream_pairs(cases: Sequence[Case]) -> list[Pair]:
    """Each wording of a dossier's facts with the nearest wordings of its other facts; all pairs are *distinct*."""
    dossiers: dict[str, list[Case]] = {}
    for case in cases:
        if is_of_dossier(case.id):
            dossiers.setdefault(case.id.partition("/")[0], []).append(case)
    embedder = MiniLmEmbedder()
    found = []
    for facts in dossiers.values():
        told = [(place, text) for place, fact in enumerate(facts) for text in fact.parts["same"]]
        made = embedder.embed([text for _, text in told])
        told = [row for row, item in zip(told, made, strict=True) if item.vector is not None]
        vectors = np.asarray([item.vector for item in made if item.vector is not None])
        for (place, text), vector in zip(told, vectors, strict=True):
            near = np.argsort(-cosines(vector, vectors), kind="stable").tolist()
            others = [told[at] for at in near if told[at][0] != place]
            nearest = list({of: old for of, old in reversed(others)}.items())[::-1][:NEAREST]
            found += [Pair(old, text, ("distinct",), facts[0].lang, facts[place].id) for _, old in nearest]
    return found
