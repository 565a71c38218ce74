"""A title heads a memory and says nothing: repeats are judged by their texts, with the models that ship."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import httpx2
import pytest

import wellkept
from letter import to_the_letter
from stores import embedded
from surfaces.rest.serving import rest_app, served
from wellkept import MemoryStore, NewMemory
from wellkept.core.text.titles import FURTHER_TITLES, titles
from wellkept.errors import ModelUnavailable
from wellkept.models.port import Embedded
from wellkept.testing.embedder import FakeEmbedder
from wellkept.testing.relations import FakeRelationModel

# Three wordings each; the first two are told under other titles in other spellings too.
INSIGHTS = (
    ("Never trade during low-volume weekends.", "Don't trade on weekends when volume is low.",
     "Avoid trading on low-volume weekends."),
    ("Always set a stop loss before entering a leveraged position.",
     "Before you enter a leveraged position, always place a stop loss.",
     "Place a stop loss first whenever you open a leveraged position."),
    ("Back up the database before every migration.", "Before each migration, make a backup of the database.",
     "Every migration needs a database backup first."),
    ("Small pull requests get reviewed faster.", "Pull requests that are small are reviewed more quickly.",
     "Reviewers get through small pull requests faster."),
    ("High funding rates tend to come before a correction.", "A correction often follows high funding rates.",
     "When funding rates are high, a correction tends to follow."),
    ("Flaky tests hide real failures.", "Real failures are hidden by flaky tests.",
     "Tests that are flaky conceal genuine failures."),
    ("Rotate the API keys every ninety days.", "API keys must be rotated every ninety days.",
     "Every ninety days the API keys have to be rotated."),
    ("Customers churn when support answers slowly.", "Slow answers from support make customers leave.",
     "When support is slow to answer, customers churn."),
    ("Write the rollback plan before the deployment.", "Prepare a rollback plan ahead of deploying.",
     "Before you deploy, write a plan for rolling back."),
    ("Cache invalidation bugs show up only under load.", "Bugs in cache invalidation appear only under load.",
     "Only under load do cache invalidation bugs become visible."),
)  # fmt: skip
TITLES = (
    ("Weekends", "Thin markets", "Volume and weekends"),
    ("Stop loss first", "Protect leveraged entries", "Leverage and stops"),
    ("Migrations", "Backup rule", "Database safety"),
    ("Review speed", "Small PRs", "Faster reviews"),
    ("Funding", "Correction signal", "Overheated longs"),
    ("Flaky tests", "Hidden failures", "Test hygiene"),
    ("Key rotation", "Secrets policy", "Ninety days"),
    ("Churn", "Support speed", "Why customers leave"),
    ("Rollback", "Deployment checklist", "Plan for failure"),
    ("Caches", "Load bugs", "Invalidation"),
)
SPELLINGS: tuple[Callable[[str], str], ...] = (
    str,
    lambda text: text.lower().rstrip("."),
    lambda text: text.replace(" ", "  ") + "!",
)
Told = Sequence[tuple[str, str]]
REPEATS: Told = tuple(
    (spelled(wordings[0]), under[at])
    for at, spelled in enumerate(SPELLINGS)
    for wordings, under in zip(INSIGHTS, TITLES, strict=True)
)
"""Ten insights, each told three times in another spelling and under another title."""


@pytest.fixture
def store() -> Iterator[MemoryStore]:
    with wellkept.open("memory:") as opened:
        yield opened


def written(store: MemoryStore, folder: Path) -> None:
    for text, title in REPEATS:
        store.remember(text, kind="lesson", title=title)


def in_a_batch(store: MemoryStore, folder: Path) -> None:
    store.remember_many([NewMemory(content=text, kind="lesson", title=title) for text, title in REPEATS])


def imported(store: MemoryStore, folder: Path) -> None:
    lines = [json.dumps({"content": text, "kind": "lesson", "title": title}) for text, title in REPEATS]
    (folder / "told.jsonl").write_text("\n".join(lines), encoding="utf-8")
    store.import_(folder / "told.jsonl")


def posted(store: MemoryStore, folder: Path) -> None:
    with served(rest_app(store)) as url, httpx2.Client(base_url=url, timeout=30) as http:
        for text, title in REPEATS:
            node = {"type": "concept", "subtype": "custom:lesson", "content_title": title, "content_body": text}
            assert http.post("/v1/nodes", json=node).status_code in (200, 201)


def consolidated(store: MemoryStore, folder: Path) -> None:
    for text, title in REPEATS:
        store.remember(text, kind="lesson", title=title, on_conflict="ignore")
    assert len(store.list()) == len(REPEATS)
    store.execute(store.plan())


@pytest.mark.parametrize("told", [written, in_a_batch, imported, posted, consolidated], ids=lambda way: way.__name__)
def test_the_same_insight_told_three_times_under_three_titles_leaves_one_memory(
    store: MemoryStore, tmp_path: Path, told: Callable[[MemoryStore, Path], None]
) -> None:
    """S0-1: and every title is kept."""
    told(store, tmp_path)
    rows = store.list()
    assert len(rows) == len(INSIGHTS)
    assert sorted(sorted(titles(row)) for row in rows) == sorted(map(sorted, TITLES))


def test_titles_change_nothing_about_which_wordings_are_repeats(store: MemoryStore) -> None:
    """The relation model reads bare texts. A store for each insight, since titles change what else is near."""
    outcomes = []
    for way in range(2):
        for place, (wordings, under) in enumerate(zip(INSIGHTS, TITLES, strict=True)):
            here = store.in_namespace(f"titles/{way}/{place}")
            outcomes += [
                here.remember(wordings[at], kind="lesson", title=under[at] if way else "").outcome for at in range(3)
            ]
    assert outcomes[:30] == outcomes[30:]
    assert outcomes[:30].count("restated") >= 15


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Deploys go out on Fridays.", "Deploys never go out on Fridays."),
        ("The retry limit is 3.", "The retry limit is 5."),
        ("Write the rollback plan before the deployment.", "Prepare a rollback plan ahead of deploying."),
    ],
)
def test_titles_change_nothing_about_how_near_a_contradiction_or_a_repeat_is(
    store: MemoryStore, old: str, new: str
) -> None:
    told = []
    for way, (first, second) in enumerate([("", ""), ("Kitchen duty", "Notes on the third quarter"), ("", "Aside")]):
        here = store.in_namespace(f"near/{way}")
        here.remember(old, title=first)
        result = here.remember(new, title=second, on_conflict="supersede")
        told.append((result.outcome, result.matches[0].similarity, result.matches[0].relation))
    assert told[0] == told[1] == told[2]


LEFT_BY_TITLE = frozenset({
    "API keys must be rotated every ninety days.",
    "Only under load do cache invalidation bugs become visible.",
    "Don't trade on weekends when volume is low.",
    "Avoid trading on low-volume weekends.",
    "Reviewers get through small pull requests faster.",
})  # fmt: skip
"""What a merge leaves out under titles. A cluster that is merged needs all of its pairs. With their titles, one pair of
each of four clusters lies below what merges, and is not the nearest of its newer memory: such a pair is not read by
the relation model, so its texts are not embedded without their titles either."""


def planned(store: MemoryStore, *, titled: bool) -> list[tuple[str, frozenset[str]]]:
    """The actions over ten insights in three wordings and a contradiction, each with the texts it concerns."""
    here = store.in_namespace(f"plans/{titled}")
    for at in range(3):
        for wordings, under in zip(INSIGHTS, TITLES, strict=True):
            here.remember(wordings[at], kind="lesson", title=under[at] if titled else "", on_conflict="ignore")
    here.remember(OLD, title="Kitchen duty" if titled else "", on_conflict="ignore")
    here.remember(NEW, title="Notes on the third quarter" if titled else "", on_conflict="ignore")
    text = {row.id: row.content for row in here.list()}
    return [(action.type, frozenset(text[one] for one in action.targets)) for action in here.plan().actions]


OLD, NEW = "The retry limit is 3.", "The retry limit is 5."
FLAGGED = ("flag_contradiction", frozenset((OLD, NEW)))


def test_a_consolidation_finds_repeats_and_contradictions_under_other_titles(store: MemoryStore) -> None:
    """As without titles: a wording needs only its own pair with the head."""
    flag, *folds = planned(store, titled=False)
    assert flag == FLAGGED and {name for name, _ in folds} == {"fold"}
    assert sorted(len(found) for _, found in folds) == [2] + [3] * 9
    again, *others = planned(store, titled=True)
    assert again == FLAGGED and {name for name, _ in others} == {"fold"}
    # A title changes what is near a text and so what is read beside it, which may add a wording, but takes none away.
    assert all(any(texts <= more for _, more in others) for _, texts in folds)
    for found in (folds, others):
        assert [sum(texts <= set(wordings) for _, texts in found) for wordings in INSIGHTS] == [1] * len(INSIGHTS)


def test_a_consolidation_that_merges_leaves_some_wordings_under_other_titles() -> None:
    with wellkept.open("memory:", policy=to_the_letter()) as store:
        flag, *merges = planned(store, titled=False)
        assert flag == FLAGGED and {name for name, _ in merges} == {"merge"}
        assert [len(found) for _, found in merges] == [3, 3, 2, 2, 3, 2, 2, 3]
        assert all(any(found <= set(wordings) for wordings in INSIGHTS) for _, found in merges)
        left = [(name, found - LEFT_BY_TITLE) for name, found in merges]
        assert planned(store, titled=True) == [FLAGGED, *((name, found) for name, found in left if found)]


def test_a_further_title_is_searched_journaled_and_undone(store: MemoryStore) -> None:
    first = store.remember("Rotate the signing secrets.", kind="lesson", title="Keys").memory
    assert first is not None
    again = store.remember("rotate the signing secrets", kind="lesson", title="Quarterly chores")
    held = store.get(first.id)
    assert (held.title, held.metadata[FURTHER_TITLES]) == ("Keys", ["Quarterly chores"])
    hits = store.recall("quarterly chores", min_score=0)
    assert [hit.memory.id for hit in hits] == [first.id] and hits[0].parts["lexical"]
    change = store.history(first.id)[-1]
    assert change.memory is not None and FURTHER_TITLES in change.memory.metadata
    store.undo(again.entry)
    assert store.get(first.id).metadata == {}
    assert not store.recall("quarterly chores", min_score=0)[0].parts["lexical"]


class _FailsWithoutTitle(FakeEmbedder):
    """Embeds texts with a title; others are an outage."""

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        if not all(text.startswith("[") for text in texts):
            raise ModelUnavailable("down", where="here")
        return super().embed(texts)


@pytest.mark.parametrize(("embedder", "outcome"), [(FakeEmbedder, "restated"), (_FailsWithoutTitle, "created")])
def test_texts_under_unlike_titles_are_as_near_as_they_are_without_unless_the_embedder_fails(
    embedder: type[FakeEmbedder], outcome: str
) -> None:
    """Vectors of title and text may be far apart, so texts are also compared without titles, except in an outage."""
    old = NewMemory(content="Tea is upstairs.", kind="lesson", title="Kitchen")
    new = NewMemory(content="You find tea upstairs.", kind="lesson", title="Drinks")
    fake = embedder({(embedded(old), embedded(new)): 0.5, (old.content, new.content): 0.97}, dim=64)
    model = FakeRelationModel()
    model.declare(old.content, new.content, same=1.0)
    with wellkept.open("memory:", embedder=fake, relation_model=model) as store:
        store.remember(old)
        assert (store.check(new).outcome, store.remember(new).outcome) == (outcome, outcome)
