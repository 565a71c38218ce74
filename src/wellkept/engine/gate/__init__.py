"""The write gate: evidence is gathered, the core decides, one transaction applies the decision."""
