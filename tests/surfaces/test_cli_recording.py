"""`wellkept record`, `record-turn`, `episode` and `queue`: writes of an agent's loop, and queued writes.

S3-13 to S3-21 and S0-43 to S0-45 on the command line.
"""

from __future__ import annotations

import dataclasses
import json

import pytest

import wellkept
from surfaces.command_line import Cli
from wellkept.types import Memory, WriteResult
from wellkept.types.queue import Flushed, QueuedWrite

THESIS = ("--kind", "thesis")


def keys_of(record: type) -> set[str]:
    return {field.name for field in dataclasses.fields(record)}


def test_a_decision_is_kept_whatever_it_reads_like_and_as_often_as_it_is_made(cli: Cli) -> None:
    """S3-19, B-37."""
    told = [cli.json("record", "Here's the plan: ship it.", "--outcome", "pending") for _ in range(2)]
    assert [one["outcome"] for one in told] == ["created", "created"]
    assert set(told[0]) == keys_of(WriteResult)
    assert {row["metadata"]["outcome"] for row in cli.rows("list", "--kind", "decision")} == {"pending"}
    assert cli("record", "Ship it on Friday.").stdout.startswith("created  Stored:")


@pytest.mark.parametrize(
    ("text", "options", "outcome"),
    [
        ("Drop the old format in May.", ["--frame", "task"], "created"),
        ("Here's my current status: all green.", ["--frame", "task"], "rejected"),
        ("Here's my current status: all green.", ["--frame", "task", "--decided"], "created"),
        ("Drop the old format in June.", ["--frame", "question"], "rejected"),
    ],
)
def test_a_turn_is_recorded_if_it_reads_like_a_decision(cli: Cli, text: str, options: list[str], outcome: str) -> None:
    """S3-16, S3-17. A turn that is not stored ends with the exit code of a refusal."""
    told = cli.json("record-turn", text, *options, code=4 if outcome == "rejected" else 0)
    assert told["outcome"] == outcome


def test_a_turn_needs_its_frame(cli: Cli) -> None:
    assert "--frame" in cli("record-turn", "Drop it.", code=2).stderr
    assert cli.rows("list") == []


def test_an_episode_is_begun_once_counts_its_turns_and_ends(cli: Cli) -> None:
    """S3-13, S3-18, S3-24."""
    first = cli.json("episode", "start", "Moving the billing export")
    again = cli.json("episode", "start", stdin="moving the billing export\n")
    assert (first["outcome"], again["outcome"]) == ("created", "reused")
    episode = first["memory"]["id"]
    cli("record-turn", "Keep the old format.", "--frame", "task", "--episode", episode)
    ended = cli.json("episode", "end", episode, "--summary", "Moved.", "--outcome", "success")
    assert set(ended) == keys_of(Memory)
    assert (ended["summary"], ended["metadata"]["turns"], ended["metadata"]["outcome"]) == ("Moved.", 1, "success")
    assert cli.json("episode", "start", "Moving the billing export")["outcome"] == "created"
    assert "ended" in cli("episode", "end", episode, "--summary", "Otherwise.", code=1).stderr


@pytest.mark.parametrize("name", [["record"], ["record-turn"], ["episode", "start"]])
def test_what_a_verb_decides_itself_is_no_option(cli: Cli, name: list[str]) -> None:
    assert "No such option" in cli(*name, "Text.", "--kind", "fact", code=2).stderr


# --------------------------------------------------------------------------------------------
# The queue


def test_what_is_put_off_waits_in_a_file_until_it_is_flushed_in_order(cli: Cli) -> None:
    """S0-45: queued now, flushed later through the same path, each once."""
    told = cli.json("queue", "remember", "Funding flips first, see [[Weekends]].", *THESIS, "--title", "Funding")
    assert told["outcome"] == "queued"
    assert told["message"] == 'Queued: "Funding" (will link: Weekends)'
    cli("queue", "remember", "Longs pay shorts.", *THESIS)
    assert cli.rows("list") == []
    waiting = cli.rows("queue", "list")
    assert all(set(one) == keys_of(QueuedWrite) for one in waiting)
    texts = [one["statement"]["content"] for one in waiting]
    assert texts == ["Funding flips first, see [[Weekends]].", "Longs pay shorts."]
    flushed = cli.json("queue", "flush")
    assert set(flushed) == keys_of(Flushed)
    assert [row["content"] for row in cli.rows("list")] == texts
    assert cli.rows("queue", "list") == []
    assert cli("queue", "list").stdout == "The queue is empty\n"
    assert cli.json("queue", "flush") == {"results": [], "failed": []}


def test_a_lesson_never_waits(cli: Cli) -> None:
    """S0-43, S0-44."""
    told = [cli.json("queue", "remember", "Never trade weekends.", "--kind", "lesson")["outcome"] for _ in range(2)]
    assert told == ["created", "duplicate"]


@pytest.mark.file  # what waits in a database may be of somebody who is still at it
def test_the_library_writes_what_a_command_has_put_off(cli: Cli) -> None:
    cli("queue", "remember", "Longs pay shorts.", *THESIS)
    with wellkept.open(str(cli.db), embedder="hashing") as store:
        assert [row.content for row in store.list()] == ["Longs pay shorts."]


def test_reading_the_store_leaves_the_queue_alone(cli: Cli) -> None:
    """A reading command loads no model, so it cannot flush queued writes."""
    cli("queue", "remember", "Longs pay shorts.", *THESIS)
    for reader in (["list"], ["stats"], ["recall", "shorts"], ["verify"]):
        cli(*reader)
    assert len(cli.rows("queue", "list")) == 1


def test_what_fails_stays_says_why_and_can_be_dropped(cli: Cli) -> None:
    cli("queue", "remember", "Follow up.", *THESIS, "--link", "nobody")
    cli("queue", "remember", "Longs pay shorts.", *THESIS)
    flushed = cli.json("queue", "flush", code=3)
    assert [one["outcome"] for one in flushed["results"]] == ["created"]
    [left] = cli.rows("queue", "list")
    assert left["attempts"] == 1 and left["error"].startswith("NotFound")
    assert left["id"] in cli("queue", "flush", "--again", code=3).stdout
    cli("queue", "drop", left["id"], code=2)
    cli("queue", "drop", "nothing", "--yes", code=1)
    dropped = cli.json("queue", "drop", left["id"], "--yes")
    assert dropped["statement"]["content"] == "Follow up."
    assert cli.rows("queue", "list") == []


def test_the_queue_of_another_namespace_is_out_of_reach(cli: Cli) -> None:
    """I8."""
    cli("--namespace", "acme", "queue", "remember", "Longs pay shorts.", *THESIS)
    [theirs] = cli.rows("--namespace", "acme", "queue", "list")
    assert cli.rows("queue", "list") == []
    assert cli.json("queue", "flush")["results"] == []
    cli("queue", "drop", theirs["id"], "--yes", code=1)
    assert len(cli.rows("--namespace", "acme", "queue", "list")) == 1


def test_hostile_text_that_waits_is_made_harmless_on_the_screen(cli: Cli) -> None:
    cli("queue", "remember", "Red \u202e alert [bold]now[/bold].", *THESIS)
    shown = cli("queue", "list").stdout
    assert "\u202e" not in shown and "[bold]" in shown


def test_no_queue_is_made_by_looking_for_one(cli: Cli) -> None:
    cli.remember("Tea is upstairs.")
    cli("queue", "list")
    cli("queue", "flush")
    assert [path.name for path in cli.folder.iterdir() if path.name.endswith(".queue")] == []
    assert json.loads(cli("stats", "--json").stdout)["memories"] == {"active": 1}
