"""Name resolution, reaching definitions and branches."""
