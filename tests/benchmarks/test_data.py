"""`benchmarks/data`: the labels of its story hold together, so that its figures mean what they say."""

from __future__ import annotations

from collections import Counter, defaultdict
from pathlib import Path

from wellkept.evaluation.labelled_files import Story, read_stories

LOG = Path(__file__).parents[2] / "benchmarks/data/agent-log.jsonl"


def log() -> Story:
    with LOG.open("rb") as lines:
        [story] = read_stories(LOG.name, lines)
    return story


def test_the_log_of_a_coding_agent_holds_what_its_readme_counts() -> None:
    acts = Counter(write.act for write in log().writes)
    assert acts == {"first": 74, "restates": 21, "updates": 24, "refines": 8, "late": 3, "noise": 20}
    assert len(log().queries) == 38


def test_every_text_that_holds_has_the_answer_and_every_outdated_one_has_the_outdated_words() -> None:
    current, outdated = defaultdict[str, list[str]](list), defaultdict[str, list[str]](list)
    for write in log().writes:
        if write.act == "updates":
            outdated[write.key] += current.pop(write.key)
        (outdated if write.act == "late" else current)[write.key].append(write.text)
    for query in log().queries:
        for text in current[query.key]:
            assert query.answer in text and not any(piece in text for piece in query.stale), text
        for text in outdated[query.key]:
            assert query.answer not in text and any(piece in text for piece in query.stale), text
