"""Generates `src/generated` of the TypeScript client from the OpenAPI document of our own server.

`python clients/typescript/generate.py` writes the files: the records of answers, the inputs, one method for each
operation, and the error classes. They are checked in; a test compares them with what this script makes.
"""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import wellkept
from wellkept import errors
from wellkept.client.calls import KEYED, MAY_WAIT, REPEATABLE
from wellkept.client.failures import BY_STATUS
from wellkept.errors import WellkeptError
from wellkept.server.rest import create_app

PLACE = Path(__file__).parent / "src" / "generated"
_HEAD = "// Made by generate.py from the OpenAPI document of the server; changes here are lost.\n\n"
_REF = "#/components/schemas/"
_INPUT = "Asked."
"""What the document puts before the names of records that a caller sends."""
_OK = ("200", "201", "202")
_WIDTH = 116
_READS = ("check_similar", "search_nodes")
"""Operations beside the library's verbs that write nothing, and are no GET."""

Schema = Mapping[str, Any]


def files() -> dict[str, str]:
    """The generated files by name."""
    with wellkept.open("memory:", embedder="hashing", relation_model="none") as store:
        kinds = frozenset(store._ctx.policy.kinds)
        document = create_app(store).openapi()
    made = _Document(document, kinds)
    return {
        "records.ts": made.records(),
        "inputs.ts": made.inputs(),
        "operations.ts": made.operations(),
        "errors.ts": error_classes(),
    }


