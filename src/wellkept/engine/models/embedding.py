"""Embeddings of one call: each text is embedded once, outside transactions; a failure is a value."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace

from wellkept.core.text.forms import content_hash, embed_text
from wellkept.engine.models import fail_open
from wellkept.engine.models.unanswered import UnansweredError
from wellkept.errors import ModelError, ModelResponseInvalid
from wellkept.models.port import Embedded, Embedder, PartUnavailable
from wellkept.types import Degradation, Statement, Vector

log = logging.getLogger("wellkept")


def text_of(statement: Statement) -> str:
    """The text that is embedded for a statement, the same for check, create and re-embedding."""
    return embed_text(
        kind=statement.kind,
        title=statement.title,
        summary=statement.summary,
        content=statement.content,
        trigger=statement.trigger,
    )


def vector_key(text: str) -> str:
    """The hash under which the vector of a text is stored."""
    return content_hash(text)[:32]


def usable(made: Sequence[Embedded], wanted: int, embedder: Embedder) -> Sequence[Embedded]:
    """The embedder's answer, validated.

    Raises:
        ModelResponseInvalid: Too few or too many vectors, wrong size, zero length, or not finite.
    """
    import numpy as np

    if len(made) != wanted:
        raise ModelResponseInvalid(f"asked for {wanted} vectors, got {len(made)}", where=embedder.id)
    for one in made:
        if one.vector is None:
            continue
        if one.vector.shape != (embedder.dim,):
            raise ModelResponseInvalid(
                f"a vector has shape {one.vector.shape}, not ({embedder.dim},)", where=embedder.id
            )
        if not np.isfinite(one.vector).all() or not one.vector.any():
            raise ModelResponseInvalid("a vector is zero or not finite", where=embedder.id)
    return made


class Embeddings:
    """The vectors computed so far in one call.

    Args:
        embedder: Called at most once per text.
        on_failure: What an outage means for the caller, for the log.

    Attributes:
        failure: The last outage.
        is_down: Whether it concerns all texts; a part of an embedder may fail for some.
    """

    def __init__(self, embedder: Embedder, *, on_failure: str = "Dedup check failed, creating normally") -> None:
        self._embedder = embedder
        self._on_failure = on_failure
        self._known: dict[str, Embedded] = {}
        self._unread: set[str] = set()
        self.is_down = False
        self.failure: ModelError | None = None

    @property
    def languages(self) -> frozenset[str] | None:
        """Languages in which similarity alone tells related texts from unrelated ones; None for all."""
        if self._embedder.lexical:
            return frozenset()
        languages: frozenset[str] | None = getattr(self._embedder, "languages", None)
        return languages

    def fetch(self, texts: Iterable[str]) -> None:
        """Embed the unknown texts in one batch. An outage is stored in `failure`, not raised."""
        missing = [text for text in dict.fromkeys(texts) if text not in self._known and text not in self._unread]
        if not missing or self.is_down:
            return
        try:
            made = usable(fail_open.embed(self._embedder, missing), len(missing), self._embedder)
        except ModelError as error:
            self.failure = error.error if isinstance(error, PartUnavailable) else error
            unread = error.places.intersection(range(len(missing))) if isinstance(error, PartUnavailable) else ()
            self._unread.update(missing[place] for place in unread)
            self.is_down = not unread
            log.warning("%s: %s", self._on_failure, error)
            self.fetch(missing)
            return
        self._known.update(zip(missing, made, strict=True))

    def adopt(self, text: str, vector: Vector, chunks: int) -> None:
        """Use a vector that is already stored, with what the embedder says of the text."""
        self._known[text] = replace(fail_open.about(self._embedder, text), vector=vector, chunks=chunks)

    def get(self, text: str) -> Embedded | None:
        """The vector of a text; None after an outage.

        Raises:
            UnansweredError: The text was not embedded yet.
        """
        found = self._known.get(text)
        if found is None and text not in self._unread and not self.is_down:
            raise UnansweredError(self.fetch, (text,))
        return found

    def towards_answers(self, question: str) -> Vector | None:
        """The vector of a question, turned towards its answers where the embedder can; None without a vector."""
        vector = self.vector(question)
        return None if vector is None else fail_open.towards_answers(self._embedder, question, vector)

    def outage_of(self, text: str) -> ModelError | None:
        """Why a text has no vector; None if the embedder was not asked about it, or answered."""
        return self.failure if self.is_down or text in self._unread else None

    def degraded(self, text: str) -> tuple[Degradation, ...]:
        """What is degraded for this text: an outage, an unreadable text, a fallback embedder."""
        found = self._known.get(text)
        if found is None:
            return ("embedding",)
        if found.vector is None:
            return ("unreadable",)
        return ("lexical",) if self._embedder.lexical or found.spelled else ()

    def vector(self, text: str) -> Vector | None:
        """The vector of a text; None when there is none."""
        found = self._known.get(text)
        return None if found is None else found.vector
