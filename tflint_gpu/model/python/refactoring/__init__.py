"""Moving code into functions."""
