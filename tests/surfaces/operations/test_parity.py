"""Library, command line and table offer the same operations, parameters, defaults and results (issue 6, part 1).

Intended differences are in `differences`, with the reason.
"""

from __future__ import annotations

import inspect
import json
from dataclasses import MISSING, fields
from typing import Any, Literal, get_args, get_origin

import pytest
from annotated_types import Ge, Le
from pydantic import BaseModel
from typer.main import get_command

import wellkept
from stores import Place
from surfaces.command_line import Cli
from surfaces.operations.cases import CALLED, LISTED, SAME, Known, Said, Typed
from surfaces.operations.differences import (
    ASKED_FOR_OTHERWISE,
    BESIDE,
    CALLED_ONLY,
    COMMAND_ONLY,
    COMMANDS,
    MORE,
    MORE_WORDS,
    OTHER_DEFAULTS,
    OTHERWISE_MANY,
    PAGED,
    PYTHON_ONLY,
    QUEUE,
    READ_FROM_TEXT,
    RENAMED,
    WITHOUT,
)
from surfaces.operations.likeness import likeness
from wellkept import MemoryStore
from wellkept.cli.app import app
from wellkept.cli.memory.call_commands import alternatives
from wellkept.core.consolidation.rules import Consolidation
from wellkept.engine.queue.deferred import Queue
from wellkept.operations.loop import SET_BY_THE_VERB
from wellkept.operations.parts import (
    ConfigFields,
    ExpandFields,
    FilterFields,
    ScopeFields,
    WeightFields,
)
from wellkept.operations.registry import OPERATIONS, Operation, call, operation
from wellkept.types import (
    WEIGHT_PRESETS,
    ExpandSpec,
    Filter,
    HybridWeights,
    NewMemory,
    PackOptions,
    RecallOptions,
    Scope,
    Statement,
)

NAMES = [row.name for row in OPERATIONS]
COMMANDED = [row for row in OPERATIONS if row.name not in CALLED_ONLY]
SHARED = {"ctx", "db", "namespace", "embedder", "policy", "actor", "durability", "json", "quiet"}
OPTIONS = {"weights": None, "overfetch": 4, "expand": None, "as_of": None, "valid_at": None, "grouped": None,
           "rerank": True, "min_score": None}  # fmt: skip
REQUIRED = object()


def plain(value: Any) -> Any:
    """A default without regard to what holds it: a tuple is a list, a mapping a dict, a record its fields."""
    return list(value) if isinstance(value, tuple) else value


def of_record(record: type, without: set[str] | None = None) -> dict[str, Any]:
    """Fields of a dataclass with their defaults."""
    found = {}
    for item in fields(record):
        if item.name in (without or ()):
            continue
        default = item.default_factory() if item.default_factory is not MISSING else item.default
        found[item.name] = REQUIRED if default is MISSING else plain(default)
    return found


def of_model(model: type[BaseModel]) -> dict[str, Any]:
    """Fields of a model with their defaults."""
    return {name: REQUIRED if item.is_required() else item.default for name, item in model.model_fields.items()}


def of_verb(name: str) -> dict[str, Any]:
    """Parameters of a library verb with their defaults, those behind `**` spelled out."""
    found: dict[str, Any] = {}
    named = getattr(Queue, name.removeprefix(QUEUE)) if name.startswith(QUEUE) else getattr(MemoryStore, name)
    parameters = list(inspect.signature(named).parameters.values())[1:]
    own = {parameter.name for parameter in parameters} | SET_BY_THE_VERB.get(name, frozenset())
    for parameter in parameters:
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            found |= {
                "fields": of_record(NewMemory, {"content", *own}),
                "options": OPTIONS if name == "recall" else dict.fromkeys(PackOptions.__annotations__),
                "changes": dict.fromkeys((item.name for item in fields(Statement)), None),
            }[parameter.name]
        elif parameter.name not in PYTHON_ONLY:
            found[parameter.name] = (
                REQUIRED if parameter.default is inspect.Parameter.empty else plain(parameter.default)
            )
    return found


@pytest.mark.parametrize("row", OPERATIONS, ids=NAMES)
def test_an_operation_is_a_verb_of_the_library_with_the_same_parameters_and_defaults(row: Operation) -> None:
    assert of_model(row.input) == of_verb(row.name) | PAGED.get(row.name, {})


