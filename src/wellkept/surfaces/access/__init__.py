"""Access: who may do what in which namespace (I8). Pure rules in `grants`, the token file in `tokens`."""

from __future__ import annotations

from wellkept.surfaces.access.grants import EVERYTHING, SCOPES, Grant, allowed, check_pattern, check_scopes, home
from wellkept.surfaces.access.tokens import Token, Tokens, tokens_file

__all__ = [
    "EVERYTHING",
    "SCOPES",
    "Grant",
    "Token",
    "Tokens",
    "allowed",
    "check_pattern",
    "check_scopes",
    "home",
    "tokens_file",
]
