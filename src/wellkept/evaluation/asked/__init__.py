"""Stories with questions: readers that answer, and the figures at the end."""