class _Document:
    """The document as TypeScript.

    Args:
        document: The OpenAPI document.
        kinds: The kinds of the policy; a server may know others, so they are suggestions to an editor only.
    """

    def __init__(self, document: Schema, kinds: frozenset[str]) -> None:
        self._schemas: Schema = document["components"]["schemas"]
        self._kinds = kinds
        routes = ((m, p, o) for p, item in document["paths"].items() for m, o in item.items())
        self._routes = sorted(routes, key=lambda route: str(route[2]["operationId"]))

    # ------------------------------------------------------------------ files

    def records(self) -> str:
        """What the server answers with."""
        names = self._reached(self._answer(operation) for _, _, operation in self._routes)
        listed = " | ".join(json.dumps(kind) for kind in sorted(self._kinds))
        kind = "/** A kind of memory: one of the default policy, or another that the server's policy knows. */\n"
        kind += f"export type Kind =\n  | {listed.replace(' | ', f'{chr(10)}  | ')}\n  | (string & {{}});\n\n"
        return _HEAD + kind + "\n".join(self._interface(name, self._schemas[name]) for name in names)

    def inputs(self) -> str:
        """What a caller sends."""
        asked = {name(route[2]): self._input(*route) for route in self._routes}
        nested = self._reached(schema for schema in asked.values())
        moment = "/** A time: ISO 8601 (UTC without a zone), or a `Date`. */\nexport type Time = string | Date;\n\n"
        whole = [self._interface(one, self._schemas[one]) for one in nested]
        whole += [self._interface(_input_name(one), schema) for one, schema in asked.items() if schema["properties"]]
        return f'{_HEAD}import type {{ Kind }} from "./records.js";\n\n{moment}' + "\n".join(whole)

    def operations(self) -> str:
        """The table of operations, and a class with one method for each."""
        rows, methods, sent, got = [], [], set(), set()
        for method, path, operation in self._routes:
            asked, answer = self._input(method, path, operation), self.type(self._answer(operation))
            rows.append(f"  {name(operation)}: {self._row(method, path, operation)},")
            methods.append(self._method(operation, asked, answer))
            sent |= {_input_name(name(operation))} if asked["properties"] else set()
            got |= {answer} - {"string"}
        imports = f'import type {{\n  {_listed(sent)}\n}} from "./inputs.js";\n'
        imports += f'import type {{\n  {_listed(got)}\n}} from "./records.js";\n'
        imports += 'import type { CallOptions, Operation } from "../calls.js";\n'
        table = (
            "export const OPERATIONS = {\n" + "\n".join(rows) + "\n} as const satisfies Record<string, Operation>;\n"
        )
        told = "/** One method for each operation of the server. */\n"
        head = "  protected abstract send<T>(operation: Operation, input: object, options?: CallOptions): Promise<T>;\n"
        return (
            f"{_HEAD}{imports}\n{table}\n{told}export abstract class Operations {{\n{head}\n"
            + "\n".join(methods)
            + "}\n"
        )

    # ------------------------------------------------------------------ operations

    def _input(self, method: str, path: str, operation: Schema) -> dict[str, Any]:
        """One object for what stands in the path, the query and the body."""
        fields: dict[str, Any] = {}
        required: list[str] = []
        for one in operation.get("parameters", ()):
            if one["in"] != "header":
                schema = one["schema"] if "schema" in one else one["content"]["application/json"]["schema"]
                fields[one["name"]] = {**schema, "description": one.get("description", "")}
                required += [one["name"]] if one["required"] else []
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            body = self._resolved(content["schema"]) if media == "application/json" else _LINES
            fields |= body["properties"]
            required += body.get("required", ())
        told = f"Input of `{name(operation)}`."
        return {"type": "object", "properties": fields, "required": required, "description": told}

    def _answer(self, operation: Schema) -> Schema:
        [content] = {
            json.dumps(operation["responses"][status]["content"]) for status in _OK if status in operation["responses"]
        }
        read: Schema = json.loads(content)
        return read["application/json"]["schema"] if "application/json" in read else {"type": "string"}

    def _row(self, method: str, path: str, operation: Schema) -> str:
        own = operation["operationId"]
        repeat = "always" if method == "get" or own in REPEATABLE or own in _READS else "never"
        fields = {"method": method.upper(), "path": path, "repeat": "keyed" if own in KEYED else repeat}
        more = {"mayWait": True} if own in MAY_WAIT else {}
        media = [*operation.get("requestBody", {}).get("content", {})]
        if media and media != ["application/json"]:
            more["media"] = media[0]
        if self._answer(operation) == {"type": "string"}:
            more["text"] = True
        return "{ " + ", ".join(f"{key}: {json.dumps(value)}" for key, value in {**fields, **more}.items()) + " }"

    def _method(self, operation: Schema, asked: Schema, answer: str) -> str:
        own = name(operation)
        told = _comment(f"{operation['summary'].rstrip('.')}. {operation.get('description', '')}", "  ")
        options, sent = "options?: CallOptions", "{}"
        if asked["properties"]:
            default = "" if asked["required"] else " = {}"
            options, sent = f"input: {_input_name(own)}{default}, {options}", "input"
        return (
            f"{told}  {own}({options}): Promise<{answer}> {{\n"
            f"    return this.send(OPERATIONS.{own}, {sent}, options);\n  }}\n"
        )

    # ------------------------------------------------------------------ types

    def type(self, schema: Schema) -> str:
        """A schema as a type."""
        match schema:
            case {"$ref": str(ref)}:
                return _plain(ref.removeprefix(_REF))
            case {"const": value}:
                return json.dumps(value)
            case {"enum": values}:
                return "Kind" if self._kinds == frozenset(values) else " | ".join(json.dumps(one) for one in values)
            case {"anyOf": options}:
                kinds = [self.type(option) for option in options]
                return " | ".join(dict.fromkeys(one for one in kinds if one != "string" or "Kind" not in kinds))
            case {"type": "array", "prefixItems": parts}:
                return "[" + ", ".join(self.type(part) for part in parts) + "]"
            case {"type": "array"}:
                inner = self.type(schema.get("items", {}))
                return f"({inner})[]" if " " in inner else f"{inner}[]"
            case {"type": "object", "properties": fields}:
                required = schema.get("required", ())
                listed = (f"{key}{_mark(key, required)}: {self.type(part)}" for key, part in fields.items())
                return "{ " + "; ".join(listed) + " }"
            case {"type": "object"}:
                inner = schema.get("additionalProperties", True)
                return f"Record<string, {'unknown' if inner is True else self.type(inner)}>"
            case {"type": "string"}:
                return "Time" if str(schema.get("description", "")).startswith("ISO 8601;") else "string"
            case {"type": kind}:
                return {"integer": "number", "number": "number", "boolean": "boolean", "null": "null"}[kind]
            case _:
                return "unknown"

    def _interface(self, own: str, schema: Schema) -> str:
        required = schema.get("required", ())
        lines = [
            f"{_comment(part.get('description', ''), '  ')}  {key}{_mark(key, required)}: {self.type(part)};\n"
            for key, part in schema["properties"].items()
        ]
        return f"{_comment(schema.get('description', ''), '')}export interface {_plain(own)} {{\n{''.join(lines)}}}\n"

    def _reached(self, schemas: Iterator[Schema]) -> list[str]:
        """The names of the records that schemas refer to, and those that these refer to."""
        found: set[str] = set()
        waiting = {ref for schema in schemas for ref in _refs(schema)}
        while waiting:
            one = waiting.pop()
            found.add(one)
            waiting |= set(_refs(self._schemas[one])) - found
        return sorted(found)

    def _resolved(self, schema: Schema) -> Schema:
        return self._schemas[schema["$ref"].removeprefix(_REF)] if "$ref" in schema else schema


