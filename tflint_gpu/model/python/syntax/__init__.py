"""Concrete syntax trees, scopes and source ranges."""
