"""The packaged relation model: a compact cross-encoder that reads an older and a newer text.

It is used only for the few pairs that rules leave open. Each pair is read in both orders, unless the first reading is
clearly *distinct*, so that the swapped pair has the mirrored opinion. Opinions are identical on every processor and in
any batch: products are integer products, each row is scaled separately, and logits and probabilities are rounded to 4
decimals. Training, data and limits: `weights/RELATION.md`.
"""

from __future__ import annotations

import importlib.util
import json
import os
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.list_head import Head
from wellkept.core.judging.risk_bounds import Bounds
from wellkept.errors import ModelUnavailable
from wellkept.models.onnx import missing, session, verified_bytes
from wellkept.models.tokenizer.pairs import FRAME_PIECES, LABELS, LONGEST, PairReader, Row, logits_of, shares
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces
from wellkept.policy import Risk
from wellkept.types import Opinion

WEIGHTS_SHA256 = "c94f1c43ae47eba5ddc0401ccd3e5680ecae8fe5f523bd78fd7285bc8cd837ab"
CARD_SHA256 = "8b498d868581368660e527fef5e2a088b97d80361b5356b739c64ccb3fc06ef8"
UNREADABLE_SHARE = 0.3
"""Share of unknown letters above which the model gives no opinion."""
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
        settings = _settings(self._folder or _packaged())
        heads = {
            act: Head(tuple(head["weights"]), head["bias"], **head["least"][risk])
            for act, head in settings.get("heads", {}).items()
        }
        return Bounds(**settings["bounds"][risk], fold=heads.get("fold"), mark=heads.get("mark"))

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions in the order of the pairs; None if a text is too long or unreadable.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
        """
        if not pairs:
            return []
        with _LOADING:
            # A session does not survive a fork: its threads stay in the parent.
            model = _load(self._folder or _packaged(), os.getpid())
        if len(pairs) == 1:
            return [model.opinion(*pairs[0])]
        # Pairs are independent and run in parallel.
        with ThreadPoolExecutor(max_workers=min(len(pairs), _READERS), thread_name_prefix="wellkept-read") as readers:
            return list(readers.map(lambda pair: model.opinion(*pair), pairs))


class _Model:
    """A loaded and verified tokenizer, session and settings."""

    def __init__(self, reader: PairReader, running: Any, settings: Mapping[str, Any]) -> None:
        self._reader = reader
        self._session = running
        self._scale = np.asarray(settings["scale"], dtype=np.float64)
        self._bias = np.asarray(settings["bias"], dtype=np.float64)

    def opinion(self, old: str, new: str) -> Opinion | None:
        """The opinion on one pair."""
        first, second = self._reader.read(old), self._reader.read(new)
        if max(first.unknown, second.unknown) > UNREADABLE_SHARE:
            return None
        if len(first.pieces) + len(second.pieces) + FRAME_PIECES > LONGEST:
            return None
        reads = {old: first, new: second}
        logits = logits_of(lambda one, other: self._run(self._reader.row(reads[one], reads[other])), old, new)
        told = shares(logits * self._scale + self._bias)
        values = {label: round(float(share), 4) for label, share in zip(LABELS, told, strict=True)}
        return Opinion(**values, model=PackagedRelationModel.id)

    def _run(self, row: Row) -> NDArray[np.float64]:
        feed = {
            "pieces": np.asarray([row.pieces], dtype=np.int64),
            "marks": np.asarray([row.marks], dtype=np.int64),
        }
        try:
            logits = self._session.run(None, feed)[0][0]
        except Exception as error:  # onnxruntime errors have no common base class
            raise ModelUnavailable("the relation model failed to run", where=type(error).__name__) from error
        return np.asarray(np.round(logits, 4), dtype=np.float64)


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
    path = folder / "relation.onnx"
    return _Model(
        PairReader(Tokenizer(pieces)), session(blob, what=_WHAT, where=path, todo=_REINSTALL, exact=True), settings
    )


@lru_cache(maxsize=4)
def _settings(folder: Path) -> Mapping[str, Any]:
    blob = verified_bytes(
        folder / "relation.json", CARD_SHA256, what="the settings of the relation model", todo=_REINSTALL
    )
    return json.loads(blob)  # type: ignore[no-any-return]


@lru_cache(maxsize=4)
def _checked(folder: Path) -> None:
    _verified(folder)
    _settings(folder)


def _verified(folder: Path) -> bytes:
    return verified_bytes(folder / "relation.onnx", WEIGHTS_SHA256, what=_WHAT, todo=_REINSTALL)


def _packaged() -> Path:
    return Path(__file__).parent / "weights"
