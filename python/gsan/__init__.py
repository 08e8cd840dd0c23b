"""GSan for Python programs."""
