"""Access control: permissions of callers by namespace. Rules are in `grants`; tokens in a file or a database."""

from __future__ import annotations

from wellkept.server.access.grants import EVERYTHING, SCOPES, Grant, allowed, check_pattern, check_scopes, home
from wellkept.server.access.token_file import Tokens, tokens_file
from wellkept.server.access.token_record import Token, TokenKeeper

__all__ = [
    "EVERYTHING",
    "SCOPES",
    "Grant",
    "Token",
    "TokenKeeper",
    "Tokens",
    "allowed",
    "check_pattern",
    "check_scopes",
    "home",
    "tokens_file",
]
