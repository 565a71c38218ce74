"""The judge of a store: asked outside the transaction, heard last, and never a reason to lose anything (I7)."""

from __future__ import annotations

import threading
import time

import pytest

import wellkept
from chat_server import ChatServer, verdict
from wellkept.errors import ModelUnavailable
from wellkept.models.judges.timeboxed import TimeBoxed
from wellkept.testing.relations import FakeRelationModel

OLD, NEW = "Ana works at Acme", "Globex hired her in May"


class Judge:
    """Gives the same answer for every pair, or calls a function of the test."""

    id = "judge 7"

    def __init__(self, told=1.0):
        self.told, self.asked = told, []

    def judge(self, pairs):
        self.asked.append(list(pairs))
        if isinstance(self.told, Exception):
            raise self.told
        return self.told(pairs) if callable(self.told) else [self.told for _ in pairs]


def written(table, *, cosine=0.7, old=OLD, new=NEW, **fields):
    table.near(old, new, cosine)
    stored = table.store.remember(old, **fields).memory
    return stored, table.store.remember(new, **fields)


def test_a_judge_lists_a_conflict_that_nobody_else_found(make):
    judge = Judge()
    table = make(judge=judge)
    stored, result = written(table)
    assert judge.asked == [[(OLD, NEW)]]
    (conflict,) = result.conflicts
    assert (conflict.a, conflict.b, conflict.reason) == (stored.id, result.memory.id, "judge")
    assert (result.outcome, result.degraded, result.memory.checked) == ("created", (), True)
    assert [reason.rule for reason in result.reasons] == ["conflict_judge"]
    assert "possible conflict" in result.message and stored.id in result.message
    assert table.store.conflicts() == (conflict,)
    assert table.rows("active") == [OLD, NEW]
    assert table.store.journal()[-1].conflict_keys == (conflict.key,)
    table.store.undo(result.entry)
    assert table.store.conflicts() == () and table.rows("active") == [OLD]


def test_another_name_that_a_sure_model_takes_for_the_same_stays_a_memory_and_a_judge_is_asked(make):
    """I2: the relation reads `same`, which permits neither skip nor merge."""
    old, new = "Contracts are signed by Mara", "It is Ilse who puts her name under contracts"
    model, judge = FakeRelationModel(), Judge()
    model.declare(old, new, same=1.0)
    table = make(judge=judge, relation_model=model)
    _, result = written(table, cosine=0.99, old=old, new=new)
    assert [match.relation for match in result.matches] == ["same"]
    assert judge.asked == [[(old, new)]]
    assert (result.outcome, [conflict.reason for conflict in result.conflicts]) == ("created", ["judge"])
    assert table.rows("active") == [old, new]


def test_without_a_judge_nobody_is_asked(make):
    _, result = written(make())
    assert (result.outcome, result.conflicts, result.degraded) == ("created", (), ())


def test_a_check_says_what_the_write_will_and_both_cost_one_question(make):
    judge = Judge()
    table = make(judge=judge)
    table.near(OLD, NEW, 0.7)
    table.store.remember(OLD)
    before = table.snapshot()
    told = table.store.check(NEW)
    assert [conflict.reason for conflict in told.conflicts] == ["judge"]
    assert table.snapshot() == before
    assert [conflict.reason for conflict in table.store.remember(NEW).conflicts] == ["judge"]
    assert judge.asked == [[(OLD, NEW)]]


@pytest.mark.parametrize(("cosine", "new"), [(0.59, NEW), (0.99, OLD + "!"), (0.9, "Ana does not work at Acme")])
def test_it_is_not_asked_about_the_far_the_same_and_the_known(make, cosine, new):
    judge = Judge()
    table = make(judge=judge)
    written(table, cosine=cosine, new=new)
    assert judge.asked == []


@pytest.mark.parametrize("on_conflict", ["supersede", "raise"])
def test_its_word_neither_hides_nor_refuses(make, on_conflict):
    """E-3.5: kept both, and flagged."""
    table = make(judge=Judge())
    table.near(OLD, NEW, 0.99)
    table.store.remember(OLD)
    result = table.store.remember(NEW, on_conflict=on_conflict)
    assert (result.outcome, table.rows("active")) == ("created", [OLD, NEW])


def test_a_restatement_is_kept_behind_its_head_whatever_a_judge_thinks(make):
    judge = Judge()
    table = make(judge=judge)
    _, result = written(table, cosine=0.97, new="At Acme Ana works", kind="lesson")
    assert (result.outcome, judge.asked) == ("restated", [])


def test_ones_own_function_and_a_judge_may_serve_together_and_each_is_asked_once(make):
    """S2-24 stays as it is: asked inside the decision, with the memories themselves."""
    heard = []

    def mine(old, new):
        heard.append((old.content, new.content))
        return False

    judge = Judge()
    _, result = written(make(judge=judge, contradiction_fn=mine), cosine=0.85)
    assert [conflict.reason for conflict in result.conflicts] == ["judge"]
    assert heard == [(OLD, NEW)] and judge.asked == [[(OLD, NEW)]]


def test_what_ones_own_function_found_is_no_question_for_a_judge(make):
    """S2-24. The judge may be asked ahead, but only the function is heard."""
    _, result = written(make(judge=Judge(), contradiction_fn=lambda old, new: True), cosine=0.85)
    assert [conflict.reason for conflict in result.conflicts] == ["custom_fn"]


def all_near(table, texts):
    """Every two of them at .65."""
    for place, text in enumerate(texts):
        for other in texts[:place]:
            table.near(other, text, 0.65)