_LINES: Schema = {
    "properties": {"body": {"type": "string", "description": "JSON lines."}},
    "required": ["body"],
}


_MEMBERS = {
    "ConflictError": """
  /** References to the conflicting memories, without their texts. */
  get conflicts(): ConflictReference[] {
    return this.listed<ConflictReference>("conflicts");
  }
""",
    "UndoBlocked": """
  /** The later entries that prevent the undo. */
  get entries(): number[] {
    return this.listed<number>("entries");
  }
""",
}
"""What an error's answer holds beside its words."""


def error_classes() -> str:
    """The library's errors as classes, in the order of their inheritance."""
    kinds = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, WellkeptError)]
    kinds.sort(key=lambda kind: (len(kind.__mro__), kind.__name__))
    made, names = [], []
    for kind in kinds:
        names.append(kind.__name__)
        if kind is WellkeptError:
            continue
        [base] = [one.__name__ for one in kind.__bases__ if issubclass(one, WellkeptError)]
        told = (kind.__doc__ or "").split("\n\n")[0]
        more = _MEMBERS.get(kind.__name__, "")
        made.append(f"{_comment(told, '')}export class {kind.__name__} extends {base} {{{more}}}\n")
    by_status = "".join(f"  {status}: {kind.__name__},\n" for status, kind in BY_STATUS.items())
    by_name = "".join(f"  {one},\n" for one in names)
    return (
        f'{_HEAD}import {{ type ConflictReference, WellkeptError }} from "../failure.js";\n\n' + "\n".join(made) + "\n"
        f"export const KINDS: Record<string, typeof WellkeptError> = {{\n{by_name}}};\n\n"
        "/** The class of an answer that names none. */\n"
        f"export const BY_STATUS: Record<number, typeof WellkeptError> = {{\n{by_status}}};\n"
    )


def name(operation: Schema) -> str:
    """The method of an operation.

    Example:
        >>> name({"operationId": "remember_many"})
        'rememberMany'
    """
    return re.sub(r"_(\w)", lambda found: found[1].upper(), operation["operationId"])


def _input_name(method: str) -> str:
    return f"{method[0].upper()}{method[1:]}Input"


def _plain(own: str) -> str:
    return own.removeprefix(_INPUT).replace(".", "")


def _mark(key: str, required: Any) -> str:
    return "" if key in required else "?"


def _listed(names: set[str]) -> str:
    return ",\n  ".join(sorted(names)) + ","


def _refs(schema: Any) -> Iterator[str]:
    match schema:
        case Mapping():
            for key, part in schema.items():
                if key == "$ref":
                    yield part.removeprefix(_REF)
                else:
                    yield from _refs(part)
        case list():
            for part in schema:
                yield from _refs(part)


def _comment(text: str, indent: str) -> str:
    """A documentation comment; empty for an empty text."""
    words = " ".join(text.split()).replace("*/", "* /")
    if not words:
        return ""
    if len(words) + len(indent) + 7 <= _WIDTH:
        return f"{indent}/** {words} */\n"
    import textwrap

    lines = textwrap.wrap(words, _WIDTH - len(indent) - 3, break_on_hyphens=False)
    return f"{indent}/**\n" + "".join(f"{indent} * {line}\n" for line in lines) + f"{indent} */\n"


if __name__ == "__main__":
    PLACE.mkdir(parents=True, exist_ok=True)
    for file, text in files().items():
        (PLACE / file).write_text(text, "utf-8")
