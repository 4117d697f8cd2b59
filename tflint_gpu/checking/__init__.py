"""A run over files: its workers and cache, importers, suppressions and fixes. What checks one file is the engine."""
