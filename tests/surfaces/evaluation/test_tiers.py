"""The sources' cosine tiers do what the sources say, to the boundary (S0-9, S1-33, S2-21, S3-5, S4-8)."""

from __future__ import annotations

import pytest

from wellkept.evaluation.tiers import Alike, Tier, conflicts, consolidation, evolution, facts, insight

USE, NEVER = "Use tabs in Makefiles.", "Never use tabs in Makefiles."
LIMIT_A, LIMIT_B = "The limit is 0.85.", "The limit is 0.95."

ROWS: list[tuple[Tier, Alike, tuple[str, str, str]]] = [
    (insight, Alike("a", "b", 0.95), ("same", "duplicate", "lost")),
    (insight, Alike("a", "b", 0.9499), ("variant", "created", "stored")),
    (insight, Alike("a", "b", 0.90), ("variant", "created", "stored")),
    (insight, Alike("a", "b", 0.8999), ("distinct", "created", "stored")),
    (consolidation, Alike("a", "b", 0.95), ("same", "superseded", "stored")),
    (consolidation, Alike("a", "b", 0.9499), ("distinct", "created", "stored")),
    (consolidation, Alike(USE, NEVER, 0.96), ("conflict", "superseded", "stored")),  # flagged and merged (B-6)
    (consolidation, Alike(LIMIT_A, LIMIT_B, 0.99), ("conflict", "superseded", "stored")),
    (conflicts, Alike("a", "b", 0.95), ("same", "duplicate", "lost")),
    (conflicts, Alike("a", "b", 0.94), ("distinct", "created", "stored")),
    (conflicts, Alike(USE, NEVER, 0.80), ("conflict", "superseded", "stored")),
    (conflicts, Alike(USE, NEVER, 0.7999), ("distinct", "created", "stored")),
    (conflicts, Alike(LIMIT_A, LIMIT_B, 0.99), ("same", "duplicate", "lost")),  # the seed's parity sees no numbers
    (conflicts, Alike("Don’t use tabs.", "Use tabs.", 0.9), ("conflict", "superseded", "stored")),
    (facts, Alike("a", "b", 0.1, one_subject=True), ("conflict", "superseded", "stored")),
    (facts, Alike("a", "b", 0.95), ("same", "duplicate", "lost")),
    (facts, Alike("a", "b", 0.8501), ("conflict", "created", "stored")),
    (facts, Alike("a", "b", 0.85), ("distinct", "created", "stored")),
    (evolution, Alike("a", "b", 0.8801), ("same", "duplicate", "lost")),
    (evolution, Alike("a", "b", 0.88), ("refines", "evolved", "evolved")),
    (evolution, Alike("a", "b", 0.65), ("refines", "evolved", "evolved")),
    (evolution, Alike("a", "b", 0.6499), ("distinct", "created", "stored")),
    (evolution, Alike("Use SQLite", "use  sqlite!", 0.1), ("same", "duplicate", "lost")),  # S4-2
]


@pytest.mark.parametrize(("tier", "pair", "expected"), ROWS)
def test_a_tier_acts_on_similarity_alone(tier: Tier, pair: Alike, expected: tuple[str, str, str]) -> None:
    seen = tier(pair)
    assert (seen.relation, seen.outcome, seen.kept) == expected
    assert seen.holds_new is (seen.kept != "lost")
    assert seen.active == (2 if seen.outcome == "created" else 1)
