"""Pairs of notes by two other authors: nearly the same words, another structure, and the same or another statement.

The rules were chosen beside these pairs, so they show what the rules are for, not how often they err elsewhere.
`wellkept eval pairs tests/golden/near_misses.jsonl` says what becomes of them.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import combinations
from pathlib import Path

from wellkept.core.differences.crossed_pairs import crossed_pairs
from wellkept.core.differences.find import _aligned, chosen_otherwise, counted_otherwise, differences
from wellkept.policy.antonyms import NO_OPPOSITES

CASES = Path(__file__).parents[2] / "training" / "cases" / "exchanges.jsonl"
"""By further authors, written after the rules: a fact in five ways, and first four exchanges of its roles."""
PAIRS = [json.loads(line) for line in Path(__file__).with_name("near_misses.jsonl").read_text("utf-8").splitlines()]


def _found(pair: dict[str, str]) -> str:
    old, new = pair["old"], pair["new"]
    if chosen_otherwise(old, new):
        return "choice"
    if counted_otherwise(old, new):
        return "amount"
    return "order" if any(item.kind == "order" for item in differences(old, new)) else ""


def test_the_rules_for_exchanges_find_no_difference_in_true_restatements() -> None:
    same = [pair for pair in PAIRS if pair["relation"] == "same"]
    found = [pair["new"] for pair in same if _found(pair)]
    # "Once it is past six" is read as the later of the two events: a mistake of the rule for events.
    assert len(same) == 72 and found == ["Once it's past six you won't often get Inspector Vale on the line."]


def test_the_rules_for_exchanges_find_what_they_are_for() -> None:
    found = Counter(pair["subtype"] for pair in PAIRS if pair["relation"] != "same" and _found(pair))
    assert found["partners"] >= 15 and found["amount"] >= 15 and found["side"] >= 5


def test_few_of_the_exchanges_that_the_rules_have_not_seen_are_found_and_hardly_any_restatement() -> None:
    cases = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    same = [pair for case in cases for pair in combinations(case["same"], 2)]
    exchanged = [(old, new) for case in cases for old in case["same"] for new in case["conflict"][:4]]
    found = [sum(_is_exchange(old, new) for old, new in pairs) for pairs in (same, exchanged)]
    assert (len(same), len(exchanged)) == (900, 1800)
    assert found[0] <= 2 and found[1] >= 339


def _is_exchange(old: str, new: str) -> bool:
    return (
        chosen_otherwise(old, new)
        or bool(counted_otherwise(old, new))
        or bool(crossed_pairs(_aligned(old, new, NO_OPPOSITES)))
    )
