"""Effects of the relation model's opinion: opinion, kind and policy in; outcome, conflicts, links and reasons out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from letter import to_the_letter
from scenarios.world import Snapshot, snapshot
from stores import Desk, desk
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.records.merge import segments
from wellkept.errors import ConflictError
from wellkept.policy import DEFAULT_KINDS, Policy, Risk
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel
from wellkept.types import Memory, NewMemory, WriteResult

OLD, NEW = "Deploys are started by hand", "The pipeline ships every merge by itself"
UPLOADS, ATTEMPTS = "Invoices above 500 euros need a second signature", "A second person signs invoices from 900 euros"
MODEL = "fake-relations"
Make = Callable[..., Desk]


@pytest.fixture
def make(backend: str, tmp_path: Path) -> Iterator[Make]:
    """Opens stores with declared cosines and opinions; each has its own file."""
    with ExitStack() as stack:

        def another(**options: Any) -> Desk:
            options.setdefault("fake", FakeEmbedder(dim=64))
            made = desk(backend, tmp_path, name=f"{len(list(tmp_path.iterdir()))}.db", **options)
            stack.callback(made.store.close)
            return made

        yield another


@dataclass(frozen=True)
class Case:
    """One stored text, one new text at a cosine, and the model's opinion of the pair.

    Attributes:
        told: Probabilities of the opinion; the rest is that of *distinct*.
        old_kind: Kind of the stored text, where it is another.
        policy: Changes to the policy of every kind that takes part.
        links: Relations of the links from the new memory to the old.
        conflict: kind, reason and resolution of the one conflict that is recorded.
        old: Status of the stored memory afterwards.
        new: Status of the new text's own row; empty where it has none.
        letter: Whether repeats are dropped, updates listed and kinds kept apart.
    """

    name: str
    kind: str
    cosine: float
    told: Mapping[str, float]
    outcome: str
    rule: str
    links: tuple[str, ...] = ()
    conflict: tuple[str, str, str | None] | None = None
    old: str = "active"
    new: str = "active"
    letter: bool = False
    old_kind: str = ""
    policy: Mapping[str, Any] = field(default_factory=dict)
    texts: tuple[str, str] = (OLD, NEW)

    def __str__(self) -> str:
        return self.name

    def prepared(self, make: Make) -> Desk:
        """A store that holds the old text, with cosine and opinion declared."""
        kinds = {self.kind, self.old_kind or self.kind}
        changed = {kind: replace(DEFAULT_KINDS[kind], **self.policy) for kind in kinds}
        model = FakeRelationModel()
        model.declare(*self.texts, **self.told)
        fake = FakeEmbedder({self.texts: self.cosine}, dim=64)
        policy = Policy(kinds={**DEFAULT_KINDS, **changed})
        policy = to_the_letter(policy) if self.letter else policy
        table = make(fake=fake, relation_model=model, policy=policy)
        table.store.remember(self.texts[0], kind=self.old_kind or self.kind)
        return table

    def write(self, table: Desk) -> WriteResult:
        """The new text."""
        return table.store.remember(self.texts[1], kind=self.kind)


REPEAT, MARK = ("duplicate", "repeat", None), ("outdated", "model", None)
CLASH, REPLACED = ("contradiction", "model", None), ("contradiction", "model", "keep_new")
AGAIN: dict[str, Any] = {"outcome": "restated", "rule": "told_again", "links": ("restates",), "new": "wording"}
MAYBE: dict[str, Any] = {"outcome": "created", "rule": "possible_repeat", "conflict": REPEAT}
MARKED: dict[str, Any] = {"outcome": "created", "rule": "outdated", "conflict": MARK}
REFINED: dict[str, Any] = {"outcome": "created", "rule": "refines", "links": ("refines",)}
HIDDEN: dict[str, Any] = {
    "outcome": "superseded", "rule": "conflict_supersede", "links": ("supersedes",), "conflict": REPLACED,
    "old": "superseded",
}  # fmt: skip
FAR: dict[str, Any] = {"outcome": "created", "rule": "nothing_like_it"}
NEAR: dict[str, Any] = {"outcome": "created", "rule": "near_but_different"}
PERHAPS: dict[str, Any] = {**FAR, "links": ("may_update",)}
STRICT, TO_THE_BANDS = {"risk": "strict"}, {"same_at": 1.0}

CASES = [
    # Told again in other words: B-31, and the bound of the risk
    Case("repeat at the bound and at same_at", "lesson", 0.60, {"same": 0.9}, **AGAIN),
    Case("repeat below same_at", "lesson", 0.5999, {"same": 0.99}, **MAYBE),
    Case("repeat below the bound", "lesson", 0.70, {"same": 0.8999}, **MAYBE),
    Case("less is said than before", "lesson", 0.70, {"generalises": 0.9}, **AGAIN),
    Case("same or less, together at the bound", "lesson", 0.70, {"same": 0.5, "generalises": 0.4}, **AGAIN),
    Case("same or less, together below it", "lesson", 0.70, {"same": 0.5, "generalises": 0.3999}, **MAYBE),
    Case("strict asks for more", "lesson", 0.70, {"same": 0.9799}, **MAYBE, policy=STRICT),
    Case("strict at its bound", "lesson", 0.70, {"same": 0.98}, **AGAIN, policy=STRICT),
    Case("possible repeat at the bound", "lesson", 0.45, {"same": 0.5, "refines": 0.4}, **MAYBE),
    Case("possible repeat below it", "lesson", 0.45, {"same": 0.4999, "refines": 0.3}, **FAR),
    Case("too far to be asked about", "lesson", 0.1499, {"same": 0.99}, **FAR),
    Case("general: told again", "semantic", 0.60, {"same": 0.9}, **AGAIN),  # no matrix of S2 for what is no news
    Case("general: possible repeat", "semantic", 0.90, {"same": 0.89}, outcome="created", rule="possible_repeat",
         conflict=REPEAT, links=("related",)),  # S2-28, S2-35: stored, linked, listed
    Case("fact: told again", "fact", 0.60, {"same": 0.9}, **AGAIN),
    Case("knowledge: told again", "knowledge", 0.60, {"generalises": 0.95}, **AGAIN),
    Case("bands alone: in the link band", "lesson", 0.94, {"same": 0.99}, outcome="created", rule="similarity_link",
         links=("related",), policy=TO_THE_BANDS),  # S0-10
    Case("bands alone: in the skip band", "lesson", 0.95, {"same": 0.9}, **AGAIN, policy=TO_THE_BANDS),
    Case("skip band, yet below the bound", "lesson", 0.97, {"same": 0.89, "refines": 0.1}, outcome="created",
         rule="similarity_link", links=("related",)),  # I2: similarity alone is never enough
    # I2, B-3, B-6: a difference that the rules are sure of
    Case("another number", "lesson", 0.97, {"same": 1.0}, outcome="created", rule="similarity_link",
         links=("related",), texts=(UPLOADS, ATTEMPTS)),
    # Details added
    Case("refined at the bound", "lesson", 0.70, {"refines": 0.8}, **REFINED),
    Case("refined below it", "lesson", 0.70, {"refines": 0.7999}, **FAR),
    Case("strict refinement", "lesson", 0.70, {"refines": 0.9499}, **FAR, policy=STRICT),
    Case("strict refinement at its bound", "lesson", 0.70, {"refines": 0.95}, **REFINED, policy=STRICT),
    Case("knowledge evolves", "knowledge", 0.65, {"refines": 0.8}, outcome="evolved", rule="similarity_evolve",
         links=("restates",), new="wording"),
    Case("knowledge, too far to evolve", "knowledge", 0.6499, {"refines": 0.9}, **REFINED),
    Case("knowledge, below the bound", "knowledge", 0.85, {"refines": 0.7999}, **NEAR),
    Case("knowledge, distinct", "knowledge", 0.85, {}, **NEAR),
    # Contradictions
    Case("conflict at the bound", "lesson", 0.40, {"conflict": 0.5, "same": 0.4}, **MARKED),
    Case("conflict below it", "lesson", 0.70, {"conflict": 0.4999, "same": 0.3}, **PERHAPS),
    Case("possible update at the bound", "lesson", 0.40, {"conflict": 0.1}, **PERHAPS),
    Case("possible update below it", "lesson", 0.70, {"conflict": 0.0999}, **FAR),
    Case("conflict in the skip band", "lesson", 0.99, {"conflict": 0.6, "same": 0.4}, **MARKED),  # B-6
    Case("knowledge does not evolve into a conflict", "knowledge", 0.80, {"conflict": 0.6, "refines": 0.4}, **MARKED),
    Case("general only marks", "semantic", 0.95, {"conflict": 1.0}, **MARKED),
    Case("fact supersedes at the bound", "fact", 0.40, {"conflict": 0.9}, **HIDDEN),
    Case("fact below it marks", "fact", 0.99, {"conflict": 0.8999}, **MARKED),
    Case("strict fact", "fact", 0.70, {"conflict": 0.9799}, **MARKED, policy=STRICT),
    Case("strict fact at its bound", "fact", 0.70, {"conflict": 0.98}, **HIDDEN, policy=STRICT),
    Case("supersede at the bound", "semantic", 0.45, {"conflict": 0.9}, **HIDDEN,
         policy={"on_conflict": "supersede"}),
    Case("supersede below it", "semantic", 0.99, {"conflict": 0.8999}, **MARKED,
         policy={"on_conflict": "supersede"}),
    Case("raise below the bound", "semantic", 0.99, {"conflict": 0.8999}, **MARKED, policy={"on_conflict": "raise"}),
    # Across kinds: S0-52, S4-16
    Case("a decision contradicts a fact", "decision", 0.60, {"conflict": 1.0}, **MARKED, old_kind="fact"),
    Case("a fact contradicts a decision", "fact", 0.95, {"conflict": 1.0}, **MARKED, old_kind="decision"),
    Case("an episode contradicts a note", "episode", 0.60, {"conflict": 0.5, "same": 0.4}, **MARKED, old_kind="note"),
    Case("superseding ends at the kind", "note", 0.95, {"conflict": 1.0}, **MARKED, old_kind="fact",
         policy={"on_conflict": "supersede"}),
    Case("refusing ends at the kind", "note", 0.95, {"conflict": 1.0}, **MARKED, old_kind="fact",
         policy={"on_conflict": "raise"}),
    Case("another kind is no repeat by similarity", "lesson", 0.99, {"same": 1.0}, **NEAR, old_kind="fact"),
    Case("nor refined", "knowledge", 0.80, {"refines": 1.0}, **NEAR, old_kind="summary"),
    Case("a decision is not compared with decisions", "decision", 0.99, {"same": 1.0}, outcome="created",
         rule="own_event", old_kind="decision"),
]  # fmt: skip

LETTER: dict[str, dict[str, Any]] = {
    "told_again": {"outcome": "duplicate", "links": (), "new": ""},
    "similarity_evolve": {"links": (), "new": ""},
    "outdated": {"rule": "possible_conflict", "conflict": CLASH},
}
"""What the letter of the sources makes of the same opinion: the text is dropped, the update only listed."""
CASES += [
    replace(case, name=f"{case.name}, to the letter", letter=True, **LETTER[case.rule])
    for case in CASES
    if case.rule in LETTER
]
every_case = pytest.mark.parametrize("case", CASES, ids=str)


def ended(table: Desk) -> Snapshot:
    return snapshot(table.store)


@every_case
def test_the_opinion_becomes_the_act_that_its_bound_allows(make: Make, case: Case) -> None:
    table = case.prepared(make)
    result = case.write(table)
    assert (result.outcome, result.reasons[0].rule, result.degraded) == (case.outcome, case.rule, ())
    held = ended(table)
    rows = {segments(row)[0]: row for row in held.memories}
    assert (case.texts[1] in rows) is bool(case.new)
    assert rows[case.texts[0]].status == case.old
    if case.new:
        assert rows[case.texts[1]].status == case.new
        new, old = rows[case.texts[1]].id, rows[case.texts[0]].id
        assert [(src, rel, dst) for src, dst, rel, _ in held.links] == [(new, rel, old) for rel in case.links]
    recorded = [(item.kind, item.reason, item.resolution) for item in held.conflicts]
    assert recorded == ([case.conflict] if case.conflict else [])
    assert len(result.conflicts) == len(recorded)
    assert table.store.verify() == ()


@every_case
def test_a_check_foretells_the_act_and_asks_no_more(make: Make, case: Case) -> None:
    table = case.prepared(make)
    before = ended(table)
    foretold = table.store.check(case.texts[1], kind=case.kind)
    assert ended(table) == before
    assert (foretold.outcome, foretold.reasons[0].rule) == (case.outcome, case.rule)
    done = case.write(table)
    assert [(match.memory_id, match.relation, match.action, match.opinion) for match in foretold.matches] == [
        (match.memory_id, match.relation, match.action, match.opinion) for match in done.matches
    ]


@every_case
def test_the_act_is_taken_back_to_the_byte(make: Make, case: Case) -> None:
    """I1."""
    table = case.prepared(make)
    before = ended(table).without_journal()
    table.store.undo(case.write(table).entry)
    assert ended(table).without_journal() == before


@pytest.mark.parametrize("case", [case for case in CASES if case.kind not in ("decision", "episode")], ids=str)
def test_the_same_text_again_changes_nothing(make: Make, case: Case) -> None:
    """I5: texts dropped, appended or stored on the model's opinion are found by their hash; events repeat (B-37)."""
    table = case.prepared(make)
    case.write(table)
    before, calls = ended(table), list(table.options["relation_model"].asked)
    again = case.write(table)
    assert (again.outcome, again.reasons[0].rule) == ("duplicate", "content_hash")
    after = ended(table)
    assert [(row.id, row.content, row.status, row.updates) for row in after.memories] == [
        (row.id, row.content, row.status, row.updates) for row in before.memories
    ]
    assert (after.links, after.conflicts, after.aliases) == (before.links, before.conflicts, before.aliases)
    assert table.options["relation_model"].asked == calls