@pytest.mark.parametrize(
    ("model", "record", "without"),
    [
        (FilterFields, Filter, set()),
        (ExpandFields, ExpandSpec, set()),
        (WeightFields, HybridWeights, set()),
        (ScopeFields, Scope, set()),
    ],
    ids=["filter", "expand", "weights", "scope"],
)
def test_a_nested_object_has_the_fields_and_defaults_of_the_record(
    model: type[BaseModel], record: type, without: set[str]
) -> None:
    assert of_model(model) == of_record(record, without)


def test_the_configuration_of_a_plan_is_that_of_the_library_but_for_rules_which_are_toml() -> None:
    assert of_model(ConfigFields) == {**of_record(Consolidation), "rules": None}


def test_weights_have_the_names_of_all_presets() -> None:
    schema = operation("recall").input.model_json_schema()
    [named] = [part for part in schema["properties"]["weights"]["anyOf"] if "enum" in part]
    assert set(named["enum"]) == set(WEIGHT_PRESETS)


def test_the_finer_options_of_recall_are_all_there() -> None:
    assert set(OPTIONS) == set(RecallOptions.__annotations__)


# --------------------------------------------------------------------------------------------
# The command line

APP = get_command(app)


def command_of(row: Operation) -> dict[str, Any]:
    """Parameters of the command with their defaults."""
    command: Any = APP
    for word in COMMANDS.get(row.name, row.name.replace("_", "-")).split():
        command = command.commands[word]
    return {param.name: param.default for param in command.params if param.name not in SHARED}


@pytest.mark.parametrize("row", COMMANDED, ids=[row.name for row in COMMANDED])
def test_an_operation_is_a_command_with_the_same_parameters(row: Operation) -> None:
    renamed, without = RENAMED.get(row.name, {}), WITHOUT.get(row.name, {})
    pages = PAGED.get(row.name, {}).keys() - of_verb(row.name).keys()
    expected = {renamed.get(name, name) for name in row.input.model_fields if name not in {*without, *pages}}
    narrowing = {"kind", "tag", "subject", "attribute", "min_importance", "since", "until", "source", "meta"}
    found = set(command_of(row)) - COMMAND_ONLY.get(row.name, set())
    assert found - (narrowing if "where" in without else set()) - set(without) == expected


HANDED_ON = (
    "remember", "check", "plan", "record_decision", "record_turn", "start_episode", "queue_remember",
)  # fmt: skip
"""Commands that hand on only what was said: the library's own defaults hold."""


@pytest.mark.parametrize("row", COMMANDED, ids=[row.name for row in COMMANDED])
def test_a_command_has_the_defaults_of_the_operation(row: Operation) -> None:
    found = command_of(row)
    for name, default in of_model(row.input).items():
        option = RENAMED.get(row.name, {}).get(name, name)
        if option not in found or (row.name, name) in OTHER_DEFAULTS or row.name in HANDED_ON:
            continue
        assert found[option] in (default, None), f"{row.name} --{option}"
        if default not in (REQUIRED, None, []):
            assert found[option] == default, f"{row.name} --{option}"


def taken_by(row: Operation) -> dict[str, Any]:
    """Options and arguments of the command, by the field each stands for."""
    command: Any = APP
    for word in typed_as(row.name):
        command = command.commands[word]
    options = {param.name: param for param in command.params}
    renamed = RENAMED.get(row.name, {})
    return {name: options[renamed.get(name, name)] for name in row.input.model_fields
            if renamed.get(name, name) in options}  # fmt: skip


