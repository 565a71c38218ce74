"""Models behind ports: embedders, relation model, judges, rerankers, summarisers."""
