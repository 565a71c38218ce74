"""Recall: candidates, scores, order, groups, packs."""
