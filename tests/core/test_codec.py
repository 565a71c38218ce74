"""Records to JSON and back: exact, compact, deterministic (design §3, I4)."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from wellkept.core.records.codec import (
    USAGE,
    conflict_from,
    digest,
    dumps,
    effect_from,
    entry_from,
    iso,
    link_from,
    memory_from,
    record_text,
    time_from,
    to_plain,
)
from wellkept.errors import InvalidField
from wellkept.types import (
    AliasChange,
    Conflict,
    ConflictChange,
    Difference,
    Hit,
    JournalEntry,
    Link,
    LinkChange,
    Match,
    Memory,
    MemoryChange,
    Reading,
    Reason,
    Stats,
    Update,
    WriteResult,
)

T = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)


class Word(str):
    """A text of a caller's own type."""


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
numbers = st.floats(allow_nan=False, allow_infinity=False)
times = st.datetimes(timezones=st.just(UTC))
maybe = lambda strategy: st.none() | strategy  # noqa: E731
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | numbers | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=6,
)
several = lambda strategy: st.lists(strategy, max_size=3).map(tuple)  # noqa: E731

memories = st.builds(
    Memory,
    content=texts,
    id=texts,
    namespace=texts,
    created_at=times,
    updated_at=times,
    kind=texts,
    title=texts,
    summary=texts,
    subject=texts,
    attribute=texts,
    agent=texts,
    tags=several(texts),
    importance=numbers,
    confidence=numbers,
    polarity=st.sampled_from([-1, 0, 1]),
    event_time=maybe(times),
    event_end=maybe(times),
    source=texts,
    provenance=several(texts),
    metadata=st.dictionaries(texts, plain, max_size=3),
    trigger=texts,
    signals=st.dictionaries(texts, plain, max_size=3),
    pinned=st.booleans(),
    expires_at=maybe(times),
    ended_at=maybe(times),
    status=st.sampled_from(["active", "superseded", "archived", "erased"]),
    superseded_by=texts,
    superseded_at=maybe(times),
    version=st.integers(1),
    updates=several(st.builds(Update, times, texts, numbers)),
    evolution_count=st.integers(0),
    confirmations=st.integers(0),
    last_confirmed_at=maybe(times),
    checked=st.booleans(),
    embedding=texts,
    chunks=st.integers(0),
    access_count=st.integers(0),
    last_accessed_at=maybe(times),
    stability=maybe(numbers),
)
differences = st.builds(
    Difference, st.sampled_from(["negation", "number", "custom"]), texts, texts, st.booleans(), st.booleans()
)
links = st.builds(Link, texts, texts, texts, maybe(times))
conflicts = st.builds(
    Conflict,
    key=texts,
    a=texts,
    b=texts,
    kind=st.sampled_from(["contradiction", "duplicate"]),
    reason=texts,
    similarity=maybe(numbers),
    differences=several(differences),
    excerpt_a=texts,
    excerpt_b=texts,
    created_at=times,
    expires_at=maybe(times),
    resolution=st.sampled_from([None, "keep_old", "keep_both"]),
    resolved_at=maybe(times),
)
effects = (
    st.builds(MemoryChange, maybe(memories), maybe(memories))
    | st.builds(AliasChange, texts, texts, st.booleans())
    | st.builds(LinkChange, maybe(links), maybe(links))
    | st.builds(ConflictChange, maybe(conflicts), maybe(conflicts))
)
matches = st.builds(
    Match,
    texts,
    texts,
    st.sampled_from(["ACTIVE", "WEAK", "DORMANT"]),
    st.sampled_from(["content_hash", "vector"]),
    st.sampled_from(["same", "conflict", "variant", "none"]),
    st.sampled_from(["duplicate", "connect", "none"]),
    maybe(numbers),
    maybe(numbers),
    several(differences),
)
entries = st.builds(
    JournalEntry,
    seq=st.integers(0),
    at=times,
    verb=texts,
    actor=texts,
    policy=texts,
    outcome=texts,
    memory_id=texts,
    memory_ids=several(texts),
    reasons=several(st.builds(Reason, texts, texts)),
    matches=several(matches),
    conflict_keys=several(texts),
    degraded=several(st.sampled_from(["embedding", "lexical", "unreadable"])),
    effects=several(effects),
    dropped=maybe(memories),
    undoes=st.integers(0),
    idempotency_key=texts,
    payload=texts,
    run_id=texts,
    reading=maybe(st.builds(Reading, model=texts, memory_ids=several(texts), texts=texts, opinions=texts)),
)


def over(value: object) -> Any:
    """Through the written form and back to plain objects."""
    return json.loads(dumps(value))


@settings(deadline=None)
@given(memories)
def test_a_memory_comes_back_as_it_was(memory: Memory) -> None:
    assert memory_from(over(memory)) == memory


@settings(deadline=None)
@given(links, conflicts)
def test_links_and_conflicts_come_back_as_they_were(link: Link, conflict: Conflict) -> None:
    assert link_from(over(link)) == link
    assert conflict_from(over(conflict)) == conflict


