"""Writes the current answers of the product into `relations.jsonl` and prints the changes."""

from __future__ import annotations

import json
import sys

from golden.relations import FILE, changes, given, rows, score, table


def main() -> None:
    """Rewrite the field `given` of every pair."""
    pairs = rows()
    now = given(pairs)
    changed = changes([{"given": "-", **row} for row in pairs], now)
    lines = [json.dumps({**row, "given": told}, ensure_ascii=False) for row, told in zip(pairs, now, strict=True)]
    FILE.write_text("\n".join(lines) + "\n", "utf-8")
    told = table(changed) if changed else "Nothing has changed."
    sys.stdout.write(f"{told}\n\n{score(pairs, now)}\n")


if __name__ == "__main__":
    main()
