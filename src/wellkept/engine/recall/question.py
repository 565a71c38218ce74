"""The validated input of `recall`: the options as one value with everything derived from them."""

from __future__ import annotations

from datetime import datetime
from typing import Any, cast, get_args

from wellkept.core.judging.calibration import Calibration
from wellkept.core.reading.chat_turns import seeks
from wellkept.core.recall.relevance import DEFAULT_MIN_SCORE, trust_in
from wellkept.core.text.forms import check_text, search_terms
from wellkept.engine.base.inputs import MAX_LIMIT, MAX_QUERY_CHARS, count, moment
from wellkept.engine.lookup import filters
from wellkept.engine.models.embedding import Embeddings
from wellkept.errors import EmptyContent, InvalidField, use_one_of
from wellkept.frozen import frozen
from wellkept.types import (
    WEIGHT_PRESETS,
    Degradation,
    ExpandSpec,
    Filter,
    HybridWeights,
    RecallMode,
    RecallOptions,
    Status,
    Vector,
)

MAX_OVERFETCH = 100
OVERFETCH = 4
_MEANING = HybridWeights(cosine=1.0, lexical=0.0, recency=0.0, importance=0.0)
_WORDS = HybridWeights(cosine=0.0, lexical=1.0, recency=0.0, importance=0.0)
_OPTIONS = frozenset(RecallOptions.__annotations__)


@frozen(kw_only=True)
class Asked:
    """The options of a recall call, before validation."""

    limit: int = 5
    where: Filter | None = None
    mode: RecallMode = "default"
    include_superseded: bool = False
    explain: bool = False
    touch: bool = True
    options: RecallOptions


@frozen(kw_only=True)
class Question:
    """A validated query.

    Attributes:
        text: The query.
        vector: Of the query, a question turned towards its answers; None after an outage. It finds and orders.
        plain: The same before it was turned; relevance is measured by it.
        terms: Its words.
        pool: Maximum number of candidates of each search.
        weights: Weights of the parts of the score.
        blended: Whether the score is the default blend.
        as_of: Read the store as it was at this time; None for now.
        valid_at: Return what was true in the world at this time; None for current memories.
        now: The time from which ages and expiry are computed.
        grouped: Whether repeats are shown once.
        ask_model: Whether the relation model also detects repeats.
        rerank: Whether the reranker may sort the best hits.
        min_score: Least relevance of a hit; 0 for any.
        scale: Turns cosines into similarities.
        trust: How far similarity alone tells related memories from unrelated ones, 0 to 1.
        degraded: Components that failed or were unavailable.
    """

    text: str
    terms: tuple[str, ...]
    vector: Vector | None
    plain: Vector | None
    limit: int
    pool: int
    where: Filter
    mode: RecallMode
    weights: HybridWeights
    expand: ExpandSpec | None
    include_superseded: bool
    as_of: datetime | None
    valid_at: datetime | None
    now: datetime
    explain: bool
    grouped: bool
    ask_model: bool
    rerank: bool
    min_score: float
    scale: Calibration
    trust: float
    degraded: tuple[Degradation, ...]

    @property
    def blended(self) -> bool:
        """Whether the score is the default blend."""
        return self.mode == "default"

    @property
    def by_meaning_alone(self) -> bool:
        """Whether only rows with a vector are wanted; after an outage words are used instead."""
        return self.mode == "semantic" and self.vector is not None

    @property
    def statuses(self) -> tuple[Status, ...]:
        """Statuses of rows that may be shown: what was valid at another time may be superseded now."""
        return ("active", "superseded") if self.include_superseded or self.valid_at else ("active",)

    @property
    def in_full(self) -> bool:
        """Whether every row is read, because filtered rows may lie outside any pool."""
        return self.as_of is not None or self.valid_at is not None or filters.narrows(self.where)


_SAID_ELSEWHERE = {
    **dict.fromkeys(("k", "n", "n_results", "num_results", "top_k", "topk"), "limit"),
    **dict.fromkeys(("filter", "filters", "kind", "kinds", "tags"), "where=Filter(...)"),
}
"""Argument names of other libraries, and the name here."""


def _instead_of(option: str) -> str:
    known = _SAID_ELSEWHERE.get(option)
    if known is not None:
        return f"Use `{known}`"
    return use_one_of(option, sorted((*_OPTIONS, "limit", "where", "mode")))


def check_query(query: object) -> str:
    """The text of the query.

    Raises:
        InvalidInput: Not a text, empty, too long, or with characters that are not allowed.
    """
    if not isinstance(query, str):
        raise InvalidField(f"must be text, not {type(query).__name__}", where="query", todo="Pass a str")
    try:
        check_text(query, limit=MAX_QUERY_CHARS)
    except EmptyContent as error:
        raise EmptyContent("The query is empty", where="query", todo="Ask something") from error
    return query


