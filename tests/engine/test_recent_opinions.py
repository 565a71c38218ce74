"""Opinions are cached per namespace, so that response times reveal nothing about other namespaces."""

from __future__ import annotations

from collections.abc import Sequence

import wellkept
from wellkept.engine.models import recent_opinions
from wellkept.engine.models.recent_opinions import RecentOpinions
from wellkept.models.relation import PackagedRelationModel
from wellkept.policy import Risk
from wellkept.types import Opinion

OLD, NEW = "The release goes out on Thursday evening.", "Since May we ship on Monday mornings."


class Counting:
    """The packaged model, with a count of the pairs and older texts that it was asked about."""

    def __init__(self) -> None:
        self._model = PackagedRelationModel()
        self.id, self.defers, self.repeatable = self._model.id, self._model.defers, self._model.repeatable
        self.asked = 0

    def check(self) -> None:
        self._model.check()

    def bounds(self, risk: Risk):
        return self._model.bounds(risk)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        self.asked += len(pairs)
        return self._model.read(pairs)

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        self.asked += sum(len(texts) for _, texts in lists)
        return self._model.read_lists(lists)


def test_what_another_namespace_has_said_makes_no_answer_quicker() -> None:
    model = Counting()
    with wellkept.open("memory:", relation_model=model) as store:
        asked = {}
        for name in ("victim", "attacker", "stranger"):
            space = store.in_namespace(name)
            space.remember(OLD, kind="note")
            before = model.asked
            space.check(NEW, kind="note")
            asked[name] = model.asked - before
        assert asked["victim"] > 0
        assert asked["attacker"] == asked["stranger"] == asked["victim"]


def test_a_check_spares_the_write_after_it_the_reading() -> None:
    model = Counting()
    with wellkept.open("memory:", relation_model=model) as store:
        store.remember(OLD, kind="note")
        store.check(NEW, kind="note")
        before = model.asked
        store.remember(NEW, kind="note")
        assert model.asked == before


def test_only_the_newest_opinions_are_kept(monkeypatch) -> None:
    monkeypatch.setattr(recent_opinions, "MOST", 2)
    kept = RecentOpinions()
    for number in range(3):
        kept.note("n", ("old", str(number)), (None,))
    assert [kept.known("n", ("old", str(number))) for number in range(3)] == [None, (None,), (None,)]


def test_no_two_readings_share_a_key() -> None:
    kept = RecentOpinions()
    kept.note("n", ("ab", "c"), (None,))
    for namespace, texts in (("n", ("a", "bc")), ("na", ("b", "c")), ("n", ("c", "ab")), ("n", ("list", "ab", "c"))):
        assert kept.known(namespace, texts) is None
