"""Modules that lie next to a program and make up what is not there: files, tables, environments, models."""