def question(
    query: str,
    asked: Asked,
    vectors: Embeddings,
    now: datetime,
    *,
    scale: Calibration,
    usual: HybridWeights | None = None,
) -> Question:
    """The query with everything derived from it; every option is checked before the model is asked.

    Args:
        query: The text of the query.
        asked: The options of the call.
        vectors: Makes the query's vector.
        now: The time.
        scale: Turns cosines of its embedder into similarities.
        usual: The store's default weights.

    Raises:
        InvalidInput: An option is invalid; names it and the allowed values.
    """
    query = check_query(query)
    limit = count("limit", asked.limit, MAX_LIMIT)
    options = cast("dict[str, Any]", asked.options)
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise InvalidField("unknown option", where=unknown[0], todo=_instead_of(unknown[0]))
    where = filters.checked(asked.where)
    mode = asked.mode
    if mode == "default" and usual is not None:
        mode = "hybrid"
    weights = _weights(mode, options.get("weights"), usual)
    overfetch = count("overfetch", options.get("overfetch", OVERFETCH), MAX_OVERFETCH)
    expand = options.get("expand")
    if expand is not None and not isinstance(expand, ExpandSpec):
        raise InvalidField(f"{type(expand).__name__} is not an ExpandSpec", where="expand", todo="Pass an ExpandSpec")
    as_of, valid_at = moment("as_of", options.get("as_of")), moment("valid_at", options.get("valid_at"))
    if as_of is not None and where.embedded is not None:
        raise InvalidField("cannot be asked of the past", where="where.embedded", todo="Leave out as_of or it")
    grouped = options.get("grouped")
    if grouped is not None and not isinstance(grouped, bool):
        raise InvalidField(f"{grouped!r} is not allowed", where="grouped", todo="Use True, False or None")
    rerank = options.get("rerank", True)
    if not isinstance(rerank, bool):
        raise InvalidField(f"{rerank!r} is not allowed", where="rerank", todo="Use True or False")
    min_score = _min_score(options.get("min_score"), weights)
    vectors.fetch([query])
    embedded = vectors.get(query)
    plain = embedded.vector if embedded is not None and not embedded.by_words else None
    vector = vectors.towards_answers(query) if plain is not None and seeks(query) else plain
    if mode == "semantic" and vector is None:
        weights = _WORDS
    return Question(
        text=query,
        terms=tuple(dict.fromkeys(search_terms(query))),
        vector=vector,
        plain=plain,
        limit=limit,
        pool=limit * overfetch,
        where=where,
        mode=mode,
        weights=weights,
        expand=expand,
        include_superseded=bool(asked.include_superseded),
        as_of=as_of,
        valid_at=valid_at,
        now=as_of or now,
        explain=bool(asked.explain),
        # The other modes are plain orders, without grouping.
        grouped=asked.mode == "default" if grouped is None else grouped,
        ask_model=grouped is True,
        rerank=mode != "semantic" and rerank,
        min_score=min_score,
        scale=scale,
        trust=0.0 if embedded is not None and embedded.spelled else trust_in(query, vectors.languages),
        degraded=vectors.degraded(query),
    )


def weights_of(given: object, *, where: str) -> HybridWeights:
    """Weights as a value, or by the name of a preset.

    Raises:
        InvalidField: Neither weights nor the name of a preset.
    """
    if isinstance(given, str) and given in WEIGHT_PRESETS:
        return WEIGHT_PRESETS[given]
    if not isinstance(given, HybridWeights):
        todo = use_one_of(given, WEIGHT_PRESETS, words="Pass HybridWeights, or one of")
        raise InvalidField(f"{given!r} is not allowed", where=where, todo=todo)
    return given


def _min_score(given: object, weights: HybridWeights) -> float:
    """The floor; by default none where neither meaning nor words have a weight: relevance is not asked for then."""
    if given is None:
        return DEFAULT_MIN_SCORE if weights.cosine or weights.lexical else 0.0
    if isinstance(given, bool) or not isinstance(given, int | float) or not 0 <= given <= 1:
        raise InvalidField(f"{given!r} is not allowed", where="min_score", todo="Use a number from 0 to 1")
    return float(given)


def _weights(mode: RecallMode, given: object, usual: HybridWeights | None) -> HybridWeights:
    if mode not in get_args(RecallMode):
        raise InvalidField(f"{mode!r} is not allowed", where="mode", todo=use_one_of(mode, get_args(RecallMode)))
    if given is not None and mode != "hybrid":
        raise InvalidField(f"mode {mode!r} has weights of its own", where="weights", todo='Use mode="hybrid"')
    if given is None:
        return _MEANING if mode == "semantic" else usual or WEIGHT_PRESETS[mode]
    return weights_of(given, where="weights")
