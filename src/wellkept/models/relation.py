"""The packaged relation model: a compact encoder that reads a new text beside the older ones that it may concern.

It is used only for the few texts that rules leave open. A new text is read with all its candidates in one row. A
candidate that is not clearly *distinct* is read once more, alone and in the other order, because a text that sounds
like a repetition is easily taken for one of the nearest candidate. A pair alone is read in both orders, so that the
swapped pair has the mirrored opinion. Opinions are identical on every processor and in any batch: products are integer
products, each row is scaled separately, and logits and probabilities are rounded to 4 decimals. Training, data and
limits: `weights/RELATION.md`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
import threading
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellkept.errors import ModelUnavailable
from wellkept.models.onnx import missing, owner, session, verified_bytes
from wellkept.policy import Risk
from wellkept.types import Opinion

if TYPE_CHECKING:
    from wellkept.core.judging.risk_bounds import Bounds
    from wellkept.models.relation_reading import LoadedModel

WEIGHTS_SHA256 = "5082745fe20d7419ee381d1597ff89023a1192d325be7d89ef1d6a8faec1d010"
CARD_SHA256 = "7821ebdd521882595efe10bd144f85f436e6422ffcf015590ca96e8fefebc241"
FITTED_SHA256 = "a0179d169e0f3b3837c56090a6e0892fbbc4747ceafbb1484d4e91ad0f0ccdfa"
"""Of what the card adds to the weights before an opinion is told, by `fitted`."""
UNREADABLE_SHARE = 0.3
"""Share of unknown letters above which the model gives no opinion."""
_REINSTALL = "Reinstall wellkept"
_WHAT = "the weights of the relation model"


class PackagedRelationModel:
    """The relation model that ships with Wellkept; loads on first use, safe between threads.

    Args:
        folder: Folder of `relation.onnx` and `relation.json`; by default the packaged `weights`. The sha256 of both
            files is checked when they are loaded.

    Example:
        >>> model = PackagedRelationModel()
        >>> told = model.read([("The meeting is on Monday.", "Nothing on Monday: the meeting moved to Tuesday.")])
        >>> told[0].conflict > told[0].same
        True
    """

    id = f"relation@{WEIGHTS_SHA256[:8]}/{FITTED_SHA256[:8]}"
    """Names of the card only what changes an opinion: bounds and heads are applied to opinions, also to kept ones."""
    defers = False
    repeatable = True

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder

    def check(self) -> None:
        """Check the package and the files without loading the model.

        Raises:
            ModelUnavailable: A package or file is missing, or damaged.
        """
        self.find()
        _checked(self._folder or _packaged())

    def find(self) -> None:
        """Check that the package and the files are there; the weights, 25 MB, are not read.

        Raises:
            ModelUnavailable: A package or file is missing, or the settings are damaged.
        """
        if importlib.util.find_spec("onnxruntime") is None:
            raise missing("onnxruntime", what="the relation model", todo="Install it with `pip install onnxruntime`")
        folder = self._folder or _packaged()
        _settings(folder)
        if not _weights(folder).is_file():
            raise ModelUnavailable(f"{_WHAT} are missing", where=str(_weights(folder)), todo=_REINSTALL)

    def bounds(self, risk: Risk) -> Bounds:
        """Least probability per action that keeps the error rate under the bound of this risk."""
        return _bounds(self._folder or _packaged(), risk)

    def read(self, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
        """Opinions in the order of the pairs; None if a text is too long or unreadable.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
        """
        return self._loaded().read(pairs) if pairs else []

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
        return self._loaded().read_lists(lists) if lists else []

    def _loaded(self) -> LoadedModel:
        with _LOADING:
            return _load(self._folder or _packaged(), owner())


# --------------------------------------------------------------------------------------------
# Loading

_LOADING = threading.Lock()


@lru_cache(maxsize=2)
def _load(folder: Path, _process: int) -> LoadedModel:
    from wellkept.models.relation_reading import LoadedModel

    settings, blob = _settings(folder), _verified(folder)
    # Several threads on one short row wait for each other, at 10 to 20 % more CPU; many lists are read side by side.
    running = session(blob, what=_WHAT, where=_weights(folder), todo=_REINSTALL, exact=True, threads=1)
    return LoadedModel(running, settings, model=PackagedRelationModel.id, unreadable=UNREADABLE_SHARE)


@lru_cache(maxsize=4)
def _settings(folder: Path) -> Mapping[str, Any]:
    blob = verified_bytes(
        folder / "relation.json", CARD_SHA256, what="the settings of the relation model", todo=_REINSTALL
    )
    return json.loads(blob)  # type: ignore[no-any-return]


def fitted(settings: Mapping[str, Any]) -> str:
    """The sha256 of the settings that change an opinion: the calibration of the logits, and the added pieces."""
    told = json.dumps([settings[name] for name in ("scale", "bias", "pieces")])
    return hashlib.sha256(told.encode()).hexdigest()


@lru_cache(maxsize=16)
def _bounds(folder: Path, risk: Risk) -> Bounds:
    from wellkept.core.judging.letters import ChangeCues
    from wellkept.core.judging.list_head import Head
    from wellkept.core.judging.risk_bounds import Bounds

    settings = _settings(folder)
    cues = ChangeCues.of(settings["cues"])
    heads = {
        act: Head(tuple(head["weights"]), head["bias"], **head["least"][risk], cues=cues)
        for act, head in settings.get("heads", {}).items()
    }
    return Bounds(**settings["bounds"][risk], fold=heads.get("fold"), mark=heads.get("mark"))


@lru_cache(maxsize=4)
def _checked(folder: Path) -> None:
    _verified(folder)
    _settings(folder)


def _verified(folder: Path) -> bytes:
    return verified_bytes(_weights(folder), WEIGHTS_SHA256, what=_WHAT, todo=_REINSTALL)


def _weights(folder: Path) -> Path:
    return folder / "relation.onnx"


def _packaged() -> Path:
    return Path(__file__).parent / "weights"
