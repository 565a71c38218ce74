"""`python -m benchmarks.layers [STORIES]`: where the CPU of writes, recalls and a plan goes, and what they enter.

The CPU time is sampled by a timer of the process; a sample counts all CPU since the one before it, so a long call into
the models counts in full. A part is the folder of the module that runs, or that has called outside the package. Modules
and changes of module are counted by a profile of single calls: a change is a call from one module into another.
`--functions 15` names the functions below which most CPU is spent, and `--stacks FOLDER` writes what flame graphs are
drawn from, by `flamegraph.pl`, inferno or speedscope.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median
from types import FrameType
from typing import TypeAlias

import wellkept
from benchmarks.corpus import texts
from benchmarks.report import Figure, as_json, as_table, machine, plain

_ROOT = str(Path(wellkept.__file__).parent) + "/"
_TICK = 0.001
_PROFILED = 10
"""Calls of each sort whose modules are counted."""


Stack: TypeAlias = tuple[str, ...]
"""The functions of the package that are running, outermost first, as `core/text/forms:canonical`."""


def stack_of(frame: FrameType | None) -> Stack:
    """The functions of the package on the way to a frame."""
    found = []
    while frame is not None:
        module = module_of(frame)
        if module:
            found.append(f"{module}:{frame.f_code.co_qualname}")
        frame = frame.f_back
    return tuple(reversed(found))


def part_of(stack: Stack) -> str:
    """The folder of the innermost module, `outside` without one."""
    return "/".join(stack[-1].partition(":")[0].split("/")[:2]) if stack else "outside"


def module_of(frame: FrameType) -> str:
    """The module of a frame, as its path in the package; empty for any other."""
    file = frame.f_code.co_filename
    return file[len(_ROOT) :].removesuffix(".py") if file.startswith(_ROOT) else ""


def sampled(acts: Sequence[Callable[[], object]]) -> dict[Stack, float]:
    """Seconds of CPU by stack while the calls run."""
    spent: defaultdict[Stack, float] = defaultdict(float)
    last = time.process_time()

    def note(_: int, frame: FrameType | None) -> None:
        nonlocal last
        now = time.process_time()
        spent[stack_of(frame)] += now - last
        last = now

    former = signal.signal(signal.SIGPROF, note)
    signal.setitimer(signal.ITIMER_PROF, _TICK, _TICK)
    try:
        for act in acts:
            act()
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, former)
    return spent


def by_part(spent: Mapping[Stack, float]) -> dict[str, float]:
    """The same by part, the largest first."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, seconds in spent.items():
        found[part_of(stack)] += seconds
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def by_function(spent: Mapping[Stack, float]) -> dict[str, float]:
    """The same by function, with all that it calls, the largest first."""
    found: defaultdict[str, float] = defaultdict(float)
    for stack, seconds in spent.items():
        for function in set(stack):
            found[function] += seconds
    return dict(sorted(found.items(), key=lambda one: -one[1]))


def folded(spent: Mapping[Stack, float]) -> str:
    """The same as programs that draw flame graphs read it: a line for each stack, with its milliseconds."""
    return "".join(f"{';'.join(stack) or 'outside'} {1e3 * seconds:.0f}\n" for stack, seconds in sorted(spent.items()))


def changes_of(act: Callable[[], object]) -> Counter[tuple[str, str]]:
    """The changes of module in a call: how often one module calls into another, the first from no module."""
    changes: Counter[tuple[str, str]] = Counter()
    path: list[str] = [""]  # modules of the frames of the package that are open

    def note(frame: FrameType, event: str, _: object) -> None:
        module = module_of(frame)
        if module and event == "call":
            if module != path[-1]:
                changes[path[-1], module] += 1
            path.append(module)
        elif module and event == "return":
            path.pop()

    sys.setprofile(note)
    try:
        act()
    finally:
        sys.setprofile(None)
    return changes


def walked(act: Callable[[], object]) -> tuple[int, int]:
    """The modules that a call enters, and its changes of module."""
    changes = changes_of(act)
    return len({module for _, module in changes}), changes.total()


def measure(given: Sequence[str], asked: Sequence[str], *, url: str, more: argparse.Namespace) -> list[Figure]:
    """The figures of writing all texts into one namespace, asking all queries and planning a consolidation.

    `more` says what is printed or written besides: `edges`, `functions` and `stacks`.
    """
    figures: list[Figure] = []
    last = min(_PROFILED, len(given) // 2)
    with wellkept.open(url) as store:
        store.check("The models are loaded.")
        acts = [partial(store.remember, text, kind="note") for text in given]
        reads = [partial(store.recall, query, touch=False) for query in asked]
        for name, calls in (("write", acts[:-last]), ("recall", reads), ("plan", [store.plan])):
            spent = sampled(calls)
            whole = sum(spent.values())
            figures += [
                plain(f"{name}_{part}", f"CPU of a {name}: {part}", [1e3 * seconds / len(calls)], unit="ms")
                for part, seconds in by_part(spent).items()
            ]
            for function, seconds in islice(by_function(spent).items(), more.functions):
                print(f"{name}  {seconds / whole:4.0%}  {function}")
            if more.stacks:
                (more.stacks / f"{name}.folded").write_text(folded(spent), encoding="utf-8")
        for name, calls in (("write", acts[-last:]), ("recall", reads[:_PROFILED])):
            if more.edges:
                for (caller, callee), count in changes_of(calls.pop()).most_common(more.edges):
                    print(f"{name}  {count:4}  {caller} -> {callee}")
            entered, changes = zip(*map(walked, calls), strict=True)
            figures += [
                plain(f"{name}_modules", f"modules that a {name} enters", [median(entered)], unit=""),
                plain(f"{name}_changes", f"changes of module in a {name}", [median(changes)], unit=""),
            ]
    return figures


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print; nothing is left behind."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.layers", description="Where the time of a call goes.")
    parser.add_argument("stories", nargs="?", type=Path, help="stories in JSON lines; generated sentences by default")
    parser.add_argument("--writes", type=int, default=600, help="how many texts are written")
    parser.add_argument(
        "--edges", type=int, default=0, help="how many changes of module are printed, the most frequent"
    )
    parser.add_argument("--functions", type=int, default=0, help="how many functions are printed, the most expensive")
    parser.add_argument("--stacks", type=Path, help="folder for the stacks, to draw flame graphs from")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    given = parser.parse_args(arguments)
    if given.stories is None:
        told = texts(given.writes, seed=5)
        asked = told[::10]
    else:
        stories = [json.loads(line) for line in given.stories.read_text(encoding="utf-8").splitlines()]
        told = [write["text"] for story in stories for write in story["writes"]][: given.writes]
        asked = [query["q"] for story in stories for query in story["queries"]]
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-") as name:
        facts = machine(Path(name))
        figures = measure(told, asked, url=str(Path(name) / "layers.db"), more=given)
    print(as_json(facts, figures) if given.json else as_table(facts, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
