"""Guards for foreign code: a failing model must not lose a memory.

Embedders and judges are plug-ins. Any exception they raise is turned into a `ModelError` or a value here; the
result reports it as degraded, and `reembed` repairs it later. Own code is never run under these guards.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING

from wellkept.errors import ModelError, ModelResponseInvalid, ModelUnavailable
from wellkept.models.port import Embedded, Embedder, ListReading, RelationModel, SecondReading, Summariser
from wellkept.policy import Risk
from wellkept.types import Decision, Memory, NewMemory, Opinion, Statement, Vector

if TYPE_CHECKING:
    from wellkept.core.judging.evidence import ContradictionFn, Evidence, Moment
    from wellkept.core.judging.list_head import Head
    from wellkept.core.judging.risk_bounds import Bounds

log = logging.getLogger("wellkept")


@contextmanager
def guarded(failure: str, where: str, todo: str = "") -> Iterator[None]:
    """Run foreign code: any error it raises becomes a `ModelError`, which starts with `failure`."""
    try:
        yield
    except ModelError:
        raise
    except Exception as error:
        raise ModelUnavailable(f"{failure}: {type(error).__name__}", where=where, todo=todo) from error


def embed(embedder: Embedder, texts: Sequence[str]) -> list[Embedded]:
    """The embedder's answer.

    Raises:
        ModelError: The embedder failed in any way.
    """
    with guarded("the embedder failed", embedder.id, "Mend it, then run `wellkept reembed`"):
        return embedder.embed(texts)


def about(embedder: Embedder, text: str) -> Embedded:
    """The properties that an embedder reports for a text; if it fails, no band acts on the vector's similarity."""
    ask = getattr(embedder, "about", None)
    if ask is None:
        return Embedded(None)
    try:
        told = ask(text)
        return Embedded(None, spelled=bool(told.spelled), by_words=bool(told.by_words))
    except Exception as error:  # noqa: BLE001 - foreign code
        log.warning("The embedder did not tell how it reads a text: %s", type(error).__name__)
        return Embedded(None, spelled=True, by_words=True)


def towards_answers(embedder: Embedder, question: str, vector: Vector) -> Vector:
    """The vector of a question, turned by the embedder towards its answers; as it is where the embedder cannot."""
    turn = getattr(embedder, "towards_answers", None)
    if turn is None:
        return vector
    from wellkept.core.records.vectors import unit

    try:
        turned = unit(turn(question, vector.copy()))
        if turned.shape == vector.shape and turned.any():
            return turned
        log.warning("The embedder turned a question into no vector of its size")
    except Exception as error:  # noqa: BLE001 - foreign code
        log.warning("The embedder did not turn a question: %s: %s", type(error).__name__, error)
    return vector


def read(model: RelationModel, pairs: Sequence[tuple[str, str]]) -> list[Opinion | None]:
    """The relation model's answer.

    Raises:
        ModelError: The model failed in any way, or did not give an opinion or None for every pair.
    """
    with guarded("the relation model failed", model.id):
        told = list(model.read(pairs))
    if len(told) != len(pairs):
        raise ModelResponseInvalid(f"asked about {len(pairs)} pairs, got {len(told)}", where=model.id)
    _check_opinions(told, model.id)
    return told


def read_lists(model: RelationModel, lists: Sequence[tuple[str, tuple[str, ...]]]) -> list[tuple[Opinion | None, ...]]:
    """The relation model's opinions on the older texts of each list; one that reads only pairs reads them singly.

    Raises:
        ModelError: The model failed in any way, or did not give an opinion or None for every older text.
    """
    if not isinstance(model, ListReading):
        pairs = list(dict.fromkeys((old, new) for new, texts in lists for old in texts))
        known = dict(zip(pairs, read(model, pairs), strict=True))
        return [tuple(known[old, new] for old in texts) for new, texts in lists]
    with guarded("the relation model failed", model.id):
        told = [tuple(opinions) for opinions in model.read_lists(lists)]
    if [len(opinions) for opinions in told] != [len(texts) for _, texts in lists]:
        raise ModelResponseInvalid("the relation model did not give one opinion for each older text", where=model.id)
    _check_opinions(chain.from_iterable(told), model.id)
    return told


def with_second_reader(model: RelationModel) -> RelationModel:
    """The relation model with its second reader; the model alone if it has none, or fails to give it."""
    if not isinstance(model, SecondReading):
        return model
    try:
        return model.with_second_reader()
    except Exception as error:  # noqa: BLE001 - foreign code
        log.warning("The relation model has no second reader: %s: %s", type(error).__name__, error)
        return model


def _check_opinions(given: Iterable[object], where: str) -> None:
    if not all(item is None or _is_sound(item) for item in given):
        raise ModelResponseInvalid("the relation model gave something that is not an opinion", where=where)


def _is_sound(opinion: object) -> bool:
    if not isinstance(opinion, Opinion):
        return False
    shares = (opinion.same, opinion.refines, opinion.generalises, opinion.conflict, opinion.distinct)
    return all(0.0 <= share <= 1.0 for share in shares)  # false for NaN too


def bounds(model: RelationModel, risk: Risk) -> Bounds:
    """The relation model's thresholds.

    Raises:
        ModelError: The model failed in any way, or its heads have other weights than there are features.
    """
    from wellkept.core.judging.list_head import FEATURES
    from wellkept.core.judging.risk_bounds import Bounds

    with guarded("the relation model has no bounds", model.id):
        told = model.bounds(risk)
    if not isinstance(told, Bounds):
        raise ModelResponseInvalid("the relation model gave something that is not a record of bounds", where=model.id)
    for act, head in (("fold", told.fold), ("mark", told.mark)):
        if head is not None and any(len(weights) != FEATURES[act] for weights in _weights_of(head)):
            raise ModelResponseInvalid(f"the head of {act!r} needs {FEATURES[act]} weights", where=model.id)
    return told


def _weights_of(head: Head) -> Iterator[Sequence[float]]:
    yield head.weights
    if head.elsewhere is not None:
        yield head.elsewhere[0]


def summarise(model: Summariser, texts: Sequence[str], *, limit: int) -> str:
    """The summariser's text.

    Raises:
        ModelError: The summariser failed in any way, or did not return a text.
    """
    with guarded("the summariser failed", model.id):
        text = model.summarise(texts, limit=limit)
    if not isinstance(text, str):
        raise ModelResponseInvalid("the summariser gave something that is not text", where=model.id)
    return text


class GuardedJudge:
    """A contradiction function that may fail; a failure counts as "no contradiction" and sets `failed`.

    Args:
        judge: The caller's own contradiction function.
    """

    def __init__(self, judge: ContradictionFn) -> None:
        self._judge = judge
        self.failed = False

    def __call__(self, old: Memory, new: Statement) -> bool:
        """The function's answer; False when it failed."""
        try:
            return bool(self._judge(old, new))
        except Exception as error:  # noqa: BLE001 - foreign code; the result says `degraded`
            self.failed = True
            log.warning("Judge failed, stored without it: %s", type(error).__name__)
            return False


def judged(new: NewMemory, evidence: Evidence, moment: Moment) -> Decision:
    """The core's decision; if the contradiction function failed, the new memory is stored unchecked."""
    from wellkept.core.gate.admit import judge
    from wellkept.core.gate.judge_review import unreviewed

    if evidence.contradiction_fn is None:
        return judge(new, evidence, moment)
    hook = GuardedJudge(evidence.contradiction_fn)
    decision = judge(new, replace(evidence, contradiction_fn=hook), moment)
    return unreviewed(decision) if hook.failed else decision
