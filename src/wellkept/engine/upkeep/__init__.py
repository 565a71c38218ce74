"""Maintenance of a store: verify, repair, re-embed, maintenance rounds, workers and leases."""
