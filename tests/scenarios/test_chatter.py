"""Chatter on its way into a store: refused, journaled, brought back, and kept where somebody asks for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import wellkept
from stores import Desk, desk
from wellkept import MemoryStore
from wellkept.core.judging.chatter import Chatter
from wellkept.testing.embedder import FakeEmbedder
from wellkept.types import Vector

LUNCH, MAYBE, FACT = "off to lunch", "the kettle is on", "Invoices are sent on Mondays."
SPEAKING = ("chatter", "junk", "low_importance")
TOLD = {LUNCH: 0.97, MAYBE: 0.7}


class Told:
    """A head whose probabilities the test declares."""

    def read(self, text: str, _: Vector) -> Chatter:
        return Chatter(TOLD.get(text, 0.01), 0.9, 0.6)


@pytest.fixture
def make(backend: str, tmp_path: Path) -> Iterator[Callable[..., Desk]]:
    """Opens stores whose embedder knows chatter, or not."""
    with ExitStack() as stack:

        def another(*, knows: bool = True, **options: Any) -> Desk:
            fake = FakeEmbedder(dim=64)
            if knows:
                fake.chatter = Told()  # type: ignore[attr-defined]
            made = desk(backend, tmp_path, name=f"{len(list(tmp_path.iterdir()))}.db", fake=fake, **options)
            stack.callback(made.store.close)
            return made

        yield another


def test_chatter_is_refused_in_words_and_brought_back_whole(make):
    store = make().store
    checked, told = store.check(LUNCH, kind="note"), store.remember(LUNCH, kind="note")
    assert (checked.outcome, checked.reasons) == (told.outcome, told.reasons) == ("rejected", told.reasons)
    assert "it says nothing worth keeping (probability 0.9700)" in told.message
    entry = store.journal(newest=1)[0]
    assert (entry.outcome, entry.dropped.content, store.list()) == ("rejected", LUNCH, ())
    store.restore(told.dropped)
    assert [(row.content, row.importance) for row in store.list()] == [(LUNCH, 0.5)]


def test_likely_chatter_weighs_little_and_says_so(make):
    store = make().store
    told = store.remember(MAYBE, kind="note")
    assert (told.outcome, told.memory.importance) == ("created", 0.2)
    assert "low_importance" in [reason.rule for reason in told.reasons]
    assert store.check(MAYBE, kind="note").outcome == "duplicate"


def test_keep_stores_it_alone_and_in_a_batch(make):
    store = make().store
    assert store.remember(LUNCH, kind="note", keep=True).memory.importance == 0.5
    batch = store.remember_many(
        [{"content": MAYBE, "kind": "note", "keep": True}, {"content": LUNCH, "kind": "fact"}, FACT]
    )
    assert [one.outcome for one in batch.results] == ["created", "rejected", "created"]
    assert batch.results[0].memory.importance == 0.5
    assert store.remember("ok thanks", kind="note", keep=True).reasons[0].rule == "junk"


def test_without_a_head_nothing_is_refused_by_meaning(make):
    store = make(knows=False).store
    assert [store.remember(text, kind="note").memory.importance for text in (LUNCH, MAYBE)] == [0.5, 0.5]


def test_chatter_that_is_stored_is_known_and_not_judged_again(make):
    store = make().store
    kept = store.remember(LUNCH, kind="note", keep=True)
    assert store.remember(LUNCH, kind="note").id == kept.id
    store.revise(kept.id, content=MAYBE)
    assert store.get(kept.id).importance == 0.5


def test_an_outage_of_the_embedder_refuses_nothing(make):
    made = make()
    made.fake.fail_with = wellkept.errors.ModelError("down")
    assert made.store.remember(LUNCH, kind="note").outcome == "created"


def test_a_key_from_before_the_field_is_still_known(make):
    store = make().store
    first = store.remember(FACT, kind="note", idempotency_key="k")
    assert store.remember(FACT, kind="note", idempotency_key="k", keep=False).id == first.id
    with pytest.raises(wellkept.errors.IdempotencyMismatch):
        store.remember(FACT, kind="note", idempotency_key="k", keep=True)


def test_a_replay_under_the_same_policy_finds_nothing_changed(make):
    store = make().store
    for text, keep in ((LUNCH, True), (MAYBE, False), (FACT, False)):
        store.remember(text, kind="note", keep=keep)
    store.remember(LUNCH, kind="lesson")
    assert not store.replay(store._ctx.policy).differences


# --------------------------------------------------------------------------------------------
# The packaged head


@pytest.fixture(scope="module")
def packaged() -> Iterator[MemoryStore]:
    with wellkept.open("memory:") as store:
        yield store


def fate(store: MemoryStore, text: str) -> tuple[str, str]:
    """The outcome of a text on an empty namespace, and the rule that speaks of chatter, if one does."""
    checked = store.in_namespace(sha256(text.encode()).hexdigest()).check(text, kind="note")
    return checked.outcome, next((one.rule for one in checked.reasons if one.rule in SPEAKING), "")


KEPT, LOW = ("created", ""), ("created", "low_importance")
REFUSED, FILLER = ("rejected", "chatter"), ("rejected", "junk")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Tea at four.", KEPT),
        ("Alice leads billing.", KEPT),
        ("Prefer tabs.", KEPT),
        ("Alice leitet die Abrechnung.", KEPT),
        ("Backups laufen nachts.", KEPT),
        ("Té a las cuatro.", KEPT),
        ("Alice dirige la facturación.", KEPT),
        ("Чай в четыре.", KEPT),
        ("Алиса руководит биллингом.", KEPT),
        ("お茶は四時。", KEPT),
        ("アリスは請求を担当している。", KEPT),
        ("四点喝茶。", KEPT),
        ("爱丽丝负责账单。", KEPT),
        ("The key is under the mat", KEPT),
        ("indent: tabs", KEPT),
        ("缩进：制表符", KEPT),
        ("Soy vegano", KEPT),
        ("Ich mag Tee", KEPT),
        ("お茶が好きです", KEPT),
        ("我喜欢茶", KEPT),
        ("Who pays?", KEPT),
        ("誰が鍵を持っている？", KEPT),
        ("on my way home", LOW),
        ("any news?", LOW),
        ("coffee?", REFUSED),
        ("haha:D", REFUSED),
        ("¿todo bien?", REFUSED),
        ("noch kurz Kaffee holen", REFUSED),
        ("日本はもう夜です", REFUSED),
        ("off to lunch", REFUSED),
        ("still waiting for the build", REFUSED),
        ("Guten Morgen zusammen", REFUSED),
        ("un segundo, lo miro", REFUSED),
        ("До завтра", REFUSED),
        ("また明日", REFUSED),
        ("大家早上好", REFUSED),
        ("good morning everyone", REFUSED),
        ("have a nice weekend!", REFUSED),
        ("let me check that", REFUSED),
        ("bis morgen", REFUSED),
        ("jaja qué bueno", REFUSED),
        ("明天见", REFUSED),
        ("thanks a lot!", FILLER),
        ("alles klar, danke", FILLER),
        ("Большое спасибо!", FILLER),
        ("お疲れ様です", FILLER),
    ],
)
def test_small_talk_is_told_from_facts_in_several_languages(packaged, text, expected):
    assert fate(packaged, text) == expected


@pytest.mark.parametrize(
    "text",
    [
        *("Use mypy", "Tea at four.", "Alice leads billing.", "Ana is vegan.", "The door code changed."),
        *("Nutze mypy", "Tee um vier.", "Alice leitet die Abrechnung.", "Ana ist Veganerin.", "Jonas mag Tee."),
        *("Usa mypy", "Té a las cuatro.", "Alice dirige la facturación.", "Ana es vegana."),
        *("Utilise mypy", "Thé à quatre heures.", "Alice dirige la facturation."),
        *("Используй mypy", "Чай в четыре.", "Алиса руководит биллингом.", "Анна — веган.", "Бэкапы идут ночью."),
        *("mypyを使う", "お茶は四時。", "アリスは請求を担当している。", "アナはビーガンです。"),
        *("使用 mypy", "四点喝茶。", "爱丽丝负责账单。", "安娜吃素。", "备份在夜里运行。"),
    ],
)
def test_a_plain_fact_of_one_short_sentence_is_stored(packaged, text):
    """Some of them with low importance: a command of two words resembles what is said in passing."""
    assert fate(packaged, text)[0] == "created"


@pytest.mark.parametrize(
    "text",
    [
        *("see app.config", "looking at maxRetries", "retry_limit again", "checking src/app/main.py now"),
        *("back on v2.1", "running pytest --lf", "ok, `make test` now", "waiting for build()", "PORT=8080 now"),
        *("mypyを使う", "сейчас смотрю pytest", "我看一下 Kafka"),
    ],
)
def test_the_head_does_not_speak_of_code(packaged, text):
    assert fate(packaged, text) == KEPT
