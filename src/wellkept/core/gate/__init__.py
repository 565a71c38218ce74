"""What a write becomes: comparisons and the policy become a decision and its effects."""
