"""The operations of Wellkept as one table of rows: REST, MCP and `wellkept call` are made from it."""
