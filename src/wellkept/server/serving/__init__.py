"""The server process: REST and MCP over one store, from startup to graceful shutdown."""

from __future__ import annotations

from wellkept.server.serving.listening import address_of, host_names, is_loopback, listen, refuse_to_be_open

__all__ = ["address_of", "host_names", "is_loopback", "listen", "refuse_to_be_open"]
