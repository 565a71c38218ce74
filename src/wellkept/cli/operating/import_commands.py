"""Commands that operate a store: import, export, demo."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.fields import KindOption, field_value, pair
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.session import Session
from wellkept.errors import StorePathError
from wellkept.frozen import frozen
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.engine.transfer.import_lines import ImportSpec

_STDIN = "stdin"


@frozen(kw_only=True)
class ImportOptions:
    """Options for turning lines into memories."""

    mapping: list[str] | None = option(
        "--map", metavar="FIELD=KEY", help="Map a field to this key of the source (dots for nested keys); repeatable."
    )
    fixed: list[str] | None = option(
        "--set", metavar="FIELD=VALUE", help="Set a field to the same value for all lines; repeatable."
    )
    kind: KindOption = None
    scale: str = option(default="0..1", metavar="LOW..HIGH", help="Range of importance in the source, such as 1..3.")
    items: str = option(default="", metavar="KEY", help="Key of a list of memories in each line.")
    lines: bool = flag("--lines", help="Each line is plain text, not JSON.")
    limit: int | None = option("--limit", "-n", min=1, help="Read at most this many lines.")
    source: str | None = option(
        show_default="file name", help="Name of the source; a repeated import under the same name adds nothing twice."
    )

    def spec(self, name: str) -> ImportSpec:
        """The options as an import specification."""
        from wellkept.engine.transfer.import_lines import ImportSpec

        fixed = {field: field_value(field, text) for field, text in (pair("--set", item) for item in self.fixed or ())}
        if self.kind is not None:
            fixed["kind"] = self.kind
        mapping = dict(pair("--map", item) for item in self.mapping or ())
        _refuse_unknown("--map", mapping)
        _refuse_unknown("--set", fixed)
        return ImportSpec(
            source=self.source or name,
            mapping=mapping,
            fixed=fixed,
            scale=_range("--scale", self.scale),
            items=self.items,
            plain=self.lines,
            limit=self.limit,
        )


def import_file(
    run: Session,
    file: str = argument(metavar="FILE|-", help="JSON lines, optionally .gz; - reads standard input."),
    *,
    how: ImportOptions,
    namespace_from: str = option(default="", metavar="KEY", help="Key of a line that names its namespace."),
    rejects: Path | None = option(metavar="FILE", show_default="FILE.rejects.jsonl", help="File for rejected lines."),
) -> int:
    """Import JSON lines through the gate; repeating it changes nothing. Invalid lines are set aside and reported."""
    path = _local(file, run)
    rejected = rejects if rejects is not None or file != "-" else Path(f"{_STDIN}.rejects.jsonl")
    if rejected is not None:
        _refuse_own_store(rejected, run)
    spec = how.spec(_STDIN if file == "-" else "")
    store = run.store()
    with run.progress("Importing", None, of="memories") as done:
        report = store.import_(path, spec, namespace_from=namespace_from, rejects=rejected, progress=done)
    run.show(report, lambda: render.imported(report))
    return exits.FINDINGS if report.failed else exits.OK


def export(
    run: Session,
    file: str = argument(metavar="FILE|-", help="The target file; - is standard output."),
    *,
    force: bool = flag("--force", help="Overwrite the file."),
) -> None:
    """Export the namespace to JSON lines; `import` restores it exactly."""
    if file != "-":
        _refuse_own_store(Path(file), run)  # before the advice to use --force
    if file != "-" and Path(file).exists() and not force:
        raise StorePathError("the file exists", where=file, todo="Pass --force to overwrite it")
    store = run.store(writes=False, model=False)
    target = Path(file) if file != "-" else _temporary(run, "export.jsonl")
    count = store.export(target)
    if file == "-":
        with target.open(encoding="utf-8", newline="") as lines:
            shutil.copyfileobj(lines, sys.stdout)
        return
    run.show({"lines": count, "file": file}, lambda: [f"{count_of(count, 'line')} written to {file}"])


def demo(
    run: Session,
    *,
    verbose: bool = flag("--verbose", help="Print every write with its reason."),
    pause: float = option(default=0.03, min=0.0, help="Seconds between writes under --verbose."),
) -> int:
    """Show what Wellkept does, in a temporary store."""
    from wellkept.cli.demo.run import run as show

    return show(
        run.out,
        db=run.given_option("db"),
        pause=pause,
        as_json=run.json,
        embedder=run.given_option("embedder"),
        verbose=verbose,
    )


def _range(option: str, text: str) -> tuple[float, float]:
    """A range of two numbers, such as 1..3."""
    low, _, high = text.partition("..")
    try:
        return float(low), float(high)
    except ValueError as error:
        raise typer.BadParameter(f"{text!r} is not a range; write it as 1..3", param_hint=option) from error


def _refuse_unknown(option: str, names: Iterable[str]) -> None:
    """Reject unknown field names once; otherwise each line would report them."""
    from wellkept.engine.transfer.import_lines import FIELDS

    known = sorted(FIELDS)
    for name in names:
        if name not in known:
            raise typer.BadParameter(f"{name!r} is not a field; use one of {', '.join(known)}", param_hint=option)


def _refuse_own_store(target: Path, run: Session) -> None:
    """Reject the path of the store as target, even before the file exists; the library itself checks contents only."""
    from wellkept.engine.base.files import refuse_store

    refuse_store(target, run.settings.file)


def _local(file: str, run: Session) -> Path:
    """The given file, or standard input copied to a file."""
    if file != "-":
        return Path(file)
    path = _temporary(run, f"{_STDIN}.jsonl")
    with path.open("wb") as copy:
        shutil.copyfileobj(sys.stdin.buffer, copy)
    return path


def _temporary(run: Session, name: str) -> Path:
    folder = tempfile.mkdtemp(prefix="wellkept-")
    run.on_end(lambda: shutil.rmtree(folder, ignore_errors=True))
    return Path(folder, name)
