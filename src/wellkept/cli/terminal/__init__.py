"""The terminal: settings, fields, exit codes, tables, and escaping of untrusted text."""
