"""`python -m benchmarks`: run the measurements and print a table; no files remain."""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.measures import FULL, MEASURES, QUICK
from benchmarks.report import Figure, as_json, as_table, machine


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the selected measurements; the exit code shows only that they ran, not whether goals are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Speed of Wellkept over a floor.")
    parser.add_argument("--quick", action="store_true", help="small sizes; shows that it runs, not how fast")
    parser.add_argument("--only", action="append", choices=list(MEASURES), help="one measurement; may be repeated")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.add_argument("--dir", type=Path, help="folder on the disk to measure; the temporary one by default")
    given = parser.parse_args(arguments)
    sizes = QUICK if given.quick else FULL
    figures: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="wellkept-bench-", dir=given.dir) as name:
        folder = Path(name)
        facts = machine(folder)
        for measure in given.only or MEASURES:
            print(f"measuring {measure} …", file=sys.stderr, flush=True)
            own = folder / measure
            own.mkdir()
            figures += MEASURES[measure](sizes, own)
    print(as_json(facts, figures) if given.json else as_table(facts, figures))
    return 0


if __name__ == "__main__":
    sys.exit(main())
