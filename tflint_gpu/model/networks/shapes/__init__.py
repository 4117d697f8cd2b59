"""Layers and networks: shapes, weights, and what they keep in memory."""
