"""What the Python of a file and its project means."""