@every_case
def test_a_call_with_the_same_key_is_answered_from_the_journal(make: Make, case: Case) -> None:
    """I5."""
    table = case.prepared(make)
    table.store.remember(case.texts[1], kind=case.kind, idempotency_key="k")
    before = ended(table)
    again = table.store.remember(case.texts[1], kind=case.kind, idempotency_key="k")
    assert again.reasons[0].rule == "replay"
    assert ended(table) == before


MODEL_DECIDED = ("told_again", "possible_repeat", "outdated", "possible_conflict", "refines", "similarity_evolve")


@pytest.mark.parametrize("case", [case for case in CASES if case.rule in MODEL_DECIDED], ids=str)
def test_the_reason_names_the_model_its_version_and_its_probability(make: Make, case: Case) -> None:
    """I6: the same words in the result and in the journal."""
    table = case.prepared(make)
    result = case.write(table)
    match = next(item for item in result.matches if item.action != "none")
    assert match.opinion is not None
    assert match.opinion.model == MODEL
    said = f"{match.relation} with probability {match.opinion.of(match.relation):.4f} by {MODEL}"
    assert said in result.reasons[0].detail
    entry = table.store.journal()[-1]
    assert entry.reasons == result.reasons
    told = [item.opinion for item in result.matches if item.action != "none"]
    assert [item.opinion for item in entry.matches] == told
    assert MODEL in result.message
    assert f"{match.opinion.of(match.relation):.4f}" in result.message


