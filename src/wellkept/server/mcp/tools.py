"""The tools: one for each operation of the table, with its schemas, annotations and errors.

A tool adds to an operation only what a conversation needs: answers of limited size, progress, errors that the model
can act on, and a preview before an irreversible change. Only `questions` can ask the user during a call, on request and
where the client supports that; elsewhere the call would fail.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import anyio.from_thread
import anyio.to_thread
from mcp.server.mcpserver import Context
from mcp.server.mcpserver.exceptions import UnexpectedToolError
from mcp.server.mcpserver.tools import Tool
from mcp.server.mcpserver.utilities.func_metadata import ArgModelBase, FuncMetadata
from mcp_types import CallToolResult, InputRequiredResult, TextContent, ToolAnnotations
from pydantic import PrivateAttr

from wellkept.errors import ConflictError, InvalidField, InvalidInput, UndoBlocked, WellkeptError
from wellkept.operations.queued_writes import MAY_WAIT, queued_write, queueing
from wellkept.operations.registry import Operation, call
from wellkept.operations.shapes import json_object
from wellkept.parsing import parsed_json
from wellkept.server.large_requests import LARGE
from wellkept.server.mcp import asking_user
from wellkept.server.mcp.answers import INSIDE, SHORTENED, bare, compact, sized, slim
from wellkept.server.mcp.asking import ShownQuestions
from wellkept.server.mcp.authorised_store import StoreAccess, wants_queue
from wellkept.server.mcp.plans import Plans

if TYPE_CHECKING:
    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.server.mcp.call_store import Tell

ERROR_META = "wellkept/error"
"""Key of an answer's `_meta` that contains the parts of an error for programs."""
DRY_RUN = "dry_run"

_LONG = frozenset({"remember_many", "plan", "execute", "verify"})
_WHOLE = frozenset({"plan"})
"""Operations whose answer is the input of another operation and is therefore not shortened."""
_REVERSIBLE = "This can be undone."
_BY_ID = 'For plan, {"plan_id": …} with the id of a plan made here is enough.'
_FOR_GOOD = (
    f"This cannot be undone. By default it is a dry run that shows what would be lost; call it again "
    f"with {DRY_RUN}=false only when the user has asked for it."
)
_SHOWN_LOSS = 400
_OF_QUESTIONS = frozenset({"Question", "QuestionCandidate", "Chance"})
"""Records that only `questions` tells; an answer to a write names its question."""
_NOT_OFFERED = {"answer": "by"}
"""Fields that a tool does not have: whoever calls it is an agent."""
_LIST_KEY_COUNT = 8
_Json = dict[str, Any]


