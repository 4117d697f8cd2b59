"""Where weights are updated, and where models are compiled and fitted."""
