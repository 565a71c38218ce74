"""Labelled files are read unchanged, and an error names the line and a remedy."""

from __future__ import annotations

import json
from typing import Any

import pytest

from wellkept.errors import InvalidInput
from wellkept.evaluation.labelled_files import read_pairs, read_stories, spread

PAIR = {"id": "1", "old": "Tea at four.", "new": "Tea at five.", "relation": "conflict", "lang": "en"}
PUBLIC = {"id": "1", "a": "Tea at four.", "b": "Tea at five.", "label": "contradiction"}
WRITE = {"t": "2026-01-05T09:00", "text": "Tea at four.", "kind": "fact", "truth": "K1=four"}
STORY = {"id": "s", "writes": [WRITE], "queries": [{"q": "When is tea?", "answer_contains": "four"}]}


def lines(*rows: object) -> list[bytes]:
    return [json.dumps(row).encode() for row in rows]


def changed(base: dict[str, Any], **fields: object) -> dict[str, Any]:
    return {key: value for key, value in {**base, **fields}.items() if value is not ...}


def story_of(*truths: str, **last: object) -> dict[str, Any]:
    writes: list[dict[str, Any]] = [
        {**WRITE, "t": f"2026-01-{day:02}T09:00", "truth": truth} for day, truth in enumerate(truths, 5)
    ]
    writes[-1] = {**writes[-1], **last}
    return {**STORY, "writes": writes}


@pytest.mark.parametrize(
    ("label", "gold"),
    [
        ("duplicate", "same"),
        ("related", "related"),
        ("unrelated", "unrelated"),
        ("entailment", "entailment"),
        ("neutral", "neutral"),
        ("contradiction", "conflict"),
        ("not_entailment", "other"),  # says too little to be scored, but what was merged is still counted
    ],
)
def test_a_public_label_means_a_relation(label: str, gold: str) -> None:
    found = read_pairs("set.jsonl", lines({**PUBLIC, "label": label}))
    assert found.public
    assert (found.pairs[0].gold, found.pairs[0].label) == (gold, label)


def test_a_file_is_named_without_its_folders() -> None:
    assert read_pairs("/some/where/set.jsonl", lines(PAIR)).name == "set.jsonl"


BAD_PAIRS = [
    ([b"\xff\xfe"], "is not UTF-8", "f.jsonl, line 1"),
    ([b"", b"  ", b"tea"], "not JSON", "f.jsonl, line 3"),
    (lines(PAIR, ["tea"]), "is a JSON list", "f.jsonl, line 2"),
    (lines(changed(PAIR, new=...)), "a field is missing", "f.jsonl, line 1, new"),
    (lines(changed(PAIR, old=" ")), "a field is empty", "f.jsonl, line 1, old"),
    (lines(changed(PAIR, old=4)), "no text", "f.jsonl, line 1, old"),
    (lines(changed(PAIR, relation="rival")), "'rival' is no relation", "f.jsonl, line 1, relation"),
    (lines(PAIR, PUBLIC), "one file holds both formats", "f.jsonl, line 2"),
    (lines(STORY), "this is a story", "f.jsonl, line 1"),
    ([b"\n"], "holds no pairs", "f.jsonl"),
]


@pytest.mark.parametrize(("content", "what", "where"), BAD_PAIRS, ids=[row[1] for row in BAD_PAIRS])
def test_a_bad_line_of_pairs_names_its_place(content: list[bytes], what: str, where: str) -> None:
    with pytest.raises(InvalidInput, match=what) as caught:
        read_pairs("f.jsonl", content)
    assert caught.value.where == where
    assert caught.value.todo


BAD_STORIES = [
    (story_of("K1"), "'K1' cannot be read", "f.jsonl, line 1, write 1, truth"),
    (story_of("restates K1"), "nothing was said of K1 before", "f.jsonl, line 1, write 1, truth"),
    (story_of("K1=a", "updates K2=b"), "nothing was said of K2 before", "f.jsonl, line 1, write 2, truth"),
    (story_of("K1=a", "K1=b"), "K1 has a value already", "f.jsonl, line 1, write 2, truth"),
    (story_of("K1=a", t="soon"), "'soon' is no time", "f.jsonl, line 1, write 1, t"),
    (story_of("K1=a", "noise", t="2020-01-01"), "is earlier than the write before", "f.jsonl, line 1, write 2, t"),
    ({**STORY, "writes": "K1=a"}, "is no list of objects", "f.jsonl, line 1, writes"),
    ({**STORY, "queries": [{"q": "When?"}]}, "a field is missing", "f.jsonl, line 1, query 1, answer_contains"),
    (PAIR, "this is a pair", "f.jsonl, line 1"),
]


@pytest.mark.parametrize(("story", "what", "where"), BAD_STORIES, ids=[row[1] for row in BAD_STORIES])
def test_a_bad_line_of_stories_names_its_place(story: dict[str, Any], what: str, where: str) -> None:
    with pytest.raises(InvalidInput, match=what) as caught:
        read_stories("f.jsonl", lines(story))
    assert caught.value.where == where


def test_the_truth_of_a_write_says_what_it_does_to_a_value() -> None:
    story = story_of("K1=a b", "restates K1", "updates K1=c", "refines K1", "noise", "K1=x", event_time="2025-01-01")
    [read] = read_stories("f.jsonl", lines(story))
    assert [(write.act, write.key, write.value) for write in read.writes] == [
        ("first", "K1", "a b"),
        ("restates", "K1", "a b"),
        ("updates", "K1", "c"),
        ("refines", "K1", "c"),
        ("noise", "", ""),
        ("late", "K1", "x"),
    ]


def test_a_dated_value_that_nobody_said_before_is_a_first_statement() -> None:
    [read] = read_stories("f.jsonl", lines(story_of("K1=a", event_time="2025-01-01")))
    assert read.writes[0].act == "first"


@pytest.mark.parametrize(
    ("limit", "taken"), [(None, "abcdefghij"), (20, "abcdefghij"), (5, "acegi"), (3, "adg"), (1, "a")]
)
def test_a_limit_is_spread_over_the_file(limit: int | None, taken: str) -> None:
    # Files are often sorted by label: the first lines would all be of one.
    assert "".join(spread("abcdefghij", limit)) == taken