@settings(deadline=None)
@given(effects)
def test_an_effect_comes_back_as_it_was(effect: Any) -> None:
    assert effect_from(over(effect)) == effect


@settings(deadline=None, max_examples=50)
@given(entries)
def test_a_journal_entry_comes_back_as_it_was(entry: JournalEntry) -> None:
    assert entry_from(over(entry)) == entry


@settings(deadline=None)
@given(memories)
def test_equal_memories_have_equal_texts_and_a_full_form_says_the_same(memory: Memory) -> None:
    twin = replace(memory, metadata=dict(reversed(list(memory.metadata.items()))))
    assert dumps(twin) == dumps(memory)
    whole = to_plain(memory, full=True)
    assert set(whole) == {field.name for field in fields(Memory)}
    assert memory_from(whole) == memory


def test_every_field_of_a_memory_is_in_the_round_trip() -> None:
    """A field added to the type and forgotten in the strategy above would not be tested."""
    drawn = memories.wrapped_strategy.kwargs  # type: ignore[attr-defined]
    assert set(drawn) == {field.name for field in fields(Memory)}


def test_defaults_are_left_out_and_keys_are_sorted() -> None:
    memory = Memory(id="m", namespace="n", content="ü", created_at=T, updated_at=T)
    assert dumps(memory) == (
        '{"content":"ü","created_at":"2026-03-01T12:00:00Z","id":"m","namespace":"n","updated_at":"2026-03-01T12:00:00Z"}'
    )


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (AliasChange("m", "h", present=False), '{"hash":"h","memory_id":"m","present":false,"type":"alias"}'),
        (LinkChange(None, Link("a", "b")), '{"after":{"dst":"b","src":"a"},"before":null,"type":"link"}'),
        (MemoryChange(None, None), '{"after":null,"before":null,"type":"memory"}'),
        (Hit(Memory(id="m", namespace="n", content="c", created_at=T, updated_at=T), 0.5, {"recency": 1.0}), None),
        (WriteResult(outcome="rejected", memory=None), '{"memory":null,"outcome":"rejected"}'),
        ({"at": T, 3: (1, "x")}, '{"3":[1,"x"],"at":"2026-03-01T12:00:00Z"}'),
        ((Word("tea"), np.float32(0.5)), '["tea",0.5]'),
    ],
)
def test_values_of_every_layer_have_a_plain_form(value: object, text: str | None) -> None:
    assert json.loads(dumps(value)) == to_plain(value)
    assert text is None or dumps(value) == text


def test_counts_come_out_as_objects() -> None:
    stats = Stats("n", {"active": 2}, {}, {}, 0, 0, 0, 0, 3, "e", "p", 2)
    assert to_plain(stats)["memories"] == {"active": 2}


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (T, "2026-03-01T12:00:00Z"),
        (T + timedelta(microseconds=1), "2026-03-01T12:00:00.000001Z"),
        (T.astimezone(timezone(timedelta(hours=5, minutes=30))), "2026-03-01T12:00:00Z"),
        (datetime(1, 1, 1, tzinfo=UTC), "0001-01-01T00:00:00Z"),
    ],
)
def test_times_are_written_in_utc(at: datetime, text: str) -> None:
    assert iso(at) == text
    assert time_from(text) == at
    assert time_from(text).tzinfo is UTC


@pytest.mark.parametrize("text", ["2026-03-01T13:30:00+01:30", "2026-03-01T12:00:00Z", "2026-03-01T11:00:00-01:00"])
def test_a_time_of_any_zone_is_read_as_utc(text: str) -> None:
    assert (time_from(text), time_from(text).tzinfo) == (T, UTC)


@pytest.mark.parametrize("value", [datetime(2026, 1, 1), object(), {"k": [object()]}])  # noqa: DTZ001 - the case
def test_what_has_no_exact_form_is_refused(value: object) -> None:
    with pytest.raises(InvalidField):
        dumps(value)


@pytest.mark.parametrize(
    ("read", "plain"),
    [
        (memory_from, {"id": "m"}),
        (effect_from, {"type": "spell"}),
        (time_from, "2026-01-01T00:00:00"),
        (time_from, "0001-01-01T00:00:00+01:00"),
        (link_from, {"src": 1, "dst": "b"}),
        (memory_from, {"id": "m", "namespace": "n", "content": "c", "created_at": "soon", "updated_at": "soon"}),
    ],
)
def test_what_is_no_record_is_refused(read: Any, plain: Any) -> None:
    with pytest.raises((KeyError, TypeError, ValueError)):
        read(plain)


@settings(deadline=None, max_examples=50)
@given(memories, memories)
def test_the_digest_tells_records_apart_and_ignores_use(one: Memory, other: Memory) -> None:
    used = replace(one, access_count=one.access_count + 1, last_accessed_at=T, stability=9.0)
    assert digest(used) == digest(one)
    assert len(digest(one)) == 16
    as_one = replace(other, **{name: getattr(one, name) for name in USAGE})
    assert (digest(other) == digest(one)) is (dumps(as_one) == dumps(one))
    assert memory_from(json.loads(record_text(used))) == replace(
        one, access_count=0, last_accessed_at=None, stability=None
    )
