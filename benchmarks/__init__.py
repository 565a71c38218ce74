"""Speed of Wellkept as ratios against a floor; `make bench` runs it, docs/performance.md explains it."""
