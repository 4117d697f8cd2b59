"""Summaries of files, made before anything is parsed by libcst."""
