"""Keeping a store well: verify, repair, re-embed, rounds of jobs, workers and their leases."""
