"""The checks of the conformance kit, by topic."""
