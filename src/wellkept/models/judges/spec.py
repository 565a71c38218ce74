"""Builds a judge from a setting: `nli:PATH` or the URL of a chat endpoint, with options in the query."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar
from urllib.parse import parse_qsl

from wellkept.errors import ConfigError
from wellkept.models.endpoints.options import options_of
from wellkept.models.judges.timeboxed import SECONDS, TimeBoxed

NLI = "nli:"
_WHERE = "judge"
_NLI_OPTIONS = frozenset({"sha256", "contradiction", "longest", "seconds"})
_CHAT_OPTIONS = frozenset({"model", "seconds", "timeout", "retries", "max_tokens", "json"})
_Number = TypeVar("_Number", int, float)


def nli_judge(spec: str) -> TimeBoxed:
    """The judge of `nli:PATH?contradiction=N&sha256=HEX&longest=N&seconds=S`.

    Raises:
        ConfigError: An option is unknown or out of range.
        ModelUnavailable: A file is missing or has another sha256.
    """
    from pathlib import Path

    from wellkept.models.judges.nli import LONGEST, NliJudge

    path, _, query = spec[len(NLI) :].partition("?")
    options = dict(parse_qsl(query, keep_blank_values=True))
    unknown = sorted(options.keys() - _NLI_OPTIONS)
    if unknown:
        allowed = ", ".join(sorted(_NLI_OPTIONS))
        raise ConfigError("unknown option of an NLI judge", where=unknown[0], todo=f"Use one of: {allowed}")
    if not path.strip():
        raise ConfigError("an NLI judge needs a path", where=_WHERE, todo="Write nli:PATH")
    judge = NliJudge(
        Path(path).expanduser(),
        sha256=options.get("sha256", ""),
        contradiction=number(options, "contradiction", 0, int) if "contradiction" in options else None,
        longest=number(options, "longest", LONGEST, int),
    )
    judge.check()
    return TimeBoxed(judge, seconds=_seconds(options))


def chat_judge(spec: str, api_key: str | None) -> TimeBoxed:
    """The judge of a chat endpoint's URL; unknown query options are passed to the endpoint.

    Raises:
        ConfigError: The URL is invalid, or an option is out of range.
    """
    from wellkept.models.judges.chat import ChatJudge

    url, options = options_of(spec, _CHAT_OPTIONS, what="the judge's endpoint")
    seconds = _seconds(options)
    judge = ChatJudge(
        url,
        options.get("model", ""),
        api_key=api_key,
        seconds=seconds,
        timeout=number(options, "timeout", seconds, float),
        retries=number(options, "retries", 1, int),
        max_tokens=number(options, "max_tokens", 64, int),
        json_mode=options.get("json", "").lower() in ("1", "true", "yes"),
    )
    return TimeBoxed(judge, seconds=seconds)


def _seconds(options: Mapping[str, str]) -> float:
    seconds = number(options, "seconds", SECONDS, float)
    if not 0 < seconds <= 600:
        raise ConfigError("seconds must be above 0 and at most 600", where=_WHERE)
    return seconds


def number(
    options: Mapping[str, str], name: str, default: _Number, read: Callable[[str], _Number], *, where: str = _WHERE
) -> _Number:
    """The numeric value of an option, or its default.

    Raises:
        ConfigError: The value is not a number.
    """
    try:
        return read(options[name]) if name in options else default
    except ValueError:
        raise ConfigError(f"{name} must be a number", where=where) from None
