"""Secrets that open something: made of chance that nobody can guess, here where chance is allowed."""

from __future__ import annotations

import secrets

PREFIX = "wk_"
"""What every secret begins with, so that a scanner of leaked secrets can know one when it sees it."""


def new_secret() -> str:
    """A new secret: `wk_` and 32 random bytes in URL-safe base64.

    Example:
        >>> first, second = new_secret(), new_secret()
        >>> first[:3], len(first), first == second
        ('wk_', 46, False)
    """
    return PREFIX + secrets.token_urlsafe(32)
