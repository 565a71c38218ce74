"""Registers Wellkept in the configuration of an MCP client and keeps the existing entries.

`clients` knows the location of each client's configuration and the format of an entry. `merge_settings` and
`merge_toml` change one entry of a file, keep the rest, and make a backup. `claude_code_hooks` are the hooks of Claude
Code, with the plugin beside it.
"""

from __future__ import annotations

from wellkept.cli.install.clients import CLIENTS, Client, entry, launcher
from wellkept.cli.install.merge_settings import Installed, merged, planned

__all__ = ["CLIENTS", "Client", "Installed", "entry", "launcher", "merged", "planned"]
