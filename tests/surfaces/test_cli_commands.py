"""Effects and output of the commands."""

from __future__ import annotations

import gzip
import json
import re
from contextlib import closing
from pathlib import Path

import pytest

import wellkept
from stores import fold
from surfaces.command_line import Cli
from wellkept import _storage
from wellkept.policy import Policy

OLD, NEW = "The timeout is 0.85 seconds.", "The timeout is 0.95 seconds."
SLOT = ("--kind", "fact", "--subject", "timeout")


def contents(cli: Cli, *arguments: str) -> list[str]:
    return [row["content"] for row in cli.rows("list", *arguments)]


# ---- writing ----


def test_why_a_text_is_rejected_is_printed_once(cli: Cli) -> None:
    said = cli("remember", "ok, thanks", code=4).stdout
    assert said.count("only an acknowledgement") == 1


def test_remember_says_what_became_of_the_text_why_and_how_to_take_it_back(cli: Cli) -> None:
    # I6, and S0-32 in words for people.
    first = cli("remember", OLD).stdout
    assert first.startswith("created  Stored:")
    assert "why       no match found" in first
    assert "`wellkept undo 1`" in first
    again = cli("remember", OLD).stdout
    assert again.startswith("duplicate  Duplicate: already stored as")
    assert "`wellkept restore" in again


def test_remember_passes_every_field_on(cli: Cli) -> None:
    other = cli.remember("Something else.")
    memory = cli.json(
        "remember", "Ship on Friday.", "--kind", "fact", "--title", "Shipping", "--summary", "Fri", "--subject", "ship",
        "--attribute", "day", "--tag", "a", "--tag", "b", "--importance", "0.9", "--confidence", "0.8",
        "--polarity", "-1", "--pinned", "--event-time", "2026-03-04", "--event-end", "2026-03-05T10:00+01:00",
        "--ended", "2026-03-06", "--expires", "2999-01-01", "--trigger", "on release", "--signals", '{"x": 1}',
        "--agent", "coder", "--source", "chat", "--provenance", "m1", "--metadata", '{"y": [2]}', "--link", other,
        "--asked", "--frame", "conversation", "--key", "k1", "--recorded-at", "2026-03-07",
    )["memory"]  # fmt: skip
    expected = {
        "content": "Ship on Friday.", "kind": "fact", "title": "Shipping", "summary": "Fri", "subject": "ship",
        "attribute": "day", "tags": ["a", "b"], "importance": 0.9, "confidence": 0.8, "polarity": -1, "pinned": True,
        "event_time": "2026-03-04T00:00:00Z", "event_end": "2026-03-05T09:00:00Z", "ended_at": "2026-03-06T00:00:00Z",
        "expires_at": "2999-01-01T00:00:00Z", "trigger": "on release", "signals": {"x": 1}, "agent": "coder",
        "source": "chat", "provenance": ["m1"], "metadata": {"y": [2]}, "created_at": "2026-03-07T00:00:00Z",
    }  # fmt: skip
    assert {name: memory[name] for name in expected} == expected
    assert [row["memory"]["id"] for row in cli.json("neighbors", memory["id"])["neighbors"]] == [other]


@pytest.mark.parametrize(
    ("arguments", "stdin", "kept"),
    [
        (["As an argument."], None, "As an argument."),
        (["-"], "From a pipe.\n", "From a pipe."),
        ([], "Without a dash.\r\n", "Without a dash."),
        (["-"], "\ufeff部署在星期一。\n第二行\n", "部署在星期一。\n第二行"),
        (["--file", "note.txt"], None, "From a file.\n\nTwo parts."),
    ],
)
def test_the_text_comes_from_wherever_it_is(cli: Cli, arguments: list[str], stdin: str | None, kept: str) -> None:
    Path("note.txt").write_text("From a file.\n\nTwo parts.\n", encoding="utf-8")
    assert cli.json("remember", *arguments, stdin=stdin)["memory"]["content"] == kept


def test_check_writes_nothing_and_can_answer_by_exit_code(cli: Cli) -> None:
    cli("check", OLD, *SLOT, "--exit-code", code=0)
    assert not cli.file.exists(), "a reader makes no file"
    cli("remember", OLD, *SLOT)
    cli("check", OLD, *SLOT, "--exit-code", code=3)
    cli("check", NEW, *SLOT, "--exit-code", code=3)
    cli("check", NEW, *SLOT)
    cli("check", "ok", "--exit-code", code=4)
    assert contents(cli) == [OLD]


