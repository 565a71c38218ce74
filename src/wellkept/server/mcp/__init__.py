"""Wellkept as an MCP server: a tool for each operation, resources, prompts; see `server`.

Importing this package loads nothing; `server` loads the MCP package, which is slow to load, so it is
imported where a server is made and nowhere else.
"""
