"""Benchmarks of Wellkept as ratios over a floor; `make bench` runs them, docs/performance.md explains them."""
