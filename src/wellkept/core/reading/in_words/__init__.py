"""Values as people say them: numbers and clock times in words."""
