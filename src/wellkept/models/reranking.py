"""Reranking by a cross-encoder in a local ONNX file that reads query and memory together.

Nothing is downloaded. It reorders the few best answers within a time limit and never decides which are shown.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wellkept.errors import ModelResponseInvalid
from wellkept.models.endpoints.options import number, options_in, output_in, seconds_in
from wellkept.models.judges.local_pairs import LONGEST, LocalPairs, row_of, share
from wellkept.models.judges.timeboxed import TimeBoxed

if TYPE_CHECKING:
    from wellkept.models.port import Reranker

SECONDS = 2.0
"""Default time limit of the reranker per query."""
_OPTIONS = frozenset({"output", "sha256", "longest", "seconds"})
_WHERE = "reranker"


class OnnxReranker(LocalPairs):
    """Your own cross-encoder, such as one trained on MS MARCO.

    Args:
        path: See `LocalPairs`.
        sha256: Expected hash of the model file; not checked when empty.
        output: Index of the relevance output; not needed for a model with one output.
        longest: Most tokens of query and memory together; longer pairs are truncated.

    Raises:
        ConfigError: A number is out of range.
    """

    kind = "rerank"
    what = "the reranker"
    cut = True

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """Score of each text, 0 to 1, in order; None for a text it cannot read.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
            ModelResponseInvalid: Its output is no row of logits.
        """
        return self.scores(*((query, text) for text in texts))

    def score(self, logits: NDArray[np.float64], output: int | None) -> float:
        """See `worth`."""
        return worth(logits, output)


class TimeBoxedReranker:
    """Calls a reranker with a time limit; itself a `Reranker`.

    Args:
        reranker: The wrapped reranker.
        seconds: Time limit for all texts of one query.

    Example:
        >>> class Longest:
        ...     id = "longest"
        ...     def rerank(self, query, texts):
        ...         return [len(text) / 100 for text in texts]
        >>> TimeBoxedReranker(Longest(), seconds=1).rerank("which?", ["short", "not so short"])
        [0.05, 0.12]
    """

    def __init__(self, reranker: Reranker, *, seconds: float = SECONDS) -> None:
        self._reranker = reranker
        self._box = TimeBoxed(self, seconds=seconds)

    @property
    def id(self) -> str:
        """The reranker's id; its class name if it has none."""
        return str(getattr(self._reranker, "id", type(self._reranker).__name__))

    def rerank(self, query: str, texts: Sequence[str]) -> list[float | None]:
        """The reranker's scores, in the order of the texts.

        Raises:
            ModelUnavailable: The reranker is late or busy with earlier calls.
            ModelResponseInvalid: The number of scores is wrong.
            Exception: Any error of the reranker.
        """
        return self._box.judge([(query, text) for text in texts])

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """Called by `TimeBoxed` in its thread; the pairs are (query, text)."""
        return list(self._reranker.rerank(pairs[0][0], [text for _, text in pairs]))


def worth(logits: NDArray[np.float64], output: int | None) -> float:
    """A score from one row of logits, 0 to 1: sigmoid of a single output, or softmax of the given one.

    Example:
        >>> worth(np.asarray([[0.0]]), None), worth(np.asarray([[1.0, 1.0]]), 1)
        (0.5, 0.5)
    """
    row = row_of(logits, OnnxReranker.what)
    if len(row) == 1:
        return round(1.0 / (1.0 + math.exp(-max(-60.0, min(60.0, float(row[0]))))), 6)
    if output is None or output >= len(row):
        raise ModelResponseInvalid(
            f"the reranker has {len(row)} outputs", where=str(output), todo="Say which one, as in onnx:PATH?output=1"
        )
    return round(share(row, output), 6)


def onnx_reranker(spec: str) -> TimeBoxedReranker:
    """The reranker of `onnx:PATH?output=N&sha256=HEX&longest=N&seconds=S`, files checked.

    Raises:
        ConfigError: An option is unknown or out of range.
        ModelUnavailable: A file is missing or has another sha256.
    """
    path, options = options_in(spec, _OPTIONS, what="a reranker", where=_WHERE)
    seconds = seconds_in(options, SECONDS, where=_WHERE)
    reranker = OnnxReranker(
        path,
        sha256=options.get("sha256", ""),
        output=output_in(options, "output", where=_WHERE),
        longest=number(options, "longest", LONGEST, int, where=_WHERE),
    )
    reranker.check()
    return TimeBoxedReranker(reranker, seconds=seconds)