@pytest.mark.parametrize("case", [case for case in CASES if case.rule == "conflict_supersede"], ids=str)
def test_a_supersession_too_says_how_sure_the_model_was(make: Make, case: Case) -> None:
    table = case.prepared(make)
    result = case.write(table)
    opinion = result.matches[0].opinion
    assert opinion is not None
    assert MODEL in result.message
    entry = table.store.journal()[-1]
    assert [item.opinion for item in entry.matches] == [opinion]
    assert result.conflicts[0].differences[-1].kind == "meaning"


def test_the_conflict_names_the_words_in_which_the_texts_differ(make: Make) -> None:
    table = Case("", "lesson", 0.7, {"conflict": 0.8}, "", "").prepared(make)
    conflict = table.store.remember(NEW, kind="lesson").conflicts[0]
    assert [(item.kind, item.old, item.new, item.decisive) for item in conflict.differences] == [
        ("meaning", "Deploys started hand", "pipeline ships every merge itself", False)
    ]


class Anxious(FakeRelationModel):
    """A model with a listing threshold below .5."""

    def bounds(self, risk: Risk) -> Bounds:
        return replace(super().bounds(risk), flag=0.3)


@pytest.mark.parametrize(
    ("policy", "rule", "recorded"),
    [(Policy(), "outdated", "outdated"), (to_the_letter(), "possible_conflict", "contradiction")],
    ids=["default", "letter"],
)
@pytest.mark.parametrize(("share", "reported"), [(0.3, 1), (0.2999, 0)])
@pytest.mark.parametrize("kind", ["lesson", "fact", "semantic", "knowledge", "decision"])
def test_what_is_probably_distinct_may_be_a_possible_update_and_no_more(
    make: Make, kind: str, share: float, reported: int, policy: Policy, rule: str, recorded: str
) -> None:
    """A mark, or a listed conflict, costs less than a wrong old value; it hides nothing."""
    model = Anxious()
    model.declare(OLD, NEW, conflict=share)
    table = make(fake=FakeEmbedder({(OLD, NEW): 0.7}, dim=64), relation_model=model, policy=policy)
    table.store.remember(OLD, kind="fact" if kind == "decision" else kind)
    result = table.store.remember(NEW, kind=kind)
    assert (result.outcome, len(result.conflicts)) == ("created", reported)
    assert [row.content for row in table.store.list()] == [OLD, NEW]
    if reported:
        assert (result.reasons[0].rule, result.conflicts[0].kind) == (rule, recorded)
        assert result.conflicts[0].resolution is None
        assert f"by {MODEL}" in result.reasons[0].detail


