"""When code runs: in which loops, how often, eagerly or traced, with which data."""
