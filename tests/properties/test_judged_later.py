"""A store that judges later ends as one that judges in the write, whenever its worker runs and however it is killed."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from late import picture, store_of, stream, waits
from stores import EACH_BACKEND, Desk

LENGTH = 30


class Killed(BaseException):
    """The worker's process ends."""


def told(made: Desk, seed: int, *, after: Callable[[Any, int], None] | None = None) -> None:
    """Write a stream, a minute apart; the worker runs when it is told to, and in the end."""
    for place, (text, fields) in enumerate(stream(seed, LENGTH)):
        made.clock.advance(minutes=1)
        made.store.remember(text, **fields)
        if after is not None:
            after(made.store, place)
    assert made.store.judge_waiting().left == 0


def each(store: Any, _: int) -> None:
    store.judge_waiting()


def never(_store: Any, _place: int) -> None:
    pass


def sometimes(store: Any, place: int) -> None:
    if place % 7 == 3:
        store.judge_waiting(limit=3)


def killed(store: Any, place: int) -> None:
    """Every tenth write, the worker dies at a moment that depends on the place."""
    if place % 10 != 9:
        return
    ctx, left = store._ctx, [random.Random(place).randrange(1, 9)]
    apply = _applies(ctx)

    def dying(self: Any, entry: Any, **named: Any) -> int:
        left[0] -= 1
        if not left[0]:
            raise Killed
        return apply(self, entry, **named)

    kind = _transaction(ctx)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kind, "apply", dying)
        try:
            store.judge_waiting()
        except Killed:
            pass


def _transaction(ctx: Any) -> type[Any]:
    with ctx.storage.begin(ctx.namespace, write=True) as tx:
        return type(tx)


def _applies(ctx: Any) -> Callable[..., int]:
    found: Callable[..., int] = _transaction(ctx).apply
    return found


@pytest.mark.parametrize("backend", EACH_BACKEND)
@pytest.mark.parametrize("when", [each, never, sometimes, killed])
@pytest.mark.parametrize("seed", [5, pytest.param(22, marks=pytest.mark.soak)])
def test_the_order_of_worker_and_writes_does_not_show_in_the_end(
    backend: str, when: Callable[[Any, int], None], seed: int, tmp_path: Path
) -> None:
    now, later = (store_of(backend, tmp_path, judging) for judging in ("now", "later"))
    try:
        told(now, seed)
        told(later, seed, after=when)
        assert sum("judging" in entry.degraded for entry in later.store.journal()) > LENGTH / 3
        assert waits(later.store) == 0
        for ours, theirs in zip(picture(later.store), picture(now.store), strict=True):
            assert ours - theirs == theirs - ours
        assert later.store.verify() == ()
    finally:
        now.store.close()
        later.store.close()
