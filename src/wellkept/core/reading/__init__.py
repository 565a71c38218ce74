"""What rules read in a text: tokens, values, names, negations, order; and how two texts differ in them."""
