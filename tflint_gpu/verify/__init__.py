"""Run what was flagged beside its repair, and measure whether the prediction holds."""
