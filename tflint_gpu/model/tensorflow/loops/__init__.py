"""What loops iterate over, carry and repeat."""
