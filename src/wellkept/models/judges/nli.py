"""A judge of contradictions: any NLI cross-encoder in a local ONNX file.

NLI models are trained on sentence pairs about one scene and assume the same event. On memories they call related but
compatible texts contradictions. So this judge only adds to the review list, and only if the mean of both orders is high
enough.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from wellkept.core.gate.judge_review import FLAG_AT
from wellkept.errors import ConfigError, InvalidInput, ModelResponseInvalid, ModelUnavailable
from wellkept.models.crossencoder import Files, bytes_of
from wellkept.models.judges.local_pairs import LONGEST, LocalPairs, row_of, share
from wellkept.parsing import parsed_json
from wellkept.types import Memory, Statement

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn


class NliJudge(LocalPairs):
    """An NLI model in a local file.

    Args:
        path: See `LocalPairs`; `config.json` holds the labels of the outputs.
        sha256: Expected hash of the model file; not checked when empty.
        contradiction: Index of the contradiction output; by default from `id2label`.
        longest: Most tokens of a pair; longer pairs are not judged.

    Raises:
        ConfigError: A number is out of range.
    """

    kind = "nli"
    what = "the NLI judge"
    wanted = "contradiction"

    def __init__(
        self, path: str | Path, *, sha256: str = "", contradiction: int | None = None, longest: int = LONGEST
    ) -> None:
        super().__init__(path, sha256=sha256, output=contradiction, longest=longest)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> list[float | None]:
        """P(contradiction) as the mean of both orders; None for pairs that are too long.

        Raises:
            ModelUnavailable: The model cannot be loaded or fails to run.
            ModelResponseInvalid: Its output is no row of logits.
            ConfigError: The contradiction output is unknown.
        """
        return [_mean(self.scores((old, new), (new, old))) for old, new in pairs]

    def score(self, logits: NDArray[np.float64], output: int | None) -> float:
        """The softmax probability of the contradiction output."""
        row = row_of(logits, self.what, least=2)
        if output is None or output >= len(row):
            raise ModelResponseInvalid(f"{self.what} has no output {output}", where=f"{len(row)} outputs")
        return share(row, output)

    def output_of(self, files: Files) -> int:
        """The given output, or the one that `id2label` names."""
        return self._output if self._output is not None else _labelled(files.beside("config.json"))


def _mean(shares: Sequence[float | None]) -> float | None:
    known = [one for one in shares if one is not None]
    return round(sum(known) / len(known), 4) if len(known) == len(shares) else None


def nli_relation(path: str | Path, *, at: float = FLAG_AT) -> ContradictionFn:
    """An NLI model as a contradiction function, for `wellkept eval --nli` and `contradiction_fn`.

    Args:
        path: As for `NliJudge`.
        at: Least probability of a contradiction.

    Raises:
        ModelUnavailable: A file is missing or unreadable.
        ConfigError: The contradiction output is unknown.
    """
    judge = NliJudge(path)
    judge.check()

    def contradicts(old: Memory, new: Statement) -> bool:
        told = judge.judge([(old.content, new.content)])[0]
        return told is not None and told >= at

    return contradicts


def _labelled(path: Path) -> int:
    """The output that `id2label` names contradiction."""
    todo = "Say which output it is, as in nli:PATH?contradiction=0"
    try:
        config = parsed_json(bytes_of(path, what=NliJudge.what))
    except (ModelUnavailable, InvalidInput):
        raise ConfigError("no config.json says which output means contradiction", where=str(path), todo=todo) from None
    labels = config.get("id2label") if isinstance(config, dict) else None
    named = labels.items() if isinstance(labels, dict) else ()
    found = [key for key, label in named if str(label).casefold().startswith("contradict") and str(key).isdecimal()]
    if len(found) != 1:
        raise ConfigError("`id2label` names no output contradiction", where=str(path), todo=todo)
    return int(found[0])
