"""The pictures of the guide, made by `make page-pictures`: every room, light and dark, on a desk and on a phone."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

import wellkept
from surfaces.page.driver import chromium
from surfaces.rest.serving import served
from wellkept.cli.demo import story
from wellkept.engine.history import verdicts
from wellkept.server.page import with_page
from wellkept.server.rest import create_app
from wellkept.types import Filter

NAMESPACE = "shop"
_LAST = 12
SCREENS = {"desk": (1280, 860), "phone": (390, 844)}


def filled(store: wellkept.MemoryStore, clock: story.SampleClock) -> dict[str, str]:
    """Lives a month of the demo, and gives the address of each room."""
    lines = story.sample()
    _live(store, clock, lines[:-_LAST])
    drawn = verdicts.draw(store._ctx, 20, seed="picture")
    verdicts.judge(store._ctx, {one.seq: "wrong" if place in (4, 11) else "right" for place, one in enumerate(drawn)})
    rows = store.list(Filter(statuses=("active",)))
    told = next(row for row in rows if store.neighbors(row.id, rel="supersedes"))
    for other, rel in zip([row for row in rows if row.id != told.id][:4], ("example_of", "refines") * 2, strict=True):
        store.link(told.id, other.id, rel)
    clock.later(7)
    store.revise(told.id, content=told.content.removesuffix(".") + ", on every branch.")
    _live(store, clock, lines[-_LAST:])
    for text in ("Done!", "ok, thanks"):
        clock.later(5)
        store.remember(text, kind="note", automatic=True)
    return {
        "inbox": "inbox?sort=contradiction",
        "memories": "memories?q=which+node+version",
        "memory": f"memories/{told.id}?ns={NAMESPACE}",
        "journal": "journal",
        "ask": "ask?q=where+is+the+test+database",
        "health": "health",
        "errors": "errors",
    }


def _live(store: wellkept.MemoryStore, clock: story.SampleClock, lines: Iterable[story.Line]) -> None:
    for line in lines:
        clock.now = line.at
        story.write(store, line)


def main(folder: Path) -> None:
    """Write the pictures into a folder."""
    clock = story.SampleClock(story.sample()[0].at)
    with (
        tempfile.TemporaryDirectory() as place,
        wellkept.open(str(Path(place) / "shop.db"), namespace=NAMESPACE, actor="coder", clock=clock) as store,
        chromium() as window,
    ):
        rooms = filled(store, clock)
        driver = window()
        with served(with_page(create_app(store), store)) as address:
            for screen, (width, height) in SCREENS.items():
                for scheme in ("light", "dark"):
                    driver.like(width=width, height=height, dark=scheme == "dark")
                    for room, path in rooms.items():
                        driver.go(f"{address}/page/{path}")
                        (folder / f"{room}-{scheme}-{screen}.webp").write_bytes(driver.picture(quality=60))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
