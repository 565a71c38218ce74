"""A chat model that a command asks: its options, and whether texts may leave this machine for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from wellkept.config import Settings
from wellkept.errors import ConfigError

if TYPE_CHECKING:
    from wellkept.models.answering.client import ChatModel

PANEL = "The chat model"
ModelOption: TypeAlias = Annotated[
    str | None, typer.Option("--model", metavar="NAME", rich_help_panel=PANEL, help="The model's name at the endpoint.")
]
ApiOption: TypeAlias = Annotated[
    Literal["openai", "anthropic"] | None,
    typer.Option("--api", rich_help_panel=PANEL, show_default="by the URL", help="How the endpoint is asked."),
]
TokensOption: TypeAlias = Annotated[
    int | None,
    typer.Option("--tokens", metavar="N", min=1, rich_help_panel=PANEL, help="Most tokens of all requests."),
]
DryRunOption: TypeAlias = Annotated[
    bool, typer.Option("--dry-run", rich_help_panel=PANEL, help="Print what would be sent, and send nothing.")
]


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
