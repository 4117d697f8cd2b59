"""Processes, the sandbox and what is sampled while they run."""
