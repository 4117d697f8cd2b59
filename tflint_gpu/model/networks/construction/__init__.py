"""How the source builds networks and arrays."""