FAILURES = [
    ModelUnavailable("down"),
    ZeroDivisionError("a secret text"),
    lambda pairs: [],
    lambda pairs: None,
    lambda pairs: [0.5, 0.5, 0.5],
    lambda pairs: [float("nan")],
    lambda pairs: [-0.1],
    lambda pairs: [1.1],
    lambda pairs: ["1.0"],
    lambda pairs: [[1.0]],
    lambda pairs: (pair[2] for pair in pairs),
]


@pytest.mark.parametrize("told", FAILURES)
def test_a_judge_may_fail_in_any_way(make, told, caplog):
    """I7: stored, marked, told; found again by the sweep once the judge is back."""
    judge = Judge(told)
    table = make(judge=judge)
    stored, result = written(table)
    assert (result.outcome, result.degraded, result.conflicts) == ("created", ("judge",), ())
    assert table.store.get(result.memory.id).checked is False
    assert table.store.journal()[-1].degraded == ("judge",)
    assert "Judge failed" in caplog.text and "secret" not in caplog.text
    judge.told = 1.0
    counts = table.store.reembed()
    assert (counts["checked"], counts["conflicts"]) == (1, 1)
    (conflict,) = table.store.conflicts()
    assert (conflict.a, conflict.reason) == (stored.id, "judge")
    assert table.store.get(result.memory.id).checked is True


def test_a_late_judge_has_not_answered_and_the_write_goes_on(make):
    let = threading.Event()
    judge = Judge(lambda pairs: [1.0] if let.wait(20) else [])
    table = make(judge=TimeBoxed(judge, seconds=0.05))
    started = time.monotonic()
    _, result = written(table)
    assert time.monotonic() - started < 15
    let.set()
    assert (result.outcome, result.degraded, table.rows("active")) == ("created", ("judge",), [OLD, NEW])


def test_after_a_failure_a_batch_asks_no_more_and_marks_what_it_could_not_ask(make):
    judge = Judge(ModelUnavailable("down"))
    table = make(judge=judge)
    texts = [f"Note {word} on its own" for word in ("alpha", "beta", "gamma")]
    all_near(table, [OLD, *texts])
    table.store.remember(OLD)
    batch = table.store.remember_many([*texts, "The fair opens in spring."])
    assert [result.degraded for result in batch.results] == [("judge",), ("judge",), ("judge",), ()]
    assert len(judge.asked) == 1


def test_a_batch_asks_about_its_own_items_too(make):
    judge = Judge()
    table = make(judge=judge)
    table.near(OLD, NEW, 0.7)
    batch = table.store.remember_many([OLD, NEW])
    assert [len(result.conflicts) for result in batch.results] == [0, 1]
    assert judge.asked == [[(OLD, NEW)]]


def test_one_write_costs_one_batch_of_at_most_four_pairs(make):
    judge = Judge(0.0)
    table = make(judge=judge)
    texts = [f"Note {word} on its own" for word in ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")]
    all_near(table, [*texts, NEW])
    for text in texts:
        table.store.remember(text, on_conflict="ignore")
    assert judge.asked == []
    table.store.remember(NEW)
    assert [len(pairs) for pairs in judge.asked] == [4]


class Meddler(Judge):
    """Reads and writes the store while it is asked: impossible inside the transaction."""

    store = None

    def judge(self, pairs):
        with wellkept.open(self.store, embedder="hashing", relation_model="none") as other:
            assert other.in_namespace("elsewhere").remember("Written meanwhile.").outcome in ("created", "duplicate")
        return super().judge(pairs)


def test_it_is_asked_outside_the_transaction(tmp_path):
    """I3: a writer of the same file is not kept waiting for a model."""
    judge = Meddler()
    judge.store = str(tmp_path / "memory.db")
    with wellkept.open(judge.store, embedder="hashing", relation_model="none", judge=judge) as store:
        store.remember("Ana Lopez works at the Acme office in Berlin")
        result = store.remember("Ana Lopez works at the Acme office in Berlin with Bo and Cem")
    assert judge.asked and result.degraded.count("judge") == 0


def test_a_rewritten_memory_is_judged_anew(make):
    judge = Judge()
    table = make(judge=judge)
    table.near(OLD, NEW, 0.7)
    table.store.remember(OLD)
    other = table.store.remember("The fair opens in spring.").memory
    table.store.revise(other.id, content=NEW)
    assert [conflict.reason for conflict in table.store.conflicts()] == ["judge"]


def test_what_was_settled_is_not_listed_again(make):
    judge = Judge()
    table = make(judge=judge)
    _, result = written(table)
    table.store.resolve(result.conflicts[0].key, "dismissed")
    table.store.revise(result.memory.id, tags=["x"])
    assert table.store.conflicts() == ()


def test_a_chat_endpoint_can_be_named_in_the_call(make, monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    server = ChatServer(verdict("conflict"))
    try:
        table = make(judge=f"{server.url}?model=small")
        _, result = written(table)
    finally:
        server.close()
    assert [conflict.reason for conflict in result.conflicts] == ["judge"]
    assert "chat/127.0.0.1/small/judge-prompt-v1" in result.reasons[0].detail
    assert server.asked() == [{"older": OLD, "newer": NEW}]


def test_an_endpoint_that_is_gone_loses_nothing(make):
    server = ChatServer()
    server.close()
    table = make(judge=f"{server.url}?model=small&retries=0")
    _, result = written(table)
    assert (result.outcome, result.degraded, result.memory.content) == ("created", ("judge",), NEW)


def test_a_judge_of_ones_own_need_not_know_our_classes(make):
    """Any object with `judge` is accepted; without an id, its class names it."""

    class Bare:
        def judge(self, pairs):
            return (1 for _ in pairs)

    _, result = written(make(judge=Bare()))
    assert result.conflicts[0].reason == "judge" and "by Bare" in result.reasons[0].detail
