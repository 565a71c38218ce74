"""Pairs for measuring: each composition of a case once, without noise, and one filling of each frame."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

from training.compose import Composer, Pair
from training.material import Case, Frame

FRAME_PAIRS = 12
"""Pairs drawn of each frame; cases count more, since they are worded as people word things."""


def natural_pairs(cases: Sequence[Case], frames: Sequence[Frame] = (), *, seed: int = 11) -> list[Pair]:
    """All pairs of the cases, and a few of each frame, in a fixed order."""
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
    """Every pair whose relation the case gives directly, older text first."""
    same = case.parts["same"]
    pairs = [Pair(old, new, ("same",), case.lang, case.id) for old, new in combinations(same, 2)]
    for place, old in enumerate(same[:3]):
        for relation in ("refines", "conflict", "distinct"):
            # Each text of a kind once or twice, so that no kind is swamped by another.
            chosen = case.parts[relation][place::3] if relation != "refines" else case.parts[relation]
            pairs += [Pair(old, new, (relation,), case.lang, case.id) for new in chosen]
    return pairs
