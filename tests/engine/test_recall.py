"""Recall: what holds now, found by meaning or by words, with nothing hidden that is in dispute."""

from __future__ import annotations

import pytest

from wellkept.errors import ContentTooLarge, EmptyContent, InvalidField, InvalidText, ModelUnavailable
from wellkept.types import Filter, NewMemory


def found(table, query, **options):
    return [hit.memory.content for hit in table.store.recall(query, **options)]


# --------------------------------------------------------------------------------------------
# Two ways to be found


@pytest.mark.parametrize(
    ("query", "identifier"),
    [
        ("PR #441", "PR #441 renames the export module"),
        ("what happened in PR#441?", "PR #441 renames the export module"),
        ("MemoryStore.recall", "MemoryStore.recall hides replaced rows"),
        ("settings.toml", "The limits are in settings.toml"),
        ("ERR_2041", "ERR_2041 means that the quota is used up"),
    ],
)
def test_an_exact_identifier_is_found_although_its_vector_is_mediocre(make, query, identifier):
    """Design §8: the union of both ways."""
    table = make()
    texts = [f"A vaguely similar text about item{n}" for n in range(30)]
    for text in texts:
        table.near(text, query, 0.17)
        table.store.remember(text)
    table.near(identifier, query, 0.05)
    table.store.remember(identifier)
    assert identifier in found(table, query, limit=3)


def test_a_text_without_a_common_word_is_found_by_meaning(make):
    table = make()
    table.near("Never trade on weekends", "investing rules for Saturdays", 0.8)
    for text in ("Never trade on weekends", "An unrelated remark"):
        table.store.remember(text)
    assert found(table, "investing rules for Saturdays", limit=1) == ["Never trade on weekends"]


def test_a_hit_tells_its_parts(make):
    table = make()
    table.near("Use ruff", "linting", 0.5)
    table.store.remember("Use ruff")
    (hit,) = table.store.recall("linting")
    assert hit.parts == {"cosine": 0.5, "lexical": 0.0}
    assert hit.score == pytest.approx(0.35)  # .7 of meaning, .3 of words


def test_the_best_come_first_and_no_more_than_asked_for(make):
    table = make()
    for number in range(10):
        table.near(f"Remark about item{number}", "the question", 0.3 - number * 0.02)
        table.store.remember(f"Remark about item{number}")
    assert found(table, "the question", limit=3, min_score=0) == [f"Remark about item{n}" for n in range(3)]
    scores = [hit.score for hit in table.store.recall("the question", limit=10, min_score=0)]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    ("first", "second", "winner"),
    [({"importance": 0.3}, {"importance": 0.9}, 1), ({"importance": 0.9}, {"importance": 0.3}, 0), ({}, {}, 1)],
)
def test_equal_hits_are_ordered_by_importance_then_the_newer(make, first, second, winner):
    """S2-12."""
    table = make()
    texts = ("Remark about apples", "Remark about bridges")
    for text, fields in zip(texts, (first, second), strict=True):
        table.near(text, "the question", 0.5)
        table.store.remember(text, **fields)
        table.clock.advance(hours=1)
    assert found(table, "the question")[0] == texts[winner]


def test_the_same_question_twice_has_the_same_answer(make):
    """I4: touching does not change the order."""
    table = make()
    for number in range(6):
        table.store.remember(f"Remark number about item{number}")
    assert found(table, "remark item3") == found(table, "remark item3")


def test_an_empty_store_gives_no_hits(table):
    assert table.store.recall("anything") == ()


# --------------------------------------------------------------------------------------------
# What is hidden


def test_what_was_replaced_forgotten_or_expired_is_hidden(make):
    """S2-20, S2-29, S3-11."""
    table = make()
    old = table.store.remember("The plan is alpha", kind="fact", subject="plan").memory
    new = table.store.remember("The plan is beta", kind="fact", subject="plan").memory
    table.store.forget(table.store.remember("The plan was a secret").memory.id)
    table.store.remember("The plan of the day", expires_at="2026-01-02T00:00:00Z")
    table.clock.advance(days=2)
    assert found(table, "plan") == ["The plan is beta"]
    with_old = table.store.recall("plan", include_superseded=True)
    assert {hit.memory.id for hit in with_old} == {old.id, new.id}


