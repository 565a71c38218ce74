"""The terminal: settings, fields, exit codes, tables, and text made harmless to show."""
