"""The fields of a memory as options, and its text from an argument, a file or standard input."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import IO, Annotated, Any, TypeAlias, get_args

import typer

from wellkept.cli.terminal.groups import argument, option
from wellkept.errors import InvalidField, StorePathError, WellkeptError, use_one_of
from wellkept.frozen import frozen
from wellkept.parsing import parsed_json
from wellkept.types import ALL_STATUSES, Filter, OnConflict, Resolution, Status

_WHAT = "Content"
_WHEN = "Validity"
_WHENCE = "Origin"
_TIME = "As ISO 8601: 2026-03-04 or 2026-03-04T09:30; UTC without a zone."
_LISTS = ("tags", "provenance", "links")
_NUMBERS = ("importance", "confidence", "access_count")
_MOST_BYTES = 64 << 20
_FLAGS = ("pinned", "automatic", "keep")
_OBJECTS = ("metadata", "signals")


def kinds(incomplete: str) -> list[str]:
    """Kinds, for shell completion; those of the configured policy if it can be read."""
    from wellkept.config import load
    from wellkept.policy import DEFAULT_KINDS

    try:
        known: Mapping[str, object] = load().policy.kinds
    except WellkeptError:
        known = DEFAULT_KINDS
    return [kind for kind in sorted(known) if kind.startswith(incomplete) and kind != "*"]


def resolutions(incomplete: str) -> list[str]:
    """Resolutions of a conflict, for shell completion."""
    return [name for name in map(_dashed, get_args(Resolution)) if name.startswith(_dashed(incomplete))]


def statuses(incomplete: str) -> list[str]:
    """Statuses, for shell completion."""
    return [name for name in (*ALL_STATUSES, "all") if name.startswith(incomplete)]


def resolution(given: str) -> Resolution:
    """A resolution in any spelling; a usage error when it is unknown."""
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
        autocompletion=kinds,
        rich_help_panel=_WHAT,
        help="fact, note, preference, lesson, decision, or another of `wellkept kinds`; "
        "a new memory is semantic by default.",
    ),
]
FileOption: TypeAlias = Annotated[
    Path | None, typer.Option("--file", "-f", metavar="FILE", help="Read the text from a file.", rich_help_panel=_WHAT)
]
IdArgument: TypeAlias = Annotated[str, typer.Argument(metavar="ID", help="Its id, or the beginning or end of it.")]


@frozen(kw_only=True)
class TextOptions:
    """The text of a memory: an argument, a file or standard input."""

    text: str | None = argument(
        default=None, metavar="TEXT|-", show_default=False, help="The text; - or no argument reads standard input."
    )
    file: FileOption = None

    def with_fields(self, group: StatementOptions) -> tuple[str, dict[str, Any]]:
        """The text, and the given fields."""
        return text_from(self.text, self.file), given(group)


@frozen(kw_only=True)
class StatementOptions:
    """The fields of a statement as options; an empty value clears a field."""

    kind: KindOption = None
    title: str | None = option(panel=_WHAT, help="A short title.")
    summary: str | None = option(panel=_WHAT, help="A short summary.")
    subject: str | None = option("--subject", "-s", panel=_WHAT, help="What it is about.")
    attribute: str | None = option(panel=_WHAT, help="Which property of the subject.")
    tags: list[str] | None = option("--tag", "-t", metavar="TAG", panel=_WHAT, help="A tag; repeatable.")
    importance: float | None = option(panel=_WHAT, help="0 to 1.")
    confidence: float | None = option(panel=_WHAT, help="0 to 1.")
    polarity: int | None = option(panel=_WHAT, help="-1 against, 0, 1 for.")
    pinned: bool | None = option("--pinned/--no-pinned", panel=_WHEN, help="Exempt from decay.")
    event_time: str | None = option(metavar="TIME", panel=_WHEN, help=f"When it was so. {_TIME}")
    event_end: str | None = option(metavar="TIME", panel=_WHEN, help="When it stopped being true.")
    ended_at: str | None = option("--ended", metavar="TIME", panel=_WHEN, help="When an episode ended.")
    expires_at: str | None = option("--expires", metavar="TIME", panel=_WHEN, help="When it expires.")
    trigger: str | None = option(panel=_WHEN, help="Situation in which to recall it.")
    signals: str | None = option(metavar="JSON", panel=_WHEN, help="Circumstances at creation, as a JSON object.")
    agent: str | None = option(panel=_WHENCE, help="Who wrote it.")
    source: str | None = option(panel=_WHENCE, help="Where it came from.")
    provenance: list[str] | None = option(metavar="ID", panel=_WHENCE, help="Id of a source memory; repeatable.")
    metadata: str | None = option(metavar="JSON", panel=_WHENCE, help="Further fields, as a JSON object.")


@frozen(kw_only=True)
class WriteOptions(StatementOptions):
    """The fields of a new memory as options."""

    links: list[str] | None = option("--link", metavar="ID", panel=_WHENCE, help="Link to it; repeatable.")
    automatic: bool | None = option(
        "--automatic/--asked", panel=_WHENCE, help="Captured automatically: apply the chatter filter."
    )
    frame: str | None = option(panel=_WHENCE, help="Conversation frame, for the chatter filter.")
    keep: bool | None = option(
        "--keep/--no-keep", panel=_WHENCE, help="Store it even if it looks like chatter, with full importance."
    )
    idempotency_key: str | None = option(
        "--key", panel=_WHENCE, help="A second write with the same key changes nothing."
    )
    recorded_at: str | None = option(metavar="TIME", panel=_WHEN, help="When it was first recorded in another system.")


OnConflictOption: TypeAlias = Annotated[
    OnConflict | None,
    typer.Option("--on-conflict", help="How a conflict is handled; by default as the policy says.", show_default=False),
]


@frozen(kw_only=True)
class FilterOptions:
    """Options that select memories."""

    kind: list[str] | None = option(
        "--kind", "-k", metavar="KIND", autocompletion=kinds, help="Of this kind; repeatable."
    )
    tag: list[str] | None = option("--tag", "-t", metavar="TAG", help="With this tag; repeatable.")
    subject: str | None = option("--subject", "-s", help="With this subject.")
    attribute: str | None = option(help="With this attribute.")

    def filter(self, wanted: Sequence[str] = ()) -> Filter:
        """The options as a filter."""
        return Filter(
            kinds=tuple(self.kind or ()),
            tags=tuple(self.tag or ()),
            subject=self.subject,
            attribute=self.attribute,
            statuses=_statuses(wanted),
        )


def given(group: StatementOptions) -> dict[str, Any]:
    """The given fields as arguments of the library.

    Raises:
        InvalidField: A JSON option is not valid JSON.
    """
    options = {item.name: getattr(group, item.name) for item in fields(group)}
    values = {name: value for name, value in options.items() if value is not None and value != []}
    return {name: json_value(name, value) if name in _OBJECTS else value for name, value in values.items()}


def field_value(name: str, text: str) -> Any:
    """The value of a field written as text, as in `--set tags=a,b` or `--set importance=0.8`.

    Raises:
        InvalidField: The text does not match the type of the field.
    """
    if name in _LISTS:
        return json_value(name, text) if text.lstrip().startswith("[") else [item.strip() for item in text.split(",")]
    if name in _OBJECTS:
        return json_value(name, text) if text else {}
    if name in _FLAGS or name in _NUMBERS or name == "polarity":
        return json_value(name, text)
    return text


def pair(option: str, text: str) -> tuple[str, str]:
    """The two sides of FIELD=VALUE; a usage error when the form differs."""
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
    """The contents of a file; `-` is standard input.

    Raises:
        StorePathError: It cannot be read, or is larger than 64 MiB.
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
        InvalidField: It is not valid JSON.
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
