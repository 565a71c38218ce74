"""The similarity scale: graded pairs, and the tables measured with them."""
