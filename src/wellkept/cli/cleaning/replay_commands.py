"""Command that compares another policy with past decisions: replay."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from wellkept.cli.terminal import exits, render
from wellkept.cli.terminal.groups import flag, option
from wellkept.cli.terminal.session import Session
from wellkept.config import KEYS, load
from wellkept.core.records.explain import reason_words
from wellkept.types.replay import ReplayDifference, ReplayReport, Unreplayed, Verdict
from wellkept.types.showing import count_of

if TYPE_CHECKING:
    from rich.table import Table

    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.policy import Policy

_SHOWN = 20


def replay(
    run: Session,
    *,
    after: int = option(default=0, metavar="ENTRY", min=0, help="Only decisions after this entry."),
    limit: int | None = option("--limit", "-n", min=1, help="Replay at most this many."),
    forward: bool = flag("--forward", help="Build on the new policy's decisions instead of the recorded ones."),
    everything: bool = flag("--all", help=f"Show all differences, not the first {_SHOWN}."),
) -> int:
    """Show what another policy (--policy) would have decided in the past; nothing is written."""
    policy, store = _opened(run)

    with run.progress("Replaying", None) as done:
        report = store.replay(policy, after=after, limit=limit, forward=forward, progress=done)
    run.show(report, lambda: _view(report, everything=everything))
    return exits.FINDINGS if report.differences else exits.OK


def _opened(run: Session) -> tuple[Policy, MemoryStore]:
    """The policy to try, and the store opened under its own policy.

    With every other command, `--policy` is the policy under which the store is used, and the store's header
    records it. `replay` only reads the policy: the store is opened as if the option were absent.
    """
    from wellkept.cli.terminal.opening import open_store

    if run.given_option("policy") is None:
        raise typer.BadParameter("name the policy to try", param_hint="--policy")
    tried = run.settings.policy
    own = load({key: run.given_option(key) for key in KEYS if key != "policy"})
    return tried, run.closing(open_store(own, writes=False, model=True, note=run.note))


def _view(report: ReplayReport, *, everything: bool) -> render.Parts:
    """Counts by outcome, the differences, entries that cannot be replayed, and a summary line."""
    if report.counts:
        rows = [(item.old, item.new, str(item.count)) for item in report.counts]
        yield render.rows_of(("then", "now", "decisions>"), rows)
    shown = report.differences if everything else report.differences[:_SHOWN]
    if shown:
        yield ""
        yield _differences(shown)
    if len(report.differences) > len(shown):
        yield render.styled(f"  … and {len(report.differences) - len(shown)} more; --all shows them", "dim")
    left_out = report.unreplayed if everything else report.unreplayed[:_SHOWN]
    if left_out:
        yield ""
        yield _unreplayed(left_out)
    if len(report.unreplayed) > len(left_out):
        yield render.styled(f"  … and {len(report.unreplayed) - len(left_out)} more; --all shows them", "dim")
    if shown or left_out:
        yield ""
    yield render.styled(_summary(report))
    others = [item for item in report.differences if item.cause == "surroundings"]
    if others:
        yield render.styled(
            f"{len(others)} of them differ under the recorded policy too: the models have changed since"
        )
    if report.active is not None:
        yield render.styled(f"Active memories: {report.active[0]} now, {report.active[1]} under this policy")
    if not report.complete:
        yield render.styled(f"Stopped at the limit; --after {report.last} continues")


def _differences(items: Sequence[ReplayDifference]) -> Table:
    return render.rows_of(
        ("entry>", "text", "then", "now", "why"),
        [(str(item.entry), item.text, item.old.outcome, _now(item), _why(item.new)) for item in items],
    )


def _now(item: ReplayDifference) -> str:
    """The new outcome; when it is unchanged, the other part that differs."""
    if item.differs == ("outcome",):
        return item.new.outcome
    return f"{item.new.outcome}, other {', '.join(item.differs)}"


def _why(verdict: Verdict) -> str:
    words = "; ".join(dict.fromkeys(reason_words(reason.rule) for reason in verdict.reasons))
    if not verdict.memory_id:
        return words
    return f'{words}: {render.number(verdict.similarity)} to "{verdict.text}"'


def _unreplayed(items: Sequence[Unreplayed]) -> Table:
    return render.rows_of(
        ("entry>", "not replayed", "why"), [(str(item.entry), item.text or item.verb, item.why) for item in items]
    )


def _summary(report: ReplayReport) -> str:
    if not report.decisions:
        return "No decision was replayed"
    differ = len(report.differences)
    text = f"{count_of(report.decisions, 'decision')} replayed, {differ or 'none'} would differ"
    if report.unreplayed:
        text = f"{text}; {len(report.unreplayed)} could not be replayed"
    decided = report.answers.agreed + report.answers.disagreed
    return f"{text}; {report.answers.agreed} of {count_of(decided, 'answer')} agree" if decided else text
