"""The files in `changes/` are named by their kind, and join the changelog where their kind stands."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("join_changes", ROOT / "changes" / "join.py")
assert _spec and _spec.loader
join = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(join)

LOG = "# Changelog\n\n## 0.2.0 (unreleased)\n\n### Added\n\n- one\n\n### Fixed\n\n- two\n\n## 0.1.0\n\n- old\n"


def test_every_file_of_a_change_names_a_kind_and_says_something() -> None:
    assert all(path.read_text("utf-8").strip() for path in join.fragments(ROOT / "changes"))


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        ([], LOG),
        ([("added", "new\nand long\n")], LOG.replace("- one\n", "- one\n- new\n  and long\n")),
        ([("fixed", "b"), ("added", "a")], LOG.replace("- one\n", "- one\n- a\n").replace("- two\n", "- two\n- b\n")),
        ([("security", "x")], LOG.replace("- two\n", "- two\n\n### Security\n\n- x\n")),
    ],
)
def test_changes_stand_under_the_heading_of_their_kind_in_the_first_section(
    given: list[tuple[str, str]], wanted: str
) -> None:
    assert join.joined(LOG, given) == wanted


@pytest.mark.parametrize("name", ["a.md", "a.news.md"])
def test_a_file_without_a_known_kind_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("x")
    with pytest.raises(ValueError, match=r"WHAT-IT-IS\.KIND\.md"):
        join.fragments(tmp_path)