# --------------------------------------------------------------------------------------------
# Refused, and never asked


@pytest.mark.parametrize("told", [{"conflict": 0.9}, {"same": 0.5, "refines": 0.4}], ids=["conflict", "repeat"])
def test_what_the_policy_refuses_leaves_no_trace(make: Make, told: Mapping[str, float]) -> None:
    """S2-28, F-13, I7: decided before anything is written; the error says who judged."""
    case = Case("", "semantic", 0.5, told, "", "", policy={"on_conflict": "raise"})
    table = case.prepared(make)
    before = ended(table)
    with pytest.raises(ConflictError) as refused:
        case.write(table)
    assert len(refused.value.conflicts) == 1
    assert MODEL in str(refused.value)
    assert ended(table) == before


@pytest.mark.parametrize("kind", [kind for kind, policy in DEFAULT_KINDS.items() if policy.preset == "append_only"])
def test_append_only_kinds_are_never_asked_about(make: Make, kind: str) -> None:
    """S0: each is a separate event, compared neither with each other nor with other kinds."""
    for old_kind in (kind, "fact"):
        case = Case("", kind, 0.99, {"same": 1.0}, "", "", old_kind=old_kind)
        table = case.prepared(make)
        assert case.write(table).outcome == "created"
        assert table.options["relation_model"].asked == []


