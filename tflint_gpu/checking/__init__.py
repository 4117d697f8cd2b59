"""Files x rules: the engine, its workers and cache, and what fixes files."""
