"""Tokenisation of single texts and of pairs."""
