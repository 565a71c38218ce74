"""Compares two texts by rules: in what do they differ, and can both hold?"""
