"""Commands that serve: REST and MCP servers, client configuration, tokens."""
