"""Eager training and inference loops."""
