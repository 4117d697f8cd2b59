"""From Python's own syntax trees to libcst's."""
