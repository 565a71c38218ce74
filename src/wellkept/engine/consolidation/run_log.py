"""Log lines of a consolidation (logger `wellkept.consolidate`), for health checks.

The grammar is `CONSOLIDATE/STEP key=value …`. Values that are not plain words are written as JSON, so that no
memory text or rule name can break a line.
"""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

from wellkept.engine.consolidation.reports import check_target, write_report
from wellkept.errors import StorePathError, WellkeptError
from wellkept.types import Action, ActionResult, Plan, RunMode, RunReport

log = logging.getLogger("wellkept.consolidate")

_BARE = re.compile(r"[\w.:/@+-]+", re.ASCII)


def logged(
    plan: Plan, work: Callable[[], RunReport], *, run_id: str, mode: RunMode, target: str | Path | None = None
) -> RunReport:
    """Do a run's work between its log lines, and write its report.

    Args:
        plan: The plan.
        work: Executes the plan, or reports a dry run.
        run_id / mode: As in the report.
        target: Where the report is written; none for no report.

    Raises:
        WellkeptError: Raised by the work, or by writing the report.
    """
    _say("START", run_id=run_id, mode=mode, config_hash=plan.config_hash)
    _say("DETECT", clusters=plan.detected.clusters, contradiction_pairs=plan.detected.contradiction_pairs)
    _say("PLAN", **plan.planned)
    try:
        if target is not None:
            check_target(Path(target))
        if mode == "execute":
            _say("EXECUTE", "begin")
        report = work()
        results = {result.action_id: result for result in report.results}
        for action in plan.actions:
            _say_action(action, results.get(action.id))
        if target is not None:
            report = _written(report, target)
    except (WellkeptError, OSError) as error:
        _say("ERROR", type=type(error).__name__, what=str(error))
        raise
    failed = [result.action_id for result in report.results if result.state == "failed"]
    if failed:
        log.warning("CONSOLIDATE/ERROR %s", _pairs({"failed": len(failed), "actions": ",".join(failed[:10])}))
    else:
        _say("DONE", "ok")
    return report


def _written(report: RunReport, target: str | Path) -> RunReport:
    """The report with its file path; a failed write does not lose the report of an executed run."""
    try:
        path = str(write_report(report, target))
    except StorePathError as error:
        if not report.executed:
            raise
        done = f"{error.todo}; the run itself is done, `wellkept undo --run {report.run_id}` takes it back"
        raise StorePathError(error.what, where=error.where, todo=done) from error
    _say("REPORT", path=path)
    return replace(report, path=path)


def _say_action(action: Action, result: ActionResult | None) -> None:
    if result is None or result.state != "executed":
        return
    rule, rows = action.rationale.rule, {row.memory_id: row for row in action.rows}
    match action.type:
        case "merge":
            _say("MERGE", canonical=action.canonical, merged_from=",".join(action.targets[:-1]), rule=rule)
        case "fold":
            _say("FOLD", head=action.canonical, wordings=",".join(action.targets[:-1]), rule=rule)
        case "summarize":
            _say("SUMMARIZE", sources=",".join(action.targets), rule=rule)
        case "archive":
            _say("ARCHIVE", id=action.targets[0], reason="; ".join(action.rationale.reasons), rule=rule)
        case "promote":
            row = rows[action.targets[0]]
            said = {"from": row.before.get("importance", ""), "to": row.after.get("importance", ""), "rule": rule}
            _say("PROMOTE", id=action.targets[0], **said)
        case "flag_contradiction":
            a, b = action.targets
            _say("CONTRADICTION", a=a, b=b, signals=",".join(action.rationale.signals))
        case "mark":
            old, new = action.targets
            _say("MARK", old=old, new=new, probability=action.rationale.score)
        case "noop":
            pass


def _say(step: str, *words: str, **values: object) -> None:
    log.info("CONSOLIDATE/%s%s", step, "".join(f" {word}" for word in words) + (f" {_pairs(values)}" if values else ""))


def _pairs(values: Mapping[str, object]) -> str:
    return " ".join(f"{key}={_value(value)}" for key, value in values.items())


def _value(value: object) -> str:
    """A value without line breaks and with a clear end, whatever it contains."""
    text = str(value)
    return text if _BARE.fullmatch(text) else json.dumps(text)