def test_a_text_that_is_not_worth_keeping_is_refused_with_4(cli: Cli) -> None:
    # S3-D4: explicit calls are junk-filtered by their kind; the reason is printed.
    refused = cli("remember", "ok", code=4)
    assert refused.stdout.startswith("rejected  Not stored:")


def test_a_conflict_under_raise_is_refused_with_4_and_nothing_is_written(cli: Cli) -> None:
    cli("remember", "Deploys happen on Monday.")
    refused = cli.json("remember", "Deploys do not happen on Monday.", "--on-conflict", "raise", code=4)  # S2-28
    assert refused["error"]["type"] == "ConflictError"
    assert refused["error"]["conflicts"][0]["kind"] == "contradiction"
    assert contents(cli) == ["Deploys happen on Monday."]


def test_a_batch_goes_on_after_bad_lines_and_names_them(cli: Cli) -> None:
    # S4-14: places count the lines that hold something.
    lines = b'{"content": "Tea at four."}\n\n"just a text"\nnope\n[1]\n{"content": "x", "importance": 7}\n"\xff"\n'
    batch = cli.json("remember-many", "-", stdin=lines, code=3)
    assert [None if item is None else item["outcome"] for item in batch["results"]] == [
        "created", "created", None, None, None, None,
    ]  # fmt: skip
    assert [(error["index"], error["error"]) for error in batch["errors"]] == [
        (2, "InvalidInput"), (3, "InvalidInput"), (4, "InvalidField"), (5, "InvalidText"),
    ]  # fmt: skip
    assert contents(cli) == ["Tea at four.", "just a text"]


def test_a_batch_of_plain_lines_twice_changes_nothing(cli: Cli) -> None:
    Path("lines.txt").write_text("Tea at four.\nLights off at ten.\n", encoding="utf-8")
    cli("remember-many", "lines.txt", "--lines")
    before = cli.json("stats")
    cli("remember-many", "lines.txt", "--lines")
    assert cli.json("stats") == before  # I5


def test_revise_changes_text_and_fields_and_an_empty_value_clears_one(cli: Cli) -> None:
    memory_id = cli.remember(OLD, *SLOT, "--event-time", "2026-01-01")
    revised = cli.json("revise", memory_id, NEW, "--subject", "", "--event-time", "", "--tag", "net")
    assert (revised["content"], revised["subject"], revised["event_time"], revised["tags"]) == (NEW, "", None, ["net"])
    assert [row["memory"]["content"] for row in cli.rows("history", memory_id)] == [OLD, NEW]


# ---- reading ----


def test_recall_shows_what_holds_best_first_and_what_was_superseded_on_demand(cli: Cli) -> None:
    cli("remember", OLD, *SLOT)
    cli("remember", NEW, *SLOT)
    assert [hit["memory"]["content"] for hit in cli.json("recall", "timeout")["hits"]] == [NEW]
    assert len(cli.json("recall", "timeout", "--all")["hits"]) == 2
    table = cli("recall", "timeout", "--all", "--explain").stdout
    assert "superseded" in table and "cosine" in table and "lexical" in table
    assert cli("recall", "timeout", "--kind", "note").stdout == "Nothing found\n"


@pytest.mark.parametrize(
    ("filters", "found"),
    [
        ([], [NEW, "Tea at four."]),
        (["--kind", "fact"], [NEW]),
        (["--subject", "TIMEOUT"], [NEW]),
        (["--tag", "food"], ["Tea at four."]),
        (["--status", "superseded"], [OLD]),
        (["--status", "all", "--limit", "2"], [OLD, NEW]),
        (["--kind", "note"], []),
    ],
)
def test_list_filters(cli: Cli, filters: list[str], found: list[str]) -> None:
    cli("remember", OLD, *SLOT)
    cli("remember", NEW, *SLOT)
    cli("remember", "Tea at four.", "--tag", "food")
    assert contents(cli, *filters) == found