@pytest.mark.parametrize("kind", ["lesson", "semantic", "fact", "knowledge"])
def test_ignore_asks_nothing(make: Make, kind: str) -> None:
    """B-37."""
    case = Case("", kind, 0.99, {"same": 1.0}, "", "")
    table = case.prepared(make)
    result = table.store.remember(NEW, kind=kind, on_conflict="ignore")
    assert (result.outcome, result.links, result.conflicts) == ("created", (), ())
    assert table.options["relation_model"].asked == []


@pytest.mark.parametrize("shares", [{"same": 0.96, "generalises": 0.04}, {"generalises": 1.0}, {"same": 1.0}])
@pytest.mark.parametrize("kind", ["lesson", "semantic", "fact", "knowledge"])
@pytest.mark.parametrize("cosine", [0.65, 0.99])
def test_no_probability_overrules_a_number(make: Make, kind: str, shares: Mapping[str, float], cosine: float) -> None:
    """I2: such a text is stored, whatever part of *same* and *generalises* the model is sure of."""
    case = Case("", kind, cosine, shares, "", "", texts=(UPLOADS, ATTEMPTS))
    table = case.prepared(make)
    result = case.write(table)
    assert result.outcome == "created"
    assert [row.content for row in table.store.list()] == [UPLOADS, ATTEMPTS]
    assert not [item for item in result.conflicts if item.kind == "duplicate"]


# --------------------------------------------------------------------------------------------
# Three texts: an old value said again

BACK = "Someone starts each deploy manually"


def three(make: Make, kind: str, *, clash: float = 0.8) -> Desk:
    """OLD and NEW contradict each other; BACK says OLD again, and contradicts NEW."""
    model = FakeRelationModel()
    model.declare(OLD, NEW, conflict=clash)
    model.declare(OLD, BACK, same=0.97)
    model.declare(NEW, BACK, conflict=clash)
    fake = FakeEmbedder({(OLD, NEW): 0.6, (OLD, BACK): 0.7, (NEW, BACK): 0.6}, dim=64)
    table = make(fake=fake, relation_model=model)
    for text in (OLD, NEW):
        table.store.remember(text, kind=kind)
        table.clock.advance(hours=1)
    return table


