"""Of two answers about one thing the newer comes first, also when nobody listed a contradiction (S2-15, E-3.8)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

import pytest

from stores import EACH_BACKEND, Desk, ask, desk
from wellkept.core.gate.probable_acts import MAY_UPDATE_AT
from wellkept.policy import Policy
from wellkept.types import MAY_UPDATE, Hit, Link

ASKED = "who pays her"
OLD = "Ana works at Acme, her employer"
NEW = "Globex is the new employer"


@dataclass
class Case:
    """Two statements, the better answer first; what the model says of them, and how near they are."""

    conflict: float | None = 0.4
    similarity: float = 0.6
    share: float = 0.6
    old: str = OLD
    new: str = NEW
    kinds: tuple[str, str] = ("fact", "fact")


def store_both(table: Desk, case: Case) -> None:
    """Store both, the better answer first; they are this near to each other and to the question."""
    table.near(case.old, case.new, case.similarity)
    table.near(case.old, ASKED, 0.8)
    table.near(case.new, ASKED, 0.8 * case.share)
    if case.conflict is not None:
        table.options["relation_model"].declare(case.old, case.new, conflict=case.conflict)
    for text, kind in zip((case.old, case.new), case.kinds, strict=True):
        table.clock.advance(hours=3)
        table.store.remember(text, kind=kind)


def answers(table: Desk, **options: object) -> list[Hit]:
    return list(table.store.recall(ASKED, touch=False, min_score=0, **options))


def links(table: Desk) -> list[Link]:
    ctx = table.store._ctx
    with ctx.storage.begin(ctx.namespace, write=False) as tx:
        return [link for link in tx.links() if link.rel == MAY_UPDATE]


@pytest.fixture(params=EACH_BACKEND)
def table(request, tmp_path):
    from wellkept.testing.relations import FakeRelationModel

    made = desk(request.param, tmp_path, relation_model=FakeRelationModel(), policy=Policy(ask=100))
    made.options["relation_model"] = made.store._ctx.relation_model
    yield made
    made.store.close()


@pytest.mark.parametrize(
    ("case", "newer_is_first"),
    [
        pytest.param(Case(), True, id="an update in other words comes first"),
        pytest.param(Case(conflict=MAY_UPDATE_AT), True, id="at the least probability"),
        pytest.param(Case(conflict=MAY_UPDATE_AT - 0.01), False, id="below it"),
        pytest.param(Case(similarity=0.0), False, id="what speaks of something else is not asked about"),
        pytest.param(Case(share=0.1), False, id="what hardly answers stays behind"),
        pytest.param(Case(old="Acme pays Ana.", share=0.5), True, id="a better match in words is passed"),
        pytest.param(Case(old="Acme pays Ana.", share=0.45), False, id="a far better one is not"),
        pytest.param(Case(similarity=0.36), True, id="an update in other words is read although it is not near"),
        pytest.param(Case(new="Globex, the new employer?"), False, id="a question states nothing"),
        pytest.param(Case(old="雇用主はどこですか？"), False, id="nor does one in another script"),
        pytest.param(Case(conflict=None), False, id="no opinion"),
        pytest.param(Case(kinds=("fact", "decision")), True, id="updates cross kinds"),
        pytest.param(Case(kinds=("fact", "thesis")), False, id="but not to append-only ones"),
        pytest.param(Case(kinds=("episodic", "episodic")), False, id="raw chat updates nothing"),
    ],
)
def test_what_the_gate_takes_for_a_possible_update_comes_before_the_better_answer(table, case, newer_is_first):
    """S2-15: nothing is hidden by an order, so it may rest on less than a mark."""
    store_both(table, case)
    found = answers(table)
    assert [hit.memory.content for hit in found] == ([case.new, case.old] if newer_is_first else [case.old, case.new])
    assert (found[0].moved is not None and found[0].moved.why == "updates") is newer_is_first


@pytest.mark.parametrize("better", ["Initech hired her", "Umbrella hired her"])
def test_of_several_possible_updates_the_better_answer_comes_first(table, better):
    """At most one of them is the update; the question says more about which than their age does."""
    case, model = Case(), table.options["relation_model"]
    table.near(OLD, ASKED, 0.8)
    hires = ("Initech hired her", "Umbrella hired her")
    for text in hires:
        model.declare(OLD, text, conflict=0.4)
        table.near(OLD, text, case.similarity)
        table.near(text, ASKED, 0.5 if text == better else 0.4)
    for text in (OLD, *hires):
        table.clock.advance(hours=3)
        table.store.remember(text, kind="fact")
    (other,) = {*hires} - {better}
    assert [hit.memory.content for hit in answers(table)] == [better, other, OLD]


def test_a_possible_update_does_not_bring_what_is_surely_outdated_before_what_outdates_it(table):
    model, again, last = table.options["relation_model"], "Initech hired her", "Umbrella hired her"
    for text, score in ((OLD, 0.8), (again, 0.5), (last, 0.4)):
        table.near(text, ASKED, score)
    for older, newer, conflict, near in ((OLD, again, 0.4, 0.6), (OLD, last, 0.4, 0.6), (again, last, 0.95, 0.9)):
        model.declare(older, newer, conflict=conflict)
        table.near(older, newer, near)
    for text in (OLD, again, last):
        table.clock.advance(hours=3)
        table.store.remember(text)
    assert len(links(table)) == 2
    assert [{item.excerpt_a, item.excerpt_b} for item in table.store.conflicts()] == [{again, last}]
    assert [hit.memory.content for hit in answers(table)] == [last, again, OLD]


@pytest.mark.parametrize(
    ("options", "newer_is_first"),
    [({}, True), ({"mode": "semantic"}, False), ({"mode": "hybrid"}, False), ({"limit": 1}, True)],
)
def test_only_the_default_mode_puts_a_possible_update_first(table, options, newer_is_first):
    """S2-10: the order of the other modes is that of their weights."""
    store_both(table, Case())
    assert (answers(table, **options)[0].memory.content == NEW) is newer_is_first


def test_no_model_is_asked_at_the_time_of_a_question(table):
    """§12: a recall uses what the gate wrote."""
    store_both(table, Case())
    table.options["relation_model"].asked.clear()
    answers(table)
    assert table.options["relation_model"].asked == []


@pytest.mark.parametrize("conflict", [0.5, 0.6])
def test_the_newer_comes_directly_before_the_older_with_an_answer_between_them(table, conflict):
    """Issue 22, part 1: a probable update (P >= .5) that nobody was asked about, or that nobody has answered yet."""
    between = "She has two employers, says Ana"
    store_both(table, Case(conflict=conflict))
    for text, cosine in ((OLD, 0.5), (NEW, 0.3), (ASKED, 0.7)):
        table.near(between, text, cosine)
    table.store.remember(between, kind="fact")
    assert [hit.memory.content for hit in answers(table, mode="semantic")] == [OLD, between, NEW]
    for limit in (2, 5):
        found = [hit.memory.content for hit in answers(table, limit=limit)]
        assert found == [NEW, OLD, between][:limit]


def test_only_an_explanation_names_the_question_about_a_hit(table):
    """Issue 22, part 1: the most valuable one; a recall that explains nothing does not read the questions."""
    store_both(table, Case())
    rows = {row.content: row.id for row in table.store.list()}
    (asked,) = (one.id for one in table.store.questions())
    other = ask(table.store, rows[OLD], (rows[NEW], 0.1, 0.1), worth=0.2)
    assert [hit.question for hit in answers(table)] == ["", ""]
    found = {hit.memory.content: hit.question for hit in answers(table, explain=True)}
    assert found == {NEW: asked, OLD: other}
    assert [hit.question for hit in answers(table, explain=True, as_of=table.clock())] == ["", ""]
    table.store.answer(asked, "new")
    assert {hit.question for hit in answers(table, explain=True)} == {other}
    table.clock.advance(days=30)
    assert {hit.question for hit in answers(table, explain=True)} == {""}, "it has expired"


def test_an_update_in_other_words_is_found_through_the_memory_that_it_may_replace(table):
    """The pool of one candidate holds only the older; the link brings the newer into it."""
    store_both(table, Case())
    (hit,) = answers(table, limit=1, overfetch=1)
    assert hit.memory.content == NEW


def test_a_possible_update_is_taken_back_with_its_write(table):
    """I1: the link is an effect like any other."""
    store_both(table, Case())
    (link,) = links(table)
    rows = {row.content: row.id for row in table.store.list()}
    assert (link.src, link.dst) == (rows[NEW], rows[OLD])
    newest = table.store.journal()[-1]
    assert [reason.rule for reason in newest.reasons][-1] == MAY_UPDATE
    table.store.undo(newest.seq)
    assert links(table) == []


def test_an_edited_text_is_no_longer_taken_for_what_its_former_text_was(table):
    """A link speaks of the words that the gate has read; undoing the edit brings it back."""
    store_both(table, Case())
    before = links(table)
    row = next(row for row in table.store.list() if row.content == NEW)
    table.store.revise(row.id, tags=("work",))
    assert len(before) == 1 and links(table) == before
    table.store.revise(row.id, content="Rain is expected on Tuesday")
    assert links(table) == []
    table.store.undo(table.store.journal(newest=1)[0].seq)
    assert links(table) == before
    table.store.revise(before[0].dst, content="Rain is expected on Tuesday")
    assert links(table) == []


def test_a_late_value_and_one_that_does_not_hold_yet_come_before_nothing(table):
    model = table.options["relation_model"]
    for days in (-30, 30):
        case = Case(old=f"{OLD} {days}", new=f"{NEW} {days}")
        table.near(case.old, case.new, 0.6)
        model.declare(case.old, case.new, conflict=0.4)
        table.store.remember(case.old, kind="fact")
        table.store.remember(case.new, kind="fact", event_time=table.clock() + timedelta(days=days))
    assert links(table) == []


def test_a_settled_pair_keeps_its_order(table):
    """Somebody has decided: both hold, so the better answer is first, whatever the model thinks."""
    table.options["relation_model"].declare(OLD, NEW, conflict=0.95)
    table.near(OLD, NEW, 0.9)
    table.near(OLD, ASKED, 0.8)
    table.near(NEW, ASKED, 0.5)
    table.store.remember(OLD)
    table.clock.advance(hours=3)
    (conflict,) = table.store.remember(NEW).conflicts
    assert answers(table)[0].memory.content == NEW
    table.store.resolve(conflict.key, "keep_both")
    assert answers(table)[0].memory.content == OLD
