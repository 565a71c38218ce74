"""Consolidation of stored memories: findings, rules, the plan and its file, reflection."""
