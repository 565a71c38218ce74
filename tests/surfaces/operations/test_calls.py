"""`wellkept call`: an operation is a command by its row alone (issue 6, part 1)."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import Field

import wellkept
from surfaces.command_line import Cli
from surfaces.operations.cases import CALLED, LISTED, SAME, Known, Said
from surfaces.operations.likeness import likeness
from surfaces.operations.test_parity import SHARED, asked
from wellkept.cli.memory.call_commands import FROM, YES, command_of
from wellkept.operations import registry
from wellkept.operations.parts import Given
from wellkept.operations.registry import OPERATIONS, Operation, operation
from wellkept.operations.shapes import answer

NAMES = [row.name for row in OPERATIONS]
CASES: list[tuple[str, Said]] = [(name, said) for name, said, _ in SAME] + [(name, said) for name, _, said, _ in LISTED]
CASES += CALLED
Twins = tuple[Cli, Path, Known]


def spelled(fields: dict[str, Any]) -> list[str]:
    """Fields as options: texts as they are, lists of texts one by one, everything else as JSON."""
    words: list[str] = []
    for name, value in fields.items():
        option = f"--{name.replace('_', '-')}"
        match value:
            case bool():
                words.append(option if value else f"--no-{option[2:]}")
            case str():
                words += [option, value]
            case list():
                words += [word for item in value for word in (option, item)]
            case _:
                words += [option, json.dumps(value)]
    return words


@pytest.mark.parametrize("row", OPERATIONS, ids=NAMES)
def test_the_fields_of_an_operation_are_the_options_of_its_command_with_their_explanations(row: Operation) -> None:
    options = {option.name: option for option in command_of(row).params if option.name not in SHARED}
    for_good = {YES} if row.effect == "destructive" else set()
    assert set(options) == {*row.input.model_fields, FROM, *for_good}
    for name, field in row.input.model_fields.items():
        assert options[name].help.startswith(field.description), name
        assert options[name].default is None, name  # what is not said is the row's to choose
        told = options[name].show_default
        assert told is False or told == str(field.default) or told == str(field.default).lower(), name


@pytest.mark.parametrize(("name", "said"), CASES, ids=[f"{at}-{name}" for at, (name, _) in enumerate(CASES)])
def test_a_call_prints_what_the_table_answers(twins: Twins, name: str, said: Said) -> None:
    cli, other, known = twins
    given = said(known)
    expected = asked(other, name, given)
    sure = ["--yes"] if operation(name).effect == "destructive" else []
    empty = {field: value for field, value in given.items() if value == []}  # an option cannot say "none"
    words = spelled({field: value for field, value in given.items() if field not in empty})
    code = 4 if expected.get("outcome") == "rejected" else 3 if expected.get("failed") else 0
    printed = cli("call", name, *words, "--from", "-", *sure, stdin=json.dumps(empty), code=code)
    assert likeness(expected) == likeness(json.loads(printed.stdout))


def test_fields_come_from_a_file_and_options_go_before_them(twins: Twins) -> None:
    cli, other, known = twins
    items = ["Milk is cold.", {"content": "milk is cold"}, {"content": ""}]
    file = cli.folder / "fields.json"
    file.write_text(json.dumps({"items": items, "on_conflict": "raise"}), encoding="utf-8")
    printed = cli("call", "remember_many", "--from", str(file), "--on-conflict", "ignore", code=3)
    told = asked(other, "remember_many", {"items": items, "on_conflict": "ignore"})
    assert likeness(told) == likeness(json.loads(printed.stdout))


def test_a_plan_that_was_printed_is_given_back_and_executed(twins: Twins) -> None:
    cli, other, known = twins
    plan = cli("call", "plan").stdout
    assert likeness(json.loads(plan)["actions"]) == likeness(known["plan"]["actions"])
    done = cli("call", "execute", "--from", "-", stdin=json.dumps({"plan": json.loads(plan)}))
    told = asked(other, "execute", {"plan": known["plan"]})
    assert likeness({**told, "seconds": 0}) == likeness({**json.loads(done.stdout), "seconds": 0})
    assert told["executed"] == len(known["plan"]["actions"]) > 0


def test_every_operation_is_compared() -> None:
    assert {name for name, _ in CASES} | {"remember_many", "plan", "execute"} == set(NAMES)


class Knock(Given):
    """A knock on the door."""

    who: str = Field(description="Who knocks.")
    times: int = Field(1, ge=1, description="How often.")
    how: Literal["softly", "loudly"] = Field("softly", description="How.")


Heard = answer("Heard", "What was heard.", heard=str)


def test_a_row_that_is_added_is_a_command_at_once(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """Adding an operation is one row and one handler."""
    row = Operation(
        name="knock", title="Knock", description="Knock on the door.", input=Knock, output=Heard, effect="write",
        idempotent=False, scope="write", toolset="none", route=None,
        handler=lambda store, given: Heard(heard=f"{given.who} {given.how}" + " knock" * given.times),
    )  # fmt: skip
    monkeypatch.setattr(registry, "OPERATIONS", (*OPERATIONS, row))
    assert cli.json("call", "knock", "--who", "Ana", "--times", "2") == {"heard": "Ana softly knock knock"}
    help_text = cli("call", "knock", "--help").stdout
    for word in ("Knock on the door.", "Who knocks.", "Required.", "softly", "loudly"):
        assert word in help_text
    for wrong, code in ((["--times", "2"], 1), (["--who", "Ana", "--times", "0"], 1), (["--how", "twice"], 2)):
        assert cli("call", "knock", *wrong, code=code).stdout == ""


WRONG: list[tuple[list[str], str, int]] = [
    (["remember"], "content", 1),
    (["recall", "--query", "tea", "--limit", "many"], "limit", 1),
    (["recall", "--query", "tea", "--limit", '"5"'], "limit", 1),
    (["recall", "--query", "tea", "--where", '{"kindz": []}'], "where.kindz", 1),
    (["recall", "--query", "tea", "--weights", "best"], "weights", 1),
    (["remember", "--content", "x", "--metadata", "{half"], "metadata", 1),
]


@pytest.mark.parametrize(("words", "where", "code"), WRONG, ids=[where for _, where, _ in WRONG])
def test_a_wrong_field_is_named_and_nothing_is_done(cli: Cli, words: list[str], where: str, code: int) -> None:
    cli.remember("Tea is upstairs.")
    told = cli.json("call", *words, code=code)
    assert told["error"]["where"].startswith(where)
    assert len(cli.rows("journal")) == 1


@pytest.mark.parametrize("text", ["[1]", "{half", "7", "[" * 100_000], ids=["list", "half", "number", "deep"])
def test_fields_that_are_no_object_are_refused(cli: Cli, text: str) -> None:
    assert cli.json("call", "stats", "--from", "-", stdin=text, code=1)["error"]["type"] == "InvalidInput"


def test_what_cannot_be_taken_back_wants_yes(cli: Cli) -> None:
    memory_id = cli.remember("Tea is upstairs.")
    assert "--yes" in cli("call", "erase", "--memory-id", memory_id, code=2).stderr
    with wellkept.open(str(cli.db), embedder="hashing", relation_model="none") as store:
        assert store.get(memory_id).content == "Tea is upstairs."
    assert cli("call", "no such thing", code=2).stdout == ""


def test_the_table_is_loaded_when_an_operation_is_called_and_not_before() -> None:
    script = (
        "import sys\nfrom wellkept.cli import main\nmain(['--help'])\n"
        "print('wellkept.operations.registry' in sys.modules)\nmain(['call', '--help'])\n"
        "print('wellkept.operations.registry' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert [line for line in done.stdout.splitlines() if line in ("True", "False")] == ["False", "True"]
    assert "Resolve a conflict" in done.stdout
