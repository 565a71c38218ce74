"""Measuring the product: labelled pairs and stories go through a store, and what it made of them is scored.

A pure part reads the formats (`reading`), says what became of a text (`seen`, `ledger`), defines every figure
(`pair_metrics`, `public_metrics`, `story_metrics`) and its interval (`ratios`), and plays the sources' cosine
tiers (`tiers`). A running part (`running`, `ablation`) uses the public verbs of the store and nothing below
them. `report` puts both together into what is printed.
"""
