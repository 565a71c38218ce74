"""Differences in one line: colours on a terminal, plain signs elsewhere, and no text that acts."""

import io

import pytest
from rich.console import Console

from wellkept.cli.terminal.word_diffs import word_diff_of


def printed(old: str, new: str, *, colour: bool = False) -> str:
    out = io.StringIO()
    console = Console(
        file=out, width=200, markup=False, force_terminal=colour, color_system="standard" if colour else None
    )
    marked = word_diff_of(old, new)
    assert marked is not None
    console.print(marked)
    return out.getvalue()


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        ("The port is 5432.", "The port is 5433.", "  The port is [-5432.-]{+5433.+}\n"),
        ("Deploys happen on Monday", "Deploys do not happen on Monday", "  Deploys {+do not+} happen on Monday\n"),
        ("The old port is 1", "The port is 1", "  The [-old-] port is 1\n"),
        ("See [bold]a[/bold] b", "See [bold]a[/bold] c", "  See [bold]a[/bold] [-b-]{+c+}\n"),
        ("This is \x1b[2J one", "This is \u202e one", "  This is [-\\x1b[2J-] {+\\u202e+} one\n"),
    ],
)
def test_without_colour_plain_signs_mark_what_goes_and_what_comes(old: str, new: str, shown: str) -> None:
    assert printed(old, new) == shown


def test_in_colour_the_old_is_red_and_struck_out_and_the_new_is_green() -> None:
    shown = printed("The port is 5432.", "The port is 5433.", colour=True)
    assert "\x1b[9;31m5432.\x1b[0m" in shown and "\x1b[32m5433.\x1b[0m" in shown
    assert "[-" not in shown and "{+" not in shown


def test_texts_that_share_little_are_not_put_into_one_line() -> None:
    assert word_diff_of("Backups run every night.", "Nightly dumps were switched off in June.") is None
