"""Order of events, sides of a time, plans and deeds, the place of "only": vetoes on every path, and no false ones."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest

import wellkept
from golden.course import GROUPS, SORTS, Pair, pairs
from wellkept.core.differences.find import chosen_otherwise, differences
from wellkept.core.judging.compare import is_vetoed
from wellkept.core.lexicon import lexicon
from wellkept.core.reading.events import MOST_READ, courses
from wellkept.types import DifferenceKind

OTHER, SAME = pairs("other"), pairs("same")
TELLING: frozenset[DifferenceKind] = frozenset(("order", "scope", "time", "antonym"))
KINDS = ("lesson", "note", "fact", "knowledge", "semantic")


def _group(pair: Pair) -> str:
    return next(name for name, codes in GROUPS.items() if pair.lang in codes)


def test_each_sort_has_sixty_pairs_in_each_group_of_languages() -> None:
    counts = Counter((pair.sort, _group(pair)) for pair in OTHER)
    assert set(counts) == {(sort, group) for sort in SORTS for group in GROUPS}
    assert min(counts.values()) >= 60 and len({(pair.old, pair.new) for pair in OTHER}) == len(OTHER)
    assert len(SAME) >= 60 and {pair.lang for pair in SAME} == {pair.lang for pair in OTHER} == set(lexicon().languages)


@pytest.mark.parametrize("sort", SORTS)
def test_texts_that_say_something_else_are_never_the_same_from_either_side(sort: str) -> None:
    missed = [
        pair
        for pair in OTHER
        if pair.sort == sort
        for old, new in ((pair.old, pair.new), (pair.new, pair.old))
        if not is_vetoed(new, old, differences(old, new))
        or not any(item.kind in TELLING for item in differences(old, new))
    ]
    assert missed == []


@pytest.mark.parametrize("sort", SORTS)
def test_texts_that_say_the_same_with_the_same_words_are_left_to_the_model(sort: str) -> None:
    barred = [
        (pair, differences(old, new))
        for pair in SAME
        if pair.sort == sort
        for old, new in ((pair.old, pair.new), (pair.new, pair.old))
        if any(item.kind in TELLING for item in differences(old, new))
    ]
    assert barred == []


def test_only_what_is_chosen_otherwise_is_read_as_another_choice() -> None:
    assert [pair for pair in OTHER if chosen_otherwise(pair.old, pair.new) is not (pair.sort == "choices")] == []
    assert [pair for pair in SAME if chosen_otherwise(pair.old, pair.new)] == []


CASES: list[tuple[str, str, DifferenceKind | None]] = [
    # From an audit.
    ("Refunds are allowed within 30 days", "Refunds are allowed after 30 days", "order"),
    ("We will migrate to Postgres.", "We have migrated to Postgres.", "time"),
    ("Stop the writer before copying the dump", "Copy the dump before stopping the writer", "order"),
    ("We plan to move to Rust.", "We have switched to Rust", "time"),
    # Free texts.
    ("Deploy after the smoke tests passed", "Run the smoke tests after deploying", "order"),
    ("Pay rent by the 1st of the month", "Pay rent after the 1st of the month", "order"),
    ("The migration will be finished on Monday", "The migration is finished", "time"),
    ("We should drop Python 3.10", "We dropped Python 3.10", "time"),
    ("Das Team wird auf Rust umsteigen", "Das Team ist auf Rust umgestiegen", "time"),
    ("Deploye erst nach dem Review", "Mach das Review erst nach dem Deploy", "order"),
    ("Мы переедем в Берлин", "Мы переехали в Берлин", "time"),
    ("Antes de desplegar, ejecuta las pruebas", "Despliega antes de ejecutar las pruebas", "order"),
    ("Only Anna may approve invoices", "Anna may only approve invoices", "scope"),
    # From a review: conditions turned round.
    ("Close the issue when the patch is merged", "Merge the patch when the issue is closed", "order"),
    ("When the patch is merged, close the issue", "Merge the patch when the issue is closed", "order"),
    ("Rotate the key whenever an employee leaves", "An employee leaves whenever the key is rotated", "order"),
    ("Escalate unless closed", "Close unless escalated", "order"),
    ("Mute the alerts while you deploy", "Deploy while the alerts are muted", "order"),
    (
        "Schließe das Ticket, wenn der Patch gemergt ist",
        "Merge den Patch, wenn das Ticket geschlossen ist",
        "order",
    ),
    (
        "Ferme le ticket quand le correctif est fusionné",
        "Fusionne le correctif quand le ticket est fermé",
        "order",
    ),
    (
        "Cierra el ticket cuando el parche esté fusionado",
        "Fusiona el parche cuando el ticket esté cerrado",
        "order",
    ),
    ("Закрой задачу, когда патч принят", "Прими патч, когда задача закрыта", "order"),
    # From a review: what goes on, is due or was once, against what is done or holds.
    ("We are migrating to Postgres", "We have migrated to Postgres", "time"),
    ("The backup is running", "The backup has run", "time"),
    ("The invoice must be paid", "The invoice has been paid", "time"),
    ("The old API is scheduled to be removed", "The old API was removed", "time"),
    ("We decided to migrate to Postgres", "We migrated to Postgres", "time"),
    ("We used to deploy on Fridays", "We deploy on Fridays", "time"),
    ("Wir migrieren gerade auf Postgres", "Wir haben auf Postgres migriert", "time"),
    ("Nous sommes en train de migrer vers Postgres", "Nous avons migré vers Postgres", "time"),
    ("Estamos migrando a Postgres", "Hemos migrado a Postgres", "time"),
    ("Estamos migrando para o Postgres", "Eles migraram para o Postgres", "time"),
    ("Мы переезжаем в Берлин", "Мы переехали в Берлин", "time"),
    ("我们正在迁移到 Postgres", "我们已经迁移到了 Postgres", "time"),
    ("Postgres に移行しています", "Postgres に移行しました", "time"),
    # What looks like one of these and is none.
    ("Deploy when the tests pass", "When the tests pass, deploy", None),
    ("If the build fails, alert the team", "Alert the team if the build fails", None),
    ("Never merge unless the tests pass", "Unless the tests pass, never merge", None),
    ("Run the tests before you merge", "Run the tests when you merge", None),
    ("Merge only when the tests pass", "When you merge, the tests must pass", None),
    ("Do not deploy while the tests run", "While the tests run, do not deploy", None),
    ("Sag dem Team Bescheid, wenn der Build scheitert", "Wenn der Build scheitert, sag dem Team Bescheid", None),
    ("Nous déployons quand les tests passent", "Quand les tests passent, nous déployons", None),
    ("Despliega si los tests pasan", "Si los tests pasan, despliega", None),
    ("O ticket se fecha sozinho", "Fecha-se o ticket sozinho", None),
    ("Выкатывай, если тесты прошли", "Если тесты прошли, выкатывай", None),
    ("テストが通ったらデプロイする", "デプロイはテストが通ってから", None),
    ("We are hosting the site on AWS", "The site is hosted on AWS", None),
    ("The service is running on port 80", "The service runs on port 80", None),
    ("Ana is working at Acme", "Ana has been working at Acme", None),
    ("We decided to use Postgres", "We use Postgres", None),
    ("We used to deploy on Fridays", "We no longer deploy on Fridays", None),
    ("Docker is used to deploy the site", "We deploy the site with Docker", None),
    ("I am used to working late", "I work late", None),
    ("The must of the frost-hit vines is sold", "The frosted vines give must, which is sold", None),
    ("Run the tests before merging.", "Before merging, run the tests.", None),
    ("Before merging we run the tests", "We run the tests before merging", None),
    ("Never merge before running the tests", "Run the tests before merging", None),
    ("Merging before running the tests is forbidden", "Run the tests before merging", None),
    ("Only deploy on Fridays", "Deploy only on Fridays", None),
    ("We only sell books to students", "We sell books only to students", None),
    ("The player is muted until Friday", "The player cannot chat until Friday", None),
    ("The optical sorter stands in the plant", "The optical sorter stands in the hall of the plant", None),
    ("We use Postgres in the office by the river", "We use Postgres in the office after the river", None),
    # An intention that is mentioned in passing, and one that the other text may tell as fact.
    ("The inspector wants the meat gone. Freezer 2 is for ice and cream from now on", "Ice goes into freezer 2", None),
    ("Our dental plan pays half of every crown", "For a crown we get 50 % back", None),
    ("Der Hof möchte Ruhe. Die Ziegen stehen jetzt im Stall am Bach", "Ziegen: am Bach untergebracht", None),
    ("The inspector wants the meat gone - freezer 2 is for ice from now on", "Ice goes into freezer 2", None),
    ("Rita wants a kayak", "Rita has a kayak", "time"),
    ("Rita wants to relocate to Lisbon", "Rita has moved to Lisbon", "time"),
    ("Rita wants to move to Lisbon because of the weather", "Rita lives in Lisbon", "time"),
    ("The client wants the logo in green on every page of the site", "The logo on the site is green", "time"),
    ("The team might move the standup to ten so that Lisbon can join", "The standup is at ten", "time"),
    ("We plan, if the budget allows it by June, to renovate the old mill", "The mill got renovated", "time"),
    ("Plan for this year: a move to Lisbon in May", "I live in Lisbon now", "time"),
    ("Plan - the office moves to the second floor", "The office is on the second floor", "time"),
    ("Plan:\n- the office moves to the second floor", "The office is on the second floor", "time"),
    ("We plan to renovate the barn in spring", "The whole place has been renovated", "time"),
    ("Anna möchte im Sommer nach Hamburg ziehen, weil ihre Schwester dort lebt", "Anna lebt in Hamburg", "time"),
    ("Julie veut acheter une maison à Lyon avant la fin de l'année", "Julie a une maison à Lyon", "time"),
    ("Pedro quiere comprar un coche cuando termine de pagar la casa", "Pedro tiene un coche", "time"),
    ("Giulia vuole comprare una casa a Torino prima dell'estate", "Giulia ha una casa a Torino", "time"),
    ("O João quer comprar uma casa em Braga este ano", "O João tem uma casa em Braga", "time"),
    ("Аня хочет переехать в Казань, потому что там живёт сестра", "Аня живёт в Казани", "time"),
    ("", "Merge before running the tests.", None),
]


@pytest.mark.parametrize(("old", "new", "kind"), CASES)
def test_what_a_pair_of_texts_tells_of_order_time_and_limits(old: str, new: str, kind: DifferenceKind | None) -> None:
    found = {item.kind for item in differences(old, new)} & {"order", "scope", "time"}
    assert (kind in found) if kind else not found


def test_long_texts_are_not_read_and_every_language_has_its_words() -> None:
    long = "Run the tests before merging. " * (MOST_READ // 20)
    assert courses(long, long)[0].orders == ()
    told = [language.events for language in lexicon().languages.values()]
    assert all(words.before and words.after and words.future and words.only for words in told)


def test_the_same_words_without_a_difference_are_no_conflict_by_the_models_word() -> None:
    with wellkept.open("memory:") as store:
        store.remember("Do not revenge trade after a loss", kind="lesson")
        told = store.remember("After a loss, never revenge trade", kind="lesson")
        assert told.conflicts == () and all(match.relation != "conflict" for match in told.matches)


# --------------------------------------------------------------------------------------------
# Every path, with the packaged models


def _kept(chosen: list[Pair]) -> list[str]:
    """Errors when each pair is written, listed and consolidated in its own namespace.

    Whether a text is worth keeping is another question: all are kept.
    """
    wrong = []
    with wellkept.open("memory:") as store:
        for place, pair in enumerate(chosen):
            kind = KINDS[place % len(KINDS)]
            alone = store.in_namespace(f"pair-{place}")
            first = alone.remember(pair.old, kind=kind, keep=True)
            second = alone.remember(pair.new, kind=kind, keep=True)
            merges = [action for action in alone.plan().actions if action.type == "merge"]
            if first.outcome != "created" or second.outcome not in ("created", "superseded") or merges:
                wrong.append(f"{kind} {second.outcome} {len(merges)}: {pair.old} | {pair.new}")
    return wrong


def test_one_pair_of_each_sort_and_language_is_kept_apart_by_the_packaged_models() -> None:
    first = {(pair.sort, pair.lang): pair for pair in reversed(OTHER)}
    assert len(first) == len(SORTS) * len(lexicon().languages)
    assert _kept(list(first.values())) == []


@pytest.mark.parametrize("step", [pytest.param(36, marks=pytest.mark.slow), pytest.param(1, marks=pytest.mark.soak)])
def test_every_pair_is_kept_apart_by_the_packaged_models(step: int) -> None:
    assert _kept(OTHER[::step]) == []


def test_no_path_makes_one_memory_of_texts_that_turn_an_order_round(tmp_path: Path) -> None:
    told = [
        ("Run the tests before merging.", "Merge before running the tests."),
        ("Refunds are allowed within 30 days", "Refunds are allowed after 30 days"),
        ("We will migrate to Postgres.", "We have migrated to Postgres."),
        ("Only admins can delete projects", "Admins can only delete projects"),
    ]
    texts = [text for pair in told for text in pair]
    lines = tmp_path / "lines.jsonl"
    lines.write_text("\n".join(json.dumps({"content": text, "kind": "lesson"}) for text in texts), "utf-8")
    with wellkept.open("memory:") as store:
        batch = store.in_namespace("batch")
        assert dict(batch.remember_many([{"content": text, "kind": "lesson"} for text in texts]).counts) == {
            "created": len(texts)
        }
        imported = store.in_namespace("import")
        assert dict(imported.import_(lines).counts) == {"created": len(texts)}
        for place in (batch, imported):
            assert [action for action in place.plan().actions if action.type == "merge"] == []
            for old, new in told:
                shown = [hit.memory.content for hit in place.recall(old, limit=len(texts), grouped=True)]
                assert {old, new} <= set(shown)
