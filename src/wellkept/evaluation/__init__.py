"""Evaluation: runs labelled pairs and stories through a store and scores the results.

Pure modules read the formats (`labelled_files`), describe what happened to a text (`outcome`, `ledger`), define the
metrics (`pair_metrics`, `public_metrics`, `story_metrics`) and their intervals (`ratios`), and simulate cosine tiers of
other tools (`tiers`). Running modules (`run`, `ablation`) use only the public API of the store. `report` combines both
into the printed report.
"""
