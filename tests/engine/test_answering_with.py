"""A model answers open questions, in batches: what is applied, what stays open, and why."""

from __future__ import annotations

import asyncio

import pytest

from stores import desk
from undecided import ASKS, offices
from wellkept.engine.verbs.asynchronous import AsyncMemoryStore
from wellkept.errors import ModelResponseInvalid, ModelUnavailable


@pytest.fixture
def table(make):
    return make(policy=ASKS)


def test_batches_hold_at_most_ten_the_most_valuable_first(table):
    offices(table, 23)
    order = [one.id for one in table.store.questions(limit=None)]
    batches = []

    def model(questions):
        batches.append([one.id for one in questions])
        return ["new"] * len(questions)

    report = table.store.answer_with(model)
    assert [len(batch) for batch in batches] == [10, 10, 3] and sum(batches, []) == order
    assert [one.question for one in report.answered] == order and report.left == {} and report.tokens is None
    assert table.store.questions() == ()


def test_the_limit_counts_questions(table):
    offices(table, 13)
    assert len(table.store.answer_with(lambda asked: ["new"] * len(asked), limit=11).answered) == 11
    assert len(table.store.questions()) == 2


def test_without_questions_the_model_is_not_asked(table):
    assert str(table.store.answer_with(lambda _: pytest.fail("asked"))) == "0 questions answered, 0 left open"


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("replaces everything", "is no answer"),
        ("replaces 2", "there is no candidate 2"),
        ("new and repeats 1", "cannot both hold"),
        ("x" * 100_000, "over 200 characters"),
        ("", "nothing is no answer"),
        (None, "no answer"),
        (7, "no text"),
        (["new"], "no text"),
    ],
)
def test_an_invalid_answer_leaves_its_question_open_and_spoils_no_other(table, said, why):
    first, second = offices(table, 2)
    before = table.rows()
    report = table.store.answer_with(lambda _: {first.id: said, second.id: "replaces 1"})
    assert [one.question for one in report.answered] == [second.id]
    assert why in report.left[first.id]
    assert [one.id for one in table.store.questions()] == [first.id] and table.rows() == before


def test_an_id_that_was_not_asked_is_not_answered(table):
    """Not even where it is the id of an open question."""
    asked, other = sorted(offices(table, 2), key=lambda one: one.id)
    report = table.store.answer_with(
        lambda questions: {asked.id: "new", other.id: "new", "q999999": "new", "": "new"}, limit=1
    )
    assert len(report.answered) == 1 and len(table.store.questions()) == 1


def test_the_journal_names_model_and_prompt_and_the_answer_is_taken_back(table):
    class Model:
        id = "chat/here/small/prompt-v1-abc"

        def __call__(self, questions):
            return ["replaces 1" for _ in questions]

    [question] = offices(table, 1)
    before = table.store.conflicts(question.memory.id)
    [done] = table.store.answer_with(Model()).answered
    [entry] = table.store.journal(newest=1)
    reasons = {reason.rule: reason.detail for reason in entry.reasons}
    assert (reasons["answered_by"], reasons["answered_with"]) == ("model", Model.id)
    assert table.store.undo_answers(by="model").undone == (done.entry,)
    assert [one.id for one in table.store.questions()] == [question.id]
    assert table.store.conflicts(question.memory.id) == before


class Named:
    """A model with a name, which answers everything alike."""

    def __init__(self, name, said="replaces 1"):
        self.id, self.said, self.asked = name, said, []

    def __call__(self, questions):
        self.asked += [one.id for one in questions]
        return [self.said] * len(questions)


ASKED_AGAIN = {
    "the same model": (lambda table, one: Named("small"), {}, False),
    "on request": (lambda table, one: Named("small"), {"again": True}, True),
    "another model": (lambda table, one: Named("large"), {}, True),
    "a model without a name": (lambda table, one: lambda questions: ["new"] * len(questions), {}, True),
    "a new text": (lambda table, one: _revised(table, one.memory, "small"), {}, True),
    "a new text of a candidate": (lambda table, one: _revised(table, one.candidates[0].memory, "small"), {}, True),
}


def _revised(table, memory, name):
    table.clock.advance(seconds=1)
    table.store.revise(memory.id, content=f"{memory.content} So it is written.")
    return Named(name)


