"""A file's text: bytes, lines, strings, cells and comments, before anything of it means anything."""