class OperationTool(Tool):
    """An operation as a tool.

    The SDK builds a tool from a function's signature. Here the schemas come from the table, and `call` checks the
    input, so this class replaces that part of the SDK.
    """

    _operation: Operation = PrivateAttr()
    _reach: StoreAccess = PrivateAttr()
    _plans: Plans = PrivateAttr()
    _shown: ShownQuestions = PrivateAttr()

    @classmethod
    def of(cls, row: Operation, reach: StoreAccess, plans: Plans, shown: ShownQuestions) -> OperationTool:
        """Make the tool of an operation.

        Args:
            row: The operation.
            reach: Access to the store.
            plans: Plans made by `plan`, for `execute`.
            shown: The questions that `remember` has shown.
        """
        tool = cls(
            fn=row.handler,
            name=row.name,
            title=row.title,
            description=tool_description(row),
            parameters=input_schema(row),
            fn_metadata=FuncMetadata(arg_model=ArgModelBase, output_schema=output_schema(row)),
            is_async=True,
            context_kwarg=None,
            annotations=ToolAnnotations(
                title=row.title,
                read_only_hint=row.effect == "read",
                destructive_hint=row.effect == "destructive",
                idempotent_hint=row.idempotent,
                open_world_hint=False,  # it affects only the store
            ),
        )
        tool._operation, tool._reach, tool._plans, tool._shown = row, reach, plans, shown
        return tool

    async def run(
        self,
        arguments: _Json,
        context: Context[Any, Any],
        convert_result: bool = False,  # noqa: FBT001, FBT002
    ) -> CallToolResult | InputRequiredResult:
        """Run the operation in a separate thread; the server stays responsive.

        A cancelled call ends at its next progress report, after a whole step. A call without progress reports runs
        to its end, and its result is discarded.

        Raises:
            UnexpectedToolError: An internal error; its message appears only in the log.
        """
        tell = _progress_reporter(context)
        try:
            if self.name == "questions" and asking_user.ASK_USER in arguments and asking_user.can_ask(context.session):
                return await self._ask_user(arguments, context, tell)
            threads = self._reach.few if _is_large(arguments) else None
            return await anyio.to_thread.run_sync(self._answer, arguments, context.headers, tell, limiter=threads)
        except WellkeptError as error:
            return error_result(error)
        except Exception as error:
            raise UnexpectedToolError(f"Error executing tool {self.name}") from error

    async def _ask_user(
        self, arguments: _Json, context: Context[Any, Any], tell: Tell
    ) -> CallToolResult | InputRequiredResult:
        """Let the user answer in a form of the client, then list what is still open."""
        given = {name: value for name, value in arguments.items() if name != asking_user.ASK_USER}
        ending = ""
        if asking_user.wants_user(arguments):
            store = await anyio.to_thread.run_sync(self._reach.store, context.headers, "write", tell)
            said = asking_user.chosen(context)
            if said is None:
                first = await anyio.to_thread.run_sync(lambda: store.questions(limit=asking_user.MOST_AT_ONCE))
                asked = await asking_user.asked_in_form(first, context) if first else None
                if isinstance(asked, InputRequiredResult):
                    return asked
                said = asked
            ending = await anyio.to_thread.run_sync(asking_user.taken, store, said) if said is not None else ""
        return await anyio.to_thread.run_sync(self._answer, given, context.headers, tell, ending)

    def _answer(
        self, arguments: _Json, headers: Mapping[str, str] | None, tell: Tell, ending: str = ""
    ) -> CallToolResult:
        row = self._operation
        given = _parsed_arguments(arguments, self.parameters)
        if _NOT_OFFERED.get(row.name) in given:
            raise InvalidField("unknown field", where=_NOT_OFFERED[row.name], todo="See the tool's input schema")
        store = self._reach.store(headers, row.scope, tell)
        if _has_preview(row) and given.pop(DRY_RUN, True) is not False:
            return _result(row, _preview(store, row, given))
        if row.name in _LONG:
            tell(0, None, "begun")
        if row.name == "execute":
            given["plan"] = self._plans.whole(store.namespace, given.get("plan"))
        with queueing(store, wanted=row.name in MAY_WAIT and wants_queue(headers)):
            answer = json_object(call(store, row.name, given))
        if row.name == "plan":
            self._plans.keep(store.namespace, answer)
        endings = "\n".join(filter(None, (self._asked(store, answer), ending)))
        return _result(row, answer, explained=given.get("explain") is True, ending=endings)

    def _asked(self, store: MemoryStore, answer: _Json) -> str:
        """The question at the end of the answer to a write, if any; the answer itself only names its own one."""
        if self.name == "answer" and answer["answered"]:
            self._shown.answered(store)
        for written in (answer, *(answer.get("results") or ())):
            if written and written.get("question"):
                written["question"] = {"id": written["question"]["id"]}
        if "question" not in answer or self._operation.effect == "read" or answer["outcome"] == "queued":
            return ""
        return self._shown.after_write(store, (answer["question"] or {}).get("id", ""))


def tool_description(row: Operation) -> str:
    """The description of an operation for agents: its own text, and whether it can be undone.

    The description of `remember` is unchanged: it ends with a text that agents of another host know word for word.
    """
    match row.effect:
        case "read":
            return row.description
        case "write" if row.name == "remember":
            return row.description
        case "write":
            more = f" {_BY_ID}" if row.name == "execute" else ""
            return f"{row.description} {_REVERSIBLE}{more}"
        case "destructive":
            return f"{row.description} {_FOR_GOOD}" if _has_preview(row) else row.description


def input_schema(row: Operation) -> _Json:
    """The JSON schema of a tool's input: that of the operation, plus `dry_run` for a tool with a preview.

    It does not say what the whole is, since the tool's description says more.
    """
    schema: _Json = _without_null_defaults(untitled(row.input.model_json_schema(by_alias=True)))
    schema.pop("description", None)
    if row.name in _NOT_OFFERED:
        hidden = _NOT_OFFERED[row.name]
        schema["properties"] = {name: part for name, part in schema["properties"].items() if name != hidden}
    if _has_preview(row):
        shown = {"type": "boolean", "default": True, "description": "Dry run: show what would be lost."}
        schema["properties"] = {**schema.get("properties", {}), DRY_RUN: shown}
    return schema


