"""Properties of judging that hold for any two texts."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from examples import examples
from wellkept.core.differences.find import MAX_DIFFERENCES, differences
from wellkept.types import Difference

_WORDS = st.sampled_from(
    """
    use never not no longer avoid must always allow forbid enabled disabled unless if until except only the a
    is are on in for Alice Bob Postgres SQLite npm pnpm ruff 3 5 0.85 1,000 5% -5% 30s 5 MB GB v1.2 3.11 #441
    kafka-03 Monday Friday March 5pm 17:00 nicht kein pas jamais nunca não не никогда 不 没有 使用 启用 禁用
    周三 ない です
    . ; , ! — but also I don't can't isn't it's
    """.split()
)
_SENTENCES = st.lists(_WORDS, max_size=14).map(" ".join)
_TEXTS = st.one_of(_SENTENCES, st.text(max_size=40))


def _mirror(found: tuple[Difference, ...]) -> set[tuple[str, str, str, bool, bool]]:
    return {(d.kind, d.new, d.old, d.decisive, d.sure) for d in found}


def _plain(found: tuple[Difference, ...]) -> set[tuple[str, str, str, bool, bool]]:
    return {(d.kind, d.old, d.new, d.decisive, d.sure) for d in found}


@examples(120, 400, deadline=None)
@given(_TEXTS, _TEXTS)
def test_any_two_texts_are_judged_without_error_and_in_bounds(old: str, new: str) -> None:
    found = differences(old, new)
    assert len(found) <= MAX_DIFFERENCES
    assert all(d.decisive or not d.sure for d in found)
    assert [d.decisive for d in found] == sorted((d.decisive for d in found), reverse=True)
    assert found == differences(old, new)


@examples(120, 400, deadline=None)
@given(_TEXTS, _TEXTS)
def test_swapping_the_texts_mirrors_all_but_the_details(old: str, new: str) -> None:
    """Only an addition of the new text has a direction; a conflict has none."""
    forth, back = differences(old, new), differences(new, old)
    assert _mirror(tuple(d for d in forth if d.decisive)) == _plain(tuple(d for d in back if d.decisive))
    directed = {"detail"}
    kinds = {d.kind for d in forth} - directed, {d.kind for d in back} - directed
    added = {d.kind for found in (forth, back) for d in found if d.kind == "negation" and not (d.old and d.new)}
    assert kinds[0] - added == kinds[1] - added


@examples(60, 200, deadline=None)
@given(_TEXTS)
def test_a_text_does_not_differ_from_itself(text: str) -> None:
    assert differences(text, text) == ()
    assert differences(text, f"  {text}  ") == ()


@examples(40, 100, deadline=None)
@given(st.integers(2, 999), st.integers(2, 999))
def test_two_amounts_of_one_thing_always_conflict(a: int, b: int) -> None:
    """S1-27."""
    found = differences(f"The request limit is {a}", f"The request limit is {b}")
    assert bool(found) == (a != b)
    assert all(d.decisive for d in found)


def test_long_and_hostile_texts_are_judged_in_bounded_time() -> None:
    """Nothing a text holds may make judging hang; the bound is wide for slow machines."""
    sentences = " ".join(f"Item {n} of the plan has the owner number {n * 7 % 31}." for n in range(220))
    hostile = ["-." * 5000, "_a" * 5000, "a-b-" * 2500, "/a." * 3300, "#" * 10000, "1," * 5000, "not " * 2500,
               "数据库" * 3300, "a'" * 5000, "((((" * 2500, "a@b." * 2500, sentences]  # fmt: skip
    for text in hostile:
        started = time.process_time()
        differences(text, text[: len(text) // 2] + "x")
        assert time.process_time() - started < 2.0, text[:12]
