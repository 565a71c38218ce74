"""Whether texts may leave this machine for a chat model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from wellkept.config import Settings
from wellkept.errors import ConfigError

if TYPE_CHECKING:
    from wellkept.models.answering.client import ChatModel


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
