"""What every verb needs: the context, checked inputs, retries, files and locks."""