def output_schema(row: Operation) -> _Json:
    """The JSON schema of a tool's answer: that of the operation, with records that omit empty fields."""
    schema: _Json = untitled(row.output.model_json_schema(by_alias=True, mode="serialization"), "description")
    if row.name not in _WHOLE:
        schema = _slim_schema(schema, frozenset() if "explain" in row.input.model_fields else INSIDE)
    if row.name != "questions" and "Question" in schema.get("$defs", {}):
        schema["$defs"] = {name: part for name, part in schema["$defs"].items() if name not in _OF_QUESTIONS}
        schema["$defs"]["Question"] = {"type": "object", "properties": {"id": {"type": "string"}}}
    more: _Json = {SHORTENED: {"type": "string", "description": "What is missing and how to get it."}}
    if _has_preview(row):
        schema.pop("required", None)
        more[DRY_RUN] = {"type": "boolean", "description": "True if this was a dry run."}
        more["would_lose"] = {
            "type": "string",
            "description": "The beginning of each text that would be lost.",
        }
    schema["properties"] = {**schema.get("properties", {}), **more}
    return schema


def _without_null_defaults(schema: _Json) -> _Json:
    """An input schema without defaults of null, because omitting the field means the same."""
    made = dict(schema)
    if "properties" in made:
        made["properties"] = {name: _without_null_default(part) for name, part in made["properties"].items()}
    if "$defs" in made:
        made["$defs"] = {name: _without_null_defaults(part) for name, part in made["$defs"].items()}
    return made


def _without_null_default(part: _Json) -> _Json:
    if part.get("default", "") is not None:
        return part
    rest = {key: value for key, value in part.items() if key not in ("default", "anyOf")}
    options = [option for option in part.get("anyOf", ()) if option.get("type") != "null"]
    return {**options[0], **rest} if len(options) == 1 else {**rest, "anyOf": options}


def _slim_schema(schema: _Json, hidden: frozenset[str]) -> _Json:
    """The schema of the output of `slim`: records without the hidden fields, of whose fields none is required or null.

    Args:
        schema: The schema of the whole output.
        hidden: Fields of records that the tool never tells.
    """
    known = {name: _slim_record(part, hidden) for name, part in schema.get("$defs", {}).items()}
    own = {name: _plain(part) for name, part in schema.get("properties", {}).items() if name not in INSIDE}
    made = {**schema, "properties": own}
    if "required" in schema:
        made["required"] = [name for name in schema["required"] if name in own]
    return {**made, "$defs": known} if known else made


def _slim_record(record: _Json, hidden: frozenset[str]) -> _Json:
    shown = {name: part for name, part in record.get("properties", {}).items() if name not in hidden}
    return {"type": "object", "properties": {name: _plain(_without_null(part)) for name, part in shown.items()}}


def _plain(part: _Json) -> _Json:
    """A field without what its other keywords already say: that any object fits, or the type of a closed set."""
    implied = {"additionalProperties"} if part.get("additionalProperties") is True else set()
    return {key: value for key, value in part.items() if key not in (implied | ({"type"} if "enum" in part else set()))}


def _without_null(part: _Json) -> _Json:
    """A field without null, and without example values (kinds) when any text is allowed."""
    options = [option for option in part.get("anyOf", ()) if option.get("type") != "null"]
    if {"type": "string"} in options:
        options = [option for option in options if option.get("type") != "string" or len(option) == 1]
    return options[0] if len(options) == 1 else part


def untitled(schema: Any, *also: str) -> Any:
    """A schema without titles derived from field names, because a client may put schemas into the model's context.

    Args:
        schema: The schema.
        *also: Further descriptive keywords to remove.
    """
    match schema:
        case dict():
            # Names below `properties` and `$defs` are field names, and a field may be called `title`.
            return {
                key: {name: untitled(inner, *also) for name, inner in item.items()}
                if key in ("properties", "$defs") and isinstance(item, dict)
                else untitled(item, *also)
                for key, item in schema.items()
                if key not in ("title", *also)
            }
        case list():
            return [untitled(item, *also) for item in schema]
        case _:
            return schema


