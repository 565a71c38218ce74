"""The order of answers: BM25 over the pool, exact cosine, one blend."""

from __future__ import annotations

import pytest

from wellkept.core.rank import LEXICAL_SHARE, SEMANTIC_SHARE, blend, bm25


@pytest.mark.parametrize(
    ("query", "documents", "order"),
    [
        (["pr_441"], [["fix", "pr_440"], ["fix", "pr_441"]], [1, 0]),  # S2-14
        (["use", "ruff"], [["use", "black"], ["use", "ruff"]], [1, 0]),  # the rare word decides
        (["ruff"], [["ruff"] + ["filler"] * 40, ["ruff"]], [1, 0]),  # the shorter text
        (["ruff"], [["ruff", "and", "rust"], ["ruff", "ruff", "rust"]], [1, 0]),  # said more often
    ],
)
def test_the_better_match_of_words_comes_first(query, documents, order):
    scores = bm25(query, documents)
    assert sorted(range(len(documents)), key=lambda at: -scores[at]) == order


def test_scores_lie_between_0_and_1_and_the_best_is_1():
    """S2-4: normalised, with word statistics of the pool alone."""
    scores = bm25(["a", "b"], [["a", "b"], ["a"], ["c"]])
    assert max(scores) == 1.0 and scores[2] == 0.0 and 0.0 < scores[1] < 1.0


@pytest.mark.parametrize("documents", [[], [[]], [[], []], [["other"]]])
def test_nothing_in_common_is_0_and_no_error(documents):
    """S2-8."""
    assert bm25(["word"], documents) == [0.0] * len(documents)
    assert bm25([], documents) == [0.0] * len(documents)


def test_a_repeated_query_word_counts_once():
    documents = [["a", "x"], ["b", "y"]]
    assert bm25(["a", "a", "a", "b"], documents) == bm25(["a", "b"], documents)


@pytest.mark.parametrize(
    ("cosine", "lexical", "score"),
    [
        (0.5, 0.5, 0.5),
        (1.0, 0.0, SEMANTIC_SHARE),
        (0.0, 1.0, LEXICAL_SHARE),
        (-0.5, 1.0, LEXICAL_SHARE),  # opposite is no worse than unrelated
        (None, 0.8, 0.8),  # without vectors the words decide alone
    ],
)
def test_a_score_is_shared_between_meaning_and_words_and_keeps_its_parts(cosine, lexical, score):
    total, parts = blend(cosine, lexical)
    assert total == pytest.approx(score)
    assert parts == ({"lexical": lexical} if cosine is None else {"cosine": cosine, "lexical": lexical})


def test_the_shares_add_up_to_one():
    assert SEMANTIC_SHARE + LEXICAL_SHARE == pytest.approx(1.0)
