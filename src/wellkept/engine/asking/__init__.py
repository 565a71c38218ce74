"""Questions about undecided writes: listed, answered, and sent to a model."""
