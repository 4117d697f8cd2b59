"""Files, modules and functions of a project."""
