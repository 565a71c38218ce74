"""The packaged relation model: a compact encoder that reads a new text beside the older ones that it may concern.

It is used only for the few texts that rules leave open. A new text is read with all its candidates in one row. A
candidate that is not clearly *distinct* is read once more, alone and in the other order, because a text that sounds
like a repetition is easily taken for one of the nearest candidate. A pair alone is read in both orders, so that the
swapped pair has the mirrored opinion. Opinions are identical on every processor and in any batch: products are integer
products, each row is scaled separately, and logits and probabilities are rounded to 4 decimals. Training, data and
limits: `weights/RELATION.md`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.list_head import Head, ReadTwice
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.errors import ModelUnavailable
from wellkept.models.onnx import missing, owner, session, verified_bytes
from wellkept.models.tokenizer.lists import LONGEST_PAIR, ListReader, ListRow, fed, in_rows
from wellkept.models.tokenizer.pairs import CLEARLY_DISTINCT, FRAME_PIECES, LABELS, MIRROR, Read, logits_of, shares
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces
from wellkept.policy import Risk
from wellkept.types import Opinion

WEIGHTS_SHA256 = "5082745fe20d7419ee381d1597ff89023a1192d325be7d89ef1d6a8faec1d010"
CARD_SHA256 = "0b6f96ed9daa2ccf77553d7900a0f4312258b6a7dcf3cc0458f615fa5b86c283"
UNREADABLE_SHARE = 0.3
"""Share of unknown letters above which the model gives no opinion."""
Logits: TypeAlias = NDArray[np.float64]
_Told = TypeVar("_Told")
_READERS = min(4, os.cpu_count() or 1)
_REINSTALL = "Reinstall wellkept"
_WHAT = "the weights of the relation model"


class PackagedRelationModel:
    """The relation model that ships with Wellkept; loads on first use, safe between threads.

    Args:
        folder: Folder of `relation.onnx` and `relation.json`; by default the packaged `weights`. The sha256 of both
            files is always checked.

    Example:
        >>> model = PackagedRelationModel()
        >>> told = model.read([("The meeting is on Monday.", "Nothing on Monday: the meeting moved to Tuesday.")])
        >>> told[0].conflict > told[0].same
        True
    """

    id = f"relation@{WEIGHTS_SHA256[:8]}"
    defers = False
    repeatable = True

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def check(self) -> None:
        """Check the package and the files without loading the model.

        Raises:
            ModelUnavailable: A package or file is missing, or damaged.
        """
        if importlib.util.find_spec("onnxruntime") is None:
            raise missing("onnxruntime", what="the relation model", todo="Install it with `pip install onnxruntime`")
        _checked(self._folder or _packaged())

    def bounds(self, risk: Risk) -> Bounds:
        """Least probability per action that keeps the error rate under the bound of this risk."""
        return _bounds(self._folder or _packaged(), risk)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions in the order of the pairs; None if a text is too long or unreadable.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
        """
        return self._each(_Model.opinion, pairs)

    def read_lists(self, lists: Sequence[tuple[str, Sequence[str]]]) -> list[list[Opinion | None]]:
        """Opinions on the older texts of each list, read together beside their new text.

        Args:
            lists: New texts, each with its older ones.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.

        Example:
            >>> model = PackagedRelationModel()
            >>> older = ["The meeting is on Monday.", "Tea is at four."]
            >>> [told] = model.read_lists([("The meeting moved to Tuesday.", older)])
            >>> told[0].conflict > told[1].conflict
            True
        """
        return self._each(_Model.opinions, lists)

    def _each(self, ask: Callable[..., _Told], given: Sequence[tuple[Any, Any]]) -> list[_Told]:
        if not given:
            return []
        with _LOADING:
            model = _load(self._folder or _packaged(), owner())
        if len(given) == 1:
            return [ask(model, *given[0])]
        # Pairs and lists are independent and run in parallel.
        with ThreadPoolExecutor(max_workers=min(len(given), _READERS), thread_name_prefix="wellkept-read") as readers:
            return list(readers.map(lambda one: ask(model, *one), given))


class _Model:
    """A loaded and verified tokenizer, session and settings."""

    def __init__(self, reader: ListReader, running: Any, settings: Mapping[str, Any]) -> None:
        self._reader = reader
        self._session = running
        self._scale = np.asarray(settings["scale"], dtype=np.float64)
        self._bias = np.asarray(settings["bias"], dtype=np.float64)

    def opinion(self, old: str, new: str) -> Opinion | None:
        """The opinion on one pair."""
        reads = {text: self._reader.read(text) for text in (old, new)}
        if not all(_is_legible(read) for read in reads.values()) or not _fits(reads[old], reads[new]):
            return None
        return self._opinion(logits_of(lambda one, other: self._alone(reads[one], reads[other]), old, new))

    def opinions(self, new: str, texts: Sequence[str]) -> list[Opinion | None]:
        """The opinions on the older texts of a list, in order."""
        # In one order the sums in the network are the same to the last digit.
        older = {text: self._reader.read(text) for text in sorted(set(texts))}
        told, ours = dict.fromkeys(older, None), self._reader.read(new)
        legible = [text for text in older if _is_legible(older[text])] if _is_legible(ours) else []
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
        return values | {"model": PackagedRelationModel.id}

    def _run(self, row: ListRow) -> Logits:
        """Logits of each candidate's relation, as if it were the newer text."""
        try:
            logits = self._session.run(None, fed(row))[0]
        except Exception as error:  # onnxruntime errors have no common base class
            raise ModelUnavailable("the relation model failed to run", where=type(error).__name__) from error
        return np.asarray(np.round(logits, 4), dtype=np.float64)


def _is_legible(text: Read) -> bool:
    return text.unknown <= UNREADABLE_SHARE


def _fits(one: Read, other: Read) -> bool:
    return len(one.pieces) + len(other.pieces) + FRAME_PIECES <= LONGEST_PAIR


# --------------------------------------------------------------------------------------------
# Loading

_LOADING = threading.Lock()


@lru_cache(maxsize=2)
def _load(folder: Path, _process: int) -> _Model:
    settings = _settings(folder)
    pieces = minilm_pieces()
    for piece in settings["pieces"]:
        pieces[piece] = len(pieces)
    blob = _verified(folder)
    # Several threads on one short row wait for each other, at 10 to 20 % more CPU; many lists are read side by side.
    running = session(blob, what=_WHAT, where=folder / "relation.onnx", todo=_REINSTALL, exact=True, threads=1)
    return _Model(ListReader(Tokenizer(pieces)), running, settings)


@lru_cache(maxsize=4)
def _settings(folder: Path) -> Mapping[str, Any]:
    blob = verified_bytes(
        folder / "relation.json", CARD_SHA256, what="the settings of the relation model", todo=_REINSTALL
    )
    return json.loads(blob)  # type: ignore[no-any-return]


@lru_cache(maxsize=16)
def _bounds(folder: Path, risk: Risk) -> Bounds:
    settings = _settings(folder)
    heads = {
        act: Head(tuple(head["weights"]), head["bias"], **head["least"][risk])
        for act, head in settings.get("heads", {}).items()
    }
    return Bounds(**settings["bounds"][risk], fold=heads.get("fold"), mark=heads.get("mark"))


@lru_cache(maxsize=4)
def _checked(folder: Path) -> None:
    _verified(folder)
    _settings(folder)


def _verified(folder: Path) -> bytes:
    return verified_bytes(folder / "relation.onnx", WEIGHTS_SHA256, what=_WHAT, todo=_REINSTALL)


def _packaged() -> Path:
    return Path(__file__).parent / "weights"
