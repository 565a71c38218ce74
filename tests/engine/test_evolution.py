"""Three stages and evolution: hashes first, near texts grow a memory (source 004).

The relation model of these tests leaves every pair to rules and similarity (`FakeRelationModel.defers`), which the
packaged one never does: bounds can so be tried to the fourth decimal. The twins with the packaged models stand in
`scenarios/test_shipped_bands.py` and `scenarios/test_example_sentences.py`.
"""

from __future__ import annotations

import pytest

from letter import to_the_letter
from wellkept.core.records.merge import evolution
from wellkept.core.records.vectors import cosine
from wellkept.errors import ModelUnavailable
from wellkept.types import NewMemory

K1, K2 = "Deploys are started by hand", "Releases go through the platform team"


def know(table, content, **fields):
    return table.store.remember(content, kind="knowledge", **fields)


def pair(table, value, old=K1, new=K2):
    table.near(old, new, value)
    return know(table, old).memory


def grow(table, start, texts, similarity=0.7):
    """A memory that takes each of the texts as an update; each is near the whole so far."""
    whole = start
    row = know(table, start).memory
    for text in texts:
        table.fake.relate(whole, text, similarity)
        result = know(table, text)
        assert result.outcome == "evolved", result
        row = result.memory
        whole = row.content
    return row


# --------------------------------------------------------------------------------------------
# Stages


@pytest.mark.parametrize(
    ("text", "stage", "similarity"),
    [
        ("Use SQLite", "content_hash", 1.0),  # S4-1
        ("use sqlite!", "canonical_hash", 0.95),  # S4-2, F-15
        ("Use  SQLite", "canonical_hash", 0.95),  # S4-2
        ("«Use SQLite.»", "canonical_hash", 0.95),
    ],
)
def test_the_hash_stages_come_first_and_ask_no_model(make, text, stage, similarity):
    """S4-1, S4-2, S4-4, S4-6, F-15."""
    table = make()
    stored = know(table, "Use SQLite").memory
    calls = table.fake.calls
    result = know(table, text)
    (match,) = result.matches
    assert (result.outcome, match.memory_id) == ("duplicate", stored.id)
    assert (match.stage, match.similarity) == (stage, similarity)
    assert table.fake.calls == calls
    assert table.rows() == ["Use SQLite"]  # S4-17: the first entry wins


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ("1.5 GB", "15 GB"),
        ("C++", "C"),
        ("使用数据库", "使用缓存"),
        ("-5", "5"),
        ("v1.2", "v12"),
        ("!important", "important"),
    ],
)
def test_the_canonical_form_does_not_lose_what_carries_meaning(make, a, b):
    """S4-2, I10, B-13."""
    table = make()
    know(table, f"limit {a}")
    assert know(table, f"limit {b}").outcome == "created"


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (1.0, "restated"),
        (0.8801, "restated"),  # F-17
        (0.8800, "evolved"),  # S4-8, F-16
        (0.7000, "evolved"),
        (0.6500, "evolved"),
        (0.6499, "created"),
        (0.1000, "created"),
    ],
)
def test_the_bands_have_exact_bounds_by_injected_similarity(make, value, outcome):
    """S4-3, S4-8, S4-20, B-1, B-17, F-16, F-17: .88 and .65 both evolve."""
    table = make()
    stored = pair(table, value)
    result = know(table, K2)
    assert result.outcome == outcome
    assert (result.memory.id == stored.id) is (outcome != "created")
    if outcome == "restated":
        assert result.matches[0].stage == "vector" and result.matches[0].similarity == value
        assert result.reasons[0].rule == "similarity_skip"
        assert (table.rows("active"), table.rows("wording")) == ([K1], [K2])


@pytest.mark.parametrize(("value", "outcome"), [(1.0, "duplicate"), (0.8801, "duplicate"), (0.8800, "evolved")])
def test_where_repeats_are_dropped_the_same_bands_drop_them(make, value, outcome):
    """S4-3, S4-8: the letter of the source."""
    table = make(policy=to_the_letter())
    stored = pair(table, value)
    result = know(table, K2)
    assert (result.outcome, result.memory.id, len(table.rows())) == (outcome, stored.id, 1)
    assert result.message.startswith("Duplicate") is (outcome == "duplicate")


