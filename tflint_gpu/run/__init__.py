"""Where a program that runs leaves the GPU idle: its stacks are sampled beside the card, and joined with findings."""
