"""Builds a judge from a setting: `nli:PATH` or the URL of a chat endpoint, with options in the query."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import parse_qsl

from wellkept.errors import ConfigError
from wellkept.models.endpoints.options import flag, number, options_of
from wellkept.models.judges.timeboxed import SECONDS, TimeBoxed

NLI = "nli:"
_WHERE = "judge"
_NLI_OPTIONS = frozenset({"sha256", "contradiction", "longest", "seconds"})
_CHAT_OPTIONS = frozenset({"model", "seconds", "timeout", "retries", "max_tokens", "json"})


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
        contradiction=number(options, "contradiction", 0, int, where=_WHERE) if "contradiction" in options else None,
        longest=number(options, "longest", LONGEST, int, where=_WHERE),
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
        timeout=number(options, "timeout", seconds, float, where=_WHERE),
        retries=number(options, "retries", 1, int, where=_WHERE),
        max_tokens=number(options, "max_tokens", 64, int, where=_WHERE),
        json_mode=flag(options, "json"),
    )
    return TimeBoxed(judge, seconds=seconds)


def _seconds(options: Mapping[str, str]) -> float:
    seconds = number(options, "seconds", SECONDS, float, where=_WHERE)
    if not 0 < seconds <= 600:
        raise ConfigError("seconds must be above 0 and at most 600", where=_WHERE)
    return seconds
