"""Repairs as patches."""
