"""The fields of a memory as options, and the text of one from wherever it comes."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Annotated, Any, TypeAlias, get_args

import typer

from wellkept.errors import InvalidField, StorePathError, WellkeptError, use_one_of
from wellkept.parsing import parsed_json
from wellkept.types import ALL_STATUSES, Filter, OnConflict, Resolution, Status

_WHAT = "Content"
_WHEN = "Validity"
_WHENCE = "Origin"
_TIME = "As ISO 8601: 2026-03-04 or 2026-03-04T09:30; UTC without a zone."
_LISTS = ("tags", "provenance", "links")
_NUMBERS = ("importance", "confidence", "access_count")
_MOST_BYTES = 64 << 20
_FLAGS = ("pinned", "automatic")
_OBJECTS = ("metadata", "signals")


def kinds(incomplete: str) -> list[str]:
    """Kinds for completion; those of the settings if they can be read."""
    from wellkept.config import load
    from wellkept.policy import DEFAULT_KINDS

    try:
        known: Mapping[str, object] = load().policy.kinds
    except WellkeptError:
        known = DEFAULT_KINDS
    return [kind for kind in sorted(known) if kind.startswith(incomplete) and kind != "*"]


def resolutions(incomplete: str) -> list[str]:
    """Ways to settle a conflict, for completion."""
    return [name for name in map(_dashed, get_args(Resolution)) if name.startswith(_dashed(incomplete))]


def statuses(incomplete: str) -> list[str]:
    """Statuses, for completion."""
    return [name for name in (*ALL_STATUSES, "all") if name.startswith(incomplete)]


def resolution(given: str) -> Resolution:
    """A way to settle a conflict, however it is spelled; a usage error otherwise."""
    wanted = {"dismiss": "dismissed"}.get(given, given.replace("-", "_"))
    for known in get_args(Resolution):
        if wanted == known:
            return known  # type: ignore[no-any-return]
    todo = use_one_of(given, map(_dashed, get_args(Resolution)))
    raise typer.BadParameter(f"{given!r} is not a resolution. {todo}", param_hint="RESOLUTION")


KindOption: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--kind",
        "-k",
        metavar="KIND",
        help="fact, note, preference, lesson, decision, or another of `wellkept kinds`.",
        autocompletion=kinds,
        rich_help_panel=_WHAT,
    ),
]
TextArgument: TypeAlias = Annotated[
    str | None,
    typer.Argument(metavar="TEXT|-", help="The text; - or no argument reads standard input.", show_default=False),
]
FileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the text from a file.", rich_help_panel=_WHAT)
]
IdArgument: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the beginning or end of it.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class StatementOptions:
    """The fields of a statement; an empty text clears one."""

    kind: KindOption = None
    title: Annotated[str | None, typer.Option(help="A short title.", rich_help_panel=_WHAT)] = None
    summary: Annotated[str | None, typer.Option(help="A short summary.", rich_help_panel=_WHAT)] = None
    subject: Annotated[str | None, typer.Option("--subject", "-s", help="What it is about.", rich_help_panel=_WHAT)] = (
        None
    )
    attribute: Annotated[str | None, typer.Option(help="Which property of the subject.", rich_help_panel=_WHAT)] = None
    tags: Annotated[
        list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="A tag; repeatable.", rich_help_panel=_WHAT)
    ] = None
    importance: Annotated[float | None, typer.Option(help="0 to 1.", rich_help_panel=_WHAT)] = None
    confidence: Annotated[float | None, typer.Option(help="0 to 1.", rich_help_panel=_WHAT)] = None
    polarity: Annotated[int | None, typer.Option(help="-1 against, 0, 1 for.", rich_help_panel=_WHAT)] = None
    pinned: Annotated[
        bool | None, typer.Option("--pinned/--no-pinned", help="Exempt from decay.", rich_help_panel=_WHEN)
    ] = None
    event_time: Annotated[
        str | None, typer.Option(metavar="TIME", help=f"When it was so. {_TIME}", rich_help_panel=_WHEN)
    ] = None
    event_end: Annotated[
        str | None, typer.Option(metavar="TIME", help="When it stopped being true.", rich_help_panel=_WHEN)
    ] = None
    ended_at: Annotated[
        str | None, typer.Option("--ended", metavar="TIME", help="When an episode ended.", rich_help_panel=_WHEN)
    ] = None
    expires_at: Annotated[
        str | None,
        typer.Option("--expires", metavar="TIME", help="When it expires.", rich_help_panel=_WHEN),
    ] = None
    trigger: Annotated[str | None, typer.Option(help="Situation in which to recall it.", rich_help_panel=_WHEN)] = None
    signals: Annotated[
        str | None,
        typer.Option(metavar="JSON", help="Circumstances at creation, as a JSON object.", rich_help_panel=_WHEN),
    ] = None
    agent: Annotated[str | None, typer.Option(help="Who wrote it.", rich_help_panel=_WHENCE)] = None
    source: Annotated[str | None, typer.Option(help="Where it came from.", rich_help_panel=_WHENCE)] = None
    provenance: Annotated[
        list[str] | None,
        typer.Option("--provenance", metavar="ID", help="Id of a source memory; repeatable.", rich_help_panel=_WHENCE),
    ] = None
    metadata: Annotated[
        str | None, typer.Option(metavar="JSON", help="Further fields, as a JSON object.", rich_help_panel=_WHENCE)
    ] = None


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """The fields that only a new memory has."""

    links: Annotated[
        list[str] | None, typer.Option("--link", metavar="ID", help="Link to it; repeatable.", rich_help_panel=_WHENCE)
    ] = None
    automatic: Annotated[
        bool | None,
        typer.Option(
            "--automatic/--asked", help="Captured automatically: apply the chatter filter.", rich_help_panel=_WHENCE
        ),
    ] = None
    frame: Annotated[
        str | None, typer.Option(help="Conversation frame, for the chatter filter.", rich_help_panel=_WHENCE)
    ] = None
    idempotency_key: Annotated[
        str | None,
        typer.Option("--key", help="A second write with the same key changes nothing.", rich_help_panel=_WHENCE),
    ] = None
    recorded_at: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="When it was first recorded in another system.", rich_help_panel=_WHEN),
    ] = None


OnConflictOption: TypeAlias = Annotated[
    OnConflict | None,
    typer.Option("--on-conflict", help="How a conflict is handled; by default as the policy says.", show_default=False),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilterOptions:
    """Which memories."""

    kind: Annotated[
        list[str] | None,
        typer.Option("--kind", "-k", metavar="KIND", help="Of this kind; repeatable.", autocompletion=kinds),
    ] = None
    tag: Annotated[list[str] | None, typer.Option("--tag", "-t", metavar="TAG", help="With this tag; repeatable.")] = (
        None
    )
    subject: Annotated[str | None, typer.Option("--subject", "-s", help="With this subject.")] = None
    attribute: Annotated[str | None, typer.Option(help="With this attribute.")] = None

    def filter(self, wanted: Sequence[str] = ()) -> Filter:
        """The filter of the library."""
        return Filter(
            kinds=tuple(self.kind or ()),
            tags=tuple(self.tag or ()),
            subject=self.subject,
            attribute=self.attribute,
            statuses=_statuses(wanted),
        )


def given(*groups: StatementOptions | WriteOptions) -> dict[str, Any]:
    """The fields that were said, as the library takes them.

    Raises:
        InvalidField: A JSON option holds no JSON.
    """
    values = {}
    for group in groups:
        for item in fields(group):
            value = getattr(group, item.name)
            if value is not None and value != []:
                values[item.name] = json_value(item.name, value) if item.name in _OBJECTS else value
    return values


def field_value(name: str, text: str) -> Any:
    """The value of a field written as text, as in `--set tags=a,b` or `--set importance=0.8`.

    Raises:
        InvalidField: It cannot be read as what the field holds.
    """
    if name in _LISTS:
        return json_value(name, text) if text.lstrip().startswith("[") else [item.strip() for item in text.split(",")]
    if name in _OBJECTS:
        return json_value(name, text) if text else {}
    if name in _FLAGS or name in _NUMBERS or name == "polarity":
        return json_value(name, text)
    return text


def pair(option: str, text: str) -> tuple[str, str]:
    """The two sides of FIELD=VALUE; a usage error without them."""
    name, mark, value = text.partition("=")
    if not mark or not name.strip() or (option == "--map" and not value.strip()):
        raise typer.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=option)
    return name.strip().replace("-", "_"), value.strip() if option == "--map" else value


def text_from(argument: str | None, file: Path | None) -> str:
    """The text of a memory: the argument, a file, or standard input.

    Raises:
        InvalidText: The bytes are not UTF-8.
        StorePathError: The file cannot be read.
    """
    if file is not None:
        if argument is not None:
            raise typer.BadParameter("Give the text or --file, not both", param_hint="TEXT")
        return _decoded(bytes_of(file))
    if argument is not None and argument != "-":
        return argument
    if argument is None and sys.stdin.isatty():
        raise typer.BadParameter("Give a text, - or --file", param_hint="TEXT")
    return _decoded(_bounded(sys.stdin.buffer, "standard input"))


def bytes_of(file: Path) -> bytes:
    """What a file holds; `-` is standard input.

    Raises:
        StorePathError: It cannot be read, or holds more than 64 MiB.
    """
    if str(file) == "-":
        return _bounded(sys.stdin.buffer, "standard input")
    try:
        with file.open("rb") as source:
            return _bounded(source, str(file))
    except OSError as error:
        raise StorePathError(f"cannot be read: {error.strerror}", where=str(file), todo="Check the path") from error


def _bounded(source: IO[bytes], name: str) -> bytes:
    data = source.read(_MOST_BYTES + 1)
    if len(data) > _MOST_BYTES:
        what = f"holds more than {_MOST_BYTES >> 20} MiB"
        raise StorePathError(what, where=name, todo="Use `wellkept import`, which reads line by line")
    return data


def _decoded(data: bytes) -> str:
    from wellkept.core.text.forms import decode

    return decode(data).removesuffix("\n").removesuffix("\r")


def json_value(name: str, text: str) -> Any:
    """A value written as JSON text.

    Raises:
        InvalidField: It is none.
    """
    return parsed_json(text, where=name, todo="Write the value as JSON", error=InvalidField)


def _statuses(given: Sequence[str]) -> tuple[Status, ...]:
    unknown = [name for name in given if name not in (*ALL_STATUSES, "all")]
    if unknown:
        allowed = ", ".join((*ALL_STATUSES, "all"))
        raise typer.BadParameter(f"{unknown[0]!r} is not one of {allowed}", param_hint="--status")
    if "all" in given:
        return ALL_STATUSES
    return tuple(status for status in ALL_STATUSES if status in given) or ("active",)


def _dashed(name: str) -> str:
    return name.replace("_", "-")
