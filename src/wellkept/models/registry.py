"""Model registry: loads embedders, relation models, judges and rerankers by setting.

Modules are imported on demand, so that a light model does not load heavy packages.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from wellkept.errors import ConfigError, ModelUnavailable, use_one_of
from wellkept.models.endpoints.options import flag, number, options_of, shown

if TYPE_CHECKING:
    from wellkept.models.port import Embedder, Judge, RelationModel, Reranker

log = logging.getLogger("wellkept")

KNOWN = ("auto", "minilm", "hashing", "http(s)://HOST/v1/embeddings?model=NAME&dim=N")
"""Settings of `load_embedder`."""

KNOWN_RELATION_MODELS = ("auto", "packaged", "none")
"""Settings of `load_relation_model`."""

KNOWN_JUDGES = ("none", "nli:PATH", "http(s)://HOST/v1/chat/completions?model=NAME")
"""Settings of `load_judge`."""

KNOWN_RERANKERS = ("none", "onnx:PATH")
"""Settings of `load_reranker`."""

_HTTP_OPTIONS = frozenset({"model", "dim", "timeout", "retries", "batch", "prefix", "send_dimensions"})


def load_embedder(spec: str | None = None, *, api_key: str | None = None) -> Embedder:
    """Load the embedder of a setting.

    Args:
        spec: `auto` (also None or empty): MiniLM, or the lexical fallback if MiniLM is missing or damaged; the fallback
            sets `lexical`, and results are marked degraded. `minilm`: MiniLM or an error. `hashing`: the fallback. An
            http(s) URL with `model` and optional `dim, timeout, retries, batch, prefix, send_dimensions` in its query:
            an OpenAI-compatible endpoint; other query parameters are passed on.
        api_key: For HTTP endpoints.

    Raises:
        ConfigError: The name or an option is unknown.
        ModelUnavailable: `minilm` was requested and is not available.

    Example:
        >>> load_embedder("hashing").lexical
        True
    """
    name = (spec or "auto").strip()
    match name.lower():
        case "auto":
            return _minilm_or_fallback()
        case "minilm":
            return _minilm()
        case "hashing":
            return _hashing()
        case lowered if lowered.startswith(("http://", "https://")):
            return _http(name, api_key)
        case _:
            raise ConfigError(f"unknown embedder{shown(name)}", todo=use_one_of(name, KNOWN))


def load_relation_model(spec: str | None = None) -> RelationModel | None:
    """Load the relation model of a setting.

    Args:
        spec: `auto` (also None or empty): the packaged model, or None if its files are missing; then only rules decide,
            results are marked degraded by `relation`, and nothing is skipped on similarity. Its weights are checked
            when they are loaded; damaged ones are an outage. `packaged`: the model, checked whole, or an error. `none`:
            rules only.

    Raises:
        ConfigError: The name is unknown.
        ModelUnavailable: `packaged` was requested and is not available.

    Example:
        >>> load_relation_model("none") is None
        True
    """
    if (spec or "").strip().lower() == "none":
        return None
    from wellkept.models.relation import PackagedRelationModel

    match (spec or "auto").strip().lower():
        case "packaged":
            model = PackagedRelationModel()
            model.check()
            return model
        case "auto":
            model = PackagedRelationModel()
            try:
                model.find()
            except ModelUnavailable as error:
                log.warning("%s; judging by rules alone", error)
                return None
            return model
        case _:
            raise ConfigError("unknown relation model", todo=f"Use one of: {', '.join(KNOWN_RELATION_MODELS)}")


def load_judge(spec: str | None = None, *, api_key: str | None = None) -> Judge | None:
    """Load the judge of a setting, with a time limit.

    Args:
        spec: `none` (also None or empty): no judge. `nli:PATH`: an NLI model in a local ONNX file, with optional
            `contradiction, sha256, longest, seconds` in a query after the path. An http(s) URL with `model` and
            optional `seconds, timeout, retries, max_tokens, json` in its query: an OpenAI-compatible chat endpoint;
            other query parameters are passed on.
        api_key: For HTTP endpoints.

    Raises:
        ConfigError: The name or an option is unknown.
        ModelUnavailable: A file of the NLI model is missing or has another sha256.

    Example:
        >>> load_judge("none") is None
        True
    """
    name = (spec or "none").strip()
    match name.lower():
        case "none":
            return None
        case lowered if lowered.startswith("nli:"):
            from wellkept.models.judges.spec import nli_judge

            return nli_judge(name)
        case lowered if lowered.startswith(("http://", "https://")):
            from wellkept.models.judges.spec import chat_judge

            return chat_judge(name, api_key)
        case _:
            raise ConfigError(f"unknown judge{shown(name)}", todo=use_one_of(name, KNOWN_JUDGES))


def load_reranker(spec: str | None = None) -> Reranker | None:
    """Load the reranker of a setting, with a time limit.

    Args:
        spec: `none` (also None or empty): no reranker. `onnx:PATH`: a cross-encoder in a local ONNX file, with optional
            `output, sha256, longest, seconds` in a query after the path.

    Raises:
        ConfigError: The name or an option is unknown.
        ModelUnavailable: A model file is missing or has another sha256.

    Example:
        >>> load_reranker("none") is None
        True
    """
    name = (spec or "none").strip()
    if name.lower() == "none":
        return None
    if name.lower().startswith("onnx:"):
        from wellkept.models.reranking import onnx_reranker

        return onnx_reranker(name)
    raise ConfigError(f"unknown reranker{shown(name)}", todo=use_one_of(name, KNOWN_RERANKERS))


def _minilm() -> Embedder:
    try:
        from wellkept.models.minilm import MiniLmEmbedder
    except ImportError as error:
        raise ModelUnavailable("the MiniLM embedder cannot be imported", where=str(error.name)) from error
    embedder = MiniLmEmbedder()
    embedder.check()
    return embedder


def _hashing() -> Embedder:
    from wellkept.models.hashing import HashingEmbedder

    return HashingEmbedder()


def _minilm_or_fallback() -> Embedder:
    try:
        return _minilm()
    except ModelUnavailable:
        # Every result is marked degraded by `lexical`.
        return _hashing()


def _http(spec: str, api_key: str | None) -> Embedder:
    from wellkept.models.endpoints.http import HttpEmbedder

    url, options = options_of(spec, _HTTP_OPTIONS, what="the embedding endpoint")
    where = "embedder URL"
    embedder = HttpEmbedder(
        url,
        options.get("model", ""),
        api_key=api_key,
        dim=number(options, "dim", 0, int, where=where) if "dim" in options else None,
        timeout=number(options, "timeout", 10.0, float, where=where),
        retries=number(options, "retries", 2, int, where=where),
        batch=number(options, "batch", 64, int, where=where),
        prefix=options.get("prefix", ""),
    )
    if "send_dimensions" in options:
        embedder.send_dimensions = flag(options, "send_dimensions")
    return embedder
