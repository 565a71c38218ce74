"""Test helpers for Wellkept and its plugins: fakes, clocks, and the conformance kit."""
