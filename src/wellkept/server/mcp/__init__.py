"""The MCP server: one tool per operation, resources and prompts; see `server`.

Importing this package loads nothing. `server` loads the MCP SDK, which is slow to load, so `server` is
imported only where a server is created.
"""
