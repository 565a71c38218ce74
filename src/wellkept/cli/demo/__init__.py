"""The demo (`wellkept demo`): a coding agent's notes of one month go through the gate, decision by decision."""

from wellkept.cli.demo.run import run

__all__ = ["run"]
