"""What need not be reported: unchanged lines, known findings; and what verify measured of the others."""
