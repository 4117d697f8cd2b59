"""Planning, scheduling and carrying out of experiments."""