@pytest.mark.parametrize("row", COMMANDED, ids=[row.name for row in COMMANDED])
def test_a_command_takes_the_words_and_lists_of_the_operation_and_no_wider_numbers(row: Operation) -> None:
    """Input that a surface does not check is refused by the library, with the same error on every surface."""
    for name, option in taken_by(row).items():
        field, found = row.input.model_fields[name], option.type_descriptor.annotation
        parts = alternatives(field.annotation)
        words = {word for part in parts if get_origin(part) is Literal for word in get_args(part)}
        offered = set(get_args(found)) if get_origin(found) is Literal else set()
        offered -= MORE_WORDS.get((row.name, name), set())
        assert offered == words or (not offered and name in READ_FROM_TEXT), f"{row.name} {name}: {offered} {words}"
        many = getattr(option, "multiple", False) or option.nargs == -1
        is_list = any(get_origin(part) is list for part in parts)
        assert many is is_list or (row.name, name) in OTHERWISE_MANY, f"{row.name} {name}: {many}"
        bounds = {type(mark): mark for mark in field.metadata}
        least, most = (getattr(bounds.get(kind), word, None) for kind, word in ((Ge, "ge"), (Le, "le")))
        assert option.min in (least, None), f"{row.name} {name}: at least {option.min}, not {least}"
        assert option.max in (most, None), f"{row.name} {name}: at most {option.max}, not {most}"
        assert option.required is field.is_required() or (row.name, name) in ASKED_FOR_OTHERWISE, f"{row.name} {name}"


# --------------------------------------------------------------------------------------------
# Results

Twins = tuple[Cli, Place, Known]


def asked(path: Place, name: str, given: dict[str, Any]) -> Any:
    with wellkept.open(str(path), embedder="hashing", relation_model="none") as store:
        return call(store, name, given).model_dump(mode="json")


def asked_whole(path: Place, name: str, given: dict[str, Any]) -> Any:
    """The same, of an answer that was not cut."""
    told = asked(path, name, given)
    assert told.pop(MORE, False) is False or "limit" in given
    return told


def typed_as(name: str) -> list[str]:
    return COMMANDS.get(name, name.replace("_", "-")).split()


@pytest.mark.parametrize(("name", "said", "typed"), SAME, ids=[f"{at}-{name}" for at, (name, *_) in enumerate(SAME)])
def test_the_table_answers_what_the_command_prints(twins: Twins, name: str, said: Said, typed: Typed) -> None:
    cli, other, known = twins
    expected = asked_whole(other, name, said(known))
    code = 4 if expected.get("outcome") == "rejected" else 3 if expected.get("failed") else 0
    printed = cli.json(*typed_as(name), *typed(known), code=code)
    assert likeness(expected) == likeness(printed)


@pytest.mark.parametrize(
    ("name", "key", "said", "typed"), LISTED, ids=[f"{at}-{name}" for at, (name, *_) in enumerate(LISTED)]
)
def test_a_list_is_one_object_here_and_a_line_for_each_item_there(
    twins: Twins, name: str, key: str, said: Said, typed: Typed
) -> None:
    cli, other, known = twins
    printed = cli.rows(*typed_as(name), *typed(known))
    assert printed  # nothing equals nothing
    told = asked_whole(other, name, said(known))
    beside = {part: told.pop(part) for part in BESIDE.get(name, ())}
    assert not any(beside.values())  # the store of these tests has no marks and no wordings
    assert likeness(told) == likeness({key: printed})


def test_a_batch_is_the_lines_of_a_file(twins: Twins) -> None:
    cli, other, _ = twins
    items = ["Milk is cold.", {"content": "milk is cold"}, {"content": ""}, {"content": "x", "importance": 7}]
    lines = "".join(json.dumps(item) + "\n" for item in items)
    printed = cli.json("remember-many", "-", stdin=lines, code=3)
    told = asked(other, "remember_many", {"items": items})
    assert likeness(told) == likeness(printed)
    assert [error["index"] for error in told["errors"]] == [2, 3]  # S4-14


def test_a_plan_is_the_file_that_consolidate_writes_and_execute_prints_what_apply_does(
    twins: Twins,
) -> None:
    cli, other, known = twins
    file = cli.folder / "plan.json"
    cli("consolidate", "--plan", str(file), "--json")
    assert likeness(known["plan"]) == likeness(json.loads(file.read_text(encoding="utf-8")))
    assert known["plan"]["actions"]
    printed = cli.json("apply", str(file))
    del printed["plan"], printed["report"]  # files are the command line's own
    told = asked(other, "execute", {"plan": known["plan"]})
    assert likeness({**told, "seconds": 0}) == likeness({**printed, "seconds": 0})
    assert told["executed"] == len(known["plan"]["actions"])


def test_every_operation_has_its_result_compared() -> None:
    assert {name for name, _ in CALLED} == set(CALLED_ONLY)
    compared = {name for name, *_ in (*SAME, *CALLED, *LISTED)} | {"remember_many", "plan", "execute"}
    assert compared == set(NAMES)
