"""Runs the part of a program whose values the code fixes, with a library in the place of what is outside it."""
