"""The policy to the letter of the sources: repeats are dropped, updates only listed, kinds kept apart."""

from __future__ import annotations

from dataclasses import replace

from wellkept.policy import Policy


def to_the_letter(policy: Policy | None = None) -> Policy:
    """The policy with every kind dropping repeats and listing updates, and without families."""
    policy = policy or Policy()
    kinds = {kind: replace(one, repeats="drop", updates="list", family="") for kind, one in policy.kinds.items()}
    return replace(policy, kinds=kinds)
