"""Where other programs meet tflint_gpu: one module a program."""

NEEDED = ("pygls", "lsprotocol")
"""What the language server imports of the extra `lsp`."""
