"""Registers Wellkept in the configuration of an MCP client and keeps the existing entries.

`clients` knows the location of each client's configuration and the format of an entry. `merge_settings`
changes one key of a JSON file, keeps the rest, and makes a backup.
"""

from __future__ import annotations

from wellkept.cli.install.clients import CLIENTS, Client, entry, launcher
from wellkept.cli.install.merge_settings import Installed, merge, merged

__all__ = ["CLIENTS", "Client", "Installed", "entry", "launcher", "merge", "merged"]