@pytest.mark.parametrize("kind", ["lesson", "semantic", "knowledge", "fact"])
def test_an_old_value_said_again_after_an_update_is_stored(make: Make, kind: str) -> None:
    """B-9: a reversion is a new statement, never a duplicate of the superseded one."""
    table = three(make, kind)
    result = table.store.remember(BACK, kind=kind)
    assert result.outcome == "created"
    assert [(item.kind, item.excerpt_a, item.excerpt_b) for item in result.conflicts] == [("outdated", NEW, BACK)]
    assert [row.content for row in table.store.list()] == [OLD, NEW, BACK]


def test_where_the_policy_supersedes_the_reversion_hides_the_newer_value(make: Make) -> None:
    table = three(make, "fact", clash=0.95)
    assert table.store.remember(BACK, kind="fact").outcome == "superseded"
    assert [row.content for row in table.store.list()] == [BACK]


def test_a_repeat_of_the_newer_value_is_a_repeat(make: Make) -> None:
    again = "Whatever is merged, the pipeline ships"
    model = FakeRelationModel()
    model.declare(OLD, NEW, conflict=0.8)
    model.declare(OLD, again, conflict=0.8)
    model.declare(NEW, again, same=0.97)
    near = {(OLD, NEW): 0.6, (OLD, again): 0.7, (NEW, again): 0.6}
    table = make(fake=FakeEmbedder(near, dim=64), relation_model=model)
    for text in (OLD, NEW):
        table.store.remember(text, kind="lesson")
        table.clock.advance(hours=1)
    result = table.store.remember(again, kind="lesson")
    assert (result.outcome, result.memory and result.memory.content) == ("restated", NEW)


ORDERS = pytest.mark.parametrize(
    ("first", "second", "told"), [(OLD, NEW, {"refines": 0.95}), (NEW, OLD, {"generalises": 0.95})]
)


@ORDERS
def test_neither_order_of_an_old_and_a_new_text_loses_one(
    make: Make, first: str, second: str, told: Mapping[str, float]
) -> None:
    """I1: *refines* in one order is *generalises* in the other; each text has a row, and NEW is a listed one."""
    case = Case("", "lesson", 0.7, told, "", "", texts=(first, second))
    table = case.prepared(make)
    case.write(table)
    assert {row.content for row in ended(table).memories} == {OLD, NEW}
    assert NEW in {row.content for row in table.store.list()}  # the text that says more
    assert [entry for entry in table.store.journal() if entry.dropped is not None] == []


@ORDERS
def test_to_the_letter_the_journal_keeps_the_text_that_says_less(
    make: Make, first: str, second: str, told: Mapping[str, float]
) -> None:
    case = Case("", "lesson", 0.7, told, "", "", texts=(first, second), letter=True)
    table = case.prepared(make)
    case.write(table)
    rows = {row.content for row in table.store.list()}
    dropped = {entry.dropped.content for entry in table.store.journal() if entry.dropped is not None}
    assert rows | dropped == {OLD, NEW}
    assert NEW in rows


# --------------------------------------------------------------------------------------------
# Recall: S2-29, E-3.8

QUERY = "How do releases go out?"


def asking(
    make: Make, *, older: float = 0.6, newer: float = 0.5, between: float = 0.6, policy: Policy | None = None
) -> Desk:
    """Two lessons of which the newer outdates the older, and the older answers the query better."""
    model = FakeRelationModel()
    model.declare(OLD, NEW, conflict=0.8)
    fake = FakeEmbedder({(OLD, NEW): between, (OLD, QUERY): older, (NEW, QUERY): newer}, dim=64)
    table = make(fake=fake, relation_model=model, policy=policy or Policy())
    table.store.remember(OLD, kind="lesson")
    table.clock.advance(hours=1)
    table.store.remember(NEW, kind="lesson")
    return table


def first(table: Desk) -> Memory:
    return table.store.recall(QUERY, limit=2)[0].memory


def test_recall_gives_the_memory_that_outdates_another_first(make: Make) -> None:
    table = asking(make)
    hits = table.store.recall(QUERY, limit=2)
    assert [hit.memory.content for hit in hits] == [NEW, OLD]
    assert hits[0].score < hits[1].score  # the order, not the score, is changed
    assert all(hit.conflicts for hit in hits)