@pytest.mark.parametrize("mode", ["default", "hybrid"])
def test_where_what_was_replaced_is_shown_what_holds_now_comes_before_it(make, mode):
    """S2-29, S2-30: however well the older ones answer."""
    table = make()
    cosines = {"alpha": 0.4, "beta": 0.6, "gamma": 0.2, "other": 0.3}
    for name, cosine in cosines.items():
        table.near(f"Remark: {name}", "the plan", cosine)
    told = {name: table.store.remember(f"Remark: {name}", importance=0).memory for name in cosines}
    table.store.supersede(told["alpha"].id, told["beta"].id)
    table.store.supersede(told["beta"].id, told["gamma"].id)
    shown = [hit.memory.id for hit in table.store.recall("the plan", mode=mode, include_superseded=True)]
    names = [name for key in shown for name, row in told.items() if row.id == key]
    assert names == ["gamma", "beta", "alpha", "other"]
    plain = [hit.memory.id for hit in table.store.recall("the plan", mode="semantic", include_superseded=True)]
    assert plain == [told[name].id for name in ("beta", "alpha", "other", "gamma")]  # S2-10


@pytest.mark.parametrize(
    ("where", "expected"),
    [
        (Filter(kinds=("lesson",)), {"Remark about apples"}),
        (Filter(tags=("Red",)), {"Remark about apples", "Remark about cherries"}),
        (Filter(subject="FRUIT"), {"Remark about bananas"}),
        (Filter(kinds=("semantic",), tags=("red",)), {"Remark about cherries"}),
        (Filter(), {"Remark about apples", "Remark about bananas", "Remark about cherries"}),
    ],
)
def test_a_filter_narrows_the_answer(make, where, expected):
    table = make()
    table.store.remember("Remark about apples", kind="lesson", tags=["red"])
    table.store.remember("Remark about bananas", kind="fact", subject="fruit")
    table.store.remember("Remark about cherries", tags=["RED"])
    assert set(found(table, "remark", where=where)) == expected


@pytest.mark.parametrize("where", ["tags", "subject", "ids", "created_from"])
def test_what_a_filter_leaves_is_found_however_many_others_are_nearer(make, where):
    """B-15: the pool must not hide it."""
    table = make()
    for number in range(60):
        table.near(f"Crowd item{number}", "the question", 0.11)
        table.store.remember(f"Crowd item{number}")
    table.near("A quiet remark", "the question", 0.05)
    table.clock.advance(days=1)
    row = table.store.remember("A quiet remark", tags=["red"], subject="quiet").memory
    chosen = {
        "tags": Filter(tags=("red",)),
        "subject": Filter(subject="quiet"),
        "ids": Filter(ids=(row.id,)),
        "created_from": Filter(created_from=table.clock()),
    }[where]
    (hit,) = table.store.recall("the question", where=chosen, min_score=0)
    assert (hit.memory.id, hit.parts["cosine"]) == (row.id, 0.05)


def test_another_namespace_is_never_seen(table):
    """I8."""
    table.store.in_namespace("elsewhere").remember("Remark about apples")
    assert table.store.recall("Remark about apples") == ()


# --------------------------------------------------------------------------------------------
# Disputes


def test_open_conflicts_come_with_the_hit(make):
    """S2-38, F-12: detected at write time and reported at recall time."""
    table = make()
    table.near("Use ruff for linting", "Use flake8 for linting", 0.85)
    table.store.remember("Use ruff for linting")
    table.store.remember("Use flake8 for linting")
    hits = table.store.recall("linting")
    assert [len(hit.conflicts) for hit in hits] == [1, 1]
    assert hits[0].conflicts[0].reason == "value_diff"
    table.store.resolve(hits[0].conflicts[0].key, "keep_both")
    assert [hit.conflicts for hit in table.store.recall("linting")] == [(), ()]


def test_an_expired_conflict_is_not_told(make):
    table = make()
    table.near("Use ruff for linting", "Use flake8 for linting", 0.85)
    for text in ("Use ruff for linting", "Use flake8 for linting"):
        table.store.remember(text)
    table.clock.advance(days=15)
    assert [hit.conflicts for hit in table.store.recall("linting")] == [(), ()]


# --------------------------------------------------------------------------------------------
# Every script, every query


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("测试数据库监听端口5433", "数据库"),
        ("テストデータベースはポート5433を使う", "データベース"),
        ("Тестовая база данных слушает порт 5433", "БАЗА ДАННЫХ"),
        ("Die Prüfdatenbank läuft auf Port 5433", "LÄUFT"),
        ("La base de données écoute", "ecoute"),
        ("قاعدة البيانات تعمل", "البيانات"),
        ("מסד הנתונים מאזין", "הנתונים"),
        ("डेटाबेस चालू है", "डेटाबेस"),
        ("ฐานข้อมูลทดสอบ", "ข้อมูล"),
        ("We compile it as C++", "C++"),
    ],
)
def test_a_text_in_any_script_is_found_by_its_words(make, text, query):
    """I10."""
    table = make()
    table.store.remember(text)
    for number in range(8):
        table.store.remember(f"An unrelated remark about item{number}")
    hits = table.store.recall(query, limit=1)
    assert [hit.memory.content for hit in hits] == [text]
    assert hits[0].parts["lexical"] == 1.0


