"""Shared by the SQL backends: transactions over named statements, and checks of `verify`."""
