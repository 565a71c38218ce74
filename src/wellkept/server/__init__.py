"""The server: REST and MCP over one store, with tokens and limits."""
