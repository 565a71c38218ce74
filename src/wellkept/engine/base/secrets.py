"""Makes random secrets, such as access tokens."""

from __future__ import annotations

import secrets

PREFIX = "wk_"
"""Prefix of every secret, so that scanners for leaked secrets can recognise it."""


def new_secret() -> str:
    """A new secret: `wk_` and 32 random bytes in URL-safe base64.

    Example:
        >>> first, second = new_secret(), new_secret()
        >>> first[:3], len(first), first == second
        ('wk_', 46, False)
    """
    return PREFIX + secrets.token_urlsafe(32)
