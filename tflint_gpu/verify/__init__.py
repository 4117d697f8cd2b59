"""Run what was flagged next to its repair, and measure whether the prediction holds."""
