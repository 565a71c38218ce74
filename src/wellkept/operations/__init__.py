"""The operations of Wellkept as one table; REST, MCP and `wellkept call` are generated from it."""