@pytest.mark.parametrize("value", [0.65, 0.7, 0.88, 0.95, 0.99])
@pytest.mark.parametrize(
    ("old", "new"), [("threshold 0.85", "threshold 0.95"), ("MRR +5%", "MRR -5%"), ("Use X", "Never use X")]
)
def test_a_contradiction_is_never_skipped_and_never_appended(make, value, old, new):
    """I2, B-6, F-9, F-10: two rows and one conflict on this path too."""
    table = make()
    pair(table, value, old, new)
    result = know(table, new)
    assert (result.outcome, len(result.conflicts)) == ("created", 1)
    assert table.rows("active") == [old, new]


@pytest.mark.parametrize("kind", ["summary", "temp_note"])
def test_other_kinds_are_never_grown_into_each_other(make, kind):
    """S4-16."""
    table = make()
    pair(table, 0.8)
    assert table.store.remember(K2, kind=kind).outcome == "created"


def test_without_vectors_the_hash_stages_remain(make):
    """S4-3: graceful degradation."""
    table = make()
    pair(table, 0.99)
    table.fake.fail_with = ModelUnavailable("down")
    assert know(table, K1.upper()).outcome == "duplicate"
    degraded = know(table, K2)
    assert (degraded.outcome, degraded.degraded) == ("created", ("embedding",))


def test_an_unreadable_text_is_never_the_same_by_its_vector(make):
    """S4-3, B-34: two texts of unknown signs."""
    table = make()
    table.fake.unreadable |= {"ᛗᚨᚾᚾ", "ᚠᛖᚺᚢ"}
    first, second = know(table, "ᛗᚨᚾᚾ"), know(table, "ᚠᛖᚺᚢ")
    assert (first.outcome, second.outcome) == ("created", "created")
    assert second.degraded == ("unreadable",)
    assert know(table, "ᛗᚨᚾᚾ").outcome == "duplicate"


def test_long_texts_are_not_the_same_by_one_vector(make):
    """B-33: beyond the embedder's limit only the same sentences are the same."""
    table = make()
    long = "The first part tells how the export is built. " * 30
    other = "The second part tells who may start it. " * 30
    table.fake.chunks |= {long: 4, other: 4}
    pair(table, 0.99, long, other)
    assert know(table, other).outcome != "duplicate"
    assert long in table.rows()[0] or table.rows()[0] == long


def test_long_texts_of_the_same_words_are_known_by_their_hash(make):
    """B-33: the hash is of the whole text, always."""
    table = make()
    long = "Part. " * 2000
    know(table, long)
    assert know(table, long).outcome == "duplicate"
    assert know(table, long.upper()).outcome == "duplicate"


# --------------------------------------------------------------------------------------------
# Evolution


def test_an_evolved_memory_keeps_the_original_and_appends_by_injected_similarity(make):
    """S4-10, S4-11, S4-12, S4-20, F-16: the added text is also a wording, so that its own words find it."""
    table = make()
    stored = pair(table, 0.88)
    table.clock.advance(days=3)
    result = know(table, K2)
    assert result.memory.content == f"{K1}\n\n[2026-01-04] {K2}"
    assert (result.memory.id, result.memory.evolution_count, result.memory.version) == (stored.id, 1, 2)
    assert evolution(result.memory) == {
        "evolution_count": 1,
        "last_evolution": table.clock().isoformat(),
        "history": [{"date": "2026-01-04", "preview": K2, "similarity": 0.88}],
    }
    assert (table.rows("active"), table.rows("wording")) == ([result.memory.content], [K2])
    assert "update 1" in result.message


def test_the_same_update_twice_is_skipped(make):
    """B-8, F-16, I5: the absorbed text is known by its hashes."""
    table = make()
    stored = pair(table, 0.88)
    know(table, K2)
    for text in (K2, K2.lower() + "!", K1):
        again = know(table, text)
        assert (again.outcome, again.memory.id, again.memory.evolution_count) == ("duplicate", stored.id, 1)
    assert (len(table.rows("active")), table.rows("wording")) == (1, [K2])


def test_the_vector_follows_the_grown_text(make):
    """S4-13 is obsolete: B-8, F-18."""
    table = make()
    pair(table, 0.8)
    row = know(table, K2).memory
    ctx = table.store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        stored = tx.vectors((row.embedding,))[row.embedding]
    (fresh,) = table.fake.embed([row.content])
    assert cosine(stored, fresh.vector) == pytest.approx(1.0, abs=1e-3)
    assert table.store.verify() == ()


TWELVE = [
    "Releases go through the platform team",
    "Nobody ships before lunch",
    "The changelog is written first",
    "Screenshots belong into the ticket",
    "Rollbacks are practised quarterly",
    "Customers hear about outages by mail",
    "Translations arrive from an agency",
    "Licences are checked automatically",
    "Old branches get deleted",
    "Backups leave the building nightly",
    "Secrets live in a vault",
    "Interns may watch everything",
]


