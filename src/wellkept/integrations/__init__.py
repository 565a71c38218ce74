"""Integrations: Wellkept as the memory of an agent framework, one module for each.

A module imports its framework, so none is imported here. They use the public verbs of `wellkept` only.
"""
