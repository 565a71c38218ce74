"""The operator's verbs of `MemoryStore`: files, counts, self-checks, consolidation and taking it back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

from wellkept.core.consolidation.reflection import Reflection
from wellkept.core.consolidation.rules import Consolidation
from wellkept.core.consolidation.upkeep_rules import Aging, DecayReport
from wellkept.engine.base import files
from wellkept.engine.base.context import Context
from wellkept.engine.base.inputs import check_namespace
from wellkept.engine.base.numbered_lines import numbered
from wellkept.engine.consolidation import decay as fading
from wellkept.engine.consolidation import execution, planning
from wellkept.engine.consolidation import reflect as reflection
from wellkept.engine.consolidation.one_pass import Wish, passed
from wellkept.engine.consolidation.planning import Progress
from wellkept.engine.consolidation.run_list import RunLine, runs_of
from wellkept.engine.replay import replay as replaying
from wellkept.engine.transfer import audit as auditing
from wellkept.engine.transfer import exports, import_export
from wellkept.engine.transfer.importer import Importer, Reject
from wellkept.engine.upkeep import housekeeping, repairing
from wellkept.errors import InvalidField, InvalidInput
from wellkept.models.port import Summariser
from wellkept.policy import Policy
from wellkept.types import ImportReport, Plan, Problem, RunReport, Scope, Stats, UndoReport
from wellkept.types.replay import ReplayReport


class OperatorVerbs:
    """What operators do with a whole store; `MemoryStore` has them beside the agent's verbs."""

    _ctx: Context

    def import_(
        self, path: str | Path, spec: import_export.ImportSpec | None = None, *, namespace_from: str = "",
        rejects: str | Path | None = None, progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:  # fmt: skip
        """Take a file of JSON lines (or one of our exports) through the gate; the same file again changes nothing.

        Args:
            path: The file; `.gz` is unpacked on the way.
            spec: How lines become memories.
            namespace_from: Key of each line that names its namespace, below this store's.
            rejects: Where bad lines are written; beside the file by default, only if there are any.
            progress: Called after each batch with the memories that are done, and how many there are; 0 where that
                cannot be told beforehand.

        Raises:
            StorePathError: The file cannot be read, or the rejects would overwrite something else.

        Example:
            >>> import pathlib, tempfile, wellkept
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.jsonl"
            >>> _ = path.write_text('{"text": "Tea is upstairs."}\\n', encoding="utf-8")
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.import_(path).counts, store.import_(path).counts
            ({'created': 1}, {'replayed': 1})
        """
        source = Path(path)
        spec = (spec if spec is not None else import_export.ImportSpec()).of_file(source)
        run_id = f"import-{self._ctx.new_id()}"
        told = (
            None if progress is None else partial(_tell, progress, 0 if spec.items else files.count(source, spec.limit))
        )
        with ExitStack() as stack:
            lines = numbered(stack.enter_context(files.opened(source)), str(source))
            sink = files.Rejects(source, rejects, stack)
            first = next(lines, (1, b""))
            if exports.is_export(first[1]):
                found = exports.read_export(lines, self._ctx.namespace, self._ctx.policy)
                return exports.import_export(self._ctx, found, run_id=run_id, progress=told)
            importer = Importer(self._ctx, run_id, reject=sink, progress=told)
            for row in import_export.rows(chain([first], lines), spec, self._ctx.policy):
                try:
                    namespace = self._namespace_of(row, namespace_from)
                except InvalidInput as error:  # the line is bad, not the import
                    row, namespace = replace(row, new=None, error=row.error or error), self._ctx.namespace
                importer.take(row, namespace)
            return importer.report(str(sink.path))

    def export(self, path: str | Path) -> int:
        """Write the namespace to a file of JSON lines; `import_` brings it back. Returns the number of lines.

        A file of that name is replaced when the export is whole, never before.

        Raises:
            StorePathError: It cannot be written there, or it is a store.

        Example:
            >>> import pathlib, tempfile, wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.export(pathlib.Path(tempfile.mkdtemp()) / "all.jsonl")
            2
        """
        with files.replacing(Path(path)) as out:
            count = 0
            for line in exports.export_lines(self._ctx):
                out.write(line + "\n")
                count += 1
        return count

    def plan(
        self, config: Consolidation | None = None, scope: Scope | None = None,
        *, progress: Progress | None = None,
    ) -> Plan:  # fmt: skip
        """What a consolidation would do: merges, flags, promotions, archivings, each with its reason; writes nothing.

        Args:
            config: Rules and thresholds; the built-in ones by default.
            scope: Which memories; all active ones by default.
            progress: Told the step, how much of it is done, and how much there is.

        Returns:
            The plan. The same store, policy and rules give the same plan.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("Tea is upstairs.", "tea is upstairs"):
            ...         _ = store.remember(text, on_conflict="ignore")
            ...     plan = store.plan()
            >>> [(action.type, action.rationale.rule) for action in plan.actions]
            [('merge', 'R1-exact-duplicate-merge')]
        """
        return planning.plan(self._ctx, config, scope, progress=progress)

    def execute(
        self, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (), dry_run: bool = False,
        report: str | Path | None = None, progress: execution.Told | None = None,
    ) -> RunReport:  # fmt: skip
        """Apply a plan, each action whole or not at all; what has changed since it was made is stale and stays.

        Args:
            plan: The plan, made now or long ago.
            only / skip: Ids or types of actions to apply, or to leave out.
            dry_run: Only report; the setting `consolidate_dry_run` forces this.
            report: A new file for the report, or a folder that gets one; none by default.
            progress: Told after each action how many are done, and of how many.

        Returns:
            What became of each action; a plan executed twice is executed once.

        Raises:
            InvalidPlan: It was made for another namespace, or names no such action.
            StorePathError: The report cannot be written.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("Tea is upstairs.", "tea is upstairs"):
            ...         _ = store.remember(text, on_conflict="ignore")
            ...     plan = store.plan()
            ...     first, second = store.execute(plan), store.execute(plan)
            ...     [memory.content for memory in store.list()], second.executed
            (['tea is upstairs'], 0)
        """
        wish = Wish(execute=not dry_run, only=only, skip=skip, report=report)
        return passed(self._ctx, plan, wish, progress=progress)

    def consolidate(
        self, config: Consolidation | None = None, scope: Scope | None = None, *, execute: bool = False,
        only: Collection[str] = (), skip: Collection[str] = (), report: str | Path | None = None,
        progress: Progress | None = None,
    ) -> RunReport:  # fmt: skip
        """Plan and report, and with `execute` apply it too; by default nothing is changed.

        Args:
            config: Rules and thresholds; the built-in ones by default.
            scope: Which memories; all active ones by default.
            execute: Apply the plan; the setting `consolidate_dry_run` forbids it.
            only / skip: Ids or types of actions to apply, or to leave out.
            report: A new file for the report, or a folder that gets one; none by default.
            progress: Told the step, how much of it is done, and how much there is.

        Returns:
            The report; its `plan` is what was found, its `run_id` what `undo_run` takes back.

        Raises:
            InvalidPlan: `only` or `skip` names no type and no action of the plan.
            StorePathError: The report cannot be written.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("Tea is upstairs.", "tea is upstairs"):
            ...         _ = store.remember(text, on_conflict="ignore")
            ...     looked, done = store.consolidate(), store.consolidate(execute=True)
            >>> looked.mode, looked.plan.planned["merge"], done.mode, done.executed
            ('dry_run', 1, 'execute', 1)
        """
        plan = planning.plan(self._ctx, config, scope, progress=progress)
        wish = Wish(execute=execute, only=only, skip=skip, report=report)
        told = (lambda done, whole: progress("apply", done, whole)) if progress is not None else None
        return passed(self._ctx, plan, wish, progress=told)

    def runs(self) -> tuple[RunLine, ...]:
        """Imports and consolidations of the namespace, oldest first, and whether they were taken back.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("Tea is upstairs.", "tea is upstairs"):
            ...         _ = store.remember(text, on_conflict="ignore")
            ...     run = store.consolidate(execute=True)
            ...     _ = store.undo_run(run.run_id)
            ...     [(line.verb, dict(line.counts), line.undone) for line in store.runs()]
            [('consolidate', {'merge': 1}, 'yes')]
        """
        return runs_of(self._ctx)

    def undo_run(self, run_id: str, *, force_except: bool = False) -> UndoReport:
        """Take a whole run back, to the byte.

        Args:
            run_id: The run, as its report says; `last` for the newest one whose changes stand.
            force_except: Take back what can be, and leave what later changes stand on.

        Raises:
            NotFound: No such run, or nothing of it is left to take back.
            UndoBlocked: Later changes stand in the way; names them, and nothing was changed.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("Tea is upstairs.", "tea is upstairs"):
            ...         _ = store.remember(text, on_conflict="ignore")
            ...     run = store.execute(store.plan())
            ...     _ = store.undo_run(run.run_id)
            ...     len(store.list())
            2
        """
        return execution.undo_run(self._ctx, run_id, force_except=force_except)

    def reflect(
        self, config: Reflection | None = None, scope: Scope | None = None,
        *, summariser: Summariser | None = None, progress: reflection.Progress | None = None,
    ) -> Plan:  # fmt: skip
        """What a reflection would do: a summary for each cluster of near memories; writes nothing.

        Args:
            config: How near, how many, and what becomes of the sources: hidden behind the summary
                (`default`), archived (`hard`) or left as they are (`keep`).
            scope: Which memories; the active ones of kind `episodic` by default.
            summariser: Writes the summaries; sentences of the sources are chosen by default.
            progress: Told the step, how much of it is done, and how much there is.

        Returns:
            The plan, for `execute`; `undo_run` takes the summaries back and brings the sources out again.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("The nightly deploy failed again.", "The nightly deploy failed again on Friday."):
            ...         _ = store.remember(text, kind="episodic", on_conflict="ignore")
            ...     run = store.execute(store.reflect())
            ...     print(store.list()[0].content)
            The nightly deploy failed again.
            The nightly deploy failed again on Friday.
        """
        return reflection.reflect(self._ctx, config, scope, summariser=summariser, progress=progress)

    def decay(self, aging: Aging | None = None, scope: Scope | None = None) -> DecayReport:
        """Where each kind stands in its lifecycle, what faded lately, and the plan that archives; writes nothing.

        Args:
            aging: Rules and times to live; expiry and fading by default.
            scope: Which memories; all active ones by default.

        Returns:
            The report; `execute(report.plan)` archives, and `restore` brings a memory back for good.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.", kind="note", expires_at="2020-01-01")
            ...     report = store.decay()
            ...     _ = store.execute(report.plan)
            ...     report.kinds[0].active, store.stats().memories
            (1, {'archived': 1})
        """
        return fading.decay(self._ctx, aging, scope)

    def replay(
        self, policy: Policy, *, after: int = 0, limit: int | None = None, forward: bool = False,
        progress: replaying.Progress | None = None,
    ) -> ReplayReport:  # fmt: skip
        """What another policy would have decided in the past, and why; nothing is written.

        Args:
            policy: The policy to try.
            after: Replay only decisions of journal entries after this one.
            limit: Replay at most this many decisions.
            forward: Let the replayed decisions make the world that later ones see; otherwise each as it was.
            progress: Called with the entry reached and the number of the last one.

        Raises:
            InvalidField: `after` or `limit` is no count.
            ModelError: A model that has to be asked does not answer.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for _ in range(2):
            ...         _ = store.remember("Use ruff for linting.", kind="lesson")
            ...     report = store.replay(wellkept.Policy.from_toml('[kinds.lesson]\\npreset = "append_only"\\n'))
            >>> [(item.entry, item.old.outcome, item.new.outcome) for item in report.differences]
            [(2, 'duplicate', 'created')]
        """
        return replaying.replay(self._ctx, policy, after=after, limit=limit, forward=forward, progress=progress)

    def audit(
        self, rows: Iterable[auditing.Owned], *, in_order: bool = False, progress: Progress | None = None
    ) -> auditing.Audit:
        """Look at foreign memories side by side in this store, which must be empty; their source is not touched.

        Args:
            rows: What `wellkept.adapters.read` gives, each with its namespace (`engine.transfer.audit.owned`).
            in_order: Whether of two rows without a time the one read later was said later.
            progress: Told which step, how much of it is done, and how much there is.

        Raises:
            InvalidInput: The store holds something already.

        Example:
            >>> import pathlib, tempfile, wellkept
            >>> from wellkept.adapters import read
            >>> from wellkept.engine.transfer.audit import owned
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
            >>> _ = path.write_text('{"text": "Tea is upstairs."}\\n{"text": "tea is upstairs"}\\n')
            >>> with wellkept.open("memory:", embedder="hashing") as scratch:
            ...     scratch.audit(owned(read(path), scratch.namespace)).exact
            1
        """
        return auditing.audit(self._ctx, rows, in_order=in_order, progress=progress)

    def take_over(self, rows: Iterable[auditing.Owned], *, reject: Reject | None = None) -> ImportReport:
        """Bring foreign memories in through the gate; again changes nothing.

        Args:
            rows: As for `audit`.
            reject: Told each row that is not taken, as it will be in the report.

        Example:
            >>> import pathlib, tempfile, wellkept
            >>> from wellkept.adapters import read
            >>> from wellkept.engine.transfer.audit import owned
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "a.jsonl"
            >>> _ = path.write_text('{"text": "Tea is upstairs."}\\n{"text": "tea is upstairs"}\\n')
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.take_over(owned(read(path), store.namespace)).counts
            {'created': 1, 'duplicate': 1}
        """
        return auditing.take_over(self._ctx, rows, reject=reject)

    def stats(self) -> Stats:
        """Counts of the namespace.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.stats().memories
            {'active': 1}
        """
        return housekeeping.stats(self._ctx)

    def verify(self) -> tuple[Problem, ...]:
        """What is not as it should be, each with what mends it; empty when all is well.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.verify()
            ()
        """
        return housekeeping.verify(self._ctx)

    def reembed(self, progress: housekeeping.Progress | None = None) -> dict[str, int]:
        """Make missing or foreign vectors anew and check what was stored unchecked. Returns counts.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.reembed()["embedded"]
            0
        """
        return housekeeping.reembed(self._ctx, progress)

    def sweep(self, progress: housekeeping.Progress | None = None) -> housekeeping.Swept:
        """Make up for outages: missing vectors, and rows stored unchecked. An outage ends it with counts.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.sweep().left
            0
        """
        return housekeeping.sweep(self._ctx, progress)

    def repair(self, *, dry_run: bool = True, progress: housekeeping.Progress | None = None) -> repairing.RepairReport:
        """Mend what `verify` finds, as far as that is safe; each mend is an entry that `undo` takes back.

        Args:
            dry_run: Only say what would be done.
            progress: Told how many vectors are made, and of how many.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.repair().mends
            ()
        """
        return repairing.repair(self._ctx, dry_run=dry_run, progress=progress)

    def expire_conflicts(self) -> int:
        """Settle open conflicts whose time is over as `keep_both`; says how many.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.expire_conflicts()
            0
        """
        return housekeeping.expire_conflicts(self._ctx)

    def namespaces(self) -> tuple[str, ...]:
        """All namespaces of the store.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.in_namespace("acme/alice").remember("Tea is upstairs.")
            ...     store.namespaces()
            ('acme/alice',)
        """
        return self._ctx.storage.header().namespaces

    def _namespace_of(self, row: import_export.Row, key: str) -> str:
        if not key:
            return self._ctx.namespace
        name = row.outer.get(key)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InvalidField("names no namespace", where=key, todo="Give each line a text there")
        return check_namespace(f"{self._ctx.namespace}/{name}")


def _tell(progress: Callable[[int, int], None], whole: int, done: int) -> None:
    progress(done, whole)