@pytest.mark.parametrize("which", ASKED_AGAIN)
def test_a_model_whose_answer_was_taken_back_is_asked_again_only_about_other_texts(table, which):
    """It would say the same again, and whoever took it back would have to take it back again."""
    again, options, is_asked = ASKED_AGAIN[which]
    [question] = offices(table, 1)
    table.clock.advance(seconds=1)
    table.store.answer_with(Named("small"))
    table.store.undo_answers()
    assert [one.id for one in table.store.questions()] == [question.id]
    report = table.store.answer_with(again(table, question), **options)
    assert [one.question for one in report.answered] == [question.id] * is_asked
    assert list(report.left) == [question.id] * (not is_asked)
    assert all("taken back" in why for why in report.left.values())


def test_what_is_not_asked_again_does_not_count_in_the_limit(table):
    offices(table, 3)
    model = Named("small")
    first = table.store.answer_with(model, limit=1).answered[0].question
    table.store.undo_answers()
    assert first not in [one.question for one in table.store.answer_with(model, limit=2).answered]
    assert len(model.asked) == 3


def test_the_tokens_of_this_call_are_reported(table):
    class Model:
        tokens = 500

        def __call__(self, questions):
            self.tokens += 70
            return ["new"] * len(questions)

    offices(table, 12)
    assert table.store.answer_with(Model()).tokens == 140


def test_none_ends_the_call_and_says_which_questions_were_not_asked(table):
    offices(table, 12)
    answers = iter([["new"] * 10, None])
    report = table.store.answer_with(lambda _: next(answers))
    assert len(report.answered) == 10 and len(report.left) == 2
    assert all("not asked" in why for why in report.left.values())


def test_an_error_of_the_model_ends_the_call_and_the_answers_before_it_stay(table):
    offices(table, 12)
    calls = []

    def model(questions):
        calls.append(questions)
        if len(calls) == 2:
            raise ModelUnavailable("the endpoint answered 503", where="here")
        return ["new"] * len(questions)

    with pytest.raises(ModelUnavailable):
        table.store.answer_with(model)
    assert len(table.store.questions()) == 2
    report = table.store.answer_with(lambda questions: ["new"] * len(questions))
    assert len(report.answered) == 2, "the same call goes on where the last one ended"


@pytest.mark.parametrize("said", ["new", b"new", 7, [], ["new", "new", "new"], {"new"}])
def test_what_is_no_set_of_answers_is_a_typed_error(table, said):
    offices(table, 2)
    before = table.snapshot()
    with pytest.raises(ModelResponseInvalid, match="asked 2 questions"):
        table.store.answer_with(lambda _: said)
    assert table.snapshot() == before and len(table.store.questions()) == 2


def test_a_question_that_closes_while_the_model_thinks_is_left_as_it_is(table):
    first, second = offices(table, 2)

    def model(questions):
        table.store.answer(first.id, "new", by="person")
        table.store.forget(second.memory.id)
        return ["repeats 1", "repeats 1"]

    report = table.store.answer_with(model)
    assert report.answered == () and report.left.keys() == {first.id, second.id}
    assert table.store.get(first.memory.id).status == "active"


def test_a_question_that_closes_before_its_batch_is_not_asked(table):
    offices(table, 12)
    last = table.store.questions(limit=None)[-1]
    asked = []

    def model(questions):
        asked.extend(one.id for one in questions)
        if len(asked) == 10:
            table.store.forget(last.memory.id)
        return ["new"] * len(questions)

    report = table.store.answer_with(model)
    assert len(asked) == 11 and last.id not in asked and report.left == {last.id: "no longer open"}


@pytest.mark.parametrize("awaits", [False, True])
def test_an_async_store_takes_a_function_or_a_coroutine_function(tmp_path, awaits):
    table = desk("memory", tmp_path, policy=ASKS)
    offices(table, 12)

    def plain(questions):
        return {one.id: "new" for one in questions}

    async def coroutine(questions):
        await asyncio.sleep(0)
        return plain(questions)

    report = asyncio.run(AsyncMemoryStore(table.store).answer_with(coroutine if awaits else plain, limit=11))
    assert len(report.answered) == 11 and len(table.store.questions()) == 1
