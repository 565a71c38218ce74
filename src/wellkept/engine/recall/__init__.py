"""Answering a query: candidates, scores, order, groups, packs."""
