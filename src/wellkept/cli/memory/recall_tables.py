"""Terminal output of `recall`: the hits, dangling links, and results left out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from wellkept.cli.terminal import render
from wellkept.cli.terminal.safe import one_line
from wellkept.types import Hit, Hits


def answer(found: Hits, *, explain: bool) -> render.Parts:
    """A table of hits, best first; with score parts and omitted results when `explain` is set."""
    # The table shows only the parts that contributed; --json has all of them.
    yield from render.hits([replace(hit, parts=_counted(hit)) for hit in found], explain=explain)
    if found.dangling:
        yield "Linked id does not exist: " + ", ".join(one_line(key) for key in found.dangling)
    if explain and found.left_out:
        yield ""
        yield "Left out"
        short = render.ShortIds(item.memory.id for item in found.left_out)
        rows = [(short(item.memory.id), item.memory.content, item.why) for item in found.left_out]
        yield render.rows_of(("id", "text", "why"), rows)


def _counted(hit: Hit) -> Mapping[str, float]:
    return {name: value for name, value in hit.parts.items() if name in hit.weights or name == "relevance"}
