"""Stubs for what a program takes from elsewhere: data, parameters, names that nothing defines."""
