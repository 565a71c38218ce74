"""The operator's verbs of `MemoryStore`: files, counts, self-checks, consolidation and taking it back."""

from __future__ import annotations

from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from wellkept.core.rules import Consolidation
from wellkept.engine import consolidate, files, runs, transfer, upkeep
from wellkept.engine.context import Context
from wellkept.engine.inputs import check_namespace
from wellkept.errors import InvalidField, InvalidInput
from wellkept.types import ImportReport, Plan, Problem, RunReport, Scope, Stats, UndoReport


class OperatorVerbs:
    """What operators do with a whole store; `MemoryStore` has them beside the agent's verbs."""

    _ctx: Context

    def import_(
        self, path: str | Path, spec: transfer.ImportSpec | None = None, *, namespace_from: str = "",
        rejects: str | Path | None = None, progress: Callable[[int], None] | None = None,
    ) -> ImportReport:  # fmt: skip
        """Take a file of JSON lines (or one of our exports) through the gate; the same file again changes nothing.

        Args:
            path: The file; `.gz` is unpacked on the way.
            spec: How lines become memories.
            namespace_from: Key of each line that names its namespace, below this store's.
            rejects: Where bad lines are written; beside the file by default, only if there are any.
            progress: Called with the bytes read so far.

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
        spec = (spec if spec is not None else transfer.ImportSpec()).of_file(source)
        run_id = f"import-{self._ctx.new_id()}"
        with ExitStack() as stack:
            lines = files.counted(stack.enter_context(files.opened(source)), source, progress)
            sink = files.Rejects(source, rejects, stack)
            first = next(lines, b"")
            if transfer.is_export(first):
                return transfer.import_export(self._ctx, lines, run_id=run_id)
            importer = transfer.Importer(self._ctx, run_id, reject=sink)
            for row in transfer.rows(files.chained(first, lines), spec, self._ctx.policy):
                try:
                    namespace = self._namespace_of(row, namespace_from)
                except InvalidInput as error:  # the line is bad, not the import (S4-14)
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
            for line in transfer.export_lines(self._ctx):
                out.write(line + "\n")
                count += 1
        return count

    def plan(
        self, config: Consolidation | None = None, scope: Scope | None = None,
        *, progress: consolidate.Progress | None = None,
    ) -> Plan:  # fmt: skip
        """What a consolidation would do: merges, flags, promotions, archivings, each with its reason; writes nothing.

        Args:
            config: Rules and thresholds; S1's own by default.
            scope: Which memories; all active ones by default.
            progress: Told the step, how much of it is done, and how much there is.

        Returns:
            The plan. The same store, policy and rules give the same plan (S1-5).

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     for text in ("Tea is upstairs.", "tea is upstairs"):
            ...         _ = store.remember(text, on_conflict="ignore")
            ...     plan = store.plan()
            >>> [(action.type, action.rationale.rule) for action in plan.actions]
            [('merge', 'R1-exact-duplicate-merge')]
        """
        return consolidate.plan(self._ctx, config, scope, progress=progress)

    def execute(
        self, plan: Plan, *, only: Collection[str] = (), skip: Collection[str] = (),
        progress: runs.Told | None = None,
    ) -> RunReport:  # fmt: skip
        """Apply a plan, each action whole or not at all; what has changed since it was made is stale and stays.

        Args:
            plan: The plan, made now or long ago.
            only / skip: Ids or types of actions to apply, or to leave out.
            progress: Told after each action how many are done, and of how many.

        Returns:
            What became of each action; a plan executed twice is executed once (I5).

        Raises:
            InvalidPlan: It was made for another namespace, or names no such action.

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
        return runs.execute(self._ctx, plan, only=only, skip=skip, progress=progress)

    def undo_run(self, run_id: str, *, force_except: bool = False) -> UndoReport:
        """Take a whole run back, to the byte.

        Args:
            run_id: The run, as its report says.
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
        return runs.undo_run(self._ctx, run_id, force_except=force_except)

    def stats(self) -> Stats:
        """Counts of the namespace.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.stats().memories
            {'active': 1}
        """
        return upkeep.stats(self._ctx)

    def verify(self) -> tuple[Problem, ...]:
        """What is not as it should be, each with what mends it; empty when all is well.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     store.verify()
            ()
        """
        return upkeep.verify(self._ctx)

    def reembed(self, progress: upkeep.Progress | None = None) -> dict[str, int]:
        """Make missing or foreign vectors anew and check what was stored unchecked. Returns counts.

        Example:
            >>> import wellkept
            >>> with wellkept.open("memory:", embedder="hashing") as store:
            ...     _ = store.remember("Tea is upstairs.")
            ...     store.reembed()["embedded"]
            0
        """
        return upkeep.reembed(self._ctx, progress)

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

    def _namespace_of(self, row: transfer.Row, key: str) -> str:
        if not key:
            return self._ctx.namespace
        name = row.outer.get(key)
        if isinstance(name, bool) or not isinstance(name, str | int):
            raise InvalidField("names no namespace", where=key, todo="Give each line a text there")
        return check_namespace(f"{self._ctx.namespace}/{name}")
