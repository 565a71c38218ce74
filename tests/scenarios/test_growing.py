"""A memory that grows by one addition after the other: its parts stay findable, and it stays within its bound."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

import wellkept
from letter import to_the_letter
from stores import BACKENDS, EACH_BACKEND, LIGHT, place
from wellkept import Filter, MemoryStore, Policy
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.core.records.merge import GROWN_AT_MOST, SHOWN_UPDATES, original, segments
from wellkept.engine.replay.replay import replay
from wellkept.errors import IllegalTransition
from wellkept.policy import Risk
from wellkept.testing.clock import FrozenClock
from wellkept.types import ALL_STATUSES, Opinion

FOLDING = Policy.from_toml('[kinds.knowledge]\nrepeats = "fold"\n')

CHAINS: dict[str, tuple[str, ...]] = {
    "English": (
        "Deploys are started by hand.",
        "Deploys are started by hand, by the engineer on call.",
        "Deploys are started by hand after the tests have passed.",
        "Deploys are started by hand from the main branch.",
        "Deploys are started by hand, unless a hotfix is urgent.",
        "Deploys are started by hand and announced in the channel.",
        "Deploys are started by hand with the script in the tools folder.",
        "Deploys are started by hand and recorded in the logbook.",
        "Deploys are started by hand and checked by a second person.",
        "Deploys are started by hand because the pipeline is too slow.",
        "Deploys are started by hand in the maintenance window.",
        "Deploys are started by hand and rolled back when an alarm rings.",
        "Deploys are started by hand in each region.",
    ),
    "German": (
        "Die Sicherung läuft jede Nacht.",
        "Die Sicherung läuft jede Nacht, außer an Feiertagen.",
        "Die Sicherung läuft jede Nacht und schreibt ein Protokoll.",
        "Die Sicherung läuft jede Nacht, wenn das Netz erreichbar ist.",
        "Die Sicherung läuft jede Nacht mit den Rechten eines eigenen Benutzers.",
        "Die Sicherung läuft jede Nacht und wird danach verschlüsselt.",
        "Die Sicherung läuft jede Nacht, bevor die Datenbank aufgeräumt wird.",
        "Die Sicherung läuft jede Nacht und meldet Fehler per Mail.",
        "Die Sicherung läuft jede Nacht in getrennte Rechenzentren.",
        "Die Sicherung läuft jede Nacht und löscht veraltete Kopien.",
        "Die Sicherung läuft jede Nacht auf dem alten Server.",
        "Die Sicherung läuft jede Nacht und prüft ihre Summen.",
        "Die Sicherung läuft jede Nacht für alle Mandanten.",
    ),
    "Spanish": (
        "La copia de seguridad se hace cada noche.",
        "La copia de seguridad se hace cada noche, salvo en días festivos.",
        "La copia de seguridad se hace cada noche y escribe un registro.",
        "La copia de seguridad se hace cada noche con permisos propios.",
        "La copia de seguridad se hace cada noche y luego se cifra.",
        "La copia de seguridad se hace cada noche antes de limpiar la base de datos.",
        "La copia de seguridad se hace cada noche y avisa de los errores por correo.",
        "La copia de seguridad se hace cada noche en centros distintos.",
        "La copia de seguridad se hace cada noche y borra las versiones viejas.",
        "La copia de seguridad se hace cada noche en el servidor antiguo.",
        "La copia de seguridad se hace cada noche si la red funciona.",
        "La copia de seguridad se hace cada noche para todos los clientes.",
        "La copia de seguridad se hace cada noche y comprueba las sumas.",
    ),
    "Japanese": (
        "バックアップは毎晩実行される。",
        "バックアップは毎晩、古いサーバーで実行される。",
        "バックアップは毎晩実行され、記録を書き出す。",
        "バックアップは毎晩実行され、終了後に暗号化される。",
        "バックアップは毎晩、管理者の権限を使って実行される。",
        "バックアップは毎晩実行され、失敗はメールで通知される。",
        "バックアップは毎晩、別のデータセンターに向けて実行される。",
        "バックアップは毎晩実行され、古いコピーを削除する。",
        "バックアップは毎晩、ネットワークが使えるとき実行される。",
        "バックアップは毎晩、整理作業の前に実行される。",
        "バックアップは毎晩、すべての顧客について実行される。",
        "バックアップは毎晩実行され、チェックサムを確かめる。",
        "バックアップは毎晩、祝日を除いて実行される。",
    ),
}


class RefinesTheOriginal:
    """A relation model that is certain of each addition to the original, and of no pair with another text."""

    id = "refines-the-original"
    defers = False

    def __init__(self, originals: Sequence[str]) -> None:
        self._originals = frozenset(originals)

    def bounds(self, risk: Risk) -> Bounds:
        return Bounds(0.9, 0.5, 0.8, 0.9, 0.95)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        sure = Opinion(same=0.02, refines=0.92, generalises=0.02, conflict=0.02, distinct=0.02, model=self.id)
        apart = Opinion(same=0.02, refines=0.02, generalises=0.02, conflict=0.02, distinct=0.92, model=self.id)
        return [sure if old in self._originals else apart for old, _ in pairs]


@pytest.fixture(params=EACH_BACKEND)
def by_double(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MemoryStore]:
    where = "memory:" if request.param == "memory" else str(place(tmp_path / "store.db"))
    model = RefinesTheOriginal([chain[0] for chain in CHAINS.values()])
    with wellkept.open(where, policy=FOLDING, clock=FrozenClock(), relation_model=model) as opened:
        yield opened


@pytest.fixture(scope="module")
def packaged(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MemoryStore]:
    with wellkept.open(str(place(tmp_path_factory.mktemp("grown") / "store.db")), policy=FOLDING) as opened:
        yield opened


def told(store: MemoryStore, chain: Sequence[str]) -> list[str]:
    return [store.remember(text, kind="knowledge").outcome for text in chain]


def findable(store: MemoryStore, text: str) -> bool:
    hits = store.recall(text)[:3]
    rows = [row for hit in hits for row in (hit.memory, *hit.repeats)]
    return text in {hit.wording.content for hit in hits if hit.wording} or any(text in segments(row) for row in rows)


IN_EVERY_LANGUAGE = pytest.mark.parametrize(
    ("by_double", "language"),
    [(backend, name) if backend == LIGHT or name == "English" else pytest.param(backend, name, marks=pytest.mark.soak)
     for backend in BACKENDS for name in CHAINS],
    indirect=["by_double"],
)  # fmt: skip
"""Languages are no business of the backend."""


@IN_EVERY_LANGUAGE
def test_twelve_additions_end_as_one_memory_with_a_model_that_is_sure_of_each(by_double, language):
    chain = CHAINS[language]
    outcomes = told(by_double, chain)
    [head] = by_double.list()
    assert outcomes[0] == "created" and set(outcomes[1:]) <= {"evolved", "restated"}
    assert outcomes.count("evolved") == head.evolution_count == len(head.updates)
    assert head.evolution_count >= 8
    assert original(head) == chain[0] and len(head.content) <= GROWN_AT_MOST
    wordings = by_double.list(Filter(statuses=("wording",)), limit=20)
    assert {row.content for row in wordings} == set(chain[1:])
    assert {row.superseded_by for row in wordings} == {head.id}
    assert all(by_double.recall(text)[0].memory.id == head.id for text in chain)
    assert by_double.verify() == ()


@IN_EVERY_LANGUAGE
def test_a_chain_told_again_changes_nothing_with_a_model_that_is_sure_of_each(by_double, language):
    told(by_double, CHAINS[language])
    before = [(row.id, row.content) for row in by_double.list(Filter(statuses=ALL_STATUSES), limit=50)]
    assert set(told(by_double, CHAINS[language])) == {"duplicate"}
    assert [(row.id, row.content) for row in by_double.list(Filter(statuses=ALL_STATUSES), limit=50)] == before


def test_each_step_is_undone_alone_with_a_model_that_is_sure_of_each(by_double):
    states, entries = [], []
    for text in CHAINS["English"]:
        entries.append(by_double.remember(text, kind="knowledge").entry)
        states.append(by_double.list(Filter(statuses=ALL_STATUSES), limit=50))
    for entry, earlier in zip(reversed(entries[1:]), reversed(states[:-1]), strict=True):
        by_double.undo(entry)
        assert by_double.list(Filter(statuses=ALL_STATUSES), limit=50) == earlier
    assert by_double.verify() == ()


def test_a_replay_decides_each_step_alike_with_a_model_that_is_sure_of_each(by_double):
    told(by_double, CHAINS["German"])
    report = replay(by_double._ctx, FOLDING)
    assert (report.differences, report.unreplayed) == ((), ())


def test_an_addition_beyond_the_bound_is_a_wording_only_with_a_model_that_is_sure_of_each(by_double):
    first, *additions = CHAINS["English"]
    by_double.remember(first, kind="knowledge")
    for text in additions[:SHOWN_UPDATES]:
        by_double.remember(text, kind="knowledge")
    [full] = by_double.list()
    last = by_double.remember(additions[-1], kind="knowledge")
    assert (last.outcome, last.reasons[0].rule, last.id) == ("restated", "no_room_to_grow", full.id)
    assert last.message.startswith("Added behind")
    [head] = by_double.list()
    assert (head.content, head.updates) == (full.content, full.updates)
    assert by_double.recall(additions[-1])[0].wording.content == additions[-1]


def test_a_part_is_erased_only_with_its_head_with_a_model_that_is_sure_of_each(by_double):
    first, addition, *_ = CHAINS["English"]
    head = by_double.remember(first, kind="knowledge")
    by_double.remember(addition, kind="knowledge")
    [part] = by_double.list(Filter(statuses=("wording",)))
    with pytest.raises(IllegalTransition, match="holds in its own text"):
        by_double.erase(part.id)
    by_double.erase(head.id)
    assert not any(addition in row.content for row in by_double.list(Filter(statuses=ALL_STATUSES)))


def test_a_part_that_is_split_off_leaves_the_text_of_its_head_with_a_model_that_is_sure_of_each(by_double):
    chain = CHAINS["English"][:4]
    told(by_double, chain)
    part = next(row for row in by_double.list(Filter(statuses=("wording",))) if row.content == chain[2])
    before = by_double.list(Filter(statuses=ALL_STATUSES))
    entry = by_double.split(part.id)
    head = next(row for row in by_double.list() if row.id == part.superseded_by)
    assert segments(head) == (chain[0], chain[1], chain[3])
    assert {row.content for row in by_double.list()} == {head.content, chain[2]}
    again = by_double.remember(chain[2], kind="knowledge")
    assert (again.outcome, again.id) == ("duplicate", part.id)
    assert by_double.verify() == ()
    by_double.undo(again.entry)
    by_double.undo(entry)
    assert by_double.list(Filter(statuses=ALL_STATUSES)) == before


def test_without_wordings_an_addition_stays_only_in_the_text_with_a_model_that_is_sure_of_each(tmp_path):
    first, addition, *_ = CHAINS["English"]
    where, model = str(tmp_path / "drop.db"), RefinesTheOriginal([first])
    with wellkept.open(where, policy=to_the_letter(), relation_model=model) as store:
        assert told(store, (first, addition)) == ["created", "evolved"]
        assert store.list(Filter(statuses=("wording",))) == ()


@pytest.mark.parametrize("language", ["English", "German", "Spanish"])
def test_most_of_twelve_additions_join_one_memory_with_the_packaged_model(packaged, language):
    """The model judges each addition with the original; an uncertain one is stored as a separate memory."""
    store = packaged.in_namespace(f"grown/{language}")
    chain = CHAINS[language]
    told(store, chain)
    head = max(store.list(), key=lambda row: row.evolution_count)
    parts = store.list(Filter(statuses=("wording",)), limit=20)
    assert len(parts) >= 7 and head.evolution_count >= 6
    assert len(head.content) <= GROWN_AT_MOST
    assert all(findable(store, text) for text in chain)
    assert len(store.list()) + len(parts) == len(chain)
    assert store.verify() == ()
