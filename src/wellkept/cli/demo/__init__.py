"""A month of one coding agent's notes goes through the gate while you watch (`wellkept demo`)."""

from wellkept.cli.demo.run import run

__all__ = ["run"]
