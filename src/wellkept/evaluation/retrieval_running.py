"""Stores the documents of a retrieval set and asks its questions, through the public API only."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np

from wellkept.core.text.forms import canonical
from wellkept.core.text.token_estimate import estimate_tokens
from wellkept.evaluation.retrieval_baseline import PLAYED, Pool, played
from wellkept.evaluation.retrieval_metrics import DEPTHS, Answer
from wellkept.evaluation.retrieval_reading import Collection, Document, Question
from wellkept.evaluation.run import Progress, Setup, StoryClock, embedded_text, opened, placed
from wellkept.frozen import frozen
from wellkept.types import MemoryFields, OnConflict

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore

DEFAULT = "default"
RECALLED: Mapping[str, Mapping[str, Any]] = {
    DEFAULT: {},
    "grouped": {"grouped": True},
    "ungrouped": {"grouped": False},
    "no-floor": {"min_score": 0.0},
    "semantic": {"mode": "semantic"},
    "hybrid": {"mode": "hybrid"},
    "hybrid-created": {"mode": "hybrid", "weights": "hybrid-created"},
    "hybrid-event": {"mode": "hybrid", "weights": "hybrid-event"},
}
"""Settings of the store: options of `recall` by name."""
SETTINGS: tuple[str, ...] = (*RECALLED, *PLAYED)
"""All settings; those not in `RECALLED` are baselines over the documents."""

_DEEPEST = DEPTHS[-1]
_BATCH = 64
_START = datetime(2020, 1, 1, 9, 0, tzinfo=UTC)
_BETWEEN = timedelta(seconds=20)
_BETWEEN_SITTINGS = timedelta(hours=20)


@frozen(kw_only=True)
class Stored:
    """The stored set and its answers.

    Attributes:
        answers: Setting to one answer per question, in order.
        written: Number of documents written.
        rows: Number of active memories.
        repeats: Number of memories whose canonical text equals that of an older one.
        outcomes: Number of writes by outcome.
        cut: Number of documents truncated to the policy's limit.
    """

    answers: Mapping[str, Sequence[Answer]]
    written: int
    rows: int
    repeats: int
    outcomes: Mapping[str, int]
    cut: int


def warm(collection: Collection, setup: Setup, progress: Progress) -> None:
    """Compute the vectors of all texts in advance, so that all settings use the same ones."""
    texts = [embedded_text(setup.kind, _cut(one.text, setup)) for told in collection.documents.values() for one in told]
    texts += [question.text for question in collection.questions]
    for start in range(0, len(texts), _BATCH):
        setup.embedder.embed(texts[start : start + _BATCH])
        progress(min(len(texts), start + _BATCH))


def run_stored(
    collection: Collection, setup: Setup, settings: Sequence[str], *, through_gate: bool, progress: Progress
) -> Stored:
    """Write each conversation into a separate namespace and ask its questions.

    Args:
        collection: The set.
        setup: Policy, embedder and kind.
        settings: Names of `RECALLED`.
        through_gate: Whether the gate decides; otherwise everything is stored.
        progress: Called with the number of documents written and questions asked.

    Raises:
        InvalidInput: A text cannot be stored; names file and line.
    """
    clock = StoryClock(_START)
    outcomes: Counter[str] = Counter()
    answers: dict[str, dict[Question, Answer]] = {name: {} for name in settings}
    rows = repeats = done = cut = 0
    with opened(setup, clock) as store:
        for number, (conversation, documents) in enumerate(collection.documents.items()):
            part = store.in_namespace(f"conversation/{number}")
            for document in _timed(documents, clock):
                outcomes[_write(part, document, setup, through_gate=through_gate)] += 1
                cut += len(document.text) > setup.policy.max_content_chars
                done += 1
                progress(done)
            held = part.list()
            rows += len(held)
            repeats += len(held) - len({canonical(memory.content) for memory in held})
            for question in _asked_in(collection, conversation):
                for name in settings:
                    answers[name][question] = _recalled(part, question, name)
                done += 1
                progress(done)
    return Stored(
        answers={name: [found[question] for question in collection.questions] for name, found in answers.items()},
        written=outcomes.total(),
        rows=rows,
        repeats=repeats,
        outcomes=dict(sorted(outcomes.items())),
        cut=cut,
    )


def run_played(collection: Collection, setup: Setup, settings: Sequence[str]) -> dict[str, list[Answer]]:
    """The answers of baselines over the documents; names of `PLAYED`."""
    answers: dict[str, dict[Question, Answer]] = {name: {} for name in settings}
    for conversation, documents in collection.documents.items():
        pool = _pool(documents, setup)
        for question in _asked_in(collection, conversation):
            (embedded,) = setup.embedder.embed([question.text])
            for name in settings:
                places = played(name, pool, question.text, embedded.vector, limit=_DEEPEST)
                answers[name][question] = Answer(
                    question,
                    tuple(documents[at].sources for at in places),
                    tuple(estimate_tokens(documents[at].text) for at in places),
                )
    return {name: [found[question] for question in collection.questions] for name, found in answers.items()}


def _asked_in(collection: Collection, conversation: str) -> Iterator[Question]:
    return (question for question in collection.questions if question.conversation == conversation)


def _timed(documents: Sequence[Document], clock: StoryClock) -> Iterator[Document]:
    """The documents with their times; unknown times give one sitting per day."""
    clock.now, session = _START, ""
    for document in documents:
        new_sitting, session = session not in ("", document.session), document.session
        later = clock.now + (_BETWEEN_SITTINGS if new_sitting else _BETWEEN)
        # Files may disagree on the order of sittings; time never runs backwards.
        clock.now = max(later if document.at is None else document.at, clock.now + _BETWEEN)
        yield document


def _write(store: MemoryStore, document: Document, setup: Setup, *, through_gate: bool) -> str:
    fields: MemoryFields = {
        "kind": setup.kind,
        "event_time": document.at,
        "source": f"{document.conversation}/{document.session}",
        "provenance": document.sources,
        "keep": not through_gate,
    }
    on_conflict: OnConflict | None = None if through_gate else "ignore"
    with placed(document.place):
        return store.remember(_cut(document.text, setup), on_conflict=on_conflict, **fields).outcome


def _recalled(store: MemoryStore, question: Question, name: str) -> Answer:
    with placed(f"question {question.id}"):
        hits = store.recall(question.text, limit=_DEEPEST, touch=False, **RECALLED[name])
    return Answer(
        question,
        # Listed duplicates of a hit count as part of the answer.
        tuple(tuple(chain(hit.memory.provenance, *(row.provenance for row in hit.repeats))) for hit in hits),
        tuple(estimate_tokens(hit.memory.content) for hit in hits),
    )


def _pool(documents: Sequence[Document], setup: Setup) -> Pool:
    texts = [_cut(document.text, setup) for document in documents]
    made = setup.embedder.embed([embedded_text(setup.kind, text) for text in texts])
    nothing = np.zeros(setup.embedder.dim, dtype=np.float32)
    sittings: dict[str, list[int]] = {}
    for at, document in enumerate(documents):
        sittings.setdefault(document.session, []).append(at)
    vectors = np.asarray([nothing if one.vector is None else one.vector for one in made], dtype=np.float32)
    return Pool(texts, tuple(sittings.values()), vectors)


def _cut(text: str, setup: Setup) -> str:
    return text[: setup.policy.max_content_chars]
