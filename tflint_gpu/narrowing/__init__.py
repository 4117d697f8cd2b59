"""What need not be told: unchanged lines, known findings; and what verify measured of the others."""