def error_result(error: WellkeptError) -> CallToolResult:
    """An error as an answer for the model: the problem, the location and the remedy."""
    parts: _Json = {"type": type(error).__name__, "what": error.what, "where": error.where, "todo": error.todo}
    match error:
        case ConflictError():
            from wellkept.core.records.codec import to_plain

            parts["conflicts"] = to_plain(error.conflicts[:_LIST_KEY_COUNT], full=True)
        case UndoBlocked():
            parts["entries"] = list(error.entries[:100])
        case _:
            pass
    # No structured content: clients validate it against the schema of a successful answer.
    text = compact(bare(sized({"error": parts})))
    return CallToolResult(content=[TextContent(type="text", text=text)], is_error=True, _meta={ERROR_META: bare(parts)})


def _is_large(arguments: Any) -> bool:
    """Whether the arguments exceed a few short texts; counting stops at that point."""
    left, waiting = LARGE, [arguments]
    while waiting and left > 0:
        item = waiting.pop()
        left -= len(item) if isinstance(item, str | list | dict) else 1
        if left > 0 and isinstance(item, list | dict):
            waiting.extend(item.values() if isinstance(item, dict) else item)
    return left <= 0


def _has_preview(row: Operation) -> bool:
    """Whether an operation is irreversible and has no dry run of its own."""
    return row.effect == "destructive" and DRY_RUN not in row.input.model_fields


def _preview(store: MemoryStore, row: Operation, given: _Json) -> _Json:
    from wellkept.operations.registry import parsed

    parsed(row, given)  # the preview rejects the same inputs as the operation
    if row.name == "queue_drop":
        held = queued_write(store, given["queued_id"])
        return {DRY_RUN: True, "would_lose": f"{held.id}: {str(held.statement.get('content', ''))[:_SHOWN_LOSS]}"}
    if "memory_id" not in given:
        return {DRY_RUN: True, "would_lose": "unknown"}
    found = call(store, "get", {"memory_id": given["memory_id"], "touch": False}).model_dump()
    lost = [f"{found['id']}: {found['content'][:_SHOWN_LOSS]}"]
    wordings = (item.memory for item in store.neighbors(found["id"], rel="restates", direction="in"))
    lost += (f"wording {row.id}: {row.content[:_SHOWN_LOSS]}" for row in wordings if row.status == "wording")
    return {DRY_RUN: True, "would_lose": "\n".join(lost)}


def _result(row: Operation, answer: _Json, *, explained: bool = False, ending: str = "") -> CallToolResult:
    """An answer in two forms, as the protocol requires: text lines for models, structured content for programs.

    Args:
        row: The operation.
        answer: Its answer.
        explained: Whether to keep the fields that explain how it was found.
        ending: More lines for models only.
    """
    from wellkept.server.mcp.lines import text_of_answer  # loads the engine, which the list of tools does not need

    fits = sized(answer if row.name in _WHOLE else slim(answer, explained=explained))
    text = "\n".join(filter(None, (text_of_answer(row.name, fits), ending)))
    return CallToolResult(content=[TextContent(type="text", text=text)], structured_content=fits)


def _parsed_arguments(arguments: Mapping[str, Any], schema: Mapping[str, Any]) -> _Json:
    """The arguments, with lists and objects parsed from text: some clients send every value as text."""
    properties = schema.get("properties", {})
    return {name: _read(value) if _may_be_text(properties.get(name)) is False else value
            for name, value in arguments.items()}  # fmt: skip


def _may_be_text(schema: Any) -> bool | None:
    """Whether a field accepts texts; None for an unknown field."""
    if not isinstance(schema, dict):
        return None
    choices = schema.get("anyOf")
    if isinstance(choices, list):
        return any(_may_be_text(choice) for choice in choices)
    return bool(schema.get("type", "string" if "enum" in schema or "const" in schema else "") == "string")


def _read(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        found = parsed_json(value)
    except InvalidInput:
        return value
    return value if isinstance(found, str) else found


def _progress_reporter(context: Context[Any, Any]) -> Tell:
    """Make a callback that reports progress from the thread of a call, and ends the call there after a cancellation."""

    def tell(part: float, whole: float | None, words: str) -> None:
        anyio.from_thread.check_cancelled()
        anyio.from_thread.run(context.report_progress, part, whole, words)

    return tell
