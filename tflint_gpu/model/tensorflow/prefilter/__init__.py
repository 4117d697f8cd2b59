"""Tests on file summaries that rule a file out before it is parsed."""
