"""Settings for PostgreSQL from the environment of the test run.

Read when the tests are collected, because the tests themselves run without settings.
"""

from __future__ import annotations

import os

URL = os.environ.get("WELLKEPT_TEST_POSTGRES", "")
"""A server to use instead of the embedded one; its user must be able to create databases."""

CITUS = os.environ.get("WELLKEPT_TEST_CITUS", "")
"""A database on the coordinator of a Citus cluster, for `test_cluster`; without it that is skipped."""

EVERYWHERE = bool(os.environ.get("WELLKEPT_TEST_POSTGRES_EVERYWHERE"))
"""Whether the tests of the engine and of the surfaces keep their stores in PostgreSQL instead of in files
(`make test` runs them both ways). The conformance kit, the scenarios, the comparison of backends and
the tests beside this file use it always."""
