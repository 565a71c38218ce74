"""`wellkept kinds`: the kinds of the policy, their behaviour, and their packs."""

from __future__ import annotations

from itertools import groupby

from wellkept.cli.terminal import render
from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.safe import one_line
from wellkept.cli.terminal.session import Session
from wellkept.policy import PACKS, KindPolicy, pack_of

_ABOUT = {pack.name: pack.about for pack in PACKS}
_ORDER = [*_ABOUT, ""]


def kinds(
    run: Session,
    *,
    pack: str | None = option(metavar="NAME", help="Only the kinds of this pack."),
) -> object:
    """List the kinds of memories: how duplicates and new values are handled, and what each is for."""
    rows = [_row_of(kind, policy) for kind, policy in run.settings.policy.kinds.items()]
    return [one for one in rows if pack in (None, one["pack"])]


def _row_of(kind: str, policy: KindPolicy) -> dict[str, str]:
    pack = pack_of(kind)
    return {
        "kind": kind,
        "pack": pack.name if pack else "",
        "preset": policy.preset,
        "duplicate": _duplicate(policy),
        "new_value": _new_value(policy),
        "use": pack.uses[kind] if pack else "",
    }


def tables(listed: list[dict[str, str]]) -> render.Parts:
    """One table per pack."""
    for name, group in groupby(sorted(listed, key=lambda one: _ORDER.index(one["pack"])), key=lambda one: one["pack"]):
        yield f"{name}: {_ABOUT[name]}" if name else "kinds of this policy only"
        rows = [(one_line(one["kind"]), one["duplicate"], one["new_value"], one["use"]) for one in group]
        yield render.rows_of(("kind", "a duplicate", "a new value", "for"), rows)
        yield ""


def _duplicate(policy: KindPolicy) -> str:
    if policy.on_conflict == "ignore" or not policy.stages:
        return "stored"
    if policy.stages == ("window",):
        return "reused"
    return "dropped"


def _new_value(policy: KindPolicy) -> str:
    if policy.on_conflict == "raise":
        return "refused"
    if policy.on_same_subject != "none" or policy.on_conflict == "supersede":
        return "replaces the old one"
    if policy.on_conflict == "ignore" or not policy.stages and policy.conflicts_with == "own_kind":
        return "kept"
    appends = any(band.outcome == "evolve" for band in policy.bands)
    return "appended, or conflict listed" if appends else "kept, conflict listed"
