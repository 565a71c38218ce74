"""Questions, answers and lessons go with their store: moves, copies, exports; damage is named and mended."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from asked import NEW, OLD, THIRD, note, policy, state, text, unsure
from stores import BACKENDS, EACH_BACKEND, EVERY_BACKEND, Desk
from wellkept.core.asking.state import Checked, OpenQuestion, state_text
from wellkept.engine.transfer.fingerprints import fingerprint
from wellkept.engine.transfer.migrate import migrate
from wellkept.engine.upkeep.repairing import repair
from wellkept.errors import AlreadyAnswered, WellkeptError

Made = Callable[..., Desk]
LESSONS = {"fold": Checked(60, 1, 0), "mark": Checked(0, 0, 2)}


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Made]:
    opened: list[Desk] = []

    def factory(backend: str, name: str, **options: Any) -> Desk:
        opened.append(unsure(backend, tmp_path, name=f"{name}.db", **options))
        return opened[-1]

    yield factory
    for made in opened:
        made.store.close()


def asking(table: Desk) -> Desk:
    """An answered question, an open one, and lessons."""
    table.store.remember(OLD, kind="fact")
    question = table.store.remember(NEW, kind="fact").question
    assert question is not None
    table.store.answer(question.id, "replaces 1")
    assert table.store.remember(THIRD, kind="fact").question is not None
    note(table.store, state_text(replace(state(table.store), checked=LESSONS)))
    return table


@pytest.mark.parametrize("other", EVERY_BACKEND)
@pytest.mark.parametrize("one", EVERY_BACKEND)
def test_a_moved_store_asks_and_has_learned_the_same(make: Made, one: str, other: str) -> None:
    here, there = asking(make(one, "here")), make(other, "there")
    migrate(here.store._ctx.storage, there.store._ctx.storage)
    assert text(there.store) == text(here.store)
    assert there.store.questions() == here.store.questions()
    assert there.store.asking() == here.store.asking()
    assert there.store.answer("q2", "replaces 1").entry == 0
    with pytest.raises(AlreadyAnswered):
        there.store.answer("q2", "new")
    assert there.store.answer(there.store.questions()[0].id, "new").entry == 5
    report = there.store.undo_answers()
    assert (report.undone, dict(report.blocked)) == ((5, 3), {})


def test_what_was_forgotten_since_is_forgotten_by_the_next_move(make: Made) -> None:
    here, there = asking(make(BACKENDS[0], "here")), make(BACKENDS[-1], "there")
    source, target = here.store._ctx.storage, there.store._ctx.storage
    migrate(source, target)
    assert [one.state for one in migrate(source, target).namespaces] == ["already there"]
    here.store.forget_lessons()
    assert [one.state for one in migrate(source, target).namespaces] == ["continued"]
    assert text(there.store) == text(here.store)
    here.store.erase(here.store.questions()[0].memory.id)
    assert [one.state for one in migrate(source, target).namespaces][0] in ("continued", "copied anew")
    assert (text(there.store), there.store.questions()) == (text(here.store), ())


def test_a_fingerprint_knows_what_is_remembered_of_questions(make: Made) -> None:
    here = asking(make(BACKENDS[0], "here"))
    ctx = here.store._ctx
    marks = []
    for said in (text(here.store), "", "{}"):
        note(here.store, said)
        with ctx.storage.begin(ctx.namespace, write=False) as tx:
            marks.append(fingerprint(tx).digest)
    assert len(set(marks)) == 3


# ---- export and import ----


def exported(table: Desk) -> Path:
    path = table.folder / "all.jsonl"
    table.store.export(path)
    return path


@pytest.mark.parametrize("other", EACH_BACKEND)
@pytest.mark.parametrize("one", EACH_BACKEND)
def test_an_export_takes_open_questions_and_lessons_along(make: Made, one: str, other: str) -> None:
    here, there = asking(make(one, "here")), make(other, "there")
    path = exported(here)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    assert [sorted(line)[0] for line in lines if "question" in line or "lessons" in line] == ["question", "lessons"]
    there.store.import_(path)
    (before,), (after,) = here.store.questions(), there.store.questions()
    assert replace(after, id=before.id, asked_at=before.asked_at) == before
    assert state(there.store).checked == LESSONS
    assert there.store.verify() == ()
    seen = (there.snapshot(), text(there.store))
    there.store.import_(path)
    assert (there.snapshot(), text(there.store)) == seen
    assert there.store.answer(after.id, "new").entry
    assert there.store.conflicts() == here.store.conflicts()


def test_an_import_keeps_lessons_of_its_own(make: Made) -> None:
    here, there = asking(make(BACKENDS[0], "here")), make(BACKENDS[-1], "there")
    own = {"fold": Checked(3, 0, 0), "mark": Checked()}
    note(there.store, state_text(replace(state(there.store), checked=own)))
    there.store.import_(exported(here))
    assert state(there.store).checked == own


# What is done after an import has brought lessons by entry 2, and what is known then.
BROUGHT: dict[str, tuple[tuple[int, ...], bool]] = {
    "nothing": ((), True),
    "it is taken back": ((2,), False),
    "and stands again": ((2, 3), True),
    "it is forgotten": ((0,), False),
    "and known again": ((0, 3), True),
    "it is taken back while it is forgotten": ((0, 2), False),
    "and not known again then": ((0, 2, 3), False),
}


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("what", BROUGHT)
def test_the_lessons_of_an_import_are_an_entry_that_replay_and_undo_know(make: Made, backend: str, what: str) -> None:
    """A step is the entry that is undone; 0 forgets the lessons. The lesson keeps a text from being marked."""
    here, there = make(BACKENDS[0], "here"), make(backend, "there")
    here.store.remember("Something else.", kind="fact")
    wrong = {"fold": Checked(), "mark": Checked(others_wrong=2)}
    note(here.store, state_text(replace(state(here.store), checked=wrong)))
    there.store.import_(exported(here))
    steps, is_known = BROUGHT[what]
    for step in steps:
        there.store.undo(step) if step else there.store.forget_lessons()
    assert (dict(state(there.store).checked) == wrong) is is_known
    lit, out = "The red lamp is lit.", "The red lamp is out now."
    there.near(lit, out, 0.8)
    there.options["relation_model"].declare(lit, out, conflict=0.905)
    there.store.remember(lit, kind="fact")
    written = there.store.remember(out, kind="fact")
    assert (written.conflicts == ()) is is_known
    for forward in (False, True):
        report = there.store.replay(policy(), forward=forward)
        assert (report.differences, report.unreplayed) == ((), ())
    assert there.store.verify() == ()


def test_an_export_without_questions_is_as_before(make: Made) -> None:
    table = make(BACKENDS[0], "here", ask=0)
    table.store.remember(OLD, kind="fact")
    table.store.remember(NEW, kind="fact")
    assert not any("question" in line or "lessons" in line for line in exported(table).read_text("utf-8").splitlines())


DAMAGE: list[tuple[str, Any]] = [
    ("a candidate that does not exist", lambda one: one["question"]["chances"][0].update(memory_id="nobody")),
    ("a memory that does not exist", lambda one: one["question"].update(memory_id="nobody")),
    ("no candidate", lambda one: one["question"].update(chances=[])),
    ("candidates that are no list", lambda one: one["question"].update(chances=7)),
    ("twice the same", lambda one: one["question"]["chances"].append(one["question"]["chances"][0])),
    ("a number of its own", lambda one: one["question"]["chances"][0].update(number=9)),
    ("no probability", lambda one: one["question"]["chances"][0].update(repeats=1.5)),
    ("a text for a probability", lambda one: one["question"]["chances"][0].update(repeats="x")),
    ("a worth beyond all bounds", lambda one: one["question"].update(worth=1e9)),
    ("an unknown act", lambda one: one["question"].update(audited="cat")),
    ("an unknown field", lambda one: one["question"].update(cat=1)),
    ("an id with a line break", lambda one: one["question"].update(memory_id="a\nb")),
    ("no time", lambda one: one["question"].update(expires_at="soon")),
    ("lessons that are no counts", lambda one: one.update(lessons={"fold": [0, 0, -1], "mark": [0, 0, 0]})),
    ("lessons without an act", lambda one: one.update(lessons={"fold": [0, 0, 0]})),
]


@pytest.mark.parametrize("why", [why for why, _ in DAMAGE])
def test_a_damaged_question_stops_the_import_before_anything_is_written(make: Made, why: str) -> None:
    here, there = asking(make(BACKENDS[0], "here")), make(BACKENDS[-1], "there")
    path = exported(here)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    place = next(place for place, line in enumerate(lines) if "question" in line)
    dict(DAMAGE)[why](lines[place])
    if "lessons" in lines[place]:
        del lines[place]["question"]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    with pytest.raises(WellkeptError):
        there.store.import_(path)
    assert (there.snapshot()[0], text(there.store)) == ((), "")


# ---- damage ----


def test_a_state_that_cannot_be_read_is_named_and_begun_anew(make: Made) -> None:
    for backend in BACKENDS:
        table = asking(make(backend, f"one-{backend}"))
        note(table.store, '{"tokens":')
        assert [one.where for one in table.store.verify()] == ["questions"]
        assert repair(table.store._ctx).mends[0].state == "planned"
        report = repair(table.store._ctx, dry_run=False)
        assert [(one.where, one.mend) for one in report.mends] == [("questions", "begun anew")]
        assert (report.left, table.store.verify()) == ((), ())


def test_a_state_that_lists_entries_without_a_question_is_mended_and_keeps_the_rest(make: Made) -> None:
    for backend in BACKENDS:
        table = asking(make(backend, f"two-{backend}"))
        before = text(table.store)
        found = table.store.questions()
        extra = state(table.store).with_question(OpenQuestion(1, 0.5, "a", "b"))
        note(table.store, state_text(extra.with_question(OpenQuestion(900, 0.5, "c", "d"))))
        assert table.store.questions() == found
        assert [one.what for one in table.store.verify()] == ["entries are listed that ask nothing: 1, 900"]
        assert repair(table.store._ctx, dry_run=False).left == ()
        assert (text(table.store), table.store.questions()) == (before, found)
