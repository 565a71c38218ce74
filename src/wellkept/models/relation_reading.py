"""The packaged relation model, loaded: tokenizer and session; only what asks it imports this module."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.list_head import ReadTwice
from wellkept.models.onnx import first_output
from wellkept.models.tokenizer.lists import LONGEST_PAIR, ListReader, ListRow, fed, in_rows
from wellkept.models.tokenizer.pairs import CLEARLY_DISTINCT, FRAME_PIECES, LABELS, MIRROR, Read, logits_of, shares
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces
from wellkept.types import Opinion

Logits: TypeAlias = NDArray[np.float64]
_Told = TypeVar("_Told")
_READERS = min(4, os.cpu_count() or 1)


class LoadedModel:
    """A loaded tokenizer, session and settings.

    Args:
        running: The session of the verified weights.
        settings: The verified settings.
        model: Id of the model, for its opinions.
        unreadable: Share of unknown letters above which a text gets no opinion.
    """

    def __init__(self, running: Any, settings: Mapping[str, Any], *, model: str, unreadable: float) -> None:
        pieces = minilm_pieces()
        for piece in settings["pieces"]:
            pieces[piece] = len(pieces)
        self._reader = ListReader(Tokenizer(pieces))
        self._session = running
        self._scale = np.asarray(settings["scale"], dtype=np.float64)
        self._bias = np.asarray(settings["bias"], dtype=np.float64)
        self._name = model
        self._unreadable = unreadable

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """The opinions on pairs."""
        return _each(self.opinion, pairs)

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """The opinions on the older texts of lists."""
        return _each(self.opinions, lists)

    def opinion(self, old: str, new: str) -> Opinion | None:
        """The opinion on one pair."""
        reads = {text: self._reader.read(text) for text in (old, new)}
        if not all(self._is_legible(read) for read in reads.values()) or not _fits(reads[old], reads[new]):
            return None
        return self._opinion(logits_of(lambda one, other: self._alone(reads[one], reads[other]), old, new))

    def opinions(self, new: str, texts: Sequence[str]) -> list[Opinion | None]:
        """The opinions on the older texts of a list, in order."""
        # In one order the sums in the network are the same to the last digit.
        older = {text: self._reader.read(text) for text in sorted(set(texts))}
        told, ours = dict.fromkeys(older, None), self._reader.read(new)
        legible = [text for text in older if self._is_legible(older[text])] if self._is_legible(ours) else []
        for places in in_rows(ours, [older[text] for text in legible]):
            row = self._reader.row(ours, [older[legible[place]] for place in places])
            for place, logits in zip(places, self._run(row), strict=True):
                told[legible[place]] = self._read_again(logits[list(MIRROR)], ours, older[legible[place]])
        return [told[text] for text in texts]

    def _read_again(self, listed: Logits, new: Read, old: Read) -> Opinion:
        """The opinion on a candidate from its logits in the list: with a second reading unless clearly *distinct*."""
        first = self._opinion(listed)
        if shares(listed)[-1] >= CLEARLY_DISTINCT:
            return first
        alone = self._alone(old, new)
        return ReadTwice(**self._told((listed + alone) / 2), listed=first, alone=self._opinion(alone))

    def _alone(self, first: Read, second: Read) -> Logits:
        """The logits of how the second text relates to the first one, read in the place of the new text."""
        logits: Logits = self._run(self._reader.row(first, [second]))[0]
        return logits

    def _opinion(self, logits: Logits) -> Opinion:
        return Opinion(**self._told(logits))

    def _told(self, logits: Logits) -> dict[str, Any]:
        told = shares(logits * self._scale + self._bias)
        values: dict[str, Any] = {label: round(float(share), 4) for label, share in zip(LABELS, told, strict=True)}
        return values | {"model": self._name}

    def _is_legible(self, text: Read) -> bool:
        return text.unknown <= self._unreadable

    def _run(self, row: ListRow) -> Logits:
        """Logits of each candidate's relation, as if it were the newer text."""
        logits = first_output(self._session, fed(row), what="the relation model")
        return np.asarray(np.round(logits, 4), dtype=np.float64)


def _fits(one: Read, other: Read) -> bool:
    return len(one.pieces) + len(other.pieces) + FRAME_PIECES <= LONGEST_PAIR


def _each(ask: Callable[..., _Told], given: Sequence[tuple[Any, Any]]) -> list[_Told]:
    if len(given) == 1:
        return [ask(*given[0])]
    # Pairs and lists are independent and run in parallel.
    with ThreadPoolExecutor(max_workers=min(len(given), _READERS), thread_name_prefix="wellkept-read") as readers:
        return list(readers.map(lambda one: ask(*one), given))