def test_a_memory_grows_by_ten_texts_and_the_next_are_its_wordings_by_injected_similarity(make):
    """Every text stays readable and is known again; the memory shows its original and ten additions."""
    table = make()
    row = grow(table, K1, TWELVE[:10])
    more = [TWELVE[10], "Guests sign in at the gate"]
    for text in more:
        table.fake.relate(row.content, text, 0.7)
        result = know(table, text)
        assert (result.outcome, result.memory.id, result.reasons[0].rule) == ("restated", row.id, "no_room_to_grow")
    assert table.rows("active") == [row.content] and all(text in row.content for text in (K1, *TWELVE[:10]))
    assert table.rows("wording") == [*TWELVE[:10], *more]
    for text in (*TWELVE[:10], *more):
        assert know(table, text).outcome == "duplicate"


def test_a_memory_that_grew_twelve_times_keeps_every_text_readable_by_injected_similarity(make):
    """S4-11, S4-20, S4-21, B-7, F-18: the letter of the source, where no wordings are kept."""
    table = make(policy=to_the_letter())
    texts = TWELVE
    row = grow(table, K1, texts)
    assert (row.evolution_count, len(row.updates)) == (12, 10)
    assert [item["preview"] for item in evolution(row)["history"]] == texts[2:]
    assert row.content.startswith(K1) and texts[0] not in row.content and texts[11] in row.content
    assert row.metadata["needs_review"]
    told = "\n".join(version.memory.content for version in table.store.history(row.id))
    assert all(text in told for text in (K1, *texts))
    for text in texts:
        assert know(table, text).outcome == "duplicate"


def test_growth_can_be_taken_back(make):
    """I1, B-7: the old text is in the history."""
    table = make()
    stored = pair(table, 0.8)
    result = know(table, K2)
    table.store.undo(result.entry)
    assert table.store.get(stored.id, touch=False) == stored
    assert know(table, K2).outcome == "evolved"


# --------------------------------------------------------------------------------------------
# Batches


def test_a_batch_counts_what_became_of_its_items_by_injected_similarity(make):
    """S4-14, S4-15, S4-20, S4-22."""
    table = make()
    table.near(K1, K2, 0.8)
    batch = table.store.remember_many(
        [
            {"content": K1, "kind": "knowledge"},
            {"content": K1.upper(), "kind": "knowledge"},  # sees its predecessor
            {"content": "", "kind": "knowledge"},
            {"content": K2, "kind": "knowledge"},
            {"content": "x" * 90, "kind": "no such kind"},
            {"content": "An unrelated text about lighthouses", "kind": "knowledge"},
        ]
    )
    assert dict(batch.counts) == {"created": 2, "duplicate": 1, "evolved": 1}
    outcomes = [result.outcome if result else None for result in batch.results]
    assert outcomes == ["created", "duplicate", None, "evolved", None, "created"]
    assert [(error.index, error.error) for error in batch.errors] == [(2, "EmptyContent"), (4, "UnknownKind")]
    assert len(batch.errors[1].excerpt) <= 50 and "no such kind" in batch.errors[1].message


def test_a_batch_is_embedded_in_one_call(make):
    """S4-14: it embeds what lacks a vector, and nothing twice."""
    table = make()
    table.store.remember_many([{"content": f"Text number {n}", "kind": "knowledge"} for n in range(20)])
    assert table.fake.calls == 1
    assert len(table.fake.texts_seen) == 20


def test_a_batch_again_changes_nothing(make):
    """I5, B-8: 0 created, 0 evolved."""
    table = make()
    table.near(K1, K2, 0.8)
    items = [{"content": text, "kind": "knowledge"} for text in (K1, K2, "An unrelated text about lighthouses")]
    table.store.remember_many(items)
    before = table.snapshot()
    again = table.store.remember_many(items)
    assert table.snapshot() == before
    assert "created" not in again.counts and "evolved" not in again.counts


def test_an_item_of_a_batch_may_be_text_mapping_or_memory(make):
    table = make()
    batch = table.store.remember_many(["Use ruff", {"content": "Use uv", "tags": ["x"]}, NewMemory(content="Use mypy")])
    assert [result.memory.content for result in batch.results] == ["Use ruff", "Use uv", "Use mypy"]


def test_a_long_batch_is_written_in_order(make):
    table = make()
    texts = [f"Statement about item{n}" for n in range(300)]
    batch = table.store.remember_many(texts)
    assert dict(batch.counts) == {"created": 300}
    assert table.rows() == texts
