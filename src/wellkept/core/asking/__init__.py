"""Questions about undecided writes: which are asked, what an answer means, what a store learns from it."""