def test_the_end_of_an_id_that_a_table_shows_opens_the_memory(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    shown = cli("list").stdout.splitlines()[2].split()[0]
    assert memory_id.endswith(shown) and len(shown) < len(memory_id)
    assert cli.json("get", shown)["id"] == memory_id


def test_history_is_a_timeline_of_decisions(cli: Cli) -> None:
    memory_id = cli.remember(OLD, *SLOT)
    cli("remember", NEW, *SLOT, "--actor", "alice")
    timeline = cli("history", memory_id).stdout
    assert "remember: created" in timeline
    assert "remember: superseded by alice" in timeline
    assert "a new value for the same subject" in timeline


def test_the_journal_shows_the_newest_entries(cli: Cli) -> None:
    for number in range(25):
        cli("remember", f"Server number {number} stands in rack {number}.", "--kind", "thesis")
    assert [row["seq"] for row in cli.rows("journal")] == list(range(6, 26))
    assert [row["seq"] for row in cli.rows("journal", "-n", "2")] == [24, 25]
    assert [row["seq"] for row in cli.rows("journal", "--after", "23")] == [24, 25]
    assert len(cli.rows("journal", "--all")) == 25


@pytest.mark.file
def test_reading_a_store_that_is_not_there_says_so_and_makes_none(cli: Cli) -> None:
    result = cli("list")
    assert result.stdout == "No memories\n"
    assert "There is no store at" in result.stderr
    assert cli("list", "--quiet").stderr == ""
    assert not cli.file.exists()


# ---- acting ----


def test_undo_says_what_was_taken_back(cli: Cli) -> None:
    cli("remember", OLD, *SLOT)
    cli("remember", NEW, *SLOT)
    undone = cli("undo", "2").stdout
    assert "Undid entry 2; `wellkept undo 3` redoes it" in undone
    assert f"gone      {NEW}" in undone
    assert f"active    {OLD}" in undone
    cli("undo", "3")
    assert contents(cli) == [NEW]


def test_an_undo_that_is_blocked_names_what_stands_in_the_way(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    cli("revise", memory_id, NEW)
    refused = cli.json("undo", "1", code=1)
    assert (refused["error"]["type"], refused["error"]["entries"]) == ("UndoBlocked", [2])


def test_conflicts_show_both_texts_the_words_that_decide_and_the_way_out(cli: Cli) -> None:
    cli("conflicts", "--exit-code", code=0)
    old, new = cli.remember("Deploys happen on Monday."), cli.remember("Deploys do not happen on Monday.")
    shown = cli("conflicts", "--exit-code", code=3).stdout
    for part in ("Deploys happen on Monday.", "Deploys do not happen on Monday.", "negation:", old[-8:], new[-8:]):
        assert part in shown
    assert "  Deploys {+do not+} happen on Monday." in shown
    [conflict] = cli.rows("conflicts", old)
    assert f"wellkept resolve {conflict['key']} keep-new" in shown
    cli("resolve", conflict["key"], "keep-new")
    assert cli.rows("conflicts") == []
    assert cli.rows("conflicts", "--settled")[0]["resolution"] == "keep_new"
    assert contents(cli) == ["Deploys do not happen on Monday."]


@pytest.mark.parametrize(
    ("said", "settled"),
    [
        ("keep-old", "keep_old"),
        ("keep_new", "keep_new"),
        ("keep-both", "keep_both"),
        ("merge", "merge"),
        ("dismiss", "dismissed"),
        ("dismissed", "dismissed"),
    ],
)
def test_a_resolution_may_be_spelled_either_way(cli: Cli, said: str, settled: str) -> None:
    cli("remember", "Deploys happen on Monday.")
    cli("remember", "Deploys do not happen on Monday.")
    assert cli.json("resolve", cli.rows("conflicts")[0]["key"], said)["resolution"] == settled


@pytest.mark.parametrize(
    ("said", "meant"), [("keepnew", "keep-new"), ("keep_bth", "keep-both"), ("dismis", "dismissed")]
)
def test_a_misspelled_resolution_is_answered_with_the_one_that_is_meant(cli: Cli, said: str, meant: str) -> None:
    refused = cli("resolve", "0" * 16, said, code=2).stderr
    told = " ".join(re.sub(r"[^\w',:?.-]", " ", refused).split())
    assert f"Did you mean '{meant}'? Use one of: keep-old, keep-new, keep-both, merge, dismissed" in told


def test_forget_and_restore(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    cli("forget", memory_id)
    assert contents(cli) == []
    assert cli("restore", memory_id).stdout == "Restored\n"
    assert contents(cli) == [OLD]


def test_a_wording_is_split_off_and_what_is_none_is_refused(cli: Cli) -> None:
    head, wording = cli.remember(OLD), cli.remember("Tea at four.")
    with wellkept.open(str(cli.db), embedder="hashing") as store:
        entry = fold(store, wording, head)
    assert contents(cli) == [OLD]
    assert cli("split", wording).stdout == f"Split; `wellkept undo {entry + 1}` undoes this\n"
    assert contents(cli) == [OLD, "Tea at four."]
    refused = cli("split", head, code=1).stderr
    assert f"{head} is active, not a wording (split). List the memories with the status `wording`" in refused


def test_a_dropped_text_can_be_stored_after_all(cli: Cli) -> None:
    cli("remember", OLD)
    dropped = cli.json("remember", OLD)["dropped"]
    cli("restore", dropped)  # I1
    assert contents(cli) == [OLD, OLD]


def test_erase_asks_somebody_or_wants_yes(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    refused = cli("erase", memory_id, code=2)
    assert "--yes" in refused.stderr
    assert contents(cli) == [OLD]
    cli("erase", memory_id, "--yes")
    assert contents(cli, "--status", "all") == [""]
    assert OLD not in cli("journal", "--all", "--json").stdout  # I1: gone from everything


def test_links_are_listed_and_one_that_leads_nowhere_is_told(cli: Cli) -> None:
    first, second = cli.remember(OLD), cli.remember("Tea at four.")
    cli("link", first, second, "refines")
    assert "refines" in cli("neighbors", first).stdout
    assert "works once it exists" in cli("link", first, "nobody").stderr  # S2-42
    assert "Linked id does not exist: nobody" in cli("subgraph", first).stdout
    assert cli("unlink", first, second).stdout == "1 removed\n"


# ---- operating ----


def test_an_import_maps_fields_survives_bad_lines_and_changes_nothing_the_second_time(cli: Cli) -> None:
    lines = [
        {"id": 1, "body": {"text": "Tea at four."}, "dia_ids": ["D1:3"], "who": "ann"},
        "not an object",
        {"id": 2, "body": {"text": "Lights off at ten."}},
    ]
    file = Path("chat.jsonl")
    file.write_text("\n".join(map(json.dumps, lines)) + "\n{\n", encoding="utf-8")
    how = ["--map", "content=body.text", "--map", "provenance=dia_ids", "--kind", "fact", "--set", "tags=a,b"]
    report = cli.json("import", str(file), *how, code=3)
    assert (report["read"], report["counts"]) == (4, {"created": 2})
    assert [error["index"] for error in report["errors"]] == [2, 4]
    rejected = [json.loads(line) for line in Path(report["rejects"]).read_text("utf-8").splitlines()]
    assert [row["line"] for row in rejected] == [2, 4]
    first = cli.rows("list")[0]
    assert (first["kind"], first["tags"], first["provenance"]) == ("fact", ["a", "b"], ["D1:3"])
    before = cli("export", "-").stdout.splitlines()[1:]
    journal = cli.rows("journal", "--all")
    again = cli.json("import", str(file), *how, code=3)
    assert again["counts"] == {"replayed": 2}
    assert cli("export", "-").stdout.splitlines()[1:] == before  # I5
    assert cli.rows("journal", "--all") == journal


def test_an_import_prints_counts_errors_with_lines_and_the_rejects_file(cli: Cli) -> None:
    Path("in.txt").write_text("Tea at four.\nTea at four.\n\x01\n", encoding="utf-8")
    shown = cli("import", "in.txt", "--lines", "--rejects", "bad.jsonl", code=3).stdout
    for part in ("created", "duplicate", "rejected", "line 3", "bad.jsonl", "seconds"):
        assert part in shown
    assert Path("bad.jsonl").exists()


def test_an_import_reads_standard_input_packed_files_lists_and_namespaces(cli: Cli) -> None:
    assert cli.json("import", "-", "--lines", stdin="Tea at four.\n")["counts"] == {"created": 1}
    assert cli.json("import", "-", "--lines", stdin="Tea at four.\n")["counts"] == {"replayed": 1}
    with gzip.open("packed.jsonl.gz", "wt", encoding="utf-8") as packed:
        packed.write('{"user": "ann", "facts": [{"text": "Ann likes rain."}, {"text": "Ann has two cats."}]}\n')
    how = ["--items", "facts", "--namespace-from", "user", "--source", "crm", "--limit", "1"]
    assert cli.json("import", "packed.jsonl.gz", *how)["counts"] == {"created": 2}
    assert contents(cli, "--namespace", "default/ann") == ["Ann likes rain.", "Ann has two cats."]


def test_an_export_comes_back_to_the_letter(cli: Cli) -> None:
    cli("remember", OLD, *SLOT)
    cli("remember", NEW, *SLOT)
    cli("export", "out.jsonl")
    other = Cli(cli.folder, cli.folder / "other.db")
    assert other.json("import", "out.jsonl")["counts"] == {"created": 2}
    assert other("export", "-").stdout.splitlines()[1:] == Path("out.jsonl").read_text("utf-8").splitlines()[1:]


def test_export_overwrites_only_when_told(cli: Cli) -> None:
    Path("out.jsonl").write_text("precious", encoding="utf-8")
    cli("export", "out.jsonl", code=1)
    assert Path("out.jsonl").read_text("utf-8") == "precious"
    cli("export", "out.jsonl", "--force")


def test_verify_ends_with_3_and_says_what_mends_it(cli: Cli) -> None:
    memory_id = cli.remember(OLD)
    assert cli("verify").stdout == "No problems found\n"
    cli("link", memory_id, "nobody", "--quiet")
    assert "Unlink it" in cli("verify", code=3).stdout


def test_a_store_of_another_embedder_is_refused_until_it_is_embedded_anew(cli: Cli) -> None:
    # B: vectors of two embedders are never mixed; `reembed` is the way across, for all namespaces.
    cli("remember", OLD, "--embedder", "minilm")
    cli("remember", "Tea at four.", "--embedder", "minilm", "--namespace", "acme")
    assert "wellkept reembed" in cli("recall", "timeout", code=1).stderr
    assert contents(cli) == [OLD], "what needs no vectors still works"
    assert cli.json("reembed")["embedded"] == 2
    assert cli.json("recall", "timeout")["hits"][0]["memory"]["content"] == OLD
    assert cli.json("recall", "tea", "--namespace", "acme")["hits"]
    cli("verify")


@pytest.mark.parametrize("reader", ["list", "stats", "journal", "conflicts", "runs", "doctor"])
def test_who_embeds_nothing_leaves_the_policy_that_the_store_was_written_under(cli: Cli, reader: str) -> None:
    cli("remember", OLD, *SLOT)
    Path("wellkept.toml").write_text("conflict_days = 30\n", "utf-8")
    for command, policy in ((reader, Policy()), ("recall", Policy.from_toml("conflict_days = 30\n"))):
        cli(command, *(("timeout",) if command == "recall" else ()))
        with closing(_storage(str(cli.db))) as storage:
            assert storage.header().policy == policy.hash, command


def test_kinds_are_listed_by_pack_with_what_they_do(cli: Cli, tmp_path: Path) -> None:
    """N8."""
    rows = {row["kind"]: row for row in cli.rows("kinds")}
    assert list(rows)[:5] == ["fact", "note", "preference", "lesson", "decision"]
    does = {
        kind: (rows[kind]["duplicate"], rows[kind]["new_value"]) for kind in ("fact", "note", "thesis", "knowledge")
    }
    assert does == {
        "fact": ("dropped", "replaces the old one"),
        "note": ("dropped", "kept, conflict listed"),
        "thesis": ("stored", "kept"),
        "knowledge": ("dropped", "appended, or conflict listed"),
    }
    assert {row["kind"] for row in cli.rows("kinds", "--pack", "conversations")} == {
        "episode", "turn_summary", "session_summary",
    }  # fmt: skip
    (tmp_path / "own.toml").write_text('packs = []\n[kinds.recipe]\npreset = "fact"\n', "utf-8")
    shown = cli("kinds", "--policy", str(tmp_path / "own.toml")).stdout
    assert "recipe" in shown and "kinds of this policy only" in shown and "thesis" not in shown
