"""Floating-point precision."""
