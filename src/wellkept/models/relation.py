"""The packaged relation model: a compact encoder that reads a new text beside the older ones that it may concern.

It is used only for the few texts that rules leave open. A new text is read with all its candidates in one row. A
candidate that is not clearly *distinct* is read once more, alone and in the other order, because a text that sounds
like a repetition is easily taken for one of the nearest candidate. What is not English is read once more by a network
that has learnt a hundred languages, with its candidates and then alone; it is loaded with the first such text, or, as
second reader of English, with the first list that leaves a doubt. A pair
alone is read in both orders, so that the swapped pair has the mirrored opinion. Opinions are identical on every
processor and in any batch: products are integer products, each row is scaled separately, and logits and probabilities
are rounded to 4 decimals. Training, data and limits: `weights/RELATION.md`.
"""

from __future__ import annotations

import hashlib
import importlib.util
import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from wellkept.errors import ModelUnavailable
from wellkept.models import multilingual
from wellkept.models.loading import LoadingLock
from wellkept.models.mapped import WEIGHTS, check_outlines, mapped_session, outline_of, verified_mapping
from wellkept.models.onnx import missing, owner, verified_bytes
from wellkept.policy import Risk
from wellkept.types import Opinion

if TYPE_CHECKING:
    from wellkept.core.judging.risk_bounds import Bounds
    from wellkept.models.relation_reading import LoadedModel, Network

WEIGHTS_SHA256 = "5082745fe20d7419ee381d1597ff89023a1192d325be7d89ef1d6a8faec1d010"
MULTILINGUAL_SHA256 = "f63e04cac278f7560beed78b2b1a47137e8b3af2a40db24b1a7359b3d1bd89dc"
"""Of the network for other languages, which reads the pieces of `wellkept.models.multilingual`."""
CARD_SHA256 = "e434e3971b6317b8014a0126ff025d3c8add782b7d4bf9932c0c5e2f837b63fc"
FITTED_SHA256 = "0d6913fe681c2557d1551ae7a5f12b88bd557f298a0bce532e36eaebd3747839"
"""Of what the card adds to the weights before an opinion is told, by `fitted`."""
UNREADABLE_SHARE = 0.3
"""Share of unknown letters above which the model gives no opinion."""
_REINSTALL = "Reinstall wellkept"
_WHAT = "the weights of the relation model"
_SECOND_READER = "/2"
"""End of the id of the model with its second reader, whose opinions differ."""
_HEADS_OF_BOTH = "heads_of_both"
"""Key of the heads that know the opinions of both readers."""
_NETWORKS = {"relation.onnx": WEIGHTS_SHA256, "multilingual.onnx": MULTILINGUAL_SHA256}
_SHARED = (multilingual.PIECES, multilingual.VECTORS)


class PackagedRelationModel:
    """The relation model that ships with Wellkept; loads on first use, safe between threads.

    Args:
        folder: Folder of `relation.onnx`, `multilingual.onnx`, the pieces of the latter and `relation.json`; by default
            the packaged `weights`. The sha256 of each file is checked when it is loaded.
        second_reader: Whether the network for other languages also reads English lists that leave a doubt, for heads
            that know both opinions. A store asks for it by its policy; hand the model to `open` without it.

    Example:
        >>> model = PackagedRelationModel()
        >>> told = model.read([("The meeting is on Monday.", "Nothing on Monday: the meeting moved to Tuesday.")])
        >>> told[0].conflict > told[0].same
        True
    """

    id = f"relation@{WEIGHTS_SHA256[:8]}+{MULTILINGUAL_SHA256[:8]}/{FITTED_SHA256[:8]}"
    """Names of the card only what changes an opinion: bounds and heads are applied to opinions, also to kept ones."""
    defers = False
    repeatable = True

    def __init__(self, folder: Path | None = None, *, second_reader: bool = False) -> None:
        self._folder = folder
        self._second_reader = second_reader
        if second_reader:
            self.id += _SECOND_READER

    def with_second_reader(self) -> PackagedRelationModel:
        """The same model with its second reader."""
        return PackagedRelationModel(self._folder, second_reader=True)

    def check(self) -> None:
        """Check the package and the files without loading the model.

        Raises:
            ModelUnavailable: A package or file is missing, or damaged.
        """
        self.find()
        _checked(self._folder or WEIGHTS)

    def find(self) -> None:
        """Check that the package and the files are there; the weights, 54 MB, are not read.

        Raises:
            ModelUnavailable: A package or file is missing, or the settings are damaged.
        """
        if importlib.util.find_spec("onnxruntime") is None:
            raise missing("onnxruntime", what="the relation model", todo="Install it with `pip install onnxruntime`")
        folder = self._folder or WEIGHTS
        _settings(folder)
        for path in (*(folder / name for name in (*_NETWORKS, *_SHARED)), *map(outline_of, _NETWORKS)):
            if not path.is_file():
                raise ModelUnavailable(f"{_WHAT} are missing", where=str(path), todo=_REINSTALL)

    def bounds(self, risk: Risk) -> Bounds:
        """Least probability per action that keeps the error rate under the bound of this risk."""
        return _bounds(self._folder or WEIGHTS, risk, second_reader=self._second_reader)

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
            return _load(self._folder or WEIGHTS, owner(), self.id)


