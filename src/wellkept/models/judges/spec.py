"""Builds a judge from a setting: `nli:PATH` or the URL of a chat endpoint, with options in the query."""

from __future__ import annotations

from wellkept.models.endpoints.options import flag, number, options_in, options_of, output_in, seconds_in
from wellkept.models.judges.timeboxed import SECONDS, TimeBoxed

_WHERE = "judge"
_NLI_OPTIONS = frozenset({"sha256", "contradiction", "longest", "seconds"})
_CHAT_OPTIONS = frozenset({"model", "seconds", "timeout", "retries", "max_tokens", "json"})


def nli_judge(spec: str) -> TimeBoxed:
    """The judge of `nli:PATH?contradiction=N&sha256=HEX&longest=N&seconds=S`.

    Raises:
        ConfigError: An option is unknown or out of range.
        ModelUnavailable: A file is missing or has another sha256.
    """
    from wellkept.models.judges.local_pairs import LONGEST
    from wellkept.models.judges.nli import NliJudge

    path, options = options_in(spec, _NLI_OPTIONS, what="an NLI judge", where=_WHERE)
    judge = NliJudge(
        path,
        sha256=options.get("sha256", ""),
        contradiction=output_in(options, "contradiction", where=_WHERE),
        longest=number(options, "longest", LONGEST, int, where=_WHERE),
    )
    judge.check()
    return TimeBoxed(judge, seconds=seconds_in(options, SECONDS, where=_WHERE))


def chat_judge(spec: str, api_key: str | None) -> TimeBoxed:
    """The judge of a chat endpoint's URL; unknown query options are passed to the endpoint.

    Raises:
        ConfigError: The URL is invalid, or an option is out of range.
    """
    from wellkept.models.judges.chat import ChatJudge

    url, options = options_of(spec, _CHAT_OPTIONS, what="the judge's endpoint")
    seconds = seconds_in(options, SECONDS, where=_WHERE)
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
