"""Search before store under the default policy: one row in every list, and the words of each repeat behind it.

The twin of `test_gate.py`, which keeps to the letter of the source. The relation model of these tests leaves every pair
to rules and similarity (`FakeRelationModel.defers`).
"""

from __future__ import annotations

import pytest

from wellkept.types import NewMemory

L1 = "Never trade during low-volume weekends"
PARAPHRASE = "Avoid trading on weekends when volume is low"
REFINED = "Never trade during low-volume weekends UNLESS funding is extremely negative"


def pair(table, cosine, *, kind="lesson", new=PARAPHRASE, title=""):
    """A stored memory and a second text at an exact cosine."""
    table.near(NewMemory(content=L1, kind=kind, title=title), NewMemory(content=new, kind=kind), cosine)
    return table.store.remember(L1, kind=kind, title=title).memory, lambda: table.store.remember(new, kind=kind)


@pytest.mark.parametrize("kind", ["lesson", "curiosity", "fact"])
def test_the_same_insight_told_three_times_is_one_row_with_one_wording(make, kind):
    """S0-1, S0-47, S0-54: a paraphrase is kept behind the row, a repeat of either text is a duplicate."""
    table = make()
    old, write = pair(table, 0.97, kind=kind)
    seen = [write(), *(table.store.remember(text, kind=kind) for text in (L1.lower(), PARAPHRASE.upper()))]
    assert [result.outcome for result in seen] == ["restated", "duplicate", "duplicate"]
    assert {result.memory.id for result in seen} == {old.id}
    assert (table.rows("active"), table.rows("wording"), table.rows()) == ([L1], [PARAPHRASE], [L1, PARAPHRASE])
    assert table.store.get(old.id).confirmations == 3
    assert [hit.memory.content for hit in table.store.recall(L1)] == [L1]


@pytest.mark.parametrize(
    ("cosine", "outcome", "rel"),
    [
        (1.0, "restated", "restates"),
        (0.9500, "restated", "restates"),
        (0.9499, "created", "related"),
        (0.9000, "created", "related"),
        (0.8999, "created", ""),
    ],
)
def test_the_tiers_have_the_same_bounds_by_injected_similarity(make, cosine, outcome, rel):
    """S0-10, S0-31, S0-36: only the outcome of the first tier differs from the source."""
    table = make()
    old, write = pair(table, cosine)
    result = write()
    assert result.outcome == outcome
    assert [(link.dst, link.rel) for link in result.links] == ([(old.id, rel)] if rel else [])
    assert len(table.rows("active")) == (1 if outcome == "restated" else 2)
    assert table.rows() == [L1, PARAPHRASE]


def test_the_message_says_that_the_text_is_kept_behind_a_faded_row_too(make):
    """S0-32, S0-25: the message names the row, and no text is dropped."""
    table = make()
    old, write = pair(table, 0.96, title="Avoid weekend trading")
    table.clock.advance(days=300)
    result = write()
    assert result.message == f'Known: kept as another wording of "Avoid weekend trading" ({old.id}).'
    assert (result.outcome, result.matches[0].action, result.matches[0].lifecycle) == ("restated", "restate", "DORMANT")
    assert not result.dropped


def test_a_wording_can_be_a_memory_of_its_own_after_all(make):
    """I1."""
    table = make()
    old, write = pair(table, 0.96)
    wording = write().links[0].src
    assert table.store.restore(wording) is True
    assert table.rows("active") == [L1, PARAPHRASE]
    assert table.store.get(old.id).confirmations == 0


@pytest.mark.parametrize("cosine", [0.90, 0.96, 0.9999])
def test_a_refinement_is_a_row_of_its_own(make, cosine):
    """S0-50, F-8: a condition forbids a wording as it forbids a drop."""
    table = make()
    _, write = pair(table, cosine, new=REFINED)
    assert write().outcome == "created"
    assert table.rows("active") == [L1, REFINED]
