"""Move the files of this folder into the first section of CHANGELOG.md: `make changelog`."""

from __future__ import annotations

import sys
from pathlib import Path

KINDS = ("added", "changed", "fixed", "removed", "security")
FOLDER = Path(__file__).parent


def fragments(folder: Path) -> list[Path]:
    """The files of changes, by name; one with an unknown kind is refused."""
    found = sorted(path for path in folder.glob("*.md") if path.name != "README.md")
    for path in found:
        if kind_of(path) not in KINDS:
            raise ValueError(f"{path.name}: name it WHAT-IT-IS.KIND.md, where KIND is one of {', '.join(KINDS)}")
    return found


def kind_of(path: Path) -> str:
    """The last but one part of a name."""
    return path.stem.rpartition(".")[2]


def joined(changelog: str, given: list[tuple[str, str]]) -> str:
    """The changelog with (kind, text) pairs under the headings of its first section."""
    head, mark, rest = changelog.partition("\n## ")
    section, after, older = rest.partition("\n## ")
    first, *parts = section.rstrip("\n").split("\n\n### ")
    for kind in KINDS:
        items = "".join("\n- " + text.strip().replace("\n", "\n  ") for of, text in given if of == kind)
        at = next((at for at, part in enumerate(parts) if part.partition("\n")[0] == kind.capitalize()), None)
        if items and at is None:
            parts.append(f"{kind.capitalize()}\n{items}")
        elif items:
            parts[at] += items
    section = "\n\n### ".join((first, *parts)) + "\n"
    return head + mark + section + after + older


def main() -> None:
    """Join, write, and delete what was joined."""
    found = fragments(FOLDER)
    changelog = FOLDER.parent / "CHANGELOG.md"
    given = [(kind_of(path), path.read_text("utf-8")) for path in found]
    changelog.write_text(joined(changelog.read_text("utf-8"), given), "utf-8")
    for path in found:
        path.unlink()
    sys.stdout.write(f"{len(found)} changes joined\n")


if __name__ == "__main__":
    main()
