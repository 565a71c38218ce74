"""Questions to the user in a form of the client (elicitation), on request of the tool `questions`.

Only a client that says that it can show forms is offered this, and no other tool does it. The form has a closed choice
for each question, and leaves it open by default. The newer revision of the protocol ends the call with the form, and
the client calls again with what the user has chosen; the older ones ask during the call. No transaction is open then.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from mcp.server.mcpserver import Context
from mcp.shared.exceptions import MCPError
from mcp_types import ElicitRequest, ElicitRequestFormParams, ElicitResult, InputRequiredResult
from mcp_types.version import is_version_at_least

from wellkept.core.asking.answer_text import choices_of
from wellkept.errors import AlreadyAnswered, InvalidAnswer, InvalidField, NotFound
from wellkept.types.showing import line

if TYPE_CHECKING:
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

    from wellkept.engine.verbs.store import MemoryStore
    from wellkept.types import Question

ASK_USER = "ask_user"
"""Field of the tool `questions`, for clients that can show a form."""
MOST_AT_ONCE = 5
"""Most questions in one form."""
LEFT_OPEN = "leave open"
_KEY = "questions"
_TOOL = "questions"
_RETURNS_FORMS = "2026-07-28"
"""The revision of the protocol from which on a call ends with the form."""
_LONGEST = 300
_ABOUT = (
    "How does each new note relate to the earlier ones below it? What you say is replaced is hidden. "
    "You can leave any question open, and each answer can be undone."
)
_FIELD = {
    "type": "boolean",
    "default": False,
    "description": f"Let the user answer the first {MOST_AT_ONCE} in a form. Only if it matters to them.",
}


def can_ask(session: Any) -> bool:
    """Whether the client of a session can show a form now."""
    known = session.client_capabilities
    elicitation = known.elicitation if known is not None else None
    if elicitation is None or (elicitation.form is None and elicitation.url is not None):
        return False
    return _returns_forms(session) or bool(session.can_send_request)


def _returns_forms(session: Any) -> bool:
    return is_version_at_least(session.protocol_version, _RETURNS_FORMS)


async def offered(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
    """Middleware: the list of tools names the field of `questions` to clients that can show a form."""
    result = await call_next(ctx)
    if ctx.method != "tools/list" or not isinstance(result, dict) or not can_ask(ctx.session):
        return result
    return {**result, "tools": [_with_field(one) if one["name"] == _TOOL else one for one in result["tools"]]}


def _with_field(tool: Mapping[str, Any]) -> Mapping[str, Any]:
    """The tool with the field; whoever calls it with the field lets the user change something."""
    schema = tool["inputSchema"]
    fields = {**schema.get("properties", {}), ASK_USER: _FIELD}
    hints = {**tool.get("annotations", {}), "readOnlyHint": False}
    return {**tool, "inputSchema": {**schema, "properties": fields}, "annotations": hints}


def form_of(questions: Sequence[Question]) -> ElicitRequestFormParams:
    """The form about these questions: their texts as quoted data, and a closed choice for each."""
    choices = {
        one.id: {
            "type": "string",
            "title": one.id,
            "description": _quoted(one.memory.content),
            "enum": [LEFT_OPEN, *choices_of(each.number for each in one.candidates)],
            "default": LEFT_OPEN,
        }
        for one in questions
    }
    message = "\n".join([_ABOUT, *(text for one in questions for text in _lines(one))])
    return ElicitRequestFormParams(message=message, requested_schema={"type": "object", "properties": choices})


async def asked_in_form(
    questions: Sequence[Question], context: Context[Any, Any]
) -> ElicitResult | InputRequiredResult:
    """What the user has chosen; or the form, which ends the call, in revisions that do so."""
    form = form_of(questions)
    if not _returns_forms(context.session):
        try:
            result: ElicitResult = await context.session.elicit_form(
                form.message, form.requested_schema, related_request_id=context.request_id
            )
        except MCPError:  # the client has not shown it
            return ElicitResult(action="cancel")
        return result
    return InputRequiredResult(input_requests={_KEY: ElicitRequest(params=form)})


def chosen(context: Context[Any, Any]) -> ElicitResult | None:
    """What the user has chosen, in a call that brings it."""
    found = (context.input_responses or {}).get(_KEY)
    return found if isinstance(found, ElicitResult) else None


def taken(store: MemoryStore, result: ElicitResult) -> str:
    """Apply what the user has chosen, as answers of a person; says what became of each.

    A choice that the form did not offer changes nothing.
    """
    if result.action != "accept":
        return "The user did not answer."
    return "\n".join(_taken(store, result.content or {})) or "The user left all of them open."


def _taken(store: MemoryStore, content: Mapping[str, Any]) -> Iterator[str]:
    open_ones = {one.id: one for one in store.questions(limit=None)}
    for name, said in content.items():
        question = open_ones.get(name)
        if said == LEFT_OPEN:
            continue
        if question is None:
            yield f"{line(name, 40)} is no longer open."
        elif said not in choices_of(each.number for each in question.candidates):
            yield f"{name} was not answered: the form did not offer that."
        else:
            try:
                done = store.answer(name, str(said), by="person")
                yield f"The user answered {name}: {done.answer}. undo {done.entry} undoes this."
            except (AlreadyAnswered, InvalidAnswer, NotFound) as error:
                yield f"{name} was not answered: {error}"


def _lines(question: Question) -> Iterator[str]:
    yield f"{question.id}: {_quoted(question.memory.content)}"
    for one in question.candidates:
        yield f"  {one.number}. {one.memory.created_at:%Y-%m-%d} {_quoted(one.memory.content)}"


def _quoted(text: str) -> str:
    """A text on one line, in quotation marks that it cannot end."""
    return json.dumps(line(text, _LONGEST), ensure_ascii=False)


def wants_user(arguments: Mapping[str, Any]) -> bool:
    """Whether a call asks for the form.

    Raises:
        InvalidField: It is neither true nor false.
    """
    given = arguments.get(ASK_USER, False)
    said = {"true": True, "false": False}.get(given.strip().lower()) if isinstance(given, str) else given
    if not isinstance(said, bool):
        raise InvalidField("must be true or false", where=ASK_USER, todo="Omit it, or use true")
    return said
