"""Cleaning stored memories: findings, rules, the plan and its file, reflection."""