# --------------------------------------------------------------------------------------------
# Loading

_LOADING = LoadingLock()
_LOADING_MULTILINGUAL = LoadingLock()
"""A lock of its own: reading English does not wait for a network that takes a second to load."""


@lru_cache(maxsize=4)
def _load(folder: Path, process: int, model: str = PackagedRelationModel.id) -> LoadedModel:
    from wellkept.models.relation_reading import LoadedModel

    english, second_reader = _english(folder, process), model.endswith(_SECOND_READER)
    return LoadedModel(english, lambda: _multilingual(folder, process), model=model, second_reader=second_reader)


@lru_cache(maxsize=2)
def _english(folder: Path, _process: int) -> Network:
    from wellkept.models.relation_reading import Network
    from wellkept.models.tokenizer.lists import ListReader
    from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces

    settings, pieces = _settings(folder), minilm_pieces()
    for piece in settings["pieces"]:
        pieces[piece] = len(pieces)
    reader, running = ListReader(Tokenizer(pieces)), _session(folder, "relation.onnx")
    return Network(reader, running, settings["scale"], settings["bias"], UNREADABLE_SHARE)


def _multilingual(folder: Path, process: int) -> Network:
    with _LOADING_MULTILINGUAL:
        return _load_multilingual(folder, process)


@lru_cache(maxsize=2)
def _load_multilingual(folder: Path, _process: int) -> Network:
    from wellkept.models.relation_reading import Network
    from wellkept.models.tokenizer.lists import ListReader

    settings = _settings(folder)["multilingual"]
    reader = ListReader(multilingual.tokenizer(folder))
    running = _session(folder, "multilingual.onnx")
    return Network(
        reader, running, settings["scale"], settings["bias"], UNREADABLE_SHARE, folder, settings["clearly_distinct"]
    )


def _session(folder: Path, name: str) -> Any:
    content = verified_mapping(folder / name, _NETWORKS[name], what=_WHAT, todo=_REINSTALL)
    return mapped_session(content, folder / name, what=_WHAT, todo=_REINSTALL)


@lru_cache(maxsize=4)
def _settings(folder: Path) -> Mapping[str, Any]:
    blob = verified_bytes(
        folder / "relation.json", CARD_SHA256, what="the settings of the relation model", todo=_REINSTALL
    )
    return json.loads(blob)  # type: ignore[no-any-return]


def fitted(settings: Mapping[str, Any]) -> str:
    """The sha256 of the settings that change an opinion: the calibration of the logits, and the added pieces."""
    told = json.dumps([settings[name] for name in ("scale", "bias", "pieces", "multilingual")])
    return hashlib.sha256(told.encode()).hexdigest()


@lru_cache(maxsize=16)
def _bounds(folder: Path, risk: Risk, *, second_reader: bool) -> Bounds:
    from wellkept.core.judging.letters import ChangeCues
    from wellkept.core.judging.list_head import Head
    from wellkept.core.judging.risk_bounds import Bounds

    settings = _settings(folder)
    cues = ChangeCues.of(settings["cues"])
    found = settings[_HEADS_OF_BOTH] if second_reader else settings.get("heads", {})
    heads = {act: Head.of(head, risk, cues) for act, head in found.items()}
    return Bounds(**settings["bounds"][risk], fold=heads.get("fold"), mark=heads.get("mark"))


@lru_cache(maxsize=4)
def _checked(folder: Path) -> None:
    for name, sha256 in _NETWORKS.items():
        verified_mapping(folder / name, sha256, what=_WHAT, todo=_REINSTALL)
    check_outlines(*_NETWORKS, what=_WHAT)
    multilingual.check(folder)
    _settings(folder)