@pytest.mark.parametrize(
    "query",
    [
        'port" OR 1=1 --',
        "port AND NOT database",
        "NEAR(port database, 5)",
        "content : port",
        "port*",
        '"unclosed',
        "'; DROP TABLE memory; --",
        "(port",
        "port)",
        "^port",
        "-port",
        "+port",
        "{port}",
        "port\\",
        "%port_",
        "port\tdatabase\nlistens",
        "\u202eport",
        "🚀 port 🚀",
        "port " * 4000,
        "p" * 20_000,
        "?",
    ],
)
def test_a_query_is_text_and_never_an_expression(make, query):
    """Text is untrusted."""
    table = make()
    table.store.remember("The database listens on port 5433")
    hits = table.store.recall(query, min_score=0.2)
    assert len(table.rows()) == 1
    if "port" in query.split():
        assert [hit.memory.content for hit in hits] == ["The database listens on port 5433"]


@pytest.mark.parametrize(
    ("query", "error"),
    [
        ("", EmptyContent),
        (" \n\t ", EmptyContent),
        ("x" * 20_001, ContentTooLarge),
        ("nul\x00", InvalidText),
        ("half \ud800", InvalidText),
        (None, InvalidField),
        (b"bytes", InvalidField),
    ],
)
def test_a_query_that_is_no_text_is_refused(table, query, error):
    with pytest.raises(error) as caught:
        table.store.recall(query)
    assert caught.value.todo


@pytest.mark.parametrize("limit", [0, -1, 1001, 2.5, True, "5", None])
def test_a_limit_is_a_whole_number_in_bounds(table, limit):
    with pytest.raises(InvalidField) as caught:
        table.store.recall("x", limit=limit)
    assert caught.value.where == "limit"


# --------------------------------------------------------------------------------------------
# Use


def test_a_hit_counts_as_used_and_a_look_does_not(make):
    """D1: search bumps count and last access; only a read by id makes it last longer."""
    table = make()
    row = table.store.remember("Remark about apples", kind="lesson").memory
    table.clock.advance(days=1)
    table.store.recall("apples", touch=False)
    assert table.store.get(row.id, touch=False) == row
    table.store.recall("apples")
    held = table.store.get(row.id, touch=False)
    assert (held.access_count, held.last_accessed_at, held.stability) == (1, table.clock(), None)
    table.store.get(row.id)
    held = table.store.get(row.id, touch=False)
    assert (held.access_count, held.stability) == (2, pytest.approx(90 * 2.55))
    assert (held.version, len(table.store.journal())) == (1, 1)


def test_recall_works_without_the_model(make):
    """I7: by words alone."""
    table = make()
    table.store.remember("Remark about apples")
    table.fake.fail_with = ModelUnavailable("down")
    (hit,) = table.store.recall("apples")
    assert dict(hit.parts) == {"lexical": 1.0}


def test_a_memory_stored_during_an_outage_is_found_by_its_words(make):
    table = make()
    table.fake.fail_with = ModelUnavailable("down")
    table.store.remember("Remark about apples")
    table.fake.fail_with = None
    assert found(table, "apples") == ["Remark about apples"]


def test_title_subject_and_tags_are_searched_too(make):
    table = make()
    table.store.remember(NewMemory(content="Open at nine", title="Bakery", subject="breadshop", tags=("sourdough",)))
    for word in ("bakery", "breadshop", "sourdough", "nine"):
        assert found(table, word, limit=1) == ["Open at nine"]


def test_a_review_that_nobody_made_does_not_bring_the_older_statement_back(make):
    """E-3.8: upkeep resolves expired conflicts as keep_both; the newer statement still comes first."""
    table = make()
    old, new = "The service listens on port 8080.", "The service listens on port 9090."
    table.near(old, new, 0.97)
    table.near(old, "port", 0.9)
    table.near(new, "port", 0.8)
    table.store.remember(old, kind="lesson")
    table.clock.advance(days=1)
    table.store.remember(new, kind="lesson")
    assert found(table, "port") == [new, old]
    table.clock.advance(days=15)
    assert table.store.expire_conflicts() == 1
    assert found(table, "port") == [new, old]
