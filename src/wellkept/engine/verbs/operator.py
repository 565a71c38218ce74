"""The operator verbs of `MemoryStore`: files, counts, checks, consolidation and undoing runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING

from wellkept.engine.base.inputs import check_namespace
from wellkept.errors import InvalidField, InvalidInput

if TYPE_CHECKING:
    from wellkept.core.consolidation.reflection import Reflection
    from wellkept.core.consolidation.rules import Consolidation
    from wellkept.core.consolidation.upkeep_rules import Aging, DecayReport
    from wellkept.engine.base.context import Context
    from wellkept.engine.consolidation import execution
    from wellkept.engine.consolidation import reflect as reflection
    from wellkept.engine.consolidation.planning import Progress
    from wellkept.engine.consolidation.run_list import RunLine
    from wellkept.engine.replay import replay as replaying
    from wellkept.engine.transfer import audit as auditing
    from wellkept.engine.transfer import import_lines
    from wellkept.engine.transfer.importer import Reject
    from wellkept.engine.upkeep import housekeeping, judging_thread, repairing
    from wellkept.models.port import Summariser
    from wellkept.policy import Policy
    from wellkept.types import ImportReport, Plan, Problem, RunReport, Scope, Stats, UndoReport
    from wellkept.types.replay import ReplayReport


class OperatorVerbs:
    """Verbs for operating a whole store, inherited by `MemoryStore`."""

    _ctx: Context

    def import_(
        self, path: str | Path, spec: import_lines.ImportSpec | None = None, *, namespace_from: str = "",
        rejects: str | Path | None = None, progress: Callable[[int, int], None] | None = None,
    ) -> ImportReport:  # fmt: skip
        """Import a JSON lines file or an export through the gate; importing it again changes nothing.

        Args:
            path: The file; `.gz` is decompressed.
            spec: How lines become memories.
            namespace_from: Key of each line that names its namespace, below this store's.
            rejects: Where invalid lines are written; by default next to the file, and only if there are any.
            progress: Called after each batch with the number of memories done and the total; the total is 0 when
                it is not known in advance.

        Raises:
            StorePathError: The file cannot be read, or the rejects file would overwrite another file.

        Example:
            >>> import pathlib, tempfile, wellkept
            >>> path = pathlib.Path(tempfile.mkdtemp()) / "notes.jsonl"
            >>> _ = path.write_text('{"text": "Tea is upstairs."}\\n', encoding="utf-8")
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.import_(path).counts, store.import_(path).counts
            ({'created': 1}, {'replayed': 1})
        """
        from wellkept.engine.base import files
        from wellkept.engine.base.numbered_lines import numbered
        from wellkept.engine.transfer import exports, import_lines
        from wellkept.engine.transfer.importer import Importer

        source = Path(path)
        spec = (spec if spec is not None else import_lines.ImportSpec()).of_file(source)
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
            for row in import_lines.rows(chain([first], lines), spec, self._ctx.policy):
                try:
                    namespace = self._namespace_of(row, namespace_from)
                except InvalidInput as error:  # the line is invalid, not the import
                    row, namespace = replace(row, new=None, error=row.error or error), self._ctx.namespace
                importer.take(row, namespace)
            return importer.report(str(sink.path))

    def export(self, path: str | Path) -> int:
        """Write the namespace to a JSON lines file for `import_`. Returns the number of lines.

        An existing file is replaced only when the export is complete.

        Raises:
            StorePathError: The file cannot be written, or it is a store.

        Example:
            >>> import pathlib, tempfile, wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.export(pathlib.Path(tempfile.mkdtemp()) / "all.jsonl")
            2
        """
        from wellkept.engine.base import files
        from wellkept.engine.transfer import exports

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
        """The proposed changes of a consolidation: merges, flags, promotions, archivings, with reasons; writes nothing.

        Args:
            config: Rules and thresholds; the built-in ones by default.
            scope: Which memories; all active ones by default.
            progress: Called with the step, the number done and the total.

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
        from wellkept.engine.consolidation import planning

        return planning.plan(self._ctx, config, scope, progress=progress)

    def execute(
        self, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (), dry_run: bool = False,
        report: str | Path | None = None, progress: execution.Told | None = None,
    ) -> RunReport:  # fmt: skip
        """Apply a plan, each action in one transaction; actions whose memories have changed are skipped as stale.

        Args:
            plan: The plan; it may be old.
            only / skip: Ids or types of actions to apply, or to leave out.
            dry_run: Only report; the setting `consolidate_dry_run` forces this.
            report: A new file for the report, or a folder for it; none by default.
            progress: Called after each action with the number done and the total.

        Returns:
            The result of each action. Executing a plan again applies nothing twice.

        Raises:
            InvalidPlan: The plan is for another namespace, or has no such action.
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
        from wellkept.engine.consolidation.one_pass import Wish, passed

        wish = Wish(execute=not dry_run, only=only, skip=skip, report=report)
        return passed(self._ctx, plan, wish, progress=progress)

    def consolidate(
        self, config: Consolidation | None = None, scope: Scope | None = None, *, execute: bool = False,
        only: Collection[str] = (), skip: Collection[str] = (), report: str | Path | None = None,
        progress: Progress | None = None,
    ) -> RunReport:  # fmt: skip
        """Plan and report, and with `execute` also apply; by default nothing is changed.

        Args:
            config: Rules and thresholds; the built-in ones by default.
            scope: Which memories; all active ones by default.
            execute: Apply the plan; the setting `consolidate_dry_run` prevents it.
            only / skip: Ids or types of actions to apply, or to leave out.
            report: A new file for the report, or a folder for it; none by default.
            progress: Called with the step, the number done and the total.

        Returns:
            The report, with its `plan` and with the `run_id` for `undo_run`.

        Raises:
            InvalidPlan: `only` or `skip` matches no type and no action of the plan.
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
        from wellkept.engine.consolidation import planning
        from wellkept.engine.consolidation.one_pass import Wish, passed

        plan = planning.plan(self._ctx, config, scope, progress=progress)
        wish = Wish(execute=execute, only=only, skip=skip, report=report)
        told = (lambda done, whole: progress("apply", done, whole)) if progress is not None else None
        return passed(self._ctx, plan, wish, progress=told)

    def runs(self) -> tuple[RunLine, ...]:
        """Imports and consolidations of the namespace, oldest first, and whether they were undone.

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
        from wellkept.engine.consolidation.run_list import runs_of

        return runs_of(self._ctx)

    def undo_run(self, run_id: str, *, force_except: bool = False) -> UndoReport:
        """Undo a whole run exactly.

        Args:
            run_id: The run id of its report; `last` for the newest run that is not undone.
            force_except: Undo what is possible; keep entries that later changes depend on.

        Raises:
            NotFound: No such run, or nothing of it is left to undo.
            UndoBlocked: Later changes depend on it; lists them. Nothing was changed.

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
        from wellkept.engine.consolidation import execution

        return execution.undo_run(self._ctx, run_id, force_except=force_except)

    def reflect(
        self, config: Reflection | None = None, scope: Scope | None = None,
        *, summariser: Summariser | None = None, progress: reflection.Progress | None = None,
    ) -> Plan:  # fmt: skip
        """The proposed changes of a reflection: a summary for each cluster of similar memories; writes nothing.

        Args:
            config: Similarity, cluster size, and what happens to the sources: superseded by the summary
                (`default`), archived (`hard`) or unchanged (`keep`).
            scope: Which memories; the active ones of kind `episodic` by default.
            summariser: Writes the summaries; by default sentences of the sources are selected.
            progress: Called with the step, the number done and the total.

        Returns:
            The plan, for `execute`; `undo_run` removes the summaries and restores the sources.

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
        from wellkept.engine.consolidation import reflect as reflection

        return reflection.reflect(self._ctx, config, scope, summariser=summariser, progress=progress)

    def decay(self, aging: Aging | None = None, scope: Scope | None = None) -> DecayReport:
        """Lifecycle counts per kind, recently faded memories, and a plan that archives; writes nothing.

        Args:
            aging: Rules and times to live; by default expiry and fading.
            scope: Which memories; all active ones by default.

        Returns:
            The report; `execute(report.plan)` archives, and `restore` makes a memory active again.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.", kind="note", expires_at="2020-01-01")
            ...     report = store.decay()
            ...     _ = store.execute(report.plan)
            ...     report.kinds[0].active, store.stats().memories
            (1, {'archived': 1})
        """
        from wellkept.engine.consolidation import decay as fading

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
            forward: Apply the replayed decisions, so that later ones see their results; otherwise each decision
                sees the store as it was.
            progress: Called with the current entry number and the last one.

        Raises:
            InvalidField: `after` or `limit` is not a valid count.
            ModelError: A required model does not answer.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for _ in range(2):
            ...         _ = store.remember("Use ruff for linting.", kind="lesson")
            ...     report = store.replay(wellkept.Policy.from_toml('[kinds.lesson]\\npreset = "append_only"\\n'))
            >>> [(item.entry, item.old.outcome, item.new.outcome) for item in report.differences]
            [(2, 'duplicate', 'created')]
        """
        from wellkept.engine.replay import replay as replaying

        return replaying.replay(self._ctx, policy, after=after, limit=limit, forward=forward, progress=progress)

    def audit(
        self, rows: Iterable[auditing.Owned], *, in_order: bool = False, progress: Progress | None = None
    ) -> auditing.Audit:
        """Analyse foreign memories in this store, which must be empty; their source is not changed.

        Args:
            rows: The output of `wellkept.adapters.read`, each with its namespace (`engine.transfer.audit.owned`).
            in_order: Whether reading order is time order for rows without a time.
            progress: Called with the step, the number done and the total.

        Raises:
            InvalidInput: The store is not empty.

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
        from wellkept.engine.transfer import audit as auditing

        return auditing.audit(self._ctx, rows, in_order=in_order, progress=progress)

    def take_over(self, rows: Iterable[auditing.Owned], *, reject: Reject | None = None) -> ImportReport:
        """Import foreign memories through the gate; repeating it changes nothing.

        Args:
            rows: As for `audit`.
            reject: Called with each rejected row, as it will be in the report.

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
        from wellkept.engine.transfer import audit as auditing

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
        from wellkept.engine.upkeep import housekeeping

        return housekeeping.stats(self._ctx)

    def verify(self) -> tuple[Problem, ...]:
        """Problems found in the store, each with its repair; empty when there are none.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.verify()
            ()
        """
        from wellkept.engine.upkeep import housekeeping

        return housekeeping.verify(self._ctx)

    def reembed(self, progress: housekeeping.Progress | None = None) -> dict[str, int]:
        """Recompute vectors that are missing or of another model, and check unchecked memories. Returns counts.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.reembed()["embedded"]
            0
        """
        from wellkept.engine.upkeep import housekeeping

        return housekeeping.reembed(self._ctx, progress)

    def sweep(self, progress: housekeeping.Progress | None = None) -> housekeeping.Swept:
        """Repair the effects of outages: missing vectors and unchecked memories. Stops with counts at an outage.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.sweep().left
            0
        """
        from wellkept.engine.upkeep import housekeeping

        return housekeeping.sweep(self._ctx, progress)

    def judge_waiting(self, *, limit: int | None = None) -> judging_thread.Judged:
        """Judge the writes that wait under `judging = "later"`, oldest first, at most `limit`. Stops at an outage.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.judge_waiting().left
            0
        """
        from wellkept.engine.upkeep import judging_thread

        return judging_thread.judge_waiting(self._ctx, limit=limit)

    def judging(self, *, every: float = 0.2) -> AbstractContextManager[None]:
        """Judge what waits in a thread until the block ends, `every` so many seconds, and once more at its end.

        Example:
            >>> import wellkept
            >>> policy = wellkept.Policy.from_toml('judging = "later"')
            >>> with wellkept.open("memory:", embedder="hashing", policy=policy) as store, store.judging():
            ...     store.remember("Tea is upstairs.").outcome
            'created'
        """
        from wellkept.engine.upkeep import judging_thread

        return judging_thread.judging(self._ctx, every=every)

    def repair(self, *, dry_run: bool = True, progress: housekeeping.Progress | None = None) -> repairing.RepairReport:
        """Repair problems that `verify` finds, where that is safe; `undo` undoes each repair.

        Args:
            dry_run: Only report the repairs.
            progress: Called with the number of vectors made and the total.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.repair().mends
            ()
        """
        from wellkept.engine.upkeep import repairing

        return repairing.repair(self._ctx, dry_run=dry_run, progress=progress)

    def expire_conflicts(self) -> int:
        """Resolve expired open conflicts as `keep_both`; returns the number.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.expire_conflicts()
            0
        """
        from wellkept.engine.upkeep import housekeeping

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

    def _namespace_of(self, row: import_lines.Row, key: str) -> str:
        if not key:
            return self._ctx.namespace
        name = row.outer.get(key)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InvalidField("names no namespace", where=key, todo="Give each line a text there")
        return check_namespace(f"{self._ctx.namespace}/{name}")


def _tell(progress: Callable[[int, int], None], whole: int, done: int) -> None:
    progress(done, whole)