def test_recall_still_does_so_when_the_review_has_expired(make: Make) -> None:
    """Expired means keep both; which of them is the newer does not expire."""
    table = asking(make, policy=to_the_letter())
    table.clock.advance(days=60)
    assert table.store.conflicts() == ()
    assert first(table).content == NEW


def test_a_mark_does_not_expire(make: Make) -> None:
    table = asking(make)
    table.clock.advance(days=60)
    assert [(item.kind, item.expires_at) for item in table.store.conflicts()] == [("outdated", None)]
    assert first(table).content == NEW


@pytest.mark.parametrize("resolution", ["keep_both", "dismissed", "keep_old"])
def test_a_reviewer_who_finds_no_contradiction_has_the_last_word(make: Make, resolution: Any) -> None:
    table = asking(make)
    table.store.resolve(table.store.conflicts()[0].key, resolution)
    assert first(table).content == OLD


def test_a_newer_memory_that_hardly_answers_the_query_does_not_come_first(make: Make) -> None:
    table = asking(make, older=0.9, newer=0.1, between=0.45)
    assert first(table).content == OLD


# --------------------------------------------------------------------------------------------
# What no probability may do (I2)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The heap is capped at 512 MB on each node.", "Every node may use no more than 512 GB of heap."),
        ("Take 10 mg of the drug daily.", "The daily dose of the drug is 10 g."),
        ("The door of the lab is locked at night.", "At night the lab's door stays unlocked."),
        ("Servern körs inte på natten.", "Servern körs på natten."),
        ("Which port does the proxy use?", "What is the port of the proxy?"),
    ],
)
def test_a_model_that_is_sure_of_a_repeat_does_not_drop_what_a_rule_tells_apart_or_cannot_read(
    tmp_path: Path, old: str, new: str
) -> None:
    """I2: units, opposites, languages whose "not" no rule reads, and questions, which the model never learnt."""
    model = FakeRelationModel()
    model.declare(old, new, same=1.0)
    table = desk("memory", tmp_path, fake=FakeEmbedder({(old, new): 0.97}), relation_model=model)
    table.store.remember(old, kind="lesson")
    assert table.store.remember(new, kind="lesson").outcome == "created"


@pytest.mark.parametrize("field", ["summary", "agent", "trigger"])
def test_what_is_said_beside_the_text_forbids_a_repeat_in_other_words_too(tmp_path: Path, field: str) -> None:
    """B-37: as it does for a verbatim repeat."""
    old, new = "The disk has 2 TB of space.", "There are 2 TB of space on the disk."
    model = FakeRelationModel()
    model.declare(old, new, same=1.0)
    table = desk("memory", tmp_path, fake=FakeEmbedder(dim=64), relation_model=model)
    first = NewMemory(content=old, kind="lesson", **{field: "staging"})
    again = NewMemory(content=new, kind="lesson", **{field: "production"})
    table.near(first, again, 0.97)
    table.store.remember(first)
    assert table.store.remember(again).outcome == "created"


def test_lifting_a_condition_is_no_repeat_that_says_less(tmp_path: Path) -> None:
    """I2: "Refunds are given" after "only within 14 days" is a change."""
    old, new = "Refunds are given unless the seal is broken.", "Refunds are given."
    model = FakeRelationModel()
    model.declare(old, new, generalises=1.0)
    table = desk("memory", tmp_path, fake=FakeEmbedder({(old, new): 0.97}), relation_model=model)
    table.store.remember(old, kind="lesson")
    assert table.store.remember(new, kind="lesson").outcome == "created"


def test_of_the_models_contradictions_only_the_nearest_is_reported(tmp_path: Path) -> None:
    """E-3.8: a model that is wrong about one fact of a person is wrong about all; the list must not be flooded."""
    olds = ["Caroline joined a support group.", "Caroline paints at night.", "Caroline plans to study."]
    new = "Caroline gave a speech at school."
    model = FakeRelationModel()
    cosines = {(a, b): 0.3 for at, a in enumerate(olds) for b in olds[at + 1 :]}
    for place, old in enumerate(olds):
        model.declare(old, new, conflict=0.95)
        cosines[old, new] = 0.7 - place / 10
    table = desk("memory", tmp_path, fake=FakeEmbedder(cosines), relation_model=model)
    for old in olds:
        table.store.remember(old, kind="note")
    told = table.store.remember(new, kind="note")
    assert [table.store.get(conflict.a).content for conflict in told.conflicts] == olds[:1]
