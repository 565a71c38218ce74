"""A chat model that a command asks: its options, whether texts may leave this machine for it, and its failures."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

import typer

from wellkept.cli.terminal.groups import option
from wellkept.cli.terminal.session import Session
from wellkept.config import Settings
from wellkept.errors import ConfigError, ModelError
from wellkept.frozen import frozen

if TYPE_CHECKING:
    from wellkept.models.answering.client import ChatModel

_Model = TypeVar("_Model", bound="ChatModel")
Api: TypeAlias = Literal["openai", "anthropic"]
PANEL = "The chat model"
DryRunOption: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", rich_help_panel=PANEL, help="Print what would be sent, and send nothing.")
]


@frozen(kw_only=True)
class ChatOptions:
    """How a chat model is asked."""

    model: str | None = option(metavar="NAME", panel=PANEL, help="The model's name at the endpoint.")
    api: Api | None = option(panel=PANEL, show_default="by the URL", help="How the endpoint is asked.")
    tokens: int | None = option(metavar="N", min=1, panel=PANEL, help="Most tokens of all requests.")


def chat_model(kind: type[_Model], settings: Settings, url: str, how: ChatOptions) -> _Model:
    """The model of a command's options, with the key of the settings.

    Raises:
        ConfigError: The address is no endpoint, or the model has no name.
    """
    return kind(url, model=how.model or "", api=how.api, api_key=settings.answer_key or None, budget=how.tokens)


def require_permission(settings: Settings, model: ChatModel, what: str) -> None:
    """Refuse to send texts to another machine without permission.

    Raises:
        ConfigError: The texts would leave this machine, and the settings do not allow it.
    """
    if not model.endpoint.local and settings.ask_send != "any":
        raise ConfigError(
            f"the texts of {what} would leave this machine",
            where=model.endpoint.host,
            todo='Use a model on this machine, or set WELLKEPT_ASK_SEND=any, or send = "any" under [ask] in your own '
            "config.toml",
        )


@contextmanager
def resumable(run: Session) -> Iterator[None]:
    """Say of a model that fails that its answers so far are kept."""
    try:
        yield
    except ModelError:
        run.note("The answers so far are kept; the same command goes on where this one ended")
        raise
