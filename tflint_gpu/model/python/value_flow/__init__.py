"""Points-to analysis: where values come from, calls, constants."""
