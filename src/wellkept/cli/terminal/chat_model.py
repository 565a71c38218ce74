"""A chat model that a command asks: its options, and whether texts may leave this machine for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias, TypeVar

import typer

from wellkept.config import Settings
from wellkept.errors import ConfigError

if TYPE_CHECKING:
    from wellkept.models.answering.client import ChatModel

_Model = TypeVar("_Model", bound="ChatModel")
Api: TypeAlias = Literal["openai", "anthropic"]
PANEL = "The chat model"
ModelOption: TypeAlias = Annotated[
    str | None, typer.Option("--model", metavar="NAME", rich_help_panel=PANEL, help="The model's name at the endpoint.")
]
ApiOption: TypeAlias = Annotated[
    Api | None,
    typer.Option("--api", rich_help_panel=PANEL, show_default="by the URL", help="How the endpoint is asked."),
]
TokensOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", min=1, rich_help_panel=PANEL, help="Most tokens of all requests."),
]
DryRunOption: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", rich_help_panel=PANEL, help="Print what would be sent, and send nothing.")
]


def chat_model(
    kind: type[_Model],
    settings: Settings,
    url: str,
    *,
    model: str | None,
    api: Api | None = None,
    tokens: int | None,
) -> _Model:
    """The model of a command's options, with the key of the settings.

    Raises:
        ConfigError: The address is no endpoint, or the model has no name.
    """
    return kind(url, model=model or "", api=api, api_key=settings.answer_key or None, budget=tokens)


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
