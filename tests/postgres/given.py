"""What the person who runs the tests says about PostgreSQL.

Read when the tests are collected: they themselves run without any of our settings.
"""

from __future__ import annotations

import os

URL = os.environ.get("WELLKEPT_TEST_POSTGRES", "")
"""A server to use instead of the embedded one; its user must be able to create databases."""

EVERYWHERE = bool(os.environ.get("WELLKEPT_TEST_POSTGRES_EVERYWHERE"))
"""Whether every test that runs on several backends runs on PostgreSQL too. Otherwise the conformance
kit, the scenarios, the stateful comparison and the tests beside this file do, which takes a fraction of it."""
