"""The running process: REST and MCP over one store, from the first request to a good end."""

from __future__ import annotations

from wellkept.server.serving.listening import address_of, host_names, is_loopback, listen, refuse_to_be_open

__all__ = ["address_of", "host_names", "is_loopback", "listen", "refuse_to_be_open"]
