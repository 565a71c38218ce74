"""Readers that answer the questions of a story: one that knows the truth, and one that is sometimes wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from wellkept.errors import InvalidInput
from wellkept.evaluation.labelled_files import Write
from wellkept.evaluation.ledger import Ledger, Said
from wellkept.parsing import number_within
from wellkept.types import Question

Reader: TypeAlias = Callable[[Question, Write, Ledger], str]
"""Gives an answer to a question about a write; the ledger holds what each row says."""

_SEED = 20_260_301


def oracle(question: Question, write: Write, ledger: Ledger) -> str:
    """The true answer."""
    if write.act == "noise":
        return "not worth keeping"
    same, older, newer = [], [], []
    for candidate in question.candidates:
        rows = (candidate.memory, *candidate.also)
        said = [one for row in rows for one in ledger.said(row.id) if one.key == write.key]
        values = {one.value for one in said}
        if write.value in values:
            same.append(candidate.number)
        elif values and write.act == "late" and ledger.current(write.key) in values:
            newer.append(candidate.number)
        elif values and write.act != "late":
            older.append(candidate.number)
    parts = []
    if same and write.act == "refines":
        parts.append(f"adds to {same[0]}")
    elif same:
        parts.append(f"repeats {','.join(map(str, same))}")
    if older:
        parts.append(f"replaces {','.join(map(str, older))}")
    elif newer:
        parts.append(f"outdated by {newer[0]}")
    return " and ".join(parts) or "new"


def noisy(share: float) -> Reader:
    """A reader that gives another answer than the true one this often.

    Args:
        share: 0 to 1.
    """
    chance = np.random.Generator(np.random.PCG64(_SEED))

    def read(question: Question, write: Write, ledger: Ledger) -> str:
        right = oracle(question, write, ledger)
        if chance.random() >= share:
            return right
        number = question.candidates[int(chance.integers(len(question.candidates)))].number
        possible = ("new", f"repeats {number}", f"replaces {number}", f"adds to {number}")
        others = [one for one in possible if one != right]
        return others[int(chance.integers(len(others)))]

    return read


def reader_of(name: str) -> Reader:
    """The reader that a name stands for: `oracle`, or `noisy:.05`.

    Raises:
        InvalidInput: There is no such reader.
    """
    kind, _, share = name.partition(":")
    if kind == "oracle" and not share:
        return oracle
    wrong = number_within(share, 0, 1)
    if kind != "noisy" or wrong is None:
        raise InvalidInput(f"{name[:40]!r} is no reader", where="--answers", todo="Use oracle or noisy:0.05")
    return noisy(wrong)


def says(said: tuple[Said, ...], key: str, value: str) -> bool:
    """Whether a row states this value of a key."""
    return any(one.key == key and one.value == value for one in said)
