"""Putting Wellkept into the configuration of an MCP client, beside what stands there already.

`clients` knows where each client keeps its configuration and what an entry looks like; `merging`
changes one key of a JSON file and leaves the rest, with a backup.
"""

from __future__ import annotations

from wellkept.cli.install.clients import CLIENTS, Client, entry, launcher
from wellkept.cli.install.merge_settings import Installed, merge, merged

__all__ = ["CLIENTS", "Client", "Installed", "entry", "launcher", "merge", "merged"]
