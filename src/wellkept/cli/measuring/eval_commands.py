"""Commands that measure: `wellkept eval pairs`, `wellkept eval stories` and `wellkept eval retrieval`."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import typer

from wellkept.cli.terminal.fields import KindOption
from wellkept.cli.terminal.groups import argument, flag, option
from wellkept.cli.terminal.session import Session
from wellkept.errors import StorePathError
from wellkept.frozen import frozen
from wellkept.parsing import number_within
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from wellkept.evaluation.asked.endings import StoryEnd
    from wellkept.evaluation.labelled_files import PairFile, Story
    from wellkept.evaluation.retrieval_reading import Collection, Unit
    from wellkept.evaluation.run import Progress, Setup


@frozen(kw_only=True)
class EvalOptions:
    """Options of the commands on pairs and stories."""

    no_model: bool = flag("--no-model", help="Judge by rules only, without the relation model.")
    errors: Path | None = option(metavar="FILE", help="Write the errors to this file, as JSON lines.")
    limit: int | None = option("--limit", "-n", min=1, help="At most this many items per file, evenly sampled.")


def pairs(
    run: Session,
    files: list[Path] = argument(metavar="FILE…", help="JSON lines of labelled pairs, optionally .gz."),
    *,
    kind: KindOption = None,
    with_subject: bool = flag("--with-subject", help="Use the subjects given with the pairs."),
    ablation: bool = flag("--ablation", help="Compare judges, among them plain cosine thresholds."),
    nli: Path | None = option(metavar="PATH", hidden=True, help="Another NLI model, as a further row of the ablation."),
    how: EvalOptions,
) -> None:
    """Write both texts of each labelled pair into an empty store, and print the error rates.

    A line is {"id", "old", "new", "relation"} with same, refines, conflict, distinct or unrelated, or
    {"id", "a", "b", "label"} as public sets have it. Nothing is written to your own store.
    """
    from wellkept.cli.measuring import eval_tables
    from wellkept.evaluation import report
    from wellkept.evaluation.labelled_files import read_pairs
    from wellkept.evaluation.run import nli_judge, run_pairs

    _refuse_overwriting(how.errors, files, run)
    judge = nli_judge(nli) if nli is not None else None
    read = [_read(file, lambda name, lines: read_pairs(name, lines, limit=how.limit)) for file in files]
    setup = _setup(run, how, kind=kind, with_subject=with_subject)
    started = time.perf_counter()
    cases = []
    for file in read:
        with run.progress(f"Writing pairs of {file.name}", len(file.pairs)) as done:
            cases.append(run_pairs(file.pairs, setup, done))
    seconds = time.perf_counter() - started
    found = report.of_pairs(read, cases, setup, seconds=seconds)
    if ablation or nli is not None:
        found["ablation"] = _ablation(run, read, setup, judge)
    _write_errors(how.errors, report.wrong_pairs(read, cases), run)
    run.show(found, lambda: eval_tables.pairs(found))


def stories(
    run: Session,
    file: Path = argument(metavar="FILE", help="JSON lines of stories, optionally .gz."),
    *,
    no_subject: bool = flag("--no-subject", help="Ignore the subjects given with the writes."),
    crowd: int = option(
        "--crowd", default=0, min=0, help="Number of unrelated texts in the common store of all stories."
    ),
    strangers: list[Path] | None = option(metavar="FILE", help="Files with one unrelated text per line; repeatable."),
    ask: str | None = option(metavar="N,N…", help="Also with so many questions per 100 writes, answered at once."),
    answers: str = option(default="oracle", metavar="WHO", help="Who answers: oracle, or noisy:0.05 for 5 % wrong."),
    how: EvalOptions,
) -> None:
    """Replay each story in an empty store, write by write, then run its queries.

    With --ask the figures are those at the end of each story, after the answers.

    A line is {"id", "writes": [{"t", "text", "kind", "subject", "truth"}], "queries": [{"q", "answer_contains",
    "must_not_rank_first"}]}. Nothing is written to your own store.
    """
    from wellkept.cli.measuring import eval_tables
    from wellkept.evaluation import report
    from wellkept.evaluation.asked.running import with_memory
    from wellkept.evaluation.labelled_files import read_stories
    from wellkept.evaluation.run import run_stories

    _refuse_overwriting(how.errors, [file], run)
    read = _read(file, lambda name, lines: read_stories(name, lines, limit=how.limit))
    around = _strangers(strangers or [], crowd)
    setup = _setup(run, how, with_subject=not no_subject)
    started = time.perf_counter()
    if ask is not None:
        if how.errors is not None:
            raise typer.BadParameter("Errors are written for stories without questions", param_hint="--errors")
        setup = with_memory(setup)
        columns = _asked(run, read, setup, budgets=_budgets(ask), answers=answers, crowd=around)
        table = report.of_asked(file.name, columns, setup, answers=answers, seconds=time.perf_counter() - started)
        run.show(table, lambda: eval_tables.asked(table))
        return
    with run.progress("Replaying stories", len(read)) as done:
        lived = run_stories(read, setup, done, crowd=around)
    seconds = time.perf_counter() - started
    found = report.of_stories(file.name, lived, setup, seconds=seconds)
    _write_errors(how.errors, report.wrong_stories(lived), run)
    run.show(found, lambda: eval_tables.stories(found))


def _budgets(text: str) -> list[float]:
    """The numbers of questions per 100 writes.

    Raises:
        InvalidInput: One of them is no number from 0 to 100.
    """
    from wellkept.errors import InvalidInput

    found = []
    for part in text.split(","):
        count = number_within(part, 0, 100)
        if count is None:
            raise InvalidInput(f"{part[:20]!r} is no number from 0 to 100", where="--ask", todo="Write 0,5,10")
        found.append(count)
    return found


def _asked(
    run: Session,
    read: Sequence[Story],
    setup: Setup,
    *,
    budgets: Sequence[float],
    answers: str,
    crowd: Sequence[str],
) -> list[tuple[float, list[StoryEnd]]]:
    """The ends of the stories, for each number of questions."""
    from wellkept.evaluation.asked.readers import reader_of
    from wellkept.evaluation.asked.running import run_asked

    columns = []
    for budget in budgets:
        own = replace(setup, policy=replace(setup.policy, ask=budget))
        with run.progress(f"Replaying stories, {budget:g} questions per 100 writes", len(read)) as done:
            columns.append((budget, run_asked(read, own, reader_of(answers), done, crowd=crowd)))
    return columns


@frozen(kw_only=True)
class RetrievalOptions:
    """Options for what is stored and which alternatives are measured."""

    documents: str | None = option(metavar="WHAT", help="turns, observations, messages or user-messages.")
    no_dates: bool = flag("--no-dates", help="Omit the date from the texts of LoCoMo.")
    through_gate: bool = flag("--through-gate", help="Also write the documents through the gate, as `remember` does.")
    against: list[str] | None = option(metavar="SETTING", help="Compare the default with this mode; repeatable.")
    limit: int | None = option("--limit", "-n", min=1, help="At most this many questions, evenly sampled.")


def retrieval(
    run: Session,
    paths: list[Path] = argument(metavar="PATH…", help="A folder of JSON lines, or the files, optionally .gz."),
    *,
    kind: KindOption = None,
    how: RetrievalOptions,
) -> None:
    """Store conversations, ask the questions of LoCoMo or BEAM, and print how much of the evidence is recalled.

    Plain BM25 over the same texts is the baseline. Nothing is written to your own store.
    """
    from wellkept.cli.measuring import retrieval_tables as tables
    from wellkept.evaluation import retrieval_running as running
    from wellkept.evaluation.retrieval_baseline import BASELINE, PLAYED

    others = list(dict.fromkeys(_known("--against", name, running.SETTINGS) for name in how.against or ()))
    collection = _collection(paths, how)
    setup = _setup(run, EvalOptions(), kind=kind, with_subject=False)
    documents = sum(map(len, collection.documents.values()))
    total = documents + len(collection.questions)
    started = time.perf_counter()
    with run.progress("Reading", total) as done:
        running.warm(collection, setup, done)
    recalled = [running.DEFAULT, *(name for name in others if name in running.RECALLED and name != running.DEFAULT)]
    with run.progress("Storing and asking", total) as done:
        stored = running.run_stored(collection, setup, recalled, through_gate=False, progress=done)
    gated = None
    if how.through_gate:
        with run.progress("Through the gate", total) as done:
            gated = running.run_stored(collection, setup, [running.DEFAULT], through_gate=True, progress=done)
    played = [BASELINE, *(name for name in others if name in PLAYED and name != BASELINE)]
    with run.busy("Ranking"):
        answers = running.run_played(collection, setup, played)
    answers |= {name: list(found) for name, found in stored.answers.items() if name != running.DEFAULT}
    seconds = time.perf_counter() - started
    found = tables.of_retrieval(collection, setup, stored, answers, gated=gated, seconds=seconds)
    run.show(found, lambda: tables.retrieval(found))


def _setup(run: Session, how: EvalOptions, *, kind: str | None = None, with_subject: bool) -> Setup:
    from wellkept.cli.terminal.opening import configured_embedder
    from wellkept.evaluation.run import DEFAULT_KIND, Setup, Warm

    settings = run.settings
    wanted = kind if kind is not None else DEFAULT_KIND
    settings.policy.for_kind(wanted)  # an unknown kind is reported once, not at the first line of a file
    return Setup(
        policy=settings.policy,
        embedder=Warm(configured_embedder(settings)),
        judging="rules" if how.no_model else "default",
        kind=wanted,
        with_subject=with_subject,
    )


def _collection(paths: Sequence[Path], how: RetrievalOptions) -> Collection:
    from contextlib import ExitStack

    from wellkept.engine.base.files import opened
    from wellkept.evaluation.retrieval_reading import UNITS, read_collection

    files = [file for path in paths for file in _files(path)]
    unit: Unit | None = None if how.documents is None else _known("--documents", how.documents, UNITS)
    name = paths[0].resolve().name if len(paths) == 1 else ", ".join(path.name for path in paths)
    with ExitStack() as stack:
        lines = ((str(file), stack.enter_context(opened(file))) for file in files)
        try:
            return read_collection(name, lines, unit=unit, dates=not how.no_dates, limit=how.limit)
        except (OSError, EOFError) as error:  # a truncated compressed file
            raise StorePathError(f"cannot be read: {error}", where=name, todo="Check the files") from error


def _files(path: Path) -> list[Path]:
    """The JSON lines files of a folder; for a file, the file itself."""
    if not path.is_dir():
        return [path]
    found = sorted(file for file in path.iterdir() if file.name.endswith((".jsonl", ".jsonl.gz")))
    if not found:
        raise StorePathError("holds no .jsonl files", where=str(path), todo="Name the folder of the set, or its files")
    return found


_Name = TypeVar("_Name", bound=str)


def _strangers(files: Sequence[Path], count: int) -> list[str]:
    """The given number of lines, sampled evenly from these files.

    Raises:
        InvalidInput: The files hold fewer lines than `count`.
    """
    from wellkept.errors import InvalidInput
    from wellkept.evaluation.labelled_files import spread

    texts = [text for file in files for text in _read(file, _lines)] if count else []
    if len(texts) < count:
        raise InvalidInput(
            f"{count_of(len(texts), 'line')} for a crowd of {count:,}",
            where="--strangers", todo="Name files with more lines, or a smaller --crowd",
        )  # fmt: skip
    return list(spread(texts, count)) if count else []


def _lines(_: str, lines: Iterable[bytes]) -> list[str]:
    """The lines that are not empty."""
    return [text for line in lines if (text := line.decode("utf-8", "replace").strip())]


def _known(option: str, given: str, names: Sequence[_Name]) -> _Name:
    """The given name; a usage error when it is unknown."""
    for name in names:
        if given == name:
            return name
    raise typer.BadParameter(f"{given!r} is not one of {', '.join(names)}", param_hint=option)


def _read(file: Path, read: Callable[[str, Iterable[bytes]], Any]) -> Any:
    from wellkept.engine.base.files import opened

    with opened(file) as lines:
        try:
            return read(str(file), lines)
        except (OSError, EOFError) as error:  # a folder, or a truncated compressed file
            raise StorePathError(f"cannot be read: {error}", where=str(file), todo="Check the file") from error


def _ablation(run: Session, read: Sequence[PairFile], setup: Setup, judge: Any) -> list[dict[str, Any]]:
    from contextlib import ExitStack

    from wellkept.evaluation.ablation import ablation

    rows = []
    with ExitStack() as bars:

        def progress(name: str) -> Progress:
            bars.close()
            total = sum(len(file.pairs) for file in read)
            done: Progress = bars.enter_context(run.progress(name, total))
            return done

        for row in ablation(read, setup, nli=judge, progress=progress):
            rows.append({"name": row.name, "metrics": row.metrics, "seconds": round(row.seconds, 3)})
    return rows


def _refuse_overwriting(errors: Path | None, inputs: Sequence[Path], run: Session) -> None:
    """Reject an error file that is one of the inputs or a store."""
    from wellkept.engine.base.files import refuse_store, same_file

    if errors is None:
        return
    refuse_store(errors, run.settings.file)
    if any(same_file(errors, one) for one in inputs):
        raise StorePathError("is one of the measured files", where=str(errors), todo="Name another file for --errors")


def _write_errors(errors: Path | None, rows: Iterable[Mapping[str, Any]], run: Session) -> None:
    from wellkept.core.records.codec import to_plain
    from wellkept.engine.base.files import replacing

    if errors is None:
        return
    count = 0
    with replacing(errors) as out:
        for row in rows:
            out.write(json.dumps(to_plain(row, full=True), ensure_ascii=False) + "\n")
            count += 1
    run.note(f"{count_of(count, 'item')} handled wrongly: {errors}")
