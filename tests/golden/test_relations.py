"""A change of a rule or of the relation model shows as a table of the golden pairs that it turns (issue item 9)."""

from __future__ import annotations

import pytest

from golden.relations import ACCEPT, RELATIONS, changes, given, rows, score, table
from wellkept.models.registry import load_embedder, load_relation_model


def test_every_golden_pair_is_answered_as_recorded() -> None:
    for load, name in ((load_relation_model, "packaged"), (load_embedder, "minilm")):
        load(name)  # without them the answers would be others: an error, no skip
    pairs = rows()
    now = given(pairs)
    changed = changes(pairs, now)
    if changed:
        before = score(pairs, [row["given"] for row in pairs])
        pytest.fail(
            f"{len(changed)} of {len(pairs)} golden pairs are answered otherwise "
            f"(before: {before}; now: {score(pairs, now)}):\n\n{table(changed)}\n\n"
            f"If that is meant, accept it with\n    {ACCEPT}\n",
            pytrace=False,
        )


def test_the_golden_pairs_are_whole() -> None:
    pairs = rows()
    assert all(set(row) == {"id", "lang", "old", "new", "right", "given"} for row in pairs)
    assert len({row["id"] for row in pairs}) == len({(row["old"], row["new"]) for row in pairs}) == len(pairs) >= 60
    assert {row["right"] for row in pairs} == set(RELATIONS)
    assert {row["given"] for row in pairs} <= {*RELATIONS, "variant", "none"}
    assert len({row["lang"] for row in pairs}) >= 8


def test_a_difference_is_told_pair_by_pair() -> None:
    pairs = [
        {"id": "a", "right": "same", "given": "same"},
        {"id": "b", "right": "conflict", "given": "distinct"},
        {"id": "c", "right": "same", "given": "same"},
    ]
    changed = changes(pairs, ["same", "conflict", "variant"])
    assert changed == [("b", "conflict", "distinct", "conflict"), ("c", "same", "same", "variant")]
    assert table(changed).splitlines() == [
        "id  right     before    now",
        "b   conflict  distinct  conflict  better",
        "c   same      same      variant   worse",
    ]
    assert score(pairs, ["same", "conflict", "variant"]) == "2 of 3 are right"
