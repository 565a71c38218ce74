"""Commands that clean a store: consolidate, reflect, decay, replay, audit."""
