"""Networks as the source builds them: layers, shapes, weights, and what training them holds in memory."""
