"""Stories that are played under other heads: what is known is not read again, and figures are sums."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from wellkept.models.relation import PackagedRelationModel
from wellkept.types import Opinion

ROOT = Path(__file__).parents[2]
NEW, OLD, OLDER = "The shop closes at nine.", "The shop closes at eight.", "Ana has the keys."


@pytest.fixture
def asked() -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT))
        yield import_module("training.asked")


def opinions(asked: Any, tmp_path: Path) -> Any:
    """A file that knows one list."""
    found = asked.Opinions(tmp_path / "known.json", PackagedRelationModel())
    found.keep({(NEW, (OLD, OLDER)): [Opinion(0, 0, 0, 0.9, 0.1), Opinion(0, 0, 0, 0, 1)]})
    return asked.Opinions(tmp_path / "known.json", PackagedRelationModel())


def test_a_list_that_is_known_is_told_in_any_order_without_the_model(
    asked: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(PackagedRelationModel, "read_lists", lambda _, lists: [[None] for _ in lists])
    model = asked.WithHeads(opinions(asked, tmp_path), None)
    [told] = model.read_lists([(NEW, (OLDER, OLD))])
    assert [one.conflict for one in told] == [0, 0.9]
    assert {one.model for one in told} == {PackagedRelationModel.id}
    assert model.read_lists([(NEW, (OLD,))]) == [[None]]
    assert list(model.read_anew) == [(NEW, (OLD,))]


def test_other_heads_take_the_place_of_those_that_ship(asked: Any, tmp_path: Path) -> None:
    head = {"weights": [0.0] * 42, "bias": 1.0, "least": {"balanced": {"english": 0.7, "other": 0.8}}}
    known = opinions(asked, tmp_path)
    bounds = asked.WithHeads(known, {"fold": head, "mark": {**head, "bias": 2.0}}).bounds("balanced")
    shipped = asked.WithHeads(known, None).bounds("balanced")
    assert (bounds.fold.bias, bounds.fold.english, bounds.mark.bias, bounds.mark.other) == (1.0, 0.7, 2.0, 0.8)
    assert (bounds.flag, bounds.fold == shipped.fold) == (shipped.flag, False)


def test_figures_of_groups_add_up_as_sums(asked: Any) -> None:
    both = asked.total([{"unmarked": (1.0, 2.0)}, {"unmarked": (0.0, 8.0)}])
    assert both == {"unmarked": (1.0, 10.0)}
    assert "10.0 %" in asked.table({"all": {"10": both}})
